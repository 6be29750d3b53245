//! Event notifications as buckets ask for them and webhooks get them.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hmac::{Hmac, KeyInit as _, Mac as _};
use liteio::{EventSettings, Webhook};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::Value;
use sha2::Sha256;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsAcceptor;

use crate::command::Running;
use crate::harness::{self, RawRequest, TestServer};
use crate::receiver::Receiver;

const ARN: &str = "arn:aws:sqs:us-east-1:000000000000:hook";

fn hook(url: &str) -> Webhook {
    Webhook::new("hook", url).expect("valid")
}

/// A server whose webhook `hook` is that receiver.
async fn server(receiver: &Receiver) -> TestServer {
    let targets = vec![hook(&receiver.url()).into()];
    harness::with_events(EventSettings { targets, ..EventSettings::default() }).await
}

fn document(inner: &str) -> String {
    format!("<NotificationConfiguration>{inner}</NotificationConfiguration>")
}

fn queue(inner: &str) -> String {
    document(&format!("<QueueConfiguration><Queue>{ARN}</Queue>{inner}</QueueConfiguration>"))
}

const ALL: &str = "<Event>s3:ObjectCreated:*</Event><Event>s3:ObjectRemoved:*</Event>\
                   <Event>s3:ObjectTagging:*</Event>";

#[tokio::test]
async fn a_webhook_gets_the_events_that_a_bucket_asks_for() {
    let mut receiver = Receiver::start().await;
    let server = server(&receiver).await;
    server.bucket("mine").await;
    let filter = "<Id>images</Id><Filter><S3Key><FilterRule><Name>prefix</Name><Value>in/</Value>\
                  </FilterRule><FilterRule><Name>Suffix</Name><Value>.jpg</Value></FilterRule>\
                  </S3Key></Filter>";
    server.put("/mine?notification", queue(&format!("{filter}{ALL}"))).await.expect_status(200);
    let test = receiver.next().await;
    assert_eq!(test.event(), "s3:TestEvent");
    assert_eq!(test.json()["Bucket"], "mine");
    assert_eq!(test.json()["RequestId"].as_str().map(str::len), Some(16));
    server.put("/mine/out/a.jpg", "1").await.expect_status(200);
    server.put("/mine/in/a.png", "1").await.expect_status(200);
    let put = server.put("/mine/in/a%20b.jpg", "123").await.expect_status(200);
    let post = receiver.next().await;
    assert_eq!(post.header("content-type"), "application/json");
    assert_eq!(post.event(), "ObjectCreated:Put in/a+b.jpg");
    let told = post.json();
    let record = &told["Records"][0];
    let object = &record["s3"]["object"];
    assert_eq!(
        (&object["size"], &object["eTag"]),
        (&3.into(), &harness::etag(b"123").trim_matches('"').into())
    );
    assert_eq!(object.get("versionId"), None);
    assert_eq!(record["s3"]["configurationId"], "images");
    assert_eq!(record["s3"]["bucket"]["name"], "mine");
    assert_eq!(record["userIdentity"]["principalId"], harness::ALICE.id);
    assert_eq!(record["requestParameters"]["sourceIPAddress"], "127.0.0.1");
    let elements = &record["responseElements"];
    assert_eq!(elements["x-amz-request-id"], put.header("x-amz-request-id").expect("an id"));
    assert_eq!(elements["x-amz-id-2"], put.header("x-amz-id-2").expect("an id"));
}

