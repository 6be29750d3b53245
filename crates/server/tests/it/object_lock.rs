//! Object lock as clients see it. The store's tests have its rules.

use liteio::TestAccess;
use serde_json::json;

use crate::harness::{self, TestServer};
use crate::test_api::told;

const FAR: &str = "2999-01-01T00:00:00.000Z";

async fn locked_bucket(server: &TestServer) {
    let create = server.request("PUT", "/mine").header("x-amz-bucket-object-lock-enabled", "true");
    create.send().await.expect_status(200);
    assert_eq!(server.get("/mine?versioning").await.element("Status"), "Enabled");
}

fn configuration(rule: &str) -> String {
    format!(
        "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>{rule}\
         </ObjectLockConfiguration>"
    )
}

fn default_retention(inner: &str) -> String {
    configuration(&format!("<Rule><DefaultRetention>{inner}</DefaultRetention></Rule>"))
}

fn retention(mode: &str, until: &str) -> String {
    format!("<Retention><Mode>{mode}</Mode><RetainUntilDate>{until}</RetainUntilDate></Retention>")
}

#[tokio::test]
async fn a_locked_version_cannot_be_deleted_and_says_why() {
    for server in harness::both().await {
        locked_bucket(&server).await;
        let put = server.request("PUT", "/mine/key").headers(&[
            ("x-amz-object-lock-mode", "GOVERNANCE"),
            ("x-amz-object-lock-retain-until-date", FAR),
            ("x-amz-object-lock-legal-hold", "ON"),
        ]);
        let put = put.body("x").send().await;
        let put = put.expect_status(200);
        let version = put.header("x-amz-version-id").expect("an id").to_owned();
        let head = server.head("/mine/key").await;
        assert_eq!(head.header("x-amz-object-lock-mode"), Some("GOVERNANCE"));
        assert_eq!(head.header("x-amz-object-lock-retain-until-date"), Some(FAR));
        assert_eq!(head.header("x-amz-object-lock-legal-hold"), Some("ON"));
        assert_eq!(server.get("/mine/key?legal-hold").await.element("Status"), "ON");
        let kept = server.get("/mine/key?retention").await;
        assert_eq!(
            (&*kept.element("Mode"), &*kept.element("RetainUntilDate")),
            ("GOVERNANCE", FAR)
        );

        let path = format!("/mine/key?versionId={version}");
        let bypass = || {
            let delete = server.request("DELETE", &path);
            delete.header("x-amz-bypass-governance-retention", "true").send()
        };
        bypass().await.expect_error(403, "AccessDenied");
        let off = "<LegalHold><Status>OFF</Status></LegalHold>";
        server.put("/mine/key?legal-hold", off).await.expect_status(200);
        server.delete(&path).await.expect_error(403, "AccessDenied");
        let shorter = retention("GOVERNANCE", "2998-01-01T00:00:00Z");
        server.put("/mine/key?retention", &shorter).await.expect_error(403, "AccessDenied");
        bypass().await.expect_status(204);
        server.get("/mine/key").await.expect_status(404);
    }
}

