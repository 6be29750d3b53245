//! Objects in archive classes, and their restores.

use std::net::SocketAddr;
use std::time::Duration;

use liteio::TestAccess;
use serde_json::{Value, json};

use crate::command::{Running, liteio, stderr};
use crate::harness::{
    ACCOUNTS, ALICE, BOB, RawRequest, TestServer, in_memory_with_users, memory, start_with,
};
use crate::reply::Reply;
use crate::test_api::told;

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;
const HOUR: u64 = 3_600_000;

/// A server whose restores take an hour, and whose clock can be moved.
async fn slow() -> TestServer {
    start_with("memory", "us-east-1", |builder, _| {
        builder.test_api(TestAccess::Local).restore_delay(Duration::from_secs(3600))
    })
    .await
}

/// A server whose restores take no time.
async fn fast() -> TestServer {
    start_with("memory", "us-east-1", |builder, _| builder.restore_delay(Duration::ZERO)).await
}

async fn put_as(server: &TestServer, path: &str, class: &str, body: &str) -> Reply {
    let put = server.request("PUT", path).header("x-amz-storage-class", class);
    put.body(body).send().await.expect_status(200)
}

fn days(days: u32) -> String {
    format!("<RestoreRequest><Days>{days}</Days></RestoreRequest>")
}

fn with_tier(days: u32, tier: &str) -> String {
    format!(
        "<RestoreRequest><Days>{days}</Days><Description>why</Description><GlacierJobParameters>\
         <Tier>{tier}</Tier></GlacierJobParameters></RestoreRequest>"
    )
}

/// `x-amz-restore` of a HEAD.
async fn state(server: &TestServer, path: &str) -> Option<String> {
    let head = server.head(path).await.expect_status(200);
    head.header("x-amz-restore").map(str::to_owned)
}

async fn clock(server: &TestServer, now: &str) {
    told(server, "PUT", "/clock", json!({ "now": now })).await;
}

async fn advance(server: &TestServer, milliseconds: impl Into<Value>) {
    told(server, "PUT", "/clock", json!({ "advance_ms": milliseconds.into() })).await;
}

const ONGOING: &str = "ongoing-request=\"true\"";

#[tokio::test]
async fn an_archived_object_is_read_while_it_is_restored_only() {
    let server = slow().await;
    server.bucket("mine").await;
    for class in ["GLACIER", "DEEP_ARCHIVE"] {
        // The example of AWS's guide.
        clock(&server, "2032-10-15T10:30:00Z").await;
        put_as(&server, "/mine/key", class, "body").await;
        let refused = server.get("/mine/key").await.expect_error(403, "InvalidObjectState");
        assert_eq!(refused.element("StorageClass"), class);
        let head = server.head("/mine/key").await.expect_status(200);
        assert_eq!(head.header("x-amz-storage-class"), Some(class));
        assert_eq!(head.header("x-amz-restore"), None);
        server.post("/mine/key?restore", days(3)).await.expect_status(202);
        assert_eq!(state(&server, "/mine/key").await.as_deref(), Some(ONGOING));
        server.get("/mine/key").await.expect_error(403, "InvalidObjectState");
        let again = server.post("/mine/key?restore", days(3)).await;
        again.expect_error(409, "RestoreAlreadyInProgress");

        advance(&server, HOUR).await;
        let restored = "ongoing-request=\"false\", expiry-date=\"Tue, 19 Oct 2032 00:00:00 GMT\"";
        assert_eq!(state(&server, "/mine/key").await.as_deref(), Some(restored));
        let got = server.get("/mine/key").await.expect_status(200);
        assert_eq!((got.text().as_str(), got.header("x-amz-restore")), ("body", Some(restored)));
        assert_eq!(got.header("x-amz-storage-class"), Some(class));
        // Another request counts from now.
        server.post("/mine/key?restore", days(1)).await.expect_status(200);
        let shorter = "ongoing-request=\"false\", expiry-date=\"Sun, 17 Oct 2032 00:00:00 GMT\"";
        assert_eq!(state(&server, "/mine/key").await.as_deref(), Some(shorter));
        // An earlier clock takes nothing away.
        clock(&server, "2032-10-15T10:30:00Z").await;
        assert_eq!(server.get("/mine/key").await.expect_status(200).text(), "body");
        clock(&server, "2032-10-16T23:59:59Z").await;
        assert_eq!(server.get("/mine/key").await.expect_status(200).text(), "body");
        clock(&server, "2032-10-17T00:00:00Z").await;
        server.get("/mine/key").await.expect_error(403, "InvalidObjectState");
        assert_eq!(state(&server, "/mine/key").await, None);
        server.post("/mine/key?restore", days(1)).await.expect_status(202);
    }
}

