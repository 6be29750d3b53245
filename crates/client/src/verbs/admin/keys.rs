//! `admin accesskey` and `admin user svcacct`: access keys of users that are not the user's own.

use std::path::Path;
use std::sync::Arc;

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{get, put, service};
use crate::cli::{KeyArgs, KeyVerb};
use crate::error::Error;
use crate::s3::{AdminCall, S3};
use crate::session::Session;
use crate::text::parse_duration;
use crate::verbs::note::tell;
use crate::verbs::text_input;

/// The two names of the verbs, which print different texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    AccessKeys,
    ServiceAccounts,
}

pub(super) async fn run(session: &Arc<Session>, verb: KeyVerb, style: Style) -> Result<(), Error> {
    match verb {
        KeyVerb::Create { target, user, access_key, properties } => {
            let s3 = service(session, &target)?;
            if style == Style::ServiceAccounts && user.is_none() {
                return Err(Error::refused("name the user that the service account belongs to"));
            }
            create(session, &s3, (user, access_key), properties, style).await
        }
        KeyVerb::List { target, users, all, own, users_only, svcacc_only, temp_only } => {
            let s3 = service(session, &target)?;
            match (style, users.as_slice()) {
                (Style::ServiceAccounts, [user]) => list_of_user(session, &s3, user).await,
                (Style::ServiceAccounts, _) => Err(Error::refused("name one user")),
                (Style::AccessKeys, _) => {
                    let kind = match (users_only, svcacc_only, temp_only) {
                        (true, ..) => "users-only",
                        (_, true, _) => "svcacc-only",
                        (_, _, true) => "sts-only",
                        _ => "all",
                    };
                    list(session, &s3, kind, Whose::of(users, all, own)).await
                }
            }
        }
        KeyVerb::Remove { target, key } => {
            let call =
                AdminCall::new(Method::DELETE, "delete-service-account").query("accessKey", &key);
            service(session, &target)?.admin(call).await?;
            done(session, style, "removed", &key)
        }
        KeyVerb::Info { target, key, policy } => {
            let call = get("info-service-account").query("accessKey", &key);
            let found = service(session, &target)?.admin_opened(call).await?;
            info(session, style, &key, &found, policy)
        }
        KeyVerb::Edit { target, key, properties } => {
            let KeyArgs { secret_key, policy, name, description, .. } = &properties;
            let mut change = json!({});
            if let Some(secret_key) = secret_key {
                change["newSecretKey"] = secret_key.as_str().into();
            }
            if let Some(file) = policy {
                change["newPolicy"] = read_policy(file).await?;
            }
            if let Some(name) = name {
                change["newName"] = name.as_str().into();
            }
            if let Some(description) = description {
                change["newDescription"] = description.as_str().into();
            }
            if let Some(expiry) = expiry(&properties)? {
                change["newExpiration"] = expiry.into();
            }
            if change == json!({}) {
                return Err(Error::refused("name a property to change, such as --secret-key"));
            }
            edit(&*service(session, &target)?, &key, &change).await?;
            done(session, style, "edited", &key)
        }
        KeyVerb::Enable { target, key } => {
            edit(&*service(session, &target)?, &key, &json!({ "newStatus": "on" })).await?;
            done(session, style, "enabled", &key)
        }
        KeyVerb::Disable { target, key } => {
            edit(&*service(session, &target)?, &key, &json!({ "newStatus": "off" })).await?;
            done(session, style, "disabled", &key)
        }
    }
}

async fn edit(s3: &S3, key: &str, change: &Value) -> Result<(), Error> {
    let call = AdminCall::new(Method::POST, "update-service-account").query("accessKey", key);
    s3.admin(call.sealed(change)?).await.map(drop)
}

fn done(session: &Session, style: Style, done: &str, key: &str) -> Result<(), Error> {
    let text = match style {
        Style::AccessKeys => format!("Successfully {done} access key `{key}`."),
        Style::ServiceAccounts => {
            let (first, rest) = done.split_at(1);
            format!("{}{rest} service account `{key}` successfully.", first.to_ascii_uppercase())
        }
    };
    tell(session, text, json!({ "accessKey": key }))
}

