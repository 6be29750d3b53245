//! The elements of error documents, as AWS documents or recorded answers of AWS show them. A row is one error; its
//! sister is one more row.

use crate::harness::{self, TestServer};

/// A request, its error, and the elements beside code and message. An empty expected text is any text.
struct Row {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: String,
    error: (u16, &'static str),
    elements: Vec<(&'static str, String)>,
}

fn row(request: &str, error: (u16, &'static str), elements: &[(&'static str, &str)]) -> Row {
    let (method, path) = request.split_once(' ').expect("method and path");
    let methods = ["GET", "PUT", "POST", "DELETE"];
    Row {
        method: methods.into_iter().find(|known| *known == method).expect("a method"),
        path: path.to_owned(),
        headers: Vec::new(),
        body: String::new(),
        error,
        elements: elements.iter().map(|(name, text)| (*name, (*text).to_owned())).collect(),
    }
}

impl Row {
    fn with(mut self, name: &'static str, value: &str) -> Row {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn body(mut self, body: &str) -> Row {
        self.body = body.to_owned();
        self
    }
}

async fn check(server: &TestServer, rows: Vec<Row>) {
    for Row { method, path, headers, body, error: (status, code), elements } in rows {
        let mut request = server.request(method, &path).body(&body);
        for (name, value) in &headers {
            request = request.header(name, value);
        }
        let got = request.send().await.expect_error(status, code);
        assert_eq!(got.header("content-type"), Some("application/xml"), "{path}");
        for (name, expected) in elements {
            let found = got.elements(name);
            assert_eq!(found.len(), 1, "<{name}> of {method} {path}: {}", got.text());
            let is_as_expected = expected.is_empty() || found[0] == expected;
            assert!(is_as_expected, "<{name}> of {method} {path}: {:?}, {expected:?}", found[0]);
        }
    }
}

#[tokio::test]
async fn errors_of_objects_name_what_was_asked_for() {
    for server in harness::both().await {
        server.bucket("mine").await;
        server.put("/mine/empty", "").await.expect_status(200);
        server.put("/mine/digits", "0123456789").await.expect_status(200);
        let long = "k".repeat(1025);
        let version = "0123456789abcdef0123456789abcdef";
        let range = |path: &str, sent: &str, bytes: &str| {
            let elements = [("RangeRequested", sent), ("ActualObjectSize", bytes)];
            row(&format!("GET {path}"), (416, "InvalidRange"), &elements).with("range", sent)
        };
        let argument = |request: &str, name: &str, value: &str| {
            let elements = [("ArgumentName", name), ("ArgumentValue", value)];
            row(request, (400, "InvalidArgument"), &elements)
        };
        let header = |request: &str, name: &'static str, value: &str| {
            argument(request, name, value).with(name, value)
        };
        let named = |request: &str, name: &'static str, value: &str, argument: &str| {
            row(request, (400, "InvalidArgument"), &[("ArgumentName", argument)]).with(name, value)
        };
        check(
            &server,
            vec![
                range("/mine/empty", "bytes=0-8388607", "0"),
                range("/mine/empty", "bytes=0-", "0"),
                range("/mine/digits", "bytes=10-20", "10"),
                range("/mine/digits", "bytes=-0", "10"),
                row("GET /mine/a%20b", (404, "NoSuchKey"), &[("Key", "a b")]),
                row("GET /mine/a%26%3Cb%3E", (404, "NoSuchKey"), &[("Key", "a&<b>")]),
                row("GET /mine/none?tagging", (404, "NoSuchKey"), &[("Key", "none")]),
                row("GET /mine/none?attributes", (404, "NoSuchKey"), &[("Key", "none")])
                    .with("x-amz-object-attributes", "ETag"),
                row("PUT /mine/copy", (404, "NoSuchKey"), &[("Key", "no source")])
                    .with("x-amz-copy-source", "/mine/no%20source"),
                row("GET /none-of-mine", (404, "NoSuchBucket"), &[("BucketName", "none-of-mine")]),
                row(
                    "GET /none-of-mine/k",
                    (404, "NoSuchBucket"),
                    &[("BucketName", "none-of-mine")],
                ),
                row(
                    "PUT /none-of-mine/k",
                    (404, "NoSuchBucket"),
                    &[("BucketName", "none-of-mine")],
                ),
                row("PUT /mine/copy", (404, "NoSuchBucket"), &[("BucketName", "none-of-mine")])
                    .with("x-amz-copy-source", "/none-of-mine/k"),
                row("PUT /X", (400, "InvalidBucketName"), &[("BucketName", "X")]),
                row("DELETE /mine", (409, "BucketNotEmpty"), &[("BucketName", "mine")]),
                row("PUT /mine", (409, "BucketAlreadyOwnedByYou"), &[("BucketName", "mine")])
                    .with("x-amz-object-ownership", "ObjectWriter"),
                row(
                    &format!("PUT /mine/{long}"),
                    (400, "KeyTooLongError"),
                    &[("Size", "1025"), ("MaxSizeAllowed", "1024")],
                ),
                row(
                    "GET /mine/digits?partNumber=2",
                    (416, "InvalidPartNumber"),
                    &[("PartNumberRequested", "2"), ("ActualPartCount", "1")],
                ),
                argument("GET /mine/digits?partNumber=0", "partNumber", "0"),
                argument("GET /mine/digits?partNumber=x", "partNumber", "x"),
                argument("GET /mine/digits?versionId=", "versionId", ""),
                argument("GET /mine/digits?versionId=nonsense", "versionId", "nonsense"),
                argument("GET /mine?encoding-type=value", "encoding-type", "value"),
                argument("GET /mine?max-keys=-1", "max-keys", "-1"),
                argument("GET /mine?max-keys=many", "max-keys", "many"),
                argument("GET /mine?versions&version-id-marker=x", "version-id-marker", "x"),
                argument(
                    "GET /mine?uploads&key-marker=k&upload-id-marker=x",
                    "upload-id-marker",
                    "x",
                ),
                row(
                    "GET /mine?list-type=2&continuation-token=%20",
                    (400, "InvalidArgument"),
                    &[("ArgumentName", "continuation-token")],
                ),
                argument(
                    "GET /mine/digits?response-cache-control=a%E2%80%94b",
                    "response-cache-control",
                    "a\u{2014}b",
                ),
                argument("GET /mine/digits?response-other=dummy", "response-other", "dummy"),
                argument("GET /mine?list-type=1&prefix=d", "list-type", "1"),
                argument("GET /mine?list-type=", "list-type", ""),
                header("PUT /mine/k", "x-amz-acl", "fake-acl"),
                header("PUT /mine/k", "x-amz-grant-read", "fakekey=\"1234\""),
                header("PUT /mine/k", "x-amz-tagging", "k=1&k=2"),
                header("PUT /mine/digits", "x-amz-metadata-directive", "KEEP")
                    .with("x-amz-copy-source", "/mine/digits"),
                header("PUT /mine/digits", "x-amz-tagging-directive", "KEEP")
                    .with("x-amz-copy-source", "/mine/digits"),
                header("PUT /mine/k", "x-amz-copy-source", "/mine/digits?version_id=1"),
                header("PUT /mine/k", "x-amz-object-lock-mode", "BAD-VALUE")
                    .with("x-amz-object-lock-retain-until-date", "2999-01-01T00:00:00Z"),
                header("PUT /mine/k", "x-amz-object-lock-legal-hold", "MAYBE"),
                named(
                    "PUT /mine/k",
                    "x-amz-object-lock-mode",
                    "GOVERNANCE",
                    "x-amz-object-lock-retain-until-date",
                ),
                named(
                    "PUT /mine/k",
                    "x-amz-object-lock-retain-until-date",
                    "2999-01-01T00:00:00Z",
                    "x-amz-object-lock-mode",
                ),
                named(
                    "DELETE /mine/digits",
                    "x-amz-bypass-governance-retention",
                    "true",
                    "x-amz-bypass-governance-retention",
                ),
                header("GET /mine/digits?attributes", "x-amz-object-attributes", "Colour"),
                row(
                    "PUT /mine/k",
                    (400, "InvalidStorageClass"),
                    &[("StorageClassRequested", "OUTPOSTS")],
                )
                .with("x-amz-storage-class", "OUTPOSTS"),
                row("PUT /mine/k", (400, "InvalidDigest"), &[("Content-MD5", "__invalid__")])
                    .with("content-md5", "__invalid__"),
                row(
                    "PUT /mine/k",
                    (400, "BadDigest"),
                    &[
                        ("ExpectedDigest", "09891eb590524e35fc73372cddc5d596"),
                        ("CalculatedDigest", "1B2M2Y8AsgTpgAmY7PhCfg=="),
                    ],
                )
                .with("content-md5", "CYketZBSTjX8czcs3cXVlg=="),
                row(
                    "PUT /mine/k",
                    (400, "InvalidEncryptionAlgorithmError"),
                    &[
                        ("ArgumentName", "x-amz-server-side-encryption"),
                        ("ArgumentValue", "AES128"),
                    ],
                )
                .with("x-amz-server-side-encryption", "AES128"),
                row(
                    "PUT /mine/k",
                    (400, "MetadataTooLarge"),
                    &[("Size", "2049"), ("MaxSizeAllowed", "2048")],
                )
                .with("x-amz-meta-a", &"m".repeat(2048)),
                row(
                    "PUT /mine/digits",
                    (412, "PreconditionFailed"),
                    &[("Condition", "If-None-Match")],
                )
                .with("if-none-match", "*"),
                row(
                    "PUT /mine/k",
                    (501, "NotImplemented"),
                    &[("Header", "x-amz-object-lock-of-tomorrow")],
                )
                .with("x-amz-object-lock-of-tomorrow", "ON"),
                row(
                    "DELETE /mine/digits?acl",
                    (405, "MethodNotAllowed"),
                    &[("Method", "DELETE"), ("ResourceType", "OBJECT")],
                ),
                row(
                    "POST /",
                    (405, "MethodNotAllowed"),
                    &[("Method", "POST"), ("ResourceType", "SERVICE")],
                ),
                row(
                    "POST /mine/k",
                    (405, "MethodNotAllowed"),
                    &[("Method", "POST"), ("ResourceType", "OBJECT")],
                ),
                row(
                    "DELETE /mine?abac",
                    (405, "MethodNotAllowed"),
                    &[("Method", "DELETE"), ("ResourceType", "BUCKET")],
                ),
                row(
                    &format!("GET /mine/digits?uploadId={version}"),
                    (404, "NoSuchUpload"),
                    &[("UploadId", version)],
                ),
            ],
        )
        .await;
        server.get("/mine/digits").await.expect_status(200);
        server.get("/mine/copy").await.expect_error(404, "NoSuchKey");
    }
}

