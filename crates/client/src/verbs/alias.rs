//! `alias`: aliases, the names of services.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::SUCCESS;
use super::secret::ask;
use crate::cli::{AliasSetArgs, AliasVerb};
use crate::error::Error;
use crate::s3::Endpoint;
use crate::session::{Alias, Session, Source, is_name, masked};

#[derive(Serialize)]
struct AliasMessage {
    #[serde(skip)]
    text: String,
    status: &'static str,
    alias: String,
    #[serde(rename = "URL", skip_serializing_if = "String::is_empty")]
    url: String,
    #[serde(rename = "accessKey", skip_serializing_if = "String::is_empty")]
    access_key: String,
    #[serde(rename = "secretKey", skip_serializing_if = "str::is_empty")]
    secret_key: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    api: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    path: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    src: String,
}

impl fmt::Display for AliasMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

pub(super) async fn run(session: &Arc<Session>, verb: AliasVerb) -> Result<(), Error> {
    match verb {
        AliasVerb::Set(arguments) => set(session, arguments).await,
        AliasVerb::List { alias } => list(session, alias.as_deref()),
        AliasVerb::Remove { alias } => {
            let name = alias.trim_end_matches('/');
            if !session.aliases.remove(name)? {
                return Err(Error::refused(format!(
                    "there is no alias '{name}' in the configuration; `alias list` shows those \
                     there are"
                )));
            }
            session.output.print(&message(name, &Alias::default(), "", "Removed"))
        }
    }
}

async fn set(session: &Arc<Session>, arguments: AliasSetArgs) -> Result<(), Error> {
    let name = arguments.alias.trim_end_matches('/');
    if !is_name(name) {
        return Err(Error::refused(format!(
            "'{name}' is no name for an alias: use a letter, and then letters, digits, '-' and '_'"
        )));
    }
    let api = arguments.api.or(arguments.signature);
    if let Some(api) = &api
        && !api.eq_ignore_ascii_case("S3v4")
    {
        return Err(Error::refused(format!("--api {api} is not supported; use S3v4")));
    }
    // Before the user is asked for keys.
    let endpoint = Endpoint::parse_for_alias(&arguments.url, name).map_err(Error::Refused)?;
    let access_key = match arguments.access_key {
        Some(key) => key,
        None => ask("Enter Access Key: ", false).await?,
    };
    let secret_key = match arguments.secret_key {
        Some(key) => key,
        None => ask("Enter Secret Key: ", true).await?,
    };
    // No keys at all are for anonymous requests.
    if access_key.is_empty() != secret_key.is_empty() {
        return Err(Error::refused("give both keys, or none"));
    }
    if access_key.chars().any(|it| it.is_control() || it == '/') {
        return Err(Error::refused("the access key has characters that no key has"));
    }
    let path = arguments.lookup.unwrap_or(arguments.path);
    let alias = Alias::new(&endpoint.url(), &access_key, &secret_key, path);
    if api.is_none() {
        probe(session, name, &alias).await?;
    }
    session.aliases.set(name, alias.clone())?;
    session.output.print(&message(name, &alias, "", "Added"))
}

/// Checks the keys by a request for a bucket that does not exist: valid keys are told so.
async fn probe(session: &Session, name: &str, alias: &Alias) -> Result<(), Error> {
    let client = session.probe(name, alias)?;
    let chance = getrandom::u64().unwrap_or_default();
    match client.head_bucket(&format!("probe-bsign-{chance:016x}")).await {
        Ok(()) => Ok(()),
        Err(error) if error.is_missing() => Ok(()),
        // The keys may be valid although the user must not ask. An answer to HEAD does not tell the
        // difference; a listing does.
        Err(error) if error.status() == Some(403) => match client.buckets().await {
            Err(error)
                if matches!(error.code(), "InvalidAccessKeyId" | "SignatureDoesNotMatch") =>
            {
                Err(error)
            }
            _ => Ok(()),
        },
        Err(error) => Err(error),
    }
}

fn list(session: &Session, wanted: Option<&str>) -> Result<(), Error> {
    let wanted = wanted.map(|it| it.trim_end_matches('/'));
    let mut found = false;
    for (name, alias, source) in session.aliases.all()? {
        if wanted.is_some_and(|it| it != name) {
            continue;
        }
        found = true;
        let source = match source {
            Source::File(path) => path.display().to_string(),
            Source::Variable => "env".to_owned(),
            Source::BuiltIn => "built in".to_owned(),
        };
        session.output.print(&message(&name, &alias, &source, ""))?;
    }
    match (found, wanted) {
        (false, Some(name)) => Err(Error::refused(format!("there is no alias '{name}'"))),
        _ => Ok(()),
    }
}

fn message(name: &str, alias: &Alias, source: &str, done: &str) -> AliasMessage {
    let secret_key = masked(&alias.secret_key);
    let text = if done.is_empty() {
        let rows = [
            ("URL", alias.url.as_str()),
            ("AccessKey", &alias.access_key),
            ("SecretKey", secret_key),
            ("API", &alias.api),
            ("Path", &alias.path),
            ("Src", source),
        ];
        let rows: String =
            rows.iter().map(|(name, value)| format!("  {name:<10}: {value}\n")).collect();
        format!("{name}\n{rows}")
    } else {
        format!("{done} `{name}` successfully.")
    };
    AliasMessage {
        text,
        status: SUCCESS,
        alias: name.to_owned(),
        url: alias.url.clone(),
        access_key: alias.access_key.clone(),
        secret_key,
        api: alias.api.clone(),
        path: alias.path.clone(),
        src: source.to_owned(),
    }
}
