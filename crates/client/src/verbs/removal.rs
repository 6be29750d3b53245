//! Removal of many objects of a bucket, in requests of up to a thousand.

use std::fmt;

use serde::Serialize;

use super::SUCCESS;
use crate::error::Error;
use crate::s3::{REMOVALS_MAX, Removal, Removed};
use crate::session::Session;
use crate::target::Remote;

#[derive(Serialize)]
pub(super) struct RmMessage {
    pub(super) status: &'static str,
    pub(super) key: String,
    #[serde(rename = "deleteMarker")]
    pub(super) delete_marker: bool,
    #[serde(rename = "versionID")]
    pub(super) version_id: String,
    #[serde(rename = "dryRun")]
    pub(super) dry_run: bool,
}

impl fmt::Display for RmMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = match (self.dry_run, self.delete_marker) {
            (true, _) => "DRYRUN: Removing",
            (_, true) => "Created delete marker",
            _ => "Removed",
        };
        write!(formatter, "{done} `{}`", self.key)?;
        if !self.version_id.is_empty() {
            write!(formatter, " (versionId={})", self.version_id)?;
        }
        formatter.write_str(".")
    }
}

impl RmMessage {
    pub(super) fn of(key: String, removed: &Removed) -> RmMessage {
        let version = removed.marker.as_ref().or(removed.version.as_ref());
        RmMessage {
            status: SUCCESS,
            key,
            delete_marker: removed.marker.is_some(),
            version_id: version.cloned().unwrap_or_default(),
            dry_run: false,
        }
    }
}

/// Options of removals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct How {
    /// Only print the removals.
    pub(super) dry_run: bool,
    /// Remove objects under governance retention, too.
    pub(super) bypass: bool,
    /// Print nothing about removed objects.
    pub(super) silent: bool,
}

/// Collects removals until they fill a request.
pub(super) struct Remover<'a> {
    session: &'a Session,
    bucket: &'a Remote,
    how: How,
    waiting: Vec<Removal>,
}

impl<'a> Remover<'a> {
    pub(super) fn new(session: &'a Session, bucket: &'a Remote, how: How) -> Remover<'a> {
        Remover { session, bucket, how, waiting: Vec::new() }
    }

    pub(super) async fn add(&mut self, removal: Removal) -> Result<(), Error> {
        if self.how.dry_run {
            return self.session.output.print(&RmMessage {
                status: SUCCESS,
                key: self.bucket.with_key(&removal.key).name(),
                delete_marker: false,
                version_id: removal.version.unwrap_or_default(),
                dry_run: true,
            });
        }
        // XML cannot express such a key.
        if removal.key.chars().any(|it| it < ' ' && !matches!(it, '\t' | '\n' | '\r')) {
            let Remote { s3, bucket, .. } = self.bucket;
            let removed = s3.delete(bucket, &removal, self.how.bypass).await?;
            return self.tell(&removed);
        }
        self.waiting.push(removal);
        if self.waiting.len() == REMOVALS_MAX { self.flush().await } else { Ok(()) }
    }

    /// Sends the collected removals. Objects that cannot be removed are reported.
    pub(super) async fn flush(&mut self) -> Result<(), Error> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        let Remote { s3, bucket, .. } = self.bucket;
        for removed in s3.delete_many(bucket, &waiting, self.how.bypass).await? {
            self.tell(&removed)?;
        }
        Ok(())
    }

    fn tell(&self, removed: &Removed) -> Result<(), Error> {
        let name = self.bucket.with_key(&removed.key).name();
        match &removed.error {
            Some(reason) => {
                let message = format!("Failed to remove `{name}`.");
                self.session.output.failure(&message, &Error::refused(reason));
                Ok(())
            }
            None if self.how.silent => Ok(()),
            None => self.session.output.print(&RmMessage::of(name, removed)),
        }
    }
}
