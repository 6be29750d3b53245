//! Operations on tables.

use liteio_access::{Action, Granted};
use liteio_iceberg::TableMetadata;
use liteio_store::StoreError;
use liteio_store::tables::{
    Expected, Table, TableChange, TableDocument, TableKind, TableSettings, TableWalk,
};
use serde_json::json;

use super::error::{not_implemented, stale};
use super::resource::{
    Arn, account, check_name, given, granted, granted_in, granted_named, namespace_of, no_bucket,
    optional_text, page_of, parameter, table_arn, table_of, text, time,
};
use super::token::{continuation_of, position_of, position_of_table, table_at, version_of};
use super::{encryption, schema, tags};
use crate::commit::{Loaded, named};
use crate::error::{ApiResult, Exception};
use crate::metadata::{is_unwritten, new_uuid, text_of_uuid};
use crate::namespace::stored;
use crate::route::Subject;
use crate::warehouse::trimmed;
use crate::{Answer, Call, Output, context, place};

pub(super) fn create(call: &Call<'_>) -> Answer {
    let document = call.document()?;
    let name = text(&document, "name")?;
    check_name(name)?;
    if text(&document, "format")? != "ICEBERG" {
        return Err(Exception::bad_request("format must be ICEBERG."));
    }
    schema::check_storage_class(&document)?;
    let tags = tags::of_new(call, &document)?;
    let request = schema::request_of(&document, name)?;
    let name = call.named(name)?;
    let granted = granted_named(call, &tags::actions_of_new(call, &tags), &name)?;
    let mut settings = TableSettings::default();
    settings.set(TableDocument::Tags, tags.encode());
    if let Some(asked) = given(&document, "encryptionConfiguration")
        && !encryption::is_of_bucket(call, granted.bucket(), asked)?
    {
        return Err(not_implemented("Tables have the encryption of their table bucket."));
    }
    let id = new_uuid()?;
    let uuid = text_of_uuid(&id);
    let location = call.location_of_new(&granted, &name, &uuid)?;
    place::note(&mut settings, &location);
    let location = match request {
        Some(request) => {
            call.allows(&granted, &[Action::PutTableData], &name)?;
            let metadata = TableMetadata::create(&request, &uuid, &location, call.now_ms())?;
            let Loaded { location, .. } = call.create(&granted, &name, metadata, settings)?;
            location
        }
        // The client writes the first metadata file.
        None => {
            let (kind, place) = (TableKind::Table, format!("{location}/"));
            let change =
                TableChange::new(kind, named(&name)?, Expected::Missing, id, place.clone());
            let change = change.with_settings(settings);
            call.store.commit_tables(granted.bucket(), vec![change]).wait()?;
            place
        }
    };
    let arn = table_arn(call, &granted, &id);
    Output::json(&json!({ "tableARN": arn, "versionToken": version_of(&location) }))
}

pub(super) fn get(call: &Call<'_>) -> Answer {
    let (granted, table) = match &call.route.subject {
        Subject::Id(id) => by_id(call, id)?,
        _ => {
            let granted = granted(call)?;
            let name = named(call.identifier()?)?;
            let table = call.store.table(granted.bucket(), TableKind::Table, &name)?;
            (granted, table)
        }
    };
    let (metadata_location, warehouse_location) = locations(call, &granted, &table)?;
    let account = account(call, &granted);
    let mut answer = json!({
        "name": table.name.name(),
        "type": "customer",
        "tableARN": table_arn(call, &granted, &table.uuid),
        "namespace": table.name.namespace().levels().collect::<Vec<_>>(),
        "versionToken": version_of(&table.location),
        "warehouseLocation": warehouse_location,
        "createdAt": time(table.created_ms),
        "createdBy": account,
        "modifiedAt": time(table.updated_ms),
        "modifiedBy": account,
        "ownerAccountId": account,
        "format": "ICEBERG",
    });
    if let Some(location) = metadata_location {
        answer["metadataLocation"] = location.into();
    }
    Output::json(&answer)
}

