//! [`PostgresConfig`]: where the database is, and how it is reached.

mod password;
mod url;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::PostgresError;
use crate::limits;

pub(crate) use password::Password;

/// The settings of a database, from a URL:
///
/// ```text
/// postgres://USER[:PASSWORD]@HOST[:PORT][,HOST[:PORT]…]/DATABASE[?NAME=VALUE[&…]]
/// ```
///
/// | Parameter | Meaning | Default |
/// |---|---|---|
/// | `host`, `port` | the hosts and ports in the place of the URL's; a host that begins with `/` is a directory of a socket | |
/// | `user` | the user | that of the URL |
/// | `passfile` | the file with the password, as `PGPASSFILE` | |
/// | `sslmode` | `disable`, `prefer`, `require`, `verify-ca`, `verify-full` | `prefer` |
/// | `sslrootcert` | a PEM file with authorities, or `system` for the public ones | `system` |
/// | `target_session_attrs` | `read-write` or `any` | `read-write` |
/// | `connect_timeout` | seconds for each address | 5 |
/// | `keepalives_idle` | seconds until a resting connection is probed | 10 |
/// | `application_name` | the name that the database shows | `liteio` |
/// | `statement_cache` | `0` prepares no statements, for a PgBouncer older than 1.21 | `1` |
/// | `connections` | connections for commits | 8 |
/// | `read_connections` | connections for reads | 16 |
///
/// All other parameters are refused.
#[derive(Clone)]
pub struct PostgresConfig {
    pub(crate) hosts: Vec<Host>,
    pub(crate) database: String,
    pub(crate) user: String,
    pub(crate) password: Option<Password>,
    pub(crate) ssl: Ssl,
    pub(crate) is_any_session: bool,
    pub(crate) connect_timeout: Duration,
    pub(crate) keepalive: Duration,
    pub(crate) application: String,
    pub(crate) caches_statements: bool,
    pub(crate) connections: usize,
    pub(crate) read_connections: usize,
    pub(crate) cluster: String,
    pub(crate) allows_unsafe: bool,
}

/// A host and its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// A name, an address, or the directory of a socket.
    pub(crate) name: String,
    pub(crate) port: u16,
}

/// Encryption of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ssl {
    pub(crate) mode: SslMode,
    /// PEM file with authorities; `None` for the public ones.
    pub(crate) authorities: Option<PathBuf>,
}

/// The modes of libpq.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SslMode {
    Disable,
    Prefer,
    Require,
    VerifyAuthority,
    VerifyFull,
}

impl PostgresConfig {
    /// Parses a URL. `variable` gives the variables of the environment, of which `PGPASSFILE` and
    /// `LITEIO_METADATA_PASSWORD_FILE` are asked for where the URL has no password.
    ///
    /// # Errors
    /// [`PostgresError::Settings`], one line without the password.
    pub fn parse(
        url: &str,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, PostgresError> {
        let (mut config, passfile) = url::parse(url).map_err(PostgresError::Settings)?;
        if config.password.is_none() {
            config.password = password::find(&config, passfile, variable)?;
        }
        Ok(config)
    }

    /// Reads the password from a file: its first line.
    ///
    /// # Errors
    /// [`PostgresError::Settings`] if the file cannot be read, or is empty.
    pub fn with_password_file(mut self, file: &std::path::Path) -> Result<Self, PostgresError> {
        self.password = Some(password::read(file)?);
        Ok(self)
    }

    /// Names the cluster, whose schema has the same name: `liteio` without this call.
    ///
    /// # Errors
    /// [`PostgresError::Settings`] unless the name has 1 to 48 letters from `a` to `z`, digits and `_`, begins with a letter,
    /// and not with `pg_`.
    pub fn with_cluster(mut self, name: &str) -> Result<Self, PostgresError> {
        let is_name = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
        let begins = name.starts_with(|it: char| it.is_ascii_lowercase());
        let is_reserved =
            name.starts_with("pg_") || ["public", "information_schema"].contains(&name);
        if !begins || name.len() > 48 || !name.chars().all(is_name) || is_reserved {
            return Err(PostgresError::Settings(format!(
                "{name:?} cannot name a cluster: use 1 to 48 letters a-z, digits and _, beginning with a letter"
            )));
        }
        name.clone_into(&mut self.cluster);
        Ok(self)
    }

    /// Opens at most so many connections for reads, in place of the URL's number.
    ///
    /// # Errors
    /// [`PostgresError::Settings`] unless it is from 2 to 1,000: fetches and views have their own.
    pub fn with_read_connections(mut self, number: usize) -> Result<Self, PostgresError> {
        if !(2..=limits::CONNECTIONS_MAX).contains(&number) {
            let max = limits::CONNECTIONS_MAX;
            return Err(PostgresError::Settings(format!("read_connections is from 2 to {max}")));
        }
        self.read_connections = number;
        Ok(self)
    }

    /// Opens the cluster although the database may lose what it has acknowledged: for tests.
    #[must_use]
    pub fn allow_unsafe(mut self, is_allowed: bool) -> Self {
        self.allows_unsafe = is_allowed;
        self
    }

    /// The name of the cluster.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The quoted name of the cluster's schema. It has no quotes: [`PostgresConfig::with_cluster`].
    pub(crate) fn schema(&self) -> String {
        format!("\"{}\"", self.cluster)
    }
}

/// Without the password.
impl fmt::Debug for PostgresConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresConfig")
            .field("hosts", &self.hosts)
            .field("database", &self.database)
            .field("user", &self.user)
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}

/// The settings that a URL does not mention.
fn defaults() -> PostgresConfig {
    PostgresConfig {
        hosts: Vec::new(),
        database: String::new(),
        user: String::new(),
        password: None,
        ssl: Ssl { mode: SslMode::Prefer, authorities: None },
        is_any_session: false,
        connect_timeout: limits::CONNECT_TIMEOUT,
        keepalive: limits::KEEPALIVE.0,
        application: "liteio".to_owned(),
        caches_statements: true,
        connections: limits::COMMIT_CONNECTIONS,
        read_connections: limits::READ_CONNECTIONS,
        cluster: "liteio".to_owned(),
        allows_unsafe: false,
    }
}
