//! Transfers from one place to another.

mod file;
mod listing;
mod pool;
mod protection;
mod reader;
mod remote;
mod same;
mod upload;

use std::sync::Arc;

pub(crate) use listing::{Item, Listing, Named, folder_or_object, modified, object_unless_folder};
pub(crate) use pool::Pool;
pub(crate) use protection::{Kept, NO_LOCK, has_lock};
pub(crate) use reader::Reader;
pub(crate) use same::{is_same, is_within, names_within, refuse_same};
pub(crate) use upload::{Sizes, upload};

use crate::error::Error;
use crate::local::content_type;
use crate::s3::{Sent, tags_header};
use crate::session::Session;
use crate::target::Target;

/// A file or object to copy, with its target.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) source: Target,
    /// Version of the source.
    pub(crate) version: Option<String>,
    pub(crate) size: u64,
    /// ETag of the source, if known.
    pub(crate) etag: String,
    pub(crate) target: Target,
}

/// Properties of copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Properties {
    /// Headers, names in lower case.
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) storage_class: Option<String>,
    /// `true` for whole objects in one request.
    pub(crate) no_multipart: bool,
    /// Sizes of the requests of an upload; `None` for those that suit its length.
    pub(crate) sizes: Option<Sizes>,
    /// Number of parts of an upload that are sent concurrently, if it is not the usual one.
    pub(crate) parts_at_once: Option<u16>,
    /// Protection of the source that a copy to another service keeps.
    pub(crate) kept: Kept,
}

impl Properties {
    /// Headers of a new object: the requested ones, then the metadata of its source.
    pub(crate) fn headers(
        &self,
        key: &str,
        source: Vec<(String, String)>,
    ) -> Vec<(String, String)> {
        let mut headers = self.attributes.clone();
        headers.extend(source);
        let found = content_type(key).unwrap_or("application/octet-stream");
        headers.push(("content-type".to_owned(), found.to_owned()));
        if !self.tags.is_empty() {
            headers.push(("x-amz-tagging".to_owned(), tags_header(&self.tags)));
        }
        if let Some(class) = &self.storage_class {
            headers.push(("x-amz-storage-class".to_owned(), class.clone()));
        }
        // The first header of a name counts.
        let mut seen = std::collections::HashSet::new();
        headers.retain(|(name, _)| seen.insert(name.clone()));
        headers
    }
}

/// Executes a job.
pub(crate) async fn copy(
    session: &Arc<Session>,
    job: &Job,
    properties: &Properties,
    sent: Option<Sent>,
) -> Result<(), Error> {
    match (&job.source, &job.target) {
        (Target::Local(source), Target::Remote(target)) => {
            let mut reader = Reader::file(source.path())?;
            let headers = properties.headers(&target.key, Vec::new());
            let suitable = || Sizes::of(reader.size(), properties.no_multipart);
            let sizes = properties.sizes.unwrap_or_else(suitable).at_once(properties.parts_at_once);
            upload(session, target, headers, &mut reader, sizes, sent).await.map(drop)
        }
        (Target::Remote(source), Target::Local(target)) => {
            file::download(source, job.version.as_deref(), target, sent).await
        }
        (Target::Remote(source), Target::Remote(target)) => {
            if source.s3.is_same_service(&target.s3) {
                remote::copy(session, job, source, target, properties).await?;
                if let Some(sent) = sent {
                    sent(i64::try_from(job.size).unwrap_or(i64::MAX));
                }
                Ok(())
            } else {
                remote::stream(session, job, source, target, properties, sent).await
            }
        }
        (Target::Local(source), Target::Local(target)) => {
            file::duplicate(source.path(), target, sent)
        }
    }
}
