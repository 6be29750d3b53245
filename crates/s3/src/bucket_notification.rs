//! The notification configuration of a bucket.

use std::collections::BTreeSet;

use liteio_store::{NotificationRule, Notifications};
use s3s::dto::{
    GetBucketNotificationConfigurationInput, GetBucketNotificationConfigurationOutput,
    LambdaFunctionConfiguration, NotificationConfiguration, NotificationConfigurationFilter,
    PutBucketNotificationConfigurationInput, PutBucketNotificationConfigurationOutput,
    QueueConfiguration, TopicConfiguration,
};
use s3s::{S3Error, S3Response, S3Result, s3_error};

use super::bucket_settings::{from_xml, name_rules, to_xml};
use super::details::Details;
use super::limits::{FILTER_VALUE_BYTES_MAX, NOTIFICATION_RULES_MAX, RULE_ID_BYTES_MAX};
use super::{Req, Resp, error, event_cause};
use liteio_access::Granted;
use liteio_access::state::App;

/// The event types of
/// [AWS](https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-how-to-event-types-and-destinations.html)
/// that a configuration may name. Events about archives, replication and lost objects never occur
/// here.
pub(super) const EVENTS: [&str; 31] = [
    "s3:IntelligentTiering",
    "s3:LifecycleExpiration:*",
    "s3:LifecycleExpiration:Delete",
    "s3:LifecycleExpiration:DeleteMarkerCreated",
    "s3:LifecycleTransition",
    "s3:ObjectAcl:Put",
    "s3:ObjectAnnotation:*",
    "s3:ObjectAnnotation:Delete",
    "s3:ObjectAnnotation:Put",
    "s3:ObjectCreated:*",
    "s3:ObjectCreated:CompleteMultipartUpload",
    "s3:ObjectCreated:Copy",
    "s3:ObjectCreated:Post",
    "s3:ObjectCreated:Put",
    "s3:ObjectRemoved:*",
    "s3:ObjectRemoved:Delete",
    "s3:ObjectRemoved:DeleteMarkerCreated",
    "s3:ObjectRestore:*",
    "s3:ObjectRestore:Completed",
    "s3:ObjectRestore:Delete",
    "s3:ObjectRestore:Post",
    "s3:ObjectRetention:Put",
    "s3:ObjectTagging:*",
    "s3:ObjectTagging:Delete",
    "s3:ObjectTagging:Put",
    "s3:ReducedRedundancyLostObject",
    "s3:Replication:*",
    "s3:Replication:OperationFailedReplication",
    "s3:Replication:OperationMissedThreshold",
    "s3:Replication:OperationNotTracked",
    "s3:Replication:OperationReplicatedAfterThreshold",
];

/// Events of MinIO that never occur here, of which clients ask for some by default: reads, actions on buckets, and
/// background work.
pub(super) const NEVER: [&str; 26] = [
    "s3:BucketCreated:*",
    "s3:BucketRemoved:*",
    "s3:ILM:DelMarkerExpirationDelete",
    "s3:ObjectAccessed:*",
    "s3:ObjectAccessed:Attributes",
    "s3:ObjectAccessed:Get",
    "s3:ObjectAccessed:GetLegalHold",
    "s3:ObjectAccessed:GetRetention",
    "s3:ObjectAccessed:Head",
    "s3:ObjectCreated:DeleteTagging",
    "s3:ObjectCreated:PutLegalHold",
    "s3:ObjectCreated:PutRetention",
    "s3:ObjectCreated:PutTagging",
    "s3:ObjectManyVersions",
    "s3:ObjectRemoved:DeleteAllVersions",
    "s3:ObjectRemoved:NoOP",
    "s3:ObjectTransition:*",
    "s3:ObjectTransition:Complete",
    "s3:ObjectTransition:Failed",
    "s3:PrefixManyFolders",
    "s3:Replication:OperationCompletedReplication",
    "s3:Scanner:*",
    "s3:Scanner:BigPrefix",
    "s3:Scanner:LargeVersions",
    "s3:Scanner:ManyVersions",
    "s3:TestEvent",
];

