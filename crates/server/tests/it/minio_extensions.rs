//! MinIO's extensions of S3: what a server with `--profile minio` does with them, and what others do.

use std::net::SocketAddr;

use md5::{Digest as _, Md5};
use tempfile::TempDir;

use crate::command::Running;
use crate::prepare::{tar, tar_entry};
use crate::raw::{Keys, OWNER, RawServer, Request, send};
use crate::receiver::Receiver;
use crate::reply::Reply;

const KEYS: Keys = Keys { access: "minioadmin", secret: "minioadmin" };
const FORCE: &str = "x-minio-force-delete";

/// A server in the place of MinIO, in memory.
struct Minio {
    running: Running,
    _directory: TempDir,
}

impl Minio {
    fn start() -> Minio {
        Minio::start_with(&[], &[])
    }

    fn start_with(more: &[&str], environment: &[(&str, &str)]) -> Minio {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let arguments = ["server", "--memory", "--profile", "minio", "--address", "127.0.0.1:0"];
        let arguments = [&arguments[..], more].concat();
        let running = Running::start_with(&directory, &arguments, environment);
        Minio { running, _directory: directory }
    }

    fn send(&self, request: &Request) -> Reply {
        let address = self.running.endpoint().trim_end_matches(" (all interfaces)");
        let address: SocketAddr =
            address.strip_prefix("http://").expect("a URL").parse().expect("an address");
        send(address, &request.bytes())
    }

    fn ask(&self, request: Request) -> Reply {
        self.send(&request.sign(KEYS))
    }

    fn does(&self, method: &str, target: &str) {
        let reply = self.ask(Request::new(method, target));
        assert!((200..300).contains(&reply.status), "{method} {target}: {reply:?}");
    }

    fn set(&self, target: &str, document: &str) -> Reply {
        self.ask(Request::new("PUT", target).body(document.as_bytes()))
    }

    fn force_delete(&self, target: &str) -> Reply {
        self.ask(Request::new("DELETE", target).header(FORCE, "true"))
    }

    /// Sends an action to IAM.
    fn iam(&self, action: &str) -> Reply {
        let form = Request::new("POST", "/").scope("us-east-1", "iam");
        let form = form.body(format!("Action={action}&Version=2010-05-08"));
        let form = form.header("content-type", "application/x-www-form-urlencoded");
        let reply = self.ask(form);
        assert_eq!(reply.status, 200, "{action}: {}", reply.text());
        reply
    }

    /// The keys of a new user below the path `/team/`, whose policy allows all of S3 on this resource.
    fn user(&self, name: &str, resource: &str) -> Keys {
        self.iam(&format!("CreateUser&UserName={name}&Path=/team/"));
        let policy = format!(
            r#"{{"Version":"2012-10-17","Statement":{{"Effect":"Allow","Action":"s3:*","Resource":"{resource}"}}}}"#
        );
        let policy: String = form_urlencoded::byte_serialize(policy.as_bytes()).collect();
        self.iam(&format!("PutUserPolicy&UserName={name}&PolicyName=own&PolicyDocument={policy}"));
        let made = self.iam(&format!("CreateAccessKey&UserName={name}"));
        let (access, secret) = (made.element("AccessKeyId"), made.element("SecretAccessKey"));
        Keys { access: String::leak(access), secret: String::leak(secret) }
    }

    /// The keys of all versions and delete markers.
    fn versions(&self, bucket: &str) -> Vec<String> {
        self.ask(Request::new("GET", &format!("/{bucket}?versions"))).elements("Key")
    }
}

fn refused(reply: &Reply, status: u16, code: &str, told: &str) {
    let text = String::from_utf8_lossy(&reply.body);
    assert_eq!(reply.status, status, "{text}");
    assert!(text.contains(&format!("<Code>{code}</Code>")), "{text}");
    assert!(text.contains(told), "{told:?} is not in {text}");
}

fn versioning(inner: &str) -> String {
    format!(
        "<VersioningConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{inner}</VersioningConfiguration>"
    )
}

const ENABLED: &str = "<Status>Enabled</Status>";

