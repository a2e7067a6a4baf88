//! Speed of the gateway's own work: listing, and routing a call up to its server.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use coffer::catalog::{CallLog, Catalog, KnownServer, VectorArm};
use coffer::domain::{EntryKind, Manifest, Server, StdioTransport, Transport};
use coffer::embedding::{EmbedWorker, Installed, ModelStore, Overrides};
use coffer::gateway::{
    Environment, Fleet, FleetParts, Gateway, GatewaySettings, Outlet, Session, definitions,
};
use coffer::search::Options;
use criterion::{BenchmarkId, Criterion};
use serde_json::value::RawValue;
use tokio_util::task::TaskTracker;

use crate::catalogue;

const SIZES: [usize; 3] = [150, 3_000, 30_000];

#[derive(Debug)]
struct Nowhere;

impl Outlet for Nowhere {
    fn send(&self, _: Bytes) -> bool {
        true
    }
}

fn known(server: usize, tools: usize) -> KnownServer {
    let texts: Vec<Box<RawValue>> = (server * tools..(server + 1) * tools)
        .map(|number| serde_json::from_str(&catalogue::definition(number).1).expect("valid"))
        .collect();
    let mut manifest = Manifest::default();
    manifest.take(EntryKind::Tool, texts.iter().map(AsRef::as_ref));
    let server = Server {
        name: format!("server-{server}").parse().expect("legal"),
        display_name: None,
        transport: Transport::Stdio(StdioTransport::default()),
        is_enabled: true,
        is_per_client: false,
        tags: Vec::new(),
        start_timeout: None,
    };
    KnownServer {
        server: Arc::new(server),
        manifest: Arc::new(manifest),
        switches: Arc::new(HashMap::new()),
    }
}

/// A gateway over kept manifests, with no server running.
fn gateway(tools: usize) -> (Arc<Gateway>, Arc<Session>, Arc<dyn Outlet>) {
    let catalog = Catalog::new(definitions, Options::tuned());
    catalog.set_servers((0..tools / 30).map(|server| known(server, 30)));
    catalog.rebuild();
    let minute = Duration::from_secs(60);
    let settings = GatewaySettings {
        start_timeout: minute,
        list_timeout: minute,
        call_timeout: minute,
        longest_call: minute,
        parallel_starts: 16,
        largest_message: 64 << 20,
        debounce: Duration::from_millis(300),
        session_idle: minute,
        most_sessions: 10,
    };
    let tasks = TaskTracker::new();
    let parts = FleetParts {
        settings: settings.clone(),
        environment: Environment::default(),
        guard: None,
        tasks: tasks.clone(),
        starts: Arc::new(tokio::sync::Semaphore::new(16)),
        on_manifest: Arc::new(|_, _| {}),
        on_state: Arc::new(|_, _| {}),
    };
    let store = ModelStore::new("nowhere".into(), Overrides::default());
    let worker = EmbedWorker::start(Installed { store, threads: 1 }, Box::new(|| {}));
    let vectors = VectorArm::new(worker.expect("a thread"));
    let gateway = Gateway::new((catalog, vectors), Fleet::new(parts), CallLog::off(), settings);
    gateway.open_after(Vec::new(), &tasks);
    let outlet: Arc<dyn Outlet> = Arc::new(Nowhere);
    let session = Session::new("bench", outlet.clone());
    (gateway, session, outlet)
}

pub(crate) fn requests(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let _entered = runtime.enter();
    for (group, message) in [
        ("tools-list", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned()),
        ("call-routing", {
            let name = catalogue::definition(0).0;
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"server-0__{name}","arguments":{{"a":1}}}}}}"#
            )
        }),
    ] {
        let mut group = criterion.benchmark_group(group);
        for size in SIZES {
            let (gateway, session, outlet) = gateway(size);
            let hello = Bytes::from_static(
                br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#,
            );
            runtime.block_on(gateway.take(&session, &hello, &outlet));
            let message = Bytes::from(message.clone());
            group.bench_function(BenchmarkId::from_parameter(size), |bench| {
                bench.iter(|| runtime.block_on(gateway.take(&session, &message, &outlet)));
            });
        }
        group.finish();
    }
}
