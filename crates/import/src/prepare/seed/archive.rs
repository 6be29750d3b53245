//! Archives as seeds: tar, optionally compressed with gzip, and zip.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use liteio_store::ObjectKey;

use super::PIECE_BYTES;
use super::entry::{Entry, Kind};
use super::sower::Sower;
use super::tar::Tar;
use super::zip;

/// The format of an archive.
#[derive(Clone, Copy, Debug)]
pub(in crate::prepare) enum Format {
    Tar,
    TarGzip,
    Zip,
}

impl Format {
    /// The format by the archive's file name.
    pub(super) fn of_name(name: &str) -> Option<Format> {
        let name = name.to_ascii_lowercase();
        let formats = [
            (".tar", Format::Tar),
            (".tar.gz", Format::TarGzip),
            (".tgz", Format::TarGzip),
            (".zip", Format::Zip),
        ];
        formats.into_iter().find(|(end, _)| name.ends_with(end)).map(|(_, format)| format)
    }
}

/// Stores the objects of an archive.
///
/// # Errors
/// One line that names the entry.
pub(super) fn sow(path: &Path, format: Format, sower: &mut Sower<'_>) -> Result<(), String> {
    let open = || {
        let file = File::open(path).map_err(|error| error.to_string())?;
        Ok::<_, String>(BufReader::with_capacity(PIECE_BYTES, file))
    };
    match format {
        Format::Tar => sow_tar(Tar::new(open()?), sower),
        Format::TarGzip => sow_tar(Tar::new(MultiGzDecoder::new(open()?)), sower),
        Format::Zip => zip::read(path, |entry, body| sow_entry(entry, body, sower)),
    }
}

fn sow_tar(mut archive: Tar<impl Read>, sower: &mut Sower<'_>) -> Result<(), String> {
    while let Some(entry) = archive.next_entry()? {
        let sown = sow_entry(&entry, &mut archive.body(), sower);
        sown.map_err(|reason| format!("{:?}: {reason}", entry.name))?;
    }
    Ok(())
}

fn sow_entry(entry: &Entry, body: &mut dyn Read, sower: &mut Sower<'_>) -> Result<(), String> {
    match (entry.kind, Place::of(&entry.name)?) {
        (_, Place::Root) => Ok(()),
        (_, Place::Bucket(bucket) | Place::Inside(bucket, _)) if !sower.wants(bucket) => Ok(()),
        (Kind::Directory, Place::Bucket(bucket) | Place::Inside(bucket, _)) => {
            sower.bucket(bucket).map(drop)
        }
        (Kind::File, Place::Bucket(_)) => {
            Err("it is in no directory, and so in no bucket".to_owned())
        }
        (Kind::File, Place::Inside(bucket, key)) => {
            let key = ObjectKey::new(key).map_err(|error| error.to_string())?;
            let bucket = sower.bucket(bucket)?;
            sower.object(&bucket, key, entry.bytes, body)
        }
    }
}

/// The target of an entry's name.
#[derive(Debug, PartialEq, Eq)]
enum Place<'n> {
    /// The root directory of the archive.
    Root,
    /// A bucket.
    Bucket(&'n str),
    /// A bucket and a key.
    Inside(&'n str, String),
}

impl Place<'_> {
    /// # Errors
    /// The name is a path that leaves the archive.
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
