//! Server access logs: the lines of requests, and their delivery into the target bucket.

use std::sync::Arc;
use std::time::{Duration, Instant};

use liteio::Server;
use liteio_disk::SimulatedDisk;
use liteio_store::{Store, StoreConfig};

use crate::harness::{self, ACCOUNTS, ALICE, BOB, CAROL, RawRequest, TestServer, base64, md5};

/// A server with the accounts of Alice and Bob that delivers logs at once.
async fn server(backend: &'static str) -> TestServer {
    harness::start_with(backend, "us-east-1", |builder, directory| {
        let file = directory.join("accounts.toml");
        std::fs::write(&file, ACCOUNTS).expect("the users are written");
        builder.credentials_file(file).access_log_interval(Duration::from_millis(20))
    })
    .await
}

fn logging(target: &str, prefix: &str, more: &str) -> String {
    format!(
        "<BucketLoggingStatus><LoggingEnabled><TargetBucket>{target}</TargetBucket>\
         <TargetPrefix>{prefix}</TargetPrefix>{more}</LoggingEnabled></BucketLoggingStatus>"
    )
}

/// The policy that AWS documents for the target of logs.
fn policy(target: &str, source: &str, account: &str) -> String {
    format!(
        r#"{{"Version": "2012-10-17", "Statement": [{{
            "Effect": "Allow", "Principal": {{"Service": "logging.s3.amazonaws.com"}},
            "Action": ["s3:PutObject"], "Resource": "arn:aws:s3:::{target}/*",
            "Condition": {{
                "ArnLike": {{"aws:SourceArn": "arn:aws:s3:::{source}"}},
                "StringEquals": {{"aws:SourceAccount": "{account}"}}
            }}}}]}}"#
    )
}

/// Makes the buckets `source` and `logs`, and lets the first log into the second.
async fn log_into(server: &TestServer, source: &str, more: &str) {
    server.bucket(source).await;
    server.bucket("logs").await;
    let policy = policy("logs", source, "111111111111");
    server.put("/logs?policy", policy).await.expect_status(204);
    let logging = logging("logs", "l/", more);
    server.put(&format!("/{source}?logging"), logging).await.expect_status(200);
}

/// Keys and lines of the delivered logs, as soon as there are `count` lines.
async fn delivered(server: &TestServer, count: usize) -> Vec<(String, String)> {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let listed = server.get("/logs?list-type=2&prefix=l/").await.expect_status(200);
        let mut lines = Vec::new();
        for key in listed.elements("Key") {
            let object = server.get(&format!("/logs/{key}")).await.expect_status(200);
            lines.extend(object.text().lines().map(|line| (key.clone(), line.to_owned())));
        }
        if lines.len() >= count {
            return lines;
        }
        assert!(Instant::now() < end, "only {lines:?}");
    }
}

/// The value of a metric.
async fn metric(server: &TestServer, name: &str) -> f64 {
    let page = server.get("/_liteio/metrics").await.expect_status(200).text();
    let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.expect("a metric").parse().expect("a number")
}

/// The fields of a line: quoted ones and the time are one each.
fn fields(line: &str) -> Vec<&str> {
    let mut fields = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let end = match rest.as_bytes()[0] {
            b'"' => rest[1..].find('"').expect("an end") + 2,
            b'[' => rest.find(']').expect("an end") + 1,
            _ => rest.find(' ').unwrap_or(rest.len()),
        };
        fields.push(&rest[..end]);
        rest = rest[end..].strip_prefix(' ').unwrap_or(&rest[end..]);
    }
    fields
}

/// The only line of this operation, in fields.
fn line<'l>(lines: &'l [(String, String)], operation: &str) -> Vec<&'l str> {
    let of = lines.iter().map(|(_, line)| fields(line)).filter(|fields| fields[6] == operation);
    let found: Vec<_> = of.collect();
    assert_eq!(found.len(), 1, "{operation}: {lines:?}");
    found.into_iter().next().expect("one")
}

