//! `stat`: the properties of objects, buckets and files.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use super::SUCCESS;
use crate::cli::StatArgs;
use crate::error::Error;
use crate::s3::{Head, Listed};
use crate::session::Session;
use crate::target::{Remote, Target};
use crate::text::{for_people, human, of_http, of_iso};
use crate::transfer::{Listing, Named, folder_or_object, modified};

#[derive(Serialize)]
struct StatMessage {
    status: &'static str,
    name: String,
    #[serde(rename = "lastModified", skip_serializing_if = "String::is_empty")]
    last_modified: String,
    size: u64,
    etag: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expiration: Option<String>,
    #[serde(rename = "expirationRuleID", skip_serializing_if = "Option::is_none")]
    expiration_rule: Option<String>,
    #[serde(rename = "replicationStatus", skip_serializing_if = "Option::is_none")]
    replication_status: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    #[serde(rename = "versionID", skip_serializing_if = "Option::is_none")]
    version_id: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    checksum: BTreeMap<String, String>,
    #[serde(skip)]
    time: String,
}

impl fmt::Display for StatMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{:<10}: {}", "Name", self.name)?;
        if !self.time.is_empty() {
            writeln!(formatter, "{:<10}: {} ", "Date", self.time)?;
        }
        if self.kind != "folder" {
            writeln!(formatter, "{:<10}: {:<6} ", "Size", human(self.size))?;
        }
        if !self.etag.is_empty() {
            writeln!(formatter, "{:<10}: {} ", "ETag", self.etag)?;
        }
        if let Some(version) = &self.version_id {
            writeln!(formatter, "{:<10}: {version} ", "VersionID")?;
        }
        writeln!(formatter, "{:<10}: {} ", "Type", self.kind)?;
        let expiration = self.expiration.as_deref().and_then(of_iso);
        if let (Some(time), Some(rule)) = (expiration, &self.expiration_rule) {
            let time = for_people(time);
            writeln!(formatter, "{:<10}: {time} (lifecycle-rule-id: {rule}) ", "Expiration")?;
        }
        if !self.checksum.is_empty() {
            let pairs: Vec<String> =
                self.checksum.iter().map(|(name, value)| format!("{name}:{value}")).collect();
            writeln!(formatter, "{:<10}: {}", "Checksum", pairs.join(" "))?;
        }
        if !self.metadata.is_empty() {
            writeln!(formatter, "{:<10}:", "Metadata")?;
            let width = self.metadata.keys().map(String::len).max().unwrap_or(0);
            for (name, value) in &self.metadata {
                writeln!(formatter, "  {name:<width$}: {value} ")?;
            }
        }
        if let Some(status) = &self.replication_status {
            writeln!(formatter, "Replication Status: {status} ")?;
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct BucketMessage {
    status: &'static str,
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    versioning: String,
    location: String,
    policy: Option<bool>,
}

impl fmt::Display for BucketMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versioning = match self.versioning.as_str() {
            "" => "Un-versioned",
            status => status,
        };
        let anonymous = match self.policy {
            Some(true) => "Enabled",
            Some(false) => "Disabled",
            None => "Unknown",
        };
        writeln!(formatter, "{:<10}: {}", "Name", self.name)?;
        writeln!(formatter, "{:<10}: N/A    ", "Size")?;
        writeln!(formatter, "{:<10}: folder \n", "Type")?;
        writeln!(formatter, "Properties:\n  Versioning: {versioning}")?;
        writeln!(formatter, "  Location: {}\n  Anonymous: {anonymous}", self.location)
    }
}

pub(super) async fn run(session: &Arc<Session>, arguments: &StatArgs) -> Result<(), Error> {
    for text in &arguments.targets {
        match one(session, arguments, text).await {
            Err(error @ Error::Output(_)) => return Err(error),
            Err(error) => session.output.failure(&format!("Unable to stat `{text}`."), &error),
            Ok(()) => {}
        }
    }
    Ok(())
}

