//! The versions of a key that an import has to add to those in the target.

use liteio_store::{ETag, KnownVersion};

/// A version in the source, with the properties to compare with the target's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceVersion {
    /// Modification time in milliseconds since 1970.
    pub(crate) modified_ms: u64,
    pub is_null: bool,
    /// `None` for a delete marker.
    pub object: Option<SourceObject>,
}

/// The object of a version in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceObject {
    pub bytes: u64,
    /// The ETag; in some sources unknown before the bytes are read.
    pub etag: Option<ETag>,
}

/// The plan for a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Import the source's versions from this one on. The passed-over ones are missing in the
    /// target but older than versions there, so they can no longer be imported.
    Import { from: usize, passed_over: Vec<usize> },
    /// The target has versions that the source does not have.
    Conflict,
}

/// Computes the versions of `source` that are missing in `target`; both oldest first. Source
/// versions are imported in order, so the target has a subsequence of them, with gaps for skipped
/// ones.
pub(crate) fn missing(source: &[SourceVersion], target: &[KnownVersion], overwrites: bool) -> Plan {
    if align(source, target).len() == source.len() {
        return Plan::Import { from: source.len(), passed_over: Vec::new() };
    }
    let is_foreign = |known: &KnownVersion| !source.iter().any(|version| version.is(known));
    let behind_foreign = target.iter().rposition(is_foreign).map_or(0, |last| last + 1);
    let own = &target[behind_foreign..];
    let aligned = align(source, own);
    if (behind_foreign > 0 || aligned.len() < own.len()) && !overwrites {
        return Plan::Conflict;
    }
    let from = aligned.last().map_or(0, |last| last + 1);
    let passed_over = (0..from).filter(|index| !aligned.contains(index)).collect();
    Plan::Import { from, passed_over }
}

/// The indexes of the `source` versions in `target`: a greedy subsequence match.
fn align(source: &[SourceVersion], target: &[KnownVersion]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut rest = target.iter();
    let mut at = 0;
    while at < source.len() {
        let mut ahead = rest.clone();
        if ahead.any(|known| source[at].is(known)) {
            rest = ahead;
            found.push(at);
        }
        at += 1;
    }
    found
}

impl SourceVersion {
    /// True if it is this version in the target.
    fn is(&self, known: &KnownVersion) -> bool {
        let is_content = match (self.object, known.object) {
            (None, None) => true,
            (Some(object), Some((bytes, etag))) => {
                object.bytes == bytes && object.etag.is_none_or(|tag| tag == etag)
            }
            _ => false,
        };
        is_content
            && self.modified_ms == known.modified_ms
            && self.is_null == known.version_id.is_null()
    }
}

#[cfg(test)]
mod tests {
    use liteio_store::VersionId;

    use super::*;

    fn version(number: u64) -> SourceVersion {
        let object =
            (!number.is_multiple_of(10)).then_some(SourceObject { bytes: number, etag: None });
        SourceVersion { modified_ms: number, is_null: false, object }
    }

    fn known(number: u64) -> KnownVersion {
        let object = (!number.is_multiple_of(10)).then_some((number, ETag::Md5([0; 16])));
        KnownVersion { version_id: VersionId::Id([1; 16]), modified_ms: number, object }
    }

    #[test]
    fn an_import_goes_on_behind_the_versions_that_are_there() {
        let import =
            |from, passed_over: &[usize]| Plan::Import { from, passed_over: passed_over.to_vec() };
        // Versions in the source and in the target; the plan without and with --overwrite.
        let rows: [(&[u64], &[u64], Plan, Plan); 9] = [
            (&[1, 2, 10], &[], import(0, &[]), import(0, &[])),
            (&[1, 2, 10], &[1], import(1, &[]), import(1, &[])),
            (&[1, 2, 10], &[1, 2, 10], import(3, &[]), import(3, &[])),
            // The first version was skipped.
            (&[1, 2, 3], &[2], import(2, &[0]), import(2, &[0])),
            // A client has written since.
            (&[1, 2], &[1, 2, 9], import(2, &[]), import(2, &[])),
            (&[1, 2], &[7], Plan::Conflict, import(0, &[])),
            (&[1, 2], &[1, 7], Plan::Conflict, import(0, &[])),
            // An interrupted import with --overwrite.
            (&[1, 2], &[7, 1], Plan::Conflict, import(1, &[])),
            (&[1, 1, 2], &[1], import(1, &[]), import(1, &[])),
        ];
        for (source, target, without, with) in rows {
            let source: Vec<_> = source.iter().map(|number| version(*number)).collect();
            let target: Vec<_> = target.iter().map(|number| known(*number)).collect();
            assert_eq!(missing(&source, &target, false), without, "{source:?} {target:?}");
            assert_eq!(missing(&source, &target, true), with, "{source:?} {target:?}");
        }
    }
}