async fn create(
    session: &Arc<Session>,
    s3: &S3,
    (user, access_key): (Option<String>, Option<String>),
    properties: KeyArgs,
    style: Style,
) -> Result<(), Error> {
    let mut new = json!({});
    let texts = [
        ("targetUser", &user),
        ("accessKey", &access_key),
        ("secretKey", &properties.secret_key),
        ("name", &properties.name),
        ("description", &properties.description),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            new[name] = text.as_str().into();
        }
    }
    if let Some(file) = &properties.policy {
        new["policy"] = read_policy(file).await?;
    }
    if let Some(expiry) = expiry(&properties)? {
        new["expiration"] = expiry.into();
    }
    let made = s3.admin_opened(put("add-service-account").sealed(&new)?).await?;
    let made = &made["credentials"];
    let text = |name: &str| made[name].as_str().unwrap_or_default().to_owned();
    let (access_key, secret_key, expiration) =
        (text("accessKey"), text("secretKey"), text("expiration"));
    let mut json = json!({
        "accessKey": access_key, "secretKey": secret_key, "accountStatus": "enabled",
    });
    let ends = !never(&expiration);
    if ends {
        json["expiration"] = expiration.as_str().into();
    }
    let mut shown = format!("Access Key: {access_key}\nSecret Key: {secret_key}\nExpiration: ");
    shown.push_str(match (ends, style) {
        (true, _) => &expiration,
        (false, Style::AccessKeys) => "NONE",
        (false, Style::ServiceAccounts) => "no-expiry",
    });
    if style == Style::AccessKeys {
        let KeyArgs { name, description, .. } = properties;
        let (name, description) = (name.unwrap_or_default(), description.unwrap_or_default());
        shown.push_str(&format!("\nName: {name}\nDescription: {description}"));
    }
    tell(session, shown, json)
}

async fn list_of_user(session: &Arc<Session>, s3: &S3, user: &str) -> Result<(), Error> {
    let found = s3.admin_opened(get("list-service-accounts").query("user", user)).await?;
    for key in found["accounts"].as_array().into_iter().flatten() {
        let text = |name: &str| key[name].as_str().unwrap_or_default();
        let (name, expiration) = (text("accessKey"), text("expiration"));
        let mut json = json!({ "accessKey": name });
        let mut shown = "no-expiry";
        if !never(expiration) {
            json["expiration"] = expiration.into();
            shown = expiration;
        }
        tell(session, format!("{name:<20} | {shown}"), json)?;
    }
    Ok(())
}

/// The users whose keys are listed.
enum Whose {
    Own,
    Of(Vec<String>),
    /// Those of all users.
    All,
    /// Those of all users, or the own ones of a user who may not list them.
    AllOrOwn,
}

impl Whose {
    fn of(users: Vec<String>, all: bool, own: bool) -> Whose {
        match (all, own, users.is_empty()) {
            (true, ..) => Whose::All,
            (_, true, _) => Whose::Own,
            (_, _, true) => Whose::AllOrOwn,
            _ => Whose::Of(users),
        }
    }
}

async fn list(session: &Arc<Session>, s3: &S3, kind: &str, whose: Whose) -> Result<(), Error> {
    let call = get("list-access-keys-bulk").query("listType", kind);
    let found = match whose {
        Whose::Own => s3.admin_opened(call).await?,
        Whose::All => s3.admin_opened(call.query("all", "true")).await?,
        Whose::AllOrOwn => match s3.admin_opened(call.clone().query("all", "true")).await {
            Err(error) if error.status() == Some(403) => s3.admin_opened(call).await?,
            found => found?,
        },
        Whose::Of(users) => {
            let call = users.iter().fold(call, |call, user| call.query("users", user));
            s3.admin_opened(call).await?
        }
    };
    for (user, keys) in found.as_object().into_iter().flatten() {
        let mut lines = vec![format!("User: {user}")];
        let kinds = [("serviceAccounts", false), ("stsKeys", true)];
        let all = kinds.iter().flat_map(|(name, is_session)| {
            keys[*name].as_array().into_iter().flatten().map(move |key| (key, *is_session))
        });
        for (place, (key, is_session)) in all.enumerate() {
            if place == 0 {
                lines.push("  Access Keys:".to_owned());
            }
            let text = |name: &str| key[name].as_str().unwrap_or_default();
            let expires = if never(text("expiration")) { "never" } else { text("expiration") };
            let name = text("accessKey");
            lines.push(format!("    {name}, expires: {expires}, sts: {is_session}"));
        }
        let json = json!({
            "user": user, "stsKeys": keys["stsKeys"], "svcaccs": keys["serviceAccounts"],
        });
        tell(session, lines.join("\n"), json)?;
    }
    Ok(())
}

