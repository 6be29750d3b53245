//! Uploads in parts.

use bytes::Bytes;
use http::Method;

use super::document::escaped;
use super::exchange::S3;
use super::object::CopySource;
use super::request::{Request, Sent};
use crate::error::{Error, ServiceError};

/// An upload that is under way.
#[derive(Clone, Debug)]
pub(crate) struct Upload {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) id: String,
}

/// A part that is stored.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) number: u32,
    pub(crate) etag: String,
}

/// A range of the source of a copy, the last byte included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl S3 {
    pub(crate) async fn begin_upload(
        &self,
        bucket: &str,
        key: &str,
        headers: &[(String, String)],
    ) -> Result<Upload, Error> {
        let request = Request::new(Method::POST, bucket, key).query("uploads", "").headers(headers);
        let answer = self.send(&request).await?.document().await?;
        match answer.text("UploadId") {
            Some(id) if !id.is_empty() => {
                Ok(Upload { bucket: bucket.to_owned(), key: key.to_owned(), id: id.to_owned() })
            }
            _ => Err(Error::transport("the service gave the upload no id")),
        }
    }

    pub(crate) async fn put_part(
        &self,
        upload: &Upload,
        number: u32,
        body: Bytes,
        sent: Option<Sent>,
    ) -> Result<Part, Error> {
        let mut request = part(upload, number).body(body);
        request.sent = sent;
        let response = self.send(&request).await?;
        match response.header("etag") {
            Some(etag) => Ok(Part { number, etag: etag.to_owned() }),
            None => Err(Error::transport("the service gave the part no ETag")),
        }
    }

    pub(crate) async fn copy_part(
        &self,
        upload: &Upload,
        number: u32,
        source: CopySource<'_>,
        span: Span,
    ) -> Result<Part, Error> {
        let range = format!("bytes={}-{}", span.first, span.last);
        let request =
            part(upload, number).copy_from(source).header("x-amz-copy-source-range", range);
        let answer = self.send(&request).await?.document().await?;
        match answer.text("ETag") {
            Some(etag) => Ok(Part { number, etag: etag.to_owned() }),
            None => Err(Error::transport("the service gave the part no ETag")),
        }
    }

    /// Makes the object of its parts, which are in the order of their numbers.
    pub(crate) async fn complete_upload(
        &self,
        upload: &Upload,
        parts: &[Part],
    ) -> Result<(), Error> {
        let parts: String = parts
            .iter()
            .map(|Part { number, etag }| {
                let etag = escaped(etag);
                format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>")
            })
            .collect();
        let document = format!(
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{parts}\
             </CompleteMultipartUpload>"
        );
        let mut request = Request::new(Method::POST, &upload.bucket, &upload.key)
            .query("uploadId", &upload.id)
            .document(document);
        request.slow = true;
        let mut attempt = 0;
        loop {
            let result = match self.send(&request).await {
                Ok(response) => response.document().await.map(drop),
                Err(error) => Err(error),
            };
            // A failure may come within an answer that began as success; until then nothing has become
            // visible, and the parts are still there.
            match result {
                Err(Error::Service(ServiceError { ref code, .. }))
                    if matches!(code.as_str(), "InternalError" | "SlowDown")
                        && attempt < self.retries() =>
                {
                    super::exchange::pause(attempt).await;
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    pub(crate) async fn abort_upload(&self, upload: &Upload) -> Result<(), Error> {
        let request =
            Request::new(Method::DELETE, &upload.bucket, &upload.key).query("uploadId", &upload.id);
        match self.send(&request).await {
            Err(error) if error.is_missing() => Ok(()),
            result => result.map(drop),
        }
    }
}

fn part(upload: &Upload, number: u32) -> Request {
    Request::new(Method::PUT, &upload.bucket, &upload.key)
        .query("partNumber", &number.to_string())
        .query("uploadId", &upload.id)
}
