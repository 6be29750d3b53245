//! Checksums of bodies: the ten algorithms of S3, and MD5 for the ETag.

mod combiner;
mod crc_combine;
mod hasher;
mod joined;
mod md5;
mod sha256;

use bytes::Bytes;
use combiner::Combiner;
use hasher::ChecksumHasher;
use joined::Joined;
pub use md5::Md5;
use serde::{Deserialize, Serialize};

/// An algorithm of additional checksums, as in `x-amz-checksum-algorithm`.
// The order is part of the record format: add at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ChecksumAlgorithm {
    /// CRC-32/ISO-HDLC, as in zip and gzip.
    Crc32,
    /// CRC-32/ISCSI, Castagnoli.
    Crc32c,
    /// CRC-64/NVME.
    Crc64Nvme,
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// MD5 as an additional checksum, not `Content-MD5`: it is stored and returned like the others.
    Md5,
    /// SHA-512.
    Sha512,
    /// XXH64 with the seed 0.
    Xxhash64,
    /// XXH3 with 64 bits, with the seed 0.
    Xxhash3,
    /// XXH3 with 128 bits, with the seed 0.
    Xxhash128,
}

impl ChecksumAlgorithm {
    /// Every algorithm.
    pub const ALL: [Self; 10] = [
        Self::Crc32,
        Self::Crc32c,
        Self::Crc64Nvme,
        Self::Sha1,
        Self::Sha256,
        Self::Md5,
        Self::Sha512,
        Self::Xxhash64,
        Self::Xxhash3,
        Self::Xxhash128,
    ];

    /// Length of a value in bytes.
    #[must_use]
    pub fn value_bytes(self) -> usize {
        match self {
            Self::Crc32 | Self::Crc32c => 4,
            Self::Crc64Nvme | Self::Xxhash64 | Self::Xxhash3 => 8,
            Self::Md5 | Self::Xxhash128 => 16,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => VALUE_BYTES_MAX,
        }
    }

    /// The type of a multipart object's checksum if the client does not choose one.
    #[must_use]
    pub fn default_type(self) -> ChecksumType {
        match self {
            Self::Crc64Nvme => ChecksumType::FullObject,
            _ => ChecksumType::Composite,
        }
    }

    /// `true` if a multipart object can have a checksum of this type. Only CRCs can be combined
    /// from the parts' values, and S3 has no composite CRC-64.
    #[must_use]
    pub fn supports(self, kind: ChecksumType) -> bool {
        match self {
            Self::Crc32 | Self::Crc32c => true,
            Self::Crc64Nvme => kind == ChecksumType::FullObject,
            _ => kind == ChecksumType::Composite,
        }
    }
}

/// Length of the longest value, SHA-512's.
const VALUE_BYTES_MAX: usize = 64;

/// The type of a multipart object's checksum: over its bytes, or over the checksums of its parts.
// The order is part of the record format: add at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ChecksumType {
    /// All bytes of the object.
    FullObject,
    /// The concatenated checksums of its parts.
    Composite,
}

/// The value of a checksum.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(ChecksumAlgorithm, Vec<u8>)", into = "(ChecksumAlgorithm, Vec<u8>)")]
pub struct ChecksumValue {
    /// The algorithm.
    pub algorithm: ChecksumAlgorithm,
    /// The value in the algorithm's length, then zeros.
    bytes: [u8; VALUE_BYTES_MAX],
}

impl ChecksumValue {
    /// The value `bytes`; `None` if the length does not match. CRCs and XXHs are numbers,
    /// big-endian here as on the wire. AWS's SDKs send XXHs like that (`aws_xxhash_finalize` in
    /// aws-checksums, called by botocore: "written out in big-endian, i.e. network order"), which
    /// is the canonical form of the xxHash specification.
    #[must_use]
    pub fn new(algorithm: ChecksumAlgorithm, bytes: &[u8]) -> Option<Self> {
        if bytes.len() != algorithm.value_bytes() {
            return None;
        }
        let mut padded = [0; VALUE_BYTES_MAX];
        padded[..bytes.len()].copy_from_slice(bytes);
        Some(Self { algorithm, bytes: padded })
    }

