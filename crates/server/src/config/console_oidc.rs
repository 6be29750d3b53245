//! Resolves the sign-in to the console by OpenID Connect.

use liteio_iam::settings::SignInSettings;
use liteio_identity::SecretKey;

use super::{ConfigError, error};
use crate::cli::ConsoleOidcArgs;
use liteio_wire::private_file;

/// Resolves the sign-in, and reads the file of the client secret.
///
/// # Errors
/// [`ConfigError`] with advice, without the secret.
pub(crate) fn resolve(arguments: &ConsoleOidcArgs) -> Result<Option<SignInSettings>, ConfigError> {
    let ConsoleOidcArgs {
        console_oidc,
        console_oidc_role,
        console_oidc_scope,
        console_oidc_secret,
        console_oidc_secret_file,
    } = arguments;
    let Some(issuer) = console_oidc else {
        let given = [
            ("--console-oidc-role", console_oidc_role.is_some()),
            ("--console-oidc-scope", console_oidc_scope.is_some()),
            ("--console-oidc-secret", console_oidc_secret.is_some()),
            ("--console-oidc-secret-file", console_oidc_secret_file.is_some()),
        ];
        return match given.iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => error(format!("{flag} needs --console-oidc: give the issuer, too")),
            None => Ok(None),
        };
    };
    let Some(role) = console_oidc_role else {
        return error(
            "--console-oidc (LITEIO_CONSOLE_OIDC) needs --console-oidc-role: give the ARN of the role that people get",
        );
    };
    let named = |reason: String| ConfigError(format!("--console-oidc: {reason}"));
    let mut settings = SignInSettings::new(issuer, role).map_err(named)?;
    if let Some(scope) = console_oidc_scope {
        if !scope.split(' ').any(|word| word == "openid") {
            return error(format!(
                "--console-oidc-scope {scope:?} lacks openid, without which an issuer gives no ID token"
            ));
        }
        settings.scope.clone_from(scope);
    }
    let secret = match (console_oidc_secret, console_oidc_secret_file) {
        (Some(_), Some(_)) => {
            return error(
                "--console-oidc-secret (LITEIO_CONSOLE_OIDC_SECRET) and --console-oidc-secret-file contradict each \
                 other: remove one of them",
            );
        }
        (None, Some(file)) => Some(private_file::read_secret(file).map_err(named)?),
        (secret, None) => secret.clone(),
    };
    if let Some(secret) = secret {
        let secret = SecretKey::new(secret).map_err(|_| {
            named("the client secret has less than 8 characters, or a control character".to_owned())
        })?;
        settings.client_secret = Some(secret);
    }
    Ok(Some(settings))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given() -> ConsoleOidcArgs {
        ConsoleOidcArgs {
            console_oidc: Some("https://login.example.com,console".to_owned()),
            console_oidc_role: Some("arn:aws:iam::1:role/{groups}".to_owned()),
            ..ConsoleOidcArgs::default()
        }
    }

    #[test]
    fn a_sign_in_has_an_issuer_a_role_and_at_most_one_secret() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("secret");
        std::fs::write(&file, "s3cr3t-s3cr3t\n").expect("written");
        assert!(resolve(&ConsoleOidcArgs::default()).expect("nothing").is_none());
        let settings = resolve(&given()).expect("valid").expect("given");
        assert!(settings.client_secret.is_none() && settings.scope == "openid profile email");
        let of_file = ConsoleOidcArgs { console_oidc_secret_file: Some(file.clone()), ..given() };
        let settings = resolve(&of_file).expect("valid").expect("given");
        assert_eq!(settings.client_secret.expect("read").expose(), "s3cr3t-s3cr3t");
        type Change = fn(&mut ConsoleOidcArgs);
        let rows: [(Change, &str); 7] = [
            (|it| it.console_oidc = None, "--console-oidc-role needs --console-oidc"),
            (|it| it.console_oidc_role = None, "needs --console-oidc-role"),
            (|it| it.console_oidc = Some("https://login.example.com".to_owned()), "CLIENT_ID"),
            (|it| it.console_oidc_role = Some("readers".to_owned()), "arn:aws:iam"),
            (|it| it.console_oidc_scope = Some("email".to_owned()), "lacks openid"),
            (|it| it.console_oidc_secret = Some("short".to_owned()), "less than 8"),
            (|it| it.console_oidc_secret_file = Some("/nowhere".into()), "/nowhere"),
        ];
        for (change, words) in rows {
            let mut arguments = given();
            change(&mut arguments);
            let message = resolve(&arguments).expect_err(words).to_string();
            assert!(message.contains(words) && !message.contains("short"), "{message}");
        }
        let both = ConsoleOidcArgs {
            console_oidc_secret: Some("s3cr3t-s3cr3t".to_owned()),
            console_oidc_secret_file: Some(file),
            ..given()
        };
        assert!(resolve(&both).expect_err("both").to_string().contains("contradict"));
    }
}
