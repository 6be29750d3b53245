//! Archives: the entries of a tar archive, which may be compressed with gzip.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use liteio_store::ObjectKey;

use super::PIECE_BYTES;
use super::sower::Sower;
use super::tar::{Kind, Tar};

/// Puts the objects of an archive.
///
/// # Errors
/// One line that names the entry.
pub(super) fn sow(path: &Path, is_compressed: bool, sower: &mut Sower<'_>) -> Result<(), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let file = BufReader::with_capacity(PIECE_BYTES, file);
    match is_compressed {
        true => sow_entries(Tar::new(MultiGzDecoder::new(file)), sower),
        false => sow_entries(Tar::new(file), sower),
    }
}

fn sow_entries(mut archive: Tar<impl Read>, sower: &mut Sower<'_>) -> Result<(), String> {
    while let Some(entry) = archive.next_entry()? {
        let failed = |reason: String| format!("{:?}: {reason}", entry.name);
        let place = Place::of(&entry.name).map_err(failed)?;
        match (entry.kind, place) {
            (_, Place::Root) => {}
            (Kind::Directory, Place::Bucket(bucket) | Place::Inside(bucket, _)) => {
                sower.bucket(bucket).map_err(failed)?;
            }
            (Kind::File, Place::Bucket(_)) => {
                return Err(failed("it is in no directory, and so in no bucket".to_owned()));
            }
            (Kind::File, Place::Inside(bucket, key)) => {
                let key = ObjectKey::new(key).map_err(|error| failed(error.to_string()))?;
                let bucket = sower.bucket(bucket).map_err(failed)?;
                let put = sower.object(&bucket, key, entry.bytes, &mut archive.body());
                put.map_err(failed)?;
            }
        }
    }
    Ok(())
}

/// The place that the name of an entry stands for.
#[derive(Debug, PartialEq, Eq)]
enum Place<'n> {
    /// The directory that everything is in.
    Root,
    /// A bucket.
    Bucket(&'n str),
    /// A bucket and a key.
    Inside(&'n str, String),
}

impl Place<'_> {
    /// # Errors
    /// The name leads out of the archive.
    fn of(name: &str) -> Result<Place<'_>, String> {
        if name.starts_with('/') {
            return Err("its name begins at the root of the file system".to_owned());
        }
        if name.contains('\0') {
            return Err("its name has a zero byte".to_owned());
        }
        let mut words = name.split('/').filter(|word| !matches!(*word, "" | "."));
        if words.clone().any(|word| word == "..") {
            return Err("its name leads out of the archive".to_owned());
        }
        let Some(bucket) = words.next() else { return Ok(Place::Root) };
        let key = words.collect::<Vec<_>>().join("/");
        Ok(if key.is_empty() { Place::Bucket(bucket) } else { Place::Inside(bucket, key) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_within_the_archive() {
        let inside = |key: &str| Place::Inside("photos", key.to_owned());
        let rows = [
            ("", Place::Root),
            ("./", Place::Root),
            ("photos", Place::Bucket("photos")),
            ("./photos/", Place::Bucket("photos")),
            ("photos/a", inside("a")),
            ("./photos//./a/b/", inside("a/b")),
            ("photos/..a/b..", inside("..a/b..")),
        ];
        for (name, expected) in rows {
            assert_eq!(Place::of(name), Ok(expected), "{name}");
        }
        for name in ["/photos/a", "..", "photos/../a", "photos/a/..", "../photos/a", "photos/a\0b"]
        {
            assert!(Place::of(name).is_err(), "{name}");
        }
    }
}
