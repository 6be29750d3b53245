//! Lifecycle rules: the document, its operations, and the response headers that announce
//! expirations.

use std::io::Write;

use http::{HeaderMap, HeaderName};
use liteio_store::{
    Bucket, Due, Expiration, Lifecycle, LifecycleFilter, LifecycleRule, NoncurrentExpiration,
    NoncurrentTransition, ObjectVersion, Store, Subject, Transition, Upload,
};
use percent_encoding::utf8_percent_encode;
use s3s::dto::{
    BucketLifecycleConfiguration, DeleteBucketLifecycleInput, DeleteBucketLifecycleOutput,
    ExpirationStatus, GetBucketLifecycleConfigurationInput, GetBucketLifecycleConfigurationOutput,
    LifecycleExpiration, LifecycleRule as RuleDto, LifecycleRuleFilter,
    NoncurrentVersionExpiration, NoncurrentVersionTransition, PutBucketLifecycleConfigurationInput,
    PutBucketLifecycleConfigurationOutput, Tag, Timestamp, Transition as TransitionDto,
    TransitionDefaultMinimumObjectSize, TransitionStorageClass,
};
use s3s::xml::{
    DeResult, Deserialize, Deserializer, SerResult, Serialize, SerializeContent, Serializer,
};
use s3s::{S3Error, S3Response, S3Result, s3_error};

use super::bucket_settings::{from_xml, name_rules, to_xml};
use super::dates::{http_date, iso_date, unix_seconds};
use super::details::Details;
use super::headers::insert_text;
use super::limits::{
    LIFECYCLE_RULES_MAX, NEWER_NONCURRENT_MAX, RULE_ID_BYTES_MAX, TRANSITION_BYTES_MIN,
};
use super::page_token::IN_HEADER;
use super::tagging::{self, Tagged};
use super::{Req, Resp, error, lifecycle_times};
use liteio_access::Granted;
use liteio_access::state::App;
use liteio_access::tiers::AWS_CLASSES;

const EXPIRATION: HeaderName = HeaderName::from_static("x-amz-expiration");
const ABORT_DATE: HeaderName = HeaderName::from_static("x-amz-abort-date");
const ABORT_RULE: HeaderName = HeaderName::from_static("x-amz-abort-rule-id");

const DAY_S: i64 = 24 * 60 * 60;

pub(super) async fn put_bucket_lifecycle_configuration(
    app: &App,
    granted: Granted,
    request: Req<PutBucketLifecycleConfigurationInput>,
) -> Resp<PutBucketLifecycleConfigurationOutput> {
    let minimum = minimum(request.input.transition_default_minimum_object_size)?;
    let sent = request.input.lifecycle_configuration.ok_or_else(error::malformed_xml)?;
    let rules = sent.rules.clone();
    let lifecycle = parse_with(sent, &minimum, &|class| app.tiers.get(class).is_some())?;
    // MinIO does not compare them.
    if !app.acts_as_minio {
        lifecycle_times::check(&rules)?;
    }
    let set = app.store.set_lifecycle(granted.bucket(), Some(lifecycle)).await;
    set.map_err(error::from_store)?;
    Ok(S3Response::new(PutBucketLifecycleConfigurationOutput {
        transition_default_minimum_object_size: Some(minimum),
    }))
}

pub(super) async fn get_bucket_lifecycle_configuration(
    _app: &App,
    granted: Granted,
    _request: Req<GetBucketLifecycleConfigurationInput>,
) -> Resp<GetBucketLifecycleConfigurationOutput> {
    let lifecycle = granted.bucket().settings.lifecycle.as_ref().ok_or_else(|| {
        s3_error!(NoSuchLifecycleConfiguration, "The lifecycle configuration does not exist")
    })?;
    let kept: Kept = from_xml(&lifecycle.document)?;
    Ok(S3Response::new(GetBucketLifecycleConfigurationOutput {
        rules: Some(kept.rules),
        transition_default_minimum_object_size: Some(kept.minimum),
    }))
}

