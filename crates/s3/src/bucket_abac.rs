//! GetBucketAbac and PutBucketAbac: access by the tags of a bucket.
//!
//! No decision looks at tags, so it is disabled, as it is on AWS until somebody enables it; a bucket for which
//! it seemed enabled would be open to whom its tags were to keep out.

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
    match &*status(&request.document)? {
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