#[tokio::test]
async fn a_faster_tier_is_accepted_while_a_restore_is_in_progress() {
    let server = slow().await;
    server.bucket("mine").await;
    put_as(&server, "/mine/key", "GLACIER", "body").await;
    let ask = async |tier| server.post("/mine/key?restore", with_tier(1, tier)).await;
    ask("Bulk").await.expect_status(202);
    ask("Bulk").await.expect_error(409, "RestoreAlreadyInProgress");
    ask("Standard").await.expect_status(202);
    ask("Bulk").await.expect_error(409, "RestoreAlreadyInProgress");
    ask("Expedited").await.expect_status(202);
    ask("Expedited").await.expect_error(409, "RestoreAlreadyInProgress");
    put_as(&server, "/mine/key", "DEEP_ARCHIVE", "body").await;
    ask("Expedited").await.expect_error(400, "InvalidArgument");
    ask("Bulk").await.expect_status(202);
}

#[tokio::test]
async fn a_clock_that_was_set_back_stops_no_restore() {
    let server = slow().await;
    server.bucket("mine").await;
    clock(&server, "2040-01-01T12:00:00Z").await;
    put_as(&server, "/mine/key", "GLACIER", "body").await;
    server.post("/mine/key?restore", days(1)).await.expect_status(202);
    // Ten years earlier: nobody waits for the time that the restore was to complete at.
    clock(&server, "2030-01-01T12:00:00Z").await;
    let restored = "ongoing-request=\"false\", expiry-date=\"Thu, 03 Jan 2030 00:00:00 GMT\"";
    assert_eq!(state(&server, "/mine/key").await.as_deref(), Some(restored));
    assert_eq!(server.get("/mine/key").await.expect_status(200).text(), "body");
}

