//! Errors, and what an error of the database says about a statement: by its SQLSTATE, never by its
//! words.

use std::error::Error;
use std::io;
use std::sync::Arc;

use liteio_kv::KvError;
use tokio_postgres::error::{DbError, Severity};

/// The reason why a cluster cannot be opened, created or changed. One line.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// The settings contradict each other, or say nothing.
    #[error("{0}")]
    Settings(String),
    /// The database cannot be reached, or refuses.
    #[error("the database: {0}")]
    Database(String),
    /// There is no such cluster.
    #[error("the database has no cluster {cluster:?}: make it with `liteio cluster create`")]
    NoCluster {
        /// The name of the cluster.
        cluster: String,
    },
    /// There is such a cluster.
    #[error("the database has a cluster {cluster:?} already")]
    Exists {
        /// The name of the cluster.
        cluster: String,
    },
    /// The schema is of an older program.
    #[error(
        "the schema of cluster {cluster:?} has format {found}, this program needs {needed}: run `liteio cluster migrate`"
    )]
    TooOld {
        /// The name of the cluster.
        cluster: String,
        /// The format of the schema.
        found: i32,
        /// The format that this program needs.
        needed: i32,
    },
    /// The schema is of a newer program.
    #[error(
        "the schema of cluster {cluster:?} needs a program that knows format {needed}, this one knows {known}: use a newer LiteIO"
    )]
    TooNew {
        /// The name of the cluster.
        cluster: String,
        /// The format that programs must know.
        needed: i32,
        /// The format that this program knows.
        known: i32,
    },
    /// The database is set up so that it loses what it has acknowledged.
    #[error("the database may lose acknowledged data: {0}")]
    Unsafe(String),
}

impl PostgresError {
    /// An error of the database.
    pub(crate) fn of(error: &tokio_postgres::Error) -> Self {
        Self::Database(told(error))
    }
}

/// The consequence of an error for the statement that got it.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Nothing was written: another transaction was in the way, and the same again may succeed.
    Conflict,
    /// Nothing was written: the session is of no use any more, another one may be.
    Stale(KvError),
    /// Nothing was written: the database refuses.
    Refused(KvError),
    /// It is open whether anything was written.
    Unknown(KvError),
}

impl Fault {
    /// The consequence of an error. Only what the database has surely rolled back is not open: an error by which
    /// it ends the session may come after the commit.
    pub(crate) fn of(error: &tokio_postgres::Error) -> Self {
        let Some(database) = error.as_db_error() else { return Self::Unknown(failed(told(error))) };
        if database.parsed_severity() != Some(Severity::Error) {
            return Self::Unknown(failed(told(error)));
        }
        let code = database.code().code();
        match (code, &code[..2]) {
            ("40001" | "40P01", _) => Self::Conflict,
            ("53100", _) => Self::Refused(KvError::NoSpace),
            // Read only: a standby now. A statement that the session does not know (PgBouncer, DISCARD), or whose
            // result has another type since a migration.
            ("25006" | "26000" | "0A000", _) => Self::Stale(failed(told(error))),
            ("XX001" | "XX002", _) => Self::Refused(KvError::Corrupt(told(error))),
            ("55P03", _) | (_, "22" | "23" | "42" | "53" | "54") => {
                Self::Refused(failed(told(error)))
            }
            _ => Self::Unknown(failed(told(error))),
        }
    }

    /// The error behind it.
    pub(crate) fn into_error(self) -> KvError {
        match self {
            Self::Conflict => failed("the database could not serialize a statement".to_owned()),
            Self::Stale(error) | Self::Refused(error) | Self::Unknown(error) => error,
        }
    }
}

/// `true` if another attempt to connect may succeed without a change of settings.
pub(crate) fn may_pass(error: &tokio_postgres::Error) -> bool {
    if let Some(database) = error.as_db_error() {
        let code = database.code().code();
        // Starting, stopping, too many connections, a pooler without a server.
        return matches!(&code[..2], "08" | "53" | "57" | "58") || code == "25006";
    }
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    let mut is_io = error.is_closed();
    while let Some(inner) = source {
        if let Some(io) = inner.downcast_ref::<io::Error>() {
            is_io = true;
            // tokio-rustls wraps the errors of a handshake.
            if io.get_ref().is_some_and(|it| it.is::<rustls::Error>()) {
                return false;
            }
        }
        source = inner.source();
    }
    is_io
}

/// `true` if the other side refuses the parameters of a session, as PgBouncer does.
pub(crate) fn refuses_parameters(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|it| it.code().code() == "08P01")
}

/// An error of the key space.
pub(crate) fn failed(reason: String) -> KvError {
    KvError::Io(Arc::new(io::Error::other(reason)))
}

/// An answer that makes no sense.
pub(crate) fn damaged(reason: &str) -> KvError {
    KvError::Corrupt(format!("an answer of the database makes no sense: {reason}"))
}

/// The words of an error, with its SQLSTATE. Details are left out: they may have keys and values.
pub(crate) fn told(error: &tokio_postgres::Error) -> String {
    if let Some(database) = error.as_db_error() {
        return words(database);
    }
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn words(error: &DbError) -> String {
    format!("{} (SQLSTATE {})", error.message(), error.code().code())
}
