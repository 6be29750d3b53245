//! The circumstances of a request that policies of every service can read: the peer, the time, the
//! region, some headers.

use std::borrow::Cow;

use http::HeaderMap;

use liteio_policy::{ContextKey, Value};
use liteio_wire::origin::Origin;

/// The value of a global condition key (`aws:…`) for a request with this origin and these headers;
/// none for other keys.
pub fn value<'r>(
    key: &ContextKey,
    origin: Option<&'r Origin>,
    headers: &'r HeaderMap,
) -> Value<'r> {
    let header = |name| Value::of(headers.get(name).and_then(|value| value.to_str().ok()));
    match key {
        ContextKey::SourceIp => origin.map_or(Value::None, |origin| {
            Value::One(Cow::Owned(origin.peer.address.ip().to_canonical().to_string()))
        }),
        ContextKey::SecureTransport => Value::bool(origin.is_some_and(|it| it.peer.secure)),
        ContextKey::RequestedRegion => Value::of(origin.and_then(|origin| origin.found.region())),
        ContextKey::CurrentTime => {
            origin.map_or(Value::None, |it| Value::One(Cow::Owned(it.found.now().to_string())))
        }
        ContextKey::EpochTime => origin.map_or(Value::None, |it| {
            Value::One(Cow::Owned(it.found.now().as_second().to_string()))
        }),
        ContextKey::Referer => header("referer"),
        ContextKey::UserAgent => header("user-agent"),
        _ => Value::None,
    }
}
