//! Downloads, which survive broken connections.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, StatusCode};

use super::checksum::Verifier;
use super::exchange::{Response, S3, pause};
use super::object::Head;
use super::request::Request;
use crate::error::Error;

/// A download in progress. After a broken connection, the rest of the same object is requested.
pub(crate) struct Download {
    s3: Arc<S3>,
    bucket: String,
    key: String,
    version: Option<String>,
    pub(crate) head: Head,
    /// Offset of the next byte to receive.
    offset: u64,
    /// End of the wanted range.
    end: u64,
    response: Response,
    verifier: Verifier,
    attempt: u32,
}

impl S3 {
    /// Begins to read an object at `offset`.
    pub(crate) async fn download(
        self: &Arc<S3>,
        bucket: &str,
        key: &str,
        version: Option<&str>,
        offset: u64,
    ) -> Result<Download, Error> {
        let mut request = read(bucket, key, version).header("x-amz-checksum-mode", "ENABLED");
        if offset > 0 {
            request = request.header("range", format!("bytes={offset}-"));
        }
        let response = self.send(&request).await?;
        let length = response.header("content-length").and_then(|it| it.parse::<u64>().ok());
        let length = length.ok_or_else(|| Error::transport("the service told no size"))?;
        let partial = response.status == StatusCode::PARTIAL_CONTENT;
        if offset > 0 && !partial {
            return Err(Error::transport("the service does not know ranges"));
        }
        let verifier = if partial { Verifier::Nothing } else { Verifier::of(&response.headers) };
        let head = Head::of(&response.headers, offset + length);
        Ok(Download {
            s3: self.clone(),
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            version: version.map(ToOwned::to_owned),
            offset,
            end: offset + length,
            head,
            response,
            verifier,
            attempt: 0,
        })
    }
}

impl Download {
    /// The next bytes. The end is reported only after length and digest were compared.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let reason = match self.response.chunk().await {
                Ok(Some(bytes)) if bytes.is_empty() => continue,
                Ok(Some(bytes)) => {
                    self.offset += bytes.len() as u64;
                    if self.offset > self.end {
                        return Err(Error::transport("more came than the service promised"));
                    }
                    self.verifier.update(&bytes);
                    self.attempt = 0;
                    return Ok(Some(bytes));
                }
                Ok(None) if self.offset == self.end => {
                    let verifier = std::mem::replace(&mut self.verifier, Verifier::Nothing);
                    return match verifier.finish() {
                        Ok(()) => Ok(None),
                        Err(name) => Err(Error::transport(format!(
                            "the received data do not match {name} of the object: try again, and check \
                             the service if it stays so"
                        ))),
                    };
                }
                Ok(None) => Error::transport("the answer ended early"),
                Err(error) => error,
            };
            self.resume(reason).await?;
        }
    }

    async fn resume(&mut self, reason: Error) -> Result<(), Error> {
        // Without an ETag, nothing proves that the object is still the same.
        let is_same = !self.head.etag.is_empty() && self.offset < self.end;
        if self.attempt >= self.s3.retries() || !is_same {
            return Err(reason);
        }
        pause(self.attempt).await;
        self.attempt += 1;
        let request = read(&self.bucket, &self.key, self.version.as_deref())
            .header("range", format!("bytes={}-{}", self.offset, self.end - 1))
            .header("if-match", format!("\"{}\"", self.head.etag));
        let response = match self.s3.send(&request).await {
            Err(error) if error.status() == Some(412) => {
                let key = &self.key;
                let reason =
                    format!("the object '{key}' was replaced while it was read; try again");
                return Err(Error::transport(reason));
            }
            result => result?,
        };
        let length = response.header("content-length").and_then(|it| it.parse::<u64>().ok());
        if response.status != StatusCode::PARTIAL_CONTENT || length != Some(self.end - self.offset)
        {
            return Err(reason);
        }
        self.response = response;
        Ok(())
    }
}

fn read(bucket: &str, key: &str, version: Option<&str>) -> Request {
    Request::new(Method::GET, bucket, key).query_if("versionId", version)
}
