//! The schema of a cluster: making it, its migrations, and what must be true of a database that one
//! relies on.

use std::fmt;

use tokio::time::{Instant, timeout};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::config::PostgresConfig;
use crate::core::Core;
use crate::error::PostgresError;
use crate::locks;
use crate::pool::{Leased, Purpose};
use crate::session::Session;
use crate::wait::wait;

/// The migrations, in order. The format of a schema is the number of the last one.
const MIGRATIONS: [&str; 1] = [include_str!("../sql/001_key_space.sql")];

/// The format that this program makes and needs.
const FORMAT: i32 = MIGRATIONS.len() as i32;

/// The format that a program must know to use a schema of [`FORMAT`]. Lower than that, if the last migrations
/// only add what older programs need not know.
const OLDEST_PROGRAM: i32 = 1;

/// Least version of PostgreSQL: `bit_xor` and `rtrim` of bytes are as new.
const VERSION_MIN: i32 = 14;

/// The id of a cluster: random, and the same in its database and its blob store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ClusterId(pub [u8; 16]);

impl fmt::Display for ClusterId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for ClusterId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ClusterId({self})")
    }
}

/// The state of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterStatus {
    /// The id.
    pub cluster: ClusterId,
    /// The format of the schema.
    pub format: i32,
    /// The format that programs must know.
    pub oldest_program: i32,
    /// Fingerprint of the master key, if one was set.
    pub fingerprint: Option<Vec<u8>>,
    /// The database's version, as it tells it.
    pub server_version: String,
    /// `true` if a commit waits for a standby.
    pub waits_for_standby: bool,
    /// Rows of the key space, about.
    pub rows: u64,
    /// Bytes of the schema's tables with their indexes.
    pub bytes: u64,
    /// Number of processes that were begun.
    pub runs: u64,
    /// The settings by which the database may lose what it has acknowledged, each as one phrase.
    pub dangers: Vec<String>,
}

/// The row of `meta`.
pub(crate) struct Meta {
    pub(crate) cluster: ClusterId,
    pub(crate) format: i32,
    pub(crate) oldest_program: i32,
    pub(crate) fingerprint: Option<Vec<u8>>,
}

/// Makes the schema of a cluster. A schema that exists must be empty.
///
/// # Errors
/// [`PostgresError::Exists`], [`PostgresError::Unsafe`], or why the database refuses.
pub fn create(config: &PostgresConfig, cluster: ClusterId) -> Result<(), PostgresError> {
    with_session(config, async |session| {
        settings(session, config).await?;
        if meta(session, config).await?.is_some() {
            return Err(PostgresError::Exists { cluster: config.cluster.clone() });
        }
        for (migration, number) in MIGRATIONS.iter().zip(1..) {
            apply(session, config, migration, number, (number == 1).then_some(cluster)).await?;
        }
        Ok(())
    })
}

/// Brings the schema of a cluster to the format of this program. Returns the formats before and
/// after. Servers of the format before go on, unless the migration forbids it.
///
/// # Errors
/// [`PostgresError::NoCluster`], [`PostgresError::TooNew`], or why the database refuses.
pub fn migrate(config: &PostgresConfig) -> Result<(i32, i32), PostgresError> {
    with_session(config, async |session| {
        let meta = known_meta(session, config).await?;
        for (migration, number) in MIGRATIONS.iter().zip(1..).skip(meta.format.max(0) as usize) {
            apply(session, config, migration, number, None).await?;
        }
        Ok((meta.format, meta.format.max(FORMAT)))
    })
}

