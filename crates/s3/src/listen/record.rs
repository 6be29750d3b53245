//! An event as MinIO's stream has it: its members are those of AWS's messages, with other names of events.

use liteio_store::{Cause, Event, MetadataFacts, Requester};
use serde_json::{Map, Value, json};

use liteio_wire::origin::rfc_3339;

/// The line of an event, with its end.
pub(super) fn line(event: &Event, region: &str) -> String {
    let requester = match &event.cause {
        Cause::Request(requester) => Requester::clone(requester),
        Cause::Unknown | Cause::Lifecycle => Requester::default(),
    };
    let user = json!({ "principalId": requester.principal_id });
    let mut object = json!({
        "key": encoded(&event.key),
        "userMetadata": event.metadata.as_deref().map(user_metadata).unwrap_or_default(),
        // Nanoseconds since 1970, in hexadecimal.
        "sequencer": format!("{:X}", u128::from(event.time_ms) * 1_000_000),
    });
    if let Some(bytes) = event.bytes {
        object["size"] = bytes.into();
    }
    if let Some(kind) = event.metadata.as_ref().and_then(|it| it.content_type.as_ref()) {
        object["contentType"] = kind.as_str().into();
    }
    if let Some(etag) = &event.etag {
        object["eTag"] = etag.to_string().into();
    }
    if let Some(version) = &event.version {
        object["versionId"] = version.as_str().into();
    }
    let record = json!({
        "eventVersion": "2.0",
        "eventSource": "minio:s3",
        "awsRegion": region,
        "eventTime": rfc_3339(event.time_ms),
        "eventName": format!("s3:{}", event.kind.name()),
        "userIdentity": user,
        "requestParameters": {
            "principalId": requester.principal_id,
            "region": region,
            "sourceIPAddress": requester.source_address,
        },
        "responseElements": {
            "x-amz-id-2": requester.host_id,
            "x-amz-request-id": requester.request_id,
        },
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "Config",
            "bucket": {
                "name": event.bucket,
                "ownerIdentity": { "principalId": event.bucket_owner_id },
                "arn": format!("arn:aws:s3:::{}", event.bucket),
            },
            "object": object,
        },
        "source": { "host": requester.source_address, "port": "", "userAgent": requester.user_agent },
    });
    format!("{}\n", json!({ "Records": [record] }))
}

/// The metadata of a version under the names of headers, as MinIO has them: `mc mirror --active-active` finds out by
/// them, and by the name of the client, that a change is its own.
fn user_metadata(metadata: &MetadataFacts) -> Map<String, Value> {
    let system = [
        ("content-type", &metadata.content_type),
        ("x-amz-storage-class", &metadata.storage_class),
    ];
    let system = system
        .into_iter()
        .filter_map(|(name, value)| value.as_deref().map(|value| (name.to_owned(), value.into())));
    let user = metadata
        .user
        .iter()
        .map(|(name, value)| (canonical(&format!("x-amz-meta-{name}")), value.as_str().into()));
    system.chain(user).collect()
}

/// A name of a header as Go spells it: `X-Amz-Meta-Colour`.
fn canonical(name: &str) -> String {
    let mut begins = true;
    let spell = |letter: char| {
        let spelled = if begins { letter.to_ascii_uppercase() } else { letter };
        begins = letter == '-';
        spelled
    };
    name.chars().map(spell).collect()
}

/// The key in form encoding. MinIO's client decodes a key that has an encoded slash, and no other.
fn encoded(key: &str) -> String {
    form_urlencoded::byte_serialize(key.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use liteio_store::{ETag, EventKind};

    use super::*;

    #[test]
    fn an_event_is_one_line() {
        let event = Event {
            kind: EventKind::CreatedPut,
            time_ms: 1_700_000_000_123,
            bucket: "pictures".to_owned(),
            bucket_owner_id: "owner".to_owned(),
            rule: String::new(),
            cause: Cause::Unknown,
            key: "in/red \"flower\"\nä.jpg".to_owned(),
            version: None,
            bytes: Some(7),
            etag: ETag::parse("d41d8cd98f00b204e9800998ecf8427e"),
            restore: None,
            annotation: None,
            metadata: Some(Box::new(MetadataFacts {
                content_type: Some("image/jpeg".to_owned()),
                storage_class: Some("STANDARD_IA".to_owned()),
                user: vec![("mm-source-mtime".to_owned(), "2023".to_owned())],
            })),
        };
        let line = line(&event, "us-east-1");
        assert_eq!(line.find('\n'), Some(line.len() - 1));
        let document: Value = serde_json::from_str(&line).expect("JSON");
        let record = &document["Records"][0];
        assert_eq!(record["eventName"], "s3:ObjectCreated:Put");
        assert_eq!(record["eventTime"], "2023-11-14T22:13:20.123Z");
        assert_eq!(record["s3"]["bucket"]["name"], "pictures");
        let object = &record["s3"]["object"];
        assert_eq!(object["key"], "in%2Fred+%22flower%22%0A%C3%A4.jpg");
        assert_eq!((object["size"].as_u64(), &object["versionId"]), (Some(7), &Value::Null));
        assert_eq!(object["eTag"], "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(object["contentType"], "image/jpeg");
        let expected = json!({
            "X-Amz-Meta-Mm-Source-Mtime": "2023",
            "content-type": "image/jpeg",
            "x-amz-storage-class": "STANDARD_IA",
        });
        assert_eq!(object["userMetadata"], expected);
    }
}
