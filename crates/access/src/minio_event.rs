//! An event as MinIO tells it, in its stream and to targets: its members are those of AWS's messages, with other names
//! of events.

use liteio_store::{Cause, Event, EventKind, MetadataFacts, Requester};
use serde_json::{Map, Value, json};

use liteio_wire::origin::rfc_3339;

/// The line of a stream for an event, with its end.
pub fn line(event: &Event, region: &str) -> String {
    // Nanoseconds since 1970, in hexadecimal.
    let sequencer = format!("{:X}", u128::from(event.time_ms) * 1_000_000);
    format!("{}\n", json!({ "Records": [record(event, region, &sequencer)] }))
}

/// The document for a target. `number` is that of the event in the queue.
pub fn document(number: u64, event: &Event, region: &str) -> Value {
    // As in the stream; events of one millisecond are told apart by their numbers. Receivers may have seen sequencers of MinIO,
    // which are lower than these.
    let nanoseconds = u128::from(event.time_ms) * 1_000_000 + u128::from(number % 1_000_000);
    json!({
        "EventName": name(event.kind),
        "Key": format!("{}/{}", event.bucket, event.key),
        "Records": [record(event, region, &format!("{nanoseconds:X}"))],
    })
}

/// The name of a kind of events, with `s3:` also in a record.
fn name(kind: EventKind) -> String {
    format!("s3:{}", kind.name())
}

fn record(event: &Event, region: &str, sequencer: &str) -> Value {
    let requester = match &event.cause {
        Cause::Request(requester) => Requester::clone(requester),
        Cause::Unknown | Cause::Lifecycle => Requester::default(),
    };
    let user = json!({ "principalId": requester.principal_id });
    let owner = json!({ "principalId": event.bucket_owner_id });
    let mut object = json!({
        "key": encoded(&event.key),
        "userMetadata": event.metadata.as_deref().map(user_metadata).unwrap_or_default(),
        "sequencer": sequencer,
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
    json!({
        "eventVersion": "2.0",
        "eventSource": "minio:s3",
        "awsRegion": region,
        "eventTime": rfc_3339(event.time_ms),
        "eventName": name(event.kind),
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
                "ownerIdentity": owner,
                "arn": format!("arn:aws:s3:::{}", event.bucket),
            },
            "object": object,
        },
        "source": { "host": requester.source_address, "port": "", "userAgent": requester.user_agent },
    })
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
    use liteio_store::ETag;

    use super::*;

    fn event() -> Event {
        Event {
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
        }
    }

    #[test]
    fn an_event_is_one_line() {
        let line = line(&event(), "us-east-1");
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

    #[test]
    fn a_target_gets_the_same_record_with_the_name_and_the_path() {
        let told = document(2, &event(), "us-east-1");
        assert_eq!(told["EventName"], "s3:ObjectCreated:Put");
        assert_eq!(told["Key"], "pictures/in/red \"flower\"\nä.jpg");
        let next = document(3, &event(), "us-east-1");
        let [first, next] = [&told, &next]
            .map(|it| it["Records"][0]["s3"]["object"]["sequencer"].as_str().expect("a text"));
        assert!(first < next, "{first} {next}");
        let lined: Value = serde_json::from_str(&line(&event(), "us-east-1")).expect("JSON");
        let without_sequencer = |mut told: Value| {
            told["Records"][0]["s3"]["object"]["sequencer"] = Value::Null;
            told["Records"].take()
        };
        assert_eq!(without_sequencer(told), without_sequencer(lined));
    }
}