/// The state of a cluster.
///
/// # Errors
/// [`PostgresError::NoCluster`], or why the database refuses.
pub fn status(config: &PostgresConfig) -> Result<ClusterStatus, PostgresError> {
    with_session(config, async |session| {
        let found = meta(session, config).await?;
        let meta = found.ok_or_else(|| no_cluster(config))?;
        let dangers = dangers(session).await?;
        let text = "SELECT current_setting('server_version'),
            current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') NOT IN ('off', 'local'),
            (SELECT greatest(c.reltuples, 0)::bigint FROM pg_class c WHERE c.relname = 'kv' AND c.relnamespace = n.oid),
            (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
                WHERE c.relkind = 'r' AND c.relnamespace = n.oid),
            (SELECT count(*) FROM {schema}.process)
            FROM pg_namespace n WHERE n.nspname = $1";
        let text = text.replace("{schema}", &config.schema());
        let rows = session.once(&text, &[(&config.cluster, Type::TEXT)]).await;
        let rows = rows.map_err(|error| PostgresError::of(&error))?;
        let row = rows.first().ok_or_else(|| no_cluster(config))?;
        let number = |index: usize| value::<i64>(row, index).map(i64::cast_unsigned);
        Ok(ClusterStatus {
            cluster: meta.cluster,
            format: meta.format,
            oldest_program: meta.oldest_program,
            fingerprint: meta.fingerprint,
            server_version: value(row, 0)?,
            waits_for_standby: value(row, 1)?,
            rows: number(2)?,
            bytes: number(3)?,
            runs: number(4)?,
            dangers,
        })
    })
}

/// Checks all that [`Postgres::open`](crate::Postgres::open) checks, and begins nothing.
///
/// # Errors
/// Those of opening.
pub fn check(config: &PostgresConfig) -> Result<ClusterId, PostgresError> {
    with_session(config, async |session| Ok(check_with(session, config).await?.cluster))
}

/// Notes the fingerprint of the master key in the cluster, unless it has one. Returns the one that it
/// has.
///
/// # Errors
/// [`PostgresError::NoCluster`], or why the database refuses.
pub fn set_fingerprint(
    config: &PostgresConfig,
    fingerprint: &[u8],
) -> Result<Vec<u8>, PostgresError> {
    with_session(config, async |session| {
        // Not a write for each start: it would wait for a standby.
        if let Some(known) = known_meta(session, config).await?.fingerprint {
            return Ok(known);
        }
        let text = "UPDATE {schema}.meta SET fingerprint = coalesce(fingerprint, $1) WHERE one RETURNING fingerprint";
        let text = text.replace("{schema}", &config.schema());
        let rows = in_time(config, session.once(&text, &[(&fingerprint, Type::BYTEA)])).await?;
        value(rows.first().ok_or_else(|| no_cluster(config))?, 0)
    })
}

/// Checks the database and the schema for a server.
pub(crate) async fn check_with(
    session: &Session,
    config: &PostgresConfig,
) -> Result<Meta, PostgresError> {
    settings(session, config).await?;
    let meta = known_meta(session, config).await?;
    if meta.format < FORMAT {
        let (found, needed) = (meta.format, FORMAT);
        return Err(PostgresError::TooOld { cluster: config.cluster.clone(), found, needed });
    }
    Ok(meta)
}

/// Begins a run: its number, and its owner.
pub(crate) async fn begin_run(
    session: &Session,
    config: &PostgresConfig,
) -> Result<(u32, String), PostgresError> {
    let text = "INSERT INTO {schema}.process (run) VALUES (nextval('{schema}.run'))
        ON CONFLICT DO NOTHING RETURNING run, owner::text"
        .replace("{schema}", &config.schema());
    loop {
        let rows = in_time(config, session.once(&text, &[])).await?;
        // A number that a failover gave again is passed.
        if let Some(row) = rows.first() {
            return Ok((value::<i32>(row, 0)?.cast_unsigned(), value(row, 1)?));
        }
    }
}

/// The rows of a write that a start waits for. The wait for a standby has no end in the database.
async fn in_time(
    config: &PostgresConfig,
    rows: impl Future<Output = Result<Vec<Row>, tokio_postgres::Error>>,
) -> Result<Vec<Row>, PostgresError> {
    let Ok(rows) = timeout(config.connect_timeout * 3, rows).await else {
        let what = "it did not answer a write in time: its synchronous standby may be gone";
        return Err(PostgresError::Database(what.to_owned()));
    };
    rows.map_err(|error| PostgresError::of(&error))
}

