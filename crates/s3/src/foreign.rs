//! Bucket documents imported from another store, with the same checks as documents sent by clients.

use liteio_store::{DefaultEncryption, DefaultRetention, Lifecycle, Notifications};
use s3s::dto::{
    BucketLifecycleConfiguration, CORSConfiguration, NotificationConfiguration,
    ObjectLockConfiguration, Tagging,
};
use s3s::{S3Error, S3Result};

use super::bucket_encryption::BlockedEncryption;
use super::event_hold::SentDefaultHold;
use super::tagging::Tagged;
use super::{
    bucket_cors, bucket_encryption, bucket_lifecycle, bucket_notification, bucket_settings,
    bucket_versioning, error, object_lock,
};

/// Elements of MinIO in rules, which have no place in them here.
const MINIO_ONLY: [&str; 2] = ["ExpiredObjectAllVersions", "DelMarkerExpiration"];

/// A rule that a bucket cannot have here.
#[derive(Debug)]
pub struct LeftOut {
    /// The ID of a lifecycle rule, or the ARN and the events of a notification.
    pub name: String,
    /// The reason.
    pub reason: String,
}

/// Parses lifecycle rules, of a server with the tiers for which `is_tier` is true, and names those that a bucket cannot have. A
/// bucket without one of its rules keeps more, never less.
///
/// # Errors
/// The reason why the document is rejected, or all of its rules.
pub fn lifecycle(
    document: &[u8],
    is_tier: &dyn Fn(&str) -> bool,
) -> Result<(Lifecycle, Vec<LeftOut>), String> {
    let whole = match rules_of(document, is_tier) {
        Ok(lifecycle) => return Ok((lifecycle, Vec::new())),
        Err(reason) => reason,
    };
    let text = String::from_utf8_lossy(document);
    let Some((head, rules, tail)) = split_rules(&text) else { return Err(whole) };
    let (mut kept, mut left_out) = (String::new(), Vec::new());
    for rule in rules {
        match rules_of(format!("{head}{rule}{tail}").as_bytes(), is_tier) {
            Ok(_) => kept.push_str(rule),
            Err(reason) => left_out.push(LeftOut { name: id_of(rule).to_owned(), reason }),
        }
    }
    if kept.is_empty() {
        return Err(whole);
    }
    let lifecycle = rules_of(format!("{head}{kept}{tail}").as_bytes(), is_tier)?;
    Ok((lifecycle, left_out))
}

fn rules_of(document: &[u8], is_tier: &dyn Fn(&str) -> bool) -> Result<Lifecycle, String> {
    let Ok(lifecycle) = bucket_settings::from_xml::<BucketLifecycleConfiguration>(document) else {
        let text = String::from_utf8_lossy(document);
        let element = MINIO_ONLY.iter().find(|element| text.contains(&format!("<{element}>")));
        return Err(match element {
            Some(element) => {
                format!("{element}, of MinIO alone, is not supported: set the rules without it")
            }
            None => reason(error::malformed_xml()),
        });
    };
    bucket_lifecycle::parse(lifecycle, is_tier).map_err(reason)
}

/// The rules of a document, and the text before and after them. By text, because an element that is unknown here makes the
/// document unreadable.
fn split_rules(text: &str) -> Option<(&str, Vec<&str>, &str)> {
    const END: &str = "</Rule>";
    let start = text.find("<Rule>")?;
    let end = text.rfind(END)? + END.len();
    let rules = text.get(start..end)?.split_inclusive(END).collect();
    Some((&text[..start], rules, &text[end..]))
}

fn id_of(rule: &str) -> &str {
    let id = rule.split_once("<ID>").and_then(|(_, rest)| rest.split_once("</ID>"));
    id.map_or("without ID", |(id, _)| id)
}

/// Checks bucket tags. Returns the document as stored.
///
/// # Errors
/// The reason why the document is rejected.
pub fn bucket_tags(document: &[u8]) -> Result<Vec<u8>, String> {
    let tags = bucket_settings::from_xml::<Tagging>(document);
    tags.and_then(|tags| bucket_settings::tagging_document(tags.tag_set, Tagged::Bucket))
        .map_err(reason)
}

/// Checks CORS rules. Returns the document as stored.
///
/// # Errors
/// The reason why the document is rejected.
pub fn cors(document: &[u8]) -> Result<Vec<u8>, String> {
    let checked = || -> S3Result<Vec<u8>> {
        let cors = bucket_settings::from_xml::<CORSConfiguration>(document)?;
        bucket_cors::parse(&cors)?;
        bucket_settings::to_xml(&cors)
    };
    checked().map_err(reason)
}

/// Parses the default retention in an object lock configuration.
///
/// # Errors
/// The reason why the document is rejected.
pub fn default_retention(document: &[u8]) -> Result<Option<DefaultRetention>, String> {
    let default = || -> S3Result<Option<DefaultRetention>> {
        let (hold, rest) = SentDefaultHold::take(document)?;
        let configuration = bucket_settings::from_xml::<ObjectLockConfiguration>(&rest)?;
        let rule = configuration.rule.and_then(|rule| rule.default_retention);
        rule.map(|rule| object_lock::default_retention(&rule, &hold)).transpose()
    };
    default().map_err(reason)
}

/// Parses the default encryption of a bucket; `None` if there is none.
///
/// # Errors
/// The reason why the document is rejected.
pub fn default_encryption(document: &[u8]) -> Result<Option<DefaultEncryption>, String> {
    let parsed = BlockedEncryption::take(document).and_then(|(blocked, rest)| {
        bucket_encryption::from_document(bucket_settings::from_xml(&rest)?, blocked)
    });
    parsed.map_err(reason)
}

/// Refuses the exclusions of MinIO's versioning, which a bucket cannot have here.
///
/// # Errors
/// The reason.
pub fn check_versioning(document: &[u8]) -> Result<(), String> {
    bucket_versioning::refuse_exclusions(document).map_err(reason)
}

/// Parses the notifications of a bucket, `None` if there are none, and names those that it cannot have. Rules may overlap, as on
/// MinIO. `kind_of` has the kinds of targets by their names.
///
/// # Errors
/// The reason why the document is rejected.
pub fn notifications(
    document: &[u8],
    kind_of: &dyn Fn(&str) -> Option<&'static str>,
) -> Result<(Option<Notifications>, Vec<LeftOut>), String> {
    let sent = bucket_settings::from_xml::<NotificationConfiguration>(document);
    let mut sent = sent.map_err(reason)?;
    let unusable = bucket_notification::take_unusable(kind_of, &mut sent);
    let left_out = |(name, error)| LeftOut { name, reason: reason(error) };
    let left_out = unusable.into_iter().map(left_out).collect();
    let notifications = bucket_notification::parse(kind_of, true, sent).map_err(reason)?;
    Ok((notifications, left_out))
}

fn reason(error: S3Error) -> String {
    match error.message() {
        Some(message) => message.to_owned(),
        None => error.code().as_str().to_owned(),
    }
}
