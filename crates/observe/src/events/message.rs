//! The event messages in the format of [Amazon
//! S3](https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html),
//! with MinIO's two additional members, or in the [form of MinIO](minio_event).

use bytes::Bytes;
use liteio_store::{Cause, Event, EventKind, Requester};
use serde::Serialize;

use super::target::{Entry, Message};
use liteio_access::minio_event;
use liteio_wire::origin::rfc_3339;

/// The principal of lifecycle actions.
const AMAZON: &str = "s3.amazonaws.com";

/// The form of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// That of AWS.
    Aws,
    /// That of MinIO.
    Minio,
}

/// The message for the event with this number.
pub(super) fn of_event(number: u64, event: &Event, region: &str, form: Form) -> Message {
    let sequencer = format!("{number:016X}");
    let encoded = match event.kind {
        EventKind::Test => serde_json::to_vec(&Test::new(event)),
        _ if form == Form::Minio => {
            serde_json::to_vec(&minio_event::document(number, event, region))
        }
        _ => serde_json::to_vec(&Document::new(event, region, &sequencer)),
    };
    let body = Bytes::from(encoded.expect("texts and numbers can be written"));
    let entry = (event.kind != EventKind::Test).then(|| Entry {
        path: path(event),
        is_gone: matches!(event.kind, EventKind::RemovedDelete | EventKind::ExpiredDelete),
        time: rfc_3339(event.time_ms),
    });
    Message { id: format!("{}-{sequencer}", event.bucket), body, entry }
}

/// AWS's test message, sent when a notification is configured.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Test<'a> {
    service: &'static str,
    event: &'static str,
    time: String,
    bucket: &'a str,
    request_id: &'a str,
    host_id: &'a str,
}