/// The kind of a destination, by the service in its ARN.
#[derive(Clone, Copy, Debug)]
enum Destination {
    Queue,
    Topic,
    Function,
}

impl Destination {
    fn service(self) -> &'static str {
        match self {
            Destination::Queue => "sqs",
            Destination::Topic => "sns",
            Destination::Function => "lambda",
        }
    }

    /// The element of its ARN in the document.
    fn element(self) -> &'static str {
        match self {
            Destination::Queue => "Queue",
            Destination::Topic => "Topic",
            Destination::Function => "CloudFunction",
        }
    }
}

/// AWS's message for two rules that may select the same event.
const OVERLAP: &str =
    "Configurations overlap. Configurations on the same bucket cannot share a common event type.";

/// MinIO's message for the same rule twice, by which `mc event add --ignore-existing` knows it.
const SAME: &str = "An object key name filtering rule defined with overlapping prefixes, overlapping suffixes, or \
                    overlapping combinations of prefixes and suffixes for the same event types.";

/// A configuration of any kind.
struct Sent<'a> {
    destination: Destination,
    arn: &'a str,
    id: &'a mut Option<String>,
    events: Vec<&'a str>,
    filter: Option<&'a NotificationConfigurationFilter>,
}

pub(super) async fn put_bucket_notification_configuration(
    app: &App,
    granted: Granted,
    request: Req<PutBucketNotificationConfigurationInput>,
) -> Resp<PutBucketNotificationConfigurationOutput> {
    let Req { input, headers, extensions, .. } = request;
    let user = granted.user_name().unwrap_or_default();
    let kind_of = |name: &str| {
        let target = app.event_targets.iter().find(|target| target.name == name);
        target.filter(|target| target.is_open_to(user)).map(|target| target.kind)
    };
    let sent = input.notification_configuration;
    let notifications = parse(&kind_of, app.acts_as_minio, sent)?;
    let cause = event_cause::always(app, &granted, &headers, &extensions);
    let set = app.store.set_notifications(granted.bucket(), notifications, cause).await;
    set.map_err(error::from_store)?;
    Ok(S3Response::new(PutBucketNotificationConfigurationOutput::default()))
}

pub(super) async fn get_bucket_notification_configuration(
    _app: &App,
    granted: Granted,
    _request: Req<GetBucketNotificationConfigurationInput>,
) -> Resp<GetBucketNotificationConfigurationOutput> {
    let Some(notifications) = &granted.bucket().settings.notifications else {
        return Ok(S3Response::new(GetBucketNotificationConfigurationOutput::default()));
    };
    let kept: NotificationConfiguration = from_xml(&notifications.document)?;
    Ok(S3Response::new(GetBucketNotificationConfigurationOutput {
        event_bridge_configuration: None,
        lambda_function_configurations: kept.lambda_function_configurations,
        queue_configurations: kept.queue_configurations,
        topic_configurations: kept.topic_configurations,
    }))
}

/// The kind of the target with a name, if there is one for the sender.
pub(super) type KindOf<'a> = &'a dyn Fn(&str) -> Option<&'static str>;

/// Parses and checks a configuration; `None` if it is empty. Where its rules `may_overlap`, as on MinIO, only the same rule
/// twice is refused.
pub(super) fn parse(
    kind_of: KindOf<'_>,
    may_overlap: bool,
    mut sent: NotificationConfiguration,
) -> S3Result<Option<Notifications>> {
    if sent.event_bridge_configuration.is_some() {
        return Err(error::invalid_argument(
            "There is no EventBridge behind this server: give a configuration with the ARN of a \
             target.",
        ));
    }
    let mut rules = Vec::new();
    {
        let mut all = all_of(&mut sent);
        if all.len() > NOTIFICATION_RULES_MAX {
            return Err(error::invalid_argument(
                "A bucket has at most 100 notification configurations.",
            ));
        }
        let all_differ =
            name_rules(all.iter_mut().map(|one| &mut *one.id).collect(), "notification");
        for one in &all {
            rules.push(parse_one(kind_of, one)?);
        }
        if !all_differ {
            return Err(error::invalid_argument(
                "The IDs of notification configurations must differ.",
            ));
        }
        for (place, (rule, one)) in rules.iter().zip(&all).enumerate() {
            let mut before = rules.iter().zip(&all).take(place);
            let found = match may_overlap {
                false => before.any(|(other, _)| rule.overlaps(other)).then_some(OVERLAP),
                true => before.any(|other| is_same((rule, one), other)).then_some(SAME),
            };
            if let Some(message) = found {
                return Err(error::invalid_argument(message));
            }
        }
    }
    if rules.is_empty() {
        return Ok(None);
    }
    Ok(Some(Notifications { rules, document: to_xml(&sent)? }))
}

