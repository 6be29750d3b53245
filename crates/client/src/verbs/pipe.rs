//! `pipe`: stores standard input.

use std::fmt;
use std::io::Read as _;
use std::sync::Arc;

use serde::Serialize;
use tokio::task::block_in_place;

use super::SUCCESS;
use super::properties::properties;
use crate::cli::PipeArgs;
use crate::error::Error;
use crate::local::NewFile;
use crate::session::{Progress, Session};
use crate::target::Target;
use crate::text::parse_size;
use crate::transfer::{Reader, Sizes, upload};

#[derive(Serialize)]
struct PipeMessage<'a> {
    status: &'static str,
    target: &'a str,
    size: u64,
}

impl fmt::Display for PipeMessage<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes -> `{}`", self.size, self.target)
    }
}

pub(super) async fn run(session: &Arc<Session>, arguments: &PipeArgs) -> Result<(), Error> {
    let sizes = parse_size(&arguments.part_size).and_then(Sizes::of_parts).map_err(|reason| {
        Error::refused(format!("--part-size {}: {reason}", arguments.part_size))
    })?;
    let target = arguments.target.as_str();
    let size = match Target::to_write(session, target)? {
        Target::Remote(remote) if remote.key.is_empty() || remote.key.ends_with('/') => {
            return Err(Error::refused(format!("'{target}' is a folder; name an object in it")));
        }
        Target::Remote(remote) => {
            let properties = properties(&arguments.properties, false)?;
            let headers = properties.headers(&remote.key, Vec::new());
            let progress = Progress::new(&session.output);
            let mut reader = Reader::Input(std::io::stdin());
            upload(session, &remote, headers, &mut reader, sizes, Some(progress.counter())).await?
        }
        Target::Local(local) => {
            let mut file = NewFile::create(&local)?;
            let mut piece = vec![0; 1 << 20];
            let mut size = 0;
            block_in_place(|| {
                loop {
                    let bytes = std::io::stdin().read(&mut piece).map_err(|error| {
                        Error::refused(format!("cannot read standard input: {error}"))
                    })?;
                    if bytes == 0 {
                        return file.finish().map(|()| size);
                    }
                    file.write(&piece[..bytes])?;
                    size += bytes as u64;
                }
            })?
        }
    };
    session.output.print(&PipeMessage { status: SUCCESS, target, size })
}
