//! S3 Control: tags of buckets by their ARN, which the Terraform provider and Crossplane use since the end of 2025,
//! and the public access block of an account, of which there is none.
//!
//! The service has no name of its own in signatures. Its requests have a version as the first part of the path,
//! and the account in a header; clients also put the account before a host that is a name.

use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use liteio_store::{DocumentKind, Store, StoreError};
use percent_encoding::percent_decode_str;
use s3s::dto::{Tag, Tagging};
use s3s::xml::{DeError, Deserializer};
use s3s::{Body, S3Error, S3Result, s3_error};

use super::bucket_settings::{from_xml, tagging_document};
use super::context::Sent;
use super::details::Details;
use super::document::Document;
use super::headers::header;
use super::query::Query;
use super::route::{Answerer, Level, Route, Scope};
use super::tagging::Tagged;
use super::xml::XmlWriter;
use super::{access, error, plain, refusal};
use liteio_access::state::App;
use liteio_access::{Action, Granted};
use liteio_auth::{AuthBody, Identity};
use liteio_wire::reply::{Dialect, Reply, ReplyBody};

/// The begin of every path of the service.
const VERSION: &str = "/v20180820/";
const ACCOUNT: &str = "x-amz-account-id";

const fn route(operation: &'static str, action: Action, method: &'static str) -> Route {
    Route {
        operation,
        action,
        method,
        level: Level::Bucket,
        scope: Scope::Path,
        required: &[],
        known: &[],
        answerer: Answerer::Plain,
    }
}

/// The operations on tags. Their actions are those of the operations of S3 with the same effect.
static TAG_RESOURCE: Route = route("TagResource", Action::PutBucketTagging, "POST");
static UNTAG_RESOURCE: Route = route("UntagResource", Action::PutBucketTagging, "DELETE");
static LIST_TAGS: Route = route("ListTagsForResource", Action::GetBucketTagging, "GET");

/// True for a request to the service.
pub(super) fn is_request<B>(request: &Request<B>) -> bool {
    request.uri().path().starts_with(VERSION) && request.headers().contains_key(ACCOUNT)
}

/// Answers a request to the service.
pub(super) async fn answer(app: &App, request: Request<AuthBody>) -> Reply {
    let answered = call(app, request).await;
    answered.map_err(|error| refusal::of_error(error).in_dialect(Dialect::S3Control))
}

async fn call(app: &App, request: Request<AuthBody>) -> S3Result<Response<ReplyBody>> {
    let (mut head, body) = request.into_parts();
    Query::of(&head.uri).put_into(&mut head.extensions);
    let path = head.uri.path().strip_prefix(VERSION).unwrap_or_default().to_owned();
    if path == "configuration/publicAccessBlock" && head.method == Method::GET {
        return public_access_block(app, &head);
    }
    let Some(resource) = path.strip_prefix("tags/") else {
        return Err(error::method_not_allowed());
    };
    let route = match head.method {
        Method::POST => &TAG_RESOURCE,
        Method::DELETE => &UNTAG_RESOURCE,
        Method::GET => &LIST_TAGS,
        _ => return Err(error::method_not_allowed()),
    };
    let account = account(&head.headers)?;
    let bucket = bucket_of(resource, account)?;
    let permission = access::of_control(app, Sent::head(&head), route, &bucket, account).await?;
    if head.method != Method::GET
        && let Some(suspended) = app.ask(Store::suspended)
    {
        return Err(error::from_store(suspended));
    }
    match head.method {
        Method::GET => list(&permission),
        Method::DELETE => {
            let query = Query::in_extensions(&head.extensions);
            let keys = query.pairs().filter(|(name, _)| *name == "tagKeys");
            let keys: Vec<String> = keys.map(|(_, key)| key.to_owned()).collect();
            if keys.is_empty() {
                return Err(error::invalid_request("The request names no tagKeys."));
            }
            change(app, &permission, move |tags| tags.retain(|(key, _)| !keys.contains(key))).await
        }
        _ => {
            let mut request = Request::from_parts(head.clone(), Body::http_body(body));
            request.extensions_mut().insert(route);
            let document = Document::of(&request).ok_or_else(error::malformed_xml)?;
            let (_, body) = document.read(request).await?.into_parts();
            let sent = parse(&body.bytes().unwrap_or_default())?;
            // Receiving the document may take minutes, in which policies change.
            let head = Sent::head(&head);
            let permission = access::of_control(app, head, route, &bucket, account).await?;
            change(app, &permission, move |tags| {
                tags.retain(|(key, _)| sent.iter().all(|(other, _)| other != key));
                tags.extend(sent.iter().cloned());
            })
            .await
        }
    }
}

/// The account that the request is for.
fn account(headers: &HeaderMap) -> S3Result<&str> {
    let account = header(headers, ACCOUNT).unwrap_or_default();
    match account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Ok(account),
        false => Err(s3_error!(
            Details::argument(ACCOUNT, account),
            InvalidRequest,
            "The account id has 12 digits."
        )),
    }
}

