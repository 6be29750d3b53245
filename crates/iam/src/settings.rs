//! Settings of users and of web identity issuers.

use std::fmt;
use std::path::PathBuf;

use liteio_identity::{DEFAULT_ACCESS_KEY, DEFAULT_SECRET_KEY};

/// The default credentials of MinIO.
pub const MINIO_CREDENTIALS: (&str, &str) = ("minioadmin", "minioadmin");
/// The credentials of LocalStack's users.
pub const LOCALSTACK_CREDENTIALS: (&str, &str) = ("test", "test");

/// The user settings of a server.
#[derive(Clone, Debug)]
pub struct IdentitySettings {
    /// The configured users.
    pub credentials: CredentialsSource,
    /// The issuers of web identities, in addition to the credentials file.
    pub oidc_issuers: Vec<OidcIssuer>,
    /// A PEM file of certificate authorities that are trusted for issuers, in addition to the
    /// public ones.
    pub ca_file: Option<PathBuf>,
}

impl IdentitySettings {
    /// These users, without web identity issuers.
    pub fn new(credentials: CredentialsSource) -> IdentitySettings {
        IdentitySettings { credentials, oidc_issuers: Vec::new(), ca_file: None }
    }
}

/// The source of the configured users.
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
    /// One user, whose keys are generated at the first start and kept in the data directory.
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

    /// `true` for documented default credentials: LiteIO's, MinIO's or LocalStack's.
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

/// An OpenID Connect issuer, whose tokens prove web identities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcIssuer {
    /// The URL as in its tokens.
    pub url: String,
    /// The accepted audiences, at least one; `*` for all.
    pub audiences: Vec<String>,
}

impl OidcIssuer {
    /// Parses `URL,AUDIENCE[,AUDIENCE…]`.
    pub fn parse(text: &str) -> OidcIssuer {
        let mut words = text.split(',').map(str::to_owned);
        let url = words.next().unwrap_or_default();
        OidcIssuer { url, audiences: words.filter(|word| !word.is_empty()).collect() }
    }
}