#[test]
fn a_force_delete_takes_all_versions_below_a_name() {
    let server = Minio::start();
    server.does("PUT", "/plain");
    server.does("PUT", "/versioned");
    assert_eq!(server.set("/versioned?versioning", &versioning(ENABLED)).status, 200);
    let all = ["a", "a/", "a/1", "a/b/2", "a0", "ab/3", "z"];
    for (name, left) in [
        ("a", &["a0", "ab/3", "z"][..]),
        ("a/", &["a", "a0", "ab/3", "z"]),
        ("a/b", &["a", "a/", "a/1", "a0", "ab/3", "z"]),
        ("a/1", &["a", "a/", "a/b/2", "a0", "ab/3", "z"]),
        ("z", &["a", "a/", "a/1", "a/b/2", "a0", "ab/3"]),
        // Keys are compared byte by byte, here as everywhere.
        ("/a", &all),
        ("A", &all),
        ("missing/", &all),
    ] {
        for key in all {
            server.does("PUT", &format!("/plain/{key}"));
            server.does("PUT", &format!("/versioned/{key}"));
            server.does("PUT", &format!("/versioned/{key}"));
            server.does("DELETE", &format!("/versioned/{key}"));
        }
        for bucket in ["plain", "versioned"] {
            let reply = server.force_delete(&format!("/{bucket}/{name}"));
            assert_eq!((reply.status, reply.body.len()), (204, 0), "{name}: {reply:?}");
        }
        assert_eq!(server.versions("plain"), left, "{name}");
        let mut kept = server.versions("versioned");
        assert_eq!(kept.len(), 3 * left.len(), "{name}");
        kept.dedup();
        assert_eq!(kept, left, "{name}");
        // The next row begins with an empty bucket.
        for bucket in ["plain", "versioned"] {
            assert_eq!(server.force_delete(&format!("/{bucket}")).status, 204);
            server.does("PUT", &format!("/{bucket}"));
        }
        assert_eq!(server.set("/versioned?versioning", &versioning(ENABLED)).status, 200);
        assert_eq!(server.versions("versioned"), [""; 0]);
    }
}

#[test]
fn a_force_delete_takes_more_than_a_page() {
    let server = Minio::start();
    server.does("PUT", "/many");
    let members: Vec<_> =
        (0..2100).map(|number| tar_entry(&format!("dir/{number}"), b'0', b"x")).collect();
    let put = Request::new("PUT", "/many/all.tar").body(tar(&members));
    assert_eq!(server.ask(put.header("x-amz-meta-snowball-auto-extract", "true")).status, 200);
    server.does("PUT", "/many/other");
    assert_eq!(server.force_delete("/many/dir").status, 204);
    assert_eq!(server.versions("many"), ["other"]);
}

#[test]
fn a_force_delete_deletes_nothing_that_it_may_not_delete_as_a_whole() {
    let server = Minio::start();
    server.does("PUT", "/bucket");
    for key in ["dir/1", "dir/kept", "dir/z"] {
        server.does("PUT", &format!("/bucket/{key}"));
    }
    let deny = r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*",
        "Action": "s3:DeleteObject", "Resource": "arn:aws:s3:::bucket/dir/kept"}]}"#;
    assert_eq!(server.set("/bucket?policy", deny).status, 204);
    for target in ["/bucket/dir", "/bucket/dir/", "/bucket"] {
        refused(&server.force_delete(target), 403, "AccessDenied", "");
        assert_eq!(server.versions("bucket"), ["dir/1", "dir/kept", "dir/z"], "{target}");
    }
    server.does("DELETE", "/bucket?policy");

    for (target, header, value, status, code) in [
        ("/bucket/dir?versionId=null", FORCE, "true", 400, "InvalidRequest"),
        ("/bucket/dir", "if-match", "*", 400, "InvalidRequest"),
        ("/bucket/dir", "x-amz-if-match-size", "1", 400, "InvalidRequest"),
    ] {
        let delete = Request::new("DELETE", target);
        let delete = if header == FORCE { delete } else { delete.header(header, value) };
        refused(&server.ask(delete.header(FORCE, "true")), status, code, "Nothing was deleted");
    }
    for target in ["/bucket/dir", "/bucket"] {
        let delete = Request::new("DELETE", target).header(FORCE, "yes");
        refused(&server.ask(delete), 400, "InvalidArgument", FORCE);
        // Who holds the URL of one object, holds no more.
        let delete = Request::new("DELETE", target).presign(KEYS, "60").header(FORCE, "true");
        refused(&server.send(&delete), 403, "AccessDenied", FORCE);
    }
    assert_eq!(server.versions("bucket"), ["dir/1", "dir/kept", "dir/z"]);
    // `false` is as if it were not there.
    assert_eq!(
        server.ask(Request::new("DELETE", "/bucket/dir").header(FORCE, "false")).status,
        204
    );
    let delete = Request::new("DELETE", "/bucket").header(FORCE, "false");
    refused(&server.ask(delete), 409, "BucketNotEmpty", "");
    assert_eq!(server.force_delete("/bucket").status, 204);
    assert_eq!(server.ask(Request::new("HEAD", "/bucket")).status, 404);

    let lock = Request::new("PUT", "/locked").header("x-amz-bucket-object-lock-enabled", "true");
    assert_eq!(server.ask(lock).status, 200);
    server.does("PUT", "/locked/dir/1");
    for target in ["/locked/dir", "/locked"] {
        refused(&server.force_delete(target), 400, "InvalidRequest", "object lock");
    }
    assert_eq!(server.versions("locked"), ["dir/1"]);
}

