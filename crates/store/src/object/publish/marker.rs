//! Delete markers.

use bytes::Bytes;
use liteio_checksum::DigestSet;
use liteio_kv::{Transaction, Write as _};

use super::Slot;
use super::slot::Origin;
use crate::error::StoreError;
use crate::etag::ETag;
use crate::meta::ObjectMetadata;
use crate::meta::content::Content;
use crate::meta::object::{Extensions, ObjectRecord};
use crate::object::{DeleteOutcome, history};
use crate::precondition::WriteConditions;

impl Slot<'_> {
    pub(super) fn add_delete_marker(
        &mut self,
        write: &mut Transaction<'_>,
        conditions: &WriteConditions,
        origin: Origin,
    ) -> Result<(DeleteOutcome, ObjectRecord), StoreError> {
        // A delete marker on top of a delete marker is allowed, as in S3, and needs no condition.
        let existed = self.current.is_some();
        if existed {
            self.check(conditions)?;
        }
        let is_null = self.next_is_null();
        let now_ms = self.shared.config.clock.now_ms();
        let marker = self.write_marker(write, now_ms, is_null, origin)?;
        let version_id = Some(marker.version_id());
        Ok((DeleteOutcome { existed, version_id, delete_marker: true }, marker))
    }

    pub(super) fn write_marker(
        &mut self,
        write: &mut Transaction<'_>,
        modified_ms: u64,
        is_null: bool,
        origin: Origin,
    ) -> Result<ObjectRecord, StoreError> {
        // The stamp first: it must be newer than the current object, which `make_room` takes away.
        let stamp = self.next_stamp(write)?;
        self.make_room(write, is_null)?;
        write.delete(&self.place)?;
        let mut marker = self.marker(modified_ms, stamp, is_null);
        self.queue(write, &mut marker, origin)?;
        history::add(write, self.state.id, self.key, &marker, &mut self.usage)?;
        Ok(marker)
    }

    /// The record of a delete marker.
    pub(in crate::object) fn marker(
        &self,
        modified_ms: u64,
        stamp: [u8; 16],
        is_null: bool,
    ) -> ObjectRecord {
        ObjectRecord {
            bytes: 0,
            etag: ETag::Md5(DigestSet::new(&[]).finish().md5),
            modified_ms,
            stamp,
            is_null,
            is_delete_marker: true,
            owner: None,
            checksum: None,
            metadata: ObjectMetadata::default(),
            extensions: Extensions::default(),
            content: Content::Inline(Bytes::new()),
        }
    }
}
