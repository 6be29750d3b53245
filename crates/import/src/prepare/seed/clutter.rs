//! Names at the top of a seed that belong to file systems, file managers and repositories. They can
//! be no bucket, and are passed over with a warning; any other name that is no bucket is an error.

use std::collections::BTreeSet;

use crate::prepare::buckets;

/// Names of files and directories, compared without case.
const NAMES: [&str; 8] = [
    "$RECYCLE.BIN",
    "CVS",
    "System Volume Information",
    "Thumbs.db",
    "__MACOSX",
    "desktop.ini",
    "ehthumbs.db",
    "lost+found",
];
/// Names of files that explain a repository, with any extension.
const EXPLAINING: [&str; 5] = ["CHANGELOG", "COPYING", "LICENSE", "NOTICE", "README"];

/// Different names that are warned of.
const WARNINGS_MAX: usize = 20;

/// The names passed over so far.
#[derive(Debug, Default)]
pub(super) struct Clutter(BTreeSet<String>);

impl Clutter {
    /// `true` if this name at the top is to be passed over. Warns of it once.
    pub(super) fn takes(&mut self, name: &str, is_directory: bool) -> bool {
        let is_clutter = is_clutter(name, is_directory);
        if is_clutter && self.0.len() < WARNINGS_MAX && self.0.insert(name.to_owned()) {
            tracing::warn!(name, "passed over at the top of the seed: it is no bucket");
        }
        is_clutter
    }
}

fn is_clutter(name: &str, is_directory: bool) -> bool {
    // Even a listed name is a bucket, if it can be one.
    if is_directory && buckets::is_name(name) {
        return false;
    }
    // No name of a bucket begins with a dot: `.git`, `.DS_Store`, `.gitkeep`, `._photos`.
    if name.starts_with('.') || NAMES.iter().any(|it| it.eq_ignore_ascii_case(name)) {
        return true;
    }
    let stem = name.split('.').next().unwrap_or_default();
    !is_directory && EXPLAINING.iter().any(|it| it.eq_ignore_ascii_case(stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_tools_leave_behind_is_passed_over() {
        for name in [
            ".DS_Store",
            "._photos",
            ".gitkeep",
            ".gitignore",
            ".keep",
            ".localized",
            "Thumbs.db",
            "thumbs.db",
            "desktop.ini",
            "README.md",
            "README",
            "readme.txt",
            "LICENSE",
        ] {
            assert!(is_clutter(name, false), "the file {name}");
        }
        for name in [".git", ".github", "__MACOSX", "lost+found", "$RECYCLE.BIN", ".Trash-1000"] {
            assert!(is_clutter(name, true), "the directory {name}");
        }
        for name in ["photos", "readme", "cvs", "license", "Photos", "a_b"] {
            assert!(!is_clutter(name, true), "the directory {name}");
        }
        for name in ["a.jpg", "photos", "data.tar", "index.html"] {
            assert!(!is_clutter(name, false), "the file {name}");
        }
    }

    #[test]
    fn warnings_are_bounded() {
        let mut clutter = Clutter::default();
        for number in 0..100 {
            assert!(clutter.takes(&format!(".{number}"), false));
        }
        assert_eq!(clutter.0.len(), WARNINGS_MAX);
    }
}
