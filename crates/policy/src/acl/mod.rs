//! Access control lists, object ownership and the public access block: values and rules of AWS, pure.
//!
//! An [`Acl`] is a list of [`Grant`]s. It counts only where the [`Ownership`] of the bucket says so
//! ([`Ownership::acls_count`]), and its grants to everybody only where the [`PublicAccessBlock`] does not
//! ignore them (`PublicGrants`). [`permission_for`] tells the permission that an action needs. The decision about
//! a request is made from these elsewhere.
//!
//! Source: [Access control list overview](https://docs.aws.amazon.com/AmazonS3/latest/userguide/acl-overview.html).

mod action;
mod canned;
mod grant;
mod header;
mod ownership;
mod public_access_block;
mod stored;
#[cfg(test)]
mod tests;

pub use self::action::{Granting, permission_for};
pub use self::canned::{CannedAcl, Party};
pub use self::grant::{Acl, Grant, Grantee, Group, Permission};
pub use self::header::{NamedGrantee, parse_grants};
pub use self::ownership::Ownership;
pub use self::public_access_block::PublicAccessBlock;
pub use self::stored::{decode, encode};