#[tokio::test]
async fn requests_are_logged_with_all_fields() {
    for backend in ["memory", "directory"] {
        let server = server(backend).await;
        log_into(&server, "source", "").await;
        server.put("/source/a%20b/%C3%A4", "0123456789").await.expect_status(200);
        let get = server.request("GET", "/source/a%20b/%C3%A4?versionId=null");
        let get = get.headers(&[
            ("range", "bytes=2-4"),
            ("referer", "http://page/?X-Amz-Signature=secret"),
            ("user-agent", "agent \"x\""),
        ]);
        get.send().await;
        let lines = delivered(&server, 2).await;
        let put = line(&lines, "REST.PUT.OBJECT");
        assert_eq!(put.len(), 27, "{put:?}");
        assert_eq!(put[0], "alice-id");
        assert_eq!(put[1], "source");
        assert!(put[2].starts_with('[') && put[2].ends_with(" +0000]"), "{put:?}");
        assert_eq!(&put[3..5], ["127.0.0.1", "alice-id"]);
        assert_eq!(put[7], "a%20b/%C3%A4");
        assert_eq!(put[8], "\"PUT /source/a%20b/%C3%A4 HTTP/1.1\"");
        assert_eq!(&put[9..13], ["200", "-", "-", "10"]);
        assert_eq!(&put[15..18], ["\"-\"", "\"-\"", "-"]);
        assert_eq!(&put[19..22], ["SigV4", "-", "AuthHeader"]);
        assert_eq!(&put[23..], ["-", "-", "-", "-"]);
        let get = line(&lines, "REST.GET.OBJECT");
        assert_eq!(get[12], "10", "{get:?}");
        assert_eq!(get[15], "\"http://page/?X-Amz-Signature=***\"");
        assert_eq!(get[16], "\"agent %22x%22\"");
        assert_eq!(get[17], "null");
    }
}

#[tokio::test]
async fn refusals_and_other_senders_are_logged() {
    let server = server("memory").await;
    log_into(&server, "source", "").await;
    server.put("/source/key", "x").await.expect_status(200);
    server.request("GET", "/source/key").by(BOB).send().await.expect_status(403);
    server.request("HEAD", "/source").anonymous().send().await.expect_status(403);
    server.request("DELETE", "/source/key").by(CAROL).send().await.expect_status(403);
    server.get("/source/none?X-Amz-Security-Token=hush&x-id=GetObject").await;
    server.get("/source?versioning").await.expect_status(200);
    let preflight = server.request("OPTIONS", "/source/key").anonymous();
    let page = [("origin", "http://page"), ("access-control-request-method", "GET")];
    preflight.headers(&page).send().await.expect_status(403);
    server
        .request("PUT", "/logs/copy")
        .header("x-amz-copy-source", "/source/key")
        .send()
        .await
        .expect_status(200);
    let lines = delivered(&server, 8).await;
    let bob = lines.iter().map(|(_, line)| fields(line)).find(|line| line[4] == "bob-id");
    let bob = bob.expect("Bob's request");
    assert_eq!((bob[6], bob[9], bob[10]), ("REST.GET.OBJECT", "403", "AccessDenied"));
    let anonymous = line(&lines, "REST.HEAD.BUCKET");
    assert_eq!((anonymous[4], anonymous[7], anonymous[9]), ("-", "-", "403"));
    assert_eq!((anonymous[19], anonymous[21]), ("-", "-"));
    let carol = line(&lines, "REST.DELETE.OBJECT");
    assert_eq!(carol[4], "arn:aws:iam::111111111111:user/carol");
    assert_eq!(line(&lines, "REST.GET.VERSIONING")[9], "200");
    assert_eq!(line(&lines, "REST.OPTIONS.PREFLIGHT")[9], "403");
    let source = line(&lines, "REST.COPY.OBJECT_GET");
    assert_eq!((source[1], source[7]), ("source", "key"));
    let all = format!("{lines:?}");
    assert!(all.contains("REST.PUT.OBJECT") && !all.contains("hush"), "{all}");
}

