//! NATS servers. With JetStream, the acknowledgement of the stream that takes the subject accepts an
//! event; each has the ID of its message, by which a stream leaves out one that arrives twice. Without JetStream, the
//! server accepts an event, and passes it to the current subscribers only.

use std::error::Error as _;

use async_nats::rustls::ClientConfig;
use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions, Event, HeaderMap};
use async_nats::{Request, RequestError, RequestErrorKind, ServerError};
use bytes::Bytes;
use futures_util::StreamExt as _;
use serde::Deserialize;
use tokio::sync::watch;

use super::connection::{CONNECT_TIMEOUT, SharedConnection, answered, late};
use super::settings::NatsServer;
use super::target::{Message, NotTaken, Target};
use liteio_wire::http_client::in_one_line;

/// The header by which a stream knows a message again.
const MESSAGE_ID: &str = "Nats-Msg-Id";

/// A server with the connection to it.
pub(super) struct NatsTarget {
    server: NatsServer,
    tls: ClientConfig,
    connection: SharedConnection<Connection>,
}

#[derive(Clone)]
struct Connection {
    client: Client,
    /// Why the connection is of no more use.
    end: watch::Receiver<Option<NotTaken>>,
}

/// The answer of a stream.
#[derive(Deserialize)]
struct Stored {
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    description: String,
}

impl NatsTarget {
    pub(super) fn new(server: &NatsServer, tls: ClientConfig) -> NatsTarget {
        NatsTarget { server: server.clone(), tls, connection: SharedConnection::default() }
    }

    async fn connect(&self) -> Result<Connection, NotTaken> {
        let NatsServer { is_secure, user, password, token, .. } = &self.server;
        let (ending, end) = watch::channel(None);
        let mut options = ConnectOptions::new()
            .name("liteio")
            .require_tls(*is_secure)
            .tls_client_config(self.tls.clone())
            // The addresses of other servers of its cluster are no settings of this one.
            .ignore_discovered_servers()
            .max_reconnects(1)
            .request_timeout(None)
            .event_callback(move |event| {
                if let Some(reason) = end_of(&event) {
                    ending.send_replace(Some(reason));
                }
                std::future::ready(())
            });
        if let (Some(user), Some(password)) = (user, password) {
            options = options.user_and_password(user.clone(), password.clone());
        }
        if let Some(token) = token {
            options = options.token(token.clone());
        }
        let connected = options.connect(self.server.address()).await;
        let client = connected.map_err(|error| not_connected(&error))?;
        Ok(Connection { client, end })
    }

    /// Publishes a message and waits until it is taken.
    async fn publish(&self, client: &Client, message: &Message) -> Result<(), NotTaken> {
        // Listeners know no test events, which only show whether the server answers.
        if message.entry.is_none() {
            return round_trip(client).await;
        }
        let (subject, body) = (self.server.subject.clone(), message.body.clone());
        let mut headers = HeaderMap::new();
        headers.insert(MESSAGE_ID, &*message.id);
        if self.server.is_stored {
            let request = Request::new().headers(headers).payload(body);
            let answer = client.send_request(subject, request).await;
            return stored(&answer.map_err(|error| not_stored(&error))?.payload);
        }
        let sent = client.publish_with_headers(subject, headers, body).await;
        sent.map_err(|error| NotTaken(in_one_line(&error)))?;
        round_trip(client).await
    }
}

/// Sends a message to ourselves. The server works through those of a connection in their order, so it has those before.
async fn round_trip(client: &Client) -> Result<(), NotTaken> {
    let inbox = client.new_inbox();
    let back = async {
        let mut own = client.subscribe(inbox.clone()).await.ok()?;
        client.publish(inbox, Bytes::new()).await.ok()?;
        own.next().await
    };
    back.await.map(drop).ok_or_else(|| NotTaken("the connection has ended".to_owned()))
}

/// The result of an answer by a stream.
fn stored(answer: &[u8]) -> Result<(), NotTaken> {
    match serde_json::from_slice::<Stored>(answer) {
        Ok(Stored { error: None }) => Ok(()),
        Ok(Stored { error: Some(Refusal { description }) }) => {
            Err(NotTaken(format!("the stream refuses the event: {}", description.escape_debug())))
        }
        Err(_) => Err(NotTaken("it is no stream of JetStream that answers".to_owned())),
    }
}

/// Why an event of a connection ends its use.
fn end_of(event: &Event) -> Option<NotTaken> {
    Some(NotTaken(match event {
        Event::Disconnected | Event::Closed => "the connection has ended".to_owned(),
        Event::ServerError(ServerError::AuthorizationViolation) => refused(),
        Event::ServerError(ServerError::Other(text)) => {
            format!("it answered with the error {}", text.escape_debug())
        }
        _ => return None,
    }))
}

fn not_connected(error: &ConnectError) -> NotTaken {
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            NotTaken(refused())
        }
        ConnectErrorKind::TimedOut => late(CONNECT_TIMEOUT),
        // Its text is that of its source with the kind before it.
        _ => NotTaken(error.source().map_or_else(|| in_one_line(error), in_one_line)),
    }
}

fn not_stored(error: &RequestError) -> NotTaken {
    NotTaken(match error.kind() {
        RequestErrorKind::NoResponders => "no stream of JetStream takes the subject".to_owned(),
        _ => in_one_line(error),
    })
}

fn refused() -> String {
    "it refuses the user, the password or the token".to_owned()
}

#[async_trait::async_trait]
impl Target for NatsTarget {
    fn name(&self) -> &str {
        &self.server.name
    }

    async fn give(&self, message: &Message) -> Result<(), NotTaken> {
        let (connection, number) = self.connection.get(self.connect()).await?;
        let Connection { client, mut end } = connection;
        let given = tokio::select! {
            published = answered(self.publish(&client, message)) => published,
            // The sender of the end goes with the connection, after it has told the reason.
            _ = end.wait_for(Option::is_some) => Err(NotTaken("the connection has ended".to_owned())),
        };
        // What the server has refused is told beside its answers.
        let given = end.borrow().clone().map_or(given, Err);
        if given.is_err() {
            self.connection.forget(number).await;
        }
        given
    }
}