/// The bucket that an ARN in a path names: `arn:aws:s3:::BUCKET`, or `arn:aws:s3:REGION:ACCOUNT:bucket/BUCKET`.
fn bucket_of(resource: &str, account: &str) -> S3Result<String> {
    let arn = percent_decode_str(resource).decode_utf8();
    let arn = arn.map_err(|_| s3_error!(InvalidURI, "Couldn't parse the specified URI."))?;
    let invalid = || {
        let details = Details::argument("resourceArn", &arn);
        s3_error!(details, InvalidRequest, "The resource is no ARN of a bucket of the account.")
    };
    let rest = arn.strip_prefix("arn:").ok_or_else(invalid)?;
    let mut parts = rest.splitn(5, ':');
    let mut next = || parts.next().unwrap_or_default();
    let (_partition, service, region, owner, name) = (next(), next(), next(), next(), next());
    if service != "s3" {
        // Tags of access grants, outposts and storage lenses.
        return Err(error::method_not_allowed());
    }
    let bucket = match (region, owner) {
        ("", "") => name,
        (_, owner) if owner == account => match name.split_once('/') {
            Some(("bucket", bucket)) => bucket,
            // An access point or a job.
            _ => return Err(error::method_not_allowed()),
        },
        _ => return Err(invalid()),
    };
    match bucket.is_empty() || bucket.contains('/') {
        true => Err(invalid()),
        false => Ok(bucket.to_owned()),
    }
}

/// The tags of a document, each key once.
fn parse(document: &[u8]) -> S3Result<Vec<(String, String)>> {
    let mut tags: Vec<Tag> = Vec::new();
    let mut parser = Deserializer::new(document);
    let parsed = parser.named_element("TagResourceRequest", |parser| {
        parser.for_each_element(|parser, name| match name {
            b"Tags" => {
                tags.extend(parser.list_content::<Tag>("Tag")?);
                Ok(())
            }
            _ => Err(DeError::UnexpectedTagName),
        })
    });
    parsed.map_err(|_| error::malformed_xml())?;
    // The rules of all tags of a bucket.
    tagging_document(tags.clone(), Tagged::Bucket)?;
    Ok(pairs(tags))
}

fn pairs(tags: Vec<Tag>) -> Vec<(String, String)> {
    let pair = |tag: Tag| Some((tag.key?, tag.value.unwrap_or_default()));
    tags.into_iter().filter_map(pair).collect()
}

fn kept(document: Option<&[u8]>) -> S3Result<Vec<(String, String)>> {
    let kept: Option<Tagging> = document.map(from_xml).transpose()?;
    Ok(kept.map(|tagging| pairs(tagging.tag_set)).unwrap_or_default())
}

fn list(granted: &Granted) -> S3Result<Response<ReplyBody>> {
    let tags = kept(granted.bucket().settings.document(DocumentKind::Tagging))?;
    let mut xml = XmlWriter::without_namespace("ListTagsForResourceResult");
    xml.open("Tags");
    for (key, value) in tags {
        xml.open("Tag");
        xml.text("Key", &key);
        xml.text("Value", &value);
        xml.close("Tag");
    }
    xml.close("Tags");
    let mut response = Response::new(ReplyBody::from(xml.finish()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    Ok(response)
}

/// Changes the tags of the bucket in one transaction.
async fn change(
    app: &App,
    granted: &Granted,
    change: impl Fn(&mut Vec<(String, String)>) + Send + 'static,
) -> S3Result<Response<ReplyBody>> {
    let changed = move |old: Option<&[u8]>| -> S3Result<Option<Vec<u8>>> {
        let mut tags = kept(old)?;
        change(&mut tags);
        if tags.is_empty() {
            return Ok(None);
        }
        let tag = |(key, value)| Tag { key: Some(key), value: Some(value) };
        tagging_document(tags.into_iter().map(tag).collect(), Tagged::Bucket).map(Some)
    };
    // With the words of the rule that is broken. The transaction decides.
    changed(granted.bucket().settings.document(DocumentKind::Tagging))?;
    let in_store = move |old: Option<&[u8]>| {
        changed(old).map_err(|error: S3Error| StoreError::InvalidRequest {
            message: error.message().unwrap_or_default().to_owned(),
        })
    };
    let stored = app.store.change_document(granted.bucket(), DocumentKind::Tagging, in_store).await;
    stored.map_err(error::from_store)?;
    plain::no_content()
}

/// No account has a public access block: those of buckets count.
fn public_access_block(app: &App, head: &Parts) -> S3Result<Response<ReplyBody>> {
    let account = account(&head.headers)?;
    let owner = app.directory.now().account(account).map(|it| it.canonical_id.clone());
    let key = head.extensions.get().and_then(Identity::key);
    let sender = key.map(|key| key.user.canonical_id().to_owned());
    if sender.is_none() || sender != owner {
        return Err(error::access_denied());
    }
    Err(error::custom(
        "NoSuchPublicAccessBlockConfiguration",
        StatusCode::NOT_FOUND,
        "The public access block configuration was not found",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_an_arn_name_a_bucket() {
        let account = "111122223333";
        for arn in [
            "arn:aws:s3:::my-bucket",
            "arn%3Aaws%3As3%3A%3A%3Amy-bucket",
            "arn:aws:s3:us-east-1:111122223333:bucket/my-bucket",
            "arn%3Aaws%3As3%3Aus-east-1%3A111122223333%3Abucket%2Fmy-bucket",
        ] {
            assert_eq!(bucket_of(arn, account).ok().as_deref(), Some("my-bucket"), "{arn}");
        }
        for (arn, code) in [
            ("my-bucket", "InvalidRequest"),
            ("arn:aws:s3:::", "InvalidRequest"),
            ("arn:aws:s3:::a/b", "InvalidRequest"),
            ("arn:aws:s3:us-east-1:999999999999:bucket/b", "InvalidRequest"),
            ("arn:aws:s3:us-east-1:111122223333:accesspoint/b", "MethodNotAllowed"),
            ("arn:aws:s3-outposts:us-east-1:111122223333:outpost/b", "MethodNotAllowed"),
            ("%FF", "InvalidURI"),
        ] {
            let refused = bucket_of(arn, account).expect_err(arn);
            assert_eq!(refused.code().as_str(), code, "{arn}");
        }
    }
}
