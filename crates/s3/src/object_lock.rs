//! Object lock: headers, and the operations on a bucket's configuration, retentions and legal
//! holds.

use http::{HeaderMap, HeaderName, StatusCode};
use jiff::Timestamp;
use liteio_store::{
    Cause, DefaultRetention, LegalHold, ObjectLock, ObjectVersion, Retention, RetentionMode,
    RetentionPeriod, Store, VersionChange,
};
use s3s::dto::{
    DefaultRetention as DefaultRetentionDto, GetObjectLegalHoldInput, GetObjectLegalHoldOutput,
    GetObjectLockConfigurationInput, GetObjectLockConfigurationOutput, GetObjectRetentionInput,
    GetObjectRetentionOutput, ObjectLockConfiguration, ObjectLockEnabled, ObjectLockLegalHold,
    ObjectLockLegalHoldStatus, ObjectLockRetention, ObjectLockRetentionMode, ObjectLockRule,
    PutObjectLegalHoldInput, PutObjectLegalHoldOutput, PutObjectLockConfigurationInput,
    PutObjectLockConfigurationOutput, PutObjectRetentionInput, PutObjectRetentionOutput,
};
use s3s::{S3Error, S3Response, S3Result, s3_error};

use super::dates::{dto_time, iso_date, unix_seconds};
use super::details::Details;
use super::headers::{header, insert_text};
use super::limits::{RETENTION_DAYS_MAX, RETENTION_YEARS_MAX};
use super::{Req, Resp, error, object_version, replica};
use liteio_access::Granted;
use liteio_access::state::App;

const MODE: HeaderName = HeaderName::from_static("x-amz-object-lock-mode");
const UNTIL: HeaderName = HeaderName::from_static("x-amz-object-lock-retain-until-date");
const LEGAL_HOLD: HeaderName = HeaderName::from_static("x-amz-object-lock-legal-hold");

