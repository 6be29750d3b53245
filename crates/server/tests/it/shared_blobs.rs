//! A LiteIO as the object storage of others: the blobs of several servers in one of its buckets.

use std::sync::atomic::{AtomicU32, Ordering};

use liteio_store::{
    BlobAccess, BlobError, BlobLocation, ClusterId, SharedBlobs, shared_blobs_contract,
};

use crate::harness::{ALICE, BOB, TestServer, User, both, memory};

fn open(endpoint: &str, location: &str, user: User, run: u32) -> SharedBlobs {
    let location = BlobLocation::parse(&format!("{location}?endpoint={endpoint}"));
    let access = BlobAccess::default().with_keys(user.access_key, user.secret_key);
    SharedBlobs::open(&location.expect("a location"), &access, run).expect("opened")
}

/// Runs what blocks beside the server, which has the thread of the test.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("no panic")
}

fn suspended(result: Result<(), BlobError>) -> String {
    match result {
        Err(BlobError::Unavailable { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

async fn keys_in(server: &TestServer, prefix: &str) -> usize {
    let listed = server.get(&format!("/blobs?list-type=2&prefix={prefix}")).await;
    listed.expect_status(200).text().matches("<Key>").count()
}

#[tokio::test]
async fn a_bucket_keeps_the_contract_of_blob_stores() {
    for server in both().await {
        server.bucket("blobs").await;
        let endpoint = server.endpoint();
        let next = AtomicU32::new(0);
        blocking(move || {
            shared_blobs_contract(&|| {
                let number = next.fetch_add(1, Ordering::Relaxed);
                open(&endpoint, &format!("s3://blobs/below/{number}"), ALICE, number)
            });
        })
        .await;
        let uploads = server.get("/blobs?uploads").await;
        let uploads = uploads.expect_status(200).text();
        assert!(!uploads.contains("<UploadId>"), "{uploads}");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_bucket_belongs_to_one_cluster_and_what_is_wrong_is_told_in_one_line() {
    let server = memory().await;
    server.bucket("blobs").await;
    let endpoint = server.endpoint();
    let (one, other) = (ClusterId([1; 16]), ClusterId([2; 16]));
    blocking(move || {
        let blobs = open(&endpoint, "s3://blobs", ALICE, 1);
        assert!(suspended(blobs.check(&one)).contains("has no object liteio-cluster"));
        blobs.create_cluster(&one).expect("created");
        blobs.create_cluster(&one).expect("created already");
        blobs.check(&one).expect("the right pair");
        let reason = suspended(blobs.create_cluster(&other));
        assert!(reason.contains("belongs to the cluster 0101"), "{reason}");
        assert!(suspended(blobs.check(&other)).contains("created together"));
        // Another prefix is another location.
        assert_eq!(open(&endpoint, "s3://blobs/a", ALICE, 1).cluster().expect("asked"), None);

        let denied = suspended(open(&endpoint, "s3://blobs", BOB, 1).check(&one));
        assert!(denied.contains("credentials") && !denied.contains('\n'), "{denied}");
        let wrong = User { secret_key: "not alice's secret", ..ALICE };
        let denied = suspended(open(&endpoint, "s3://blobs", wrong, 1).check(&one));
        assert!(denied.contains("credentials") && !denied.contains("not alice's"), "{denied}");
    })
    .await;
    assert_eq!(keys_in(&server, "liteio-cluster").await, 1);
    server.stop().await;
}
