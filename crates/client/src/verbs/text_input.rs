//! Documents from files and from standard input.

use std::io::Read as _;
use std::path::Path;

use crate::error::Error;

/// More bytes than a document of any setting has.
const BYTES_MAX: u64 = 1 << 20;

/// Reads a text from a file, or from standard input without one.
///
/// # Errors
/// It cannot be read, is no UTF-8, or longer than any setting.
pub(super) async fn read(file: Option<&Path>) -> Result<String, Error> {
    let file = file.map(Path::to_owned);
    // On a thread of its own, so that an interruption is noticed.
    let read = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        let name = file.as_deref().unwrap_or(Path::new("standard input"));
        let read = match &file {
            Some(path) => std::fs::File::open(path)
                .and_then(|file| file.take(BYTES_MAX + 1).read_to_string(&mut text)),
            None => std::io::stdin().lock().take(BYTES_MAX + 1).read_to_string(&mut text),
        };
        read.map_err(Error::file(name))?;
        match text.len() as u64 > BYTES_MAX {
            true => Err(Error::refused(format!("{} is longer than any setting", name.display()))),
            false => Ok(text),
        }
    });
    read.await.map_err(|error| Error::refused(format!("cannot read: {error}")))?
}
