//! Settings of buckets: the document of S3 in XML, from the structure of the AWS CLI in JSON.
//!
//! Members have the names of their elements, with the exceptions in [`NAMES`]; the model of S3 in botocore
//! (`data/s3/2006-03-01/service-2.json`) has them as `locationName` and `flattened`.

use serde_json::{Map, Value};

use crate::s3::escaped;

/// A setting of `s3api`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// The command.
    pub(super) command: &'static str,
    /// The option with its value, without `--`.
    pub(super) option: &'static str,
    /// The name in the query of the request.
    pub(super) query: &'static str,
    /// The root element.
    root: &'static str,
}

const fn setting(
    command: &'static str,
    option: &'static str,
    query: &'static str,
    root: &'static str,
) -> Setting {
    Setting { command, option, query, root }
}

pub(super) const SETTINGS: [Setting; 14] = [
    setting(
        "put-bucket-accelerate-configuration",
        "accelerate-configuration",
        "accelerate",
        "AccelerateConfiguration",
    ),
    setting("put-bucket-cors", "cors-configuration", "cors", "CORSConfiguration"),
    setting(
        "put-bucket-encryption",
        "server-side-encryption-configuration",
        "encryption",
        "ServerSideEncryptionConfiguration",
    ),
    setting(
        "put-bucket-lifecycle-configuration",
        "lifecycle-configuration",
        "lifecycle",
        "LifecycleConfiguration",
    ),
    setting("put-bucket-logging", "bucket-logging-status", "logging", "BucketLoggingStatus"),
    setting(
        "put-bucket-notification-configuration",
        "notification-configuration",
        "notification",
        "NotificationConfiguration",
    ),
    setting(
        "put-bucket-ownership-controls",
        "ownership-controls",
        "ownershipControls",
        "OwnershipControls",
    ),
    setting(
        "put-bucket-replication",
        "replication-configuration",
        "replication",
        "ReplicationConfiguration",
    ),
    setting(
        "put-bucket-request-payment",
        "request-payment-configuration",
        "requestPayment",
        "RequestPaymentConfiguration",
    ),
    setting("put-bucket-tagging", "tagging", "tagging", "Tagging"),
    setting(
        "put-bucket-versioning",
        "versioning-configuration",
        "versioning",
        "VersioningConfiguration",
    ),
    setting("put-bucket-website", "website-configuration", "website", "WebsiteConfiguration"),
    setting(
        "put-object-lock-configuration",
        "object-lock-configuration",
        "object-lock",
        "ObjectLockConfiguration",
    ),
    setting(
        "put-public-access-block",
        "public-access-block-configuration",
        "publicAccessBlock",
        "PublicAccessBlockConfiguration",
    ),
];

/// Members whose elements have another name. Lists have one element for each item; a third name is the item's in
/// an element of the list's own.
const NAMES: [(&str, &str, Option<&str>); 20] = [
    ("AllowedHeaders", "AllowedHeader", None),
    ("AllowedMethods", "AllowedMethod", None),
    ("AllowedOrigins", "AllowedOrigin", None),
    ("CORSRules", "CORSRule", None),
    ("Events", "Event", None),
    ("ExposeHeaders", "ExposeHeader", None),
    ("FilterRules", "FilterRule", None),
    ("LambdaFunctionArn", "CloudFunction", None),
    ("LambdaFunctionConfigurations", "CloudFunctionConfiguration", None),
    ("NoncurrentVersionTransitions", "NoncurrentVersionTransition", None),
    ("QueueArn", "Queue", None),
    ("QueueConfigurations", "QueueConfiguration", None),
    ("RoutingRules", "RoutingRules", Some("RoutingRule")),
    ("Rules", "Rule", None),
    ("TagSet", "TagSet", Some("Tag")),
    ("Tags", "Tag", None),
    ("TargetGrants", "TargetGrants", Some("Grant")),
    ("TopicArn", "Topic", None),
    ("TopicConfigurations", "TopicConfiguration", None),
    ("Transitions", "Transition", None),
];

