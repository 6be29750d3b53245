//! Readers of bytes to upload, in pieces of any size.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use tokio::task::block_in_place;

use crate::error::Error;
use crate::s3::Download;

/// A source of bytes.
pub(crate) enum Reader {
    File(FileReader),
    /// Standard input, until it is closed.
    Input(std::io::Stdin),
    Object {
        download: Box<Download>,
        rest: Bytes,
    },
}

/// A file that must not change while it is read.
pub(crate) struct FileReader {
    path: PathBuf,
    file: File,
    size: u64,
    modified: Option<SystemTime>,
    read: u64,
}

impl Reader {
    /// # Errors
    /// It is no file, or cannot be read.
    pub(crate) fn file(path: &Path) -> Result<Reader, Error> {
        let file = File::open(path).map_err(Error::file(path))?;
        let metadata = file.metadata().map_err(Error::file(path))?;
        if !metadata.is_file() {
            return Err(Error::refused(format!(
                "{} is no regular file; use `pipe` for the output of another program",
                path.display()
            )));
        }
        let (size, modified) = (metadata.len(), metadata.modified().ok());
        Ok(Reader::File(FileReader { path: path.to_path_buf(), file, size, modified, read: 0 }))
    }

    pub(crate) fn object(download: Download) -> Reader {
        Reader::Object { download: Box::new(download), rest: Bytes::new() }
    }

    /// Number of bytes, if known.
    pub(crate) fn size(&self) -> Option<u64> {
        match self {
            Reader::File(file) => Some(file.size),
            Reader::Input(_) => None,
            Reader::Object { download, .. } => Some(download.head.size),
        }
    }

    /// The requested number of bytes; fewer, or none, at the end.
    pub(crate) async fn next(&mut self, bytes: usize) -> Result<Bytes, Error> {
        match self {
            Reader::File(reader) => {
                let left = usize::try_from(reader.size - reader.read).unwrap_or(usize::MAX);
                let wanted = bytes.min(left);
                let piece = block_in_place(|| fill(&mut reader.file, wanted))
                    .map_err(Error::file(&reader.path))?;
                reader.read += piece.len() as u64;
                if piece.len() < wanted || reader.has_changed()? {
                    return Err(Error::refused(format!(
                        "{} changed while it was read; nothing was stored, try again",
                        reader.path.display()
                    )));
                }
                Ok(piece)
            }
            Reader::Input(input) => block_in_place(|| fill(&mut input.lock(), bytes))
                .map_err(|error| Error::refused(format!("cannot read standard input: {error}"))),
            Reader::Object { download, rest } => {
                let mut piece = BytesMut::new();
                while piece.len() < bytes {
                    if rest.is_empty() {
                        match download.chunk().await? {
                            Some(chunk) => *rest = chunk,
                            None => break,
                        }
                    }
                    let taken = rest.len().min(bytes - piece.len());
                    piece.extend_from_slice(&rest.split_to(taken));
                }
                Ok(piece.freeze())
            }
        }
    }

    /// Verifies that the end was reached, and that all bytes belong to one version.
    pub(crate) async fn finish(&mut self) -> Result<(), Error> {
        match self {
            Reader::File(reader) => {
                if reader.read == reader.size && !reader.has_changed()? {
                    return Ok(());
                }
                let path = reader.path.display();
                Err(Error::refused(format!("{path} changed while it was read; try again")))
            }
            Reader::Input(_) => Ok(()),
            // The download compares the digest at its end.
            Reader::Object { download, rest } => match download.chunk().await? {
                None if rest.is_empty() => Ok(()),
                _ => Err(Error::transport("more came than the service promised")),
            },
        }
    }
}

impl FileReader {
    fn has_changed(&self) -> Result<bool, Error> {
        let metadata = self.file.metadata().map_err(Error::file(&self.path))?;
        Ok(metadata.len() != self.size || metadata.modified().ok() != self.modified)
    }
}

fn fill(from: &mut impl Read, bytes: usize) -> std::io::Result<Bytes> {
    let mut piece = Vec::new();
    from.take(bytes as u64).read_to_end(&mut piece)?;
    Ok(piece.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = (&'static str, fn(&Path));

    #[tokio::test(flavor = "multi_thread")]
    async fn a_file_that_changes_is_not_read_as_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        let changes: [Change; 3] = [
            ("longer", |path| std::fs::write(path, "0123456789+").expect("written")),
            ("shorter", |path| std::fs::write(path, "012").expect("written")),
            ("newer", |path| {
                let file = File::options().write(true).open(path).expect("opened");
                file.set_modified(SystemTime::UNIX_EPOCH).expect("set");
            }),
        ];
        for (name, change) in changes {
            std::fs::write(&path, "0123456789").expect("written");
            let mut reader = Reader::file(&path).expect("a file");
            assert_eq!(reader.next(4).await.expect("read"), "0123", "{name}");
            change(&path);
            let rest = reader.next(100).await;
            assert!(rest.is_err() || reader.finish().await.is_err(), "{name}");
        }
        std::fs::write(&path, "0123456789").expect("written");
        let mut reader = Reader::file(&path).expect("a file");
        assert_eq!(reader.next(100).await.expect("read"), "0123456789");
        assert_eq!(reader.next(100).await.expect("read"), "");
        reader.finish().await.expect("the end");
        assert!(Reader::file(directory.path()).is_err());
    }
}
