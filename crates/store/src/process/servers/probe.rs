//! The probe of the blob store that all servers share.

use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use liteio_blob::{BlobError, BlobStore};

use super::{Servers, ms};
use crate::process::Calls;

/// Interval of probes.
const PROBE_EVERY: Duration = Duration::from_secs(10);
/// Time after the begin of the last successful probe from which the blob store counts as away.
pub(super) const PROBED_WITHIN: Duration = Duration::from_secs(30);

/// The last probes.
#[derive(Debug, Default)]
pub(super) struct Probed {
    /// The monotonic time at which the last successful one began, in milliseconds.
    pub(super) good_ms: u64,
    /// The failure of the last one.
    pub(super) failure: Option<String>,
}

/// The thread that probes. It ends by itself after this is dropped, and nobody waits for it: a network
/// file system may keep it for minutes.
#[derive(Debug)]
pub(crate) struct Probes(Arc<Calls<()>>);

impl Drop for Probes {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Servers {
    /// Starts the thread that probes these blobs.
    ///
    /// # Errors
    /// The errors of starting a thread.
    pub(super) fn start_probes(self: Arc<Self>, blobs: Arc<dyn BlobStore>) -> io::Result<Probes> {
        let calls = Arc::new(Calls::<()>::default());
        let own_calls = Arc::clone(&calls);
        thread::Builder::new().name("liteio-probe".to_owned()).spawn(move || {
            while own_calls.wait(PROBE_EVERY) {
                let begun_ms = self.clock.monotonic_ms();
                self.probed(begun_ms, blobs.probe());
            }
        })?;
        Ok(Probes(calls))
    }

    /// Notes the result of a probe that began at this monotonic time.
    pub(super) fn probed(&self, begun_ms: u64, result: Result<(), BlobError>) {
        let mut probed = self.probed.lock();
        match result {
            Ok(()) => *probed = Probed { good_ms: begun_ms, failure: None },
            Err(error) => probed.failure = Some(error.to_string()),
        }
    }

    /// See [`Cluster::blobs_failure`](super::Cluster::blobs_failure).
    pub(super) fn probe_failure(&self) -> Option<String> {
        let probed = self.probed.lock();
        let ago_ms = self.clock.monotonic_ms().saturating_sub(probed.good_ms);
        (ago_ms >= ms(PROBED_WITHIN)).then(|| match &probed.failure {
            Some(failure) => failure.clone(),
            None => format!("The blob store has not answered for {} s.", ago_ms / 1000),
        })
    }
}