#[test]
fn other_servers_refuse_a_force_delete_that_would_delete_too_little() {
    let server = RawServer::start();
    let ask = |method: &str, target: &str, force: bool| {
        let request = Request::new(method, target);
        let request = if force { request.header(FORCE, "true") } else { request };
        server.send(&request.sign(OWNER).bytes())
    };
    assert_eq!(ask("PUT", "/bucket/dir/1", false).status, 200);
    for target in ["/bucket/dir", "/bucket/dir/", "/bucket/dir/1"] {
        refused(&ask("DELETE", target, true), 501, "NotImplemented", "--profile minio");
    }
    assert_eq!(ask("HEAD", "/bucket/dir/1", false).status, 200);
    // `mc rb --force` has deleted the objects before, with any server.
    refused(&ask("DELETE", "/bucket", true), 409, "BucketNotEmpty", "");
    assert_eq!(ask("DELETE", "/bucket/dir/1", false).status, 204);
    assert_eq!(ask("DELETE", "/bucket", true).status, 204);
}

#[test]
fn exclusions_from_versioning_are_refused_by_name() {
    let server = Minio::start();
    server.does("PUT", "/bucket");
    let prefixes = "<ExcludedPrefixes><Prefix>tmp/</Prefix></ExcludedPrefixes>";
    for (inner, name) in [
        (format!("{ENABLED}{prefixes}"), "ExcludedPrefixes"),
        (format!("{prefixes}{prefixes}{ENABLED}"), "ExcludedPrefixes"),
        (format!("{ENABLED}<ExcludedPrefixes/>"), "ExcludedPrefixes"),
        (format!("{ENABLED}<ExcludeFolders>true</ExcludeFolders>{prefixes}"), "Exclude"),
        (format!("<ExcludeFolders>true</ExcludeFolders>{ENABLED}"), "ExcludeFolders"),
    ] {
        let reply = server.set("/bucket?versioning", &versioning(&inner));
        refused(&reply, 501, "NotImplemented", name);
        let status = server.ask(Request::new("GET", "/bucket?versioning"));
        assert_eq!(status.elements("Status"), [""; 0], "{inner}");
    }
    let unknown = format!("{ENABLED}<ExcludeFiles>true</ExcludeFiles>");
    refused(&server.set("/bucket?versioning", &versioning(&unknown)), 400, "MalformedXML", "");
    // What excludes nothing is whole.
    let none = format!("{ENABLED}<ExcludeFolders>false</ExcludeFolders>");
    assert_eq!(server.set("/bucket?versioning", &versioning(&none)).status, 200);
    let status = server.ask(Request::new("GET", "/bucket?versioning"));
    assert_eq!(status.elements("Status"), ["Enabled"]);
}

