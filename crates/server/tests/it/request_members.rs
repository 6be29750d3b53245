//! Members of requests that a server may not ignore: locks, holds, encryptions and conditions that it does not know,
//! and settings that it would not keep.

use crate::form;
use crate::harness;

#[tokio::test]
async fn unknown_promises_are_refused_by_name_and_nothing_is_written() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/source", "x").await.expect_status(200);
    let names = [
        "x-amz-object-lock-event-hold-of-tomorrow",
        "x-amz-object-lock-of-tomorrow",
        "x-amz-server-side-encryption-of-tomorrow",
        "x-amz-if-match-colour",
    ];
    for name in names {
        let put = server.request("PUT", "/mine/k").header(name, "ON").body("x").send().await;
        let put = put.expect_error(501, "NotImplemented");
        assert!(put.element("Message").contains(name), "{}", put.text());
        let copy = server.request("PUT", "/mine/k").header("x-amz-copy-source", "/mine/source");
        copy.header(name, "ON").send().await.expect_error(501, "NotImplemented");
        let create = server.request("POST", "/mine/k?uploads").header(name, "ON").send().await;
        create.expect_error(501, "NotImplemented");
        let delete = server.request("DELETE", "/mine/source").header(name, "ON").send().await;
        delete.expect_error(501, "NotImplemented");
        // Other fields of a form are no headers.
        if !name.starts_with("x-amz-if-") {
            let posted = form::upload(&server, &[("key", "k"), (name, "ON")], b"x").await;
            posted.expect_error(501, "NotImplemented");
        }
    }
    assert!(!server.get("/mine?uploads").await.has_element("Upload"));
    assert_eq!(server.get("/mine").await.elements("Key"), ["source"]);
}

#[tokio::test]
async fn headers_of_clients_and_proxies_pass() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let names = [
        "x-amz-user-agent",
        "x-amz-cf-id",
        "x-amz-request-payer",
        "x-amz-mfa",
        "x-amz-meta-object-lock-event-hold",
        "amz-sdk-invocation-id",
        "amz-sdk-request",
    ];
    for name in names {
        let put = server.request("PUT", "/mine/k").header(name, "value").body("x");
        put.send().await.expect_status(200);
        server.request("GET", "/mine/k").header(name, "value").send().await.expect_status(200);
    }
}

#[tokio::test]
async fn a_bucket_of_the_accounts_namespace_has_the_name_for_it() {
    let server = harness::memory().await;
    let create = async |name: &str, namespace: &str| {
        let create = server.request("PUT", name).header("x-amz-bucket-namespace", namespace);
        create.send().await
    };
    create("/plain", "account-regional").await.expect_error(400, "InvalidBucketName");
    create("/p-111122223333-us-east-1-an", "account-regional")
        .await
        .expect_error(400, "InvalidBucketName");
    let refused = create("/plain", "galaxy").await.expect_error(400, "InvalidArgument");
    assert_eq!(refused.element("ArgumentValue"), "galaxy");
    assert!(server.get("/").await.elements("Name").is_empty());
    create("/plain", "global").await.expect_status(200);
    let demanded = create("/other", "account-regional").await.element("Message");
    let suffix = demanded.rsplit(' ').next().expect("a word").trim_end_matches('.').to_owned();
    assert!(suffix.ends_with("-us-east-1-an"), "{demanded}");
    create(&format!("/mine{suffix}"), "account-regional").await.expect_status(200);
    create(&format!("/{}", suffix.trim_start_matches('-')), "account-regional")
        .await
        .expect_error(400, "InvalidBucketName");
}

#[tokio::test]
async fn the_smallest_object_of_transitions_is_kept() {
    const NAME: &str = "x-amz-transition-default-minimum-object-size";
    for server in harness::both().await {
        server.bucket("mine").await;
        let rules = "<LifecycleConfiguration><Rule><ID>r</ID><Status>Enabled</Status><Filter/>\
                     <Expiration><Days>7</Days></Expiration></Rule></LifecycleConfiguration>";
        let put = async |minimum: Option<&str>| {
            let request = server.request("PUT", "/mine?lifecycle").body(rules);
            minimum.into_iter().fold(request, |it, value| it.header(NAME, value)).send().await
        };
        for (sent, kept) in [
            (Some("varies_by_storage_class"), "varies_by_storage_class"),
            (None, "all_storage_classes_128K"),
            (Some("all_storage_classes_128K"), "all_storage_classes_128K"),
            (Some("varies_by_storage_class"), "varies_by_storage_class"),
        ] {
            let answer = put(sent).await.expect_status(200);
            assert_eq!(answer.header(NAME), Some(kept), "{sent:?}");
            let got = server.get("/mine?lifecycle").await.expect_status(200);
            assert_eq!((got.header(NAME), got.element("ID")), (Some(kept), "r".to_owned()));
        }
        put(Some("value")).await.expect_error(400, "InvalidRequest");
        let got = server.get("/mine?lifecycle").await;
        assert_eq!(got.header(NAME), Some("varies_by_storage_class"));
    }
}

#[tokio::test]
async fn a_bypass_needs_a_bucket_with_a_lock() {
    for server in harness::both().await {
        server.bucket("mine").await;
        server.put("/mine/k", "x").await.expect_status(200);
        let list = "<Delete><Object><Key>k</Key></Object></Delete>";
        let retention = "<Retention><Mode>GOVERNANCE</Mode>\
                         <RetainUntilDate>2999-01-01T00:00:00Z</RetainUntilDate></Retention>";
        let rows = [
            ("DELETE", "/mine/k", ""),
            ("POST", "/mine?delete", list),
            ("PUT", "/mine/k?retention", retention),
        ];
        for (method, path, body) in rows {
            let request = server.request(method, path).body(body);
            let request =
                request.header("content-md5", harness::base64(&harness::md5(body.as_bytes())));
            let request = request.header("x-amz-bypass-governance-retention", "true");
            let refused = request.send().await.expect_error(400, "InvalidArgument");
            let name = refused.element("ArgumentName");
            assert_eq!(name, "x-amz-bypass-governance-retention", "{method} {path}");
        }
        server.get("/mine/k").await.expect_status(200);
    }
}

#[tokio::test]
async fn a_copy_source_has_one_parameter() {
    for server in harness::both().await {
        server.bucket("mine").await;
        server.put("/mine/k", "x").await.expect_status(200);
        server.put("/mine/a%3Fb%3Dc", "y").await.expect_status(200);
        for source in [
            "/mine/k?version_id=1",
            "/mine/k?versionid=null",
            "/mine/k?x",
            "/mine/k?",
            "/mine/k?versionId",
            "/mine/k?x=1&versionId=null",
            "/mine/k?versionId=null&x=1",
            "/mine/k?versionId=null&versionId=null",
        ] {
            let copy = server.request("PUT", "/mine/out").header("x-amz-copy-source", source);
            let copy = copy.send().await.expect_error(400, "InvalidArgument");
            assert_eq!(copy.element("ArgumentValue"), source);
        }
        server.get("/mine/out").await.expect_error(404, "NoSuchKey");
        for (source, body) in [
            ("/mine/k?versionId=null", "x"),
            ("/mine/a%3Fb%3Dc", "y"),
            ("/mine/a%3Fb%3Dc?versionId=null", "y"),
        ] {
            let copy = server.request("PUT", "/mine/out").header("x-amz-copy-source", source);
            copy.send().await.expect_status(200);
            assert_eq!(server.get("/mine/out").await.text(), body, "{source}");
        }
    }
}