fn info(
    session: &Session,
    style: Style,
    key: &str,
    found: &Value,
    policy_only: bool,
) -> Result<(), Error> {
    let text = |name: &str| found[name].as_str().unwrap_or_default();
    let policy: Value = serde_json::from_str(text("policy")).unwrap_or_default();
    if policy_only {
        return session.output.line(&policy.to_string());
    }
    let is_implied = found["impliedPolicy"] == true;
    let shown_policy = if is_implied { "implied" } else { "embedded" };
    let expiration = text("expiration");
    let (parent, name, description) = (text("parentUser"), text("name"), text("description"));
    let shown = match style {
        Style::AccessKeys => {
            let status = if text("accountStatus") == "on" { "enabled" } else { "disabled" };
            let expiration = if never(expiration) { "NONE" } else { expiration };
            format!(
                "Access Key: {key}\nParent User: {parent}\nStatus: {status}\nPolicy: {shown_policy}\n\
                 Name: {name}\nDescription: {description}\nExpiration: {expiration}"
            )
        }
        Style::ServiceAccounts => {
            let expiration = if never(expiration) { "no-expiry" } else { expiration };
            format!(
                "AccessKey: {key}\nParentUser: {parent}\nStatus: {}\nName: {name}\n\
                 Description: {description}\nPolicy: {shown_policy}\nExpiration: {expiration}",
                text("accountStatus")
            )
        }
    };
    let mut json = json!({
        "accessKey": key, "parentUser": parent, "accountStatus": text("accountStatus"),
        "impliedPolicy": is_implied, "policy": policy,
    });
    for (field, value) in [("name", name), ("description", description)] {
        if !value.is_empty() {
            json[field] = value.into();
        }
    }
    if !never(expiration) {
        json["expiration"] = expiration.into();
    }
    tell(session, shown, json)
}

/// MinIO writes the first second of 1970, or of the year 1, where a key does not expire.
fn never(expiration: &str) -> bool {
    expiration.parse::<Timestamp>().map_or(expiration.is_empty(), |time| time.as_second() <= 0)
}

async fn read_policy(file: &Path) -> Result<Value, Error> {
    let text = text_input::read(Some(file)).await?;
    serde_json::from_str(&text)
        .map_err(|error| Error::refused(format!("{} is not JSON: {error}", file.display())))
}

/// The time of expiration that the options name, as the admin API wants it.
fn expiry(properties: &KeyArgs) -> Result<Option<String>, Error> {
    let KeyArgs { expiry, expiry_duration, .. } = properties;
    let time = match (expiry, expiry_duration) {
        (Some(text), _) => {
            let day = format!("{text}T00:00:00Z");
            let minute = format!("{text}:00Z");
            let forms = [text.as_str(), &day, &minute];
            let time = forms.iter().find_map(|text| text.parse::<Timestamp>().ok());
            time.ok_or_else(|| {
                Error::refused(format!(
                    "'{text}' is no time; write 2027-01-31, or 2027-01-31T10:00:00Z"
                ))
            })?
        }
        (None, Some(text)) => {
            let duration = parse_duration(text).map_err(Error::Refused)?;
            let seconds = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
            let end = Timestamp::now().as_second().saturating_add(seconds);
            Timestamp::from_second(end).map_err(|error| Error::refused(error.to_string()))?
        }
        (None, None) => return Ok(None),
    };
    Ok(Some(time.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_expiration_have_the_forms_of_mc() {
        for (text, expected) in [
            ("2027-01-31", "2027-01-31T00:00:00Z"),
            ("2027-01-31T10:00", "2027-01-31T10:00:00Z"),
            ("2027-01-31T10:00:00+02:00", "2027-01-31T08:00:00Z"),
        ] {
            let arguments = KeyArgs { expiry: Some(text.to_owned()), ..KeyArgs::default() };
            assert_eq!(expiry(&arguments).expect(text).as_deref(), Some(expected));
        }
        let wrong = KeyArgs { expiry: Some("soon".to_owned()), ..KeyArgs::default() };
        assert!(expiry(&wrong).is_err());
        assert!(never("") && never("1970-01-01T00:00:00Z") && never("0001-01-01T00:00:00Z"));
        assert!(!never("2027-01-31T00:00:00Z"));
    }
}
