//! IAM and STS: users, their keys and what they may do, made at run time.
//!
//! A request is a form ([`form`]), an answer is XML ([`xml`]). [`operations`] has the table of IAM, [`sts`]
//! the operations of STS. What is made is kept in the key space ([`records`]), held in memory ([`state`]), and
//! becomes, with the users of the configuration ([`users`]), the directory that requests are authenticated
//! against. A change is durable before it is answered, and counts from the answer on.

mod call;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
mod exercise;
mod form;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod jwt;
mod limits;
pub mod minio;
mod operations;
mod permission;
mod records;
mod service;
pub mod settings;
mod state;
mod sts;
mod users;
mod web_identity;
mod xml;

pub use self::error::{for_sts, refusal};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use self::exercise::exercise;
pub use self::operations::operation_names;
pub use self::permission::{Circumstances, check, is_within_session};
pub use self::service::{Api, Iam, is_web_identity};
pub use self::users::{ConfiguredUsers, Users, Watch, other_owner_of_all, reseal_secrets};
