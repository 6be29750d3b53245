//! Everything that a server has is in its backup.

use super::{Served, directory, files, location, refused, serve_restored, told};
use crate::harness::etag;

/// The bytes of a test, which do not compress.
fn body(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// Objects of each kind, annotations, versions, an upload, vectors, a user.
pub(super) async fn fill(server: &Served) {
    server.put("/plain", "").await;
    for (key, length) in [("tiny", 100), ("small", 20 << 10), ("large", 2 << 20)] {
        server.put(&format!("/plain/{key}"), body(length as u64, length)).await;
    }
    for (name, length) in [("short", 10), ("long", 100_000)] {
        let annotation = format!("/plain/small?annotation&annotationName={name}");
        server.put(&annotation, "a".repeat(length)).await;
    }
    server.delete("/plain/small?annotation&annotationName=short").await;
    server.put("/plain/replaced", body(1, 300_000)).await;
    server.put("/plain/replaced", body(2, 300_000)).await;
    server.put("/plain/deleted", body(3, 300_000)).await;
    server.delete("/plain/deleted").await;

    let created = server.request("POST", "/plain/parts?uploads").send().await;
    let upload = created.expect_status(200).element("UploadId");
    let mut list = String::new();
    for (number, length) in [(1, 5 << 20), (2, 1000)] {
        let part = body(number, length);
        let path = format!("/plain/parts?partNumber={number}&uploadId={upload}");
        server.put(&path, &part).await;
        let etag = etag(&part);
        list += &format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>");
    }
    let list = format!("<CompleteMultipartUpload>{list}</CompleteMultipartUpload>");
    let complete = server.request("POST", &format!("/plain/parts?uploadId={upload}")).body(list);
    complete.send().await.expect_status(200);

    server.put("/versions", "").await;
    let versioning = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    server.put("/versions?versioning", versioning).await;
    for length in [10, 20_000, 2_000_000] {
        server.put("/versions/key", body(length as u64, length)).await;
        server.put("/versions/key?annotation&annotationName=of", length.to_string()).await;
    }
    server.delete("/versions/key").await;

    server.vectors("CreateVectorBucket", r#"{"vectorBucketName":"media"}"#).await;
    let index = r#"{"vectorBucketName":"media","indexName":"films","dataType":"float32",
        "dimension":3,"distanceMetric":"cosine"}"#;
    server.vectors("CreateIndex", index).await;
    let vectors = r#"{"vectorBucketName":"media","indexName":"films","vectors":[
        {"key":"a","data":{"float32":[1,2,3]},"metadata":{"year":1999}},
        {"key":"b","data":{"float32":[-1,2,3]}},{"key":"c","data":{"float32":[1,0,0]}}]}"#;
    server.vectors("PutVectors", vectors).await;

    server.iam("Action=CreateUser&UserName=dora").await;
}

/// The answers that clients get about the data of [`fill`].
pub(super) async fn contents(server: &Served) -> Vec<(String, Vec<u8>)> {
    let mut contents = Vec::new();
    let keys = ["tiny", "small", "large", "replaced", "parts"];
    let mut paths: Vec<String> = keys.map(|key| format!("/plain/{key}")).into();
    paths.push("/plain/small?annotation&annotationName=long".to_owned());
    let versions = server.get("/versions?versions").await.expect_status(200);
    let ids = versions.elements("VersionId");
    assert_eq!(ids.len(), 4, "{}", versions.text());
    contents.push(("versions".to_owned(), versions.body));
    // The first is a delete marker.
    paths.extend(ids[1..].iter().flat_map(|id| {
        let version = format!("/versions/key?versionId={id}");
        [format!("{version}&annotation&annotationName=of"), version]
    }));
    for path in paths {
        let reply = server.get(&path).await.expect_status(200);
        contents.push((path + reply.header("etag").expect("an ETag"), reply.body));
    }
    server.get("/plain/deleted").await.expect_error(404, "NoSuchKey");
    let names = server.get("/plain/small?annotation").await.expect_status(200);
    assert_eq!(names.elements("AnnotationName"), ["long"]);
    let query = r#"{"vectorBucketName":"media","indexName":"films","topK":3,"returnDistance":true,
        "returnMetadata":true,"queryVector":{"float32":[1,2,2]}}"#;
    contents.push(("query".to_owned(), server.vectors("QueryVectors", query).await.body));
    let users = server.iam("Action=ListUsers").await;
    contents.push(("users".to_owned(), format!("{:?}", users.elements("UserName")).into()));
    contents
}

