//! Tiers: `mc ilm tier add`, `ls`, `update`, `check` and `rm`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::IntoResponse as _;
use http::StatusCode;
use liteio_access::tiers::{Tier, TierKind};
use liteio_iam::minio::{invalid_argument, tier_exists, tier_in_use, tier_invalid, tier_not_found};
use liteio_tier::{is_tier_used, verify_tier};
use liteio_wire::reply::ApiError;
use serde::Deserialize;
use serde_json::{Value, json as value};

use super::call::{Call, json};
use super::{Admin, Answer};

/// A tier as clients send it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Sent {
    #[serde(default)]
    version: String,
    #[serde(default, rename = "Type")]
    kind: String,
    #[serde(default)]
    name: String,
    s3: Option<Place>,
    #[serde(rename = "MinIO")]
    minio: Option<Place>,
}

/// The place of a tier.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Place {
    #[serde(default)]
    endpoint: String,
    #[serde(default)]
    access_key: String,
    #[serde(default)]
    secret_key: String,
    #[serde(default)]
    bucket: String,
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    region: String,
    #[serde(default)]
    storage_class: String,
    #[serde(default, rename = "AWSRole")]
    has_role: bool,
}

/// New credentials of a tier.
#[derive(Deserialize)]
struct Credentials {
    #[serde(default)]
    access: String,
    #[serde(default)]
    secret: String,
}

