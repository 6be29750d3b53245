//! Bodies of requests of the REST catalog.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::error::{Invalid, refuse};
use crate::json::{Fields, object};
use crate::names::{Identifier, Namespace, check_name};
use crate::requirement::{Requirement, ViewRequirement};
use crate::update::{Update, ViewUpdate};

/// `CreateNamespaceRequest`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateNamespace {
    /// The name.
    pub namespace: Namespace,
    /// Properties; none if they are absent.
    pub properties: BTreeMap<String, String>,
}

impl CreateNamespace {
    /// The request of a body.
    ///
    /// # Errors
    /// A missing field or one of another type; a name that [`Namespace::new`] refuses.
    pub fn from_value(value: &Value) -> Result<CreateNamespace, Invalid> {
        let fields = Fields::of(value, "request")?;
        Ok(CreateNamespace {
            namespace: Namespace::from_value(fields.value("namespace")?)?,
            properties: fields.optional_properties("properties")?.unwrap_or_default(),
        })
    }
}

/// `UpdateNamespacePropertiesRequest`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateNamespaceProperties {
    /// Keys to remove.
    pub removals: Vec<String>,
    /// Pairs to set.
    pub updates: BTreeMap<String, String>,
}

impl UpdateNamespaceProperties {
    /// The request of a body.
    ///
    /// # Errors
    /// A field of another type.
    pub fn from_value(value: &Value) -> Result<UpdateNamespaceProperties, Invalid> {
        let fields = Fields::of(value, "request")?;
        Ok(UpdateNamespaceProperties {
            removals: fields.optional_texts("removals")?.unwrap_or_default(),
            updates: fields.optional_properties("updates")?.unwrap_or_default(),
        })
    }

    /// A key that is both removed and set. The catalog answers it with 422.
    pub fn in_both(&self) -> Option<&str> {
        let mut removals = self.removals.iter().map(String::as_str);
        removals.find(|key| self.updates.contains_key(*key))
    }
}

/// `CreateTableRequest`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// The name.
    pub name: String,
    /// The location, if the client chooses it.
    pub location: Option<String>,
    /// The schema, whose ids are replaced by new ones.
    pub schema: Map<String, Value>,
    /// The partition spec. `None`: unpartitioned.
    pub partition_spec: Option<Map<String, Value>>,
    /// The sort order. `None`: unsorted.
    pub write_order: Option<Map<String, Value>>,
    /// `true`: the table is not created yet, but by the commit that follows.
    pub is_staged: bool,
    /// Properties; none if they are absent.
    pub properties: BTreeMap<String, String>,
}

impl CreateTable {
    /// The request of a body.
    ///
    /// # Errors
    /// A missing field or one of another type; a name that [`check_name`] refuses.
    pub fn from_value(value: &Value) -> Result<CreateTable, Invalid> {
        let fields = Fields::of(value, "request")?;
        let optional =
            |name: &str| fields.optional(name).map(|value| object(value, name)).transpose();
        Ok(CreateTable {
            name: name(&fields)?,
            location: fields.optional_text("location")?.map(str::to_owned),
            schema: object(fields.value("schema")?, "schema")?,
            partition_spec: optional("partition-spec")?,
            write_order: optional("write-order")?,
            is_staged: fields.optional_boolean("stage-create")?.unwrap_or_default(),
            properties: fields.optional_properties("properties")?.unwrap_or_default(),
        })
    }
}

/// `CreateViewRequest`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    /// The name.
    pub name: String,
    /// The location, if the client chooses it.
    pub location: Option<String>,
    /// The schema.
    pub schema: Map<String, Value>,
    /// The first version, whose `schema-id` is replaced by the one of `schema`.
    pub view_version: Map<String, Value>,
    /// Properties; none if they are absent.
    pub properties: BTreeMap<String, String>,
}

impl CreateView {
    /// The request of a body.
    ///
    /// # Errors
    /// As [`CreateTable::from_value`].
    pub fn from_value(value: &Value) -> Result<CreateView, Invalid> {
        let fields = Fields::of(value, "request")?;
        Ok(CreateView {
            name: name(&fields)?,
            location: fields.optional_text("location")?.map(str::to_owned),
            schema: object(fields.value("schema")?, "schema")?,
            view_version: object(fields.value("view-version")?, "view-version")?,
            properties: fields.optional_properties("properties")?.unwrap_or_default(),
        })
    }
}

/// `RegisterTableRequest` and `RegisterViewRequest`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// The name.
    pub name: String,
    /// The location of the metadata file.
    pub metadata_location: String,
    /// `true`: a table of that name gets this metadata.
    pub overwrites: bool,
}

