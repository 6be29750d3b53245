//! The move of a cluster into a directory.

use std::sync::Arc;

use liteio_blob::{BlobId, BlobStore};
use liteio_kv::{Change, Kv, append_change};

use super::into::check_servers;
use super::pairs::{Sum, added_up, page};
use super::vectors::vectors_out;
use super::{Moved, is_of_one_blob, refused};
use crate::backend::ClusterBackend;
use crate::backup::{BackupBlob, Restore, RestoredPart};
use crate::config::StoreConfig;
use crate::error::StoreError;
use crate::meta::bucket::StoreRecord;
use crate::meta::moving::MovingRecord;
use crate::meta::space;
use crate::open;

/// Blobs that are looked for together.
const BLOBS_AT_ONCE: usize = 10_000;

/// Moves everything of a cluster into the empty directory of `config`. The cluster stays as it is. After an
/// interruption the same call begins anew, and keeps the blobs that are there.
///
/// # Errors
/// [`StoreError::InvalidRequest`] if the directory is not empty, the cluster has servers or no data, and if the two sides
/// differ at the end, since a server has started meanwhile; the errors of reads and writes.
pub fn move_out(
    from: &ClusterBackend,
    config: StoreConfig,
    progress: &mut dyn FnMut(&Moved),
) -> Result<Moved, StoreError> {
    let kv = Kv::over(Arc::clone(&from.database), open::database_config())?;
    let snapshot = kv.snapshot()?;
    if MovingRecord::read(&snapshot)?.is_some() {
        return Err(MovingRecord::unfinished());
    }
    let Some(record) = StoreRecord::read_checked(&snapshot)? else {
        return Err(refused("the cluster has no data: no server has started yet"));
    };
    drop(snapshot);
    check_servers(&kv)?;
    let number = from.database.take_numbers(1, 0)?;
    let to = Restore::begin(config)?;
    let mut moved = Moved::default();
    let mut after: Option<Vec<u8>> = None;
    loop {
        let snapshot = kv.snapshot()?;
        let page = page(&snapshot, after.as_deref())?;
        let mut changes = Vec::new();
        moved.written += page.pairs.len() as u64;
        moved.pairs = moved.written;
        for (key, value) in page.pairs {
            let value = added_up(&snapshot, &key, value, number)?;
            append_change(Change::Put { key: &key, value: &value }, &mut changes);
        }
        to.apply(changes)?;
        progress(&moved);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let blobs = from.blobs.of_run(from.database.run());
    let vectors = vectors_out(&kv, &blobs, &to, &mut Moved::default())?;
    moved.written += vectors;
    loop {
        let missing = to.missing(&RestoredPart::Everything, after.as_deref(), BLOBS_AT_ONCE)?;
        for (blob, _) in missing.blobs {
            copy_blob(&*blobs, &to, &blob, &mut moved)?;
            progress(&moved);
        }
        after = missing.next;
        if after.is_none() {
            break;
        }
    }
    let mut seen = |pairs| {
        moved.compared += pairs;
        progress(&moved);
    };
    let added = |snapshot: &_, key: &[u8], value| added_up(snapshot, key, value, number);
    let wanted = Sum::of(&kv, added, &mut seen)?;
    let found = Sum::of(&to.kv, |_, _, value| Ok(value), &mut seen)?;
    let compared = wanted.compare(&found, &mut moved);
    compared.map_err(|differ| {
        refused(format!("{differ}: stop all servers of the cluster, and run the command again"))
    })?;
    moved.pairs += vectors;
    check_servers(&kv)?;
    let mut last = Vec::new();
    let value = record.encoded();
    append_change(Change::Put { key: space::STORE_KEY, value: &value }, &mut last);
    to.apply(last)?;
    let report = to.finish()?;
    match (report.vectors, report.left_out) == (vectors, 0) {
        true => Ok(moved),
        false => Err(refused("the vectors of the two sides differ: run the command again")),
    }
}

fn copy_blob(
    from: &dyn BlobStore,
    to: &Restore,
    blob: &BackupBlob,
    moved: &mut Moved,
) -> Result<(), StoreError> {
    let mut reader = None;
    let mut position = 0;
    let mut damage = None;
    let written = to.write_blob(blob, &mut || -> Result<_, StoreError> {
        if position == blob.bytes {
            return Ok(None);
        }
        let read = || -> Result<_, StoreError> {
            let reader = match &reader {
                Some(reader) => Arc::clone(reader),
                None => from.open(&BlobId(blob.id), blob.bytes)?,
            };
            let piece = reader.read(position..blob.bytes)?.freeze();
            Ok((reader, piece))
        };
        let (opened, piece) = read().inspect_err(|error| {
            damage = is_of_one_blob(error).then(|| error.clone());
        })?;
        reader = Some(opened);
        position += piece.len() as u64;
        Ok(Some(piece))
    });
    match (written, damage) {
        (Ok(()), _) => {
            moved.blobs += 1;
            moved.blob_bytes += blob.bytes;
        }
        (Err(_), Some(damage)) => moved.leave_out(&damage),
        (Err(error), None) => return Err(error),
    }
    Ok(())
}
