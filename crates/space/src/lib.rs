//! [`Space`]: one store with its users, authentication and services.
//!
//! A server has one space, and with the test API any number. A space authenticates a request and passes it to the
//! service in its signature: S3, S3 Vectors, S3 Tables, IAM or STS. The Iceberg REST catalog has paths of its own.
//!
//! ```text
//! request ──► no_auth (guard) ──► Authenticator ──► Service ──► S3Service, VectorsService, TablesService, Iam
//!    │                                                 (without a signature: S3, or S3 Vectors by the path)
//!    ├── /_iceberg/: Authenticator, also by bearer tokens ──► TablesService
//!    └── website, CORS preflight: S3Service, without authentication
//! ```
//!
//! | Module | Content |
//! |---|---|
//! | root | [`Space`] and its [`SpaceParts`] |
//! | `other_services` | The refusals of services of AWS that are not here |
//! | [`no_auth`] | The guard of a server that does not check signatures: it refuses pages of other origins, foreign host names, and IAM in URLs |
//!
//! The crate must not know sockets, settings, routes for operators or other spaces. It alone, and the dispatch of
//! the server, know that there are several services.
//!
//! ```
//! use http::Request;
//! use liteio_space::no_auth::{HostNames, NoAuth, is_own};
//!
//! let names = ["localhost".to_owned()];
//! assert!(is_own("photos.localhost", &names));
//! assert!(is_own("127.0.0.1", &names));
//!
//! // A foreign name that resolves to this machine (DNS rebinding).
//! let names = HostNames { domains: names.to_vec(), of_container: None };
//! let guard = NoAuth::new("liteio".to_owned(), &[], names);
//! let request = Request::get("/photos").header("host", "rebound.example.com").body(())?;
//! assert!(guard.check(&request, |_| false).is_err());
//! # Ok::<(), http::Error>(())
//! ```

pub mod no_auth;
mod other_services;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, AUTHORIZATION};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request};
use http_body::Body;

use crate::no_auth::{NoAuth, RESOURCE_POLICY, SAME_SITE};
use crate::other_services::{is_form, not_served, of_other_scope, of_other_service};
use liteio_access::state::App;
use liteio_auth::{
    AuthBody, Authenticator, BodyFault, Identity, Rules, Service, SignedAs, is_signed,
};
use liteio_iam::settings::SignInSettings;
use liteio_iam::{self as iam, Api, Iam, SignIn, Users, Watch, is_web_identity};
use liteio_observe::events::{Senders, Target};
use liteio_replicate::Replicators;
use liteio_reports::{self as reports, Reports};
use liteio_s3::{self as s3, S3Service};
use liteio_s3vectors::{self as vectors, VectorsService};
use liteio_tables::{self as tables, BasicCredentials, Maintenance, TablesService};
use liteio_tier::Tiering;
use liteio_wire::cors::{PageRequest, PreflightAnswer, may_be_cached_without_origin};
use liteio_wire::front::Allowance;
use liteio_wire::origin::{DenialBy, Locale, Origin};
use liteio_wire::reply::{self, ApiError, BoxError, ErrorCode, Reply};

/// Characters of an access key that is not proven that the log shows: those of a key of AWS, and half of a secret key in its place.
const KEY_CHARACTERS_MAX: usize = 20;

/// Characters that the log shows of the difference of a signature, which has headers of the client.
const DIFFERENCE_CHARACTERS_MAX: usize = 512;

/// MinIO's message for the access key of a disabled user or service account.
const DISABLED: &str = "Your account is disabled; please contact your administrator.";

/// The name of the main space, for requests that name no other.
pub const MAIN: &str = liteio_wire::origin::MAIN_SPACE;

/// The services over one store.
pub struct Space {
    /// State that the services share.
    pub app: Arc<App>,
    /// The users.
    pub users: Arc<Users>,
    /// Tasks that deliver events.
    pub senders: Senders,
    /// Tasks that deliver access logs and inventories.
    pub reports: Reports,
    /// The task that maintains tables.
    pub maintenance: Maintenance,
    /// Tasks that copy versions to the targets of replication.
    pub replicators: Replicators,
    /// The task that moves bodies into tiers.
    pub tiering: Tiering,
    no_auth: Option<NoAuth>,
    locale: Arc<Locale>,
    authenticator: Arc<Authenticator>,
    s3: S3Service,
    vectors: VectorsService,
    tables: TablesService,
    iam: Iam,
    _watch: Watch,
}

