//! [`Session`]: a connection to the database with its prepared statements.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use tokio::time::timeout;
use tokio_postgres::config::{SslMode as PgSslMode, TargetSessionAttrs};
use tokio_postgres::error::Severity;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Row, SimpleQueryMessage, Statement};

use crate::config::{Host, PostgresConfig, SslMode};
use crate::error::{PostgresError, may_pass, refuses_parameters};
use crate::limits;
use crate::primary::{Newest, Primary};
use crate::statements::{Kind, Texts};
use crate::tls::Tls;

/// A value of a parameter, with its type.
pub(crate) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// Opens sessions.
pub(crate) struct Connector {
    hosts: Vec<Host>,
    /// The number of the host that is tried first, without end.
    first: AtomicUsize,
    newest: Arc<Newest>,
    /// Without hosts, as the next one.
    config: Config,
    /// The same without parameters of the session, which PgBouncer refuses.
    plain: Config,
    /// `true` once the other side has refused the parameters.
    is_plain: AtomicBool,
    tls: Tls,
    texts: Arc<Texts>,
    caches_statements: bool,
}

/// The reason why there is no session.
pub(crate) struct NotConnected {
    pub(crate) error: PostgresError,
    /// `true` if another attempt may succeed.
    pub(crate) may_pass: bool,
}

impl Connector {
    pub(crate) fn new(config: &PostgresConfig) -> Result<Self, PostgresError> {
        let mut plain = Config::new();
        plain.user(&config.user).dbname(&config.database).application_name(&config.application);
        if let Some(password) = &config.password {
            plain.password(password.text());
        }
        plain
            .ssl_mode(match config.ssl.mode {
                SslMode::Disable => PgSslMode::Disable,
                SslMode::Prefer => PgSslMode::Prefer,
                _ => PgSslMode::Require,
            })
            .target_session_attrs(match config.is_any_session {
                true => TargetSessionAttrs::Any,
                false => TargetSessionAttrs::ReadWrite,
            })
            .connect_timeout(config.connect_timeout)
            .keepalives_idle(config.keepalive)
            .keepalives_interval(limits::KEEPALIVE.1)
            .keepalives_retries(3)
            .tcp_user_timeout(limits::ANSWER_TIMEOUT);
        let mut with_options = plain.clone();
        with_options.options(options());
        Ok(Self {
            hosts: config.hosts.clone(),
            first: AtomicUsize::new(0),
            newest: Arc::default(),
            config: with_options,
            plain,
            is_plain: AtomicBool::new(false),
            tls: Tls::new(&config.ssl)?,
            texts: Arc::new(Texts::new(&config.schema())),
            caches_statements: config.caches_statements,
        })
    }

    /// The newest primary that a session was opened at.
    pub(crate) fn primary(&self) -> Option<Primary> {
        self.newest.get()
    }

    /// Lets another host be the first that is tried.
    pub(crate) fn leave_host(&self) {
        self.first.fetch_add(1, Relaxed);
    }

    /// Opens a session at the first host that has one of the wanted kind, and is no former primary.
    pub(crate) async fn connect(&self) -> Result<Session, NotConnected> {
        let session = self.connect_to_any().await.map_err(not_connected)?;
        if !self.newest.admit(session.primary) {
            self.leave_host();
            let error = PostgresError::Database("another primary has replaced it".to_owned());
            return Err(NotConnected { may_pass: true, error });
        }
        Ok(session)
    }

    async fn connect_to_any(&self) -> Result<Session, Option<tokio_postgres::Error>> {
        if !self.is_plain.load(Relaxed) {
            match self.connect_by(&self.config).await {
                Err(error) if error.as_ref().is_some_and(refuses_parameters) => {
                    self.is_plain.store(true, Relaxed);
                }
                other => return other,
            }
        }
        self.connect_by(&self.plain).await
    }

