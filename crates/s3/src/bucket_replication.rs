//! The replication configuration of a bucket.

use std::collections::HashSet;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use liteio_store::{NewResync, Replication, ReplicationRule, Store};
use s3s::xml::{DeError, DeResult, DeserializeContent, Deserializer};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

use super::limits::{REPLICATION_RULES_MAX, RULE_ID_BYTES_MAX};
use super::plain::{self, PlainRequest, PlainResponse};
use super::xml::XmlWriter;
use super::{error, metadata};
use liteio_access::Granted;
use liteio_access::state::App;
use liteio_wire::reply::ReplyBody;

const ROOT: &str = "ReplicationConfiguration";

pub(super) async fn put_bucket_replication(app: &App, request: PlainRequest) -> PlainResponse {
    let granted = &request.granted;
    let sent = parse(&request.body)?;
    let replication = check(app, granted, sent)?;
    // Targets whose existing versions are queued now: those that no rule asked for before.
    let before = granted.bucket().settings.replication.as_ref();
    let is_new = |target: &str| {
        let mut rules = before.iter().flat_map(|before| &before.rules);
        !rules.any(|rule| rule.is_enabled && rule.copies_existing && rule.target == target)
    };
    let mut resyncs: Vec<NewResync> = Vec::new();
    for rule in replication.rules.iter().filter(|rule| rule.is_enabled && rule.copies_existing) {
        if is_new(&rule.target) && resyncs.iter().all(|resync| resync.target != rule.target) {
            let target = rule.target.clone();
            let id = format!("existing-{}", app.ask(Store::now_ms));
            resyncs.push(NewResync { id, target, again: false, before_ms: u64::MAX });
        }
    }
    let set = app.store.set_replication(granted.bucket(), Some(replication), resyncs).await;
    set.map_err(error::from_store)?;
    plain::done()
}

