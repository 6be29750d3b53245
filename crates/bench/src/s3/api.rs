//! The operations of S3 as calls on a connection. Every wrong answer is a failure.

use base64_simd::STANDARD as BASE64;
use bytes::Bytes;
use http::Method;
use md5::{Digest as _, Md5};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::client::{Connection, Expect, Payload, Request};
use crate::run::Failure;

/// Bytes that are escaped in a path.
const PATH: AsciiSet =
    NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');
/// Bytes that are escaped in a query.
const QUERY: AsciiSet = PATH.add(b'/');

const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";

/// Header that requests encryption and confirms it.
const ENCRYPTION: &str = "x-amz-server-side-encryption";

/// Limit of keys in one DeleteObjects.
pub(crate) const DELETE_KEYS_MAX: usize = 1000;

/// `/bucket/key`, encoded.
pub(crate) fn path(bucket: &str, key: &str) -> String {
    format!("/{bucket}/{}", utf8_percent_encode(key, &PATH))
}

impl Connection {
    pub(crate) async fn create_bucket(&mut self, bucket: &str) -> Result<(), Failure> {
        self.tell(Request::new(Method::PUT, &format!("/{bucket}")), &[200]).await
    }

    pub(crate) async fn delete_bucket(&mut self, bucket: &str) -> Result<(), Failure> {
        self.tell(Request::new(Method::DELETE, &format!("/{bucket}")), &[200, 204]).await
    }

    pub(crate) async fn head_bucket(&mut self, bucket: &str) -> Result<(), Failure> {
        self.tell(Request::new(Method::HEAD, &format!("/{bucket}")), &[200]).await
    }

    /// ListBuckets: a request that every server answers once it is ready.
    pub(crate) async fn list_buckets(&mut self) -> Result<(), Failure> {
        self.tell(Request::new(Method::GET, "/"), &[200]).await
    }

    /// PutObject with user metadata.
    pub(crate) async fn put(
        &mut self,
        path: &str,
        body: &Payload,
        metadata: &[(String, String)],
    ) -> Result<(), Failure> {
        let (signed, body) = (metadata.to_vec(), Some(body));
        self.tell(Request { signed, body, ..Request::new(Method::PUT, path) }, &[200]).await
    }

    /// PutObject with SSE-S3. It fails if the target does not confirm the encryption.
    pub(crate) async fn put_encrypted(
        &mut self,
        path: &str,
        body: &Payload,
    ) -> Result<(), Failure> {
        let (signed, body) = (vec![(ENCRYPTION.to_owned(), "AES256".to_owned())], Some(body));
        let request = Request { signed, body, ..Request::new(Method::PUT, path) };
        let answer = self.send(request, &[200], Expect::Anything).await?;
        match answer.headers.get(ENCRYPTION).is_some_and(|method| method == "AES256") {
            true => Ok(()),
            false => Err("it does not say that it has encrypted".into()),
        }
    }

    /// GetObject; the body is compared.
    pub(crate) async fn get(&mut self, path: &str, expected: &[u8]) -> Result<(), Failure> {
        let request = Request::new(Method::GET, path);
        self.send(request, &[200], Expect::Exactly(expected)).await.map(drop)
    }

    /// GetObject of a range; the bytes are compared.
    pub(crate) async fn get_range(
        &mut self,
        path: &str,
        body: &[u8],
        range: std::ops::Range<usize>,
    ) -> Result<(), Failure> {
        let plain = vec![("range", format!("bytes={}-{}", range.start, range.end - 1))];
        let request = Request { plain, ..Request::new(Method::GET, path) };
        let expected = body.get(range).ok_or("no such range")?;
        self.send(request, &[206], Expect::Exactly(expected)).await.map(drop)
    }

    /// HeadObject; size and metadata must be right.
    pub(crate) async fn head(
        &mut self,
        path: &str,
        bytes: usize,
        metadata: &[(String, String)],
    ) -> Result<(), Failure> {
        let answer = self.send(Request::new(Method::HEAD, path), &[200], Expect::Anything).await?;
        let length = ("content-length".to_owned(), bytes.to_string());
        let header = |name: &str| answer.headers.get(name).and_then(|value| value.to_str().ok());
        let mut headers = metadata.iter().chain([&length]);
        match headers.find(|(name, value)| header(name) != Some(value)) {
            Some((name, value)) => Err(format!("HEAD {path}: {name} is not {value}").into()),
            None => Ok(()),
        }
    }

    /// HeadObject of a missing object.
    pub(crate) async fn head_missing(&mut self, path: &str) -> Result<(), Failure> {
        self.tell(Request::new(Method::HEAD, path), &[404]).await
    }

    /// DeleteObject, also of a missing object.
    pub(crate) async fn delete(&mut self, path: &str) -> Result<(), Failure> {
        self.tell(Request::new(Method::DELETE, path), &[200, 204]).await
    }

