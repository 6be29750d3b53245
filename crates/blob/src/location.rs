//! Locations of shared blob stores as users write them, and the credentials for them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// Longest prefix in a bucket, in bytes: names have the rest of the 1,024 of a key.
const PREFIX_BYTES_MAX: usize = 511;

/// A place for blobs that several servers share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobLocation {
    /// A bucket, or the part of it below a prefix.
    Bucket(BucketLocation),
    /// A directory of a network file system.
    Directory(PathBuf),
}

/// The service of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    S3,
    Google,
    Azure,
}

impl Service {
    fn scheme(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Google => "gs",
            Self::Azure => "az",
        }
    }

    /// The parameters that may follow a `?`.
    fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::S3 => &["endpoint", "region"],
            Self::Google => &["endpoint"],
            Self::Azure => &["account", "endpoint"],
        }
    }
}

/// A bucket, or container, and a prefix in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketLocation {
    pub(super) service: Service,
    pub(super) bucket: String,
    prefix: String,
    /// URL of the service; by default that of AWS, Google or Azure.
    pub(super) endpoint: Option<String>,
    /// Region of S3.
    pub(super) region: Option<String>,
    /// Storage account of Azure.
    pub(super) account: Option<String>,
}

impl BucketLocation {
    /// Empty, or components without a slash at the end.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }
}

impl fmt::Display for BucketLocation {
    /// The location without its parameters. It has no secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.prefix.is_empty() { "" } else { "/" };
        write!(formatter, "{}://{}{slash}{}", self.service.scheme(), self.bucket, self.prefix)
    }
}

impl BlobLocation {
    /// Parses `s3://BUCKET/PREFIX?endpoint=URL&region=REGION`, `gs://BUCKET/PREFIX?endpoint=URL`,
    /// `az://CONTAINER/PREFIX?account=NAME&endpoint=URL` or `file:///ABSOLUTE/PATH`. Prefixes and parameters may be
    /// absent; the path of a directory is taken as it is written.
    ///
    /// # Errors
    /// One line that says what to change. It does not have the text, which may hold a secret.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("file://") {
            let path = PathBuf::from(path);
            // The root is a whole file system, which has other owners.
            return match path.is_absolute() && path.file_name().is_some() {
                true => Ok(Self::Directory(path)),
                false => Err("a shared directory of blobs is file:///ABSOLUTE/PATH".to_owned()),
            };
        }
        let schemes = [Service::S3, Service::Google, Service::Azure];
        let parts = schemes.iter().find_map(|service| {
            let rest = text.strip_prefix(service.scheme())?.strip_prefix("://")?;
            Some((*service, rest))
        });
        let Some((service, rest)) = parts else {
            let reason = "the location of blobs is s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or \
                          file:///ABSOLUTE/PATH";
            return Err(reason.to_owned());
        };
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        if path.contains('@') {
            let reason = "the location of blobs holds no credentials: give them apart from it";
            return Err(reason.to_owned());
        }
        let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
        if !is_component(bucket) {
            return Err(format!(
                "the location {}://BUCKET/PREFIX has no valid bucket",
                service.scheme()
            ));
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let is_prefix = prefix.is_empty() || prefix.split('/').all(is_component);
        if prefix.len() > PREFIX_BYTES_MAX || !is_prefix {
            return Err(format!(
                "the prefix in the location of blobs is not valid: write up to {PREFIX_BYTES_MAX} letters, digits and \
                 ._-, with single slashes between"
            ));
        }
        let mut location = BucketLocation {
            service,
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            endpoint: None,
            region: None,
            account: None,
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            location.set(&name, value.into_owned())?;
        }
        Ok(Self::Bucket(location))
    }
}

impl BucketLocation {
    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        let known = self.service.parameters();
        let Some(known_name) = known.iter().find(|known| **known == name) else {
            let scheme = self.service.scheme();
            return Err(format!(
                "the location {scheme}://… of blobs has an unknown parameter: it knows {}",
                known.join(" and ")
            ));
        };
        let is_valid = match *known_name {
            "endpoint" => is_endpoint(&value),
            _ => is_component(&value),
        };
        if !is_valid {
            let form = if name == "endpoint" { "http(s)://HOST, without a path" } else { "a name" };
            return Err(format!(
                "the parameter {known_name} in the location of blobs must be {form}"
            ));
        }
        let place = match *known_name {
            "endpoint" => &mut self.endpoint,
            "region" => &mut self.region,
            _ => &mut self.account,
        };
        match place.replace(value) {
            None => Ok(()),
            Some(_) => {
                Err(format!("the parameter {known_name} stands twice in the location of blobs"))
            }
        }
    }
}

