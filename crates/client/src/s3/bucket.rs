//! Buckets and their settings.

use bytes::Bytes;
use http::Method;

use super::document::{Element, escaped};
use super::exchange::S3;
use super::request::Request;
use crate::error::Error;

/// Properties of a new bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket<'a> {
    pub(crate) name: &'a str,
    /// Its region; `None` for the one of the service.
    pub(crate) region: Option<&'a str>,
    pub(crate) with_lock: bool,
}

/// The region of S3 that is no location constraint.
const FIRST_REGION: &str = "us-east-1";

impl Bucket<'_> {
    fn creation(&self, region: &str) -> Request {
        let mut request = Request::new(Method::PUT, self.name, "");
        if self.with_lock {
            request = request.header("x-amz-bucket-object-lock-enabled", "true");
        }
        if region == FIRST_REGION {
            return request;
        }
        request.document(format!(
            "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
             <LocationConstraint>{}</LocationConstraint></CreateBucketConfiguration>",
            escaped(region)
        ))
    }
}

impl S3 {
    /// Makes a bucket, and returns its region.
    pub(crate) async fn create_bucket(&self, bucket: Bucket<'_>) -> Result<String, Error> {
        let known = || self.region_of(bucket.name);
        let region = bucket.region.map_or_else(known, ToOwned::to_owned);
        let refused = match self.send(&bucket.creation(&region)).await {
            Ok(_) => return Ok(region),
            Err(error) => error,
        };
        // The answer may have told the region of the service, but the location in the document was that
        // of the guess. As in `mc`, the first region is no wish, because it was the default.
        let is_guess = bucket.region.is_none_or(|it| it == FIRST_REGION);
        if !is_guess || known() == region || !is_about_location(&refused) {
            return Err(refused);
        }
        let region = known();
        self.send(&bucket.creation(&region)).await?;
        Ok(region)
    }

    pub(crate) async fn delete_bucket(&self, bucket: &str) -> Result<(), Error> {
        self.send(&Request::new(Method::DELETE, bucket, "")).await.map(drop)
    }

    /// # Errors
    /// There is no such bucket, or it is not the user's.
    pub(crate) async fn head_bucket(&self, bucket: &str) -> Result<(), Error> {
        match self.send(&Request::new(Method::HEAD, bucket, "")).await {
            Ok(_) => Ok(()),
            // An answer to HEAD has no document with the code of the error.
            Err(Error::Service(mut error)) if error.status == 404 => {
                error.code = "NoSuchBucket".to_owned();
                error.message = format!("the bucket '{bucket}' does not exist");
                Err(Error::Service(error))
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn location(&self, bucket: &str) -> Result<String, Error> {
        let document = self.setting(bucket, "location").await?;
        Ok(match document.own_text().trim() {
            "" => "us-east-1".to_owned(),
            region => region.to_owned(),
        })
    }

    /// `Enabled`, `Suspended`, or empty if the bucket never had versioning.
    pub(crate) async fn versioning(&self, bucket: &str) -> Result<String, Error> {
        let document = self.setting(bucket, "versioning").await?;
        Ok(document.text("Status").unwrap_or_default().to_owned())
    }

    pub(crate) async fn set_versioning(&self, bucket: &str, status: &str) -> Result<(), Error> {
        let document = format!(
            "<VersioningConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
             <Status>{status}</Status></VersioningConfiguration>"
        );
        let request = Request::new(Method::PUT, bucket, "").query("versioning", "");
        self.send(&request.document(document)).await.map(drop)
    }

    /// The policy in JSON; `None` if the bucket has none.
    pub(crate) async fn policy(&self, bucket: &str) -> Result<Option<String>, Error> {
        let request = Request::new(Method::GET, bucket, "").query("policy", "");
        match self.send(&request).await {
            Ok(response) => {
                Ok(Some(String::from_utf8_lossy(&response.bytes().await?).into_owned()))
            }
            Err(error) if error.code() == "NoSuchBucketPolicy" => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn set_policy(&self, bucket: &str, policy: String) -> Result<(), Error> {
        let digest = super::checksum::md5_base64(policy.as_bytes());
        let request = Request::new(Method::PUT, bucket, "")
            .query("policy", "")
            .header("content-type", "application/json")
            .header("content-md5", digest)
            .body(policy);
        self.send(&request).await.map(drop)
    }

    pub(crate) async fn delete_policy(&self, bucket: &str) -> Result<(), Error> {
        let request = Request::new(Method::DELETE, bucket, "").query("policy", "");
        self.send(&request).await.map(drop)
    }

    /// The tags of a bucket; with a key, of an object.
    pub(crate) async fn tags(
        &self,
        bucket: &str,
        key: &str,
        version: Option<&str>,
    ) -> Result<Vec<(String, String)>, Error> {
        let request = tagging(Method::GET, bucket, key, version);
        let document = match self.send(&request).await {
            Ok(response) => response.document().await?,
            Err(error) if error.code() == "NoSuchTagSet" => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let tags = document.child("TagSet").map(Element::children).unwrap_or_default();
        let text = |tag: &Element, name: &str| tag.text(name).unwrap_or_default().to_owned();
        Ok(tags.iter().map(|tag| (text(tag, "Key"), text(tag, "Value"))).collect())
    }

    pub(crate) async fn set_tags(
        &self,
        bucket: &str,
        key: &str,
        version: Option<&str>,
        tags: &[(String, String)],
    ) -> Result<(), Error> {
        let tags: String = tags
            .iter()
            .map(|(key, value)| {
                let (key, value) = (escaped(key), escaped(value));
                format!("<Tag><Key>{key}</Key><Value>{value}</Value></Tag>")
            })
            .collect();
        let document = format!(
            "<Tagging xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
             <TagSet>{tags}</TagSet></Tagging>"
        );
        let request = tagging(Method::PUT, bucket, key, version).document(document);
        self.send(&request).await.map(drop)
    }

    pub(crate) async fn delete_tags(
        &self,
        bucket: &str,
        key: &str,
        version: Option<&str>,
    ) -> Result<(), Error> {
        self.send(&tagging(Method::DELETE, bucket, key, version)).await.map(drop)
    }

    /// Sets a canned ACL.
    pub(crate) async fn put_canned_acl(&self, bucket: &str, acl: &str) -> Result<(), Error> {
        let request = Request::new(Method::PUT, bucket, "").query("acl", "");
        self.send(&request.header("x-amz-acl", acl)).await.map(drop)
    }

    /// A setting as the service sends it.
    pub(crate) async fn raw_setting(&self, bucket: &str, name: &str) -> Result<Bytes, Error> {
        let request = Request::new(Method::GET, bucket, "").query(name, "");
        self.send(&request).await?.bytes().await
    }

    async fn setting(&self, bucket: &str, name: &str) -> Result<Element, Error> {
        let request = Request::new(Method::GET, bucket, "").query(name, "");
        self.send(&request).await?.document().await
    }
}

/// `true` if a service has no bucket in the region of the request. MinIO has a code of its own.
fn is_about_location(error: &Error) -> bool {
    matches!(
        error.code(),
        "IllegalLocationConstraintException" | "InvalidLocationConstraint" | "InvalidRegion"
    )
}

fn tagging(method: Method, bucket: &str, key: &str, version: Option<&str>) -> Request {
    Request::new(method, bucket, key).query("tagging", "").query_if("versionId", version)
}
