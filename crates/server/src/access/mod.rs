//! Access: the decision whether a request may do what it asks for, and the value that proves it.
//!
//! A request is a [`Principal`] who wants an [`Action`] on a resource, in a [`Context`]. [`decide`] holds
//! it against the [`Documents`] of the resource, and denies by default. It is a pure function: no HTTP,
//! no store, no clock.
//!
//! [`bucket`], [`vector_bucket`] and [`index`] resolve a name, once for a request, and decide. Their
//! result is a [`Granted`], which nothing else can make. The methods of the store take what it holds,
//! and not a name, so that a handler without one cannot call them, and so that no handler works on
//! another bucket that got the name meanwhile.
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
    Granted, GrantedAccount, Refusal, account, bucket, index, vector_bucket,
};
pub(crate) use self::principal::Principal;