/// Takes out the configurations that cannot be kept. Returns the ARN and the events of each, and the reason.
pub(super) fn take_unusable(
    kind_of: KindOf<'_>,
    sent: &mut NotificationConfiguration,
) -> Vec<(String, S3Error)> {
    let (mut unusable, mut are_usable) = (Vec::new(), Vec::new());
    for one in all_of(sent) {
        let parsed = parse_one(kind_of, &one);
        are_usable.push(parsed.is_ok());
        if let Err(reason) = parsed {
            let (arn, events) = (error::quoted(one.arn), one.events.join(", "));
            unusable.push((format!("{arn} ({})", error::quoted(&events)), reason));
        }
    }
    // In the order of `all_of`.
    let mut are_usable = are_usable.into_iter();
    let mut is_next_usable = || are_usable.next().unwrap_or(true);
    if let Some(topics) = &mut sent.topic_configurations {
        topics.retain(|_| is_next_usable());
    }
    if let Some(queues) = &mut sent.queue_configurations {
        queues.retain(|_| is_next_usable());
    }
    if let Some(functions) = &mut sent.lambda_function_configurations {
        functions.retain(|_| is_next_usable());
    }
    unusable
}

/// `true` for two configurations that differ in their IDs at most.
fn is_same(
    (rule, sent): (&NotificationRule, &Sent<'_>),
    (other, before): (&NotificationRule, &Sent<'_>),
) -> bool {
    let has_filter_of_other = rule.prefix == other.prefix && rule.suffix == other.suffix;
    sent.arn == before.arn && sent.events == before.events && has_filter_of_other
}

fn all_of(sent: &mut NotificationConfiguration) -> Vec<Sent<'_>> {
    let topics = sent.topic_configurations.iter_mut().flatten().map(|it| {
        let TopicConfiguration { events, filter, id, topic_arn } = it;
        let events = events.iter().map(AsRef::as_ref).collect();
        let (destination, filter) = (Destination::Topic, filter.as_ref());
        Sent { destination, arn: topic_arn, id, events, filter }
    });
    let queues = sent.queue_configurations.iter_mut().flatten().map(|it| {
        let QueueConfiguration { events, filter, id, queue_arn } = it;
        let events = events.iter().map(AsRef::as_ref).collect();
        let (destination, filter) = (Destination::Queue, filter.as_ref());
        Sent { destination, arn: queue_arn, id, events, filter }
    });
    let functions = sent.lambda_function_configurations.iter_mut().flatten().map(|it| {
        let LambdaFunctionConfiguration { events, filter, id, lambda_function_arn } = it;
        let events = events.iter().map(AsRef::as_ref).collect();
        let (destination, filter) = (Destination::Function, filter.as_ref());
        Sent { destination, arn: lambda_function_arn, id, events, filter }
    });
    topics.chain(queues).chain(functions).collect()
}

fn parse_one(kind_of: KindOf<'_>, sent: &Sent<'_>) -> S3Result<NotificationRule> {
    let id = sent.id.clone().unwrap_or_default();
    if id.len() > RULE_ID_BYTES_MAX {
        return Err(error::invalid_argument(
            "The ID of a notification configuration has at most 255 bytes.",
        ));
    }
    if sent.events.is_empty() {
        return Err(error::malformed_xml());
    }
    // `mc event add` asks for reads, too, unless it is told otherwise: its rules are kept as they are, and tell the rest.
    let is_of_minio = sent.arn.starts_with("arn:minio:");
    let mut events = BTreeSet::new();
    for event in sent.events.iter().filter(|event| !(is_of_minio && NEVER.contains(*event))) {
        let known = EVENTS.contains(event);
        let name = event.strip_prefix("s3:").filter(|_| known).ok_or_else(|| {
            let event = error::quoted(event);
            s3_error!(
                Details::argument("Event", event),
                InvalidArgument,
                "The event '{event}' is not supported for notifications"
            )
        })?;
        events.insert(name.to_owned());
    }
    if events.is_empty() {
        return Err(error::invalid_argument(
            "None of these events occurs here: name one beside them, such as s3:ObjectCreated:*.",
        ));
    }
    let (prefix, suffix) = parse_filter(sent.filter)?;
    let events = events.into_iter().collect();
    Ok(NotificationRule { id, target: target(kind_of, sent)?, events, prefix, suffix })
}

/// Prefix and suffix of a key filter.
fn parse_filter(filter: Option<&NotificationConfigurationFilter>) -> S3Result<(String, String)> {
    let rules = filter.and_then(|filter| filter.key.as_ref()?.filter_rules.as_ref());
    let (mut prefix, mut suffix) = (None, None);
    for rule in rules.into_iter().flatten() {
        let (Some(name), Some(value)) = (&rule.name, &rule.value) else {
            return Err(error::malformed_xml());
        };
        if value.len() > FILTER_VALUE_BYTES_MAX {
            return Err(error::invalid_argument(
                "The value of a filter rule has at most 1024 bytes.",
            ));
        }
        // Terraform and SDKs differ in the case of the names.
        let place = match name.as_str().to_ascii_lowercase().as_str() {
            "prefix" => &mut prefix,
            "suffix" => &mut suffix,
            other => {
                return Err(s3_error!(
                    Details::argument("FilterRule.Name", other),
                    InvalidArgument,
                    "filter rule name must be either prefix or suffix"
                ));
            }
        };
        if place.replace(value.clone()).is_some() {
            return Err(error::invalid_argument(
                "Cannot specify more than one prefix or suffix rule in a filter.",
            ));
        }
    }
    Ok((prefix.unwrap_or_default(), suffix.unwrap_or_default()))
}

/// The target's name in an ARN: the last field of AWS's form,
/// `arn:aws:sqs:us-east-1:000000000000:NAME`, or the last but one of MinIO's,
/// `arn:minio:sqs:us-east-1:NAME:KIND`, whose kind must be that of the target.
fn target(kind_of: KindOf<'_>, sent: &Sent<'_>) -> S3Result<String> {
    let words: Vec<&str> = sent.arn.split(':').collect();
    let service = sent.destination.service();
    let (name, kind) = match words.as_slice() {
        // AWS's form has an account there.
        ["arn", "minio", "sqs", _, name, kind] => (name, Some(*kind)),
        ["arn", _, found, _, _, "function", name]
        | ["arn", _, found, _, _, "function", name, _]
            if *found == service && service == "lambda" =>
        {
            (name, None)
        }
        ["arn", _, found, _, _, name] if *found == service && service != "lambda" => (name, None),
        _ => {
            return Err(s3_error!(
                Details::argument(sent.destination.element(), sent.arn),
                InvalidArgument,
                "The ARN '{}' is not valid here: give one of the service {service}, such as \
                 arn:aws:{service}:us-east-1:000000000000:{}NAME with the name of a target.",
                error::quoted(sent.arn),
                if service == "lambda" { "function:" } else { "" },
            ));
        }
    };
    let found = kind_of(name);
    let shown = error::quoted(name);
    let advice = match (found, kind) {
        (Some(found), Some(kind)) if found != kind => {
            let kind = error::quoted(kind);
            format!("the target '{shown}' is of the kind {found}, not {kind}.")
        }
        (Some(_), _) => return Ok((*name).to_owned()),
        (None, _) => format!(
            "there is no target named '{shown}' for you. Start the server with --event-target {shown}=URL \
             to add one."
        ),
    };
    Err(s3_error!(
        Details::of("ArgumentName1", error::quoted(sent.arn))
            .and("ArgumentValue1", "The destination does not exist"),
        InvalidArgument,
        "Unable to validate the following destination configurations: {advice}"
    ))
}
