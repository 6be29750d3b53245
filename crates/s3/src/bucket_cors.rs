//! The CORS rules of a bucket, responses to preflight requests, and the CORS headers of other
//! responses.

use std::borrow::Cow;
use std::sync::Arc;

use http::header::ACCESS_CONTROL_ALLOW_ORIGIN;
use http::{HeaderMap, HeaderName, Method, Response};
use liteio_store::{Bucket, DocumentKind};
use s3s::dto::{
    CORSConfiguration, CORSRule, DeleteBucketCorsInput, DeleteBucketCorsOutput, GetBucketCorsInput,
    GetBucketCorsOutput, PutBucketCorsInput, PutBucketCorsOutput,
};
use s3s::{S3Response, S3Result, s3_error};

use super::bucket_settings::{drop_kept, from_xml, keep, kept};
use super::limits::{CORS_RULES_MAX, RULE_ID_BYTES_MAX};
use super::{Req, Resp, access_log, error};
use liteio_access::state::App;
use liteio_access::{self as access, Granted};
use liteio_wire::cors::{self, Cors, CorsRule, METHODS, PageRequest, PreflightAnswer};
use liteio_wire::origin::{DenialBy, Origin};
use liteio_wire::reply::{ApiError, ErrorCode, Reply, ReplyBody};

pub(super) async fn put_bucket_cors(
    app: &App,
    granted: Granted,
    request: Req<PutBucketCorsInput>,
) -> Resp<PutBucketCorsOutput> {
    let sent = request.input.cors_configuration;
    parse(&sent)?;
    keep(app, &granted, DocumentKind::Cors, &sent).await?;
    Ok(S3Response::new(PutBucketCorsOutput::default()))
}

pub(super) async fn get_bucket_cors(
    _app: &App,
    granted: Granted,
    _request: Req<GetBucketCorsInput>,
) -> Resp<GetBucketCorsOutput> {
    let kept: Option<CORSConfiguration> = kept(&granted, DocumentKind::Cors)?;
    let kept = kept.ok_or_else(|| {
        s3_error!(NoSuchCORSConfiguration, "The CORS configuration does not exist")
    })?;
    Ok(S3Response::new(GetBucketCorsOutput { cors_rules: Some(kept.cors_rules) }))
}

pub(super) async fn delete_bucket_cors(
    app: &App,
    granted: Granted,
    _request: Req<DeleteBucketCorsInput>,
) -> Resp<DeleteBucketCorsOutput> {
    drop_kept(app, &granted, DocumentKind::Cors).await?;
    Ok(S3Response::new(DeleteBucketCorsOutput::default()))
}

/// The reasons of refusals, before what was asked for.
const NO_RULE: &str = "no CORS rule";
const NO_RULES: &str = "neither CORS rules of the bucket nor --cors-origin";

/// The rules of a bucket, parsed once per change of its settings.
fn of_bucket(bucket: &Bucket) -> S3Result<Option<Arc<Cors>>> {
    bucket.settings.parsed(DocumentKind::Cors, |document| parse(&from_xml(document)?))
}

/// The bucket of this name, and the rules for it: its own, or the server's if it has none, or if there is no such bucket.
async fn rules_of(app: &App, name: &str) -> (Option<Arc<Bucket>>, S3Result<Option<Arc<Cors>>>) {
    let bucket = app.look(|store| access::bucket_for_rules(store, name)).await.ok();
    let own = bucket.as_deref().map(of_bucket).transpose();
    (bucket, own.map(|own| own.flatten().or_else(|| app.cors.clone())))
}

/// The bucket of a preflight request, and whether the request names a key of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) bucket: &'a str,
    pub(super) names_key: bool,
}

/// The kind of answer that [`preflight`] would give. Nothing is noted for the logs: another space may be the one that answers.
pub(super) async fn preflight_answer(
    app: &App,
    headers: &HeaderMap,
    name: &str,
) -> PreflightAnswer {
    let (bucket, rules) = rules_of(app, name).await;
    let is_allowed = match (PageRequest::of(&Method::OPTIONS, headers), rules) {
        (Some(page), Ok(Some(cors))) => {
            page.asked_method().is_some() && cors.preflight(&page).is_some()
        }
        _ => false,
    };
    match (is_allowed, bucket) {
        (true, _) => PreflightAnswer::Allowed,
        (false, Some(_)) => PreflightAnswer::Refused,
        (false, None) => PreflightAnswer::NoBucket,
    }
}

