//! The AWS SDK for Rust.

use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{
    BucketVersioningStatus, ChecksumAlgorithm, ChecksumMode, CompletedMultipartUpload,
    CompletedPart, Delete, ObjectIdentifier, VersioningConfiguration,
};
use liteio_rust_clients::both;

#[tokio::test]
async fn us_east_1_has_no_location() {
    for server in both().await {
        let client = server.client_with_bucket().await;
        let location = client.get_bucket_location().bucket("mine").send().await.expect("answers");
        assert_eq!(location.location_constraint().map_or("", |region| region.as_str()), "");
    }
}

/// A checksum in the trailer of an unsigned, chunked body: the default of the SDKs since 2025.
#[tokio::test]
async fn it_sends_trailers_and_verifies_what_it_reads() {
    for server in both().await {
        let client = server.client_with_bucket().await;
        for size in [0, 10, 100_000, 3_000_000] {
            let bytes: Vec<u8> = (0..size).map(|number: usize| (number % 249) as u8).collect();
            for algorithm in [
                None,
                Some(ChecksumAlgorithm::Crc32),
                Some(ChecksumAlgorithm::Crc32C),
                Some(ChecksumAlgorithm::Sha1),
                Some(ChecksumAlgorithm::Sha256),
            ] {
                let put = client.put_object().bucket("mine").key("key");
                let put = put.set_checksum_algorithm(algorithm.clone());
                let body = ByteStream::from(bytes.clone());
                put.body(body).send().await.expect("the object is put");
                let get = client.get_object().bucket("mine").key("key");
                let got =
                    get.checksum_mode(ChecksumMode::Enabled).send().await.expect("it is there");
                assert_eq!(got.content_encoding(), None, "no framing is stored");
                let read = got.body.collect().await.expect("the checksum fits").into_bytes();
                assert!(read == bytes, "{size} bytes, {algorithm:?}");
            }
        }
    }
}

/// A conditional write with its checksum in the trailer, as Terraform locks its state.
#[tokio::test]
async fn it_writes_conditionally_with_a_trailer() {
    for server in both().await {
        let client = server.client_with_bucket().await;
        let lock = |body: &'static [u8]| {
            let put = client.put_object().bucket("mine").key("state.tflock").if_none_match("*");
            put.body(ByteStream::from_static(body)).send()
        };
        lock(b"first").await.expect("nobody holds the lock");
        let error = lock(b"second").await.expect_err("the lock is held");
        assert_eq!(error.raw_response().map(|answer| answer.status().as_u16()), Some(412));
        client.delete_object().bucket("mine").key("state.tflock").send().await.expect("unlocked");
        lock(b"third").await.expect("nobody holds the lock");
        let held = client.get_object().bucket("mine").key("state.tflock").send().await;
        let held = held.expect("it is there").body.collect().await.expect("read").into_bytes();
        assert_eq!(&*held, b"third");
    }
}

/// More than one page of the default size, through the SDK's own paging.
#[tokio::test]
async fn it_pages_through_a_bucket() {
    for server in both().await {
        let client = server.client_with_bucket().await;
        for number in 0..1100 {
            let put = client.put_object().bucket("mine").key(format!("key-{number:04}"));
            put.send().await.expect("the object is put");
        }
        let mut pages = client.list_objects_v2().bucket("mine").into_paginator().send();
        let mut keys = Vec::new();
        while let Some(page) = pages.next().await {
            keys.extend(page.expect("a page").contents().iter().filter_map(|it| it.key.clone()));
        }
        let expected: Vec<String> = (0..1100).map(|number| format!("key-{number:04}")).collect();
        assert_eq!(keys, expected);
    }
}

#[tokio::test]
async fn versions_are_copied_and_deleted_by_their_ids() {
    for server in both().await {
        let client = server.client_with_bucket().await;
        let enabled =
            VersioningConfiguration::builder().status(BucketVersioningStatus::Enabled).build();
        let set = client.put_bucket_versioning().bucket("mine").versioning_configuration(enabled);
        set.send().await.expect("set");
        let put = async |body: &'static [u8]| {
            let put = client.put_object().bucket("mine").key("key");
            let put = put.body(ByteStream::from_static(body)).send().await.expect("put");
            put.version_id.expect("an id")
        };
        let (first, second) = (put(b"1").await, put(b"2").await);
        let source = format!("mine/key?versionId={first}");
        let copy = client.copy_object().bucket("mine").key("copy").copy_source(source).send().await;
        assert_eq!(copy.expect("copied").copy_source_version_id.as_deref(), Some(&*first));

        let of = ObjectIdentifier::builder().key("key").version_id(&second);
        let marked = ObjectIdentifier::builder().key("key").build().expect("a key");
        let delete = Delete::builder().objects(of.build().expect("a key")).objects(marked).build();
        let deleted =
            client.delete_objects().bucket("mine").delete(delete.expect("two")).send().await;
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
}

#[tokio::test]
async fn it_uploads_in_parts() {
    for server in both().await {
        let client = server.client_with_bucket().await;
        let create = client.create_multipart_upload().bucket("mine").key("key");
        let create = create.checksum_algorithm(ChecksumAlgorithm::Crc32);
        let id = create.send().await.expect("created").upload_id.expect("an id");
        let parts = [vec![b'a'; 5 << 20], b"the end".to_vec()];
        let mut completed = Vec::new();
        for (number, part) in (1..).zip(&parts) {
            let upload = client.upload_part().bucket("mine").key("key").upload_id(&id);
            let body = ByteStream::from(part.clone());
            let uploaded = upload.part_number(number).body(body).send().await.expect("uploaded");
            completed.push(
                CompletedPart::builder()
                    .part_number(number)
                    .set_e_tag(uploaded.e_tag)
                    .set_checksum_crc32(uploaded.checksum_crc32)
                    .build(),
            );
        }
        let parts_of = CompletedMultipartUpload::builder().set_parts(Some(completed)).build();
        let complete = client.complete_multipart_upload().bucket("mine").key("key").upload_id(&id);
        complete.multipart_upload(parts_of).send().await.expect("completed");
        let got = client.get_object().bucket("mine").key("key").send().await.expect("there");
        let read = got.body.collect().await.expect("read").into_bytes();
        assert!(read == parts.concat());
    }
}
