//! `replicate resync`: walks over a bucket that send its versions to a target again.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::note::tell;
use super::{number, size, some, targets};
use crate::error::Error;
use crate::session::Session;
use crate::target::{Remote, Target};
use crate::text::{Side, for_people, of_iso, parse_duration, table};

pub(super) async fn start(
    session: &Arc<Session>,
    target: &str,
    arn: Option<&str>,
    older_than: Option<&str>,
) -> Result<(), Error> {
    let remote = whole_bucket(session, target)?;
    let age = older_than.map(age).transpose().map_err(Error::Refused)?;
    let known = targets(&some(&remote).await?);
    let arn = chosen(&known, arn).map_err(Error::Refused)?;
    let begun = remote.s3.begin_resync(&remote.bucket, arn, age).await?;
    let id = walks(&begun).first().and_then(|walk| walk["resetid"].as_str()).unwrap_or_default();
    let text = format!("Replication reset started for {target} with ID {id}");
    tell(session, text, document("start", target, begun.clone(), Some(arn)))
}

pub(super) async fn status(
    session: &Arc<Session>,
    target: &str,
    arn: Option<&str>,
) -> Result<(), Error> {
    let remote = whole_bucket(session, target)?;
    let found = remote.s3.resyncs(&remote.bucket, arn).await?;
    let text = match walks(&found) {
        // Walks stay when their rule is removed, so the rules matter only without any.
        [] => {
            let known = targets(&some(&remote).await?);
            if arn.is_some() {
                chosen(&known, arn).map_err(Error::Refused)?;
            }
            format!(
                "No resynchronization of {target} was started; start one with `replicate resync start`."
            )
        }
        walks => shown(walks),
    };
    tell(session, text, document("status", target, found.clone(), arn))
}

/// The bucket of a name without a key: a walk takes all of it.
fn whole_bucket(session: &Session, target: &str) -> Result<Remote, Error> {
    let remote = Target::bucket(session, target)?;
    match remote.key.is_empty() {
        true => Ok(remote),
        false => {
            let Remote { alias, bucket, .. } = remote;
            let reason = format!(
                "a resynchronization is about a whole bucket; write {alias}/{bucket} instead of '{target}'"
            );
            Err(Error::refused(reason))
        }
    }
}

/// The age of the versions to send, in whole seconds: none would mean all versions.
fn age(text: &str) -> Result<Duration, String> {
    let age = parse_duration(text)?;
    match age.as_secs() {
        0 => Err("--older-than is at least 1s; without it all versions are sent".to_owned()),
        seconds => Ok(Duration::from_secs(seconds)),
    }
}

/// The target of the bucket that the user means.
fn chosen<'a>(known: &'a [String], wanted: Option<&str>) -> Result<&'a str, String> {
    let all = known.join(", ");
    match (wanted, known) {
        (_, []) => {
            Err("all replication rules are disabled; enable one with `replicate update`".to_owned())
        }
        (None, [only]) => Ok(only),
        (None, _) => {
            Err(format!("the bucket has several targets; name one with --remote-bucket: {all}"))
        }
        (Some(wanted), known) => match known.iter().find(|arn| *arn == wanted) {
            Some(arn) => Ok(arn),
            None => Err(format!(
                "'{wanted}' is no target of the enabled rules; --remote-bucket is an ARN of theirs: {all}"
            )),
        },
    }
}

fn walks(answer: &Value) -> &[Value] {
    answer["target"].as_array().map_or(&[], Vec::as_slice)
}

fn document(op: &str, target: &str, answer: Value, arn: Option<&str>) -> Value {
    let arn = arn.unwrap_or_default();
    json!({ "op": op, "url": target, "resyncInfo": answer, "targetArn": arn })
}

fn shown(walks: &[Value]) -> String {
    let titles = ["STATUS", "QUEUED", "SIZE", "STARTED", "LAST STEP", "ID", "TARGET"];
    let mut rows = vec![titles.map(str::to_owned)];
    for walk in walks {
        let text = |name: &str| walk[name].as_str().filter(|it| !it.is_empty()).unwrap_or("-");
        let time = |name: &str| of_iso(text(name)).map_or_else(|| "-".to_owned(), for_people);
        rows.push([
            text("resyncStatus").to_owned(),
            number(&walk["replicationCount"]),
            size(&walk["completedReplicationSize"]),
            time("startTime"),
            time("endTime"),
            text("resetid").to_owned(),
            text("arn").to_owned(),
        ]);
    }
    let sides =
        [Side::Left, Side::Right, Side::Right, Side::Left, Side::Left, Side::Left, Side::Left];
    table(sides, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_named_unless_it_is_the_only_one() {
        let one = ["arn:a".to_owned()];
        let two = ["arn:a".to_owned(), "arn:b".to_owned()];
        assert_eq!(chosen(&one, None), Ok("arn:a"));
        assert_eq!(chosen(&two, Some("arn:b")), Ok("arn:b"));
        for (known, wanted, advice) in [
            (&two[..], None, "--remote-bucket: arn:a, arn:b"),
            (&one, Some("arn:b"), "'arn:b' is no target"),
            (&[], None, "replicate update"),
        ] {
            let message = chosen(known, wanted).expect_err("refused");
            assert!(message.contains(advice), "{message}");
        }
    }

    #[test]
    fn an_age_has_whole_seconds() {
        assert_eq!(age("7d1500ms"), Ok(Duration::from_secs(604_801)));
        for wrong in ["500ms", "0s", "7", ""] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_walk_is_a_line() {
        let walk = json!({
            "arn": "arn:a", "resetid": "walk", "resyncStatus": "Ongoing", "replicationCount": 7,
            "completedReplicationSize": 1024, "startTime": "2026-01-02T03:04:05.678Z",
            "endTime": "2026-01-02T03:05:06Z",
        });
        assert_eq!(
            shown(&[walk, json!({ "arn": "arn:b" })]),
            "STATUS   QUEUED     SIZE  STARTED                  LAST STEP                ID    TARGET\n\
             Ongoing       7  1.0 KiB  2026-01-02 03:04:05 UTC  2026-01-02 03:05:06 UTC  walk  arn:a\n\
             -             -        -  -                        -                        -     arn:b",
        );
    }
}
