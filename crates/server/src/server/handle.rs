//! [`ServerHandle`]: controls a running server.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::banner::{self, Encryption};
use crate::cluster::watch::Over;
use crate::config::Config;
use crate::made_credentials::MadeCredentials;
#[cfg(feature = "testkit")]
use liteio_testkit::TestControl;
use liteio_wire::budget::{Budget, Resource};
use liteio_wire::front::Handler;
use liteio_wire::serve::StopSignals;
use liteio_wire::tls::{Certificates, fingerprint};

/// Time within which a second signal is the first once more: a terminal sends Ctrl-C to all of its processes, and `npm` and others
/// pass it on to the server as well.
const TWICE_WITHIN: Duration = Duration::from_millis(500);

/// Describes the state of a server in a few words each time it is called.
pub(crate) type Condition = Arc<dyn Fn() -> String + Send + Sync>;

/// A running server. Dropping it stops the server without waiting for it.
#[must_use = "dropping the handle stops the server"]
pub struct ServerHandle {
    pub(super) address: SocketAddr,
    pub(super) plain_address: Option<SocketAddr>,
    pub(super) website_address: Option<SocketAddr>,
    pub(super) iceberg_address: Option<SocketAddr>,
    pub(super) console_address: Option<SocketAddr>,
    pub(super) certificates: Option<Arc<Certificates>>,
    pub(super) made_credentials: Option<MadeCredentials>,
    #[cfg(feature = "testkit")]
    pub(super) test_control: Option<TestControl>,
    pub(super) handler: Arc<dyn Handler>,
    pub(super) budget: Arc<Budget>,
    pub(super) stop: watch::Sender<bool>,
    /// Cuts off the requests in flight of a server that is stopping.
    pub(super) cut: Arc<Notify>,
    /// Describes the readiness; `None` for a handler that is not ours.
    pub(super) condition: Option<Condition>,
    /// Of one of several servers.
    pub(super) over: Option<Over>,
    pub(super) task: Option<JoinHandle<()>>,
}

impl ServerHandle {
    /// The address that it listens on, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL to give to an S3 client on this machine.
    pub fn endpoint(&self) -> String {
        banner::endpoint(self.address, self.certificates.is_some())
    }

    /// The address of plain HTTP, if served in addition to HTTPS.
    pub fn plain_address(&self) -> Option<SocketAddr> {
        self.plain_address
    }

    /// The address for websites only, if there is one.
    pub fn website_address(&self) -> Option<SocketAddr> {
        self.website_address
    }

    /// The second address with the Iceberg REST catalog at its root, if there is one.
    pub fn iceberg_address(&self) -> Option<SocketAddr> {
        self.iceberg_address
    }

    /// The second address of the console, if there is one.
    pub fn console_address(&self) -> Option<SocketAddr> {
        self.console_address
    }

    /// The current chain of the first certificate in DER, server certificate first; `None` without
    /// TLS. A client that trusts it as an authority trusts a server with a self-signed certificate.
    pub fn certificate(&self) -> Option<Vec<Vec<u8>>> {
        self.certificates.as_ref().map(|certificates| certificates.first_chain())
    }

    /// The control of the test API, if enabled.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use liteio::{FaultRule, Server, TestAccess};
    ///
    /// let server = Server::builder().memory().test_api(TestAccess::Local).spawn().await?;
    /// let tests = server.test_control().expect("it has the test API");
    /// tests.snapshot("empty").await?;
    /// // The next two uploads fail.
    /// let rule = FaultRule {
    ///     operation: Some("PutObject".to_owned()),
    ///     status: Some(503),
    ///     times: Some(2),
    ///     ..FaultRule::default()
    /// };
    /// tests.add_fault(rule)?;
    /// // … requests …
    /// tests.restore("empty").await?;
    /// tests.reset().await?;
    /// server.stop().await;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "testkit")]
    pub fn test_control(&self) -> Option<TestControl> {
        self.test_control.clone()
    }

    /// The credentials generated at this start.
    pub(crate) fn made_pair(&self) -> Option<(String, String)> {
        self.made_credentials.as_ref().and_then(|made| made.pair.clone())
    }

    /// True if credentials were generated at this start, which the banner must show.
    pub(crate) fn has_new_credentials(&self) -> bool {
        self.made_credentials.as_ref().is_some_and(|made| made.pair.is_some())
    }

    /// The startup banner.
    pub(crate) fn banner(&self, config: &Config) -> String {
        let encryption = self.certificates.as_ref().map(|certificates| {
            let chain = certificates.first_chain();
            let sum = fingerprint(chain.first().map_or(&[], |first| first));
            let file = certificates.first_file().map(Path::to_path_buf);
            let named = file.as_ref().map(|it| format!("{}, ", it.display()));
            let certificate = format!("{}SHA-256 {sum}", named.unwrap_or_default());
            Encryption { certificate, file, plain_address: self.plain_address }
        });
        let credentials = banner::credentials(config, self.made_credentials.as_ref());
        banner::banner(
            config,
            self.address,
            &credentials,
            encryption.as_ref(),
            self.website_address,
            self.console_address,
        )
    }

    /// Starts a scrub: reads all data in the background, at a bounded rate, to find damage.
    /// `/_liteio/health/ready` reports it.
    pub fn scrub(&self) {
        self.handler.scrub();
    }

    /// Reloads the certificates and the credentials file. The server also does so a second after a
    /// change; when this call returns, the change is in effect. If a file is invalid, what it is about
    /// stays unchanged.
    pub fn reload(&self) {
        if let Some(certificates) = &self.certificates {
            certificates.read_again();
        }
        self.handler.reload();
    }

    /// Describes the readiness in a few words. It reads, so it returns only if the store answers.
    pub(crate) fn condition(&self) -> impl Fn() -> String + Clone + Send + use<> {
        let condition = self.condition.clone();
        move || condition.as_ref().map_or_else(|| "ready".to_owned(), |condition| condition())
    }

    /// Waits until the other servers of its cluster have ended this one, which then can never serve again.
    /// Returns the reason.
    pub(crate) async fn over(&self) -> String {
        if let Some(mut over) = self.over.clone()
            && let Ok(reason) = over.wait_for(Option::is_some).await
        {
            return reason.clone().unwrap_or_default();
        }
        std::future::pending().await
    }

    /// The number of requests in flight.
    pub(crate) fn requests_in_flight(&self) -> u64 {
        self.budget.used(Resource::Requests)
    }

    /// Stops as [`stop`](ServerHandle::stop) does, without waiting for the requests in flight once `signals` has another one
    /// that somebody means.
    pub(crate) async fn stop_at_once_if_told(self, signals: &mut StopSignals) {
        let cut = Arc::clone(&self.cut);
        let stopped = self.stop();
        tokio::pin!(stopped);
        let begun = Instant::now();
        loop {
            tokio::select! {
                () = &mut stopped => return,
                _ = signals.recv() => {
                    if begun.elapsed() >= TWICE_WITHIN {
                        cut.notify_one();
                    }
                }
            }
        }
    }

    /// Stops accepting connections, finishes the requests in flight (for 30 seconds at most), and
    /// closes the data.
    pub async fn stop(mut self) {
        self.condition = None;
        self.stop.send_replace(true);
        if let Some(task) = self.task.take()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the server did not stop cleanly");
        }
    }
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ServerHandle")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}