#[tokio::test]
async fn keys_have_the_form_that_the_bucket_chooses() {
    let forms = [
        ("", "l/2"),
        ("<TargetObjectKeyFormat><SimplePrefix/></TargetObjectKeyFormat>", "l/2"),
        (
            "<TargetObjectKeyFormat><PartitionedPrefix><PartitionDateSource>EventTime\
             </PartitionDateSource></PartitionedPrefix></TargetObjectKeyFormat>",
            "l/111111111111/us-east-1/source/2",
        ),
        (
            "<TargetObjectKeyFormat><PartitionedPrefix><PartitionDateSource>DeliveryTime\
             </PartitionDateSource></PartitionedPrefix></TargetObjectKeyFormat>",
            "l/111111111111/us-east-1/source/2",
        ),
    ];
    for (form, start) in forms {
        let server = server("memory").await;
        log_into(&server, "source", form).await;
        server.put("/source/key", "x").await.expect_status(200);
        let lines = delivered(&server, 1).await;
        let key = &lines[0].0;
        assert!(key.starts_with(start), "{form}: {key}");
        let name = key.rsplit('/').next().expect("a name");
        let parts: Vec<&str> = name.split('-').collect();
        assert_eq!(parts.len(), 7, "{key}");
        assert!(parts[6].len() == 16 && parts[6].bytes().all(|it| it.is_ascii_hexdigit()), "{key}");
        assert_eq!(form.contains("EventTime"), parts[3..6] == ["00", "00", "00"], "{key}");
        if form.contains("Partitioned") {
            let path = format!("/{}/{}/{}/{name}", parts[0], parts[1], parts[2]);
            assert!(key.ends_with(&path), "{key}");
        }
    }
}

#[tokio::test]
async fn each_key_of_a_deletion_of_many_has_a_line() {
    let server = server("memory").await;
    log_into(&server, "source", "").await;
    server.put("/source/a%20b", "x").await.expect_status(200);
    let document = "<Delete><Object><Key>a b</Key></Object><Object><Key>c</Key><VersionId>x\
                    </VersionId></Object></Delete>";
    let sent = server.request("POST", "/source?delete").body(document);
    sent.header("content-md5", base64(&md5(document.as_bytes()))).send().await.expect_status(200);
    let lines = delivered(&server, 4).await;
    let request = line(&lines, "REST.POST.MULTI_OBJECT_DELETE");
    let deleted: Vec<_> = lines.iter().map(|(_, line)| fields(line)).collect();
    let deleted: Vec<_> = deleted.iter().filter(|it| it[6] == "BATCH.DELETE.OBJECT").collect();
    assert_eq!(deleted.len(), 2, "{lines:?}");
    assert_eq!(deleted[0][5], request[5], "the same request");
    assert_eq!(deleted[0][7..11], ["a%20b", "\"-\"", "204", "-"]);
    assert_eq!((deleted[1][7], deleted[1][10], deleted[1][17]), ("c", "NoSuchVersion", "x"));
}

