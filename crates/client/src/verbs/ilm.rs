//! `ilm`: the lifecycle rules of a bucket.

use std::sync::Arc;

use serde_json::{Value, json};

use super::note::tell;
use super::properties::tags;
use super::{elsewhere, text_input};
use crate::cli::{IlmVerb, RuleAddArgs, RuleArgs, RuleEditArgs, RuleRemoveArgs, RuleVerb};
use crate::error::Error;
use crate::s3::Shape;
use crate::session::Session;
use crate::target::{Remote, Target};
use crate::text::{count, parse_size};

const LIFECYCLE: Shape = Shape {
    root: "LifecycleConfiguration",
    lists: &[
        ("Rule", "Rules"),
        ("Tag", "Tags"),
        ("Transition", "Transitions"),
        ("NoncurrentVersionTransition", "NoncurrentVersionTransitions"),
    ],
    numbers: &[
        "Days",
        "NoncurrentDays",
        "NewerNoncurrentVersions",
        "ObjectSizeGreaterThan",
        "ObjectSizeLessThan",
        "DaysAfterInitiation",
    ],
    flags: &["ExpiredObjectDeleteMarker"],
    parents: &["Rule", "Filter", "And"],
};

/// The code for a bucket without rules.
const NONE: &str = "NoSuchLifecycleConfiguration";

pub(super) async fn run(session: &Arc<Session>, verb: IlmVerb) -> Result<(), Error> {
    match verb {
        IlmVerb::Rule(verb) => match *verb {
            RuleVerb::Add(arguments) => add(session, arguments).await,
            RuleVerb::Edit(arguments) => edit(session, arguments).await,
            RuleVerb::List { target } => list(session, &target).await,
            RuleVerb::Remove(arguments) => remove(session, arguments).await,
            RuleVerb::Export { target } => export(session, &target).await,
            RuleVerb::Import { target } => import(session, &target).await,
        },
        IlmVerb::Add(arguments) => add(session, arguments).await,
        IlmVerb::Edit(arguments) => edit(session, arguments).await,
        IlmVerb::Ls { target } => list(session, &target).await,
        IlmVerb::Rm(arguments) => remove(session, arguments).await,
        IlmVerb::Export { target } => export(session, &target).await,
        IlmVerb::Import { target } => import(session, &target).await,
        IlmVerb::Tier(_) => Err(elsewhere("ilm tier", "use MinIO's `mc ilm tier`")),
        IlmVerb::Restore(_) => Err(elsewhere("ilm restore", "use `aws s3api restore-object`")),
    }
}

/// The rules of a bucket; `None` if it has none.
async fn rules(remote: &Remote) -> Result<Option<Vec<Value>>, Error> {
    let shape = (LIFECYCLE, NONE);
    let found = remote.s3.setting_json(&remote.bucket, "lifecycle", shape).await?;
    Ok(found.map(|found| found["Rules"].as_array().cloned().unwrap_or_default()))
}

/// The rules of a bucket, which must have some.
async fn some_rules(remote: &Remote) -> Result<Vec<Value>, Error> {
    rules(remote).await?.ok_or_else(|| {
        Error::refused(format!("the bucket '{}' has no lifecycle rules", remote.bucket))
    })
}

async fn put(remote: &Remote, rules: Vec<Value>) -> Result<(), Error> {
    let Remote { s3, bucket, .. } = remote;
    if rules.is_empty() {
        return s3.delete_setting(bucket, "lifecycle").await;
    }
    let document = LIFECYCLE.to_xml(&json!({ "Rules": rules }));
    let document = document.map_err(|reason| Error::refused(format!("the rules: {reason}")))?;
    s3.put_setting(bucket, "lifecycle", document).await
}

