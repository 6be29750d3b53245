//! Multipart uploads.

use bytes::Bytes;
use http::Method;

use super::checksum::md5_hex;
use super::document::escaped;
use super::exchange::S3;
use super::object::CopySource;
use super::request::{Request, Sent};
use crate::error::{Error, ServiceError};

/// An upload in progress.
#[derive(Clone, Debug)]
pub(crate) struct Upload {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) id: String,
}

/// A stored part.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) number: u32,
    pub(crate) etag: String,
}

/// A range of the source of a copy, including its last byte.
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

    /// Completes an upload with its parts, in the order of their numbers.
    pub(crate) async fn complete_upload(
        &self,
        upload: &Upload,
        parts: &[Part],
    ) -> Result<(), Error> {
        let etag = whole_etag(parts);
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
        // Idempotent: a repetition finds the upload complete.
        request.repeatable = true;
        let mut attempt = 0;
        loop {
            let result = match self.send(&request).await {
                Ok(response) => response.document().await.map(drop),
                Err(error) => Err(error),
            };
            // A failure may come in an answer that began as success. Until then nothing is visible,
            // and the parts are still there.
            match result {
                Err(Error::Service(ServiceError { ref code, .. }))
                    if matches!(code.as_str(), "InternalError" | "SlowDown")
                        && attempt < self.retries() =>
                {
                    super::exchange::pause(attempt).await;
                    attempt += 1;
                }
                // Not every service remembers a completed upload, and the first answer may have
                // been lost.
                Err(error) if error.code() == "NoSuchUpload" && etag.is_some() => {
                    return match self.head(&upload.bucket, &upload.key, None).await {
                        Ok(head) if Some(&head.etag) == etag.as_ref() => Ok(()),
                        _ => Err(error),
                    };
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

/// ETag of the object that the parts become; `None` if their ETags are no digests.
fn whole_etag(parts: &[Part]) -> Option<String> {
    let mut digests = Vec::new();
    for part in parts {
        let digest = hex_simd::decode_to_vec(part.etag.trim_matches('"')).ok()?;
        digests.extend(Some(digest).filter(|it| it.len() == 16)?);
    }
    Some(format!("{}-{}", md5_hex(&digests), parts.len()))
}

fn part(upload: &Upload, number: u32) -> Request {
    Request::new(Method::PUT, &upload.bucket, &upload.key)
        .query("partNumber", &number.to_string())
        .query("uploadId", &upload.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_etag_of_the_whole_is_that_of_s3() {
        let part = |number, etag: &str| Part { number, etag: etag.to_owned() };
        // Two parts, of 5 MiB of zeros and of the byte 1.
        let parts = [
            part(1, "\"5f363e0e58a95f06cbe9bbc662c5dfb6\""),
            part(2, "\"55a54008ad1ba589aa210d2629c1df41\""),
        ];
        assert_eq!(whole_etag(&parts).as_deref(), Some("b96b8e43eae1096721fcd7be1cc9e104-2"));
        assert_eq!(whole_etag(&[part(1, "\"x\"")]), None);
    }
}
