//! `find`: search for objects by name, size and age.

use std::sync::Arc;

use super::age::Age;
use super::ls::Content;
use crate::cli::FindArgs;
use crate::error::Error;
use crate::s3::Listed;
use crate::session::Session;
use crate::target::Target;
use crate::text::{Flat, Glob, parse_size};
use crate::transfer::{Item, Listing};

/// Conditions of a search.
struct Wanted {
    name: Option<Glob>,
    path: Option<Flat>,
    ignore: Option<Flat>,
    larger: Option<u64>,
    smaller: Option<u64>,
    age: Age,
}

pub(super) async fn run(session: &Arc<Session>, arguments: &FindArgs) -> Result<(), Error> {
    let size =
        |text: &Option<String>| text.as_deref().map(parse_size).transpose().map_err(Error::Refused);
    let wanted = Wanted {
        name: arguments.name.as_deref().map(Glob::new).transpose().map_err(Error::Refused)?,
        path: arguments.path.as_deref().map(Flat::new),
        ignore: arguments.ignore.as_deref().map(Flat::new),
        larger: size(&arguments.larger)?,
        smaller: size(&arguments.smaller)?,
        age: Age::of(&arguments.age)?,
    };
    let target = Target::parse(session, &arguments.target)?;
    let listed = if arguments.versions { Listed::Versions } else { Listed::Objects };
    let mut last = None;
    let starts = match &target {
        Target::Remote(remote) if remote.bucket.is_empty() => {
            let buckets = remote.s3.buckets().await?;
            let starts = buckets.iter().map(|it| remote.bucket(&it.key).map(Target::Remote));
            starts.collect::<Result<Vec<_>, _>>()?
        }
        _ => vec![target.folder()],
    };
    for start in starts {
        let mut listing = Listing::of(&start, true, listed).await?;
        while let Some(item) = listing.next(session).await? {
            if !wanted.matches(&item) {
                continue;
            }
            let name = match arguments.maxdepth {
                Some(depth) if depth > 0 => {
                    cut(&target.folder().name(), &item.target.name(), depth)
                }
                _ => item.target.name(),
            };
            // Below the depth limit many objects share one name.
            if arguments.maxdepth.is_some() && last.as_ref() == Some(&name) {
                continue;
            }
            print(session, &name, &item)?;
            last = Some(name);
        }
    }
    Ok(())
}

impl Wanted {
    fn matches(&self, item: &Item) -> bool {
        let name = item.target.name();
        self.name.as_ref().is_none_or(|it| it.matches_name(&name))
            && self.path.as_ref().is_none_or(|it| it.matches(&name))
            && self.ignore.as_ref().is_none_or(|it| !it.matches(&name))
            && self.larger.is_none_or(|it| item.entry.size > it)
            && self.smaller.is_none_or(|it| item.entry.size < it)
            && self.age.matches(item.entry.modified)
    }
}

/// The name, cut at a depth below the start of the search.
fn cut(start: &str, name: &str, depth: usize) -> String {
    let below = name.strip_prefix(start).unwrap_or(name);
    let below = below.trim_start_matches('/');
    let end = below.match_indices('/').nth(depth - 1).map_or(below.len(), |(at, _)| at + 1);
    name[..name.len() - below.len() + end].to_owned()
}

fn print(session: &Session, name: &str, item: &Item) -> Result<(), Error> {
    if session.options.json {
        return session.output.print(&Content::of(name, &item.entry, ""));
    }
    match &item.entry.version {
        Some(version) => session.output.line(&format!("{name} ({version})")),
        None => session.output.line(name),
    }
}
