//! Decisions about the catalog of a bucket: its namespaces, tables and views.
//!
//! They are about the ARNs of S3 Tables, so that policies for tables and for objects are apart: who may read an object
//! may not load a table, and the other way round. A table has two ARNs: that of AWS, with its id, and one with its namespace and
//! name. Besides policies of users, that of the table bucket and that of the table decide, which are not those of the bucket
//! and its objects.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::Arc;

use liteio_store::tables::{
    CatalogError, NamespaceName, Table, TableDocument, TableName, TableSettings, TableTags,
};
use liteio_store::{Bucket, BucketId, DocumentKind, Store, StoreError};
use parking_lot::Mutex;

use super::action::Action;
use super::decision::{Documents, Request, Resource, decide};
use super::granted::{Granted, GrantedAccount, Refusal, account_of_arn, bucket_for_rules};
use super::principal::Principal;
use liteio_policy::acl::PublicAccessBlock;
use liteio_policy::{Alias, Context, ContextKey, Kind, Policy, Value};
use liteio_wire::origin::Found;

/// Maximum number of cached parsed policies of tables. Beyond it the cache is cleared.
const POLICIES_MAX: usize = 1024;

/// A catalog is never public.
const BLOCK: PublicAccessBlock = PublicAccessBlock {
    block_public_acls: true,
    ignore_public_acls: true,
    block_public_policy: true,
    restrict_public_buckets: true,
};

/// The catalogs of a server for decisions: their ARNs, and the policies of tables, each parsed once.
pub struct TableBuckets {
    region: String,
    /// The 12 digits of an account, by its canonical id.
    account_id: Box<dyn Fn(&str) -> String + Send + Sync>,
    policies: Mutex<HashMap<(BucketId, [u8; 16]), Arc<Parsed>>>,
}

/// A parsed policy of a table with its source text.
struct Parsed {
    text: Vec<u8>,
    arn: String,
    policy: Policy,
}

/// A table or view for a decision.
struct Subject {
    /// The ARN with its names.
    arn: String,
    /// The id, which is at the end of the ARN of AWS. A view, and a table that does not exist, have none.
    id: Option<String>,
    policy: Option<Arc<Parsed>>,
    settings: TableSettings,
}

/// The question of a request about a catalog.
#[derive(Clone, Copy)]
pub struct TableQuestion<'q> {
    /// The sender.
    pub principal: &'q Principal,
    /// The actions of the request. All must be allowed.
    pub actions: &'q [Action],
    /// The levels of the namespace that the request is about.
    pub namespace: Option<&'q [String]>,
    /// The table or view in the namespace that the request is about, which may not exist.
    pub table: Option<&'q str>,
    /// Facts that the conditions of policies read.
    pub context: &'q dyn Context,
    /// The findings about the request, where the owner of the bucket is noted.
    pub found: Option<&'q Found>,
}

