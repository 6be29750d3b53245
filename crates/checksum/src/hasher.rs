//! The hasher of each algorithm.

use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};
use twox_hash::{XxHash3_64, XxHash3_128, XxHash64};

use super::{ChecksumAlgorithm, ChecksumValue, Md5};

/// Computes one checksum over a stream of bytes.
#[derive(Clone)]
pub(super) enum ChecksumHasher {
    // Boxed: their tables and buffers make them several times as large as the others.
    Crc(ChecksumAlgorithm, Box<crc_fast::Digest>),
    Xxhash64(Box<XxHash64>),
    Xxhash3(Box<XxHash3_64>),
    Xxhash128(Box<XxHash3_128>),
    Sha512(Box<Sha512>),
    Md5(Box<Md5>),
    Sha1(Sha1),
    Sha256(Sha256),
}

impl ChecksumHasher {
    pub(super) fn new(algorithm: ChecksumAlgorithm) -> Self {
        let crc = |crc| Self::Crc(algorithm, Box::new(crc_fast::Digest::new(crc)));
        match algorithm {
            ChecksumAlgorithm::Crc32 => crc(crc_fast::CrcAlgorithm::Crc32IsoHdlc),
            ChecksumAlgorithm::Crc32c => crc(crc_fast::CrcAlgorithm::Crc32Iscsi),
            ChecksumAlgorithm::Crc64Nvme => crc(crc_fast::CrcAlgorithm::Crc64Nvme),
            ChecksumAlgorithm::Sha1 => Self::Sha1(Sha1::new()),
            ChecksumAlgorithm::Sha256 => Self::Sha256(Sha256::new()),
            ChecksumAlgorithm::Md5 => Self::Md5(Box::default()),
            ChecksumAlgorithm::Sha512 => Self::Sha512(Box::new(Sha512::new())),
            ChecksumAlgorithm::Xxhash64 => Self::Xxhash64(Box::new(XxHash64::with_seed(0))),
            ChecksumAlgorithm::Xxhash3 => Self::Xxhash3(Box::new(XxHash3_64::new())),
            ChecksumAlgorithm::Xxhash128 => Self::Xxhash128(Box::new(XxHash3_128::new())),
        }
    }

    pub(super) fn algorithm(&self) -> ChecksumAlgorithm {
        match self {
            Self::Crc(algorithm, _) => *algorithm,
            Self::Xxhash64(_) => ChecksumAlgorithm::Xxhash64,
            Self::Xxhash3(_) => ChecksumAlgorithm::Xxhash3,
            Self::Xxhash128(_) => ChecksumAlgorithm::Xxhash128,
            Self::Sha512(_) => ChecksumAlgorithm::Sha512,
            Self::Md5(_) => ChecksumAlgorithm::Md5,
            Self::Sha1(_) => ChecksumAlgorithm::Sha1,
            Self::Sha256(_) => ChecksumAlgorithm::Sha256,
        }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        use std::hash::Hasher as _;
        match self {
            Self::Crc(_, digest) => digest.update(bytes),
            Self::Xxhash64(digest) => digest.write(bytes),
            Self::Xxhash3(digest) => digest.write(bytes),
            Self::Xxhash128(digest) => digest.write(bytes),
            Self::Sha512(digest) => digest.update(bytes),
            Self::Md5(digest) => digest.update(bytes),
            Self::Sha1(digest) => digest.update(bytes),
            Self::Sha256(digest) => digest.update(bytes),
        }
    }

    pub(super) fn finish(self) -> ChecksumValue {
        use std::hash::Hasher as _;
        let algorithm = self.algorithm();
        let of_number = |number| ChecksumValue::from_number(algorithm, number);
        let of_bytes = |bytes: &[u8]| ChecksumValue::of(algorithm, bytes);
        match self {
            Self::Crc(_, digest) => of_number(digest.finalize().into()),
            Self::Xxhash64(digest) => of_number(digest.finish().into()),
            Self::Xxhash3(digest) => of_number(digest.finish().into()),
            Self::Xxhash128(digest) => of_number(digest.finish_128()),
            Self::Sha512(digest) => of_bytes(&digest.finalize()),
            Self::Md5(digest) => of_bytes(&digest.finish()),
            Self::Sha1(digest) => of_bytes(&digest.finalize()),
            Self::Sha256(digest) => of_bytes(&digest.finalize()),
        }
    }
}

impl std::fmt::Debug for ChecksumHasher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("ChecksumHasher").field(&self.algorithm()).finish()
    }
}
