//! Authorization: builds the [`Question`] of a request for [`liteio_access`] and maps its answer to
//! S3. The permission travels in the request's extensions; the dispatch table hands it to the
//! handler.

use std::borrow::Cow;
use std::sync::Arc;

use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderName, StatusCode};
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::validation::NameValidation;
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

use super::context::{CopiedTags, OtherObject, Sent};
use super::headers::header_value;
use super::refusal::Refusal;
use super::replica;
use super::route::{Answerer, Route, Scope, Target};
use super::{access_log, error};
use liteio_access::state::App;
use liteio_access::{self as access, Action, Granted, GrantedAccount, Principal, Question};
use liteio_auth::Identity;

pub(super) const BUCKET_REGION: HeaderName = HeaderName::from_static("x-amz-bucket-region");

const EXPECTED_OWNER: HeaderName = HeaderName::from_static("x-amz-expected-bucket-owner");

/// Operations whose request document supplies policy condition keys (tags, retention, legal hold).
/// They are authorized after the document has been read.
const DECIDED_BY_DOCUMENT: [&str; 3] =
    ["PutObjectLegalHold", "PutObjectRetention", "PutObjectTagging"];

/// Operations that write an object whose ACL is given in headers.
const WRITES_ACL: [&str; 3] = ["CopyObject", "CreateMultipartUpload", "PutObject"];

/// The permission for a request, on a bucket or on the account.
pub(super) enum Permission {
    Bucket(Granted),
    Account(GrantedAccount),
}

impl Permission {
    /// Stores the permission in the extensions, from which [`granted`] takes it.
    pub(super) fn put_into(self, extensions: &mut Extensions) {
        match self {
            Permission::Bucket(granted) => extensions.insert(granted).map(drop),
            Permission::Account(granted) => extensions.insert(granted).map(drop),
        };
    }
}

/// The hook that s3s calls before every operation. Most requests were authorized before s3s; the
/// hook decides the ones in [`DECIDED_BY_DOCUMENT`].
pub(super) struct Access {
    pub(super) app: Arc<App>,
}

#[async_trait::async_trait]
impl S3Access for Access {
    async fn check(&self, context: &mut S3AccessContext<'_>) -> S3Result<()> {
        self.check(context).await.map_err(|error| {
            let refusal = context.extensions_mut().get::<Refusal>().cloned();
            refusal.unwrap_or_default().keep(error)
        })
    }
}

impl Access {
    async fn check(&self, context: &mut S3AccessContext<'_>) -> S3Result<()> {
        let route = context.extensions_mut().get::<&'static Route>().copied();
        // s3s chooses the operation by its own rules. If they disagree with ours, the permission
        // would be for another operation than the one executed, so the request is refused.
        let route = route.filter(|route| route.operation == context.s3_op().name());
        let route = route.ok_or_else(error::access_denied)?;
        if !route.is_decided_by_document() {
            return Ok(());
        }
        let (method, uri) = (context.method().clone(), context.uri().clone());
        let headers = context.headers().clone();
        let target = Target::of(&uri)?;
        let extensions = context.extensions_mut();
        let sent = Sent { method: &method, uri: &uri, headers: &headers, extensions };
        let permission = of_request(&self.app, sent, route, &target).await?;
        permission.put_into(context.extensions_mut());
        Ok(())
    }
}

impl Route {
    /// True if the decision has to wait for the request document.
    pub(super) fn is_decided_by_document(&self) -> bool {
        DECIDED_BY_DOCUMENT.contains(&self.operation)
    }
}