#[tokio::test]
async fn the_default_of_the_bucket_holds_from_the_next_request_on() {
    let server = harness::memory().await;
    locked_bucket(&server).await;
    server.put("/mine/before", "x").await.expect_status(200);
    let default = default_retention("<Mode>COMPLIANCE</Mode><Years>1</Years>");
    server.put("/mine?object-lock", &default).await.expect_status(200);
    server.put("/mine/after", "x").await.expect_status(200);
    server.get("/mine/before?retention").await.expect_error(404, "NoSuchObjectLockConfiguration");
    assert_eq!(server.get("/mine/after?retention").await.element("Mode"), "COMPLIANCE");
    let got = server.get("/mine?object-lock").await;
    assert_eq!((&*got.element("Mode"), &*got.element("Years")), ("COMPLIANCE", "1"));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let server = harness::memory().await;
    server.bucket("plain").await;
    locked_bucket(&server).await;
    server.put("/mine/key", "x").await.expect_status(200);
    server.put("/plain/key", "x").await.expect_status(200);

    let missing = "ObjectLockConfigurationNotFoundError";
    server.get("/plain?object-lock").await.expect_error(404, missing);
    server
        .put("/plain?object-lock", configuration(""))
        .await
        .expect_error(409, "InvalidBucketState");
    server.get("/plain/key?retention").await.expect_error(400, "InvalidRequest");
    server.get("/plain/key?legal-hold").await.expect_error(400, "InvalidRequest");
    let far = retention("GOVERNANCE", FAR);
    server.put("/plain/key?retention", &far).await.expect_error(400, "InvalidRequest");
    let put = server.request("PUT", "/plain/locked").header("x-amz-object-lock-legal-hold", "ON");
    put.body("x").send().await.expect_error(400, "InvalidRequest");
    server.head("/plain/locked").await.expect_status(404);

    server.put("/plain", "").await.expect_status(200);
    let again = server.request("PUT", "/plain").header("x-amz-bucket-object-lock-enabled", "true");
    again.send().await.expect_error(409, "BucketAlreadyOwnedByYou");
    server.get("/plain?object-lock").await.expect_error(404, missing);

    for (rule, code) in [
        (default_retention("<Mode>GOVERNANCE</Mode><Days>0</Days>"), "InvalidRetentionPeriod"),
        (default_retention("<Mode>GOVERNANCE</Mode><Days>-1</Days>"), "InvalidRetentionPeriod"),
        (default_retention("<Mode>GOVERNANCE</Mode><Years>101</Years>"), "InvalidRetentionPeriod"),
        (
            default_retention("<Mode>GOVERNANCE</Mode><Days>1</Days><Years>1</Years>"),
            "MalformedXML",
        ),
        (default_retention("<Mode>GOVERNANCE</Mode>"), "MalformedXML"),
        (default_retention("<Mode>governance</Mode><Days>1</Days>"), "MalformedXML"),
        (default_retention("<Days>1</Days>"), "MalformedXML"),
        (configuration("<Rule/>"), "MalformedXML"),
        (configuration("<Other/>"), "MalformedXML"),
        ("<ObjectLockConfiguration/>".to_owned(), "MalformedXML"),
        (String::new(), "MissingRequestBodyError"),
    ] {
        server.put("/mine?object-lock", &rule).await.expect_error(400, code);
    }
    for (body, code) in [
        (retention("GOVERNANCE", "2001-01-01T00:00:00Z"), "InvalidArgument"),
        (retention("abc", FAR), "MalformedXML"),
        (retention("GOVERNANCE", "tomorrow"), "MalformedXML"),
        ("<Retention><Mode>GOVERNANCE</Mode></Retention>".to_owned(), "MalformedXML"),
    ] {
        server.put("/mine/key?retention", &body).await.expect_error(400, code);
    }
    for body in ["<LegalHold/>", "<LegalHold><Status>abc</Status></LegalHold>"] {
        server.put("/mine/key?legal-hold", body).await.expect_error(400, "MalformedXML");
    }
    for headers in [
        vec![("x-amz-object-lock-mode", "GOVERNANCE")],
        vec![("x-amz-object-lock-retain-until-date", FAR)],
        vec![("x-amz-object-lock-mode", "ABC"), ("x-amz-object-lock-retain-until-date", FAR)],
        vec![
            ("x-amz-object-lock-mode", "GOVERNANCE"),
            ("x-amz-object-lock-retain-until-date", "x"),
        ],
        // A form of ISO 8601 that is none of RFC 3339.
        vec![
            ("x-amz-object-lock-mode", "GOVERNANCE"),
            ("x-amz-object-lock-retain-until-date", "20990101T000000Z"),
        ],
        vec![("x-amz-object-lock-legal-hold", "on")],
    ] {
        let put = server.request("PUT", "/mine/refused").headers(&headers).body("x").send().await;
        put.expect_error(400, "InvalidArgument");
    }
    server.head("/mine/refused").await.expect_status(404);
    let suspended = "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>";
    server.put("/mine?versioning", suspended).await.expect_error(409, "InvalidBucketState");
    assert_eq!(server.head("/mine/key").await.header("x-amz-object-lock-mode"), None);
}

fn held(mode: &str, fields: &str) -> String {
    format!("<Retention><Mode>{mode}</Mode>{fields}</Retention>")
}

const HOLD: &str = "x-amz-object-lock-event-hold";
const HOLD_DAYS: &str = "x-amz-object-lock-event-hold-duration-days";
const HOLD_YEARS: &str = "x-amz-object-lock-event-hold-duration-years";
const MODE: &str = "x-amz-object-lock-mode";
const UNTIL: &str = "x-amz-object-lock-retain-until-date";

async fn with_clock() -> TestServer {
    let server = harness::start_with("memory", "us-east-1", |builder, _| {
        builder.test_api(TestAccess::Local)
    });
    let server = server.await;
    told(&server, "PUT", "/clock", json!({ "now": "2030-06-03T12:00:00Z" })).await;
    locked_bucket(&server).await;
    server
}

