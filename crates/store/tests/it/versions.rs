//! Versions of objects: never kept, kept, and suspended.

use std::sync::Arc;

use liteio_disk::effort::seeds;
use liteio_store::{
    DeleteTarget, EtagCondition, GetOptions, ListVersionsQuery, ManualClock, SeededRandom, Store,
    StoreConfig, StoreError, VersionEntry, VersionId, Versioning, WriteConditions,
};

use crate::harness::*;

/// A version: its id, and its body, of a delete marker none.
type Version = (VersionId, Option<Vec<u8>>);

/// Expected versions of a key, newest first.
#[derive(Clone, Debug, Default)]
struct Model {
    versions: Vec<Version>,
    versioning: Versioning,
}

impl Model {
    /// Adds a version or a delete marker with the id that it got.
    fn add(&mut self, id: VersionId, body: Option<Vec<u8>>) {
        assert_eq!(id.is_null(), self.versioning != Versioning::Enabled);
        if id.is_null() {
            self.versions.retain(|(id, _)| !id.is_null());
        }
        self.versions.insert(0, (id, body));
    }

    fn current(&self) -> Option<&Vec<u8>> {
        self.versions.first()?.1.as_ref()
    }
}

/// The versions of `object`, newest first.
fn versions(store: &Store, object: &str) -> Vec<Version> {
    let mut query = ListVersionsQuery { max: 2, ..ListVersionsQuery::default() };
    let mut versions: Vec<Version> = Vec::new();
    loop {
        let page = store.list_versions(&bucket(store, "bucket"), &query).expect("listed");
        for entry in page.entries {
            let (listed, is_marker) = match entry {
                VersionEntry::Version(listed) => (listed, false),
                VersionEntry::DeleteMarker(listed) => (listed, true),
                VersionEntry::Prefix(_) => unreachable!("no delimiter"),
            };
            if listed.key != object {
                continue;
            }
            assert_eq!(listed.is_latest, versions.is_empty(), "{object} {listed:?}");
            let body = (!is_marker).then(|| read(store, object, Some(&listed.version_id)));
            versions.push((listed.version_id, body.transpose().expect("readable")));
        }
        let Some((key, version)) = page.next else { return versions };
        (query.key_marker, query.version_marker) = (Some(key), version);
    }
}

