//! `ping`: the response time of a service.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::SUCCESS;
use crate::cli::PingArgs;
use crate::error::Error;
use crate::session::Session;
use crate::target::Target;

#[derive(Serialize)]
struct PingMessage {
    status: &'static str,
    counter: String,
    servers: [Server; 1],
}

#[derive(Serialize)]
struct Server {
    endpoint: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    time: String,
}

impl fmt::Display for PingMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [Server { endpoint, status, time, error }] = &self.servers;
        write!(formatter, "{}: {endpoint}   status={status}   time={time}", self.counter)?;
        match error {
            Some(error) => write!(formatter, "   {error}"),
            None => Ok(()),
        }
    }
}

pub(super) async fn run(session: &Arc<Session>, arguments: &PingArgs) -> Result<(), Error> {
    let remote = Target::remote(session, &arguments.alias)?;
    let mut failures = 0;
    let mut counter = 0u32;
    loop {
        counter += 1;
        let begun = Instant::now();
        let answer = match remote.s3.ask("/minio/health/live").await {
            // A service that refuses the path is there as well.
            Ok(status) if status.as_u16() < 500 => Ok(()),
            Ok(status) => Err(format!("status {}", status.as_u16())),
            Err(error) => Err(error.to_string()),
        };
        let time = format!("{:.2}ms", begun.elapsed().as_secs_f64() * 1000.0);
        let is_online = answer.is_ok();
        failures = if is_online { 0 } else { failures + 1 };
        session.output.print(&PingMessage {
            status: SUCCESS,
            counter: counter.to_string(),
            servers: [Server {
                endpoint: remote.s3.endpoint().url(),
                status: if is_online { "ok" } else { "failed" },
                error: answer.err(),
                time,
            }],
        })?;
        if is_online && arguments.exit {
            return Ok(());
        }
        let is_last = arguments.count == Some(counter);
        if is_last && is_online {
            return Ok(());
        }
        if is_last || arguments.error_count.is_some_and(|it| failures >= it) {
            return Err(Error::refused(format!("{} does not answer", arguments.alias)));
        }
        tokio::time::sleep(Duration::from_secs(arguments.interval)).await;
    }
}
