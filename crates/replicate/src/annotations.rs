//! Annotations of a copy at another LiteIO.
//!
//! Each annotation has a time of its own, by which both servers keep the later change. Of a version that is replicated a
//! deleted annotation leaves a tombstone, so that a list tells what is to be deleted there. Other services get no
//! annotations: one that does not know the parameter would take the annotation for the object.

use std::cmp::Ordering;
use std::collections::HashMap;

use bytes::Bytes;
use http::Method;
use liteio_access::remote::RemoteKind;
use liteio_client::CallError;
use liteio_store::{Annotation, ObjectChecksum, Store};

use liteio_s3::replication::{OBJECT_LOCKED, checksum_header};

use crate::copy::{Copy, NotDone, Sent, is_missing};
use crate::remote::{Identity, Pairs, pair, source_headers, time, version_name};

impl Copy<'_> {
    /// Makes the annotations of the copy those of the version. Returns the name of one that a lock of the copy keeps as
    /// it is, if there is any.
    pub(crate) async fn bring_annotations(
        &self,
        sent: &Sent<'_>,
    ) -> Result<Option<String>, NotDone> {
        if sent.kind != RemoteKind::Liteio || !sent.object.has_annotations {
            return Ok(None);
        }
        let (bucket, key) = (sent.version.bucket.clone(), sent.key.clone());
        let version = sent.version.version_id;
        let found = {
            let (bucket, key) = (bucket.clone(), key.clone());
            let read = move |store: &Store| store.annotations_to_replicate(&bucket, &key, &version);
            self.app.blocking(read).await?
        };
        let Some(there) = self.listed(sent).await? else { return Ok(None) };
        let (annotations, deleted) = found;
        let mut kept = None;
        for annotation in annotations {
            if there.get(&annotation.name).is_some_and(|it| it.is_current(&annotation)) {
                continue;
            }
            let (bucket, key, name) = (bucket.clone(), key.clone(), annotation.name.clone());
            let read =
                move |store: &Store| store.get_annotation(&bucket, &key, Some(&version), &name);
            let found = match self.app.blocking(read).await {
                // Deleted meanwhile, which has queued a row of its own.
                Err(liteio_store::StoreError::NoSuchAnnotation) => continue,
                found => found?,
            };
            let mut headers = self.headers_of(sent, found.annotation.modified_ms);
            let checksum = found.annotation.checksum.map(ObjectChecksum::full_object);
            headers.extend(checksum.as_ref().map(checksum_header));
            let query = query(sent, &[("annotationName", &annotation.name)]);
            let put = self.remote.call(Method::PUT, &self.row.key, query, headers, found.payload);
            match put.await {
                Err(error) if is_locked(&error) => kept = Some(annotation.name),
                put => drop(put?),
            }
        }
        let is_there = |(name, deleted_ms): &(String, u64)| {
            there.get(name).is_some_and(|it| it.second <= second(*deleted_ms))
        };
        for (name, deleted_ms) in deleted.into_iter().filter(is_there) {
            let headers = self.headers_of(sent, deleted_ms);
            let query = query(sent, &[("annotationName", &name)]);
            let delete =
                self.remote.call(Method::DELETE, &self.row.key, query, headers, Bytes::new());
            match delete.await {
                Err(error) if is_locked(&error) => kept = Some(name),
                deleted => drop(deleted?),
            }
        }
        Ok(kept)
    }

    /// The annotations of the copy, by their names; `None` if there is no copy.
    async fn listed(&self, sent: &Sent<'_>) -> Result<Option<HashMap<String, Listed>>, NotDone> {
        let mut there = HashMap::new();
        let mut token: Option<String> = None;
        loop {
            let mut query = query(sent, &[]);
            query.extend(token.as_deref().map(|token| pair("continuation-token", token)));
            let key = &self.row.key;
            let answer = match self.remote.call(Method::GET, key, query, Vec::new(), "").await {
                // The copy was deleted there.
                Err(error) if is_missing(&error) => return Ok(None),
                answer => answer?,
            };
            let times = answer.pairs("Annotations", ["AnnotationName", "LastModified"]);
            let tags = answer.pairs("Annotations", ["AnnotationName", "ETag"]);
            for ((name, second), (_, tag)) in times.into_iter().zip(tags) {
                there.insert(name, Listed { tag: tag.trim_matches('"').to_owned(), second });
            }
            token = answer.text("NextContinuationToken").filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(Some(there));
            }
        }
    }

    fn headers_of(&self, sent: &Sent<'_>, at_ms: u64) -> Pairs {
        let mut headers = source_headers(sent.kind, Identity::of_row(self.row));
        headers.push(pair("x-liteio-source-annotation-timestamp", time(at_ms)));
        headers.push(pair("x-amz-bypass-governance-retention", "true"));
        headers
    }
}

/// An annotation of the copy, as a list tells it: its time in whole seconds.
struct Listed {
    tag: String,
    second: String,
}

impl Listed {
    /// `true` if the copy needs nothing of the version's annotation. One with the same text and an earlier time needs
    /// the time, or an older change of another server would win there and not here.
    fn is_current(&self, annotation: &Annotation) -> bool {
        match self.second.cmp(&second(annotation.modified_ms)) {
            Ordering::Less => false,
            // A hidden tag is another one at each server: it is sent, and changes nothing there.
            Ordering::Equal => self.tag == annotation.etag.to_string(),
            Ordering::Greater => true,
        }
    }
}

/// The time without its milliseconds, as lists have it.
fn second(at_ms: u64) -> String {
    time(at_ms - at_ms % 1000)
}

/// `true` if a lock of the copy refuses the change. Rights that are missing have the same code.
fn is_locked(error: &CallError) -> bool {
    error.code == "AccessDenied" && error.line.starts_with(OBJECT_LOCKED.trim_end_matches('.'))
}

fn query(sent: &Sent<'_>, more: &[(&str, &str)]) -> Pairs {
    let version = version_name(sent.kind, sent.version.version_id);
    let mut query = vec![pair("annotation", ""), pair("versionId", version)];
    query.extend(more.iter().map(|(name, value)| pair(name, *value)));
    query
}

#[cfg(test)]
mod tests {
    use liteio_store::ETag;

    use super::*;

    #[test]
    fn an_annotation_with_the_same_text_and_a_later_time_is_sent() {
        let here = |modified_ms| {
            let (name, etag) = ("n".to_owned(), ETag::Md5([7; 16]));
            Annotation { name, bytes: 1, etag, modified_ms, checksum: None }
        };
        let listed =
            |tag, at_ms| Listed { tag: ETag::Md5([tag; 16]).to_string(), second: second(at_ms) };
        assert!(listed(7, 5_100).is_current(&here(5_900)));
        assert!(!listed(7, 5_100).is_current(&here(6_000)), "the time is sent");
        assert!(!listed(8, 5_100).is_current(&here(5_900)), "the text is sent");
        assert!(listed(8, 6_000).is_current(&here(5_900)), "the later one stays there");
    }
}
