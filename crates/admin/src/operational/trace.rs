//! `/_liteio/trace`.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde_json::json;

use crate::operator::{Operator, Refused};
use liteio_observe::trace::{Audience, Heard};

/// The policy action, with MinIO's name.
const ACTION: &str = "admin:ServerTrace";

/// Interval of keep-alive lines: a client that vanished is noticed only by a failing write.
const PULSE: Duration = Duration::from_secs(5);

/// The route.
pub(super) fn routes() -> Router<Audience> {
    Router::new().route("/_liteio/trace", get(trace))
}

/// Streams JSON lines until the client disconnects, with an empty line after [`PULSE`] without
/// entries.
async fn trace(State(audience): State<Audience>, operator: Operator) -> Result<Response, Refused> {
    operator.may(ACTION)?;
    let listener = audience.join(operator.user().canonical_id(), |_| true);
    let lines = stream::unfold(listener, |mut listener| async move {
        let line = match tokio::time::timeout(PULSE, listener.next()).await {
            Ok(heard) => match heard? {
                Heard::Request(entry) => serde_json::to_vec(&*entry).unwrap_or_default(),
                Heard::Lost(lost) => json!({ "lost": lost }).to_string().into_bytes(),
            },
            Err(_) => Vec::new(),
        };
        let line = [line, b"\n".to_vec()].concat();
        Some((Ok::<_, Infallible>(Bytes::from(line)), listener))
    });
    let headers = [(CONTENT_TYPE, "application/x-ndjson"), (CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(lines)).into_response())
}
