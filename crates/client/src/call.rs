//! Any request to a bucket, for programs that know the protocol.

use std::io;
use std::ops::Range;

use bytes::{Bytes, BytesMut};
use http::Method;
use tokio::sync::mpsc::Receiver;

use crate::bucket::BucketClient;
use crate::error::Error;
use crate::s3::Request;

pub use crate::s3::{escaped as escaped_xml, md5_base64, tags_header};

/// A request to a bucket, or to an object in it.
#[derive(Debug)]
pub struct BucketCall {
    /// Method.
    pub method: Method,
    /// Key; empty for the bucket itself.
    pub key: String,
    /// Names and values of the query.
    pub query: Vec<(String, String)>,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: CallBody,
    /// `true` if the service may take long to answer.
    pub is_slow: bool,
}

/// The body of a request.
#[derive(Debug)]
pub enum CallBody {
    /// A body in memory, which is signed. The request is repeated after temporary failures.
    Whole(Bytes),
    /// A body that another task feeds. It is not signed, so the caller sends a digest of it. The
    /// request is sent once.
    Fed {
        /// Its length.
        bytes: u64,
        /// Its bytes. An error breaks the request off.
        feed: Receiver<Result<Bytes, io::Error>>,
    },
}

/// The answer to an accepted request.
#[derive(Clone, Debug)]
pub struct BucketAnswer {
    headers: http::HeaderMap,
    /// Body.
    pub body: Bytes,
}

/// A request that was not accepted, or had no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}")]
pub struct CallError {
    /// The status of the answer; `None` without one.
    pub status: Option<u16>,
    /// The code of the error of S3; may be empty.
    pub code: String,
    /// The failure in one line, without secrets.
    pub line: String,
}

impl BucketAnswer {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The text of an element of the document in the body, by its name.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        crate::s3::text_in_document(&self.body, name)
    }

    /// Two texts of each element in the list `list` of the document in the body, by their names.
    #[must_use]
    pub fn pairs(&self, list: &str, names: [&str; 2]) -> Vec<(String, String)> {
        crate::s3::pairs_in_document(&self.body, list, names)
    }
}

impl BucketClient {
    /// The name of the bucket.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.bucket
    }

    /// The URL of the service.
    #[must_use]
    pub fn url(&self) -> String {
        self.s3.endpoint().url().to_string()
    }

    /// Sends a request.
    ///
    /// # Errors
    /// [`CallError`], also for an error in the document of an answer that began as success.
    pub async fn call(&self, call: BucketCall) -> Result<BucketAnswer, CallError> {
        let BucketCall { method, key, query, headers, body, is_slow } = call;
        let mut request = Request::new(method, &self.bucket, &key);
        (request.query, request.headers, request.slow) = (query, headers, is_slow);
        let sent = match body {
            CallBody::Whole(bytes) => {
                request.body = bytes;
                self.s3.send(&request).await
            }
            CallBody::Fed { bytes, feed } => self.s3.send_fed(&request, bytes, feed).await,
        };
        let response = sent.map_err(|error| of(&error))?;
        let headers = response.headers.clone();
        let body = response.bytes().await.map_err(|error| of(&error))?;
        if crate::s3::is_error_document(&body) {
            let text = |name| crate::s3::text_in_document(&body, name).unwrap_or_default();
            let code = text("Code");
            let line = format!("{} ({code})", text("Message"));
            return Err(CallError { status: Some(500), code, line });
        }
        Ok(BucketAnswer { headers, body })
    }
}

impl BucketClient {
    /// The bytes `range` of an object, all of them, whatever they contain. They are not verified.
    ///
    /// # Errors
    /// [`CallError`], also if the service sends fewer or more bytes.
    pub async fn read(&self, key: &str, range: Range<u64>) -> Result<Bytes, CallError> {
        let mut request = Request::new(Method::GET, &self.bucket, key);
        let last = range.end.saturating_sub(1);
        request.headers = vec![("range".to_owned(), format!("bytes={}-{last}", range.start))];
        let mut response = self.s3.send(&request).await.map_err(|error| of(&error))?;
        let wanted = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut bytes = BytesMut::with_capacity(wanted.min(READ_AHEAD_BYTES));
        while let Some(chunk) = response.chunk().await.map_err(|error| of(&error))? {
            if bytes.len() + chunk.len() > wanted {
                return Err(wrong_length());
            }
            bytes.extend_from_slice(&chunk);
        }
        match bytes.len() == wanted {
            true => Ok(bytes.freeze()),
            false => Err(wrong_length()),
        }
    }
}

/// Room that is taken before the first byte has come.
const READ_AHEAD_BYTES: usize = 256 << 10;

fn wrong_length() -> CallError {
    let line = "the service sends another number of bytes than were asked for".to_owned();
    CallError { status: Some(416), code: String::new(), line }
}

fn of(error: &Error) -> CallError {
    CallError { status: error.status(), code: error.code().to_owned(), line: error.line() }
}