/// S3's limits, by its reference: 64 KB for PutBucketCors, 128 KB for PutBucketWebsite.
#[tokio::test]
async fn a_configuration_has_as_many_bytes_as_on_s3_and_no_more() {
    let cors = "<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod>\
                <AllowedOrigin>*</AllowedOrigin></CORSRule></CORSConfiguration>";
    let website = "<WebsiteConfiguration><IndexDocument><Suffix>index.html</Suffix>\
                   </IndexDocument></WebsiteConfiguration>";
    for server in harness::both().await {
        server.bucket("mine").await;
        for (path, document, bytes_max) in
            [("/mine?cors", cors, 64 << 10), ("/mine?website", website, 128 << 10)]
        {
            let of_bytes = |bytes: usize| document.to_owned() + &" ".repeat(bytes - document.len());
            server.put(path, of_bytes(bytes_max)).await.expect_status(200);
            let elements = [("MaxMessageLengthBytes", bytes_max.to_string())];
            let elements = elements.each_ref().map(|(name, text)| (*name, text.as_str()));
            let too_long =
                row(&format!("PUT {path}"), (400, "MaxMessageLengthExceeded"), &elements)
                    .body(&of_bytes(bytes_max + 1));
            check(&server, vec![too_long]).await;
        }
    }
}

