//! Detection of equal and nested places.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::error::Error;
use crate::target::{Remote, Target};

/// `true` if both are the same file, or by their names the same object.
pub(crate) fn is_same(source: &Target, target: &Target) -> bool {
    match (source, target) {
        (Target::Remote(source), Target::Remote(target)) => {
            is_one_bucket(source, target) && source.key == target.key
        }
        (Target::Local(source), Target::Local(target)) => is_one_file(source.path(), target.path()),
        _ => false,
    }
}

/// `true` if the folder `inner` is `outer` or below it.
pub(crate) fn is_within(inner: &Target, outer: &Target) -> bool {
    names_within(outer, inner).is_some()
}

/// The prefix of the names in `outer` that are in the folder `inner`; `None` if none are.
pub(crate) fn names_within(outer: &Target, inner: &Target) -> Option<String> {
    match (outer, inner) {
        (Target::Remote(outer), Target::Remote(inner)) if is_one_bucket(outer, inner) => {
            let (outer, inner) = (outer.folder().key, inner.folder().key);
            inner.strip_prefix(&outer).map(ToOwned::to_owned)
        }
        // A service contains all of its buckets.
        (Target::Remote(outer), Target::Remote(inner))
            if outer.bucket.is_empty()
                && outer.s3.endpoint().url() == inner.s3.endpoint().url() =>
        {
            Some(format!("{}/{}", inner.bucket, inner.folder().key))
        }
        (Target::Local(outer), Target::Local(inner)) => {
            let (outer, inner) = (real(outer.path())?, real(inner.path())?);
            let rest = inner.strip_prefix(&outer).ok()?;
            let parts = rest.components().map(|it| it.as_os_str().to_string_lossy());
            Some(parts.map(|part| format!("{part}/")).collect())
        }
        _ => None,
    }
}

/// Refuses to move an object onto itself through two aliases of one service with different
/// addresses.
///
/// # Errors
/// It is the same object, or nothing proves that it is another one.
pub(crate) async fn refuse_same(source: &Target, target: &Target) -> Result<(), Error> {
    let (Target::Remote(source), Target::Remote(target)) = (source, target) else { return Ok(()) };
    let has_same_name = source.bucket == target.bucket && source.key == target.key;
    if !has_same_name || source.s3.endpoint().url() == target.s3.endpoint().url() {
        return Ok(());
    }
    // The heads of one object are equal.
    if head(source).await? == head(target).await? {
        return Err(Error::refused(format!(
            "'{}' may be the same object: both services tell the same ETag and time; copy it, and \
             remove the source when you have seen that both are there",
            target.name()
        )));
    }
    Ok(())
}

/// ETag, size and time of the newest version, if it exists.
async fn head(object: &Remote) -> Result<Option<(String, u64, Option<Timestamp>)>, Error> {
    match object.s3.head(&object.bucket, &object.key, None).await {
        Ok(head) => Ok(Some((head.etag, head.size, head.modified))),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_one_bucket(one: &Remote, other: &Remote) -> bool {
    one.s3.endpoint().url() == other.s3.endpoint().url() && one.bucket == other.bucket
}

#[cfg(unix)]
fn is_one_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let identity = |path| std::fs::metadata(path).map(|it| (it.dev(), it.ino())).ok();
    identity(one).is_some_and(|it| identity(other) == Some(it))
}

#[cfg(not(unix))]
fn is_one_file(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|it| other.canonicalize().is_ok_and(|other| other == it))
}

/// The path without links. For a path that does not exist yet, the existing part is resolved.
fn real(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().find_map(|there| {
        let rest = path.strip_prefix(there).ok()?;
        there.canonicalize().ok().map(|it| it.join(rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::Local;

    #[test]
    fn files_and_folders_are_the_same_whatever_their_paths_are() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        std::fs::create_dir_all(path.join("a/b")).expect("made");
        std::fs::write(path.join("a/file"), "x").expect("written");
        std::fs::write(path.join("a/other"), "x").expect("written");
        let target = |name: &str| Target::Local(Local::found(&path.join(name)));
        assert!(is_same(&target("a/file"), &target("a/b/../file")));
        assert!(!is_same(&target("a/file"), &target("a/other")));
        assert!(!is_same(&target("none"), &target("none")));
        let rows = [
            ("a", "a/", Some("")),
            ("a", "a/b", Some("b/")),
            ("a", "a/b/../b/new/deep", Some("b/new/deep/")),
            ("a/b", "a", None),
            ("a", "ab", None),
        ];
        for (outer, inner, expected) in rows {
            let found = names_within(&target(outer), &target(inner));
            assert_eq!(found.as_deref(), expected, "{inner} in {outer}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("a", path.join("link")).expect("linked");
            assert!(is_same(&target("a/file"), &target("link/file")));
            assert!(is_within(&target("link/b/new"), &target("a")));
        }
    }
}
