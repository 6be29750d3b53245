//! NATS servers of events in the variables of MinIO.

use super::super::environment::Variables;
use super::super::{ConfigError, EventSettings, error};
use super::{Switch, switches};
use liteio_observe::events::settings::NatsServer;

const ENABLE: &str = "MINIO_NOTIFY_NATS_ENABLE";
const ADDRESS: &str = "MINIO_NOTIFY_NATS_ADDRESS";
const SUBJECT: &str = "MINIO_NOTIFY_NATS_SUBJECT";
const USERNAME: &str = "MINIO_NOTIFY_NATS_USERNAME";
const PASSWORD: &str = "MINIO_NOTIFY_NATS_PASSWORD";
const TOKEN: &str = "MINIO_NOTIFY_NATS_TOKEN";
const TLS: &str = "MINIO_NOTIFY_NATS_TLS";
const JETSTREAM: &str = "MINIO_NOTIFY_NATS_JETSTREAM";

/// Ways to sign in and to deliver that LiteIO does not have: without them the server would refuse, or an event would be lost.
const OTHERS: [&str; 7] = [
    "MINIO_NOTIFY_NATS_CERT_AUTHORITY",
    "MINIO_NOTIFY_NATS_CLIENT_CERT",
    "MINIO_NOTIFY_NATS_CLIENT_KEY",
    "MINIO_NOTIFY_NATS_NKEY_SEED",
    "MINIO_NOTIFY_NATS_STREAMING",
    "MINIO_NOTIFY_NATS_TLS_SKIP_VERIFY",
    "MINIO_NOTIFY_NATS_USER_CREDENTIALS",
];

pub(super) const KNOWN: [&str; 8] =
    [ENABLE, ADDRESS, SUBJECT, USERNAME, PASSWORD, TOKEN, TLS, JETSTREAM];

/// Adds the servers that MinIO's variables turn on.
///
/// # Errors
/// [`ConfigError`] for an enabled server without a valid name, address and subject, and for a setting that there is not.
pub(super) fn add(events: &mut EventSettings, variables: &Variables) -> Result<(), ConfigError> {
    for switch in switches(variables, ENABLE)?.into_iter().filter(|switch| switch.is_on) {
        let suffix = &switch.suffix;
        let of = |known: &'static str| {
            move |error: ConfigError| ConfigError(format!("{known}{suffix}: {error}"))
        };
        for other in OTHERS {
            if switch.get(variables, other).is_some_and(|value| value != "off") {
                return error(format!(
                    "{other}{suffix}: LiteIO does not have this setting of NATS servers: sign in with a user and a \
                     password or with a token, and name a certificate authority by --event-ca-file"
                ));
            }
        }
        let address = switch.required(variables, ADDRESS)?;
        let mut server = NatsServer::at(switch.target(), &address).map_err(of(ADDRESS))?;
        server.subject = switch.required(variables, SUBJECT)?;
        server.user = switch.get(variables, USERNAME).or(server.user);
        server.password = switch.get(variables, PASSWORD).or(server.password);
        server.token = switch.get(variables, TOKEN).or(server.token);
        let is_on = |known: &'static str, switch: &Switch| match switch.get(variables, known) {
            Some(value) => NatsServer::is_on(&value).map_err(of(known)),
            None => Ok(false),
        };
        server.is_secure |= is_on(TLS, &switch)?;
        server.is_stored |= is_on(JETSTREAM, &switch)?;
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
    fn variables_of_minio_give_nats_servers() {
        let of = |pairs: &[(&str, &str)]| {
            let mut events = EventSettings::default();
            add(&mut events, &Variables::of(pairs)).map(|()| events.targets)
        };
        let address = ("MINIO_NOTIFY_NATS_ADDRESS_N", "nats.example.com:7000");
        let subject = ("MINIO_NOTIFY_NATS_SUBJECT_N", "s3.events");
        let on = ("MINIO_NOTIFY_NATS_ENABLE_N", "on");
        let expected =
            NatsServer::new("N", "nats://nats.example.com:7000?subject=s3.events").expect("valid");
        assert_eq!(of(&[on, address, subject]), Ok(vec![expected.clone().into()]));
        assert_eq!(of(&[address, subject]), Ok(Vec::new()));
        let user = ("MINIO_NOTIFY_NATS_USERNAME_N", "me");
        let password = ("MINIO_NOTIFY_NATS_PASSWORD_N", "hush");
        let tls = ("MINIO_NOTIFY_NATS_TLS_N", "on");
        let stored = ("MINIO_NOTIFY_NATS_JETSTREAM_N", "on");
        let expected = NatsServer {
            is_secure: true,
            is_stored: true,
            user: Some("me".to_owned()),
            password: Some("hush".to_owned()),
            ..expected
        };
        let found = of(&[on, address, subject, user, password, tls, stored]).expect("valid");
        assert_eq!(found, [Destination::from(expected)]);
        let token = ("MINIO_NOTIFY_NATS_TOKEN_N", "hush");
        for (pairs, variable) in [
            (&[on, subject][..], "MINIO_NOTIFY_NATS_ADDRESS_N"),
            (&[on, address], "MINIO_NOTIFY_NATS_SUBJECT_N"),
            (&[on, address, subject, user], "MINIO_NOTIFY_NATS_ENABLE_N"),
            (&[on, address, subject, user, password, token], "MINIO_NOTIFY_NATS_ENABLE_N"),
            (&[on, address, subject, ("MINIO_NOTIFY_NATS_JETSTREAM_N", "x")], "JETSTREAM_N"),
            (&[on, address, subject, ("MINIO_NOTIFY_NATS_NKEY_SEED_N", "x")], "NKEY_SEED_N"),
            (&[on, address, ("MINIO_NOTIFY_NATS_SUBJECT_N", "a.>")], "MINIO_NOTIFY_NATS_ENABLE_N"),
            (&[("MINIO_NOTIFY_NATS_ENABLE_N", "perhaps")], "MINIO_NOTIFY_NATS_ENABLE_N"),
        ] {
            let told = of(pairs).expect_err(variable).to_string();
            assert!(told.contains(variable) && !told.contains("hush"), "{told:?}: {variable}");
        }
    }
}
