//! The configuration of a client.

use serde_json::{Map, Value, json};

use super::limits::ANSWER_LIFETIME;
use super::warehouse::OF_WAREHOUSE;
use super::{Answer, Call, Output, warehouse};

pub(crate) fn get(call: &Call<'_>) -> Answer {
    let name = match (call.parameter("warehouse"), &call.shared.settings.warehouse) {
        (Some(name), _) if !name.is_empty() => warehouse::bucket_of(name)?,
        (_, Some(name)) => name.clone(),
        (_, None) => return Err(warehouse::none_named()),
    };
    let granted = call.granted_in(&name)?;
    let bucket = granted.bucket();
    // The names of routes are no prefix, but their ARNs are.
    let is_route = OF_WAREHOUSE.contains(&&*name) || matches!(&*name, "config" | "oauth");
    let prefix = match is_route {
        true => call.shared.buckets.arn(&bucket.owner.id, &name),
        false => name,
    };
    Output::json(&json!({
        "defaults": call.properties(),
        "overrides": { "prefix": prefix },
        "endpoints": &call.shared.endpoints,
        "idempotency-key-lifetime": ANSWER_LIFETIME,
    }))
}

impl Call<'_> {
    /// The properties by which a client reaches the objects of the warehouse.
    pub(crate) fn properties(&self) -> Map<String, Value> {
        let mut properties = Map::new();
        let mut set = |key: &str, value: &str| {
            properties.insert(key.to_owned(), value.into());
        };
        let region = &self.shared.app.region;
        set("client.region", region);
        set("s3.region", region);
        set("s3.path-style-access", "true");
        if let Some(origin) = self.sent.origin.as_deref() {
            let host = origin.target.host();
            if !host.is_empty() {
                set("s3.endpoint", &format!("{}://{host}", origin.peer.scheme()));
            }
        }
        properties
    }
}
