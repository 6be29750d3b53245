//! Checksums of bodies: the five algorithms of S3, and MD5 for the ETag.

mod crc_combine;
mod md5;

pub(crate) use md5::Md5;
use serde::{Deserialize, Serialize};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// An algorithm for additional checksums, as `x-amz-checksum-algorithm` names them.
// The order is part of the record format: add at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ChecksumAlgorithm {
    /// CRC-32/ISO-HDLC, the one of zip and gzip.
    Crc32,
    /// CRC-32/ISCSI, Castagnoli.
    Crc32c,
    /// CRC-64/NVME.
    Crc64Nvme,
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
}

impl ChecksumAlgorithm {
    /// Every algorithm.
    pub const ALL: [Self; 5] =
        [Self::Crc32, Self::Crc32c, Self::Crc64Nvme, Self::Sha1, Self::Sha256];

    /// Length of a value, in bytes.
    #[must_use]
    pub fn value_bytes(self) -> usize {
        match self {
            Self::Crc32 | Self::Crc32c => 4,
            Self::Crc64Nvme => 8,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// The type of a multipart object's checksum when the client does not choose.
    #[must_use]
    pub fn default_type(self) -> ChecksumType {
        match self {
            Self::Crc64Nvme => ChecksumType::FullObject,
            Self::Crc32 | Self::Crc32c | Self::Sha1 | Self::Sha256 => ChecksumType::Composite,
        }
    }

    /// `true` when a multipart object can have a checksum of this type: the SHAs cannot be combined from
    /// those of the parts, and S3 knows no composite CRC-64.
    #[must_use]
    pub fn supports(self, kind: ChecksumType) -> bool {
        match self {
            Self::Crc32 | Self::Crc32c => true,
            Self::Crc64Nvme => kind == ChecksumType::FullObject,
            Self::Sha1 | Self::Sha256 => kind == ChecksumType::Composite,
        }
    }

    fn crc(self) -> Option<crc_fast::CrcAlgorithm> {
        match self {
            Self::Crc32 => Some(crc_fast::CrcAlgorithm::Crc32IsoHdlc),
            Self::Crc32c => Some(crc_fast::CrcAlgorithm::Crc32Iscsi),
            Self::Crc64Nvme => Some(crc_fast::CrcAlgorithm::Crc64Nvme),
            Self::Sha1 | Self::Sha256 => None,
        }
    }
}

/// The type of the checksum of a multipart object: over its bytes, or over the checksums of its parts.
// The order is part of the record format: add at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ChecksumType {
    /// All bytes of the object.
    FullObject,
    /// The checksums of its parts, one after the other.
    Composite,
}

/// The value of a checksum.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(ChecksumAlgorithm, Vec<u8>)", into = "(ChecksumAlgorithm, Vec<u8>)")]
pub struct ChecksumValue {
    /// Its algorithm.
    pub algorithm: ChecksumAlgorithm,
    /// As many as the algorithm has, then zeros.
    bytes: [u8; 32],
}

impl ChecksumValue {
    /// The value `bytes` (the number big-endian, for a CRC); `None` when the length does not fit.
    #[must_use]
    pub fn new(algorithm: ChecksumAlgorithm, bytes: &[u8]) -> Option<Self> {
        if bytes.len() != algorithm.value_bytes() {
            return None;
        }
        let mut padded = [0; 32];
        padded[..bytes.len()].copy_from_slice(bytes);
        Some(Self { algorithm, bytes: padded })
    }

    /// The raw value, whose base64 is what a client sees.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.algorithm.value_bytes()]
    }

    /// `number` as the value of a CRC.
    fn from_crc(algorithm: ChecksumAlgorithm, number: u64) -> Self {
        let number = number.to_be_bytes();
        let length = algorithm.value_bytes();
        let mut bytes = [0; 32];
        bytes[..length].copy_from_slice(&number[number.len() - length..]);
        Self { algorithm, bytes }
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

/// The checksum of an object, as it is stored and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectChecksum {
    /// The value.
    pub value: ChecksumValue,
    /// Its type.
    pub kind: ChecksumType,
    /// Number of parts of a composite checksum, which is shown as `base64-parts`.
    pub parts: Option<u32>,
}

impl ObjectChecksum {
    /// The checksum over all bytes of an object.
    #[must_use]
    pub fn full_object(value: ChecksumValue) -> Self {
        Self { value, kind: ChecksumType::FullObject, parts: None }
    }

