//! The quota of a bucket. Pure.

use serde::{Deserialize, Serialize};

/// A hard quota: writes that would grow the bucket beyond it are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// Most bytes of the bodies of all versions in the bucket, as [`Usage::bytes`](super::Usage::bytes)
    /// counts them.
    pub bytes: u64,
}

impl Quota {
    /// `true` if a bucket that has `before` bytes may have `after`. A change that does not grow the bucket is
    /// always allowed, so that a bucket whose quota was lowered can be tidied up.
    pub(crate) fn allows(self, before: u64, after: u64) -> bool {
        after <= before || after <= self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_may_be_as_full_as_its_quota_and_never_grow_beyond() {
        let quota = Quota { bytes: 100 };
        for (before, after, is_allowed) in [
            (0, 100, true),
            (0, 101, false),
            (99, 100, true),
            (100, 100, true),
            (100, 101, false),
            (150, 150, true),
            (150, 120, true),
            (150, 151, false),
        ] {
            assert_eq!(quota.allows(before, after), is_allowed, "{before} {after}");
        }
    }
}