pub(super) async fn get_bucket_replication(_app: &App, request: PlainRequest) -> PlainResponse {
    let Some(replication) = &request.granted.bucket().settings.replication else {
        return Err(s3_error!(
            ReplicationConfigurationNotFoundError,
            "The replication configuration was not found"
        ));
    };
    let mut response = Response::new(ReplyBody::from(replication.document.clone()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    Ok(response)
}

pub(super) async fn delete_bucket_replication(app: &App, request: PlainRequest) -> PlainResponse {
    let deleted = app.store.set_replication(request.granted.bucket(), None, Vec::new()).await;
    deleted.map_err(error::from_store)?;
    match plain::wants_status_200(app, &request.headers) {
        true => plain::done(),
        false => plain::no_content(),
    }
}

/// A configuration as it was sent.
#[derive(Default)]
struct Sent {
    role: Option<String>,
    rules: Vec<SentRule>,
}

/// A rule as it was sent. A status is the text of the element `Status` in an element.
#[derive(Default)]
struct SentRule {
    id: Option<String>,
    priority: Option<String>,
    status: Option<String>,
    prefix: Option<String>,
    filter: Option<Filter>,
    destination: Option<Destination>,
    markers: Option<String>,
    deletions: Option<String>,
    existing: Option<String>,
    changed_replicas: Option<String>,
    named_encryption: Option<String>,
}

#[derive(Default)]
struct Filter {
    prefix: Option<String>,
    tags: Vec<(String, String)>,
    /// `true` for conditions outside of `And`.
    has_single: bool,
    has_and: bool,
}

#[derive(Default)]
struct Destination {
    bucket: Option<String>,
    account: Option<String>,
    storage_class: Option<String>,
    owner: Option<String>,
    metrics: Option<String>,
    /// The name of an element that this server does not act on.
    refused: Option<&'static str>,
}

/// Sets a member once.
fn once<T>(member: &mut Option<T>, value: T) -> DeResult {
    match member.replace(value) {
        None => Ok(()),
        Some(_) => Err(DeError::DuplicateField),
    }
}

/// The text of the only kind of child of an element, which has this name.
fn only(parser: &mut Deserializer<'_>, wanted: &[u8]) -> DeResult<String> {
    let mut text = None;
    parser.for_each_element(|parser, name| match name == wanted {
        true => once(&mut text, parser.content()?),
        false => Err(DeError::UnexpectedTagName),
    })?;
    text.ok_or(DeError::MissingField)
}

fn parse(document: &[u8]) -> S3Result<Sent> {
    let mut sent = Sent::default();
    let mut parser = Deserializer::new(document);
    let parsed = parser.named_element(ROOT, |parser| {
        parser.for_each_element(|parser, name| match name {
            b"Role" => once(&mut sent.role, parser.content()?),
            b"Rule" => {
                sent.rules.push(parser.content()?);
                Ok(())
            }
            _ => Err(DeError::UnexpectedTagName),
        })
    });
    parsed.map_err(|_| error::malformed_xml())?;
    Ok(sent)
}

impl<'xml> DeserializeContent<'xml> for SentRule {
    fn deserialize_content(parser: &mut Deserializer<'xml>) -> DeResult<SentRule> {
        let mut rule = SentRule::default();
        parser.for_each_element(|parser, name| match name {
            b"ID" => once(&mut rule.id, parser.content()?),
            b"Priority" => once(&mut rule.priority, parser.content()?),
            b"Status" => once(&mut rule.status, parser.content()?),
            b"Prefix" => once(&mut rule.prefix, parser.content()?),
            b"Filter" => once(&mut rule.filter, parser.content()?),
            b"Destination" => once(&mut rule.destination, parser.content()?),
            b"DeleteMarkerReplication" => once(&mut rule.markers, only(parser, b"Status")?),
            b"DeleteReplication" => once(&mut rule.deletions, only(parser, b"Status")?),
            b"ExistingObjectReplication" => once(&mut rule.existing, only(parser, b"Status")?),
            b"SourceSelectionCriteria" => parser.for_each_element(|parser, name| match name {
                b"ReplicaModifications" => {
                    once(&mut rule.changed_replicas, only(parser, b"Status")?)
                }
                b"SseKmsEncryptedObjects" => {
                    once(&mut rule.named_encryption, only(parser, b"Status")?)
                }
                _ => Err(DeError::UnexpectedTagName),
            }),
            _ => Err(DeError::UnexpectedTagName),
        })?;
        Ok(rule)
    }
}

/// A tag of a filter; `None` for an empty element, which `mc` sends where there is no tag.
struct Tag(Option<(String, String)>);

impl<'xml> DeserializeContent<'xml> for Tag {
    fn deserialize_content(parser: &mut Deserializer<'xml>) -> DeResult<Tag> {
        let (mut key, mut value) = (None, None);
        parser.for_each_element(|parser, name| match name {
            b"Key" => once(&mut key, parser.content()?),
            b"Value" => once(&mut value, parser.content()?),
            _ => Err(DeError::UnexpectedTagName),
        })?;
        match (key, value) {
            (Some(key), Some(value)) => Ok(Tag(Some((key, value)))),
            (None, None) => Ok(Tag(None)),
            _ => Err(DeError::MissingField),
        }
    }
}

impl<'xml> DeserializeContent<'xml> for Filter {
    fn deserialize_content(parser: &mut Deserializer<'xml>) -> DeResult<Filter> {
        let mut filter = Filter::default();
        parser.for_each_element(|parser, name| {
            if name == b"And" {
                // `mc` sends an empty one where there is nothing to combine.
                return parser.for_each_element(|parser, name| {
                    filter.has_and = true;
                    filter.take(parser, name).map(drop)
                });
            }
            filter.has_single |= filter.take(parser, name)?;
            Ok(())
        })?;
        Ok(filter)
    }
}

impl Filter {
    /// Reads a condition. `false` for one that is empty.
    fn take(&mut self, parser: &mut Deserializer<'_>, name: &[u8]) -> DeResult<bool> {
        match name {
            b"Prefix" => once(&mut self.prefix, parser.content()?).map(|()| true),
            b"Tag" => {
                let Tag(tag) = parser.content()?;
                let is_there = tag.is_some();
                self.tags.extend(tag);
                Ok(is_there)
            }
            _ => Err(DeError::UnexpectedTagName),
        }
    }
}

impl<'xml> DeserializeContent<'xml> for Destination {
    fn deserialize_content(parser: &mut Deserializer<'xml>) -> DeResult<Destination> {
        let mut to = Destination::default();
        parser.for_each_element(|parser, name| match name {
            b"Bucket" => once(&mut to.bucket, parser.content()?),
            b"Account" => once(&mut to.account, parser.content()?),
            b"StorageClass" => once(&mut to.storage_class, parser.content()?),
            b"AccessControlTranslation" => once(&mut to.owner, only(parser, b"Owner")?),
            b"Metrics" => parser.for_each_element(|parser, name| match name {
                b"Status" => once(&mut to.metrics, parser.content()?),
                b"EventThreshold" => only(parser, b"Minutes").map(drop),
                _ => Err(DeError::UnexpectedTagName),
            }),
            b"EncryptionConfiguration" => {
                to.refused = Some("EncryptionConfiguration");
                only(parser, b"ReplicaKmsKeyID").map(drop)
            }
            b"ReplicationTime" => parser.for_each_element(|parser, name| match name {
                b"Status" => {
                    if parser.content::<String>()? == "Enabled" {
                        to.refused = Some("ReplicationTime");
                    }
                    Ok(())
                }
                b"Time" => only(parser, b"Minutes").map(drop),
                _ => Err(DeError::UnexpectedTagName),
            }),
            _ => Err(DeError::UnexpectedTagName),
        })?;
        Ok(to)
    }
}

/// `true` for the status `Enabled`; an absent one is not.
fn is_enabled(status: Option<&str>) -> S3Result<bool> {
    match status {
        Some("Enabled") => Ok(true),
        Some("Disabled") | None => Ok(false),
        Some(_) => Err(error::malformed_xml()),
    }
}

/// Checks a configuration as AWS does, and gives rules without an id one.
fn check(app: &App, granted: &Granted, mut sent: Sent) -> S3Result<Replication> {
    let role = sent.role.take().ok_or_else(error::malformed_xml)?;
    if sent.rules.is_empty() {
        return Err(error::malformed_xml());
    }
    if sent.rules.len() > REPLICATION_RULES_MAX {
        return Err(error::invalid_request(format!(
            "A replication configuration has at most {REPLICATION_RULES_MAX} rules."
        )));
    }
    let ids = sent.rules.iter_mut().map(|rule| &mut rule.id).collect();
    if !super::bucket_settings::name_rules(ids, "replication") {
        return Err(error::invalid_request("The IDs of replication rules must differ."));
    }
    let mut rules = Vec::with_capacity(sent.rules.len());
    for rule in &sent.rules {
        rules.push(check_rule(app, granted, &role, rule)?);
    }
    let mut priorities = HashSet::new();
    let with_priority = rules.iter().zip(&sent.rules).filter(|(_, sent)| sent.filter.is_some());
    if !with_priority.into_iter().all(|(rule, _)| priorities.insert(rule.priority)) {
        return Err(error::invalid_request("The priorities of replication rules must differ."));
    }
    let document = document(&role, &sent.rules, &rules);
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.priority));
    Ok(Replication { rules, document })
}