/// The parts of a space.
pub struct SpaceParts {
    /// The name of the space.
    pub name: String,
    /// State that the services share.
    pub app: App,
    /// The users.
    pub users: Users,
    /// The targets of its events.
    pub targets: Vec<Arc<dyn Target>>,
    /// Settings of access logs and inventories.
    pub reports: reports::Settings,
    /// Settings of the Iceberg REST catalog.
    pub tables: tables::Settings,
    /// The request guard, if signatures are not checked.
    pub no_auth: Option<NoAuth>,
    /// The store's clock may differ from the clock of the signers.
    pub is_clock_shifted: bool,
}

impl Space {
    /// Creates the services, and starts the delivery of events.
    pub fn new(parts: SpaceParts) -> Space {
        let SpaceParts { name, app, users, targets, reports, tables, no_auth, is_clock_shifted } =
            parts;
        let (app, users) = (Arc::new(app), Arc::new(users));
        let is_open = no_auth.is_some();
        let clock = Arc::clone(app.store.clock());
        let time = move || UNIX_EPOCH + Duration::from_millis(clock.now_ms());
        let rules = Rules {
            region: app.region.clone(),
            takes_any_region: app.takes_any_region,
            takes_version_2: app.takes_version_2,
            takes_unsigned_acl: app.acts_as_minio,
            takes_small_chunks: app.acts_as_minio,
            everyone_is: no_auth.as_ref().map(|it| it.key.clone()),
        };
        let authenticator = Authenticator::new(Arc::clone(users.current()), rules, Arc::new(time));
        let authenticator = match is_clock_shifted {
            true => authenticator.with_signers_by(Arc::new(SystemTime::now)),
            false => authenticator,
        };
        let authenticator = Arc::new(authenticator);
        let tokens = Box::new(BearerTokens(Arc::clone(&authenticator)));
        let clock = Arc::clone(app.store.clock());
        Space {
            senders: Senders::start(&app, targets),
            reports: Reports::start(&app, reports),
            maintenance: Maintenance::start(&app),
            replicators: Replicators::start(&app),
            tiering: Tiering::start(&app),
            no_auth,
            locale: Arc::new(Locale {
                space: name,
                region: app.region.clone(),
                clock,
                is_closed: AtomicBool::new(false),
            }),
            authenticator,
            s3: S3Service::new(Arc::clone(&app)),
            vectors: VectorsService::new(Arc::clone(&app)),
            tables: TablesService::new(Arc::clone(&app), tables, tokens),
            iam: Iam::new(Arc::clone(&app), Arc::clone(&users), is_open),
            _watch: users.watch(&app),
            app,
            users,
        }
    }

    /// The sign-in to the console by an issuer.
    pub fn sign_in(&self, settings: SignInSettings) -> SignIn {
        self.iam.sign_in(settings)
    }

    /// The rules for unsigned requests, if signatures are not checked.
    pub fn no_auth(&self) -> Option<&NoAuth> {
        self.no_auth.as_ref()
    }

    /// True for an upload by a browser form.
    pub fn is_form_upload(&self, head: &Parts, origin: &Origin) -> bool {
        self.authenticator.is_form_upload(head, origin.target.host_bucket())
    }

    /// True for an access key of its users or sessions, even if expired or inactive.
    pub fn knows(&self, access_key: &str, token: Option<&str>) -> bool {
        self.users.know(access_key, token)
    }

    /// True if the configuration names this access key, or one of its sessions has this token.
    pub fn owns(&self, access_key: &str, token: Option<&str>) -> bool {
        match token {
            None => self.users.configure(access_key),
            Some(_) => self.users.current().knows(access_key, token),
        }
    }