/// Answers a preflight request by the bucket's rules, or by the server's if it has none. Browsers
/// do not sign preflight requests; the response reveals only the rules.
pub(super) async fn preflight(
    app: &App,
    headers: &HeaderMap,
    place: Place<'_>,
    origin: &Origin,
) -> Reply {
    let page = PageRequest::of(&Method::OPTIONS, headers).filter(|page| !page.origin.is_empty());
    let Some(page) = page else {
        return Err(bad_request("Insufficient information. Origin request header needed."));
    };
    // What the request names must be valid before the bucket is looked up. A method that it does not
    // name is missed later. (Recorded on AWS in LocalStack's `test_cors_http_options_no_config`.)
    let is_known = |method: &str| METHODS.iter().any(|known| known == method);
    if let Some(asked) = page.asked_method().filter(|asked| !is_known(asked)) {
        return Err(invalid_method(asked));
    }
    if let Some(name) = page.invalid_header() {
        return Err(bad_request(format!(
            "Access-Control-Request-Headers \"{}\" contains invalid character.",
            error::quoted(&name)
        )));
    }
    let (bucket, rules) = rules_of(app, place.bucket).await;
    let forbidden = |message, kind| forbidden(message, page.method(), kind);
    if let Some(bucket) = &bucket {
        origin.found.note_owner(&bucket.owner.id);
        access_log::by_rules(app, bucket, &Method::OPTIONS, headers, origin);
    }
    let Some(cors) = rules.map_err(super::refusal::of_error)? else {
        let message = match bucket {
            Some(_) => "CORSResponse: CORS is not enabled for this bucket.",
            None => "CORSResponse: Bucket not found",
        };
        origin.found.note_denial(DenialBy::Owner, || refusal(&page, NO_RULES));
        // The bucket lacks the rules, whatever the path names.
        return Err(forbidden(message, "BUCKET"));
    };
    if page.asked_method().is_none() {
        return Err(invalid_method("null"));
    }
    let Some(headers) = cors.preflight(&page) else {
        origin.found.note_denial(DenialBy::Owner, || refusal(&page, NO_RULE));
        return Err(forbidden(
            // "evalution" is AWS's spelling, which recorded answers show.
            "CORSResponse: This CORS request is not allowed. This is usually because the evalution \
             of Origin, request method / Access-Control-Request-Method or \
             Access-Control-Request-Headers are not whitelisted by the resource's CORS spec.",
            if place.names_key { "OBJECT" } else { "BUCKET" },
        ));
    };
    let mut response = Response::new(ReplyBody::empty());
    *response.headers_mut() = headers;
    Ok(response)
}

/// The reason for the log, because a browser shows nobody the answer.
fn refusal(page: &PageRequest, missing: &str) -> String {
    let from = String::from_utf8_lossy(page.origin.as_bytes());
    let (method, headers) = (page.method(), page.headers().join(", "));
    let with = if headers.is_empty() { "" } else { " with the headers " };
    format!("{missing} for {method}{with}{headers} from a page of {from}")
}

/// The CORS headers of a response to a page, by the bucket's rules, or by the server's if it has
/// none. The log learns why a browser hides the response.
pub(super) async fn headers(
    app: &App,
    page: &PageRequest,
    bucket: &str,
    origin: &Origin,
) -> Option<HeaderMap> {
    let cors = rules_of(app, bucket).await.1.ok()?;
    let headers = cors.as_ref().map(|cors| cors.actual(page));
    let is_allowed =
        headers.as_ref().is_some_and(|it| it.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN));
    if !is_allowed && page.needs_permission(origin.target.host()) {
        let missing = if cors.is_some() { NO_RULE } else { NO_RULES };
        origin.found.note_cors_refusal(|| refusal(page, missing));
    }
    headers
}

/// The header `Vary` of a response to a request without an origin, if CORS rules apply to it.
///
/// AWS sends it only beside an origin. A browser may then take the answer for an `<img>` out of its cache for the same image
/// with `crossorigin`, and block it, because that answer names no origin.
pub(super) fn vary(app: &App, origin: &Origin) -> Option<HeaderMap> {
    (app.cors.is_some() || origin.found.has_cors()).then(cors::vary)
}

