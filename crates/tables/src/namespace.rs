//! Operations on namespaces.

use liteio_iceberg::{CreateNamespace, Namespace, UpdateNamespaceProperties};
use liteio_store::StoreError;
use liteio_store::tables::{NamespaceName, PropertyChange};
use percent_encoding::percent_decode_str;
use serde_json::json;

use super::error::{ApiResult, Exception};
use super::{Answer, Call, Output, once};

/// A namespace as the store has it.
pub(crate) fn stored(namespace: &Namespace) -> Result<NamespaceName, StoreError> {
    NamespaceName::new(namespace.levels().to_vec())
}

fn of_path(path: &str) -> ApiResult<Namespace> {
    Namespace::from_path(path).map_err(|error| Exception::bad_request(error.to_string()))
}

pub(crate) fn list(call: &Call<'_>) -> Answer {
    let mut parent = match call.parameter("parent") {
        None | Some("") => None,
        Some(path) => Some(of_path(path)?),
    };
    let granted_on =
        |parent: Option<&Namespace>| call.granted_on(&[call.route.operation.action], parent, None);
    let mut granted = granted_on(parent.as_ref())?;
    // PyIceberg encodes the parameter twice.
    if let Some(path) = call.parameter("parent").filter(|path| path.contains('%'))
        && let Some(once) = &parent
        && call.store.namespace(granted.bucket(), &stored(once)?).is_err()
        && let Ok(path) = percent_decode_str(path).decode_utf8()
    {
        parent = Some(of_path(&path)?);
        granted = granted_on(parent.as_ref())?;
    }
    let parent = parent.as_ref().map(stored).transpose()?;
    let page = call.page(|range| {
        let page = call.store.list_namespaces(granted.bucket(), parent.as_ref(), range)?;
        let levels = |name: &NamespaceName| name.levels().map(str::to_owned).collect::<Vec<_>>();
        Ok((page.namespaces.iter().map(levels).collect(), page.next))
    })?;
    Output::json(&json!({ "namespaces": page.items, "next-page-token": page.token }))
}

pub(crate) fn create(call: &Call<'_>) -> Answer {
    let request = call.read(CreateNamespace::from_value)?;
    let action = call.route.operation.action;
    let granted = call.granted_on(&[action], Some(&request.namespace), None)?;
    let (name, properties) = (stored(&request.namespace)?, request.properties.clone());
    let writer = call.writer(|| once::of_namespace(&request.namespace))?;
    writer.create_namespace(granted.bucket(), name, properties).wait()?;
    let namespace = request.namespace.to_value();
    Output::json(&json!({ "namespace": namespace, "properties": request.properties }))
}

pub(crate) fn load(call: &Call<'_>) -> Answer {
    let granted = call.granted()?;
    let namespace = call.namespace()?;
    let found = call.store.namespace(granted.bucket(), &stored(namespace)?)?;
    let namespace = namespace.to_value();
    Output::json(&json!({ "namespace": namespace, "properties": found.properties }))
}

pub(crate) fn exists(call: &Call<'_>) -> Answer {
    let granted = call.granted()?;
    call.store.namespace(granted.bucket(), &stored(call.namespace()?)?)?;
    Ok(Output::Empty)
}

pub(crate) fn drop(call: &Call<'_>) -> Answer {
    let granted = call.granted()?;
    call.writer(once::empty)?
        .drop_namespace(granted.bucket(), stored(call.namespace()?)?)
        .wait()?;
    Ok(Output::Empty)
}

pub(crate) fn update(call: &Call<'_>) -> Answer {
    let granted = call.granted()?;
    let request = call.read(UpdateNamespaceProperties::from_value)?;
    if let Some(key) = request.in_both() {
        return Err(Exception::unprocessable(format!(
            "The property {key:?} is both removed and set."
        )));
    }
    let UpdateNamespaceProperties { removals, updates } = request;
    let updated: Vec<_> = updates.keys().cloned().collect();
    let change = PropertyChange { removals: removals.clone(), updates };
    let name = stored(call.namespace()?)?;
    let answer = |removed: &[String]| {
        let missing: Vec<_> = removals.iter().filter(|key| !removed.contains(key)).collect();
        json!({ "updated": updated, "removed": removed, "missing": missing })
    };
    // The answer is kept with the change, so it is foretold. Another change may come between, which has removed the same.
    let there: Vec<_> = match &call.once {
        Some(_) => {
            let found = call.store.namespace(granted.bucket(), &name)?.properties;
            removals.iter().filter(|key| found.contains_key(*key)).cloned().collect()
        }
        None => Vec::new(),
    };
    let writer = call.writer(|| once::of_document(&answer(&there)))?;
    let removed = writer.set_namespace_properties(granted.bucket(), name, change).wait()?;
    Output::json(&answer(&removed))
}

impl Call<'_> {
    /// The location below which tables and views of a namespace are put that have none: that of the property
    /// `location` of the namespace, or its levels below the bucket.
    pub(crate) fn base_of(
        &self,
        bucket: &liteio_store::Bucket,
        namespace: &Namespace,
    ) -> ApiResult<String> {
        let found = self.store.namespace(bucket, &stored(namespace)?)?;
        if let Some(location) = found.properties.get("location") {
            super::warehouse::key_of(bucket, location)?;
            return Ok(super::warehouse::trimmed(location).to_owned());
        }
        let levels: Vec<_> = namespace.levels().iter().map(|level| plain(level)).collect();
        Ok(format!("s3://{}/{}", bucket.name, levels.join("/")))
    }
}

/// A name as a segment of a location: other characters than letters, digits, `_`, `-` and `.` become `_`, since
/// clients disagree about their encoding. A location has an id, too, so that two names never share one.
pub(crate) fn plain(name: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.');
    name.chars().map(|it| if is_plain(it) { it } else { '_' }).collect()
}