/// The target decides, as for everybody else: by its policy or, where ACLs apply, by its ACL.
#[tokio::test]
async fn nothing_is_delivered_that_the_target_does_not_allow() {
    let server = server("memory").await;
    log_into(&server, "source", "").await;
    let refusing = [
        // Another source, another account, another service, a deny, and nothing.
        policy("logs", "other", "111111111111"),
        policy("logs", "source", "222222222222"),
        policy("logs", "source", "111111111111").replace("logging.s3", "s3"),
        policy("logs", "source", "111111111111").replace("Allow", "Deny"),
        String::new(),
    ];
    let lost = async || metric(&server, "liteio_access_log_lines_lost_total").await;
    for (before, policy) in refusing.iter().enumerate() {
        match policy.is_empty() {
            true => server.delete("/logs?policy").await.expect_status(204),
            false => server.put("/logs?policy", policy).await.expect_status(204),
        };
        server.put("/source/key", "x").await.expect_status(200);
        let end = Instant::now() + Duration::from_secs(30);
        while lost().await <= before as f64 {
            assert!(Instant::now() < end, "{policy}");
        }
    }
    let listed = server.get("/logs?list-type=2").await;
    assert_eq!(listed.elements("Key"), [""; 0]);
    // The log delivery group, where ACLs apply.
    let ownership = "<OwnershipControls><Rule><ObjectOwnership>BucketOwnerPreferred\
                     </ObjectOwnership></Rule></OwnershipControls>";
    server.put("/logs?ownershipControls", ownership).await.expect_status(200);
    let acl = server.request("PUT", "/logs?acl").header("x-amz-acl", "log-delivery-write");
    acl.send().await.expect_status(200);
    // AWS takes more permissions than it documents: LocalStack's `test_put_bucket_logging_accept_wrong_grants`.
    let grants = ["READ", "READ_ACP"].map(|permission| {
        format!(
            "<Grant><Grantee xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
             xsi:type=\"CanonicalUser\"><ID>bob-id</ID></Grantee>\
             <Permission>{permission}</Permission></Grant>"
        )
    });
    let grants = format!("<TargetGrants>{}</TargetGrants>", grants.concat());
    let with_grants = logging("logs", "l/", &grants);
    server.put("/source?logging", &with_grants).await.expect_status(200);
    server.get("/source/key").await.expect_status(200);
    // The line of the change itself has the grants from before.
    let lines = delivered(&server, 2).await;
    let read = lines.iter().find(|(_, line)| line.contains(" REST.GET.OBJECT "));
    let key = format!("/logs/{}", read.expect("a line").0);
    // Bob has got the right to read it, and its ACL.
    server.request("GET", &key).by(BOB).send().await.expect_status(200);
    server.request("GET", &format!("{key}?acl")).by(BOB).send().await.expect_status(200);
    let acl = server.request("PUT", "/logs?acl").header("x-amz-acl", "private");
    acl.send().await.expect_status(200);
    let enforced = ownership.replace("Preferred", "Enforced");
    server.put("/logs?ownershipControls", enforced).await.expect_status(200);
    server
        .put("/source?logging", &with_grants)
        .await
        .expect_error(400, "AccessControlListNotSupported");
}

#[tokio::test]
async fn targets_that_cannot_take_logs_are_refused() {
    let server = server("memory").await;
    server.bucket("source").await;
    let refused = async |target: &str, status, code| {
        let document = logging(target, "", "");
        server.put("/source?logging", document).await.expect_error(status, code);
    };
    refused("none", 400, "InvalidTargetBucketForLogging").await;
    server.request("PUT", "/bobs").by(BOB).send().await.expect_status(200);
    refused("bobs", 400, "InvalidTargetBucketForLogging").await;
    server.bucket("paying").await;
    let payer =
        "<RequestPaymentConfiguration><Payer>Requester</Payer></RequestPaymentConfiguration>";
    server.put("/paying?requestPayment", payer).await.expect_status(200);
    refused("paying", 400, "InvalidTargetBucketForLogging").await;
    let locked = server.request("PUT", "/locked");
    let locked = locked.header("x-amz-bucket-object-lock-enabled", "true");
    locked.send().await.expect_status(200);
    let retention = "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule>\
                     <DefaultRetention><Mode>GOVERNANCE</Mode><Days>1</Days></DefaultRetention></Rule>\
                     </ObjectLockConfiguration>";
    server.put("/locked?object-lock", retention).await.expect_status(200);
    refused("locked", 400, "InvalidTargetBucketForLogging").await;
    let form = "<TargetObjectKeyFormat><PartitionedPrefix/></TargetObjectKeyFormat>";
    let document = logging("source", "", form);
    server.put("/source?logging", document).await.expect_error(400, "MalformedXML");
    assert_eq!(ALICE.id, "alice-id");
}

