//! An archive entry, and the errors of reading archives.

use std::io;

/// An entry of an archive.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name as in the archive; see [`words`].
    pub name: String,
    /// The kind.
    pub kind: Kind,
    /// The length of its data.
    pub bytes: u64,
    /// Key and value of its extended properties that MinIO's clients write: the ones whose keys
    /// begin with [`MINIO`].
    pub of_minio: Vec<(String, String)>,
}

/// The beginning of the keys of MinIO's extended properties.
pub const MINIO: &str = "minio.";

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// Anything else, for the given reason no object.
    Other(&'static str),
}

/// The words of an entry's name, without empty ones and dots. None for the root of the archive.
///
/// # Errors
/// The name is a path that leaves the archive.
pub fn words(name: &str) -> Result<Vec<&str>, String> {
    if name.starts_with('/') {
        return Err("its name begins at the root of the file system".to_owned());
    }
    if name.contains('\0') {
        return Err("its name has a zero byte".to_owned());
    }
    let words: Vec<&str> = name.split('/').filter(|word| !matches!(*word, "" | ".")).collect();
    match words.contains(&"..") {
        true => Err("its name leads out of the archive".to_owned()),
        false => Ok(words),
    }
}

/// The error for an archive without its end.
#[must_use]
pub fn cut_off() -> String {
    "the archive is cut off".to_owned()
}

/// Describes an error of reading an archive.
#[must_use]
pub fn damaged(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => cut_off(),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            format!("the archive is damaged: {error}")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_within_the_archive() {
        let rows: [(&str, &[&str]); 7] = [
            ("", &[]),
            ("./", &[]),
            ("photos", &["photos"]),
            ("./photos/", &["photos"]),
            ("photos/a", &["photos", "a"]),
            ("./photos//./a/b/", &["photos", "a", "b"]),
            ("photos/..a/b..", &["photos", "..a", "b.."]),
        ];
        for (name, expected) in rows {
            assert_eq!(words(name).as_deref(), Ok(expected), "{name}");
        }
        for name in ["/photos/a", "..", "photos/../a", "photos/a/..", "../photos/a", "photos/a\0b"]
        {
            assert!(words(name).is_err(), "{name}");
        }
    }
}