/// As the AWS SDK for JavaScript sends a stream of small pieces.
#[test]
fn small_unsigned_chunks_are_taken() {
    let server = Minio::start();
    server.does("PUT", "/bucket");
    let put = Request::new("PUT", "/bucket/key")
        .header("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
        .header("x-amz-decoded-content-length", "4")
        .header("x-amz-trailer", "x-amz-checksum-crc32")
        .header("content-encoding", "aws-chunked");
    let body = "2\r\nda\r\n2\r\nta\r\n0\r\nx-amz-checksum-crc32:rfPzYw==\r\n\r\n";
    // The body comes after the signature of the head, which does not cover it.
    let stored = server.send(&put.sign(KEYS).body(body));
    assert_eq!(stored.status, 200, "{stored:?}");
    assert_eq!(server.ask(Request::new("GET", "/bucket/key")).body, b"data");
}

#[test]
fn an_unsigned_acl_beside_a_url_is_taken_if_it_opens_nothing() {
    let server = Minio::start();
    server.does("PUT", "/bucket");
    let others = RawServer::start();
    for (name, value, is_accepted) in [
        ("x-amz-acl", "bucket-owner-full-control", true),
        ("x-amz-acl", "private", true),
        ("x-amz-acl", "public-read", false),
        ("x-amz-acl", "authenticated-read", false),
        ("x-amz-grant-read", "uri=\"http://acs.amazonaws.com/groups/global/AllUsers\"", false),
        ("x-amz-meta-name", "value", false),
        ("x-amz-tagging", "a=b", false),
        ("x-amz-storage-class", "GLACIER", false),
        ("x-minio-source-mtime", "2026-01-01T00:00:00Z", false),
    ] {
        let put = |keys| Request::new("PUT", "/bucket/key").presign(keys, "60").header(name, value);
        let unsigned = format!("<HeadersNotSigned>{name}</HeadersNotSigned>");
        match is_accepted {
            true => assert_eq!(server.send(&put(KEYS)).status, 200, "{name}: {value}"),
            false => refused(&server.send(&put(KEYS)), 403, "AccessDenied", &unsigned),
        }
        refused(&others.send(&put(OWNER).bytes()), 403, "AccessDenied", &unsigned);
        // Signed, it works anywhere.
    }
    let acl = server.ask(Request::new("GET", "/bucket/key?acl"));
    assert_eq!(acl.elements("Permission"), ["FULL_CONTROL"]);
}

#[test]
fn replicas_of_a_minio_server_are_refused() {
    let server = Minio::start();
    server.does("PUT", "/bucket");
    server.does("PUT", "/bucket/key");
    for (method, name, value) in [
        ("PUT", "x-minio-source-mtime", "2026-01-01T00:00:00Z"),
        ("PUT", "x-minio-source-etag", "d41d8cd98f00b204e9800998ecf8427e"),
        ("DELETE", "x-minio-source-deletemarker", "true"),
        ("DELETE", "x-minio-source-replication-request", "true"),
    ] {
        let request = Request::new(method, "/bucket/key").header(name, value);
        refused(&server.ask(request), 501, "NotImplemented", name);
    }
    assert_eq!(server.versions("bucket"), ["key"]);
    // A bucket is made in the same way, by force or not.
    let forced = Request::new("PUT", "/other").header("x-minio-force-create", "true");
    assert_eq!(server.ask(forced).status, 200);
}

#[test]
fn a_bypass_where_nothing_is_locked_bypasses_nothing() {
    let server = Minio::start();
    let others = RawServer::start();
    server.does("PUT", "/bucket");
    let delete = "<Delete><Object><Key>2</Key></Object></Delete>";
    for (method, target, document) in
        [("DELETE", "/bucket/1", ""), ("POST", "/bucket?delete", delete)]
    {
        let request = || {
            let request = Request::new(method, target).body(document.as_bytes());
            let request = request.header("x-amz-bypass-governance-retention", "true");
            let digest = Md5::digest(document.as_bytes());
            request.header("content-md5", base64_simd::STANDARD.encode_to_string(digest))
        };
        server.does("PUT", "/bucket/1");
        server.does("PUT", "/bucket/2");
        let status = server.ask(request()).status;
        assert!([200, 204].contains(&status), "{method}: {status}");
        assert_eq!(server.versions("bucket").len(), 1, "{method}");
        let refused_there = others.send(&request().sign(OWNER).bytes());
        refused(&refused_there, 400, "InvalidArgument", "Object Lock");
    }
}

/// A status and an element without which MinIO's clients for JavaScript and Java fail.
#[test]
fn answers_have_what_minios_clients_require() {
    let server = Minio::start();
    server.does("PUT", "/bucket");
    server.does("PUT", "/bucket/key");
    let others = RawServer::start();
    let ask_others = |request: Request| others.send(&request.sign(OWNER).bytes());
    assert_eq!(ask_others(Request::new("PUT", "/bucket/key")).status, 200);
    let tags = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";
    for document in [tags, "<Tagging><TagSet></TagSet></Tagging>"] {
        assert_eq!(server.set("/bucket?tagging", document).status, 200, "{document}");
        let put = Request::new("PUT", "/bucket?tagging").body(document.as_bytes());
        assert_eq!(ask_others(put).status, 204, "{document}");
    }
    for target in ["/bucket?acl", "/bucket/key?acl"] {
        let acl = server.ask(Request::new("GET", target));
        assert_eq!(acl.elements("Type"), ["CanonicalUser"], "{target}");
        let of_others = ask_others(Request::new("GET", target));
        assert_eq!(of_others.elements("Type"), [""; 0], "{target}");
    }
}

/// MinIO has no roles: its clients send no ARN, or one without a meaning.
#[test]
fn a_role_that_does_not_exist_is_a_session_of_the_sender() {
    let server = Minio::start();
    server.does("PUT", "/data");
    server.does("PUT", "/data/a");
    let assume = |fields: &str, keys: Keys| {
        let form = format!("Action=AssumeRole&Version=2011-06-15&{fields}");
        let request = Request::new("POST", "/").scope("us-east-1", "sts").body(form);
        request.header("content-type", "application/x-www-form-urlencoded").sign(keys)
    };
    let get = |session: &Reply, target: &str| {
        let (access, secret) = (session.element("AccessKeyId"), session.element("SecretAccessKey"));
        let keys = Keys { access: String::leak(access), secret: String::leak(secret) };
        let token = session.element("SessionToken");
        let request = Request::new("GET", target).header("x-amz-security-token", token);
        server.send(&request.sign(keys)).status
    };
    let policy = "%7B%22Version%22%3A%222012-10-17%22%2C%22Statement%22%3A%5B%7B%22Effect%22%3A%22Allow%22%2C\
                  %22Action%22%3A%22s3%3AGetObject%22%2C%22Resource%22%3A%22arn%3Aaws%3As3%3A%3A%3Adata%2F*%22%7D%5D%7D";
    for (fields, lists) in [
        ("DurationSeconds=3600", 200),
        ("DurationSeconds=604800&RoleArn=arn:xxx:xxx:xxx:xxxx&RoleSessionName=anything", 200),
        (&*format!("Policy={policy}"), 403),
    ] {
        let session = server.send(&assume(fields, KEYS));
        assert_eq!(session.status, 200, "{fields}: {}", session.text());
        assert_eq!(get(&session, "/data/a"), 200, "{fields}");
        assert_eq!(get(&session, "/data"), lists, "{fields}");
    }
    refused(&server.send(&assume("Policy=%7B%7D", KEYS)), 400, "MalformedPolicyDocument", "");
    // Other servers have roles.
    let other = RawServer::start();
    let refusal = other.send(&assume("DurationSeconds=3600", OWNER).bytes());
    assert_eq!(refusal.status, 400, "{}", refusal.text());
}

fn queue(target: &str, events: &[&str], prefix: &str) -> String {
    let events = events.iter().map(|event| format!("<Event>{event}</Event>"));
    format!(
        "<QueueConfiguration><Queue>arn:minio:sqs::{target}:webhook</Queue>{}<Filter><S3Key><FilterRule><Name>prefix</Name>\
         <Value>{prefix}</Value></FilterRule></S3Key></Filter></QueueConfiguration>",
        events.collect::<String>()
    )
}

#[tokio::test]
async fn notifications_may_overlap_and_each_target_gets_an_event_once() {
    const CREATED: &[&str] = &["s3:ObjectCreated:*"];
    let (mut one, mut two) = (Receiver::start().await, Receiver::start().await);
    let webhooks = [format!("one={}", one.url()), format!("two={}", two.url())];
    let webhooks = ["--webhook", &*webhooks[0], "--webhook", &*webhooks[1]];
    let server = Minio::start_with(&webhooks, &[]);
    server.does("PUT", "/photos");
    let set = |rules: &[String]| {
        let document =
            format!("<NotificationConfiguration>{}</NotificationConfiguration>", rules.concat());
        server.set("/photos?notification", &document)
    };
    let removed = ["s3:ObjectCreated:Put", "s3:ObjectRemoved:*"];
    let rules =
        [queue("one", CREATED, ""), queue("two", CREATED, ""), queue("two", &removed, "in/")];
    assert_eq!(set(&rules).status, 200);
    // `mc event add --ignore-existing` looks for these words.
    let twice = [queue("one", CREATED, ""), queue("two", CREATED, ""), queue("one", CREATED, "")];
    refused(&set(&twice), 400, "InvalidArgument", "defined with overlapping prefixes");
    server.does("PUT", "/photos/in/a");
    server.does("DELETE", "/photos/in/a");
    server.does("PUT", "/photos/b");
    let expected = ["s3:ObjectCreated:Put in%2Fa", "s3:ObjectCreated:Put b"];
    assert_eq!(one.events(2).await, expected);
    let expected = [expected[0], "s3:ObjectRemoved:Delete in%2Fa", expected[1]];
    assert_eq!(two.events(3).await, expected);
}

#[test]
fn no_bucket_takes_the_paths_of_health_metrics_and_administration() {
    let server = Minio::start();
    let told = "All access to this resource has been disabled.";
    refused(&server.ask(Request::new("PUT", "/minio")), 403, "AllAccessDisabled", told);
    assert_eq!(server.send(&Request::new("GET", "/minio/health/live")).status, 200);
    // Elsewhere it is a name like others.
    let other = RawServer::start();
    assert_eq!(other.send(&Request::new("PUT", "/minio").sign(OWNER).bytes()).status, 200);
}

#[tokio::test]
async fn a_webhook_gets_the_document_of_minio() {
    let mut receiver = Receiver::start().await;
    let webhook = format!("hook={}", receiver.url());
    let server = Minio::start_with(&["--webhook", &webhook], &[]);
    server.does("PUT", "/photos");
    let rule = queue("hook", &["s3:ObjectCreated:*", "s3:ObjectRemoved:*"], "");
    let document = format!("<NotificationConfiguration>{rule}</NotificationConfiguration>");
    assert_eq!(server.set("/photos?notification", &document).status, 200);
    let put = Request::new("PUT", "/photos/in/a")
        .header("content-type", "image/jpeg")
        .header("x-amz-meta-colour", "red")
        .header("user-agent", "camera/1")
        .body(b"cat");
    assert_eq!(server.ask(put).status, 200);
    // There is no test event before it, as on MinIO.
    let told = receiver.next().await.json();
    assert_eq!(told["EventName"], "s3:ObjectCreated:Put");
    assert_eq!(told["Key"], "photos/in/a");
    let record = &told["Records"][0];
    assert_eq!(record["eventName"], "s3:ObjectCreated:Put");
    assert_eq!(record["eventSource"], "minio:s3");
    assert_eq!(record["userIdentity"]["principalId"], KEYS.access);
    assert_eq!(record["source"]["userAgent"], "camera/1");
    let object = &record["s3"]["object"];
    assert_eq!(object["contentType"], "image/jpeg");
    assert_eq!(object["userMetadata"]["X-Amz-Meta-Colour"], "red");
    server.does("DELETE", "/photos/in/a");
    let told = receiver.next().await.json();
    assert_eq!(told["Records"][0]["eventName"], "s3:ObjectRemoved:Delete");
}

/// As on MinIO: a list by the policies of buckets would grow with each public one.
#[test]
fn the_list_of_buckets_is_that_of_the_user_s_own_policies() {
    let server = Minio::start();
    server.does("PUT", "/own");
    server.does("PUT", "/public");
    let everybody = r#"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":"*","Action":"s3:ListBucket",
        "Resource":"arn:aws:s3:::public"}}"#;
    assert_eq!(server.set("/public?policy", everybody).status, 204);
    let webapp = server.user("webapp", "arn:aws:s3:::own");
    let get = |target: &str| server.send(&Request::new("GET", target).sign(webapp));
    assert_eq!(get("/public").status, 200);
    let list = get("/");
    let names: Vec<_> = list.elements("Name");
    assert_eq!((list.status, &*names), (200, &["own".to_owned()][..]), "{}", list.text());
}

