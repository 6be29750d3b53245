//! Access keys.

use super::super::call::Call;
use super::super::constraint::Rule;
use super::super::error;
use super::super::records::{KeyRecord, ServiceKeyRecord, UserRecord};
use super::super::state::seal_secret;
use super::super::xml::Xml;
use super::{Answer, Done};
use liteio_identity::random_secret;

/// Maximum access keys of a user (as AWS).
const KEYS_MAX: usize = 2;

fn status(is_active: bool) -> &'static str {
    if is_active { "Active" } else { "Inactive" }
}

pub(super) fn create(call: &mut Call<'_>) -> Answer {
    let mut user: UserRecord = call.named()?;
    if call.sender.is_narrowed_to_less_than(&user.id) {
        return Err(error::access_denied(
            "A key that a policy narrows makes no other keys of its user.",
        ));
    }
    if call.key.ends_before(&user.id, None) {
        return Err(error::access_denied("A key that ends makes no keys of its user that do not."));
    }
    if user.keys.len() >= KEYS_MAX {
        return Err(error::limit_exceeded(format!(
            "Cannot exceed quota for AccessKeysPerUser: {KEYS_MAX}"
        )));
    }
    let secret = random_secret().map_err(|error| error::of_store(&error))?;
    let sealed = seal_secret(secret.as_bytes(), call.keys);
    let key = KeyRecord {
        id: call.new_id("AKIA")?,
        secret: sealed.map_err(|error| error::of_store(&error))?,
        active: true,
        created: call.now,
    };
    let mut xml = Xml::default();
    xml.element("AccessKey", |xml| {
        xml.text("UserName", &user.name);
        xml.text("AccessKeyId", &key.id);
        xml.text("Status", status(key.active));
        xml.text("SecretAccessKey", &secret);
        xml.time("CreateDate", key.created);
    });
    user.keys.push(key);
    call.draft.put(user);
    Ok(Some(xml))
}

/// The keys of a user, including service accounts, which must be deleted before the user.
pub(super) fn list(call: &mut Call<'_>) -> Answer {
    let user: UserRecord = call.named()?;
    let own = user.keys.iter().map(|key| (&*key.id, key.active, key.created));
    let service = call.draft.state.keys.values().filter(|key| key.owner == user.id);
    let service = service.map(|key| (&*key.id, key.active, key.created));
    let page = call.page(own.chain(service).map(|key| (key.0.to_owned(), key)))?;
    let mut xml = Xml::default();
    page.write(&mut xml, "AccessKeyMetadata", |xml, (id, is_active, created)| {
        xml.text("UserName", &user.name);
        xml.text("AccessKeyId", id);
        xml.text("Status", status(is_active));
        xml.time("CreateDate", created);
    });
    Ok(Some(xml))
}

/// The key named by a request.
enum Found {
    /// The key of a user, by its index.
    Own(UserRecord, usize),
    Service(ServiceKeyRecord),
}

fn key_of(call: &Call<'_>) -> Result<Found, error::ApiError> {
    let user: UserRecord = call.named()?;
    let id = call.form.required("AccessKeyId")?;
    if let Some(place) = user.keys.iter().position(|key| key.id == id) {
        return Ok(Found::Own(user, place));
    }
    let service = call.draft.state.service_key(id).filter(|key| key.owner == user.id);
    service.map(|key| Found::Service(ServiceKeyRecord::clone(key))).ok_or_else(|| no_such_key(id))
}

fn no_such_key(id: &str) -> error::ApiError {
    let id: String = id.chars().take(128).collect();
    error::no_such_entity(format!("The Access Key with id {id} cannot be found."))
}

pub(super) fn update(call: &mut Call<'_>) -> Done {
    let found = key_of(call)?;
    let active = match call.form.required("Status")? {
        "Active" => true,
        "Inactive" => false,
        _ => return Err(Rule::Words.of_iam("Status")),
    };
    match found {
        Found::Own(mut user, place) => {
            user.keys[place].active = active;
            call.draft.put(user);
        }
        Found::Service(key) => call.draft.put(ServiceKeyRecord { active, ..key }),
    }
    Ok(None)
}

pub(super) fn delete(call: &mut Call<'_>) -> Done {
    match key_of(call)? {
        Found::Own(mut user, place) => {
            user.keys.remove(place);
            call.draft.put(user);
        }
        Found::Service(key) => call.draft.delete::<ServiceKeyRecord>(&key.id),
    }
    Ok(None)
}

/// The use of keys is not recorded, so every key is reported as never used.
pub(super) fn last_used(call: &mut Call<'_>) -> Answer {
    let id = call.form.required("AccessKeyId")?;
    let user = call.draft.state.owner_of_key(id).ok_or_else(|| no_such_key(id))?;
    let mut xml = Xml::default();
    xml.text("UserName", &user.name);
    xml.element("AccessKeyLastUsed", |xml| {
        xml.text("Region", "N/A");
        xml.text("ServiceName", "N/A");
    });
    Ok(Some(xml))
}
