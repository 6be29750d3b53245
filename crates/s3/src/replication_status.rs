//! MinIO's operations on the replication of a bucket: its figures, and the walks that queue what is
//! there already, as `mc replicate status` and `mc replicate resync` ask for them.

use std::sync::atomic::Ordering;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use jiff::Timestamp;
use liteio_store::{NewResync, Resync, Store};
use s3s::{S3Error, S3Result, s3_error};
use serde_json::{Map, Value, json};

use super::error;
use super::plain::{PlainRequest, PlainResponse};
use liteio_access::state::App;
use liteio_wire::reply::ReplyBody;

/// Longest id of a walk, in bytes.
const ID_BYTES_MAX: usize = 64;

/// Begins a walk over the versions of the bucket that queues them for a target, also those that it
/// is said to have.
pub(super) async fn reset_bucket_replication(app: &App, request: PlainRequest) -> PlainResponse {
    let sent = request.sent();
    let bucket = request.granted.bucket();
    let replication = bucket.settings.replication.as_ref().ok_or_else(no_replication)?;
    let targets = replication.targets();
    let target = match sent.parameter("arn") {
        Some(arn) if targets.contains(&arn) => arn,
        None if targets.len() == 1 => targets[0],
        _ => {
            return Err(error::invalid_request(
                "Name the target by its ARN, as an enabled rule of the bucket has it.",
            ));
        }
    };
    let now_ms = app.ask(Store::now_ms);
    let id = match sent.parameter("reset-id").filter(|id| !id.is_empty()) {
        None => format!("resync-{now_ms}"),
        Some(id) => id.to_owned(),
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if id.len() > ID_BYTES_MAX || !id.bytes().all(is_plain) {
        return Err(error::invalid_argument(
            "A reset-id has up to 64 letters, digits and hyphens.",
        ));
    }
    let age_ms = sent.parameter("older-than").map_or(Ok(0), milliseconds)?;
    let new = NewResync {
        id: id.clone(),
        target: target.to_owned(),
        again: true,
        before_ms: if age_ms == 0 { u64::MAX } else { now_ms.saturating_sub(age_ms) },
    };
    app.store.begin_resync(bucket, new).await.map_err(error::from_store)?;
    answer(&json!({ "target": [{ "arn": target, "resetid": id }] }))
}

/// Cancels the walks of the bucket that run, for one target or for all. Answers the id, as text; without a
/// walk, nothing.
pub(super) async fn cancel_bucket_replication_reset(
    app: &App,
    request: PlainRequest,
) -> PlainResponse {
    let target = request.sent().parameter("arn").filter(|arn| !arn.is_empty()).map(str::to_owned);
    let cancelled = app.store.cancel_resync(request.granted.bucket(), target).await;
    let ids = cancelled.map_err(error::from_store)?.join(",");
    let mut response = Response::new(ReplyBody::from(ids.into_bytes()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}

/// The walks of the bucket.
pub(super) async fn get_bucket_replication_reset_status(
    app: &App,
    request: PlainRequest,
) -> PlainResponse {
    let sent = request.sent();
    let bucket = request.granted.bucket();
    let found = app.look(|store| store.resyncs_of(bucket)).await.map_err(error::from_store)?;
    let arn = sent.parameter("arn").filter(|arn| !arn.is_empty());
    let wanted = found.iter().filter(|resync| arn.is_none_or(|arn| resync.target == arn));
    let shown: Vec<Value> = wanted.map(|it| shown(it, bucket.name.as_str())).collect();
    answer(&json!({ "target": shown }))
}

fn shown(resync: &Resync, bucket: &str) -> Value {
    json!({
        "arn": resync.target,
        "resetid": resync.id,
        "startTime": time(resync.started_ms),
        "endTime": time(resync.stepped_ms),
        "resyncStatus": match (resync.is_cancelled, resync.is_done) {
            (true, _) => "Canceled",
            (false, true) => "Completed",
            (false, false) => "Ongoing",
        },
        "completedReplicationSize": resync.bytes,
        "replicationCount": resync.queued,
        "bucket": bucket,
    })
}

/// The figures of the targets of the bucket. Those of a target are of all its buckets.
pub(super) async fn get_bucket_replication_metrics(
    app: &App,
    request: PlainRequest,
) -> PlainResponse {
    let replication = request.granted.bucket().settings.replication.clone();
    let replication = replication.ok_or_else(no_replication)?;
    let (queues, now_ms) = app.look(|store| (store.replication_queues(), store.now_ms())).await;
    let queues = queues.map_err(error::from_store)?;
    let (mut stats, mut waiting, mut copied, mut bytes) = (Map::new(), 0, 0, 0);
    let targets = replication.targets();
    for (target, figures) in app.remote_targets.all() {
        if !targets.contains(&&*target.arn) {
            continue;
        }
        let queue = queues.get(&target.arn).copied().unwrap_or_default();
        let of_target = queue.waiting;
        let oldest_ms = queue.oldest_ms.map_or(0, |at_ms| now_ms.saturating_sub(at_ms));
        let failed = figures.failed.load(Ordering::Relaxed);
        let (count, size) =
            (figures.copied.load(Ordering::Relaxed), figures.bytes.load(Ordering::Relaxed));
        (waiting, copied, bytes) = (waiting + of_target, copied + count, bytes + size);
        let target_stats = json!({
            "replicationCount": count,
            "completedReplicationSize": size,
            "pendingReplicationCount": of_target,
            "failed": { "totals": { "count": failed, "bytes": 0 } },
            // Ours, for the console.
            "oldestPendingSeconds": oldest_ms / 1000,
            "isFailing": figures.is_failing.load(Ordering::Relaxed),
        });
        stats.insert(target.arn.clone(), target_stats);
    }
    let queued = json!({ "curr": { "count": waiting, "bytes": 0 } });
    let current = json!({
        "Stats": stats,
        "replicationCount": copied,
        "completedReplicationSize": bytes,
        "pendingReplicationCount": waiting,
        "queued": queued,
    });
    // The second version has the first one as a member.
    match request.sent().parameter("replication-metrics") {
        Some("2") => answer(&json!({
            "currStats": current,
            "queueStats": { "nodes": [{ "nodeName": "liteio", "queueStats": queued }] },
        })),
        _ => answer(&current),
    }
}

fn no_replication() -> S3Error {
    s3_error!(ReplicationConfigurationNotFoundError, "The replication configuration was not found")
}

fn answer(value: &Value) -> PlainResponse {
    let mut response = Response::new(ReplyBody::from(value.to_string().into_bytes()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

fn time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    at.unwrap_or_default().to_string()
}

/// A duration as Go writes it: `168h0m0s`, in milliseconds.
fn milliseconds(text: &str) -> S3Result<u64> {
    let wrong = || error::invalid_argument("older-than is a duration such as 168h0m0s.");
    let (mut whole, mut number) = (0_u64, String::new());
    for character in text.chars() {
        let unit_ms = match character {
            '0'..='9' => {
                number.push(character);
                continue;
            }
            'h' => 3_600_000,
            'm' => 60_000,
            's' => 1_000,
            _ => return Err(wrong()),
        };
        let count: u64 = std::mem::take(&mut number).parse().map_err(|_| wrong())?;
        whole = whole.saturating_add(count.saturating_mul(unit_ms));
    }
    if number.is_empty() { Ok(whole) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        for (text, expected) in [("168h0m0s", 604_800_000), ("1m30s", 90_000), ("", 0)] {
            assert_eq!(milliseconds(text).ok(), Some(expected), "{text}");
        }
        for text in ["7d", "5", "h", "1.5h", "-1h"] {
            assert!(milliseconds(text).is_err(), "{text}");
        }
    }
}
