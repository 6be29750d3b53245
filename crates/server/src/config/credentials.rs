//! Resolves the users who may sign requests.

use super::profile::Profile;
use super::{ConfigError, CredentialsSource, error, named_by};
use crate::cli::ServerArgs;
use liteio_iam::settings::{LOCALSTACK_CREDENTIALS, MINIO_CREDENTIALS};

/// Length of an access key in characters.
const ACCESS_KEY_CHARACTERS: std::ops::RangeInclusive<usize> = 3..=128;
/// Length of a secret key in characters.
const SECRET_KEY_CHARACTERS: std::ops::RangeInclusive<usize> = 8..=128;

pub(super) fn resolve(
    arguments: &ServerArgs,
    profile: Option<Profile>,
) -> Result<CredentialsSource, ConfigError> {
    let pair = match (&arguments.access_key, &arguments.secret_key) {
        (None, None) => None,
        (Some(access_key), Some(secret_key)) => Some((access_key, secret_key)),
        (Some(_), None) => {
            return error(
                "--access-key needs --secret-key (LITEIO_SECRET_KEY, LITEIO_SECRET_KEY_FILE): set both or neither",
            );
        }
        (None, Some(_)) => {
            return error(
                "--secret-key needs --access-key (LITEIO_ACCESS_KEY, LITEIO_ACCESS_KEY_FILE): set both or neither",
            );
        }
    };
    match (&arguments.credentials_file, pair) {
        (Some(_), _) if arguments.no_auth => error(
            "--credentials-file (LITEIO_CREDENTIALS_FILE) and --no-auth (LITEIO_NO_AUTH) contradict each other: \
             without signature checks there is only the root user",
        ),
        (Some(_), Some(_)) => error(
            "--credentials-file (LITEIO_CREDENTIALS_FILE) and --access-key (LITEIO_ACCESS_KEY) contradict each other: \
             move the key into the file or remove one of them",
        ),
        (Some(path), None) if path.as_os_str().is_empty() => {
            error("the credentials file is empty: give --credentials-file FILE")
        }
        (Some(path), None) => Ok(CredentialsSource::File(path.clone())),
        (None, None) if profile == Some(Profile::Minio) => Ok(known(MINIO_CREDENTIALS)),
        (None, None) if profile == Some(Profile::Localstack) => Ok(known(LOCALSTACK_CREDENTIALS)),
        (None, None) if arguments.in_container && !arguments.no_auth => Ok(CredentialsSource::Made),
        (None, None) => Ok(CredentialsSource::well_known()),
        (None, Some((access_key, secret_key))) => {
            let named = |setting| move |error| named_by(arguments, setting, error);
            check_key("access key", access_key, ACCESS_KEY_CHARACTERS)
                .map_err(named("access_key"))?;
            let least = if arguments.no_auth { 1 } else { *SECRET_KEY_CHARACTERS.start() };
            check_key("secret key", secret_key, least..=*SECRET_KEY_CHARACTERS.end())
                .map_err(named("secret_key"))?;
            // These characters end an access key in a credential scope or a header.
            if access_key.chars().any(|character| matches!(character, '/' | ',' | '=' | ' ')) {
                let message = "the access key must not contain '/', ',', '=' or a space".to_owned();
                return Err(named_by(arguments, "access_key", ConfigError(message)));
            }
            Ok(CredentialsSource::Pair {
                access_key: access_key.clone(),
                secret_key: secret_key.clone(),
            })
        }
    }
}

fn known((access_key, secret_key): (&str, &str)) -> CredentialsSource {
    let (access_key, secret_key) = (access_key.to_owned(), secret_key.to_owned());
    CredentialsSource::Pair { access_key, secret_key }
}

/// True for a valid pair.
pub(super) fn is_usable(access_key: &str, secret_key: &str) -> bool {
    check_key("access key", access_key, ACCESS_KEY_CHARACTERS).is_ok()
        && check_key("secret key", secret_key, SECRET_KEY_CHARACTERS).is_ok()
        && !access_key.contains(['/', ',', '=', ' '])
}

fn check_key(
    what: &str,
    key: &str,
    characters: std::ops::RangeInclusive<usize>,
) -> Result<(), ConfigError> {
    if !characters.contains(&key.chars().count()) {
        let (least, most) = characters.into_inner();
        return error(format!("the {what} must have {least} to {most} characters"));
    }
    if key.chars().any(char::is_control) {
        return error(format!("the {what} must not contain control characters"));
    }
    Ok(())
}