#[tokio::test]
async fn errors_of_versions_name_the_version_and_the_marker() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let on = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
        server.put("/mine?versioning", on).await.expect_status(200);
        let put = server.put("/mine/k", "x").await.expect_status(200);
        let version = put.header("x-amz-version-id").expect("an id").to_owned();
        server.delete(&format!("/mine/k?versionId={version}")).await.expect_status(204);
        server.put("/mine/k", "y").await.expect_status(200);
        let marker = server.delete("/mine/k").await.expect_status(204);
        let marker = marker.header("x-amz-version-id").expect("an id").to_owned();
        let is_marker = |method| [("Method", method), ("ResourceType", "DeleteMarker")];
        let of_marker = |request: &str, method| {
            let request = format!("{request}versionId={marker}");
            row(&request, (405, "MethodNotAllowed"), &is_marker(method))
        };
        let tagging = "<Tagging><TagSet></TagSet></Tagging>";
        check(
            &server,
            vec![
                row(
                    &format!("GET /mine/k?versionId={version}"),
                    (404, "NoSuchVersion"),
                    &[("Key", "k"), ("VersionId", &version)],
                ),
                row(
                    &format!("GET /mine/k?tagging&versionId={version}"),
                    (404, "NoSuchVersion"),
                    &[("Key", "k"), ("VersionId", &version)],
                ),
                row("GET /mine/k", (404, "NoSuchKey"), &[("Key", "k")]),
                of_marker("GET /mine/k?", "GET"),
                of_marker("GET /mine/k?tagging&", "GET"),
                of_marker("DELETE /mine/k?tagging&", "DELETE"),
                of_marker("PUT /mine/k?tagging&", "PUT").body(tagging),
            ],
        )
        .await;
    }
}

