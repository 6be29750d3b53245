//! Redis servers of events in the variables of MinIO.

use super::super::environment::Variables;
use super::super::{ConfigError, EventSettings};
use super::switches;
use liteio_observe::events::settings::{RedisFormat, RedisServer};

const ENABLE: &str = "MINIO_NOTIFY_REDIS_ENABLE";
const ADDRESS: &str = "MINIO_NOTIFY_REDIS_ADDRESS";
const KEY: &str = "MINIO_NOTIFY_REDIS_KEY";
const FORMAT: &str = "MINIO_NOTIFY_REDIS_FORMAT";
const USER: &str = "MINIO_NOTIFY_REDIS_USER";
const PASSWORD: &str = "MINIO_NOTIFY_REDIS_PASSWORD";

pub(super) const KNOWN: [&str; 6] = [ENABLE, ADDRESS, KEY, FORMAT, USER, PASSWORD];

/// Adds the servers that MinIO's variables turn on.
///
/// # Errors
/// [`ConfigError`] for an enabled server without a valid name, address, key and format.
pub(super) fn add(events: &mut EventSettings, variables: &Variables) -> Result<(), ConfigError> {
    for switch in switches(variables, ENABLE)?.into_iter().filter(|switch| switch.is_on) {
        let suffix = &switch.suffix;
        let of = |known: &'static str| {
            move |error: ConfigError| ConfigError(format!("{known}{suffix}: {error}"))
        };
        let address = switch.required(variables, ADDRESS)?;
        let mut server = RedisServer::at(switch.target(), &address).map_err(of(ADDRESS))?;
        server.key = switch.required(variables, KEY)?;
        // MinIO's own default.
        server.format = match switch.get(variables, FORMAT) {
            Some(format) => RedisFormat::parse(&format).map_err(of(FORMAT))?,
            None => RedisFormat::Namespace,
        };
        server.user = switch.get(variables, USER).or(server.user);
        server.password = switch.get(variables, PASSWORD).or(server.password);
        server.check().map_err(of(ENABLE))?;
        events.targets.push(server.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Destination;

    #[test]
    fn variables_of_minio_give_redis_servers() {
        let of = |pairs: &[(&str, &str)]| {
            let mut events = EventSettings::default();
            add(&mut events, &Variables::of(pairs)).map(|()| events.targets)
        };
        let address = ("MINIO_NOTIFY_REDIS_ADDRESS_R", "redis.example.com:7000");
        let key = ("MINIO_NOTIFY_REDIS_KEY_R", "events");
        let on = ("MINIO_NOTIFY_REDIS_ENABLE_R", "on");
        let expected = RedisServer {
            key: "events".to_owned(),
            format: RedisFormat::Namespace,
            ..RedisServer::new("R", "redis://redis.example.com:7000").expect("valid")
        };
        assert_eq!(of(&[on, address, key]), Ok(vec![expected.clone().into()]));
        assert_eq!(of(&[address, key]), Ok(Vec::new()));
        let more = [
            ("MINIO_NOTIFY_REDIS_FORMAT_R", "access"),
            ("MINIO_NOTIFY_REDIS_USER_R", "me"),
            ("MINIO_NOTIFY_REDIS_PASSWORD_R", "hush"),
        ];
        let expected = RedisServer {
            format: RedisFormat::Access,
            user: Some("me".to_owned()),
            password: Some("hush".to_owned()),
            ..expected
        };
        let [first, second, third] = more;
        let found = of(&[on, address, key, first, second, third]).expect("valid");
        assert_eq!(found, [Destination::from(expected)]);
        for (pairs, variable) in [
            (&[on, key][..], "MINIO_NOTIFY_REDIS_ADDRESS_R"),
            (&[on, address], "MINIO_NOTIFY_REDIS_KEY_R"),
            (&[on, address, key, ("MINIO_NOTIFY_REDIS_FORMAT_R", "list")], "FORMAT_R"),
            (&[on, address, key, second], "MINIO_NOTIFY_REDIS_ENABLE_R"),
            (&[on, key, ("MINIO_NOTIFY_REDIS_ADDRESS_R", "http://a")], "ADDRESS_R"),
            (&[("MINIO_NOTIFY_REDIS_ENABLE_R", "perhaps")], "MINIO_NOTIFY_REDIS_ENABLE_R"),
        ] {
            let told = of(pairs).expect_err(variable).to_string();
            assert!(told.contains(variable), "{told:?} lacks {variable}");
        }
    }
}
