//! Verification of objects, their parts and the index of null versions.

use liteio_checksum::{ChecksumAlgorithm, ChecksumType, Digests};

use super::bodies::{DataKey, VerifiedBody};
use super::verifier::{Failure, Location, Verifier};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::meta::content::Content;
use crate::meta::object::ObjectRecord;
use crate::meta::remote::{BLOCK_BYTES, PieceRow, RemoteBody};
use crate::meta::upload::PartRecord;
use crate::meta::{body, space};
use crate::name::{BucketId, ObjectKey, UploadId, VersionId};
use crate::object::identity;

impl Verifier<'_> {
    pub(super) fn verify_object(
        &mut self,
        place: &[u8],
        value: &[u8],
        location: &mut Location,
    ) -> Result<(), Failure> {
        self.report.objects += 1;
        let split = space::split_current(place).map(|(bucket, key)| (bucket, key.to_vec()));
        let split = split.or_else(|| space::split_history(place).map(|it| (it.0, it.1)));
        let (bucket, key) = split.ok_or_else(|| StoreError::corrupt("the key of a record"))?;
        location.bucket = Some(bucket);
        location.key = String::from_utf8(key).ok().and_then(|key| ObjectKey::new(key).ok());
        if location.key.is_none() {
            return Err(StoreError::corrupt("a record's object key").into());
        }
        let record = ObjectRecord::decode(place, value)?;
        location.version = Some(record.version_id());
        if record.is_null && space::split_history(place).is_some() {
            self.verify_is_indexed(location, &record.stamp)?;
        }
        if record.is_delete_marker {
            return Ok(());
        }
        if let Some(set) = record.extensions.annotations()? {
            self.verify_has_annotations(&set, location, &record)?;
        }
        let key = match &location.key {
            Some(key) => {
                let identity = identity(bucket, key, &record.stamp, &record.content);
                self.data_key(&record.extensions, identity)?
            }
            None => DataKey::Unknown { missing: None },
        };
        if let Content::Remote(remote) = &record.content {
            return self.verify_remote(&record, remote);
        }
        if let Content::Parts { list, count, .. } = &record.content {
            return self.verify_parts(&record, list, *count, &key);
        }
        // Only a checksum over the object's bytes can be recomputed; a composite one was checked
        // against the parts when the upload was completed.
        let full = record.checksum.filter(|it| it.kind == ChecksumType::FullObject);
        let algorithms: Vec<_> = full.iter().map(|full| full.value.algorithm).collect();
        let content = self.whole(record.content.clone())?;
        let body = key.body(&content, record.bytes);
        let digests = self.read(&body, &algorithms)?;
        // Without the key only the ciphertext was verified, by the checksums of the blob.
        if !key.is_known() {
            return Ok(());
        }
        if record.content_tag()? != ETag::Md5(body.tag(digests.md5)) {
            return Err(StoreError::corrupt("the bytes do not have the MD5 of the object").into());
        }
        match full {
            Some(full) if digests.checksum(full.value.algorithm) != Some(&full.value) => {
                Err(StoreError::corrupt("the bytes do not have the checksum of the object").into())
            }
            _ => Ok(()),
        }
    }

    fn verify_parts(
        &mut self,
        record: &ObjectRecord,
        list: &UploadId,
        count: u32,
        key: &DataKey,
    ) -> Result<(), Failure> {
        let mut md5s = Vec::new();
        let mut start = 0;
        for number in 1..=count {
            let missing = || StoreError::corrupt(format!("part {number} is missing"));
            let number = u16::try_from(number).map_err(|_| missing())?;
            let place = space::part(list, number);
            let part = self.get(&place)?.ok_or_else(missing)?;
            let part = PartRecord::decode(&place, &part)?;
            // Parts must be adjacent, or range reads would return wrong bytes.
            if part.facts.start != start {
                return Err(StoreError::corrupt(format!("part {number} is out of place")).into());
            }
            self.verify_part_bytes(&part, key)?;
            start += part.facts.bytes;
            md5s.push(part.facts.md5);
        }
        if start != record.bytes || ETag::multipart(&md5s) != record.content_tag()? {
            return Err(StoreError::corrupt("the parts do not make up the object").into());
        }
        Ok(())
    }

    /// Checks what is kept here of a body in a tier: the digests of all its bytes, and the parts.
    /// The tier is not asked.
    fn verify_remote(&mut self, record: &ObjectRecord, remote: &RemoteBody) -> Result<(), Failure> {
        for number in 0..remote.pieces() {
            let place = space::piece(&remote.id, number);
            let missing = || StoreError::corrupt("the digests of a body in a tier are missing");
            let row = PieceRow::decode(&place, &self.get(&place)?.ok_or_else(missing)?)?;
            let start = u64::from(number) * remote.piece_bytes;
            let bytes = remote.piece_bytes.min(remote.bytes - start);
            if row.bytes != bytes || row.blocks.len() as u64 != bytes.div_ceil(BLOCK_BYTES) {
                return Err(StoreError::corrupt("the digests of a body in a tier").into());
            }
        }
        let Some(parts) = &remote.parts else { return Ok(()) };
        let (mut start, mut offset) = (0, 0);
        for number in 1..=parts.count {
            let missing = || StoreError::corrupt(format!("part {number} is missing"));
            let number = u16::try_from(number).map_err(|_| missing())?;
            let place = space::part(&remote.part_list(), number);
            let part = PartRecord::decode(&place, &self.get(&place)?.ok_or_else(missing)?)?;
            let found = part.extensions.remote_offset()?;
            if part.facts.start != start || found != Some(offset) {
                return Err(StoreError::corrupt(format!("part {number} is out of place")).into());
            }
            start += part.facts.bytes;
            offset += part.extensions.content_bytes(part.facts.bytes).unwrap_or(u64::MAX / 2);
        }
        match (start, offset) == (record.bytes, remote.bytes) {
            true => Ok(()),
            false => Err(StoreError::corrupt("the parts do not make up the object").into()),
        }
    }

    pub(super) fn verify_part(
        &mut self,
        place: &[u8],
        value: &[u8],
        key: &DataKey,
    ) -> Result<(), Failure> {
        self.verify_part_bytes(&PartRecord::decode(place, value)?, key)
    }

    /// Checks that the index has this `null` version of the history.
    fn verify_is_indexed(&self, location: &Location, stamp: &[u8; 16]) -> Result<(), Failure> {
        let (Some(id), Some(key)) = (location.bucket, &location.key) else { return Ok(()) };
        // Version 1 of a bucket has no index.
        if !self.buckets.get(&id).is_some_and(|bucket| bucket.has_index) {
            return Ok(());
        }
        let row = space::null_version(id, key.as_str());
        match self.get(&row)?.is_some_and(|found| found == *stamp) {
            true => Ok(()),
            false => Err(Failure::NotIndexed { row, stamp: *stamp }),
        }
    }

    /// Checks that a row of the index names an existing `null` version.
    pub(super) fn verify_null_version(
        &self,
        bucket: BucketId,
        key: &[u8],
        stamp: &[u8],
        location: &mut Location,
    ) -> Result<(), Failure> {
        location.bucket = Some(bucket);
        location.version = Some(VersionId::Null);
        let key = String::from_utf8(key.to_vec()).ok().and_then(|key| ObjectKey::new(key).ok());
        location.key.clone_from(&key);
        let wrong = || StoreError::corrupt("the index of null versions names no such version");
        let (key, stamp) = (key.ok_or_else(wrong)?, stamp.try_into().map_err(|_| wrong())?);
        let place = space::history(bucket, key.as_str(), &stamp);
        let record = self.get(&place)?.ok_or_else(wrong)?;
        match ObjectRecord::decode(&place, &record)?.is_null {
            true => Ok(()),
            false => Err(wrong().into()),
        }
    }

    /// Checks that the row of a body belongs to a version. The bytes are verified with the version.
    pub(super) fn verify_has_version(
        &self,
        place: &[u8],
        row: &[u8],
        stamp: &[u8; 16],
        location: &mut Location,
    ) -> Result<(), Failure> {
        let (owner, _) = body::owner(place, row)?;
        location.bucket = Some(owner.bucket);
        location.version = Some(VersionId::Id(*stamp));
        location.key = ObjectKey::new(owner.key.clone()).ok();
        for place in [
            space::current(owner.bucket, &owner.key),
            space::history(owner.bucket, &owner.key, stamp),
        ] {
            let Some(record) = self.get(&place)? else { continue };
            match ObjectRecord::decode_manifest(&place, &record) {
                Ok(Content::Apart { stamp: found, .. }) if found == *stamp => return Ok(()),
                // Its version is unknown. It is reported as an object.
                Err(StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. }) => return Ok(()),
                Err(error) => return Err(error.into()),
                Ok(_) => {}
            }
        }
        Err(StoreError::corrupt("there are bytes of a version that does not exist").into())
    }

    /// The content with the bytes of its row, if they have one.
    fn whole(&self, content: Content) -> Result<Content, Failure> {
        let Content::Apart { stamp, bytes } = content else { return Ok(content) };
        let row = self.get(&space::body(&stamp))?;
        Ok(Content::Inline(body::decode(&stamp, bytes, row.as_deref())?))
    }

    fn verify_part_bytes(&mut self, part: &PartRecord, key: &DataKey) -> Result<(), Failure> {
        let body = key.part(part)?;
        let md5 = self.read(&body, &[])?.md5;
        match !key.is_known() || body.tag(md5) == part.facts.md5 {
            true => Ok(()),
            false => Err(StoreError::corrupt("the bytes of a part do not have its MD5").into()),
        }
    }

    fn read(
        &mut self,
        body: &VerifiedBody<'_>,
        algorithms: &[ChecksumAlgorithm],
    ) -> Result<Digests, Failure> {
        let digests = body.digests(self.store, algorithms, &mut *self.pace)?;
        self.report.bytes += digests.bytes;
        Ok(digests)
    }
}