fn check_rule(
    app: &App,
    granted: &Granted,
    role: &str,
    sent: &SentRule,
) -> S3Result<ReplicationRule> {
    let id = sent.id.clone().unwrap_or_default();
    if id.len() > RULE_ID_BYTES_MAX {
        return Err(error::invalid_argument("The ID of a replication rule has at most 255 bytes."));
    }
    let status = sent.status.as_deref().ok_or_else(error::malformed_xml)?;
    let (prefix, tags, priority) = check_selection(sent)?;
    if !tags.is_empty() && is_enabled(sent.markers.as_deref())? {
        return Err(error::invalid_request(
            "Delete marker replication is not supported if any Tag filter is specified. Please refer to S3 Developer \
             Guide for more information.",
        ));
    }
    let to = sent.destination.as_ref().ok_or_else(error::malformed_xml)?;
    if let Some(refused) = to.refused {
        return Err(S3Error::with_message(
            S3ErrorCode::NotImplemented,
            format!(
                "{refused} in the destination of a replication rule is not implemented by LiteIO: leave it out."
            ),
        ));
    }
    if to.owner.as_deref().is_some_and(|owner| owner != "Destination") {
        return Err(error::malformed_xml());
    }
    is_enabled(to.metrics.as_deref())?;
    let storage_class = match to.storage_class.as_deref() {
        None => None,
        Some(class) => Some(metadata::known_storage_class(class)?.to_owned()),
    };
    Ok(ReplicationRule {
        id,
        is_enabled: is_enabled(Some(status))?,
        priority,
        prefix,
        tags,
        target: target(app, granted, role, to)?,
        // The first version of the configuration, without a filter, copies them.
        copies_markers: match (&sent.filter, &sent.markers) {
            (None, None) => true,
            (_, markers) => is_enabled(markers.as_deref())?,
        },
        copies_deletions: is_enabled(sent.deletions.as_deref())?,
        copies_existing: is_enabled(sent.existing.as_deref())?,
        copies_changed_replicas: is_enabled(sent.changed_replicas.as_deref())?,
        copies_named_encryption: is_enabled(sent.named_encryption.as_deref())?,
        storage_class,
    })
}

