//! Versions as clients see them: ids, delete markers, and the answers for what is hidden.

use crate::harness::{self, TestServer, base64, md5};

async fn set_versioning(server: &TestServer, status: &str) {
    let configuration =
        format!("<VersioningConfiguration><Status>{status}</Status></VersioningConfiguration>");
    server.put("/mine?versioning", configuration).await.expect_status(200);
}

/// Puts an object, and returns its version id.
async fn put(server: &TestServer, body: &'static str) -> Option<String> {
    let put = server.put("/mine/key", body).await;
    let put = put.expect_status(200);
    put.header("x-amz-version-id").map(str::to_owned)
}

#[tokio::test]
async fn a_bucket_names_versions_once_it_has_some() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let status = async || server.get("/mine?versioning").await.element("Status");
        assert_eq!(status().await, "");
        assert_eq!(put(&server, "0").await, None);
        assert_eq!(server.head("/mine/key").await.header("x-amz-version-id"), None);

        set_versioning(&server, "Enabled").await;
        assert_eq!(status().await, "Enabled");
        assert_eq!(server.head("/mine/key").await.header("x-amz-version-id"), Some("null"));
        let first = put(&server, "1").await.expect("an id");
        let second = put(&server, "2").await.expect("an id");
        for (version, body) in [("null", "0"), (first.as_str(), "1"), (second.as_str(), "2")] {
            let got = server.get(&format!("/mine/key?versionId={version}")).await;
            assert_eq!(got.body, body.as_bytes(), "{version}");
            assert_eq!(got.header("x-amz-version-id"), Some(version));
        }

        set_versioning(&server, "Suspended").await;
        assert_eq!(put(&server, "3").await, None, "writes do not name it");
        assert_eq!(server.head("/mine/key").await.header("x-amz-version-id"), Some("null"));
        assert_eq!(server.get("/mine/key?versionId=null").await.body, b"3");
        assert_eq!(server.get(&format!("/mine/key?versionId={second}")).await.body, b"2");
    }
}

#[tokio::test]
async fn a_delete_marker_hides_an_object_and_says_so() {
    for server in harness::both().await {
        server.bucket("mine").await;
        set_versioning(&server, "Enabled").await;
        let version = put(&server, "1").await.expect("an id");
        let deleted = server.delete("/mine/key").await;
        let deleted = deleted.expect_status(204);
        assert_eq!(deleted.header("x-amz-delete-marker"), Some("true"));
        let marker = deleted.header("x-amz-version-id").expect("an id").to_owned();

        for method in ["GET", "HEAD"] {
            let hidden = server.request(method, "/mine/key").send().await;
            let hidden = hidden.expect_status(404);
            assert_eq!(hidden.header("x-amz-delete-marker"), Some("true"), "{method}");
            assert_eq!(hidden.header("x-amz-version-id"), Some(marker.as_str()), "{method}");
            let path = format!("/mine/key?versionId={marker}");
            let named = server.request(method, &path).send().await;
            let named = named.expect_status(405);
            assert_eq!(named.header("allow"), Some("DELETE"), "{method}");
            assert_eq!(named.header("x-amz-delete-marker"), Some("true"), "{method}");
            assert!(named.header("last-modified").is_some(), "{method}");
        }
        let never = server.get("/mine/other").await;
        let never = never.expect_status(404);
        assert_eq!(never.header("x-amz-delete-marker"), None);

        let path = format!("/mine/key?versionId={marker}");
        let restored = server.delete(&path).await;
        assert_eq!(restored.header("x-amz-delete-marker"), Some("true"));
        assert_eq!(restored.header("x-amz-version-id"), Some(marker.as_str()));
        assert_eq!(server.get("/mine/key").await.header("x-amz-version-id"), Some(&*version));
    }
}

#[tokio::test]
async fn versions_are_copied_and_deleted_by_their_ids() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    set_versioning(&server, "Enabled").await;
    let first = put(&server, "1").await.expect("an id");
    let second = put(&server, "2").await.expect("an id");
    let source = format!("mine/key?versionId={first}");
    let copy = server.request("PUT", "/mine/copy").header("x-amz-copy-source", source).send().await;
    let copy = copy.expect_status(200);
    assert_eq!(copy.header("x-amz-copy-source-version-id"), Some(&*first));
    assert!(copy.header("x-amz-version-id").is_some());
    assert_eq!(server.get("/mine/copy").await.body, b"1");

    let document = format!(
        "<Delete><Object><Key>key</Key><VersionId>{second}</VersionId></Object>\
         <Object><Key>key</Key></Object></Delete>"
    );
    let digest = base64(&md5(document.as_bytes()));
    let delete = server.request("POST", "/mine?delete").body(&document);
    let deleted = delete.header("content-md5", digest).send().await.expect_status(200);
    assert_eq!(deleted.elements("VersionId"), [&*second]);
    assert_eq!(deleted.elements("DeleteMarker"), ["true"], "of the second alone");
    let marker = deleted.element("DeleteMarkerVersionId");

    let listed = server.get("/mine?prefix=key&versions").await.expect_status(200);
    // The newest first.
    assert_eq!(listed.elements("VersionId"), [&*marker, &*first]);
    assert_eq!(listed.elements("IsLatest"), ["true", "false"]);
    assert_eq!(listed.elements("DeleteMarker").len(), 1);
}

#[tokio::test]
async fn what_is_no_version_or_no_configuration_is_refused() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/key", "x").await.expect_status(200);
    for (path, status, code) in [
        ("/mine/key?versionId=", 400, "InvalidArgument"),
        ("/mine/key?versionId=unknown", 400, "InvalidArgument"),
        ("/mine/key?versionId=00000000000000000000000000000000", 404, "NoSuchVersion"),
    ] {
        server.get(path).await.expect_error(status, code);
    }
    for (body, code) in [
        ("", "MissingRequestBodyError"),
        ("<VersioningConfiguration/>", "IllegalVersioningConfigurationException"),
        ("<VersioningConfiguration><Status>On</Status></VersioningConfiguration>", "MalformedXML"),
        (
            "<VersioningConfiguration><Status>Enabled</Status><State/></VersioningConfiguration>",
            "MalformedXML",
        ),
    ] {
        server.put("/mine?versioning", body).await.expect_error(400, code);
    }
    let mfa = "<VersioningConfiguration><Status>Enabled</Status><MfaDelete>Enabled</MfaDelete>\
               </VersioningConfiguration>";
    server.put("/mine?versioning", mfa).await.expect_error(501, "NotImplemented");
    assert_eq!(server.get("/mine?versioning").await.element("Status"), "");
}