impl TableBuckets {
    /// Catalogs of buckets in a region. `account_id` returns the 12 digits of an account for its canonical id.
    pub fn new(
        region: String,
        account_id: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> TableBuckets {
        TableBuckets { region, account_id: Box::new(account_id), policies: Mutex::default() }
    }

    /// The ARN of the catalog of the bucket with this name, owned by the account with this canonical id.
    pub fn arn(&self, owner_id: &str, bucket: &str) -> String {
        let account = (self.account_id)(owner_id);
        format!("arn:aws:s3tables:{}:{account}:bucket/{bucket}", self.region)
    }

    /// Decides about actions on no table bucket: listing the own ones.
    pub fn account(&self, question: &TableQuestion<'_>) -> Result<GrantedAccount, Refusal> {
        account_of_arn(question.principal, question.actions, None, question.context)
    }

    /// Decides about actions on the table bucket with this name that is to be created.
    pub fn new_bucket(
        &self,
        question: &TableQuestion<'_>,
        name: &str,
    ) -> Result<GrantedAccount, Refusal> {
        let arn = self.arn(question.principal.id().unwrap_or_default(), name);
        account_of_arn(question.principal, question.actions, Some(&arn), question.context)
    }

    /// Finds the table with an id in the bucket `name`, and decides about the question on it. Of a table that does not
    /// exist only those learn who are allowed the same on the bucket.
    pub fn table_by_id(
        &self,
        store: &Store,
        question: &TableQuestion<'_>,
        (name, id): (&str, &[u8; 16]),
    ) -> Result<(Granted, Table), Refusal> {
        let bucket = bucket_for_rules(store, name)?;
        if let Some(found) = question.found {
            found.note_owner(&bucket.owner.id);
        }
        let table = store.table_by_id(&bucket, id)?;
        let granted = Granted::of_decision(bucket, question.principal);
        let Some(table) = table else {
            self.allows(store, &granted, question)?;
            let table = "with this ARN".to_owned();
            return Err(Refusal::Store(CatalogError::NoSuchTable { table }.into()));
        };
        let levels: Vec<_> = table.name.namespace().levels().map(str::to_owned).collect();
        let named = Some(table.name.name());
        let question = TableQuestion { namespace: Some(&levels), table: named, ..*question };
        self.allows(store, &granted, &question)?;
        Ok((granted, table))
    }

    /// Resolves the bucket `name`, and decides about the question on its catalog.
    pub fn bucket(
        &self,
        store: &Store,
        question: &TableQuestion<'_>,
        name: &str,
    ) -> Result<Granted, Refusal> {
        let bucket = bucket_for_rules(store, name)?;
        if let Some(found) = question.found {
            found.note_owner(&bucket.owner.id);
        }
        let granted = Granted::of_decision(Arc::clone(&bucket), question.principal);
        self.allows(store, &granted, question)?;
        Ok(granted)
    }

    /// The ARN of the table of a bucket with an id.
    pub fn table_arn(&self, bucket: &Bucket, id: &[u8; 16]) -> String {
        let bucket = self.arn(&bucket.owner.id, bucket.name.as_str());
        format!("{bucket}/table/{}", text_of_id(id))
    }

    /// Decides about another question on the same bucket.
    pub fn allows(
        &self,
        store: &Store,
        granted: &Granted,
        question: &TableQuestion<'_>,
    ) -> Result<(), Refusal> {
        let bucket = granted.bucket();
        let bucket_arn = self.arn(&bucket.owner.id, bucket.name.as_str());
        let subject = match (question.namespace, question.table) {
            (Some(namespace), Some(table)) => {
                Some(self.subject(store, bucket, &bucket_arn, (namespace, table))?)
            }
            _ => None,
        };
        let of_bucket = policy_of_table_bucket(bucket, &bucket_arn);
        let policy = subject.as_ref().and_then(|it| it.policy.as_ref()).map(|it| &it.policy);
        let (owner_id, outer) = (&bucket.owner.id, of_bucket.as_deref());
        let documents = Documents { owner_id, policy, outer, acls: None, block: BLOCK };
        let context = OfTable::new(question, bucket, &bucket_arn, subject.as_ref());
        let base = format!("{bucket_arn}/table/");
        for &action in question.actions {
            let user = question.principal.user();
            let by_id = subject.iter().filter_map(|it| it.id.as_deref());
            let mut aliases: Vec<_> = by_id.map(|id| Alias::WithId { base: &base, id }).collect();
            // A new table has no id, so that policies for AWS name the bucket.
            if action == Action::CreateTable {
                aliases.push(Alias::Arn(&bucket_arn));
            }
            let resource = match &subject {
                Some(subject) => Resource::Arns(&subject.arn, &aliases),
                None => Resource::Arn(&bucket_arn),
            };
            let request = Request { user, action, resource, context: &context };
            let decided = decide(Some(documents), &request);
            // Unreadable tags are not missing tags: fail instead of deciding without them.
            if let Some(error) = context.error.take() {
                return Err(error.into());
            }
            decided?;
        }
        Ok(())
    }

    /// The table or view with a name, which may not exist.
    fn subject(
        &self,
        store: &Store,
        bucket: &Bucket,
        bucket_arn: &str,
        (namespace, table): (&[String], &str),
    ) -> Result<Subject, StoreError> {
        let arn = format!("{bucket_arn}/table/{}", path(namespace, table));
        let name = NamespaceName::new(namespace.to_vec())
            .and_then(|namespace| TableName::new(namespace, table.to_owned()));
        // No table has a name that is not valid.
        let found = match &name {
            Ok(name) => store.table_with_settings(bucket, name)?,
            Err(_) => None,
        };
        Ok(match found {
            None => Subject { arn, id: None, policy: None, settings: TableSettings::default() },
            Some((found, settings)) => {
                let by_id = self.table_arn(bucket, &found.uuid);
                let text = settings.document(TableDocument::Policy);
                let policy = text.map(|text| self.parsed((bucket.id, found.uuid), &by_id, text));
                Subject { arn, id: Some(text_of_id(&found.uuid)), policy, settings }
            }
        })
    }

    /// The policy with this text, parsed unless it is cached.
    fn parsed(&self, id: (BucketId, [u8; 16]), arn: &str, text: &[u8]) -> Arc<Parsed> {
        let known = self.policies.lock().get(&id).cloned();
        if let Some(known) = known.filter(|it| it.text == text && it.arn == arn) {
            return known;
        }
        let policy = parsed(text, Kind::Table(arn), arn);
        let parsed = Arc::new(Parsed { text: text.to_vec(), arn: arn.to_owned(), policy });
        let mut policies = self.policies.lock();
        if policies.len() >= POLICIES_MAX {
            policies.clear();
        }
        policies.insert(id, Arc::clone(&parsed));
        parsed
    }
}

/// The id of a table in its ARN.
fn text_of_id(id: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (place, byte) in id.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// The policy of a bucket as a table bucket, if it has one.
fn policy_of_table_bucket(bucket: &Bucket, arn: &str) -> Option<Arc<Policy>> {
    let parse = |text: &[u8]| Ok::<_, Infallible>(parsed(text, Kind::TableBucket(arn), arn));
    let Ok(policy) = bucket.settings.parsed(DocumentKind::TableBucketPolicy, parse);
    policy
}

/// The policy of the resource with an ARN. An unreadable one denies everything.
fn parsed(text: &[u8], kind: Kind<'_>, arn: &str) -> Policy {
    Policy::parse(text, kind).unwrap_or_else(|error| {
        tracing::warn!(arn, %error, "the policy of a table bucket or a table denies all");
        Policy::unreadable(kind)
    })
}

/// The path of a table in its ARN: the levels of the namespace, with dots between them, a slash, and the name. What
/// separates is encoded in names, so that no two tables share an ARN.
fn path(namespace: &[String], table: &str) -> String {
    let encoded = |name: &str, separators: &[char]| {
        let mut path = String::with_capacity(name.len());
        for character in name.chars() {
            match separators.contains(&character) {
                true => path.push_str(&format!("%{:02X}", u32::from(character))),
                false => path.push(character),
            }
        }
        path
    };
    let levels: Vec<_> = namespace.iter().map(|level| encoded(level, &['%', '/', '.'])).collect();
    format!("{}/{}", levels.join("."), encoded(table, &['%', '/']))
}

/// The context of a request, extended by names, account and tags of its resource. Tags are read lazily.
struct OfTable<'c> {
    question: &'c TableQuestion<'c>,
    bucket: &'c Bucket,
    /// `None` for the bucket itself.
    subject: Option<&'c Subject>,
    namespace: Option<String>,
    /// The 12 digits of the owner's account.
    account: String,
    of_bucket: OnceCell<BTreeMap<String, String>>,
    of_table: OnceCell<BTreeMap<String, String>>,
    error: RefCell<Option<StoreError>>,
}

impl<'c> OfTable<'c> {
    fn new(
        question: &'c TableQuestion<'c>,
        bucket: &'c Bucket,
        bucket_arn: &str,
        subject: Option<&'c Subject>,
    ) -> OfTable<'c> {
        OfTable {
            question,
            bucket,
            subject,
            namespace: question.namespace.map(|levels| levels.join(".")),
            account: bucket_arn.split(':').nth(4).unwrap_or_default().to_owned(),
            of_bucket: OnceCell::new(),
            of_table: OnceCell::new(),
            error: RefCell::new(None),
        }
    }

