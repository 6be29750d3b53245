//! Server access logging of buckets: PutBucketLogging, GetBucketLogging, and the setting as deliveries read it.

use std::sync::Arc;

use http::StatusCode;
use liteio_store::{Bucket, DocumentKind};
use s3s::dto::{
    BucketLoggingStatus, GetBucketLoggingInput, GetBucketLoggingOutput, Grant as GrantDto,
    LoggingEnabled, Payer, Permission as PermissionDto, PutBucketLoggingInput,
    PutBucketLoggingOutput, RequestPaymentConfiguration, TargetGrant,
};
use s3s::{S3Error, S3Response, S3Result, s3_error};

use super::bucket_settings::{from_xml, keep, kept};
use super::context::Sent;
use super::details::Details;
use super::{Req, Resp, access, acl, acl_request, error, ownership};
use liteio_access::state::App;
use liteio_access::{Action, Granted};
use liteio_policy::acl::{Acl, Grant, Grantee, Permission, encode};

/// The server access logging of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logging {
    /// The name of the target bucket.
    pub target: String,
    /// The prefix of the keys of log objects.
    pub prefix: String,
    /// The form of the keys.
    pub key_format: KeyFormat,
    /// The grants on log objects besides the ones of their owner, where ACLs apply.
    pub grants: Vec<Grant>,
}

/// The form of the keys of log objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFormat {
    /// `PREFIX2026-01-31-23-59-59-UNIQUE`
    Simple,
    /// `PREFIXACCOUNT/REGION/BUCKET/2026/01/31/2026-01-31-00-00-00-UNIQUE`, by the day of the requests.
    ByEventTime,
    /// The same by the time of the delivery.
    ByDeliveryTime,
}

impl Logging {
    /// The ACL of a log object, as stored; `None` for the default.
    #[must_use]
    pub fn acl(&self, owner: &liteio_store::Owner) -> Option<Vec<u8>> {
        if self.grants.is_empty() {
            return None;
        }
        let (id, display_name) = (owner.id.clone(), owner.display_name.clone());
        let grantee = Grantee::Account { id, display_name };
        let mut grants = vec![Grant { grantee, permission: Permission::FullControl }];
        grants.extend(self.grants.iter().cloned());
        Acl::new(grants).ok().map(|acl| encode(&acl))
    }
}

/// The server access logging of a bucket; `None` without, and for a document that cannot be read.
pub fn of_bucket(app: &App, bucket: &Bucket) -> Option<Arc<Logging>> {
    let parsed = bucket.settings.parsed(DocumentKind::Logging, |document| {
        let status: BucketLoggingStatus = from_xml(document)?;
        // An unset logging is a document, too.
        let Some(mut enabled) = status.logging_enabled else { return Ok(None) };
        let grants = enabled.target_grants.take().unwrap_or_default();
        let logging = read(app, enabled)?;
        // The accounts of some grants may have been deleted since.
        let known = grants.into_iter().filter_map(|grant| granted_to(app, vec![grant]).ok());
        let grants = known.flatten().collect();
        Ok::<_, S3Error>(Some(Arc::new(Logging { grants, ..logging })))
    });
    let parsed: Option<Arc<Option<Arc<Logging>>>> = parsed.ok().flatten();
    parsed.and_then(|logging| (*logging).clone())
}

fn read(app: &App, enabled: LoggingEnabled) -> S3Result<Logging> {
    let key_format = match enabled.target_object_key_format {
        None => KeyFormat::Simple,
        Some(format) => match (format.simple_prefix, format.partitioned_prefix) {
            (Some(_), None) => KeyFormat::Simple,
            (None, Some(partitioned)) => {
                match partitioned.partition_date_source.as_ref().map(|it| it.as_str()) {
                    Some("EventTime") => KeyFormat::ByEventTime,
                    Some("DeliveryTime") => KeyFormat::ByDeliveryTime,
                    _ => return Err(error::malformed_xml()),
                }
            }
            _ => return Err(error::malformed_xml()),
        },
    };
    let grants = granted_to(app, enabled.target_grants.unwrap_or_default())?;
    let (target, prefix) = (enabled.target_bucket, enabled.target_prefix);
    Ok(Logging { target, prefix, key_format, grants })
}

