//! Settings of event targets.

mod nats;
mod redis;
mod server_url;
mod sqs;
mod webhook;

use std::path::PathBuf;

use http::Uri;

use liteio_identity::tables::{self, Fields};
use liteio_wire::private_file;
use liteio_wire::settings::{ConfigError, error};

pub use self::nats::NatsServer;
pub use self::redis::{RedisFormat, RedisServer};
pub use self::sqs::SqsQueue;
pub use self::webhook::Webhook;

/// Longest name of a target.
const NAME_BYTES_MAX: usize = 64;
/// Longest secret or token.
const SECRET_BYTES_MAX: usize = 1024;

/// The targets of events, and their limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSettings {
    /// Targets given individually.
    pub targets: Vec<Destination>,
    /// Names of webhooks in the settings of a former MinIO that its variables turn off.
    pub turned_off: Vec<String>,
    /// A TOML file with more targets.
    pub target_file: Option<PathBuf>,
    /// A PEM file of certificate authorities to trust, in addition to the built-in public ones.
    pub ca_file: Option<PathBuf>,
    /// Limit of queued events per target. Further events are lost.
    pub waiting_max: u64,
    /// Names of removed targets, whose queued events are deleted at startup.
    pub dropped: Vec<String>,
}

impl Default for EventSettings {
    fn default() -> EventSettings {
        EventSettings {
            targets: Vec::new(),
            turned_off: Vec::new(),
            target_file: None,
            ca_file: None,
            waiting_max: liteio_store::limits::EVENTS_WAITING_MAX,
            dropped: Vec::new(),
        }
    }
}

impl EventSettings {
    /// All targets, including the file's.
    ///
    /// # Errors
    /// One line with advice, without any secret.
    pub fn all_targets(&self) -> Result<Vec<Destination>, String> {
        let mut all = self.targets.clone();
        if let Some(path) = &self.target_file {
            all.extend(private_file::parsed(path, of_toml)?);
        }
        for (place, target) in all.iter().enumerate() {
            if all[..place].iter().any(|other| other.name() == target.name()) {
                return Err(format!(
                    "two targets of events are named {:?}: rename one, since all kinds share their names",
                    target.name()
                ));
            }
        }
        Ok(all)
    }
}

/// A target of events. The names of all kinds are one name space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A receiver of POST requests.
    Webhook(Webhook),
    /// A queue of SQS, or of a service that speaks its protocol.
    Sqs(SqsQueue),
    /// A list or a hash of a Redis server.
    Redis(RedisServer),
    /// A subject of a NATS server.
    Nats(NatsServer),
}

impl From<Webhook> for Destination {
    fn from(webhook: Webhook) -> Destination {
        Destination::Webhook(webhook)
    }
}

impl From<SqsQueue> for Destination {
    fn from(queue: SqsQueue) -> Destination {
        Destination::Sqs(queue)
    }
}

impl From<RedisServer> for Destination {
    fn from(server: RedisServer) -> Destination {
        Destination::Redis(server)
    }
}

impl From<NatsServer> for Destination {
    fn from(server: NatsServer) -> Destination {
        Destination::Nats(server)
    }
}

/// The option for one target of any kind.
const EXAMPLE: &str = "give --event-target NAME=URL with a URL such as http://HOST/PATH for a \
                       webhook, sqs+https://HOST/ACCOUNT/QUEUE for a queue of SQS, \
                       redis://HOST:PORT for a Redis server, or nats://HOST:PORT for a NATS server";

impl Destination {
    /// Parses `NAME=URL`, whose scheme tells the kind.
    pub fn parse(text: &str) -> Result<Destination, ConfigError> {
        let Some((name, url)) = text.split_once('=') else {
            return error(format!("a target of events needs a name: {EXAMPLE}"));
        };
        // The URL may have a secret, and is not shown.
        match url.split_once(':').map(|(scheme, _)| scheme) {
            Some("http" | "https") => Webhook::new(name, url).map(Destination::Webhook),
            Some("sqs+http" | "sqs+https") => SqsQueue::new(name, url).map(Destination::Sqs),
            Some("redis" | "rediss") => RedisServer::new(name, url).map(Destination::Redis),
            Some("nats" | "tls") => NatsServer::new(name, url).map(Destination::Nats),
            _ => error(format!("the URL of the target {name:?} is of no known kind: {EXAMPLE}")),
        }
    }

