//! [`CatalogError`]: the refusals of operations on the [catalog](crate::tables) of a bucket.

/// The reason why an operation on a catalog is refused. Nothing was changed. Some clients look for the words, which are
/// those of Iceberg's reference implementation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// The namespace does not exist.
    #[error("namespace does not exist: {namespace}")]
    NoSuchNamespace {
        /// Its levels, with dots between them.
        namespace: String,
    },
    /// A namespace with that name exists.
    #[error("namespace already exists: {namespace}")]
    NamespaceExists {
        /// Its levels, with dots between them.
        namespace: String,
    },
    /// The namespace has namespaces, tables or views.
    #[error("namespace {namespace} is not empty: drop its contents first")]
    NamespaceNotEmpty {
        /// Its levels, with dots between them.
        namespace: String,
    },
    /// The table does not exist.
    #[error("table does not exist: {table}")]
    NoSuchTable {
        /// Its namespace and name, with dots between them.
        table: String,
    },
    /// The view does not exist.
    #[error("view does not exist: {view}")]
    NoSuchView {
        /// Its namespace and name, with dots between them.
        view: String,
    },
    /// A table with that name exists.
    #[error("table already exists: {name}")]
    TableExists {
        /// Its namespace and name, with dots between them.
        name: String,
    },
    /// A view with that name exists.
    #[error("view already exists: {name}")]
    ViewExists {
        /// Its namespace and name, with dots between them.
        name: String,
    },
    /// Something of the other kind has the name of a new table or view.
    #[error("{by} with same name already exists: {name}")]
    NameTaken {
        /// Its namespace and name, with dots between them.
        name: String,
        /// `table` or `view`.
        by: &'static str,
    },
    /// The request has a key that another one had before, and that one was answered.
    #[error("the request was answered before")]
    Answered,
    /// Another table of the bucket has the id of a new one.
    #[error("table with same id already exists: {name}")]
    IdTaken {
        /// Namespace and name of the new one, with dots between them.
        name: String,
    },
    /// A table or view has the new name.
    #[error("cannot rename {from} to {to}. {by} already exists")]
    RenameTaken {
        /// Namespace and name of what is renamed.
        from: String,
        /// The new namespace and name.
        to: String,
        /// `Table` or `View`.
        by: &'static str,
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