pub(super) async fn add(State(admin): State<Arc<Admin>>, mut call: Call) -> Answer {
    let query = call.begin("AdminAddTier", &["force"])?;
    let may_be_used = query.text("force") == "true";
    may(&admin, &call, "admin:SetTier")?;
    let sent: Sent = call.sealed_json(&admin).await?;
    let tier = checked(sent)?;
    if admin.app.tiers.get(&tier.name).is_some() {
        return Err(tier_exists(&tier.name).into());
    }
    if !may_be_used {
        let is_used = is_tier_used(&tier).await.map_err(|error| tier_invalid(error.to_string()))?;
        if is_used {
            let message = "There are objects below the prefix already: choose another one.";
            return Err(tier_in_use(message).into());
        }
    }
    verify_tier(&tier).await.map_err(|error| tier_invalid(error.to_string()))?;
    let added = admin.manager.change(call.sender(), "AdminAddTier", |desk| {
        desk.may(&["admin:SetTier"])?;
        desk.may_manage_tiers()?;
        desk.put_tier(&tier, true)
    });
    added.await?;
    admin.manager.refresh_tiers();
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn may(admin: &Admin, call: &Call, action: &str) -> Result<(), ApiError> {
    call.may(&[action])?;
    admin.manager.read(call.sender(), |desk| desk.may_manage_tiers())
}

fn checked(sent: Sent) -> Result<Tier, ApiError> {
    if !matches!(&*sent.version, "" | "v1") {
        return Err(tier_invalid("Only the version v1 of tiers is known."));
    }
    let (kind, place) = match (&*sent.kind, sent.s3, sent.minio) {
        ("s3", Some(place), _) => (TierKind::S3, place),
        ("minio", _, Some(place)) => (TierKind::Minio, place),
        _ => return Err(tier_invalid("LiteIO implements tiers of the types minio and s3.")),
    };
    if place.has_role {
        return Err(tier_invalid("A tier needs an access key and a secret key, and not a role."));
    }
    let url = match &*place.endpoint {
        "" => "https://s3.amazonaws.com".to_owned(),
        endpoint => endpoint.trim_end_matches('/').to_owned(),
    };
    let given = |text: String| Some(text).filter(|text| !text.is_empty());
    let tier = Tier {
        name: sent.name,
        kind,
        url,
        bucket: place.bucket,
        prefix: place.prefix,
        access_key: place.access_key,
        secret_key: place.secret_key,
        region: given(place.region),
        storage_class: given(place.storage_class),
        classes: Vec::new(),
        is_made: true,
    };
    tier.checked().map_err(tier_invalid)
}

pub(super) async fn list(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    call.begin("AdminListTiers", &[])?;
    may(&admin, &call, "admin:ListTier")?;
    let all = admin.app.tiers.all();
    json(&all.iter().map(|(tier, _)| shown(tier)).collect::<Vec<Value>>())
}

/// A tier without its secret.
fn shown(tier: &Tier) -> Value {
    let place = value!({
        "Endpoint": tier.url,
        "AccessKey": tier.access_key,
        "SecretKey": "REDACTED",
        "Bucket": tier.bucket,
        "Prefix": tier.prefix,
        "Region": tier.region.clone().unwrap_or_default(),
        "StorageClass": tier.storage_class.clone().unwrap_or_default(),
    });
    let member = match tier.kind {
        TierKind::S3 => "S3",
        TierKind::Minio => "MinIO",
    };
    value!({ "Version": "v1", "Type": tier.kind.name(), "Name": tier.name, member: place })
}

fn known(admin: &Admin, name: &str) -> Result<Arc<Tier>, ApiError> {
    let found = admin.app.tiers.get(name);
    found.map(|(tier, _)| tier).ok_or_else(|| tier_not_found(name))
}

/// The tier with this name, if it was added at run time.
fn made(admin: &Admin, name: &str) -> Result<Arc<Tier>, ApiError> {
    let tier = known(admin, name)?;
    match tier.is_made {
        true => Ok(tier),
        false => Err(invalid_argument("The tier is in the file of tiers: change it there.")),
    }
}

pub(super) async fn verify(
    State(admin): State<Arc<Admin>>,
    Path(name): Path<String>,
    call: Call,
) -> Answer {
    call.begin("AdminVerifyTier", &[])?;
    may(&admin, &call, "admin:ListTier")?;
    let tier = known(&admin, &name)?;
    verify_tier(&tier).await.map_err(|error| tier_invalid(error.to_string()))?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn update(
    State(admin): State<Arc<Admin>>,
    Path(name): Path<String>,
    mut call: Call,
) -> Answer {
    call.begin("AdminEditTier", &[])?;
    may(&admin, &call, "admin:SetTier")?;
    let sent: Credentials = call.sealed_json(&admin).await?;
    let tier = Tier::clone(&*made(&admin, &name)?);
    let tier = Tier { access_key: sent.access, secret_key: sent.secret, ..tier };
    let tier = tier.checked().map_err(tier_invalid)?;
    verify_tier(&tier).await.map_err(|error| tier_invalid(error.to_string()))?;
    let changed = admin.manager.change(call.sender(), "AdminEditTier", |desk| {
        desk.may(&["admin:SetTier"])?;
        desk.may_manage_tiers()?;
        desk.put_tier(&tier, false)
    });
    changed.await?;
    admin.manager.refresh_tiers();
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn remove(
    State(admin): State<Arc<Admin>>,
    Path(name): Path<String>,
    call: Call,
) -> Answer {
    // Forced or not: no body is given up for a setting.
    call.begin("AdminRemoveTier", &["force"])?;
    may(&admin, &call, "admin:SetTier")?;
    let tier = made(&admin, &name)?;
    let is_used = is_tier_used(&tier).await.map_err(|error| {
        tier_in_use(format!("It is not known whether bodies are there still: {error}"))
    })?;
    // A move that has begun, and a deletion that waits, have objects there.
    if is_used {
        let message = "The tier has bodies of objects: delete the objects, or copy them onto \
                       themselves, and wait until the bodies are deleted at the tier.";
        return Err(tier_in_use(message).into());
    }
    let removed = admin.manager.change(call.sender(), "AdminRemoveTier", |desk| {
        desk.may(&["admin:SetTier"])?;
        desk.may_manage_tiers()?;
        desk.remove_tier(&name)
    });
    removed.await?;
    admin.manager.refresh_tiers();
    Ok(StatusCode::NO_CONTENT.into_response())
}
