//! redb without our key space around it: the difference is the cost of the key space.

use std::path::Path;

use redb::{Database, Durability, ReadableDatabase as _, TableDefinition};

use super::engine::{CACHE_BYTES, Engine, Failure, Key, Show, Synced, Value};

const KEYS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("keys");

/// redb with one transaction for each put.
pub(crate) struct Redb {
    database: Database,
    durability: Durability,
}

impl Redb {
    fn put_pairs(&self, pairs: &[(Key, impl AsRef<[u8]>)]) -> Result<(), Failure> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(self.durability)?;
        {
            let mut table = transaction.open_table(KEYS)?;
            for (key, value) in pairs {
                table.insert(key.as_slice(), value.as_ref())?;
            }
        }
        Ok(transaction.commit()?)
    }
}

impl Engine for Redb {
    fn open(directory: &Path, sync: Synced) -> Result<Self, Failure> {
        let path = directory.join("keys.redb");
        let database = Database::builder().set_cache_size(CACHE_BYTES).create(path)?;
        // A read needs an existing table.
        let transaction = database.begin_write()?;
        transaction.open_table(KEYS)?;
        transaction.commit()?;
        let durability = match sync {
            Synced::No => Durability::None,
            Synced::Each => Durability::Immediate,
        };
        Ok(Redb { database, durability })
    }

    fn put_all(&self, pairs: &[(Key, Value)]) -> Result<(), Failure> {
        self.put_pairs(pairs)
    }

    fn put_large(&self, pairs: &[(Key, Vec<u8>)]) -> Result<(), Failure> {
        self.put_pairs(pairs)
    }

    fn delete_all(&self, keys: &[Key]) -> Result<(), Failure> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(self.durability)?;
        {
            let mut table = transaction.open_table(KEYS)?;
            for key in keys {
                table.remove(key.as_slice())?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn get(&self, key: &Key, value: &mut Vec<u8>) -> Result<bool, Failure> {
        let table = self.database.begin_read()?.open_table(KEYS)?;
        let found = table.get(key.as_slice())?;
        Ok(found.map(|found| value.extend_from_slice(found.value())).is_some())
    }

    fn scan(&self, from: &Key, count: usize, show: Show<'_>) -> Result<(), Failure> {
        let table = self.database.begin_read()?.open_table(KEYS)?;
        for pair in table.range(from.as_slice()..)?.take(count) {
            let (key, value) = pair?;
            show(key.value(), value.value());
        }
        Ok(())
    }
}