#[tokio::test]
async fn every_operation_tells_its_event() {
    for versioned in [false, true] {
        let mut receiver = Receiver::start().await;
        let server = server(&receiver).await;
        server.bucket("mine").await;
        if versioned {
            let enabled = "<VersioningConfiguration><Status>Enabled</Status>\
                           </VersioningConfiguration>";
            server.put("/mine?versioning", enabled).await.expect_status(200);
        }
        server.put("/mine?notification", queue(ALL)).await.expect_status(200);
        server.put("/mine/a", "1").await.expect_status(200);
        let copy = server.request("PUT", "/mine/b").header("x-amz-copy-source", "/mine/a");
        copy.send().await.expect_status(200);
        let begun = server.post("/mine/c?uploads", "").await.expect_status(200);
        let id = begun.element("UploadId");
        let part = server.put(&format!("/mine/c?partNumber=1&uploadId={id}"), "1").await;
        let etag = part.header("etag").expect("a tag").to_owned();
        let parts = format!(
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>\
             </CompleteMultipartUpload>"
        );
        server.post(&format!("/mine/c?uploadId={id}"), parts).await.expect_status(200);
        let tags = "<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tagging>";
        server.put("/mine/a?tagging", tags).await.expect_status(200);
        server.delete("/mine/a?tagging").await.expect_status(204);
        server.delete("/mine/a").await.expect_status(204);
        let several = "<Delete><Object><Key>b</Key></Object><Object><Key>c</Key></Object></Delete>";
        let md5 = harness::base64(&harness::md5(several.as_bytes()));
        let request = server.request("POST", "/mine?delete").header("content-md5", md5);
        request.body(several).send().await.expect_status(200);
        let removed = match versioned {
            false => "ObjectRemoved:Delete",
            true => "ObjectRemoved:DeleteMarkerCreated",
        };
        let expected = [
            "s3:TestEvent".to_owned(),
            "ObjectCreated:Put a".to_owned(),
            "ObjectCreated:Copy b".to_owned(),
            "ObjectCreated:CompleteMultipartUpload c".to_owned(),
            "ObjectTagging:Put a".to_owned(),
            "ObjectTagging:Delete a".to_owned(),
            format!("{removed} a"),
            format!("{removed} b"),
            format!("{removed} c"),
        ];
        assert_eq!(receiver.events(expected.len()).await, expected);
    }
}

#[tokio::test]
async fn notifications_are_kept_answered_and_taken_away() {
    let receiver = Receiver::start().await;
    let server = server(&receiver).await;
    server.bucket("mine").await;
    let empty = server.get("/mine?notification").await.expect_status(200);
    assert_eq!(empty.elements("Event"), [""; 0]);
    let filter = "<Filter><S3Key><FilterRule><Name>prefix</Name><Value>a/</Value></FilterRule>\
                  </S3Key></Filter>";
    let sent = document(&format!(
        "<TopicConfiguration><Id>first</Id><Topic>arn:aws:sns:us-east-1:000000000000:hook</Topic>\
         <Event>s3:ObjectCreated:Put</Event>{filter}</TopicConfiguration>\
         <QueueConfiguration><Queue>arn:minio:sqs::hook:webhook</Queue>\
         <Event>s3:ObjectRemoved:*</Event></QueueConfiguration>\
         <CloudFunctionConfiguration>\
         <CloudFunction>arn:aws:lambda:us-east-1:000000000000:function:hook</CloudFunction>\
         <Event>s3:ObjectAcl:Put</Event></CloudFunctionConfiguration>"
    ));
    server.put("/mine?notification", sent).await.expect_status(200);
    let kept = server.get("/mine?notification").await.expect_status(200);
    let mut ids = kept.elements("Id");
    ids.sort();
    assert_eq!(ids, ["first", "notification-1", "notification-2"]);
    assert_eq!(kept.elements("Queue"), ["arn:minio:sqs::hook:webhook"]);
    assert_eq!(kept.elements("Topic"), ["arn:aws:sns:us-east-1:000000000000:hook"]);
    assert_eq!(
        kept.elements("CloudFunction"),
        ["arn:aws:lambda:us-east-1:000000000000:function:hook"]
    );
    assert_eq!((kept.element("Name"), kept.element("Value")), ("prefix".into(), "a/".into()));
    server.put("/mine?notification", document("")).await.expect_status(200);
    let none = server.get("/mine?notification").await.expect_status(200);
    assert_eq!(none.elements("Id"), [""; 0]);
}