pub(super) async fn delete_bucket_lifecycle(
    app: &App,
    granted: Granted,
    _request: Req<DeleteBucketLifecycleInput>,
) -> Resp<DeleteBucketLifecycleOutput> {
    app.store.set_lifecycle(granted.bucket(), None).await.map_err(error::from_store)?;
    Ok(S3Response::new(DeleteBucketLifecycleOutput::default()))
}

/// The smallest objects that transitions move; S3's default without one.
fn minimum(
    sent: Option<TransitionDefaultMinimumObjectSize>,
) -> S3Result<TransitionDefaultMinimumObjectSize> {
    match sent {
        None => Ok(default_minimum()),
        Some(sent) if MINIMUMS.contains(&sent.as_str()) => Ok(sent),
        Some(other) => Err(error::invalid_request(format!(
            "Invalid TransitionDefaultMinimumObjectSize found: {}",
            error::quoted(other.as_str())
        ))),
    }
}

const MINIMUMS: [&str; 2] = [
    TransitionDefaultMinimumObjectSize::ALL_STORAGE_CLASSES_128K,
    TransitionDefaultMinimumObjectSize::VARIES_BY_STORAGE_CLASS,
];

fn default_minimum() -> TransitionDefaultMinimumObjectSize {
    TransitionDefaultMinimumObjectSize::from_static(MINIMUMS[0])
}

/// The element of a kept document with the minimum, which is a header of requests. Absent for the
/// default, and ignored by versions that do not know it.
const MINIMUM: &str = "TransitionDefaultMinimumObjectSize";

/// A kept document.
struct Kept {
    rules: Vec<RuleDto>,
    minimum: TransitionDefaultMinimumObjectSize,
}

impl<'xml> Deserialize<'xml> for Kept {
    fn deserialize(parser: &mut Deserializer<'xml>) -> DeResult<Kept> {
        let (mut rules, mut minimum) = (Vec::new(), default_minimum());
        parser.named_element("LifecycleConfiguration", |parser| {
            parser.for_each_element(|parser, name| {
                if name == MINIMUM.as_bytes() {
                    minimum = parser.content::<String>()?.into();
                } else {
                    rules.push(parser.content()?);
                }
                Ok(())
            })
        })?;
        Ok(Kept { rules, minimum })
    }
}

/// A document to keep.
struct ToKeep<'a> {
    sent: &'a BucketLifecycleConfiguration,
    minimum: &'a TransitionDefaultMinimumObjectSize,
}

impl Serialize for ToKeep<'_> {
    fn serialize<W: Write>(&self, serializer: &mut Serializer<W>) -> SerResult {
        serializer.content("LifecycleConfiguration", self)
    }
}

impl SerializeContent for ToKeep<'_> {
    fn serialize_content<W: Write>(&self, serializer: &mut Serializer<W>) -> SerResult {
        self.sent.serialize_content(serializer)?;
        if *self.minimum != default_minimum() {
            serializer.content(MINIMUM, self.minimum.as_str())?;
        }
        Ok(())
    }
}

/// Adds `x-amz-expiration`: the expiry date of a current object, and the rule's ID.
pub(super) fn insert_expiration(
    app: &App,
    headers: &mut HeaderMap,
    bucket: &Bucket,
    object: &ObjectVersion,
) -> S3Result<()> {
    let Some(lifecycle) = bucket.settings.lifecycle.as_ref().filter(|_| object.is_latest) else {
        return Ok(());
    };
    let subject = Subject {
        key: object.key.as_str(),
        bytes: Some(object.bytes),
        tags: &object.metadata.tags,
    };
    let day_ms = app.ask(Store::lifecycle_day_ms);
    let Some(Due { at_ms, rule }) = lifecycle.expiration(&subject, object.modified_ms, day_ms)
    else {
        return Ok(());
    };
    let date = http_date(at_ms)?;
    let date = String::from_utf8_lossy(date.as_bytes());
    let rule = utf8_percent_encode(rule, IN_HEADER);
    let text = format!("expiry-date=\"{date}\", rule-id=\"{rule}\"");
    insert_text(headers, EXPIRATION, Some(&text))
}

