//! Presigned URLs that read an object, and forms that store one.

use std::time::Duration;

use base64_simd::STANDARD;
use jiff::Timestamp;

use super::encode::query;
use super::exchange::S3;
use super::sign::{ALGORITHM, S3 as SERVICE, Signer, ToSign, UNSIGNED};
use crate::error::Error;

/// A form for `POST`, for one key or all keys with a prefix.
#[derive(Debug)]
pub(crate) struct PostForm {
    pub(crate) url: String,
    /// Fields in the order of sending, before the file.
    pub(crate) fields: Vec<(String, String)>,
}

impl S3 {
    /// A URL that reads an object for a limited time.
    ///
    /// # Errors
    /// The alias has no credentials.
    pub(crate) fn presign(
        &self,
        bucket: &str,
        key: &str,
        version: Option<&str>,
        expiry: Duration,
    ) -> Result<String, Error> {
        let region = self.region_of(bucket);
        let signer = self.signer(&region)?;
        let address = self.endpoint.address(bucket, key, &region);
        let mut pairs = vec![
            ("X-Amz-Algorithm".to_owned(), ALGORITHM.to_owned()),
            ("X-Amz-Credential".to_owned(), signer.credential()),
            ("X-Amz-Date".to_owned(), signer.date()),
            ("X-Amz-Expires".to_owned(), expiry.as_secs().to_string()),
            ("X-Amz-SignedHeaders".to_owned(), "host".to_owned()),
        ];
        if let Some(token) = &signer.credentials.session_token {
            pairs.push(("X-Amz-Security-Token".to_owned(), token.clone()));
        }
        if let Some(version) = version {
            pairs.push(("versionId".to_owned(), version.to_owned()));
        }
        let query = query(&pairs);
        let (_, signature) = signer.signature(ToSign {
            method: "GET",
            path: &address.path,
            query: &query,
            headers: &[("host".to_owned(), address.authority.clone())],
            content_sha256: UNSIGNED,
        });
        let (scheme, authority, path) = (self.endpoint.scheme(), address.authority, address.path);
        Ok(format!("{scheme}://{authority}{path}?{query}&X-Amz-Signature={signature}"))
    }

    /// A form that stores an object under a key, or under any key with this prefix.
    ///
    /// # Errors
    /// The alias has no credentials.
    pub(crate) fn post_form(
        &self,
        bucket: &str,
        key: &str,
        is_prefix: bool,
        content_type: Option<&str>,
        expiry: Duration,
    ) -> Result<PostForm, Error> {
        let region = self.region_of(bucket);
        let signer = self.signer(&region)?;
        let mut fields = vec![
            ("bucket".to_owned(), bucket.to_owned()),
            ("x-amz-algorithm".to_owned(), ALGORITHM.to_owned()),
            ("x-amz-credential".to_owned(), signer.credential()),
            ("x-amz-date".to_owned(), signer.date()),
        ];
        if let Some(token) = &signer.credentials.session_token {
            fields.push(("x-amz-security-token".to_owned(), token.clone()));
        }
        if let Some(content_type) = content_type {
            fields.push(("Content-Type".to_owned(), content_type.to_owned()));
        }
        let mut conditions: Vec<serde_json::Value> = fields
            .iter()
            .map(|(name, value)| serde_json::json!(["eq", format!("${name}"), value]))
            .collect();
        let kind = if is_prefix { "starts-with" } else { "eq" };
        conditions.push(serde_json::json!([kind, "$key", key]));
        let expiration = signer.time + expiry;
        let policy = serde_json::json!({
            "expiration": expiration.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string(),
            "conditions": conditions,
        });
        let policy = STANDARD.encode_to_string(policy.to_string());
        fields.push(("x-amz-signature".to_owned(), signer.seal(&policy)));
        fields.push(("policy".to_owned(), policy));
        let address = self.endpoint.address(bucket, "", &region);
        let path = address.path.trim_end_matches('/');
        let url = format!("{}://{}{path}/", self.endpoint.scheme(), address.authority);
        Ok(PostForm { url, fields })
    }

    /// The unsigned URL of an object.
    pub(crate) fn url(&self, bucket: &str, key: &str) -> String {
        let address = self.endpoint.address(bucket, key, &self.region_of(bucket));
        format!("{}://{}{}", self.endpoint.scheme(), address.authority, address.path)
    }

    fn signer<'a>(&'a self, region: &'a str) -> Result<Signer<'a>, Error> {
        match &self.credentials {
            Some(credentials) => {
                Ok(Signer { credentials, region, service: SERVICE, time: Timestamp::now() })
            }
            None => Err(Error::refused(
                "an alias without credentials cannot sign; set them with `alias set`",
            )),
        }
    }
}
