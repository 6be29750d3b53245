//! Access control: the decision about a request, and the value that proves it.
//!
//! A request is a [`Principal`] that asks for an [`Action`] on a resource, in a context. The decision about it
//! ([`decision`]) is a pure function of the request and the documents of the resource, in AWS's order, and
//! denies by default: no HTTP, no store, no clock.
//!
//! [`bucket`] and [`VectorBuckets`] resolve a name, once for a request, and decide. Their
//! result is a [`Granted`], which nothing else can make (a capability). The methods of the store take the
//! bucket in it and not a name, so a handler without one cannot call them, and a bucket that gets the name
//! meanwhile is never used by mistake (time of check to time of use). A decision that looked at an object
//! says so: [`Granted::holds_for`] tells a reader whether it is still about the object that it got.

mod action;
pub mod circumstances;
mod decision;
mod documents;
mod granted;
pub mod offload;
mod principal;
mod resource;
pub mod state;
mod vectors;

pub use self::action::Action;
pub use self::documents::{object_ownership, policy_of, public_access_block};
pub use self::granted::{
    Granted, GrantedAccount, Question, Refusal, account, bucket, bucket_for_rules,
};
pub use self::principal::Principal;
pub use self::vectors::{Named, VectorBuckets, VectorQuestion};