/// Authorizes a request.
pub(super) async fn of_request(
    app: &App,
    sent: Sent<'_>,
    route: &Route,
    target: &Target,
) -> S3Result<Permission> {
    let version = sent.parameter("versionId");
    let actions = actions(app, route, sent, version.is_some());
    if route.action.is_of_account() {
        let bucket = Some(&*target.bucket).filter(|bucket| !bucket.is_empty());
        let granted = match route.action {
            Action::ListAllMyBuckets => access::bucket_list(&principal(sent), app.rules(), &sent),
            _ => access::account(&principal(sent), actions.as_slice(), bucket, &sent),
        };
        return granted.map(Permission::Account).map_err(|refusal| refused(sent, refusal));
    }
    // DeleteObjects names its keys in the document; the handler authorizes each of them with
    // [`of_object`].
    let (actions, key) = match route.scope {
        Scope::EachKey => (&[][..], None),
        Scope::Path => (actions.as_slice(), Some(&*target.key).filter(|key| !key.is_empty())),
    };
    let expected_owner = owner(app, sent.header(EXPECTED_OWNER))?;
    let question = Question {
        actions,
        key,
        version,
        expected_owner: expected_owner.as_deref(),
        overrides_response: sent.query().overrides().next().is_some(),
        writes: WRITES_ACL.contains(&route.operation),
        tells_missing: route.answerer == Answerer::Own && route.is_read(),
        context: &sent,
        found: sent.origin().map(|origin| &origin.found),
        rules: app.rules(),
    };
    let granted =
        app.look(|store| access::bucket(store, &principal(sent), &target.bucket, &question)).await;
    access_log::begin(app, sent, target, granted.as_ref().ok()).await;
    granted.map(Permission::Bucket).map_err(|refusal| refused_in_region(sent, refusal, app))
}

/// True if the sender of a request without an end may still do what was decided when it began.
pub(super) async fn still_holds(
    app: &App,
    head: &mut Parts,
    route: &Route,
    target: &Target,
) -> bool {
    if let Some(key) = head.extensions.get().and_then(Identity::key).cloned() {
        match app.directory.again(&key, app.now_unix_seconds()) {
            Ok(again) => head.extensions.insert(Identity::User(again)),
            Err(_) => return false,
        };
    }
    let sent = Sent::head(head);
    let (principal, actions) = (principal(sent), std::slice::from_ref(&route.action));
    if route.action.is_of_account() {
        return access::account(&principal, actions, None, &sent).is_ok();
    }
    let question = Question { rules: app.rules(), ..Question::about_bucket(actions, &sent) };
    app.look(|store| access::bucket(store, &principal, &target.bucket, &question)).await.is_ok()
}

/// Authorizes a request on a bucket or an object.
pub(super) async fn of_bucket(
    app: &App,
    sent: Sent<'_>,
    route: &Route,
    target: &Target,
) -> S3Result<Granted> {
    match of_request(app, sent, route, target).await? {
        Permission::Bucket(granted) => Ok(granted),
        Permission::Account(_) => Err(error::access_denied()),
    }
}

/// Authorizes a request of S3 Control on a bucket of this account.
pub(super) async fn of_control(
    app: &App,
    sent: Sent<'_>,
    route: &Route,
    bucket: &str,
    account: &str,
) -> S3Result<Granted> {
    let expected_owner = owner(app, Some(account))?;
    let question = Question {
        expected_owner: expected_owner.as_deref(),
        found: sent.origin().map(|origin| &origin.found),
        rules: app.rules(),
        ..Question::about_bucket(std::slice::from_ref(&route.action), &sent)
    };
    let principal = principal(sent);
    let granted = app.look(|store| access::bucket(store, &principal, bucket, &question)).await;
    granted.map_err(|refusal| refused_in_region(sent, refusal, app))
}