fn read(store: &Store, object: &str, version: Option<&VersionId>) -> Result<Vec<u8>, StoreError> {
    let options = GetOptions { version: version.copied(), ..GetOptions::default() };
    let bucket = bucket(store, "bucket");
    let mut reader = store.get_object(&bucket, &key(object), &options)?.reader;
    let mut bytes = Vec::new();
    while let Some(piece) = reader.next()? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn delete_version(store: &Store, object: &str, version: Option<VersionId>) -> Option<VersionId> {
    let bucket = bucket(store, "bucket");
    let deleted = store.delete_object(&bucket, DeleteTarget::new(key(object), version));
    deleted.wait().expect("deleted").version_id
}

fn set_versioning(store: &Store, versioning: Versioning) {
    store.set_versioning(&bucket(store, "bucket"), versioning).wait().expect("set");
}

fn check(store: &Store, object: &str, model: &Model) {
    assert_eq!(versions(store, object), model.versions, "{object}");
    assert_eq!(read(store, object, None).ok().as_ref(), model.current(), "{object}");
    let null = model.versions.iter().find(|(id, _)| id.is_null());
    let null = null.and_then(|(_, body)| body.as_ref());
    assert_eq!(read(store, object, Some(&VersionId::Null)).ok().as_ref(), null, "{object}");
}

#[test]
fn puts_and_deletes_in_any_state_keep_what_they_must_and_no_more() {
    on_every_backend(|store| {
        for seed in seeds(4, 12) {
            let random = SeededRandom::new(seed);
            let object = format!("object {seed}");
            let mut model = Model::default();
            if bucket(store, "bucket").versioning != Versioning::Never {
                model.versioning = Versioning::Enabled;
                set_versioning(store, Versioning::Enabled);
            }
            for step in 0..40 {
                match random.below(10) {
                    0..4 => {
                        let length = [10, 500][random.below(2) as usize];
                        let body = bytes(seed << 8 | step, length);
                        let put = put(store, &object, &body);
                        assert!(put.is_latest);
                        model.add(put.version_id, Some(body));
                    }
                    4..6 => {
                        let made = delete_version(store, &object, None);
                        match model.versioning {
                            Versioning::Never => model.versions.clear(),
                            _ => model.add(made.expect("a delete marker"), None),
                        }
                    }
                    6..8 if !model.versions.is_empty() => {
                        let at = random.below(model.versions.len() as u64) as usize;
                        let (id, _) = model.versions.remove(at);
                        assert_eq!(delete_version(store, &object, Some(id)), Some(id));
                    }
                    8 if step > 8 => {
                        let states = [Versioning::Enabled, Versioning::Suspended];
                        model.versioning = states[random.below(2) as usize];
                        set_versioning(store, model.versioning);
                    }
                    _ => {
                        let nobody = VersionId::Id([7; 16]);
                        assert_eq!(delete_version(store, &object, Some(nobody)), Some(nobody));
                    }
                }
                check(store, &object, &model);
            }
        }
        store.reclaim().expect("reclaimed");
        blobs(store);
    });
}

#[test]
fn a_version_is_newer_than_those_before_it_although_the_clock_was_set_back() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let open = |now_ms| {
        let clock = Arc::new(ManualClock::new(now_ms));
        Store::open(StoreConfig { clock, ..on_directory(directory.path()) }).expect("opens")
    };
    let store = open(1_700_000_000_000);
    create_bucket(&store, "bucket");
    set_versioning(&store, Versioning::Enabled);
    put(&store, "put", b"first");
    put(&store, "deleted", b"first");
    delete(&store, "deleted");
    store.close();

    let store = open(1_600_000_000_000);
    put(&store, "put", b"second");
    delete(&store, "put");
    put(&store, "put", b"third");
    put(&store, "deleted", b"second");
    let bodies = |object: &str| -> Vec<_> {
        versions(&store, object).into_iter().map(|(_, body)| body).collect()
    };
    let body = |body: &[u8]| Some(body.to_vec());
    assert_eq!(bodies("put"), [body(b"third"), None, body(b"second"), body(b"first")]);
    assert_eq!(bodies("deleted"), [body(b"second"), None, body(b"first")]);
}

#[test]
fn conditions_speak_of_the_current_object_and_not_of_older_versions() {
    on_every_backend(|store| {
        set_versioning(store, Versioning::Enabled);
        put(store, "a", b"first");
        delete(store, "a");
        let absent = liteio_store::PutOptions {
            conditions: WriteConditions {
                if_none_match: Some(EtagCondition::Any),
                ..WriteConditions::default()
            },
            ..Default::default()
        };
        try_put(store, "a", b"second", absent.clone()).expect("behind a delete marker is nothing");
        let refused = try_put(store, "a", b"third", absent);
        assert!(matches!(refused, Err(StoreError::PreconditionFailed { .. })), "{refused:?}");
        assert_eq!(versions(store, "a").len(), 3);
    });
}

#[test]
fn a_bucket_with_versions_is_not_empty() {
    on_every_backend(|store| {
        set_versioning(store, Versioning::Enabled);
        let version = put(store, "a", b"x").version_id;
        let marker = delete_version(store, "a", None).expect("a delete marker");
        for version in [version, marker] {
            let refused = store.delete_bucket(&bucket(store, "bucket")).wait();
            assert!(matches!(refused, Err(StoreError::BucketNotEmpty { .. })), "{refused:?}");
            delete_version(store, "a", Some(version));
        }
        delete_bucket(store, "bucket");
    });
}
