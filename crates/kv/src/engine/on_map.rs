//! A map in memory: the smallest engine that keeps the contract, for tests.
//!
//! Views share the map. Changes are made to a copy, which is written as a whole to a new file; then
//! copy and new file replace the old ones.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::Bound;
use std::sync::Arc;

use liteio_disk::{Disk, OpenMode};
use parking_lot::Mutex;

use super::{ApplyError, Change, Changes, Checkpoint};
use crate::KvError;

type Bytes = Arc<[u8]>;
type Map = BTreeMap<Bytes, Bytes>;

#[derive(Debug)]
pub(crate) struct Engine {
    map: Mutex<Arc<Map>>,
    checkpoint: Mutex<Option<Checkpoint>>,
    /// The disk and path of the file; `None` in memory.
    file: Option<(Arc<dyn Disk>, String)>,
    frozen: Mutex<Option<KvError>>,
}

impl Engine {
    pub(crate) fn memory() -> Self {
        Self {
            map: Mutex::default(),
            checkpoint: Mutex::default(),
            file: None,
            frozen: Mutex::default(),
        }
    }

    pub(crate) fn open(disk: &Arc<dyn Disk>, path: &str) -> Result<Self, KvError> {
        let file = match disk.open(path, OpenMode::Read) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            file => Some(file?),
        };
        let mut engine = Self { file: Some((Arc::clone(disk), path.to_owned())), ..Self::memory() };
        if let Some(file) = file {
            let length = file.len()?;
            let mut bytes = vec![0; usize::try_from(length).expect("a small file")];
            file.read_at(&mut bytes, 0)?;
            let (checkpoint, map) = decode(&bytes)?;
            *engine.checkpoint.get_mut() = Some(checkpoint);
            *engine.map.get_mut() = Arc::new(map);
        }
        Ok(engine)
    }

    pub(crate) fn frozen(&self) -> Option<KvError> {
        self.frozen.lock().clone()
    }

    /// Closing writes nothing here.
    pub(crate) fn close_without_checkpoint(&self) {}

    pub(crate) fn view(&self) -> Result<View, KvError> {
        Ok(View(Arc::clone(&self.map.lock())))
    }

    pub(crate) fn read_checkpoint(&self) -> Result<Option<Checkpoint>, KvError> {
        Ok(self.checkpoint.lock().clone())
    }

    pub(crate) fn apply(
        &self,
        changes: &mut dyn Changes,
        checkpoint: &Checkpoint,
    ) -> Result<Checkpoint, ApplyError> {
        if let Some(error) = self.frozen() {
            return Err(error.into());
        }
        let mut map = Map::clone(&self.map.lock());
        let mut checkpoint = checkpoint.clone();
        while let Some(Change { key, value }) = changes.next()? {
            let before = match value {
                Some(value) => map.insert(key.into(), value.into()),
                None => map.remove(key),
            };
            let bytes = |value: Option<&[u8]>| value.map(|value| key.len() + value.len());
            let (before, after) = (bytes(before.as_deref()), bytes(value));
            checkpoint.contents.iter_mut().for_each(|it| it.count(before, after));
        }
        if let Err(error) = self.write(&checkpoint, &map) {
            *self.frozen.lock() = Some(error.clone());
            return Err(error.into());
        }
        *self.map.lock() = Arc::new(map);
        *self.checkpoint.lock() = Some(checkpoint.clone());
        Ok(checkpoint)
    }

    /// The size as if the file were full of pairs: it is written as a whole each time.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.checkpoint
            .lock()
            .as_ref()
            .and_then(|it| it.contents)
            .map_or(0, |contents| contents.bytes)
    }

    fn write(&self, checkpoint: &Checkpoint, map: &Map) -> Result<(), KvError> {
        let Some((disk, path)) = &self.file else { return Ok(()) };
        let bytes = encode(checkpoint, map);
        let next = format!("{path}.next");
        disk.remove_if_there(&next)?;
        let file = disk.open(&next, OpenMode::CreateOrWrite)?;
        file.write_at(&bytes, 0)?;
        file.sync_data()?;
        disk.rename(&next, path)?;
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        Ok(disk.sync_dir(parent)?)
    }
}

fn encode(checkpoint: &Checkpoint, map: &Map) -> Vec<u8> {
    let row = checkpoint.encode();
    let mut bytes = u16::try_from(row.len()).expect("short").to_le_bytes().to_vec();
    bytes.extend_from_slice(&row);
    for field in map.iter().flat_map(|(key, value)| [key, value]) {
        bytes.extend_from_slice(&u32::try_from(field.len()).expect("short").to_le_bytes());
        bytes.extend_from_slice(field);
    }
    bytes
}

