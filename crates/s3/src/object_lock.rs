//! Object lock: headers, and the operations on a bucket's configuration, retentions and legal
//! holds. [`event_hold`] has the fields of event holds.

use http::{HeaderMap, HeaderName, StatusCode};
use liteio_store::{
    Cause, DefaultRetention, EventHold, EventHoldChange, LegalHold, ObjectLock, ObjectVersion,
    Retention, RetentionMode, RetentionPeriod, Store, VersionChange,
};
use s3s::dto::{
    DefaultRetention as DefaultRetentionDto, GetObjectLegalHoldInput, GetObjectLegalHoldOutput,
    GetObjectLockConfigurationInput, GetObjectLockConfigurationOutput, GetObjectRetentionInput,
    GetObjectRetentionOutput, ObjectLockEnabled, ObjectLockLegalHold, ObjectLockLegalHoldStatus,
    ObjectLockRetentionMode, PutObjectLegalHoldInput, PutObjectLegalHoldOutput,
    PutObjectLockConfigurationInput, PutObjectLockConfigurationOutput, PutObjectRetentionInput,
    PutObjectRetentionOutput,
};
use s3s::{S3Error, S3Response, S3Result, s3_error};

use super::answer::xml_response;
use super::dates::{iso_date, rfc3339, unix_seconds};
use super::details::Details;
use super::event_hold::{SentDefaultHold, SentEventHold};
use super::headers::{header, insert_text};
use super::limits::{RETENTION_DAYS_MAX, RETENTION_YEARS_MAX};
use super::xml::XmlWriter;
use super::{Req, Resp, error, event_cause, event_hold, object_version, replica};
use liteio_access::Granted;
use liteio_access::state::App;

const MODE: HeaderName = HeaderName::from_static("x-amz-object-lock-mode");
const UNTIL: HeaderName = HeaderName::from_static("x-amz-object-lock-retain-until-date");
const LEGAL_HOLD: HeaderName = HeaderName::from_static("x-amz-object-lock-legal-hold");

/// The lock that the headers of a write request for the new version.
pub(super) fn of_request(app: &App, headers: &HeaderMap) -> S3Result<ObjectLock> {
    let event_hold = event_hold::of_request(headers)?;
    let is_held = matches!(event_hold, EventHold::On(_));
    let retention = match (header(headers, MODE), header(headers, UNTIL)) {
        (None, None) if event_hold == EventHold::Never => None,
        (Some(mode), until) if until.is_some() || is_held => {
            let mode = parse_mode(mode).ok_or_else(|| {
                let details = Details::argument(MODE, mode);
                s3_error!(details, InvalidArgument, "Unknown wormMode directive.")
            })?;
            // The store computes the end of a hold.
            let until_ms = until.map_or(Ok(0), |until| until_of(app, headers, until))?;
            Some(Retention { mode, until_ms })
        }
        (None, _) if event_hold != EventHold::Never => {
            return Err(s3_error!(
                Details::named(MODE),
                InvalidArgument,
                "An event hold requires a retention mode: x-amz-object-lock-mode must be supplied"
            ));
        }
        (mode, _) => {
            return Err(s3_error!(
                Details::named(if mode.is_none() { MODE } else { UNTIL }),
                InvalidArgument,
                "x-amz-object-lock-retain-until-date and x-amz-object-lock-mode must both be supplied"
            ));
        }
    };
    let legal_hold = match header(headers, LEGAL_HOLD) {
        None => LegalHold::Never,
        Some("OFF") => LegalHold::Off,
        Some("ON") => LegalHold::On,
        Some(other) => {
            return Err(s3_error!(
                Details::argument(LEGAL_HOLD, other),
                InvalidArgument,
                "Legal Hold must be either of 'ON' or 'OFF'"
            ));
        }
    };
    Ok(ObjectLock { retention, legal_hold, event_hold })
}