/// The lock that the headers of a write request for the new version.
pub(super) fn of_request(app: &App, headers: &HeaderMap) -> S3Result<ObjectLock> {
    let retention = match (header(headers, MODE.as_str()), header(headers, UNTIL.as_str())) {
        (None, None) => None,
        (Some(mode), Some(until)) => {
            let mode = parse_mode(mode).ok_or_else(|| {
                let details = Details::argument(MODE, mode);
                s3_error!(details, InvalidArgument, "Unknown wormMode directive.")
            })?;
            let time: Option<Timestamp> = until.parse().ok();
            let time = time.ok_or_else(|| {
                s3_error!(
                    Details::argument(UNTIL, until),
                    InvalidArgument,
                    "The retain until date must be provided in ISO 8601 format"
                )
            })?;
            let until_ms = time.as_millisecond();
            let until_ms = match replica::is_asked(headers) {
                // It may have ended on the way.
                true => u64::try_from(until_ms).unwrap_or(0),
                false => future(app, until_ms, UNTIL.as_str())?,
            };
            Some(Retention { mode, until_ms })
        }
        (mode, _) => {
            return Err(s3_error!(
                Details::named(if mode.is_none() { MODE } else { UNTIL }),
                InvalidArgument,
                "x-amz-object-lock-retain-until-date and x-amz-object-lock-mode must both be supplied"
            ));
        }
    };
    let legal_hold = match header(headers, LEGAL_HOLD.as_str()) {
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
    Ok(ObjectLock { retention, legal_hold })
}

/// Adds the headers that describe an object's lock.
pub(super) fn insert(headers: &mut HeaderMap, lock: &ObjectLock) -> S3Result<()> {
    if let Some(Retention { mode, until_ms }) = &lock.retention {
        insert_text(headers, MODE, Some(mode_name(*mode)))?;
        insert_text(headers, UNTIL, Some(&iso_date(*until_ms)))?;
    }
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
    let configuration = request.input.object_lock_configuration;
    let configuration = configuration.ok_or_else(error::missing_body)?;
    let enabled = configuration.object_lock_enabled.as_ref().map(ObjectLockEnabled::as_str);
    if enabled != Some(ObjectLockEnabled::ENABLED) {
        return Err(error::malformed_xml());
    }
    let default = match configuration.rule {
        None => None,
        Some(rule) => {
            Some(default_retention(&rule.default_retention.ok_or_else(error::malformed_xml)?)?)
        }
    };
    let set = app.store.set_object_lock(granted.bucket(), default).await;
    set.map_err(error::from_store)?;
    Ok(S3Response::new(PutObjectLockConfigurationOutput::default()))
}

pub(super) fn default_retention(sent: &DefaultRetentionDto) -> S3Result<DefaultRetention> {
    let mode = sent.mode.as_ref().and_then(|mode| parse_mode(mode.as_str()));
    let mode = mode.ok_or_else(error::malformed_xml)?;
    let length = |length: i32, maximum: u32| {
        let length = u32::try_from(length).ok().filter(|it| (1..=maximum).contains(it));
        length.ok_or_else(|| {
            error::custom(
                "InvalidRetentionPeriod",
                StatusCode::BAD_REQUEST,
                "Default retention period must be a positive integer value of at most 36500 days or \
                 100 years.",
            )
        })
    };
    let period = match (sent.days, sent.years) {
        (Some(days), None) => RetentionPeriod::Days(length(days, RETENTION_DAYS_MAX)?),
        (None, Some(years)) => RetentionPeriod::Years(length(years, RETENTION_YEARS_MAX)?),
        _ => return Err(error::malformed_xml()),
    };
    Ok(DefaultRetention { mode, period })
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
    let rule = bucket.settings.default_retention.map(|default| {
        let (days, years) = match default.period {
            RetentionPeriod::Days(days) => (i32::try_from(days).ok(), None),
            RetentionPeriod::Years(years) => (None, i32::try_from(years).ok()),
        };
        let mode = Some(ObjectLockRetentionMode::from_static(mode_name(default.mode)));
        ObjectLockRule { default_retention: Some(DefaultRetentionDto { days, mode, years }) }
    });
    let enabled = ObjectLockEnabled::from_static(ObjectLockEnabled::ENABLED);
    let configuration = ObjectLockConfiguration { object_lock_enabled: Some(enabled), rule };
    Ok(S3Response::new(GetObjectLockConfigurationOutput {
        object_lock_configuration: Some(configuration),
    }))
}

pub(super) async fn put_object_retention(
    app: &App,
    granted: Granted,
    request: Req<PutObjectRetentionInput>,
) -> Resp<PutObjectRetentionOutput> {
    let input = request.input;
    let sent = input.retention.ok_or_else(error::malformed_xml)?;
    let retention = match (sent.mode, sent.retain_until_date) {
        (None, None) => None,
        (Some(mode), Some(until)) => {
            let mode = parse_mode(mode.as_str()).ok_or_else(error::malformed_xml)?;
            let until = unix_seconds(until).ok_or_else(error::malformed_xml)?;
            let until_ms = until.saturating_mul(1000);
            let until_ms = match replica::is_asked(&request.headers) {
                true => u64::try_from(until_ms).unwrap_or(0),
                false => future(app, until_ms, "RetainUntilDate")?,
            };
            Some(Retention { mode, until_ms })
        }
        _ => return Err(error::malformed_xml()),
    };
    let bypasses_governance = bypass(app, &granted, input.bypass_governance_retention)?;
    let change = VersionChange::Retention { retention, bypasses_governance };
    let change = replica::changed(&request.headers, change)?;
    object_version::change(app, &granted, input.key, input.version_id, change, Cause::Unknown)
        .await?;
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
    let Retention { mode, until_ms } = object.lock.retention.ok_or_else(not_locked)?;
    let retention = ObjectLockRetention {
        mode: Some(ObjectLockRetentionMode::from_static(mode_name(mode))),
        retain_until_date: Some(dto_time(until_ms)?),
    };
    Ok(S3Response::new(GetObjectRetentionOutput { retention: Some(retention) }))
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
