//! `cat` and `head`: print objects and files.

use std::io::{Seek as _, SeekFrom};
use std::sync::Arc;

use tokio::task::block_in_place;

use crate::cli::{CatArgs, HeadArgs};
use crate::error::Error;
use crate::session::Session;
use crate::target::{Remote, Target};

/// Size of one read of a file.
const PIECE_BYTES: usize = 256 << 10;

/// Start of the wanted range.
#[derive(Clone, Copy)]
enum From {
    Offset(u64),
    /// Number of bytes from the end.
    Tail(u64),
}

pub(super) async fn run(session: &Arc<Session>, arguments: &CatArgs) -> Result<(), Error> {
    let from = match arguments.tail {
        Some(bytes) => From::Tail(bytes),
        None => From::Offset(arguments.offset),
    };
    for text in &arguments.targets {
        let version = arguments.version_id.as_deref();
        let all = |bytes: &[u8]| session.output.bytes(bytes).map(|()| true);
        each(session, text, version, from, all).await?;
    }
    Ok(())
}

pub(super) async fn head(session: &Arc<Session>, arguments: &HeadArgs) -> Result<(), Error> {
    for text in &arguments.targets {
        let mut left = arguments.lines;
        let lines = |bytes: &[u8]| {
            let mut end = 0;
            while left > 0 && end < bytes.len() {
                end = match bytes[end..].iter().position(|it| *it == b'\n') {
                    Some(at) => {
                        left -= 1;
                        end + at + 1
                    }
                    None => bytes.len(),
                };
            }
            session.output.bytes(&bytes[..end])?;
            Ok(left > 0)
        };
        each(session, text, arguments.version_id.as_deref(), From::Offset(0), lines).await?;
    }
    Ok(())
}

/// Passes a target's bytes to a function until it wants no more.
async fn each(
    session: &Session,
    text: &str,
    version: Option<&str>,
    from: From,
    mut take: impl FnMut(&[u8]) -> Result<bool, Error>,
) -> Result<(), Error> {
    let result = match text {
        "-" => {
            read(std::io::stdin(), &mut take).await.map_err(|error| named(error, "standard input"))
        }
        _ => match Target::parse(session, text)? {
            Target::Local(local) => {
                let path = local.path();
                let mut file = std::fs::File::open(path).map_err(Error::file(path))?;
                let sought = match from {
                    From::Offset(0) => Ok(0),
                    From::Offset(offset) => file.seek(SeekFrom::Start(offset)),
                    From::Tail(bytes) => file
                        .seek(SeekFrom::End(0))
                        .and_then(|end| file.seek(SeekFrom::Start(end.saturating_sub(bytes)))),
                };
                sought.map_err(Error::file(path))?;
                read(file, &mut take).await.map_err(|error| named(error, text))
            }
            Target::Remote(remote) if remote.key.is_empty() => {
                Err(Error::refused(format!("'{text}' is no object; `ls` lists those there are")))
            }
            Target::Remote(remote) => object(&remote, version, from, &mut take).await,
        },
    };
    // Printed bytes must not stay in the buffer.
    std::io::Write::flush(&mut std::io::stdout()).map_err(Error::Output)?;
    result
}

async fn object(
    remote: &Remote,
    version: Option<&str>,
    from: From,
    take: &mut impl FnMut(&[u8]) -> Result<bool, Error>,
) -> Result<(), Error> {
    let Remote { s3, bucket, key, .. } = remote;
    let offset = match from {
        From::Offset(offset) => offset,
        From::Tail(bytes) => s3.head(bucket, key, version).await?.size.saturating_sub(bytes),
    };
    let mut download = match s3.download(bucket, key, version, offset).await {
        // At the end of an object no range is satisfiable.
        Err(error) if error.status() == Some(416) => return Ok(()),
        result => result?,
    };
    while let Some(bytes) = download.chunk().await? {
        if !take(&bytes)? {
            break;
        }
    }
    Ok(())
}

async fn read(
    mut from: impl std::io::Read,
    take: &mut impl FnMut(&[u8]) -> Result<bool, Error>,
) -> Result<(), Error> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let bytes = block_in_place(|| from.read(&mut piece))
            .map_err(|error| Error::refused(error.to_string()))?;
        if bytes == 0 || !take(&piece[..bytes])? {
            return Ok(());
        }
    }
}

fn named(error: Error, name: &str) -> Error {
    match error {
        Error::Refused(reason) => Error::Refused(format!("cannot read {name}: {reason}")),
        other => other,
    }
}
