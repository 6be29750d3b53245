//! Quotas of buckets, set by MinIO's admin API, as each way to write meets them.

use serde_json::{Value, json};

use crate::admin::send;
use crate::harness::{ACCOUNTS, ALICE, BOB, TestServer, User, in_memory_with_users, memory};
use crate::reply::Reply;

const EXCEEDED: &str = "XMinioAdminBucketQuotaExceeded";

async fn set(server: &TestServer, by: User, document: Value) -> Reply {
    send(server, by, "PUT", "set-bucket-quota?bucket=photos", document.to_string()).await
}

async fn get(server: &TestServer, by: User) -> Reply {
    send(server, by, "GET", "get-bucket-quota?bucket=photos", "").await
}

fn json_of(reply: Reply) -> Value {
    serde_json::from_slice(&reply.expect_status(200).body).expect("JSON")
}

fn check(reply: &Reply, status: u16, code: &str) {
    assert_eq!(reply.status, status, "{}", reply.everything());
    let told: Value = serde_json::from_slice(&reply.body).expect("JSON");
    assert_eq!(told["Code"], code, "{told}");
}

#[tokio::test]
async fn a_quota_is_set_told_and_removed_as_by_minio() {
    let server = memory().await;
    server.bucket("photos").await;
    let none = json!({ "quota": 0, "size": 0, "rate": 0, "requests": 0 });
    assert_eq!(json_of(get(&server, ALICE).await), none);
    // As the client of MinIO sends it, and as its older ones do.
    for sent in [
        json!({ "quota": 1000, "size": 1000, "rate": 0, "requests": 0, "quotatype": "hard" }),
        json!({ "quota": 1000, "quotatype": "hard" }),
    ] {
        set(&server, ALICE, sent).await.expect_status(200);
        let told = json!({
            "quota": 1000, "size": 1000, "rate": 0, "requests": 0, "quotatype": "hard",
        });
        assert_eq!(json_of(get(&server, ALICE).await), told);
    }
    for wrong in [
        json!({ "quota": 1000, "quotatype": "fifo" }),
        json!({ "size": 1000, "rate": 5 }),
        json!({ "size": 1000, "requests": 5 }),
        json!({ "size": 1000, "quota": 5 }),
    ] {
        check(&set(&server, ALICE, wrong).await, 400, "XMinioAdminInvalidArgument");
    }
    check(&set(&server, ALICE, json!({ "size": -1 })).await, 400, "XMinioAdminConfigBadJSON");
    set(&server, ALICE, json!({ "quota": 0, "size": 0 })).await.expect_status(200);
    assert_eq!(json_of(get(&server, ALICE).await), none);
}

#[tokio::test]
async fn a_quota_belongs_to_the_account_of_the_bucket() {
    let server = in_memory_with_users(ACCOUNTS).await;
    server.bucket("photos").await;
    let quota = json!({ "size": 1000, "quotatype": "hard" });
    // Bob is the root user of another account.
    check(&set(&server, BOB, quota.clone()).await, 404, "NoSuchBucket");
    check(&get(&server, BOB).await, 404, "NoSuchBucket");
    let path = "get-bucket-quota?bucket=nothing-here";
    check(&send(&server, ALICE, "GET", path, "").await, 404, "NoSuchBucket");
    set(&server, ALICE, quota).await.expect_status(200);
}

#[tokio::test]
async fn each_way_to_write_is_refused_with_the_code_of_minio() {
    let server = memory().await;
    server.bucket("photos").await;
    set(&server, ALICE, json!({ "size": 1000, "quotatype": "hard" })).await.expect_status(200);
    server.put("/photos/a", [b'a'; 600]).await.expect_status(200);
    let refused = server.put("/photos/b", [b'b'; 401]).await;
    let refused = refused.expect_error(400, EXCEEDED);
    assert_eq!(refused.elements("BucketName"), ["photos"]);
    let copy = server.request("PUT", "/photos/b").header("x-amz-copy-source", "/photos/a");
    copy.send().await.expect_error(400, EXCEEDED);
    let append = server.request("PUT", "/photos/a").header("x-amz-write-offset-bytes", "600");
    append.body([b'a'; 401]).send().await.expect_error(400, EXCEEDED);

    let upload = server.post("/photos/parts?uploads", "").await.expect_status(200);
    let id = upload.elements("UploadId").remove(0);
    let part = format!("/photos/parts?partNumber=1&uploadId={id}");
    server.put(&part, [b'p'; 1001]).await.expect_error(400, EXCEEDED);
    let stored = server.put(&part, [b'p'; 400]).await.expect_status(200);
    let etag = stored.header("etag").expect("an entity tag");
    server.put("/photos/b", [b'b'; 1]).await.expect_status(200);
    let document = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>\
         </CompleteMultipartUpload>"
    );
    let path = format!("/photos/parts?uploadId={id}");
    server.post(&path, &document).await.expect_error(400, EXCEEDED);
    // What is deleted makes room; an upload that was refused can be completed then.
    server.delete("/photos/b").await.expect_status(204);
    server.post(&path, &document).await.expect_status(200);
    server.put("/photos/empty", "").await.expect_status(200);
    server.put("/photos/a", [b'c'; 600]).await.expect_status(200);
    server.put("/photos/c", [b'c'; 1]).await.expect_error(400, EXCEEDED);
}
