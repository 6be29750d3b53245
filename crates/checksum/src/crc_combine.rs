//! Combines the CRCs of two byte ranges into the CRC of both.
//!
//! A CRC is the remainder of a polynomial over GF(2). Appending `n` bytes multiplies the polynomial
//! in front by x^8n, so the combined remainder is `first · x^8n mod P` XOR the second one. Initial
//! and final complement cancel out, since they are the same value in all CRCs of S3.
//!
//! An implementation of our own, because the library's takes 85 µs per part: 0.85 s for 10,000
//! parts, inside a transaction. Here, parts of equal length share the power of x, and one takes 0.1
//! µs.

use super::ChecksumAlgorithm;

/// Appends byte ranges to a CRC. Polynomials are bit-reversed, like the CRCs: the highest bit of
/// the width stands for x^0.
#[derive(Clone, Debug)]
pub(super) struct Appender {
    polynomial: u64,
    /// x^0: the neutral element of multiplication.
    one: u64,
    /// The last length n, and its x^8n.
    shift: (u64, u64),
}

impl Appender {
    /// An appender; `None` if `algorithm` is no CRC.
    pub(super) fn new(algorithm: ChecksumAlgorithm) -> Option<Self> {
        let (width, polynomial) = match algorithm {
            ChecksumAlgorithm::Crc32 => (32, 0xedb8_8320),
            ChecksumAlgorithm::Crc32c => (32, 0x82f6_3b78),
            ChecksumAlgorithm::Crc64Nvme => (64, 0x9a6c_9329_ac4b_c9b5),
            _ => return None,
        };
        let one = 1 << (width - 1);
        Some(Self { polynomial, one, shift: (0, one) })
    }

    /// The CRC of a range with the CRC `first`, followed by `bytes` bytes with the CRC `second`.
    pub(super) fn append(&mut self, first: u64, second: u64, bytes: u64) -> u64 {
        if self.shift.0 != bytes {
            self.shift = (bytes, self.power_of_x8(bytes));
        }
        self.multiply(self.shift.1, first) ^ second
    }

    /// x^8n mod P, by repeated squaring.
    fn power_of_x8(&self, mut exponent: u64) -> u64 {
        let mut power = self.one;
        // x^8: a right shift multiplies by x, and 8 is less than the width, so nothing needs
        // reduction.
        let mut square = self.one >> 8;
        while exponent > 0 {
            if exponent & 1 == 1 {
                power = self.multiply(power, square);
            }
            square = self.multiply(square, square);
            exponent >>= 1;
        }
        power
    }

    /// a · b mod P, by shift and add.
    fn multiply(&self, a: u64, mut b: u64) -> u64 {
        let mut product = 0;
        let mut bit = self.one;
        while bit > 0 {
            // Masks instead of branches, since the bits of a CRC are unpredictable.
            product ^= b & u64::from(a & bit != 0).wrapping_neg();
            // Multiply by x. A bit that leaves the width is reduced by P.
            b = (b >> 1) ^ (self.polynomial & (b & 1).wrapping_neg());
            bit >>= 1;
        }
        product
    }
}
