//! Opens the targets of the settings.

use std::path::Path;
use std::sync::Arc;

use super::nats::NatsTarget;
use super::redis::RedisTarget;
use super::settings::Destination;
use super::sqs::SqsTarget;
use super::target::Target;
use super::webhook::WebhookTarget;
use liteio_wire::dial::Dialer;
use liteio_wire::http_client::http_client;

/// Creates these targets, which additionally trust the certificate authorities in `ca_file`. They
/// connect when they have something to deliver.
///
/// # Errors
/// One line with advice, without any secret.
pub fn open_targets(
    targets: &[Destination],
    ca_file: Option<&Path>,
) -> Result<Vec<Arc<dyn Target>>, String> {
    if targets.is_empty() {
        return Ok(Vec::new());
    }
    let client = http_client(ca_file)?;
    let dialer = Dialer::new(ca_file)?;
    let open = |target: &Destination| -> Result<Arc<dyn Target>, String> {
        Ok(match target {
            Destination::Webhook(it) => Arc::new(WebhookTarget::new(it, client.clone())?),
            Destination::Redis(it) => Arc::new(RedisTarget::new(it, dialer.clone())),
            Destination::Nats(it) => Arc::new(NatsTarget::new(it, dialer.tls_config().clone())),
            Destination::Sqs(it) => Arc::new(SqsTarget::new(it, client.clone())?),
        })
    };
    targets.iter().map(open).collect()
}