#[tokio::test]
async fn errors_of_uploads_name_the_upload_and_the_part() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let created = server.post("/mine/k?uploads", "").await.expect_status(200);
        let id = created.element("UploadId");
        for number in [1, 2] {
            let path = format!("/mine/k?partNumber={number}&uploadId={id}");
            server.put(&path, "part").await.expect_status(200);
        }
        let etag = harness::etag(b"part");
        let etag = etag.trim_matches('"');
        let list = |parts: &[(u16, &str)]| {
            let parts = parts.iter().map(|(number, etag)| {
                format!("<Part><PartNumber>{number}</PartNumber><ETag>\"{etag}\"</ETag></Part>")
            });
            let parts: String = parts.collect();
            format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>")
        };
        let complete = |error, elements: &[(&'static str, &str)], parts: &[(u16, &str)]| {
            row(&format!("POST /mine/k?uploadId={id}"), error, elements).body(&list(parts))
        };
        let wrong = "d41d8cd98f00b204e9800998ecf8427e";
        let invalid_part = |number: &str, etag: &str, parts: &[(u16, &str)]| {
            let elements = [("UploadId", &*id), ("PartNumber", number), ("ETag", etag)];
            complete((400, "InvalidPart"), &elements, parts)
        };
        let argument = |request: &str, name: &str, value: &str| {
            let elements = [("ArgumentName", name), ("ArgumentValue", value)];
            row(request, (400, "InvalidArgument"), &elements)
        };
        let copied = format!("PUT /mine/k?partNumber=3&uploadId={id}");
        check(
            &server,
            vec![
                invalid_part("1", wrong, &[(1, wrong)]),
                invalid_part("7", etag, &[(7, etag)]),
                complete((400, "InvalidPartOrder"), &[("UploadId", &id)], &[(2, etag), (1, etag)]),
                complete(
                    (400, "EntityTooSmall"),
                    &[
                        ("ProposedSize", "4"),
                        ("MinSizeAllowed", "5242880"),
                        ("PartNumber", "1"),
                        ("ETag", etag),
                    ],
                    &[(1, etag), (2, etag)],
                ),
                row("DELETE /mine/k?uploadId=none", (404, "NoSuchUpload"), &[("UploadId", "none")]),
                argument(&format!("PUT /mine/k?partNumber=-1&uploadId={id}"), "partNumber", "-1"),
                argument(&format!("GET /mine/k?uploadId={id}&max-parts=-1"), "max-parts", "-1"),
                argument(&copied, "x-amz-copy-source-range", "0-8")
                    .with("x-amz-copy-source", "/mine/source")
                    .with("x-amz-copy-source-range", "0-8"),
            ],
        )
        .await;
        server.put("/mine/source", "0123456789").await.expect_status(200);
        let outside = argument(&copied, "x-amz-copy-source-range", "bytes=0-100");
        let outside = outside.with("x-amz-copy-source", "/mine/source");
        check(&server, vec![outside.with("x-amz-copy-source-range", "bytes=0-100")]).await;
    }
}

