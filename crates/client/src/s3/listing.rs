//! Listings, page by page: objects, versions, incomplete uploads, buckets.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::Arc;

use http::Method;
use jiff::Timestamp;

use super::document::Element;
use super::encode::decoded;
use super::exchange::S3;
use super::request::Request;
use crate::error::Error;
use crate::text::of_iso;

/// A line of a listing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// Key, or common prefix of a folder.
    pub(crate) key: String,
    pub(crate) is_folder: bool,
    pub(crate) size: u64,
    pub(crate) modified: Option<Timestamp>,
    /// Without quotes.
    pub(crate) etag: String,
    pub(crate) storage_class: String,
    /// Id of the version or of the upload.
    pub(crate) version: Option<String>,
    pub(crate) is_latest: bool,
    pub(crate) is_delete_marker: bool,
}

/// The kind of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    Objects,
    /// All versions and delete markers.
    Versions,
    /// Incomplete uploads.
    Uploads,
}

/// The part of a bucket that is listed.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) bucket: String,
    pub(crate) prefix: String,
    /// `true` for everything below; `false` for the next level with its folders.
    pub(crate) recursive: bool,
    pub(crate) listed: Listed,
}

/// A listing in progress, with at most one page in memory. Entries come in the byte order of their
/// keys.
#[derive(Debug)]
pub(crate) struct Lister {
    s3: Arc<S3>,
    scope: Scope,
    page: VecDeque<Entry>,
    /// Parameters of the next page; `None` after the last page.
    next: Option<Vec<(&'static str, String)>>,
    progress: Progress,
}

/// Empty pages in a row that a listing may have. Services skip deleted keys page by page.
const EMPTY_PAGES_MAX: usize = 1_000;

/// The pages of a listing so far: a service that repeats itself would be listed forever. A listing
/// has each entry and each continuation once, in whatever order. 16 bytes a page.
#[derive(Debug, Default)]
struct Progress {
    seen: HashSet<u64>,
    hasher: RandomState,
    empty_pages: usize,
}

impl Progress {
    /// Notes a page, with its first entry and the parameters of the next page.
    ///
    /// # Errors
    /// The service repeats itself, or sends nothing but empty pages.
    fn page<T: Hash>(&mut self, first: Option<&Entry>, next: Option<&T>) -> Result<(), Error> {
        let first = first.map(|it| self.hasher.hash_one((0, &it.key, &it.version)));
        self.empty_pages = if first.is_some() { 0 } else { self.empty_pages + 1 };
        let next = next.map(|it| self.hasher.hash_one((1, it)));
        let is_new =
            |hash: Option<u64>, seen: &mut HashSet<u64>| hash.is_none_or(|it| seen.insert(it));
        if !is_new(first, &mut self.seen) || !is_new(next, &mut self.seen) {
            return Err(Error::transport("the listing does not go on: the service repeats itself"));
        }
        match self.empty_pages > EMPTY_PAGES_MAX {
            true => Err(Error::transport(format!(
                "the listing does not go on: the service sent {EMPTY_PAGES_MAX} empty pages in a row"
            ))),
            false => Ok(()),
        }
    }
}

impl Lister {
    pub(crate) fn new(s3: &Arc<S3>, scope: Scope) -> Lister {
        let (s3, page, next) = (s3.clone(), VecDeque::new(), Some(Vec::new()));
        Lister { s3, scope, page, next, progress: Progress::default() }
    }

