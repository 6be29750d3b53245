//! Webhooks of events in the variables of MinIO.

use super::environment::Variables;
use super::{ConfigError, EventSettings, Webhook, error};

/// MinIO's variables, each with the suffix `_NAME`. Without one, the name is `_`.
const ENDPOINT: &str = "MINIO_NOTIFY_WEBHOOK_ENDPOINT";
const ENABLE: &str = "MINIO_NOTIFY_WEBHOOK_ENABLE";
const TOKEN: &str = "MINIO_NOTIFY_WEBHOOK_AUTH_TOKEN";

/// True for a MinIO variable that [`add_minios`] reads.
pub(super) fn is_of_minio(name: &str) -> bool {
    [ENDPOINT, ENABLE, TOKEN].iter().any(|known| {
        name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    })
}

/// Adds the webhooks that MinIO's variables turn on, and the names of those that they turn off.
///
/// # Errors
/// [`ConfigError`] for an enabled webhook without a valid name and URL.
pub(super) fn add_minios(
    events: &mut EventSettings,
    variables: &Variables,
) -> Result<(), ConfigError> {
    for (name, value) in variables.beginning_with(ENABLE) {
        let suffix = name.strip_prefix(ENABLE).unwrap_or_default();
        let of_target = suffix.strip_prefix('_').filter(|it| !it.is_empty()).unwrap_or("_");
        match value.to_ascii_lowercase().as_str() {
            "on" | "true" | "1" | "yes" => {}
            "off" | "false" | "0" | "no" => {
                events.turned_off.push(of_target.to_owned());
                continue;
            }
            _ => return error(format!("{name}: {value:?} is neither on nor off")),
        }
        let endpoint = format!("{ENDPOINT}{suffix}");
        let Some(url) = variables.get(&endpoint) else {
            return error(format!("{name} needs {endpoint}: set both"));
        };
        let token = variables.get(&format!("{TOKEN}{suffix}")).filter(|it| !it.is_empty());
        let webhook = Webhook::with_token(of_target, url, token.map(str::to_owned));
        let webhook = webhook.map_err(|error| ConfigError(format!("{endpoint}: {error}")))?;
        events.webhooks.push(webhook);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_minio_give_webhooks() {
        let of = |pairs: &[(&str, &str)]| {
            let mut events = EventSettings::default();
            add_minios(&mut events, &Variables::of(pairs)).map(|()| events)
        };
        assert_eq!(of(&[]), Ok(EventSettings::default()));
        let EventSettings { webhooks, turned_off, .. } = of(&[
            ("MINIO_NOTIFY_WEBHOOK_ENABLE_T1", "on"),
            ("MINIO_NOTIFY_WEBHOOK_ENDPOINT_T1", "http://localhost/a"),
            ("MINIO_NOTIFY_WEBHOOK_AUTH_TOKEN_T1", "Bearer secret"),
            ("MINIO_NOTIFY_WEBHOOK_ENABLE_T2", "off"),
            ("MINIO_NOTIFY_WEBHOOK_ENABLE", "on"),
            ("MINIO_NOTIFY_WEBHOOK_ENDPOINT", "http://localhost/b"),
        ])
        .expect("valid");
        assert_eq!(turned_off, ["T2"]);
        let mut found: Vec<_> =
            webhooks.iter().map(|it| (&*it.name, &*it.url, it.token.as_deref())).collect();
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
