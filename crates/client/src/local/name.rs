//! The file of a key.

use std::path::{Path, PathBuf};

/// The path of a key below a directory.
///
/// A key is any text, chosen by every user who may write to the bucket. A key that would lead out
/// of the directory, or to a file that another key could share, is refused. A key that ends with a
/// slash is a directory.
///
/// # Errors
/// The reason, for the user.
pub(crate) fn below(directory: &Path, key: &str) -> Result<PathBuf, String> {
    let refused = |reason: &str| {
        Err(format!("the key '{}' cannot be the name of a file: {reason}", key.escape_debug()))
    };
    let mut path = directory.to_path_buf();
    let parts = key.strip_suffix('/').unwrap_or(key);
    for part in parts.split('/') {
        match part {
            "" => return refused("a part of it is empty, or it begins with a slash"),
            "." | ".." => return refused("it would lead to another directory"),
            part if part.contains('\0') => return refused("it holds a NUL"),
            part if cfg!(windows) && part.contains(['\\', ':', '<', '>', '"', '|', '?', '*']) => {
                return refused("it has characters that files here cannot have");
            }
            part if cfg!(windows) && part.ends_with(['.', ' ']) => {
                return refused("a part of it ends with a dot or a space");
            }
            part => path.push(part),
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_below_the_directory() {
        let directory = Path::new("/target");
        for key in ["a", "a/b", "a b/ü", "..a/b..", "...", "C:", "-", "a\nb", "dir/"] {
            let path = below(directory, key).expect("it is a name");
            assert!(path.starts_with(directory) && path != directory, "{key}");
            assert_eq!(path, directory.join(key), "{key}");
        }
        let refused = [
            "",
            "/",
            "//",
            "/etc/passwd",
            "..",
            "../x",
            "a/../../x",
            "a/..",
            "./a",
            "a//b",
            "a/./b",
            "a//",
            "a\0b",
            "a/\0",
        ];
        for key in refused {
            let reason = below(directory, key).expect_err(key);
            assert!(!reason.contains(['\n', '\0']), "{reason}");
        }
    }
}
