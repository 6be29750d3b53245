//! Settings of users and of the issuers that prove web identities.

use std::fmt;
use std::path::PathBuf;

use liteio_identity::{DEFAULT_ACCESS_KEY, DEFAULT_SECRET_KEY};

/// The default credentials of MinIO.
pub const MINIO_CREDENTIALS: (&str, &str) = ("minioadmin", "minioadmin");
/// The credentials that LocalStack's users sign with.
pub const LOCALSTACK_CREDENTIALS: (&str, &str) = ("test", "test");

/// The sources of the users of a server.
#[derive(Clone, Debug)]
pub struct IdentitySettings {
    /// The configured users.
    pub credentials: CredentialsSource,
    /// The issuers of web identities, beside those of the credentials file.
    pub oidc_issuers: Vec<OidcIssuer>,
    /// A PEM file of authorities that certificates of issuers are trusted by, beside those of browsers.
    pub ca_file: Option<PathBuf>,
}

impl IdentitySettings {
    /// These users, without issuers of web identities.
    pub fn new(credentials: CredentialsSource) -> IdentitySettings {
        IdentitySettings { credentials, oidc_issuers: Vec::new(), ca_file: None }
    }
}

/// The users who may sign requests.
#[derive(Clone, PartialEq, Eq)]
pub enum CredentialsSource {
    /// One user.
    Pair {
        /// The access key.
        access_key: String,
        /// The secret key.
        secret_key: String,
    },
    /// The users of a TOML file.
    File(PathBuf),
    /// One user, whose keys are made at the first start and kept in the data directory.
    Made,
}

impl CredentialsSource {
    /// The documented default credentials, `liteio` and `liteio123`.
    pub fn well_known() -> CredentialsSource {
        CredentialsSource::Pair {
            access_key: DEFAULT_ACCESS_KEY.to_owned(),
            secret_key: DEFAULT_SECRET_KEY.to_owned(),
        }
    }

    /// True for documented default credentials: ours, MinIO's or LocalStack's.
    pub fn is_well_known(&self) -> bool {
        let ours = (DEFAULT_ACCESS_KEY, DEFAULT_SECRET_KEY);
        let known = [ours, MINIO_CREDENTIALS, LOCALSTACK_CREDENTIALS];
        match self {
            CredentialsSource::Pair { access_key, secret_key } => {
                known.contains(&(access_key, secret_key))
            }
            CredentialsSource::File(_) | CredentialsSource::Made => false,
        }
    }
}

// Never shows a secret.
impl fmt::Debug for CredentialsSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CredentialsSource::Pair { access_key, .. } => {
                formatter.debug_struct("Pair").field("access_key", access_key).finish()
            }
            CredentialsSource::File(path) => formatter.debug_tuple("File").field(path).finish(),
            CredentialsSource::Made => formatter.write_str("Made"),
        }
    }
}

/// An issuer of OpenID Connect, whose tokens prove web identities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcIssuer {
    /// Its URL, as its tokens name it.
    pub url: String,
    /// The audiences that count, one at least; `*` for all.
    pub audiences: Vec<String>,
}

impl OidcIssuer {
    /// Reads `URL,AUDIENCE[,AUDIENCE…]`.
    pub fn parse(text: &str) -> OidcIssuer {
        let mut words = text.split(',').map(str::to_owned);
        let url = words.next().unwrap_or_default();
        OidcIssuer { url, audiences: words.filter(|word| !word.is_empty()).collect() }
    }
}
