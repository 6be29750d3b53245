//! `version`: the versioning of a bucket.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::SUCCESS;
use crate::cli::VersionVerb;
use crate::error::Error;
use crate::session::Session;
use crate::target::{Remote, Target};

#[derive(Serialize)]
struct VersionMessage<'a> {
    #[serde(rename = "Op")]
    operation: &'static str,
    status: &'static str,
    url: &'a str,
    versioning: Versioning,
}

#[derive(Serialize)]
struct Versioning {
    status: String,
    #[serde(rename = "MFADelete")]
    mfa_delete: &'static str,
}

impl fmt::Display for VersionMessage<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.versioning.status.to_ascii_lowercase().as_str() {
            "" => write!(formatter, "{} is un-versioned", self.url),
            status => write!(formatter, "{} versioning is {status}", self.url),
        }
    }
}

pub(super) async fn run(session: &Arc<Session>, verb: VersionVerb) -> Result<(), Error> {
    let (operation, target) = match &verb {
        VersionVerb::Enable { target } => ("enable", target),
        VersionVerb::Suspend { target } => ("suspend", target),
        VersionVerb::Info { target } => ("info", target),
    };
    let Remote { s3, bucket, .. } = Target::bucket(session, target)?;
    let status = match operation {
        "info" => s3.versioning(&bucket).await?,
        _ => {
            let status = if operation == "enable" { "Enabled" } else { "Suspended" };
            s3.set_versioning(&bucket, status).await?;
            status.to_owned()
        }
    };
    session.output.print(&VersionMessage {
        operation,
        status: SUCCESS,
        url: target,
        versioning: Versioning { status, mfa_delete: "" },
    })
}
