//! Serves bucket websites: anonymous GET and HEAD, with HTML pages instead of XML documents.

use std::sync::Arc;

use http::header::{HeaderName, LOCATION};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};

use super::bucket_cors::Place;
use super::object_get::ReadRequest;
use super::query::Query;
use super::route::{Route, Target};
use super::{access_log, bucket_cors, bucket_website, refusal};
use crate::website_rules::{self, Asked, Pages, Redirect, Website};
use liteio_access as access;
use liteio_access::state::App;
use liteio_store::DocumentKind;
use liteio_wire::cors::PageRequest;
use liteio_wire::front::Allowance;
use liteio_wire::origin::Origin;
use liteio_wire::reply::{self, ApiError, Dialect, ErrorCode, Reply, ReplyBody};

const OBJECT_REDIRECT: HeaderName = HeaderName::from_static("x-amz-website-redirect-location");

/// The headers that select a representation of an object. A website ignores all other headers of
/// S3.
const OF_READS: [&str; 6] =
    ["range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since"];

/// A request for a website page.
struct Visit<'a> {
    app: &'a Arc<App>,
    head: &'a Parts,
    origin: &'a Arc<Origin>,
    allowance: &'a Allowance,
    bucket: &'a str,
}

/// Answers a request for a website. Each of `buckets` may be the bucket that the host names.
pub(super) async fn answer(
    app: &Arc<App>,
    head: &Parts,
    origin: &Arc<Origin>,
    allowance: &Allowance,
) -> Reply {
    let buckets = origin.target.site_buckets();
    let found = app.look(|store| {
        buckets.iter().find(|bucket| access::bucket_for_rules(store, bucket).is_ok())
    });
    let Some(bucket) = found.await else {
        let named = buckets.first().copied().unwrap_or_default();
        return Err(no_such_bucket().with("BucketName", named));
    };
    if head.method == Method::OPTIONS {
        return bucket_cors::preflight(
            app,
            &head.headers,
            Place { bucket, names_key: true },
            origin,
        )
        .await
        .map_err(|error| of_s3(&error));
    }
    let reply = Visit { app, head, origin, allowance, bucket }.answer().await;
    let page = PageRequest::of(&head.method, &head.headers);
    let headers = match page {
        Some(page) => bucket_cors::headers(app, &page, bucket, origin).await,
        None => bucket_cors::vary(app, origin),
    };
    reply::with_headers(reply, headers)
}