async fn add(session: &Arc<Session>, arguments: RuleAddArgs) -> Result<(), Error> {
    let RuleAddArgs { target, id, rule: wanted } = arguments;
    let remote = Target::bucket(session, &target)?;
    let mut all = rules(&remote).await?.unwrap_or_default();
    let id = match id {
        Some(id) if all.iter().any(|rule| rule["ID"] == *id) => {
            return Err(Error::refused(format!("there is a rule '{id}'; change it with `edit`")));
        }
        Some(id) => id,
        None => super::new_id()?,
    };
    let mut rule = json!({ "ID": id, "Status": "Enabled", "Filter": {} });
    // As in mc, a target below a bucket is a prefix.
    let prefix = wanted.prefix.clone().or_else(|| Some(remote.key.clone()));
    apply(&mut rule, &RuleArgs { prefix: prefix.filter(|it| !it.is_empty()), ..wanted })?;
    if !has_action(&rule) {
        return Err(Error::refused(
            "the rule does nothing; add --expire-days, --expire-delete-marker, --transition-days, \
             --noncurrent-expire-days or --noncurrent-transition-days",
        ));
    }
    all.push(rule);
    put(&remote, all).await?;
    let text = format!("Lifecycle configuration rule added with ID `{id}` to {target}.");
    tell(session, text, json!({ "target": target, "id": id }))
}

async fn edit(session: &Arc<Session>, arguments: RuleEditArgs) -> Result<(), Error> {
    let RuleEditArgs { target, id, enable, disable, rule: wanted } = arguments;
    let remote = Target::bucket(session, &target)?;
    let mut all = some_rules(&remote).await?;
    let rule = all.iter_mut().find(|rule| rule["ID"] == *id).ok_or_else(|| no_rule(&id))?;
    apply(rule, &wanted)?;
    if enable || disable {
        rule["Status"] = if enable { "Enabled" } else { "Disabled" }.into();
    }
    put(&remote, all).await?;
    let text = format!("Lifecycle configuration rule with ID `{id}` modified to {target}.");
    tell(session, text, json!({ "target": target, "id": id }))
}

async fn remove(session: &Arc<Session>, arguments: RuleRemoveArgs) -> Result<(), Error> {
    let remote = Target::bucket(session, &arguments.target)?;
    let mut rules = some_rules(&remote).await?;
    match arguments.rule().map_err(Error::refused)? {
        Some(id) => {
            let before = rules.len();
            rules.retain(|rule| rule["ID"] != *id);
            if rules.len() == before {
                return Err(no_rule(id));
            }
        }
        None => rules.clear(),
    }
    let RuleRemoveArgs { target, id, all, .. } = arguments;
    put(&remote, rules).await?;
    let text = match &id {
        Some(id) => format!("Rule ID `{id}` from target {target} removed."),
        None => format!("Rules for `{target}` removed."),
    };
    tell(session, text, json!({ "target": target, "id": id.unwrap_or_default(), "all": all }))
}

async fn list(session: &Arc<Session>, target: &str) -> Result<(), Error> {
    let remote = Target::bucket(session, target)?;
    let rules = some_rules(&remote).await?;
    let text: Vec<String> = rules.iter().map(line).collect();
    let config = json!({ "Rules": shown(rules) });
    tell(session, text.join("\n"), json!({ "target": target, "config": config }))
}

async fn export(session: &Arc<Session>, target: &str) -> Result<(), Error> {
    let remote = Target::bucket(session, target)?;
    let config = json!({ "Rules": shown(some_rules(&remote).await?) });
    tell(session, config.to_string(), json!({ "target": target, "config": config }))
}

async fn import(session: &Arc<Session>, target: &str) -> Result<(), Error> {
    let remote = Target::bucket(session, target)?;
    let text = text_input::read(None).await?;
    let config: Value = serde_json::from_str(&text)
        .map_err(|error| Error::refused(format!("standard input is not JSON: {error}")))?;
    let rules = config["Rules"].as_array().filter(|rules| !rules.is_empty());
    let rules = rules.ok_or_else(|| Error::refused("standard input has no list Rules"))?;
    put(&remote, rules.clone()).await?;
    let text = format!("Lifecycle configuration imported successfully to `{target}`.");
    tell(session, text, json!({ "target": target }))
}

