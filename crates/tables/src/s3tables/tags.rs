//! Tags of table buckets and tables.

use liteio_access::{Action, Granted};
use liteio_store::DocumentKind;
use liteio_store::tables::{Table, TableDocument, TableTags};
use serde_json::{Value, json};

use super::resource::{given, granted};
use super::table::by_id;
use crate::context::RequestTags;
use crate::error::{ApiResult, Exception};
use crate::route::Subject;
use crate::{Answer, Call, Output};

/// Most tags of a resource. AWS's limit.
const TAGS_MAX: usize = 50;
const KEY_CHARACTERS_MAX: usize = 128;
const VALUE_CHARACTERS_MAX: usize = 256;

/// The resource of a request.
struct Tagged {
    granted: Granted,
    /// `None` for the table bucket.
    table: Option<Table>,
    tags: TableTags,
}

pub(super) fn list(call: &Call<'_>) -> Answer {
    let Tagged { tags, .. } = tagged(call)?;
    Output::json(&json!({ "tags": tags.0 }))
}

pub(super) fn add(call: &Call<'_>) -> Answer {
    let document = call.document()?;
    let tags = of_body(&document)?;
    if tags.is_empty() {
        return Err(Exception::bad_request("tags are missing."));
    }
    note(call, &tags, true);
    change(call, move |of_resource| {
        of_resource.extend(tags.iter().cloned());
        of_resource.len() <= TAGS_MAX
    })?;
    Output::json(&json!({}))
}

pub(super) fn remove(call: &Call<'_>) -> Answer {
    let keys: Vec<String> = call
        .sent
        .query
        .iter()
        .filter(|(name, _)| name == "tagKeys")
        .map(|(_, key)| key.clone())
        .collect();
    if keys.is_empty() {
        return Err(Exception::bad_request("tagKeys are missing."));
    }
    let tags: Vec<_> = keys.iter().map(|key| (key.clone(), String::new())).collect();
    note(call, &tags, false);
    change(call, move |of_resource| {
        of_resource.retain(|key, _| !keys.contains(key));
        true
    })?;
    Ok(Output::Empty)
}

/// The tags in the body of a creation, which needs the permission to set them, too.
pub(super) fn of_new(call: &Call<'_>, document: &Value) -> ApiResult<TableTags> {
    let tags = of_body(document)?;
    if !tags.is_empty() {
        note(call, &tags, true);
    }
    Ok(TableTags(tags.into_iter().collect()))
}

/// The actions of a creation with these tags.
pub(super) fn actions_of_new(call: &Call<'_>, tags: &TableTags) -> Vec<Action> {
    let tagging = (!tags.0.is_empty()).then_some(Action::TagTables);
    [call.route.operation.action].into_iter().chain(tagging).collect()
}

/// Notes the tags for conditions of policies.
fn note(call: &Call<'_>, tags: &[(String, String)], are_set: bool) {
    // An operation reads its tags once.
    let _ = call.sent.tags.set(RequestTags { tags: tags.to_vec(), are_set });
}

/// Decides on the resource of the route, and finds its tags.
fn tagged(call: &Call<'_>) -> ApiResult<Tagged> {
    let decode = |document: Option<&[u8]>| document.map(TableTags::decode).transpose();
    match &call.route.subject {
        Subject::Id(id) => {
            let (granted, table) = by_id(call, id)?;
            let found = call.store.table_with_settings(granted.bucket(), &table.name)?;
            let settings = found.filter(|(found, _)| found.uuid == table.uuid).map(|it| it.1);
            let settings = settings.unwrap_or_default();
            let tags = decode(settings.document(TableDocument::Tags))?.unwrap_or_default();
            Ok(Tagged { granted, table: Some(table), tags })
        }
        _ => {
            let granted = granted(call)?;
            let document = granted.bucket().settings.document(DocumentKind::TableBucketTags);
            let tags = decode(document)?.unwrap_or_default();
            Ok(Tagged { granted, table: None, tags })
        }
    }
}

/// Changes the tags of the resource of the route in one transaction. `change_all` returns `false` for too many.
fn change(
    call: &Call<'_>,
    change_all: impl Fn(&mut std::collections::BTreeMap<String, String>) -> bool + Send + 'static,
) -> ApiResult<()> {
    let Tagged { granted, table, .. } = tagged(call)?;
    let changed = move |document: Option<&[u8]>| {
        let mut tags = document.map(TableTags::decode).transpose()?.unwrap_or_default();
        match change_all(&mut tags.0) {
            true => Ok(tags.encode()),
            false => Err(liteio_store::StoreError::InvalidRequest {
                message: format!("A resource has at most {TAGS_MAX} tags."),
            }),
        }
    };
    let pending = match table {
        None => {
            let kind = DocumentKind::TableBucketTags;
            call.store.change_document(granted.bucket(), kind, changed)
        }
        Some(table) => {
            let id = (table.name, table.uuid);
            call.store.change_table_settings(granted.bucket(), id, move |settings| {
                let document = changed(settings.document(TableDocument::Tags))?;
                settings.set(TableDocument::Tags, document);
                Ok(())
            })
        }
    };
    Ok(pending.wait()?)
}

/// The tags of a body, checked.
fn of_body(document: &Value) -> ApiResult<Vec<(String, String)>> {
    let Some(tags) = given(document, "tags") else { return Ok(Vec::new()) };
    let tags = tags.as_object().ok_or_else(|| Exception::bad_request("tags must be a map."))?;
    if tags.len() > TAGS_MAX {
        return Err(Exception::bad_request(format!("A resource has at most {TAGS_MAX} tags.")));
    }
    let pair = |(key, value): (&String, &Value)| {
        let value = value.as_str();
        let value = value.ok_or_else(|| Exception::bad_request("Values of tags are strings."))?;
        check(key, value)?;
        Ok((key.clone(), value.to_owned()))
    };
    tags.iter().map(pair).collect()
}

fn check(key: &str, value: &str) -> ApiResult<()> {
    let is_sign = |it: char| it.is_alphanumeric() || it == ' ' || "_.:/=+-@".contains(it);
    let is_reserved =
        key.as_bytes().get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case(b"aws:"));
    let is_valid = (1..=KEY_CHARACTERS_MAX).contains(&key.chars().count())
        && value.chars().count() <= VALUE_CHARACTERS_MAX
        && key.chars().chain(value.chars()).all(is_sign);
    if is_reserved {
        return Err(Exception::bad_request("Keys of tags that begin with aws: are reserved."));
    }
    match is_valid {
        true => Ok(()),
        false => Err(Exception::bad_request(format!(
            "Keys of tags have 1 to {KEY_CHARACTERS_MAX} characters, values up to {VALUE_CHARACTERS_MAX}: letters, digits, spaces and _.:/=+-@"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_checked() {
        let of = |tags: Value| of_body(&json!({ "tags": tags }));
        assert_eq!(
            of(json!({ "team": "a b" })).expect("tags"),
            [("team".to_owned(), "a b".to_owned())]
        );
        assert_eq!(of_body(&json!({})).expect("none"), []);
        for wrong in [
            json!({ "": "v" }),
            json!({ "aws:x": "v" }),
            json!({ "AWS:x": "v" }),
            json!({ "k": 1 }),
            json!({ "k": "a\nb" }),
            json!({ "k".repeat(129): "v" }),
            json!(["k"]),
        ] {
            of(wrong.clone()).expect_err(&wrong.to_string());
        }
    }
}