impl Visit<'_> {
    async fn answer(&self) -> Reply {
        if !matches!(self.head.method, Method::GET | Method::HEAD) {
            let message = "The specified method is not allowed against this resource.";
            let error = page(ErrorCode::MethodNotAllowed, message);
            let method = self.head.method.as_str();
            return Err(error.with("Method", method).with("ResourceType", "OBJECT"));
        }
        let website = self.website().await?;
        let key = self.origin.target.key().to_owned();
        let (scheme, host) = (self.origin.peer.scheme(), self.origin.target.host());
        let asked = Asked { scheme, host, key: &key, query: self.origin.target.query() };
        if let Some(redirect) = website.redirect(asked) {
            return redirected(redirect);
        }
        // The other kind of website redirects every request, so `redirect` above has answered it.
        let Website::Pages(pages) = &*website else {
            return Err(internal("The website leads nowhere."));
        };
        match self.read(&pages.object_key(&key), self.head.method.clone(), true).await {
            Ok(response) => of_object(response),
            Err(error) => self.failed(pages, asked, error).await,
        }
    }

    async fn website(&self) -> Result<Arc<Website>, ApiError> {
        let bucket = self.app.look(|store| access::bucket_for_rules(store, self.bucket)).await;
        let bucket = bucket.map_err(|_| no_such_bucket().with("BucketName", self.bucket))?;
        self.origin.found.note_owner(&bucket.owner.id);
        if bucket.settings.document(DocumentKind::Cors).is_some() {
            self.origin.found.note_cors();
        }
        let Parts { method, headers, .. } = self.head;
        access_log::by_rules(self.app, &bucket, method, headers, self.origin);
        let website = bucket_website::of_bucket(&bucket).map_err(refusal::of_error)?;
        website.ok_or_else(|| {
            let message = "The specified bucket does not have a website configuration";
            let status = StatusCode::NOT_FOUND;
            ApiError::with_status(Dialect::Website, "NoSuchWebsiteConfiguration", status, message)
                .with("BucketName", self.bucket)
        })
    }

    /// Reads an object as an anonymous client: with `chosen`, only the part that the request
    /// selects.
    async fn read(&self, key: &str, method: Method, chosen: bool) -> Reply {
        let uri = format!("/{}{}", self.bucket, website_rules::path(key));
        let request = Request::builder().method(method).uri(uri).body(());
        let request =
            request.map_err(|_| page(ErrorCode::InvalidURI, "Couldn't parse the URI."))?;
        let (mut head, ()) = request.into_parts();
        head.extensions.insert(Arc::clone(self.origin));
        for name in OF_READS.iter().filter(|_| chosen) {
            let values = self.head.headers.get_all(*name).iter().cloned();
            head.headers.extend(values.map(|value| (HeaderName::from_static(name), value)));
        }
        // Policies may test these headers.
        for name in ["referer", "user-agent"] {
            let value = self.head.headers.get(name).cloned();
            head.headers.extend(value.map(|value| (HeaderName::from_static(name), value)));
        }
        let target = Target::of(&head.uri).map_err(refusal::of_error)?;
        let route = Route::of(&head, &target, &Query::default()).map_err(refusal::of_error)?;
        let Some(route) = route else {
            return Err(page(ErrorCode::InvalidURI, "Couldn't parse the specified URI."));
        };
        self.origin.found.note_operation(route.operation);
        // Missing pages are reported as such to anonymous readers of the pages, as documented for
        // [AWS](https://docs.aws.amazon.com/AmazonS3/latest/userguide/WebsiteAccessPermissionsReqd.html).
        let (head, allowance) = (&mut head, self.allowance);
        let read = ReadRequest { head, route, target, allowance, tells_missing: true };
        read.answer(self.app).await.map_err(refusal::of_error)
    }

    async fn failed(&self, pages: &Pages, asked: Asked<'_>, error: ApiError) -> Reply {
        let status = error.status();
        let is_missing = matches!(status, StatusCode::NOT_FOUND | StatusCode::FORBIDDEN);
        if is_missing && let Some(index) = pages.index_below(asked.key) {
            // A 403 may also mean a missing object, if listing is not allowed.
            if self.read(&index, Method::HEAD, false).await.is_ok() {
                let location = website_rules::path(&format!("{}/", asked.key));
                return redirected(Redirect { status: 302, location });
            }
        }
        // Redirect rules apply to error statuses only.
        if let Some(redirect) = pages.redirect_after(asked, status.as_u16()) {
            return redirected(redirect);
        }
        let mut error = of_s3(&error);
        if status == StatusCode::NOT_FOUND {
            error = error.with("Key", pages.object_key(asked.key));
        }
        let is_for_document = is_missing || status == StatusCode::METHOD_NOT_ALLOWED;
        let Some(key) = pages.error.as_ref().filter(|_| is_for_document) else {
            return Err(error);
        };
        match self.read(key, self.head.method.clone(), false).await {
            // As on AWS, a redirect location of the error document counts, too.
            Ok(response) if response.headers().contains_key(OBJECT_REDIRECT) => of_object(response),
            Ok(mut response) => {
                *response.status_mut() = status;
                Ok(response)
            }
            Err(other) => Err(error
                .with("ErrorDocument.Code", other.code())
                .with("ErrorDocument.Message", other.message())
                .with("ErrorDocument.Key", &**key)),
        }
    }
}

/// An error that is rendered as a page.
fn page(code: ErrorCode, message: &'static str) -> ApiError {
    of_s3(&ApiError::new(code, message))
}

fn no_such_bucket() -> ApiError {
    let message = "The specified bucket does not exist";
    ApiError::with_status(Dialect::Website, "NoSuchBucket", StatusCode::NOT_FOUND, message)
}

fn internal(message: &'static str) -> ApiError {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    ApiError::with_status(Dialect::Website, "InternalError", status, message)
}

fn of_s3(error: &ApiError) -> ApiError {
    let (code, message) = (error.code().to_owned(), error.message().to_owned());
    ApiError::with_status(Dialect::Website, code, error.status(), message)
        .with_headers(error.headers().clone())
}

fn redirected(redirect: Redirect) -> Reply {
    let failed = || internal("The redirect is not valid.");
    let mut response = Response::new(ReplyBody::empty());
    *response.status_mut() = StatusCode::from_u16(redirect.status).map_err(|_| failed())?;
    let location = HeaderValue::from_str(&redirect.location).map_err(|_| failed())?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}

/// The object, or a redirect if it has a redirect location.
fn of_object(mut response: Response<ReplyBody>) -> Reply {
    let Some(location) = response.headers_mut().remove(OBJECT_REDIRECT) else {
        return Ok(response);
    };
    let mut redirect = Response::new(ReplyBody::empty());
    *redirect.status_mut() = StatusCode::MOVED_PERMANENTLY;
    *redirect.headers_mut() = HeaderMap::from_iter([(LOCATION, location)]);
    Ok(redirect)
}
