//! Operations on table buckets. They are ordinary buckets: each has a catalog.

use liteio_access::{Action, GrantedAccount, Refusal, TableQuestion};
use liteio_store::{DocumentKind, ListBuckets, NewBucket};
use serde_json::{Value, json};

use super::error::{not_implemented, of_bucket};
use super::resource::{
    account, bucket_arn, check_bucket_name, given, granted, page_of, parameter, text, time,
};
use super::token::{continuation_of, position_of};
use super::{encryption, schema, tags};
use crate::error::ApiResult;
use crate::maintenance::BucketMaintenance;
use crate::{Answer, Call, Output, context};

pub(super) fn create(call: &Call<'_>) -> Answer {
    let document = call.document()?;
    let name = text(&document, "name")?;
    check_bucket_name(name)?;
    schema::check_storage_class(&document)?;
    let tags = tags::of_new(call, &document)?;
    let app = &call.shared.app;
    if let Some(asked) = given(&document, "encryptionConfiguration")
        && (!app.encrypts_by_default || !encryption::is_of_master_key(asked)?)
    {
        return Err(not_implemented(
            "Create the table bucket without encryptionConfiguration, then set that by PutTableBucketEncryption.",
        ));
    }
    let buckets = &call.shared.buckets;
    let actions = tags::actions_of_new(call, &tags);
    let granted = of_account(call, &actions, |question| buckets.new_bucket(question, name))?;
    let owner = granted.owner();
    let arn = buckets.arn(&owner.id, name);
    let name = granted.new_bucket_name(name.to_owned()).map_err(of_bucket)?;
    let mut documents = app.documents_of_new_bucket(app.object_ownership);
    documents.extend(tags.encode().map(|tags| (DocumentKind::TableBucketTags, tags)));
    // As AWS: tables of such a bucket are maintained unless that is switched off.
    let maintenance = BucketMaintenance::of_table_bucket().document();
    documents.push((DocumentKind::TableMaintenance, maintenance));
    let new = NewBucket::new(name, owner, app.region.clone());
    call.store.create_bucket(NewBucket { documents, ..new }).wait().map_err(of_bucket)?;
    Output::json(&json!({ "arn": arn }))
}

pub(super) fn get(call: &Call<'_>) -> Answer {
    let granted = granted(call)?;
    let bucket = granted.bucket();
    let arn = bucket_arn(call, &granted);
    Output::json(&summary(&arn, bucket.name.as_str(), &account(call, &granted), bucket.created_ms))
}

pub(super) fn list(call: &Call<'_>) -> Answer {
    let actions = [call.route.operation.action];
    let granted = of_account(call, &actions, |question| call.shared.buckets.account(question))?;
    let max = page_of(call, "maxBuckets")?;
    let after = parameter(call, "continuationToken").map(position_of).transpose()?;
    // Those of the type `aws` would be made by AWS.
    if parameter(call, "type").is_some_and(|kind| kind != "customer") {
        return Output::json(&json!({ "tableBuckets": [] }));
    }
    let owner = granted.owner();
    let account = call.shared.app.account_id(&owner.id);
    let prefix = parameter(call, "prefix").map(str::to_owned);
    let query = ListBuckets { prefix, after, owner_id: Some(owner.id.clone()), max };
    let page = call.store.list_buckets(&query)?;
    let buckets: Vec<_> = page
        .buckets
        .iter()
        .map(|bucket| {
            let name = bucket.name.as_str();
            let arn = call.shared.buckets.arn(&owner.id, name);
            summary(&arn, name, &account, bucket.created_ms)
        })
        .collect();
    let mut answer = json!({ "tableBuckets": buckets });
    if let Some(next) = page.next {
        answer["continuationToken"] = continuation_of(&next).into();
    }
    Output::json(&answer)
}

pub(super) fn delete(call: &Call<'_>) -> Answer {
    let granted = granted(call)?;
    call.store.delete_bucket(granted.bucket()).wait().map_err(of_bucket)?;
    Ok(Output::Empty)
}

fn summary(arn: &str, name: &str, account: &str, created_ms: u64) -> Value {
    json!({
        "arn": arn,
        "name": name,
        "ownerAccountId": account,
        "createdAt": time(created_ms),
        "type": "customer",
    })
}

/// Authorizes actions on the account of the sender.
fn of_account(
    call: &Call<'_>,
    actions: &[Action],
    decide: impl FnOnce(&TableQuestion<'_>) -> Result<GrantedAccount, Refusal>,
) -> ApiResult<GrantedAccount> {
    let context = context::Asked(call.sent);
    let question = call.question(actions, None, None, &context);
    decide(&question).map_err(|refusal| call.refused(refusal))
}
