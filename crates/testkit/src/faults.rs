//! Fault injection: rules by which requests fail, are delayed, or are cut off.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::StatusCode;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::bodies::Rates;
use super::filters::{check_names, unknown_operation};
use super::glob::Glob;
use super::guard::bad_request;
use liteio_wire::reply::{ApiError, Dialect};

/// Limit of rules per space.
const RULES_MAX: usize = 1000;
/// Limit of a text in a rule, in bytes.
const TEXT_BYTES_MAX: usize = 1024;
/// Longest latency; clients time out before it.
const LATENCY_MS_MAX: u64 = 600_000;

/// A rule: the requests that it matches, and their faults. At least one of `status`, `latency_ms`,
/// `cut_after_bytes` and `bandwidth` is given.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct FaultRule {
    /// Pattern of the operation, such as `PutObject`; in all patterns, `*` matches any characters
    /// and `?` any single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Pattern of the bucket; of S3 Vectors, of the vector bucket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    /// Pattern of the key; of S3 Vectors, of the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The space; the main one if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// The status of an error response, 400 to 599, sent before the operation starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The error code; by default the usual one of the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The message of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The delay before the operation or the error, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// Bytes of the response body after which the connection is closed; the operation is performed.
    /// At 0, there is no response at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_after_bytes: Option<u64>,
    /// Rate limit of the request and response bodies, in bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<u64>,
    /// Number of requests that it applies to; by default all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// Probability that it applies to a request, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
}

/// The faults of one request.
#[derive(Debug, Default)]
pub(super) struct Effects {
    pub(super) latency: Duration,
    /// Status, code and message.
    pub(super) error: Option<(StatusCode, String, String)>,
    pub(super) cut_after_bytes: Option<u64>,
    pub(super) rates: Rates,
}

/// The properties of a request that rules match.
pub(super) struct Asked<'a> {
    pub(super) operation: Option<&'a str>,
    pub(super) bucket: &'a str,
    pub(super) key: &'a str,
}

/// The rules of a space.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// The number of rules.
    count: AtomicUsize,
    rules: Mutex<Rules>,
}

#[derive(Debug, Default)]
struct Rules {
    last_id: u64,
    active: Vec<Active>,
}

#[derive(Debug)]
struct Active {
    id: u64,
    rule: FaultRule,
    operation: Option<Glob>,
    bucket: Option<Glob>,
    key: Option<Glob>,
    hits: u64,
    /// Dropped with the rule.
    is_there: Arc<()>,
}

/// A rule in a listing.
#[derive(Debug, Serialize)]
pub(super) struct ListedFault {
    id: String,
    #[serde(flatten)]
    rule: FaultRule,
    hits: u64,
}

impl FaultRule {
    /// Refuses a pattern that fits none of these operations, and one of a name that their requests do not have: the rule would never
    /// apply.
    ///
    /// # Errors
    /// `InvalidRequest`, with the nearest name, or the pattern to leave out.
    pub(super) fn check_operation(&self, known: &[&'static str]) -> Result<(), ApiError> {
        let Some(pattern) = &self.operation else { return Ok(()) };
        if pattern.len() > TEXT_BYTES_MAX {
            return Ok(());
        }
        match unknown_operation(pattern, known) {
            Some(unknown) => Err(bad_request(format!(
                "There is no operation {} of S3, S3 Vectors, IAM or STS, so the rule would never apply: {}",
                unknown.shown, unknown.advice
            ))),
            None => check_names(pattern, self.bucket.as_deref(), self.key.as_deref(), known),
        }
    }

    /// # Errors
    /// `InvalidRequest`, with advice.
    fn check(&self) -> Result<(), ApiError> {
        let texts = [&self.operation, &self.bucket, &self.key, &self.code, &self.message];
        if texts.into_iter().flatten().any(|text| text.len() > TEXT_BYTES_MAX) {
            return Err(bad_request(format!(
                "A text of the rule is longer than {TEXT_BYTES_MAX} bytes."
            )));
        }
        let is_error = self.status.is_some();
        let effects =
            [self.latency_ms, self.cut_after_bytes, self.bandwidth].into_iter().flatten().count();
        if !is_error && effects == 0 {
            return Err(bad_request(
                "The rule has no effect: give status, latency_ms, cut_after_bytes or bandwidth.",
            ));
        }
        if self.status.is_some_and(|status| !(400..=599).contains(&status)) {
            return Err(bad_request("The status of a fault is from 400 to 599."));
        }
        if !is_error && (self.code.is_some() || self.message.is_some()) {
            return Err(bad_request("code and message describe an error: give status, too."));
        }
        let is_code = |code: &String| {
            !code.is_empty() && code.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'.')
        };
        if !self.code.as_ref().is_none_or(is_code) {
            return Err(bad_request("A code has letters, digits and dots only."));
        }
        if self.latency_ms.is_some_and(|ms| ms > LATENCY_MS_MAX) {
            return Err(bad_request(format!("latency_ms is at most {LATENCY_MS_MAX}.")));
        }
        if self.bandwidth == Some(0) {
            return Err(bad_request("bandwidth is at least 1 byte in a second."));
        }
        if self.times == Some(0) {
            return Err(bad_request(
                "times is at least 1; without it, the rule applies to all requests.",
            ));
        }
        if self.probability.is_some_and(|it| !(0.0..=1.0).contains(&it)) {
            return Err(bad_request("probability is from 0 to 1."));
        }
        Ok(())
    }
}

