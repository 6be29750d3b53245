//! Server-side encryption, as clients see it.

use liteio::{KeySources, MasterKeySource};
use md5::{Digest as _, Md5};

use crate::harness::{self, RawRequest, TestServer};
use crate::reply::Reply;

const METHOD: &str = "x-amz-server-side-encryption";
const KMS_KEY: &str = "x-amz-server-side-encryption-aws-kms-key-id";
const ALGORITHM: &str = "x-amz-server-side-encryption-customer-algorithm";
const MD5: &str = "x-amz-server-side-encryption-customer-key-md5";

fn base64(bytes: impl AsRef<[u8]>) -> String {
    base64_simd::STANDARD.encode_to_string(bytes)
}

/// The headers that carry a key of the client.
fn customer(byte: u8) -> [(&'static str, String); 3] {
    let key = [byte; 32];
    [
        (ALGORITHM, "AES256".to_owned()),
        ("x-amz-server-side-encryption-customer-key", base64(key)),
        (MD5, base64(Md5::digest(key))),
    ]
}

/// The same for the source of a copy.
fn source_key(byte: u8) -> [(&'static str, String); 3] {
    let [(_, algorithm), (_, key), (_, md5)] = customer(byte);
    [
        ("x-amz-copy-source-server-side-encryption-customer-algorithm", algorithm),
        ("x-amz-copy-source-server-side-encryption-customer-key", key),
        ("x-amz-copy-source-server-side-encryption-customer-key-md5", md5),
    ]
}

fn master() -> Vec<(&'static str, String)> {
    vec![(METHOD, "AES256".to_owned())]
}

fn kms(key: &str) -> Vec<(&'static str, String)> {
    vec![(METHOD, "aws:kms".to_owned()), (KMS_KEY, key.to_owned())]
}

type Headers = Vec<(&'static str, String)>;

/// Every way to encrypt: the headers of a write, those of a read, and those of both answers.
fn ways() -> [(Headers, Headers, Headers); 3] {
    let sent = customer(9).to_vec();
    let answered = vec![sent[0].clone(), sent[2].clone()];
    [
        (master(), Vec::new(), master()),
        (kms("second"), Vec::new(), kms("second")),
        (sent.clone(), sent, answered),
    ]
}

async fn send(request: RawRequest<'_>, headers: &[(&'static str, String)]) -> Reply {
    let mut request = request;
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request.send().await
}

async fn put(
    server: &TestServer,
    path: &str,
    headers: &[(&'static str, String)],
    body: impl AsRef<[u8]>,
) -> Reply {
    send(server.request("PUT", path).body(body), headers).await
}

async fn get(server: &TestServer, path: &str, headers: &[(&'static str, String)]) -> Reply {
    send(server.request("GET", path), headers).await
}

fn expect_headers(reply: &Reply, expected: &[(&'static str, String)]) {
    for (name, value) in expected {
        assert_eq!(reply.header(name), Some(&**value), "{name}");
    }
    if expected.is_empty() {
        assert_eq!((reply.header(METHOD), reply.header(ALGORITHM)), (None, None));
    }
}

fn md5_tag(body: &[u8]) -> String {
    let digits: String = Md5::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digits}\"")
}

fn body(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 7 % 251) as u8).collect()
}

#[tokio::test]
async fn objects_are_encrypted_and_read_in_every_way() {
    for server in harness::with_keys().await {
        server.bucket("mine").await;
        for (write, read, answer) in ways() {
            for length in [0, 100, 20_000, 1 << 20] {
                let body = body(length);
                let put = put(&server, "/mine/key", &write, &body).await.expect_status(200);
                expect_headers(&put, &answer);
                let tag = put.header("etag").expect("a tag").to_owned();
                assert_eq!(tag == md5_tag(&body), write == master(), "{tag}");
                let found = get(&server, "/mine/key", &read).await.expect_status(200);
                assert!(found.body == body);
                assert_eq!(found.header("etag"), Some(&*tag));
                expect_headers(&found, &answer);
                let head = send(server.request("HEAD", "/mine/key"), &read).await;
                let head = head.expect_status(200);
                assert_eq!(head.header("content-length"), Some(&*length.to_string()));
                expect_headers(&head, &answer);
                if length > 1000 {
                    let range = format!("bytes=990-{}", length - 2);
                    let part = server.request("GET", "/mine/key").header("range", &range);
                    let part = send(part, &read).await.expect_status(206);
                    assert!(part.body == body[990..length - 1]);
                }
                let fresh = server.request("GET", "/mine/key").header("if-none-match", &tag);
                send(fresh, &read).await.expect_status(304);
            }
        }
    }
}

#[tokio::test]
async fn uploads_in_parts_are_encrypted_in_every_way() {
    let [_, server] = harness::with_keys().await;
    server.bucket("mine").await;
    for (write, read, answer) in ways() {
        let begun = send(server.request("POST", "/mine/key?uploads"), &write).await;
        let begun = begun.expect_status(200);
        expect_headers(&begun, &answer);
        let id = begun.element("UploadId");
        let (first, second) = (body(5 << 20), body(1000));
        let mut parts = String::new();
        for (number, bytes) in [(1, &first), (2, &second)] {
            let path = format!("/mine/key?partNumber={number}&uploadId={id}");
            // The method is not repeated, the key of a client is.
            let part = put(&server, &path, &read, bytes).await.expect_status(200);
            expect_headers(&part, &answer);
            let tag = part.header("etag").expect("a tag");
            parts += &format!("<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>");
        }
        let document = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
        let path = format!("/mine/key?uploadId={id}");
        let done = server.post(&path, &document).await.expect_status(200);
        if read.is_empty() {
            expect_headers(&done, &answer);
        }
        let found = get(&server, "/mine/key", &read).await.expect_status(200);
        assert!(found.body == [&first[..], &second].concat());
        expect_headers(&found, &answer);
        let part = get(&server, "/mine/key?partNumber=2", &read).await.expect_status(206);
        assert!(part.body == second);
        let wanted = server
            .request("GET", "/mine/key?attributes")
            .header("x-amz-object-attributes", "ObjectParts,ObjectSize");
        let attributes = send(wanted, &read).await.expect_status(200);
        assert_eq!(attributes.element("PartsCount"), "2");
    }
}

#[tokio::test]
async fn a_part_of_an_upload_with_a_key_of_a_client_needs_the_same_key() {
    let [server, _] = harness::with_keys().await;
    server.bucket("mine").await;
    let begun = send(server.request("POST", "/mine/key?uploads"), &customer(9)).await;
    let id = begun.expect_status(200).element("UploadId");
    let path = format!("/mine/key?partNumber=1&uploadId={id}");
    put(&server, &path, &[], "x").await.expect_error(400, "InvalidRequest");
    put(&server, &path, &customer(8), "x").await.expect_error(400, "InvalidRequest");
    let begun = server.post("/mine/key?uploads", "").await.expect_status(200);
    let id = begun.element("UploadId");
    let path = format!("/mine/key?partNumber=1&uploadId={id}");
    put(&server, &path, &customer(9), "x").await.expect_error(400, "InvalidRequest");
}

#[tokio::test]
async fn a_complete_with_a_checksum_needs_the_key_of_the_client_and_can_be_repeated() {
    let [server, _] = harness::with_keys().await;
    server.bucket("mine").await;
    let begun = server
        .request("POST", "/mine/key?uploads")
        .header("x-amz-checksum-algorithm", "CRC32")
        .header("x-amz-checksum-type", "FULL_OBJECT");
    let id = send(begun, &customer(9)).await.expect_status(200).element("UploadId");
    let path = format!("/mine/key?partNumber=1&uploadId={id}");
    let part = put(&server, &path, &customer(9), "body").await.expect_status(200);
    let tag = part.header("etag").expect("a tag");
    let document = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{tag}</ETag></Part>\
         </CompleteMultipartUpload>"
    );
    let path = format!("/mine/key?uploadId={id}");
    let complete = || server.request("POST", &path).body(&document);
    complete().send().await.expect_error(400, "InvalidRequest");
    send(complete(), &customer(8)).await.expect_error(400, "InvalidRequest");
    for _ in 0..2 {
        send(complete(), &customer(9)).await.expect_status(200);
    }
    assert!(get(&server, "/mine/key", &customer(9)).await.expect_status(200).body == b"body");
}

#[tokio::test]
async fn copies_change_the_encryption() {
    let [_, server] = harness::with_keys().await;
    server.bucket("mine").await;
    let body = body(300_000);
    let mut all: Vec<(Headers, Headers, Headers)> = ways().to_vec();
    all.push((Vec::new(), Vec::new(), Vec::new()));
    for (write, read, _) in &all {
        put(&server, "/mine/source", write, &body).await.expect_status(200);
        let from = match read.is_empty() {
            true => Vec::new(),
            false => source_key(9).to_vec(),
        };
        for (to, read_back, answer) in &all {
            let copy =
                server.request("PUT", "/mine/copy").header("x-amz-copy-source", "/mine/source");
            let copy = send(copy, &[&from[..], to].concat()).await.expect_status(200);
            expect_headers(&copy, answer);
            let found = get(&server, "/mine/copy", read_back).await.expect_status(200);
            assert!(found.body == body);
            expect_headers(&found, answer);

            let begun = send(server.request("POST", "/mine/parts?uploads"), to).await;
            let id = begun.expect_status(200).element("UploadId");
            let path = format!("/mine/parts?partNumber=1&uploadId={id}");
            let part = server
                .request("PUT", &path)
                .header("x-amz-copy-source", "/mine/source")
                .header("x-amz-copy-source-range", "bytes=1000-299998");
            let part = send(part, &[&from[..], read_back].concat()).await.expect_status(200);
            expect_headers(&part, answer);
            let tag = part.element("ETag");
            let document = format!(
                "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{tag}</ETag></Part>\
                 </CompleteMultipartUpload>"
            );
            let path = format!("/mine/parts?uploadId={id}");
            server.post(&path, &document).await.expect_status(200);
            let found = get(&server, "/mine/parts", read_back).await.expect_status(200);
            assert!(found.body == body[1000..299_999]);
        }
        if !read.is_empty() {
            let copy =
                || server.request("PUT", "/mine/copy").header("x-amz-copy-source", "/mine/source");
            copy().send().await.expect_error(400, "InvalidRequest");
            send(copy(), &source_key(8)).await.expect_error(403, "AccessDenied");
        }
    }
    // Onto itself, which changes only that.
    let own = server.request("PUT", "/mine/copy").header("x-amz-copy-source", "/mine/copy");
    send(own, &master()).await.expect_status(200);
    expect_headers(&server.get("/mine/copy").await, &master());
    // A copy that asks for no encryption decrypts in place what a client has encrypted. For AWS it
    // changes nothing if the server's key has: recorded in LocalStack's
    // `test_s3_copy_object_in_place_with_encryption`.
    let own = |path| server.request("PUT", path).header("x-amz-copy-source", path);
    own("/mine/copy").send().await.expect_error(400, "InvalidRequest");
    put(&server, "/mine/own", &customer(8), "text").await.expect_status(200);
    send(own("/mine/own"), &source_key(8)).await.expect_status(200);
    let found = server.get("/mine/own").await.expect_status(200);
    assert!(found.body == b"text"[..]);
    assert_eq!(found.header("x-amz-server-side-encryption"), None);
    own("/mine/own").send().await.expect_error(400, "InvalidRequest");
}

#[tokio::test]
async fn a_key_of_a_client_is_checked_before_anything_is_stored() {
    let [server, _] = harness::with_keys().await;
    server.bucket("mine").await;
    let [algorithm, key, md5] = customer(9);
    let with = |changed: (&'static str, String)| -> Headers {
        let all = [algorithm.clone(), key.clone(), md5.clone()];
        let keep = |header: &(&'static str, String)| header.0 != changed.0;
        all.into_iter().filter(keep).chain([changed.clone()]).collect()
    };
    let rows = [
        vec![algorithm.clone()],
        vec![algorithm.clone(), key.clone()],
        vec![key.clone(), md5.clone()],
        vec![algorithm.clone(), md5.clone()],
        with((ALGORITHM, "AES128".to_owned())),
        with((key.0, base64([9; 16]))),
        with((key.0, "not base64".to_owned())),
        with((MD5, base64([9; 16]))),
        [customer(9).to_vec(), master()].concat(),
    ];
    for headers in rows {
        let code = match headers.contains(&(ALGORITHM, "AES128".to_owned())) {
            true => "InvalidEncryptionAlgorithmError",
            false => "InvalidArgument",
        };
        let refused = put(&server, "/mine/key", &headers, "x").await;
        refused.expect_error(400, code);
        server.get("/mine/key").await.expect_error(404, "NoSuchKey");
        let begun = send(server.request("POST", "/mine/key?uploads"), &headers).await;
        begun.expect_error(400, code);
    }
    put(&server, "/mine/key", &customer(9), "x").await.expect_status(200);
    server.get("/mine/key").await.expect_error(400, "InvalidRequest");
    get(&server, "/mine/key", &customer(8)).await.expect_error(403, "AccessDenied");
    get(&server, "/mine/key", &master()).await.expect_error(400, "InvalidArgument");
    server.head("/mine/key").await.expect_status(400);
    send(server.request("HEAD", "/mine/key"), &customer(8)).await.expect_status(403);
    let attributes = server
        .request("GET", "/mine/key?attributes")
        .header("x-amz-object-attributes", "ObjectSize");
    attributes.send().await.expect_error(400, "InvalidRequest");
    server.put("/mine/plain", "x").await.expect_status(200);
    get(&server, "/mine/plain", &customer(9)).await.expect_error(400, "InvalidRequest");
    // It is listed and deleted without.
    let listed = server.get("/mine?list-type=2&prefix=key").await.expect_status(200);
    assert_eq!(listed.element("Size"), "1");
    server.delete("/mine/key").await.expect_status(204);
}

#[tokio::test]
async fn tags_locks_and_owners_are_read_without_the_key_of_the_client() {
    let [server, _] = harness::with_keys().await;
    let lock = server.request("PUT", "/mine").header("x-amz-bucket-object-lock-enabled", "true");
    lock.send().await.expect_status(200);
    let mut write = customer(9).to_vec();
    write.push(("x-amz-tagging", "a=b".to_owned()));
    write.push(("x-amz-object-lock-legal-hold", "ON".to_owned()));
    write.push(("x-amz-object-lock-mode", "GOVERNANCE".to_owned()));
    write.push(("x-amz-object-lock-retain-until-date", "2999-01-01T00:00:00Z".to_owned()));
    let put = put(&server, "/mine/key", &write, "body").await.expect_status(200);
    let version = put.header("x-amz-version-id").expect("a version").to_owned();
    for id in [String::new(), format!("&versionId={version}")] {
        let rows = [
            ("tagging", "Value", "b"),
            ("legal-hold", "Status", "ON"),
            ("retention", "Mode", "GOVERNANCE"),
            ("acl", "Permission", "FULL_CONTROL"),
        ];
        for (asked, element, value) in rows {
            let found = server.get(&format!("/mine/key?{asked}{id}")).await.expect_status(200);
            assert_eq!(found.element(element), value, "{asked}");
        }
    }
}

#[tokio::test]
async fn other_encryption_headers_are_checked_before_anything_is_stored() {
    let [server, _] = harness::with_keys().await;
    server.bucket("mine").await;
    let context = "x-amz-server-side-encryption-context";
    let rows = [
        (vec![(METHOD, "AES512".to_owned())], 400, "InvalidEncryptionAlgorithmError"),
        (vec![(METHOD, "aws:kms:dsse".to_owned())], 501, "NotImplemented"),
        (kms("missing"), 400, "KMS.NotFoundException"),
        (vec![(KMS_KEY, "first".to_owned())], 400, "InvalidArgument"),
        (
            vec![(METHOD, "AES256".to_owned()), (KMS_KEY, "first".to_owned())],
            400,
            "InvalidArgument",
        ),
        ([kms("first"), vec![(context, "e30".to_owned())]].concat(), 400, "InvalidArgument"),
        ([kms("first"), vec![(context, base64("[]"))]].concat(), 400, "InvalidArgument"),
    ];
    for (headers, status, code) in rows {
        put(&server, "/mine/key", &headers, "x").await.expect_error(status, code);
        server.get("/mine/key").await.expect_error(404, "NoSuchKey");
    }
    let context = (context, base64("{\"a\":\"b\"}"));
    let bucket_key = ("x-amz-server-side-encryption-bucket-key-enabled", "true".to_owned());
    for (asked, key) in [
        (kms("second"), "second"),
        (kms("alias/second"), "second"),
        (kms("arn:aws:kms:us-east-1:123456789012:key/second"), "second"),
        // Without a name, the first one.
        (vec![(METHOD, "aws:kms".to_owned())], "first"),
    ] {
        let asked = [asked, vec![context.clone(), bucket_key.clone()]].concat();
        let answer = [kms(key), vec![bucket_key.clone()]].concat();
        let put = put(&server, "/mine/key", &asked, "x").await.expect_status(200);
        expect_headers(&put, &answer);
        expect_headers(&put, std::slice::from_ref(&context));
        let found = server.get("/mine/key").await.expect_status(200);
        expect_headers(&found, &answer);
        assert_eq!(found.header(context.0), None);
    }
}

#[tokio::test]
async fn without_keys_a_server_says_what_it_lacks() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let refused = put(&server, "/mine/key", &master(), "x").await;
    for option in ["--master-key-file", "in memory with --aws-defaults"] {
        assert!(refused.element("Message").contains(option), "{}", refused.text());
    }
    refused.expect_error(501, "NotImplemented");
    put(&server, "/mine/key", &kms("first"), "x").await.expect_error(400, "KMS.NotFoundException");
    // A key of a client would be read by everybody on the way.
    put(&server, "/mine/key", &customer(9), "x").await.expect_error(400, "InvalidRequest");
    server.get("/mine/key").await.expect_error(404, "NoSuchKey");
    get(&server, "/mine/key", &customer(9)).await.expect_error(400, "InvalidRequest");
}

fn configuration(algorithm: &str, key: &str) -> String {
    let key = match key {
        "" => String::new(),
        key => format!("<KMSMasterKeyID>{key}</KMSMasterKeyID>"),
    };
    format!(
        "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault>\
         <SSEAlgorithm>{algorithm}</SSEAlgorithm>{key}</ApplyServerSideEncryptionByDefault>\
         <BucketKeyEnabled>true</BucketKeyEnabled></Rule></ServerSideEncryptionConfiguration>"
    )
}

#[tokio::test]
async fn a_bucket_encrypts_what_names_no_encryption() {
    let [_, server] = harness::with_keys().await;
    server.bucket("mine").await;
    let none = "ServerSideEncryptionConfigurationNotFoundError";
    server.get("/mine?encryption").await.expect_error(404, none);
    for (algorithm, key, expected) in
        [("AES256", "", master()), ("aws:kms", "second", kms("second"))]
    {
        let document = configuration(algorithm, key);
        server.put("/mine?encryption", &document).await.expect_status(200);
        let found = server.get("/mine?encryption").await.expect_status(200);
        assert_eq!(found.element("SSEAlgorithm"), algorithm);
        assert_eq!(found.element("KMSMasterKeyID"), key);
        assert_eq!(found.element("BucketKeyEnabled"), "true");
        let put = server.put("/mine/key", "body").await.expect_status(200);
        expect_headers(&put, &expected);
        expect_headers(&server.get("/mine/key").await.expect_status(200), &expected);
        let copy = server.request("PUT", "/mine/copy").header("x-amz-copy-source", "/mine/key");
        expect_headers(&copy.send().await.expect_status(200), &expected);
        let begun = server.post("/mine/parts?uploads", "").await.expect_status(200);
        expect_headers(&begun, &expected);
        // What a request names counts.
        let other = put_with(&server, customer(9).as_slice()).await;
        expect_headers(&other, &[customer(9)[0].clone()]);
        expect_headers(&put_with(&server, &kms("first")).await, &kms("first"));
    }
    server.delete("/mine?encryption").await.expect_status(204);
    server.get("/mine?encryption").await.expect_error(404, none);
    expect_headers(&server.put("/mine/key", "body").await.expect_status(200), &[]);
}

async fn put_with(server: &TestServer, headers: &[(&'static str, String)]) -> Reply {
    put(server, "/mine/key", headers, "body").await.expect_status(200)
}

#[tokio::test]
async fn a_default_that_cannot_work_is_refused() {
    let [server, _] = harness::with_keys().await;
    let without = harness::memory().await;
    for server in [&server, &without] {
        server.bucket("mine").await;
    }
    let rows = [
        (&server, configuration("AES256", "first"), 400, "InvalidArgument"),
        (&server, configuration("aws:kms", "missing"), 400, "KMS.NotFoundException"),
        (&server, configuration("aws:kms:dsse", ""), 501, "NotImplemented"),
        (&server, configuration("ROT13", ""), 400, "MalformedXML"),
        (&server, "<ServerSideEncryptionConfiguration/>".to_owned(), 400, "MalformedXML"),
        (&without, configuration("AES256", ""), 501, "NotImplemented"),
        (&without, configuration("aws:kms", ""), 400, "KMS.NotFoundException"),
    ];
    for (server, document, status, code) in rows {
        server.put("/mine?encryption", &document).await.expect_error(status, code);
        let none = "ServerSideEncryptionConfigurationNotFoundError";
        server.get("/mine?encryption").await.expect_error(404, none);
    }
}

#[tokio::test]
async fn a_renamed_object_is_decrypted_under_its_new_key() {
    for server in harness::with_keys().await {
        server.bucket("mine").await;
        for (write, read, answered) in ways() {
            let put = server.request("PUT", "/mine/old").body("secret");
            send(put, &write).await.expect_status(200);
            let rename = server.request("PUT", "/mine/new?renameObject");
            let rename = rename.header("x-amz-rename-source", "old");
            send(rename, &read).await.expect_status(200);
            let got = send(server.request("GET", "/mine/new"), &read).await.expect_status(200);
            assert_eq!(got.body, b"secret");
            for (name, value) in answered {
                assert_eq!(got.header(name), Some(value.as_str()), "{name}");
            }
        }
    }
}

/// Suites that come from LocalStack or S3Mock name no key, or AWS's own.
#[tokio::test]
async fn data_in_memory_with_the_defaults_of_aws_has_the_key_of_aws() {
    let master = Some(MasterKeySource::OfProcess(vec!["listed".to_owned()]));
    let keys = KeySources { master, kms_file: None };
    let server =
        harness::start_with("memory", "us-east-1", |builder, _| builder.keys(keys).aws_defaults())
            .await;
    server.bucket("mine").await;
    let arn = "arn:aws:kms:us-east-1:000000000000:alias/aws/s3";
    for key in [None, Some("aws/s3"), Some("alias/aws/s3"), Some(arn)] {
        let put = server.request("PUT", "/mine/key").body("secret");
        let put = put.header("x-amz-server-side-encryption", "aws:kms");
        let put = match key {
            Some(key) => put.header(KMS_KEY, key),
            None => put,
        };
        let stored = put.send().await.expect_status(200);
        assert_eq!(stored.header(KMS_KEY), Some("aws/s3"), "{key:?}");
        assert_eq!(server.get("/mine/key").await.body, b"secret");
    }
    let listed = server.request("PUT", "/mine/key").body("secret");
    let listed = listed.header("x-amz-server-side-encryption", "aws:kms");
    let listed = listed.header(KMS_KEY, "arn:aws:kms:us-east-1:1234567890:key/listed");
    let stored = listed.send().await.expect_status(200);
    assert_eq!(stored.header(KMS_KEY), Some("listed"));
    assert_eq!(server.get("/mine/key").await.body, b"secret");
    let other = server.request("PUT", "/mine/key").body("x").header(KMS_KEY, "alias/mine");
    let other = other.header("x-amz-server-side-encryption", "aws:kms");
    let other = other.send().await.expect_error(400, "KMS.NotFoundException");
    assert!(other.text().contains("validKmsKeys"), "{}", other.text());
}

#[tokio::test]
async fn a_bucket_that_blocks_keys_of_customers_takes_no_more_of_them() {
    let [server, _] = harness::with_keys().await;
    server.bucket("mine").await;
    put(&server, "/mine/before", &customer(9), "x").await.expect_status(200);
    let begun = send(server.request("POST", "/mine/begun?uploads"), &customer(9)).await;
    let id = begun.expect_status(200).element("UploadId");
    let rule = |inner: &str| {
        format!(
            "<ServerSideEncryptionConfiguration><Rule>{inner}</Rule>\
             </ServerSideEncryptionConfiguration>"
        )
    };
    let blocked =
        |types: &str| rule(&format!("<BlockedEncryptionTypes>{types}</BlockedEncryptionTypes>"));
    let (customers, nothing) =
        ("<EncryptionType>SSE-C</EncryptionType>", "<EncryptionType>NONE</EncryptionType>");
    for types in ["", &format!("{customers}{nothing}"), "<EncryptionType>SSE-S3</EncryptionType>"] {
        server.put("/mine?encryption", blocked(types)).await.expect_error(400, "MalformedXML");
    }
    server.put("/mine?encryption", blocked(customers)).await.expect_status(200);
    let kept = server.get("/mine?encryption").await.expect_status(200);
    assert_eq!(kept.element("EncryptionType"), "SSE-C");
    put(&server, "/mine/k", &customer(9), "x").await.expect_error(403, "AccessDenied");
    // The key is not looked at.
    let wrong = [(ALGORITHM, "AES256".to_owned())];
    put(&server, "/mine/k", &wrong, "x").await.expect_error(403, "AccessDenied");
    let copy = server.request("PUT", "/mine/k").header("x-amz-copy-source", "/mine/before");
    let both = [customer(9), source_key(9)].concat();
    send(copy, &both).await.expect_error(403, "AccessDenied");
    let begin = server.request("POST", "/mine/k?uploads");
    send(begin, &customer(9)).await.expect_error(403, "AccessDenied");
    let fields: Vec<(&str, String)> = customer(9).to_vec();
    let mut form = vec![("key", "k")];
    form.extend(fields.iter().map(|(name, value)| (*name, value.as_str())));
    crate::form::upload(&server, &form, b"x").await.expect_error(403, "AccessDenied");
    server.head("/mine/k").await.expect_status(404);
    // What is there is read as before; an upload that was begun, and other writes go on.
    let path = format!("/mine/begun?partNumber=1&uploadId={id}");
    let part = put(&server, &path, &customer(9), "body").await.expect_status(200);
    let etag = part.header("etag").expect("a tag").to_owned();
    let list = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>\
         </CompleteMultipartUpload>"
    );
    let complete = server.request("POST", &format!("/mine/begun?uploadId={id}")).body(list);
    send(complete, &customer(9)).await.expect_status(200);
    get(&server, "/mine/before", &customer(9)).await.expect_status(200);
    put(&server, "/mine/plain", &[], "x").await.expect_status(200);
    server.put("/mine?encryption", blocked(nothing)).await.expect_status(200);
    assert_eq!(server.get("/mine?encryption").await.element("EncryptionType"), "NONE");
    put(&server, "/mine/k", &customer(9), "x").await.expect_status(200);
    server.put("/mine?encryption", blocked(customers)).await.expect_status(200);
    server.delete("/mine?encryption").await.expect_status(204);
    put(&server, "/mine/k", &customer(9), "x").await.expect_status(200);
    let missing = "ServerSideEncryptionConfigurationNotFoundError";
    server.get("/mine?encryption").await.expect_error(404, missing);
}