#[tokio::test]
async fn the_class_comes_with_copies_uploads_and_lifecycle_rules() {
    let server = slow().await;
    server.bucket("mine").await;
    server.put("/mine/plain", "body").await.expect_status(200);
    let copy = |from: &str, to: &str, class: &str| {
        let headers = [("x-amz-copy-source", from), ("x-amz-storage-class", class)];
        server.request("PUT", to).headers(&headers)
    };
    copy("/mine/plain", "/mine/copy", "GLACIER").send().await.expect_status(200);
    server.get("/mine/copy").await.expect_error(403, "InvalidObjectState");
    // It is no source.
    for class in ["STANDARD", "GLACIER"] {
        let refused = copy("/mine/copy", "/mine/other", class).send().await;
        let refused = refused.expect_error(403, "InvalidObjectState");
        assert_eq!(refused.element("StorageClass"), "GLACIER");
    }
    copy("/mine/copy", "/mine/copy", "STANDARD")
        .send()
        .await
        .expect_error(403, "InvalidObjectState");
    let create =
        server.request("POST", "/mine/parts?uploads").header("x-amz-storage-class", "DEEP_ARCHIVE");
    let upload = create.send().await.expect_status(200).element("UploadId");
    let part = format!("/mine/parts?partNumber=1&uploadId={upload}");
    let refused = server.request("PUT", &part).header("x-amz-copy-source", "/mine/copy");
    refused.send().await.expect_error(403, "InvalidObjectState");
    let etag = server.put(&part, "part").await.expect_status(200);
    let etag = etag.header("etag").expect("an ETag").to_owned();
    let list = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>\
         </CompleteMultipartUpload>"
    );
    let complete = format!("/mine/parts?uploadId={upload}");
    server.post(&complete, list).await.expect_status(200);
    server.get("/mine/parts?partNumber=1").await.expect_error(403, "InvalidObjectState");
    let ranged = server.request("GET", "/mine/parts").header("range", "bytes=0-1");
    ranged.send().await.expect_error(403, "InvalidObjectState");

    for key in ["/mine/copy?restore", "/mine/parts?restore"] {
        server.post(key, days(1)).await.expect_status(202);
    }
    advance(&server, HOUR).await;
    assert_eq!(server.get("/mine/parts?partNumber=1").await.expect_status(206).text(), "part");
    copy("/mine/copy", "/mine/copy", "STANDARD").send().await.expect_status(200);
    advance(&server, 3 * DAY).await;
    assert_eq!(server.get("/mine/copy").await.expect_status(200).text(), "body", "for good");

    let rule = "<LifecycleConfiguration><Rule><ID>r</ID><Status>Enabled</Status><Filter><And>\
        <Prefix>logs/</Prefix><ObjectSizeGreaterThan>1</ObjectSizeGreaterThan></And></Filter>\
        <Transition><Days>1</Days><StorageClass>GLACIER</StorageClass></Transition>\
        </Rule></LifecycleConfiguration>";
    server.put("/mine?lifecycle", rule).await.expect_status(200);
    server.put("/mine/logs/a", "body").await.expect_status(200);
    server.get("/mine/logs/a").await.expect_status(200);
    advance(&server, 3 * DAY).await;
    let refused = server.get("/mine/logs/a").await.expect_error(403, "InvalidObjectState");
    assert_eq!(refused.element("StorageClass"), "GLACIER");
    server.get("/mine/copy").await.expect_status(200);
}

#[tokio::test]
async fn versions_are_restored_one_by_one_and_lists_tell_it() {
    let server = slow().await;
    server.bucket("mine").await;
    let enabled = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    server.put("/mine?versioning", enabled).await.expect_status(200);
    let mut versions = Vec::new();
    for body in ["1", "2"] {
        let put = put_as(&server, "/mine/key", "GLACIER", body).await;
        versions.push(put.header("x-amz-version-id").expect("an id").to_owned());
    }
    let old = format!("/mine/key?versionId={}", versions[0]);
    server.post(&format!("{old}&restore"), days(2)).await.expect_status(202);
    let list = async |query: &str, attributes: &str| {
        let list = server.request("GET", &format!("/mine?{query}"));
        list.header("x-amz-optional-object-attributes", attributes).send().await
    };
    let listed = list("versions", "RestoreStatus").await.expect_status(200);
    assert_eq!(listed.elements("VersionId"), [&*versions[1], &*versions[0]]);
    assert_eq!(listed.elements("IsRestoreInProgress"), ["true"]);
    assert!(listed.elements("RestoreExpiryDate").is_empty());
    clock(&server, "2040-01-01T12:00:00Z").await;
    server.post("/mine/key?restore", days(2)).await.expect_status(202);
    advance(&server, HOUR).await;
    assert_eq!(server.get("/mine/key").await.expect_status(200).text(), "2");
    server.get(&old).await.expect_error(403, "InvalidObjectState");
    for query in ["list-type=2", "", "versions"] {
        let listed = list(query, "RestoreStatus").await.expect_status(200);
        assert_eq!(listed.elements("IsRestoreInProgress"), ["false"], "{query}");
        assert_eq!(listed.elements("RestoreExpiryDate"), ["2040-01-04T00:00:00.000Z"], "{query}");
        let silent = server.get(&format!("/mine?{query}")).await.expect_status(200);
        assert!(silent.elements("RestoreStatus").is_empty(), "{query}");
    }
    list("list-type=2", "Other").await.expect_error(400, "InvalidArgument");
    // A delete marker has nothing to restore, and hides the object.
    server.delete("/mine/key").await.expect_status(204);
    server.post("/mine/key?restore", days(2)).await.expect_error(405, "MethodNotAllowed");
}