fn decode(bytes: &[u8]) -> Result<(Checkpoint, Map), KvError> {
    let invalid = || KvError::Corrupt("the map cannot be read".into());
    let (row_bytes, rest) = bytes.split_first_chunk().ok_or_else(invalid)?;
    let row_bytes = u16::from_le_bytes(*row_bytes).into();
    let (checkpoint, mut rest) = rest.split_at_checked(row_bytes).ok_or_else(invalid)?;
    let mut take = || -> Option<Bytes> {
        let (length, after) = rest.split_first_chunk()?;
        let (field, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        rest = after;
        Some(field.into())
    };
    let mut map = Map::new();
    while let Some(key) = take() {
        map.insert(key, take().ok_or_else(invalid)?);
    }
    match rest.is_empty() {
        true => Ok((Checkpoint::decode(checkpoint)?, map)),
        false => Err(invalid()),
    }
}

pub(crate) struct View(Arc<Map>);

impl View {
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Value<'_>>, KvError> {
        Ok(self.0.get(key).map(|value| Value(value)))
    }

    pub(crate) fn tree(&self) -> Tree<'_> {
        Tree(&self.0)
    }
}

pub(crate) struct Value<'a>(&'a [u8]);

impl Value<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Tree<'a>(&'a Map);

impl<'a> Tree<'a> {
    pub(crate) fn lower_bound(self, bound: Bound<&[u8]>) -> Result<Place<'a>, KvError> {
        let gap = match bound {
            Bound::Included(key) => Gap::Before(key.into()),
            Bound::Excluded(key) => Gap::Behind(key.into()),
            Bound::Unbounded => Gap::Start,
        };
        Ok(Place { map: self.0, gap })
    }

    pub(crate) fn upper_bound(self, bound: Bound<&[u8]>) -> Result<Place<'a>, KvError> {
        let gap = match bound {
            Bound::Included(key) => Gap::Behind(key.into()),
            Bound::Excluded(key) => Gap::Before(key.into()),
            Bound::Unbounded => Gap::End,
        };
        Ok(Place { map: self.0, gap })
    }
}

/// A place between two keys.
enum Gap {
    Start,
    Before(Bytes),
    Behind(Bytes),
    End,
}

pub(crate) struct Place<'a> {
    map: &'a Map,
    gap: Gap,
}

impl<'a> Place<'a> {
    pub(crate) fn next_into<T: From<PairGuard<'a>>>(
        &mut self,
        shown: &mut Option<T>,
    ) -> Result<(), KvError> {
        *shown = self.next().map(T::from);
        Ok(())
    }

    pub(crate) fn previous_into<T: From<PairGuard<'a>>>(
        &mut self,
        shown: &mut Option<T>,
    ) -> Result<(), KvError> {
        *shown = self.previous().map(T::from);
        Ok(())
    }

    fn next(&mut self) -> Option<PairGuard<'a>> {
        let from = match &self.gap {
            Gap::Start => Bound::Unbounded,
            Gap::Before(key) => Bound::Included(&**key),
            Gap::Behind(key) => Bound::Excluded(&**key),
            Gap::End => return None,
        };
        let next = self.map.range::<[u8], _>((from, Bound::Unbounded)).next();
        if let Some((key, _)) = next {
            self.gap = Gap::Behind(Arc::clone(key));
        }
        next.map(|(key, value)| PairGuard { key, value })
    }

    fn previous(&mut self) -> Option<PairGuard<'a>> {
        let to = match &self.gap {
            Gap::Start => return None,
            Gap::Before(key) => Bound::Excluded(&**key),
            Gap::Behind(key) => Bound::Included(&**key),
            Gap::End => Bound::Unbounded,
        };
        let previous = self.map.range::<[u8], _>((Bound::Unbounded, to)).next_back();
        if let Some((key, _)) = previous {
            self.gap = Gap::Before(Arc::clone(key));
        }
        previous.map(|(key, value)| PairGuard { key, value })
    }
}

pub(crate) struct PairGuard<'a> {
    key: &'a [u8],
    value: &'a [u8],
}

impl PairGuard<'_> {
    pub(crate) fn key(&self) -> &[u8] {
        self.key
    }

    pub(crate) fn value(&self) -> &[u8] {
        self.value
    }
}