/// A bucket that logs into itself gets one line for each request, and none for the delivery.
#[tokio::test]
async fn deliveries_leave_no_lines() {
    let server = server("memory").await;
    server.bucket("logs").await;
    let policy = policy("logs", "logs", "111111111111");
    server.put("/logs?policy", policy).await.expect_status(204);
    server.put("/logs?logging", logging("logs", "l/", "")).await.expect_status(200);
    server.put("/logs/key", "x").await.expect_status(200);
    server.put("/logs?logging", "<BucketLoggingStatus/>").await.expect_status(200);
    // Without logging, further requests leave none.
    let lines = delivered(&server, 2).await;
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(line(&lines, "REST.PUT.OBJECT")[7], "key");
    line(&lines, "REST.PUT.LOGGING_STATUS");
}

#[tokio::test]
async fn lines_that_wait_are_delivered_when_the_server_stops() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = async || {
        let builder = Server::builder().data_dir(folder.path());
        let builder = builder.credentials("alice-key", "alice's secret");
        let builder = builder.access_log_interval(Duration::from_secs(3600));
        builder.spawn().await.expect("starts")
    };
    let server = start().await;
    let policy = policy("logs", "source", "*").replace("StringEquals", "StringLike");
    let logging = logging("logs", "l/", "");
    for (path, body) in [
        ("/source", ""),
        ("/logs", ""),
        ("/logs?policy", &policy),
        ("/source?logging", &logging),
        ("/source/key", "x"),
    ] {
        let request = RawRequest::of_s3(server.address(), "us-east-1", "PUT", path).body(body);
        let reply = request.send().await;
        assert!(reply.status < 300, "{}", reply.everything());
    }
    server.stop().await;
    let server = start().await;
    let get =
        |path: &str| RawRequest::of_s3(server.address(), "us-east-1", "GET", path).send_owned();
    let key = get("/logs?list-type=2&prefix=l/").await.expect_status(200).element("Key");
    let text = get(&format!("/logs/{key}")).await.expect_status(200).text();
    assert!(text.contains(" REST.PUT.OBJECT key ") && text.lines().count() == 1, "{text}");
    server.stop().await;
}

/// While the disk is full, requests go on and their lines wait.
#[tokio::test]
async fn a_full_disk_loses_no_line() {
    let disk = SimulatedDisk::new(1);
    // All objects are files, whose space is checked before they are written.
    let config = StoreConfig {
        inline_bytes_max: 0,
        logged_bytes_max: 0,
        segment_bytes_max: 0,
        reserve_bytes: 1 << 20,
        ..StoreConfig::memory()
    };
    let store = Store::open_on(Arc::new(disk.clone()), config).expect("opens");
    let server = harness::start_with("memory", "us-east-1", |builder, _| {
        builder.store(store).access_log_interval(Duration::from_millis(20))
    })
    .await;
    server.bucket("source").await;
    server.bucket("logs").await;
    let policy = policy("logs", "source", "*").replace("StringEquals", "StringLike");
    server.put("/logs?policy", policy).await.expect_status(204);
    server.put("/source?logging", logging("logs", "l/", "")).await.expect_status(200);
    disk.set_capacity(0);
    for number in 0..10 {
        server.get(&format!("/source/{number}")).await.expect_error(404, "NoSuchKey");
    }
    let end = Instant::now() + Duration::from_secs(30);
    while metric(&server, "liteio_access_log_failures_total").await == 0.0 {
        assert!(Instant::now() < end, "no delivery was tried");
    }
    disk.set_capacity(1 << 40);
    let lines = delivered(&server, 10).await;
    assert_eq!(lines.len(), 10, "{lines:?}");
    assert_eq!(metric(&server, "liteio_access_log_lines_lost_total").await, 0.0);
}
