//! Spans of requests, as a collector of OpenTelemetry gets them.

use std::collections::HashMap;

use liteio::OtlpSettings;
use serde_json::Value;

use crate::harness::{BOB, TestServer, User, start_with};
use crate::receiver::Receiver;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

async fn server(receiver: &Receiver) -> TestServer {
    let mut otlp = OtlpSettings::new(&format!("http://{}", receiver.address)).expect("valid");
    otlp.service_name = "photos".to_owned();
    otlp.headers = vec![("x-tenant".to_owned(), "tests".to_owned())];
    start_with("memory", "us-east-1", |builder, _| builder.otlp(otlp)).await
}

/// The spans of the next posts, once there are so many.
async fn spans(receiver: &mut Receiver, count: usize) -> Vec<Value> {
    let mut spans = Vec::new();
    while spans.len() < count {
        let post = receiver.next().await;
        assert_eq!(post.header("content-type"), "application/json");
        assert_eq!(post.header("x-tenant"), "tests");
        let document = post.json();
        let resource = &document["resourceSpans"][0];
        let service = &resource["resource"]["attributes"][0];
        assert_eq!(
            (&service["key"], &service["value"]["stringValue"]),
            (&"service.name".into(), &"photos".into())
        );
        let more = resource["scopeSpans"][0]["spans"].as_array().expect("spans");
        spans.extend(more.iter().cloned());
    }
    spans
}

fn attributes(span: &Value) -> HashMap<&str, &str> {
    let all = span["attributes"].as_array().expect("attributes").iter();
    let pairs = all.filter_map(|it| {
        let value = it["value"].as_object()?.values().next()?.as_str()?;
        Some((it["key"].as_str()?, value))
    });
    pairs.collect()
}

#[tokio::test]
async fn every_request_has_a_span_in_the_trace_of_its_caller() {
    let mut receiver = Receiver::start().await;
    let server = server(&receiver).await;
    server.request("GET", "/_liteio/health/live").anonymous().send().await.expect_status(200);
    server.bucket("photos").await;
    let parent = |flags| format!("00-{TRACE}-00f067aa0ba902b7-{flags}");
    let put = server.request("PUT", "/photos/a").header("traceparent", parent("01"));
    put.body("JPEG").send().await.expect_status(200);
    let unsampled = server.request("GET", "/photos/a").header("traceparent", parent("00"));
    unsampled.send().await.expect_status(200);
    server.request("GET", "/photos/a").by(BOB).send().await.expect_error(403, "AccessDenied");

    let mut spans = spans(&mut receiver, 3).await;
    spans.sort_by_key(|span| span["startTimeUnixNano"].to_string());
    let names: Vec<&Value> = spans.iter().map(|span| &span["name"]).collect();
    assert_eq!(names, ["CreateBucket", "PutObject", "GetObject"]);
    let (put, refused) = (&spans[1], &spans[2]);
    assert_eq!(
        (&put["traceId"], &put["parentSpanId"]),
        (&TRACE.into(), &"00f067aa0ba902b7".into())
    );
    assert!(refused.get("parentSpanId").is_none());
    for span in &spans {
        assert_eq!(span["traceId"].as_str().map(str::len), Some(32));
        assert_eq!(span["spanId"].as_str().map(str::len), Some(16));
        let time = |name: &str| span[name].as_str().and_then(|it| it.parse::<u128>().ok());
        assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"), "{span}");
    }
    let of_put = attributes(put);
    for (key, value) in [
        ("http.request.method", "PUT"),
        ("http.route", "/{bucket}/{key}"),
        ("http.response.status_code", "200"),
        ("http.request.body.size", "4"),
        ("rpc.method", "PutObject"),
        ("aws.s3.bucket", "photos"),
        ("aws.s3.key", "a"),
        ("user.id", "alice"),
    ] {
        assert_eq!(of_put.get(key), Some(&value), "{key}");
    }
    assert_eq!(attributes(refused).get("error.type"), Some(&"AccessDenied"));
    assert!(refused.get("status").is_none(), "the fault of a client is none of the server");
}

#[tokio::test]
async fn a_collector_that_is_down_fails_no_request() {
    let receiver = Receiver::deciding(|_| 503).await;
    let server = server(&receiver).await;
    server.bucket("photos").await;
    server.put("/photos/a", "1").await.expect_status(200);
    let health = server.request("GET", "/_liteio/health/ready").anonymous().send().await;
    let told: Value = serde_json::from_str(&health.expect_status(200).text()).expect("JSON");
    assert_eq!(told["status"], "ready");
    assert!(told["otlp"]["waiting"].as_u64().is_some_and(|waiting| waiting > 0), "{told}");
}

#[tokio::test]
async fn a_refused_request_for_what_is_called_health_has_a_span_and_an_unchanged_object_no_error() {
    let mut receiver = Receiver::start().await;
    let server = server(&receiver).await;
    server.bucket("photos").await;
    let stranger = User { secret_key: "wrong", ..BOB };
    let refused = server.request("GET", "/photos/health").by(stranger).send().await;
    refused.expect_error(403, "SignatureDoesNotMatch");
    server.put("/photos/a", "1").await.expect_status(200);
    let unchanged = server.request("GET", "/photos/a").header("if-none-match", "*");
    unchanged.send().await.expect_status(304);
    let spans = spans(&mut receiver, 4).await;
    let find = |name: &str, value: &str| {
        let is_it = |it: &&Value| attributes(it).get(name) == Some(&value);
        spans.iter().find(is_it).unwrap_or_else(|| panic!("no {name} {value} in {spans:?}"))
    };
    let refused = attributes(find("url.path", "/photos/health"));
    assert_eq!(refused.get("error.type"), Some(&"SignatureDoesNotMatch"));
    let unchanged = attributes(find("http.response.status_code", "304"));
    assert_eq!(unchanged.get("error.type"), None);
}

#[tokio::test]
async fn a_span_of_s3_vectors_has_the_names_of_the_body_and_never_the_operation_as_bucket() {
    let mut receiver = Receiver::start().await;
    let server = server(&receiver).await;
    let made = r#"{"vectorBucketName":"media"}"#;
    server.vectors("CreateVectorBucket", made).send().await.expect_status(200);
    let index = r#"{"vectorBucketName":"media","indexName":"films"}"#;
    server.vectors("GetIndex", index).send().await.expect_status(404);
    server.vectors("GetIndex", "{").send().await.expect_status(400);
    let stranger = User { secret_key: "wrong", ..BOB };
    server.vectors("ListIndexes", made).by(stranger).send().await.expect_status(403);
    let mut spans = spans(&mut receiver, 4).await;
    spans.sort_by_key(|span| span["startTimeUnixNano"].to_string());
    let names = |span| {
        let told = attributes(span);
        assert_eq!(told.get("http.route"), Some(&"/{operation}"));
        assert_eq!(told.get("aws.s3.bucket"), None);
        let name = |of: &str| told.get(&*format!("aws.s3vectors.{of}")).map(|it| (*it).to_owned());
        (name("bucket"), name("index"))
    };
    let told: Vec<_> = spans.iter().map(names).collect();
    let (media, films) = (Some("media".to_owned()), Some("films".to_owned()));
    assert_eq!(told, [(media.clone(), None), (media, films), (None, None), (None, None)]);
}
