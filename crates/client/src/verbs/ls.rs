//! `ls`: list buckets, objects, versions, uploads and files.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use super::SUCCESS;
use crate::cli::LsArgs;
use crate::error::Error;
use crate::s3::{Entry, Listed};
use crate::session::Session;
use crate::target::{Remote, Target};
use crate::text::{for_people, human, human_narrow};
use crate::transfer::{Item, Listing, Named, folder_or_object, modified};

/// A line of `ls` or `find`, which share the form in JSON.
#[derive(Serialize)]
pub(super) struct Content {
    pub(super) status: &'static str,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(rename = "lastModified")]
    pub(super) last_modified: String,
    pub(super) size: u64,
    pub(super) key: String,
    pub(super) etag: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) url: String,
    #[serde(rename = "versionId", skip_serializing_if = "Option::is_none")]
    pub(super) version_id: Option<String>,
    #[serde(rename = "versionOrdinal")]
    pub(super) version_ordinal: usize,
    #[serde(rename = "isDeleteMarker", skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_delete_marker: bool,
    #[serde(rename = "storageClass", skip_serializing_if = "String::is_empty")]
    pub(super) storage_class: String,
    #[serde(skip)]
    time: String,
}

impl Content {
    pub(super) fn of(key: &str, entry: &Entry, url: &str) -> Content {
        // A folder has no time of its own; `mc` shows the time of the listing.
        let modified = entry.modified.unwrap_or_else(Timestamp::now);
        Content {
            status: SUCCESS,
            kind: if entry.is_folder { "folder" } else { "file" },
            last_modified: modified.to_string(),
            size: entry.size,
            key: key.to_owned(),
            etag: entry.etag.clone(),
            url: url.to_owned(),
            version_id: entry.version.clone(),
            version_ordinal: 1,
            is_delete_marker: entry.is_delete_marker,
            storage_class: entry.storage_class.clone(),
            time: for_people(modified),
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "[{}]{:>7}", self.time, human_narrow(self.size))?;
        if !self.storage_class.is_empty() {
            write!(formatter, " {}", self.storage_class)?;
        }
        if let Some(version) = &self.version_id {
            let kind = if self.is_delete_marker { "DEL" } else { "PUT" };
            write!(formatter, " {version} v{} {kind}", self.version_ordinal)?;
        }
        write!(formatter, " {}", self.key)
    }
}

#[derive(Serialize)]
struct Summary {
    #[serde(rename = "totalObjects")]
    objects: u64,
    #[serde(rename = "totalSize")]
    size: u64,
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\nTotal Size: {}\nTotal Objects: {}", human(self.size), self.objects)
    }
}

pub(super) async fn run(session: &Arc<Session>, arguments: &LsArgs) -> Result<(), Error> {
    if arguments.versions && arguments.incomplete {
        return Err(Error::refused("--versions and --incomplete cannot be used together"));
    }
    let here = [".".to_owned()];
    let targets = if arguments.targets.is_empty() { &here[..] } else { &arguments.targets };
    for target in targets {
        if let Err(error) = list(session, arguments, target).await {
            if matches!(error, Error::Output(_)) {
                return Err(error);
            }
            session.output.failure(&format!("Unable to list `{target}`."), &told(target, error));
        }
    }
    Ok(())
}

/// A name without a slash may be meant as an alias.
fn told(target: &str, error: Error) -> Error {
    match error {
        Error::File { source, .. }
            if source.kind() == std::io::ErrorKind::NotFound && !target.contains('/') =>
        {
            Error::refused(format!(
                "'{target}' is neither an alias nor a file; make an alias with `alias set {target} URL ACCESSKEY \
                 SECRETKEY`, or list your aliases with `alias list`"
            ))
        }
        error => error,
    }
}

async fn list(session: &Session, arguments: &LsArgs, text: &str) -> Result<(), Error> {
    let listed = match (arguments.versions, arguments.incomplete) {
        (true, _) => Listed::Versions,
        (_, true) => Listed::Uploads,
        _ => Listed::Objects,
    };
    let target = Target::parse(session, text)?;
    let url = match &target {
        Target::Remote(remote) if remote.bucket.is_empty() => remote.s3.url("", ""),
        Target::Remote(remote) => remote.s3.url(&remote.bucket, &remote.key) + folder_slash(remote),
        Target::Local(local) => local.text().to_owned(),
    };
    let summary = Summary { objects: 0, size: 0 };
    let mut lines = Lines { session, url, summary, same: Vec::new() };
    match &target {
        Target::Local(local) if local.path().is_file() => {
            let path = local.path();
            let metadata = std::fs::metadata(path).map_err(Error::file(path))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let (size, modified) = (metadata.len(), modified(&metadata));
            let entry = Entry { key: name.clone(), size, modified, ..Entry::default() };
            lines.add(Item { relative: name, target: target.clone(), entry })?;
        }
        // Every bucket, with everything below it.
        Target::Remote(remote) if remote.bucket.is_empty() && arguments.recursive => {
            for bucket in remote.s3.buckets().await? {
                let below = Target::Remote(remote.bucket(&bucket.key)?);
                let mut listing = Listing::of(&below, true, listed).await?;
                while let Some(mut item) = listing.next(session).await? {
                    item.relative = format!("{}/{}", bucket.key, item.relative);
                    lines.add(item)?;
                }
            }
        }
        _ => {
            // A name that is no folder is a prefix of names.
            let start = match folder_or_object(session, &target, listed).await? {
                Named::Folder(folder) => folder,
                Named::Object(_) => target.clone(),
            };
            if let Target::Remote(folder) = &start
                && !folder.key.is_empty()
            {
                lines.url = folder.s3.url(&folder.bucket, &folder.key);
            }
            let mut listing = Listing::of(&start, arguments.recursive, listed).await?;
            while let Some(item) = listing.next(session).await? {
                lines.add(item)?;
            }
        }
    }
    lines.flush()?;
    if arguments.summarize {
        session.output.print(&lines.summary)?;
    }
    Ok(())
}

/// A slash for the URL of a bucket, as `mc` shows it.
fn folder_slash(remote: &Remote) -> &'static str {
    if remote.key.is_empty() { "/" } else { "" }
}

/// Prints items, with the versions of a key together.
struct Lines<'a> {
    session: &'a Session,
    url: String,
    summary: Summary,
    same: Vec<Content>,
}

impl Lines<'_> {
    fn add(&mut self, item: Item) -> Result<(), Error> {
        self.summary.objects += 1;
        self.summary.size += item.entry.size;
        if self.same.last().is_some_and(|it| it.key != item.relative) {
            self.flush()?;
        }
        let content = Content::of(&item.relative, &item.entry, &self.url);
        self.same.push(content);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        let count = self.same.len();
        for (index, mut content) in self.same.drain(..).enumerate() {
            content.version_ordinal = count - index;
            self.session.output.print(&content)?;
        }
        Ok(())
    }
}
