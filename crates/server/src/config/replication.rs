//! The targets of replication.

use std::path::PathBuf;

use liteio_access::remote::{RemoteKind, RemoteSources, RemoteTarget};
use liteio_identity::tables::{self, Fields};
use liteio_wire::private_file;

/// Longest ARN, in bytes. It is part of the keys of the queue.
const ARN_BYTES_MAX: usize = 256;

/// The targets of replication that are configured, besides those that are added at run time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicationSettings {
    /// Targets given individually.
    pub targets: Vec<RemoteTarget>,
    /// A TOML file with more of them.
    pub file: Option<PathBuf>,
}

impl ReplicationSettings {
    /// All targets, including the file's.
    ///
    /// # Errors
    /// One line with advice, without any secret.
    pub(crate) fn all_targets(&self) -> Result<Vec<RemoteTarget>, String> {
        let mut all = self.targets.clone();
        if let Some(path) = &self.file {
            all.extend(private_file::parsed(path, of_toml)?);
        }
        for (place, target) in all.iter().enumerate() {
            if all[..place].iter().any(|other| other.arn == target.arn) {
                return Err(format!("two targets have the ARN {:?}", target.arn));
            }
        }
        Ok(all)
    }
}

/// Parses a file of targets: `[[target]]` tables.
fn of_toml(text: &str) -> Result<Vec<RemoteTarget>, String> {
    let document = tables::document(text, &["target"])?;
    let targets = tables::tables(&document, "target", &KNOWN)?;
    match targets.is_empty() {
        true => Err("there is no [[target]] table".to_owned()),
        false => targets.iter().map(of_table).collect(),
    }
}

const KNOWN: [&str; 8] =
    ["arn", "url", "bucket", "access_key", "secret_key", "region", "kind", "buckets"];

fn of_table(fields: &Fields<'_>) -> Result<RemoteTarget, String> {
    let wrong = |reason: &str| format!("{}: {reason}", fields.label);
    let arn = fields.required("arn")?;
    if !arn.starts_with("arn:") || arn.len() > ARN_BYTES_MAX || arn.contains(char::is_control) {
        return Err(wrong("arn is not valid: give one such as arn:aws:s3:::BUCKET"));
    }
    let bucket = match fields.text("bucket")? {
        Some(bucket) => bucket,
        None => arn.rsplit(':').next().unwrap_or_default().to_owned(),
    };
    if bucket.is_empty() || bucket.contains('/') {
        return Err(wrong("bucket is missing: the ARN does not end with one"));
    }
    let url = fields.required("url")?;
    let is_http = url.starts_with("http://") || url.starts_with("https://");
    if !is_http || url.contains('@') {
        return Err(wrong("url is not valid: give http://HOST or https://HOST, without a user"));
    }
    let kind = match fields.text("kind")? {
        None => None,
        Some(name) => {
            let kind = RemoteKind::of_name(&name);
            Some(kind.ok_or_else(|| wrong("kind must be liteio, minio or s3"))?)
        }
    };
    Ok(RemoteTarget {
        arn,
        url,
        bucket,
        access_key: fields.required("access_key")?,
        secret_key: fields.required("secret_key")?,
        region: fields.text("region")?,
        kind,
        sources: RemoteSources::Named(fields.texts("buckets")?.unwrap_or_default()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_targets_and_no_error_shows_a_secret() {
        let file = "[[target]]\narn = 'arn:aws:s3:::copies'\nurl = 'http://localhost:9'\n\
                    access_key = 'user'\nsecret_key = 'hush'\nkind = 's3'\nbuckets = ['photos']\n";
        let targets = of_toml(file).expect("valid");
        assert_eq!((&*targets[0].bucket, targets[0].kind), ("copies", Some(RemoteKind::S3)));
        assert_eq!(targets[0].sources, RemoteSources::Named(vec!["photos".to_owned()]));
        assert!(!format!("{targets:?}").contains("hush"));
        for (from, to, expected) in [
            ("'arn:aws:s3:::copies'", "'copies'", "arn is not valid"),
            ("'arn:aws:s3:::copies'", "'arn:aws:s3:::'", "bucket is missing"),
            ("'http://localhost:9'", "'http://me:hush@localhost'", "url is not valid"),
            ("'http://localhost:9'", "'ftp://localhost'", "url is not valid"),
            ("'s3'", "'azure'", "kind must be"),
            ("secret_key", "password", "unknown key \"password\""),
            ("[[target]]", "[[remote]]", "unknown key \"remote\""),
        ] {
            let error = of_toml(&file.replace(from, to)).expect_err(expected);
            assert!(error.contains(expected) && !error.contains("hush"), "{error}");
        }
        let settings =
            ReplicationSettings { targets: [&targets[..], &targets].concat(), file: None };
        assert!(settings.all_targets().expect_err("twice").contains("two targets"));
    }
}
