//! `legalhold`: protects versions of objects until the hold is cleared.

use std::sync::Arc;

use serde_json::json;

use super::note::tell;
use super::selection::{Selected, Selection};
use crate::cli::LegalHoldVerb;
use crate::error::Error;
use crate::session::Session;

pub(super) async fn run(session: &Arc<Session>, verb: LegalHoldVerb) -> Result<(), Error> {
    let (target, arguments, status) = match &verb {
        LegalHoldVerb::Set { target, selection } => (target, selection, Some("ON")),
        LegalHoldVerb::Clear { target, selection } => (target, selection, Some("OFF")),
        LegalHoldVerb::Info { target, selection } => (target, selection, None),
    };
    let is_one = !arguments.recursive && !arguments.versions;
    let mut all = Selection::new(session, target, arguments).await?;
    while let Some(one) = all.next(session).await? {
        let s3 = &one.remote.s3;
        let found = match status {
            Some(status) => {
                s3.set_legal_hold(one.locked(), status).await.map(|()| status.to_owned())
            }
            None => s3.legal_hold(one.locked()).await,
        };
        match found {
            Ok(found) => print(session, &one, &found, status)?,
            Err(error) if is_one => return Err(error),
            Err(error) => {
                let message = format!("Legal hold of `{}`:", one.remote.name());
                session.output.failure(&message, &error);
            }
        }
    }
    Ok(())
}

fn print(
    session: &Session,
    one: &Selected,
    found: &str,
    changed: Option<&str>,
) -> Result<(), Error> {
    let key = &one.remote.key;
    let text = match changed {
        Some("ON") => format!("Object legal hold successfully set for `{key}`."),
        Some(_) => format!("Object legal hold successfully cleared for `{key}`."),
        None => {
            let shown = if found.is_empty() { "NOT SET" } else { found };
            format!("[ {shown:^8} ]  {key}")
        }
    };
    let version = one.version.clone().unwrap_or_default();
    let json = json!({
        "legalhold": found, "urlpath": one.remote.name(), "key": key, "versionID": version,
    });
    tell(session, text, json)
}
