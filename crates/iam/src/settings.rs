//! Settings of users and of web identity issuers.

use std::fmt;
use std::path::PathBuf;

use liteio_identity::{DEFAULT_ACCESS_KEY, DEFAULT_SECRET_KEY, Issuer, SecretKey};

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

/// The sign-in to the console by OpenID Connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInSettings {
    /// The URL of the issuer, as in its tokens, without a trailing slash. It is also an issuer of web identities.
    pub issuer: String,
    /// The id of this server at the issuer.
    pub client_id: String,
    /// The secret of this server at the issuer; none for a public client.
    pub client_secret: Option<SecretKey>,
    /// The scope of the sign-in.
    pub scope: String,
    /// The ARN of the role that a user gets. `{CLAIM}` in it is replaced by a claim of the token.
    pub role: String,
}

/// The scope of a sign-in, if none is configured.
pub const SIGN_IN_SCOPE: &str = "openid profile email";

impl SignInSettings {
    /// A sign-in by `URL,CLIENT_ID` that leads to a role.
    ///
    /// # Errors
    /// One line that says what to give.
    pub fn new(issuer: &str, role: &str) -> Result<SignInSettings, String> {
        let Some((url, client_id)) = issuer.split_once(',').filter(|(_, id)| !id.is_empty()) else {
            return Err(format!("{issuer:?} is not URL,CLIENT_ID"));
        };
        let issuer = Issuer::new(url, vec![client_id.to_owned()]).map_err(|it| it.to_string())?;
        let is_role = role.starts_with("arn:aws:iam::") && role.contains(":role/");
        let braces = role.matches(['{', '}']).collect::<String>();
        if !(is_role && braces.is_empty() || braces == "{}" && (is_role || role.starts_with('{')))
            || role.contains("{}")
            || role.find('{') > role.find('}')
        {
            return Err(format!(
                "the role {role:?} is not arn:aws:iam::ACCOUNT:role/NAME, nor one with {{CLAIM}} in the place of the name, nor {{CLAIM}}"
            ));
        }
        Ok(SignInSettings {
            issuer: issuer.url,
            client_id: client_id.to_owned(),
            client_secret: None,
            scope: SIGN_IN_SCOPE.to_owned(),
            role: role.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_names_an_issuer_a_client_and_a_role() {
        let of = |role: &str| SignInSettings::new("https://login.example.com/a/,console", role);
        for role in ["arn:aws:iam::1:role/r", "arn:aws:iam::1:role/{groups}", "{roles}"] {
            let settings = of(role).expect(role);
            assert_eq!(settings.issuer, "https://login.example.com/a");
            assert_eq!((&*settings.client_id, &*settings.role), ("console", role));
        }
        for role in
            ["", "r", "arn:aws:iam::1:role/{", "}{", "{}", "{a}{b}", "arn:aws:iam::1:user/u"]
        {
            assert!(of(role).is_err(), "{role}");
        }
        for issuer in ["https://login.example.com", "https://login.example.com,", "ftp://a,b"] {
            assert!(SignInSettings::new(issuer, "{roles}").is_err(), "{issuer}");
        }
    }
}
