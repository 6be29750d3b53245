//! `liteio import s3`: imports the buckets of an S3 service.

use std::sync::Arc;

use liteio_client::{ServiceKeys, Source, SourceEntry, SourceError, WrongKey};
use liteio_identity::DEFAULT_ACCESS_KEY;
use liteio_store::{Bucket, ETag, ImportedObject, KeyRing, ObjectKey, Versioning};
use tokio::runtime::Handle;

use super::documents::{Documents, settings};
use super::metadata;
use super::minio::KEPT_KEY;
use super::seal::{Destination, Shape, SourceEncryption};
use super::target::{Failure, Job, Jobs, SourceKey, SourceObject, SourceVersion, Target};
use crate::cli::ImportS3Args;

/// Parts of an object, S3's limit.
const PARTS_MAX: u32 = 10_000;

/// Advice for an import without keys that was refused.
const ANONYMOUS: &str = "the requests were anonymous: give --access-key (AWS_ACCESS_KEY_ID) and --secret-key \
                         (AWS_SECRET_ACCESS_KEY)";

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Failure {
        match error {
            SourceError::Refused(reason) | SourceError::Missing(reason) => Failure::LeftOut(reason),
            SourceError::Broken(reason) => Failure::Source(reason),
            SourceError::Keys { line, wrong } => {
                Failure::Source(format!("{line}; {}", advice(wrong)))
            }
        }
    }
}

fn advice(wrong: WrongKey) -> &'static str {
    match wrong {
        WrongKey::Access => "correct --access-key (AWS_ACCESS_KEY_ID)",
        WrongKey::Secret => "correct --secret-key (AWS_SECRET_ACCESS_KEY)",
        WrongKey::Session => {
            "get new session credentials, and give them by --access-key (AWS_ACCESS_KEY_ID), --secret-key \
             (AWS_SECRET_ACCESS_KEY) and --session-token (AWS_SESSION_TOKEN)"
        }
    }
}

/// Runs the import. `keeps_key` if the master key is that of MinIO's KMS.
pub(super) fn run(
    arguments: &ImportS3Args,
    ring: KeyRing,
    keeps_key: bool,
) -> Result<bool, String> {
    let is_anonymous = arguments.access_key.as_deref().unwrap_or_default().is_empty();
    import(arguments, ring, keeps_key).map_err(|line| {
        match is_anonymous && line.contains("status 403") {
            true => format!("{line}; {ANONYMOUS}"),
            false => line,
        }
    })
}

fn import(arguments: &ImportS3Args, ring: KeyRing, keeps_key: bool) -> Result<bool, String> {
    let place = Place::parse(&arguments.url)?;
    let keys = match (&arguments.access_key, &arguments.secret_key) {
        (Some(access_key), Some(secret_key)) => Some(ServiceKeys {
            access_key: access_key.clone(),
            secret_key: secret_key.clone(),
            session_token: arguments.session_token.clone(),
        }),
        (None, None) => None,
        _ => return Err("--access-key and --secret-key belong together".to_owned()),
    };
    let region = arguments.region.as_deref().unwrap_or("us-east-1");
    let source = Source::connect(&place.endpoint, keys, region)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start threads: {error}"))?;
    let reader = Reader { source, runtime: runtime.handle().clone() };
    let open = || Target::open(&arguments.target, ring, None, DEFAULT_ACCESS_KEY);
    let (names, target) = match Target::is_new(&arguments.target) {
        true => (reader.names(&place)?, open()?),
        // The service is not asked for a directory that cannot be used.
        false => {
            let target = open()?;
            (reader.names(&place)?, target)
        }
    };
    if keeps_key {
        target.tally.note(KEPT_KEY);
    }
    target.import(|target, jobs| reader.buckets(target, jobs, names, &place.prefix))
}

/// The part of a service to import.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    endpoint: String,
    bucket: Option<String>,
    prefix: String,
}

impl Place {
    /// Parses `http(s)://host[/bucket[/prefix]]`.
    fn parse(url: &str) -> Result<Place, String> {
        let is_http = |scheme: &str| matches!(scheme, "http" | "https");
        let Some((scheme, rest)) = url.split_once("://").filter(|(scheme, _)| is_http(scheme))
        else {
            return Err(format!(
                "{url:?} is no URL: write http(s)://HOST[:PORT][/BUCKET[/PREFIX]]"
            ));
        };
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
        Ok(Place {
            endpoint: format!("{scheme}://{host}"),
            bucket: (!bucket.is_empty()).then(|| bucket.to_owned()),
            prefix: prefix.to_owned(),
        })
    }
}

/// Reads from the service in blocking threads.
#[derive(Clone, Debug)]
struct Reader {
    source: Source,
    runtime: Handle,
}

impl Reader {
    /// The names of the buckets to import. Asked for before anything is made: a service that cannot be
    /// reached, that does not accept the keys, or that has no such bucket, ends the import here.
    ///
    /// # Errors
    /// One line that says what to correct.
    fn names(&self, place: &Place) -> Result<Vec<String>, String> {
        let names = match &place.bucket {
            None => self.runtime.block_on(self.source.buckets()),
            Some(bucket) => match self.runtime.block_on(self.source.versioning(bucket)) {
                // The user may have the other permissions.
                Ok(_) | Err(SourceError::Refused(_)) => Ok(vec![bucket.clone()]),
                Err(error) => Err(error),
            },
        };
        names.map_err(|error| Failure::from(error).to_string())
    }

