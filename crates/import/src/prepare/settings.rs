//! Settings of buckets and objects that are created at startup.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use liteio_store::BucketName;
use liteio_wire::settings::{ConfigError, error};

/// The buckets and objects to create before the first request, unless they exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preparation {
    /// Buckets given individually.
    pub buckets: Vec<InitialBucket>,
    /// A file with more buckets: one per line, as [`InitialBucket`] parses it; `#` starts a
    /// comment.
    pub bucket_file: Option<PathBuf>,
    /// A directory or archive whose directories become buckets, and the files in them objects.
    pub seed: Option<PathBuf>,
    /// Empty directories in the data directory with a valid bucket name become buckets, as in
    /// MinIO.
    pub directories_are_buckets: bool,
}

/// A bucket that is created at startup, unless it exists. Parsed from
/// `NAME[:public|download|upload][:versioned|locked]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialBucket {
    name: BucketName,
    access: PublicAccess,
    is_versioned: bool,
    is_locked: bool,
}

/// Anonymous access to a bucket, by MinIO's canned policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PublicAccess {
    /// No anonymous access.
    #[default]
    None,
    /// Reading and listing: `download`.
    Download,
    /// Writing, and deleting: `upload`.
    Upload,
    /// Both: `public`.
    Public,
}

impl InitialBucket {
    /// The name of the bucket.
    pub fn name(&self) -> &BucketName {
        &self.name
    }

    /// Its anonymous access.
    pub fn access(&self) -> PublicAccess {
        self.access
    }

    /// True if its versioning is enabled, which object lock needs.
    pub fn is_versioned(&self) -> bool {
        self.is_versioned || self.is_locked
    }

    /// True if it has object lock, without a default retention.
    pub fn is_locked(&self) -> bool {
        self.is_locked
    }
}

impl FromStr for InitialBucket {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<InitialBucket, ConfigError> {
        let mut words = text.split(':').map(str::trim);
        let name = BucketName::new(words.next().unwrap_or_default());
        let name = name.map_err(|reason| ConfigError(reason.to_string()))?;
        let access = PublicAccess::None;
        let mut bucket = InitialBucket { name, access, is_versioned: false, is_locked: false };
        let (mut has_access, mut has_versioning) = (false, false);
        for word in words {
            let access = match word {
                "versioned" if !has_versioning => {
                    (has_versioning, bucket.is_versioned) = (true, true);
                    continue;
                }
                "locked" if !has_versioning => {
                    (has_versioning, bucket.is_locked) = (true, true);
                    continue;
                }
                // The names of `mc anonymous set` are accepted, too.
                "none" | "private" => PublicAccess::None,
                "download" => PublicAccess::Download,
                "upload" => PublicAccess::Upload,
                "public" => PublicAccess::Public,
                _ => return unknown(text),
            };
            if std::mem::replace(&mut has_access, true) {
                return unknown(text);
            }
            bucket.access = access;
        }
        Ok(bucket)
    }
}

fn unknown(text: &str) -> Result<InitialBucket, ConfigError> {
    error(format!(
        "the bucket {text:?} is not valid: give NAME, and behind it :public, :download or :upload, and \
         :versioned or :locked"
    ))
}

impl fmt::Display for InitialBucket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = match self.access {
            PublicAccess::None => "",
            PublicAccess::Download => ":download",
            PublicAccess::Upload => ":upload",
            PublicAccess::Public => ":public",
        };
        let versioned = match (self.is_locked, self.is_versioned) {
            (true, _) => ":locked",
            (false, true) => ":versioned",
            (false, false) => "",
        };
        write!(formatter, "{}{access}{versioned}", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_a_name_an_access_and_versions() {
        let rows = [
            ("photos", "photos"),
            ("photos:public", "photos:public"),
            (" photos : download ", "photos:download"),
            ("photos:versioned:upload", "photos:upload:versioned"),
            ("photos:none:versioned", "photos:versioned"),
            ("photos:private", "photos"),
            ("photos:locked:download", "photos:download:locked"),
        ];
        for (text, expected) in rows {
            let bucket: InitialBucket = text.parse().expect(text);
            assert_eq!(bucket.to_string(), expected);
            assert_eq!(bucket.to_string().parse(), Ok(bucket));
        }
        for (text, told) in [
            ("", "\"\""),
            ("Photos", "\"Photos\""),
            ("a_b:public", "\"a_b\""),
            ("photos:", "\"photos:\""),
            ("photos:open", ":download"),
            ("photos:public:upload", ":public"),
            ("photos:versioned:versioned", ":versioned"),
            ("photos:versioned:locked", ":locked"),
            ("photos:locked:locked", ":locked"),
        ] {
            let refused = text.parse::<InitialBucket>().expect_err(text).to_string();
            assert!(refused.contains(told) && !refused.contains('\n'), "{text}: {refused}");
        }
    }
}