/// Rules in the names of `mc`, which has no lists where one is usual.
fn shown(mut rules: Vec<Value>) -> Vec<Value> {
    for rule in &mut rules {
        alone(rule, "Transitions", "Transition");
        alone(rule, "NoncurrentVersionTransitions", "NoncurrentVersionTransition");
        alone(&mut rule["Filter"], "Tags", "Tag");
    }
    rules
}

/// Puts a list of one under another name, without the list.
fn alone(object: &mut Value, list: &str, name: &str) {
    let Some(fields) = object.as_object_mut() else { return };
    if let Some(Value::Array(values)) = fields.get_mut(list)
        && values.len() == 1
        && let Some(value) = values.pop()
    {
        fields.remove(list);
        fields.insert(name.to_owned(), value);
    }
}

fn no_rule(id: &str) -> Error {
    Error::refused(format!("lifecycle rule for id '{id}' not found"))
}

/// A rule in one line.
fn line(rule: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let after = |days: &Value| match days.as_u64() {
        Some(days) => count(days, "day"),
        None => format!("{days} days"),
    };
    let mut parts = vec![text(&rule["ID"]), text(&rule["Status"])];
    let filter = &rule["Filter"];
    let filter = if filter["And"].is_object() { &filter["And"] } else { filter };
    let prefix = if filter["Prefix"].is_string() { &filter["Prefix"] } else { &rule["Prefix"] };
    parts.push(format!("prefix {:?}", prefix.as_str().unwrap_or_default()));
    let tags = tags_of(filter);
    if !tags.is_empty() {
        let tags: Vec<String> = tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
        parts.push(format!("tags {}", tags.join("&")));
    }
    for (name, words) in
        [("ObjectSizeGreaterThan", "larger than"), ("ObjectSizeLessThan", "smaller than")]
    {
        if let Some(bytes) = filter[name].as_u64() {
            parts.push(format!("{words} {}", count(bytes, "byte")));
        }
    }
    let expiration = &rule["Expiration"];
    if let Some(days) = expiration["Days"].as_u64() {
        parts.push(format!("expires after {}", count(days, "day")));
    }
    if let Some(date) = expiration["Date"].as_str() {
        parts.push(format!("expires on {date}"));
    }
    if expiration["ExpiredObjectDeleteMarker"] == true {
        parts.push("removes expired delete markers".to_owned());
    }
    for transition in list_of(&rule["Transitions"]) {
        let (time, tier) = (after(&transition["Days"]), text(&transition["StorageClass"]));
        parts.push(format!("moves to {tier} after {time}"));
    }
    let old = &rule["NoncurrentVersionExpiration"];
    if let Some(days) = old["NoncurrentDays"].as_u64() {
        let newer = old["NewerNoncurrentVersions"].as_u64();
        let keeps = newer.map(|newer| format!(", keeping {newer} newer")).unwrap_or_default();
        parts.push(format!("older versions expire after {}{keeps}", count(days, "day")));
    }
    for transition in list_of(&rule["NoncurrentVersionTransitions"]) {
        let (time, tier) =
            (after(&transition["NoncurrentDays"]), text(&transition["StorageClass"]));
        parts.push(format!("older versions move to {tier} after {time}"));
    }
    if let Some(days) = rule["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"].as_u64() {
        parts.push(format!("aborts uploads after {}", count(days, "day")));
    }
    parts.join(", ")
}