async fn advance_days(server: &TestServer, days: u64) {
    told(server, "PUT", "/clock", json!({ "advance_ms": days * 86_400_000 })).await;
}

#[tokio::test]
async fn a_held_version_stays_until_its_duration_behind_the_release() {
    let server = with_clock().await;
    let put = server.request("PUT", "/mine/key").headers(&[
        (MODE, "COMPLIANCE"),
        (HOLD, "ON"),
        (HOLD_DAYS, "30"),
    ]);
    let put = put.body("x").send().await.expect_status(200);
    let version = put.header("x-amz-version-id").expect("an id").to_owned();
    let path = format!("/mine/key?versionId={version}");
    // The end moves with the clock.
    for (days, until) in [(0, "2030-07-03"), (400, "2031-08-07")] {
        advance_days(&server, days).await;
        let head = server.head("/mine/key").await.expect_status(200);
        assert_eq!(head.header(MODE), Some("COMPLIANCE"));
        assert_eq!(head.header(HOLD), Some("ON"));
        assert_eq!(head.header(HOLD_DAYS), Some("30"));
        assert_eq!(head.header(HOLD_YEARS), None);
        assert_eq!(&head.header(UNTIL).expect("an end")[..10], until);
        let kept = server.get("/mine/key?retention").await.expect_status(200);
        assert_eq!(&kept.element("RetainUntilDate")[..10], until);
        assert_eq!((&*kept.element("EventHold"), &*kept.element("Days")), ("ON", "30"));
        let delete = server.request("DELETE", &path);
        let delete = delete.header("x-amz-bypass-governance-retention", "true");
        delete.send().await.expect_error(403, "AccessDenied");
    }
    let several =
        format!("<Delete><Object><Key>key</Key><VersionId>{version}</VersionId></Object></Delete>");
    let md5 = harness::base64(&harness::md5(several.as_bytes()));
    let request = server.request("POST", "/mine?delete").header("content-md5", md5);
    let refused = request.body(several).send().await.expect_status(200);
    assert_eq!(refused.element("Code"), "AccessDenied");

    // Neither a weaker mode nor an empty retention ends it; the release does.
    let other = held("GOVERNANCE", "<EventHold>OFF</EventHold>");
    server.put("/mine/key?retention", other).await.expect_error(403, "AccessDenied");
    server.put("/mine/key?retention", "<Retention/>").await.expect_error(403, "AccessDenied");
    let release = held("COMPLIANCE", "<EventHold>OFF</EventHold>");
    server.put("/mine/key?retention", release).await.expect_status(200);
    let kept = server.get("/mine/key?retention").await.expect_status(200);
    assert_eq!(kept.element("EventHold"), "OFF");
    assert!(!kept.has_element("EventHoldDuration"), "{}", kept.text());
    assert_eq!(&kept.element("RetainUntilDate")[..10], "2031-08-07");
    let head = server.head("/mine/key").await.expect_status(200);
    assert_eq!((head.header(HOLD), head.header(HOLD_DAYS)), (Some("OFF"), None));
    advance_days(&server, 29).await;
    server.delete(&path).await.expect_error(403, "AccessDenied");
    advance_days(&server, 2).await;
    server.delete(&path).await.expect_status(204);
}

