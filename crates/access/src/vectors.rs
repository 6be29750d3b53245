//! Decisions about vector buckets and indexes.
//!
//! They are like decisions about buckets, but with an ARN that has the region and account of the
//! owner, and without ACLs. The whole public access block is always on, as in AWS.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use liteio_store::vectors::{Index, Tagged, VectorBucket, VectorName};
use liteio_store::{BucketId, Store, StoreError};
use parking_lot::Mutex;

use super::action::Action;
use super::decision::{Documents, Request, Resource, decide};
use super::granted::{Granted, GrantedAccount, Refusal, account_of_arn};
use super::principal::Principal;
use liteio_policy::acl::PublicAccessBlock;
use liteio_policy::{Context, ContextKey, Kind, Policy, Value};
use liteio_wire::origin::Found;

/// Maximum number of cached parsed policies. Beyond it the cache is cleared.
const POLICIES_MAX: usize = 1024;

/// A vector bucket is never public.
const BLOCK: PublicAccessBlock = PublicAccessBlock {
    block_public_acls: true,
    ignore_public_acls: true,
    block_public_policy: true,
    restrict_public_buckets: true,
};

/// The vector buckets of a server for decisions: their ARNs, and their policies, each parsed once.
pub struct VectorBuckets {
    region: String,
    /// The 12 digits of an account, by its canonical id.
    account_id: Box<dyn Fn(&str) -> String + Send + Sync>,
    policies: Mutex<HashMap<BucketId, Arc<Parsed>>>,
}

/// A parsed policy with its source text.
struct Parsed {
    text: String,
    arn: String,
    policy: Policy,
}

/// The question of a request about vector buckets and indexes.
#[derive(Clone, Copy)]
pub struct VectorQuestion<'q> {
    /// The sender.
    pub principal: &'q Principal,
    /// The actions of the request. All must be allowed.
    pub actions: &'q [Action],
    /// Facts that the conditions of policies read.
    pub context: &'q dyn Context,
    /// The findings about the request, where the owner of the vector bucket is noted.
    pub found: Option<&'q Found>,
}

/// A vector bucket or index with its ARN.
#[derive(Clone, Debug)]
pub struct Named<T> {
    /// ARN of the resource.
    pub arn: String,
    resource: T,
}

impl<T> Deref for Named<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.resource
    }
}

impl Named<VectorBucket> {
    /// The ARN of an index of the vector bucket, which may not exist.
    pub fn index_arn(&self, name: &VectorName) -> String {
        format!("{}/index/{name}", self.arn)
    }
}

impl fmt::Debug for VectorBuckets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("VectorBuckets").finish_non_exhaustive()
    }
}

