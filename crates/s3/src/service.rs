//! The S3 service: s3s, and the steps before and after an operation that s3s lacks.

use std::sync::Arc;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri};
use liteio_store::limits::OBJECT_KEY_BYTES_MAX;
use liteio_store::{Store, StoreError};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use s3s::config::{S3Config, StaticConfigProvider};
use s3s::service::S3ServiceBuilder;
use s3s::{Body, S3Error, S3ErrorCode, S3Result, s3_error};

use super::S3Api;
use super::access::{self, Access, AlreadyAuthenticated, AnyName};
use super::answer::Answer;
use super::authorized::Authorized;
use super::bucket_cors::Place;
use super::context::Sent;
use super::details::Details;
use super::document::Document;
use super::header_text::SystemHeaders;
use super::headers::header_value;
use super::lenient::LenientHeaders;
use super::limits::XML_BODY_BYTES_MAX;
use super::object_get::ReadRequest;
use super::query::Query;
use super::refusal::{self, Facts, Refusal};
use super::route::{Answerer, Route, Target};
use super::{
    bucket_cors, condition, control, directory_bucket, error, listen, metadata, object_put,
    request_headers, website,
};
use liteio_access::state::App;
use liteio_auth::{AuthBody, Identity};
use liteio_wire::cors::{PageRequest, PreflightAnswer};
use liteio_wire::front::Allowance;
use liteio_wire::origin::{DenialBy, Origin};
use liteio_wire::pinned::pin_in;
use liteio_wire::reply::{ApiError, Reply, ReplyBody};

const COPY_SOURCE: HeaderName = HeaderName::from_static("x-amz-copy-source");

/// The bytes to encode when a bucket name from the host is put into a path.
const BUCKET_IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// The S3 service of a server, behind authentication.
pub struct S3Service {
    app: Arc<App>,
    inner: s3s::service::S3Service,
}

impl S3Service {
    /// Creates the service.
    #[must_use]
    pub fn new(app: Arc<App>) -> S3Service {
        let mut builder = S3ServiceBuilder::new(S3Api { app: Arc::clone(&app) });
        let mut config = S3Config::default();
        config.xml_max_body_size = XML_BODY_BYTES_MAX;
        builder.set_config(Arc::new(StaticConfigProvider::new(Arc::new(config))));
        builder.set_auth(AlreadyAuthenticated);
        builder.set_access(Access { app: Arc::clone(&app) });
        builder.set_validation(AnyName);
        S3Service { app, inner: builder.build() }
    }

    /// Answers a browser's preflight request, which is never signed.
    pub async fn preflight(&self, headers: &HeaderMap, origin: &Origin) -> Reply {
        let target = &origin.target;
        let place = Place { bucket: target.bucket(), names_key: !target.key().is_empty() };
        bucket_cors::preflight(&self.app, headers, place, origin).await
    }

    /// The kind of answer to a preflight request, without a trace in the logs.
    pub async fn preflight_answer(&self, headers: &HeaderMap, origin: &Origin) -> PreflightAnswer {
        bucket_cors::preflight_answer(&self.app, headers, origin.target.bucket()).await
    }

    /// The CORS headers of a response to a page.
    pub async fn cors_headers(&self, page: &PageRequest, origin: &Origin) -> Option<HeaderMap> {
        bucket_cors::headers(&self.app, page, origin.target.bucket(), origin).await
    }

    /// The header `Vary` of a response to a request without an origin, if CORS rules apply to it.
    pub fn vary_by_origin(&self, origin: &Origin) -> Option<HeaderMap> {
        bucket_cors::vary(&self.app, origin)
    }

    /// Answers a website request.
    pub async fn website(
        &self,
        head: &Parts,
        origin: &Arc<Origin>,
        allowance: &Allowance,
    ) -> Reply {
        website::answer(&self.app, head, origin, allowance).await
    }