impl Faults {
    /// Adds a rule, and returns its ID.
    ///
    /// # Errors
    /// `InvalidRequest`.
    pub(super) fn add(&self, rule: FaultRule) -> Result<String, ApiError> {
        rule.check()?;
        let mut rules = self.rules.lock();
        if rules.active.len() >= RULES_MAX {
            return Err(bad_request(format!(
                "There are {RULES_MAX} rules: delete some (DELETE /faults)."
            )));
        }
        rules.last_id += 1;
        let id = rules.last_id;
        let glob = |text: &Option<String>| text.as_deref().map(Glob::new);
        let (operation, bucket, key) = (glob(&rule.operation), glob(&rule.bucket), glob(&rule.key));
        let is_there = Arc::new(());
        rules.active.push(Active { id, operation, bucket, key, rule, hits: 0, is_there });
        self.count.store(rules.active.len(), Ordering::Relaxed);
        Ok(id.to_string())
    }

    pub(super) fn list(&self) -> Vec<ListedFault> {
        let rules = self.rules.lock();
        let listed = |active: &Active| ListedFault {
            id: active.id.to_string(),
            rule: active.rule.clone(),
            hits: active.hits,
        };
        rules.active.iter().map(listed).collect()
    }

    pub(super) fn clear(&self) {
        self.rules.lock().active.clear();
        self.count.store(0, Ordering::Relaxed);
    }

    /// Removes a rule; false if it does not exist.
    pub(super) fn remove(&self, id: &str) -> bool {
        let mut rules = self.rules.lock();
        let before = rules.active.len();
        rules.active.retain(|active| active.id.to_string() != id);
        self.count.store(rules.active.len(), Ordering::Relaxed);
        rules.active.len() < before
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// The faults of a request: rules apply in order, up to the first one with an error. Each
    /// matching rule counts the request under the lock, so that no more than `times` requests are
    /// affected under concurrency.
    pub(super) fn of(&self, asked: &Asked<'_>) -> Effects {
        let mut effects = Effects::default();
        let mut rules = self.rules.lock();
        for active in &mut rules.active {
            let rule = &active.rule;
            if rule.times.is_some_and(|times| active.hits >= times)
                || !active.is_about(asked)
                || !rule.probability.is_none_or(happens)
            {
                continue;
            }
            active.hits += 1;
            effects.latency += Duration::from_millis(rule.latency_ms.unwrap_or_default());
            effects.cut_after_bytes = min(effects.cut_after_bytes, rule.cut_after_bytes);
            if let Some(rate) = rule.bandwidth {
                effects.rates.push((rate, Arc::downgrade(&active.is_there)));
            }
            if let Some(status) = rule.status.and_then(|it| StatusCode::from_u16(it).ok()) {
                let code = rule.code.clone().unwrap_or_else(|| code_of(status).to_owned());
                let message = "This is a fault of the test API, as it was asked for.";
                let message = rule.message.clone().unwrap_or_else(|| message.to_owned());
                effects.error = Some((status, code, message));
                break;
            }
        }
        effects
    }
}

impl Effects {
    /// The error in the format of the request's service.
    pub(super) fn error(&self, dialect: Dialect) -> Option<ApiError> {
        let (status, code, message) = self.error.clone()?;
        Some(ApiError::with_status(dialect, code, status, message))
    }
}

impl Active {
    fn is_about(&self, asked: &Asked<'_>) -> bool {
        let fits = |glob: &Option<Glob>, text: Option<&str>| match glob {
            Some(glob) => text.is_some_and(|text| glob.matches(text)),
            None => true,
        };
        fits(&self.operation, asked.operation)
            && fits(&self.bucket, Some(asked.bucket))
            && fits(&self.key, Some(asked.key))
    }
}

/// The smaller of two limits.
fn min(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// True with this probability.
fn happens(probability: f64) -> bool {
    let random = getrandom::u32().unwrap_or_default();
    f64::from(random) < probability * (f64::from(u32::MAX) + 1.0)
}

/// S3's usual error code for a status.
fn code_of(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 => "InvalidRequest",
        401 | 403 => "AccessDenied",
        404 => "NoSuchKey",
        405 => "MethodNotAllowed",
        408 => "RequestTimeout",
        409 => "OperationAborted",
        411 => "MissingContentLength",
        412 => "PreconditionFailed",
        416 => "InvalidRange",
        429 | 503 => "SlowDown",
        501 => "NotImplemented",
        402..=499 => "InvalidRequest",
        _ => "InternalError",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::lowest_rate;

    fn rule(json: &str) -> FaultRule {
        serde_json::from_str(json).expect("a rule")
    }

    fn asked<'a>(operation: &'a str, bucket: &'a str, key: &'a str) -> Asked<'a> {
        Asked { operation: Some(operation), bucket, key }
    }

