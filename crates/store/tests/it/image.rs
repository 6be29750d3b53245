//! Images of stores in memory: the same contents in a store of its own.

use liteio_store::vectors::{DistanceMetric, GetVectors, VectorQuery};
use liteio_store::{IdentityEntry, Store, StoreConfig, StoreError};

use crate::harness::{
    INLINE_BYTES, blobs, bytes, complete, config, create_bucket, create_upload, get, on_directory,
    put, put_part,
};
use crate::vectors;

#[test]
fn a_store_that_is_opened_with_an_image_shows_the_same_and_goes_its_own_way() {
    let store = Store::open(config(1)).expect("memory");
    create_bucket(&store, "bucket");
    let (short, long, part) = (bytes(1, INLINE_BYTES), bytes(2, 3 << 20), bytes(3, 1 << 20));
    put(&store, "short", &short);
    let etag = put(&store, "long", &long).etag;
    let upload = create_upload(&store, "upload");
    put_part(&store, "upload", &upload, 1, &part).expect("a part");
    let index = vectors::create(&store, 3, DistanceMetric::Cosine);
    for (number, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        vectors::put(&store, &index, name, &[number as f32, 1.0, 0.5]);
    }
    store.delete_vectors(&index, vec!["b".to_owned()]).expect("deleted");
    let entry = IdentityEntry { key: b"alice".to_vec(), value: Some(b"secret".to_vec()) };
    store.change_identities(vec![entry], None).wait().expect("noted");

    let image = store.image().expect("in memory");
    put(&store, "short", b"another");
    put(&store, "long", &bytes(4, 1 << 20));
    complete(&store, "upload", &upload, &[1]).expect("completed");
    vectors::put(&store, &index, "a", &[9.0, 9.0, 9.0]);
    let other = Store::open_image(config(2), &image).expect("opened");
    drop(image);
    put(&other, "of the other", &bytes(5, 1 << 20));
    store.close();
    drop(store);

    assert_eq!(get(&other, "short"), short);
    assert_eq!(get(&other, "long"), long);
    assert_eq!(put(&other, "again", &long).etag, etag);
    assert_eq!(complete(&other, "upload", &upload, &[1]).expect("completed").bytes, 1 << 20);
    assert_eq!(get(&other, "upload"), part);
    assert_eq!(other.identities().expect("read").entries[0].key, b"alice");
    let index = vectors::refresh(&other, &index);
    let keys = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    let asked = GetVectors { keys, with_elements: true, with_metadata: true };
    let mut found = other.get_vectors(&index, &asked).expect("found");
    found.sort_by(|one, other| one.key.cmp(&other.key));
    let elements: Vec<_> =
        found.into_iter().map(|it| (it.key, it.elements.expect("asked for")[0])).collect();
    let expected = [("a", 0.0), ("c", 2.0), ("d", 3.0)];
    assert_eq!(elements, expected.map(|(key, element)| (key.to_owned(), element)));
    vectors::put(&other, &index, "e", &[1.0, 1.0, 0.5]);
    let query = VectorQuery::nearest(vec![1.0, 1.0, 0.5], 1);
    assert_eq!(other.query_vectors(&index, &query).expect("an answer").hits[0].key, "e");
    assert_eq!(blobs(&other), 4);
}

#[test]
fn a_store_in_a_directory_has_no_image() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(on_directory(directory.path())).expect("opened");
    assert!(matches!(store.image(), Err(StoreError::InvalidRequest { .. })));
    let image = Store::open(StoreConfig::memory()).expect("memory").image().expect("an image");
    let opened = Store::open_image(on_directory(directory.path()), &image);
    assert!(matches!(opened, Err(StoreError::InvalidRequest { .. })));
}
