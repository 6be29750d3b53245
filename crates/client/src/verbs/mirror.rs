//! `mirror`: makes a target equal to a source.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::SUCCESS;
use super::age::Age;
use super::merge::{Difference, Merge, Pair, difference};
use super::properties::properties;
use super::removal::{How, Remover};
use super::rounds::Rounds;
use crate::cli::MirrorArgs;
use crate::error::Error;
use crate::s3::{Bucket, Removal};
use crate::session::{Progress, Session};
use crate::target::{Remote, Target};
use crate::text::Flat;
use crate::transfer::{Item, Job, Kept, Listing, Pool, Properties, copy, is_within};

#[derive(Serialize)]
struct MirrorMessage {
    status: &'static str,
    source: String,
    target: String,
    size: u64,
    #[serde(rename = "totalCount")]
    total_count: u64,
    #[serde(rename = "totalSize")]
    total_size: u64,
    #[serde(rename = "eventTime")]
    event_time: &'static str,
    #[serde(rename = "eventType")]
    event_type: &'static str,
}

const REMOVED: &str = "s3:ObjectRemoved:Delete";

impl fmt::Display for MirrorMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.event_type {
            REMOVED => write!(formatter, "Removed `{}`", self.target),
            _ => write!(formatter, "`{}` -> `{}`", self.source, self.target),
        }
    }
}

pub(super) async fn run(session: &Arc<Session>, arguments: &MirrorArgs) -> Result<(), Error> {
    if arguments.check_target {
        return check_target(session, &arguments.target).await;
    }
    once(session, arguments, Round::First).await?;
    match arguments.watch {
        true => again_and_again(session, arguments).await,
        false => Ok(()),
    }
}

/// Tries a target: its alias, its keys, and the name of its bucket, which need not exist.
async fn check_target(session: &Session, text: &str) -> Result<(), Error> {
    let Target::Remote(Remote { s3, bucket, .. }) = Target::to_write(session, text)? else {
        return Ok(());
    };
    match s3.head_bucket(&bucket).await {
        Err(error) if error.is_missing() => Ok(()),
        result => result,
    }
}

/// Mirrors until interrupted.
async fn again_and_again(session: &Arc<Session>, arguments: &MirrorArgs) -> Result<(), Error> {
    let mut rounds = Rounds::default();
    loop {
        rounds.next().await;
        match once(session, arguments, Round::Again).await {
            Ok(()) => rounds.passed(),
            Err(error) if error.is_closed_output() => return Err(error),
            Err(error) => rounds.failed(session, "Unable to mirror:", &error),
        }
    }
}

/// The rounds of `--watch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    First,
    /// Differences that are not copied were reported.
    Again,
}

async fn once(session: &Arc<Session>, arguments: &MirrorArgs, round: Round) -> Result<(), Error> {
    let source = Target::parse(session, &arguments.source)?;
    // All buckets of a service are mirrored to buckets of the same names.
    let target = Target::parse(session, &arguments.target)?;
    let mut properties = properties(&arguments.properties, arguments.disable_multipart)?;
    if arguments.keep_protection {
        properties.kept = Kept::Protection;
    }
    let mut mirror = Mirror {
        session,
        arguments,
        round,
        age: Age::of(&arguments.age)?,
        exclude: arguments.exclude.iter().map(|it| Flat::new(it)).collect(),
        properties: Arc::new(properties),
        pool: Pool::new(usize::from(arguments.max_workers)),
        progress: Progress::new(&session.output),
        failed: false,
        count: 0,
        size: 0,
    };
    match (&source, &target) {
        (Target::Remote(from), _) if from.bucket.is_empty() => {
            let excluded: Vec<Flat> =
                arguments.exclude_bucket.iter().map(|it| Flat::new(it)).collect();
            for bucket in from.s3.buckets().await? {
                if excluded.iter().any(|it| it.matches(&bucket.key)) {
                    continue;
                }
                // The name is the service's, so it may be no name of a bucket or directory.
                let places = from.bucket(&bucket.key).and_then(|source| {
                    Ok((Target::Remote(source), target.place(&format!("{}/", bucket.key))?))
                });
                match places {
                    Ok((source, target)) => mirror.folder(&source, &target).await?,
                    Err(error) => {
                        let name = bucket.key.escape_debug();
                        mirror.fail(&format!("{}/{name}", from.alias), &error);
                    }
                }
            }
        }
        (_, Target::Remote(to)) if to.bucket.is_empty() => {
            let reason = format!("'{}' names no bucket; write {0}/BUCKET", to.alias);
            return Err(Error::refused(reason));
        }
        _ => {
            if let Target::Local(local) = &source
                && !local.path().is_dir()
            {
                let reason = format!("'{}' is no directory; `cp` copies files", local.text());
                return Err(Error::refused(reason));
            }
            mirror.folder(&source.folder(), &target.folder()).await?;
        }
    }
    mirror.finish().await
}

