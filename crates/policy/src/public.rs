//! The definition of public, as in AWS's "Blocking public access to your Amazon S3 storage".
//!
//! A statement that allows is public unless it allows fixed principals only, or a condition
//! requires a fixed value (without wildcards and variables) of a key that identifies principals or
//! networks. Actions and resources do not matter.

use super::condition::Condition;
use super::key::ContextKey;
use super::principal::Principals;
use super::statement::{Effect, Statement};

/// `true` if the statement allows the public.
pub(super) fn is_public(statement: &Statement) -> bool {
    statement.effect == Effect::Allow
        && statement.principals.as_ref().is_some_and(Principals::are_everyone)
        && !statement.conditions.iter().any(restricts)
}

/// `true` if only requests of fixed principals or networks satisfy the condition.
fn restricts(condition: &Condition) -> bool {
    let is_whole = |(_, is_whole): (String, bool)| is_whole;
    let mut values = condition.fixed_parts();
    condition.is_positive()
        && match &condition.key {
            ContextKey::SourceIp | ContextKey::VpcSourceIp => match condition.address_ranges() {
                Some(ranges) => !ranges.iter().any(|range| range.is_wide()),
                None => false,
            },
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
            | ContextKey::S3KmsKeyId => values.all(is_whole),
            // A whole id, or all sessions of one role: `AROLEID:*`.
            ContextKey::UserId => values.all(|(part, is_whole)| is_whole || part.contains(':')),
            // A whole ARN, or all principals of one account.
            ContextKey::PrincipalArn | ContextKey::S3DataAccessPointArn => {
                values.all(|(part, is_whole)| {
                    is_whole
                        || part.split(':').nth(4).is_some_and(|it| !it.is_empty())
                            && part.split(':').count() > 5
                })
            }
            // A whole path, or everything in one organization.
            ContextKey::PrincipalOrgPaths
            | ContextKey::SourceOrgPaths
            | ContextKey::VpceOrgPaths => {
                values.all(|(part, is_whole)| is_whole || part.contains('/'))
            }
            _ => false,
        }
}