async fn one(session: &Session, arguments: &StatArgs, text: &str) -> Result<(), Error> {
    let version = arguments.version_id.as_deref();
    match Target::parse(session, text)? {
        Target::Local(local) => {
            let path = local.path();
            let metadata = std::fs::metadata(path).map_err(Error::file(path))?;
            let modified = modified(&metadata);
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            session.output.print(&StatMessage {
                status: SUCCESS,
                name: name.unwrap_or_else(|| local.text().to_owned()),
                last_modified: modified.map(|it| it.to_string()).unwrap_or_default(),
                size: metadata.len(),
                etag: String::new(),
                kind: if metadata.is_dir() { "folder" } else { "file" },
                expiration: None,
                expiration_rule: None,
                replication_status: None,
                metadata: BTreeMap::new(),
                version_id: None,
                checksum: BTreeMap::new(),
                time: modified.map(for_people).unwrap_or_default(),
            })
        }
        Target::Remote(remote) if arguments.recursive => all(session, &remote).await,
        Target::Remote(remote) if remote.bucket.is_empty() => {
            for entry in remote.s3.buckets().await? {
                let remote = Remote { bucket: entry.key, ..remote.clone() };
                session.output.print(&bucket(&remote).await?)?;
            }
            Ok(())
        }
        Target::Remote(remote) if remote.key.is_empty() => {
            session.output.print(&bucket(&remote).await?)
        }
        Target::Remote(remote) => {
            match remote.s3.head(&remote.bucket, &remote.key, version).await {
                Ok(head) => session.output.print(&object(&remote, &head, &remote.key)),
                Err(error) if error.is_missing() && version.is_none() => {
                    remote.s3.head_bucket(&remote.bucket).await?;
                    let target = Target::Remote(remote.clone());
                    let has_some = match folder_or_object(session, &target, Listed::Objects).await?
                    {
                        Named::Folder(folder) => {
                            let mut listing = Listing::below(&folder, true).await?;
                            listing.next(session).await?.is_some()
                        }
                        Named::Object(_) => false,
                    };
                    if !has_some {
                        return Err(error);
                    }
                    session.output.print(&folder(&remote))
                }
                Err(error) => Err(error),
            }
        }
    }
}

async fn all(session: &Session, remote: &Remote) -> Result<(), Error> {
    if remote.bucket.is_empty() {
        return Err(Error::refused("name a bucket"));
    }
    let start =
        match folder_or_object(session, &Target::Remote(remote.clone()), Listed::Objects).await? {
            Named::Folder(folder) => folder,
            Named::Object(remote) => {
                let head = remote.s3.head(&remote.bucket, &remote.key, None).await?;
                return session.output.print(&object(&remote, &head, &remote.key));
            }
        };
    let mut listing = Listing::below(&start, true).await?;
    while let Some(item) = listing.next(session).await? {
        let found = remote.with_key(&item.entry.key);
        let head = found.s3.head(&found.bucket, &found.key, None).await?;
        session.output.print(&object(&found, &head, &remote.key))?;
    }
    Ok(())
}

async fn bucket(remote: &Remote) -> Result<BucketMessage, Error> {
    let Remote { s3, bucket, .. } = remote;
    s3.head_bucket(bucket).await?;
    // A user who may see the bucket may not see all of its settings.
    let unknown = |_| "unknown".to_owned();
    Ok(BucketMessage {
        status: SUCCESS,
        name: bucket.clone(),
        kind: "folder",
        versioning: s3.versioning(bucket).await.unwrap_or_else(unknown),
        location: s3.location(bucket).await.unwrap_or_else(unknown),
        policy: s3.policy(bucket).await.ok().map(|it| it.is_some()),
    })
}

fn folder(remote: &Remote) -> StatMessage {
    StatMessage {
        status: SUCCESS,
        name: name_below(&remote.key, &remote.folder().key).to_owned(),
        last_modified: String::new(),
        size: 0,
        etag: String::new(),
        kind: "folder",
        expiration: None,
        expiration_rule: None,
        replication_status: None,
        metadata: BTreeMap::new(),
        version_id: None,
        checksum: BTreeMap::new(),
        time: String::new(),
    }
}

