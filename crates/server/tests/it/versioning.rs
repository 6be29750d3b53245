//! Versions as clients see them: ids, delete markers, and the answers for what is hidden.

use aws_sdk_s3::types::{
    BucketVersioningStatus, Delete, ObjectIdentifier, VersioningConfiguration,
};

use crate::harness::{self, TestServer};

async fn set_versioning(server: &TestServer, status: BucketVersioningStatus) {
    let configuration = VersioningConfiguration::builder().status(status).build();
    let set = server.client().put_bucket_versioning().bucket("mine");
    set.versioning_configuration(configuration).send().await.expect("set");
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
        let client = server.client();
        server.bucket("mine").await;
        let never = client.get_bucket_versioning().bucket("mine").send().await.expect("answer");
        assert_eq!(never.status, None);
        assert_eq!(put(&server, "0").await, None);
        assert_eq!(server.head("/mine/key").await.header("x-amz-version-id"), None);

        set_versioning(&server, BucketVersioningStatus::Enabled).await;
        let enabled = client.get_bucket_versioning().bucket("mine").send().await.expect("answer");
        assert_eq!(enabled.status, Some(BucketVersioningStatus::Enabled));
        assert_eq!(server.head("/mine/key").await.header("x-amz-version-id"), Some("null"));
        let first = put(&server, "1").await.expect("an id");
        let second = put(&server, "2").await.expect("an id");
        for (version, body) in [("null", "0"), (first.as_str(), "1"), (second.as_str(), "2")] {
            let got = server.get(&format!("/mine/key?versionId={version}")).await;
            assert_eq!(got.body, body.as_bytes(), "{version}");
            assert_eq!(got.header("x-amz-version-id"), Some(version));
        }

        set_versioning(&server, BucketVersioningStatus::Suspended).await;
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
        set_versioning(&server, BucketVersioningStatus::Enabled).await;
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
    let client = server.client();
    server.bucket("mine").await;
    set_versioning(&server, BucketVersioningStatus::Enabled).await;
    let first = put(&server, "1").await.expect("an id");
    let second = put(&server, "2").await.expect("an id");
    let source = format!("mine/key?versionId={first}");
    let copy = client.copy_object().bucket("mine").key("copy").copy_source(source).send().await;
    let copy = copy.expect("copied");
    assert_eq!(copy.copy_source_version_id.as_deref(), Some(&*first));
    assert!(copy.version_id.is_some());
    assert_eq!(server.get("/mine/copy").await.body, b"1");

    let of = |version: &str| {
        ObjectIdentifier::builder().key("key").version_id(version).build().expect("a key")
    };
    let marked = ObjectIdentifier::builder().key("key").build().expect("a key");
    let delete = Delete::builder().objects(of(&second)).objects(marked).build().expect("two");
    let deleted = client.delete_objects().bucket("mine").delete(delete).send().await;
    let deleted = deleted.expect("answers").deleted.expect("two");
    assert_eq!(deleted[0].version_id.as_deref(), Some(&*second));
    assert_eq!(deleted[0].delete_marker, None);
    let marker = deleted[1].delete_marker_version_id.clone().expect("a delete marker");

    let listed = client.list_object_versions().bucket("mine").prefix("key").send().await;
    let listed = listed.expect("listed");
    let ids: Vec<_> = listed.versions().iter().map(|version| version.version_id()).collect();
    assert_eq!(ids, [Some(&*first)]);
    let markers: Vec<_> = listed.delete_markers().iter().map(|it| it.version_id()).collect();
    assert_eq!(markers, [Some(&*marker)]);
    assert_eq!(listed.delete_markers()[0].is_latest, Some(true));
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