/// Adds `x-amz-abort-date` and `x-amz-abort-rule-id` for an upload.
pub(super) fn insert_abort(
    app: &App,
    headers: &mut HeaderMap,
    bucket: &Bucket,
    upload: &Upload,
) -> S3Result<()> {
    let Some(lifecycle) = &bucket.settings.lifecycle else { return Ok(()) };
    let day_ms = app.ask(Store::lifecycle_day_ms);
    let due = lifecycle.upload_expiration(upload.key.as_str(), upload.initiated_ms, day_ms);
    if let Some(Due { at_ms, rule }) = due {
        headers.insert(ABORT_DATE, http_date(at_ms)?);
        let rule = utf8_percent_encode(rule, IN_HEADER).to_string();
        insert_text(headers, ABORT_RULE, Some(&rule))?;
    }
    Ok(())
}

/// Parses and checks the rules in a document. Returns them with the document, in which every rule
/// has an ID.
pub(super) fn parse(
    sent: BucketLifecycleConfiguration,
    is_tier: &dyn Fn(&str) -> bool,
) -> S3Result<Lifecycle> {
    parse_with(sent, &default_minimum(), is_tier)
}

fn parse_with(
    mut sent: BucketLifecycleConfiguration,
    minimum: &TransitionDefaultMinimumObjectSize,
    is_tier: &dyn Fn(&str) -> bool,
) -> S3Result<Lifecycle> {
    if sent.rules.is_empty() || sent.rules.len() > LIFECYCLE_RULES_MAX {
        return Err(error::malformed_xml());
    }
    let ids = sent.rules.iter_mut().map(|rule| &mut rule.id).collect();
    let all_differ = name_rules(ids, "rule");
    let parse = |rule| parse_rule(rule, minimum, is_tier);
    let rules: Vec<LifecycleRule> = sent.rules.iter().map(parse).collect::<S3Result<_>>()?;
    if !all_differ {
        return Err(s3_error!(
            InvalidArgument,
            "Rule ID must be unique. Found same ID for more than one rule"
        ));
    }
    Ok(Lifecycle { rules, document: to_xml(&ToKeep { sent: &sent, minimum })? })
}

fn parse_rule(
    sent: &RuleDto,
    minimum: &TransitionDefaultMinimumObjectSize,
    is_tier: &dyn Fn(&str) -> bool,
) -> S3Result<LifecycleRule> {
    let id = sent.id.clone().unwrap_or_default();
    if id.len() > RULE_ID_BYTES_MAX {
        return Err(error::invalid_argument("ID length should not exceed allowed limit of 255"));
    }
    let is_enabled = match sent.status.as_str() {
        ExpirationStatus::ENABLED => true,
        ExpirationStatus::DISABLED => false,
        _ => return Err(error::malformed_xml()),
    };
    let filter = match (&sent.filter, &sent.prefix) {
        (Some(filter), None) => parse_filter(filter)?,
        (None, Some(prefix)) => {
            LifecycleFilter { prefix: prefix.clone(), ..LifecycleFilter::default() }
        }
        (None, None) | (Some(_), Some(_)) => return Err(error::malformed_xml()),
    };
    let (expiration, expires_delete_markers) = match &sent.expiration {
        Some(sent) => parse_expiration(sent, &filter)?,
        None => (None, false),
    };
    let noncurrent =
        sent.noncurrent_version_expiration.as_ref().map(parse_noncurrent).transpose()?;
    let abort_uploads_days = match &sent.abort_incomplete_multipart_upload {
        None => None,
        Some(_) if !filter.tags.is_empty() || is_sized(&filter) => {
            return Err(error::invalid_request(
                "AbortIncompleteMultipartUpload cannot be specified with Tags or object sizes.",
            ));
        }
        Some(sent) => Some(positive(
            sent.days_after_initiation,
            "'DaysAfterInitiation' for AbortIncompleteMultipartUpload action must be a positive integer",
        )?),
    };
    let moved = |class: &Option<TransitionStorageClass>| {
        let class = class.as_ref().map(TransitionStorageClass::as_str);
        let class = class.ok_or_else(error::malformed_xml)?;
        if !AWS_CLASSES.contains(&class) && !is_tier(class) {
            return Err(unknown_class(&id, class));
        }
        let class = class.to_owned();
        let bytes_min = smallest(&filter, minimum, &class);
        Ok::<_, S3Error>((class, bytes_min))
    };
    let transitions = sent.transitions.iter().flatten();
    let transitions = transitions.map(|it| {
        let (class, bytes_min) = moved(&it.storage_class)?;
        Ok(Transition { at: transition_time(it)?, class, bytes_min })
    });
    let transitions = transitions.collect::<S3Result<Vec<_>>>()?;
    let older = sent.noncurrent_version_transitions.iter().flatten();
    let older = older.map(|it| {
        let (class, bytes_min) = moved(&it.storage_class)?;
        Ok(NoncurrentTransition { at: noncurrent_time(it)?, class, bytes_min })
    });
    let noncurrent_transitions = older.collect::<S3Result<Vec<_>>>()?;
    let has_transition = !transitions.is_empty() || !noncurrent_transitions.is_empty();
    if expiration.is_none()
        && !expires_delete_markers
        && noncurrent.is_none()
        && abort_uploads_days.is_none()
        && !has_transition
    {
        return Err(error::invalid_request("At least one action needs to be specified in a rule"));
    }
    Ok(LifecycleRule {
        id,
        is_enabled,
        filter,
        expiration,
        expires_delete_markers,
        noncurrent,
        abort_uploads_days,
        transitions,
        noncurrent_transitions,
    })
}

