//! MinIO's extension of DeleteObject and DeleteBucket: `x-minio-force-delete: true` deletes everything
//! below a name, in all versions.
//!
//! ```text
//! names below ──► every version: may the sender delete it? ──► deleted, a page at a time
//! ```
//! Nothing is deleted before the sender was found to be allowed to delete all of it. What comes in
//! the meantime is decided when its page is deleted.
//!
//! | Request | Deletes |
//! |---|---|
//! | `DELETE /bucket/name` | the key `name` and all keys below `name/` |
//! | `DELETE /bucket/name/` | all keys below `name/`, and the key `name/` |
//! | `DELETE /bucket` | all keys, then the bucket |
//!
//! Source: MinIO's `x-minio-force-delete`, as minio-go, minio-js and `mc rm --purge` send it.

use std::sync::Arc;

use http::{Extensions, HeaderMap, HeaderName};
use liteio_store::limits::DELETE_OBJECTS_MAX;
use liteio_store::{DeleteTarget, ListVersionsQuery, ListedObject, VersionEntry, Versioning};
use s3s::{S3Result, s3_error};

use super::context::Sent;
use super::convert::object_key;
use super::details::Details;
use super::{access, error, event_cause};
use liteio_access::Granted;
use liteio_access::state::App;
use liteio_auth::SignedAs;

const FORCE_DELETE: HeaderName = HeaderName::from_static("x-minio-force-delete");

/// The versions that a request means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those of a key, and of all keys below it.
    Name(String),
    /// Those of all keys.
    Bucket,
}

/// A run of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Keys {
    Exactly(String),
    Below(String),
}

impl Scope {
    fn runs(&self) -> Vec<Keys> {
        match self {
            Scope::Bucket => vec![Keys::Below(String::new())],
            Scope::Name(name) if name.ends_with('/') => vec![Keys::Below(name.clone())],
            Scope::Name(name) => {
                vec![Keys::Exactly(name.clone()), Keys::Below(format!("{name}/"))]
            }
        }
    }
}

/// `true` if the request asks for a force delete.
///
/// # Errors
/// `InvalidArgument` for a value that is neither `true` nor `false`.
pub(super) fn is_asked(headers: &HeaderMap) -> S3Result<bool> {
    let Some(value) = headers.get(FORCE_DELETE) else { return Ok(false) };
    match value.as_bytes() {
        value if value.eq_ignore_ascii_case(b"true") => Ok(true),
        value if value.is_empty() || value.eq_ignore_ascii_case(b"false") => Ok(false),
        value => Err(s3_error!(
            Details::argument(&FORCE_DELETE, &String::from_utf8_lossy(value)),
            InvalidArgument,
            "{FORCE_DELETE} must be true or false."
        )),
    }
}

/// The error for a server that is not in the place of MinIO. There a force delete of one object
/// would delete the object of this name, and look like success.
///
/// # Errors
/// `NotImplemented`.
pub(super) fn require(app: &App) -> S3Result<()> {
    match app.acts_as_minio {
        true => Ok(()),
        false => Err(s3_error!(
            NotImplemented,
            "{FORCE_DELETE}: true deletes all versions below a name, which only a server with --profile minio does. \
             Nothing was deleted."
        )),
    }
}

/// Deletes all versions in `scope`, if the sender may delete each of them.
///
/// # Errors
/// `InvalidRequest` in a bucket with object lock, and for signatures that do not cover the header;
/// `AccessDenied`.
pub(super) async fn delete_all(
    app: &App,
    granted: &Granted,
    sent: Sent<'_>,
    scope: &Scope,
) -> S3Result<()> {
    if !covers_header(sent.extensions) {
        return Err(error::invalid_request(
            "Signature Version 2 does not cover x-minio-force-delete: sign the request with AWS4-HMAC-SHA256. \
             Nothing was deleted.",
        ));
    }
    if granted.bucket().object_lock {
        return Err(error::invalid_request(
            "x-minio-force-delete is not possible in a bucket with object lock: delete its versions one by one. \
             Nothing was deleted.",
        ));
    }
    let runs = scope.runs();
    for run in &runs {
        each_page(app, granted, sent, run, Step::Decide).await?;
    }
    for run in &runs {
        each_page(app, granted, sent, run, Step::Delete).await?;
    }
    Ok(())
}

