//! Operations on views.

use http::header::HeaderValue;
use liteio_access::{Action, Granted};
use liteio_iceberg::{CommitView, CreateView, Identifier, ViewMetadata, ViewUpdate};
use liteio_store::tables::{Expected, TableChange, TableKind};
use serde_json::Value;

use super::commit::{Attempt, named, until_first};
use super::error::{ApiResult, Exception};
use super::metadata::{NewFile, new_uuid, read, text_of_uuid, uuid_of};
use super::register::Registered;
use super::table::{list_of, rename_of};
use super::{Answer, Call, Output, once};

pub(crate) fn list(call: &Call<'_>) -> Answer {
    list_of(call, TableKind::View)
}

pub(crate) fn create(call: &Call<'_>) -> Answer {
    let request = call.read(CreateView::from_value)?;
    let name = call.named(&request.name)?;
    let granted = call.granted_named(&name)?;
    let uuid = text_of_uuid(&new_uuid()?);
    let place = call.location_of(&granted, &name, request.location.as_deref(), &uuid)?;
    let metadata = ViewMetadata::create(&request, &uuid, &place.location, call.now_ms())?;
    let location = call.write_view(&granted, &name, &metadata, Expected::Missing)?;
    loaded(&location, &metadata)
}

pub(crate) fn register(call: &Call<'_>) -> Answer {
    let Registered { location, metadata, .. } = call.register::<ViewMetadata>(TableKind::View)?;
    loaded(&location, &metadata)
}

pub(crate) fn load(call: &Call<'_>) -> Answer {
    let granted = call.granted()?;
    let name = call.identifier()?;
    call.allows(&granted, &[Action::GetTableData], name)?;
    let (location, metadata) = call.view(&granted, name)?;
    loaded(&location, &metadata)
}

pub(crate) fn exists(call: &Call<'_>) -> Answer {
    let granted = call.granted()?;
    call.store.table(granted.bucket(), TableKind::View, &named(call.identifier()?)?)?;
    Ok(Output::Empty)
}

pub(crate) fn commit(call: &Call<'_>) -> Answer {
    let mut commit = call.read(CommitView::from_value)?;
    let name = call.identifier()?;
    if commit.identifier.as_ref().is_some_and(|other| other != name) {
        return Err(Exception::bad_request(format!(
            "The commit is for another view than {name}, which the path names."
        )));
    }
    let granted = call.granted()?;
    commit.updates.retain(|update| match update {
        ViewUpdate::SetLocation(asked) => !call.is_overridden(granted.bucket(), asked),
        _ => true,
    });
    let (location, metadata) = until_first(|| call.try_commit_view(&granted, name, &commit))?;
    loaded(&location, &metadata)
}

pub(crate) fn drop(call: &Call<'_>) -> Answer {
    let granted = call.granted()?;
    call.writer(once::empty)?
        .drop_table(granted.bucket(), TableKind::View, named(call.identifier()?)?)
        .wait()?;
    Ok(Output::Empty)
}

pub(crate) fn rename(call: &Call<'_>) -> Answer {
    rename_of(call, TableKind::View)
}

/// The answer with a view: `LoadViewResult`.
fn loaded(location: &str, metadata: &ViewMetadata) -> Answer {
    let location = Value::from(location);
    let start = format!("{{\"metadata-location\":{location},\"config\":{{}},\"metadata\":");
    let text = [start.as_bytes(), &metadata.to_bytes(), b"}"].concat();
    Ok(Output::Json(text, None::<HeaderValue>))
}

/// The answer with a view whose metadata are at a location.
pub(crate) fn loaded_at(call: &Call<'_>, granted: &Granted, location: &str) -> Answer {
    let (metadata, _) = read(call.store, granted.bucket(), location)?;
    loaded(location, &metadata)
}

impl Call<'_> {
    /// The current state of a view.
    fn view(&self, granted: &Granted, name: &Identifier) -> ApiResult<(String, ViewMetadata)> {
        let view = self.store.table(granted.bucket(), TableKind::View, &named(name)?)?;
        let (metadata, _) = read(self.store, granted.bucket(), &view.location)?;
        Ok((view.location, metadata))
    }

    fn try_commit_view(
        &self,
        granted: &Granted,
        name: &Identifier,
        commit: &CommitView,
    ) -> Result<(String, ViewMetadata), Attempt<Exception>> {
        let (location, metadata) = self.view(granted, name)?;
        for requirement in &commit.requirements {
            metadata.check(requirement).map_err(Exception::from)?;
        }
        let next = metadata.apply(&commit.updates, self.now_ms()).map_err(Exception::from)?;
        if next == metadata {
            self.unchanged(|| once::of_metadata(name, &location))?;
            return Ok((location, metadata));
        }
        let location = self.write_view(granted, name, &next, Expected::Location(location))?;
        Ok((location, next))
    }

    /// Writes the metadata of a view, and returns their location.
    fn write_view(
        &self,
        granted: &Granted,
        name: &Identifier,
        metadata: &ViewMetadata,
        expected: Expected,
    ) -> Result<String, Attempt<Exception>> {
        let previous = match &expected {
            Expected::Missing => None,
            Expected::Location(location) => Some(&**location),
        };
        let (app, owner) = (&self.shared.app, granted.owner());
        let file = NewFile::stage(app, granted.bucket(), owner, metadata, previous)?;
        let (uuid, location) = (uuid_of(metadata.uuid()), file.location);
        let view = named(name).map_err(Exception::from)?;
        let change = TableChange::new(TableKind::View, view, expected, uuid, location.clone());
        let change = change.with_metadata(file.metadata);
        let writer = self.writer(|| once::of_metadata(name, &location))?;
        writer.commit_tables(granted.bucket(), vec![change]).wait()?;
        Ok(location)
    }
}
