//! GetBucketAbac and PutBucketAbac: attribute-based access control by bucket tags.
//!
//! Always disabled, the default on AWS, because authorization does not use bucket tags. Accepting
//! `Enabled` would leave a bucket open to principals that the tags should keep out.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use s3s::xml::{DeError, Deserializer};
use s3s::{S3Error, S3ErrorCode, S3Result};

use super::error;
use super::plain::{self, PlainRequest, PlainResponse};
use super::xml::XmlWriter;
use liteio_access::state::App;
use liteio_wire::reply::ReplyBody;

const ROOT: &str = "AbacStatus";

pub(super) async fn get_bucket_abac(_app: &App, _request: PlainRequest) -> PlainResponse {
    let mut xml = XmlWriter::new(ROOT, 0);
    xml.text("Status", "Disabled");
    let mut response = Response::new(ReplyBody::from(xml.finish()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    Ok(response)
}

pub(super) async fn put_bucket_abac(_app: &App, request: PlainRequest) -> PlainResponse {
    match &*status(&request.body)? {
        "Disabled" => plain::done(),
        "Enabled" => Err(S3Error::with_message(
            S3ErrorCode::NotImplemented,
            "Access control by the tags of buckets is not implemented by LiteIO: its status is always \
             Disabled.",
        )),
        _ => Err(error::malformed_xml()),
    }
}

fn status(document: &[u8]) -> S3Result<String> {
    let mut status = None;
    let mut parser = Deserializer::new(document);
    let parsed = parser.named_element(ROOT, |parser| {
        parser.for_each_element(|parser, _| match status.replace(parser.content::<String>()?) {
            None => Ok(()),
            Some(_) => Err(DeError::DuplicateField),
        })
    });
    parsed.ok().and(status).ok_or_else(error::malformed_xml)
}
