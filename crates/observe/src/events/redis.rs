//! Redis servers, in the two forms of MinIO: `access` appends each event to a list (`RPUSH`), and
//! `namespace` keeps in a hash the last event of each object that there is (`HSET`, `HDEL`). An
//! answer that is no error accepts the event.

use ::redis::aio::MultiplexedConnection;
use ::redis::{AsyncConnectionConfig, Cmd, ErrorKind, RedisConnectionInfo, RedisError, Value};
use serde_json::json;

use super::connection::{SharedConnection, answered};
use super::settings::{RedisFormat, RedisServer};
use super::target::{Entry, Message, NotTaken, Target};
use liteio_wire::dial::Dialer;
use liteio_wire::http_client::in_one_line;

/// A server with the connection to it.
pub(super) struct RedisTarget {
    server: RedisServer,
    dialer: Dialer,
    connection: SharedConnection<MultiplexedConnection>,
}

impl RedisTarget {
    pub(super) fn new(server: &RedisServer, dialer: Dialer) -> RedisTarget {
        RedisTarget { server: server.clone(), dialer, connection: SharedConnection::default() }
    }

    /// The command for a message. Test events are no events of objects: they only show whether the
    /// server answers.
    fn command(&self, message: &Message) -> Cmd {
        let key = &self.server.key;
        let Some(Entry { path, is_gone, time }) = &message.entry else {
            return ::redis::cmd("PING");
        };
        match self.server.format {
            RedisFormat::Access => {
                let told: serde_json::Value =
                    serde_json::from_slice(&message.body).unwrap_or_default();
                let item = json!([{ "Event": told["Records"], "EventTime": time }]);
                ::redis::cmd("RPUSH").arg(key).arg(item.to_string()).take()
            }
            RedisFormat::Namespace if *is_gone => ::redis::cmd("HDEL").arg(key).arg(path).take(),
            RedisFormat::Namespace => {
                ::redis::cmd("HSET").arg(key).arg(path).arg(&message.body[..]).take()
            }
        }
    }

    async fn connect(&self) -> Result<MultiplexedConnection, NotTaken> {
        let RedisServer { host, port, is_secure, database, user, password, .. } = &self.server;
        let stream = self.dialer.dial(host, *port, *is_secure).await;
        let stream = stream.map_err(|error| NotTaken(in_one_line(&error)))?;
        let mut information = RedisConnectionInfo::default().set_db((*database).into());
        // Servers older than 7.2 do not know the command.
        information = information.set_skip_set_lib_name();
        if let Some(user) = user {
            information = information.set_username(user);
        }
        if let Some(password) = password {
            information = information.set_password(password);
        }
        // The limit of a message includes the answer.
        let settings = AsyncConnectionConfig::new().set_response_timeout(None);
        let made = MultiplexedConnection::new_with_config(&information, stream, settings).await;
        let (connection, driver) = made.map_err(|error| reason(&error))?;
        // It ends with the connection.
        tokio::spawn(driver);
        Ok(connection)
    }

    async fn send(&self, command: &Cmd) -> Result<(), NotTaken> {
        let (mut connection, number) = self.connection.get(self.connect()).await?;
        let answer = command.query_async::<Value>(&mut connection);
        let sent = answered(async { answer.await.map(drop).map_err(|error| reason(&error)) }).await;
        if sent.is_err() {
            // Also after an error that the server has answered: it may be a former primary behind a name that has moved.
            self.connection.forget(number).await;
        }
        sent
    }
}

#[async_trait::async_trait]
impl Target for RedisTarget {
    fn name(&self) -> &str {
        &self.server.name
    }

    /// The last event of an object decides about its entry in a hash.
    fn keeps_order(&self) -> bool {
        self.server.format == RedisFormat::Namespace
    }

    async fn give(&self, message: &Message) -> Result<(), NotTaken> {
        self.send(&self.command(message)).await
    }
}

/// The reason without the text of the server, which may repeat a command with a password.
fn reason(error: &RedisError) -> NotTaken {
    let is_of_code = |byte: u8| byte.is_ascii_uppercase();
    NotTaken(match (error.kind(), error.code()) {
        (ErrorKind::AuthenticationFailed, _) => "it refuses the user or the password".to_owned(),
        (_, Some(code)) if code.bytes().all(is_of_code) => {
            format!("it answered with the error {code}")
        }
        _ if error.is_io_error() => in_one_line(error),
        _ => format!("the connection failed: {}", error.category()),
    })
}