    /// Authenticates a request, and reserves memory for its body.
    ///
    /// # Errors
    /// As [`Authenticator::authenticate`].
    pub async fn authenticated<B>(
        &self,
        request: Request<B>,
        origin: &Origin,
        allowance: &Allowance,
    ) -> Result<Request<AuthBody>, ApiError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let host_bucket = origin.target.host_bucket();
        let request = self.authenticator.authenticate(request, host_bucket).await;
        let request = request.map_err(|error| self.note_refused_key(error, origin))?;
        self.admitted(request, origin, allowance)
    }

    /// Notes the sender of an authenticated request, and reserves memory for its body.
    fn admitted(
        &self,
        request: Request<AuthBody>,
        origin: &Origin,
        allowance: &Allowance,
    ) -> Result<Request<AuthBody>, ApiError> {
        let Some(key) = request.extensions().get().and_then(Identity::key) else {
            return Ok(request);
        };
        origin.found.note_user(&key.user.name, key.user.canonical_id());
        origin.found.note_key(&key.id, key.user.session.is_some());
        // Memory is reserved before the body is read.
        if !request.body().is_end_stream() {
            allowance.admit_body()?;
        }
        Ok(request)
    }

    /// Stops recording its requests, including those in flight.
    pub fn close_record(&self) {
        self.locale.is_closed.store(true, Ordering::Relaxed);
    }

    /// The kind of answer that this space would give to a preflight request, without a trace in the logs.
    pub async fn preflight_answer(&self, headers: &HeaderMap, origin: &Origin) -> PreflightAnswer {
        self.s3.preflight_answer(headers, origin).await
    }

    /// Records that a request was for this space, with its operation if it is one of S3, S3 Vectors, IAM or STS.
    pub fn note(&self, origin: &Origin, operation: Option<&str>) {
        origin.found.note_locale(&self.locale);
        let Some(name) = operation else { return };
        let of_iam =
            || iam::operation_names().chain(iam::STS_OPERATIONS).find(|known| *known == name);
        let known = s3::known_operation(name);
        let known = known.or_else(|| vectors::known_operation(name)).or_else(of_iam);
        if let Some(known) = known {
            origin.found.note_operation(known);
        }
    }

    /// Answers a service request.
    pub async fn call<B>(
        &self,
        request: Request<B>,
        origin: &Arc<Origin>,
        allowance: &Allowance,
    ) -> Reply
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        origin.found.note_locale(&self.locale);
        // Boxed, like all but S3 below: the future of a request is allocated and moved, so that it should be no larger
        // than most requests need.
        if origin.target.is_site() {
            let (head, _) = request.into_parts();
            return Box::pin(self.s3.website(&head, origin, allowance)).await;
        }
        if request.method() == Method::OPTIONS {
            let (head, _) = request.into_parts();
            return Box::pin(self.s3.preflight(&head.headers, origin)).await;
        }
        let page = PageRequest::of(request.method(), request.headers());
        let is_cached =
            page.is_none() && may_be_cached_without_origin(request.method(), request.headers());
        let foreign = self.no_auth.as_ref().and_then(|no_auth| no_auth.foreign_page(&request));
        let is_allowed = match foreign {
            None => false,
            Some(page) => {
                let page = PageRequest::with_method(page, request.method().clone());
                let headers = Box::pin(self.s3.cors_headers(&page, origin)).await;
                headers.is_some_and(|it| it.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN))
            }
        };
        let guarded = self.no_auth.as_ref().map(|no_auth| no_auth.check(&request, |_| is_allowed));
        let (checked, policy) = match guarded {
            None => (Ok(()), None),
            Some(Ok(policy)) => (Ok(()), Some(policy)),
            Some(Err(error)) => (Err(error), Some(SAME_SITE)),
        };
        let reply = match checked {
            Ok(()) => self.signed(request, origin, allowance).await,
            Err(error) => Err(error),
        };
        let policy = policy.map(|policy| HeaderMap::from_iter([(RESOURCE_POLICY, policy)]));
        let vary = if is_cached { self.s3.vary_by_origin(origin) } else { None };
        let reply = reply::with_headers(reply, vary);
        reply::with_headers(self.for_page(reply, page, origin).await, policy)
    }

    /// Rejects a request before its operation starts. The sender is recorded if the signature is
    /// valid, and the error has CORS headers: without them, a web page would see a failed
    /// connection instead.
    pub async fn refuse<B>(
        &self,
        request: Request<B>,
        origin: &Origin,
        allowance: &Allowance,
        error: ApiError,
    ) -> Reply
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let page = PageRequest::of(request.method(), request.headers());
        // An invalid signature changes nothing: the response is this error.
        let _ = self.authenticated(request, origin, allowance).await;
        self.for_page(Err(error), page, origin).await
    }

    /// Adds the CORS headers to the reply for the page that sent the request.
    async fn for_page(&self, reply: Reply, page: Option<PageRequest>, origin: &Origin) -> Reply {
        let headers = match page {
            Some(page) => Box::pin(self.s3.cors_headers(&page, origin)).await,
            None => None,
        };
        reply::with_headers(reply, headers)
    }

    /// Authenticates a request, and passes it to the service in its credential scope, or to that of its path.
    async fn signed<B>(&self, request: Request<B>, origin: &Origin, allowance: &Allowance) -> Reply
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let authorization = request.headers().get(AUTHORIZATION).cloned();
        let (head, body) = request.into_parts();
        if origin.target.host_bucket().is_none()
            && let Some(path) = path_of_catalog(&head, origin)
        {
            let request = Request::from_parts(head, body);
            return Box::pin(self.catalog(request, &path, origin, allowance)).await;
        }
        if let Some(refusal) = of_other_service(&head) {
            return Err(refusal);
        }
        let is_web_identity = origin.target.bucket().is_empty() && is_web_identity(&head);
        let is_form = is_form(&head);
        let by_path = service_of_path(&head, origin);
        let request = Request::from_parts(head, body);
        let request = match self.authenticated(request, origin, allowance).await {
            Ok(request) => request,
            Err(error) => {
                let claimed = authorization.as_ref().and_then(|it| it.to_str().ok());
                return Err(match claimed.and_then(Service::claimed).or(by_path) {
                    Some(Service::S3Vectors) => {
                        origin.found.note_vectors("", None);
                        let refusal = vectors::refusal(&error);
                        // One exception for what S3 has many codes for.
                        if refusal.code() == "AccessDeniedException" {
                            origin.found.note_denial(DenialBy::Nobody, || {
                                format!("{}: {}", error.code(), error.message())
                            });
                        }
                        refusal
                    }
                    Some(Service::Iam) => iam::refusal(&error),
                    Some(Service::Sts) => iam::for_sts(&iam::refusal(&error)),
                    Some(Service::S3Tables) => tables::s3tables::refusal(&error),
                    Some(service @ Service::ExecuteApi) => not_served(service),
                    Some(Service::S3 | Service::S3Express) => error,
                    None => claimed.and_then(|it| of_other_scope(it, is_form)).unwrap_or(error),
                });
            }
        };
        let service = request.extensions().get().and_then(SignedAs::service).or(by_path);
        if let (Some(no_auth), Some(Service::Iam)) = (&self.no_auth, service) {
            no_auth
                .check_iam(request.method(), authorization.is_some())
                .map_err(|error| iam::refusal(&error))?;
        }
        // Without signature checks, a scope of any service is accepted.
        if service.is_none()
            && let Some(claimed) = authorization.as_ref().and_then(|it| it.to_str().ok())
            && let Some(refusal) = of_other_scope(claimed, is_form)
        {
            return Err(refusal);
        }
        match service {
            Some(Service::S3Vectors) => {
                let reply = Box::pin(self.vectors.call(request)).await;
                // Without effect, unless it was refused before its names were read.
                origin.found.note_vectors("", None);
                return for_sdks(reply, origin);
            }
            Some(Service::Iam) => {
                return for_sdks(Box::pin(self.iam.call(Api::Iam, request, origin)).await, origin);
            }
            Some(Service::Sts) => {
                return for_sdks(Box::pin(self.iam.call(Api::Sts, request, origin)).await, origin);
            }
            None if is_web_identity => {
                return for_sdks(Box::pin(self.iam.call(Api::Sts, request, origin)).await, origin);
            }
            Some(Service::S3Tables) => {
                return for_sdks(Box::pin(self.tables.call_s3tables(request)).await, origin);
            }
            Some(service @ Service::ExecuteApi) => return Err(not_served(service)),
            Some(Service::S3 | Service::S3Express) | None => {}
        }
        let fault = request.extensions().get::<BodyFault>().cloned();
        let reply = self.s3.call(request, allowance).await;
        match (reply, fault.as_ref().and_then(BodyFault::get)) {
            // A failed body is the client's fault, even if a layer in between turned its error into
            // an internal one.
            (Err(error), Some(fault)) if error.status().is_server_error() => Err(fault.clone()),
            (reply, _) => reply,
        }
    }
}

