//! The check of paths, shared by all disks.

use std::io;

/// Accepts a path below the root: names joined by `/`, none of them empty, `.` or `..`. The empty
/// path is the root, which only directory operations accept.
pub(crate) fn check_directory(path: &str) -> io::Result<()> {
    if path.is_empty() { Ok(()) } else { check_file(path) }
}

/// Like [`check_directory`], without the root.
pub(crate) fn check_file(path: &str) -> io::Result<()> {
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains('\0');
    if path.split('/').all(is_name) {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{path:?} is not a path below the data directory"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_below_the_root_are_paths() {
        for path in ["a", "blobs/3f/0123", "...", "a b/ü"] {
            assert!(check_file(path).is_ok() && check_directory(path).is_ok(), "{path:?}");
        }
        for path in ["/", "/etc/passwd", "..", "a/../b", "a/..", "./a", "a//b", "a/", "a\0b"] {
            let error = check_directory(path).expect_err(path);
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
        assert!(check_directory("").is_ok() && check_file("").is_err());
    }
}
