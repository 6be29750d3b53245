//! `replicate`: the replication of a bucket to another service.

mod resync;
mod status;

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::note::tell;
use super::properties::tags;
use super::{elsewhere, text_input};
use crate::cli::{ReplicateArgs, ReplicateVerb, ResyncVerb};
use crate::error::Error;
use crate::s3::{AdminCall, Shape};
use crate::session::Session;
use crate::target::{Remote, Target};
use crate::text::human;

const REPLICATION: Shape = Shape {
    root: "ReplicationConfiguration",
    lists: &[("Rule", "Rules"), ("Tag", "Tags")],
    numbers: &["Priority"],
    flags: &[],
    parents: &["Rule", "Filter", "And"],
};

/// The code for a bucket without rules.
const NONE: &str = "ReplicationConfigurationNotFoundError";

/// Changes that a new rule copies beside new versions, as in `mc`.
const ALL: &str = "delete-marker,delete,existing-objects,metadata-sync";

pub(super) async fn run(session: &Arc<Session>, verb: ReplicateVerb) -> Result<(), Error> {
    match verb {
        ReplicateVerb::Add { target, remote_bucket, region, id, disable, rule } => {
            let new = New { remote_bucket, region, id, is_disabled: disable, rule };
            add(session, &target, new).await
        }
        ReplicateVerb::Update { target, id, state, rule } => {
            update(session, &target, &id, state.as_deref(), &rule).await
        }
        ReplicateVerb::List { target, status } => list(session, &target, status.as_deref()).await,
        ReplicateVerb::Remove(arguments) => {
            let id = arguments.rule().map_err(Error::refused)?;
            remove(session, &arguments.target, id.map(str::to_owned)).await
        }
        ReplicateVerb::Export { target } => {
            let remote = Target::bucket(session, &target)?;
            let config = some(&remote).await?;
            tell(session, config.to_string(), json!({ "url": target, "replication": config }))
        }
        ReplicateVerb::Import { target } => {
            let remote = Target::bucket(session, &target)?;
            let text = text_input::read(None).await?;
            let config: Value = serde_json::from_str(&text)
                .map_err(|error| Error::refused(format!("standard input is not JSON: {error}")))?;
            put(&remote, &config).await?;
            let text = format!("Replication configuration successfully set on `{target}`.");
            tell(session, text, json!({ "op": "import", "url": target }))
        }
        ReplicateVerb::Status { target } => status::run(session, &target).await,
        ReplicateVerb::Resync(ResyncVerb::Start { target, remote_bucket, older_than }) => {
            resync::start(session, &target, remote_bucket.as_deref(), older_than.as_deref()).await
        }
        ReplicateVerb::Resync(ResyncVerb::Status { target, remote_bucket }) => {
            resync::status(session, &target, remote_bucket.as_deref()).await
        }
        ReplicateVerb::Backlog(_) => {
            Err(elsewhere("replicate backlog", "the metrics of the server have the queue"))
        }
    }
}

async fn some(remote: &Remote) -> Result<Value, Error> {
    let shape = (REPLICATION, NONE);
    let found = remote.s3.setting_json(&remote.bucket, "replication", shape).await?;
    found.ok_or_else(|| {
        Error::refused("replication configuration not set; make a rule with `replicate add`")
    })
}

/// The ARNs of the targets that enabled rules name, in the order of the rules.
fn targets(config: &Value) -> Vec<String> {
    let mut targets = Vec::new();
    for rule in rules(config).iter().filter(|rule| rule["Status"] == "Enabled") {
        let arn = rule["Destination"]["Bucket"].as_str().unwrap_or_default().to_owned();
        if !arn.is_empty() && !targets.contains(&arn) {
            targets.push(arn);
        }
    }
    targets
}

/// A number as a cell of a table; a dash for one that the service does not tell.
fn number(value: &Value) -> String {
    value.as_u64().map_or_else(|| "-".to_owned(), |number| number.to_string())
}

/// A number of bytes as a cell of a table.
fn size(value: &Value) -> String {
    value.as_u64().map_or_else(|| "-".to_owned(), human)
}

async fn put(remote: &Remote, config: &Value) -> Result<(), Error> {
    let mut config = config.clone();
    if config.is_object() && config["Role"].is_null() {
        // The services want a role, and use none.
        config["Role"] = "".into();
    }
    let document = REPLICATION.to_xml(&config);
    let document = document.map_err(|reason| Error::refused(format!("the rules: {reason}")))?;
    remote.s3.put_setting(&remote.bucket, "replication", document).await
}

fn rules(config: &Value) -> Vec<Value> {
    config["Rules"].as_array().cloned().unwrap_or_default()
}

