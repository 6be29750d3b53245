//! [`Granted`]: permission as a value (a capability). Names are resolved in this module only.

use std::sync::Arc;

use liteio_store::{
    Bucket, BucketName, DocumentKind, ETag, NameError, ObjectKey, ObjectVersion, Owner,
    SeenVersion, Store, StoreError, VersionChange, VersionId,
};

use super::action::Action;
use super::decision::{Basis, Denial, Reason, Request, Resource, Rules, decide, decide_by};
use super::documents::BucketDocuments;
use super::principal::{Principal, owner};
use super::resource::{ListingOf, WithResource};
use liteio_identity::User;
use liteio_policy::Context;
use liteio_wire::origin::Found;

/// The permission for a request to work on one bucket, vector bucket or index. Only this module
/// creates one.
#[derive(Clone, Debug)]
pub struct Granted<T = Arc<Bucket>> {
    target: T,
    principal: Principal,
    rules: Rules,
    seen: Seen,
}

/// The object whose owner, ACL and tags a decision has read.
#[derive(Clone, Debug)]
pub(super) enum Seen {
    /// The decision read no object.
    NotAsked,
    /// The object did not exist.
    Missing,
    /// The decision read this object.
    Object(Arc<ObjectVersion>),
}

/// The permission for an action without a resource: creating a bucket, listing the own ones.
#[derive(Clone, Debug)]
pub struct GrantedAccount {
    user: Arc<User>,
    /// The reason why the user may not list all buckets, but only those that it may use.
    unlisted: Option<Box<Denial>>,
}

/// The question of a request about a bucket, or an object in it.
#[derive(Clone, Copy)]
pub struct Question<'q> {
    /// The actions of the request. All must be allowed.
    pub actions: &'q [Action],
    /// The key, for actions on an object.
    pub key: Option<&'q str>,
    /// The version of the object; `None` is the current one.
    pub version: Option<&'q str>,
    /// The canonical id of the owner that the client expects, as in `x-amz-expected-bucket-owner`.
    pub expected_owner: Option<&'q str>,
    /// The query overrides response headers (`response-content-type` and the like).
    pub overrides_response: bool,
    /// The request writes the object, with the ACL that it sends.
    pub writes: bool,
    /// If access is refused without an explicit deny, tell senders who may list the object that it
    /// is missing.
    pub tells_missing: bool,
    /// Facts that the conditions of policies read.
    pub context: &'q (dyn Context + Sync),
    /// The findings about the request, if this is its own bucket: the owner is noted there.
    pub found: Option<&'q Found>,
    /// The rules of a permission on a bucket. Further questions to the permission follow them.
    pub rules: Rules,
}

impl<'q> Question<'q> {
    /// A question about a bucket, for a request without expectations.
    pub fn about_bucket(actions: &'q [Action], context: &'q (dyn Context + Sync)) -> Question<'q> {
        Question {
            actions,
            key: None,
            version: None,
            expected_owner: None,
            overrides_response: false,
            writes: false,
            tells_missing: false,
            context,
            found: None,
            rules: Rules::default(),
        }
    }
}

/// A refused request.
#[derive(Debug)]
pub enum Refusal {
    /// Access is denied.
    Denied(Box<Denial>),
    /// Anonymous requests must not override response headers.
    AnonymousOverride,
    /// The resource does not exist, or cannot be read.
    Store(StoreError),
}