    #[test]
    fn a_rule_counts_exactly_among_many_threads() {
        let faults = Faults::default();
        faults.add(rule(r#"{"status": 503, "times": 100}"#)).expect("valid");
        let hits: usize = std::thread::scope(|scope| {
            let ask = || {
                let asked = asked("PutObject", "b", "k");
                (0..100).filter(|_| faults.of(&asked).error.is_some()).count()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
        });
        assert_eq!(hits, 100);
    }

    #[test]
    fn rules_apply_in_their_order_up_to_an_error() {
        let faults = Faults::default();
        for json in [
            r#"{"operation": "Put*", "latency_ms": 10, "bandwidth": 100}"#,
            r#"{"bucket": "b", "latency_ms": 5, "bandwidth": 50}"#,
            r#"{"key": "k", "status": 429}"#,
            r#"{"latency_ms": 1000}"#,
        ] {
            faults.add(rule(json)).expect("valid");
        }
        let effects = faults.of(&asked("PutObject", "b", "k"));
        assert_eq!(effects.latency, Duration::from_millis(15));
        assert_eq!(lowest_rate(&effects.rates), Some(50));
        assert_eq!(
            effects.error.map(|error| (error.0.as_u16(), error.1)),
            Some((429, "SlowDown".to_owned()))
        );
        assert_eq!(faults.of(&asked("GetObject", "c", "d")).latency, Duration::from_millis(1000));
        assert!(faults.remove("3") && !faults.remove("3"));
        assert_eq!(faults.of(&asked("PutObject", "b", "k")).latency, Duration::from_millis(1015));
    }

    #[test]
    fn without_the_slower_of_two_rules_the_rest_of_a_body_has_the_rate_of_the_other() {
        let faults = Faults::default();
        for json in [r#"{"bandwidth": 100}"#, r#"{"bandwidth": 50}"#, r#"{"bandwidth": 70}"#] {
            faults.add(rule(json)).expect("valid");
        }
        let rates = faults.of(&asked("PutObject", "b", "k")).rates;
        assert_eq!(lowest_rate(&rates), Some(50));
        assert!(faults.remove("2"));
        assert_eq!(lowest_rate(&rates), Some(70));
        faults.clear();
        assert_eq!(lowest_rate(&rates), None);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let faults = Faults::default();
        for json in [
            "{}",
            r#"{"bucket": "b"}"#,
            r#"{"status": 200}"#,
            r#"{"code": "SlowDown", "latency_ms": 1}"#,
            r#"{"status": 503, "code": "Slow Down"}"#,
            r#"{"bandwidth": 0}"#,
            r#"{"status": 503, "times": 0}"#,
            r#"{"status": 503, "probability": 1.5}"#,
            r#"{"latency_ms": 600001}"#,
        ] {
            assert!(faults.add(rule(json)).is_err(), "{json}");
        }
        assert!(serde_json::from_str::<FaultRule>(r#"{"status": 503, "often": 1}"#).is_err());
        assert!(faults.is_empty());
    }

    #[test]
    fn a_probability_is_that_of_many_requests() {
        let faults = Faults::default();
        faults.add(rule(r#"{"status": 503, "probability": 0.25}"#)).expect("valid");
        let asked = asked("PutObject", "b", "k");
        let hits = (0..10_000).filter(|_| faults.of(&asked).error.is_some()).count();
        assert!((2_000..3_000).contains(&hits), "{hits}");
    }
}