    /// The same listing of objects, without those whose keys come before `key`, and without `key`.
    pub(crate) fn after(mut self, key: &str) -> Lister {
        self.next = Some(vec![("start-after", key.to_owned())]);
        self
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Entry>, Error> {
        while self.page.is_empty() {
            let Some(next) = self.next.take() else {
                return Ok(None);
            };
            self.fetch(next).await?;
        }
        Ok(self.page.pop_front())
    }

    async fn fetch(&mut self, from: Vec<(&'static str, String)>) -> Result<(), Error> {
        let Scope { bucket, prefix, recursive, listed } = &self.scope;
        let mut request = Request::new(Method::GET, bucket, "")
            .query("prefix", prefix)
            // Keys may have characters that XML cannot express.
            .query("encoding-type", "url");
        request = match listed {
            Listed::Objects => request.query("list-type", "2"),
            Listed::Versions => request.query("versions", ""),
            Listed::Uploads => request.query("uploads", ""),
        };
        if !recursive {
            request = request.query("delimiter", "/");
        }
        for (name, value) in &from {
            request = request.query(name, value);
        }
        let page = self.s3.send(&request).await?.document().await?;
        let encoded = page.text("EncodingType") == Some("url");
        let plain = |text: &str| match encoded {
            true => decoded(text)
                .ok_or_else(|| Error::transport(format!("the listing has a strange key: {text}"))),
            false => Ok(text.to_owned()),
        };
        let mut entries = Vec::new();
        for element in page.children() {
            if element.name == "CommonPrefixes" {
                let key = plain(element.text("Prefix").unwrap_or_default())?;
                entries.push(Entry { key, is_folder: true, ..Entry::default() });
            } else if let Some(mut entry) = entry(element) {
                entry.key = plain(&entry.key)?;
                entries.push(entry);
            }
        }
        if let Some(stray) = entries.iter().find(|it| !it.key.starts_with(prefix.as_str())) {
            let reason = format!("the listing of '{prefix}' has a key outside: {}", stray.key);
            return Err(Error::transport(reason));
        }
        // Folders and objects arrive apart. A stable sort keeps versions of a key in their order.
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        if page.text("IsTruncated") == Some("true") {
            let next = continuation(&page, *listed, plain)?;
            if next.is_empty() {
                return Err(Error::transport(
                    "the listing does not go on: it is truncated, and the service does not say where",
                ));
            }
            self.next = Some(next);
        }
        self.progress.page(entries.first(), self.next.as_ref())?;
        self.page = entries.into();
        Ok(())
    }
}

impl S3 {
    /// Buckets of the user, by name.
    pub(crate) async fn buckets(&self) -> Result<Vec<Entry>, Error> {
        let mut buckets = Vec::new();
        let mut token: Option<String> = None;
        let mut progress = Progress::default();
        loop {
            let request =
                Request::new(Method::GET, "", "").query_if("continuation-token", token.as_deref());
            let page = self.send(&request).await?.document().await?;
            let list = page.child("Buckets").map(|it| it.children()).unwrap_or_default();
            let begin = buckets.len();
            buckets.extend(list.iter().map(|bucket| Entry {
                key: bucket.text("Name").unwrap_or_default().to_owned(),
                is_folder: true,
                modified: bucket.text("CreationDate").and_then(of_iso),
                ..Entry::default()
            }));
            let next = page.text("ContinuationToken").filter(|it| !it.is_empty());
            token = next.map(ToOwned::to_owned);
            progress.page(buckets.get(begin), token.as_ref())?;
            if token.is_none() {
                break;
            }
        }
        buckets.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(buckets)
    }
}

fn entry(element: &Element) -> Option<Entry> {
    let text = |name: &str| element.text(name).unwrap_or_default().to_owned();
    let mut entry = Entry {
        key: text("Key"),
        size: element.text("Size").and_then(|it| it.parse().ok()).unwrap_or(0),
        modified: element.text("LastModified").and_then(of_iso),
        etag: text("ETag").trim_matches('"').to_owned(),
        storage_class: text("StorageClass"),
        is_latest: element.text("IsLatest") != Some("false"),
        ..Entry::default()
    };
    match element.name.as_str() {
        "Contents" => {}
        "Version" => entry.version = Some(text("VersionId")),
        "DeleteMarker" => {
            entry.version = Some(text("VersionId"));
            entry.is_delete_marker = true;
        }
        "Upload" => {
            entry.version = Some(text("UploadId"));
            entry.modified = element.text("Initiated").and_then(of_iso);
        }
        _ => return None,
    }
    Some(entry)
}

fn continuation(
    page: &Element,
    listed: Listed,
    plain: impl Fn(&str) -> Result<String, Error>,
) -> Result<Vec<(&'static str, String)>, Error> {
    let mut next = Vec::new();
    let mut keep = |name: &'static str, value: Option<String>| {
        next.extend(value.filter(|it| !it.is_empty()).map(|it| (name, it)));
    };
    let key = |name: &str| page.text(name).map(&plain).transpose();
    let text = |name: &str| page.text(name).map(ToOwned::to_owned);
    match listed {
        Listed::Objects => keep("continuation-token", text("NextContinuationToken")),
        Listed::Versions => {
            keep("key-marker", key("NextKeyMarker")?);
            keep("version-id-marker", text("NextVersionIdMarker"));
        }
        Listed::Uploads => {
            keep("key-marker", key("NextKeyMarker")?);
            keep("upload-id-marker", text("NextUploadIdMarker"));
        }
    }
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &str) -> Entry {
        Entry { key: key.to_owned(), ..Entry::default() }
    }

    /// The page, counted from 0, at which a listing of these pages is given up: the key of their
    /// first entries, and their continuation tokens.
    fn given_up(pages: impl Iterator<Item = (Option<String>, String)>) -> Option<usize> {
        let mut progress = Progress::default();
        { pages }.position(|(first, token)| {
            let first = first.map(|key| entry(&key));
            progress.page(first.as_ref(), Some(&token)).is_err()
        })
    }

    #[test]
    fn a_listing_that_repeats_itself_ends() {
        type Page = fn(usize) -> (Option<String>, String);
        let rows: [(&str, Page, Option<usize>); 7] = [
            ("that goes on", |page| (Some(format!("{page}")), format!("t{page}")), None),
            (
                "of any order",
                |page| (Some(format!("{}", page ^ 1)), format!("t{}", page ^ 3)),
                None,
            ),
            ("with the same token", |page| (Some(format!("{page}")), "t".to_owned()), Some(1)),
            (
                "with tokens in a circle",
                |page| (Some(format!("{page}")), format!("{}", page % 3)),
                Some(3),
            ),
            ("that ignores its token", |page| (Some("k".to_owned()), format!("{page}")), Some(1)),
            ("of empty pages", |page| (None, format!("{page}")), Some(EMPTY_PAGES_MAX)),
            (
                "with many empty pages",
                |page| ((page % 900 == 0).then(|| format!("{page}")), format!("{page}")),
                None,
            ),
        ];
        for (name, page, expected) in rows {
            assert_eq!(given_up((0..5_000).map(page)), expected, "a listing {name}");
        }
    }
}
