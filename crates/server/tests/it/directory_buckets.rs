//! Sessions and names of directory buckets, as SDKs use them with a bucket in the form
//! `BASE--ZONE--x-s3`. `tests/clients/test_directory_buckets.py` has boto3.

use crate::harness::{self, ACCOUNTS, BOB, RawRequest, TestServer, User};
use crate::reply::Reply;

const BUCKET: &str = "/photos--use1-az4--x-s3";
const MODE: &str = "x-amz-create-session-mode";

/// The keys of a session, and its token.
struct Session {
    user: User,
    token: String,
}

async fn begin(server: &TestServer, mode: Option<&str>) -> Reply {
    let request = server.request("GET", &format!("{BUCKET}?session")).service("s3express");
    match mode {
        Some(mode) => request.header(MODE, mode).send().await,
        None => request.send().await,
    }
}

fn session(answered: &Reply) -> Session {
    let leaked = |name: &str| -> &'static str { answered.element(name).leak() };
    let user =
        User { access_key: leaked("AccessKeyId"), secret_key: leaked("SecretAccessKey"), id: "" };
    Session { user, token: answered.element("SessionToken") }
}

impl Session {
    fn request<'s>(
        &self,
        server: &'s TestServer,
        method: &'static str,
        path: &str,
    ) -> RawRequest<'s> {
        let request = server.request(method, path).service("s3express").by(self.user);
        request.header("x-amz-s3session-token", &self.token)
    }
}

#[tokio::test]
async fn a_session_is_for_its_bucket_and_comes_before_it() {
    for server in harness::both().await {
        // SDKs begin it before they make the bucket.
        let answered = begin(&server, None).await.expect_status(200);
        let seconds: jiff::Timestamp = answered.element("Expiration").parse().expect("a time");
        assert!(seconds.duration_since(jiff::Timestamp::now()).as_secs() <= 300);
        let session = session(&answered);
        let create = "<CreateBucketConfiguration><Location><Name>use1-az4</Name>\
            <Type>AvailabilityZone</Type></Location><Bucket><DataRedundancy>SingleAvailabilityZone\
            </DataRedundancy><Type>Directory</Type></Bucket></CreateBucketConfiguration>";
        session.request(&server, "PUT", BUCKET).body(create).send().await.expect_status(200);
        let key = format!("{BUCKET}/key");
        let put = session.request(&server, "PUT", &key);
        let put = put.header("x-amz-storage-class", "EXPRESS_ONEZONE").body("body");
        put.send().await.expect_status(200);
        let got = session.request(&server, "GET", &key).send().await.expect_status(200);
        assert_eq!(got.body, b"body");
        assert_eq!(got.header("x-amz-storage-class"), Some("EXPRESS_ONEZONE"));
        let listed = session.request(&server, "GET", &format!("{BUCKET}?list-type=2"));
        assert_eq!(listed.send().await.expect_status(200).elements("Key"), ["key"]);
        begin(&server, None).await.expect_status(200);

        // The keys are of no use elsewhere, without their token, and with a second one.
        server.bucket("other").await;
        let other = session.request(&server, "GET", "/other?list-type=2").send().await;
        other.expect_error(403, "AccessDenied");
        let bare = server.request("GET", &key).service("s3express").by(session.user);
        bare.send().await.expect_error(403, "InvalidAccessKeyId");
        let twice = session.request(&server, "GET", &key);
        let twice = twice.header("x-amz-security-token", &session.token).send().await;
        twice.expect_error(400, "InvalidArgument");
        // Copies are signed by the sender's own keys, for the same service.
        let copy = server.request("PUT", &format!("{BUCKET}/copy")).service("s3express");
        let copy = copy.header("x-amz-copy-source", &key).send().await;
        copy.expect_status(200);
        session.request(&server, "DELETE", &key).send().await.expect_status(204);
        let listed = server.request("GET", "/").service("s3express").send().await;
        let listed = listed.expect_status(200);
        assert_eq!(listed.elements("Name"), ["photos--use1-az4--x-s3"], "{}", listed.text());
        assert_eq!(server.get("/").await.elements("Name").len(), 2);
    }
}

