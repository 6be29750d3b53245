//! `admin policy`.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::{get, put, service};
use crate::cli::{AttachArgs, PolicyVerb};
use crate::error::Error;
use crate::s3::AdminCall;
use crate::session::Session;
use crate::verbs::note::tell;
use crate::verbs::{elsewhere, text_input};

/// The error code for policies that are attached, or detached, already.
const ALREADY_APPLIED: &str = "XMinioAdminPolicyChangeAlreadyApplied";

pub(super) async fn run(session: &Arc<Session>, verb: PolicyVerb) -> Result<(), Error> {
    match verb {
        PolicyVerb::Create { target, name, file } => {
            let text = text_input::read(Some(&file)).await?;
            let call = put("add-canned-policy").query("name", &name).body(text);
            service(session, &target)?.admin(call).await?;
            let text = format!("Created policy `{name}` successfully.");
            tell(session, text, json!({ "policy": name, "isGroup": false }))
        }
        PolicyVerb::Remove { target, name } => {
            let call = AdminCall::new(Method::DELETE, "remove-canned-policy").query("name", &name);
            service(session, &target)?.admin(call).await?;
            let text = format!("Removed policy `{name}` successfully.");
            tell(session, text, json!({ "policy": name, "isGroup": false }))
        }
        PolicyVerb::List { target } => {
            let all = service(session, &target)?.admin_json(get("list-canned-policies")).await?;
            for name in all.as_object().into_iter().flatten().map(|(name, _)| name) {
                tell(session, name.as_str(), json!({ "policy": name, "isGroup": false }))?;
            }
            Ok(())
        }
        PolicyVerb::Info { target, name, policy_file } => {
            let call = get("info-canned-policy").query("name", &name).query("v", "2");
            let info = service(session, &target)?.admin_json(call).await?;
            if let Some(file) = policy_file {
                let text = format!("{:#}\n", info["Policy"]);
                std::fs::write(&file, text).map_err(Error::file(&file))?;
            }
            let json = json!({ "policy": name, "policyInfo": info, "isGroup": false });
            tell(session, info.to_string(), json)
        }
        PolicyVerb::Attach(arguments) => associate(session, arguments, true).await,
        PolicyVerb::Detach(arguments) => associate(session, arguments, false).await,
        PolicyVerb::Set { target, names, holder } => set(session, &target, &names, &holder).await,
        PolicyVerb::Update(_) => Err(former("update", "attach")),
        PolicyVerb::Unset(_) => Err(former("unset", "detach")),
        PolicyVerb::Entities { target, user, group, policy } => {
            entities(session, &target, [("user", user), ("group", group), ("policy", policy)]).await
        }
    }
}

/// The error about a command that `mc` no longer has, either.
fn former(word: &str, now: &str) -> Error {
    let instead = format!("use `admin policy {now} ALIAS POLICY --user NAME`, or --group NAME");
    elsewhere(&format!("admin policy {word}"), &instead)
}

async fn associate(
    session: &Arc<Session>,
    arguments: AttachArgs,
    is_attach: bool,
) -> Result<(), Error> {
    let AttachArgs { target, policies, user, group } = arguments;
    let (path, field, done) = match is_attach {
        true => ("idp/builtin/policy/attach", "policiesAttached", "Attached"),
        false => ("idp/builtin/policy/detach", "policiesDetached", "Detached"),
    };
    let (kind, word, name) = match (user, group) {
        (Some(user), _) => ("user", "User", user),
        (None, Some(group)) => ("group", "Group", group),
        (None, None) => {
            return Err(Error::refused("say whom it is about: add --user NAME or --group NAME"));
        }
    };
    let association = json!({ "policies": policies, kind: name });
    let call = AdminCall::new(Method::POST, path).sealed(&association)?;
    let changed = match service(session, &target)?.admin_opened(call).await {
        // As `mc`: scripts that set up a server run at each start.
        Err(error) if error.code() == ALREADY_APPLIED => json!(policies),
        answer => answer?[field].clone(),
    };
    let names = list(&changed).join(" ");
    let preposition = if is_attach { "To" } else { "From" };
    let text = format!("{done} Policies: [{names}]\n{preposition} {word}: {name}");
    tell(session, text, json!({ field: changed, kind: name }))
}

/// Replaces all policies of a user or a group, as `mc` did before it had `attach`.
async fn set(session: &Arc<Session>, target: &str, names: &str, holder: &str) -> Result<(), Error> {
    let (is_group, name) = match holder.split_once('=') {
        Some(("user", name)) => (false, name),
        Some(("group", name)) => (true, name),
        _ => return Err(Error::refused("say whom it is about: user=NAME or group=NAME")),
    };
    let call = put("set-user-or-group-policy")
        .query("policyName", names)
        .query("userOrGroup", name)
        .query("isGroup", is_group.to_string());
    service(session, target)?.admin(call).await?;
    let word = if is_group { "group" } else { "user" };
    let text = format!("Policy `{names}` is set on {word} `{name}`");
    tell(session, text, json!({ "policy": names, "userOrGroup": name, "isGroup": is_group }))
}

async fn entities(
    session: &Arc<Session>,
    target: &str,
    of: [(&str, Vec<String>); 3],
) -> Result<(), Error> {
    let mut call = get("idp/builtin/policy-entities");
    for (name, values) in of {
        for value in values {
            call = call.query(name, value);
        }
    }
    let found = service(session, target)?.admin_opened(call).await?;
    let mut lines =
        vec![format!("Query time: {}", found["timestamp"].as_str().unwrap_or_default())];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for (field, word, name) in
        [("userMappings", "User", "user"), ("groupMappings", "Group", "group")]
    {
        if found[field].is_array() {
            lines.push(format!("{word} -> Policy Mappings:"));
        }
        for mapping in found[field].as_array().into_iter().flatten() {
            lines.push(format!("  {word}: {}", text(&mapping[name])));
            lines.push(format!("    Policies:\n      {}", list(&mapping["policies"]).join(", ")));
        }
    }
    if found["policyMappings"].is_array() {
        lines.push("Policy -> Entity Mappings:".to_owned());
    }
    for mapping in found["policyMappings"].as_array().into_iter().flatten() {
        lines.push(format!("  Policy: {}", text(&mapping["policy"])));
        for (field, word) in [("users", "User"), ("groups", "Group")] {
            let names = list(&mapping[field]);
            if !names.is_empty() {
                lines.push(format!("    {word} Mappings:"));
                lines.extend(names.iter().map(|name| format!("      {name}")));
            }
        }
    }
    tell(session, lines.join("\n"), json!({ "result": found }))
}

fn list(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
