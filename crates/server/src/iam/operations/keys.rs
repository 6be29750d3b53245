//! Access keys.

use liteio_store::SystemRandom;

use super::super::call::Call;
use super::super::error;
use super::super::records::{KeyRecord, UserRecord};
use super::super::state::SECRET_PURPOSE;
use super::super::xml::Xml;
use super::{Answer, Done};
use crate::identity::random_secret;

/// Access keys of a user.
const KEYS_MAX: usize = 2;

fn status(key: &KeyRecord) -> &'static str {
    if key.active { "Active" } else { "Inactive" }
}

pub(super) fn create(call: &mut Call<'_>) -> Answer {
    let mut user: UserRecord = call.named()?;
    if user.keys.len() >= KEYS_MAX {
        return Err(error::limit_exceeded(format!(
            "Cannot exceed quota for AccessKeysPerUser: {KEYS_MAX}"
        )));
    }
    let secret = random_secret().map_err(|error| error::of_store(&error))?;
    let sealed = call.keys.seal(SECRET_PURPOSE, secret.as_bytes(), &SystemRandom);
    let sealed = sealed.map_err(|error| error::of_store(&error))?;
    let key = KeyRecord {
        id: call.new_id("AKIA")?,
        secret: base64_simd::STANDARD.encode_to_string(sealed),
        active: true,
        created: call.now,
    };
    let mut xml = Xml::default();
    xml.element("AccessKey", |xml| {
        xml.text("UserName", &user.name);
        xml.text("AccessKeyId", &key.id);
        xml.text("Status", status(&key));
        xml.text("SecretAccessKey", &secret);
        xml.time("CreateDate", key.created);
    });
    user.keys.push(key);
    call.draft.put(user);
    Ok(Some(xml))
}

pub(super) fn list(call: &mut Call<'_>) -> Answer {
    let user: UserRecord = call.named()?;
    let page = call.page(user.keys.iter().map(|key| (key.id.clone(), key)))?;
    let mut xml = Xml::default();
    page.write(&mut xml, "AccessKeyMetadata", |xml, key| {
        xml.text("UserName", &user.name);
        xml.text("AccessKeyId", &key.id);
        xml.text("Status", status(key));
        xml.time("CreateDate", key.created);
    });
    Ok(Some(xml))
}

/// The user and the place of its key that the request names.
fn key_of(call: &Call<'_>) -> Result<(UserRecord, usize), error::ApiError> {
    let user: UserRecord = call.named()?;
    let id = call.form.required("AccessKeyId")?;
    match user.keys.iter().position(|key| key.id == id) {
        Some(place) => Ok((user, place)),
        None => Err(no_such_key(id)),
    }
}

fn no_such_key(id: &str) -> error::ApiError {
    let id: String = id.chars().take(128).collect();
    error::no_such_entity(format!("The Access Key with id {id} cannot be found."))
}

pub(super) fn update(call: &mut Call<'_>) -> Done {
    let (mut user, place) = key_of(call)?;
    user.keys[place].active = match call.form.required("Status")? {
        "Active" => true,
        "Inactive" => false,
        _ => return Err(error::validation("Status must be Active or Inactive.")),
    };
    call.draft.put(user);
    Ok(None)
}

pub(super) fn delete(call: &mut Call<'_>) -> Done {
    let (mut user, place) = key_of(call)?;
    user.keys.remove(place);
    call.draft.put(user);
    Ok(None)
}

/// The use of keys is not noted, so the answer is that of a key that was never used.
pub(super) fn last_used(call: &mut Call<'_>) -> Answer {
    let id = call.form.required("AccessKeyId")?;
    let mut users = call.draft.state.users.values();
    let user = users.find(|user| user.keys.iter().any(|key| key.id == id));
    let user = user.ok_or_else(|| no_such_key(id))?;
    let mut xml = Xml::default();
    xml.text("UserName", &user.name);
    xml.element("AccessKeyLastUsed", |xml| {
        xml.text("Region", "N/A");
        xml.text("ServiceName", "N/A");
    });
    Ok(Some(xml))
}
