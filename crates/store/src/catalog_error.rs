//! [`CatalogError`]: the refusals of operations on the [catalog](crate::tables) of a bucket.

/// The reason why an operation on a catalog is refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// The namespace does not exist.
    #[error("the namespace {namespace} does not exist")]
    NoSuchNamespace {
        /// Its levels, with dots between them.
        namespace: String,
    },
    /// A namespace with that name exists.
    #[error("the namespace {namespace} already exists")]
    NamespaceExists {
        /// Its levels, with dots between them.
        namespace: String,
    },
    /// The namespace has namespaces, tables or views.
    #[error("the namespace {namespace} is not empty: drop what is in it first")]
    NamespaceNotEmpty {
        /// Its levels, with dots between them.
        namespace: String,
    },
    /// The table does not exist.
    #[error("the table {table} does not exist")]
    NoSuchTable {
        /// Its namespace and name, with dots between them.
        table: String,
    },
    /// The view does not exist.
    #[error("the view {view} does not exist")]
    NoSuchView {
        /// Its namespace and name, with dots between them.
        view: String,
    },
    /// A table with that name exists.
    #[error("a table with the name {name} already exists")]
    TableExists {
        /// Its namespace and name, with dots between them.
        name: String,
    },
    /// A view with that name exists.
    #[error("a view with the name {name} already exists")]
    ViewExists {
        /// Its namespace and name, with dots between them.
        name: String,
    },
    /// Another commit has changed the table or view first.
    #[error("{name} was changed by another commit: load it again, and repeat the change")]
    Changed {
        /// Its namespace and name, with dots between them.
        name: String,
    },
    /// A name is no name of a namespace, table or view.
    #[error("{name:?} cannot be a name: {rule}")]
    InvalidName {
        /// The name.
        name: String,
        /// The violated rule.
        rule: &'static str,
    },
    /// The commit has too many tables, or a table twice.
    #[error("{0}")]
    InvalidCommit(String),
}
