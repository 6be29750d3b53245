//! `event`: the notifications of a bucket.

use std::sync::Arc;

use serde_json::{Value, json};

use super::note::tell;
use crate::cli::{EventArgs, EventVerb};
use crate::error::Error;
use crate::s3::Shape;
use crate::session::Session;
use crate::target::{Remote, Target};

const NOTIFICATION: Shape = Shape {
    root: "NotificationConfiguration",
    lists: &[
        ("QueueConfiguration", "QueueConfigurations"),
        ("TopicConfiguration", "TopicConfigurations"),
        ("CloudFunctionConfiguration", "CloudFunctionConfigurations"),
        ("Event", "Events"),
        ("FilterRule", "FilterRules"),
    ],
    numbers: &[],
    flags: &[],
    parents: &["NotificationConfiguration", "QueueConfiguration", "Filter", "S3Key"],
};

/// Lists of notifications, with the names of their targets, and the services in the ARNs of these.
const KINDS: [(&str, &str, &str); 3] = [
    ("QueueConfigurations", "Queue", "sqs"),
    ("TopicConfigurations", "Topic", "sns"),
    ("CloudFunctionConfigurations", "CloudFunction", "lambda"),
];

pub(super) async fn run(session: &Arc<Session>, verb: EventVerb) -> Result<(), Error> {
    match verb {
        EventVerb::Add { target, arn, filter, ignore_existing } => {
            add(session, &target, &arn, &filter, ignore_existing).await
        }
        EventVerb::Remove { target, arn, filter, force } => {
            remove(session, &target, arn.as_deref(), &filter, force).await
        }
        EventVerb::List { target, arn } => list(session, &target, arn.as_deref()).await,
    }
}

async fn read(remote: &Remote) -> Result<Value, Error> {
    let shape = (NOTIFICATION, "NoSuchNotificationConfiguration");
    let found = remote.s3.setting_json(&remote.bucket, "notification", shape).await?;
    Ok(found.filter(Value::is_object).unwrap_or_else(|| json!({})))
}

async fn write(remote: &Remote, all: &Value) -> Result<(), Error> {
    let document = NOTIFICATION.to_xml(all).map_err(Error::Refused)?;
    remote.s3.put_setting(&remote.bucket, "notification", document).await
}

async fn add(
    session: &Arc<Session>,
    target: &str,
    arn: &str,
    filter: &EventArgs,
    ignore_existing: bool,
) -> Result<(), Error> {
    let remote = Target::bucket(session, target)?;
    let service = arn.split(':').nth(2).unwrap_or_default();
    let kind = KINDS.iter().find(|(.., name)| *name == service);
    let Some((kind, name, _)) = kind else {
        return Err(Error::refused(format!(
            "'{arn}' is no ARN of a target; write one such as arn:minio:sqs::NAME:webhook"
        )));
    };
    let events = events(&filter.event)?;
    let mut all = read(&remote).await?;
    if has(&all[*kind], name, arn, filter, &events) {
        if !ignore_existing {
            return Err(Error::refused("there is such a notification; use --ignore-existing"));
        }
    } else {
        let mut new = json!({ "Id": super::new_id()?, *name: arn, "Events": events });
        let rules: Vec<Value> = [("prefix", &filter.prefix), ("suffix", &filter.suffix)]
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| json!({ "Name": name, "Value": value }))
            .collect();
        if !rules.is_empty() {
            new["Filter"] = json!({ "S3Key": { "FilterRules": rules } });
        }
        match all[*kind].as_array_mut() {
            Some(list) => list.push(new),
            None => all[*kind] = json!([new]),
        }
        write(&remote, &all).await?;
    }
    let json = json!({
        "arn": arn, "event": events, "prefix": filter.prefix, "suffix": filter.suffix,
    });
    tell(session, format!("Successfully added {arn}"), json)
}