impl Register {
    /// The request of a body.
    ///
    /// # Errors
    /// As [`CreateTable::from_value`].
    pub fn from_value(value: &Value) -> Result<Register, Invalid> {
        let fields = Fields::of(value, "request")?;
        Ok(Register {
            name: name(&fields)?,
            metadata_location: fields.text("metadata-location")?.to_owned(),
            overwrites: fields.optional_boolean("overwrite")?.unwrap_or_default(),
        })
    }
}

/// `RenameTableRequest`, of tables and views
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// The old name.
    pub source: Identifier,
    /// The new name.
    pub destination: Identifier,
}

impl Rename {
    /// The request of a body.
    ///
    /// # Errors
    /// As [`Identifier::from_value`].
    pub fn from_value(value: &Value) -> Result<Rename, Invalid> {
        let fields = Fields::of(value, "request")?;
        Ok(Rename {
            source: Identifier::from_value(fields.value("source")?)?,
            destination: Identifier::from_value(fields.value("destination")?)?,
        })
    }
}

/// `CommitTableRequest`
#[derive(Clone, Debug, PartialEq)]
pub struct CommitTable {
    /// The table, which the path names too, except in [`CommitTransaction`].
    pub identifier: Option<Identifier>,
    /// Requirements, all of which must hold.
    pub requirements: Vec<Requirement>,
    /// Updates, applied in this order.
    pub updates: Vec<Update>,
}

impl CommitTable {
    /// The request of a body.
    ///
    /// # Errors
    /// An unknown requirement or update; `assert-create` beside other requirements; a missing field or one of another type.
    pub fn from_value(value: &Value) -> Result<CommitTable, Invalid> {
        let fields = Fields::of(value, "commit")?;
        let identifier = fields.optional("identifier").map(Identifier::from_value).transpose()?;
        let requirements = fields.list("requirements")?.iter().map(Requirement::from_value);
        let requirements = requirements.collect::<Result<Vec<_>, _>>()?;
        let updates = fields.list("updates")?.iter().map(Update::from_value);
        let updates = updates.collect::<Result<_, _>>()?;
        let creates = requirements.contains(&Requirement::Create);
        if creates && requirements.iter().any(|it| *it != Requirement::Create) {
            refuse!("commit: assert-create must be the only requirement");
        }
        Ok(CommitTable { identifier, requirements, updates })
    }

    /// `true` if the commit creates the table: `TableMetadata::from_updates`.
    pub fn is_create(&self) -> bool {
        self.requirements.contains(&Requirement::Create)
    }
}

/// `CommitTransactionRequest`
#[derive(Clone, Debug, PartialEq)]
pub struct CommitTransaction {
    /// The tables, each once, with their commits.
    pub changes: Vec<(Identifier, CommitTable)>,
}

impl CommitTransaction {
    /// The request of a body.
    ///
    /// # Errors
    /// As [`CommitTable::from_value`]; a commit without a table, or a second one on a table.
    pub fn from_value(value: &Value) -> Result<CommitTransaction, Invalid> {
        let fields = Fields::of(value, "transaction")?;
        let mut changes: Vec<(Identifier, CommitTable)> = Vec::new();
        let mut tables = BTreeSet::new();
        for change in fields.list("table-changes")? {
            let commit = CommitTable::from_value(change)?;
            let Some(table) = commit.identifier.clone() else {
                refuse!("table-changes: identifier is missing");
            };
            if !tables.insert(table.clone()) {
                refuse!("table-changes: the table {table} is named twice");
            }
            changes.push((table, commit));
        }
        Ok(CommitTransaction { changes })
    }
}

/// `CommitViewRequest`
#[derive(Clone, Debug, PartialEq)]
pub struct CommitView {
    /// The view, which the path names too.
    pub identifier: Option<Identifier>,
    /// Requirements, all of which must hold.
    pub requirements: Vec<ViewRequirement>,
    /// Updates, applied in this order.
    pub updates: Vec<ViewUpdate>,
}

impl CommitView {
    /// The request of a body.
    ///
    /// # Errors
    /// An unknown requirement or update; a missing field or one of another type.
    pub fn from_value(value: &Value) -> Result<CommitView, Invalid> {
        let fields = Fields::of(value, "commit")?;
        let requirements = fields.optional_list("requirements")?.unwrap_or_default();
        Ok(CommitView {
            identifier: fields.optional("identifier").map(Identifier::from_value).transpose()?,
            requirements: requirements
                .iter()
                .map(ViewRequirement::from_value)
                .collect::<Result<_, _>>()?,
            updates: fields
                .list("updates")?
                .iter()
                .map(ViewUpdate::from_value)
                .collect::<Result<_, _>>()?,
        })
    }
}

fn name(fields: &Fields<'_>) -> Result<String, Invalid> {
    let name = fields.text("name")?;
    check_name(name, "the name of a table or view")?;
    Ok(name.to_owned())
}
