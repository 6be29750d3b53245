//! Downloads to files, and copies of files.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use tokio::task::block_in_place;

use crate::error::Error;
use crate::local::{Local, NewFile};
use crate::s3::Sent;
use crate::target::Remote;

/// Size of one write.
const PIECE_BYTES: usize = 1 << 20;

/// Downloads an object to a file, which appears once it is complete and verified. A key that ends
/// with a slash becomes a directory.
pub(super) async fn download(
    source: &Remote,
    version: Option<&str>,
    target: &Local,
    sent: Option<Sent>,
) -> Result<(), Error> {
    let mut download = source.s3.download(&source.bucket, &source.key, version, 0).await?;
    if source.key.ends_with('/') {
        if download.head.size > 0 {
            return Err(Error::refused(format!(
                "the key '{}' ends with a slash and has bytes: no file can have this name",
                source.key
            )));
        }
        return target.make_directory();
    }
    let mut file = NewFile::create(target)?;
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    while let Some(bytes) = download.chunk().await? {
        if let Some(sent) = &sent {
            sent(bytes.len() as i64);
        }
        if piece.len() + bytes.len() > PIECE_BYTES {
            block_in_place(|| file.write(&piece))?;
            piece.clear();
        }
        piece.extend_from_slice(&bytes);
    }
    block_in_place(|| file.write(&piece).and_then(|()| file.finish()))
}

/// Copies a file.
pub(super) fn duplicate(source: &Path, target: &Local, sent: Option<Sent>) -> Result<(), Error> {
    let mut from = File::open(source).map_err(Error::file(source))?;
    if !from.metadata().map_err(Error::file(source))?.is_file() {
        return Err(Error::refused(format!("{} is no regular file", source.display())));
    }
    let mut file = NewFile::create(target)?;
    let mut piece = vec![0; PIECE_BYTES];
    block_in_place(|| {
        loop {
            let bytes = from.read(&mut piece).map_err(Error::file(source))?;
            if bytes == 0 {
                return file.finish();
            }
            file.write(&piece[..bytes])?;
            if let Some(sent) = &sent {
                sent(bytes as i64);
            }
        }
    })
}