#[tokio::test]
async fn requests_that_restore_nothing_are_refused() {
    let server = memory().await;
    server.bucket("mine").await;
    server.put("/mine/plain", "x").await.expect_status(200);
    for class in ["GLACIER_IR", "STANDARD_IA", "INTELLIGENT_TIERING", "GLACIER"] {
        put_as(&server, &format!("/mine/{class}"), class, "x").await;
    }
    for (key, class) in [
        ("plain", "STANDARD"),
        ("GLACIER_IR", "GLACIER_IR"),
        ("STANDARD_IA", "STANDARD_IA"),
        ("INTELLIGENT_TIERING", "INTELLIGENT_TIERING"),
    ] {
        for body in [days(1), String::new()] {
            let refused = server.post(&format!("/mine/{key}?restore"), body).await;
            let refused = refused.expect_error(403, "InvalidObjectState");
            assert_eq!(refused.element("StorageClass"), class);
            let tiers = refused.elements("AccessTier");
            assert_eq!(tiers.is_empty(), class != "INTELLIGENT_TIERING", "{class}");
        }
        server.get(&format!("/mine/{key}")).await.expect_status(200);
    }
    let rows = [
        ("", 400, "MalformedXML"),
        ("<RestoreRequest/>", 400, "MalformedXML"),
        ("<RestoreRequest><Days>1</Days>", 400, "MalformedXML"),
        ("<RestoreRequest><Days>1</Days><New/></RestoreRequest>", 400, "MalformedXML"),
        ("<RestoreRequest><Days>0</Days></RestoreRequest>", 400, "InvalidArgument"),
        (
            "<RestoreRequest><Type>SELECT</Type><SelectParameters><Expression>x</Expression>\
             </SelectParameters></RestoreRequest>",
            501,
            "NotImplemented",
        ),
    ];
    for (body, status, code) in rows {
        server.post("/mine/GLACIER?restore", body).await.expect_error(status, code);
    }
    server.post("/mine/none?restore", days(1)).await.expect_error(404, "NoSuchKey");
    let unknown = "/mine/GLACIER?restore&versionId=00000000000000000000000000000000";
    server.post(unknown, days(1)).await.expect_error(404, "NoSuchVersion");
    assert_eq!(state(&server, "/mine/GLACIER").await, None);
}

#[tokio::test]
async fn a_new_object_begins_archived_again() {
    let server = fast().await;
    server.bucket("mine").await;
    put_as(&server, "/mine/key", "GLACIER", "one").await;
    server.post("/mine/key?restore", days(1)).await.expect_status(202);
    assert_eq!(server.get("/mine/key").await.expect_status(200).text(), "one");
    // A rename makes another object.
    let rename = server.request("PUT", "/mine/new?renameObject");
    rename.header("x-amz-rename-source", "key").send().await.expect_status(200);
    server.get("/mine/new").await.expect_error(403, "InvalidObjectState");
    server.post("/mine/new?restore", days(1)).await.expect_status(202);
    put_as(&server, "/mine/new", "GLACIER", "two").await;
    server.get("/mine/new").await.expect_error(403, "InvalidObjectState");
}

#[tokio::test]
async fn restores_are_told_as_events() {
    let server = slow().await;
    server.bucket("mine").await;
    put_as(&server, "/mine/key", "GLACIER", "body").await;
    let names = async |count: usize| -> Vec<String> {
        let path = format!("/events/wait?name=s3:ObjectRestore:*&count={count}&timeout_ms=60000");
        let told = told(&server, "GET", &path, Value::Null).await;
        let events = told["events"].as_array().expect("events");
        let name = |event: &Value| event["name"].as_str().expect("a name").to_owned();
        events.iter().map(name).collect()
    };
    let (post, completed, delete) =
        ("s3:ObjectRestore:Post", "s3:ObjectRestore:Completed", "s3:ObjectRestore:Delete");
    server.post("/mine/key?restore", days(1)).await.expect_status(202);
    assert_eq!(names(1).await, [post]);
    advance(&server, HOUR).await;
    server.post("/mine/key?restore", days(3)).await.expect_status(200);
    assert_eq!(names(2).await, [post, completed]);
    // The first expiry is none any more, and the extension has no event.
    advance(&server, 2 * DAY).await;
    server.head("/mine/key").await.expect_status(200);
    assert_eq!(names(2).await, [post, completed]);
    advance(&server, 2 * DAY).await;
    assert_eq!(names(3).await, [post, completed, delete]);
    // The clock passes both ends of a restore at once.
    server.post("/mine/key?restore", days(1)).await.expect_status(202);
    advance(&server, 9 * DAY).await;
    assert_eq!(names(6).await[3..], [post, completed, delete]);
}

