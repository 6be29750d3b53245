//! Decisions about the catalog of a bucket: its namespaces, tables and views.
//!
//! They are about the ARNs of S3 Tables, so that policies for tables and for objects are apart: who may read an object
//! may not load a table, and the other way round. A table is named by its namespace and name. There is no policy of
//! the catalog itself: policies of users decide.

use std::sync::Arc;

use liteio_store::Store;
use liteio_store::tables::{CatalogError, Table};

use super::action::Action;
use super::decision::{Documents, Request, Resource, decide};
use super::granted::{Granted, GrantedAccount, Refusal, account_of_arn, bucket_for_rules};
use super::principal::Principal;
use liteio_policy::acl::PublicAccessBlock;
use liteio_policy::{Context, ContextKey, Value};
use liteio_wire::origin::Found;

/// A catalog is never public.
const BLOCK: PublicAccessBlock = PublicAccessBlock {
    block_public_acls: true,
    ignore_public_acls: true,
    block_public_policy: true,
    restrict_public_buckets: true,
};

/// The catalogs of a server for decisions: their ARNs.
pub struct TableBuckets {
    region: String,
    /// The 12 digits of an account, by its canonical id.
    account_id: Box<dyn Fn(&str) -> String + Send + Sync>,
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
        TableBuckets { region, account_id: Box::new(account_id) }
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
            self.allows(&granted, question)?;
            let table = "with this ARN".to_owned();
            return Err(Refusal::Store(CatalogError::NoSuchTable { table }.into()));
        };
        let levels: Vec<_> = table.name.namespace().levels().map(str::to_owned).collect();
        let named = Some(table.name.name());
        let question = TableQuestion { namespace: Some(&levels), table: named, ..*question };
        self.allows(&granted, &question)?;
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
        self.allows(&granted, question)?;
        Ok(granted)
    }

    /// Decides about another question on the same bucket.
    pub fn allows(&self, granted: &Granted, question: &TableQuestion<'_>) -> Result<(), Refusal> {
        let bucket = granted.bucket();
        let arn = self.arn(&bucket.owner.id, bucket.name.as_str());
        let arn = match (question.namespace, question.table) {
            (Some(namespace), Some(table)) => format!("{arn}/table/{}", path(namespace, table)),
            _ => arn,
        };
        let documents =
            Documents { owner_id: &bucket.owner.id, policy: None, acls: None, block: BLOCK };
        let namespace = question.namespace.map(|levels| levels.join("."));
        let context = OfTable { question, namespace };
        for &action in question.actions {
            let user = question.principal.user();
            let resource = Resource::Arn(&arn);
            decide(Some(documents), &Request { user, action, resource, context: &context })?;
        }
        Ok(())
    }
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

/// The context of a request, extended by the names of its namespace and table.
struct OfTable<'c> {
    question: &'c TableQuestion<'c>,
    namespace: Option<String>,
}

impl Context for OfTable<'_> {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        match key {
            ContextKey::S3TablesNamespace => Value::of(self.namespace.as_deref()),
            ContextKey::S3TablesTableName => Value::of(self.question.table),
            key => self.question.context.value(key),
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