impl Setting {
    /// The document of a value.
    ///
    /// # Errors
    /// The part that no document has.
    pub(super) fn document(&self, value: &Value) -> Result<String, String> {
        let Value::Object(members) = value else {
            return Err(format!("the value of --{} is no structure", self.option));
        };
        let mut document =
            format!("<{} xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">", self.root);
        write(&mut document, members)?;
        document.push_str(&format!("</{}>", self.root));
        Ok(document)
    }
}

fn write(document: &mut String, members: &Map<String, Value>) -> Result<(), String> {
    for (name, value) in members {
        let known = NAMES.iter().find(|(known, _, _)| known == name);
        let (element, item) = known.map_or((name.as_str(), None), |(_, to, item)| (*to, *item));
        if !element.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(format!("{name:?} is no member of a setting"));
        }
        match (value, item) {
            (Value::Array(items), None) if known.is_some() => {
                for item in items {
                    element_of(document, element, item)?;
                }
            }
            (Value::Array(items), Some(item)) => {
                document.push_str(&format!("<{element}>"));
                for each in items {
                    element_of(document, item, each)?;
                }
                document.push_str(&format!("</{element}>"));
            }
            // The filter of notifications; elsewhere a key is a text.
            (Value::Object(_), _) if name == "Key" => element_of(document, "S3Key", value)?,
            // One item without brackets, in shorthand.
            _ => element_of(document, element, value)?,
        }
    }
    Ok(())
}

fn element_of(document: &mut String, name: &str, value: &Value) -> Result<(), String> {
    let text = match value {
        Value::Null => return Ok(()),
        Value::Array(_) => return Err(format!("{name} is a list that is not known here")),
        Value::Object(_) => String::new(),
        Value::String(text) => escaped(text),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    };
    document.push_str(&format!("<{name}>{text}"));
    if let Value::Object(members) = value {
        write(document, members)?;
    }
    document.push_str(&format!("</{name}>"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(command: &str, value: &Value) -> Result<String, String> {
        let setting = SETTINGS.iter().find(|it| it.command == command).expect("a setting");
        let document = setting.document(value)?;
        Ok(document.replace(" xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"", ""))
    }

    #[test]
    fn structures_become_the_documents_of_s3() {
        let rows = [
            (
                "put-bucket-versioning",
                json!({"Status": "Enabled"}),
                "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>",
            ),
            (
                "put-bucket-tagging",
                json!({"TagSet": [{"Key": "a&b", "Value": "1"}]}),
                "<Tagging><TagSet><Tag><Key>a&amp;b</Key><Value>1</Value></Tag></TagSet></Tagging>",
            ),
            (
                "put-bucket-cors",
                json!({"CORSRules": [{"AllowedMethods": ["GET", "PUT"], "MaxAgeSeconds": 5}]}),
                "<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod><AllowedMethod>PUT</AllowedMethod>\
                 <MaxAgeSeconds>5</MaxAgeSeconds></CORSRule></CORSConfiguration>",
            ),
            (
                "put-bucket-notification-configuration",
                json!({"QueueConfigurations": [{"QueueArn": "q", "Events": ["e"],
                    "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": "x"}]}}}]}),
                "<NotificationConfiguration><QueueConfiguration><Event>e</Event><Filter><S3Key><FilterRule>\
                 <Name>prefix</Name><Value>x</Value></FilterRule></S3Key></Filter><Queue>q</Queue></QueueConfiguration>\
                 </NotificationConfiguration>",
            ),
        ];
        for (command, value, expected) in rows {
            assert_eq!(sorted(&document(command, &value).expect("a document")), sorted(expected));
        }
    }

    /// The elements in any order: that of members depends on a feature of `serde_json`.
    fn sorted(document: &str) -> Vec<&str> {
        let mut parts: Vec<&str> = document.split_inclusive('>').collect();
        parts.sort_unstable();
        parts
    }

    #[test]
    fn a_list_that_is_not_known_is_refused_by_name() {
        let refusal = document("put-bucket-cors", &json!({"Others": [1]})).expect_err("refused");
        assert!(refusal.contains("Others"), "{refusal}");
        assert!(document("put-bucket-cors", &json!({"<a>": 1})).is_err());
        assert!(document("put-bucket-cors", &json!("x")).is_err());
    }
}