/// `false` for Version 2, which covers headers that begin with `x-amz-` only: the holder of a presigned
/// URL that deletes one object could delete all below it.
fn covers_header(extensions: &Extensions) -> bool {
    extensions.get::<SignedAs>().is_none_or(|signed_as| signed_as.covers_query())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Decide,
    Delete,
}

async fn each_page(
    app: &App,
    granted: &Granted,
    sent: Sent<'_>,
    run: &Keys,
    step: Step,
) -> S3Result<()> {
    let (prefix, only) = match run {
        Keys::Exactly(key) => (key, Some(key)),
        Keys::Below(prefix) => (prefix, None),
    };
    let (mut key_marker, mut version_marker) = (None, None);
    loop {
        let query = ListVersionsQuery {
            prefix: prefix.clone(),
            key_marker,
            version_marker,
            max: DELETE_OBJECTS_MAX,
            ..ListVersionsQuery::default()
        };
        let bucket = Arc::clone(granted.bucket());
        let page = app.blocking(move |store| store.list_versions(&bucket, &query)).await;
        let page = page.map_err(error::from_store)?;
        let versions: Vec<ListedObject> = page
            .entries
            .into_iter()
            .filter_map(|entry| match entry {
                VersionEntry::Version(version) | VersionEntry::DeleteMarker(version) => {
                    Some(version)
                }
                VersionEntry::Prefix(_) => None,
            })
            .take_while(|version| only.is_none_or(|key| version.key == *key))
            .collect();
        let is_last = only.is_some_and(|_| versions.len() < DELETE_OBJECTS_MAX);
        let targets = targets(app, granted, sent, versions).await?;
        if step == Step::Delete {
            let deleted = app.store.delete_objects(granted.bucket(), targets).await;
            for outcome in deleted.map_err(error::from_store)? {
                outcome.map_err(error::from_store)?;
            }
        }
        match page.next {
            Some((key, version)) if !is_last => {
                (key_marker, version_marker) = (Some(key), version);
            }
            _ => return Ok(()),
        }
    }
}

/// Authorizes the deletion of versions, each by itself.
async fn targets(
    app: &App,
    granted: &Granted,
    sent: Sent<'_>,
    versions: Vec<ListedObject>,
) -> S3Result<Vec<DeleteTarget>> {
    let cause = event_cause::of_request(app, granted, sent.headers, sent.extensions);
    let has_versions = granted.bucket().versioning != Versioning::Never;
    let mut targets = Vec::with_capacity(versions.len());
    for listed in versions {
        let version = has_versions.then_some(listed.version_id);
        let text = version.as_ref().map(ToString::to_string);
        let actions = access::of_deletion(sent, text.as_deref());
        access::of_object(app, granted, sent, &actions, &listed.key, text.as_deref()).await?;
        let key = object_key(listed.key)?;
        targets.push(DeleteTarget { cause: cause.clone(), ..DeleteTarget::new(key, version) });
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_header_is_true_or_false() {
        for (value, expected) in [
            (None, Some(false)),
            (Some("true"), Some(true)),
            (Some("TRUE"), Some(true)),
            (Some("false"), Some(false)),
            (Some(""), Some(false)),
            (Some("1"), None),
            (Some("yes"), None),
        ] {
            let mut headers = HeaderMap::new();
            headers.extend(value.map(|value| (FORCE_DELETE, HeaderValue::from_static(value))));
            assert_eq!(is_asked(&headers).ok(), expected, "{value:?}");
        }
    }

    #[test]
    fn a_name_is_a_key_and_a_directory() {
        let below = |prefix: &str| Keys::Below(prefix.to_owned());
        let exactly = |key: &str| Keys::Exactly(key.to_owned());
        for (scope, runs) in [
            (Scope::Bucket, vec![below("")]),
            (Scope::Name("a/b".to_owned()), vec![exactly("a/b"), below("a/b/")]),
            (Scope::Name("a/".to_owned()), vec![below("a/")]),
            (Scope::Name("/a".to_owned()), vec![exactly("/a"), below("/a/")]),
        ] {
            assert_eq!(scope.runs(), runs);
        }
    }
}
