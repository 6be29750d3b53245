//! Settings of NATS servers.

use std::fmt;

use super::server_url::{ServerUrl, origin};
use super::{check_name, check_secrets, checked};
use liteio_identity::tables::Fields;
use liteio_wire::settings::{ConfigError, error};

const PORT: u16 = 4222;
/// Longest subject.
const SUBJECT_BYTES_MAX: usize = 1024;

/// A NATS server.
#[derive(Clone, PartialEq, Eq)]
pub struct NatsServer {
    /// The name that notifications refer to.
    pub name: String,
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// The connection uses TLS, whether or not the server asks for it.
    pub is_secure: bool,
    /// The user, with a password.
    pub user: Option<String>,
    /// The password of the user.
    pub password: Option<String>,
    /// A token in place of user and password.
    pub token: Option<String>,
    /// The subject of the messages.
    pub subject: String,
    /// A stream of JetStream must have stored a message; else those who listen get it.
    pub is_stored: bool,
    /// The names of the users whose buckets may refer to it; empty for all users.
    pub users: Vec<String>,
}

// Written by hand, so that no secret is logged.
impl fmt::Debug for NatsServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("NatsServer")
            .field("name", &self.name)
            .field("subject", &self.subject)
            .field("is_stored", &self.is_stored)
            .finish_non_exhaustive()
    }
}

impl NatsServer {
    /// The server that a URL names: `nats://[USER:PASSWORD@|TOKEN@]HOST[:PORT]`, `tls` for TLS, with
    /// `?subject=SUBJECT&jetstream=on`. Without them, its own name is the subject, and nothing waits for a stream.
    ///
    /// # Errors
    /// [`ConfigError`] if the name or the URL is invalid.
    pub fn new(name: impl Into<String>, url: &str) -> Result<NatsServer, ConfigError> {
        let server = NatsServer::of(name.into(), url)?;
        server.check()?;
        Ok(server)
    }

    /// A server at an address `HOST:PORT`, as MinIO has it.
    ///
    /// # Errors
    /// [`ConfigError`] if the name or the address is invalid.
    pub fn at(name: &str, address: &str) -> Result<NatsServer, ConfigError> {
        match address.contains("://") {
            true => NatsServer::new(name, address),
            false => NatsServer::new(name, &format!("nats://{address}")),
        }
    }

    fn of(name: String, url: &str) -> Result<NatsServer, ConfigError> {
        // The advice leaves the URL out, because it may have a password.
        let advice = || {
            error(format!(
                "the URL of the NATS server {name:?} is not valid: give \
                 nats://[USER:PASSWORD@|TOKEN@]HOST[:PORT][?subject=SUBJECT&jetstream=on], or tls:// for TLS"
            ))
        };
        let Some(parts) = ServerUrl::parse(url) else { return advice() };
        let is_secure = match &*parts.scheme {
            "nats" => false,
            "tls" => true,
            _ => return advice(),
        };
        if !parts.path.is_empty() {
            return advice();
        }
        let (user, token) = match parts.password {
            Some(_) => (parts.user, None),
            None => (None, parts.user),
        };
        let mut server = NatsServer {
            subject: name.clone(),
            name: name.clone(),
            host: parts.host,
            port: parts.port.unwrap_or(PORT),
            is_secure,
            user,
            password: parts.password,
            token,
            is_stored: false,
            users: Vec::new(),
        };
        for (field, value) in parts.fields {
            match &*field {
                "subject" => server.subject = value,
                "jetstream" => server.is_stored = NatsServer::is_on(&value)?,
                _ => return advice(),
            }
        }
        Ok(server)
    }

    /// The switch for JetStream, as MinIO writes it: a stream must store the messages.
    ///
    /// # Errors
    /// [`ConfigError`] if the text is neither `on` nor `off`.
    pub fn is_on(text: &str) -> Result<bool, ConfigError> {
        match text {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => error(format!("{text:?} is not valid for jetstream: give on or off")),
        }
    }

    /// Checks what a URL does not.
    ///
    /// # Errors
    /// [`ConfigError`] with advice.
    pub fn check(&self) -> Result<(), ConfigError> {
        let NatsServer { name, user, password, token, subject, .. } = self;
        check_name("NATS server", name)?;
        let of = format!("the NATS server {name:?}");
        check_secrets(&of, &[("user", user), ("password", password), ("token", token)])?;
        if user.is_some() != password.is_some() {
            return error(format!("{of} needs a user and a password, or neither"));
        }
        if user.is_some() && token.is_some() {
            return error(format!("{of} takes a user with a password, or a token: leave one out"));
        }
        // Wildcards are for those who listen.
        let is_token = |token: &str| {
            !token.is_empty()
                && token
                    .bytes()
                    .all(|byte| byte > b' ' && byte != 0x7f && !matches!(byte, b'*' | b'>'))
        };
        if subject.len() > SUBJECT_BYTES_MAX || !subject.split('.').all(is_token) {
            return error(format!(
                "the subject of {of} is not valid: give words with dots between them, without spaces, * and >"
            ));
        }
        Ok(())
    }

