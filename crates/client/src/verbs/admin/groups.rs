//! `admin group`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{get, put, service};
use crate::cli::GroupVerb;
use crate::error::Error;
use crate::session::Session;
use crate::verbs::note::tell;

pub(super) async fn run(session: &Arc<Session>, verb: GroupVerb) -> Result<(), Error> {
    match verb {
        GroupVerb::Add { target, group, members } => {
            change(session, &target, &group, &members, false).await?;
            let names = members.join(",");
            let text = format!("Added members `{names}` to group `{group}` successfully.");
            tell(session, text, json!({ "groupName": group, "members": members }))
        }
        GroupVerb::Remove { target, group, members } => {
            change(session, &target, &group, &members, true).await?;
            let text = match members.is_empty() {
                true => format!("Removed group {group} successfully."),
                false => {
                    let names = members.join(",");
                    format!("Removed members {{{names}}} from group {group} successfully.")
                }
            };
            tell(session, text, json!({ "groupName": group, "members": members }))
        }
        GroupVerb::Info { target, group } => {
            let call = get("group").query("group", &group);
            let found = service(session, &target)?.admin_json(call).await?;
            let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
            let members = found["members"].clone();
            let names: Vec<&str> =
                members.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let (status, policy) = (text("status"), text("policy"));
            let shown = format!(
                "Group: {group}\nStatus: {status}\nPolicy: {policy}\nMembers: {}",
                names.join(",")
            );
            let mut json = json!({ "groupName": group, "groupStatus": status, "members": members });
            if !policy.is_empty() {
                json["groupPolicy"] = policy.into();
            }
            tell(session, shown, json)
        }
        GroupVerb::List { target } => {
            let all = service(session, &target)?.admin_json(get("groups")).await?;
            let names: Vec<&str> =
                all.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if names.is_empty() && !session.options.json {
                return Ok(());
            }
            tell(session, names.join("\n"), json!({ "groups": names }))
        }
        GroupVerb::Enable { target, group } => set_status(session, &target, &group, true).await,
        GroupVerb::Disable { target, group } => set_status(session, &target, &group, false).await,
    }
}

async fn change(
    session: &Arc<Session>,
    target: &str,
    group: &str,
    members: &[String],
    is_remove: bool,
) -> Result<(), Error> {
    let change = json!({ "group": group, "members": members, "isRemove": is_remove });
    service(session, target)?.admin(put("update-group-members").json(&change)?).await.map(drop)
}

async fn set_status(
    session: &Arc<Session>,
    target: &str,
    group: &str,
    enable: bool,
) -> Result<(), Error> {
    let (status, done) = if enable { ("enabled", "Enabled") } else { ("disabled", "Disabled") };
    let call = put("set-group-status").query("group", group).query("status", status);
    service(session, target)?.admin(call).await?;
    let json = json!({ "groupName": group, "groupStatus": status });
    tell(session, format!("{done} group `{group}` successfully."), json)
}
