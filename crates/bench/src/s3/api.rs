//! The operations of S3 that are measured, as calls on a connection.

use base64_simd::STANDARD as BASE64;
use bytes::Bytes;
use http::Method;
use md5::{Digest as _, Md5};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::client::{Connection, Expect, Failure, Request};
use super::data::Payload;

/// What stands in a path as it is.
const PATH: AsciiSet =
    NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');
/// What stands in a query as it is.
const QUERY: AsciiSet = PATH.add(b'/');

/// The most keys that one DeleteObjects takes.
pub const DELETE_KEYS_MAX: usize = 1000;

/// `/bucket/key`, encoded.
pub fn path(bucket: &str, key: &str) -> String {
    format!("/{bucket}/{}", utf8_percent_encode(key, &PATH))
}

impl Connection {
    /// CreateBucket.
    ///
    /// # Errors
    /// [`Failure`]; that goes for all of these.
    pub async fn create_bucket(&mut self, bucket: &str) -> Result<(), Failure> {
        let path = format!("/{bucket}");
        self.send(Request::new(Method::PUT, &path), &[200], Expect::Anything).await.map(drop)
    }

    /// DeleteBucket.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn delete_bucket(&mut self, bucket: &str) -> Result<(), Failure> {
        let path = format!("/{bucket}");
        self.send(Request::new(Method::DELETE, &path), &[200, 204], Expect::Anything)
            .await
            .map(drop)
    }

    /// HeadBucket.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn head_bucket(&mut self, bucket: &str) -> Result<(), Failure> {
        let path = format!("/{bucket}");
        self.send(Request::new(Method::HEAD, &path), &[200], Expect::Anything).await.map(drop)
    }

    /// ListBuckets: a request that every server answers once it is ready.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn list_buckets(&mut self) -> Result<(), Failure> {
        self.send(Request::new(Method::GET, "/"), &[200], Expect::Anything).await.map(drop)
    }

    /// PutObject with user metadata.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn put(
        &mut self,
        path: &str,
        body: &Payload,
        metadata: &[(String, String)],
    ) -> Result<(), Failure> {
        let mut request = Request::new(Method::PUT, path);
        request.signed.extend_from_slice(metadata);
        request.body = Some(body);
        self.send(request, &[200], Expect::Anything).await.map(drop)
    }

    /// GetObject; the body is compared.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn get(&mut self, path: &str, expected: &[u8]) -> Result<(), Failure> {
        let request = Request::new(Method::GET, path);
        self.send(request, &[200], Expect::Exactly(expected)).await.map(drop)
    }

    /// GetObject of a range of a body; what comes is compared.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn get_range(
        &mut self,
        path: &str,
        body: &[u8],
        range: std::ops::Range<usize>,
    ) -> Result<(), Failure> {
        let mut request = Request::new(Method::GET, path);
        request.plain.push(("range", format!("bytes={}-{}", range.start, range.end - 1)));
        let expected = body.get(range).ok_or_else(|| Failure("no such range".to_owned()))?;
        self.send(request, &[206], Expect::Exactly(expected)).await.map(drop)
    }

    /// HeadObject of an object of so many bytes. The metadata must be there as well.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn head(
        &mut self,
        path: &str,
        bytes: usize,
        metadata: &[(String, String)],
    ) -> Result<(), Failure> {
        let answer = self.send(Request::new(Method::HEAD, path), &[200], Expect::Anything).await?;
        let header = |name: &str| answer.headers.get(name).and_then(|value| value.to_str().ok());
        if header("content-length") != Some(bytes.to_string().as_str()) {
            let found = header("content-length").unwrap_or("no length");
            return Err(Failure(format!("HEAD {path}: {found} instead of {bytes} bytes")));
        }
        match metadata.iter().find(|(name, value)| header(name) != Some(value)) {
            Some((name, _)) => Err(Failure(format!("HEAD {path}: {name} is not what was put"))),
            None => Ok(()),
        }
    }

    /// HeadObject of an object that is not there.
    ///
    /// # Errors
    /// [`Failure`], also if it is there.
    pub async fn head_missing(&mut self, path: &str) -> Result<(), Failure> {
        self.send(Request::new(Method::HEAD, path), &[404], Expect::Anything).await.map(drop)
    }

    /// DeleteObject, of an object that need not be there.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn delete(&mut self, path: &str) -> Result<(), Failure> {
        let request = Request::new(Method::DELETE, path);
        self.send(request, &[200, 204], Expect::Anything).await.map(drop)
    }

    /// DeleteObjects, at most [`DELETE_KEYS_MAX`].
    ///
    /// # Errors
    /// [`Failure`], also if the answer names an error for a key.
    pub async fn delete_many(&mut self, bucket: &str, keys: &[String]) -> Result<(), Failure> {
        let mut xml = String::from(
            "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>",
        );
        for key in keys {
            xml.push_str("<Object><Key>");
            xml.push_str(&escaped(key));
            xml.push_str("</Key></Object>");
        }
        xml.push_str("</Delete>");
        let digest = BASE64.encode_to_string(Md5::digest(xml.as_bytes()));
        let body = Payload::new(Bytes::from(xml));
        let path = format!("/{bucket}");
        let mut request = Request::new(Method::POST, &path);
        request.query = "delete=";
        request.plain.push(("content-md5", digest));
        request.body = Some(&body);
        let answer = self.send(request, &[200], Expect::Text).await?;
        without_error(&answer.text)
    }

    /// CopyObject.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn copy(&mut self, from: &str, to: &str) -> Result<(), Failure> {
        let mut request = Request::new(Method::PUT, to);
        request.signed.push(("x-amz-copy-source".to_owned(), from.to_owned()));
        let answer = self.send(request, &[200], Expect::Text).await?;
        without_error(&answer.text)
    }

    /// ListObjectsV2, all pages. Returns how many keys and common prefixes there were together.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn list(
        &mut self,
        bucket: &str,
        prefix: &str,
        delimiter: &str,
    ) -> Result<usize, Failure> {
        let path = format!("/{bucket}");
        let (mut found, mut token) = (0, None::<String>);
        loop {
            let mut query = String::new();
            if let Some(token) = &token {
                query.push_str(&format!(
                    "continuation-token={}&",
                    utf8_percent_encode(token, &QUERY)
                ));
            }
            if !delimiter.is_empty() {
                query.push_str(&format!("delimiter={}&", utf8_percent_encode(delimiter, &QUERY)));
            }
            query.push_str("list-type=2");
            if !prefix.is_empty() {
                query.push_str(&format!("&prefix={}", utf8_percent_encode(prefix, &QUERY)));
            }
            let mut request = Request::new(Method::GET, &path);
            request.query = &query;
            let answer = self.send(request, &[200], Expect::Text).await?;
            found += answer.text.matches("<Key>").count();
            found += answer.text.matches("<CommonPrefixes>").count();
            if between(&answer.text, "<IsTruncated>", "</IsTruncated>") != Some("true") {
                return Ok(found);
            }
            let next = between(&answer.text, "<NextContinuationToken>", "</NextContinuationToken>");
            token = Some(unescaped(next.ok_or_else(|| Failure("no token".to_owned()))?));
        }
    }

    /// A multipart upload of `parts`, from CreateMultipartUpload to CompleteMultipartUpload.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn multipart(&mut self, path: &str, parts: &[&Payload]) -> Result<(), Failure> {
        let mut request = Request::new(Method::POST, path);
        request.query = "uploads=";
        let answer = self.send(request, &[200], Expect::Text).await?;
        let upload = between(&answer.text, "<UploadId>", "</UploadId>");
        let upload = unescaped(upload.ok_or_else(|| Failure("no upload id".to_owned()))?);
        let upload = utf8_percent_encode(&upload, &QUERY).to_string();
        let mut xml = String::from(
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">",
        );
        for (number, part) in (1..).zip(parts) {
            let query = format!("partNumber={number}&uploadId={upload}");
            let mut request = Request::new(Method::PUT, path);
            request.query = &query;
            request.body = Some(part);
            let answer = self.send(request, &[200], Expect::Anything).await?;
            let etag = answer.headers.get("etag").and_then(|value| value.to_str().ok());
            let etag = etag.ok_or_else(|| Failure("a part without an ETag".to_owned()))?;
            xml.push_str(&format!(
                "<Part><PartNumber>{number}</PartNumber><ETag>{}</ETag></Part>",
                escaped(etag)
            ));
        }
        xml.push_str("</CompleteMultipartUpload>");
        let body = Payload::new(Bytes::from(xml));
        let query = format!("uploadId={upload}");
        let mut request = Request::new(Method::POST, path);
        request.query = &query;
        request.body = Some(&body);
        let answer = self.send(request, &[200], Expect::Text).await?;
        without_error(&answer.text)
    }
}