    fn read(&self, document: Option<&[u8]>) -> BTreeMap<String, String> {
        let tags = document.map(TableTags::decode).transpose();
        tags.map(|tags| tags.unwrap_or_default().0).unwrap_or_else(|error| {
            self.error.replace(Some(error));
            BTreeMap::new()
        })
    }

    fn tag_of_bucket(&self, name: &str) -> Option<&str> {
        let document = || self.bucket.settings.document(DocumentKind::TableBucketTags);
        let tags = self.of_bucket.get_or_init(|| self.read(document()));
        tags.get(name).map(String::as_str)
    }

    fn tag_of_table(&self, subject: &Subject, name: &str) -> Option<&str> {
        let document = subject.settings.document(TableDocument::Tags);
        let tags = self.of_table.get_or_init(|| self.read(document));
        tags.get(name).map(String::as_str)
    }
}

impl Context for OfTable<'_> {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        match (key, self.subject) {
            (ContextKey::S3TablesNamespace, _) => Value::of(self.namespace.as_deref()),
            (ContextKey::S3TablesTableName, _) => Value::of(self.question.table),
            (ContextKey::TableBucketTag(name), _) => Value::of(self.tag_of_bucket(name)),
            (ContextKey::ResourceTag(name), None) => Value::of(self.tag_of_bucket(name)),
            (ContextKey::ResourceTag(name), Some(subject)) => {
                Value::of(self.tag_of_table(subject, name))
            }
            (ContextKey::ResourceAccount, _) => Value::text(&self.account),
            (key, _) => self.question.context.value(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_tables_share_an_arn() {
        let path = |levels: &[&str], table: &str| {
            let levels: Vec<_> = levels.iter().map(|level| (*level).to_owned()).collect();
            path(&levels, table)
        };
        assert_eq!(path(&["sales", "eu"], "orders.v2"), "sales.eu/orders.v2");
        assert_eq!(path(&["a/b"], "c"), "a%2Fb/c");
        assert_eq!(path(&["a"], "b/c"), "a/b%2Fc");
        assert_eq!(path(&["a.b"], "c"), "a%2Eb/c");
        assert_eq!(path(&["a%2Fb"], "c"), "a%252Fb/c");
    }
}