    /// Answers one request. Its extensions hold the sender's `Identity`.
    pub async fn call(&self, mut request: Request<AuthBody>, allowance: &Allowance) -> Reply {
        if control::is_request(&request) {
            return Box::pin(control::answer(&self.app, request)).await;
        }
        name_bucket_in_path(&mut request).map_err(refusal::of_error)?;
        let (mut head, body) = request.into_parts();
        if head.method == Method::PUT {
            shorten_copy_source(&mut head.headers);
        }
        let target = Target::of(&head.uri).map_err(refusal::of_error)?;
        let (method, level) = (head.method.clone(), target.level());
        let refused = |error| refusal::with_method(refusal::of_error(error), &method, level);
        let query = Query::of(&head.uri);
        // As on AWS, whether or not the sender may know the resource: `POST /`, and methods that S3 does
        // not have.
        let route = Route::of(&head, &target, &query).map_err(refused)?;
        let route = route.ok_or_else(|| refused(error::method_not_allowed()))?;
        query.put_into(&mut head.extensions);
        request_headers::check(&head.headers, route.copies(), route.operation).map_err(refused)?;
        if !matches!(head.method, Method::GET | Method::HEAD) {
            refuse_repeated(&head.headers).map_err(refused)?;
            drop_empty_acl(&mut head.headers);
        }
        if let Some(origin) = head.extensions.get::<Arc<Origin>>() {
            origin.found.note_operation(route.operation);
        }
        directory_bucket::name_operation(route, &mut head);
        if listen::is_for(route) {
            return Box::pin(listen::answer(&self.app, &head, route, &target))
                .await
                .map_err(refused);
        }
        if route.answerer == Answerer::Own && route.is_read() {
            let (head, tells_missing) = (&mut head, false);
            let read = ReadRequest { head, route, target, allowance, tells_missing };
            return read.answer(&self.app).await.map_err(refused);
        }
        head.extensions.insert(route);
        let origin = head.extensions.get::<Arc<Origin>>().cloned();
        let mut facts = Facts { method, target, condition: None };
        // Boxed, so that the future of a read does not contain this state.
        let place = Box::new_uninit();
        let answer = pin_in(place, self.call_other(head, body, route, &mut facts)).await;
        answer.map_err(|error| {
            if let Some(origin) = origin {
                note_refused_acl(&origin, &error);
            }
            facts.complete(error)
        })
    }

    /// Answers a request that is no read of an object.
    async fn call_other(
        &self,
        mut head: Parts,
        body: AuthBody,
        route: &'static Route,
        facts: &mut Facts,
    ) -> Reply {
        let target = &facts.target;
        // Before the bucket is looked up, which a standby may not have yet.
        if !matches!(facts.method, Method::GET | Method::HEAD)
            && route.operation != "SelectObjectContent"
            && let Some(suspended) = self.app.ask(Store::suspended)
        {
            return Err(refusal::of_error(error::from_store(suspended)));
        }
        match route.answerer {
            Answerer::Plain => {
                return self.call_plain(Request::from_parts(head, body), route, target).await;
            }
            Answerer::Nobody | Answerer::Other(_) => {
                // Authorize first, so that an unauthorized sender gets 403 and learns nothing more.
                let granted = access::of_request(&self.app, Sent::head(&head), route, target);
                let refused = granted.await.err().unwrap_or_else(|| route.not_implemented());
                return Err(refusal::of_error(refused));
            }
            Answerer::Typed if route.is_decided_by_document() => {}
            Answerer::Typed => {
                let granted = access::of_request(&self.app, Sent::head(&head), route, target);
                granted.await.map_err(refusal::of_error)?.put_into(&mut head.extensions);
            }
            Answerer::Own => {
                return self.call_put(Request::from_parts(head, body), route, facts).await;
            }
        }
        self.call_typed(Request::from_parts(head, body), facts).await
    }

    /// Answers PutObject.
    async fn call_put(
        &self,
        request: Request<AuthBody>,
        route: &'static Route,
        facts: &mut Facts,
    ) -> Reply {
        let (mut head, body) = request.into_parts();
        let granted = access::of_bucket(&self.app, Sent::head(&head), route, &facts.target);
        let granted = granted.await.map_err(refusal::of_error)?;
        check_key(&facts.target)?;
        prepare_head(&mut head).map_err(refusal::of_error)?;
        facts.condition = condition::name_of_write(&head.extensions);
        let body = Body::http_body(body).into();
        let request = Authorized::new(granted, &facts.target.key, head, body);
        object_put::put_object(&self.app, request).await.map_err(refusal::of_error)
    }

