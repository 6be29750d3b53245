//! `retention`: protects versions of objects for some time.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::note::tell;
use super::selection::{Selected, Selection};
use crate::cli::RetentionVerb;
use crate::error::Error;
use crate::s3::{Retention, Shape};
use crate::session::Session;
use crate::target::{Remote, Target};
use crate::text::in_words;
use crate::transfer::{NO_LOCK, has_lock};

/// A document of the object lock of a bucket.
const LOCK: Shape = Shape {
    root: "ObjectLockConfiguration",
    lists: &[],
    numbers: &["Days", "Years"],
    flags: &[],
    parents: &["Rule", "DefaultRetention"],
};

pub(super) async fn run(session: &Arc<Session>, verb: RetentionVerb) -> Result<(), Error> {
    match verb {
        RetentionVerb::Set { mode, validity, target, selection, bypass, default } => {
            let mode = parse_mode(&mode)?;
            let validity = Validity::parse(&validity)?;
            if default {
                return set_default(session, &target, Some((mode, validity))).await;
            }
            let until = validity.from(Timestamp::now())?;
            let retention = Retention { mode: mode.to_owned(), until: until.to_string() };
            change(session, Selection::new(session, &target, &selection).await?, &retention, bypass)
                .await
        }
        RetentionVerb::Clear { target, default: true, .. } => {
            set_default(session, &target, None).await
        }
        RetentionVerb::Clear { target, selection, .. } => {
            let none = Retention::default();
            change(session, Selection::new(session, &target, &selection).await?, &none, true).await
        }
        RetentionVerb::Info { target, default: true, .. } => info_default(session, &target).await,
        RetentionVerb::Info { target, selection, .. } => {
            let is_one = !selection.recursive && !selection.versions;
            let mut all = Selection::new(session, &target, &selection).await?;
            while let Some(one) = all.next(session).await? {
                match one.remote.s3.retention(one.locked()).await {
                    Ok(retention) => info(session, &one, &retention, is_one)?,
                    Err(error) if is_one => return Err(error),
                    Err(error) => {
                        let message = format!("Unable to read `{}`.", one.remote.name());
                        session.output.failure(&message, &error);
                    }
                }
            }
            Ok(())
        }
    }
}

async fn change(
    session: &Arc<Session>,
    mut all: Selection,
    retention: &Retention,
    bypass: bool,
) -> Result<(), Error> {
    let (operation, done) = match retention.mode.as_str() {
        "" => ("clear", "cleared"),
        _ => ("set", "set"),
    };
    while let Some(one) = all.next(session).await? {
        let name = one.remote.name();
        match one.remote.s3.set_retention(one.locked(), retention, bypass).await {
            Ok(()) => tell(
                session,
                format!("Object retention successfully {done} for `{name}`."),
                json!({
                    "op": operation, "mode": retention.mode, "validity": "", "urlpath": name,
                    "versionID": one.version.unwrap_or_default(), "error": Value::Null,
                }),
            )?,
            Err(error) => {
                let message = format!("Unable to {operation} the retention of `{name}`.");
                session.output.failure(&message, &error);
            }
        }
    }
    Ok(())
}

fn info(
    session: &Session,
    one: &Selected,
    retention: &Retention,
    is_one: bool,
) -> Result<(), Error> {
    let name = one.remote.name();
    let Retention { mode, until } = retention;
    let shown = if mode.is_empty() { "NO RETENTION" } else { mode };
    let left = until.parse::<Timestamp>().ok().and_then(|until| {
        let left = until.as_second().checked_sub(Timestamp::now().as_second())?;
        Some(Duration::from_secs(u64::try_from(left).ok()?))
    });
    let text = match (is_one, left) {
        (true, Some(left)) => {
            format!("Name    : {name}\nMode    : {shown}, expiring in {}", in_words(left))
        }
        (true, None) if !mode.is_empty() => format!("Name    : {name}\nMode    : {shown}, expired"),
        (true, None) => format!("Name    : {name}\nMode    : {shown}"),
        (false, _) => format!("[ {shown:^18} ]  {name}"),
    };
    let json = json!({
        "mode": mode, "until": until, "urlpath": name,
        "versionID": one.version.clone().unwrap_or_default(), "error": Value::Null,
    });
    tell(session, text, json)
}