#[tokio::test]
async fn a_session_that_reads_does_not_write() {
    let server = harness::memory().await;
    server.put(BUCKET, "").await.expect_status(200);
    server.put(&format!("{BUCKET}/key"), "body").await.expect_status(200);
    let reads = session(&begin(&server, Some("ReadOnly")).await.expect_status(200));
    let key = format!("{BUCKET}/key");
    reads.request(&server, "GET", &key).send().await.expect_status(200);
    let listed = reads.request(&server, "GET", &format!("{BUCKET}?list-type=2"));
    listed.send().await.expect_status(200);
    let put = reads.request(&server, "PUT", &key).body("x").send().await;
    put.expect_error(403, "AccessDenied");
    reads.request(&server, "DELETE", &key).send().await.expect_error(403, "AccessDenied");
    // A session of a session has no more rights than that one.
    let again = reads.request(&server, "GET", &format!("{BUCKET}?session"));
    again.send().await.expect_error(403, "AccessDenied");
    begin(&server, Some("Write")).await.expect_error(400, "InvalidArgument");
    let encrypted = server.request("GET", &format!("{BUCKET}?session")).service("s3express");
    let encrypted = encrypted.header("x-amz-server-side-encryption", "AES256");
    encrypted.send().await.expect_error(501, "NotImplemented");
    let anonymous = server.request("GET", &format!("{BUCKET}?session")).anonymous();
    anonymous.send().await.expect_error(403, "AccessDenied");
    server.bucket("plain").await;
    server.get("/plain?session").await.expect_error(400, "InvalidRequest");
}

#[tokio::test]
async fn a_session_is_of_its_sender() {
    let server = harness::in_memory_with_users(ACCOUNTS).await;
    server.put(BUCKET, "").await.expect_status(200);
    let stranger = server.request("GET", &format!("{BUCKET}?session")).service("s3express");
    stranger.by(BOB).send().await.expect_error(403, "AccessDenied");
}

#[tokio::test]
async fn the_document_of_a_directory_bucket_agrees_with_its_name() {
    let server = harness::memory().await;
    let document = |zone: &str, kind: &str| {
        format!(
            "<CreateBucketConfiguration><Location><Name>{zone}</Name>\
             <Type>AvailabilityZone</Type></Location><Bucket><Type>{kind}</Type></Bucket>\
             </CreateBucketConfiguration>"
        )
    };
    let plain = server.put("/plain", document("use1-az4", "Directory")).await;
    plain.expect_error(400, "InvalidBucketName");
    for (zone, kind) in [("use1-az5", "Directory"), ("use1-az4", "Other")] {
        server.put(BUCKET, document(zone, kind)).await.expect_error(400, "InvalidRequest");
    }
    server.put("/photos--x-s3", "").await.expect_error(400, "InvalidBucketName");
    server.put(BUCKET, document("use1-az4", "Directory")).await.expect_status(200);
    for number in 0..3 {
        let name = format!("/more-{number}--use1-az4--x-s3");
        server.put(&name, "").await.expect_status(200);
    }
    let mut names = Vec::new();
    let mut after = String::new();
    loop {
        let path = format!("/?max-directory-buckets=2&x-id=ListDirectoryBuckets{after}");
        let page = server.get(&path).await.expect_status(200);
        let found = page.elements("Name");
        assert!(found.len() <= 2, "{found:?}");
        names.extend(found);
        if !page.has_element("ContinuationToken") {
            break;
        }
        after = format!("&continuation-token={}", page.element("ContinuationToken"));
    }
    let expected =
        ["more-0", "more-1", "more-2", "photos"].map(|it| format!("{it}--use1-az4--x-s3"));
    assert_eq!(names, expected);
}
