//! `mb`: make buckets.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::SUCCESS;
use crate::cli::MbArgs;
use crate::error::{Error, ServiceError};
use crate::s3::Bucket;
use crate::session::Session;
use crate::target::{Remote, Target};

/// The code of the error about a bucket of one's own.
const EXISTS: &str = "BucketAlreadyOwnedByYou";

#[derive(Serialize)]
struct MbMessage<'a> {
    status: &'static str,
    bucket: &'a str,
    region: String,
}

impl fmt::Display for MbMessage<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Bucket created successfully `{}`.", self.bucket)
    }
}

pub(super) async fn run(session: &Arc<Session>, arguments: &MbArgs) -> Result<(), Error> {
    for target in &arguments.targets {
        match make(session, arguments, target).await {
            Ok(region) => {
                session.output.print(&MbMessage { status: SUCCESS, bucket: target, region })?;
            }
            Err(error) => {
                session.output.failure(&format!("Unable to make bucket `{target}`."), &error);
            }
        }
    }
    Ok(())
}

/// Makes a bucket, and returns its region; a directory has none.
async fn make(session: &Session, arguments: &MbArgs, target: &str) -> Result<String, Error> {
    let remote = match Target::to_write(session, target)? {
        Target::Remote(remote) => remote,
        Target::Local(local) => {
            return local.make_directory().map(|()| String::new());
        }
    };
    if !remote.key.is_empty() {
        return Err(Error::refused("a bucket has no slash in its name; folders need not be made"));
    }
    if !arguments.ignore_existing && !arguments.as_aws {
        refuse_existing(&remote).await?;
    }
    let region = arguments.region.as_deref();
    let bucket = Bucket { name: &remote.bucket, region, with_lock: arguments.with_lock };
    let made = match remote.s3.create_bucket(bucket).await {
        Err(error)
            if arguments.ignore_existing
                && matches!(error.code(), EXISTS | "BucketAlreadyExists") =>
        {
            remote.s3.region_of(&remote.bucket)
        }
        made => made?,
    };
    // It may have been there, also without an error, and in another region. Its user may have no right to ask for that.
    let region = match arguments.ignore_existing {
        true => remote.s3.location(&remote.bucket).await.unwrap_or(made),
        false => made,
    };
    if arguments.with_versioning {
        remote.s3.set_versioning(&remote.bucket, "Enabled").await?;
    }
    Ok(region)
}

/// Refuses a bucket that exists, as `mc` does: in the first region S3 makes one's own bucket again without
/// an error.
async fn refuse_existing(remote: &Remote) -> Result<(), Error> {
    match remote.s3.head_bucket(&remote.bucket).await {
        Ok(()) => Err(Error::Service(ServiceError {
            status: 409,
            code: EXISTS.to_owned(),
            message: format!("the bucket '{}' exists already", remote.bucket),
            ..ServiceError::default()
        })),
        // Whether it may be made is told by the answer to that.
        Err(Error::Service(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