/// Runs a migration in a transaction of its own, alone. One that another process has run meanwhile is left
/// out.
async fn apply(
    session: &Session,
    config: &PostgresConfig,
    migration: &str,
    number: i32,
    made: Option<ClusterId>,
) -> Result<(), PostgresError> {
    let schema = config.schema();
    let failed = |error: tokio_postgres::Error| PostgresError::of(&error);
    let lock = locks::of_schema(&config.cluster);
    // Indexes of large tables take their time. The planner's settings are not for migrations.
    let begin = format!(
        "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; \
         SELECT pg_advisory_xact_lock({lock})"
    );
    session.batch(&begin).await.map_err(failed)?;
    let done = async {
        let found = match made {
            Some(_) => {
                prepare(session, config).await?;
                0
            }
            None => {
                let text = format!("SELECT format FROM {schema}.meta WHERE one");
                let rows = session.once(&text, &[]).await.map_err(failed)?;
                rows.first().map_or(Ok(0), |row| value(row, 0))?
            }
        };
        if found >= number {
            return Ok(());
        }
        session.batch(&migration.replace("{schema}", &schema)).await.map_err(failed)?;
        let row = match made {
            Some(_) => format!(
                "INSERT INTO {schema}.meta (cluster, format, oldest_program) VALUES ($1, $2, $3)"
            ),
            None => format!(
                "UPDATE {schema}.meta SET format = $2, oldest_program = $3 WHERE one AND $1::bytea IS NULL"
            ),
        };
        let id = made.map(|it| it.0.to_vec());
        let oldest = OLDEST_PROGRAM.min(number);
        let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 3] =
            [(&id, Type::BYTEA), (&number, Type::INT4), (&oldest, Type::INT4)];
        session.once(&row, &parameters).await.map_err(failed)?;
        Ok(())
    };
    match done.await {
        Ok(()) => session.batch("COMMIT").await.map_err(failed),
        Err(error) => {
            session.batch("ROLLBACK").await.map_err(failed)?;
            Err(error)
        }
    }
}

/// Makes the schema, unless there is an empty one, which a role without the right to make schemas needs.
async fn prepare(session: &Session, config: &PostgresConfig) -> Result<(), PostgresError> {
    let text = "SELECT (SELECT count(*) FROM pg_class c WHERE c.relnamespace = n.oid)
        FROM pg_namespace n WHERE n.nspname = $1";
    let rows = session.once(text, &[(&config.cluster, Type::TEXT)]).await;
    let rows = rows.map_err(|error| PostgresError::of(&error))?;
    let Some(row) = rows.first() else {
        let made = session.batch(&format!("CREATE SCHEMA {}", config.schema())).await;
        return made.map_err(|error| PostgresError::of(&error));
    };
    if value::<i64>(row, 0)? == 0 {
        return Ok(());
    }
    // Another process may have made it while this one waited.
    match meta(session, config).await? {
        Some(_) => Err(PostgresError::Exists { cluster: config.cluster.clone() }),
        None => Err(PostgresError::Settings(format!(
            "the database has a schema {:?} that is not of LiteIO: choose another name for the cluster",
            config.cluster
        ))),
    }
}