#[tokio::test]
async fn a_restore_needs_its_permission_and_not_that_of_reading() {
    let server = in_memory_with_users(ACCOUNTS).await;
    server.bucket("mine").await;
    put_as(&server, "/mine/key", "GLACIER", "body").await;
    let ask =
        async || server.request("POST", "/mine/key?restore").by(BOB).body(days(1)).send().await;
    ask().await.expect_error(403, "AccessDenied");
    let policy = r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow",
        "Principal": {"AWS": "222222222222"}, "Action": "s3:RestoreObject",
        "Resource": "arn:aws:s3:::mine/*"}]}"#;
    server.put("/mine?policy", policy).await.expect_status(204);
    ask().await.expect_status(202);
    server.request("GET", "/mine/key").by(BOB).send().await.expect_error(403, "AccessDenied");
    server.request("HEAD", "/mine/key").by(ALICE).send().await.expect_status(200);
}

#[tokio::test]
async fn a_kill_stops_no_restore() {
    let directory = tempfile::tempdir().expect("a directory");
    let users = [("LITEIO_ACCESS_KEY", ALICE.access_key), ("LITEIO_SECRET_KEY", ALICE.secret_key)];
    let start = || {
        let arguments = ["--data-dir", "data", "--address", "127.0.0.1:0", "--restore-delay", "2"];
        Running::start_with(&directory, &arguments, &users)
    };
    let at = |running: &Running, method: &'static str, path: &str| {
        let address = running.endpoint().trim_start_matches("http://");
        let address: SocketAddr = address.parse().expect("an address");
        RawRequest::of_s3(address, "us-east-1", method, path)
    };
    let mut running = start();
    at(&running, "PUT", "/mine").send().await.expect_status(200);
    let put = at(&running, "PUT", "/mine/key").header("x-amz-storage-class", "GLACIER");
    put.body("body").send().await.expect_status(200);
    at(&running, "POST", "/mine/key?restore").body(days(1)).send().await.expect_status(202);
    let mut states = Vec::new();
    for round in 0.. {
        assert!(round < 30_000, "it is never restored");
        let got = at(&running, "GET", "/mine/key").send().await;
        let head = at(&running, "HEAD", "/mine/key").send().await.expect_status(200);
        let state = head.header("x-amz-restore").expect("a restore").to_owned();
        // The GET was before the HEAD.
        match got.status {
            200 => assert_ne!(state, ONGOING),
            _ => drop(got.expect_error(403, "InvalidObjectState")),
        }
        if states.last() != Some(&state) {
            states.push(state);
        }
        if states.len() == 2 {
            break;
        }
        if round < 3 {
            running.signal("KILL");
            running = start();
        }
    }
    assert_eq!(states[0], ONGOING);
    assert!(states[1].starts_with("ongoing-request=\"false\""), "{}", states[1]);
    running.signal("KILL");
    let verified = liteio(&directory).args(["verify", "--data-dir", "data"]).output();
    let verified = verified.expect("it runs");
    assert!(verified.status.success(), "{verified:?}");
    let refused = liteio(&directory).args(["--memory", "--restore-delay", "604801"]).output();
    let refused = refused.expect("it runs");
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--restore-delay"), "{}", stderr(&refused));
}
