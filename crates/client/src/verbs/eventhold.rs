//! `eventhold`: protects versions of objects until an event, and for some time after it.

use std::sync::Arc;

use serde_json::json;

use super::note::tell;
use super::retention::{Validity, parse_mode};
use super::selection::{Selected, Selection};
use crate::cli::EventHoldVerb;
use crate::error::Error;
use crate::s3::EventHold;
use crate::session::Session;

pub(super) async fn run(session: &Arc<Session>, verb: EventHoldVerb) -> Result<(), Error> {
    let (target, arguments, change) = match &verb {
        EventHoldVerb::Set { mode, duration, target, selection } => {
            let (unit, number) = Validity::parse(duration)?.unit();
            let mode = parse_mode(mode)?.to_owned();
            (target, selection, Some(EventHold { mode, is_on: true, unit, number }))
        }
        EventHoldVerb::Release { target, selection } => {
            (target, selection, Some(EventHold::default()))
        }
        EventHoldVerb::Info { target, selection } => (target, selection, None),
    };
    let is_one = !arguments.recursive && !arguments.versions;
    let mut all = Selection::new(session, target, arguments).await?;
    while let Some(one) = all.next(session).await? {
        match apply(&one, change.as_ref()).await {
            Ok(found) => print(session, &one, found.as_ref(), change.as_ref())?,
            Err(error) if is_one => return Err(error),
            Err(error) => {
                let message = format!("Event hold of `{}`:", one.remote.name());
                session.output.failure(&message, &error);
            }
        }
    }
    Ok(())
}

/// Changes the hold of a version, or reads it. `None` if it never had one.
async fn apply(one: &Selected, change: Option<&EventHold>) -> Result<Option<EventHold>, Error> {
    let s3 = &one.remote.s3;
    let Some(change) = change else { return s3.event_hold(one.locked()).await };
    let hold = match change.is_on {
        true => change.clone(),
        false => {
            let found = s3.event_hold(one.locked()).await?;
            let held = found.filter(|hold| hold.is_on);
            // The mode stays, and the service computes the end.
            let held = held.ok_or_else(|| Error::refused("it has no event hold to release"))?;
            EventHold { is_on: false, ..held }
        }
    };
    s3.set_event_hold(one.locked(), &hold).await?;
    Ok(Some(hold))
}

fn print(
    session: &Session,
    one: &Selected,
    found: Option<&EventHold>,
    changed: Option<&EventHold>,
) -> Result<(), Error> {
    let key = &one.remote.key;
    let status = found.map_or("", |hold| if hold.is_on { "ON" } else { "OFF" });
    let text = match (changed, found) {
        (Some(EventHold { is_on: true, .. }), _) => {
            format!("Object event hold successfully set for `{key}`.")
        }
        (Some(_), _) => format!("Object event hold successfully released for `{key}`."),
        (None, Some(EventHold { is_on: true, mode, unit, number })) => {
            let unit = unit.to_ascii_lowercase();
            format!("[    ON    ]  {key}: {mode}, {number} {unit} after the release")
        }
        (None, Some(_)) => format!("[   OFF    ]  {key}"),
        (None, None) => format!("[ NOT SET  ]  {key}"),
    };
    let duration = found.filter(|hold| hold.is_on).map(|hold| json!({ hold.unit: hold.number }));
    let version = one.version.clone().unwrap_or_default();
    let json = json!({
        "eventhold": status, "duration": duration, "mode": found.map(|hold| &hold.mode),
        "urlpath": one.remote.name(), "key": key, "versionID": version,
    });
    tell(session, text, json)
}