/// The end of a retention in the headers of a write.
fn until_of(app: &App, headers: &HeaderMap, until: &str) -> S3Result<u64> {
    let time = rfc3339(until).ok_or_else(|| {
        s3_error!(
            Details::argument(UNTIL, until),
            InvalidArgument,
            "The retain until date must be provided in ISO 8601 format"
        )
    })?;
    let until_ms = time.as_millisecond();
    match replica::is_asked(headers) {
        // It may have ended on the way.
        true => Ok(u64::try_from(until_ms).unwrap_or(0)),
        false => future(app, until_ms, UNTIL.as_str()),
    }
}

/// Adds the headers that describe an object's lock. The end of a retention with an event hold is
/// the one of this moment.
pub(super) fn insert(app: &App, headers: &mut HeaderMap, lock: &ObjectLock) -> S3Result<()> {
    if lock.is_none() {
        return Ok(());
    }
    if let Some(Retention { mode, until_ms }) = lock.retention_at(app.ask(Store::now_ms)) {
        insert_text(headers, MODE, Some(mode_name(mode)))?;
        insert_text(headers, UNTIL, Some(&iso_date(until_ms)))?;
    }
    event_hold::insert(headers, lock.event_hold)?;
    insert_text(headers, LEGAL_HOLD, status_of(lock.legal_hold))
}

fn status_of(hold: LegalHold) -> Option<&'static str> {
    match hold {
        LegalHold::Never => None,
        LegalHold::On => Some(ObjectLockLegalHoldStatus::ON),
        LegalHold::Off => Some(ObjectLockLegalHoldStatus::OFF),
    }
}

fn mode_name(mode: RetentionMode) -> &'static str {
    match mode {
        RetentionMode::Governance => ObjectLockRetentionMode::GOVERNANCE,
        RetentionMode::Compliance => ObjectLockRetentionMode::COMPLIANCE,
    }
}

fn parse_mode(text: &str) -> Option<RetentionMode> {
    match text {
        ObjectLockRetentionMode::GOVERNANCE => Some(RetentionMode::Governance),
        ObjectLockRetentionMode::COMPLIANCE => Some(RetentionMode::Compliance),
        _ => None,
    }
}

/// True if the request may remove a governance retention. Only buckets with object lock have some: the
/// header on any other bucket, whatever its value, is a mistake about the bucket, and nothing is done. (Recorded on AWS
/// in LocalStack's `test_delete_object_with_no_locking`.) MinIO takes it for any bucket, and its clients send it to any.
pub(super) fn bypass(app: &App, granted: &Granted, asked: Option<bool>) -> S3Result<bool> {
    match asked {
        Some(_) if !granted.bucket().object_lock && !app.acts_as_minio => Err(s3_error!(
            Details::named("x-amz-bypass-governance-retention"),
            InvalidArgument,
            "x-amz-bypass-governance-retention is only applicable to Object Lock enabled buckets."
        )),
        asked => Ok(asked.unwrap_or(false)),
    }
}

/// Converts the time to the store's unit, if it is in the future.
fn future(app: &App, until_ms: i64, name: &str) -> S3Result<u64> {
    let until_ms = u64::try_from(until_ms).unwrap_or(0);
    match until_ms > app.ask(Store::now_ms) {
        true => Ok(until_ms),
        false => Err(s3_error!(
            Details::argument(name, &iso_date(until_ms)),
            InvalidArgument,
            "The retain until date must be in the future!"
        )),
    }
}

pub(super) async fn put_object_lock_configuration(
    app: &App,
    granted: Granted,
    request: Req<PutObjectLockConfigurationInput>,
) -> Resp<PutObjectLockConfigurationOutput> {
    let SentDefaultHold(hold) = request.extensions.get().cloned().unwrap_or_default();
    let configuration = request.input.object_lock_configuration;
    let configuration = configuration.ok_or_else(error::missing_body)?;
    let enabled = configuration.object_lock_enabled.as_ref().map(ObjectLockEnabled::as_str);
    if enabled != Some(ObjectLockEnabled::ENABLED) {
        return Err(error::malformed_xml());
    }
    let default = match configuration.rule {
        None => None,
        Some(rule) => {
            let default = rule.default_retention.ok_or_else(error::malformed_xml)?;
            Some(default_retention(&default, &SentDefaultHold(hold))?)
        }
    };
    let set = app.store.set_object_lock(granted.bucket(), default).await;
    set.map_err(error::from_store)?;
    Ok(S3Response::new(PutObjectLockConfigurationOutput::default()))
}