/// AWS's answer to a storage class that does not exist, with the reason: here it may be a tier that is not configured.
fn unknown_class(rule: &str, class: &str) -> S3Error {
    s3_error!(
        MalformedXML,
        "{}: the rule '{}' moves objects to '{}', which is no storage class of S3 and no tier of this server. Add the \
         tier first, by --tier-file or `mc ilm tier add`.",
        error::MALFORMED_XML,
        error::quoted(rule),
        error::quoted(class)
    )
}

fn parse_filter(sent: &LifecycleRuleFilter) -> S3Result<LifecycleFilter> {
    let LifecycleRuleFilter {
        and,
        object_size_greater_than,
        object_size_less_than,
        prefix,
        tag,
        ..
    } = sent;
    let alone = [
        and.is_some(),
        object_size_greater_than.is_some(),
        object_size_less_than.is_some(),
        prefix.is_some(),
        tag.is_some(),
    ];
    if alone.into_iter().filter(|is_given| *is_given).count() > 1 {
        // Several conditions must be inside an `And` element.
        return Err(error::malformed_xml());
    }
    let filter = match and {
        Some(and) => LifecycleFilter {
            prefix: and.prefix.clone().unwrap_or_default(),
            tags: tags(and.tags.clone().unwrap_or_default())?,
            larger_than: and.object_size_greater_than.map(size).transpose()?,
            smaller_than: and.object_size_less_than.map(size).transpose()?,
        },
        None => LifecycleFilter {
            prefix: prefix.clone().unwrap_or_default(),
            tags: tags(tag.iter().cloned().collect())?,
            larger_than: object_size_greater_than.map(size).transpose()?,
            smaller_than: object_size_less_than.map(size).transpose()?,
        },
    };
    match (filter.larger_than, filter.smaller_than) {
        (Some(larger), Some(smaller)) if larger >= smaller => Err(error::invalid_request(
            "'ObjectSizeGreaterThan' has to be a value less than 'ObjectSizeLessThan'.",
        )),
        _ => Ok(filter),
    }
}

fn tags(sent: Vec<Tag>) -> S3Result<Vec<(String, String)>> {
    let is_repeated = |tag: &Tag| sent.iter().filter(|other| other.key == tag.key).count() > 1;
    if sent.iter().any(is_repeated) {
        return Err(error::invalid_request("Duplicate Tag Keys are not allowed."));
    }
    tagging::of_document(sent, Tagged::Bucket)
}

fn size(sent: i64) -> S3Result<u64> {
    u64::try_from(sent).map_err(|_| error::invalid_request("An object size must not be negative."))
}

fn is_sized(filter: &LifecycleFilter) -> bool {
    filter.larger_than.is_some() || filter.smaller_than.is_some()
}