    /// The raw value. Clients see its base64.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.algorithm.value_bytes()]
    }

    /// The value of `number`, which must fit, for an algorithm whose values are numbers.
    fn from_number(algorithm: ChecksumAlgorithm, number: u128) -> Self {
        let number = number.to_be_bytes();
        Self::of(algorithm, &number[number.len() - algorithm.value_bytes()..])
    }

    /// The value `value`, which must have the algorithm's length.
    fn of(algorithm: ChecksumAlgorithm, value: &[u8]) -> Self {
        Self::new(algorithm, value).expect("the hasher of an algorithm gives values of its length")
    }

    fn to_number(self) -> u64 {
        self.bytes().iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

impl std::fmt::Debug for ChecksumValue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?}:", self.algorithm)?;
        self.bytes().iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl From<ChecksumValue> for (ChecksumAlgorithm, Vec<u8>) {
    fn from(value: ChecksumValue) -> Self {
        (value.algorithm, value.bytes().to_vec())
    }
}

impl TryFrom<(ChecksumAlgorithm, Vec<u8>)> for ChecksumValue {
    type Error = &'static str;

    fn try_from((algorithm, bytes): (ChecksumAlgorithm, Vec<u8>)) -> Result<Self, Self::Error> {
        Self::new(algorithm, &bytes).ok_or("a checksum of the wrong length")
    }
}

/// The checksum of an object, as stored and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectChecksum {
    /// The value.
    pub value: ChecksumValue,
    /// The type.
    pub kind: ChecksumType,
    /// Number of parts of a composite checksum, shown as `base64-parts`.
    pub parts: Option<u32>,
}

impl ObjectChecksum {
    /// The checksum over all bytes of an object.
    #[must_use]
    pub fn full_object(value: ChecksumValue) -> Self {
        Self { value, kind: ChecksumType::FullObject, parts: None }
    }

    /// The composite checksum of parts with these values; `None` if there are none, or they have
    /// different algorithms.
    #[must_use]
    pub fn composite<'a>(parts: impl IntoIterator<Item = &'a ChecksumValue>) -> Option<Self> {
        let mut parts = parts.into_iter().peekable();
        let algorithm = parts.peek()?.algorithm;
        let mut hasher = ChecksumHasher::new(algorithm);
        let mut count = 0;
        for part in parts {
            if part.algorithm != algorithm {
                return None;
            }
            hasher.update(part.bytes());
            count += 1;
        }
        let kind = ChecksumType::Composite;
        Some(Self { value: hasher.finish(), kind, parts: Some(count) })
    }
}

/// Combines the CRCs of parts into the CRC of the whole object, without its bytes.
#[derive(Clone, Debug)]
pub struct CrcCombiner {
    algorithm: ChecksumAlgorithm,
    appender: crc_combine::Appender,
    combined: u64,
}

impl CrcCombiner {
    /// Starts with no bytes; `None` if `algorithm` is no CRC.
    #[must_use]
    pub fn new(algorithm: ChecksumAlgorithm) -> Option<Self> {
        // The CRC of no bytes is zero for all three.
        Some(Self { algorithm, appender: crc_combine::Appender::new(algorithm)?, combined: 0 })
    }

    /// Appends a part of `bytes` bytes. Returns `false`, and appends nothing, if its checksum has
    /// another algorithm.
    #[must_use]
    pub fn add(&mut self, part: &ChecksumValue, bytes: u64) -> bool {
        if part.algorithm != self.algorithm {
            return false;
        }
        self.combined = self.appender.append(self.combined, part.to_number(), bytes);
        true
    }

    /// The CRC of all parts.
    #[must_use]
    pub fn finish(&self) -> ChecksumValue {
        ChecksumValue::from_number(self.algorithm, self.combined.into())
    }
}

/// The digests of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digests {
    /// MD5 of the body.
    pub md5: [u8; 16],
    /// The requested checksums, in the same order.
    pub checksums: Vec<ChecksumValue>,
    /// Length of the body.
    pub bytes: u64,
}

impl Digests {
    /// The checksum by `algorithm`, if it was requested.
    #[must_use]
    pub fn checksum(&self, algorithm: ChecksumAlgorithm) -> Option<&ChecksumValue> {
        self.checksums.iter().find(|value| value.algorithm == algorithm)
    }
}