#[tokio::test]
async fn errors_of_buckets_name_the_bucket_and_the_setting() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let open = server.request("PUT", "/open").header("x-amz-object-ownership", "ObjectWriter");
    open.send().await.expect_status(200);
    let of_bucket = |subresource: &str, code| {
        let request = format!("GET /mine?{subresource}");
        row(&request, (404, code), &[("BucketName", "mine")])
    };
    let website = |inner: &str, name: &str, value: &str| {
        let body = format!("<WebsiteConfiguration>{inner}</WebsiteConfiguration>");
        let elements = [("ArgumentName", name), ("ArgumentValue", value)];
        row("PUT /mine?website", (400, "InvalidArgument"), &elements).body(&body)
    };
    let tags = |inner: &str, elements: &[(&'static str, &str)]| {
        let tag = |pair: &str| {
            let (key, value) = pair.split_once('=').expect("a pair");
            format!("<Tag><Key>{key}</Key><Value>{value}</Value></Tag>")
        };
        let inner: String = inner.split(';').map(tag).collect();
        let body = format!("<Tagging><TagSet>{inner}</TagSet></Tagging>");
        row("PUT /mine?tagging", (400, "InvalidTag"), elements).body(&body)
    };
    check(
        &server,
        vec![
            of_bucket("policy", "NoSuchBucketPolicy"),
            of_bucket("cors", "NoSuchCORSConfiguration"),
            of_bucket("lifecycle", "NoSuchLifecycleConfiguration"),
            of_bucket("publicAccessBlock", "NoSuchPublicAccessBlockConfiguration"),
            of_bucket("tagging", "NoSuchTagSet"),
            of_bucket("website", "NoSuchWebsiteConfiguration"),
            of_bucket("object-lock", "ObjectLockConfigurationNotFoundError"),
            of_bucket("replication", "ReplicationConfigurationNotFoundError"),
            of_bucket("encryption", "ServerSideEncryptionConfigurationNotFoundError"),
            website("<IndexDocument><Suffix>/i</Suffix></IndexDocument>", "IndexDocument", "/i"),
            website("<ErrorDocument><Key>e</Key></ErrorDocument>", "IndexDocument", "null"),
            tags("a=1;a=2", &[("TagKey", "a")]),
            tags("a,b=1", &[("TagKey", "a,b")]),
            tags("a=1,2", &[("TagKey", "a"), ("TagValue", "1,2")]),
            tags("aws:a=1", &[("TagKey", "aws:a")]),
            row("PUT /open?acl", (400, "MissingSecurityHeader"), &[("MissingHeaderName", "x-amz-acl")]),
            row(
                "PUT /open/k",
                (400, "InvalidArgument"),
                &[("ArgumentName", "id"), ("ArgumentValue", "wrong-id")],
            )
            .with("x-amz-grant-read", "id=\"wrong-id\""),
            row("PUT /other", (400, "InvalidLocationConstraint"), &[("LocationConstraint", "no where")])
                .body(
                    "<CreateBucketConfiguration><LocationConstraint>no where</LocationConstraint>\
                     </CreateBucketConfiguration>",
                ),
            row(
                "PUT /mine?logging",
                (400, "InvalidTargetBucketForLogging"),
                &[("TargetBucket", "none-of-mine")],
            )
            .body(
                "<BucketLoggingStatus><LoggingEnabled><TargetBucket>none-of-mine</TargetBucket>\
                 <TargetPrefix>p</TargetPrefix></LoggingEnabled></BucketLoggingStatus>",
            ),
            row(
                "PUT /mine?notification",
                (400, "InvalidArgument"),
                &[("ArgumentName", "Queue"), ("ArgumentValue", "invalid-queue")],
            )
            .body(
                "<NotificationConfiguration><QueueConfiguration><Queue>invalid-queue</Queue>\
                 <Event>s3:ObjectCreated:*</Event></QueueConfiguration></NotificationConfiguration>",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn requests_that_are_no_operation_say_why() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/key", "kept").await.expect_status(200);
    let invalid = |request: &str| row(request, (400, "InvalidRequest"), &[]);
    let not_allowed = |request: &str, kind: &str| {
        let method = request.split_once(' ').expect("method and path").0;
        row(request, (405, "MethodNotAllowed"), &[("Method", method), ("ResourceType", kind)])
    };
    let argument = |request: &str, name: &str, value: &str| {
        let elements = [("ArgumentName", name), ("ArgumentValue", value)];
        row(request, (400, "InvalidArgument"), &elements)
    };
    let source = "x-amz-copy-source";
    let no_copy = |request: &str| argument(request, source, "/mine/key").with(source, "/mine/key");
    // AWS repeats the name in the place of the value.
    let copy_of = |sent: &str| argument("PUT /mine/copy", source, source).with(source, sent);
    check(
        &server,
        vec![
            invalid("GET /mine/key?uploads"),
            invalid("GET /mine/key?versions"),
            invalid("GET /mine/key?attributes").with("x-amz-object-attributes", ""),
            argument("PUT /mine/key?partNumber=1", "partNumber", "partNumber"),
            not_allowed("PUT /mine/key?uploadId=a", "UPLOAD"),
            not_allowed("POST /mine/key", "OBJECT"),
            not_allowed("POST /", "SERVICE"),
            no_copy("GET /mine/key"),
            no_copy("GET /mine"),
            no_copy("GET /mine/key?tagging"),
            no_copy("DELETE /mine/key"),
            no_copy("DELETE /mine"),
            no_copy("POST /mine/key?uploadId=a"),
            no_copy("POST /mine?uploadId=a"),
            no_copy("POST /mine?delete"),
            no_copy("PUT /mine/key?tagging"),
            no_copy("PUT /mine?versioning"),
            copy_of("wrongformat"),
            copy_of("mine"),
            copy_of("/mine/"),
            copy_of("192.168.1.1/key"),
            copy_of("no&bucket/key"),
        ],
    )
    .await;
    assert_eq!(server.get("/mine/key").await.text(), "kept");
}

#[tokio::test]
async fn operations_with_a_document_say_that_it_is_missing() {
    let server = harness::memory().await;
    let locked = server.request("PUT", "/mine").header("x-amz-bucket-object-lock-enabled", "true");
    locked.send().await.expect_status(200);
    server.put("/mine/key", "kept").await.expect_status(200);
    let missing = |request: &str| row(request, (400, "MissingRequestBodyError"), &[]);
    check(
        &server,
        vec![
            missing("PUT /mine?accelerate"),
            missing("PUT /mine?cors"),
            missing("PUT /mine?encryption"),
            missing("PUT /mine?lifecycle"),
            missing("PUT /mine?logging"),
            missing("PUT /mine?notification"),
            missing("PUT /mine?object-lock"),
            missing("PUT /mine?ownershipControls"),
            missing("PUT /mine?publicAccessBlock"),
            missing("PUT /mine?requestPayment"),
            missing("PUT /mine?tagging"),
            missing("PUT /mine?versioning"),
            missing("PUT /mine?website"),
            missing("PUT /mine/key?tagging"),
            row("PUT /mine/key?legal-hold", (400, "MalformedXML"), &[]),
            row("PUT /mine/key?retention", (400, "MalformedXML"), &[]),
        ],
    )
    .await;
}