async fn set_default(
    session: &Arc<Session>,
    target: &str,
    default: Option<(&str, Validity)>,
) -> Result<(), Error> {
    let remote = bucket(session, target)?;
    // Object lock cannot be taken back: a bucket does not get it by the way.
    if !has_lock(&remote).await? {
        return Err(Error::refused(
            "the bucket does not support locking: make it with `mb --with-lock`, or give a bucket with \
             versions object lock by `aws s3api put-object-lock-configuration` first",
        ));
    }
    let mut lock = json!({ "ObjectLockEnabled": "Enabled" });
    if let Some((mode, validity)) = default {
        let (unit, number) = validity.unit();
        lock["Rule"] = json!({ "DefaultRetention": { "Mode": mode, unit: number } });
    }
    let document = LOCK.to_xml(&lock).map_err(Error::Refused)?;
    remote.s3.put_setting(&remote.bucket, "object-lock", document).await?;
    match default {
        Some((mode, validity)) => {
            let validity = validity.words();
            let text = format!("Object locking '{mode}' is configured for {validity}.");
            let json =
                json!({ "op": "set", "enabled": "Enabled", "mode": mode, "validity": validity });
            tell(session, text, json)
        }
        None => {
            let json = json!({ "op": "clear", "enabled": "Enabled", "mode": "", "validity": "0" });
            tell(session, "Object lock configuration cleared successfully.", json)
        }
    }
}

async fn info_default(session: &Arc<Session>, target: &str) -> Result<(), Error> {
    let remote = bucket(session, target)?;
    let found = remote.s3.setting_json(&remote.bucket, "object-lock", (LOCK, NO_LOCK)).await?;
    let Some(found) = found else {
        let reason = format!("the bucket '{}' has no object lock", remote.bucket);
        return Err(Error::refused(reason));
    };
    let default = &found["Rule"]["DefaultRetention"];
    let validity = match (default["Days"].as_u64(), default["Years"].as_u64()) {
        (Some(days), _) => Validity::Days(days).words(),
        (_, Some(years)) => Validity::Years(years).words(),
        _ => "0".to_owned(),
    };
    let mode = default["Mode"].as_str().unwrap_or_default();
    let text = match mode {
        "" => "Object locking is not enabled.".to_owned(),
        mode => format!("Object locking '{mode}' is configured for {validity}."),
    };
    tell(
        session,
        text,
        json!({ "op": "info", "enabled": "Enabled", "mode": mode, "validity": validity }),
    )
}

fn bucket(session: &Session, target: &str) -> Result<Remote, Error> {
    let remote = Target::bucket(session, target)?;
    match remote.key.as_str() {
        "" => Ok(remote),
        _ => Err(Error::refused("--default is a setting of a bucket: name no object")),
    }
}

pub(super) fn parse_mode(text: &str) -> Result<&'static str, Error> {
    match text.to_ascii_uppercase().as_str() {
        "GOVERNANCE" => Ok("GOVERNANCE"),
        "COMPLIANCE" => Ok("COMPLIANCE"),
        _ => Err(Error::refused(format!("'{text}' is no mode; write governance or compliance"))),
    }
}

/// The time of a retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Validity {
    Days(u64),
    Years(u64),
}

impl Validity {
    pub(super) fn parse(text: &str) -> Result<Validity, Error> {
        let wrong = || Error::refused(format!("'{text}' is no time; write days or years: 30d, 1y"));
        let split = text.len().checked_sub(1).filter(|at| text.is_char_boundary(*at));
        let (number, unit) = text.split_at(split.ok_or_else(wrong)?);
        let number = number.parse().ok().filter(|number| (1..=36_500).contains(number));
        match (number, unit) {
            (Some(days), "d" | "D") => Ok(Validity::Days(days)),
            (Some(years), "y" | "Y") if years <= 100 => Ok(Validity::Years(years)),
            _ => Err(wrong()),
        }
    }

    /// The name of the unit in documents, and the number.
    pub(super) fn unit(self) -> (&'static str, u64) {
        match self {
            Validity::Days(days) => ("Days", days),
            Validity::Years(years) => ("Years", years),
        }
    }

    fn words(self) -> String {
        let (unit, number) = self.unit();
        format!("{number}{}", unit.to_ascii_uppercase())
    }

    /// The end, in whole seconds. A year has 365 days, as in S3's default retentions.
    fn from(self, now: Timestamp) -> Result<Timestamp, Error> {
        let days = match self {
            Validity::Days(days) => days,
            Validity::Years(years) => years * 365,
        };
        let end = now.as_second().saturating_add_unsigned(days * 86_400);
        Timestamp::from_second(end).map_err(|error| Error::refused(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_days_or_years() {
        for (text, expected) in [("30d", Validity::Days(30)), ("1Y", Validity::Years(1))] {
            assert_eq!(Validity::parse(text).expect(text), expected);
        }
        for text in
            ["", "d", "0d", "-1d", "30", "30h", "1.5d", "999y", "3ü", "99999999999999999999d"]
        {
            assert!(Validity::parse(text).is_err(), "{text}");
        }
        let now = "2026-01-01T00:00:00Z".parse().expect("a time");
        let end = Validity::Years(1).from(now).expect("a time");
        assert_eq!(end.to_string(), "2027-01-01T00:00:00Z");
    }
}
