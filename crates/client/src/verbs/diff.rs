//! `diff`: the differences between two folders, by name, size and time.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::SUCCESS;
use super::merge::{Difference, Merge, Pair, difference};
use crate::cli::DiffArgs;
use crate::error::Error;
use crate::session::Session;
use crate::target::Target;
use crate::transfer::Listing;

#[derive(Serialize)]
struct DiffMessage {
    status: &'static str,
    first: String,
    second: String,
    diff: &'static str,
}

impl fmt::Display for DiffMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.diff {
            "only-in-first" => write!(formatter, "< {}", self.first),
            "only-in-second" => write!(formatter, "> {}", self.second),
            _ => write!(formatter, "! {}", self.second),
        }
    }
}

pub(super) async fn run(session: &Arc<Session>, arguments: &DiffArgs) -> Result<(), Error> {
    let first = Target::parse(session, &arguments.first)?;
    let second = Target::parse(session, &arguments.second)?;
    for target in [&first, &second] {
        if let Target::Remote(remote) = target
            && remote.bucket.is_empty()
        {
            let reason =
                format!("'{}' names no bucket; compare two buckets or folders", remote.alias);
            return Err(Error::refused(reason));
        }
    }
    let first = Listing::below(&first, true).await?;
    let second = Listing::below(&second, true).await?;
    let mut merge = Merge::begin(session, first).await?.against(session, second).await?;
    while let Some(pair) = merge.next(session).await? {
        let (first, second, diff) = match &pair {
            Pair::First(first) => (first.target.name(), String::new(), "only-in-first"),
            Pair::Second(second) => (String::new(), second.target.name(), "only-in-second"),
            Pair::Both(both) => {
                let diff = match difference(&both.0, &both.1) {
                    Difference::None => continue,
                    Difference::Size => "size",
                    Difference::Newer => "mm-source-mtime",
                };
                (both.0.target.name(), both.1.target.name(), diff)
            }
        };
        session.output.print(&DiffMessage { status: SUCCESS, first, second, diff })?;
    }
    Ok(())
}
