//! Archives as seeds: tar, optionally compressed with gzip, and zip.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use liteio_store::ObjectKey;

use super::PIECE_BYTES;
use super::sower::Sower;
use super::zip;
use liteio_s3::archive::{Entry, Kind, Tar, words};

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
    let words = words(&entry.name)?;
    let Some((bucket, rest)) = words.split_first() else { return Ok(()) };
    let is_in_bucket = !rest.is_empty() || entry.kind == Kind::Directory;
    if sower.clutter.takes(bucket, is_in_bucket) || !sower.wants(bucket) {
        return Ok(());
    }
    match entry.kind {
        Kind::Directory => sower.bucket(bucket).map(drop),
        Kind::Other(reason) => Err(reason.to_owned()),
        Kind::File if !is_in_bucket => Err("it is in no directory, and so in no bucket".to_owned()),
        Kind::File => {
            let key = ObjectKey::new(rest.join("/")).map_err(|error| error.to_string())?;
            let bucket = sower.bucket(bucket)?;
            sower.object(&bucket, key, entry.bytes, body)
        }
    }
}
