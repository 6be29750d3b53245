//! Buckets and data that are there when the server starts, and pages that any bucket answers.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use liteio_store::BucketName;

use super::{ConfigError, Profile, error};
use crate::cli::ServerArgs;

/// The buckets and objects that are made before the first request is answered, unless they are there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preparation {
    /// Buckets given one by one.
    pub buckets: Vec<InitialBucket>,
    /// A file with more of them: one a line, as [`InitialBucket`] reads it; `#` begins a comment.
    pub bucket_file: Option<PathBuf>,
    /// A directory or an archive, whose directories are buckets and whose files are objects in them.
    pub seed: Option<PathBuf>,
    /// Empty directories in the data directory that have the name of a bucket become buckets, as in MinIO.
    pub directories_are_buckets: bool,
}

/// A bucket that is made when the server starts, unless it is there. Read from
/// `NAME[:public|download|upload][:versioned]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialBucket {
    name: BucketName,
    access: PublicAccess,
    is_versioned: bool,
}

/// The access to a bucket without a signature, by the policies that MinIO calls canned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PublicAccess {
    /// None.
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
    pub(crate) fn name(&self) -> &BucketName {
        &self.name
    }

    /// The access to it without a signature.
    pub fn access(&self) -> PublicAccess {
        self.access
    }

    /// True when every version of its objects is kept.
    pub fn is_versioned(&self) -> bool {
        self.is_versioned
    }
}

impl FromStr for InitialBucket {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<InitialBucket, ConfigError> {
        let mut words = text.split(':').map(str::trim);
        let name = BucketName::new(words.next().unwrap_or_default());
        let name = name.map_err(|reason| ConfigError(reason.to_string()))?;
        let mut bucket = InitialBucket { name, access: PublicAccess::None, is_versioned: false };
        let (mut has_access, mut has_versioning) = (false, false);
        for word in words {
            let access = match word {
                "versioned" if !has_versioning => {
                    (has_versioning, bucket.is_versioned) = (true, true);
                    continue;
                }
                // In the words of `mc anonymous set`, too.
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
         :versioned"
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
        let versioned = if self.is_versioned { ":versioned" } else { "" };
        write!(formatter, "{}{access}{versioned}", self.name())
    }
}

pub(super) fn resolve_preparation(
    arguments: &ServerArgs,
    profile: Option<Profile>,
) -> Result<Preparation, ConfigError> {
    // A list may end with a separator.
    let given = arguments.bucket.iter().filter(|text| !text.trim().is_empty());
    let buckets = given.map(|text| {
        let named = |reason| ConfigError(format!("--bucket (LITEIO_BUCKET): {reason}"));
        text.parse().map_err(named)
    });
    for (path, name) in [
        (&arguments.bucket_file, "--bucket-file (LITEIO_BUCKET_FILE)"),
        (&arguments.seed, "--seed (LITEIO_SEED)"),
    ] {
        if path.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            return error(format!("{name} is empty: give a path"));
        }
    }
    Ok(Preparation {
        buckets: buckets.collect::<Result<_, _>>()?,
        bucket_file: arguments.bucket_file.clone(),
        seed: arguments.seed.clone(),
        directories_are_buckets: profile == Some(Profile::Minio),
    })
}

/// The origins of pages that buckets without rules of their own answer.
pub(super) fn resolve_cors_origins(origins: &[String]) -> Result<Vec<String>, ConfigError> {
    let given = origins.iter().map(|origin| origin.trim()).filter(|origin| !origin.is_empty());
    let checked = given.map(|origin| match is_origin(origin) {
        true => Ok(origin.to_owned()),
        false => error(format!(
            "--cors-origin (LITEIO_CORS_ORIGIN): {origin:?} is not an origin: give SCHEME://HOST[:PORT], with \
             one * for any text at most, or * for every origin"
        )),
    });
    checked.collect()
}

/// `*`, `null`, or a scheme and a host, without a path.
fn is_origin(origin: &str) -> bool {
    let is_text = origin.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',');
    let host = origin.split_once("://").map(|(_, host)| host);
    let has_host = host.is_some_and(|host| !host.is_empty() && !host.contains('/'));
    let is_known = matches!(origin, "*" | "null") || has_host;
    is_text && is_known && origin.matches('*').count() <= 1
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
        ] {
            let refused = text.parse::<InitialBucket>().expect_err(text).to_string();
            assert!(refused.contains(told) && !refused.contains('\n'), "{text}: {refused}");
        }
    }

    #[test]
    fn bad_values_name_their_setting() {
        let buckets =
            |text: &str| ServerArgs { bucket: vec![text.into()], ..ServerArgs::default() };
        let empty = Some(PathBuf::new());
        let rows = [
            (buckets("NOT"), "--bucket (LITEIO_BUCKET): "),
            (buckets("abc:what"), "--bucket (LITEIO_BUCKET): "),
            (ServerArgs { bucket_file: empty.clone(), ..ServerArgs::default() }, "--bucket-file"),
            (ServerArgs { seed: empty, ..ServerArgs::default() }, "--seed"),
        ];
        for (arguments, told) in rows {
            let refused = resolve_preparation(&arguments, None).expect_err(told).to_string();
            assert!(refused.starts_with(told), "{refused}");
        }
        let none = resolve_preparation(&buckets(" "), None).expect("nothing");
        assert_eq!(none, Preparation::default());
    }

    #[test]
    fn origins_have_a_scheme_and_a_host() {
        for origin in
            ["*", "null", "http://a", "https://*.example.com", "app://.", "http://[::1]:80"]
        {
            assert_eq!(resolve_cors_origins(&[origin.into()]), Ok(vec![origin.to_owned()]));
        }
        for origin in
            ["a", "http://", "http://a/", "http://a/b", "http://*.*", "http://ä", "a b://c"]
        {
            let refused = resolve_cors_origins(&[origin.into()]).expect_err(origin).to_string();
            assert!(refused.starts_with("--cors-origin (LITEIO_CORS_ORIGIN): "), "{refused}");
        }
        assert_eq!(resolve_cors_origins(&[String::new()]), Ok(Vec::new()));
    }
}
