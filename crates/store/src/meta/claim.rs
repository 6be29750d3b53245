//! The claims of transactions. See [`liteio_kv::Claim`].

use super::annotation::SetId;
use super::key::append_ended;
use crate::name::{BucketId, IndexId, UploadId};

/// A thing that a transaction relies on beyond the rows that it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim<'a> {
    /// A key with its current object, its history and its version `null`: conditions, the order of
    /// versions and the newest one are decided on them.
    Key(BucketId, &'a str),
    /// That a bucket, or a vector bucket, stays. Shared by all who write to it.
    Bucket(BucketId),
    /// That nobody writes to a bucket: it is empty and goes, or it is counted.
    BucketAlone(BucketId),
    /// That an upload stays. Shared by the writers of its parts.
    Upload(&'a UploadId),
    /// That nobody writes parts of an upload: it ends.
    UploadAlone(&'a UploadId),
    /// The vectors of an index.
    Index(IndexId),
    /// A set of annotations: its version changes it, or it is copied or removed.
    Annotations(&'a SetId),
    /// That the namespace with this path stays in the catalog of a bucket. Shared by all who create or drop something in it.
    Namespace(BucketId, &'a str),
    /// That nobody creates or drops something in a namespace: it is created, changed, or is empty and goes.
    NamespaceAlone(BucketId, &'a str),
    /// A table or view with this path and name in the catalog of a bucket, which share their names.
    Table(BucketId, &'a str, &'a str),
    /// The id of a new table in the catalog of a bucket, which no other one has.
    TableId(BucketId, &'a [u8; 16]),
    /// That files may be named that no table has named: a table or view changes. Shared by all of these.
    Catalogs,
    /// That no table or view changes: files that none names are deleted.
    CatalogsAlone,
    /// The answer to the request with a key.
    Answer(&'a [u8; 16]),
    /// That the run of a server goes on. Shared by all of its transactions.
    Run(u32),
    /// That a run has no transaction under way: it ends.
    RunAlone(u32),
    /// That a server does a job. Shared by the transactions of the job.
    Job(&'a str),
    /// That no transaction of a job is under way: another server takes over.
    JobAlone(&'a str),
    /// The queue with this counter. Shared by those who append to it.
    Queue(&'a [u8]),
    /// That nobody appends to a queue: it is empty, or is counted.
    QueueAlone(&'a [u8]),
}

impl liteio_kv::Claim for Claim<'_> {
    fn append_name(&self, name: &mut Vec<u8>) {
        match self {
            Self::Key(bucket, key) => {
                name.push(b'k');
                name.extend_from_slice(&bucket.0.to_be_bytes());
                name.extend_from_slice(key.as_bytes());
            }
            Self::Bucket(bucket) | Self::BucketAlone(bucket) => {
                name.push(b'b');
                name.extend_from_slice(&bucket.0.to_be_bytes());
            }
            Self::Upload(upload) | Self::UploadAlone(upload) => {
                name.push(b'u');
                name.extend_from_slice(&upload.0);
            }
            Self::Index(index) => {
                name.push(b'i');
                name.extend_from_slice(&index.0.to_be_bytes());
            }
            Self::Annotations(set) => {
                name.push(b'a');
                name.extend_from_slice(&set[..]);
            }
            Self::Namespace(bucket, path) | Self::NamespaceAlone(bucket, path) => {
                name.push(b'n');
                name.extend_from_slice(&bucket.0.to_be_bytes());
                name.extend_from_slice(path.as_bytes());
            }
            Self::Table(bucket, path, table) => {
                name.push(b't');
                name.extend_from_slice(&bucket.0.to_be_bytes());
                append_ended(path.as_bytes(), name);
                name.extend_from_slice(table.as_bytes());
            }
            Self::TableId(bucket, id) => {
                name.push(b'd');
                name.extend_from_slice(&bucket.0.to_be_bytes());
                name.extend_from_slice(&id[..]);
            }
            Self::Answer(key) => {
                name.push(b'w');
                name.extend_from_slice(&key[..]);
            }
            Self::Catalogs | Self::CatalogsAlone => name.push(b'c'),
            Self::Run(run) | Self::RunAlone(run) => {
                name.push(b'r');
                name.extend_from_slice(&run.to_be_bytes());
            }
            Self::Job(job) | Self::JobAlone(job) => {
                name.push(b'j');
                name.extend_from_slice(job.as_bytes());
            }
            Self::Queue(counter) | Self::QueueAlone(counter) => {
                name.push(b'q');
                name.extend_from_slice(counter);
            }
        }
    }

    fn is_shared(&self) -> bool {
        matches!(
            self,
            Self::Bucket(_)
                | Self::Upload(_)
                | Self::Queue(_)
                | Self::Run(_)
                | Self::Job(_)
                | Self::Namespace(..)
                | Self::Catalogs
        )
    }
}

#[cfg(test)]
mod tests {
    use liteio_kv::Claim as _;

    use super::*;

    #[test]
    fn claims_of_one_thing_have_one_name_and_others_have_others() {
        let name = |claim: Claim<'_>| {
            let mut name = Vec::new();
            claim.append_name(&mut name);
            name
        };
        let (one, other) = (BucketId(1), BucketId(2));
        let (upload, next) = (UploadId([1; 16]), UploadId([2; 16]));
        assert_eq!(name(Claim::Bucket(one)), name(Claim::BucketAlone(one)));
        assert_eq!(name(Claim::Upload(&upload)), name(Claim::UploadAlone(&upload)));
        assert_eq!(name(Claim::Queue(b"one")), name(Claim::QueueAlone(b"one")));
        assert_eq!(name(Claim::Catalogs), name(Claim::CatalogsAlone));
        assert!(Claim::Catalogs.is_shared() && !Claim::CatalogsAlone.is_shared());
        let different = [
            Claim::Bucket(one),
            Claim::Bucket(other),
            Claim::Key(one, ""),
            Claim::Key(one, "a"),
            Claim::Key(other, "a"),
            Claim::Upload(&upload),
            Claim::Upload(&next),
            Claim::Index(IndexId(1)),
            Claim::Annotations(&[1; 16]),
            Claim::Annotations(&[2; 16]),
            Claim::Namespace(one, "a"),
            Claim::Namespace(one, "b"),
            Claim::Table(one, "a", "b"),
            Claim::Table(one, "ab", ""),
            Claim::TableId(one, &[1; 16]),
            Claim::TableId(one, &[2; 16]),
            Claim::TableId(other, &[1; 16]),
            Claim::Catalogs,
            Claim::Answer(&[1; 16]),
            Claim::Answer(&[2; 16]),
            Claim::Queue(b"one"),
            Claim::Queue(b"other"),
        ];
        for (place, claim) in different.iter().enumerate() {
            assert!(different[..place].iter().all(|it| name(*it) != name(*claim)), "{claim:?}");
        }
        assert!(Claim::Bucket(one).is_shared() && Claim::Upload(&upload).is_shared());
        assert!(Claim::Queue(b"one").is_shared() && !Claim::QueueAlone(b"one").is_shared());
        assert!(!Claim::BucketAlone(one).is_shared() && !Claim::Key(one, "a").is_shared());
    }
}