/// The canonical ID in an expected-owner header. AWS sends an account ID there; other clients send
/// a canonical ID, which is used as it is.
///
/// # Errors
/// `InvalidBucketOwnerAWSAccountID` for a value that can be neither.
fn owner<'a>(app: &App, expected: Option<&'a str>) -> S3Result<Option<Cow<'a, str>>> {
    const ACCOUNT_DIGITS: usize = 12;
    const CANONICAL_DIGITS: usize = 64;
    let Some(expected) = expected else { return Ok(None) };
    if let Some(account) = app.directory.now().account(expected) {
        return Ok(Some(Cow::Owned(account.canonical_id.clone())));
    }
    let is_digits = match expected.len() {
        ACCOUNT_DIGITS => expected.bytes().all(|byte| byte.is_ascii_digit()),
        CANONICAL_DIGITS => expected.bytes().all(|byte| byte.is_ascii_hexdigit()),
        _ => false,
    };
    // The canonical IDs of configured accounts may be any text.
    if is_digits || app.account(expected).is_some() {
        return Ok(Some(Cow::Borrowed(expected)));
    }
    Err(error::custom(
        "InvalidBucketOwnerAWSAccountID",
        StatusCode::BAD_REQUEST,
        &format!(
            "The value of the expected bucket owner parameter must be an AWS Account ID... [{}]",
            error::quoted(expected)
        ),
    ))
}

fn principal(sent: Sent<'_>) -> Principal {
    Principal::new(sent.extensions.get::<Identity>())
}

/// The actions of one request, the operation's own action first. An array and not a vector, because
/// most requests are reads and need a single action.
struct Actions {
    actions: [Action; 6],
    count: usize,
}

impl Actions {
    fn one(action: Action) -> Actions {
        Actions { actions: [action; 6], count: 1 }
    }

    fn add_if(&mut self, is_asked: bool, action: Action) {
        if is_asked {
            self.actions[self.count] = action;
            self.count += 1;
        }
    }

    fn as_slice(&self) -> &[Action] {
        &self.actions[..self.count]
    }
}

/// The actions of a request: the operation's own and the ones that its headers add.
fn actions(app: &App, route: &Route, sent: Sent<'_>, names_version: bool) -> Actions {
    let mut actions = Actions::one(match names_version {
        true => route.action.on_version(),
        false => route.action,
    });
    let has = |name: &str| sent.headers.contains_key(name);
    let has_acl = || {
        let mut names = sent.headers.keys().map(HeaderName::as_str);
        // As in `acl::of_headers`, they have no effect.
        !app.acts_as_minio
            && names.any(|name| name == "x-amz-acl" || name.starts_with("x-amz-grant-"))
    };
    let mut also = |is_asked, action| actions.add_if(is_asked, action);
    if let Some(action) = replica::action(route.operation) {
        also(replica::is_asked(sent.headers), action);
    }
    match route.operation {
        operation if WRITES_ACL.contains(&operation) => {
            also(has("x-amz-tagging") && !app.acts_as_minio, Action::PutObjectTagging);
            also(has_acl(), Action::PutObjectAcl);
            let retains = has("x-amz-object-lock-mode") || has("x-amz-object-lock-event-hold");
            also(retains, Action::PutObjectRetention);
            also(has("x-amz-object-lock-legal-hold"), Action::PutObjectLegalHold);
        }
        "CreateBucket" => {
            let locks = sent.header("x-amz-bucket-object-lock-enabled");
            let locks = locks.is_some_and(|it| it.eq_ignore_ascii_case("true"));
            also(has_acl(), Action::PutBucketAcl);
            also(locks, Action::PutBucketObjectLockConfiguration);
            also(locks, Action::PutBucketVersioning);
            also(has("x-amz-object-ownership"), Action::PutBucketOwnershipControls);
        }
        "DeleteObject"
        | "DeleteObjectAnnotation"
        | "PutObjectAnnotation"
        | "PutObjectRetention" => {
            also(bypasses_governance(sent), Action::BypassGovernanceRetention);
        }
        "GetObjectAttributes" => {
            also(true, if names_version { Action::GetObjectVersion } else { Action::GetObject })
        }
        // The action on the new key. The handler authorizes the source key once it knows it.
        "RenameObject" => also(true, Action::PutObject),
        _ => {}
    }
    actions
}

