//! The invocation log, written in batches by a thread of its own, so that no
//! call ever waits for the database.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::domain::CallRecord;
use crate::storage::{Database, JournalMode, StorageError};
use crate::sys::now_ms;

/// Rows that may wait; later ones are dropped and counted, never blocking a call.
const LONGEST_QUEUE: usize = 20_000;

/// Most rows in one transaction.
const LARGEST_BATCH: usize = 1_000;

/// How long a row waits for others before they are written together.
const PATIENCE: Duration = Duration::from_millis(100);

/// Longest single wait for another process's write lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// How long the writer waits for a row before it looks after the file.
const IDLE: Duration = Duration::from_secs(1);

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

/// Where calls are noted. Cheap to clone; the writer ends with the last clone.
#[derive(Clone, Debug)]
pub struct CallLog(Option<Arc<Entrance>>);

/// The writing thread; to be joined after [`CallLog::close`].
#[derive(Debug)]
pub struct CallLogWriter(JoinHandle<()>);

/// Closes the queue when nobody is left to add to it.
#[derive(Debug)]
struct Entrance(Arc<Queue>);

impl Drop for Entrance {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_one();
    }
}

/// Rows that wait. Only the first row of a batch wakes the writer, so that a busy
/// gateway does not pay for a change of threads with each call.
#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    rows: Vec<CallRecord>,
    is_closed: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for rows, then for those that come with them. True at the end of the log.
    fn next_batch(&self) -> (Vec<CallRecord>, bool) {
        let wait = |waiting, limit, fits: fn(&mut Waiting) -> bool| {
            let waited = self.changed.wait_timeout_while(waiting, limit, fits);
            waited.unwrap_or_else(PoisonError::into_inner).0
        };
        let waiting =
            wait(self.lock(), IDLE, |waiting| waiting.rows.is_empty() && !waiting.is_closed);
        if waiting.rows.is_empty() {
            return (Vec::new(), waiting.is_closed);
        }
        let mut waiting = wait(waiting, PATIENCE, |waiting| !waiting.is_closed);
        (std::mem::take(&mut waiting.rows), waiting.is_closed)
    }
}

impl CallLog {
    /// A log that keeps nothing.
    pub fn off() -> Self {
        Self(None)
    }

    /// Starts the writer on the database at `path`.
    pub fn start(
        path: PathBuf,
        journal: JournalMode,
        retention: Retention,
    ) -> std::io::Result<(Self, CallLogWriter)> {
        let queue = Arc::new(Queue::default());
        let log = Self(Some(Arc::new(Entrance(queue.clone()))));
        let thread = std::thread::Builder::new().name("call-log".to_owned()).spawn(move || {
            Writer { path, journal, retention, queue, database: None }.run();
        })?;
        Ok((log, CallLogWriter(thread)))
    }

    /// Notes a call. Never waits for the database.
    pub fn note(&self, record: CallRecord) {
        let Some(Entrance(queue)) = self.0.as_deref() else { return };
        let mut waiting = queue.lock();
        if waiting.rows.len() >= LONGEST_QUEUE {
            queue.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        waiting.rows.push(record);
        if waiting.rows.len() == 1 {
            queue.changed.notify_one();
        }
    }

    /// Takes no more; what was noted is still written.
    pub fn close(&self) {
        if let Some(Entrance(queue)) = self.0.as_deref() {
            queue.lock().is_closed = true;
            queue.changed.notify_one();
        }
    }

    /// Rows that were dropped because the database could not keep up.
    pub fn dropped(&self) -> u64 {
        self.0.as_ref().map_or(0, |entrance| entrance.0.dropped.load(Ordering::Relaxed))
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
    queue: Arc<Queue>,
    database: Option<Database>,
}

impl Writer {
    fn run(mut self) {
        let mut last_pruned = 0;
        let mut has_new_rows = true;
        loop {
            let (batch, is_over) = self.queue.next_batch();
            for part in batch.chunks(LARGEST_BATCH) {
                self.append(part, is_over);
                has_new_rows = true;
            }
            if is_over {
                return;
            }
            let now = now_ms();
            if has_new_rows && now - last_pruned > PRUNE_EVERY_MS {
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
                Err(Retry::Later) if !is_over && !self.queue.lock().is_closed => {}
                Err(Retry::Later | Retry::Never) => {
                    let rows = u64::try_from(batch.len()).unwrap_or(u64::MAX);
                    self.queue.dropped.fetch_add(rows, Ordering::Relaxed);
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
            // Tried again anyway, and an end of the program must not wait for long.
            if let Err(error) = opened.wait_at_most(LOCK_PATIENCE) {
                tracing::warn!(%error, "the invocation log waits longer for locks than it should");
            }
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
