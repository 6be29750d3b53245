//! The S3 service of a server: authentication, lenient headers, the typed layer, in this order.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use http::header::{ETAG, HeaderMap, HeaderValue, LOCATION};
use http::{Method, Request, Response, StatusCode};
use liteio_store::{Store, StoreConfig, StoreHealth};
use s3s::{Body, S3Error};

use crate::app::App;
use crate::auth::{AuthError, Authenticator, Credentials, PostForm, User};
use crate::config::{Config, CredentialsSource, Durability, Storage};
use crate::front::body::RequestBody;
use crate::front::error_body::{error_response_with, push_element};
use crate::front::lenient::LenientHeaders;
use crate::front::request_id::RequestIds;
use crate::front::target::Target;
use crate::front::{HandlerFuture, S3Handler};
use crate::health::Readiness;
use crate::offload::Offload;
use crate::s3::S3Service;
use crate::server::ServerError;

/// What stands behind the front of one server.
#[derive(Clone)]
struct Pipeline {
    authenticator: Arc<Authenticator>,
    service: Arc<S3Service>,
    app: Arc<App>,
}

/// Opens what `config` names and returns the service that answers from it.
///
/// # Errors
/// [`ServerError`] with one line on what is in the way.
pub(crate) async fn open(config: &Config) -> Result<Arc<dyn S3Handler>, ServerError> {
    let credentials = read_credentials(&config.credentials)?;
    let store_config = store_config(config);
    let offload = Offload::default();
    let opened = offload.run(move || Store::open(store_config)).await;
    let store = match opened {
        Ok(Ok(store)) => store,
        Ok(Err(error)) => return Err(ServerError::Open(describe(config, &error.to_string()))),
        Err(error) => return Err(ServerError::Open(describe(config, &error.to_string()))),
    };
    let domains = config.domains.clone();
    let host_domains = domains.clone();
    let host_bucket = move |host: &str| {
        let target = Target::of(host, "/", &host_domains);
        target.virtual_host.then(|| target.bucket.to_owned())
    };
    let authenticator =
        Authenticator::new(credentials, config.region.clone(), Arc::new(SystemTime::now))
            .with_host_bucket(Arc::new(host_bucket));
    let app = Arc::new(App { store, region: config.region.clone(), offload });
    Ok(Arc::new(Pipeline {
        authenticator: Arc::new(authenticator),
        service: Arc::new(S3Service::new(Arc::clone(&app), domains)),
        app,
    }))
}

fn describe(config: &Config, error: &str) -> String {
    match &config.storage {
        Storage::Memory => error.to_owned(),
        Storage::Directory { path, .. } => format!("{}: {error}", path.display()),
    }
}

fn read_credentials(source: &CredentialsSource) -> Result<Credentials, ServerError> {
    let refused = |error: &dyn std::fmt::Display| ServerError::Open(error.to_string());
    match source {
        CredentialsSource::Pair { access_key, secret_key } => {
            let user = User::new(access_key.clone(), access_key.clone(), secret_key.clone());
            Credentials::new(vec![user.map_err(|error| refused(&error))?])
                .map_err(|error| refused(&error))
        }
        CredentialsSource::File(path) => read_credentials_file(path),
    }
}

