//! Who may do what. One decision for every request, before its input is parsed; denied by default.
//!
//! Until there are policies, a bucket and everything in it belongs to its owner alone, and users
//! create and list buckets of their own.

use std::sync::Arc;

use http::{Extensions, HeaderMap};
use liteio_store::{Bucket, BucketName};
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::validation::NameValidation;
use s3s::{S3Result, s3_error};

use super::convert::header;
use super::error;
use super::refusal::Refusal;
use crate::auth::Identity;
use crate::state::App;

/// The decision before every operation.
pub(super) struct Access {
    pub(super) app: Arc<App>,
}

#[async_trait::async_trait]
impl S3Access for Access {
    async fn check(&self, context: &mut S3AccessContext<'_>) -> S3Result<()> {
        self.decide(context).map_err(|error| {
            let refusal = context.extensions_mut().get::<Refusal>().cloned();
            refusal.unwrap_or_default().keep(error)
        })
    }
}

impl Access {
    fn decide(&self, context: &mut S3AccessContext<'_>) -> S3Result<()> {
        let identity = identity(context.extensions_mut());
        if matches!(identity, Identity::Anonymous)
            && context.uri().query().is_some_and(overrides_response)
        {
            return Err(s3_error!(
                InvalidRequest,
                "Request specific response headers cannot be used for anonymous GET requests."
            ));
        }
        let name = context.s3_path().get_bucket_name();
        match (context.s3_op().name(), name) {
            // What has no owner yet, or none at all, is for users.
            ("CreateBucket", _) | (_, None) => match identity {
                Identity::User(_) => Ok(()),
                Identity::Anonymous => Err(error::access_denied()),
            },
            (_, Some(name)) => {
                let name = BucketName::try_from(name).map_err(error::from_store)?;
                let expected = header(context.headers(), "x-amz-expected-bucket-owner");
                let bucket = check_owner(&self.app, &identity, &name, expected)?;
                context.extensions_mut().insert(AllowedBucket(bucket));
                Ok(())
            }
        }
    }
}

/// The bucket that a request may work on, in its extensions. Its name may pass to another bucket, of
/// somebody else, before a long body has come.
#[derive(Clone, Debug)]
struct AllowedBucket(Arc<Bucket>);

/// The bucket that the request addresses and its sender may work on.
pub(super) fn allowed_bucket(extensions: &Extensions) -> S3Result<Arc<Bucket>> {
    let allowed = extensions.get::<AllowedBucket>();
    allowed.map(|allowed| Arc::clone(&allowed.0)).ok_or_else(error::access_denied)
}

/// The source's bucket of a copy, if the sender of the request may read from it.
pub(super) fn check_copy_source(
    app: &App,
    headers: &HeaderMap,
    extensions: &mut Extensions,
    bucket: &BucketName,
) -> S3Result<Arc<Bucket>> {
    let expected = header(headers, "x-amz-source-expected-bucket-owner");
    check_owner(app, &identity(extensions), bucket, expected)
}

/// The bucket, if it belongs to whoever asks.
fn check_owner(
    app: &App,
    identity: &Identity,
    name: &BucketName,
    expected_owner: Option<&str>,
) -> S3Result<Arc<Bucket>> {
    let bucket = app.store.bucket(name).map_err(error::from_store)?;
    let is_owner = identity.user().is_some_and(|user| user.id == bucket.owner.id);
    let is_expected = expected_owner.is_none_or(|owner| owner == bucket.owner.id);
    if is_owner && is_expected { Ok(bucket) } else { Err(error::access_denied()) }
}

/// A request that no layer has vouched for is anonymous.
fn identity(extensions: &mut Extensions) -> Identity {
    extensions.get::<Identity>().cloned().unwrap_or(Identity::Anonymous)
}

fn overrides_response(query: &str) -> bool {
    query.split('&').any(|pair| pair.starts_with("response-"))
}

/// s3s asks for access only when it has an authentication of its own. Signatures have been checked
/// and taken off before it sees a request, so it finds none and asks for no secret.
pub(super) struct AlreadyAuthenticated;

#[async_trait::async_trait]
impl S3Auth for AlreadyAuthenticated {
    async fn get_secret_key(&self, _access_key: &str) -> S3Result<SecretKey> {
        Err(error::access_denied())
    }
}

/// Lets every name pass: [`Access`] refuses the wrong ones, with a message.
pub(super) struct AnyName;

impl NameValidation for AnyName {
    fn validate_bucket_name(&self, _name: &str) -> bool {
        true
    }
}
