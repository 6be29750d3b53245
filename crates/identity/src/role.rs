//! Roles: rights that are assumed for a limited time.

use std::sync::Arc;

use super::account::Account;
use super::user::{AttachedPolicy, check_name, unique_id};
use super::{IdentityError, fail};
use liteio_policy::Policy;

/// Default of the longest session of a role, in seconds (as AWS).
pub const SESSION_SECONDS_DEFAULT: u32 = 3600;
/// Maximum of the longest session of a role: 12 hours (as AWS).
pub const SESSION_SECONDS_MAX: u32 = 12 * 3600;

/// A role: the rights of its sessions, and the principals that may start one.
#[derive(Debug, Clone)]
pub struct Role {
    /// The name, unique in its account.
    pub name: String,
    /// `arn:aws:iam::ACCOUNT:role/PATH/NAME`.
    pub arn: String,
    /// The unique id, `AROA…`: a recreated role with the same name gets another one.
    pub unique_id: String,
    /// The account of the role.
    pub account: Arc<Account>,
    /// The trust policy: it allows principals to assume the role.
    pub trust: Arc<Policy>,
    /// The tags, which policies read as `aws:PrincipalTag/…` of its sessions.
    pub tags: Vec<(String, String)>,
    /// The policies that grant its rights.
    pub policies: Arc<[AttachedPolicy]>,
    /// Longest session, 3,600 to 43,200 s.
    pub session_seconds_max: u32,
}

impl Role {
    /// A role of an account at the path `/`. Its unique id is derived from its name.
    ///
    /// # Errors
    /// [`IdentityError`] if AWS does not permit the name or the length of sessions.
    pub(super) fn of_file(
        name: &str,
        account: Arc<Account>,
        trust: Policy,
        policies: Arc<[AttachedPolicy]>,
        session_seconds_max: Option<u64>,
    ) -> Result<Role, IdentityError> {
        check_name(name)?;
        let seconds = session_seconds_max.unwrap_or(SESSION_SECONDS_DEFAULT.into());
        let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
        if !(SESSION_SECONDS_DEFAULT..=SESSION_SECONDS_MAX).contains(&seconds) {
            return fail(format!(
                "max_session_seconds needs {SESSION_SECONDS_DEFAULT} to {SESSION_SECONDS_MAX}"
            ));
        }
        Ok(Role {
            name: name.to_owned(),
            arn: format!("arn:aws:iam::{}:role/{name}", account.id),
            unique_id: unique_id("AROA", &[&account.id, name]),
            account,
            trust: Arc::new(trust),
            tags: Vec::new(),
            policies,
            session_seconds_max: seconds,
        })
    }
}