/// The default retention in a document: a period, an event hold, or both.
pub(super) fn default_retention(
    sent: &DefaultRetentionDto,
    SentDefaultHold(hold): &SentDefaultHold,
) -> S3Result<DefaultRetention> {
    let mode = sent.mode.as_ref().and_then(|mode| parse_mode(mode.as_str()));
    let mode = mode.ok_or_else(error::malformed_xml)?;
    let out_of_range = |_: &str, _: &str| {
        error::custom(
            "InvalidRetentionPeriod",
            StatusCode::BAD_REQUEST,
            "Default retention period must be a positive integer value of at most 36500 days or \
             100 years.",
        )
    };
    let length = |length: i32, maximum: u32| {
        let length = u32::try_from(length).ok().filter(|it| (1..=maximum).contains(it));
        length.ok_or_else(|| out_of_range("", ""))
    };
    let period = match (sent.days, sent.years) {
        (Some(days), None) => Some(RetentionPeriod::Days(length(days, RETENTION_DAYS_MAX)?)),
        (None, Some(years)) => Some(RetentionPeriod::Years(length(years, RETENTION_YEARS_MAX)?)),
        (None, None) if hold.is_some() => None,
        _ => return Err(error::malformed_xml()),
    };
    let event_hold = hold.as_ref().map(|hold| hold.parsed(out_of_range)).transpose()?;
    Ok(DefaultRetention { mode, period, event_hold })
}

pub(super) async fn get_object_lock_configuration(
    _app: &App,
    granted: Granted,
    _request: Req<GetObjectLockConfigurationInput>,
) -> Resp<GetObjectLockConfigurationOutput> {
    let bucket = granted.bucket();
    if !bucket.object_lock {
        return Err(s3_error!(
            ObjectLockConfigurationNotFoundError,
            "Object Lock configuration does not exist for this bucket"
        ));
    }
    let mut xml = XmlWriter::new("ObjectLockConfiguration", 256);
    xml.word("ObjectLockEnabled", ObjectLockEnabled::ENABLED);
    if let Some(DefaultRetention { mode, period, event_hold }) = bucket.settings.default_retention {
        xml.open("Rule");
        xml.open("DefaultRetention");
        xml.word("Mode", mode_name(mode));
        if let Some(period) = period {
            event_hold::write_period(&mut xml, period);
        }
        if let Some(duration) = event_hold {
            event_hold::write_duration(&mut xml, "DefaultEventHold", duration);
        }
        xml.close("DefaultRetention");
        xml.close("Rule");
    }
    Ok(xml_response(xml.finish()))
}

/// The change that a document of PutObjectRetention asks for.
enum Asked {
    Retention(Option<Retention>),
    EventHold(EventHoldChange),
}