#[tokio::test]
async fn a_directory_that_was_stopped_in_order_is_restored_whole() {
    let directory = directory();
    let location = location(&directory);
    let server = Served::backed_up(&directory, "data", &["--backup", &location]);
    server.kept().await;
    fill(&server).await;
    let before = contents(&server).await;
    let log = server.end();
    assert!(log.contains("the backup begins") && !log.contains("WARN"), "{log}");

    let server = serve_restored(&directory, &location, &[]);
    assert!(contents(&server).await == before, "after the log");
    server.end();
    std::fs::remove_dir_all(directory.path().join("restored")).expect("removed");

    // The next run begins with a base of everything.
    let server = Served::backed_up(&directory, "data", &["--backup", &location]);
    server.kept().await;
    server.end();
    let server = serve_restored(&directory, &location, &[]);
    assert!(contents(&server).await == before, "from a base");
    server.end();
    let verified = told(&directory, 0, &["backup", "verify", &location]);
    assert!(verified.contains("2 generations, 2 bases") && verified.contains(" 0 damaged"));
}

#[tokio::test]
async fn a_bucket_of_another_server_has_an_encrypted_backup() {
    let directory = directory();
    let target = Served::start(&directory, &["--data-dir", "target", "--bucket", "backup"]);
    for name in ["backup.key", "other.key"] {
        told(&directory, 0, &["key", "new", name]);
    }
    std::fs::write(directory.path().join("secret"), "liteio123\n").expect("written");
    let endpoint = format!("http://{}", target.address);
    let location = "s3://backup/servers/one";
    let backup = [
        "--backup",
        location,
        "--backup-key-file",
        "backup.key",
        "--backup-endpoint",
        &endpoint,
        "--backup-access-key",
        "liteio",
        "--backup-secret-key-file",
        "secret",
    ];
    let server = Served::backed_up(&directory, "data", &backup);
    server.kept().await;
    fill(&server).await;
    server.put("/plain/text", "nobody may read this in the bucket ".repeat(1000)).await;
    let before = contents(&server).await;
    server.end();

    let access = ["--endpoint", &endpoint, "--access-key", "liteio", "--secret-key-file", "secret"];
    let with_key = |key: &'static str| [&access[..], &["--key-file", key]].concat();
    let status = [&["backup", "status", location][..], &with_key("backup.key")].concat();
    assert!(told(&directory, 0, &status).contains(": encrypted, "));
    let restore = ["restore", location, "wrong"];
    let missing = refused(&directory, 1, &[&restore, &access[..]].concat());
    assert!(missing.contains("is encrypted: give its key file"), "{missing}");
    let wrong = refused(&directory, 1, &[&restore[..], &with_key("other.key")].concat());
    assert!(wrong.contains("is encrypted with another key"), "{wrong}");
    assert!(!directory.path().join("wrong").exists());

    let restored = serve_restored(&directory, location, &with_key("backup.key"));
    assert!(contents(&restored).await == before);
    restored.end();
    let verify = [&["backup", "verify", location][..], &with_key("backup.key")].concat();
    assert!(told(&directory, 0, &verify).contains(" 0 damaged"));
    target.end();
    for file in files(&directory.path().join("target"), "") {
        let bytes = std::fs::read(&file).expect("readable");
        let is_readable = bytes.windows(18).any(|it| it == b"nobody may read th");
        assert!(!is_readable, "{}", file.display());
    }
}
