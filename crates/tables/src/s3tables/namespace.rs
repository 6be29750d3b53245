//! Operations on namespaces. Those of S3 Tables have one level; the REST catalog may put others into them.

use std::collections::BTreeMap;

use liteio_access::Granted;
use liteio_iceberg::Namespace;
use liteio_store::tables::{Namespace as Stored, NamespaceWalk};
use serde_json::{Value, json};

use super::resource::{
    account, bucket_arn, check_name, granted, granted_in, page_of, parameter, time,
};
use super::token::{continuation_of, position_of};
use crate::error::Exception;
use crate::namespace::stored;
use crate::{Answer, Call, Output};

pub(super) fn create(call: &Call<'_>) -> Answer {
    let document = call.document()?;
    let levels = document.get("namespace").unwrap_or(&Value::Null);
    let namespace = Namespace::from_value(levels);
    let namespace = namespace.map_err(|error| Exception::bad_request(error.to_string()))?;
    let [name] = namespace.levels() else {
        return Err(Exception::bad_request("A namespace of S3 Tables has one level."));
    };
    check_name(name)?;
    let granted = granted_in(call, &namespace)?;
    let name = stored(&namespace)?;
    call.store.create_namespace(granted.bucket(), name, BTreeMap::new()).wait()?;
    let arn = bucket_arn(call, &granted);
    Output::json(&json!({ "tableBucketARN": arn, "namespace": namespace.to_value() }))
}

pub(super) fn get(call: &Call<'_>) -> Answer {
    let granted = granted(call)?;
    let found = call.store.namespace(granted.bucket(), &stored(call.namespace()?)?)?;
    Output::json(&summary(call, &granted, &found))
}

pub(super) fn list(call: &Call<'_>) -> Answer {
    let granted = granted(call)?;
    let walk = NamespaceWalk {
        prefix: parameter(call, "prefix").unwrap_or_default().to_owned(),
        after: parameter(call, "continuationToken").map(position_of).transpose()?,
        max: page_of(call, "maxNamespaces")?,
    };
    let page = call.store.walk_namespaces(granted.bucket(), &walk)?;
    let found: Vec<_> = page.namespaces.iter().map(|it| summary(call, &granted, it)).collect();
    let mut answer = json!({ "namespaces": found });
    if let Some(next) = page.next {
        answer["continuationToken"] = continuation_of(&next).into();
    }
    Output::json(&answer)
}

pub(super) fn delete(call: &Call<'_>) -> Answer {
    let granted = granted(call)?;
    call.store.drop_namespace(granted.bucket(), stored(call.namespace()?)?).wait()?;
    Ok(Output::Empty)
}

fn summary(call: &Call<'_>, granted: &Granted, namespace: &Stored) -> Value {
    let account = account(call, granted);
    json!({
        "namespace": namespace.name.levels().collect::<Vec<_>>(),
        "createdAt": time(namespace.created_ms),
        "createdBy": account,
        "ownerAccountId": account,
    })
}