#[tokio::test]
async fn notifications_that_make_no_sense_are_refused_and_the_old_ones_stay() {
    let receiver = Receiver::start().await;
    let server = server(&receiver).await;
    server.bucket("mine").await;
    const PUT: &str = "<Event>s3:ObjectCreated:Put</Event>";
    server
        .put("/mine?notification", queue(&format!("<Id>kept</Id>{PUT}")))
        .await
        .expect_status(200);
    let of = |arn: &str| {
        document(&format!("<QueueConfiguration><Queue>{arn}</Queue>{PUT}</QueueConfiguration>"))
    };
    let one = |id: usize, event: &str| {
        format!(
            "<QueueConfiguration><Id>{id}</Id><Queue>{ARN}</Queue><Event>{event}</Event>\
             </QueueConfiguration>"
        )
    };
    let rule = |name: &str, value: &str| {
        format!("<FilterRule><Name>{name}</Name><Value>{value}</Value></FilterRule>")
    };
    let filtered = |rules: &str| queue(&format!("{PUT}<Filter><S3Key>{rules}</S3Key></Filter>"));
    let many: String = (0..101).map(|id| one(id, "s3:ObjectCreated:Put")).collect();
    let rows = [
        (of("arn:aws:sqs:us-east-1:000000000000:nobody"), "InvalidArgument"),
        (of("arn:aws:sns:us-east-1:000000000000:hook"), "InvalidArgument"),
        (of("hook"), "InvalidArgument"),
        (of(""), "InvalidArgument"),
        (queue(""), "MalformedXML"),
        (queue("<Event>s3:ObjectCreated</Event>"), "InvalidArgument"),
        (queue("<Event>s3:TestEvent</Event>"), "InvalidArgument"),
        (queue("<Event>ObjectCreated:Put</Event>"), "InvalidArgument"),
        (queue(&format!("<Id>{}</Id>{PUT}", "x".repeat(256))), "InvalidArgument"),
        (filtered(&rule("infix", "a")), "InvalidArgument"),
        (filtered(&(rule("prefix", "a") + &rule("Prefix", "b"))), "InvalidArgument"),
        (filtered(&rule("prefix", &"x".repeat(1025))), "InvalidArgument"),
        (filtered("<FilterRule><Name>prefix</Name></FilterRule>"), "MalformedXML"),
        (queue(&format!("<Event>{}</Event>", "x".repeat(100_000))), "InvalidArgument"),
        (of(&"ä".repeat(100_000)), "InvalidArgument"),
        (document(&many), "InvalidArgument"),
        (
            document(&(one(1, "s3:ObjectCreated:Put") + &one(1, "s3:ObjectRemoved:*"))),
            "InvalidArgument",
        ),
        (
            document(&(one(1, "s3:ObjectCreated:Put") + &one(2, "s3:ObjectCreated:*"))),
            "InvalidArgument",
        ),
        (document("<EventBridgeConfiguration/>"), "InvalidArgument"),
        (queue(&format!("{PUT}<Colour/>")), "MalformedXML"),
        (document("<QueueConfiguration>"), "MalformedXML"),
        (String::new(), "MissingRequestBodyError"),
    ];
    for (body, code) in rows {
        let refused = server.put("/mine?notification", &body).await.expect_error(400, code);
        assert!(refused.text().len() < 2_000, "{}", refused.text().len());
    }
    assert_eq!(server.get("/mine?notification").await.elements("Id"), ["kept"]);
    let missing = server.put("/nothing?notification", queue(PUT)).await;
    missing.expect_error(404, "NoSuchBucket");
    let bobs = server.request("PUT", "/mine?notification").by(harness::BOB).body(queue(PUT));
    bobs.send().await.expect_error(403, "AccessDenied");
}