async fn remove(
    session: &Arc<Session>,
    target: &str,
    arn: Option<&str>,
    filter: &EventArgs,
    force: bool,
) -> Result<(), Error> {
    let remote = Target::bucket(session, target)?;
    let Some(arn) = arn else {
        if !force {
            return Err(Error::refused("name an ARN, or use --force to remove all notifications"));
        }
        write(&remote, &json!({})).await?;
        return tell(session, "Successfully removed all notifications", json!({ "arn": "" }));
    };
    let mut all = read(&remote).await?;
    let events = events(&filter.event)?;
    let mut removed = false;
    for (kind, name, _) in KINDS {
        if let Some(list) = all[kind].as_array_mut() {
            let before = list.len();
            // With --force whatever its events and filter are.
            list.retain(|it| match force {
                true => it[name] != arn,
                false => !is(it, name, arn, filter, &events),
            });
            removed |= list.len() < before;
        }
    }
    if !removed {
        return Err(Error::refused(format!(
            "there is no notification of these events to '{arn}'; see `event list {target}`"
        )));
    }
    write(&remote, &all).await?;
    tell(session, format!("Successfully removed {arn}"), json!({ "arn": arn }))
}

async fn list(session: &Arc<Session>, target: &str, arn: Option<&str>) -> Result<(), Error> {
    let remote = Target::bucket(session, target)?;
    let all = read(&remote).await?;
    for (kind, name, _) in KINDS {
        for one in all[kind].as_array().into_iter().flatten() {
            let target = one[name].as_str().unwrap_or_default();
            if arn.is_some_and(|arn| arn != target) {
                continue;
            }
            let (prefix, suffix) = (rule(one, "prefix"), rule(one, "suffix"));
            let events = &one["Events"];
            let names: Vec<&str> =
                events.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let text = format!(
                "{target}   {}   Filter: prefix={prefix:?} suffix={suffix:?}",
                names.join(",")
            );
            let json = json!({
                "id": one["Id"], "event": events, "prefix": prefix, "suffix": suffix, "arn": target,
            });
            tell(session, text, json)?;
        }
    }
    Ok(())
}

/// The value of a rule of the filter; empty without it.
fn rule<'n>(one: &'n Value, name: &str) -> &'n str {
    let rules = one["Filter"]["S3Key"]["FilterRules"].as_array().into_iter().flatten();
    let is = |rule: &&Value| rule["Name"].as_str().is_some_and(|it| it.eq_ignore_ascii_case(name));
    rules.filter(is).find_map(|rule| rule["Value"].as_str()).unwrap_or_default()
}

fn has(list: &Value, name: &str, arn: &str, filter: &EventArgs, events: &[String]) -> bool {
    list.as_array().into_iter().flatten().any(|one| is(one, name, arn, filter, events))
}

fn is(one: &Value, name: &str, arn: &str, filter: &EventArgs, events: &[String]) -> bool {
    let mut found: Vec<&str> =
        one["Events"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut wanted: Vec<&str> = events.iter().map(String::as_str).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    one[name] == arn
        && found == wanted
        && rule(one, "prefix") == filter.prefix
        && rule(one, "suffix") == filter.suffix
}

/// The names of S3 for the kinds of events that `mc` has.
fn events(text: &str) -> Result<Vec<String>, Error> {
    let mut events = Vec::new();
    for kind in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        let names: &[&str] = match kind {
            "put" => &["s3:ObjectCreated:*"],
            "delete" => &["s3:ObjectRemoved:*"],
            "get" => &["s3:ObjectAccessed:*"],
            "replica" => &["s3:Replication:*"],
            "ilm" => &["s3:ObjectRestore:*", "s3:ObjectTransition:*"],
            name if name.starts_with("s3:") => &[name],
            _ => {
                return Err(Error::refused(format!(
                    "'{kind}' is no kind of event; write put, delete, get, replica, ilm, or a name of S3"
                )));
            }
        };
        events.extend(names.iter().map(|name| (*name).to_owned()));
    }
    match events.is_empty() {
        true => Err(Error::refused("--event names no event")),
        false => Ok(events),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_events_have_names_of_s3() {
        let expected = ["s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:ObjectCreated:Copy"];
        assert_eq!(events("put, delete,s3:ObjectCreated:Copy").expect("known"), expected);
        for text in ["", "posts", ","] {
            assert!(events(text).is_err(), "{text}");
        }
    }
}
