//! Registrations and the servers of a file, joined.

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::{Catalog, KnownServer, Snapshot};
use crate::domain::{Manifest, Server, ServerName};
use crate::gateway::definitions;
use crate::search::Options;

/// The catalogue as it is kept, with no server running.
pub fn kept_catalog(snapshot: &Snapshot, ad_hoc: &[Server]) -> Arc<Catalog> {
    let catalog = Catalog::new(definitions, Options::tuned());
    catalog.set_servers(join(snapshot, ad_hoc));
    catalog.rebuild();
    catalog
}

/// The servers of one moment: the registered ones and those of a file beside them.
/// A registered name wins; the entry of the file is then left out.
pub(super) fn join(snapshot: &Snapshot, ad_hoc: &[Server]) -> Vec<KnownServer> {
    let registered = snapshot.registry.servers.values().map(|(server, _)| server);
    let is_registered = |name: &ServerName| snapshot.registry.servers.contains_key(name);
    let beside = ad_hoc.iter().filter(|server| !is_registered(&server.name));
    registered.chain(beside).map(|server| known(server, snapshot)).collect()
}

fn known(server: &Server, snapshot: &Snapshot) -> KnownServer {
    let switches: HashMap<String, bool> = snapshot
        .registry
        .switches
        .iter()
        .filter(|((owner, _), _)| *owner == server.name)
        .map(|((_, tool), is_enabled)| (tool.clone(), *is_enabled))
        .collect();
    let stored = snapshot.manifests.get(&server.name);
    KnownServer {
        server: Arc::new(server.clone()),
        manifest: Arc::new(stored.map_or_else(Manifest::default, |stored| stored.manifest.clone())),
        switches: Arc::new(switches),
    }
}
