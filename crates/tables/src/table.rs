//! Operations on tables.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use http::header::{HeaderValue, IF_NONE_MATCH};
use liteio_access::{Action, Granted};
use liteio_iceberg::{CommitTable, CreateTable, Identifier, Namespace, Rename, TableMetadata};
use liteio_store::Bucket;
use liteio_store::tables::{CatalogError, TableKind};
use serde_json::{Map, Value, json};

use super::commit::{Loaded, named, written};
use super::error::{ApiResult, Exception};
use super::metadata::{new_uuid, text_of_uuid};
use super::namespace::{plain, stored};
use super::place::Place;
use super::register::Registered;
use super::warehouse::{key_of, trimmed};
use super::{Answer, Call, Output, once};

pub(crate) fn list(call: &Call<'_>) -> Answer {
    list_of(call, TableKind::Table)
}

/// The tables or views of a namespace.
pub(crate) fn list_of(call: &Call<'_>, kind: TableKind) -> Answer {
    let granted = call.granted()?;
    let namespace = call.namespace()?;
    let of = stored(namespace)?;
    let page = call.page(|range| {
        let page = call.store.list_tables(granted.bucket(), kind, &of, range)?;
        Ok((page.names, page.next))
    })?;
    let namespace = namespace.to_value();
    let named = |name: &String| json!({ "namespace": namespace, "name": name });
    let identifiers: Vec<_> = page.items.iter().map(named).collect();
    Output::json(&json!({ "identifiers": identifiers, "next-page-token": page.token }))
}

pub(crate) fn create(call: &Call<'_>) -> Answer {
    let request = call.read(CreateTable::from_value)?;
    let name = call.named(&request.name)?;
    let granted = call.granted_named(&name)?;
    let uuid = text_of_uuid(&new_uuid()?);
    let place = call.location_of(&granted, &name, request.location.as_deref(), &uuid)?;
    let metadata = TableMetadata::create(&request, &uuid, &place.location, call.now_ms())?;
    if request.is_staged {
        call.require_free(&granted, &name)?;
        call.shared.staged.note(granted.bucket().id, &place);
        return call.loaded(&granted, &name, None, &metadata, None);
    }
    let Loaded { location, metadata } = call.create(&granted, &name, metadata, place.settings())?;
    call.loaded(&granted, &name, Some(&location), &metadata, None)
}

pub(crate) fn register(call: &Call<'_>) -> Answer {
    let Registered { granted, name, location, metadata } =
        call.register::<TableMetadata>(TableKind::Table)?;
    call.loaded(&granted, &name, Some(&location), &metadata, None)
}

pub(crate) fn load(call: &Call<'_>) -> Answer {
    let granted = call.granted()?;
    let name = call.identifier()?;
    call.allows(&granted, &[Action::GetTableData], name)?;
    let of_refs = match call.parameter("snapshots") {
        None | Some("all" | "") => false,
        Some("refs") => true,
        Some(_) => return Err(Exception::bad_request("snapshots must be all or refs.")),
    };
    let Loaded { location, metadata } = call.load(&granted, name)?;
    let tag = tag_of(&location, of_refs);
    // Credentials expire while the table does not change.
    if !call.is_delegated() && call.has(&tag) {
        return Ok(Output::NotModified(tag));
    }
    match of_refs {
        true => {
            let metadata = metadata.with_snapshots_of_refs();
            call.loaded(&granted, name, Some(&location), &metadata, Some(tag))
        }
        false => call.loaded(&granted, name, Some(&location), &metadata, Some(tag)),
    }
}

pub(crate) fn exists(call: &Call<'_>) -> Answer {
    let granted = call.granted()?;
    written(call.store.table(granted.bucket(), TableKind::Table, &named(call.identifier()?)?)?)?;
    Ok(Output::Empty)
}