/// Prefix, tags and priority of a rule. A rule without a filter is of the first version of the
/// configuration, without priority.
fn check_selection(sent: &SentRule) -> S3Result<(String, Vec<(String, String)>, i32)> {
    let Some(filter) = &sent.filter else {
        let priority = sent.priority.as_deref().map_or(Ok(0), parse_priority)?;
        return Ok((sent.prefix.clone().unwrap_or_default(), Vec::new(), priority));
    };
    let has_prefix =
        filter.prefix.as_ref().is_some_and(|prefix| filter.has_and || !prefix.is_empty());
    let count = usize::from(has_prefix) + filter.tags.len();
    let is_malformed = sent.prefix.is_some()
        || (filter.has_and && (filter.has_single || count < 2))
        || (!filter.has_and && count > 1);
    if is_malformed {
        return Err(error::malformed_xml());
    }
    let missing = |name: &str| {
        error::invalid_request(format!(
            "{name} must be specified for this version of Cross Region Replication configuration schema. Please refer \
             to S3 Developer Guide for more information."
        ))
    };
    let priority = sent.priority.as_deref().ok_or_else(|| missing("Priority"))?;
    if sent.markers.is_none() {
        return Err(missing("DeleteMarkerReplication"));
    }
    let mut names = HashSet::new();
    if !filter.tags.iter().all(|(name, _)| names.insert(name)) {
        return Err(error::malformed_xml());
    }
    let prefix = filter.prefix.clone().unwrap_or_default();
    Ok((prefix, filter.tags.clone(), parse_priority(priority)?))
}

fn parse_priority(text: &str) -> S3Result<i32> {
    let priority = text.trim().parse::<i32>().ok().filter(|priority| *priority >= 0);
    priority.ok_or_else(error::malformed_xml)
}

/// The ARN of the target of a rule. Older versions of `mc` name it as the role.
fn target(app: &App, granted: &Granted, role: &str, to: &Destination) -> S3Result<String> {
    let bucket = to.bucket.as_deref().ok_or_else(error::malformed_xml)?;
    let arn = if role.starts_with("arn:minio:replication:") { role } else { bucket };
    let found = app.remote_targets.get(arn).filter(|it| it.is_open_to(granted.bucket()));
    match found {
        Some(target) => Ok(target.arn.clone()),
        None => {
            let arn = error::quoted(arn);
            Err(error::invalid_request(format!(
                "Destination bucket must exist: there is no target of replication with the ARN '{arn}' for this \
                 bucket. `mc replicate add` makes a target with its rule; older `mc` adds it with `mc admin bucket remote \
                 add`, and the server with --replication-file."
            )))
        }
    }
}

/// The document that clients get back.
fn document(role: &str, sent: &[SentRule], rules: &[ReplicationRule]) -> Vec<u8> {
    let mut xml = XmlWriter::new(ROOT, 512 * rules.len());
    xml.text("Role", role);
    for (sent, rule) in sent.iter().zip(rules) {
        xml.open("Rule");
        xml.text("ID", &rule.id);
        if let Some(prefix) = &sent.prefix {
            xml.text("Prefix", prefix);
        }
        if sent.priority.is_some() || sent.filter.is_some() {
            xml.value("Priority", rule.priority);
        }
        if let Some(filter) = &sent.filter {
            xml.open("Filter");
            if filter.has_and {
                xml.open("And");
            }
            xml.optional_text("Prefix", filter.prefix.as_deref());
            for (key, value) in &filter.tags {
                xml.open("Tag");
                xml.text("Key", key);
                xml.text("Value", value);
                xml.close("Tag");
            }
            if filter.has_and {
                xml.close("And");
            }
            xml.close("Filter");
        }
        xml.text("Status", sent.status.as_deref().unwrap_or_default());
        let statuses = [
            ("ReplicaModifications", &sent.changed_replicas),
            ("SseKmsEncryptedObjects", &sent.named_encryption),
        ];
        if statuses.iter().any(|(_, status)| status.is_some()) {
            xml.open("SourceSelectionCriteria");
            for (name, text) in statuses {
                write_status(&mut xml, name, text.as_deref());
            }
            xml.close("SourceSelectionCriteria");
        }
        write_status(&mut xml, "ExistingObjectReplication", sent.existing.as_deref());
        if let Some(to) = &sent.destination {
            xml.open("Destination");
            xml.optional_text("Bucket", to.bucket.as_deref());
            xml.optional_text("Account", to.account.as_deref());
            xml.optional_text("StorageClass", to.storage_class.as_deref());
            if let Some(owner) = &to.owner {
                xml.open("AccessControlTranslation");
                xml.text("Owner", owner);
                xml.close("AccessControlTranslation");
            }
            write_status(&mut xml, "Metrics", to.metrics.as_deref());
            xml.close("Destination");
        }
        write_status(&mut xml, "DeleteMarkerReplication", sent.markers.as_deref());
        write_status(&mut xml, "DeleteReplication", sent.deletions.as_deref());
        xml.close("Rule");
    }
    xml.finish().to_vec()
}

fn write_status(xml: &mut XmlWriter, name: &str, status: Option<&str>) {
    if let Some(status) = status {
        xml.open(name);
        xml.text("Status", status);
        xml.close(name);
    }
}
