//! What the ranking promises, on small catalogues written as text.

use expect_test::{Expect, expect};

use super::{Arms, Confidence, Document, Index, Options};

const CATALOG: &str = "
    github__create_issue  | Open a new issue in a repository
    github__list_commits  | List the commits of a branch
    pg__backup_table      | 备份PostgreSQL数据表到文件
    pg__restore_table     | 从文件恢复表
    slack__post_message   | Post a message to a channel
    slack__search         | Search messages
    web__search           | Search the web
    wiki__search          | Search pages
    code__graph_lookup    | Look up a symbol
    code__findCallers     | Find who calls a function, with a graph lookup of callers and callers
";

fn index(catalog: &str) -> (Vec<String>, Index) {
    let mut lines: Vec<(&str, &str)> =
        catalog.lines().filter_map(|line| line.trim().split_once('|')).collect();
    lines.sort_unstable();
    let documents: Vec<Document> = lines
        .iter()
        .map(|(key, description)| {
            let (server, name) = key.trim().split_once("__").unwrap();
            let definition = serde_json::json!({ "description": description.trim() }).to_string();
            Document::new(key.trim(), server, name, &[], &definition)
        })
        .collect();
    let keys = documents.iter().map(|document| document.key.clone()).collect();
    (keys, Index::build(documents, Options::tuned()))
}

/// Checks which tools answer `query`, best first.
#[track_caller]
fn check(query: &str, depth: usize, expected: &Expect) {
    let (keys, index) = index(CATALOG);
    let ranking = index.rank(query, depth, None, Arms::Keyword);
    let lines: String =
        ranking.hits.iter().map(|hit| format!("{}\n", keys[hit.document])).collect();
    expected.assert_eq(&lines);
}

#[test]
fn a_request_finds_its_tool_whatever_the_form_of_the_words() {
    check(
        "opening issues",
        1,
        &expect![[r#"
        github__create_issue
    "#]],
    );
    check(
        "post mesage",
        1,
        &expect![[r#"
        slack__post_message
    "#]],
    );
    check(
        "make a new issue in the repo",
        1,
        &expect![[r#"
        github__create_issue
    "#]],
    );
}

#[test]
fn a_typed_name_is_first_in_every_spelling() {
    let spellings =
        ["graph_lookup", "code__graph_lookup", "GRAPH_LOOKUP", "graph lookup", "graph-lookup"];
    for query in spellings.into_iter().chain(["use graph_lookup to find callers"]) {
        check(query, 1, &expect![["code__graph_lookup\n"]]);
    }
    check("findCallers", 1, &expect![["code__findCallers\n"]]);
}

#[test]
fn every_tool_of_a_typed_name_and_every_name_of_a_list_is_found() {
    check(
        "search",
        3,
        &expect![[r#"
        slack__search
        wiki__search
        web__search
    "#]],
    );
    check(
        "create_issue, post_message and list_commits",
        3,
        &expect![[r#"
        github__list_commits
        slack__post_message
        github__create_issue
    "#]],
    );
}

#[test]
fn every_spelling_of_a_chinese_request_finds_the_same_tool() {
    for query in [
        "PostgreSQL 数据表备份",
        "PostgreSQL 數據表備份",
        "ＰｏｓｔｇｒｅＳＱＬ　数据表备份",
        "備份數據表",
    ] {
        check(query, 1, &expect![["pg__backup_table\n"]]);
    }
}

#[test]
fn the_same_query_gives_the_same_ranking_and_ties_go_by_name() {
    let (_, first) = index(CATALOG);
    let (_, second) = index(CATALOG);
    for query in ["search the pages", "a", "post a message", "lookup"] {
        assert_eq!(
            first.rank(query, 10, None, Arms::Keyword),
            second.rank(query, 10, None, Arms::Keyword)
        );
    }
    let (keys, twins) = index("b__same | Same text\n a__same | Same text\n c__same | Same text");
    let found: Vec<&str> = twins
        .rank("text", 5, None, Arms::Keyword)
        .hits
        .iter()
        .map(|hit| keys[hit.document].as_str())
        .collect();
    assert_eq!(found, ["a__same", "b__same", "c__same"]);
}

#[test]
fn the_first_hit_does_not_depend_on_how_many_are_asked_for() {
    let (_, index) = index(CATALOG);
    let all = index.rank("search messages", 20, None, Arms::Keyword);
    for depth in 1..=20 {
        let some = index.rank("search messages", depth, None, Arms::Keyword);
        assert_eq!(some.hits, all.hits[..some.hits.len()]);
    }
}

#[test]
fn text_that_names_nothing_here_says_so() {
    let (_, index) = index(CATALOG);
    for (query, has_words, confidence) in [
        ("asdfghjkl", true, Confidence::None),
        ("🔥🔥", false, Confidence::None),
        ("", false, Confidence::None),
        ("post a message to a channel", true, Confidence::High),
    ] {
        let ranking = index.rank(query, 5, None, Arms::Keyword);
        assert_eq!((ranking.has_words, ranking.confidence), (has_words, confidence), "{query}");
    }
}

#[test]
fn any_text_is_plain_words_and_none_breaks_the_search() {
    let (_, index) = index(CATALOG);
    let plain = index.rank("list issues repo owner name", 10, None, Arms::Keyword);
    assert_eq!(
        index.rank("list issues \"repo:owner/name", 10, None, Arms::Keyword).hits,
        plain.hits
    );
    let long = "list pods ".repeat(40_000);
    let many: String = (0..10_000).map(|number| format!("w{number} ")).collect();
    for query in
        [long.as_str(), &many, "AND OR NOT", "a\\b", "-v", "\0", "title:*", "(y+25)", "\u{200b}"]
    {
        let ranking = index.rank(query, 5, None, Arms::Keyword);
        assert!(ranking.hits.iter().all(|hit| hit.score.is_finite()), "{query:.20}");
    }
}

#[test]
fn a_filter_never_starves_the_answer() {
    let (keys, index) = index(CATALOG);
    let ranking = index.rank(
        "search",
        5,
        Some(&|document| keys[document].starts_with("slack")),
        Arms::Keyword,
    );
    assert_eq!(keys[ranking.hits[0].document], "slack__search");
    assert!(ranking.hits.iter().all(|hit| keys[hit.document].starts_with("slack")));
}

#[test]
fn an_empty_catalogue_answers_with_nothing() {
    let (_, index) = index("");
    assert!(index.rank("anything", 5, None, Arms::Keyword).hits.is_empty());
}
