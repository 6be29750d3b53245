//! The cause of a change, as reported in event notifications.

use std::sync::Arc;

use http::Extensions;
use liteio_store::{Cause, Requester};

use liteio_access::Granted;
use liteio_wire::origin::Origin;

/// The request as the cause, if the bucket has notifications; otherwise nothing reads it, and it is
/// not built.
pub(super) fn of_request(granted: &Granted, extensions: &Extensions) -> Cause {
    match granted.bucket().settings.notifications {
        Some(_) => always(granted, extensions),
        None => Cause::Unknown,
    }
}

/// The request as the cause, unconditionally.
pub(super) fn always(granted: &Granted, extensions: &Extensions) -> Cause {
    let Some(origin) = extensions.get::<Arc<Origin>>() else { return Cause::Unknown };
    let requester = Requester {
        principal_id: granted.principal_id().unwrap_or_default().to_owned(),
        source_address: origin.peer.address.ip().to_canonical().to_string(),
        request_id: origin.ids.request_id().to_owned(),
        host_id: origin.ids.host_id().to_owned(),
    };
    Cause::Request(Box::new(requester))
}
