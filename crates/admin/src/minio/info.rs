//! Server information and bucket usage.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::State;
use jiff::Timestamp;
use liteio_store::{BucketUsage, ListBuckets, Store, StoreError, StoreHealth};
use serde_json::{Map, json};

use super::call::{Call, json};
use super::{Admin, Answer};
use crate::metrics::process_started;
use liteio_iam::minio::of_store;

/// MinIO's number of the file system backend.
const FILE_SYSTEM: u8 = 1;

/// The usage of an account's buckets.
async fn usage_of(admin: &Admin, account_id: &str) -> Result<Vec<BucketUsage>, StoreError> {
    let account_id = account_id.to_owned();
    admin.app.blocking(move |store| own_usage(store, &account_id)).await
}

fn own_usage(store: &Store, account_id: &str) -> Result<Vec<BucketUsage>, StoreError> {
    let mut names = BTreeSet::new();
    let mut query = ListBuckets { max: usize::MAX, ..ListBuckets::default() };
    loop {
        let page = store.list_buckets(&query)?;
        let own = page.buckets.into_iter().filter(|bucket| bucket.owner.id == account_id);
        names.extend(own.map(|bucket| bucket.name.to_string()));
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    let mut usage = store.usage()?;
    usage.retain(|bucket| names.contains(&bucket.name.to_string()));
    Ok(usage)
}

fn sum(buckets: &[BucketUsage], of: impl Fn(&BucketUsage) -> u64) -> u64 {
    buckets.iter().map(of).fold(0, u64::saturating_add)
}

pub(super) async fn server(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    // Clients also request metrics of drives, which a server without drives of its own leaves out.
    call.begin("AdminServerInfo", &["metrics", "drivePerf"])?;
    call.may(&["admin:ServerInfo"])?;
    let usage = usage_of(&admin, call.account_id()).await.map_err(|error| of_store(&error))?;
    let is_online = matches!(admin.app.store.health(), StoreHealth::Ready);
    let uptime = Timestamp::now().as_second().saturating_sub(process_started() as i64).max(0);
    let (secure, host) = call.entrance();
    let (region, user) = (&admin.app.region, call.user_name());
    let targets = admin.app.event_targets.iter().filter(|target| target.is_open_to(user));
    let arns: Vec<_> = targets
        .map(|target| format!("arn:minio:sqs:{region}:{}:{}", target.name, target.kind))
        .collect();
    let (has_master, keys) = admin.app.ask(|store| {
        let ring = store.keys();
        (ring.has_master(), ring.names().map(str::to_owned).collect::<Vec<_>>())
    });
    let has_keys = has_master || !keys.is_empty();
    let info = json!({
        "mode": if is_online { "online" } else { "degraded" },
        "region": admin.app.region,
        "deploymentID": "",
        "buckets": { "count": usage.len() },
        "objects": { "count": sum(&usage, |it| it.usage.objects) },
        "versions": { "count": sum(&usage, |it| it.usage.versions) },
        "deletemarkers": { "count": sum(&usage, |it| it.usage.delete_markers) },
        "usage": { "size": sum(&usage, |it| it.usage.bytes) },
        "services": { "kms": { "status": if has_keys { "online" } else { "disabled" } } },
        "sqsARN": arns,
        "encryption": { "master": has_master, "keys": keys },
        "backend": { "backendType": "FS" },
        "servers": [{
            "state": "online",
            "endpoint": host,
            "scheme": if secure { "https" } else { "http" },
            "uptime": uptime,
            "version": env!("CARGO_PKG_VERSION"),
            "edition": "LiteIO",
        }],
    });
    json(&info)
}

pub(super) async fn storage(State(_): State<Arc<Admin>>, call: Call) -> Answer {
    call.begin("AdminStorageInfo", &["metrics"])?;
    call.may(&["admin:StorageInfo"])?;
    json(&json!({ "Disks": [], "Backend": { "Type": FILE_SYSTEM } }))
}

pub(super) async fn usage(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    call.begin("AdminDataUsageInfo", &["capacity"])?;
    call.may(&["admin:DataUsageInfo", "s3:ListAllMyBuckets"])?;
    let usage = usage_of(&admin, call.account_id()).await.map_err(|error| of_store(&error))?;
    let mut buckets = Map::new();
    let mut sizes = Map::new();
    for bucket in &usage {
        let of = bucket.usage;
        sizes.insert(bucket.name.to_string(), of.bytes.into());
        let told = json!({
            "size": of.bytes,
            "objectsCount": of.objects,
            "versionsCount": of.versions,
            "deleteMarkersCount": of.delete_markers,
        });
        buckets.insert(bucket.name.to_string(), told);
    }
    let size = sum(&usage, |it| it.usage.bytes);
    json(&json!({
        "lastUpdate": Timestamp::now().to_string(),
        "objectsCount": sum(&usage, |it| it.usage.objects),
        "versionsCount": sum(&usage, |it| it.usage.versions),
        "deleteMarkersCount": sum(&usage, |it| it.usage.delete_markers),
        "objectsTotalSize": size,
        "bucketsCount": usage.len(),
        "bucketsUsageInfo": buckets,
        "bucketsSizes": sizes,
        "usedCapacity": size,
    }))
}