pub(crate) fn commit(call: &Call<'_>) -> Answer {
    let commit = call.read(CommitTable::from_value)?;
    let name = call.identifier()?;
    if commit.identifier.as_ref().is_some_and(|other| other != name) {
        return Err(Exception::bad_request(format!(
            "The commit is for another table than {name}, which the path names."
        )));
    }
    let granted = call.granted()?;
    if commit.is_create() {
        call.allows(&granted, &[Action::CreateTable], name)?;
    }
    let committed = call.commit(&granted, &[(name, &commit)])?;
    let committed = committed.first().ok_or_else(Exception::no_such_route)?;
    Ok(committed_output(&committed.location, &committed.metadata))
}

/// The answer to a commit: `CommitTableResponse`.
fn committed_output(location: &str, metadata: &TableMetadata) -> Output {
    let tag = tag_of(location, false);
    let (location, metadata) = (Value::from(location), metadata.to_bytes());
    let start = format!("{{\"metadata-location\":{location},\"metadata\":");
    Output::Json([start.as_bytes(), &metadata, b"}"].concat(), Some(tag))
}

/// The answer to a commit whose metadata are at a location.
pub(crate) fn committed_at(call: &Call<'_>, granted: &Granted, location: &str) -> Answer {
    let metadata = call.shared.files.table(call.store, granted.bucket(), location)?;
    Ok(committed_output(location, &metadata))
}

/// The answer to the creation of a table whose metadata are at a location.
pub(crate) fn loaded_at(
    call: &Call<'_>,
    granted: &Granted,
    name: &Identifier,
    location: &str,
) -> Answer {
    let metadata = call.shared.files.table(call.store, granted.bucket(), location)?;
    call.loaded(granted, name, Some(location), &metadata, None)
}

pub(crate) fn drop(call: &Call<'_>) -> Answer {
    let granted = call.granted()?;
    let name = call.identifier()?;
    // PyIceberg writes `True`.
    let is_purge = match call.parameter("purgeRequested") {
        None | Some("") => false,
        Some(value) if value.eq_ignore_ascii_case("false") => false,
        Some(value) if value.eq_ignore_ascii_case("true") => true,
        Some(_) => return Err(Exception::bad_request("purgeRequested must be true or false.")),
    };
    match is_purge {
        true => call.purge(&granted, name)?,
        false => {
            call.writer(once::empty)?
                .drop_table(granted.bucket(), TableKind::Table, named(name)?)
                .wait()?;
        }
    }
    Ok(Output::Empty)
}

pub(crate) fn metrics(call: &Call<'_>) -> Answer {
    let granted = call.granted()?;
    call.store.table(granted.bucket(), TableKind::Table, &named(call.identifier()?)?)?;
    call.document()?;
    Ok(Output::Empty)
}

pub(crate) fn rename(call: &Call<'_>) -> Answer {
    rename_of(call, TableKind::Table)
}

/// Renames a table or view.
pub(crate) fn rename_of(call: &Call<'_>, kind: TableKind) -> Answer {
    let Rename { source, destination } = call.read(Rename::from_value)?;
    let action = [call.route.operation.action];
    let granted = call.granted_on(&action, Some(source.namespace()), Some(source.name()))?;
    // A policy for the new name must allow that it appears.
    call.allows(&granted, &action, &destination)?;
    let (from, to) = (named(&source)?, named(&destination)?);
    call.writer(once::empty)?.rename_table(granted.bucket(), kind, from, to).wait()?;
    Ok(Output::Empty)
}

/// The entity tag of a table whose metadata are at a location.
fn tag_of(location: &str, of_refs: bool) -> HeaderValue {
    let mut hasher = DefaultHasher::new();
    (location, of_refs).hash(&mut hasher);
    HeaderValue::from_str(&format!("\"{:016x}\"", hasher.finish()))
        .unwrap_or_else(|_| HeaderValue::from_static("\"\""))
}