#[tokio::test]
async fn a_webhook_that_fails_gets_its_events_later_and_one_that_refuses_one_gets_the_others() {
    let failures = Arc::new(AtomicUsize::new(3));
    let mut receiver = Receiver::deciding(move |post| {
        let is_bad = post.event() == "ObjectCreated:Put bad";
        let has_failed =
            failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match (is_bad, has_failed) {
            (true, _) => 500,
            (false, Ok(_)) => 503,
            (false, Err(_)) => 200,
        }
    })
    .await;
    let server = server(&receiver).await;
    server.bucket("mine").await;
    server.put("/mine?notification", queue(ALL)).await.expect_status(200);
    // The same id each time.
    let mut ids = BTreeSet::new();
    for _ in 0..4 {
        let post = receiver.next().await;
        assert_eq!(post.event(), "s3:TestEvent");
        ids.insert(post.header("webhook-id").to_owned());
    }
    assert_eq!(ids.len(), 1);
    server.put("/mine/bad", "1").await.expect_status(200);
    // Alone it looks as if nothing were taken any more.
    for _ in 0..3 {
        assert_eq!(receiver.next().await.event(), "ObjectCreated:Put bad");
    }
    for key in ["a", "b"] {
        server.put(&format!("/mine/{key}"), "1").await.expect_status(200);
    }
    let mut others = BTreeSet::new();
    while others.len() < 2 {
        let event = receiver.next().await.event();
        if event != "ObjectCreated:Put bad" {
            others.insert(event);
        }
    }
    assert_eq!(others, ["ObjectCreated:Put a", "ObjectCreated:Put b"].map(str::to_owned).into());
    // It is sent again after what was taken has left the queue.
    for _ in 0..2 {
        assert_eq!(receiver.next().await.event(), "ObjectCreated:Put bad");
    }
    let health = server.request("GET", "/_liteio/health/ready").anonymous().send().await;
    let told: Value = serde_json::from_str(&health.text()).expect("JSON");
    assert_eq!((&told["status"], &told["events"]["failing_targets"]), (&"ready".into(), &1.into()));
    assert_eq!(told["events"]["waiting"], 1);
}

#[tokio::test]
async fn many_events_that_are_refused_do_not_hold_up_the_others() {
    let mut receiver = Receiver::deciding(|post| match post.event().contains("bad") {
        true => 500,
        false => 200,
    })
    .await;
    let server = server(&receiver).await;
    server.bucket("mine").await;
    server.put("/mine?notification", queue(ALL)).await.expect_status(200);
    for number in 0..40 {
        server.put(&format!("/mine/bad{number}"), "1").await.expect_status(200);
    }
    server.put("/mine/good", "1").await.expect_status(200);
    while receiver.next().await.event() != "ObjectCreated:Put good" {}
}

#[tokio::test]
async fn the_head_of_an_answer_decides_whatever_its_body_does() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let settings = EventSettings { targets: vec![hook(&url).into()], ..EventSettings::default() };
    let server = harness::with_events(settings).await;
    server.bucket("mine").await;
    server.put("/mine?notification", queue(ALL)).await.expect_status(200);
    server.put("/mine/a", "1").await.expect_status(200);
    // Without a length the body goes on until the connection is closed, which it is not.
    let mut open = Vec::new();
    let mut ids = BTreeSet::new();
    while ids.len() < 2 {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            assert!(stream.read_buf(&mut head).await.expect("a head") > 0);
        }
        let text = String::from_utf8_lossy(&head).into_owned();
        let id = text.lines().find(|line| line.starts_with("webhook-id"));
        assert!(ids.insert(id.expect("an id").to_owned()), "it was sent again");
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.expect("sent");
        open.push(stream);
    }
}

#[tokio::test]
async fn a_webhook_may_be_for_some_users_only() {
    let mut receiver = Receiver::start().await;
    let webhook = Webhook { users: vec!["bob".to_owned()], ..hook(&receiver.url()) };
    let settings = EventSettings { targets: vec![webhook.into()], ..EventSettings::default() };
    let server = harness::with_events(settings).await;
    server.bucket("alices").await;
    server.put("/alices?notification", queue(ALL)).await.expect_error(400, "InvalidArgument");
    server.request("PUT", "/bobs").by(harness::BOB).send().await.expect_status(200);
    let set = server.request("PUT", "/bobs?notification").by(harness::BOB).body(queue(ALL));
    set.send().await.expect_status(200);
    assert_eq!(receiver.next().await.json()["Bucket"], "bobs");
}