#[tokio::test]
async fn holds_are_set_by_copies_uploads_in_parts_and_the_default_of_the_bucket() {
    let server = with_clock().await;
    server.put("/mine/source", "x").await.expect_status(200);
    let hold = [(MODE, "GOVERNANCE"), (HOLD, "ON"), (HOLD_YEARS, "1")];
    let copy = server.request("PUT", "/mine/copy").header("x-amz-copy-source", "/mine/source");
    copy.headers(&hold).send().await.expect_status(200);
    let begun = server.request("POST", "/mine/parts?uploads").headers(&hold).send().await;
    let id = begun.expect_status(200).element("UploadId");
    let part = server.put(&format!("/mine/parts?partNumber=1&uploadId={id}"), "x").await;
    let etag = part.header("etag").expect("a tag").to_owned();
    advance_days(&server, 10).await;
    let parts = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>\
         </CompleteMultipartUpload>"
    );
    server.post(&format!("/mine/parts?uploadId={id}"), parts).await.expect_status(200);
    for key in ["copy", "parts"] {
        let head = server.head(&format!("/mine/{key}")).await.expect_status(200);
        assert_eq!((head.header(HOLD), head.header(HOLD_YEARS)), (Some("ON"), Some("1")), "{key}");
        assert_eq!(&head.header(UNTIL).expect("an end")[..10], "2031-06-13", "{key}");
    }
    // A copy has the lock that it asks for, not that of its source.
    let copy = server.request("PUT", "/mine/plain").header("x-amz-copy-source", "/mine/parts");
    copy.send().await.expect_status(200);
    assert_eq!(server.head("/mine/plain").await.header(HOLD), None);

    for (rule, days, until) in [
        ("<DefaultEventHold><Days>3</Days></DefaultEventHold>", None, "2030-06-16"),
        (
            "<Days>9</Days><DefaultEventHold><Days>3</Days></DefaultEventHold>",
            Some(9),
            "2030-06-22",
        ),
    ] {
        let default = default_retention(&format!("<Mode>COMPLIANCE</Mode>{rule}"));
        server.put("/mine?object-lock", &default).await.expect_status(200);
        let got = server.get("/mine?object-lock").await.expect_status(200);
        let days: Vec<String> = days.into_iter().chain([3]).map(|it: u32| it.to_string()).collect();
        assert_eq!(got.elements("Days"), days);
        assert!(got.has_element("DefaultEventHold"), "{}", got.text());
        server.put("/mine/default", "x").await.expect_status(200);
        let head = server.head("/mine/default").await.expect_status(200);
        assert_eq!((head.header(HOLD), head.header(HOLD_DAYS)), (Some("ON"), Some("3")));
        assert_eq!(&head.header(UNTIL).expect("an end")[..10], until);
        // A lock of its own stands in the place of both.
        let own = server.request("PUT", "/mine/own").headers(&[(MODE, "GOVERNANCE"), (UNTIL, FAR)]);
        own.body("x").send().await.expect_status(200);
        assert_eq!(server.head("/mine/own").await.header(HOLD), None);
    }
}

#[tokio::test]
async fn a_shorter_duration_waits_and_a_longer_one_counts_at_once() {
    let server = with_clock().await;
    server.put("/mine/key", "x").await.expect_status(200);
    let set = |days: u32| {
        let duration = format!("<EventHoldDuration><Days>{days}</Days></EventHoldDuration>");
        held("COMPLIANCE", &format!("<EventHold>ON</EventHold>{duration}"))
    };
    let end = async || server.get("/mine/key?retention").await.element("RetainUntilDate");
    for (days, advance, until) in [
        (10, 0, "2030-06-13"),
        (20, 0, "2030-06-23"),
        (5, 0, "2030-06-23"),
        (5, 14, "2030-06-23"),
        (5, 2, "2030-06-24"),
    ] {
        server.put("/mine/key?retention", set(days)).await.expect_status(200);
        advance_days(&server, advance).await;
        assert_eq!(&end().await[..10], until, "{days} days, {advance} days later");
    }
    // A release with a later end has that one.
    let later = "<RetainUntilDate>2040-01-01T00:00:00Z</RetainUntilDate>";
    let release = held("COMPLIANCE", &format!("{later}<EventHold>OFF</EventHold>"));
    server.put("/mine/key?retention", release).await.expect_status(200);
    assert_eq!(&end().await[..10], "2040-01-01");
}