pub(super) fn bypasses_governance(sent: Sent<'_>) -> bool {
    let asked = sent.header("x-amz-bypass-governance-retention");
    asked.is_some_and(|it| it.eq_ignore_ascii_case("true"))
}

/// Authorizes the request again, from a handler, after the state that the first decision looked at
/// has changed.
pub(super) async fn once_more(app: &App, sent: Sent<'_>) -> S3Result<Granted> {
    let route = sent.extensions.get::<&'static Route>().copied();
    let route = route.ok_or_else(error::access_denied)?;
    of_bucket(app, sent, route, &Target::of(sent.uri)?).await
}

/// Takes the permission that the handler needs out of the extensions.
pub(super) fn granted<T: Clone + Send + Sync + 'static>(
    extensions: &mut Extensions,
) -> S3Result<T> {
    extensions.remove().ok_or_else(error::access_denied)
}

/// Authorizes reading `key` of `bucket`, the source of a copy into `target`.
pub(super) async fn copy_source(
    app: &App,
    target: &Granted,
    sent: Sent<'_>,
    bucket: &str,
    key: &str,
    version: Option<&str>,
) -> S3Result<Granted> {
    let action = Action::GetObject;
    let actions = [if version.is_some() { action.on_version() } else { action }];
    let context = OtherObject { sent, version };
    let expected_owner = owner(app, sent.header("x-amz-source-expected-bucket-owner"))?;
    let question = Question {
        key: Some(key),
        version,
        expected_owner: expected_owner.as_deref(),
        ..Question::about_bucket(&actions, &context)
    };
    let granted = app.look(|store| target.other_bucket(store, bucket, &question)).await;
    if let Ok(source) = &granted {
        access_log::copy_source(app, sent, source, key, version);
    }
    granted.map_err(|refusal| refused(sent, refusal))
}

/// Authorizes copying the annotations of the source of a copy to its target.
pub(super) async fn copied_annotations(
    app: &App,
    (target, target_key): (&Granted, &str),
    sent: Sent<'_>,
    source: &Granted,
    (key, version): (&str, Option<&str>),
) -> S3Result<()> {
    let read = match version {
        None => Action::GetObjectAnnotation,
        Some(_) => Action::GetObjectVersionAnnotation,
    };
    of_object(app, source, sent, &[read], key, version).await?;
    let write = [Action::PutObjectAnnotation];
    let context = OtherObject { sent, version: None };
    let question = Question {
        key: Some(target_key),
        writes: true,
        ..Question::about_bucket(&write, &context)
    };
    let allowed = app.look(|store| target.allows(store, &question)).await;
    allowed.map_err(|refusal| refused(sent, refusal))
}

/// Authorizes an action on another bucket for the sender of the request that `granted` belongs to.
pub(super) async fn other_bucket(
    app: &App,
    granted: &Granted,
    sent: Sent<'_>,
    action: Action,
    name: &str,
) -> S3Result<Granted> {
    let actions = [action];
    let question = Question::about_bucket(&actions, &sent);
    let found = app.look(|store| granted.other_bucket(store, name, &question)).await;
    found.map_err(|refusal| refused(sent, refusal))
}

/// Authorizes actions on one object of a bucket that is already granted, for requests with several
/// objects.
pub(super) async fn of_object(
    app: &App,
    granted: &Granted,
    sent: Sent<'_>,
    actions: &[Action],
    key: &str,
    version: Option<&str>,
) -> S3Result<()> {
    let context = OtherObject { sent, version };
    let question =
        Question { key: Some(key), version, ..Question::about_bucket(actions, &context) };
    let allowed = app.look(|store| granted.allows(store, &question)).await;
    allowed.map_err(|refusal| refused(sent, refusal))
}