/// The path below that of the Iceberg REST catalog, if a request is for it.
fn path_of_catalog(head: &Parts, origin: &Origin) -> Option<String> {
    let at_root = || origin.target.has_catalog().then(|| tables::path_at_root(head)).flatten();
    tables::path_of(head).or_else(at_root).map(str::to_owned)
}

/// The service of an unsigned request for an operation of S3 Vectors. The names of operations have capitals, so none of them is
/// the name of a bucket.
fn service_of_path(head: &Parts, origin: &Origin) -> Option<Service> {
    let name = head.uri.path().strip_prefix('/')?;
    let is_of_vectors = head.method == Method::POST
        && vectors::known_operation(name).is_some()
        && origin.target.host_bucket().is_none()
        && !is_signed(head);
    is_of_vectors.then_some(Service::S3Vectors)
}

impl Space {
    /// Notes the access key of a refused signature, which the request does not prove: an unknown one, most of which are of
    /// another server or of a deleted space, or one with another secret key. In the place of MinIO the error tells, as MinIO's does,
    /// of one that is disabled.
    fn note_refused_key(&self, error: ApiError, origin: &Origin) -> ApiError {
        let element = |name: &str| {
            let mut elements = error.elements().iter();
            elements.find(|(of, _)| *of == name).map(|(_, value)| value)
        };
        let Some(key) = element("AWSAccessKeyId") else { return error };
        let rest = if key.chars().nth(KEY_CHARACTERS_MAX).is_some() { "…" } else { "" };
        let shown: String = key.chars().take(KEY_CHARACTERS_MAX).collect();
        if error.code() == "SignatureDoesNotMatch" {
            origin.found.note_denial(DenialBy::Nobody, || {
                // A proxy that changes it is the usual reason.
                let canonical = element("CanonicalRequest");
                let host = canonical
                    .and_then(|it| it.lines().find_map(|line| line.strip_prefix("host:")))
                    .map(|host| host.chars().take(DIFFERENCE_CHARACTERS_MAX).collect::<String>());
                let host = host.map(|host| format!(" for the host {host}")).unwrap_or_default();
                let unproven = format!(
                    "the request names the access key {shown}{rest}, and its signature does not prove it{host}"
                );
                match element("Detail") {
                    Some(detail) => {
                        let detail: String = detail.chars().take(DIFFERENCE_CHARACTERS_MAX).collect();
                        format!("{detail}; {unproven}")
                    }
                    None => unproven,
                }
            });
        }
        if error.code() != "InvalidAccessKeyId" {
            return error;
        }
        let is_disabled = self.users.know(key, None) && !self.users.current().knows(key, None);
        origin.found.note_denial(DenialBy::Nobody, || {
            let state = if is_disabled { "disabled" } else { "unknown" };
            format!("the access key {shown}{rest} is {state}")
        });
        match is_disabled && self.app.acts_as_minio {
            true => ApiError::new(ErrorCode::InvalidAccessKeyId, DISABLED)
                .with("AWSAccessKeyId", key.clone()),
            false => error,
        }
    }