#[tokio::test]
async fn holds_that_make_no_sense_are_refused_and_change_nothing() {
    let server = harness::memory().await;
    server.bucket("plain").await;
    locked_bucket(&server).await;
    server.put("/mine/key", "x").await.expect_status(200);
    let on = [(MODE, "GOVERNANCE"), (HOLD, "ON"), (HOLD_DAYS, "1")];
    let put = server.request("PUT", "/plain/locked").headers(&on).body("x").send().await;
    put.expect_error(400, "InvalidRequest");
    for headers in [
        vec![(HOLD, "ON"), (HOLD_DAYS, "1")],
        vec![(MODE, "GOVERNANCE"), (HOLD, "ON")],
        vec![(MODE, "GOVERNANCE"), (HOLD, "ON"), (HOLD_DAYS, "1"), (HOLD_YEARS, "1")],
        vec![(MODE, "GOVERNANCE"), (HOLD, "ON"), (HOLD_DAYS, "0")],
        vec![(MODE, "GOVERNANCE"), (HOLD, "ON"), (HOLD_DAYS, "36501")],
        vec![(MODE, "GOVERNANCE"), (HOLD, "ON"), (HOLD_YEARS, "101")],
        vec![(MODE, "GOVERNANCE"), (HOLD, "on"), (HOLD_DAYS, "1")],
        vec![(MODE, "GOVERNANCE"), (HOLD, "OFF")],
        vec![(HOLD, "OFF")],
        vec![(MODE, "GOVERNANCE"), (UNTIL, FAR), (HOLD, "OFF"), (HOLD_DAYS, "1")],
        vec![(MODE, "GOVERNANCE"), (UNTIL, FAR), (HOLD_DAYS, "1")],
    ] {
        let put = server.request("PUT", "/mine/refused").headers(&headers).body("x").send().await;
        put.expect_error(400, "InvalidArgument");
        let begin = server.request("POST", "/mine/refused?uploads").headers(&headers);
        begin.send().await.expect_error(400, "InvalidArgument");
    }
    server.head("/mine/refused").await.expect_status(404);
    let duration = |inner: &str| format!("<EventHoldDuration>{inner}</EventHoldDuration>");
    let (hold, release) = ("<EventHold>ON</EventHold>", "<EventHold>OFF</EventHold>");
    for (body, code) in [
        (held("GOVERNANCE", hold), "MalformedXML"),
        (format!("<Retention>{hold}{}</Retention>", duration("<Days>1</Days>")), "MalformedXML"),
        (
            held("GOVERNANCE", &format!("{hold}{}", duration("<Days>1</Days><Years>1</Years>"))),
            "MalformedXML",
        ),
        (held("GOVERNANCE", &format!("{hold}{}", duration("<Days>0</Days>"))), "InvalidArgument"),
        (held("GOVERNANCE", &format!("{release}{}", duration("<Days>1</Days>"))), "MalformedXML"),
        (held("GOVERNANCE", release), "InvalidRequest"),
    ] {
        server.put("/mine/key?retention", &body).await.expect_error(400, code);
    }
    server.get("/mine/key?retention").await.expect_error(404, "NoSuchObjectLockConfiguration");
    for (rule, code) in [
        ("<Mode>GOVERNANCE</Mode><DefaultEventHold/>", "MalformedXML"),
        ("<DefaultEventHold><Days>1</Days></DefaultEventHold>", "MalformedXML"),
        (
            "<Mode>GOVERNANCE</Mode><DefaultEventHold><Days>0</Days></DefaultEventHold>",
            "InvalidRetentionPeriod",
        ),
        (
            "<Mode>GOVERNANCE</Mode><DefaultEventHold><Years>101</Years></DefaultEventHold>",
            "InvalidRetentionPeriod",
        ),
    ] {
        let default = default_retention(rule);
        server.put("/mine?object-lock", &default).await.expect_error(400, code);
    }
}

#[tokio::test]
async fn forms_set_holds_and_policies_decide_about_them_by_their_condition_keys() {
    let server = harness::memory().await;
    locked_bucket(&server).await;
    let fields = [("key", "form"), (MODE, "GOVERNANCE"), (HOLD, "ON"), (HOLD_YEARS, "1")];
    crate::form::upload(&server, &fields, b"x").await.expect_status(204);
    let head = server.head("/mine/form").await.expect_status(200);
    assert_eq!((head.header(HOLD), head.header(HOLD_YEARS)), (Some("ON"), Some("1")));
    let policy = r#"{"Version": "2012-10-17", "Statement": [
        {"Effect": "Deny", "Principal": "*", "Action": "s3:PutObjectRetention",
         "Resource": "arn:aws:s3:::mine/*",
         "Condition": {"NumericLessThan": {"s3:object-lock-event-hold-duration-days": "90"}}},
        {"Effect": "Deny", "Principal": "*", "Action": "s3:PutObjectRetention",
         "Resource": "arn:aws:s3:::mine/*",
         "Condition": {"StringEquals": {"s3:object-lock-event-hold": "OFF"}}}]}"#;
    server.put("/mine?policy", policy).await.expect_status(204);
    for (name, value, status) in
        [(HOLD_DAYS, "89", 403), (HOLD_DAYS, "90", 200), (HOLD_YEARS, "1", 200)]
    {
        let headers = [(MODE, "GOVERNANCE"), (HOLD, "ON"), (name, value)];
        let put = server.request("PUT", "/mine/key").headers(&headers).body("x").send().await;
        put.expect_status(status);
    }
    for (fields, status) in [
        ("<EventHold>ON</EventHold><EventHoldDuration><Days>89</Days></EventHoldDuration>", 403),
        ("<EventHold>ON</EventHold><EventHoldDuration><Years>1</Years></EventHoldDuration>", 200),
        ("<EventHold>OFF</EventHold>", 403),
    ] {
        let document = held("GOVERNANCE", fields);
        server.put("/mine/key?retention", document).await.expect_status(status);
    }
}
