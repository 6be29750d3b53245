//! Locations as users write them.

use std::path::PathBuf;

use super::name::is_component;

/// Longest prefix in a bucket, in bytes: a name has the rest of the 1,024 of a key.
const PREFIX_BYTES_MAX: usize = 511;

/// The place that a location denotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Location {
    Directory(PathBuf),
    Bucket {
        bucket: String,
        /// Empty, or components without a slash at the end.
        prefix: String,
    },
}

/// Parses a location.
///
/// # Errors
/// One line that says what to change. It does not have the text, which may hold a secret.
pub(super) fn parse(text: &str) -> Result<Location, String> {
    if let Some(path) = text.strip_prefix("file://") {
        let path = PathBuf::from(path);
        // The root is a whole file system, which has other owners.
        return match path.is_absolute() && path.file_name().is_some() {
            true => Ok(Location::Directory(path)),
            false => Err("the directory of a backup is file:///ABSOLUTE/PATH".to_owned()),
        };
    }
    let Some(rest) = text.strip_prefix("s3://") else {
        let reason = "a backup's location is s3://BUCKET/PREFIX or file:///ABSOLUTE/PATH";
        return Err(reason.to_owned());
    };
    if rest.contains('@') {
        let reason = "a backup's location holds no credentials: give the access key and the secret \
                      key apart from it";
        return Err(reason.to_owned());
    }
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if !is_component(bucket) {
        return Err("the location s3://BUCKET/PREFIX has no valid bucket".to_owned());
    }
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    if prefix.len() > PREFIX_BYTES_MAX
        || !(prefix.is_empty() || prefix.split('/').all(is_component))
    {
        return Err(format!(
            "the prefix in s3://BUCKET/PREFIX is not valid: write up to {PREFIX_BYTES_MAX} letters, \
             digits and ._-, with single slashes between"
        ));
    }
    Ok(Location::Bucket { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_buckets_or_absolute_directories() {
        let bucket = |bucket: &str, prefix: &str| Location::Bucket {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        };
        let directory = |path: &str| Location::Directory(path.into());
        let rows = [
            ("s3://bucket", bucket("bucket", "")),
            ("s3://bucket/", bucket("bucket", "")),
            ("s3://my.bucket/a/b-1/", bucket("my.bucket", "a/b-1")),
            ("file:///mnt/disk/backup", directory("/mnt/disk/backup")),
            ("file:///mnt/a b%20", directory("/mnt/a b%20")),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        let long = format!("s3://bucket/{}", "a/".repeat(300));
        let wrong = [
            "",
            "bucket",
            "/mnt/backup",
            "file://",
            "file:///",
            "file://mnt/backup",
            "file:///mnt/..",
            "s3://",
            "s3:///prefix",
            "s3://bucket//a",
            "s3://bucket/../a",
            "s3://bucket/a?hush",
            "s3://key:hush@bucket/a",
            "https://key:hush@host/bucket",
            &long,
        ];
        for text in wrong {
            let reason = parse(text).expect_err(text);
            assert!(!reason.contains("hush") && !reason.contains('\n'), "{reason}");
        }
    }
}
