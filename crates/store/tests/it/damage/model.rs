//! Everything that was acknowledged, in plain maps.

use std::collections::BTreeMap;
use std::sync::Arc;

use liteio_store::{UploadId, VersionId};

pub(super) const DIMENSION: usize = 4;

/// The bytes of an object, a version or a part.
pub(super) type Body = Arc<[u8]>;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Model {
    /// The objects of the bucket `plain`.
    pub(super) objects: BTreeMap<String, Body>,
    /// The annotations of these objects, by their names.
    pub(super) annotations: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    /// The versions of the object [`VERSIONED`] of the bucket `versioned`, the oldest first.
    pub(super) versions: Vec<(VersionId, Body)>,
    /// Parts by the upload in progress.
    pub(super) upload: Option<(UploadId, BTreeMap<u16, Body>)>,
    /// A document of the bucket `plain`.
    pub(super) document: Option<Vec<u8>>,
    pub(super) vectors: BTreeMap<String, [f32; DIMENSION]>,
}

impl Model {
    /// Replaces an object, or removes it. Its annotations go with it.
    pub(super) fn replace(&mut self, object: &str, body: Option<Body>) {
        self.annotations.remove(object);
        match body {
            Some(body) => self.objects.insert(object.to_owned(), body),
            None => self.objects.remove(object),
        };
    }
}

pub(super) const PLAIN: &str = "plain";
pub(super) const WITH_VERSIONS: &str = "with-versions";
pub(super) const VERSIONED: &str = "versioned";
pub(super) const UPLOADED: &str = "uploaded";
/// Keys that are put and deleted.
pub(super) const KEYS: [&str; 16] =
    ["a", "a/b", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o"];