/// The properties of an object that was found at the key `target`, or below it.
fn object(remote: &Remote, head: &Head, target: &str) -> StatMessage {
    let mut metadata: BTreeMap<String, String> =
        head.metadata().into_iter().map(|(name, value)| (title(&name), value)).collect();
    let mut checksum = BTreeMap::new();
    let (mut expiration, mut expiration_rule) = (None, None);
    let mut replication_status = None;
    for (name, value) in &head.headers {
        let (name, value) = (name.as_str(), value.to_str().unwrap_or_default().to_owned());
        if let Some(algorithm) = name.strip_prefix("x-amz-checksum-") {
            if algorithm != "type" {
                checksum.insert(algorithm.to_ascii_uppercase(), value);
            }
        } else if name == "x-amz-expiration"
            && let Some((time, rule)) = of_expiration(&value)
        {
            (expiration, expiration_rule) = (Some(time.to_string()), Some(rule));
        } else if name == "x-amz-replication-status" {
            replication_status = Some(value);
        } else if name.starts_with("x-amz-server-side-encryption")
            || name.starts_with("x-amz-object-lock")
            || matches!(name, "x-amz-storage-class" | "x-amz-expiration" | "x-amz-restore")
        {
            metadata.insert(title(name), value);
        }
    }
    StatMessage {
        status: SUCCESS,
        name: name_below(target, &remote.key).to_owned(),
        last_modified: head.modified.map(|it| it.to_string()).unwrap_or_default(),
        size: head.size,
        etag: head.etag.clone(),
        kind: if remote.key.ends_with('/') { "folder" } else { "file" },
        expiration,
        expiration_rule,
        replication_status,
        metadata,
        version_id: head.version.clone(),
        checksum,
        time: head.modified.map(for_people).unwrap_or_default(),
    }
}

/// The time and the rule of `expiry-date="Fri, 01 Jan 2027 00:00:00 GMT", rule-id="rule"`.
fn of_expiration(value: &str) -> Option<(Timestamp, String)> {
    let (date, rule) = value.strip_prefix("expiry-date=\"")?.split_once("\", rule-id=\"")?;
    Some((of_http(date)?, rule.strip_suffix('"')?.to_owned()))
}

/// The name of a key as `mc` shows it: below the folder of the target, which is the part of its key up to the last slash. The
/// folder itself is shown with its own name.
fn name_below<'k>(target: &str, key: &'k str) -> &'k str {
    let folder = target.rfind('/').map_or("", |at| &target[..=at]);
    match key.strip_prefix(folder) {
        Some(name) if !name.is_empty() => name,
        _ => {
            let parent = key.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
            &key[parent..]
        }
    }
}

/// A header name as `mc` shows it: `X-Amz-Meta-Key`.
fn title(name: &str) -> String {
    let part = |part: &str| {
        let mut letters = part.chars();
        let first = letters.next().map(|it| it.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    name.split('-').map(part).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expirations_are_read_from_the_header_or_left_in_it() {
        let header = "expiry-date=\"Fri, 01 Jan 2027 00:00:00 GMT\", rule-id=\"tmp, \"old\"\"";
        let (time, rule) = of_expiration(header).expect("a date and a rule");
        assert_eq!(
            (time.to_string().as_str(), rule.as_str()),
            ("2027-01-01T00:00:00Z", "tmp, \"old\"")
        );
        for other in ["", "expiry-date=\"soon\", rule-id=\"x\"", "rule-id=\"x\""] {
            assert_eq!(of_expiration(other), None, "{other}");
        }
    }

    #[test]
    fn names_are_those_of_mc() {
        for (target, key, name) in [
            ("carol/plan.txt", "carol/plan.txt", "plan.txt"),
            ("plan.txt", "plan.txt", "plan.txt"),
            ("", "x/y/z.txt", "x/y/z.txt"),
            ("x", "x/y/z.txt", "x/y/z.txt"),
            ("x/", "x/y/z.txt", "y/z.txt"),
            ("x/y", "x/y/z.txt", "y/z.txt"),
            ("x/y/", "x/y/z.txt", "z.txt"),
            ("x/y", "x/y/", "y/"),
            ("x/y/", "x/y/", "y/"),
            ("x/", "x/", "x/"),
        ] {
            assert_eq!(name_below(target, key), name, "{target} {key}");
        }
    }
}
