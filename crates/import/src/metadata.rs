//! Parses object metadata from headers, as other stores keep and send them.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use liteio_store::{
    ContentHeaders, EventHold, LegalHold, ObjectLock, ObjectMetadata, Retention, RetentionMode,
    RetentionPeriod,
};

/// The metadata and lock in headers with lower-case names. Storage classes are left out, because
/// there is only one here.
///
/// # Errors
/// The lock cannot be parsed: importing the object without it would allow its deletion.
pub(crate) fn of_headers(
    headers: &BTreeMap<String, String>,
) -> Result<(ObjectMetadata, ObjectLock), String> {
    // A kept header has one character for each byte that was sent.
    let text = |name: &str| {
        let text = headers.get(name).filter(|text| !text.is_empty())?;
        Some(text.bytes().map(char::from).collect())
    };
    let content = ContentHeaders {
        content_type: text("content-type"),
        cache_control: text("cache-control"),
        content_disposition: text("content-disposition"),
        content_encoding: text("content-encoding"),
        content_language: text("content-language"),
        expires: text("expires"),
        website_redirect_location: text("x-amz-website-redirect-location"),
    };
    let user = headers.iter().filter_map(|(name, value)| {
        Some((name.strip_prefix("x-amz-meta-")?.to_owned(), value.clone()))
    });
    let tags = headers.get("x-amz-tagging").map(|tags| tags.as_bytes()).unwrap_or_default();
    let mut tags: Vec<(String, String)> = form_urlencoded::parse(tags)
        .map(|(key, value)| (key.into_owned(), value.into_owned()))
        .collect();
    tags.sort_unstable();
    let metadata =
        ObjectMetadata { storage_class: None, headers: content, user: user.collect(), tags };
    Ok((metadata, lock(headers)?))
}

fn lock(headers: &BTreeMap<String, String>) -> Result<ObjectLock, String> {
    let text =
        |name: &str| headers.get(name).map(Borrow::<str>::borrow).filter(|it| !it.is_empty());
    let mode = text("x-amz-object-lock-mode");
    let until = text("x-amz-object-lock-retain-until-date");
    let retention = match (mode, until) {
        (None, None) => None,
        (Some(mode), Some(until)) => {
            let mode = match mode {
                "GOVERNANCE" => RetentionMode::Governance,
                "COMPLIANCE" => RetentionMode::Compliance,
                other => return Err(format!("the mode of its retention is {other:?}")),
            };
            let until: Timestamp =
                until.parse().map_err(|_| format!("the end of its retention is {until:?}"))?;
            let until_ms = u64::try_from(until.as_millisecond()).unwrap_or(0);
            Some(Retention { mode, until_ms })
        }
        _ => return Err("its retention has no mode or no end".to_owned()),
    };
    let legal_hold = match text("x-amz-object-lock-legal-hold") {
        None => LegalHold::Never,
        Some("ON") => LegalHold::On,
        Some(_) => LegalHold::Off,
    };
    let number = |name: &str| match text(name) {
        None => Ok(None),
        Some(number) => match number.parse::<u32>() {
            Ok(number) if number > 0 => Ok(Some(number)),
            _ => Err(format!("the duration of its event hold is {number:?}")),
        },
    };
    let days = number("x-amz-object-lock-event-hold-duration-days")?.map(RetentionPeriod::Days);
    let years = number("x-amz-object-lock-event-hold-duration-years")?.map(RetentionPeriod::Years);
    let event_hold = match (text("x-amz-object-lock-event-hold"), days.or(years)) {
        (None, _) => EventHold::Never,
        // Every hold has a retention, whose end is computed.
        (Some("ON"), Some(duration)) if retention.is_some() => EventHold::On(duration),
        (Some("ON"), _) => return Err("its event hold has no mode or no duration".to_owned()),
        (Some(_), _) => EventHold::Off,
    };
    Ok(ObjectLock { retention, legal_hold, event_hold })
}