    /// DeleteObjects, at most [`DELETE_KEYS_MAX`].
    pub(crate) async fn delete_many(
        &mut self,
        bucket: &str,
        keys: &[String],
    ) -> Result<(), Failure> {
        let object = |key: &String| format!("<Object><Key>{}</Key></Object>", escaped(key));
        let objects: String = keys.iter().map(object).collect();
        let xml = format!("<Delete xmlns=\"{NAMESPACE}\"><Quiet>true</Quiet>{objects}</Delete>");
        let plain = vec![("content-md5", BASE64.encode_to_string(Md5::digest(xml.as_bytes())))];
        let (path, body) = (format!("/{bucket}"), Payload::new(Bytes::from(xml)));
        let request = Request { query: "delete=", plain, ..Request::post(&path, &body) };
        self.text(request).await.map(drop)
    }

    /// CopyObject.
    pub(crate) async fn copy(&mut self, from: &str, to: &str) -> Result<(), Failure> {
        let signed = vec![("x-amz-copy-source".to_owned(), from.to_owned())];
        self.text(Request { signed, ..Request::new(Method::PUT, to) }).await.map(drop)
    }

    /// ListObjectsV2, all pages. Returns the number of keys and common prefixes together.
    pub(crate) async fn list(
        &mut self,
        bucket: &str,
        prefix: &str,
        delimiter: &str,
    ) -> Result<usize, Failure> {
        let path = format!("/{bucket}");
        let (mut found, mut token) = (0, String::new());
        loop {
            // In the order of the signature.
            let query = [
                ("continuation-token", token.as_str()),
                ("delimiter", delimiter),
                ("list-type", "2"),
                ("prefix", prefix),
            ];
            let given = query.into_iter().filter(|(_, value)| !value.is_empty());
            let query: Vec<String> = given
                .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, &QUERY)))
                .collect();
            let query = query.join("&");
            let text =
                self.text(Request { query: &query, ..Request::new(Method::GET, &path) }).await?;
            found += text.matches("<Key>").count() + text.matches("<CommonPrefixes>").count();
            if between(&text, "<IsTruncated>", "</IsTruncated>") != Some("true") {
                return Ok(found);
            }
            let next = between(&text, "<NextContinuationToken>", "</NextContinuationToken>");
            token = unescaped(next.ok_or("no token")?);
        }
    }

    /// Enables versioning.
    pub(crate) async fn enable_versioning(&mut self, bucket: &str) -> Result<(), Failure> {
        let xml = format!(
            "<VersioningConfiguration xmlns=\"{NAMESPACE}\"><Status>Enabled</Status>\
             </VersioningConfiguration>"
        );
        let (path, body) = (format!("/{bucket}"), Payload::new(Bytes::from(xml)));
        let request = Request::new(Method::PUT, &path);
        self.tell(Request { query: "versioning=", body: Some(&body), ..request }, &[200]).await
    }

    /// ListObjectVersions, all pages. Returns the number of versions.
    pub(crate) async fn list_versions(&mut self, bucket: &str) -> Result<usize, Failure> {
        let path = format!("/{bucket}");
        let (mut found, mut query) = (0, "versions=".to_owned());
        loop {
            let request = Request { query: &query, ..Request::new(Method::GET, &path) };
            let text = self.text(request).await?;
            found += text.matches("<Version>").count();
            if between(&text, "<IsTruncated>", "</IsTruncated>") != Some("true") {
                return Ok(found);
            }
            let marker = |name: &str| {
                let found = between(&text, &format!("<{name}>"), &format!("</{name}>"));
                let found = unescaped(found.ok_or("no marker")?);
                Ok::<_, Failure>(utf8_percent_encode(&found, &QUERY).to_string())
            };
            let (key, version) = (marker("NextKeyMarker")?, marker("NextVersionIdMarker")?);
            query = format!("key-marker={key}&version-id-marker={version}&versions=");
        }
    }

    /// A multipart upload of `parts`, from CreateMultipartUpload to CompleteMultipartUpload.
    pub(crate) async fn multipart(
        &mut self,
        path: &str,
        parts: &[&Payload],
    ) -> Result<(), Failure> {
        let created =
            self.text(Request { query: "uploads=", ..Request::new(Method::POST, path) }).await?;
        let upload = between(&created, "<UploadId>", "</UploadId>").ok_or("no upload id")?;
        let upload = utf8_percent_encode(&unescaped(upload), &QUERY).to_string();
        let mut xml = format!("<CompleteMultipartUpload xmlns=\"{NAMESPACE}\">");
        for (number, part) in (1..).zip(parts) {
            let query = &format!("partNumber={number}&uploadId={upload}");
            let request = Request { query, body: Some(part), ..Request::new(Method::PUT, path) };
            let answer = self.send(request, &[200], Expect::Anything).await?;
            let etag = answer.headers.get("etag").and_then(|value| value.to_str().ok());
            let etag = escaped(etag.ok_or("a part without an ETag")?);
            xml += &format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>");
        }
        let body = Payload::new(Bytes::from(xml + "</CompleteMultipartUpload>"));
        let query = &format!("uploadId={upload}");
        self.text(Request { query, ..Request::post(path, &body) }).await.map(drop)
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
    }
}