/// A rule to add.
struct New {
    remote_bucket: String,
    region: String,
    id: Option<String>,
    is_disabled: bool,
    rule: ReplicateArgs,
}

async fn add(session: &Arc<Session>, target: &str, new: New) -> Result<(), Error> {
    let remote = Target::bucket(session, target)?;
    let place = Place::parse(session, &new.remote_bucket)?;
    let shape = (REPLICATION, NONE);
    let found = remote.s3.setting_json(&remote.bucket, "replication", shape).await?;
    let mut config = found.unwrap_or_else(|| json!({}));
    let mut all = rules(&config);
    let id = new.id.map_or_else(super::new_id, Ok)?;
    if all.iter().any(|rule| rule["ID"] == *id) {
        return Err(Error::refused(format!("there is a rule '{id}'; change it with `update`")));
    }
    let highest = all.iter().filter_map(|rule| rule["Priority"].as_i64()).max();
    let call = AdminCall::new(Method::PUT, "set-remote-target").query("bucket", &remote.bucket);
    let arn = remote.s3.admin_json(call.sealed(&place.document(&remote, &new.region))?).await?;
    let mut rule = json!({
        "ID": id,
        "Status": if new.is_disabled { "Disabled" } else { "Enabled" },
        "Priority": highest.map_or(1, |highest| highest.saturating_add(1)),
        "Destination": { "Bucket": arn },
        "Filter": { "Prefix": remote.key },
    });
    let wanted = ReplicateArgs {
        replicate: Some(new.rule.replicate.clone().unwrap_or_else(|| ALL.to_owned())),
        ..new.rule
    };
    apply(&mut rule, &wanted)?;
    all.push(rule);
    config["Rules"] = all.into();
    put(&remote, &config).await?;
    let text = format!("Replication configuration rule applied to {target} successfully.");
    tell(session, text, json!({ "op": "add", "url": target, "id": id }))
}

async fn update(
    session: &Arc<Session>,
    target: &str,
    id: &str,
    state: Option<&str>,
    wanted: &ReplicateArgs,
) -> Result<(), Error> {
    let remote = Target::bucket(session, target)?;
    let mut config = some(&remote).await?;
    let mut all = rules(&config);
    let rule = all.iter_mut().find(|rule| rule["ID"] == *id).ok_or_else(|| no_rule(id))?;
    match state {
        None => {}
        Some("enable") => rule["Status"] = "Enabled".into(),
        Some("disable") => rule["Status"] = "Disabled".into(),
        Some(other) => {
            return Err(Error::refused(format!("'{other}' is no state; write enable or disable")));
        }
    }
    apply(rule, wanted)?;
    config["Rules"] = all.into();
    put(&remote, &config).await?;
    let text = format!("Replication configuration rule applied to {target} successfully.");
    tell(session, text, json!({ "op": "update", "url": target, "id": id }))
}

async fn list(session: &Arc<Session>, target: &str, status: Option<&str>) -> Result<(), Error> {
    let remote = Target::bucket(session, target)?;
    for rule in rules(&some(&remote).await?) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let state = text(&rule["Status"]);
        if status.is_some_and(|status| !state.eq_ignore_ascii_case(status)) {
            continue;
        }
        let line = format!(
            "Rule {}: {state}, priority {}, to {}",
            text(&rule["ID"]),
            rule["Priority"],
            text(&rule["Destination"]["Bucket"]),
        );
        tell(session, line, json!({ "op": "list", "url": target, "rule": rule }))?;
    }
    Ok(())
}

/// Removes a rule, or all, and then the targets that no rule names any more.
async fn remove(session: &Arc<Session>, target: &str, id: Option<String>) -> Result<(), Error> {
    let remote = Target::bucket(session, target)?;
    let mut config = some(&remote).await?;
    let is_gone = |rule: &Value| id.as_ref().is_none_or(|id| rule["ID"] == **id);
    let (gone, stay): (Vec<Value>, Vec<Value>) = rules(&config).into_iter().partition(is_gone);
    match (&id, gone.is_empty()) {
        (Some(id), true) => return Err(no_rule(id)),
        _ if stay.is_empty() => remote.s3.delete_setting(&remote.bucket, "replication").await?,
        _ => {
            config["Rules"] = stay.clone().into();
            put(&remote, &config).await?;
        }
    }
    let arn = |rule: &Value| rule["Destination"]["Bucket"].as_str().unwrap_or_default().to_owned();
    let mut arns: Vec<String> = gone.iter().map(arn).collect();
    arns.sort_unstable();
    arns.dedup();
    arns.retain(|it| !it.is_empty() && !stay.iter().any(|rule| arn(rule) == *it));
    for arn in arns {
        let call = AdminCall::new(Method::DELETE, "remove-remote-target")
            .query("bucket", &remote.bucket)
            .query("arn", &arn);
        if let Err(error) = remote.s3.admin(call).await {
            session.output.failure(&format!("The target {arn} stays:"), &error);
        }
    }
    let text = match &id {
        Some(id) => format!("Replication configuration rule with ID `{id}` removed from {target}."),
        None => format!("Replication configuration removed from {target} successfully."),
    };
    tell(session, text, json!({ "op": "remove", "url": target, "id": id.unwrap_or_default() }))
}