fn parse_expiration(
    sent: &LifecycleExpiration,
    filter: &LifecycleFilter,
) -> S3Result<(Option<Expiration>, bool)> {
    match (sent.days, &sent.date, sent.expired_object_delete_marker) {
        (Some(days), None, None) => {
            let message = "'Days' for Expiration action must be a positive integer";
            Ok((Some(Expiration::Days(positive(Some(days), message)?)), false))
        }
        (None, Some(date), None) => Ok((Some(Expiration::At(midnight(date)?)), false)),
        (None, None, Some(_)) if !filter.tags.is_empty() || is_sized(filter) => {
            Err(error::invalid_request(
                "ExpiredObjectDeleteMarker cannot be specified with Tags or object sizes.",
            ))
        }
        (None, None, Some(expires)) => Ok((None, expires)),
        _ => Err(error::malformed_xml()),
    }
}

fn midnight(date: &Timestamp) -> S3Result<u64> {
    let seconds = unix_seconds(date.clone()).filter(|seconds| seconds % DAY_S == 0);
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    let seconds = seconds.ok_or_else(|| {
        let details = match unix_seconds(date.clone()).and_then(|it| u64::try_from(it).ok()) {
            Some(seconds) => Details::argument("Date", &iso_date(seconds.saturating_mul(1000))),
            None => Details::named("Date"),
        };
        s3_error!(details, InvalidArgument, "'Date' must be at midnight GMT")
    })?;
    Ok(seconds * 1000)
}

fn parse_noncurrent(sent: &NoncurrentVersionExpiration) -> S3Result<NoncurrentExpiration> {
    let message =
        "'NoncurrentDays' for NoncurrentVersionExpiration action must be a positive integer";
    let days = positive(sent.noncurrent_days, message)?;
    Ok(NoncurrentExpiration { days, keep_newest: kept_newest(sent.newer_noncurrent_versions)? })
}

/// The number of the newest noncurrent versions that stay as they are.
fn kept_newest(sent: Option<i32>) -> S3Result<u32> {
    let Some(count) = sent else { return Ok(0) };
    let count = u32::try_from(count).ok().filter(|it| (1..=NEWER_NONCURRENT_MAX).contains(it));
    count.ok_or_else(|| {
        error::invalid_argument(
            "'NewerNoncurrentVersions' for NoncurrentVersionExpiration action must be a \
             positive integer of at most 100",
        )
    })
}

/// The size of the smallest versions that a transition moves, as on AWS: any if the filter names
/// sizes, or for archives if the bucket asks for that.
fn smallest(
    filter: &LifecycleFilter,
    minimum: &TransitionDefaultMinimumObjectSize,
    class: &str,
) -> u64 {
    let varies = TransitionDefaultMinimumObjectSize::VARIES_BY_STORAGE_CLASS;
    let is_archive = ["GLACIER", "DEEP_ARCHIVE"].contains(&class);
    match is_sized(filter) || (minimum.as_str() == varies && is_archive) {
        true => 0,
        false => TRANSITION_BYTES_MIN,
    }
}

fn transition_time(sent: &TransitionDto) -> S3Result<Expiration> {
    let wrong = || error::invalid_argument("The time of a Transition action is not valid");
    match (sent.days, &sent.date) {
        (Some(days), None) => Ok(Expiration::Days(u32::try_from(days).map_err(|_| wrong())?)),
        (None, Some(date)) => Ok(Expiration::At(midnight(date).map_err(|_| wrong())?)),
        _ => Err(error::malformed_xml()),
    }
}

fn noncurrent_time(sent: &NoncurrentVersionTransition) -> S3Result<NoncurrentExpiration> {
    let days = sent.noncurrent_days.ok_or_else(error::malformed_xml)?;
    let days = u32::try_from(days).map_err(|_| {
        error::invalid_argument(
            "'NoncurrentDays' for NoncurrentVersionTransition action must be nonnegative",
        )
    })?;
    Ok(NoncurrentExpiration { days, keep_newest: kept_newest(sent.newer_noncurrent_versions)? })
}

fn positive(days: Option<i32>, message: &'static str) -> S3Result<u32> {
    let days = days.ok_or_else(error::malformed_xml)?;
    u32::try_from(days)
        .ok()
        .filter(|days| *days > 0)
        .ok_or_else(|| error::invalid_argument(message))
}
