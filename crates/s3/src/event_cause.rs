//! The cause of a change, as reported in event notifications.

use std::sync::Arc;

use http::header::USER_AGENT;
use http::{Extensions, HeaderMap, HeaderValue};
use liteio_store::{Cause, Requester, Store};

use liteio_access::Granted;
use liteio_access::state::App;
use liteio_wire::origin::Origin;

/// The request as the cause, if the bucket has notifications or somebody listens to events; otherwise nothing reads it,
/// and it is not built.
pub(super) fn of_request(
    app: &App,
    granted: &Granted,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> Cause {
    let has_notifications = granted.bucket().settings.notifications.is_some();
    match has_notifications || app.ask(Store::is_observed) {
        true => always(app, granted, headers, extensions),
        false => Cause::Unknown,
    }
}

/// The request as the cause, unconditionally.
pub(super) fn always(
    app: &App,
    granted: &Granted,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> Cause {
    let Some(origin) = extensions.get::<Arc<Origin>>() else { return Cause::Unknown };
    let agent = headers.get(USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
    // MinIO's principals are names of users.
    let principal = if app.acts_as_minio { granted.plain_name() } else { granted.principal_id() };
    let requester = Requester {
        principal_id: principal.unwrap_or_default().to_owned(),
        source_address: origin.peer.address.ip().to_canonical().to_string(),
        request_id: origin.ids.request_id().to_owned(),
        host_id: origin.ids.host_id().to_owned(),
        user_agent: String::from_utf8_lossy(agent).into_owned(),
    };
    Cause::Request(Box::new(requester))
}
