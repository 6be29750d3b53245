//! Targets of replication: `mc admin bucket remote`, and what `mc replicate add` sends first.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::response::IntoResponse as _;
use bytes::Bytes;
use http::{Method, StatusCode};
use liteio_access::{Action, Principal, Question};
use liteio_client::{BucketCall, BucketClient, CallBody, ServiceKeys};
use liteio_iam::minio::{
    ListedRemote, NewRemote, Sender, invalid_argument, of_store, remote_target,
};
use liteio_store::{Bucket, StoreError};
use liteio_wire::origin::rfc_3339;
use liteio_wire::reply::ApiError;
use serde::Deserialize;
use serde_json::{Value, json as value};

use super::call::{Call, json};
use super::{Admin, Answer};

/// A target as clients send it. What LiteIO does not act on is left out or refused.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
struct Sent {
    /// Host and port.
    endpoint: String,
    #[serde(default)]
    secure: bool,
    credentials: Option<Credentials>,
    targetbucket: String,
    #[serde(default)]
    region: String,
    #[serde(default, rename = "type")]
    kind: String,
    /// Bytes per second.
    #[serde(default)]
    bandwidthlimit: i64,
    #[serde(default, rename = "replicationSync")]
    is_synchronous: bool,
}

#[derive(Deserialize)]
struct Credentials {
    #[serde(rename = "accessKey")]
    access_key: String,
    #[serde(rename = "secretKey")]
    secret_key: String,
    #[serde(default, rename = "sessionToken")]
    session_token: String,
}

/// Checks that the sender, who may do `action`, may replicate the bucket with this name.
async fn bucket(
    admin: &Admin,
    sender: Sender<'_>,
    action: &str,
    name: &str,
) -> Result<Arc<Bucket>, ApiError> {
    let actions = [match action {
        "admin:GetBucketTarget" => Action::GetReplicationConfiguration,
        _ => Action::PutReplicationConfiguration,
    }];
    let question = Question::about_bucket(&actions, &sender.context);
    let principal = Principal::User(Arc::clone(&sender.key.user));
    let granted = admin.app.look(|store| liteio_access::bucket(store, &principal, name, &question));
    match granted.await {
        Ok(granted) => Ok(Arc::clone(granted.bucket())),
        Err(liteio_access::Refusal::Store(error @ StoreError::NoSuchBucket { .. })) => {
            Err(invalid_argument(error.to_string()))
        }
        Err(liteio_access::Refusal::Store(error)) => Err(of_store(&error)),
        Err(_) => Err(invalid_argument("The bucket is not one that you may replicate.")),
    }
}

pub(super) async fn set(State(admin): State<Arc<Admin>>, mut call: Call) -> Answer {
    let known = [
        "bucket",
        "update",
        "creds",
        "sync",
        "proxy",
        "bandwidth",
        "healthcheck",
        "path",
        "edge",
        "edgeSyncBeforeExpiry",
    ];
    let query = call.begin("AdminSetRemoteTarget", &known)?;
    let (name, is_update) = (query.required("bucket")?.to_owned(), query.text("update") == "true");
    call.may(&["admin:SetBucketTarget"])?;
    let source = bucket(&admin, call.sender(), "admin:SetBucketTarget", &name).await?;
    let sent: Sent = call.sealed_json(&admin).await?;
    let new = checked(sent, &source, is_update)?;
    check_reachable(&new).await?;
    let set = admin.manager.change(call.sender(), "AdminSetRemoteTarget", |desk| {
        desk.may(&["admin:SetBucketTarget"])?;
        desk.set_remote(new)
    });
    let arn = set.await?;
    admin.manager.refresh_remotes();
    json(&arn)
}

fn checked(sent: Sent, source: &Bucket, is_update: bool) -> Result<NewRemote, ApiError> {
    let credentials = sent.credentials.ok_or_else(|| {
        invalid_argument("The target needs credentials: an access key and a secret key.")
    })?;
    let is_wrong = |text: &str| text.is_empty() || text.contains(['/', '@', '?', '#', ' ']);
    if is_wrong(&sent.endpoint) || is_wrong(&sent.targetbucket) {
        return Err(invalid_argument("The endpoint is HOST:PORT, and the bucket a name."));
    }
    if !credentials.session_token.is_empty() {
        return Err(invalid_argument("Session tokens end: give the target keys that last."));
    }
    if !matches!(&*sent.kind, "" | "replication") {
        return Err(invalid_argument("Only targets of the type replication are implemented."));
    }
    if sent.bandwidthlimit != 0 || sent.is_synchronous {
        return Err(invalid_argument(
            "Limits of bandwidth and synchronous replication are not implemented by LiteIO: leave them out.",
        ));
    }
    let scheme = if sent.secure { "https" } else { "http" };
    Ok(NewRemote {
        url: format!("{scheme}://{}", sent.endpoint),
        bucket: sent.targetbucket,
        source: source.name.as_str().to_owned(),
        source_id: source.id,
        access_key: credentials.access_key,
        secret_key: credentials.secret_key,
        region: Some(sent.region).filter(|region| !region.is_empty()),
        is_update,
    })
}

