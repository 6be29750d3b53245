//! The S3 service of a server: what stands behind the front.

use std::sync::Arc;

use s3s::s3_error;

use crate::config::Config;
use crate::front::S3Handler;
use crate::server::ServerError;

/// Opens what `config` names and returns the service that answers from it.
///
/// # Errors
/// [`ServerError`] with one line on what is in the way.
pub(crate) async fn open(config: &Config) -> Result<Arc<dyn S3Handler>, ServerError> {
    tracing::debug!(storage = ?config.storage, "opened");
    Ok(Arc::new(|_request: http::Request<crate::front::body::RequestBody>| async {
        s3_error!(
            NotImplemented,
            "A header you provided implies functionality that is not implemented."
        )
        .to_http_response()
        .unwrap_or_default()
    }))
}