#[tokio::test]
async fn a_full_queue_stops_no_write_and_the_health_tells_of_it() {
    let receiver = Receiver::deciding(|_| 500).await;
    let targets = vec![hook(&receiver.url()).into()];
    let settings = EventSettings { targets, waiting_max: 2, ..EventSettings::default() };
    let server = harness::with_events(settings).await;
    server.bucket("mine").await;
    server.put("/mine?notification", queue(ALL)).await.expect_status(200);
    for key in ["a", "b", "c"] {
        server.put(&format!("/mine/{key}"), "1").await.expect_status(200);
    }
    let health = server.request("GET", "/_liteio/health/ready").anonymous().send().await;
    let told: Value = serde_json::from_str(&health.expect_status(200).text()).expect("JSON");
    assert_eq!(told["status"], "degraded");
    assert!(told["reason"].as_str().is_some_and(|reason| reason.contains("queues of events")));
    assert_eq!((&told["events"]["waiting"], &told["events"]["lost"]), (&2.into(), &2.into()));
}

#[tokio::test]
async fn events_are_signed_with_the_secret_of_their_webhook() {
    let mut receiver = Receiver::start().await;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("webhooks.toml");
    let url = receiver.url();
    let text = format!(
        "[[webhook]]\nname = 'hook'\nurl = '{url}'\nsecret = 'very secret'\ntoken = 'ticket'\n"
    );
    std::fs::write(&file, text).expect("written");
    let settings = EventSettings { target_file: Some(file), ..EventSettings::default() };
    let server = harness::with_events(settings).await;
    server.bucket("mine").await;
    server.put("/mine?notification", queue(ALL)).await.expect_status(200);
    let post = receiver.next().await;
    assert_eq!(post.header("authorization"), "Bearer ticket");
    let signed = [post.header("webhook-id"), post.header("webhook-timestamp"), ""].join(".");
    let mut mac = Hmac::<Sha256>::new_from_slice(b"very secret").expect("a key");
    mac.update(signed.as_bytes());
    mac.update(&post.body);
    let expected = format!("v1,{}", harness::base64(&mac.finalize().into_bytes()));
    assert_eq!(post.header("webhook-signature"), expected);
}

#[tokio::test]
async fn a_webhook_over_tls_is_given_events_if_its_certificate_is_trusted() {
    let ca_key = KeyPair::generate().expect("a key");
    let mut ca = CertificateParams::new(Vec::new()).expect("parameters");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_certificate = ca.self_signed(&ca_key).expect("a certificate");
    let issuer = Issuer::new(ca, ca_key);
    let key = KeyPair::generate().expect("a key");
    let leaf = CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
    let leaf = leaf.signed_by(&key, &issuer).expect("a certificate");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], private)
        .expect("a certificate");
    let mut receiver = Receiver::secure(TlsAcceptor::from(Arc::new(config))).await;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("ca.pem");
    std::fs::write(&file, ca_certificate.pem()).expect("written");
    let url = format!("https://localhost:{}/hook", receiver.address.port());
    let targets = vec![hook(&url).into()];

    // Without the authority nothing is sent, and the event waits.
    let settings = EventSettings { targets: targets.clone(), ..EventSettings::default() };
    let doubtful = harness::with_events(settings).await;
    doubtful.bucket("doubtful").await;
    doubtful.put("/doubtful?notification", queue(ALL)).await.expect_status(200);

    let settings = EventSettings { targets, ca_file: Some(file), ..EventSettings::default() };
    let server = harness::with_events(settings).await;
    server.bucket("mine").await;
    server.put("/mine?notification", queue(ALL)).await.expect_status(200);
    let post = receiver.next().await;
    assert_eq!((&*post.event(), &post.json()["Bucket"]), ("s3:TestEvent", &"mine".into()));
    let health = doubtful.request("GET", "/_liteio/health/ready").anonymous().send().await;
    let told: Value = serde_json::from_str(&health.text()).expect("JSON");
    assert_eq!(told["events"]["waiting"], 1);
}

