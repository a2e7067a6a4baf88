//! The invocation log, written in batches by a thread of its own, so that no
//! call ever waits for the database.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::domain::CallRecord;
use crate::storage::{Database, JournalMode, StorageError};
use crate::sys::now_ms;

/// Rows that may wait; later ones are dropped and counted, never blocking a call.
const LONGEST_QUEUE: usize = 20_000;

/// Most rows in one transaction.
const LARGEST_BATCH: usize = 1_000;

/// How long a row waits for company before it is written.
const PATIENCE: Duration = Duration::from_millis(100);

/// Pause between two prunings.
const PRUNE_EVERY_MS: i64 = 10 * 60 * 1000;

/// How much of the log is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Retention {
    /// Age at which a row goes.
    pub age: Duration,
    /// Most rows kept.
    pub rows: u32,
}

/// Where calls are noted. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CallLog {
    queue: Option<SyncSender<CallRecord>>,
    dropped: Arc<AtomicU64>,
}

/// The writing thread; to be joined after the last [`CallLog`] is gone.
#[derive(Debug)]
pub struct CallLogWriter(JoinHandle<()>);

impl CallLog {
    /// A log that keeps nothing.
    pub fn off() -> Self {
        Self { queue: None, dropped: Arc::default() }
    }

    /// Starts the writer on the database at `path`.
    pub fn start(
        path: PathBuf,
        journal: JournalMode,
        retention: Retention,
    ) -> std::io::Result<(Self, CallLogWriter)> {
        let (queue, records) = sync_channel(LONGEST_QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let log = Self { queue: Some(queue), dropped: dropped.clone() };
        let thread = std::thread::Builder::new().name("call-log".to_owned()).spawn(move || {
            let writer = Writer { path, journal, retention, dropped, database: None };
            writer.run(&records);
        })?;
        Ok((log, CallLogWriter(thread)))
    }

    /// Notes a call. Never waits.
    pub fn note(&self, record: CallRecord) {
        if let Some(queue) = &self.queue
            && queue.try_send(record).is_err()
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Rows that were dropped because the database could not keep up.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl CallLogWriter {
    /// Waits until every noted call is written.
    pub fn join(self) {
        if self.0.join().is_err() {
            tracing::error!(
                "the thread of the invocation log has panicked; its last rows are lost"
            );
        }
    }
}

struct Writer {
    path: PathBuf,
    journal: JournalMode,
    retention: Retention,
    dropped: Arc<AtomicU64>,
    database: Option<Database>,
}

impl Writer {
    fn run(mut self, records: &Receiver<CallRecord>) {
        let mut last_pruned = 0;
        let mut has_new_rows = true;
        loop {
            let (batch, is_over) = next_batch(records);
            if !batch.is_empty() {
                self.append(&batch, is_over);
                has_new_rows = true;
            }
            if is_over {
                return;
            }
            let now = now_ms();
            if batch.is_empty() && has_new_rows && now - last_pruned > PRUNE_EVERY_MS {
                self.prune(now);
                last_pruned = now;
                has_new_rows = false;
            }
        }
    }

    /// Writes a batch. While another process holds the lock it is tried again,
    /// and meanwhile rows wait in the queue; at the end of the program once.
    fn append(&mut self, batch: &[CallRecord], is_over: bool) {
        loop {
            match self
                .database()
                .and_then(|database| database.append_calls(batch).map_err(Retry::after))
            {
                Ok(()) => return,
                Err(Retry::Later) if !is_over => {}
                Err(Retry::Later | Retry::Never) => {
                    let rows = u64::try_from(batch.len()).unwrap_or(u64::MAX);
                    self.dropped.fetch_add(rows, Ordering::Relaxed);
                    tracing::warn!(rows, "rows of the invocation log could not be written");
                    self.database = None;
                    return;
                }
            }
        }
    }

    fn prune(&mut self, now: i64) {
        let age = i64::try_from(self.retention.age.as_millis()).unwrap_or(i64::MAX);
        let rows = i64::from(self.retention.rows);
        if let Ok(database) = self.database()
            && let Err(error) = database.prune_calls(now.saturating_sub(age), rows)
        {
            tracing::warn!(%error, "pruning the invocation log");
        }
    }

    fn database(&mut self) -> Result<&mut Database, Retry> {
        if self.database.is_none() {
            let opened = Database::open(&self.path, self.journal).map_err(|error| {
                tracing::warn!(%error, "opening the invocation log");
                Retry::Never
            })?;
            self.database = Some(opened);
        }
        self.database.as_mut().ok_or(Retry::Never)
    }
}

enum Retry {
    Later,
    Never,
}

impl Retry {
    fn after(error: StorageError) -> Self {
        match error {
            StorageError::Busy { .. } => Self::Later,
            StorageError::Sqlite { .. } | StorageError::Thread(_) => Self::Never,
        }
    }
}

/// Waits for a row, then gathers what comes with it. True at the end of the log.
fn next_batch(records: &Receiver<CallRecord>) -> (Vec<CallRecord>, bool) {
    let first = match records.recv_timeout(Duration::from_secs(1)) {
        Ok(record) => record,
        Err(RecvTimeoutError::Timeout) => return (Vec::new(), false),
        Err(RecvTimeoutError::Disconnected) => return (Vec::new(), true),
    };
    let mut batch = vec![first];
    while batch.len() < LARGEST_BATCH {
        match records.recv_timeout(PATIENCE) {
            Ok(record) => batch.push(record),
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => return (batch, true),
        }
    }
    (batch, false)
}
