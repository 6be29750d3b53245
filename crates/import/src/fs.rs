//! `liteio import fs`: imports files as objects.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use liteio_identity::DEFAULT_ACCESS_KEY;
use liteio_store::{
    Bucket, ContentHeaders, ImportedObject, KeyRing, ObjectLock, ObjectMetadata, Versioning,
};

use super::regular;
use super::seal::{Destination, Shape};
use super::target::{Failure, Job, Jobs, SourceKey, SourceObject, SourceVersion, Target};
use super::walk::{Found, FoundFile, modified_ms, walk};
use crate::cli::ImportFsArgs;

/// Size of one read.
const PIECE_BYTES: usize = 256 << 10;

pub(super) fn run(arguments: &ImportFsArgs, ring: KeyRing) -> Result<bool, String> {
    let root = &arguments.directory;
    if !root.is_dir() {
        return Err(format!("{} is not a directory", root.display()));
    }
    let target = Target::open(&arguments.target, ring, Some(root), DEFAULT_ACCESS_KEY)?;
    target.import(|target, jobs| files(target, jobs, root, arguments.bucket.as_deref()))
}

fn files(
    target: &Target,
    jobs: &Jobs<'_>,
    root: &Path,
    bucket: Option<&str>,
) -> Result<(), Failure> {
    let mut buckets: HashMap<String, Option<Arc<Bucket>>> = HashMap::new();
    walk(root, bucket, &mut |found| match found {
        Found::Bucket(name) => {
            let bucket = match target.bucket(name) {
                Ok(bucket) => Some(bucket),
                Err(Failure::LeftOut(reason)) => {
                    target.tally.left_out(name, &reason);
                    None
                }
                Err(failure) => return Err(failure),
            };
            buckets.insert(name.to_owned(), bucket);
            Ok(())
        }
        Found::LeftOut(path, reason) => {
            target.tally.left_out(&path.display().to_string(), &reason);
            Ok(())
        }
        Found::File(file) => match buckets.get(file.bucket) {
            Some(Some(bucket)) => jobs.push(job(bucket, file)),
            // The bucket was skipped, which is reported once.
            _ => Ok(()),
        },
    })
}

fn job(bucket: &Arc<Bucket>, file: FoundFile<'_>) -> Job {
    let FoundFile { key, path, bytes, modified_ms, .. } = file;
    let is_null = bucket.versioning != Versioning::Enabled;
    let content_type = liteio_client::content_type(key.as_str());
    let source = Box::new(SourceFile { path, bytes, modified_ms, is_null, content_type });
    Job { bucket: Arc::clone(bucket), key, source }
}

/// A file, with its state when it was found.
struct SourceFile {
    path: PathBuf,
    bytes: u64,
    modified_ms: u64,
    is_null: bool,
    content_type: Option<&'static str>,
}

impl SourceKey for SourceFile {
    fn versions(&mut self) -> Result<Vec<SourceVersion>, Failure> {
        let SourceFile { bytes, modified_ms, is_null, .. } = *self;
        let object = Some(SourceObject { bytes, etag: None });
        Ok(vec![SourceVersion { modified_ms, is_null, object }])
    }

    fn read(&mut self, to: Destination<'_>, _index: usize) -> Result<ImportedObject, Failure> {
        let left_out = |error: std::io::Error| Failure::LeftOut(error.to_string());
        let changed =
            || Failure::LeftOut("it changed while it was read; import it again".to_owned());
        let mut file = regular::open(&self.path).map_err(left_out)?;
        let mut bodies = to.object(Shape::Whole(self.bytes), None)?;
        let mut stager = bodies.stager(self.bytes)?;
        let piece_bytes = usize::try_from(self.bytes).unwrap_or(PIECE_BYTES);
        let mut piece = vec![0; piece_bytes.clamp(1, PIECE_BYTES)];
        loop {
            let length = file.read(&mut piece).map_err(left_out)?;
            match length {
                0 => break,
                _ if stager.write(&piece[..length])? => {}
                _ => return Err(changed()),
            }
        }
        let after = file.metadata().map_err(left_out)?;
        let is_same = (after.len(), modified_ms(&after)) == (self.bytes, self.modified_ms);
        if stager.left() > 0 || !is_same {
            return Err(changed());
        }
        bodies.add(stager)?;
        let (content, etag) = bodies.finish(None);
        let content_type = self.content_type.map(str::to_owned);
        let headers = ContentHeaders { content_type, ..ContentHeaders::default() };
        Ok(ImportedObject {
            content,
            etag,
            metadata: ObjectMetadata { headers, ..ObjectMetadata::default() },
            checksum: None,
            lock: ObjectLock::default(),
        })
    }
}