    /// Answers a request with a plain handler.
    async fn call_plain(
        &self,
        request: Request<AuthBody>,
        route: &'static Route,
        target: &Target,
    ) -> Reply {
        let (head, body) = request.into_parts();
        let granted = access::of_bucket(&self.app, Sent::head(&head), route, target);
        let granted = match granted.await {
            Err(error) if directory_bucket::is_early(route, &error) => {
                let session =
                    directory_bucket::session(&self.app, Sent::head(&head), &target.bucket);
                return session.map_err(refusal::of_error);
            }
            granted => granted.map_err(refusal::of_error)?,
        };
        let prepared = self.prepare(Request::from_parts(head, Body::http_body(body))).await;
        let (mut head, body) = prepared.map_err(refusal::of_error)?.into_parts();
        let granted = head.extensions.remove().unwrap_or(granted);
        let body = body.bytes().unwrap_or_default();
        let request = Authorized::new(granted, &target.key, head, body);
        S3Api::answer_plain(&self.app, route, request).await.map_err(refusal::of_error)
    }

    /// Removes headers that s3s would reject, and reads the request document, if there is one.
    ///
    /// Receiving a document may take minutes, in which the sender's key may be deleted or its
    /// policies change. So the key is looked up again, and the request authorized again if its user
    /// has changed.
    async fn prepare(&self, request: Request<Body>) -> S3Result<Request<Body>> {
        let headers = Document::of(&request).map(|_| request.headers().clone());
        let mut request = prepare(request).await?;
        let key = request.extensions().get().and_then(Identity::key).cloned();
        let (Some(headers), Some(key)) = (headers, key) else { return Ok(request) };
        let again = self.app.directory.again(&key, self.app.now_unix_seconds());
        let again = again.map_err(|_| error::access_denied())?;
        if Arc::ptr_eq(&again.user, &key.user) {
            return Ok(request);
        }
        request.extensions_mut().insert(Identity::User(again));
        if let Some(route) = request.extensions().get::<&'static Route>().copied() {
            let sent = Sent {
                method: request.method(),
                uri: request.uri(),
                headers: &headers,
                extensions: request.extensions(),
            };
            let target = Target::of(sent.uri)?;
            let permission = access::of_request(&self.app, sent, route, &target).await?;
            permission.put_into(request.extensions_mut());
        }
        Ok(request)
    }

    /// Answers a request through s3s.
    async fn call_typed(&self, request: Request<AuthBody>, facts: &mut Facts) -> Reply {
        // s3s refuses a longer key, too, and without its length.
        check_key(&facts.target)?;
        let prepared = self.prepare(request.map(Body::http_body)).await;
        let mut request = prepared.map_err(refusal::of_error)?;
        facts.condition = condition::name_of_write(request.extensions());
        let refusal = Refusal::default();
        request.extensions_mut().insert(refusal.clone());
        let response = self.inner.call(request).await.map_err(|error| {
            let error: s3s::StdError = error.into();
            refusal::of_error(error::internal(&*error))
        })?;
        let status = response.status();
        match refusal.take() {
            Some(error) => Err(error),
            None if status.is_client_error() || status.is_server_error() => {
                Err(refusal::of_response(&response))
            }
            None => Ok(finish(response)),
        }
    }
}

fn check_key(target: &Target) -> Result<(), ApiError> {
    match target.key.len() {
        0..=OBJECT_KEY_BYTES_MAX => Ok(()),
        bytes => Err(refusal::of_error(error::from_store(StoreError::KeyTooLong { bytes }))),
    }
}

/// Notes for the log what to do about a refused ACL: the message is AWS's, and many programs send an ACL that their users
/// know nothing of.
fn note_refused_acl(origin: &Origin, error: &ApiError) {
    if error.code() == "AccessControlListNotSupported" {
        origin.found.note_denial(DenialBy::Nobody, || {
            "the bucket has no ACLs: send none, for objects bucket-owner-full-control at most, or make \
             buckets that have them by --object-ownership object-writer"
                .to_owned()
        });
    }
}

