//! Permission as a value, and the only places that resolve a name.

use std::sync::Arc;

use liteio_store::vectors::{Index, VectorBucket, VectorName};
use liteio_store::{Bucket, BucketName, NameError, Owner, Store, StoreError};

use super::action::Action;
use super::decision::{Context, Denial, Documents, Request, decide};
use super::principal::{Principal, owner};
use crate::identity::User;

/// Permission for a request to work on one bucket, vector bucket or index. Only this module makes
/// one.
#[derive(Clone, Debug)]
pub(crate) struct Granted<T = Arc<Bucket>> {
    target: T,
    principal: Principal,
}

/// Permission for an action on no resource: creating a bucket, listing one's own.
#[derive(Clone, Debug)]
pub(crate) struct GrantedAccount {
    user: Arc<User>,
}

/// A request that is not granted.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Access is denied.
    Denied(Denial),
    /// The resource does not exist, or cannot be read.
    Store(StoreError),
}

impl From<Denial> for Refusal {
    fn from(denial: Denial) -> Refusal {
        Refusal::Denied(denial)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        Refusal::Store(error)
    }
}

impl From<NameError> for Refusal {
    fn from(error: NameError) -> Refusal {
        Refusal::Store(error.into())
    }
}

/// Decides about `action` on the account.
pub(crate) fn account(
    principal: &Principal,
    action: Action,
    context: Context<'_>,
) -> Result<GrantedAccount, Refusal> {
    decide_logged(None, principal, action, context)?;
    match principal {
        Principal::User(user) => Ok(GrantedAccount { user: Arc::clone(user) }),
        Principal::Anonymous => Err(Denial::Denied.into()),
    }
}

/// Resolves the bucket `name`, and decides about `action` on it.
pub(crate) fn bucket(
    store: &Store,
    principal: &Principal,
    action: Action,
    name: &str,
    context: Context<'_>,
) -> Result<Granted, Refusal> {
    Request { principal_id: principal.id(), action, context }.check()?;
    let bucket = store.bucket(&BucketName::try_from(name)?)?;
    decide_logged(Some(&bucket.owner), principal, action, context)?;
    Ok(Granted { target: bucket, principal: principal.clone() })
}

/// The bucket `name`, for what its rules say to everybody: those of CORS.
pub(crate) fn bucket_for_rules(store: &Store, name: &str) -> Result<Arc<Bucket>, Refusal> {
    Ok(store.bucket(&BucketName::try_from(name)?)?)
}

/// Resolves the vector bucket `name`, and decides about `action` on it.
pub(crate) fn vector_bucket(
    store: &Store,
    principal: &Principal,
    action: Action,
    name: &VectorName,
) -> Result<Granted<VectorBucket>, Refusal> {
    let bucket = store.vector_bucket(name)?;
    decide_logged(Some(&bucket.owner), principal, action, Context::default())?;
    Ok(Granted { target: bucket, principal: principal.clone() })
}

/// Resolves the index `name` of a vector bucket, and decides about `action` on it.
pub(crate) fn index(
    store: &Store,
    principal: &Principal,
    action: Action,
    bucket: &VectorName,
    name: &VectorName,
) -> Result<Granted<Index>, Refusal> {
    let Granted { target: bucket, principal } = vector_bucket(store, principal, action, bucket)?;
    Ok(Granted { target: store.index(&bucket, name)?, principal })
}

fn decide_logged(
    owner: Option<&Owner>,
    principal: &Principal,
    action: Action,
    context: Context<'_>,
) -> Result<(), Denial> {
    let documents = owner.map(|owner| Documents { owner_id: &owner.id });
    let principal_id = principal.id();
    decide(documents, &Request { principal_id, action, context }).inspect_err(|denial| {
        tracing::debug!(action = action.name(), principal = principal_id, ?denial, "refused");
    })
}

impl<T> Granted<T> {
    /// The resource that the permission is for.
    pub(crate) fn target(&self) -> &T {
        &self.target
    }
}

impl Granted {
    /// The bucket.
    pub(crate) fn bucket(&self) -> &Arc<Bucket> {
        &self.target
    }

    /// The canonical id of the sender; none of an anonymous one.
    pub(crate) fn principal_id(&self) -> Option<&str> {
        self.principal.id()
    }

    /// The name of the sender; none of an anonymous one.
    pub(crate) fn user_name(&self) -> Option<&str> {
        self.principal.user_name()
    }

    /// The owner of what the request creates in the bucket.
    pub(crate) fn owner(&self) -> Owner {
        self.principal.owner().unwrap_or_else(|| self.target.owner.clone())
    }

    /// Resolves another bucket, the source of a copy, and decides about `action` on it for the same
    /// sender.
    pub(crate) fn other_bucket(
        &self,
        store: &Store,
        action: Action,
        name: &str,
        context: Context<'_>,
    ) -> Result<Granted, Refusal> {
        bucket(store, &self.principal, action, name, context)
    }

    /// Decides about `action` on one object of the bucket, for requests that name several.
    pub(crate) fn decide_object(&self, action: Action) -> Result<(), Refusal> {
        decide_logged(Some(&self.target.owner), &self.principal, action, Context::default())?;
        Ok(())
    }
}

impl GrantedAccount {
    /// The name of a bucket to create. Elsewhere a bucket's name is resolved and not carried.
    pub(crate) fn new_bucket_name(&self, name: String) -> Result<BucketName, Refusal> {
        Ok(BucketName::try_from(name)?)
    }

    /// The sender, as the owner of what it creates and lists.
    pub(crate) fn owner(&self) -> Owner {
        owner(&self.user)
    }
}