    /// `None` for a time that ran out.
    async fn connect_by(&self, config: &Config) -> Result<Session, Option<tokio_postgres::Error>> {
        let mut config = config.clone();
        let first = self.first.load(Relaxed) % self.hosts.len().max(1);
        for host in self.hosts[first..].iter().chain(&self.hosts[..first]) {
            config.host(&host.name).port(host.port);
        }
        // A host that accepts and says nothing is given up, too.
        let opened = timeout(limits::CONNECTION_WAIT, config.connect(self.tls.clone()));
        let (client, mut connection) = opened.await.map_err(|_| None)?.map_err(Some)?;
        let warned = Arc::new(AtomicBool::new(false));
        let is_warned = warned.clone();
        tokio::spawn(async move {
            // Requests that wait for an answer get an error when it ends.
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                // A commit warns of one thing: that it no longer waits for a synchronous standby.
                if let AsyncMessage::Notice(notice) = message
                    && notice.parsed_severity() == Some(Severity::Warning)
                {
                    is_warned.store(true, Relaxed);
                }
            }
        });
        let told = timeout(limits::CONNECTION_WAIT, client.simple_query(Primary::QUERY));
        let primary = primary_of(&told.await.map_err(|_| None)?.unwrap_or_default());
        Ok(Session {
            client,
            primary,
            newest: self.newest.clone(),
            warned,
            texts: self.texts.clone(),
            statements: [const { None }; Kind::COUNT],
            caches_statements: self.caches_statements,
        })
    }
}

/// The settings of a session: limits of time, and plans that follow the index whatever the statistics say,
/// since a plan is kept while an empty table grows.
fn options() -> String {
    let statement = limits::STATEMENT_TIMEOUT.as_millis();
    let mut options = format!("-c statement_timeout={statement} -c lock_timeout={statement}");
    options += &format!(" -c idle_in_transaction_session_timeout={statement}");
    for name in ["enable_seqscan", "enable_bitmapscan", "jit"] {
        options += &format!(" -c {name}=off");
    }
    options + " -c max_parallel_workers_per_gather=0 -c plan_cache_mode=force_generic_plan"
}

/// The primary that a session has told; `None` for one that cannot tell.
fn primary_of(answer: &[SimpleQueryMessage]) -> Option<Primary> {
    answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Primary::parse(row.get(0)?, row.get(1)?),
        _ => None,
    })
}

fn not_connected(error: Option<tokio_postgres::Error>) -> NotConnected {
    match error {
        Some(error) => {
            NotConnected { may_pass: may_pass(&error), error: PostgresError::of(&error) }
        }
        None => NotConnected {
            may_pass: true,
            error: PostgresError::Database("it does not answer".to_owned()),
        },
    }
}

/// A connection to the database.
pub(crate) struct Session {
    client: Client,
    primary: Option<Primary>,
    newest: Arc<Newest>,
    warned: Arc<AtomicBool>,
    texts: Arc<Texts>,
    statements: [Option<Statement>; Kind::COUNT],
    caches_statements: bool,
}

impl Session {
    /// `true` if the connection has not ended and is not known to be at a former primary.
    pub(crate) fn is_of_use(&self) -> bool {
        !self.client.is_closed() && self.is_at_newest()
    }

    /// `true` if its host is not known to be a former primary.
    pub(crate) fn is_at_newest(&self) -> bool {
        self.newest.is_at(self.primary)
    }

    /// `true` if the database has warned since the last call.
    pub(crate) fn has_warned(&self) -> bool {
        self.warned.swap(false, Relaxed)
    }

    /// Prepares a statement, if statements are prepared and this one is not yet.
    pub(crate) async fn prepare(&mut self, kind: Kind) -> Result<(), tokio_postgres::Error> {
        let prepared = &mut self.statements[kind as usize];
        if self.caches_statements && prepared.is_none() {
            *prepared = Some(self.client.prepare(self.texts.of(kind)).await?);
        }
        Ok(())
    }

    /// Runs a statement that [`Session::prepare`] was called for. Returns when its transaction has ended.
    pub(crate) async fn run(
        &self,
        kind: Kind,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        match &self.statements[kind as usize] {
            Some(statement) => {
                let values: Vec<&(dyn ToSql + Sync)> =
                    parameters.iter().map(|(value, _)| *value).collect();
                self.client.query(statement, &values).await
            }
            None => self.client.query_typed(self.texts.of(kind), parameters).await,
        }
    }

    /// Runs a text without parameters.
    pub(crate) async fn batch(&self, text: &str) -> Result<(), tokio_postgres::Error> {
        self.client.batch_execute(text).await
    }

    /// Runs a text with parameters, once.
    pub(crate) async fn once(
        &self,
        text: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        self.client.query_typed(text, parameters).await
    }
}
