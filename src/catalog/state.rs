//! What is known of each server, and the task that turns it into views.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use tokio::sync::{Notify, watch};

use super::view::View;
use crate::domain::{EntryKind, Manifest, Server, ServerName};
use crate::search::Options;

/// What is known of one server.
#[derive(Clone, Debug)]
pub struct KnownServer {
    /// Its registration.
    pub server: Arc<Server>,
    /// What it offers, as last listed.
    pub manifest: Arc<Manifest>,
    /// Tools switched on or off by the user, by original name.
    pub switches: Arc<HashMap<String, bool>>,
}

impl KnownServer {
    /// Whether the user lets this tool through; new tools are on.
    pub fn is_tool_enabled(&self, original: &str) -> bool {
        self.switches.get(original).copied().unwrap_or(true)
    }
}

/// Which lists have changed how often, as clients would see it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Changes {
    /// Views built so far.
    pub views: u64,
    /// Changes of the list of tools.
    pub tools: u64,
    /// Changes of the list of prompts.
    pub prompts: u64,
    /// Changes of the lists of resources and resource templates.
    pub resources: u64,
}

/// Coffer's own tool definitions, given the names of the servers that are on.
pub type OwnTools = fn(&[&str]) -> Vec<String>;

/// The catalogue: changed by anyone, rebuilt by one task, read as whole views.
#[derive(Debug)]
pub struct Catalog {
    own_tools: OwnTools,
    options: Options,
    state: Mutex<State>,
    view: ArcSwap<View>,
    dirty: Notify,
    changes: watch::Sender<Changes>,
}

#[derive(Debug, Default)]
struct State {
    servers: BTreeMap<ServerName, KnownServer>,
    /// Counts changes of `servers`.
    edits: u64,
    /// The count that the current view was built from.
    built: u64,
}

impl Catalog {
    /// An empty catalogue that lists `own_tools`, Coffer's own definitions, first.
    pub fn new(own_tools: OwnTools, options: Options) -> Arc<Self> {
        let view = View::build(own_tools(&[]), &[], &options);
        Arc::new(Self {
            own_tools,
            options,
            state: Mutex::default(),
            view: ArcSwap::from_pointee(view),
            dirty: Notify::new(),
            changes: watch::Sender::new(Changes::default()),
        })
    }

    /// The current view.
    pub fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// Tells which lists have changed, after each new view.
    pub fn changes(&self) -> watch::Receiver<Changes> {
        self.changes.subscribe()
    }

    /// Replaces registrations and switches. A server that stays keeps the manifest
    /// that it has here; the given one is for a new server.
    pub fn set_servers(&self, servers: impl IntoIterator<Item = KnownServer>) {
        let mut state = self.lock();
        let mut next = BTreeMap::new();
        for mut known in servers {
            let name = known.server.name.clone();
            if let Some(current) = state.servers.get(&name) {
                let is_same_target = current.server.transport == known.server.transport;
                if is_same_target && *current.manifest != Manifest::default() {
                    known.manifest = current.manifest.clone();
                }
            }
            next.insert(name, known);
        }
        state.servers = next;
        state.edits += 1;
        self.dirty.notify_one();
    }

    /// Takes what a server offers now. Ignored for a server that is gone.
    pub fn offer(&self, server: &ServerName, manifest: Arc<Manifest>) {
        let mut state = self.lock();
        if let Some(known) = state.servers.get_mut(server)
            && *known.manifest != *manifest
        {
            known.manifest = manifest;
            state.edits += 1;
            self.dirty.notify_one();
        }
    }

    /// What is known of each server, in name order.
    pub fn servers(&self) -> Vec<KnownServer> {
        self.lock().servers.values().cloned().collect()
    }

    /// Builds a new view when something has changed, and swaps it in. CPU-bound.
    pub fn rebuild(&self) {
        let (servers, edits) = {
            let state = self.lock();
            if state.built == state.edits {
                return;
            }
            (state.servers.values().cloned().collect::<Vec<_>>(), state.edits)
        };
        let names: Vec<&str> = servers
            .iter()
            .filter(|known| known.server.is_enabled)
            .map(|known| known.server.name.as_str())
            .collect();
        let view = View::build((self.own_tools)(&names), &servers, &self.options);
        let old = self.view.swap(Arc::new(view));
        let new = self.view();
        self.lock().built = edits;
        let differs = |kind| u64::from(old.list(kind) != new.list(kind));
        self.changes.send_modify(|changes| {
            changes.views += 1;
            changes.tools += differs(EntryKind::Tool);
            changes.prompts += differs(EntryKind::Prompt);
            changes.resources += differs(EntryKind::Resource).max(differs(EntryKind::Template));
        });
    }