impl Call<'_> {
    /// `true` if the client has what the entity tag stands for.
    fn has(&self, tag: &HeaderValue) -> bool {
        let values = self.sent.headers.get_all(IF_NONE_MATCH).iter();
        let mut tags = values.filter_map(|value| value.to_str().ok()).flat_map(|it| it.split(','));
        tags.any(|known| known.trim().trim_start_matches("W/").as_bytes() == tag.as_bytes())
    }

    /// A table or view in the namespace of the path.
    pub(crate) fn named(&self, name: &str) -> ApiResult<Identifier> {
        let namespace: &Namespace = self.namespace()?;
        Identifier::new(namespace.clone(), name)
            .map_err(|error| Exception::bad_request(error.to_string()))
    }

    /// Authorizes the operation on a table or view that the body names.
    pub(crate) fn granted_named(&self, name: &Identifier) -> ApiResult<Granted> {
        let action = [self.route.operation.action];
        self.granted_on(&action, Some(name.namespace()), Some(name.name()))
    }

    /// The location of a new table or view, which may ask for one.
    pub(crate) fn location_of(
        &self,
        granted: &Granted,
        name: &Identifier,
        asked: Option<&str>,
        uuid: &str,
    ) -> ApiResult<Place> {
        let bucket = granted.bucket();
        let asked = asked.filter(|asked| !self.is_overridden(bucket, asked));
        let location = match asked {
            Some(asked) => trimmed(asked).to_owned(),
            None => self.location_of_new(granted, name, uuid)?,
        };
        key_of(bucket, &location)?;
        Ok(Place { location, is_own: asked.is_none() })
    }

    /// `true` for a location that a client asks for and does not get.
    pub(crate) fn is_overridden(&self, bucket: &Bucket, asked: &str) -> bool {
        self.shared.settings.own_locations && key_of(bucket, asked).is_err()
    }

    /// The location of a new table or view that names none.
    pub(crate) fn location_of_new(
        &self,
        granted: &Granted,
        name: &Identifier,
        uuid: &str,
    ) -> ApiResult<String> {
        let base = self.base_of(granted.bucket(), name.namespace())?;
        let id = uuid.get(..8).unwrap_or_default();
        Ok(format!("{base}/{}-{id}", plain(name.name())))
    }

    /// Checks that a table can be created, which may be refused all the same later.
    fn require_free(&self, granted: &Granted, name: &Identifier) -> ApiResult<()> {
        let (bucket, table) = (granted.bucket(), named(name)?);
        self.store.namespace(bucket, table.namespace())?;
        let name = name.to_string();
        if self.store.table(bucket, TableKind::Table, &table).is_ok() {
            return Err(CatalogError::TableExists { name }.into());
        }
        if self.store.table(bucket, TableKind::View, &table).is_ok() {
            return Err(CatalogError::NameTaken { name, by: "view" }.into());
        }
        Ok(())
    }

    /// The answer with a table: `LoadTableResult`. A staged one has no location of metadata yet.
    fn loaded(
        &self,
        granted: &Granted,
        name: &Identifier,
        location: Option<&str>,
        metadata: &TableMetadata,
        tag: Option<HeaderValue>,
    ) -> Answer {
        let mut answer = Map::new();
        if let Some(location) = location {
            answer.insert("metadata-location".to_owned(), location.into());
        }
        self.add_credentials(&mut answer, granted, name, metadata)?;
        // The metadata are large, so their text is put in as it is.
        let mut text = Value::Object(answer).to_string().into_bytes();
        text.pop();
        let comma = if text.len() > 1 { "," } else { "" };
        text.extend_from_slice(comma.as_bytes());
        text.extend_from_slice(b"\"metadata\":");
        text.extend_from_slice(&metadata.to_bytes());
        text.push(b'}');
        let tag = tag.or_else(|| location.map(|location| tag_of(location, false)));
        Ok(Output::Json(text, tag))
    }
}