/// The row of `meta`; `None` if there is no such table.
async fn meta(session: &Session, config: &PostgresConfig) -> Result<Option<Meta>, PostgresError> {
    let text = "SELECT to_regclass($1) IS NOT NULL";
    let name = format!("{}.meta", config.schema());
    let rows = session.once(text, &[(&name, Type::TEXT)]).await;
    let rows = rows.map_err(|error| PostgresError::of(&error))?;
    if !rows.first().map_or(Ok(false), |row| value(row, 0))? {
        return Ok(None);
    }
    let text = format!("SELECT cluster, format, oldest_program, fingerprint FROM {name} WHERE one");
    let rows = session.once(&text, &[]).await.map_err(|error| PostgresError::of(&error))?;
    let Some(row) = rows.first() else { return Ok(None) };
    let id: &[u8] = value(row, 0)?;
    let id = id.try_into().map_err(|_| PostgresError::Database("its id is damaged".to_owned()))?;
    Ok(Some(Meta {
        cluster: ClusterId(id),
        format: value(row, 1)?,
        oldest_program: value(row, 2)?,
        fingerprint: value(row, 3)?,
    }))
}

/// The row of `meta`, of a schema that this program may use or migrate.
async fn known_meta(session: &Session, config: &PostgresConfig) -> Result<Meta, PostgresError> {
    let found = meta(session, config).await?;
    let meta = found.ok_or_else(|| no_cluster(config))?;
    if meta.oldest_program > FORMAT {
        let (needed, known) = (meta.oldest_program, FORMAT);
        return Err(PostgresError::TooNew { cluster: config.cluster.clone(), needed, known });
    }
    Ok(meta)
}

fn no_cluster(config: &PostgresConfig) -> PostgresError {
    PostgresError::NoCluster { cluster: config.cluster.clone() }
}

/// Refuses a database that loses what it has acknowledged.
async fn settings(session: &Session, config: &PostgresConfig) -> Result<(), PostgresError> {
    let dangers = dangers(session).await?;
    match dangers.first() {
        Some(_) if !config.allows_unsafe => Err(PostgresError::Unsafe(dangers.join(", "))),
        _ => Ok(()),
    }
}

/// The settings by which the database may lose what it has acknowledged, or damage it unnoticed.
async fn dangers(session: &Session) -> Result<Vec<String>, PostgresError> {
    let text = "SELECT name, setting FROM pg_settings
        WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums', 'server_version_num')";
    let rows = session.once(text, &[]).await.map_err(|error| PostgresError::of(&error))?;
    let mut dangers = Vec::new();
    let mut version = 0;
    for row in &rows {
        match (value::<&str>(row, 0)?, value::<&str>(row, 1)?) {
            ("server_version_num", number) => version = number.parse::<i32>().unwrap_or(0) / 10_000,
            ("data_checksums", "off") => {
                dangers.push("data_checksums=off (pg_checksums --enable)".to_owned());
            }
            (name, "off") => dangers.push(format!("{name}=off")),
            _ => {}
        }
    }
    if version < VERSION_MIN {
        return Err(PostgresError::Database(format!(
            "it is PostgreSQL {version}: use version {VERSION_MIN} or newer"
        )));
    }
    dangers.sort();
    Ok(dangers)
}

fn value<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a tokio_postgres::Row,
    index: usize,
) -> Result<T, PostgresError> {
    row.try_get(index).map_err(|error| PostgresError::of(&error))
}

/// Does something with a connection of its own.
fn with_session<T>(
    config: &PostgresConfig,
    work: impl AsyncFnOnce(&Session) -> Result<T, PostgresError>,
) -> Result<T, PostgresError> {
    let core = Core::new(config)?;
    wait(core.runtime(), async {
        let deadline = Instant::now() + config.connect_timeout * 2;
        let mut leased: Leased = core.pool.take(Purpose::Commit, deadline).await?;
        let result = work(leased.begin()).await;
        leased.end();
        result
    })
}

#[cfg(test)]
mod tests {
    use twox_hash::XxHash3_64;

    use super::MIGRATIONS;

    /// A released migration never changes, since later ones build on its result: a change is another migration.
    #[test]
    fn migrations_stay_as_they_are() {
        let hash = |text: &str| format!("{:016x}", XxHash3_64::oneshot(text.as_bytes()));
        assert_eq!(MIGRATIONS.map(hash), ["c3feaeadfbf74af2"]);
    }
}