/// The table with an id, in the bucket of the route. Only then are its names known, on which permission is decided, too.
pub(super) fn by_id(call: &Call<'_>, id: &[u8; 16]) -> ApiResult<(Granted, Table)> {
    let Arn { account: of_arn, bucket, .. } =
        Arn::of_bucket(call.route.prefix.as_deref().unwrap_or_default())?;
    let context = context::Asked(call.sent);
    let actions = [call.route.operation.action];
    let question = call.question(&actions, None, None, &context);
    let found = call.shared.buckets.table_by_id(call.store, &question, (bucket, id));
    let (granted, table) = found.map_err(|refusal| call.refused(refusal))?;
    match of_arn == account(call, &granted) {
        true => Ok((granted, table)),
        false => Err(no_bucket()),
    }
}

/// The location of the metadata file of a table, if it has one, and that of its files.
pub(super) fn locations(
    call: &Call<'_>,
    granted: &Granted,
    table: &Table,
) -> ApiResult<(Option<String>, String)> {
    if is_unwritten(&table.location) {
        return Ok((None, trimmed(&table.location).to_owned()));
    }
    let metadata = call.shared.files.table(call.store, granted.bucket(), &table.location)?;
    Ok((Some(table.location.clone()), metadata.location().to_owned()))
}

pub(super) fn list(call: &Call<'_>) -> Answer {
    let namespace = parameter(call, "namespace").map(namespace_of).transpose()?;
    let granted = match &namespace {
        Some(namespace) => granted_in(call, namespace)?,
        None => granted(call)?,
    };
    let after = parameter(call, "continuationToken").map(position_of).transpose()?;
    let walk = TableWalk {
        namespace: namespace.as_ref().map(stored).transpose()?,
        prefix: parameter(call, "prefix").unwrap_or_default().to_owned(),
        after: after.as_deref().map(table_at).transpose()?,
        max: page_of(call, "maxTables")?,
    };
    let page = call.store.walk_tables(granted.bucket(), &walk)?;
    if let Some(name) = page.unreadable.first() {
        return Err(StoreError::Corrupt { what: format!("the record of table {name}") }.into());
    }
    let summary = |table: &Table| {
        json!({
            "namespace": table.name.namespace().levels().collect::<Vec<_>>(),
            "name": table.name.name(),
            "type": "customer",
            "tableARN": table_arn(call, &granted, &table.uuid),
            "createdAt": time(table.created_ms),
            "modifiedAt": time(table.updated_ms),
        })
    };
    let tables: Vec<_> = page.tables.iter().map(summary).collect();
    let mut answer = json!({ "tables": tables });
    if let Some(next) = page.next {
        answer["continuationToken"] = continuation_of(&position_of_table(&next)).into();
    }
    Output::json(&answer)
}

/// Deletes a table with its files, as AWS does.
pub(super) fn delete(call: &Call<'_>) -> Answer {
    let granted = granted(call)?;
    let name = call.identifier()?;
    let table = call.store.table(granted.bucket(), TableKind::Table, &named(name)?)?;
    let expected = expected(&table, parameter(call, "versionToken"))?;
    let (_, location) = locations(call, &granted, &table)?;
    call.purge_below(&granted, name, &location, expected)?;
    Ok(Output::Empty)
}

pub(super) fn rename(call: &Call<'_>) -> Answer {
    let document = call.document()?;
    let field = |field| optional_text(&document, field);
    let (namespace, name) = (field("newNamespaceName")?, field("newName")?);
    if namespace.is_none() && name.is_none() {
        return Err(Exception::bad_request("newNamespaceName or newName must be given."));
    }
    [namespace, name].into_iter().flatten().try_for_each(check_name)?;
    let from = call.identifier()?;
    let to = match (namespace, name.unwrap_or(from.name())) {
        (None, name) => call.named(name)?,
        (Some(namespace), name) => table_of(namespace, name)?,
    };
    let granted = granted(call)?;
    // A policy for the new name must allow that it appears.
    call.allows(&granted, &[call.route.operation.action], &to)?;
    let kind = TableKind::Table;
    let table = call.store.table(granted.bucket(), kind, &named(from)?)?;
    let expected = expected(&table, field("versionToken")?)?;
    let names = (named(from)?, named(&to)?);
    call.store.rename_table_at(granted.bucket(), kind, names, expected).wait()?;
    Ok(Output::Empty)
}

/// The location on which a change was decided: that of the version that the request names, if it names one.
fn expected(table: &Table, version: Option<&str>) -> ApiResult<Option<String>> {
    match version {
        None => Ok(None),
        Some(version) if version == version_of(&table.location) => Ok(Some(table.location.clone())),
        Some(_) => Err(stale()),
    }
}