fn granted_to(app: &App, grants: Vec<TargetGrant>) -> S3Result<Vec<Grant>> {
    let grants = grants.into_iter().map(named).collect::<S3Result<Vec<_>>>()?;
    Ok(acl_request::of_grants(app, grants)?.grants().to_vec())
}

fn named(grant: TargetGrant) -> S3Result<GrantDto> {
    let permission = match grant.permission.as_ref().map(|it| it.as_str()) {
        Some("FULL_CONTROL") => PermissionDto::FULL_CONTROL,
        Some("READ") => PermissionDto::READ,
        Some("WRITE") => PermissionDto::WRITE,
        // Not documented, but accepted by AWS.
        Some("READ_ACP") => PermissionDto::READ_ACP,
        Some("WRITE_ACP") => PermissionDto::WRITE_ACP,
        _ => return Err(error::malformed_xml()),
    };
    let permission = Some(PermissionDto::from_static(permission));
    Ok(GrantDto { grantee: grant.grantee, permission })
}

pub(super) async fn put_bucket_logging(
    app: &App,
    granted: Granted,
    request: Req<PutBucketLoggingInput>,
) -> Resp<PutBucketLoggingOutput> {
    let Req { input, method, uri, headers, extensions, .. } = request;
    let sent = Sent { method: &method, uri: &uri, headers: &headers, extensions: &extensions };
    let status = input.bucket_logging_status;
    if let Some(logging) = &status.logging_enabled {
        let target = target_of(app, &granted, sent, &logging.target_bucket).await?;
        let has_grants = logging.target_grants.as_ref().is_some_and(|grants| !grants.is_empty());
        if has_grants && !ownership::of_bucket(target.bucket())?.acls_count() {
            return Err(acl::not_supported());
        }
        read(app, logging.clone())?;
    }
    keep(app, &granted, DocumentKind::Logging, &status).await?;
    Ok(S3Response::new(PutBucketLoggingOutput::default()))
}

/// The target bucket of logs, which must exist and take them: it has the same owner and region, no default retention
/// and no requester pays. As on AWS, the permission to deliver is checked by each delivery only.
async fn target_of(app: &App, granted: &Granted, sent: Sent<'_>, name: &str) -> S3Result<Granted> {
    let refused = |message: &'static str| {
        s3_error!(
            Details::of("TargetBucket", error::quoted(name)),
            InvalidTargetBucketForLogging,
            "{message}"
        )
    };
    let found = access::other_bucket(app, granted, sent, Action::PutBucketLogging, name).await;
    let is_owned = |found: &Granted| found.bucket().owner.id == granted.bucket().owner.id;
    let found = found.ok().filter(is_owned).ok_or_else(|| {
        refused(
            "The target bucket for logging does not exist, is not owned by you, or does not have the \
             appropriate grants for the log-delivery group.",
        )
    })?;
    let (source, target) = (granted.bucket(), found.bucket());
    if source.region != target.region {
        return Err(other_region(&source.region, &target.region));
    }
    if target.settings.default_retention.is_some() {
        return Err(refused(
            "The target bucket for logging has a default retention. Remove it, or use another bucket.",
        ));
    }
    if is_requester_pays(&found)? {
        return Err(refused(
            "The target bucket for logging has Requester Pays enabled. Disable it, or use another \
             bucket.",
        ));
    }
    Ok(found)
}

fn is_requester_pays(target: &Granted) -> S3Result<bool> {
    let payment: Option<RequestPaymentConfiguration> = kept(target, DocumentKind::RequestPayment)?;
    Ok(payment.is_some_and(|payment| payment.payer.as_str() == Payer::REQUESTER))
}

fn other_region(source: &str, target: &str) -> S3Error {
    let error = error::custom(
        "CrossLocationLoggingProhibited",
        StatusCode::FORBIDDEN,
        "Cross S3 location logging not allowed. ",
    );
    let error = Details::add(error, "SourceBucketLocation", source);
    Details::add(error, "TargetBucketLocation", target)
}

pub(super) async fn get_bucket_logging(
    _app: &App,
    granted: Granted,
    _request: Req<GetBucketLoggingInput>,
) -> Resp<GetBucketLoggingOutput> {
    let kept: Option<BucketLoggingStatus> = kept(&granted, DocumentKind::Logging)?;
    let logging_enabled = kept.and_then(|status| status.logging_enabled);
    Ok(S3Response::new(GetBucketLoggingOutput { logging_enabled }))
}
