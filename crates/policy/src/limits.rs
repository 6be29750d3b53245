//! Limits of policies.

/// Maximum bytes of the policy of a bucket or vector bucket.
pub const BUCKET_POLICY_BYTES_MAX: usize = 20_480;
/// Maximum characters of a managed policy, without white space.
pub const MANAGED_POLICY_CHARACTERS_MAX: usize = 6_144;
/// Maximum characters of all inline policies of a user, without white space.
pub const USER_POLICY_CHARACTERS_MAX: usize = 2_048;
/// Maximum characters of all inline policies of a group, without white space.
pub const GROUP_POLICY_CHARACTERS_MAX: usize = 5_120;
/// Maximum characters of all inline policies of a role, without white space.
pub const ROLE_POLICY_CHARACTERS_MAX: usize = 10_240;
/// Maximum characters of the trust policy of a role, without white space.
pub const TRUST_POLICY_CHARACTERS_MAX: usize = 2_048;
/// Maximum characters of a session policy.
pub const SESSION_POLICY_CHARACTERS_MAX: usize = 2_048;

/// Maximum characters between two `*` of a pattern if a `?` is among them: the time of a match is
/// proportional to it.
pub(super) const WILD_SEGMENT_CHARACTERS_MAX: usize = 256;

/// The length of a policy as IAM counts it: characters without white space.
pub fn characters(text: &str) -> usize {
    text.chars().filter(|character| !character.is_whitespace()).count()
}
