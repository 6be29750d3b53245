//! `du`: sums of sizes.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::SUCCESS;
use crate::cli::DuArgs;
use crate::error::Error;
use crate::s3::Listed;
use crate::session::Session;
use crate::target::{Remote, Target};
use crate::text::{count, human_narrow};
use crate::transfer::{Listing, Named, folder_or_object};

#[derive(Serialize)]
struct DuMessage {
    prefix: String,
    size: u64,
    objects: u64,
    status: &'static str,
    #[serde(rename = "isVersions")]
    is_versions: bool,
}

impl fmt::Display for DuMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.is_versions { "version" } else { "object" };
        let size = human_narrow(self.size);
        write!(formatter, "{size}\t{}\t{}", count(self.objects, noun), self.prefix)
    }
}

pub(super) async fn run(session: &Arc<Session>, arguments: &DuArgs) -> Result<(), Error> {
    // Depth to print: only the target, a given depth, or all.
    let depth = match (arguments.recursive, arguments.depth) {
        (true, None | Some(0)) => u32::MAX,
        (_, depth) => depth.unwrap_or(1).max(1),
    };
    for text in &arguments.targets {
        match target(session, arguments, text, depth).await {
            Err(error @ Error::Output(_)) => return Err(error),
            Err(error) => {
                let message = format!("Failed to summarize disk usage of `{text}`.");
                session.output.failure(&message, &error);
            }
            Ok(()) => {}
        }
    }
    Ok(())
}

async fn target(
    session: &Session,
    arguments: &DuArgs,
    text: &str,
    depth: u32,
) -> Result<(), Error> {
    let target = Target::parse(session, text)?;
    let listed = if arguments.versions { Listed::Versions } else { Listed::Objects };
    if let Target::Remote(remote) = &target
        && remote.bucket.is_empty()
    {
        let mut all = Sum::default();
        for bucket in remote.s3.buckets().await? {
            let below = Target::Remote(Remote { bucket: bucket.key, ..remote.clone() });
            let sums = Sums { session, versions: arguments.versions, depth: depth - 1 };
            all.add(sums.folder(&below, listed).await?);
        }
        return tell(session, String::new(), all, arguments.versions);
    }
    let folder = match folder_or_object(session, &target, listed).await? {
        Named::Folder(folder) => folder,
        Named::Object(remote) => {
            let head = remote.s3.head(&remote.bucket, &remote.key, None).await?;
            let sum = Sum { size: head.size, objects: 1 };
            return tell(session, name(&Target::Remote(remote)), sum, arguments.versions);
        }
    };
    let sums = Sums { session, versions: arguments.versions, depth };
    sums.folder(&folder, listed).await.map(drop)
}

#[derive(Clone, Copy, Default)]
struct Sum {
    size: u64,
    objects: u64,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.size += other.size;
        self.objects += other.objects;
    }
}

struct Sums<'a> {
    session: &'a Session,
    versions: bool,
    depth: u32,
}

impl Sums<'_> {
    /// Sums everything below in one listing. Keys come in order, so the open folders form a stack.
    async fn folder(&self, folder: &Target, listed: Listed) -> Result<Sum, Error> {
        let mut listing = Listing::of(&folder.folder(), true, listed).await?;
        let mut open: Vec<(String, Sum)> = vec![(String::new(), Sum::default())];
        while let Some(item) = listing.next(self.session).await? {
            if item.entry.is_delete_marker || item.entry.is_folder {
                continue;
            }
            while let Some((prefix, _)) = open.last()
                && !item.relative.starts_with(prefix.as_str())
            {
                self.close(folder, &mut open)?;
            }
            let known = open.last().map_or(0, |(prefix, _)| prefix.len());
            for (at, _) in item.relative[known..].match_indices('/') {
                let below = u32::try_from(open.len()).unwrap_or(u32::MAX);
                if below < self.depth {
                    let prefix = item.relative[..=known + at].to_owned();
                    open.push((prefix, Sum::default()));
                }
            }
            if let Some((_, sum)) = open.last_mut() {
                sum.add(Sum { size: item.entry.size, objects: 1 });
            }
        }
        while open.len() > 1 {
            self.close(folder, &mut open)?;
        }
        let (_, sum) = open.pop().unwrap_or_default();
        if self.depth > 0 {
            tell(self.session, name(folder), sum, self.versions)?;
        }
        Ok(sum)
    }

    /// Prints the sum of the innermost folder, and adds it to the folder around it.
    fn close(&self, folder: &Target, open: &mut Vec<(String, Sum)>) -> Result<(), Error> {
        if let Some((prefix, sum)) = open.pop() {
            if let Some((_, outer)) = open.last_mut() {
                outer.add(sum);
            }
            tell(self.session, below(&name(folder), &prefix), sum, self.versions)?;
        }
        Ok(())
    }
}

/// The name as `mc` prints it, without the alias and outer slashes.
fn name(target: &Target) -> String {
    match target {
        Target::Remote(remote) => {
            format!("{}/{}", remote.bucket, remote.key).trim_matches('/').to_owned()
        }
        Target::Local(local) => local.text().trim_end_matches('/').to_owned(),
    }
}

/// The name of a folder below another one.
fn below(outer: &str, prefix: &str) -> String {
    let slash = if outer.is_empty() { "" } else { "/" };
    format!("{outer}{slash}{}", prefix.trim_matches('/'))
}

fn tell(session: &Session, prefix: String, sum: Sum, is_versions: bool) -> Result<(), Error> {
    let Sum { size, objects } = sum;
    session.output.print(&DuMessage { prefix, size, objects, status: SUCCESS, is_versions })
}
