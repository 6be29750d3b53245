//! Reads everything, every way, and compares it with a model.

use std::collections::BTreeMap;
use std::fmt::Debug;

use liteio_store::vectors::{Index, ListVectors, VectorName, VectorQuery};
use liteio_store::{
    AnnotationQuery, Bucket, DocumentKind, GetOptions, ListEntry, ListQuery, ListVersionsQuery,
    ObjectKey, Store, StoreError, VersionEntry, VersionId,
};
use md5::{Digest as _, Md5};

use super::Check;
use super::model::{Body, DIMENSION, KEYS, Model, PLAIN, UPLOADED, VERSIONED, WITH_VERSIONS};
use crate::harness::{key, name};

/// What was read, and nothing of it was wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    /// Reads that were an error.
    pub(super) errors: u64,
}

/// Compares the store with the model. Errors of damage count; whatever else differs is the error.
pub(super) fn read(store: &Store, model: &Model) -> Check<Reading> {
    let mut reading = Reading::default();
    reading.objects(store, model)?;
    reading.annotations(store, model)?;
    reading.versions(store, model)?;
    reading.vectors(store, model)?;
    Ok(reading)
}

impl Reading {
    /// The result, unless it is an error that tells of damage.
    fn told<T>(&mut self, what: &str, result: Result<T, StoreError>) -> Check<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(
                StoreError::Corrupt { .. }
                | StoreError::IndexDamaged { .. }
                | StoreError::FormatTooNew { .. }
                | StoreError::Io(_)
                | StoreError::Poisoned { .. }
                | StoreError::Internal { .. },
            ) => {
                self.errors += 1;
                Ok(None)
            }
            // A loss that is not told.
            Err(error) => Err(format!("{what}: {error}")),
        }
    }

    /// Checks that the result is the expected one, or tells of damage.
    fn same<T: PartialEq + Debug>(
        &mut self,
        what: &str,
        result: Result<T, StoreError>,
        expected: &T,
    ) -> Check<()> {
        match self.told(what, result)? {
            Some(found) if found != *expected => {
                Err(format!("{what}: {found:?} instead of {expected:?}"))
            }
            _ => Ok(()),
        }
    }

    fn objects(&mut self, store: &Store, model: &Model) -> Check<()> {
        let Some(bucket) = self.told(PLAIN, store.bucket(&name(PLAIN)))? else { return Ok(()) };
        for object in KEYS.iter().chain([&UPLOADED]) {
            let found = body(store, &bucket, &key(object), None);
            let found = match found {
                Err(StoreError::NoSuchKey { .. }) => Ok(None),
                found => found.map(Some),
            };
            let expected = model.objects.get(*object).map(|body| body.to_vec());
            self.same(object, found, &expected)?;
        }
        let page = store.list_objects(&bucket, &ListQuery { max: 1000, ..ListQuery::default() });
        let listed = page.map(|page| {
            let entries = page.entries.into_iter().map(|entry| match entry {
                ListEntry::Object(object) => (object.key, object.bytes),
                ListEntry::Prefix(prefix) => (prefix, u64::MAX),
            });
            entries.collect::<BTreeMap<_, _>>()
        });
        let lengths = |(key, body): (&String, &Body)| (key.clone(), body.len() as u64);
        self.same("the listing", listed, &model.objects.iter().map(lengths).collect())?;
        let document = store.get_document(&bucket, DocumentKind::Cors);
        self.same("the document", document, &model.document)?;
        let Some((id, parts)) = &model.upload else { return Ok(()) };
        let page = store.list_parts(&bucket, &key(UPLOADED), id, None, 100);
        let listed = page.map(|page| {
            let parts = page.parts.into_iter();
            parts.map(|part| (part.number.get(), part.etag.to_string())).collect::<Vec<_>>()
        });
        let etag = |(number, body): (&u16, &Body)| (*number, hex(&Md5::digest(body)));
        self.same("the parts", listed, &parts.iter().map(etag).collect())
    }

    fn annotations(&mut self, store: &Store, model: &Model) -> Check<()> {
        let Some(bucket) = self.told(PLAIN, store.bucket(&name(PLAIN)))? else { return Ok(()) };
        let none = BTreeMap::new();
        for object in model.objects.keys() {
            let expected = model.annotations.get(object).unwrap_or(&none);
            let query = AnnotationQuery { max: 10, ..AnnotationQuery::default() };
            let listed = store.list_annotations(&bucket, &key(object), None, &query).map(|page| {
                let annotations = page.annotations.into_iter();
                annotations.map(|it| (it.name, it.bytes)).collect::<BTreeMap<_, _>>()
            });
            let lengths =
                |(name, payload): (&String, &Vec<u8>)| (name.clone(), payload.len() as u64);
            let what = format!("the annotations of {object}");
            self.same(&what, listed, &expected.iter().map(lengths).collect())?;
            for (name, payload) in expected {
                let found = store.get_annotation(&bucket, &key(object), None, name);
                let found = found.map(|found| found.payload.to_vec());
                self.same(&format!("the annotation {name} of {object}"), found, payload)?;
            }
        }
        Ok(())
    }

    fn versions(&mut self, store: &Store, model: &Model) -> Check<()> {
        let bucket = store.bucket(&name(WITH_VERSIONS));
        let Some(bucket) = self.told(WITH_VERSIONS, bucket)? else { return Ok(()) };
        let object = key(VERSIONED);
        for (version, expected) in &model.versions {
            let found = body(store, &bucket, &object, Some(*version));
            self.same(&format!("version {version}"), found, &expected.to_vec())?;
        }
        if let Some((_, expected)) = model.versions.last() {
            let found = body(store, &bucket, &object, None);
            self.same("the current version", found, &expected.to_vec())?;
        }
        let query = ListVersionsQuery { max: 1000, ..ListVersionsQuery::default() };
        let listed = store.list_versions(&bucket, &query).map(|page| {
            let entries = page.entries.into_iter().filter_map(|entry| match entry {
                VersionEntry::Version(version) => Some(version.version_id),
                VersionEntry::DeleteMarker(_) | VersionEntry::Prefix(_) => None,
            });
            entries.collect::<Vec<_>>()
        });
        let expected = model.versions.iter().rev().map(|(id, _)| *id).collect();
        self.same("the versions", listed, &expected)
    }

    fn vectors(&mut self, store: &Store, model: &Model) -> Check<()> {
        let Some(index) = self.told("the index", index(store))? else { return Ok(()) };
        let query = ListVectors { with_elements: true, ..ListVectors::default() };
        let listed = store.list_vectors(&index, &query).map(|page| {
            let vectors = page.vectors.into_iter();
            vectors.map(|it| (it.key, it.elements.unwrap_or_default())).collect::<Vec<_>>()
        });
        let elements =
            |(key, elements): (&String, &[f32; DIMENSION])| (key.clone(), elements.to_vec());
        self.same("the vectors", listed, &model.vectors.iter().map(elements).collect())?;
        for (key, elements) in &model.vectors {
            let answer = store.query_vectors(&index, &VectorQuery::nearest(elements.to_vec(), 1));
            let nearest = answer.map(|answer| answer.hits.first().map(|hit| hit.key.clone()));
            self.same(&format!("the nearest of {key}"), nearest, &Some(key.clone()))?;
        }
        Ok(())
    }
}

fn index(store: &Store) -> Result<Index, StoreError> {
    let bucket = store.vector_bucket(&VectorName::bucket("vectors").expect("a name"))?;
    store.index(&bucket, &VectorName::index("index").expect("a name"))
}

fn body(
    store: &Store,
    bucket: &Bucket,
    key: &ObjectKey,
    version: Option<VersionId>,
) -> Result<Vec<u8>, StoreError> {
    let options = GetOptions { version, ..GetOptions::default() };
    let mut reader = store.get_object(bucket, key, &options)?.reader;
    let mut body = Vec::new();
    while let Some(piece) = reader.next()? {
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
