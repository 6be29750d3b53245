//! `anonymous`: anonymous access to a bucket.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::SUCCESS;
use super::canned::{Permission, Policy};
use crate::cli::AnonymousVerb;
use crate::error::Error;
use crate::session::Session;
use crate::target::{Remote, Target};
use crate::transfer::Listing;

/// Largest policy that S3 accepts.
const POLICY_BYTES_MAX: u64 = 20 << 10;

#[derive(Serialize)]
struct AnonymousMessage<'a> {
    operation: &'static str,
    status: &'static str,
    bucket: &'a str,
    permission: &'a str,
    #[serde(skip_serializing_if = "Value::is_null")]
    anonymous: Value,
}

impl fmt::Display for AnonymousMessage<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AnonymousMessage { bucket, permission, .. } = self;
        match self.operation {
            "set" => write!(formatter, "Access permission for `{bucket}` is set to `{permission}`"),
            "set-json" => {
                write!(formatter, "Access permission for `{bucket}` is set from `{permission}`")
            }
            "get" => write!(formatter, "Access permission for `{bucket}` is `{permission}`"),
            _ => write!(formatter, "{:#}", self.anonymous),
        }
    }
}

#[derive(Serialize)]
struct Rule {
    resource: String,
    allow: &'static str,
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} => {}", self.resource, self.allow)
    }
}

#[derive(Serialize)]
struct Link {
    status: &'static str,
    url: String,
}

impl fmt::Display for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.url)
    }
}

pub(super) async fn run(session: &Arc<Session>, verb: AnonymousVerb) -> Result<(), Error> {
    match verb {
        AnonymousVerb::Set { permission, target } => set(session, &permission, &target).await,
        AnonymousVerb::SetJson { file, target } => set_json(session, &file, &target).await,
        AnonymousVerb::Get { target } => get(session, &target).await,
        AnonymousVerb::GetJson { target } => {
            let remote = Target::bucket(session, &target)?;
            let text = remote.s3.policy(&remote.bucket).await?.unwrap_or_else(|| "{}".to_owned());
            let anonymous = serde_json::from_str(&text).map_err(|error| {
                Error::transport(format!("the policy of the bucket is not JSON: {error}"))
            })?;
            print(session, "get-json", &target, "", anonymous)
        }
        AnonymousVerb::List { target } => list(session, &target).await,
        AnonymousVerb::Links { target, recursive } => links(session, &target, recursive).await,
    }
}

async fn set(session: &Session, name: &str, target: &str) -> Result<(), Error> {
    let permission = Permission::parse(name).ok_or_else(|| {
        Error::refused(format!(
            "'{name}' is no permission; use private, download, upload or public"
        ))
    })?;
    let remote = Target::bucket(session, target)?;
    let mut policy = read(&remote).await?;
    if permission == Permission::default() && policy.allows_otherwise(&remote.bucket, &remote.key) {
        return Err(Error::refused(format!(
            "the policy of the bucket has other statements that allow something to anyone, which \
             would stay; see them with `anonymous get-json {target}`, and set a policy without them \
             with `anonymous set-json`. Nothing was changed"
        )));
    }
    policy.prefixes.insert(remote.key.clone(), permission);
    match policy.to_json(&remote.bucket) {
        Some(text) => remote.s3.set_policy(&remote.bucket, text).await?,
        None => remote.s3.delete_policy(&remote.bucket).await?,
    }
    print(session, "set", target, name, Value::Null)
}

async fn set_json(session: &Session, file: &Path, target: &str) -> Result<(), Error> {
    let remote = Target::bucket(session, target)?;
    let bytes = std::fs::metadata(file).map_err(Error::file(file))?.len();
    if bytes > POLICY_BYTES_MAX {
        let reason = format!("{} is larger than 20 KiB, more than a policy has", file.display());
        return Err(Error::refused(reason));
    }
    let text = std::fs::read_to_string(file).map_err(Error::file(file))?;
    if let Err(error) = serde_json::from_str::<Value>(&text) {
        return Err(Error::refused(format!("{} is not JSON: {error}", file.display())));
    }
    remote.s3.set_policy(&remote.bucket, text).await?;
    print(session, "set-json", target, &file.display().to_string(), Value::Null)
}

async fn get(session: &Session, target: &str) -> Result<(), Error> {
    let remote = Target::bucket(session, target)?;
    let text = remote.s3.policy(&remote.bucket).await?;
    let policy = parse(&remote, text.as_deref())?;
    let permission = match policy.prefixes.get(&remote.key) {
        Some(permission) => permission.name(),
        None if policy.others.is_empty() => "private",
        None => "custom",
    };
    // The text was parsed as JSON above.
    let anonymous = text.and_then(|it| serde_json::from_str(&it).ok()).unwrap_or_default();
    print(session, "get", target, permission, anonymous)
}

async fn list(session: &Session, target: &str) -> Result<(), Error> {
    let remote = Target::bucket(session, target)?;
    let policy = read(&remote).await?;
    for (prefix, permission) in &policy.prefixes {
        if prefix.starts_with(&remote.key) {
            let resource = format!("{}/{prefix}*", remote.bucket);
            session.output.print(&Rule { resource, allow: permission.access() })?;
        }
    }
    Ok(())
}

async fn links(session: &Session, target: &str, recursive: bool) -> Result<(), Error> {
    let remote = Target::bucket(session, target)?;
    let policy = read(&remote).await?;
    let readable: Vec<&String> =
        policy.prefixes.iter().filter(|(_, it)| it.read).map(|(prefix, _)| prefix).collect();
    let mut listing = Listing::below(&Target::Remote(remote.clone()), recursive).await?;
    while let Some(item) = listing.next(session).await? {
        let key = &item.entry.key;
        if !item.entry.is_folder && readable.iter().any(|it| key.starts_with(it.as_str())) {
            let url = remote.s3.url(&remote.bucket, key);
            session.output.print(&Link { status: SUCCESS, url })?;
        }
    }
    Ok(())
}

async fn read(remote: &Remote) -> Result<Policy, Error> {
    let text = remote.s3.policy(&remote.bucket).await?;
    parse(remote, text.as_deref())
}

fn parse(remote: &Remote, text: Option<&str>) -> Result<Policy, Error> {
    match text {
        Some(text) => Policy::parse(&remote.bucket, text).map_err(Error::transport),
        None => Ok(Policy::default()),
    }
}

fn print(
    session: &Session,
    operation: &'static str,
    bucket: &str,
    permission: &str,
    anonymous: Value,
) -> Result<(), Error> {
    let status = SUCCESS;
    session.output.print(&AnonymousMessage { operation, status, bucket, permission, anonymous })
}