impl<'a> Test<'a> {
    fn new(event: &'a Event) -> Test<'a> {
        let requester = requester(event);
        Test {
            service: "Amazon S3",
            event: "s3:TestEvent",
            time: rfc_3339(event.time_ms),
            bucket: &event.bucket,
            request_id: requester.map_or("", |it| &it.request_id),
            host_id: requester.map_or("", |it| &it.host_id),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Document<'a> {
    /// MinIO's member.
    event_name: String,
    /// MinIO's member: bucket and key.
    key: String,
    records: [Record<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    event_version: &'static str,
    event_source: &'static str,
    aws_region: &'a str,
    event_time: String,
    event_name: &'static str,
    user_identity: Identity<'a>,
    request_parameters: Parameters<'a>,
    response_elements: Elements<'a>,
    s3: Entity<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    glacier_event_data: Option<ArchiveData<'a>>,
}

/// AWS's member for a restore that has completed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArchiveData<'a> {
    restore_event_data: RestoreData<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RestoreData<'a> {
    lifecycle_restoration_expiry_time: String,
    lifecycle_restore_storage_class: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Identity<'a> {
    principal_id: &'a str,
}

#[derive(Serialize)]
struct Parameters<'a> {
    #[serde(rename = "sourceIPAddress")]
    source_address: &'a str,
}

#[derive(Serialize)]
struct Elements<'a> {
    #[serde(rename = "x-amz-request-id")]
    request_id: &'a str,
    #[serde(rename = "x-amz-id-2")]
    host_id: &'a str,
}

#[derive(Serialize)]
struct Entity<'a> {
    #[serde(rename = "s3SchemaVersion")]
    schema_version: &'static str,
    #[serde(rename = "configurationId")]
    rule: &'a str,
    bucket: Bucket<'a>,
    object: Object<'a>,
    /// AWS's member for a change of an annotation.
    #[serde(rename = "objectAnnotation", skip_serializing_if = "Option::is_none")]
    annotation: Option<[Annotation<'a>; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Annotation<'a> {
    name: &'a str,
    size: u64,
    e_tag: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Bucket<'a> {
    name: &'a str,
    owner_identity: Identity<'a>,
    arn: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Object<'a> {
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    e_tag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version_id: Option<&'a str>,
    sequencer: &'a str,
}

impl<'a> Document<'a> {
    fn new(event: &'a Event, region: &'a str, sequencer: &'a str) -> Document<'a> {
        let requester = requester(event);
        let by_amazon = event.cause == Cause::Lifecycle;
        let amazon_or = |of: fn(&Requester) -> &str| match by_amazon {
            true => AMAZON,
            false => requester.map_or("", of),
        };
        let record = Record {
            event_version: version(event.kind),
            event_source: "aws:s3",
            aws_region: region,
            event_time: rfc_3339(event.time_ms),
            event_name: event.kind.name(),
            user_identity: Identity { principal_id: amazon_or(|it| &it.principal_id) },
            request_parameters: Parameters { source_address: amazon_or(|it| &it.source_address) },
            response_elements: Elements {
                request_id: requester.map_or("", |it| &it.request_id),
                host_id: requester.map_or("", |it| &it.host_id),
            },
            s3: Entity {
                schema_version: "1.0",
                rule: &event.rule,
                bucket: Bucket {
                    name: &event.bucket,
                    owner_identity: Identity { principal_id: &event.bucket_owner_id },
                    arn: format!("arn:aws:s3:::{}", event.bucket),
                },
                object: Object {
                    key: encoded(&event.key),
                    size: event.bytes,
                    e_tag: event.etag.map(|etag| etag.to_string()),
                    version_id: event.version.as_deref(),
                    sequencer,
                },
                annotation: event.annotation.as_ref().map(|annotation| {
                    [Annotation {
                        name: &annotation.name,
                        size: annotation.bytes,
                        e_tag: annotation.etag.to_string(),
                    }]
                }),
            },
            glacier_event_data: event.restore.as_ref().map(|restore| ArchiveData {
                restore_event_data: RestoreData {
                    lifecycle_restoration_expiry_time: rfc_3339(restore.expires_ms),
                    lifecycle_restore_storage_class: &restore.class,
                },
            }),
        };
        Document {
            event_name: format!("s3:{}", event.kind.name()),
            key: path(event),
            records: [record],
        }
    }
}

/// Bucket and key.
fn path(event: &Event) -> String {
    format!("{}/{}", event.bucket, event.key)
}

fn requester(event: &Event) -> Option<&Requester> {
    match &event.cause {
        Cause::Request(requester) => Some(requester),
        Cause::Unknown | Cause::Lifecycle => None,
    }
}

/// AWS raised the message version with new kinds of events.
fn version(kind: EventKind) -> &'static str {
    match kind {
        EventKind::ExpiredDelete
        | EventKind::ExpiredMarker
        | EventKind::TaggingPut
        | EventKind::TaggingDelete
        | EventKind::AclPut
        | EventKind::RetentionPut
        | EventKind::AnnotationPut
        | EventKind::AnnotationDelete => "2.3",
        _ => "2.1",
    }
}

/// The key in form encoding: a space is `+`; slashes are kept.
fn encoded(key: &str) -> String {
    form_urlencoded::byte_serialize(key.as_bytes()).collect::<String>().replace("%2F", "/")
}

#[cfg(test)]
mod tests {
    use liteio_store::{AnnotationFacts, ETag, RestoreFacts};
    use serde_json::{Value, json};

    use super::*;

    fn event(kind: EventKind, cause: Cause) -> Event {
        Event {
            kind,
            time_ms: 1_700_000_000_123,
            bucket: "pictures".to_owned(),
            bucket_owner_id: "owner".to_owned(),
            rule: "thumbnails".to_owned(),
            cause,
            key: "in/red flower+ä.jpg".to_owned(),
            version: Some("v1".to_owned()),
            bytes: Some(7),
            etag: ETag::parse("d41d8cd98f00b204e9800998ecf8427e"),
            restore: None,
            annotation: None,
            metadata: None,
        }
    }

    fn document(number: u64, event: &Event) -> Value {
        let message = of_event(number, event, "us-east-1", Form::Aws);
        serde_json::from_slice(&message.body).expect("JSON")
    }

    #[test]
    fn an_event_is_told_as_amazon_does() {
        let requester = Requester {
            principal_id: "alice".to_owned(),
            source_address: "192.0.2.1".to_owned(),
            request_id: "C3D13FE58DE4C810".to_owned(),
            host_id: "FMyUVURIY8".to_owned(),
            user_agent: String::new(),
        };
        let event = event(EventKind::CreatedPut, Cause::Request(Box::new(requester)));
        let expected = json!({
            "EventName": "s3:ObjectCreated:Put",
            "Key": "pictures/in/red flower+ä.jpg",
            "Records": [{
                "eventVersion": "2.1",
                "eventSource": "aws:s3",
                "awsRegion": "us-east-1",
                "eventTime": "2023-11-14T22:13:20.123Z",
                "eventName": "ObjectCreated:Put",
                "userIdentity": { "principalId": "alice" },
                "requestParameters": { "sourceIPAddress": "192.0.2.1" },
                "responseElements": {
                    "x-amz-request-id": "C3D13FE58DE4C810",
                    "x-amz-id-2": "FMyUVURIY8",
                },
                "s3": {
                    "s3SchemaVersion": "1.0",
                    "configurationId": "thumbnails",
                    "bucket": {
                        "name": "pictures",
                        "ownerIdentity": { "principalId": "owner" },
                        "arn": "arn:aws:s3:::pictures",
                    },
                    "object": {
                        "key": "in/red+flower%2B%C3%A4.jpg",
                        "size": 7,
                        "eTag": "d41d8cd98f00b204e9800998ecf8427e",
                        "versionId": "v1",
                        "sequencer": "0000000000000102",
                    },
                },
            }],
        });
        assert_eq!(document(258, &event), expected);
    }

    #[test]
    fn a_lifecycle_rule_is_told_as_the_service() {
        let event = Event {
            bytes: None,
            etag: None,
            version: None,
            ..event(EventKind::ExpiredDelete, Cause::Lifecycle)
        };
        let told = document(1, &event);
        let record = &told["Records"][0];
        assert_eq!(record["eventName"], "LifecycleExpiration:Delete");
        assert_eq!(record["eventVersion"], "2.3");
        assert_eq!(record["userIdentity"]["principalId"], AMAZON);
        assert_eq!(record["requestParameters"]["sourceIPAddress"], AMAZON);
        let object = record["s3"]["object"].as_object().expect("an object");
        assert_eq!(object.keys().collect::<Vec<_>>(), ["key", "sequencer"]);
    }

    #[test]
    fn a_completed_restore_names_its_expiry() {
        let restore = RestoreFacts { expires_ms: 1_700_006_400_000, class: "GLACIER".to_owned() };
        let event = Event {
            restore: Some(restore),
            ..event(EventKind::RestoreCompleted, Cause::Lifecycle)
        };
        let told = document(1, &event);
        let record = &told["Records"][0];
        assert_eq!(record["eventName"], "ObjectRestore:Completed");
        assert_eq!(record["eventVersion"], "2.1");
        let expected = json!({ "restoreEventData": {
            "lifecycleRestorationExpiryTime": "2023-11-15T00:00:00.000Z",
            "lifecycleRestoreStorageClass": "GLACIER",
        }});
        assert_eq!(record["glacierEventData"], expected);
    }

    #[test]
    fn a_change_of_an_annotation_names_it() {
        let annotation =
            AnnotationFacts { name: "n".to_owned(), bytes: 4, etag: ETag::Md5([0xab; 16]) };
        let event = Event {
            annotation: Some(annotation),
            ..event(EventKind::AnnotationPut, Cause::Unknown)
        };
        let told = document(1, &event);
        let record = &told["Records"][0];
        assert_eq!(record["eventName"], "ObjectAnnotation:Put");
        assert_eq!(record["eventVersion"], "2.3");
        let expected = json!([{ "name": "n", "size": 4, "eTag": "ab".repeat(16) }]);
        assert_eq!(record["s3"]["objectAnnotation"], expected);
    }

    #[test]
    fn a_test_event_has_its_own_form() {
        let told = document(1, &event(EventKind::Test, Cause::Unknown));
        assert_eq!(told["Service"], "Amazon S3");
        assert_eq!(told["Event"], "s3:TestEvent");
        assert_eq!(told["Bucket"], "pictures");
        assert_eq!(told.get("Records"), None);
    }

    #[test]
    fn every_event_has_an_id_of_its_own() {
        let event = event(EventKind::CreatedPut, Cause::Unknown);
        let ids = [1, 2].map(|number| of_event(number, &event, "us-east-1", Form::Aws).id);
        assert_ne!(ids[0], ids[1]);
        assert_eq!(ids[0], of_event(1, &event, "us-east-1", Form::Minio).id);
    }
}
