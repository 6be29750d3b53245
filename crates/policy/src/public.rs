//! The definition of public, as in AWS's "Blocking public access to your Amazon S3 storage".
//!
//! A statement that allows is public unless it allows fixed principals only, or a condition
//! requires a fixed value (without wildcards and variables) of a key that identifies principals or
//! networks. Actions and resources do not matter.

use super::condition::Condition;
use super::key::ContextKey;
use super::principal::Principals;
use super::request::ANONYMOUS;
use super::statement::{Effect, Statement};

/// `true` if the statement allows the public.
pub(super) fn is_public(statement: &Statement) -> bool {
    statement.effect == Effect::Allow
        && statement.principals.as_ref().is_some_and(Principals::are_everyone)
        && !statement.conditions.iter().any(restricts)
}

/// `true` if only requests of fixed principals or networks satisfy the condition. A condition that
/// is not known to restrict does not count.
fn restricts(condition: &Condition) -> bool {
    if !condition.is_positive() {
        return false;
    }
    if matches!(condition.key, ContextKey::SourceIp | ContextKey::VpcSourceIp) {
        return condition.address_ranges().is_some_and(|ranges| {
            !ranges.is_empty() && !ranges.iter().any(|range| range.is_wide())
        });
    }
    let is_fixed: fn(&str, bool) -> bool = match &condition.key {
        ContextKey::PrincipalOrgId
        | ContextKey::PrincipalAccount
        | ContextKey::PrincipalServiceName
        | ContextKey::SourceAccount
        | ContextKey::SourceArn
        | ContextKey::SourceOrgId
        | ContextKey::SourceOwner
        | ContextKey::SourceVpc
        | ContextKey::SourceVpcArn
        | ContextKey::SourceVpce
        | ContextKey::VpceAccount
        | ContextKey::VpceOrgId
        | ContextKey::S3DataAccessPointAccount
        | ContextKey::S3KmsKeyId => |_, is_whole| is_whole,
        // A whole id, or all sessions of one role: `AROLEID:*`.
        ContextKey::UserId => |part, is_whole| is_whole || part.contains(':'),
        // A whole ARN, or all principals of one account.
        ContextKey::PrincipalArn | ContextKey::S3DataAccessPointArn => |part, is_whole| {
            is_whole
                || part.split(':').nth(4).is_some_and(|it| !it.is_empty())
                    && part.split(':').count() > 5
        },
        // A whole path, or everything in one organization.
        ContextKey::PrincipalOrgPaths | ContextKey::SourceOrgPaths | ContextKey::VpceOrgPaths => {
            |part, is_whole| is_whole || part.contains('/')
        }
        _ => return false,
    };
    condition.fixed_parts().is_some_and(|parts| {
        // Senders without a signature have a value for some keys, too.
        let names_nobody = |part: &str| part.is_empty() || part.eq_ignore_ascii_case(ANONYMOUS);
        !parts.is_empty()
            && parts.iter().all(|(part, is_whole)| is_fixed(part, *is_whole) && !names_nobody(part))
    })
}
