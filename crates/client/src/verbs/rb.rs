//! `rb`: remove buckets.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::SUCCESS;
use super::removal::{How, Remover};
use crate::cli::RbArgs;
use crate::error::Error;
use crate::s3::{Entry, Listed, Removal, Upload};
use crate::session::Session;
use crate::target::{Remote, Target};
use crate::transfer::Listing;

#[derive(Serialize)]
struct RbMessage {
    status: &'static str,
    bucket: String,
}

impl fmt::Display for RbMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Removed `{}` successfully.", self.bucket)
    }
}

pub(super) async fn run(session: &Arc<Session>, arguments: &RbArgs) -> Result<(), Error> {
    let mut buckets = Vec::new();
    for text in &arguments.targets {
        let remote = Target::remote(session, text)?;
        if !remote.key.is_empty() {
            return Err(Error::refused(format!("'{text}' is no bucket; `rm` removes objects")));
        }
        if !remote.bucket.is_empty() {
            buckets.push(remote);
        } else if arguments.force && arguments.dangerous {
            let all = remote.s3.buckets().await?;
            buckets.extend(all.into_iter().map(|it| Remote { bucket: it.key, ..remote.clone() }));
        } else {
            return Err(Error::refused(format!(
                "'{text}' is all of a service: add --force --dangerous to remove all its buckets"
            )));
        }
    }
    for bucket in &buckets {
        match remove(session, arguments, bucket).await {
            // As with `rm -f`, a missing bucket is no failure.
            Err(error) if arguments.force && error.code() == "NoSuchBucket" => {}
            Ok(()) => {
                session.output.print(&RbMessage { status: SUCCESS, bucket: bucket.name() })?;
            }
            Err(error) => {
                session.output.failure(&format!("Failed to remove `{}`.", bucket.name()), &error);
            }
        }
    }
    Ok(())
}

async fn remove(session: &Session, arguments: &RbArgs, bucket: &Remote) -> Result<(), Error> {
    if arguments.force {
        let all = Target::Remote(bucket.clone());
        let mut listing = Listing::of(&all, true, Listed::Versions).await?;
        let how = How { silent: true, ..How::default() };
        let mut remover = Remover::new(session, bucket, how);
        while let Some(item) = listing.next(session).await? {
            let Entry { key, version, .. } = item.entry;
            remover.add(Removal { key, version }).await?;
        }
        remover.flush().await?;
        let mut listing = Listing::of(&all, true, Listed::Uploads).await?;
        while let Some(item) = listing.next(session).await? {
            let Entry { key, version, .. } = item.entry;
            let id = version.unwrap_or_default();
            let upload = Upload { bucket: bucket.bucket.clone(), key, id };
            bucket.s3.abort_upload(&upload).await?;
        }
    }
    bucket.s3.delete_bucket(&bucket.bucket).await
}
