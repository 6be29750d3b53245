//! Object lock as clients see it. The store's tests have its rules.

use crate::harness::{self, TestServer};

const FAR: &str = "2999-01-01T00:00:00.000Z";

async fn locked_bucket(server: &TestServer) {
    let create = server.request("PUT", "/mine").header("x-amz-bucket-object-lock-enabled", "true");
    create.send().await.expect_status(200);
    assert_eq!(server.get("/mine?versioning").await.element("Status"), "Enabled");
}

fn configuration(rule: &str) -> String {
    format!(
        "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>{rule}\
         </ObjectLockConfiguration>"
    )
}

fn default_retention(inner: &str) -> String {
    configuration(&format!("<Rule><DefaultRetention>{inner}</DefaultRetention></Rule>"))
}

fn retention(mode: &str, until: &str) -> String {
    format!("<Retention><Mode>{mode}</Mode><RetainUntilDate>{until}</RetainUntilDate></Retention>")
}

#[tokio::test]
async fn a_locked_version_cannot_be_deleted_and_says_why() {
    for server in harness::both().await {
        locked_bucket(&server).await;
        let put = server.request("PUT", "/mine/key").headers(&[
            ("x-amz-object-lock-mode", "GOVERNANCE"),
            ("x-amz-object-lock-retain-until-date", FAR),
            ("x-amz-object-lock-legal-hold", "ON"),
        ]);
        let put = put.body("x").send().await;
        let put = put.expect_status(200);
        let version = put.header("x-amz-version-id").expect("an id").to_owned();
        let head = server.head("/mine/key").await;
        assert_eq!(head.header("x-amz-object-lock-mode"), Some("GOVERNANCE"));
        assert_eq!(head.header("x-amz-object-lock-retain-until-date"), Some(FAR));
        assert_eq!(head.header("x-amz-object-lock-legal-hold"), Some("ON"));
        assert_eq!(server.get("/mine/key?legal-hold").await.element("Status"), "ON");
        let kept = server.get("/mine/key?retention").await;
        assert_eq!(
            (&*kept.element("Mode"), &*kept.element("RetainUntilDate")),
            ("GOVERNANCE", FAR)
        );

        let path = format!("/mine/key?versionId={version}");
        let bypass = || {
            let delete = server.request("DELETE", &path);
            delete.header("x-amz-bypass-governance-retention", "true").send()
        };
        bypass().await.expect_error(403, "AccessDenied");
        let off = "<LegalHold><Status>OFF</Status></LegalHold>";
        server.put("/mine/key?legal-hold", off).await.expect_status(200);
        server.delete(&path).await.expect_error(403, "AccessDenied");
        let shorter = retention("GOVERNANCE", "2998-01-01T00:00:00Z");
        server.put("/mine/key?retention", &shorter).await.expect_error(403, "AccessDenied");
        bypass().await.expect_status(204);
        server.get("/mine/key").await.expect_status(404);
    }
}