/// Some operations tell their failure in the body, after the status.
fn without_error(text: &str) -> Result<(), Failure> {
    match text.find("<Error>") {
        Some(start) => Err(Failure(text[start..].chars().take(300).collect())),
        None => Ok(()),
    }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let rest = &text[text.find(start)? + start.len()..];
    rest.get(..rest.find(end)?)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Text of XML with the entities that servers put into tokens and identifiers.
fn unescaped(text: &str) -> String {
    let text = text.replace("&quot;", "\"").replace("&#34;", "\"").replace("&#43;", "+");
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&#61;", "=").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_encoded_as_it_is_signed() {
        assert_eq!(path("b", "a b/ü+=.~-_"), "/b/a%20b/%C3%BC%2B%3D.~-_");
    }

    #[test]
    fn xml_is_taken_apart_where_it_must_be() {
        let text = "<R><UploadId>a&amp;b&#43;</UploadId></R>";
        let found = between(text, "<UploadId>", "</UploadId>").expect("it is there");
        assert_eq!(unescaped(found), "a&b+");
        assert_eq!(unescaped(&escaped("<\"a&lt;b\">")), "<\"a&lt;b\">");
        assert!(between(text, "<Key>", "</Key>").is_none());
        assert!(without_error("<DeleteResult/>").is_ok());
        assert!(without_error("<DeleteResult><Error><Key>k</Key></Error></DeleteResult>").is_err());
    }
}
