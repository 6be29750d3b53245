//! The targets of events.

use super::{ConfigError, Destination, EventSettings, Webhook, error};
use crate::cli::ServerArgs;

pub(super) fn resolve(arguments: &ServerArgs) -> Result<EventSettings, ConfigError> {
    let waiting_max = match arguments.event_queue {
        None => liteio_store::limits::EVENTS_WAITING_MAX,
        Some(0) => return error("the event queue must not be 0: give --event-queue 1 or more"),
        Some(events) => u64::from(events),
    };
    let webhooks = arguments.webhook.iter().map(|text| Webhook::parse(text).map(Into::into));
    let others = arguments.event_target.iter().map(|text| Destination::parse(text));
    Ok(EventSettings {
        targets: webhooks.chain(others).collect::<Result<_, _>>()?,
        turned_off: Vec::new(),
        target_file: arguments.event_target_file.clone(),
        ca_file: arguments.ca_file.clone(),
        waiting_max,
        dropped: arguments.drop_events.clone(),
    })
}