fn no_rule(id: &str) -> Error {
    Error::refused(format!("there is no replication rule '{id}'"))
}

/// Applies the given options to a rule; the others keep what it has.
fn apply(rule: &mut Value, wanted: &ReplicateArgs) -> Result<(), Error> {
    if let Some(priority) = wanted.priority {
        rule["Priority"] = priority.into();
    }
    if let Some(class) = &wanted.storage_class {
        rule["Destination"]["StorageClass"] = class.as_str().into();
    }
    if let Some(text) = &wanted.tags {
        let filter = &rule["Filter"];
        let old = filter["And"]["Prefix"].as_str().or(filter["Prefix"].as_str());
        let prefix = old.unwrap_or_default().to_owned();
        let tags: Vec<Value> = tags(text)?
            .into_iter()
            .map(|(key, value)| json!({ "Key": key, "Value": value }))
            .collect();
        rule["Filter"] = match tags.is_empty() {
            true => json!({ "Prefix": prefix }),
            false => json!({ "And": { "Prefix": prefix, "Tags": tags } }),
        };
    }
    if let Some(text) = &wanted.replicate {
        let parts: Vec<&str> =
            text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
        if let Some(other) = parts.iter().find(|part| !ALL.split(',').any(|it| it == **part)) {
            return Err(Error::refused(format!("'{other}' cannot be replicated; write of {ALL}")));
        }
        let status = |part: &str| match parts.contains(&part) {
            true => json!({ "Status": "Enabled" }),
            false => json!({ "Status": "Disabled" }),
        };
        rule["DeleteMarkerReplication"] = status("delete-marker");
        rule["DeleteReplication"] = status("delete");
        rule["ExistingObjectReplication"] = status("existing-objects");
        rule["SourceSelectionCriteria"] =
            json!({ "ReplicaModifications": status("metadata-sync") });
    }
    Ok(())
}

/// The bucket that copies go to.
struct Place {
    url: String,
    access_key: String,
    secret_key: String,
    bucket: String,
}

impl Place {
    /// Parses `ALIAS/BUCKET`, or a URL with keys.
    fn parse(session: &Session, text: &str) -> Result<Place, Error> {
        let wrong = || {
            Error::refused(
                "the target is ALIAS/BUCKET, or a URL such as https://ACCESSKEY:SECRETKEY@HOST/BUCKET",
            )
        };
        let Some((scheme, rest)) = text.split_once("://") else {
            let (name, bucket) = text.split_once('/').ok_or_else(wrong)?;
            let (alias, _) = session.aliases.get(name)?.ok_or_else(|| {
                Error::refused(format!("'{name}' is no alias; make it with `alias set`"))
            })?;
            return Ok(Place {
                url: alias.url.trim_end_matches('/').to_owned(),
                access_key: alias.access_key,
                secret_key: alias.secret_key,
                bucket: bucket.trim_end_matches('/').to_owned(),
            });
        };
        let (keys, rest) = rest.rsplit_once('@').ok_or_else(wrong)?;
        let (access_key, secret_key) = keys.split_once(':').ok_or_else(wrong)?;
        let (host, bucket) = rest.split_once('/').ok_or_else(wrong)?;
        let bucket = bucket.trim_end_matches('/');
        if host.is_empty() || bucket.is_empty() {
            return Err(wrong());
        }
        let plain = |text: &str| crate::s3::decoded(&text.replace('+', "%2B")).ok_or_else(wrong);
        Ok(Place {
            url: format!("{scheme}://{host}"),
            access_key: plain(access_key)?,
            secret_key: plain(secret_key)?,
            bucket: bucket.to_owned(),
        })
    }

    /// The document of the admin API.
    fn document(&self, source: &Remote, region: &str) -> Value {
        let (scheme, endpoint) = self.url.split_once("://").unwrap_or(("http", &self.url));
        json!({
            "sourcebucket": source.bucket,
            "endpoint": endpoint,
            "secure": scheme == "https",
            "credentials": { "accessKey": self.access_key, "secretKey": self.secret_key },
            "targetbucket": self.bucket,
            "region": region,
            "type": "replication",
            "path": "auto",
            "api": "s3v4",
        })
    }
}
