//! The log row of a call, however it ends.

use std::sync::Arc;

use tokio::time::Instant;

use super::session::Session;
use crate::catalog::CallLog;
use crate::domain::{CallRecord, CallStatus};
use crate::sys::now_ms;

/// A call that will be logged: as cancelled unless it is finished first.
#[derive(Debug)]
pub(super) struct Record {
    log: CallLog,
    row: Option<CallRecord>,
    begin: Instant,
}

impl Record {
    pub(super) fn begin(
        log: &CallLog,
        session: &Arc<Session>,
        server: &str,
        kind: &'static str,
        name: &str,
    ) -> Self {
        let row = CallRecord {
            started_ms: now_ms(),
            client: session.client(),
            session: session.id.clone(),
            server: server.to_owned(),
            kind,
            name: name.to_owned(),
            duration: std::time::Duration::ZERO,
            status: CallStatus::Cancelled,
            error_class: None,
        };
        Self { log: log.clone(), row: Some(row), begin: Instant::now() }
    }

    /// Notes how it ended.
    pub(super) fn finish(mut self, status: CallStatus, error_class: Option<&'static str>) {
        if let Some(row) = &mut self.row {
            row.status = status;
            row.error_class = error_class;
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Some(mut row) = self.row.take() {
            row.duration = self.begin.elapsed();
            self.log.note(row);
        }
    }
}
