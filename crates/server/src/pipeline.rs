//! The S3 service of a server: authentication, then the operations.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use http::{Method, Request, Response};
use liteio_store::{Store, StoreConfig, StoreHealth};
use s3s::{Body, S3Error, s3_error};

use crate::app::App;
use crate::auth::{AuthError, Authenticator, BodyFault, Credentials, Service, User};
use crate::config::{Config, CredentialsSource, Durability, Storage};
use crate::front::body::RequestBody;
use crate::front::error_body::error_response_with;
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
        if let Some(Service::S3Vectors | Service::Sts) = authenticated.extensions().get() {
            let error = s3_error!(
                NotImplemented,
                "The request is signed for a service that is not implemented by LiteIO yet."
            );
            return error.to_http_response().unwrap_or_default();
        }
        let fault = authenticated.extensions().get::<BodyFault>().cloned();
        let response = self.service.call(authenticated.map(Body::http_body)).await;
        match fault.as_ref().and_then(BodyFault::get) {
            // A body that failed is the client's doing, whatever was made of it on the way.
            Some(fault) if response.status().is_server_error() => {
                S3Error::from(fault.clone()).to_http_response().unwrap_or(response)
            }
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
