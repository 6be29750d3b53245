//! `admin`: users and keys of a server, and what it does.

mod absent;
mod groups;
mod info;
mod keys;
mod kms;
mod policies;
mod prometheus;
mod trace;
mod users;

use std::sync::Arc;

use http::Method;

use super::elsewhere;
use super::note::tell;
use crate::cli::{AdminVerb, ServerConfigVerb};
use crate::error::Error;
use crate::s3::{AdminCall, S3};
use crate::session::Session;
use crate::target::{Remote, Target};

pub(super) async fn run(session: &Arc<Session>, verb: AdminVerb) -> Result<(), Error> {
    match verb {
        AdminVerb::User(verb) => users::run(session, verb).await,
        AdminVerb::Group(verb) => groups::run(session, verb).await,
        AdminVerb::Policy(verb) => policies::run(session, verb).await,
        AdminVerb::Accesskey(verb) => keys::run(session, verb, keys::Style::AccessKeys).await,
        AdminVerb::Info { target } => info::run(session, &target).await,
        AdminVerb::Trace(arguments) => trace::run(session, &arguments).await,
        AdminVerb::Prometheus(verb) => prometheus::run(session, verb),
        AdminVerb::Kms(verb) => kms::run(session, verb).await,
        AdminVerb::Config(ServerConfigVerb::Get { target, key: None }) => {
            subsystems(session, &target).await
        }
        AdminVerb::Config(ServerConfigVerb::Get { target, key: Some(key) }) => {
            let call = get("get-config-kv").query("key", &key);
            let found = service(session, &target)?.admin_plain(call).await?;
            let text = String::from_utf8_lossy(&found).trim_end().to_owned();
            let json = serde_json::json!({ "value": text });
            tell(session, text, json)
        }
        AdminVerb::Config(ServerConfigVerb::Other(arguments)) => Err(unknown("config", &arguments)),
        AdminVerb::Other(arguments) => Err(absent::instead(&arguments)),
    }
}

/// Lists the subsystems whose settings a server shows.
async fn subsystems(session: &Session, target: &str) -> Result<(), Error> {
    let help = service(session, target)?.admin_json(get("help-config-kv")).await?;
    for subsystem in help["keysHelp"].as_array().into_iter().flatten() {
        let text = |name: &str| subsystem[name].as_str().unwrap_or_default();
        let line = format!("{:<20}  {}", text("key"), text("description"));
        tell(session, line, subsystem.clone())?;
    }
    Ok(())
}

fn unknown(verb: &str, arguments: &[String]) -> Error {
    let name = arguments.first().map_or("", String::as_str);
    elsewhere(
        &format!("admin {verb} {name}"),
        "settings of a LiteIO are options and variables: `liteio --help` lists them",
    )
}

/// The service of an alias.
fn service(session: &Session, target: &str) -> Result<Arc<S3>, Error> {
    let remote = Target::remote(session, target)?;
    match remote {
        Remote { s3, bucket, .. } if bucket.is_empty() => Ok(s3),
        Remote { alias, .. } => {
            Err(Error::refused(format!("'{target}' names a bucket; write the alias only: {alias}")))
        }
    }
}

fn get(path: &'static str) -> AdminCall {
    AdminCall::new(Method::GET, path)
}

fn put(path: &'static str) -> AdminCall {
    AdminCall::new(Method::PUT, path)
}