/// Removes an empty ACL, which is the same as none on AWS: programs that let their users set one send the header anyway.
fn drop_empty_acl(headers: &mut HeaderMap) {
    const ACL: HeaderName = HeaderName::from_static("x-amz-acl");
    if headers.get(ACL).is_some_and(HeaderValue::is_empty) {
        headers.remove(ACL);
    }
}

/// Removes headers that s3s would reject, and verifies the ones it would accept unchecked.
async fn prepare(request: Request<Body>) -> S3Result<Request<Body>> {
    let (mut head, body) = request.into_parts();
    prepare_head(&mut head)?;
    let mut request = Request::from_parts(head, body);
    plain_copy_source(request.headers_mut())?;
    drop_empty_numbers(&mut request)?;
    match Document::of(&request) {
        Some(document) => document.read(request).await,
        None => Ok(request),
    }
}

/// Removes conditions, user metadata and system headers beyond ASCII from a head, and puts them into
/// its extensions.
fn prepare_head(head: &mut Parts) -> S3Result<()> {
    let is_write = !matches!(head.method, Method::GET | Method::HEAD);
    let lenient = condition::take(&mut head.headers, is_write)?;
    if lenient != LenientHeaders::default() {
        head.extensions.insert(lenient);
    }
    if let Some(user) = metadata::take_user(&mut head.headers)? {
        head.extensions.insert(user);
    }
    if let Some(taken) = SystemHeaders::take(&mut head.headers) {
        head.extensions.insert(taken);
    }
    Ok(())
}

/// Removes empty numbers of listings from the query, and an empty marker of parts from the headers:
/// they are none in S3, and no numbers for s3s.
fn drop_empty_numbers(request: &mut Request<Body>) -> S3Result<()> {
    const NUMBERS: [&str; 4] = ["part-number-marker", "max-parts", "max-uploads", "max-keys"];
    const MARKER: HeaderName = HeaderName::from_static("x-amz-part-number-marker");
    if request.headers().get(MARKER).is_some_and(HeaderValue::is_empty) {
        request.headers_mut().remove(MARKER);
    }
    let uri = request.uri();
    let is_empty = |pair: &&str| NUMBERS.contains(&pair.strip_suffix('=').unwrap_or(pair));
    let Some(query) = uri.query().filter(|query| query.split('&').any(|pair| is_empty(&pair)))
    else {
        return Ok(());
    };
    let kept: Vec<&str> = query.split('&').filter(|pair| !is_empty(pair)).collect();
    let invalid = || s3_error!(InvalidURI, "Couldn't parse the specified URI.");
    let path = format!("{}?{}", uri.path(), kept.join("&"));
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(path).map_err(|_| invalid())?);
    *request.uri_mut() = Uri::from_parts(parts).map_err(|_| invalid())?;
    Ok(())
}

/// Reduces a copy source that is a URL to its path, `/bucket/key`, as S3 does. It comes before the
/// authorization, so that policies and the copy read the same text.
fn shorten_copy_source(headers: &mut HeaderMap) {
    // A repeated header is refused later.
    let path = headers.get(COPY_SOURCE).and_then(|source| {
        let source = source.to_str().ok()?;
        let rest = source.strip_prefix("https://").or_else(|| source.strip_prefix("http://"))?;
        HeaderValue::from_str(&rest[rest.find('/')?..]).ok()
    });
    if let (Some(path), 1) = (path, headers.get_all(COPY_SOURCE).iter().count()) {
        headers.insert(COPY_SOURCE, path);
    }
}