    /// Authenticates a request of the Iceberg REST catalog, by a signature or a bearer token, and answers it.
    async fn catalog<B>(
        &self,
        request: Request<B>,
        path: &str,
        origin: &Origin,
        allowance: &Allowance,
    ) -> Reply
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let authorization = request.headers().get(AUTHORIZATION).cloned();
        let bearer = authorization.as_ref().and_then(|it| of_scheme(it, "bearer"));
        let authenticated = match (&self.no_auth, bearer) {
            // Its body proves who sends it. It is short, and no memory is reserved for it before.
            (_, _) if tables::is_for_token(path) => self.authenticator.anonymous(request),
            (None, Some(token)) => self.by_bearer(request, token, origin, allowance),
            _ => self.authenticated(request, origin, allowance).await,
        };
        let mut request = authenticated.map_err(|error| tables::refusal(&error))?;
        if let Some(basic) = authorization.filter(|it| of_scheme(it, "basic").is_some()) {
            request.extensions_mut().insert(BasicCredentials(basic));
        }
        self.tables.call(request, path).await
    }

    fn by_bearer<B>(
        &self,
        request: Request<B>,
        token: &str,
        origin: &Origin,
        allowance: &Allowance,
    ) -> Result<Request<AuthBody>, ApiError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let request = self.authenticator.authenticate_bearer(request, token)?;
        self.admitted(request, origin, allowance)
    }
}

/// The bearer tokens of a space.
struct BearerTokens(Arc<Authenticator>);

impl tables::Tokens for BearerTokens {
    fn issue(&self, access_key: &str, secret: &str, seconds: u32) -> Option<String> {
        self.0.issue_bearer(access_key, secret, seconds).ok()
    }
}

/// The credentials of an authorization of this scheme.
fn of_scheme<'a>(authorization: &'a HeaderValue, scheme: &str) -> Option<&'a str> {
    let (found, credentials) = authorization.to_str().ok()?.split_once(' ')?;
    found.eq_ignore_ascii_case(scheme).then(|| credentials.trim())
}

/// The reply of a service other than S3, with the request id where its SDKs look for it. An error gets it with its document.
fn for_sdks(mut reply: Reply, origin: &Origin) -> Reply {
    if let Ok(response) = &mut reply {
        origin.ids.insert_for_sdks(response.headers_mut());
    }
    reply
}