impl VectorBuckets {
    /// Vector buckets in a region. `account_id` returns the 12 digits of an account for its
    /// canonical id.
    pub fn new(
        region: String,
        account_id: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> VectorBuckets {
        let account_id = Box::new(account_id);
        VectorBuckets { region, account_id, policies: Mutex::default() }
    }

    /// The ARN of the vector bucket with this name, owned by the account with this canonical id.
    pub fn arn(&self, owner_id: &str, name: &VectorName) -> String {
        let account = (self.account_id)(owner_id);
        format!("arn:aws:s3vectors:{}:{account}:bucket/{name}", self.region)
    }

    /// Decides about actions on no vector bucket: listing the own ones.
    pub fn account(&self, question: &VectorQuestion<'_>) -> Result<GrantedAccount, Refusal> {
        account_of_arn(question.principal, question.actions, None, question.context)
    }

    /// Decides about actions on the vector bucket with this name that is to be created.
    pub fn new_bucket(
        &self,
        question: &VectorQuestion<'_>,
        name: &VectorName,
    ) -> Result<GrantedAccount, Refusal> {
        let arn = self.arn(question.principal.id().unwrap_or_default(), name);
        account_of_arn(question.principal, question.actions, Some(&arn), question.context)
    }

    /// Resolves the vector bucket `name`, and decides about the question.
    pub fn bucket(
        &self,
        store: &Store,
        question: &VectorQuestion<'_>,
        name: &VectorName,
    ) -> Result<Granted<Named<VectorBucket>>, Refusal> {
        let (bucket, policy) = self.resolve(store, name)?;
        let tags = OfResource::new(
            store,
            question.context,
            &bucket,
            Some(Tagged::Bucket(bucket.resource.clone())),
        );
        decide_all(question, &bucket.arn, &bucket, policy.as_deref(), tags)?;
        Ok(Granted::of_decision(bucket, question.principal))
    }

    /// Resolves the vector bucket `name`, and decides about the question on an index that is to be
    /// created in it.
    pub fn new_index(
        &self,
        store: &Store,
        question: &VectorQuestion<'_>,
        name: &VectorName,
        index: &VectorName,
    ) -> Result<Granted<Named<VectorBucket>>, Refusal> {
        let (bucket, policy) = self.resolve(store, name)?;
        let tags = OfResource::new(store, question.context, &bucket, None);
        decide_all(question, &bucket.index_arn(index), &bucket, policy.as_deref(), tags)?;
        Ok(Granted::of_decision(bucket, question.principal))
    }

    /// Resolves the index `index` of the vector bucket `name`, and decides about the question.
    pub fn index(
        &self,
        store: &Store,
        question: &VectorQuestion<'_>,
        name: &VectorName,
        index: &VectorName,
    ) -> Result<Granted<Named<Index>>, Refusal> {
        let (bucket, policy) = self.resolve(store, name)?;
        let arn = bucket.index_arn(index);
        // The decision comes before the error, so that an unauthorized sender does not learn
        // whether the index exists.
        let found = store.index(&bucket, index);
        let tagged = found.as_ref().ok().map(|index| Tagged::Index(index.clone()));
        let tags = OfResource::new(store, question.context, &bucket, tagged);
        decide_all(question, &arn, &bucket, policy.as_deref(), tags)?;
        Ok(Granted::of_decision(Named { arn, resource: found? }, question.principal))
    }

    /// The vector bucket with this name, and its policy.
    fn resolve(
        &self,
        store: &Store,
        name: &VectorName,
    ) -> Result<(Named<VectorBucket>, Option<Arc<Parsed>>), StoreError> {
        let (resource, policy) = store.vector_bucket_with_policy(name)?;
        let bucket = Named { arn: self.arn(&resource.owner.id, name), resource };
        let policy = policy.map(|text| self.parsed(&bucket, text));
        Ok((bucket, policy))
    }

    /// The policy with this text, parsed unless it is cached.
    fn parsed(&self, bucket: &Named<VectorBucket>, text: String) -> Arc<Parsed> {
        let known = self.policies.lock().get(&bucket.id).cloned();
        if let Some(known) = known.filter(|it| it.text == text && it.arn == bucket.arn) {
            return known;
        }
        let kind = Kind::VectorBucket(&bucket.arn);
        let policy = Policy::parse(text.as_bytes(), kind).unwrap_or_else(|error| {
            tracing::warn!(bucket = %bucket.name, %error, "the policy of a vector bucket denies all");
            Policy::unreadable(kind)
        });
        let parsed = Arc::new(Parsed { text, arn: bucket.arn.clone(), policy });
        let mut policies = self.policies.lock();
        if policies.len() >= POLICIES_MAX {
            policies.clear();
        }
        policies.insert(bucket.id, Arc::clone(&parsed));
        parsed
    }
}

/// Decides about all actions of a question on the resource `arn` in `bucket`.
fn decide_all(
    question: &VectorQuestion<'_>,
    arn: &str,
    bucket: &VectorBucket,
    policy: Option<&Parsed>,
    context: OfResource<'_>,
) -> Result<(), Refusal> {
    if let Some(found) = question.found {
        found.note_owner(&bucket.owner.id);
    }
    let policy = policy.map(|parsed| &parsed.policy);
    let owner_id = &bucket.owner.id;
    let documents = Documents { owner_id, policy, outer: None, acls: None, block: BLOCK };
    let resource = Resource::Arn(arn);
    for &action in question.actions {
        let user = question.principal.user();
        let decided =
            decide(Some(documents), &Request { user, action, resource, context: &context });
        // Unreadable tags are not missing tags: fail instead of deciding without them.
        if let Some(error) = context.error.take() {
            return Err(error.into());
        }
        decided?;
    }
    Ok(())
}

/// The context of a request, extended by account and tags of its resource. Tags are read lazily.
struct OfResource<'c> {
    store: &'c Store,
    context: &'c dyn Context,
    /// The 12 digits of the owner's account.
    account: String,
    bucket: Tagged,
    /// `None` for an index that does not exist.
    resource: Option<Tagged>,
    of_bucket: OnceCell<BTreeMap<String, String>>,
    of_resource: OnceCell<BTreeMap<String, String>>,
    error: RefCell<Option<StoreError>>,
}

impl<'c> OfResource<'c> {
    fn new(
        store: &'c Store,
        context: &'c dyn Context,
        bucket: &Named<VectorBucket>,
        resource: Option<Tagged>,
    ) -> OfResource<'c> {
        let account = bucket.arn.split(':').nth(4).unwrap_or_default().to_owned();
        let bucket = Tagged::Bucket(bucket.resource.clone());
        let (of_bucket, of_resource) = (OnceCell::new(), OnceCell::new());
        let error = RefCell::new(None);
        OfResource { store, context, account, bucket, resource, of_bucket, of_resource, error }
    }

    fn read(&self, tagged: &Tagged) -> BTreeMap<String, String> {
        self.store.vector_tags(tagged).unwrap_or_else(|error| {
            self.error.replace(Some(error));
            BTreeMap::new()
        })
    }
}

impl Context for OfResource<'_> {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        let tag = match (key, &self.resource) {
            (ContextKey::VectorBucketTag(name), _) => {
                self.of_bucket.get_or_init(|| self.read(&self.bucket)).get(&**name)
            }
            (ContextKey::ResourceTag(name), Some(resource)) => {
                self.of_resource.get_or_init(|| self.read(resource)).get(&**name)
            }
            (ContextKey::ResourceTag(_), None) => None,
            (ContextKey::ResourceAccount, _) => Some(&self.account),
            (key, _) => return self.context.value(key),
        };
        Value::of(tag.map(String::as_str))
    }
}
