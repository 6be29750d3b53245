//! `admin user`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::{get, keys, put, service};
use crate::cli::UserVerb;
use crate::error::Error;
use crate::s3::{AdminCall, S3};
use crate::session::Session;
use crate::verbs::note::tell;
use crate::verbs::{elsewhere, secret};

pub(super) async fn run(session: &Arc<Session>, verb: UserVerb) -> Result<(), Error> {
    match verb {
        UserVerb::Add { target, access_key, secret_key } => {
            let s3 = service(session, &target)?;
            let name = match access_key {
                Some(name) => name,
                None => secret::ask("Enter Access Key: ", false).await?,
            };
            let secret_key = match secret_key {
                Some(secret_key) => secret_key,
                None => secret::ask("Enter Secret Key: ", true).await?,
            };
            let new = json!({ "secretKey": secret_key, "status": "enabled" });
            s3.admin(put("add-user").query("accessKey", &name).sealed(&new)?).await?;
            let text = format!("Added user `{name}` successfully.");
            tell(session, text, json!({ "accessKey": name, "userStatus": "enabled" }))
        }
        UserVerb::Enable { target, user } => set_status(session, &target, &user, true).await,
        UserVerb::Disable { target, user } => set_status(session, &target, &user, false).await,
        UserVerb::Remove { target, user } => {
            let call = AdminCall::new(Method::DELETE, "remove-user").query("accessKey", &user);
            service(session, &target)?.admin(call).await?;
            let text = format!("Removed user `{user}` successfully.");
            tell(session, text, json!({ "accessKey": user }))
        }
        UserVerb::List { target } => {
            let s3 = service(session, &target)?;
            let all = s3.admin_opened(get("list-users")).await?;
            let users: Vec<_> = all.as_object().into_iter().flatten().collect();
            let names = users.iter().flat_map(|(_, user)| groups(user)).collect();
            let policies = policies_of(session, &s3, names).await;
            for (name, user) in users {
                let (text, json) = described(name, user, &policies);
                tell(session, text, json)?;
            }
            Ok(())
        }
        UserVerb::Info { target, user } => {
            let s3 = service(session, &target)?;
            let found = info(&s3, &user).await?;
            let policies = policies_of(session, &s3, groups(&found).collect()).await;
            let (_, json) = described(&user, &found, &policies);
            let text = |name: &str| found[name].as_str().unwrap_or_default();
            let names: Vec<&str> = groups(&found).collect();
            let shown = format!(
                "AccessKey: {user}\nStatus: {}\nPolicyName: {}\nMemberOf: [{}]",
                text("status"),
                text("policyName"),
                names.join(" ")
            );
            tell(session, shown, json)
        }
        UserVerb::Policy { target, user } => policy(session, &target, &user).await,
        UserVerb::Svcacct(verb) => keys::run(session, verb, keys::Style::ServiceAccounts).await,
        UserVerb::Sts(_) => Err(elsewhere(
            "admin user sts",
            "sessions are not kept by the server: they end with their keys",
        )),
    }
}

async fn info(s3: &S3, user: &str) -> Result<Value, Error> {
    s3.admin_json(get("user-info").query("accessKey", user)).await
}

/// The policies of these groups, which only the JSON form shows. A group that the sender may not read has none.
async fn policies_of(
    session: &Session,
    s3: &S3,
    groups: BTreeSet<&str>,
) -> BTreeMap<String, Vec<String>> {
    let mut policies = BTreeMap::new();
    if !session.options.json {
        return policies;
    }
    for group in groups {
        if let Ok(info) = s3.admin_json(get("group").query("group", group)).await {
            let names = info["policy"].as_str().unwrap_or_default().split(',');
            let names = names.filter(|name| !name.is_empty()).map(str::to_owned);
            policies.insert(group.to_owned(), names.collect());
        }
    }
    policies
}

/// The names of the groups of a user.
fn groups(user: &Value) -> impl Iterator<Item = &str> {
    user["memberOf"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn described(
    name: &str,
    user: &Value,
    policies: &BTreeMap<String, Vec<String>>,
) -> (String, Value) {
    let text = |field: &str| user[field].as_str().unwrap_or_default();
    let (status, policy) = (text("status"), text("policyName"));
    let mut json = json!({ "accessKey": name, "userStatus": status });
    if !policy.is_empty() {
        json["policyName"] = policy.into();
    }
    if user["memberOf"].is_array() {
        let groups = groups(user).map(|name| match policies.get(name) {
            Some(policies) if !policies.is_empty() => json!({ "name": name, "policies": policies }),
            _ => json!({ "name": name }),
        });
        json["memberOf"] = groups.collect();
    }
    (format!("{status:<10} {name:<20} {policy}").trim_end().to_owned(), json)
}

async fn set_status(
    session: &Arc<Session>,
    target: &str,
    user: &str,
    enable: bool,
) -> Result<(), Error> {
    let status = if enable { "enabled" } else { "disabled" };
    let call = put("set-user-status").query("accessKey", user).query("status", status);
    service(session, target)?.admin(call).await?;
    let done = if enable { "Enabled" } else { "Disabled" };
    tell(session, format!("{done} user `{user}` successfully."), json!({ "accessKey": user }))
}

/// Prints the statements of all policies of a user as one document.
async fn policy(session: &Arc<Session>, target: &str, user: &str) -> Result<(), Error> {
    let s3 = service(session, target)?;
    let found = info(&s3, user).await?;
    let names = found["policyName"].as_str().unwrap_or_default();
    let names: Vec<&str> = names.split(',').filter(|it| !it.is_empty()).collect();
    if names.is_empty() {
        return Err(Error::refused(format!("the user '{user}' has no policy attached")));
    }
    let mut statements = Vec::new();
    for name in names {
        let call = get("info-canned-policy").query("name", name).query("v", "2");
        let info = s3.admin_json(call).await?;
        statements.extend(info["Policy"]["Statement"].as_array().cloned().unwrap_or_default());
    }
    let document = json!({ "Version": "2012-10-17", "Statement": statements });
    session.output.line(&document.to_string())
}
