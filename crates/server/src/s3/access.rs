//! The hook of s3s before every operation, in which [`crate::access`] decides. Its result travels in the
//! extensions of the request; the table of operations hands it to the handler.

use std::sync::Arc;

use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderName, Uri};
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::validation::NameValidation;
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

use super::convert::{header, header_value};
use super::error;
use super::refusal::Refusal;
use super::route::Route;
use crate::access::{self, Action, Context, Denial, Granted, Principal};
use crate::auth::Identity;
use crate::state::App;

const BUCKET_REGION: HeaderName = HeaderName::from_static("x-amz-bucket-region");

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

/// Permission for a request with this head, which addresses the bucket `name`.
pub(super) fn of_bucket(app: &App, head: &Parts, action: Action, name: &str) -> S3Result<Granted> {
    let principal = Principal::new(head.extensions.get::<Identity>());
    resolve(app, &principal, action, name, circumstances(&head.headers, &head.uri))
}

fn resolve(
    app: &App,
    principal: &Principal,
    action: Action,
    name: &str,
    context: Context<'_>,
) -> S3Result<Granted> {
    let granted = app.look(|store| access::bucket(store, principal, action, name, context));
    granted.map_err(|refusal| refused_in_region(refusal, app))
}

/// Decides about a request that nothing will answer: who may not do it shall not learn more.
pub(super) fn of_request(app: &App, head: &Parts, action: Action, bucket: &str) -> S3Result<()> {
    if action.is_of_account() {
        let principal = Principal::new(head.extensions.get::<Identity>());
        let context = circumstances(&head.headers, &head.uri);
        return access::account(&principal, action, context).map(drop).map_err(refused);
    }
    of_bucket(app, head, action, bucket).map(drop)
}

fn circumstances<'a>(headers: &'a HeaderMap, uri: &Uri) -> Context<'a> {
    Context {
        expected_owner: header(headers, "x-amz-expected-bucket-owner"),
        overrides_response: uri.query().is_some_and(overrides_response),
    }
}

impl Access {
    fn decide(&self, context: &mut S3AccessContext<'_>) -> S3Result<()> {
        let principal = Principal::new(context.extensions_mut().get::<Identity>());
        let route = context.extensions_mut().get::<&'static Route>().copied();
        // s3s finds the operation by rules of its own; where they disagree nothing is done.
        let route = route.filter(|route| route.operation == context.s3_op().name());
        let action = route.ok_or_else(error::access_denied)?.action;
        let circumstances = circumstances(context.headers(), context.uri());
        match context.s3_path().get_bucket_name().filter(|_| !action.is_of_account()) {
            Some(name) => {
                let granted = resolve(&self.app, &principal, action, name, circumstances)?;
                context.extensions_mut().insert(granted);
            }
            None => {
                let granted = access::account(&principal, action, circumstances);
                let granted = granted.map_err(refused)?;
                context.extensions_mut().insert(granted);
            }
        }
        Ok(())
    }
}

/// Takes the permission of a request, of the kind that its handler needs, out of the extensions.
pub(super) fn granted<T: Clone + Send + Sync + 'static>(
    extensions: &mut Extensions,
) -> S3Result<T> {
    extensions.remove().ok_or_else(error::access_denied)
}

/// Permission to read from `name`, the bucket of the source of a copy into `target`.
pub(super) fn copy_source(
    app: &App,
    target: &Granted,
    headers: &HeaderMap,
    name: &str,
) -> S3Result<Granted> {
    let expected_owner = header(headers, "x-amz-source-expected-bucket-owner");
    let context = Context { expected_owner, overrides_response: false };
    let granted = app.look(|store| target.other_bucket(store, Action::GetObject, name, context));
    granted.map_err(refused)
}

/// The answer to a request that is not granted.
pub(super) fn refused(refusal: access::Refusal) -> S3Error {
    match refusal {
        access::Refusal::Denied(Denial::Denied) => error::access_denied(),
        access::Refusal::Denied(Denial::AnonymousOverride) => s3_error!(
            InvalidRequest,
            "Request specific response headers cannot be used for anonymous GET requests."
        ),
        access::Refusal::Store(error) => error::from_store(error),
    }
}

/// The same, for a bucket: who may not use it may still learn its region, as from AWS. SDKs ask so.
fn refused_in_region(refusal: access::Refusal, app: &App) -> S3Error {
    let mut error = refused(refusal);
    if let (S3ErrorCode::AccessDenied, Ok(region)) = (error.code(), header_value(&app.region)) {
        error.set_headers(HeaderMap::from_iter([(BUCKET_REGION, region)]));
    }
    error
}

fn overrides_response(query: &str) -> bool {
    query.split('&').any(|pair| pair.starts_with("response-"))
}

/// s3s calls the access check only if it has an authentication of its own. Signatures are checked and
/// removed before it gets a request, so it finds none, and needs no secret.
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