    /// The composite checksum of the parts with these values; `None` when there are none, or when they
    /// are not all of one algorithm.
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

/// The CRC of a whole object from those of its parts, without its bytes.
#[derive(Clone, Debug)]
pub struct CrcCombiner {
    algorithm: ChecksumAlgorithm,
    appender: crc_combine::Appender,
    combined: u64,
}

impl CrcCombiner {
    /// Starts with no bytes; `None` when `algorithm` is not a CRC.
    #[must_use]
    pub fn new(algorithm: ChecksumAlgorithm) -> Option<Self> {
        // The CRC of nothing is zero for all three.
        Some(Self { algorithm, appender: crc_combine::Appender::new(algorithm)?, combined: 0 })
    }

    /// Adds the next part, of `bytes` bytes. Returns `false`, and adds nothing, when its checksum is of
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
        ChecksumValue::from_crc(self.algorithm, self.combined)
    }
}

/// The digests of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digests {
    /// MD5 of the body.
    pub md5: [u8; 16],
    /// The checksums that were asked for, in the same order.
    pub checksums: Vec<ChecksumValue>,
    /// Length of the body.
    pub bytes: u64,
}

impl Digests {
    /// The checksum by `algorithm`, if it was asked for.
    #[must_use]
    pub fn checksum(&self, algorithm: ChecksumAlgorithm) -> Option<&ChecksumValue> {
        self.checksums.iter().find(|value| value.algorithm == algorithm)
    }
}

/// Computes [`Digests`] while a body streams by.
#[derive(Clone, Debug)]
pub struct DigestSet {
    md5: Md5,
    checksums: ChecksumSet,
}

impl DigestSet {
    /// MD5 and `algorithms`, each once.
    #[must_use]
    pub fn new(algorithms: &[ChecksumAlgorithm]) -> Self {
        Self { md5: Md5::new(), checksums: ChecksumSet::new(algorithms) }
    }

    /// Takes the next bytes of the body.
    pub fn update(&mut self, bytes: &[u8]) {
        self.md5.update(bytes);
        self.checksums.update(bytes);
    }

    /// Bytes taken so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.checksums.bytes
    }

    /// The digests of everything taken.
    #[must_use]
    pub fn finish(self) -> Digests {
        let bytes = self.checksums.bytes;
        Digests { md5: self.md5.finish(), checksums: self.checksums.finish(), bytes }
    }
}

/// Computes checksums while a body streams by, without MD5, which costs more than all CRCs together.
#[derive(Clone, Debug)]
pub struct ChecksumSet {
    hashers: Vec<ChecksumHasher>,
    bytes: u64,
}

impl ChecksumSet {
    /// `algorithms`, each once.
    #[must_use]
    pub fn new(algorithms: &[ChecksumAlgorithm]) -> Self {
        let is_first = |(position, algorithm): &(usize, &ChecksumAlgorithm)| {
            !algorithms[..*position].contains(algorithm)
        };
        let once = algorithms.iter().enumerate().filter(is_first);
        let hashers = once.map(|(_, algorithm)| ChecksumHasher::new(*algorithm)).collect();
        Self { hashers, bytes: 0 }
    }

    /// Takes the next bytes of the body.
    pub fn update(&mut self, bytes: &[u8]) {
        self.hashers.iter_mut().for_each(|hasher| hasher.update(bytes));
        self.bytes += bytes.len() as u64;
    }

    /// The checksums of everything taken, in the order they were asked for.
    #[must_use]
    pub fn finish(self) -> Vec<ChecksumValue> {
        self.hashers.into_iter().map(ChecksumHasher::finish).collect()
    }
}

#[derive(Clone, Debug)]
enum ChecksumHasher {
    /// Boxed: its constants make it several times as large as the others.
    Crc(ChecksumAlgorithm, Box<crc_fast::Digest>),
    Sha1(Sha1),
    Sha256(Sha256),
}

impl ChecksumHasher {
    fn new(algorithm: ChecksumAlgorithm) -> Self {
        match (algorithm.crc(), algorithm) {
            (Some(crc), _) => Self::Crc(algorithm, Box::new(crc_fast::Digest::new(crc))),
            (None, ChecksumAlgorithm::Sha1) => Self::Sha1(Sha1::new()),
            (None, _) => Self::Sha256(Sha256::new()),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Crc(_, digest) => digest.update(bytes),
            Self::Sha1(digest) => digest.update(bytes),
            Self::Sha256(digest) => digest.update(bytes),
        }
    }

    fn finish(self) -> ChecksumValue {
        let (algorithm, value) = match self {
            Self::Crc(algorithm, digest) => {
                return ChecksumValue::from_crc(algorithm, digest.finalize());
            }
            Self::Sha1(digest) => (ChecksumAlgorithm::Sha1, digest.finalize().to_vec()),
            Self::Sha256(digest) => (ChecksumAlgorithm::Sha256, digest.finalize().to_vec()),
        };
        let mut bytes = [0; 32];
        bytes[..value.len()].copy_from_slice(&value);
        ChecksumValue { algorithm, bytes }
    }
}

#[cfg(test)]
mod tests;