/// Computes [`Digests`] over a stream of bytes.
#[derive(Clone, Debug)]
pub struct DigestSet {
    /// MD5, and SHA-256 if it is requested.
    joined: Joined,
    /// The positions of MD5 and SHA-256 among the requested checksums, if any. They are not computed twice.
    md5_place: Option<usize>,
    sha256_place: Option<usize>,
    checksums: ChecksumSet,
}

impl DigestSet {
    /// Computes MD5 and each of `algorithms` once.
    #[must_use]
    pub fn new(algorithms: &[ChecksumAlgorithm]) -> Self {
        let mut checksums = ChecksumSet::new(algorithms);
        // The one that is taken last is put back first.
        let md5_place = checksums.take(ChecksumAlgorithm::Md5);
        let sha256_place = checksums.take(ChecksumAlgorithm::Sha256);
        Self { joined: Joined::new(sha256_place.is_some()), md5_place, sha256_place, checksums }
    }

    /// Digests the next bytes of the body.
    pub fn update(&mut self, bytes: &[u8]) {
        self.joined.update(bytes);
        self.checksums.update(bytes);
    }

    /// Digests the next bytes of the body, in these pieces: MD5 together with other bodies that are
    /// digested at the same time, which saves most of its time. May wait for their thread.
    pub fn update_together(&mut self, pieces: &[Bytes]) {
        pieces.iter().for_each(|piece| self.checksums.update(piece));
        Combiner::shared().update(&mut self.joined, pieces);
    }

    /// The same for a task, which does not hold its thread while another one digests.
    pub async fn update_in_task(&mut self, pieces: &[Bytes]) {
        pieces.iter().for_each(|piece| self.checksums.update(piece));
        Combiner::shared().update_in_task(&mut self.joined, pieces).await;
    }

    /// Number of bytes digested so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.checksums.bytes
    }

    /// The digests of all bytes.
    #[must_use]
    pub fn finish(self) -> Digests {
        let bytes = self.checksums.bytes;
        let (md5, sha256) = self.joined.finish();
        let mut checksums = self.checksums.finish();
        if let (Some(place), Some(sha256)) = (self.sha256_place, sha256) {
            checksums.insert(place, ChecksumValue::of(ChecksumAlgorithm::Sha256, &sha256));
        }
        if let Some(place) = self.md5_place {
            checksums.insert(place, ChecksumValue::of(ChecksumAlgorithm::Md5, &md5));
        }
        Digests { md5, checksums, bytes }
    }
}

/// Computes checksums over a stream of bytes, without MD5, which costs more than all CRCs together.
#[derive(Clone, Debug)]
pub struct ChecksumSet {
    hashers: Vec<ChecksumHasher>,
    bytes: u64,
}

impl ChecksumSet {
    /// Computes each of `algorithms` once.
    #[must_use]
    pub fn new(algorithms: &[ChecksumAlgorithm]) -> Self {
        let is_first = |(position, algorithm): &(usize, &ChecksumAlgorithm)| {
            !algorithms[..*position].contains(algorithm)
        };
        let once = algorithms.iter().enumerate().filter(is_first);
        let hashers = once.map(|(_, algorithm)| ChecksumHasher::new(*algorithm)).collect();
        Self { hashers, bytes: 0 }
    }

    /// Digests the next bytes of the body.
    pub fn update(&mut self, bytes: &[u8]) {
        self.hashers.iter_mut().for_each(|hasher| hasher.update(bytes));
        self.bytes += bytes.len() as u64;
    }

    /// Removes an algorithm from the set, and returns its position.
    fn take(&mut self, algorithm: ChecksumAlgorithm) -> Option<usize> {
        let place = self.hashers.iter().position(|hasher| hasher.algorithm() == algorithm)?;
        self.hashers.remove(place);
        Some(place)
    }

    /// The checksums of all bytes, in the requested order.
    #[must_use]
    pub fn finish(self) -> Vec<ChecksumValue> {
        self.hashers.into_iter().map(ChecksumHasher::finish).collect()
    }
}

#[cfg(test)]
mod tests;
