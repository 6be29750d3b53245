//! Settings of Redis servers.

use std::fmt;

use super::server_url::{ServerUrl, origin};
use super::{check_name, check_secrets, checked};
use liteio_identity::tables::Fields;
use liteio_wire::settings::{ConfigError, error};

const PORT: u16 = 6379;
/// Longest name of a key.
const KEY_BYTES_MAX: usize = 1024;

/// The form in which a Redis server keeps events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedisFormat {
    /// Each event is appended to a list.
    Access,
    /// A hash has the last event of each object that there is.
    Namespace,
}

impl RedisFormat {
    /// The format with MinIO's name.
    ///
    /// # Errors
    /// [`ConfigError`] if there is none.
    pub fn parse(text: &str) -> Result<RedisFormat, ConfigError> {
        match text.to_ascii_lowercase().as_str() {
            "access" => Ok(RedisFormat::Access),
            "namespace" => Ok(RedisFormat::Namespace),
            _ => error(format!("the format {text:?} is not valid: give access or namespace")),
        }
    }
}

/// A Redis server, or one that speaks its protocol (Valkey).
#[derive(Clone, PartialEq, Eq)]
pub struct RedisServer {
    /// The name that notifications refer to.
    pub name: String,
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// The connection uses TLS.
    pub is_secure: bool,
    /// The number of the database.
    pub database: u16,
    /// The user, if it is not the default one.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
    /// The key of the list or hash.
    pub key: String,
    /// The form of the value at the key.
    pub format: RedisFormat,
    /// The names of the users whose buckets may refer to it; empty for all users.
    pub users: Vec<String>,
}

// Written by hand, so that no secret is logged.
impl fmt::Debug for RedisServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RedisServer")
            .field("name", &self.name)
            .field("key", &self.key)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

impl RedisServer {
    /// The server that a URL names: `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]`, `rediss` for
    /// TLS, with `?key=KEY&format=FORMAT`. Without them it appends to the list with its own name.
    ///
    /// # Errors
    /// [`ConfigError`] if the name or the URL is invalid.
    pub fn new(name: impl Into<String>, url: &str) -> Result<RedisServer, ConfigError> {
        let server = RedisServer::of(name.into(), url)?;
        server.check()?;
        Ok(server)
    }

    /// A server at an address `HOST:PORT`, as MinIO has it.
    ///
    /// # Errors
    /// [`ConfigError`] if the name or the address is invalid.
    pub fn at(name: &str, address: &str) -> Result<RedisServer, ConfigError> {
        match address.contains("://") {
            true => RedisServer::new(name, address),
            false => RedisServer::new(name, &format!("redis://{address}")),
        }
    }

    fn of(name: String, url: &str) -> Result<RedisServer, ConfigError> {
        // The advice leaves the URL out, because it may have a password.
        let advice = || {
            error(format!(
                "the URL of the Redis server {name:?} is not valid: give \
                 redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE][?key=KEY&format=FORMAT], or rediss:// \
                 for TLS"
            ))
        };
        let Some(parts) = ServerUrl::parse(url) else { return advice() };
        let is_secure = match &*parts.scheme {
            "redis" => false,
            "rediss" => true,
            _ => return advice(),
        };
        if parts.user.is_some() && parts.password.is_none() {
            return advice();
        }
        let database = match &*parts.path {
            "" => Ok(0),
            number => number.parse(),
        };
        let Ok(database) = database else { return advice() };
        let mut server = RedisServer {
            key: name.clone(),
            name: name.clone(),
            host: parts.host,
            port: parts.port.unwrap_or(PORT),
            is_secure,
            database,
            user: parts.user,
            password: parts.password,
            format: RedisFormat::Access,
            users: Vec::new(),
        };
        for (field, value) in parts.fields {
            match &*field {
                "key" => server.key = value,
                "format" => server.format = RedisFormat::parse(&value)?,
                _ => return advice(),
            }
        }
        Ok(server)
    }

