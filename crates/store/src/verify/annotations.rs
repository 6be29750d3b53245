//! Verification of annotations: every set belongs to a version, and has its number of annotations with their payloads.

use liteio_checksum::DigestSet;

use super::verifier::{Failure, Location, Verifier};
use crate::encryption::stored_bytes;
use crate::error::StoreError;
use crate::etag::ETag;
use crate::meta::annotation::{AnnotationRecord, SetDeletion, SetHead, SetId};
use crate::meta::object::ObjectRecord;
use crate::meta::space;
use crate::name::{ObjectKey, VersionId};

impl Verifier<'_> {
    /// Verifies a row of annotations; `None` for any other row.
    pub(super) fn verify_annotation_row(
        &mut self,
        place: &[u8],
        value: &[u8],
        location: &mut Location,
    ) -> Option<Result<(), Failure>> {
        if let Some(set) = space::split_annotations(place) {
            return Some(self.verify_set(place, value, &set, location));
        }
        if let Some((set, name)) = space::split_annotation(place) {
            return Some(self.verify_annotation(place, value, (&set, name), location));
        }
        if let Some((set, name)) = space::split_payload(place) {
            return Some(self.verify_payload(place, value, (&set, name)));
        }
        space::split_annotation_deletion(place)?;
        Some(SetDeletion::decode(place, value).map(drop).map_err(Failure::from))
    }

    /// Checks that the head of the set of a version is that of this version.
    pub(super) fn verify_has_annotations(
        &self,
        set: &SetId,
        location: &Location,
        record: &ObjectRecord,
    ) -> Result<(), Failure> {
        let (Some(bucket), Some(key)) = (location.bucket, &location.key) else { return Ok(()) };
        let place = space::annotations(set);
        let head = match self.get(&place)?.map(|head| SetHead::decode(&place, &head)) {
            Some(Ok(head)) => Some(head),
            None | Some(Err(StoreError::Corrupt { .. })) => None,
            Some(Err(error)) => return Err(error.into()),
        };
        let is_its = head.is_some_and(|head| {
            head.bucket == bucket && head.key == key.as_str() && head.stamp == record.stamp
        });
        match is_its {
            true => Ok(()),
            false => {
                let head = SetHead {
                    bucket,
                    key: key.as_str().to_owned(),
                    stamp: record.stamp,
                    count: 0,
                    tombstones: 0,
                    revision: 0,
                };
                Err(Failure::Annotations { set: *set, head })
            }
        }
    }

    fn verify_set(
        &self,
        place: &[u8],
        value: &[u8],
        set: &SetId,
        location: &mut Location,
    ) -> Result<(), Failure> {
        // One that is being removed has no version any more, one that is being copied not yet.
        if self.get(&space::annotation_deletion(set))?.is_some() {
            return Ok(());
        }
        let head = match SetHead::decode(place, value) {
            Ok(head) => head,
            // Its version tells what it was.
            Err(error @ StoreError::Corrupt { .. }) => return Err(Failure::Headless(error)),
            Err(error) => return Err(error.into()),
        };
        location.bucket = Some(head.bucket);
        location.version = Some(VersionId::Id(head.stamp));
        location.key = ObjectKey::new(head.key.clone()).ok();
        if !self.is_of_a_version(set, &head)? {
            let what = "there are annotations of a version that does not exist";
            return Err(StoreError::corrupt(what).into());
        }
        let snapshot = self.store.snapshot().map_err(Failure::Unknown)?;
        let mut cursor = space::within(&snapshot, &space::annotation(set, ""))?;
        let (mut count, mut tombstones) = (0, 0);
        while let Some((place, value)) = cursor.next()? {
            // A damaged one is reported by itself.
            match AnnotationRecord::decode(place, value) {
                Ok(record) if record.is_deleted() => tombstones += 1,
                _ => count += 1,
            }
        }
        match (count, tombstones) == (head.count, head.tombstones) {
            true => Ok(()),
            false => Err(Failure::Annotations { set: *set, head }),
        }
    }

    fn is_of_a_version(&self, set: &SetId, head: &SetHead) -> Result<bool, Failure> {
        for place in [
            space::current(head.bucket, &head.key),
            space::history(head.bucket, &head.key, &head.stamp),
        ] {
            let Some(record) = self.get(&place)? else { continue };
            match ObjectRecord::decode(&place, &record) {
                Ok(record) if record.stamp != head.stamp => {}
                Ok(record) => return Ok(record.extensions.annotations()? == Some(*set)),
                // Its version is unknown. It is reported as an object.
                Err(StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. }) => {
                    return Ok(true);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    fn verify_annotation(
        &mut self,
        place: &[u8],
        value: &[u8],
        (set, name): (&SetId, &str),
        location: &mut Location,
    ) -> Result<(), Failure> {
        let record = AnnotationRecord::decode(place, value)?;
        let of_head = space::annotations(set);
        match self.get(&of_head)?.map(|head| SetHead::decode(&of_head, &head)) {
            Some(Ok(head)) => {
                location.bucket = Some(head.bucket);
                location.version = Some(VersionId::Id(head.stamp));
                location.key = ObjectKey::new(head.key).ok();
            }
            // A damaged head is reported by itself.
            Some(Err(_)) => {}
            None => {
                let what = "there is an annotation of no version";
                return Err(Failure::Headless(StoreError::corrupt(what)));
            }
        }
        if record.is_deleted() {
            return Ok(());
        }
        let of_payload = space::payload(set, name);
        let row = self.get(&of_payload)?;
        let row = row.ok_or_else(|| StoreError::corrupt("an annotation has no payload"))?;
        let payload = AnnotationRecord::decode_payload(&of_payload, &row)?;
        let bytes = u64::from(record.bytes);
        let expected = if record.salt.is_some() { stored_bytes(bytes) } else { Some(bytes) };
        if expected != Some(payload.len() as u64) {
            return Err(
                StoreError::corrupt("the payload of an annotation has another length").into()
            );
        }
        self.report.bytes += payload.len() as u64;
        if record.salt.is_some() {
            return Ok(());
        }
        let mut digests = DigestSet::new(&[]);
        digests.update(payload);
        match ETag::Md5(digests.finish().md5) == record.etag {
            true => Ok(()),
            false => Err(StoreError::corrupt("an annotation does not have its MD5").into()),
        }
    }

    /// Checks that a payload belongs to an annotation, which verifies its bytes.
    fn verify_payload(
        &self,
        place: &[u8],
        value: &[u8],
        (set, name): (&SetId, &str),
    ) -> Result<(), Failure> {
        AnnotationRecord::decode_payload(place, value)?;
        match self.get(&space::annotation(set, name))?.is_some() {
            true => Ok(()),
            false => Err(StoreError::corrupt("there is a payload of no annotation").into()),
        }
    }
}
