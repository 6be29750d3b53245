//! `replicate status`: the figures of each target of a bucket.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::super::note::tell;
use super::{number, size, some, targets};
use crate::error::Error;
use crate::s3::AdminCall;
use crate::session::Session;
use crate::target::{Remote, Target};
use crate::text::{Side, human, in_words, table};

pub(super) async fn run(session: &Arc<Session>, target: &str) -> Result<(), Error> {
    let remote = Target::bucket(session, target)?;
    let arns = targets(&some(&remote).await?);
    let metrics = remote.s3.replication_metrics(&remote.bucket).await?;
    let places = places(&remote).await?;
    let text = match arns.is_empty() {
        true => "All replication rules are disabled.".to_owned(),
        false => shown(&arns, &metrics, &places),
    };
    let json = json!({
        "op": "status", "url": target, "replicationstats": metrics, "remoteTargets": places,
    });
    tell(session, text, json)
}

/// The targets of the bucket as the admin API lists them. It has no targets of a file, and refuses users
/// who may read the figures only: the places of their targets are not shown.
async fn places(remote: &Remote) -> Result<Value, Error> {
    let call = AdminCall::new(Method::GET, "list-remote-targets")
        .query("bucket", &remote.bucket)
        .query("type", "replication");
    match remote.s3.admin_json(call).await {
        Ok(Value::Null) => Ok(json!([])),
        Ok(places) => Ok(places),
        Err(Error::Service(error)) if error.status < 500 => Ok(json!([])),
        Err(error) => Err(error),
    }
}

fn shown(arns: &[String], metrics: &Value, places: &Value) -> String {
    let titles = ["STATE", "WAITING", "OLDEST", "COPIED", "SIZE", "FAILED", "TARGET"];
    let mut rows = vec![titles.map(str::to_owned)];
    for arn in arns {
        let figures = &metrics["currStats"]["Stats"][arn];
        let place = places.as_array().into_iter().flatten().find(|it| it["arn"] == **arn);
        let waiting = &figures["pendingReplicationCount"];
        let oldest = match (waiting.as_u64(), figures["oldestPendingSeconds"].as_u64()) {
            (Some(1..), Some(0)) => "0 seconds".to_owned(),
            (Some(1..), Some(seconds)) => in_words(Duration::from_secs(seconds)),
            _ => "-".to_owned(),
        };
        rows.push([
            state(figures, place).to_owned(),
            number(waiting),
            oldest,
            number(&figures["replicationCount"]),
            size(&figures["completedReplicationSize"]),
            number(&figures["failed"]["totals"]["count"]),
            name(arn, place),
        ]);
    }
    let sides =
        [Side::Left, Side::Right, Side::Right, Side::Right, Side::Right, Side::Right, Side::Left];
    let mut text = table(sides, &rows);
    // MinIO has one queue for all targets.
    let has_queues = arns
        .iter()
        .any(|arn| metrics["currStats"]["Stats"][arn]["pendingReplicationCount"].is_u64());
    if let (false, Some(nodes)) = (has_queues, metrics["queueStats"]["nodes"].as_array()) {
        let sum = |field: &str| -> u64 {
            nodes.iter().filter_map(|it| it["queueStats"]["curr"][field].as_u64()).sum()
        };
        let (count, bytes) = (sum("count"), human(sum("bytes")));
        text.push_str(&format!("\nWaiting for all targets: {count}, {bytes}"));
    }
    for place in places.as_array().into_iter().flatten() {
        if let (Some(arn), Some(reason)) = (place["arn"].as_str(), place["lastError"].as_str()) {
            text.push_str(&format!("\n{arn} fails: {reason}"));
        }
    }
    text
}

fn state(figures: &Value, place: Option<&Value>) -> &'static str {
    let is_online = place.and_then(|it| it["isOnline"].as_bool());
    match figures["isFailing"].as_bool().map(|is_failing| !is_failing).or(is_online) {
        Some(true) => "online",
        Some(false) => "failing",
        None => "unknown",
    }
}

/// The ARN of a target, with its place if that is known.
fn name(arn: &str, place: Option<&Value>) -> String {
    let text = |name: &str| place.and_then(|it| it[name].as_str()).unwrap_or_default();
    match text("endpoint") {
        "" => arn.to_owned(),
        endpoint => {
            let scheme =
                if place.is_some_and(|it| it["secure"] == true) { "https" } else { "http" };
            format!("{arn} ({scheme}://{endpoint}/{})", text("targetbucket"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arns(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn each_target_is_a_line() {
        let stats = json!({
            "arn:one": {
                "replicationCount": 12, "completedReplicationSize": 2048, "isFailing": true,
                "pendingReplicationCount": 3, "oldestPendingSeconds": 61,
                "failed": { "totals": { "count": 4, "bytes": 0 } },
            },
        });
        let metrics = json!({ "currStats": { "Stats": stats } });
        let places = json!([{
            "arn": "arn:one", "endpoint": "host:9000", "secure": true, "targetbucket": "copies",
            "isOnline": true, "lastError": "connection refused",
        }]);
        assert_eq!(
            shown(&arns(&["arn:one", "arn:two"]), &metrics, &places),
            "STATE    WAITING             OLDEST  COPIED     SIZE  FAILED  TARGET\n\
             failing        3  1 minute 1 second      12  2.0 KiB       4  arn:one (https://host:9000/copies)\n\
             unknown        -                  -       -        -       -  arn:two\n\
             arn:one fails: connection refused",
        );
    }

    #[test]
    fn a_queue_for_all_targets_is_a_line_of_its_own() {
        let node = json!({ "queueStats": { "curr": { "count": 2, "bytes": 1024 } } });
        let metrics = json!({
            "currStats": { "Stats": { "arn:one": { "replicationCount": 5 } } },
            "queueStats": { "nodes": [node, node] },
        });
        let places = json!([{ "arn": "arn:one", "isOnline": true }]);
        let text = shown(&arns(&["arn:one"]), &metrics, &places);
        assert!(text.contains("online        -"), "{text}");
        assert!(text.ends_with("\nWaiting for all targets: 4, 2.0 KiB"), "{text}");
    }
}