fn list_of(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The tags of a filter.
fn tags_of(filter: &Value) -> Vec<(String, String)> {
    let one = Some(&filter["Tag"]).filter(|tag| tag.is_object());
    let text = |tag: &Value, name: &str| tag[name].as_str().unwrap_or_default().to_owned();
    let all = one.into_iter().chain(list_of(&filter["Tags"]));
    all.map(|tag| (text(tag, "Key"), text(tag, "Value"))).collect()
}

fn has_action(rule: &Value) -> bool {
    ["Expiration", "Transitions", "NoncurrentVersionExpiration", "NoncurrentVersionTransitions"]
        .iter()
        .any(|name| !rule[*name].is_null())
}

/// Applies the given options to a rule; the others keep what it has.
fn apply(rule: &mut Value, wanted: &RuleArgs) -> Result<(), Error> {
    if wanted.expire_all_object_versions {
        return Err(Error::refused("--expire-all-object-versions is not supported"));
    }
    filter(rule, wanted)?;
    if wanted.expire_days.is_some() || wanted.expire_delete_marker {
        let mut expiration = json!({});
        match (wanted.expire_days, wanted.expire_delete_marker) {
            (Some(_), true) => {
                return Err(Error::refused(
                    "--expire-days and --expire-delete-marker need a rule each",
                ));
            }
            (Some(days), false) => expiration["Days"] = days.into(),
            (None, _) => expiration["ExpiredObjectDeleteMarker"] = true.into(),
        }
        rule["Expiration"] = expiration;
    }
    if let Some(tier) = pair(
        (wanted.transition_days, "--transition-days"),
        (&wanted.transition_tier, "--transition-tier"),
        (&rule["Transitions"][0], "Days"),
    )? {
        rule["Transitions"] = json!([tier]);
    }
    if let Some(tier) = pair(
        (wanted.noncurrent_transition_days, "--noncurrent-transition-days"),
        (&wanted.noncurrent_transition_tier, "--noncurrent-transition-tier"),
        (&rule["NoncurrentVersionTransitions"][0], "NoncurrentDays"),
    )? {
        rule["NoncurrentVersionTransitions"] = json!([tier]);
    }
    let RuleArgs { noncurrent_expire_days: days, noncurrent_expire_newer: newer, .. } = wanted;
    if days.is_some() || newer.is_some() {
        let mut old = match rule["NoncurrentVersionExpiration"].take() {
            Value::Object(old) => Value::Object(old),
            _ => json!({}),
        };
        if let Some(days) = days {
            old["NoncurrentDays"] = (*days).into();
        }
        if let Some(newer) = newer {
            old["NewerNoncurrentVersions"] = (*newer).into();
        }
        if old["NoncurrentDays"].is_null() {
            return Err(Error::refused("--noncurrent-expire-newer needs --noncurrent-expire-days"));
        }
        rule["NoncurrentVersionExpiration"] = old;
    }
    Ok(())
}

/// A transition with the given options, completed by what the rule has.
fn pair(
    (days, days_option): (Option<u32>, &str),
    (tier, tier_option): (&Option<String>, &str),
    (before, name): (&Value, &str),
) -> Result<Option<Value>, Error> {
    if days.is_none() && tier.is_none() {
        return Ok(None);
    }
    let days = days.map(Value::from).or_else(|| Some(before[name].clone()));
    let tier = tier.clone().map(Value::from).or_else(|| Some(before["StorageClass"].clone()));
    match (days, tier) {
        (Some(days), Some(tier)) if !days.is_null() && !tier.is_null() => {
            Ok(Some(json!({ name: days, "StorageClass": tier })))
        }
        _ => Err(Error::refused(format!("{days_option} and {tier_option} need each other"))),
    }
}

/// The filter with the given options: one condition stands alone, several stand in `And`.
fn filter(rule: &mut Value, wanted: &RuleArgs) -> Result<(), Error> {
    let RuleArgs { prefix, tags: tag_text, size_lt, size_gt, .. } = wanted;
    if prefix.is_none() && tag_text.is_none() && size_lt.is_none() && size_gt.is_none() {
        return Ok(());
    }
    let old = &rule["Filter"];
    let old = if old["And"].is_object() { &old["And"] } else { old };
    let old_prefix = old["Prefix"].as_str().or(rule["Prefix"].as_str()).map(str::to_owned);
    let prefix = prefix.clone().or(old_prefix).filter(|it| !it.is_empty());
    let tags = tag_text.as_deref().map_or_else(|| Ok(tags_of(old)), tags)?;
    let size = |given: &Option<String>, name: &str| match given {
        Some(text) => parse_size(text).map(Some).map_err(Error::Refused),
        None => Ok(old[name].as_u64()),
    };
    let larger = size(size_gt, "ObjectSizeGreaterThan")?;
    let smaller = size(size_lt, "ObjectSizeLessThan")?;
    let mut conditions = json!({});
    if let Some(prefix) = &prefix {
        conditions["Prefix"] = prefix.as_str().into();
    }
    if let Some(bytes) = larger {
        conditions["ObjectSizeGreaterThan"] = bytes.into();
    }
    if let Some(bytes) = smaller {
        conditions["ObjectSizeLessThan"] = bytes.into();
    }
    let tag = |(key, value): &(String, String)| json!({ "Key": key, "Value": value });
    let count = conditions.as_object().map_or(0, serde_json::Map::len) + tags.len();
    match (&tags[..], count) {
        ([], _) => {}
        ([one], 1) => conditions["Tag"] = tag(one),
        (many, _) => conditions["Tags"] = many.iter().map(tag).collect(),
    }
    if let Some(fields) = rule.as_object_mut() {
        // The former place of the prefix.
        fields.remove("Prefix");
    }
    rule["Filter"] = if count > 1 { json!({ "And": conditions }) } else { conditions };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(wanted: RuleArgs) -> Value {
        let mut rule = json!({ "Filter": {} });
        apply(&mut rule, &wanted).expect("valid");
        rule
    }

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn one_condition_stands_alone_and_several_in_and() {
        let one = rule(RuleArgs { prefix: text("a/"), ..RuleArgs::default() });
        assert_eq!(one["Filter"], json!({ "Prefix": "a/" }));
        let one = rule(RuleArgs { tags: text("k=v"), ..RuleArgs::default() });
        assert_eq!(one["Filter"], json!({ "Tag": { "Key": "k", "Value": "v" } }));
        let wanted = RuleArgs { prefix: text("a/"), size_gt: text("1KiB"), ..RuleArgs::default() };
        let mut two = rule(wanted);
        let and = json!({ "And": { "Prefix": "a/", "ObjectSizeGreaterThan": 1024 } });
        assert_eq!(two["Filter"], and);
        // A change keeps the other conditions.
        apply(&mut two, &RuleArgs { tags: text("k=v&l=w"), ..RuleArgs::default() }).expect("valid");
        let xml = LIFECYCLE.to_xml(&json!({ "Rules": [two] })).expect("a document");
        assert!(xml.contains("<Tag><Key>k</Key><Value>v</Value></Tag><Tag><Key>l</Key>"), "{xml}");
        assert!(xml.contains("<Prefix>a/</Prefix>") && xml.contains(">1024<"), "{xml}");
    }

    #[test]
    fn one_day_and_one_byte_are_singular() {
        let rule = json!({
            "ID": "r", "Status": "Enabled", "Filter": { "ObjectSizeGreaterThan": 1 }, "Expiration": { "Days": 1 },
            "Transitions": [{ "Days": 1, "StorageClass": "COLD" }, { "Days": 2, "StorageClass": "ICE" }],
            "AbortIncompleteMultipartUpload": { "DaysAfterInitiation": 7 },
        });
        assert_eq!(
            line(&rule),
            "r, Enabled, prefix \"\", larger than 1 byte, expires after 1 day, moves to COLD after 1 day, \
             moves to ICE after 2 days, aborts uploads after 7 days"
        );
    }

    #[test]
    fn options_that_need_each_other_are_asked_for() {
        for wanted in [
            RuleArgs { transition_days: Some(3), ..RuleArgs::default() },
            RuleArgs { transition_tier: text("COLD"), ..RuleArgs::default() },
            RuleArgs { noncurrent_expire_newer: Some(3), ..RuleArgs::default() },
            RuleArgs { expire_days: Some(1), expire_delete_marker: true, ..RuleArgs::default() },
            RuleArgs { expire_all_object_versions: true, ..RuleArgs::default() },
        ] {
            assert!(apply(&mut json!({ "Filter": {} }), &wanted).is_err(), "{wanted:?}");
        }
    }
}