#[tokio::test]
async fn the_default_of_the_bucket_holds_from_the_next_request_on() {
    let server = harness::memory().await;
    locked_bucket(&server).await;
    server.put("/mine/before", "x").await.expect_status(200);
    let default = default_retention("<Mode>COMPLIANCE</Mode><Years>1</Years>");
    server.put("/mine?object-lock", &default).await.expect_status(200);
    server.put("/mine/after", "x").await.expect_status(200);
    server.get("/mine/before?retention").await.expect_error(404, "NoSuchObjectLockConfiguration");
    assert_eq!(server.get("/mine/after?retention").await.element("Mode"), "COMPLIANCE");
    let got = server.get("/mine?object-lock").await;
    assert_eq!((&*got.element("Mode"), &*got.element("Years")), ("COMPLIANCE", "1"));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let server = harness::memory().await;
    server.bucket("plain").await;
    locked_bucket(&server).await;
    server.put("/mine/key", "x").await.expect_status(200);
    server.put("/plain/key", "x").await.expect_status(200);

    let missing = "ObjectLockConfigurationNotFoundError";
    server.get("/plain?object-lock").await.expect_error(404, missing);
    server
        .put("/plain?object-lock", configuration(""))
        .await
        .expect_error(409, "InvalidBucketState");
    server.get("/plain/key?retention").await.expect_error(400, "InvalidRequest");
    server.get("/plain/key?legal-hold").await.expect_error(400, "InvalidRequest");
    let far = retention("GOVERNANCE", FAR);
    server.put("/plain/key?retention", &far).await.expect_error(400, "InvalidRequest");
    let put = server.request("PUT", "/plain/locked").header("x-amz-object-lock-legal-hold", "ON");
    put.body("x").send().await.expect_error(400, "InvalidRequest");
    server.head("/plain/locked").await.expect_status(404);

    server.put("/plain", "").await.expect_status(200);
    let again = server.request("PUT", "/plain").header("x-amz-bucket-object-lock-enabled", "true");
    again.send().await.expect_error(409, "BucketAlreadyOwnedByYou");
    server.get("/plain?object-lock").await.expect_error(404, missing);

    for (rule, code) in [
        (default_retention("<Mode>GOVERNANCE</Mode><Days>0</Days>"), "InvalidRetentionPeriod"),
        (default_retention("<Mode>GOVERNANCE</Mode><Days>-1</Days>"), "InvalidRetentionPeriod"),
        (default_retention("<Mode>GOVERNANCE</Mode><Years>101</Years>"), "InvalidRetentionPeriod"),
        (
            default_retention("<Mode>GOVERNANCE</Mode><Days>1</Days><Years>1</Years>"),
            "MalformedXML",
        ),
        (default_retention("<Mode>GOVERNANCE</Mode>"), "MalformedXML"),
        (default_retention("<Mode>governance</Mode><Days>1</Days>"), "MalformedXML"),
        (default_retention("<Days>1</Days>"), "MalformedXML"),
        (configuration("<Rule/>"), "MalformedXML"),
        (configuration("<Other/>"), "MalformedXML"),
        ("<ObjectLockConfiguration/>".to_owned(), "MalformedXML"),
        (String::new(), "MissingRequestBodyError"),
    ] {
        server.put("/mine?object-lock", &rule).await.expect_error(400, code);
    }
    for (body, code) in [
        (retention("GOVERNANCE", "2001-01-01T00:00:00Z"), "InvalidArgument"),
        (retention("abc", FAR), "MalformedXML"),
        (retention("GOVERNANCE", "tomorrow"), "MalformedXML"),
        ("<Retention><Mode>GOVERNANCE</Mode></Retention>".to_owned(), "MalformedXML"),
    ] {
        server.put("/mine/key?retention", &body).await.expect_error(400, code);
    }
    for body in ["<LegalHold/>", "<LegalHold><Status>abc</Status></LegalHold>"] {
        server.put("/mine/key?legal-hold", body).await.expect_error(400, "MalformedXML");
    }
    for headers in [
        vec![("x-amz-object-lock-mode", "GOVERNANCE")],
        vec![("x-amz-object-lock-retain-until-date", FAR)],
        vec![("x-amz-object-lock-mode", "ABC"), ("x-amz-object-lock-retain-until-date", FAR)],
        vec![
            ("x-amz-object-lock-mode", "GOVERNANCE"),
            ("x-amz-object-lock-retain-until-date", "x"),
        ],
        vec![("x-amz-object-lock-legal-hold", "on")],
    ] {
        let put = server.request("PUT", "/mine/refused").headers(&headers).body("x").send().await;
        put.expect_error(400, "InvalidArgument");
    }
    server.head("/mine/refused").await.expect_status(404);
    let suspended = "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>";
    server.put("/mine?versioning", suspended).await.expect_error(409, "InvalidBucketState");
    assert_eq!(server.head("/mine/key").await.header("x-amz-object-lock-mode"), None);
}
