//! Maximum numbers of records in an account, with AWS's default quotas.

/// Users of an account.
pub(super) const USERS_MAX: usize = 5000;
/// Groups of an account.
pub(super) const GROUPS_MAX: usize = 300;
/// Groups of a user.
pub(super) const GROUPS_OF_USER_MAX: usize = 10;
/// Managed policies of an account.
pub(super) const POLICIES_MAX: usize = 1500;
/// Versions of a policy.
pub(super) const POLICY_VERSIONS_MAX: usize = 5;
/// Managed policies of a user, a group or a role.
pub(super) const POLICIES_OF_ONE_MAX: usize = 20;
/// Service accounts of a user. MinIO has no such limit, and AWS has no service accounts.
pub(super) const SERVICE_KEYS_OF_USER_MAX: usize = 100;
/// Targets of replication of an account.
pub(super) const REMOTES_MAX: usize = 1000;