fn is_component(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !matches!(text, "" | "." | "..") && text.bytes().all(is_allowed)
}

fn is_endpoint(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_allowed = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b':' | b'[' | b']')
    };
    rest.is_some_and(|host| !host.is_empty() && host.bytes().all(is_allowed))
}

/// The variables of credentials, as the tools of each service know them.
const S3_VARIABLES: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
];
const GOOGLE_VARIABLES: &[&str] =
    &["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_KEY"];
const AZURE_VARIABLES: &[&str] = &[
    "AZURE_STORAGE_ACCOUNT_NAME",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_CLIENT_ID",
    "AZURE_CLIENT_SECRET",
    "AZURE_TENANT_ID",
    "AZURE_FEDERATED_TOKEN_FILE",
];

impl Service {
    pub(super) fn variables(self) -> &'static [&'static str] {
        match self {
            Self::S3 => S3_VARIABLES,
            Self::Google => GOOGLE_VARIABLES,
            Self::Azure => AZURE_VARIABLES,
        }
    }
}

/// Credentials for a bucket, and the authorities of its certificate.
#[derive(Clone, Default)]
pub struct BlobAccess {
    variables: BTreeMap<String, String>,
    authorities: Option<Vec<u8>>,
}

impl BlobAccess {
    /// Credentials from the usual variables of AWS, Google or Azure, which `variable` looks up. Without them the service
    /// is asked for those of the machine.
    #[must_use]
    pub fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let names = [S3_VARIABLES, GOOGLE_VARIABLES, AZURE_VARIABLES].concat();
        let given = names.into_iter().filter_map(|name| {
            let value = variable(name).filter(|value| !value.is_empty())?;
            Some((name.to_owned(), value))
        });
        Self { variables: given.collect(), authorities: None }
    }

    /// Credentials from the text of a file: the same variables, one `NAME=VALUE` a line. Nothing else is used of
    /// the environment then: keys of different origins would be mixed.
    ///
    /// # Errors
    /// One line that says what to change, without any secret.
    pub fn from_file(text: &str) -> Result<Self, String> {
        let names = [S3_VARIABLES, GOOGLE_VARIABLES, AZURE_VARIABLES].concat();
        let mut variables = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let given = line.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
            match given {
                Some((name, value)) if names.contains(&name) && !value.is_empty() => {
                    variables.insert(name.to_owned(), value.to_owned());
                }
                _ => {
                    return Err(format!(
                        "line {} of the file with the credentials of the blob store must be a variable such as \
                         AWS_ACCESS_KEY_ID=KEY",
                        number + 1
                    ));
                }
            }
        }
        Ok(Self { variables, authorities: None })
    }

    /// The same with an access key and a secret key of S3.
    #[must_use]
    pub fn with_keys(mut self, access_key: &str, secret_key: &str) -> Self {
        // A session belongs to the keys that it came with.
        self.variables.retain(|name, _| name.ends_with("REGION"));
        self.variables.insert("AWS_ACCESS_KEY_ID".to_owned(), access_key.to_owned());
        self.variables.insert("AWS_SECRET_ACCESS_KEY".to_owned(), secret_key.to_owned());
        self
    }

    /// The same with more trusted authorities, PEM.
    #[must_use]
    pub fn with_authorities(mut self, pem: Vec<u8>) -> Self {
        self.authorities = Some(pem);
        self
    }

    pub(super) fn authorities(&self) -> Option<&[u8]> {
        self.authorities.as_deref()
    }

    /// The value of a variable.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}

