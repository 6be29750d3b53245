//! The times of lifecycle actions beside each other, as S3 demands them of a new configuration.
//!
//! Only PutBucketLifecycleConfiguration is checked: a configuration that was stored before, or comes from another server,
//! goes on.

use s3s::dto::{LifecycleRule, LifecycleRuleFilter, Timestamp, TransitionStorageClass};
use s3s::{S3Error, S3Result};

use super::dates::unix_seconds;
use super::error;

/// Classes that take objects after a time in another one only.
const INFREQUENT: [&str; 2] = ["STANDARD_IA", "ONEZONE_IA"];
/// That time.
const INFREQUENT_DAYS_MIN: i32 = 30;

/// Checks the rules, of which each is valid by itself.
pub(super) fn check(rules: &[LifecycleRule]) -> S3Result<()> {
    rules.iter().try_for_each(check_rule)
}

fn check_rule(rule: &LifecycleRule) -> S3Result<()> {
    let transitions = rule.transitions.as_deref().unwrap_or_default();
    let noncurrent = rule.noncurrent_version_transitions.as_deref().unwrap_or_default();
    for transition in transitions {
        check_days(transition.storage_class.as_ref(), transition.days, "'Days' in Transition")?;
    }
    for transition in noncurrent {
        let (class, days) = (transition.storage_class.as_ref(), transition.noncurrent_days);
        check_days(class, days, "'NoncurrentDays' in NoncurrentVersionTransition")?;
    }
    let classes = transitions.iter().map(|it| it.storage_class.as_ref()).collect();
    check_classes(classes, "Transition", rule)?;
    let classes = noncurrent.iter().map(|it| it.storage_class.as_ref()).collect();
    check_classes(classes, "NoncurrentVersionTransition", rule)?;
    let has_days = transitions.iter().any(|it| it.days.is_some());
    let has_date = transitions.iter().any(|it| it.date.is_some());
    if has_days && has_date {
        return Err(mixed("Transition", rule));
    }
    let (days, date) = match &rule.expiration {
        Some(expiration) => (expiration.days, expiration.date.as_ref()),
        None => (None, None),
    };
    if (days.is_some() && has_date) || (date.is_some() && has_days) {
        return Err(mixed("Expiration and Transition", rule));
    }
    let is_before = |days: Option<i32>, other: Option<i32>| {
        days.zip(other).is_some_and(|(days, other)| days <= other)
    };
    if transitions.iter().any(|it| is_before(days, it.days)) {
        return Err(too_early("Days", ("Expiration", "Transition"), rule));
    }
    let seconds = |date: Option<&Timestamp>| date.cloned().and_then(unix_seconds);
    let is_earlier = |other: Option<&Timestamp>| {
        seconds(date).zip(seconds(other)).is_some_and(|(date, other)| date <= other)
    };
    if transitions.iter().any(|it| is_earlier(it.date.as_ref())) {
        return Err(too_early("Date", ("Expiration", "Transition"), rule));
    }
    let days = rule.noncurrent_version_expiration.as_ref().and_then(|it| it.noncurrent_days);
    match noncurrent.iter().any(|it| is_before(days, it.noncurrent_days)) {
        true => {
            let actions = ("NoncurrentVersionExpiration", "NoncurrentVersionTransition");
            Err(too_early("NoncurrentDays", actions, rule))
        }
        false => Ok(()),
    }
}

/// Refuses days that are too few for the class.
fn check_days(
    class: Option<&TransitionStorageClass>,
    days: Option<i32>,
    what: &'static str,
) -> S3Result<()> {
    let class = class.map(TransitionStorageClass::as_str).unwrap_or_default();
    match days.is_some_and(|days| days < INFREQUENT_DAYS_MIN) && INFREQUENT.contains(&class) {
        true => Err(error::invalid_argument(format!(
            "{what} action must be greater than or equal to {INFREQUENT_DAYS_MIN} for storageClass '{class}'"
        ))),
        false => Ok(()),
    }
}

/// Refuses two actions for one class.
fn check_classes(
    mut classes: Vec<Option<&TransitionStorageClass>>,
    action: &str,
    rule: &LifecycleRule,
) -> S3Result<()> {
    let count = classes.len();
    classes.sort_by_key(|class| class.map(TransitionStorageClass::as_str));
    classes.dedup();
    match classes.len() < count {
        true => Err(error::invalid_request(format!(
            "'StorageClass' must be different for '{action}' actions in same 'Rule' with filter '{}'",
            shown(rule)
        ))),
        false => Ok(()),
    }
}

fn mixed(actions: &str, rule: &LifecycleRule) -> S3Error {
    error::invalid_request(format!(
        "Found mixed 'Date' and 'Days' based {actions} actions in lifecycle rule for filter '{}'",
        shown(rule)
    ))
}

fn too_early(field: &str, (late, early): (&str, &str), rule: &LifecycleRule) -> S3Error {
    error::invalid_argument(format!(
        "'{field}' in the {late} action for filter '{}' must be greater than '{field}' in the {early} action",
        shown(rule)
    ))
}

/// The filter, in the form that S3 has in messages.
fn shown(rule: &LifecycleRule) -> String {
    let mut parts = Vec::new();
    let of_rule = rule.prefix.as_ref();
    let (mut prefix, mut tags, mut larger, mut smaller) = (of_rule, Vec::new(), None, None);
    if let Some(LifecycleRuleFilter {
        and,
        object_size_greater_than,
        object_size_less_than,
        prefix: own,
        tag,
        ..
    }) = &rule.filter
    {
        (larger, smaller) = (*object_size_greater_than, *object_size_less_than);
        (prefix, tags) = (own.as_ref(), tag.iter().collect());
        if let Some(and) = and {
            (larger, smaller) = (and.object_size_greater_than, and.object_size_less_than);
            prefix = and.prefix.as_ref();
            tags = and.tags.iter().flatten().collect();
        }
    }
    parts.extend(prefix.map(|prefix| format!("prefix={prefix}")));
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    parts.extend(
        tags.iter()
            .map(|tag| format!("tag={{key={}, value={}}}", text(&tag.key), text(&tag.value))),
    );
    parts.extend(larger.map(|bytes| format!("objectsizegreaterthan={bytes}")));
    parts.extend(smaller.map(|bytes| format!("objectsizelessthan={bytes}")));
    match parts.is_empty() {
        true => "(prefix=)".to_owned(),
        false => format!("({})", parts.join(" and ")),
    }
}
