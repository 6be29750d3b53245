//! `ready`: wait until a service answers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::SUCCESS;
use crate::cli::ReadyArgs;
use crate::error::Error;
use crate::s3::S3;
use crate::session::Session;
use crate::target::Target;

/// Pause between two requests.
const INTERVAL: Duration = Duration::from_secs(1);

#[derive(Serialize)]
struct ReadyMessage<'a> {
    status: &'static str,
    alias: &'a str,
    healthy: bool,
    #[serde(rename = "maintenanceMode")]
    maintenance_mode: bool,
    #[serde(rename = "writeQuorum")]
    write_quorum: u32,
    #[serde(rename = "healingDrives")]
    healing_drives: u32,
    error: Option<String>,
}

impl fmt::Display for ReadyMessage<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.error, self.healthy) {
            (_, true) => write!(formatter, "The cluster '{}' is ready", self.alias),
            (Some(error), _) => {
                write!(formatter, "The cluster '{}' is unreachable: {error}", self.alias)
            }
            (None, false) => write!(formatter, "The cluster '{}' is not ready", self.alias),
        }
    }
}

pub(super) async fn run(session: &Arc<Session>, arguments: &ReadyArgs) -> Result<(), Error> {
    let alias = arguments.alias.trim_end_matches('/');
    let remote = Target::remote(session, alias)?;
    let mut told = None;
    loop {
        let (healthy, error) = match is_ready(&remote.s3).await {
            Ok(healthy) => (healthy, None),
            Err(error) => (false, Some(error.to_string())),
        };
        // Repeated lines every second say no more than one.
        let state = (healthy, error.clone());
        if told.as_ref() != Some(&state) {
            session.output.print(&ReadyMessage {
                status: SUCCESS,
                alias,
                healthy,
                maintenance_mode: false,
                write_quorum: u32::from(healthy),
                healing_drives: 0,
                error,
            })?;
            told = Some(state);
        }
        if healthy {
            return Ok(());
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Asks the health paths of MinIO and LiteIO. If the service has neither, an answer of S3 is
/// enough.
async fn is_ready(s3: &S3) -> Result<bool, Error> {
    for path in ["/minio/health/cluster", "/_liteio/health/ready"] {
        match s3.ask(path).await.map(|status| status.as_u16()) {
            Ok(200) => return Ok(true),
            Ok(503) => return Ok(false),
            // The service may not have the path.
            Ok(_) | Err(Error::Service(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(s3.ask("/").await?.as_u16() < 500)
}
