//! Stores objects one after the other, with a bounded number of writes in flight.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;

use liteio_store::limits::PART_BYTES_MAX;
use liteio_store::{
    BodyOptions, Bucket, ChecksumAlgorithm, ContentHeaders, EtagCondition, ObjectChecksum,
    ObjectKey, ObjectMetadata, ObjectVersion, Pending, PutOptions, Sealing, StoreError,
    WriteConditions,
};

use super::PIECE_BYTES;
use super::clutter::Clutter;
use crate::prepare::{Site, buckets};

/// Limit of writes in flight.
const IN_FLIGHT_MAX: usize = 64;

/// Stores missing objects.
pub(super) struct Sower<'s> {
    site: &'s Site,
    /// Pending writes, with bucket and key.
    in_flight: VecDeque<(String, Pending<ObjectVersion>)>,
    counts: Counts,
    piece: Vec<u8>,
    pub(super) clutter: Clutter,
}

/// Counts of objects so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) put: u64,
    /// Objects that existed before.
    pub(super) present: u64,
}

impl<'s> Sower<'s> {
    pub(super) fn new(site: &'s Site) -> Sower<'s> {
        let piece = vec![0; PIECE_BYTES];
        let (in_flight, counts, clutter) = <_>::default();
        Sower { site, in_flight, counts, piece, clutter }
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// True if the bucket is to be prepared.
    pub(super) fn wants(&self, bucket: &str) -> bool {
        self.site.wants(bucket)
    }

    /// Finds the bucket, or creates it.
    pub(super) fn bucket(&self, name: &str) -> Result<Arc<Bucket>, String> {
        buckets::find_or_make(self.site, name)
    }

    /// Stores `bytes` bytes of `body`, unless the object exists.
    pub(super) fn object(
        &mut self,
        bucket: &Arc<Bucket>,
        key: ObjectKey,
        bytes: u64,
        body: &mut dyn Read,
    ) -> Result<(), String> {
        let store = &self.site.store;
        match store.find_object(bucket, &key, None) {
            Ok(_) => {
                self.counts.present += 1;
                return Ok(());
            }
            Err(StoreError::NoSuchKey { .. } | StoreError::IsDeleteMarker { .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
        if bytes > PART_BYTES_MAX {
            let maximum = PART_BYTES_MAX;
            return Err(StoreError::PartTooLarge { bytes, maximum }.to_string());
        }
        let algorithm = ChecksumAlgorithm::Crc64Nvme;
        let options = BodyOptions {
            expected_bytes: Some(bytes),
            algorithms: vec![algorithm],
            sealing: self.sealing(bucket)?,
        };
        let mut writer = store.begin_body(options).map_err(|error| error.to_string())?;
        loop {
            if self.site.is_given_up() {
                return Err("the start was given up".to_owned());
            }
            match body.read(&mut self.piece) {
                Ok(0) => break,
                Ok(read) if writer.bytes() + read as u64 > bytes => return Err(changed()),
                Ok(read) => writer.write(&self.piece[..read]).map_err(|error| error.to_string())?,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        if writer.bytes() < bytes {
            return Err(changed());
        }
        let body = writer.finish().map_err(|error| error.to_string())?;
        let content_type = liteio_client::content_type(key.as_str()).map(str::to_owned);
        let headers = ContentHeaders { content_type, ..ContentHeaders::default() };
        let options = PutOptions {
            metadata: ObjectMetadata { headers, ..ObjectMetadata::default() },
            checksum: body.digests().checksum(algorithm).copied().map(ObjectChecksum::full_object),
            // Of two entries with the same name, the first is kept.
            conditions: WriteConditions {
                if_none_match: Some(EtagCondition::Any),
                ..WriteConditions::default()
            },
            owner: self.site.owner.clone(),
            ..PutOptions::default()
        };
        let name = format!("{}/{}", bucket.name, key.as_str());
        self.in_flight.push_back((name, store.put_object(bucket, key, body, options)));
        self.wait_until(IN_FLIGHT_MAX)
    }

    /// Waits for all writes in flight.
    pub(super) fn finish(&mut self) -> Result<(), String> {
        let mut result = Ok(());
        while !self.in_flight.is_empty() {
            result = result.and(self.wait_until(self.in_flight.len() - 1));
        }
        result
    }

    /// Waits until at most `left` writes are in flight.
    fn wait_until(&mut self, left: usize) -> Result<(), String> {
        while self.in_flight.len() > left {
            let Some((name, pending)) = self.in_flight.pop_front() else { break };
            match pending.wait() {
                Ok(_) => self.counts.put += 1,
                Err(StoreError::PreconditionFailed { .. }) => self.counts.present += 1,
                Err(error) => return Err(format!("{name:?}: {error}")),
            }
        }
        Ok(())
    }

    /// The bucket's default encryption.
    fn sealing(&self, bucket: &Bucket) -> Result<Option<Sealing>, String> {
        let Some(default) = &bucket.settings.default_encryption else { return Ok(None) };
        let store = &self.site.store;
        let encryption = default.encryption(store.keys());
        let encryption = encryption.map_err(|key| {
            format!("the key {key:?} that the bucket encrypts with is not configured")
        })?;
        store.seal_object(&encryption).map(Some).map_err(|error| error.to_string())
    }
}

fn changed() -> String {
    "it changed while it was read".to_owned()
}
