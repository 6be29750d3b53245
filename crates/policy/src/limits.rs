//! Limits of policies.

/// The longest policy of a bucket or vector bucket, in bytes.
pub const BUCKET_POLICY_BYTES_MAX: usize = 20_480;
/// The longest managed policy, in characters without white space.
pub const MANAGED_POLICY_CHARACTERS_MAX: usize = 6_144;
/// The longest inline policies of one user together, in characters without white space.
pub const USER_POLICY_CHARACTERS_MAX: usize = 2_048;
/// The longest inline policies of one group together, in characters without white space.
pub const GROUP_POLICY_CHARACTERS_MAX: usize = 5_120;
/// The longest inline policies of one role together, in characters without white space.
pub const ROLE_POLICY_CHARACTERS_MAX: usize = 10_240;
/// The longest trust policy of a role, in characters without white space.
pub const TRUST_POLICY_CHARACTERS_MAX: usize = 2_048;
/// The longest session policy, in characters.
pub const SESSION_POLICY_CHARACTERS_MAX: usize = 2_048;

/// The most characters between two `*` of a pattern if a `?` is among them: the time of a comparison
/// grows with them.
pub(super) const WILD_SEGMENT_CHARACTERS_MAX: usize = 256;

/// The number of characters of a policy, as IAM counts them for its limits: without white space.
pub fn characters(text: &str) -> usize {
    text.chars().filter(|character| !character.is_whitespace()).count()
}