impl From<Box<Denial>> for Refusal {
    fn from(denial: Box<Denial>) -> Refusal {
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

/// The resource of a bucket list: policies name it like this, or as `*`.
const ALL_BUCKETS: &str = "arn:aws:s3:::*";

/// Decides about actions on the account, or on the bucket with this name that is to be created.
pub fn account(
    principal: &Principal,
    actions: &[Action],
    bucket: Option<&str>,
    context: &dyn Context,
) -> Result<GrantedAccount, Refusal> {
    let resource = bucket.map_or(Resource::Arn(ALL_BUCKETS), Resource::Bucket);
    account_resource(principal, actions, resource, context)
}

/// Decides about the list of the sender's buckets. By MinIO's rules a user who may not list them all
/// gets those that it may use.
pub fn bucket_list(
    principal: &Principal,
    rules: Rules,
    context: &dyn Context,
) -> Result<GrantedAccount, Refusal> {
    match (account(principal, &[Action::ListAllMyBuckets], None, context), principal) {
        (Err(Refusal::Denied(denial)), Principal::User(user)) if rules == Rules::Minio => {
            Ok(GrantedAccount { user: Arc::clone(user), unlisted: Some(denial) })
        }
        (decided, _) => decided,
    }
}

/// Decides about actions on the account, or on the vector bucket or table bucket with this ARN that
/// is to be created.
pub(super) fn account_of_arn(
    principal: &Principal,
    actions: &[Action],
    arn: Option<&str>,
    context: &dyn Context,
) -> Result<GrantedAccount, Refusal> {
    account_resource(principal, actions, arn.map_or(Resource::Any, Resource::Arn), context)
}

fn account_resource(
    principal: &Principal,
    actions: &[Action],
    resource: Resource<'_>,
    context: &dyn Context,
) -> Result<GrantedAccount, Refusal> {
    // All other actions need the documents of their resource.
    if !actions.first().is_some_and(|action| action.is_of_account()) {
        return Err(Denial::new(Reason::NoResourcePolicy, resource).into());
    }
    for &action in actions {
        decide(None, &Request { user: principal.user(), action, resource, context })?;
    }
    match principal {
        Principal::User(user) => Ok(GrantedAccount { user: Arc::clone(user), unlisted: None }),
        Principal::Anonymous => Err(Denial::new(Reason::Anonymous, resource).into()),
    }
}

/// Resolves the bucket `name`, and decides about the question.
pub fn bucket(
    store: &Store,
    principal: &Principal,
    name: &str,
    question: &Question<'_>,
) -> Result<Granted, Refusal> {
    // Checked first, so that an offender does not learn whether the bucket exists.
    if principal.user().is_none() && question.overrides_response {
        return Err(Refusal::AnonymousOverride);
    }
    let bucket = store.bucket(&BucketName::try_from(name)?)?;
    if let Some(found) = question.found {
        found.note_owner(&bucket.owner.id);
        if bucket.settings.document(DocumentKind::Cors).is_some() {
            found.note_cors();
        }
    }
    let (principal, rules) = (principal.clone(), question.rules);
    let mut granted = Granted { target: bucket, principal, rules, seen: Seen::NotAsked };
    granted.seen = granted.decide(store, question).or_else(|refusal| {
        let is_missing = question.tells_missing && granted.is_missing(store, question, &refusal)?;
        Err(if is_missing { missing(question) } else { refusal })
    })?;
    Ok(granted)
}

/// The bucket `name`, for rules that apply to everyone (CORS), and for a list.
pub fn bucket_for_rules(store: &Store, name: &str) -> Result<Arc<Bucket>, Refusal> {
    Ok(store.bucket(&BucketName::try_from(name)?)?)
}

impl<T> Granted<T> {
    /// The permission that results from a decision elsewhere in this crate.
    pub(super) fn of_decision(target: T, principal: &Principal) -> Granted<T> {
        let (principal, rules) = (principal.clone(), Rules::default());
        Granted { target, principal, rules, seen: Seen::NotAsked }
    }

    /// The resource of the permission.
    pub fn target(&self) -> &T {
        &self.target
    }
}

impl Granted {
    /// The bucket.
    pub fn bucket(&self) -> &Arc<Bucket> {
        &self.target
    }

    /// The canonical id of the sender's account; `None` if anonymous.
    pub fn principal_id(&self) -> Option<&str> {
        self.principal.id()
    }

    /// The name of the sender; `None` if anonymous.
    pub fn user_name(&self) -> Option<&str> {
        self.principal.user_name()
    }

    /// The name of the sender without account and path, as MinIO tells it; `None` if anonymous.
    pub fn plain_name(&self) -> Option<&str> {
        self.principal.plain_name()
    }

    /// The owner of objects that the request creates in the bucket.
    pub fn owner(&self) -> Owner {
        self.principal.owner().unwrap_or_else(|| self.target.owner.clone())
    }

    /// Resolves another bucket, the source of a copy, and decides about the question for the same
    /// sender.
    pub fn other_bucket(
        &self,
        store: &Store,
        name: &str,
        question: &Question<'_>,
    ) -> Result<Granted, Refusal> {
        bucket(store, &self.principal, name, &Question { rules: self.rules, ..*question })
    }

    /// Decides about another question on the same bucket, for requests that name several objects or
    /// need more than one action.
    pub fn allows(&self, store: &Store, question: &Question<'_>) -> Result<(), Refusal> {
        self.decide(store, question).map(drop)
    }

    /// `true` if the sender may learn that a key does not exist, because it may list it.
    pub fn allows_listing(
        &self,
        store: &Store,
        key: &str,
        context: &(dyn Context + Sync),
    ) -> Result<(), Refusal> {
        let context = ListingOf { key, delimiter: None, context };
        self.allows(store, &Question::about_bucket(&[Action::ListBucket], &context))
    }

    /// `true` if the refused object does not exist, and the sender may learn that.
    fn is_missing(
        &self,
        store: &Store,
        question: &Question<'_>,
        refusal: &Refusal,
    ) -> Result<bool, Refusal> {
        let (Refusal::Denied(denial), Some(key)) = (refusal, question.key) else {
            return Ok(false);
        };
        Ok(!denial.is_explicit()
            && matches!(find(store, &self.target, key, question.version)?, Seen::Missing)
            && self.allows_listing(store, key, question.context).is_ok())
    }

    /// `true` if the decision holds for an object read after it: it read no object, or one with the
    /// same owner, ACL and tags. Otherwise the object was replaced between the check and the use.
    pub fn holds_for(&self, object: &ObjectVersion) -> bool {
        match &self.seen {
            Seen::NotAsked => true,
            Seen::Missing => false,
            Seen::Object(seen) => {
                seen.owner.id == object.owner.id
                    && seen.acl == object.acl
                    && seen.metadata.tags == object.metadata.tags
            }
        }
    }

    /// The entity tag of the object that the decision read.
    pub fn seen_etag(&self) -> Option<ETag> {
        match &self.seen {
            Seen::Object(seen) => Some(seen.etag),
            Seen::NotAsked | Seen::Missing => None,
        }
    }

    /// `true` if the decision read the object and it did not exist: then it holds for no object.
    pub fn saw_nothing(&self) -> bool {
        matches!(self.seen, Seen::Missing)
    }

    /// The change, limited to the version that the decision read.
    pub fn guarded(&self, change: VersionChange) -> VersionChange {
        match &self.seen {
            Seen::NotAsked | Seen::Missing => change,
            Seen::Object(object) => {
                let seen = SeenVersion {
                    owner_id: object.owner.id.clone(),
                    acl: object.acl.clone(),
                    tags: object.metadata.tags.clone(),
                };
                VersionChange::IfSeen(seen, Box::new(change))
            }
        }
    }

    /// Decides, and returns the object that the decision read.
    fn decide(&self, store: &Store, question: &Question<'_>) -> Result<Seen, Refusal> {
        let bucket = &*self.target;
        let user = self.principal.user();
        let name = bucket.name.as_str();
        let resource = match question.key {
            Some(key) => Resource::Object { bucket: name, key },
            None => Resource::Bucket(name),
        };
        if question.expected_owner.is_some_and(|expected| expected != bucket.owner.id) {
            return Err(Denial::new(Reason::UnexpectedOwner, resource).into());
        }
        let documents = BucketDocuments::of(bucket)?;
        // A write creates a new object, regardless of an existing one.
        let is_of_existing = |action: &Action| !question.writes && action.is_of_existing_object();
        let needs_object =
            documents.needs_object(user) && question.actions.iter().any(is_of_existing);
        let seen = match question.key {
            Some(key) if needs_object => find(store, bucket, key, question.version)?,
            _ => Seen::NotAsked,
        };
        let object = seen.object();
        let acl = match object {
            Some(object) => documents.object_acl(object)?,
            None => None,
        };
        let context = WithResource { user, bucket, object, context: question.context };
        for &action in question.actions {
            let owner_id = &bucket.owner.id;
            let documents = if question.writes && action == Action::PutObjectAcl {
                // The object will belong to the writer. Where ACLs do not apply, it has no ACL.
                match documents.of_new_object(owner_id, user.map(User::canonical_id)) {
                    Some(documents) => documents,
                    None => continue,
                }
            } else {
                // Without an object the bucket alone decides.
                let of_object = object.filter(|_| is_of_existing(&action));
                documents.for_decision(owner_id, of_object, acl.as_deref())
            };
            let request = Request { user, action, resource, context: &context };
            if decide_by(self.rules, Some(documents), &request)? == Basis::Acl
                && let Some(found) = question.found
            {
                found.note_acl_required();
            }
        }
        Ok(seen)
    }
}

impl Seen {
    fn object(&self) -> Option<&ObjectVersion> {
        match self {
            Seen::Object(object) => Some(object),
            Seen::NotAsked | Seen::Missing => None,
        }
    }
}

/// The object that a decision reads. A missing one is reported later.
fn find(store: &Store, bucket: &Bucket, key: &str, version: Option<&str>) -> Result<Seen, Refusal> {
    let Ok(key) = ObjectKey::new(key) else { return Ok(Seen::Missing) };
    let version = match version.map(VersionId::parse) {
        None => None,
        Some(Ok(version)) => Some(version),
        Some(Err(_)) => return Ok(Seen::Missing),
    };
    match store.find_object(bucket, &key, version.as_ref()) {
        Ok(found) => Ok(Seen::Object(Arc::new(found))),
        Err(
            StoreError::NoSuchKey { .. }
            | StoreError::NoSuchVersion { .. }
            | StoreError::IsDeleteMarker { .. },
        ) => Ok(Seen::Missing),
        Err(error) => Err(error.into()),
    }
}

/// The error for a key without an object.
fn missing(question: &Question<'_>) -> Refusal {
    match ObjectKey::new(question.key.unwrap_or_default()) {
        Ok(key) => Refusal::Store(StoreError::NoSuchKey { key, marker: None }),
        Err(error) => error.into(),
    }
}

impl GrantedAccount {
    /// The name of a bucket to be created. All other bucket names are resolved instead of carried.
    pub fn new_bucket_name(&self, name: String) -> Result<BucketName, StoreError> {
        Ok(BucketName::try_from(name)?)
    }

    /// `true` if the bucket is in the list of the sender's buckets: all are, or its own policies let it use the bucket.
    pub fn lists(&self, store: &Store, name: &str, context: &(dyn Context + Sync)) -> bool {
        if self.unlisted.is_none() {
            return true;
        }
        let Ok(bucket) = bucket_for_rules(store, name) else { return false };
        let user = Some(&*self.user);
        // As on MinIO: the question of clients that show the top of the bucket.
        let context = ListingOf { key: "", delimiter: Some("/"), context };
        let context = WithResource { user, bucket: &bucket, object: None, context: &context };
        let resource = Resource::Bucket(name);
        // Without the policy of the bucket, as on MinIO: one for everybody would add the bucket to the list of each user.
        [Action::ListBucket, Action::GetBucketLocation].into_iter().any(|action| {
            decide(None, &Request { user, action, resource, context: &context }).is_ok()
        })
    }

    /// The refusal for a list without any bucket, to a sender who may not list them all.
    pub fn refusal(&self) -> Option<Refusal> {
        self.unlisted.clone().map(Refusal::Denied)
    }

    /// The sender's account, as the owner of what it creates and lists.
    pub fn owner(&self) -> Owner {
        owner(&self.user)
    }
}