/// Replaces `+`, which S3 decodes as a space in a copy source, by `%20`. s3s would keep the plus,
/// and would also accept incomplete escapes, which are rejected here.
fn plain_copy_source(headers: &mut HeaderMap) -> S3Result<()> {
    // A repeated header is left to s3s, which rejects it.
    let mut sources = headers.get_all(COPY_SOURCE).iter();
    let (Some(source), None) = (sources.next(), sources.next()) else { return Ok(()) };
    let mut escapes = source.as_bytes().split(|byte| *byte == b'%').skip(1);
    if !escapes.all(|rest| rest.len() >= 2 && rest[..2].iter().all(u8::is_ascii_hexdigit)) {
        return Err(s3_error!(
            Details::argument(COPY_SOURCE, &String::from_utf8_lossy(source.as_bytes())),
            InvalidArgument,
            "Invalid copy source encoding."
        ));
    }
    // S3 knows one parameter. Ignoring another, such as `version_id`, would copy the current version.
    let text = source.to_str().ok();
    let query = text.and_then(|source| source.split_once('?')).map(|(_, query)| query);
    if query.is_some_and(|query| !query.starts_with("versionId=") || query.contains('&')) {
        return Err(s3_error!(
            Details::argument(COPY_SOURCE, text.unwrap_or_default()),
            InvalidArgument,
            "Unsupported copy source parameter."
        ));
    }
    let text = text.filter(|source| source.contains('+'));
    if let Some(plain) = text.map(|source| source.replace('+', "%20")) {
        headers.insert(COPY_SOURCE, header_value(&plain)?);
    }
    Ok(())
}

/// Rejects repeated `x-amz-` headers except user metadata: authorization could use one value and
/// the operation the other.
fn refuse_repeated(headers: &HeaderMap) -> S3Result<()> {
    let is_repeated = |name: &&HeaderName| {
        let name_text = name.as_str();
        name_text.starts_with("x-amz-")
            && !name_text.starts_with("x-amz-meta-")
            && headers.get_all(*name).iter().nth(1).is_some()
    };
    match headers.keys().find(is_repeated) {
        Some(name) => Err(S3Error::with_message(
            S3ErrorCode::InvalidRequest,
            format!("The header {name} is given more than once"),
        )),
        None => Ok(()),
    }
}

/// Rewrites virtual-hosted style to path style, by putting the bucket in front of the key. s3s then
/// needs no configuration of hosts.
fn name_bucket_in_path<B>(request: &mut Request<B>) -> S3Result<()> {
    let Some(origin) = request.extensions().get::<Arc<Origin>>() else { return Ok(()) };
    let Some(bucket) = origin.target.host_bucket() else { return Ok(()) };
    let bucket = utf8_percent_encode(bucket, BUCKET_IN_PATH);
    let mut parts = request.uri().clone().into_parts();
    let path = parts.path_and_query.as_ref().map_or("/", PathAndQuery::as_str);
    if !path.starts_with('/') {
        return Ok(());
    }
    let invalid = |_| s3_error!(InvalidURI, "Couldn't parse the specified URI.");
    parts.path_and_query =
        Some(PathAndQuery::try_from(format!("/{bucket}{path}")).map_err(invalid)?);
    *request.uri_mut() = Uri::from_parts(parts)
        .map_err(|_| s3_error!(InvalidURI, "Couldn't parse the specified URI."))?;
    Ok(())
}

fn finish(mut response: Response<Body>) -> Response<ReplyBody> {
    let answer = response.extensions_mut().remove::<Answer>().unwrap_or_default();
    if let Some(status) = answer.status {
        *response.status_mut() = status;
    }
    if let Some(xml) = answer.xml {
        response.headers_mut().remove(CONTENT_LENGTH);
        let xml_type = HeaderValue::from_static("application/xml");
        response.headers_mut().insert(CONTENT_TYPE, xml_type);
        return response.map(|_| ReplyBody::from(xml));
    }
    response.map(|body| match body.bytes() {
        Some(bytes) => ReplyBody::from(bytes),
        None => ReplyBody::stream(body),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_user_metadata_may_come_twice() {
        let mut headers = HeaderMap::new();
        for name in ["x-amz-acl", "x-amz-meta-a", "cache-control"] {
            headers.append(name, HeaderValue::from_static("a"));
        }
        assert!(refuse_repeated(&headers).is_ok());
        headers.append("x-amz-acl", HeaderValue::from_static("b"));
        assert!(refuse_repeated(&headers).is_err());
        headers.append("x-amz-meta-a", HeaderValue::from_static("b"));
        headers.remove("x-amz-acl");
        assert!(refuse_repeated(&headers).is_ok());
    }
}