fn bad_request(message: impl Into<Cow<'static, str>>) -> ApiError {
    ApiError::new(ErrorCode::BadRequest, message)
}

/// The error for a method that rules cannot name: they are `GET`, `PUT`, `POST`, `DELETE` and
/// `HEAD`, in capitals.
fn invalid_method(asked: &str) -> ApiError {
    bad_request(format!("Invalid Access-Control-Request-Method: {}", error::quoted(asked)))
}

fn forbidden(message: &'static str, method: &str, kind: &'static str) -> ApiError {
    let error = ApiError::new(ErrorCode::AccessForbidden, message);
    error.with("Method", method).with("ResourceType", kind)
}

/// Parses and checks the rules in a document.
pub(super) fn parse(sent: &CORSConfiguration) -> S3Result<Cors> {
    if sent.cors_rules.is_empty() {
        return Err(error::malformed_xml());
    }
    if sent.cors_rules.len() > CORS_RULES_MAX {
        return Err(error::invalid_request(
            "The number of CORS rules should not exceed allowed limit of 100 rules.",
        ));
    }
    let rules = sent.cors_rules.iter().map(parse_rule).collect::<S3Result<_>>()?;
    Ok(Cors { rules })
}

fn parse_rule(sent: &CORSRule) -> S3Result<CorsRule> {
    if sent.id.as_ref().is_some_and(|id| id.len() > RULE_ID_BYTES_MAX) {
        return Err(error::invalid_request("The ID of a CORS rule has at most 255 bytes."));
    }
    if sent.allowed_methods.is_empty() || sent.allowed_origins.is_empty() {
        return Err(error::malformed_xml());
    }
    for method in &sent.allowed_methods {
        if !METHODS.iter().any(|known| known == method.as_str()) {
            return Err(error::invalid_request(format!(
                "Found unsupported HTTP method in CORS config. Unsupported method is {}",
                error::quoted(method)
            )));
        }
    }
    let headers = sent.allowed_headers.clone().unwrap_or_default();
    let exposed = sent.expose_headers.clone().unwrap_or_default();
    for (what, patterns) in [("AllowedOrigin", &sent.allowed_origins), ("AllowedHeader", &headers)]
    {
        // AWS takes an empty origin, which no page has.
        let may_be_empty = |pattern: &str| what == "AllowedOrigin" && pattern.is_empty();
        for pattern in patterns.iter().filter(|pattern| !may_be_empty(pattern)) {
            match what {
                "AllowedHeader" => check_name(pattern)?,
                _ => check_text(what, pattern)?,
            }
            if pattern.matches('*').count() > 1 {
                let pattern = error::quoted(pattern);
                return Err(error::invalid_request(format!(
                    "{what} \"{pattern}\" can not have more than one wildcard."
                )));
            }
        }
    }
    for name in &exposed {
        check_name(name)?;
        if name.contains('*') {
            let name = error::quoted(name);
            return Err(error::invalid_request(format!(
                "ExposeHeader \"{name}\" contains wildcard. We currently do not support wildcard for \
                 ExposeHeader."
            )));
        }
    }
    let max_age_s = sent.max_age_seconds.map(|seconds| {
        u32::try_from(seconds)
            .map_err(|_| error::invalid_request("MaxAgeSeconds must not be negative."))
    });
    Ok(CorsRule {
        origins: sent.allowed_origins.clone(),
        methods: sent.allowed_methods.clone(),
        headers,
        exposed,
        max_age_s: max_age_s.transpose()?,
        echoes: false,
    })
}

/// Checks that a header can have this name, or that a pattern can match one: `*` may be in a name.
/// AWS calls the names that it exposes "AllowedHeader" here, too.
fn check_name(name: &str) -> S3Result<()> {
    match HeaderName::from_bytes(name.as_bytes()).is_ok() {
        true => Ok(()),
        false => Err(error::invalid_request(format!(
            "AllowedHeader \"{}\" contains invalid character.",
            error::quoted(name)
        ))),
    }
}

/// Checks that a text can be sent in a header.
fn check_text(what: &str, text: &str) -> S3Result<()> {
    match !text.is_empty() && text.bytes().all(|byte| (0x21..0x7f).contains(&byte)) {
        true => Ok(()),
        false => Err(error::invalid_request(format!(
            "{what} must have visible characters of ASCII, and only those."
        ))),
    }
}
