//! The website configuration of a bucket.

use std::sync::Arc;

use liteio_store::{Bucket, DocumentKind};
use s3s::dto::{
    DeleteBucketWebsiteInput, DeleteBucketWebsiteOutput, GetBucketWebsiteInput,
    GetBucketWebsiteOutput, Protocol, PutBucketWebsiteInput, PutBucketWebsiteOutput, RoutingRule,
    WebsiteConfiguration,
};
use s3s::{S3Response, S3Result, s3_error};

use super::bucket_settings::{drop_kept, from_xml, keep, kept};
use super::details::Details;
use super::limits::ROUTING_RULES_MAX;
use super::{Req, Resp, error};
use crate::website_rules::{NewKey, Pages, Rule, Website};
use liteio_access::Granted;
use liteio_access::state::App;

pub(super) async fn put_bucket_website(
    app: &App,
    granted: Granted,
    request: Req<PutBucketWebsiteInput>,
) -> Resp<PutBucketWebsiteOutput> {
    let sent = request.input.website_configuration;
    parse(&sent)?;
    keep(app, &granted, DocumentKind::Website, &sent).await?;
    Ok(S3Response::new(PutBucketWebsiteOutput::default()))
}

pub(super) async fn get_bucket_website(
    _app: &App,
    granted: Granted,
    _request: Req<GetBucketWebsiteInput>,
) -> Resp<GetBucketWebsiteOutput> {
    let kept: Option<WebsiteConfiguration> = kept(&granted, DocumentKind::Website)?;
    let kept = kept.ok_or_else(|| {
        s3_error!(
            NoSuchWebsiteConfiguration,
            "The specified bucket does not have a website configuration"
        )
    })?;
    Ok(S3Response::new(GetBucketWebsiteOutput {
        error_document: kept.error_document,
        index_document: kept.index_document,
        redirect_all_requests_to: kept.redirect_all_requests_to,
        routing_rules: kept.routing_rules,
    }))
}

pub(super) async fn delete_bucket_website(
    app: &App,
    granted: Granted,
    _request: Req<DeleteBucketWebsiteInput>,
) -> Resp<DeleteBucketWebsiteOutput> {
    drop_kept(app, &granted, DocumentKind::Website).await?;
    Ok(S3Response::new(DeleteBucketWebsiteOutput::default()))
}

/// The website of a bucket, parsed once per change of its settings.
pub(super) fn of_bucket(bucket: &Bucket) -> S3Result<Option<Arc<Website>>> {
    bucket.settings.parsed(DocumentKind::Website, |document| parse(&from_xml(document)?))
}

/// Parses and checks the configuration in a document.
fn parse(sent: &WebsiteConfiguration) -> S3Result<Website> {
    let rules = sent.routing_rules.as_deref().unwrap_or_default();
    if rules.is_empty() && sent.routing_rules.is_some() {
        return Err(error::malformed_xml());
    }
    if let Some(elsewhere) = &sent.redirect_all_requests_to {
        if sent.index_document.is_some() || sent.error_document.is_some() || !rules.is_empty() {
            return Err(s3_error!(
                Details::argument("RedirectAllRequestsTo", "not null"),
                InvalidArgument,
                "RedirectAllRequestsTo cannot be provided in conjunction with other Routing Rules."
            ));
        }
        let host = host(&elsewhere.host_name)?;
        return Ok(Website::Elsewhere { host, protocol: protocol(elsewhere.protocol.as_ref())? });
    }
    let Some(index) = &sent.index_document else {
        return Err(s3_error!(
            Details::argument("IndexDocument", "null"),
            InvalidArgument,
            "A value for IndexDocument Suffix must be provided if RedirectAllRequestsTo is empty"
        ));
    };
    if index.suffix.is_empty() || index.suffix.contains('/') {
        return Err(s3_error!(
            Details::argument("IndexDocument", &index.suffix),
            InvalidArgument,
            "The IndexDocument Suffix is not well formed"
        ));
    }
    let error = sent.error_document.as_ref().map(|document| document.key.clone());
    if error.as_ref().is_some_and(String::is_empty) {
        return Err(s3_error!(
            Details::argument("ErrorDocument", ""),
            InvalidArgument,
            "The ErrorDocument Key is not well formed"
        ));
    }
    if rules.len() > ROUTING_RULES_MAX {
        return Err(error::invalid_request(format!(
            "{} routing rules provided, the number of routing rules in a website configuration is limited \
             to {ROUTING_RULES_MAX}.",
            rules.len()
        )));
    }
    let rules = rules.iter().map(parse_rule).collect::<S3Result<_>>()?;
    Ok(Website::Pages(Pages { index: index.suffix.clone(), error, rules }))
}

