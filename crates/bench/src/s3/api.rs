//! The operations of S3 as calls on a connection. Every wrong answer is a failure.

use base64_simd::STANDARD as BASE64;
use bytes::Bytes;
use http::Method;
use md5::{Digest as _, Md5};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::client::{Connection, Expect, Payload, Request};
use crate::run::Failure;

/// Bytes that stand in a path as they are.
const PATH: AsciiSet =
    NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');
/// Bytes that stand in a query as they are.
const QUERY: AsciiSet = PATH.add(b'/');

/// The most keys that one DeleteObjects takes.
pub(crate) const DELETE_KEYS_MAX: usize = 1000;

/// `/bucket/key`, encoded.
pub(crate) fn path(bucket: &str, key: &str) -> String {
    format!("/{bucket}/{}", utf8_percent_encode(key, &PATH))
}

impl Connection {
    /// A request without a body whose answer says nothing.
    async fn tell(&mut self, method: Method, path: &str, statuses: &[u16]) -> Result<(), Failure> {
        self.send(Request::new(method, path), statuses, Expect::Anything).await.map(drop)
    }

    pub(crate) async fn create_bucket(&mut self, bucket: &str) -> Result<(), Failure> {
        self.tell(Method::PUT, &format!("/{bucket}"), &[200]).await
    }

    pub(crate) async fn delete_bucket(&mut self, bucket: &str) -> Result<(), Failure> {
        self.tell(Method::DELETE, &format!("/{bucket}"), &[200, 204]).await
    }

    pub(crate) async fn head_bucket(&mut self, bucket: &str) -> Result<(), Failure> {
        self.tell(Method::HEAD, &format!("/{bucket}"), &[200]).await
    }

    /// ListBuckets: a request that every server answers once it is ready.
    pub(crate) async fn list_buckets(&mut self) -> Result<(), Failure> {
        self.tell(Method::GET, "/", &[200]).await
    }

    /// PutObject with user metadata.
    pub(crate) async fn put(
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
    pub(crate) async fn get(&mut self, path: &str, expected: &[u8]) -> Result<(), Failure> {
        let request = Request::new(Method::GET, path);
        self.send(request, &[200], Expect::Exactly(expected)).await.map(drop)
    }

    /// GetObject of a range of a body; what comes is compared.
    pub(crate) async fn get_range(
        &mut self,
        path: &str,
        body: &[u8],
        range: std::ops::Range<usize>,
    ) -> Result<(), Failure> {
        let mut request = Request::new(Method::GET, path);
        request.plain.push(("range", format!("bytes={}-{}", range.start, range.end - 1)));
        let expected = body.get(range).ok_or("no such range")?;
        self.send(request, &[206], Expect::Exactly(expected)).await.map(drop)
    }

    /// HeadObject of an object of so many bytes. The metadata must be there as well.
    pub(crate) async fn head(
        &mut self,
        path: &str,
        bytes: usize,
        metadata: &[(String, String)],
    ) -> Result<(), Failure> {
        let answer = self.send(Request::new(Method::HEAD, path), &[200], Expect::Anything).await?;
        let header = |name: &str| answer.headers.get(name).and_then(|value| value.to_str().ok());
        if header("content-length") != Some(bytes.to_string().as_str()) {
            let found = header("content-length").unwrap_or("no length");
            return Err(format!("HEAD {path}: {found} instead of {bytes} bytes").into());
        }
        match metadata.iter().find(|(name, value)| header(name) != Some(value)) {
            Some((name, _)) => Err(format!("HEAD {path}: {name} is not what was put").into()),
            None => Ok(()),
        }
    }

    /// HeadObject of an object that is not there.
    pub(crate) async fn head_missing(&mut self, path: &str) -> Result<(), Failure> {
        self.tell(Method::HEAD, path, &[404]).await
    }

    /// DeleteObject, of an object that need not be there.
    pub(crate) async fn delete(&mut self, path: &str) -> Result<(), Failure> {
        self.tell(Method::DELETE, path, &[200, 204]).await
    }

    /// DeleteObjects, at most [`DELETE_KEYS_MAX`].
    pub(crate) async fn delete_many(
        &mut self,
        bucket: &str,
        keys: &[String],
    ) -> Result<(), Failure> {
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
    pub(crate) async fn copy(&mut self, from: &str, to: &str) -> Result<(), Failure> {
        let mut request = Request::new(Method::PUT, to);
        request.signed.push(("x-amz-copy-source".to_owned(), from.to_owned()));
        let answer = self.send(request, &[200], Expect::Text).await?;
        without_error(&answer.text)
    }

    /// ListObjectsV2, all pages. Returns how many keys and common prefixes there were together.
    pub(crate) async fn list(
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
            token = Some(unescaped(next.ok_or("no token")?));
        }
    }

    /// A multipart upload of `parts`, from CreateMultipartUpload to CompleteMultipartUpload.
    pub(crate) async fn multipart(
        &mut self,
        path: &str,
        parts: &[&Payload],
    ) -> Result<(), Failure> {
        let mut request = Request::new(Method::POST, path);
        request.query = "uploads=";
        let answer = self.send(request, &[200], Expect::Text).await?;
        let upload = between(&answer.text, "<UploadId>", "</UploadId>");
        let upload = unescaped(upload.ok_or("no upload id")?);
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
            let etag = etag.ok_or("a part without an ETag")?;
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
        Some(start) => Err(text[start..].chars().take(300).collect::<String>().into()),
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
