//! `liteio credentials show`: the credentials that a container has made for itself.

use std::path::PathBuf;

use serde::Deserialize;

use crate::cli::CredentialsCommand;
use crate::config::CONTAINER_DATA_DIR;
use crate::made_credentials::FILE_NAME;
use liteio_store::DEFAULT_DIRECTORY;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    user: Vec<User>,
}

#[derive(Deserialize)]
struct User {
    access_key: String,
    secret_key: String,
}

/// Runs the command; returns its output.
///
/// # Errors
/// One line with advice, without any secret.
pub(crate) fn run(command: &CredentialsCommand) -> Result<String, String> {
    let CredentialsCommand::Show(arguments) = command;
    let default = if arguments.in_container { CONTAINER_DATA_DIR } else { DEFAULT_DIRECTORY };
    let directory = arguments.data_dir.clone().unwrap_or_else(|| PathBuf::from(default));
    let path = directory.join(FILE_NAME);
    let text = std::fs::read_to_string(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!(
            "there is no {}: a container makes credentials at its first start unless it gets \
             LITEIO_ACCESS_KEY and LITEIO_SECRET_KEY, which are the credentials then",
            path.display()
        ),
        _ => format!("{}: {error}; run it as the user of the server", path.display()),
    })?;
    // The parser's error would show the line with its secret.
    let file: File = toml::from_str(&text)
        .map_err(|_| format!("{} is no file of credentials; see docs/iam.md", path.display()))?;
    let user = file.user.first().ok_or(format!("{} has no user", path.display()))?;
    Ok(format!(
        "AWS_ACCESS_KEY_ID={}\nAWS_SECRET_ACCESS_KEY={}\n",
        user.access_key, user.secret_key
    ))
}
