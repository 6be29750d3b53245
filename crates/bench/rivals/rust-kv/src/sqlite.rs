//! SQLite: a B-tree with a write-ahead log.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension as _};

use liteio_bench::kv::engine::{CACHE_BYTES, Engine, Failure, Key, Show, Synced, Value};

liteio_bench::kv_engine!("sqlite", "rusqlite", Sqlite);

const PUT: &str = "insert or replace into keys values (?1, ?2)";
const GET: &str = "select value from keys where key = ?1";
const SCAN: &str = "select key, value from keys where key >= ?1 order by key limit ?2";

struct Sqlite {
    connection: Mutex<Connection>,
}

impl Sqlite {
    /// A connection is for one thread at a time.
    fn with<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Failure> {
        Ok(work(&mut self.connection.lock().unwrap_or_else(PoisonError::into_inner))?)
    }
}

impl Engine for Sqlite {
    fn open(directory: &Path, sync: Synced) -> Result<Self, Failure> {
        let connection = Connection::open(directory.join("keys.db"))?;
        let level = match sync {
            Synced::No => "off",
            Synced::Each => "full",
        };
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", level)?;
        // Below zero it counts KiB.
        connection.pragma_update(None, "cache_size", -(CACHE_BYTES as i64 >> 10))?;
        connection.execute(
            "create table if not exists keys (key blob primary key, value blob) without rowid",
            (),
        )?;
        Ok(Sqlite { connection: Mutex::new(connection) })
    }

    fn put(&self, key: &Key, value: &Value) -> Result<(), Failure> {
        self.with(|connection| connection.prepare_cached(PUT)?.execute((key, value)))?;
        Ok(())
    }

    fn put_all(&self, pairs: &[(Key, Value)]) -> Result<(), Failure> {
        self.with(|connection| {
            let transaction = connection.transaction()?;
            {
                let mut put = transaction.prepare_cached(PUT)?;
                for (key, value) in pairs {
                    put.execute((key, value))?;
                }
            }
            transaction.commit()
        })
    }

    fn get(&self, key: &Key, value: &mut Vec<u8>) -> Result<bool, Failure> {
        self.with(|connection| {
            let mut get = connection.prepare_cached(GET)?;
            let row = get.query_row((key,), |row| {
                value.extend_from_slice(row.get_ref(0)?.as_blob()?);
                Ok(())
            });
            Ok(row.optional()?.is_some())
        })
    }

    fn scan(&self, from: &Key, count: usize, show: Show<'_>) -> Result<(), Failure> {
        self.with(|connection| {
            let mut scan = connection.prepare_cached(SCAN)?;
            let mut rows = scan.query((from, count as i64))?;
            while let Some(row) = rows.next()? {
                show(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
            }
            Ok(())
        })
    }
}