fn read_credentials_file(path: &Path) -> Result<Credentials, ServerError> {
    let named = |error: &dyn std::fmt::Display| {
        ServerError::Open(format!("the credentials file {}: {error}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
    Credentials::from_toml(&text).map_err(|error| named(&error))
}

fn store_config(config: &Config) -> StoreConfig {
    let mut store = match &config.storage {
        Storage::Memory => StoreConfig::memory(),
        Storage::Directory { path, durability } => {
            let mut store = StoreConfig::directory(path);
            store.durability = match durability {
                Durability::Fsync => liteio_store::Durability::Fsync,
                Durability::Os => liteio_store::Durability::Os,
            };
            store
        }
    };
    store.region.clone_from(&config.region);
    store
}

impl S3Handler for Pipeline {
    fn call(&self, request: Request<RequestBody>) -> HandlerFuture {
        let pipeline = self.clone();
        Box::pin(async move { pipeline.answer(request).await })
    }

    fn readiness(&self) -> Readiness {
        match self.app.store.health() {
            StoreHealth::Ready => Readiness::Ready,
            StoreHealth::Full => Readiness::Degraded("the disk is full: deletions work".into()),
            StoreHealth::ReadOnly { reason } => Readiness::Degraded(
                format!("writing has stopped until the server is restarted: {reason}").into(),
            ),
        }
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let store = self.app.store.clone();
        Box::pin(async move {
            if let Err(error) = self.app.offload.run(move || store.close()).await {
                tracing::error!(%error, "the store was not closed cleanly");
            }
        })
    }
}

impl Pipeline {
    async fn answer(&self, request: Request<RequestBody>) -> Response<Body> {
        let resource = request.uri().path().to_owned();
        let head = request.method() == Method::HEAD;
        let ids = request.extensions().get::<RequestIds>().cloned();
        let authenticated = match self.authenticator.authenticate(request).await {
            Ok(authenticated) => authenticated,
            Err(error) => return refuse(error, &resource, ids.as_ref(), head),
        };
        let mut request = authenticated.map(Body::http_body);
        let lenient = LenientHeaders::take(request.headers_mut());
        request.extensions_mut().insert(lenient);
        let form = request.extensions().get::<PostForm>().cloned();
        let response = self.service.call(request).await;
        match form {
            Some(form) if response.status().is_success() => answer_form(&form, &response),
            _ => response,
        }
    }
}

fn refuse(
    error: AuthError,
    resource: &str,
    ids: Option<&RequestIds>,
    head: bool,
) -> Response<Body> {
    let elements = error.elements();
    let error: S3Error = error.into();
    let Some(ids) = ids else { return error.to_http_response().unwrap_or_default() };
    let elements: Vec<(&str, &str)> =
        elements.iter().map(|(name, value)| (*name, value.as_str())).collect();
    error_response_with(&error, &elements, resource, ids, head)
}

/// The answer to a stored form upload, as the form asked for it.
fn answer_form(form: &PostForm, stored: &Response<Body>) -> Response<Body> {
    let etag = stored.headers().get(ETAG).cloned();
    let etag_text = etag.as_ref().and_then(|etag| etag.to_str().ok()).unwrap_or_default();
    let mut response = Response::new(Body::empty());
    let headers: &mut HeaderMap = response.headers_mut();
    for (name, value) in stored.headers() {
        if name.as_str().starts_with("x-amz-") {
            headers.insert(name.clone(), value.clone());
        }
    }
    if let Some(etag) = etag.clone() {
        headers.insert(ETAG, etag);
    }
    let encoded = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    if let Some(redirect) = &form.success_redirect {
        let mark = if redirect.contains('?') { '&' } else { '?' };
        let location = format!(
            "{redirect}{mark}bucket={}&key={}&etag={}",
            encoded(&form.bucket),
            encoded(&form.key),
            encoded(etag_text)
        );
        if let Ok(location) = HeaderValue::try_from(location) {
            headers.insert(LOCATION, location);
            *response.status_mut() = StatusCode::SEE_OTHER;
            return response;
        }
    }
    let location = format!("/{}/{}", form.bucket, encoded(&form.key));
    if let Ok(location) = HeaderValue::try_from(&location) {
        headers.insert(LOCATION, location);
    }
    *response.status_mut() = match form.success_status {
        200 => StatusCode::OK,
        201 => StatusCode::CREATED,
        _ => StatusCode::NO_CONTENT,
    };
    if response.status() == StatusCode::CREATED {
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<PostResponse>");
        push_element(&mut xml, "Location", &location);
        push_element(&mut xml, "Bucket", &form.bucket);
        push_element(&mut xml, "Key", &form.key);
        push_element(&mut xml, "ETag", etag_text);
        xml.push_str("</PostResponse>");
        let xml_type = HeaderValue::from_static("application/xml");
        response.headers_mut().insert(http::header::CONTENT_TYPE, xml_type);
        *response.body_mut() = Body::from(xml);
    }
    response
}
