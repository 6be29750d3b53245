//! Webhooks of events in the variables of MinIO.

use super::super::environment::Variables;
use super::super::{ConfigError, EventSettings, Webhook};
use super::switches;

const ENABLE: &str = "MINIO_NOTIFY_WEBHOOK_ENABLE";
const ENDPOINT: &str = "MINIO_NOTIFY_WEBHOOK_ENDPOINT";
const TOKEN: &str = "MINIO_NOTIFY_WEBHOOK_AUTH_TOKEN";

pub(super) const KNOWN: [&str; 3] = [ENABLE, ENDPOINT, TOKEN];

/// Adds the webhooks that MinIO's variables turn on, and the names of those that they turn off.
///
/// # Errors
/// [`ConfigError`] for an enabled webhook without a valid name and URL.
pub(super) fn add(events: &mut EventSettings, variables: &Variables) -> Result<(), ConfigError> {
    for switch in switches(variables, ENABLE)? {
        if !switch.is_on {
            events.turned_off.push(switch.target().to_owned());
            continue;
        }
        let url = switch.required(variables, ENDPOINT)?;
        let webhook = Webhook::with_token(switch.target(), &url, switch.get(variables, TOKEN));
        let webhook = webhook
            .map_err(|error| ConfigError(format!("{ENDPOINT}{}: {error}", switch.suffix)))?;
        events.targets.push(webhook.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Destination;
    use crate::config::notify::is_of_minio;

    #[test]
    fn variables_of_minio_give_webhooks() {
        let of = |pairs: &[(&str, &str)]| {
            let mut events = EventSettings::default();
            add(&mut events, &Variables::of(pairs)).map(|()| events)
        };
        assert_eq!(of(&[]), Ok(EventSettings::default()));
        let EventSettings { targets, turned_off, .. } = of(&[
            ("MINIO_NOTIFY_WEBHOOK_ENABLE_T1", "on"),
            ("MINIO_NOTIFY_WEBHOOK_ENDPOINT_T1", "http://localhost/a"),
            ("MINIO_NOTIFY_WEBHOOK_AUTH_TOKEN_T1", "Bearer secret"),
            ("MINIO_NOTIFY_WEBHOOK_ENABLE_T2", "off"),
            ("MINIO_NOTIFY_WEBHOOK_ENABLE", "on"),
            ("MINIO_NOTIFY_WEBHOOK_ENDPOINT", "http://localhost/b"),
        ])
        .expect("valid");
        assert_eq!(turned_off, ["T2"]);
        let webhooks = targets.iter().map(|it| match it {
            Destination::Webhook(webhook) => webhook,
            other => panic!("a webhook: {other:?}"),
        });
        let mut found: Vec<_> =
            webhooks.map(|it| (&*it.name, &*it.url, it.token.as_deref())).collect();
        found.sort_unstable();
        assert_eq!(
            found,
            [
                ("T1", "http://localhost/a", Some("Bearer secret")),
                ("_", "http://localhost/b", None)
            ]
        );
        assert!(of(&[("MINIO_NOTIFY_WEBHOOK_ENABLE_T1", "on")]).is_err());
        assert!(of(&[("MINIO_NOTIFY_WEBHOOK_ENABLE_T1", "perhaps")]).is_err());
        assert!(is_of_minio("MINIO_NOTIFY_WEBHOOK_ENDPOINT_x"));
        assert!(!is_of_minio("MINIO_NOTIFY_WEBHOOK_QUEUE_DIR_x"));
    }
}