    /// Rebuilds after each change, until the task is dropped.
    pub async fn keep_building(self: Arc<Self>) {
        loop {
            self.dirty.notified().await;
            let catalog = self.clone();
            if let Err(error) = tokio::task::spawn_blocking(move || catalog.rebuild()).await {
                tracing::error!(%error, "building a view of the catalogue failed; the old one stays");
            }
        }
    }

    /// Waits until the view holds every change made before the call.
    pub async fn settled(&self) {
        let wanted = self.lock().edits;
        let mut changes = self.changes.subscribe();
        while self.lock().built < wanted {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change of the state is complete in itself.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, Catalog, EntryKind, HashMap, KnownServer, Manifest, Options, Server};
    use crate::catalog::SearchFilter;
    use crate::domain::{StdioTransport, Transport};
    use crate::search::Arms;
    use serde_json::value::RawValue;

    fn manifest(names: &[&str]) -> Arc<Manifest> {
        let definitions: Vec<Box<RawValue>> = names
            .iter()
            .map(|name| {
                let text = format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
                serde_json::from_str(&text).unwrap()
            })
            .collect();
        let mut manifest = Manifest::default();
        manifest.take(EntryKind::Tool, definitions.iter().map(AsRef::as_ref));
        Arc::new(manifest)
    }

    fn known(name: &str, tools: &[&str], off: &[&str]) -> KnownServer {
        let server = Server {
            name: name.parse().unwrap(),
            display_name: None,
            transport: Transport::Stdio(StdioTransport::default()),
            is_enabled: true,
            is_per_client: false,
            tags: Vec::new(),
            start_timeout: None,
        };
        let switches =
            off.iter().map(|tool| ((*tool).to_owned(), false)).collect::<HashMap<_, _>>();
        KnownServer { server: server.into(), manifest: manifest(tools), switches: switches.into() }
    }

    #[test]
    fn own_tools_come_first_then_servers_and_tools_in_name_order() {
        let catalog =
            Catalog::new(|_| vec![r#"{"name":"coffer__x"}"#.to_owned()], Options::tuned());
        catalog.set_servers([known("b", &["z", "a"], &[]), known("a", &["m"], &[])]);
        catalog.rebuild();
        let list = catalog.view().list(EntryKind::Tool).clone();
        let list: serde_json::Value = serde_json::from_str(&list).unwrap();
        let names: Vec<&str> =
            list["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["coffer__x", "a__m", "b__a", "b__z"]);
    }

    #[test]
    fn a_switched_off_tool_is_routed_as_refused_and_neither_listed_nor_found() {
        let catalog = Catalog::new(|_| Vec::new(), Options::tuned());
        catalog.set_servers([known("a", &["gone", "kept"], &["gone"])]);
        catalog.rebuild();
        let view = catalog.view();
        assert!(!view.tool("a__gone").unwrap().is_enabled());
        assert!(!view.list(EntryKind::Tool).contains("gone"));
        assert_eq!(view.search("gone", &SearchFilter::default(), 5, &Arms::Keyword).searched, 1);
        // The switch is for the name, so it holds when the tool goes and comes back.
        catalog.offer(&"a".parse().unwrap(), manifest(&["kept"]));
        catalog.offer(&"a".parse().unwrap(), manifest(&["gone", "kept"]));
        catalog.rebuild();
        assert!(!catalog.view().tool("a__gone").unwrap().is_enabled());
    }

    #[test]
    fn only_what_clients_see_counts_as_a_change() {
        let catalog = Catalog::new(|_| Vec::new(), Options::tuned());
        let changes = catalog.changes();
        catalog.set_servers([known("a", &["t"], &[])]);
        catalog.rebuild();
        assert_eq!((changes.borrow().tools, changes.borrow().prompts), (1, 0));
        catalog.set_servers([known("a", &["t"], &["other"])]);
        catalog.rebuild();
        assert_eq!((changes.borrow().views, changes.borrow().tools), (2, 1));
    }
}