    /// Address for the client: `nats`, host and port. An option of the client switches TLS on.
    pub(in crate::events) fn address(&self) -> String {
        origin("nats", &self.host, self.port)
    }

    /// Scheme, host and port.
    pub(in crate::events) fn origin(&self) -> String {
        origin(if self.is_secure { "tls" } else { "nats" }, &self.host, self.port)
    }
}

pub(super) const KNOWN: [&str; 8] =
    ["name", "url", "subject", "jetstream", "user", "password", "token", "users"];

/// The server of a table.
pub(super) fn of_table(fields: &Fields<'_>) -> Result<NatsServer, String> {
    let labelled = |error: ConfigError| format!("{}: {error}", fields.label);
    let mut server =
        NatsServer::of(fields.required("name")?, &fields.required("url")?).map_err(labelled)?;
    server.subject = fields.text("subject")?.unwrap_or(server.subject);
    if let Some(jetstream) = fields.text("jetstream")? {
        server.is_stored = NatsServer::is_on(&jetstream).map_err(labelled)?;
    }
    server.user = fields.text("user")?.or(server.user);
    server.password = fields.text("password")?.or(server.password);
    server.token = fields.text("token")?.or(server.token);
    server.users = fields.texts("users")?.unwrap_or_default();
    checked(fields, server, NatsServer::check)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::settings::{Destination, of_toml};

    #[test]
    fn a_url_tells_where_a_server_is_and_what_it_gets() {
        let plain = NatsServer::new("a", "nats://localhost").expect("valid");
        assert_eq!((&*plain.host, plain.port, plain.is_secure), ("localhost", 4222, false));
        assert_eq!((&*plain.subject, plain.is_stored), ("a", false));
        assert_eq!((&plain.user, &plain.password, &plain.token), (&None, &None, &None));
        let url = "tls://me:a%40b@[::1]:7000?subject=s3.events&jetstream=on";
        let other = NatsServer::new("a", url).expect("valid");
        assert_eq!((&*other.host, other.port, other.is_secure), ("::1", 7000, true));
        assert_eq!((&*other.subject, other.is_stored), ("s3.events", true));
        assert_eq!((other.user.as_deref(), other.password.as_deref()), (Some("me"), Some("a@b")));
        assert_eq!(other.origin(), "tls://[::1]:7000");
        let with_token = NatsServer::at("a", "nats://hush@localhost").expect("valid");
        assert_eq!((with_token.user, with_token.token), (None, Some("hush".to_owned())));
        assert_eq!(NatsServer::at("a", "localhost:7000").expect("valid").port, 7000);
    }

    #[test]
    fn a_server_that_cannot_be_reached_is_refused_without_its_secrets() {
        for url in [
            "http://hush@localhost",
            "nats://",
            "nats://hush@localhost/x",
            "nats://hush@localhost#a",
            "nats://hush@localhost?colour=1",
            "nats://hush@localhost?jetstream=perhaps",
            "nats://hush@localhost?subject=",
            "nats://hush@localhost?subject=a..b",
            "nats://hush@localhost?subject=a.*",
            "nats://hush@localhost?subject=a%20b",
            "nats://:hush@localhost",
            "nats://me:@localhost",
        ] {
            let error = NatsServer::new("a", url).expect_err(url).to_string();
            assert!(!error.contains('\n') && !error.contains("hush"), "{error}");
        }
        let table = "[[nats]]\nname = 'a'\nurl = 'nats://localhost'\npassword = 'hush'\nuser = 'me'\n\
                     subject = 'events'\njetstream = 'on'\nusers = ['bob']\n";
        let targets = of_toml(table).expect("valid");
        assert!(!format!("{targets:?}").contains("hush"), "{targets:?}");
        let [Destination::Nats(server)] = &*targets else { panic!("a server: {targets:?}") };
        assert_eq!((server.user.as_deref(), &*server.subject), (Some("me"), "events"));
        assert_eq!((server.is_stored, &*server.users), (true, &["bob".to_owned()][..]));
        let both = of_toml(&format!("{table}token = 'hush'\n")).expect_err("one of them");
        assert!(both.contains("leave one out") && !both.contains("hush"), "{both}");
    }
}
