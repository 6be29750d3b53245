//! `share`: links and commands for people without credentials.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::SUCCESS;
use crate::cli::{ShareDownloadArgs, ShareUploadArgs, ShareVerb};
use crate::error::Error;
use crate::session::Session;
use crate::target::{Remote, Target};
use crate::text::{in_words, parse_duration};
use crate::transfer::{Listing, Named, object_unless_folder};

/// Longest validity of a signature.
const EXPIRY_MAX: Duration = Duration::from_secs(7 * 86_400);

#[derive(Serialize)]
struct ShareMessage {
    status: &'static str,
    url: String,
    share: String,
    /// Nanoseconds.
    #[serde(rename = "timeLeft")]
    time_left: u64,
    #[serde(rename = "contentType", skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
}

impl fmt::Display for ShareMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expire = in_words(Duration::from_nanos(self.time_left));
        write!(formatter, "URL: {}\nExpire: {expire}\n", self.url)?;
        if let Some(content_type) = &self.content_type {
            writeln!(formatter, "Content-Type: {content_type}")?;
        }
        writeln!(formatter, "Share: {}", self.share)
    }
}

pub(super) async fn run(session: &Arc<Session>, verb: ShareVerb) -> Result<(), Error> {
    match verb {
        ShareVerb::Download(arguments) => download(session, &arguments).await,
        ShareVerb::Upload(arguments) => upload(session, &arguments).await,
    }
}

async fn download(session: &Session, arguments: &ShareDownloadArgs) -> Result<(), Error> {
    let expiry = expiry(&arguments.expire)?;
    if arguments.version_id.is_some() && arguments.recursive {
        return Err(Error::refused("--version-id cannot be used with --recursive"));
    }
    for text in &arguments.targets {
        let result = download_one(session, arguments, text, expiry).await;
        report(session, text, result)?;
    }
    Ok(())
}

async fn download_one(
    session: &Session,
    arguments: &ShareDownloadArgs,
    text: &str,
    expiry: Duration,
) -> Result<(), Error> {
    let version = arguments.version_id.as_deref();
    let remote = Target::bucket(session, text)?;
    learn_region(&remote).await?;
    match object_unless_folder(session, &Target::Remote(remote.clone())).await? {
        Named::Object(remote) => {
            remote.s3.head(&remote.bucket, &remote.key, version).await?;
            tell_download(session, &remote, version, expiry)
        }
        Named::Folder(folder) => {
            let mut listing = Listing::below(&folder, arguments.recursive).await?;
            while let Some(item) = listing.next(session).await? {
                if !item.entry.is_folder {
                    let remote = remote.with_key(&item.entry.key);
                    tell_download(session, &remote, None, expiry)?;
                }
            }
            Ok(())
        }
    }
}

/// Learns the region of the bucket, which the link is signed for; no other request would. A user of single objects
/// may have no right to the bucket.
async fn learn_region(remote: &Remote) -> Result<(), Error> {
    match remote.s3.head_bucket(&remote.bucket).await {
        Err(error) if error.is_denied() => Ok(()),
        result => result,
    }
}

/// Reports the failure of one target, so that the others are shared.
///
/// # Errors
/// Standard output is closed.
fn report(session: &Session, text: &str, result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(error @ Error::Output(_)) => Err(error),
        Err(error) => {
            session.output.failure(&format!("Unable to share `{text}`."), &error);
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

fn tell_download(
    session: &Session,
    remote: &Remote,
    version: Option<&str>,
    expiry: Duration,
) -> Result<(), Error> {
    let Remote { s3, bucket, key, .. } = remote;
    session.output.print(&ShareMessage {
        status: SUCCESS,
        url: s3.url(bucket, key),
        share: s3.presign(bucket, key, version, expiry)?,
        time_left: nanoseconds(expiry),
        content_type: None,
    })
}

async fn upload(session: &Session, arguments: &ShareUploadArgs) -> Result<(), Error> {
    let expiry = expiry(&arguments.expire)?;
    for text in &arguments.targets {
        let result = upload_one(session, arguments, text, expiry).await;
        report(session, text, result)?;
    }
    Ok(())
}

async fn upload_one(
    session: &Session,
    arguments: &ShareUploadArgs,
    text: &str,
    expiry: Duration,
) -> Result<(), Error> {
    let remote = Target::bucket(session, text)?;
    let Remote { s3, bucket, key, .. } = &remote;
    if (key.is_empty() || key.ends_with('/')) && !arguments.recursive {
        let reason = format!("'{text}' is a folder; add --recursive to allow any key in it");
        return Err(Error::refused(reason));
    }
    learn_region(&remote).await?;
    let content_type = arguments.content_type.as_deref();
    let form = s3.post_form(bucket, key, arguments.recursive, content_type, expiry)?;
    let fields: String =
        form.fields.iter().map(|(name, value)| format!("-F {name}={} ", quoted(value))).collect();
    let name = if arguments.recursive { "<NAME>" } else { "" };
    let share = format!("curl {} {fields}-F key={}{name} -F file=@<FILE>", form.url, quoted(key));
    session.output.print(&ShareMessage {
        status: SUCCESS,
        url: s3.url(bucket, key),
        share,
        time_left: nanoseconds(expiry),
        content_type: arguments.content_type.clone(),
    })
}

fn expiry(text: &str) -> Result<Duration, Error> {
    let expiry = parse_duration(text).map_err(Error::Refused)?;
    if expiry < Duration::from_secs(1) || expiry > EXPIRY_MAX {
        return Err(Error::refused("--expire takes one second to seven days (168h)"));
    }
    Ok(expiry)
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Text, quoted for a shell.
fn quoted(text: &str) -> String {
    let special = |it: char| !(it.is_alphanumeric() || "-_./:=+,%@".contains(it));
    text.chars().flat_map(|it| special(it).then_some('\\').into_iter().chain(Some(it))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell_stay_together() {
        assert_eq!(quoted("a b'c\"$d`;&ü"), r#"a\ b\'c\"\$d\`\;\&ü"#);
        assert_eq!(quoted("a/b-c_1.txt"), "a/b-c_1.txt");
    }

    #[test]
    fn links_live_for_a_week_at_most() {
        assert!(expiry("168h").is_ok() && expiry("1s").is_ok());
        assert!(expiry("169h").is_err() && expiry("10ms").is_err() && expiry("x").is_err());
    }
}