    /// The name that notifications refer to.
    pub fn name(&self) -> &str {
        match self {
            Destination::Webhook(Webhook { name, .. })
            | Destination::Sqs(SqsQueue { name, .. })
            | Destination::Redis(RedisServer { name, .. })
            | Destination::Nats(NatsServer { name, .. }) => name,
        }
    }

    /// The kind, as the last component of MinIO's ARNs names it.
    pub fn kind(&self) -> &'static str {
        match self {
            Destination::Webhook(_) => "webhook",
            Destination::Sqs(_) => "sqs",
            Destination::Redis(_) => "redis",
            Destination::Nats(_) => "nats",
        }
    }

    /// The names of the users whose buckets may refer to it; empty for all users.
    pub fn users(&self) -> &[String] {
        match self {
            Destination::Webhook(Webhook { users, .. })
            | Destination::Sqs(SqsQueue { users, .. })
            | Destination::Redis(RedisServer { users, .. })
            | Destination::Nats(NatsServer { users, .. }) => users,
        }
    }

    /// Scheme, host and port of the URL, without secrets.
    pub fn origin(&self) -> String {
        match self {
            Destination::Webhook(webhook) => webhook.origin(),
            Destination::Sqs(queue) => origin(&queue.url),
            Destination::Redis(server) => server.origin(),
            Destination::Nats(server) => server.origin(),
        }
    }
}

/// Scheme, host and port of a URL, whose path and query may be secrets.
fn origin(url: &str) -> String {
    let uri = url.parse::<Uri>().unwrap_or_default();
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    format!("{}://{authority}", uri.scheme_str().unwrap_or("http"))
}

/// Checks the name of a target of this kind.
fn check_name(kind: &str, name: &str) -> Result<(), ConfigError> {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_of_name) {
        return error(format!(
            "the {kind} name {name:?} is not valid: give 1 to {NAME_BYTES_MAX} letters, digits, hyphens, \
             underscores and dots"
        ));
    }
    Ok(())
}

/// Checks the secrets of a target; `of` names it.
fn check_secrets(of: &str, secrets: &[(&str, &Option<String>)]) -> Result<(), ConfigError> {
    for (what, text) in secrets {
        let Some(text) = text else { continue };
        let is_fine = |byte: u8| (0x20..0x7f).contains(&byte);
        if text.is_empty() || text.len() > SECRET_BYTES_MAX || !text.bytes().all(is_fine) {
            return error(format!(
                "the {what} of {of} is not valid: give 1 to {SECRET_BYTES_MAX} characters of ASCII"
            ));
        }
    }
    Ok(())
}

/// A kind of table in a file of targets, its fields, and the function that reads one.
type Kind = (&'static str, &'static [&'static str], fn(&Fields<'_>) -> Result<Destination, String>);

const KINDS: [Kind; 4] = [
    ("webhook", &webhook::KNOWN, |fields| webhook::of_table(fields).map(Destination::Webhook)),
    ("sqs", &sqs::KNOWN, |fields| sqs::of_table(fields).map(Destination::Sqs)),
    ("redis", &redis::KNOWN, |fields| redis::of_table(fields).map(Destination::Redis)),
    ("nats", &nats::KNOWN, |fields| nats::of_table(fields).map(Destination::Nats)),
];

/// Parses a file of targets: any number of tables of each kind.
fn of_toml(text: &str) -> Result<Vec<Destination>, String> {
    let document = tables::document(text, &KINDS.map(|(kind, ..)| kind))?;
    let mut targets = Vec::new();
    for (kind, known, of_table) in KINDS {
        let of_kind = tables::tables(&document, kind, known)?;
        for fields in &of_kind {
            targets.push(of_table(fields)?);
        }
    }
    match targets.is_empty() {
        true => {
            let kinds = KINDS.map(|(kind, ..)| format!("[[{kind}]]"));
            Err(format!("there is no target: give a table {}", kinds.join(" or ")))
        }
        false => Ok(targets),
    }
}

/// Checks the values of a table, whose label goes before an error.
fn checked<T>(
    fields: &Fields<'_>,
    target: T,
    check: fn(&T) -> Result<(), ConfigError>,
) -> Result<T, String> {
    check(&target).map_err(|error| format!("{}: {error}", fields.label))?;
    Ok(target)
}

#[cfg(test)]
mod tests;