#[tokio::test]
async fn events_and_audit_entries_name_a_user_of_iam_by_its_name() {
    let (mut events, mut entries) = (Receiver::start().await, Receiver::start().await);
    let (webhook, entries_url) = (format!("hook={}", events.url()), entries.url());
    let server = Minio::start_with(
        &["--webhook", &webhook],
        &[("MINIO_AUDIT_WEBHOOK_ENABLE", "on"), ("MINIO_AUDIT_WEBHOOK_ENDPOINT", &*entries_url)],
    );
    server.does("PUT", "/photos");
    let rule = queue("hook", &["s3:ObjectCreated:*"], "");
    let document = format!("<NotificationConfiguration>{rule}</NotificationConfiguration>");
    assert_eq!(server.set("/photos?notification", &document).status, 200);
    let webapp = server.user("webapp", "*");
    let put = Request::new("PUT", "/photos/a").body(b"cat").sign(webapp);
    assert_eq!(server.send(&put).status, 200);
    let event = events.next().await.json();
    let record = &event["Records"][0];
    assert_eq!(record["userIdentity"]["principalId"], "webapp");
    assert_eq!(record["requestParameters"]["principalId"], "webapp");
    loop {
        let entry = entries.next().await.json();
        if entry["api"]["name"] == "PutObject" {
            assert_eq!(entry["parentUser"], "webapp", "{entry}");
            break;
        }
        assert_ne!(entry["parentUser"], "webapp", "only the upload is of the user");
    }
}