    fn buckets(
        &self,
        target: &Target,
        jobs: &Jobs<'_>,
        names: Vec<String>,
        prefix: &str,
    ) -> Result<(), Failure> {
        for name in names {
            match self.bucket(target, jobs, &name, prefix) {
                Ok(()) => {}
                Err(Failure::LeftOut(reason)) => target.tally.left_out(&name, &reason),
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    fn bucket(
        &self,
        target: &Target,
        jobs: &Jobs<'_>,
        name: &str,
        prefix: &str,
    ) -> Result<(), Failure> {
        let bucket = target.bucket(name)?;
        let versioning = match self.runtime.block_on(self.source.versioning(name)) {
            Ok(status) => status,
            // The service has no versions, or the user may not list them.
            Err(SourceError::Refused(reason)) => {
                target.tally.note(&format!("only newest versions of {name}: {reason}"));
                String::new()
            }
            Err(error) => return Err(error.into()),
        };
        let bucket = self.settings(target, &bucket, name, &versioning)?;
        let mut listing = self.source.list(name, prefix, !versioning.is_empty());
        // Versions of one key, the newest first.
        let mut entries: Vec<SourceEntry> = Vec::new();
        loop {
            // An interrupted listing must fail: otherwise a partial import would look complete.
            let next = self.runtime.block_on(listing.next()).map_err(ended)?;
            if entries.last().map(|it| &it.key) != next.as_ref().map(|it| &it.key) {
                self.push(target, jobs, &bucket, std::mem::take(&mut entries))?;
            }
            match next {
                Some(next) => entries.push(next),
                None => return Ok(()),
            }
        }
    }

    fn settings(
        &self,
        target: &Target,
        bucket: &Arc<Bucket>,
        name: &str,
        versioning: &str,
    ) -> Result<Arc<Bucket>, Failure> {
        let ask =
            |parameter: &str| match self.runtime.block_on(self.source.setting(name, parameter)) {
                Ok(document) => Ok(document.to_vec()),
                Err(SourceError::Missing(_)) => Ok(Vec::new()),
                Err(SourceError::Refused(reason)) => {
                    target
                        .tally
                        .note(&format!("the {parameter} of {name} is not brought over: {reason}"));
                    Ok(Vec::new())
                }
                Err(error) => Err(Failure::from(error)),
            };
        let (policy, lifecycle) = (ask("policy")?, ask("lifecycle")?);
        let (object_lock, tags, cors) = (ask("object-lock")?, ask("tagging")?, ask("cors")?);
        let encryption = ask("encryption")?;
        // MinIO's exclusions are in it.
        let versioning_document = match versioning {
            "" => Vec::new(),
            _ => ask("versioning")?,
        };
        let documents = Documents {
            policy: &policy,
            lifecycle: &lifecycle,
            object_lock: &object_lock,
            versioning: match versioning {
                "Enabled" => Versioning::Enabled,
                "" => Versioning::Never,
                _ => Versioning::Suspended,
            },
            versioning_document: &versioning_document,
            tags: &tags,
            cors: &cors,
            encryption: &encryption,
            // No operation of S3 tells it.
            quota: &[],
            // It names targets of the source.
            notifications: &[],
        };
        target.set(bucket, settings(target, name, &documents))
    }

    fn push(
        &self,
        target: &Target,
        jobs: &Jobs<'_>,
        bucket: &Arc<Bucket>,
        mut entries: Vec<SourceEntry>,
    ) -> Result<(), Failure> {
        let Some(first) = entries.first() else { return Ok(()) };
        let key = match ObjectKey::new(first.key.clone()) {
            Ok(key) => key,
            Err(error) => {
                target.tally.left_out(&first.key, &error.to_string());
                return Ok(());
            }
        };
        entries.reverse();
        let name = bucket.name.as_str().to_owned();
        let source = Box::new(RemoteKey { reader: self.clone(), bucket: name, entries });
        jobs.push(Job { bucket: Arc::clone(bucket), key, source })
    }
}

/// A failure that ends the reading of the source.
fn ended(error: SourceError) -> Failure {
    match Failure::from(error) {
        Failure::LeftOut(reason) => Failure::Source(reason),
        failure => failure,
    }
}

/// A failure while reading an object, which may succeed later.
fn unread(error: SourceError) -> Failure {
    match error {
        SourceError::Keys { .. } => ended(error),
        error => Failure::Unread(error.to_string()),
    }
}

/// The versions of a key in the service, the oldest first.
#[derive(Debug)]
struct RemoteKey {
    reader: Reader,
    bucket: String,
    entries: Vec<SourceEntry>,
}

impl SourceKey for RemoteKey {
    fn versions(&mut self) -> Result<Vec<SourceVersion>, Failure> {
        let version = |entry: &SourceEntry| {
            let untimed = || Failure::LeftOut("the service does not tell its time".to_owned());
            let etag = ETag::parse(&entry.etag);
            let object = SourceObject { bytes: entry.bytes, etag };
            Ok(SourceVersion {
                modified_ms: entry.modified_ms.ok_or_else(untimed)?,
                is_null: entry.version.as_deref().is_none_or(|version| version == "null"),
                object: (!entry.is_delete_marker).then_some(object),
            })
        };
        self.entries.iter().map(version).collect()
    }

    fn read(&mut self, to: Destination<'_>, index: usize) -> Result<ImportedObject, Failure> {
        let RemoteKey { reader, bucket, entries } = self;
        reader.runtime.block_on(object(&reader.source, to, bucket, &entries[index]))
    }
}

async fn object(
    source: &Source,
    to: Destination<'_>,
    bucket: &str,
    entry: &SourceEntry,
) -> Result<ImportedObject, Failure> {
    let (key, version) = (entry.key.as_str(), entry.version.as_deref());
    let etag = ETag::parse(&entry.etag);
    let part_bytes = match etag {
        Some(ETag::Multipart { .. }) => part_bytes(source, bucket, entry).await?,
        _ => None,
    };
    let mut opened = source.open(bucket, key, version).await?;
    let is_listed =
        opened.headers.get("etag").map(|tag| tag.trim_matches('"')) == Some(entry.etag.as_str());
    if opened.bytes() != entry.bytes || !is_listed {
        let reason = "it was replaced since it was listed; import it again";
        return Err(Failure::LeftOut(reason.to_owned()));
    }
    let (mut metadata, lock) = metadata::of_headers(&opened.headers).map_err(Failure::LeftOut)?;
    if opened.headers.get("x-amz-tagging-count").is_some_and(|count| count != "0") {
        metadata.tags = source.tags(bucket, key, version).await?;
        metadata.tags.sort_unstable();
    }
    let shape = if part_bytes.is_none() { Shape::Whole(entry.bytes) } else { Shape::Parts };
    let sizes = part_bytes.unwrap_or_else(|| vec![entry.bytes]);
    let header = |name: &str| opened.headers.get(name).map(String::as_str);
    let encryption = SourceEncryption::of_header(
        header("x-amz-server-side-encryption"),
        header("x-amz-server-side-encryption-aws-kms-key-id"),
    );
    let mut bodies = to.object(shape, encryption.as_ref())?;
    // Received bytes that belong to the next part.
    let mut rest = bytes::Bytes::new();
    for size in sizes {
        let mut stager = bodies.stager(size)?;
        while stager.left() > 0 {
            if rest.is_empty() {
                match opened.chunk().await.map_err(unread)? {
                    Some(chunk) => rest = chunk,
                    None => break,
                }
            }
            let now = rest.len().min(usize::try_from(stager.left()).unwrap_or(usize::MAX));
            stager.write(&rest.split_to(now))?;
        }
        if stager.left() > 0 {
            return Err(Failure::LeftOut("it is shorter than its parts".to_owned()));
        }
        bodies.add(stager)?;
    }
    // Reads to the end, where the digest is verified.
    if !rest.is_empty() || opened.chunk().await.map_err(unread)?.is_some() {
        return Err(Failure::LeftOut("it is longer than its parts".to_owned()));
    }
    let (content, etag) = bodies.finish(etag);
    Ok(ImportedObject { content, etag, metadata, checksum: None, lock })
}

/// The part sizes of an object; `None` if the service does not report them.
async fn part_bytes(
    source: &Source,
    bucket: &str,
    entry: &SourceEntry,
) -> Result<Option<Vec<u64>>, Failure> {
    let mut sizes = Vec::new();
    let mut count = 1;
    let mut number = 1;
    while number <= count {
        let part = source.part(bucket, &entry.key, entry.version.as_deref(), number).await;
        let (bytes, parts) = match part {
            Ok(Some(part)) => part,
            // Not every service supports reading parts.
            Ok(None) | Err(SourceError::Refused(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // A count that changes would be asked for without an end.
        let is_expected = if number == 1 { parts <= PARTS_MAX } else { parts == count };
        if !is_expected {
            return Ok(None);
        }
        sizes.push(bytes);
        count = parts;
        number += 1;
    }
    Ok((sizes.iter().sum::<u64>() == entry.bytes).then_some(sizes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_a_service_a_bucket_or_a_part_of_one() {
        for (url, endpoint, bucket, prefix) in [
            ("http://h:9000", "http://h:9000", None, ""),
            ("https://h/", "https://h", None, ""),
            ("https://h/photos", "https://h", Some("photos"), ""),
            ("https://h/photos/2026/a b/", "https://h", Some("photos"), "2026/a b/"),
        ] {
            let place = Place::parse(url).expect(url);
            assert_eq!(
                (&*place.endpoint, place.bucket.as_deref(), &*place.prefix),
                (endpoint, bucket, prefix)
            );
        }
        for url in ["", "h", "s3://photos", "ftp://h"] {
            Place::parse(url).expect_err(url);
        }
    }
}
