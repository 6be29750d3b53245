//! The integration suite of the `object_store` crate, which data tools are built on.

use object_store::aws::{AmazonS3, AmazonS3Builder, Checksum, S3ConditionalPut, S3CopyIfNotExists};
use object_store::integration::{
    copy_if_not_exists, get_opts, list_paginated, list_uses_directories_correctly,
    list_with_delimiter, list_with_offset_exclusivity, multipart, multipart_out_of_order,
    multipart_put_part_out_of_order, multipart_race_condition, multipart_with_opts,
    put_get_attributes, put_get_delete_list, put_opts, rename_and_copy, stream_get,
};

use liteio_rust_clients::{ACCESS_KEY, SECRET_KEY, TestServer, both};

const BUCKET: &str = "object-store";

fn builder(server: &TestServer) -> AmazonS3Builder {
    AmazonS3Builder::new()
        .with_endpoint(server.endpoint())
        .with_allow_http(true)
        .with_region("us-east-1")
        .with_bucket_name(BUCKET)
        .with_access_key_id(ACCESS_KEY)
        .with_secret_access_key(SECRET_KEY)
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        .with_copy_if_not_exists(S3CopyIfNotExists::Multipart)
}

async fn store(server: &TestServer) -> AmazonS3 {
    let created = server.client().create_bucket().bucket(BUCKET).send().await;
    created.expect("the bucket is created");
    builder(server).build().expect("a store")
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_writing_and_listing() {
    for server in both().await {
        let store = store(&server).await;
        put_get_delete_list(&store).await;
        list_with_offset_exclusivity(&store).await;
        get_opts(&store).await;
        list_uses_directories_correctly(&store).await;
        list_with_delimiter(&store).await;
        list_paginated(&store, &store).await;
        put_get_attributes(&store).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_and_conditional_writes() {
    for server in both().await {
        let store = store(&server).await;
        rename_and_copy(&store).await;
        copy_if_not_exists(&store).await;
        put_opts(&store, true).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn multipart_uploads() {
    for server in both().await {
        let store = store(&server).await;
        stream_get(&store).await;
        multipart(&store, &store).await;
        multipart_with_opts(&store, &store).await;
        multipart_put_part_out_of_order(&store, &store).await;
        multipart_race_condition(&store, true).await;
        multipart_out_of_order(&store).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_to_send_a_payload() {
    for server in both().await {
        store(&server).await;
        let unsigned = builder(&server).with_unsigned_payload(true).build().expect("a store");
        put_get_delete_list(&unsigned).await;
        let checked = builder(&server).with_checksum_algorithm(Checksum::SHA256);
        put_get_delete_list(&checked.build().expect("a store")).await;
    }
}
