//! The health paths of other servers, as what waits for these asks them.

use crate::harness;

#[tokio::test]
async fn paths_of_other_servers_are_answered_without_a_signature() {
    let server = harness::memory().await;
    let rows = [
        ("/minio/health/live", ""),
        ("/minio/health/ready", ""),
        ("/minio/health/cluster", ""),
        ("/minio/health/cluster/read", ""),
        ("/favicon.ico", ""),
        ("/healthz", "{\"status\":\"ready\"}\n"),
        ("/healthz/ready", "{\"status\":\"ready\"}\n"),
        ("/healthz/live", "{\"status\":\"live\"}\n"),
        ("/_localstack/init/ready", "{\"completed\": true, \"scripts\": []}"),
        ("/_localstack/init/SHUTDOWN", "{\"completed\": false, \"scripts\": []}"),
    ];
    for (path, body) in rows {
        let got = server.request("GET", path).anonymous().send().await.expect_status(200);
        assert_eq!(got.text(), body, "{path}");
        let head = server.request("HEAD", path).anonymous().send().await.expect_status(200);
        assert_eq!(head.text(), "", "{path}");
        assert!(head.header("x-amz-request-id").is_some(), "{path}");
    }
    let cluster = server.request("GET", "/minio/health/cluster").anonymous().send().await;
    assert_eq!(cluster.header("x-minio-write-quorum"), Some("1"));
    let read = server.request("GET", "/minio/health/cluster/read").anonymous().send().await;
    assert_eq!(read.header("x-minio-read-quorum"), Some("1"));
    let maintenance = server.request("GET", "/minio/health/cluster?maintenance=true");
    maintenance.anonymous().send().await.expect_status(412);
}

#[tokio::test]
async fn localstack_tells_its_services() {
    let server = harness::memory().await;
    let health = || server.request("GET", "/_localstack/health").anonymous().send();
    let before = health().await.expect_status(200);
    assert_eq!(before.header("content-type"), Some("application/json"));
    // Scripts look for these words.
    assert!(before.text().contains("\"s3\": \"available\""), "{}", before.text());
    server.bucket("mine").await;
    for path in ["/_localstack/health", "/_floci/health"] {
        let told = server.request("GET", path).anonymous().send().await.expect_status(200);
        let text = told.text();
        assert!(text.contains("\"s3\": \"running\""), "{text}");
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(json["edition"], "community");
        assert!(json["version"].is_string());
        for service in ["s3", "s3vectors", "s3tables", "iam", "sts"] {
            assert_eq!(json["services"][service], "running", "{service}");
        }
    }
    let info = server.request("GET", "/_localstack/info").anonymous().send().await;
    let info = info.expect_status(200).text();
    let info: serde_json::Value = serde_json::from_str(&info).expect("JSON");
    assert!(info["uptime"].is_u64() && info["server_time_utc"].is_string(), "{info}");
    let init = server.request("GET", "/_localstack/init").anonymous().send().await;
    let init: serde_json::Value =
        serde_json::from_str(&init.expect_status(200).text()).expect("JSON");
    assert_eq!(
        init,
        serde_json::json!({ "completed": { "BOOT": true, "START": true, "READY": true, "SHUTDOWN": false }, "scripts": [] })
    );
    let ask = |method, path| server.request(method, path).anonymous().send();
    ask("GET", "/_localstack/init/never").await.expect_error(404, "NoSuchKey");
    ask("GET", "/_localstack/nothing").await.expect_error(404, "NoSuchKey");
    ask("PUT", "/_localstack/health").await.expect_error(405, "MethodNotAllowed");
    // Nobody ends the server without a signature.
    let kill = server.request("POST", "/_localstack/health").anonymous();
    kill.body("{\"action\": \"kill\"}").send().await.expect_error(501, "NotImplemented");
    ask("GET", "/_localstack/health").await.expect_status(200);
}

#[tokio::test]
async fn a_bucket_has_its_name_to_itself() {
    let server = harness::memory().await;
    let anonymous = |method, path: &str| server.request(method, path).anonymous().send();
    for (bucket, key) in [("minio", "health/live"), ("healthz", "ready"), ("favicon.ico", "other")]
    {
        let path = format!("/{bucket}/{key}");
        // Signed, another method, or another path: a bucket that is not there.
        server.get(&path).await.expect_error(404, "NoSuchBucket");
        anonymous("PUT", &path).await.expect_error(404, "NoSuchBucket");
        anonymous("GET", &format!("{path}/more")).await.expect_error(404, "NoSuchBucket");
        let presigned = server.request("GET", &path).presigned("60");
        anonymous("GET", &presigned).await.expect_error(404, "NoSuchBucket");
        server.bucket(bucket).await;
        server.put(&path, "an object").await.expect_status(200);
        assert_eq!(server.get(&path).await.expect_status(200).text(), "an object");
        let presigned = anonymous("GET", &presigned).await.expect_status(200);
        assert_eq!(presigned.text(), "an object");
        anonymous("GET", &path).await.expect_error(403, "AccessDenied");
        anonymous("GET", &format!("/{bucket}")).await.expect_error(403, "AccessDenied");
        // Paths that no bucket can have are answered as before.
        anonymous("GET", "/_localstack/health").await.expect_status(200);
        server.delete(&path).await.expect_status(204);
        server.delete(&format!("/{bucket}")).await.expect_status(204);
    }
    for path in ["/minio/health/live", "/healthz/ready", "/favicon.ico"] {
        anonymous("GET", path).await.expect_status(200);
    }
    // In virtual-host addressing these are keys.
    let photos = server.request("GET", "/minio/health/live").header("host", "photos.localhost");
    photos.anonymous().send().await.expect_error(404, "NoSuchBucket");
    let photos = server.request("GET", "/_localstack/health").header("host", "photos.localhost");
    photos.anonymous().send().await.expect_error(404, "NoSuchBucket");
}
