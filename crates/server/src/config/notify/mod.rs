//! Targets of events in the variables of MinIO, `MINIO_NOTIFY_KIND_SETTING_NAME`. Without a name, it is `_`.

mod nats;
mod redis;
mod webhooks;

use super::environment::Variables;
use super::{ConfigError, EventSettings, error};

/// Kinds of MinIO's that LiteIO does not have.
const OTHERS: [&str; 7] = ["AMQP", "ELASTICSEARCH", "KAFKA", "MQTT", "MYSQL", "NSQ", "POSTGRES"];

/// True for a MinIO variable that [`add_minios`] reads.
pub(super) fn is_of_minio(name: &str) -> bool {
    let mut known = webhooks::KNOWN.iter().chain(&redis::KNOWN).chain(&nats::KNOWN);
    known.any(|known| {
        name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    })
}

/// Adds the targets that MinIO's variables turn on, and the names of webhooks that they turn off.
///
/// # Errors
/// [`ConfigError`] for a target that is turned on without valid settings, or of a kind that there is not:
/// its events would be lost.
pub(super) fn add_minios(
    events: &mut EventSettings,
    variables: &Variables,
) -> Result<(), ConfigError> {
    for kind in OTHERS {
        let enable = format!("MINIO_NOTIFY_{kind}_ENABLE");
        if let Some(Switch { name, .. }) = switches(variables, &enable)?.iter().find(|it| it.is_on)
        {
            return error(format!(
                "{name}: LiteIO does not send events to this kind of target: turn it off, or send them to \
                 a webhook, a queue of SQS, a Redis or a NATS server (--event-target NAME=URL)"
            ));
        }
    }
    webhooks::add(events, variables)?;
    redis::add(events, variables)?;
    nats::add(events, variables)
}

/// A variable that turns a target on or off.
struct Switch {
    /// The name of the variable.
    name: String,
    /// The end of the names of all variables of the target: empty, or `_NAME`.
    suffix: String,
    is_on: bool,
}

impl Switch {
    /// The name of the target.
    fn target(&self) -> &str {
        self.suffix.strip_prefix('_').filter(|name| !name.is_empty()).unwrap_or("_")
    }

    /// The value of a variable of the target.
    fn get(&self, variables: &Variables, known: &str) -> Option<String> {
        variables.get(&format!("{known}{}", self.suffix)).map(str::to_owned)
    }

    /// The value of a variable of the target that it needs.
    fn required(&self, variables: &Variables, known: &str) -> Result<String, ConfigError> {
        let missing =
            || ConfigError(format!("{} needs {known}{}: set both", self.name, self.suffix));
        self.get(variables, known).ok_or_else(missing)
    }
}

/// The switches of a kind of targets.
fn switches(variables: &Variables, enable: &str) -> Result<Vec<Switch>, ConfigError> {
    let mut found = Vec::new();
    for (name, value) in variables.beginning_with(enable) {
        let suffix = name.strip_prefix(enable).unwrap_or_default();
        if !suffix.is_empty() && !suffix.starts_with('_') {
            continue;
        }
        let is_on = match value.to_ascii_lowercase().as_str() {
            "on" | "true" | "1" | "yes" => true,
            "off" | "false" | "0" | "no" => false,
            _ => return error(format!("{name}: {value:?} is neither on nor off")),
        };
        found.push(Switch { name: name.to_owned(), suffix: suffix.to_owned(), is_on });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_of_a_kind_that_there_is_not_stops_the_start_by_name() {
        for kind in OTHERS {
            let name = format!("MINIO_NOTIFY_{kind}_ENABLE_T1");
            let of = |value: &str| {
                add_minios(&mut EventSettings::default(), &Variables::of(&[(&name, value)]))
            };
            let told = of("on").expect_err("not here").to_string();
            assert!(told.starts_with(&format!("{name}: ")), "{told}");
            assert_eq!(of("off"), Ok(()));
        }
    }
}
