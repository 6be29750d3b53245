//! `watch`: prints what is created, changed and removed below a target, until interrupted.
//!
//! It compares listings, so it works for every service and for directories, sees a change at the next look,
//! and does not see what was made and removed in between.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::note::tell;
use super::rounds::Rounds;
use crate::cli::WatchArgs;
use crate::error::Error;
use crate::s3::{Entry, Listed};
use crate::session::Session;
use crate::target::{Remote, Target};
use crate::text::human;
use crate::transfer::Listing;

/// The state of an object or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    size: u64,
    modified: Option<Timestamp>,
    etag: String,
}

impl From<Entry> for State {
    fn from(Entry { size, modified, etag, .. }: Entry) -> State {
        State { size, modified, etag }
    }
}

/// The kinds of events to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kinds {
    put: bool,
    delete: bool,
}

pub(super) async fn run(session: &Arc<Session>, arguments: &WatchArgs) -> Result<(), Error> {
    let kinds = Kinds::parse(&arguments.events)?;
    let target = Target::parse(session, &arguments.target)?;
    let mut known = look(session, &target, arguments).await?;
    if !session.options.json {
        // Told once the first look is complete: every later change is printed.
        // If standard error is closed, nobody waits for it.
        let _ = writeln!(std::io::stderr(), "Watching {}", target.name());
    }
    let mut rounds = Rounds::default();
    loop {
        rounds.next().await;
        let now = match look(session, &target, arguments).await {
            Ok(now) => now,
            Err(error) => {
                rounds.failed(session, "Unable to look:", &error);
                continue;
            }
        };
        rounds.passed();
        for (name, state) in &now {
            if kinds.put && known.get(name) != Some(state) {
                print(session, "s3:ObjectCreated:Put", name, state)?;
            }
        }
        for (name, state) in &known {
            if kinds.delete && !now.contains_key(name) {
                print(
                    session,
                    "s3:ObjectRemoved:Delete",
                    name,
                    &State { size: 0, ..state.clone() },
                )?;
            }
        }
        known = now;
    }
}

impl Kinds {
    fn parse(text: &str) -> Result<Kinds, Error> {
        let mut kinds = Kinds { put: false, delete: false };
        for kind in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            match kind {
                "put" => kinds.put = true,
                "delete" => kinds.delete = true,
                _ => {
                    return Err(Error::refused(format!(
                        "'{kind}' cannot be watched: listings tell put and delete"
                    )));
                }
            }
        }
        Ok(kinds)
    }
}

/// Everything below the target that the filter lets pass, by name.
async fn look(
    session: &Session,
    target: &Target,
    arguments: &WatchArgs,
) -> Result<BTreeMap<String, State>, Error> {
    let mut found = BTreeMap::new();
    let starts = match target {
        Target::Remote(remote) if remote.bucket.is_empty() => {
            let buckets = remote.s3.buckets().await?;
            let of = |entry: &Entry| remote.bucket(&entry.key).map(Target::Remote);
            buckets.iter().map(of).collect::<Result<Vec<_>, _>>()?
        }
        target => vec![target.clone()],
    };
    for start in starts {
        let start = match start {
            Target::Remote(remote) => {
                // A prefix of keys: the listing need not see the others.
                let key = format!("{}{}", remote.key, arguments.prefix);
                Target::Remote(Remote { key, ..remote })
            }
            local => local,
        };
        let mut listing = Listing::of(&start, true, Listed::Objects).await?;
        while let Some(item) = listing.next(session).await? {
            let is_named = match &item.target {
                Target::Remote(_) => true,
                Target::Local(_) => item.relative.starts_with(&arguments.prefix),
            };
            if is_named && !item.entry.is_folder && item.relative.ends_with(&arguments.suffix) {
                found.insert(item.target.name(), State::from(item.entry));
            }
        }
    }
    Ok(found)
}

fn print(session: &Session, kind: &str, name: &str, state: &State) -> Result<(), Error> {
    let time = match (kind.contains("Created"), state.modified) {
        (true, Some(modified)) => modified,
        _ => Timestamp::now(),
    };
    let time = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let size = match state.size {
        0 => String::new(),
        size => human(size),
    };
    let text = format!("[{time}] {size:>8} {kind} {name}");
    let event = json!({ "time": time, "size": state.size, "path": name, "type": kind });
    tell(session, text, json!({ "events": event }))
}
