//! Access control: the decision about a request, and the value that proves it.
//!
//! A request is a [`Principal`] that asks for an [`Action`] on a resource, in a [`Context`]. [`decide`]
//! evaluates it against the [`Documents`] of the resource, and denies by default. It is a pure function: no
//! HTTP, no store, no clock.
//!
//! [`bucket`], [`vector_bucket`] and [`index`] resolve a name, once for a request, and decide. Their
//! result is a [`Granted`], which nothing else can make (a capability). The methods of the store take the
//! bucket in it and not a name, so a handler without one cannot call them, and a bucket that gets the name
//! meanwhile is never used by mistake (time of check to time of use).
//!
//! Until there are policies, a bucket and everything in it belongs to its owner alone, and users
//! create and list buckets of their own.

mod action;
mod decision;
mod granted;
mod principal;

pub(crate) use self::action::Action;
pub(crate) use self::decision::{Context, Denial};
pub(crate) use self::granted::{
    Granted, GrantedAccount, Refusal, account, bucket, bucket_for_rules, index, vector_bucket,
};
pub(crate) use self::principal::Principal;
