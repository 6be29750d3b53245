//! `mb`: make buckets.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::SUCCESS;
use crate::cli::MbArgs;
use crate::error::Error;
use crate::s3::Bucket;
use crate::session::Session;
use crate::target::Target;

#[derive(Serialize)]
struct MbMessage<'a> {
    status: &'static str,
    bucket: &'a str,
    region: &'a str,
}

impl fmt::Display for MbMessage<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Bucket created successfully `{}`.", self.bucket)
    }
}

pub(super) async fn run(session: &Arc<Session>, arguments: &MbArgs) -> Result<(), Error> {
    for target in &arguments.targets {
        match make(session, arguments, target).await {
            Ok(()) => {
                let message =
                    MbMessage { status: SUCCESS, bucket: target, region: &arguments.region };
                session.output.print(&message)?;
            }
            Err(error) => {
                session.output.failure(&format!("Unable to make bucket `{target}`."), &error);
            }
        }
    }
    Ok(())
}

async fn make(session: &Session, arguments: &MbArgs, target: &str) -> Result<(), Error> {
    let remote = match Target::to_write(session, target)? {
        Target::Remote(remote) => remote,
        Target::Local(local) => {
            return local.make_directory();
        }
    };
    if !remote.key.is_empty() {
        return Err(Error::refused("a bucket has no slash in its name; folders need not be made"));
    }
    let bucket =
        Bucket { name: &remote.bucket, region: &arguments.region, with_lock: arguments.with_lock };
    match remote.s3.create_bucket(bucket).await {
        Err(error)
            if arguments.ignore_existing
                && matches!(error.code(), "BucketAlreadyOwnedByYou" | "BucketAlreadyExists") => {}
        result => result?,
    }
    if arguments.with_versioning {
        remote.s3.set_versioning(&remote.bucket, "Enabled").await?;
    }
    Ok(())
}
