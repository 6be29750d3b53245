//! Notes of the removal of a key's newest version in the uploads of the key.
//!
//! A conditional Complete fails if the key was changed since the upload was created. A write is
//! visible as a newer version; a removal leaves no other trace.

use liteio_kv::{Read, Transaction, Write};

use crate::error::StoreError;
use crate::meta::object::KeyState;
use crate::meta::space;
use crate::meta::upload::UploadRecord;
use crate::name::{BucketId, ObjectKey};

/// Most uploads of one key that a removal is noted in. It bounds the transaction of a delete.
const UPLOADS_NOTED_MAX: usize = 1_000;

/// Notes the removal of the newest version of a key in the uploads of the key.
pub(super) fn note_removal(
    write: &mut Transaction<'_>,
    bucket: BucketId,
    key: &ObjectKey,
) -> Result<(), StoreError> {
    for (place, mut upload) in uploads_of(write, bucket, key)? {
        let Some(state) = upload.extensions.key_state()?.filter(|state| !state.is_removed) else {
            continue;
        };
        let state = KeyState { is_removed: true, ..state };
        upload.extensions = upload.extensions.with_key_state(Some(&state));
        write.put(&place, &upload.encode(&place))?;
    }
    Ok(())
}

/// The records of the uploads of a key, with their record keys.
fn uploads_of(
    from: &impl Read,
    bucket: BucketId,
    key: &ObjectKey,
) -> Result<Vec<(Vec<u8>, UploadRecord)>, StoreError> {
    let prefix = space::uploads_of(bucket, key.as_str());
    let mut ids = Vec::new();
    let mut cursor = space::within(from, &prefix)?;
    while let Some((place, _)) = cursor.next()?
        && ids.len() < UPLOADS_NOTED_MAX
    {
        let id = space::split_upload_by_key(place).map(|(_, _, id)| id);
        ids.push(id.ok_or_else(|| StoreError::corrupt("the key of an upload's entry"))?);
    }
    drop(cursor);
    from.fetch(ids.iter().map(space::upload))?;
    let mut uploads = Vec::with_capacity(ids.len());
    for id in ids {
        let upload = UploadRecord::read(from, &id)?;
        let upload = upload.ok_or_else(|| StoreError::corrupt("an upload has no record"))?;
        uploads.push((space::upload(&id), upload));
    }
    Ok(uploads)
}