pub(super) async fn put_object_retention(
    app: &App,
    granted: Granted,
    request: Req<PutObjectRetentionInput>,
) -> Resp<PutObjectRetentionOutput> {
    let cause = event_cause::of_request(app, &granted, &request.headers, &request.extensions);
    let hold: SentEventHold = request.extensions.get().cloned().unwrap_or_default();
    let input = request.input;
    let sent = input.retention.ok_or_else(error::malformed_xml)?;
    let mode = sent.mode.map(|mode| parse_mode(mode.as_str()).ok_or_else(error::malformed_xml));
    let until_ms = sent.retain_until_date.map(|until| {
        let until = unix_seconds(until).ok_or_else(error::malformed_xml)?;
        let until_ms = until.saturating_mul(1000);
        match replica::is_asked(&request.headers) {
            true => Ok(u64::try_from(until_ms).unwrap_or(0)),
            false => future(app, until_ms, "RetainUntilDate"),
        }
    });
    let asked = match (hold.parsed()?, mode.transpose()?, until_ms) {
        (EventHold::Never, None, None) => Asked::Retention(None),
        (EventHold::Never, Some(mode), Some(until_ms)) => {
            Asked::Retention(Some(Retention { mode, until_ms: until_ms? }))
        }
        (hold @ (EventHold::On(_) | EventHold::Off), Some(mode), until_ms) => {
            let duration = match hold {
                EventHold::On(duration) => Some(duration),
                EventHold::Off | EventHold::Never => None,
            };
            let until_ms = until_ms.transpose()?;
            Asked::EventHold(EventHoldChange { mode, duration, until_ms })
        }
        _ => return Err(error::malformed_xml()),
    };
    let bypasses_governance = bypass(app, &granted, input.bypass_governance_retention)?;
    let change = match asked {
        Asked::Retention(retention) => VersionChange::Retention { retention, bypasses_governance },
        Asked::EventHold(change) => VersionChange::EventHold { change, bypasses_governance },
    };
    let change = replica::changed(&request.headers, change)?;
    object_version::change(app, &granted, input.key, input.version_id, change, cause).await?;
    Ok(S3Response::new(PutObjectRetentionOutput::default()))
}

pub(super) async fn put_object_legal_hold(
    app: &App,
    granted: Granted,
    request: Req<PutObjectLegalHoldInput>,
) -> Resp<PutObjectLegalHoldOutput> {
    let input = request.input;
    let status = input.legal_hold.and_then(|hold| hold.status);
    let is_held = match status.as_ref().map(ObjectLockLegalHoldStatus::as_str) {
        Some(ObjectLockLegalHoldStatus::ON) => true,
        Some(ObjectLockLegalHoldStatus::OFF) => false,
        _ => return Err(error::malformed_xml()),
    };
    let change = replica::changed(&request.headers, VersionChange::LegalHold(is_held))?;
    object_version::change(app, &granted, input.key, input.version_id, change, Cause::Unknown)
        .await?;
    Ok(S3Response::new(PutObjectLegalHoldOutput::default()))
}

pub(super) async fn get_object_retention(
    app: &App,
    granted: Granted,
    request: Req<GetObjectRetentionInput>,
) -> Resp<GetObjectRetentionOutput> {
    let GetObjectRetentionInput { key, version_id, .. } = request.input;
    let object = lockable(app, &granted, key, version_id).await?;
    let retention = object.lock.retention_at(app.ask(Store::now_ms));
    let Retention { mode, until_ms } = retention.ok_or_else(not_locked)?;
    let mut xml = XmlWriter::new("Retention", 256);
    xml.word("Mode", mode_name(mode));
    xml.date("RetainUntilDate", until_ms);
    event_hold::write(&mut xml, object.lock.event_hold);
    Ok(xml_response(xml.finish()))
}

pub(super) async fn get_object_legal_hold(
    app: &App,
    granted: Granted,
    request: Req<GetObjectLegalHoldInput>,
) -> Resp<GetObjectLegalHoldOutput> {
    let GetObjectLegalHoldInput { key, version_id, .. } = request.input;
    let object = lockable(app, &granted, key, version_id).await?;
    let status = status_of(object.lock.legal_hold).ok_or_else(not_locked)?;
    let status = Some(ObjectLockLegalHoldStatus::from_static(status));
    let legal_hold = Some(ObjectLockLegalHold { status });
    Ok(S3Response::new(GetObjectLegalHoldOutput { legal_hold }))
}

/// Finds a version whose lock is read or changed.
async fn lockable(
    app: &App,
    granted: &Granted,
    key: String,
    version: Option<String>,
) -> S3Result<ObjectVersion> {
    let object = object_version::find(app, granted, key, version).await?;
    match granted.bucket().object_lock {
        true => Ok(object),
        false => Err(s3_error!(InvalidRequest, "Bucket is missing Object Lock Configuration")),
    }
}

fn not_locked() -> S3Error {
    s3_error!(
        NoSuchObjectLockConfiguration,
        "The specified object does not have a ObjectLock configuration"
    )
}
