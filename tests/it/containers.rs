//! Containers, whose client is only a pipe (D024), and what children see of the gateway's
//! environment (D023).

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::calls::{serving, text};
use crate::driver::{Home, StdioClient, fake, kill, wait_until, wait_until_gone};
use crate::process_table::{lines_of, pids_in, wait_for_pids};

/// A gateway with a server that behaves like a container.
struct Container {
    home: Home,
    folder: PathBuf,
}

impl Container {
    #[track_caller]
    fn register() -> Self {
        let home = Home::new();
        let folder = home.file("container");
        fs::create_dir(&folder).unwrap();
        home.add("box", &fake("container", &[folder.to_str().unwrap()]));
        Self { home, folder }
    }

    #[track_caller]
    fn client(&self) -> StdioClient {
        let mut client = self.home.stdio();
        client.wait_for_tool("box__work");
        assert_eq!(client.call_text("box__work", &json!({})), "worked");
        client
    }

    /// Checks that `count` containers were started, and that each one's input was closed
    /// and its end waited for before anything worse was done.
    #[track_caller]
    fn check_ended_by_their_input(&self, count: usize) {
        let workers = wait_for_pids(&self.folder.join("workers"), count);
        wait_until_gone(&workers);
        wait_until_gone(&pids_in(&self.folder.join("clients")));
        assert_eq!(workers.len(), count);
        assert_eq!(lines_of(&self.folder.join("ends")).len(), count);
        assert_eq!(lines_of(&self.folder.join("signals")), [""; 0], "TERM came before the end");
    }
}

// D024

#[test]
fn the_end_of_a_gateway_ends_containers_by_their_input() {
    for end in ["input", "-TERM", "-INT"] {
        let container = Container::register();
        let mut client = container.client();
        if end == "input" {
            client.close_input();
        } else {
            kill(client.pid(), end);
        }
        assert_eq!(client.wait(), 0);
        container.check_ended_by_their_input(1);
    }
}

#[test]
fn removing_and_switching_off_end_containers_by_their_input() {
    let container = Container::register();
    let mut client = container.client();
    for command in ["disable", "enable", "remove"] {
        container.home.ok(&[command, "box"]);
        if command == "enable" {
            client.wait_for_tool("box__work");
            wait_for_pids(&container.folder.join("workers"), 2);
        } else {
            wait_until_gone(&pids_in(&container.folder.join("workers")));
        }
    }
    container.check_ended_by_their_input(2);
    assert_eq!(client.finish(), 0);
}

#[test]
fn a_killed_gateway_leaves_no_container_behind() {
    let container = Container::register();
    let mut client = container.client();
    kill(client.pid(), "-KILL");
    client.wait();
    wait_until_gone(&pids_in(&container.folder.join("workers")));
    wait_until_gone(&pids_in(&container.folder.join("clients")));
}

#[test]
fn commands_that_look_start_no_container_and_those_that_do_end_it() {
    let container = Container::register();
    let home = &container.home;
    home.ok(&["test", "box"]);
    container.check_ended_by_their_input(1);
    for _ in 0..5 {
        home.ok(&["list"]);
        home.ok(&["show", "box"]);
        home.ok(&["tools", "--json"]);
        home.ok(&["search", "work"]);
    }
    assert_eq!(pids_in(&container.folder.join("clients")).len(), 1);
    home.ok(&["call", "box__work"]);
    home.ok(&["refresh", "box"]);
    container.check_ended_by_their_input(3);
}

// D023

/// The environment that a server sees.
#[track_caller]
fn seen(client: &mut StdioClient, server: &str) -> Value {
    let tool = format!("{server}__environment");
    client.wait_for_tool(&tool);
    serde_json::from_str(&client.call_text(&tool, &json!({}))).unwrap()
}

#[test]
fn a_server_sees_what_it_was_given_and_no_secret_of_the_gateway_or_another_server() {
    let mut home = Home::new();
    home.set("SECRET_X", "1");
    home.set("SHARED_X", "2");
    let command = fake("environment", &[]);
    for (server, flags) in [
        ("one", &["--env", "A_KEY=a"][..]),
        ("two", &["--env", "B_KEY=b", "--env", "SHARED_X"]),
        ("all", &["--env", "C_KEY=c", "--inherit-env"]),
    ] {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let arguments = [&["add", server, "--no-connect"], flags, &["--"], &command].concat();
        home.ok(&arguments);
    }
    let mut client = home.stdio();
    let one = seen(&mut client, "one");
    assert_eq!(one["A_KEY"], "a");
    for hidden in ["B_KEY", "C_KEY", "SECRET_X", "SHARED_X", "COFFER_HOME"] {
        assert!(one.get(hidden).is_none(), "{hidden} in {one}");
    }
    // What a program needs to work at all.
    assert!(one["PATH"].is_string(), "{one}");
    let two = seen(&mut client, "two");
    assert_eq!((&two["B_KEY"], &two["SHARED_X"]), (&json!("b"), &json!("2")));
    assert!(two.get("A_KEY").is_none() && two.get("SECRET_X").is_none(), "{two}");
    let all = seen(&mut client, "all");
    assert_eq!((&all["C_KEY"], &all["SECRET_X"]), (&json!("c"), &json!("1")));
    assert!(all.get("A_KEY").is_none() && all.get("B_KEY").is_none(), "{all}");
}

#[test]
fn a_server_gets_no_file_or_socket_of_the_gateway() {
    let home = Home::new();
    home.add("one", &fake("environment", &[]));
    home.add("two", &fake("environment", &[]));
    let mut client = serving(&home, "one__files");
    wait_until("both are listed", || {
        client.request("tools/list", &json!({})).to_string().contains("two__files")
    });
    for tool in ["one__files", "two__files"] {
        let answer = client.call(tool, &json!({}));
        let opened: Vec<String> = serde_json::from_str(text(&answer)).unwrap();
        assert!(opened.len() >= 3, "{opened:?}");
        for kind in ["socket:", home.path().to_str().unwrap(), "anon_inode:"] {
            assert!(!opened.iter().any(|file| file.starts_with(kind)), "{opened:?}");
        }
    }
    assert_eq!(client.terminate(), 0);
}

#[test]
fn what_children_see_is_documented() {
    let readme = fs::read_to_string(crate::architecture::root().join("README.md")).unwrap();
    for word in ["--inherit-env", "--env NAME", "small environment", "A container runs until"] {
        assert!(readme.contains(word), "README.md does not say {word}");
    }
}
