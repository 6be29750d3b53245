//! The services of a server: what stands behind the front.

use std::fs;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use http::Request;
use http::header::AUTHORIZATION;
use http::request::Parts;
use liteio_store::{Store, StoreConfig, StoreHealth};

use crate::auth::{Authenticator, BodyFault, Credentials, Service, User};
use crate::config::{Config, CredentialsSource, Durability, Storage};
use crate::front::body::RequestBody;
use crate::front::{HandlerFuture, S3Handler};
use crate::health::Readiness;
use crate::offload::Offload;
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::s3::{self, Domains, S3Service};
use crate::server::ServerError;
use crate::vectors::{self, VectorsService};

/// The state that the handlers of one server share.
#[derive(Debug)]
pub(crate) struct App {
    /// Buckets and objects.
    pub(crate) store: Store,
    /// The region that this server is, and that its buckets are in.
    pub(crate) region: String,
    /// The way to blocking threads.
    pub(crate) offload: Offload,
}

/// Opens what `config` names and returns the service that answers from it.
///
/// # Errors
/// [`ServerError`] with one line on what is in the way.
pub(crate) async fn open(config: &Config) -> Result<Arc<dyn S3Handler>, ServerError> {
    // First: a wrong file of users must not leave a data directory behind.
    let credentials = open_credentials(&config.credentials)?;
    let offload = Offload::default();
    let store_config = store_config(config);
    let opened = offload.run(move || Store::open(store_config)).await;
    let store = opened
        .map_err(|error| ServerError::Open(error.to_string()))?
        .map_err(|error| ServerError::Open(error.to_string()))?;
    let region = config.region.clone();
    let domains = Domains::new(config.domains.clone());
    let hosts = domains.clone();
    let authenticator = Authenticator::new(credentials, region.clone(), Arc::new(SystemTime::now))
        .with_host_bucket(Arc::new(move |host| hosts.bucket(host).map(str::to_owned)));
    let app = Arc::new(App { store, region, offload });
    let service = S3Service::new(Arc::clone(&app), domains);
    let vectors = VectorsService::new(Arc::clone(&app));
    Ok(Arc::new(Handler { inner: Arc::new(Inner { authenticator, service, vectors }), app }))
}

fn store_config(config: &Config) -> StoreConfig {
    let mut store_config = match &config.storage {
        Storage::Memory => StoreConfig::memory(),
        Storage::Directory { path, durability } => {
            let mut store_config = StoreConfig::directory(path);
            store_config.durability = match durability {
                Durability::Fsync => liteio_store::Durability::Fsync,
                Durability::Os => liteio_store::Durability::Os,
            };
            store_config
        }
    };
    store_config.region.clone_from(&config.region);
    store_config
}

fn open_credentials(source: &CredentialsSource) -> Result<Credentials, ServerError> {
    let opened = match source {
        CredentialsSource::Pair { access_key, secret_key } => {
            User::new(access_key.clone(), access_key.clone(), secret_key.clone())
                .and_then(|user| Credentials::new(vec![user]))
        }
        CredentialsSource::File(path) => {
            let text = fs::read_to_string(path);
            let text = text.map_err(|error| format!("cannot read {}: {error}", path.display()));
            Credentials::from_toml(&text.map_err(ServerError::Open)?)
        }
    };
    opened.map_err(|error| match source {
        CredentialsSource::Pair { .. } => ServerError::Open(error.to_string()),
        CredentialsSource::File(path) => ServerError::Open(format!("{}: {error}", path.display())),
    })
}

/// Authentication, then the operations.
struct Handler {
    inner: Arc<Inner>,
    app: Arc<App>,
}

struct Inner {
    authenticator: Authenticator,
    service: S3Service,
    vectors: VectorsService,
}

impl S3Handler for Handler {
    fn call(&self, request: Request<RequestBody>) -> HandlerFuture {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { inner.answer(request).await })
    }

    fn holds_body(&self, head: &Parts, names_key: bool) -> bool {
        !self.inner.authenticator.is_form_upload(head) && s3::holds_body(head, names_key)
    }

    fn readiness(&self) -> Readiness {
        match self.app.store.health() {
            StoreHealth::Ready => match self.app.store.sweep_failure() {
                None => Readiness::Ready,
                Some(reason) => {
                    let told = format!("orphans are not swept, run `liteio verify`: {reason}");
                    Readiness::Degraded(told.into())
                }
            },
            StoreHealth::ReadOnly { reason } => Readiness::Degraded(reason.into()),
            StoreHealth::Full => Readiness::Degraded("the storage device is full".into()),
        }
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let store = self.app.store.clone();
            if let Err(error) = self.app.offload.run(move || store.close()).await {
                tracing::error!(%error, "the store was not closed");
            }
        })
    }
}

impl Inner {
    async fn answer(&self, request: Request<RequestBody>) -> Reply {
        let claimed = request.headers().get(AUTHORIZATION).and_then(|it| it.to_str().ok());
        let claimed = claimed.and_then(Service::claimed);
        // Authentication may have to read the body whole.
        let _admitted = match claimed {
            Some(Service::S3Vectors) => self.vectors.admit(request.headers()).await,
            _ => None,
        };
        let request = match self.authenticator.authenticate(request).await {
            Ok(request) => request,
            Err(error) if claimed == Some(Service::S3Vectors) => {
                return Err(vectors::refusal(&error));
            }
            Err(error) => return Err(error),
        };
        match request.extensions().get() {
            Some(Service::S3Vectors) => return self.vectors.call(request).await,
            Some(Service::Sts) => {
                return Err(ApiError::new(
                    ErrorCode::NotImplemented,
                    "The services s3 and s3vectors are implemented by LiteIO; the request is signed \
                     for another.",
                ));
            }
            Some(Service::S3) | None => {}
        }
        let fault = request.extensions().get::<BodyFault>().cloned();
        let reply = self.service.call(request).await;
        match (reply, fault.as_ref().and_then(BodyFault::get)) {
            // A body that failed is the client's doing, whatever was made of it on the way.
            (Err(error), Some(fault)) if error.status().is_server_error() => Err(fault.clone()),
            (reply, _) => reply,
        }
    }
}