/// Refuses a target that cannot be used now, as MinIO does: a mistyped secret would take the place of a good one, and only the
/// log would tell.
async fn check_reachable(new: &NewRemote) -> Result<(), ApiError> {
    let (access_key, secret_key) = (new.access_key.clone(), new.secret_key.clone());
    let keys = ServiceKeys { access_key, secret_key, session_token: None };
    let client = BucketClient::connect(&new.url, &new.bucket, Some(keys), new.region.as_deref());
    let client = client.map_err(invalid_argument)?;
    let (url, bucket) = (&new.url, &new.bucket);
    let ask = BucketCall {
        method: Method::GET,
        key: String::new(),
        query: vec![("versioning".to_owned(), String::new())],
        headers: Vec::new(),
        body: CallBody::Whole(Bytes::new()),
        is_slow: false,
    };
    match client.call(ask).await {
        Ok(answer) if answer.text("Status").as_deref() == Some("Enabled") => Ok(()),
        Ok(_) => Err(remote_target(format!(
            "The target bucket {bucket} at {url} has no versioning: enable it, and add the target again."
        ))),
        // Copying needs no permission to read the settings.
        Err(error) if error.code == "AccessDenied" => Ok(()),
        Err(error) => Err(remote_target(format!(
            "The target bucket {bucket} at {url} cannot be used: {}",
            error.line
        ))),
    }
}

pub(super) async fn list(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let query = call.begin("AdminListRemoteTargets", &["bucket", "type"])?;
    call.may(&["admin:GetBucketTarget"])?;
    let source = match query.text("bucket") {
        "" => None,
        name => Some(bucket(&admin, call.sender(), "admin:GetBucketTarget", name).await?.id),
    };
    let listed = admin.manager.read(call.sender(), |desk| {
        desk.may(&["admin:GetBucketTarget"])?;
        Ok(desk.list_remotes(source))
    })?;
    admin.manager.refresh_remotes();
    json(&listed.iter().map(|remote| shown(&admin, remote)).collect::<Vec<Value>>())
}

fn shown(admin: &Admin, remote: &ListedRemote) -> Value {
    let all = admin.app.remote_targets.all();
    let figures = all.into_iter().find(|(target, _)| target.arn == remote.arn);
    let failing = figures.filter(|(_, it)| it.is_failing.load(Ordering::Acquire));
    // `mc` counts the time offline from it.
    let last_online_ms = match &failing {
        Some((_, it)) => it.failing_since_ms.load(Ordering::Relaxed),
        None => admin.app.ask(|store| store.now_ms()),
    };
    let (scheme, endpoint) = remote.url.split_once("://").unwrap_or_default();
    value!({
        "sourcebucket": remote.source,
        "endpoint": endpoint,
        "credentials": { "accessKey": remote.access_key, "expiration": "0001-01-01T00:00:00Z" },
        "targetbucket": remote.bucket,
        "secure": scheme == "https",
        "path": "auto",
        "api": "s3v4",
        "arn": remote.arn,
        "type": "replication",
        "region": remote.region.clone().unwrap_or_default(),
        "isOnline": failing.is_none(),
        "lastOnline": rfc_3339(last_online_ms),
        // Not among the figures of a bucket: its line may name hosts, and only administrators see targets.
        "lastError": failing.and_then(|(_, it)| it.last_error()),
    })
}

pub(super) async fn remove(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let query = call.begin("AdminRemoveRemoteTarget", &["bucket", "arn"])?;
    let (name, arn) = (query.required("bucket")?, query.required("arn")?);
    call.may(&["admin:SetBucketTarget"])?;
    let source = bucket(&admin, call.sender(), "admin:SetBucketTarget", name).await?;
    let rules = source.settings.replication.as_ref();
    if rules.is_some_and(|it| it.rules.iter().any(|rule| rule.target == arn)) {
        return Err(invalid_argument(
            "A replication rule of the bucket names the target: remove the rule first.",
        )
        .into());
    }
    let removed = admin.manager.change(call.sender(), "AdminRemoveRemoteTarget", |desk| {
        desk.may(&["admin:SetBucketTarget"])?;
        desk.remove_remote(source.id, arn)
    });
    removed.await?;
    admin.manager.refresh_remotes();
    Ok(StatusCode::NO_CONTENT.into_response())
}