#[test]
fn with_automatic_encryption_no_object_is_stored_as_a_plain_one() {
    let server = Minio::start_with(
        &[],
        &[
            ("MINIO_KMS_SECRET_KEY", "my-key:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
            ("MINIO_KMS_AUTO_ENCRYPTION", "on"),
        ],
    );
    server.does("PUT", "/sealed");
    let put = server.ask(Request::new("PUT", "/sealed/a").body(b"x"));
    assert_eq!(put.header("x-amz-server-side-encryption"), Some("AES256"));
}

#[test]
fn the_key_of_the_kms_has_its_name() {
    const METHOD: &str = "x-amz-server-side-encryption";
    const KEY_ID: &str = "x-amz-server-side-encryption-aws-kms-key-id";
    let key = ("MINIO_KMS_SECRET_KEY", "my-key:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    let server = Minio::start_with(&[], &[key]);
    server.does("PUT", "/sealed");
    let put = |id: Option<&str>| {
        let put = Request::new("PUT", "/sealed/a").body(b"x").header(METHOD, "aws:kms");
        server.ask(match id {
            Some(id) => put.header(KEY_ID, id),
            None => put,
        })
    };
    for id in [Some("my-key"), Some("arn:aws:kms:my-key"), None] {
        let reply = put(id);
        assert_eq!((reply.status, reply.header(KEY_ID)), (200, Some("my-key")), "{id:?}");
    }
    refused(&put(Some("other")), 400, "KMS.NotFoundException", "MINIO_KMS_SECRET_KEY");
    // As `mc encrypt set sse-kms my-key` sends it.
    let default = "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault>\
         <KMSMasterKeyID>my-key</KMSMasterKeyID><SSEAlgorithm>aws:kms</SSEAlgorithm>\
         </ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>";
    let set = server.set("/sealed?encryption", default);
    assert_eq!(set.status, 200, "{set:?}");
    let by_default = server.ask(Request::new("PUT", "/sealed/b").body(b"x"));
    assert_eq!(by_default.header(KEY_ID), Some("my-key"));
}