struct Mirror<'a> {
    session: &'a Arc<Session>,
    arguments: &'a MirrorArgs,
    round: Round,
    age: Age,
    exclude: Vec<Flat>,
    properties: Arc<Properties>,
    pool: Pool<(Job, Result<(), Error>)>,
    progress: Progress<'a>,
    /// `true` if a copy failed.
    failed: bool,
    count: u64,
    size: u64,
}

impl Mirror<'_> {
    async fn folder(&mut self, source: &Target, target: &Target) -> Result<(), Error> {
        refuse_overlap(source, target)?;
        // The source first: if it is missing, nothing must change.
        let first = Listing::below(source, true).await?;
        let mut merge = Merge::begin(self.session, first).await?;
        if self.arguments.remove && merge.is_first_empty() && is_named(source) {
            let (source, target) = (source.name(), target.name());
            return Err(Error::refused(format!(
                "there is nothing in '{source}', and --remove would empty '{target}'; look for a \
                 mistake in the name, or empty it with `rm`"
            )));
        }
        if let Some(second) = self.prepare(target).await? {
            merge = merge.against(self.session, second).await?;
        }
        // Names to remove are collected until the whole source was listed. A listing that fails
        // halfway proves nothing about the rest.
        let mut extra = Vec::new();
        while let Some(pair) = merge.next(self.session).await? {
            match pair {
                Pair::First(item) if self.wants(&item, target) => {
                    self.add(item, target).await?;
                }
                Pair::Both(both) if self.wants(&both.0, target) => {
                    let (first, second) = *both;
                    match difference(&first, &second) {
                        Difference::None => {}
                        _ if self.arguments.overwrite => self.add(first, target).await?,
                        _ if self.round == Round::Again => {}
                        _ => {
                            let reason = "it differs there; use --overwrite to replace it";
                            let message =
                                format!("Overwrite not allowed for `{}`:", second.target.name());
                            self.session.output.failure(&message, &Error::refused(reason));
                        }
                    }
                }
                Pair::Second(item)
                    if self.arguments.remove && !self.is_excluded(&item.relative) =>
                {
                    extra.push((item.relative, item.target));
                }
                _ => {}
            }
        }
        // A name that the walk of the source left out may exist there.
        extra.retain(|(name, _)| !merge.first().has_left_out(name));
        if extra.is_empty() {
            return Ok(());
        }
        // All copies must have succeeded before anything is removed.
        self.drain().await?;
        if self.failed || !merge.first().is_whole() {
            let message = format!("Nothing is removed from `{}`:", target.name());
            let reason = "not all of the source could be read and copied";
            self.session.output.failure(&message, &Error::refused(reason));
            return Ok(());
        }
        self.remove(target, extra.into_iter().map(|(_, target)| target)).await
    }

    async fn remove(
        &mut self,
        target: &Target,
        extra: impl Iterator<Item = Target>,
    ) -> Result<(), Error> {
        let mut remover = match target {
            Target::Remote(remote) => {
                let how = How { silent: true, ..How::default() };
                Some(Remover::new(self.session, remote, how))
            }
            Target::Local(_) => None,
        };
        for target in extra {
            match (&target, &mut remover) {
                (Target::Remote(_), _) if self.arguments.dry_run => self.tell_removed(&target)?,
                (Target::Remote(remote), Some(remover)) => {
                    self.tell_removed(&target)?;
                    remover.add(Removal { key: remote.key.clone(), version: None }).await?;
                }
                (Target::Local(local), _) => {
                    self.tell_removed(&target)?;
                    if !self.arguments.dry_run {
                        std::fs::remove_file(local.path()).map_err(Error::file(local.path()))?;
                    }
                }
                (Target::Remote(_), None) => {}
            }
        }
        match remover {
            Some(mut remover) => remover.flush().await,
            None => Ok(()),
        }
    }

    /// The listing of a target; `None` if there is nothing yet. A missing bucket is made.
    async fn prepare(&self, target: &Target) -> Result<Option<Listing>, Error> {
        match target {
            Target::Remote(Remote { s3, bucket, .. }) => match s3.head_bucket(bucket).await {
                Ok(()) => {}
                Err(error) if error.is_missing() && self.arguments.dry_run => return Ok(None),
                Err(error) if error.is_missing() => {
                    let region = self.arguments.region.as_deref();
                    let bucket = Bucket { name: bucket, region, with_lock: false };
                    s3.create_bucket(bucket).await?;
                    return Ok(None);
                }
                Err(error) => return Err(error),
            },
            Target::Local(local) if !local.path().exists() => return Ok(None),
            Target::Local(_) => {}
        }
        Listing::below(target, true).await.map(Some)
    }

    fn wants(&self, item: &Item, target: &Target) -> bool {
        let name = &item.relative;
        // A directory needs no marker.
        let is_marker = name.ends_with('/') && matches!(target, Target::Local(_));
        if is_marker || name.is_empty() || self.is_excluded(name) {
            return false;
        }
        self.age.matches(item.entry.modified)
    }

    fn is_excluded(&self, name: &str) -> bool {
        self.exclude.iter().any(|it| it.matches(name))
    }

    async fn add(&mut self, item: Item, target: &Target) -> Result<(), Error> {
        let target = match target.place(&item.relative) {
            Ok(target) => target,
            Err(error) => {
                self.fail(&item.target.name(), &error);
                return Ok(());
            }
        };
        let (size, etag) = (item.entry.size, item.entry.etag);
        let job = Job { source: item.target, version: None, size, etag, target };
        if self.arguments.dry_run {
            return self.done(job, Ok(()));
        }
        while let Some((job, result)) = self.pool.room().await {
            self.done(job, result)?;
        }
        self.progress.expect(job.size);
        let (session, properties) = (self.session.clone(), self.properties.clone());
        let sent = self.progress.counter();
        self.pool.add(async move {
            let result = copy(&session, &job, &properties, Some(sent)).await;
            (job, result)
        });
        Ok(())
    }

    /// Reports what is not copied. Nothing is removed after this.
    fn fail(&mut self, source: &str, error: &Error) {
        let message = format!("Unable to copy `{source}`.");
        self.session.output.failure(&message, error);
        self.failed = true;
    }

    fn done(&mut self, job: Job, result: Result<(), Error>) -> Result<(), Error> {
        if let Err(error) = result {
            self.fail(&job.source.name(), &error);
            return Ok(());
        }
        self.count += 1;
        self.size += job.size;
        let message = MirrorMessage {
            status: SUCCESS,
            source: job.source.name(),
            target: job.target.name(),
            size: job.size,
            total_count: self.count,
            total_size: self.size,
            event_time: "",
            event_type: "",
        };
        match self.arguments.dry_run {
            true => self.session.output.print(&message),
            false => self.session.output.print_transfer(&message),
        }
    }

    fn tell_removed(&self, target: &Target) -> Result<(), Error> {
        self.session.output.print(&MirrorMessage {
            status: SUCCESS,
            source: String::new(),
            target: target.name(),
            size: 0,
            total_count: 0,
            total_size: 0,
            event_time: "",
            event_type: REMOVED,
        })
    }

    async fn finish(mut self) -> Result<(), Error> {
        self.drain().await
    }

    async fn drain(&mut self) -> Result<(), Error> {
        while let Some((job, result)) = self.pool.next().await {
            self.done(job, result)?;
        }
        Ok(())
    }
}

/// Refuses an overlap: copies would be listed, and copied or removed again.
fn refuse_overlap(source: &Target, target: &Target) -> Result<(), Error> {
    if is_within(target, source) || is_within(source, target) {
        let (source, target) = (source.name(), target.name());
        let reason = format!("one of '{source}' and '{target}' is within the other");
        return Err(Error::refused(reason));
    }
    Ok(())
}

/// `true` for a folder that exists only by its content: if it is empty, the name may be mistyped.
fn is_named(source: &Target) -> bool {
    matches!(source, Target::Remote(remote) if !remote.key.is_empty())
}