// Secrets are never shown.
impl fmt::Debug for BlobAccess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.variables.keys().collect();
        formatter.debug_struct("BlobAccess").field("variables", &names).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(text: &str) -> BucketLocation {
        match BlobLocation::parse(text) {
            Ok(BlobLocation::Bucket(bucket)) => bucket,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn locations_are_buckets_or_directories() {
        for (text, shown) in [
            ("s3://bucket", "s3://bucket"),
            ("s3://bucket/", "s3://bucket"),
            ("s3://my.bucket/a/b-1/", "s3://my.bucket/a/b-1"),
            ("gs://bucket/a", "gs://bucket/a"),
            ("az://container/a?account=name", "az://container/a"),
        ] {
            assert_eq!(bucket(text).to_string(), shown);
        }
        let minio = bucket("s3://b/p?endpoint=http://127.0.0.1:9000&region=eu-west-1");
        assert_eq!(minio.endpoint.as_deref(), Some("http://127.0.0.1:9000"));
        assert_eq!(minio.region.as_deref(), Some("eu-west-1"));
        let encoded = bucket("s3://b/p?endpoint=https%3A%2F%2F%5B%3A%3A1%5D%3A9000");
        assert_eq!(encoded.endpoint.as_deref(), Some("https://[::1]:9000"));
        let path = BlobLocation::Directory("/mnt/a b?c".into());
        assert_eq!(BlobLocation::parse("file:///mnt/a b?c"), Ok(path));
    }

    #[test]
    fn other_locations_are_refused_in_one_line_without_their_text() {
        let long = format!("s3://bucket/{}", "a/".repeat(300));
        for (text, expected) in [
            ("", "s3://BUCKET/PREFIX"),
            ("hush", "gs://"),
            ("http://hush/bucket", "az://"),
            ("S3://hush", "file:///"),
            ("file://hush/a", "ABSOLUTE"),
            ("file:///", "ABSOLUTE"),
            ("s3://", "no valid bucket"),
            ("s3:///hush", "no valid bucket"),
            ("s3://bucket//hush", "prefix"),
            ("s3://bucket/../hush", "prefix"),
            (&long, "prefix"),
            ("s3://key:hush@bucket/a", "no credentials"),
            ("s3://bucket?hush=1", "endpoint and region"),
            ("gs://bucket?region=hush", "knows endpoint"),
            ("az://bucket?region=hush", "account and endpoint"),
            ("s3://bucket?endpoint=hush", "http(s)://HOST"),
            ("s3://bucket?endpoint=http://key:hush@host", "http(s)://HOST"),
            ("s3://bucket?endpoint=http://host/hush", "without a path"),
            ("s3://bucket?region=", "a name"),
            ("s3://bucket?region=a&region=b", "twice"),
        ] {
            let reason = BlobLocation::parse(text).expect_err(text);
            assert!(reason.contains(expected), "{text}: {reason}");
            assert!(!reason.contains("hush") && !reason.contains('\n'), "{reason}");
        }
    }

    #[test]
    fn credentials_come_from_variables_or_from_a_file_and_are_not_shown() {
        let variable = |name: &str| match name {
            "AWS_ACCESS_KEY_ID" => Some("key".to_owned()),
            "AWS_SECRET_ACCESS_KEY" => Some("hush".to_owned()),
            "AWS_SESSION_TOKEN" => Some(String::new()),
            "AWS_REGION" => Some("here".to_owned()),
            _ => None,
        };
        let access = BlobAccess::from_variables(&variable);
        assert_eq!(access.get("AWS_SECRET_ACCESS_KEY"), Some("hush"));
        assert_eq!(access.get("AWS_SESSION_TOKEN"), None, "empty is absent");
        assert!(!format!("{access:?}").contains("hush"));
        let own = access.with_keys("own", "quiet");
        assert_eq!(
            (own.get("AWS_ACCESS_KEY_ID"), own.get("AWS_REGION")),
            (Some("own"), Some("here"))
        );

        let text = "# keys\nAWS_ACCESS_KEY_ID = key\n\nAWS_SECRET_ACCESS_KEY=a=b\n";
        let access = BlobAccess::from_file(text).expect("read");
        assert_eq!(access.get("AWS_SECRET_ACCESS_KEY"), Some("a=b"));
        for text in ["hush", "HUSH=1", "AWS_REGION=", "\n\nAWS_REGION hush"] {
            let reason = BlobAccess::from_file(text).expect_err(text);
            assert!(
                reason.contains("line ") && !reason.to_lowercase().contains("hush"),
                "{reason}"
            );
        }
    }
}