/// Authorizes writing another object than the request's own one, with the headers of the request.
pub(super) async fn of_written(
    app: &App,
    granted: &Granted,
    sent: Sent<'_>,
    key: &str,
) -> S3Result<()> {
    let route = sent.extensions.get::<&'static Route>().copied();
    let actions = actions(app, route.ok_or_else(error::access_denied)?, sent, false);
    let about_bucket = Question::about_bucket(actions.as_slice(), &sent);
    let question = Question { key: Some(key), writes: true, ..about_bucket };
    let allowed = app.look(|store| granted.allows(store, &question)).await;
    allowed.map_err(|refusal| refused(sent, refusal))
}

/// Authorizes actions on the target of a copy that receives these tags.
pub(super) async fn of_copied_tags(
    app: &App,
    granted: &Granted,
    sent: Sent<'_>,
    actions: &[Action],
    key: &str,
    tags: &[(String, String)],
) -> S3Result<()> {
    let context = CopiedTags { sent, tags };
    let question =
        Question { key: Some(key), writes: true, ..Question::about_bucket(actions, &context) };
    let allowed = app.look(|store| granted.allows(store, &question)).await;
    allowed.map_err(|refusal| refused(sent, refusal))
}

/// The actions needed to delete one of several objects.
pub(super) fn of_deletion(sent: Sent<'_>, version: Option<&str>) -> Vec<Action> {
    let action = Action::DeleteObject;
    let mut actions = vec![if version.is_some() { action.on_version() } else { action }];
    if bypasses_governance(sent) {
        actions.push(Action::BypassGovernanceRetention);
    }
    actions
}

/// The error for a missing object: 404 only if the sender may list the bucket, else 403. AWS does
/// the same, so that keys cannot be probed without `s3:ListBucket`.
pub(super) async fn hide_missing(
    app: &App,
    granted: &Granted,
    sent: Sent<'_>,
    key: &str,
    error: S3Error,
) -> S3Error {
    let is_missing = matches!(error.code(), S3ErrorCode::NoSuchKey | S3ErrorCode::NoSuchVersion);
    if !is_missing {
        return error;
    }
    match app.look(|store| granted.allows_listing(store, key, &sent)).await {
        Ok(()) => error,
        Err(refusal) => refused(sent, refusal),
    }
}

/// The error for a refused request. The reason goes to the log, not to the client.
pub(super) fn refused(sent: Sent<'_>, refusal: access::Refusal) -> S3Error {
    match refusal {
        access::Refusal::Denied(denial) => {
            if let Some(origin) = sent.origin() {
                origin.found.note_denial(denial.by(), || denial.to_string());
            }
            S3Error::with_message(S3ErrorCode::AccessDenied, denial.message())
        }
        access::Refusal::AnonymousOverride => s3_error!(
            InvalidRequest,
            "Request specific response headers cannot be used for anonymous GET requests."
        ),
        access::Refusal::Store(error) => error::from_store(error),
    }
}

/// The error for a refused request on a bucket. A 403 still carries the bucket's region, as on AWS:
/// SDKs use it to find the region.
fn refused_in_region(sent: Sent<'_>, refusal: access::Refusal, app: &App) -> S3Error {
    let mut error = refused(sent, refusal);
    if let (S3ErrorCode::AccessDenied, Ok(region)) = (error.code(), header_value(&app.region)) {
        error.set_headers(HeaderMap::from_iter([(BUCKET_REGION, region)]));
    }
    error
}

/// s3s calls the access check only if an authentication is configured. Signatures are checked and
/// removed before the request reaches s3s, so this one is never asked for a secret.
pub(super) struct AlreadyAuthenticated;

#[async_trait::async_trait]
impl S3Auth for AlreadyAuthenticated {
    async fn get_secret_key(&self, _access_key: &str) -> S3Result<SecretKey> {
        Err(error::access_denied())
    }
}

/// Accepts every name: [`liteio_access`] rejects invalid ones, with a message.
pub(super) struct AnyName;

impl NameValidation for AnyName {
    fn validate_bucket_name(&self, _name: &str) -> bool {
        true
    }
}