    /// Checks what a URL does not.
    ///
    /// # Errors
    /// [`ConfigError`] with advice.
    pub fn check(&self) -> Result<(), ConfigError> {
        let RedisServer { name, user, password, key, .. } = self;
        check_name("Redis server", name)?;
        let of = format!("the Redis server {name:?}");
        check_secrets(&of, &[("user", user), ("password", password)])?;
        if user.is_some() && password.is_none() {
            return error(format!("{of} needs a password for its user"));
        }
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return error(format!("the key of {of} must have 1 to {KEY_BYTES_MAX} bytes"));
        }
        Ok(())
    }

    /// Scheme, host and port.
    pub(super) fn origin(&self) -> String {
        let scheme = if self.is_secure { "rediss" } else { "redis" };
        origin(scheme, &self.host, self.port)
    }
}

pub(super) const KNOWN: [&str; 7] = ["name", "url", "key", "format", "user", "password", "users"];

/// The server of a table.
pub(super) fn of_table(fields: &Fields<'_>) -> Result<RedisServer, String> {
    let labelled = |error: ConfigError| format!("{}: {error}", fields.label);
    let mut server =
        RedisServer::of(fields.required("name")?, &fields.required("url")?).map_err(labelled)?;
    if let Some(format) = fields.text("format")? {
        server.format = RedisFormat::parse(&format).map_err(labelled)?;
    }
    server.key = fields.text("key")?.unwrap_or(server.key);
    server.user = fields.text("user")?.or(server.user);
    server.password = fields.text("password")?.or(server.password);
    server.users = fields.texts("users")?.unwrap_or_default();
    checked(fields, server, RedisServer::check)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::settings::{Destination, of_toml};

    #[test]
    fn a_url_tells_where_a_server_is_and_what_it_gets() {
        let plain = RedisServer::new("a", "redis://localhost").expect("valid");
        assert_eq!((&*plain.host, plain.port, plain.is_secure), ("localhost", 6379, false));
        assert_eq!((&*plain.key, plain.format, plain.database), ("a", RedisFormat::Access, 0));
        assert_eq!((&plain.user, &plain.password), (&None, &None));
        let url = "rediss://me:a%40b@[::1]:7000/3?key=events&format=namespace";
        let other = RedisServer::new("a", url).expect("valid");
        assert_eq!((&*other.host, other.port, other.is_secure), ("::1", 7000, true));
        assert_eq!((&*other.key, other.format), ("events", RedisFormat::Namespace));
        assert_eq!((other.user.as_deref(), other.password.as_deref()), (Some("me"), Some("a@b")));
        assert_eq!((other.database, &*other.origin()), (3, "rediss://[::1]:7000"));
        let without_user = RedisServer::new("a", "redis://:hush@localhost").expect("valid");
        assert_eq!((without_user.user, without_user.password), (None, Some("hush".to_owned())));
        assert_eq!(RedisServer::at("a", "localhost:7000").expect("valid").port, 7000);
    }

    #[test]
    fn a_server_that_cannot_be_reached_is_refused_without_its_secrets() {
        for url in [
            "http://:hush@localhost",
            "redis://",
            "redis://hush@localhost",
            "redis://:hush@localhost/x",
            "redis://:hush@localhost#a",
            "redis://:hush@localhost?colour=1",
            "redis://:hush@localhost?key=",
            "redis://:hush@localhost?format=list",
            "redis://:@localhost",
        ] {
            let error = RedisServer::new("a", url).expect_err(url).to_string();
            assert!(!error.contains('\n') && !error.contains("hush"), "{error}");
        }
        let file = "[[redis]]\nname = 'a'\nurl = 'redis://localhost'\npassword = 'hush'\nuser = 'me'\n\
                    key = 'events'\nformat = 'namespace'\nusers = ['bob']\n";
        let targets = of_toml(file).expect("valid");
        assert!(!format!("{targets:?}").contains("hush"), "{targets:?}");
        let [Destination::Redis(server)] = &*targets else { panic!("a server: {targets:?}") };
        assert_eq!((server.user.as_deref(), &*server.key), (Some("me"), "events"));
        assert_eq!(
            (server.format, &*server.users),
            (RedisFormat::Namespace, &["bob".to_owned()][..])
        );
    }
}
