//! `admin user`.

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
            let all = service(session, &target)?.admin_opened(get("list-users")).await?;
            for (name, user) in all.as_object().into_iter().flatten() {
                let (text, json) = described(name, user);
                tell(session, text, json)?;
            }
            Ok(())
        }
        UserVerb::Info { target, user } => {
            let found = info(&*service(session, &target)?, &user).await?;
            let (_, json) = described(&user, &found);
            let text = |name: &str| found[name].as_str().unwrap_or_default();
            let groups: Vec<&str> = found["memberOf"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let shown = format!(
                "AccessKey: {user}\nStatus: {}\nPolicyName: {}\nMemberOf: [{}]",
                text("status"),
                text("policyName"),
                groups.join(" ")
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

fn described(name: &str, user: &Value) -> (String, Value) {
    let text = |field: &str| user[field].as_str().unwrap_or_default();
    let (status, policy) = (text("status"), text("policyName"));
    let mut json = json!({ "accessKey": name, "userStatus": status });
    if !policy.is_empty() {
        json["policyName"] = policy.into();
    }
    if let Some(groups) = user["memberOf"].as_array() {
        json["memberOf"] = groups.iter().map(|name| json!({ "name": name })).collect();
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