#[tokio::test]
async fn a_start_without_the_target_of_a_bucket_says_so_before_events_wait() {
    let mut receiver = Receiver::start().await;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let start = |more: &[&str]| {
        let arguments = [&["--data-dir", "data", "--address", "127.0.0.1:0"][..], more].concat();
        let users = [
            ("LITEIO_ACCESS_KEY", harness::ALICE.access_key),
            ("LITEIO_SECRET_KEY", harness::ALICE.secret_key),
        ];
        Running::start_with(&directory, &arguments, &users)
    };
    let running = start(&["--webhook", &format!("hook={}", receiver.url())]);
    let address = running.endpoint().trim_start_matches("http://").parse().expect("an address");
    let send = async |method: &'static str, path: &str, body: String| {
        let request = RawRequest::of_s3(address, "us-east-1", method, path).body(body);
        request.try_send().await.expect("an answer").expect_status(200)
    };
    send("PUT", "/mine", String::new()).await;
    send("PUT", "/mine?notification", queue(ALL)).await;
    receiver.next().await;
    loop {
        let health = send("GET", "/_liteio/health/ready", String::new()).await;
        let told: Value = serde_json::from_str(&health.text()).expect("JSON");
        if told["events"]["waiting"] == 0 {
            break;
        }
    }
    running.signal("TERM");
    let mut running = start(&[]);
    let log = running.logs("name a target that is not configured");
    assert!(log.contains("hook"), "{log}");
    running.signal("TERM");
}

#[tokio::test]
async fn after_each_kill_no_event_of_an_acknowledged_put_is_lost() {
    let mut receiver = Receiver::start().await;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let webhook = format!("hook={}", receiver.url());
    let start = || {
        let arguments = ["--data-dir", "data", "--address", "127.0.0.1:0", "--webhook", &webhook];
        let users = [
            ("LITEIO_ACCESS_KEY", harness::ALICE.access_key),
            ("LITEIO_SECRET_KEY", harness::ALICE.secret_key),
        ];
        Running::start_with(&directory, &arguments, &users)
    };
    let address_of = |running: &Running| -> SocketAddr {
        running.endpoint().trim_start_matches("http://").parse().expect("an address")
    };
    let mut acknowledged = BTreeSet::new();
    let mut sent = BTreeSet::new();
    for round in 0..4 {
        let running = start();
        let address = address_of(&running);
        let put = |path: String, body: String| {
            RawRequest::of_s3(address, "us-east-1", "PUT", &path).body(body).try_send()
        };
        if round == 0 {
            put("/mine".to_owned(), String::new()).await.expect("made").expect_status(200);
            let set = put("/mine?notification".to_owned(), queue(ALL)).await;
            set.expect("set").expect_status(200);
        }
        for number in 0..10 + round * 3 {
            let key = format!("{round}-{number}");
            sent.insert(format!("ObjectCreated:Put {key}"));
            let answer = put(format!("/mine/{key}"), "1".to_owned()).await;
            answer.expect("an answer").expect_status(200);
            acknowledged.insert(format!("ObjectCreated:Put {key}"));
        }
        // One more may be on its way.
        let key = format!("{round}-last");
        sent.insert(format!("ObjectCreated:Put {key}"));
        let last = tokio::spawn(put(format!("/mine/{key}"), "1".to_owned()));
        running.signal("KILL");
        if last.await.expect("no panic").is_some() {
            acknowledged.insert(format!("ObjectCreated:Put {key}"));
        }
    }
    let _running = start();
    let mut got = BTreeSet::new();
    while !got.is_superset(&acknowledged) {
        let event = receiver.next().await.event();
        if event != "s3:TestEvent" {
            assert!(sent.contains(&event), "{event} of nothing");
            got.insert(event);
        }
    }
}