fn parse_rule(sent: &RoutingRule) -> S3Result<Rule> {
    let (condition, redirect) = (sent.condition.as_ref(), &sent.redirect);
    let prefix = condition.and_then(|it| it.key_prefix_equals.clone());
    let failed = condition.and_then(|it| it.http_error_code_returned_equals.as_deref());
    if condition.is_some() && prefix.is_none() && failed.is_none() {
        return Err(error::invalid_request(
            "Condition cannot be empty. To redirect all requests without a condition, the condition \
             element shouldn't be present.",
        ));
    }
    let failed = failed.map(|text| {
        code(text, |code| matches!(code, 400..=599)).ok_or_else(|| {
            error::invalid_request(format!(
                "The provided HTTP error code ({}) is not valid. Valid codes are 4XX or 5XX.",
                error::quoted(text)
            ))
        })
    });
    let status = redirect.http_redirect_code.as_deref().map(|text| {
        code(text, |code| matches!(code, 301..=399)).ok_or_else(|| {
            error::invalid_request(format!(
                "The provided HTTP redirect code ({}) is not valid. Valid codes are 3XX except 300.",
                error::quoted(text)
            ))
        })
    });
    let key = match (&redirect.replace_key_prefix_with, &redirect.replace_key_with) {
        (Some(_), Some(_)) => {
            return Err(error::invalid_request(
                "You can only define ReplaceKeyPrefix or ReplaceKey but not both.",
            ));
        }
        (Some(prefix), None) => NewKey::Prefix(prefix.clone()),
        (None, Some(key)) => NewKey::Whole(key.clone()),
        (None, None) => NewKey::Same,
    };
    let host = redirect.host_name.as_deref().map(host).transpose()?;
    let protocol = protocol(redirect.protocol.as_ref())?;
    let says_nothing =
        host.is_none() && protocol.is_none() && status.is_none() && key == NewKey::Same;
    if says_nothing {
        return Err(error::malformed_xml());
    }
    Ok(Rule {
        prefix,
        failed: failed.transpose()?,
        host,
        protocol,
        status: status.transpose()?,
        key,
    })
}

fn code(text: &str, is_valid: impl FnOnce(u16) -> bool) -> Option<u16> {
    let code = text.parse().ok().filter(|_| text.len() == 3)?;
    is_valid(code).then_some(code)
}

/// Checks a host name for use in a URL and a header.
fn host(text: &str) -> S3Result<String> {
    let is_host = !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte));
    match is_host {
        true => Ok(text.to_owned()),
        false => Err(s3_error!(
            Details::argument("HostName", text),
            InvalidArgument,
            "The HostName of a redirect must be a host name."
        )),
    }
}

fn protocol(sent: Option<&Protocol>) -> S3Result<Option<String>> {
    match sent.map(Protocol::as_str) {
        None => Ok(None),
        Some(known @ ("http" | "https")) => Ok(Some(known.to_owned())),
        Some(_) => Err(error::invalid_request(
            "Invalid protocol, protocol can be http or https. If not defined the protocol will be selected \
             automatically.",
        )),
    }
}
