//! `cp` and `mv`: copy files and objects, one or all below a folder. `get` and `put`: copy one.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::SUCCESS;
use super::age::Age;
use super::properties::properties;
use crate::cli::{AgeArgs, CpArgs, GetArgs, PropertyArgs, PutArgs};
use crate::error::Error;
use crate::local::persist;
use crate::s3::{Listed, Removal, Sent};
use crate::session::{Progress, Session};
use crate::target::Target;
use crate::text::parse_size;
use crate::transfer::{
    Job, Listing, Named, Pool, Properties, Sizes, copy, folder_or_object, is_same, is_within,
    modified, names_within, object_unless_folder, refuse_same,
};

/// Fate of a source after its copy is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    Keep,
    Remove,
}

#[derive(Serialize)]
struct CopyMessage {
    status: &'static str,
    source: String,
    target: String,
    size: u64,
    #[serde(rename = "totalCount")]
    total_count: u64,
    #[serde(rename = "totalSize")]
    total_size: u64,
}

impl fmt::Display for CopyMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` -> `{}`", self.source, self.target)
    }
}

pub(super) async fn run(
    session: &Arc<Session>,
    arguments: &CpArgs,
    after: After,
) -> Result<(), Error> {
    let properties = properties(&arguments.properties, arguments.disable_multipart)?;
    copy_all(session, arguments, after, properties).await
}

/// `get`: copies an object to a file.
pub(super) async fn get(session: &Arc<Session>, arguments: GetArgs) -> Result<(), Error> {
    let GetArgs { source, target, version_id } = arguments;
    let is_download = matches!(Target::parse(session, &source)?, Target::Remote(_))
        && matches!(Target::parse(session, &target)?, Target::Local(_));
    if !is_download {
        let reason =
            "write `get ALIAS/BUCKET/KEY FILE`; `put` uploads a file, `cp` copies in any direction";
        return Err(Error::refused(reason));
    }
    copy_one(session, source, target, version_id, Properties::default()).await
}

/// `put`: copies a file to an object.
pub(super) async fn put(session: &Arc<Session>, arguments: PutArgs) -> Result<(), Error> {
    let PutArgs { source, target, part_size, parallel, disable_multipart, .. } = arguments;
    let is_upload = matches!(Target::parse(session, &source)?, Target::Local(_))
        && matches!(Target::parse(session, &target)?, Target::Remote(_));
    if !is_upload {
        let reason = "write `put FILE ALIAS/BUCKET/KEY`; `get` downloads an object, `cp` copies in any direction";
        return Err(Error::refused(reason));
    }
    let sizes = part_size.map(|size| {
        let sizes = parse_size(&size).and_then(Sizes::of_parts);
        sizes.map_err(|reason| Error::refused(format!("--part-size {size}: {reason}")))
    });
    let properties = Properties {
        sizes: sizes.transpose()?,
        parts_at_once: parallel,
        ..properties(&arguments.properties, disable_multipart)?
    };
    copy_one(session, source, target, None, properties).await
}

/// Copies one file or object.
async fn copy_one(
    session: &Arc<Session>,
    source: String,
    target: String,
    version_id: Option<String>,
    properties: Properties,
) -> Result<(), Error> {
    let arguments = CpArgs {
        paths: vec![source, target],
        recursive: false,
        preserve: false,
        md5: false,
        version_id,
        age: AgeArgs::default(),
        properties: PropertyArgs::default(),
        disable_multipart: false,
        max_workers: 1,
    };
    copy_all(session, &arguments, After::Keep, properties).await
}

async fn copy_all(
    session: &Arc<Session>,
    arguments: &CpArgs,
    after: After,
    properties: Properties,
) -> Result<(), Error> {
    let (target, sources) = arguments.paths.split_last().expect("clap demands two paths");
    if arguments.version_id.is_some() && (sources.len() > 1 || arguments.recursive) {
        return Err(Error::refused("--version-id needs one source, and no --recursive"));
    }
    let target = Target::to_write(session, target)?;
    let mut copier = Copier {
        session,
        after,
        age: Age::of(&arguments.age)?,
        properties: Arc::new(properties),
        pool: Pool::new(usize::from(arguments.max_workers)),
        progress: Progress::new(&session.output),
        count: 0,
        size: 0,
    };
    let several = sources.len() > 1;
    for text in sources {
        let source = Target::parse(session, text)?;
        let result = match arguments.recursive {
            true => copier.folder(text, source, &target).await,
            false => copier.one(source, &target, several, arguments.version_id.clone()).await,
        };
        match result {
            Err(error @ Error::Output(_)) => return Err(error),
            Err(error) => session.output.failure(&format!("Unable to copy `{text}`."), &error),
            Ok(()) => {}
        }
    }
    copier.finish().await
}

/// Copies in progress.
struct Copier<'a> {
    session: &'a Arc<Session>,
    after: After,
    age: Age,
    properties: Arc<Properties>,
    pool: Pool<(Job, Result<(), Error>)>,
    progress: Progress<'a>,
    count: u64,
    size: u64,
}

impl Copier<'_> {
    /// Copies a file or an object, to a name or into a folder.
    async fn one(
        &mut self,
        source: Target,
        target: &Target,
        several: bool,
        version: Option<String>,
    ) -> Result<(), Error> {
        let (size, modified, etag) = self.look(&source, version.as_deref()).await?;
        if !self.age.matches(modified) {
            return Ok(());
        }
        let into = several || is_folder(self.session, target).await?;
        let target = match into {
            false => target.clone(),
            true => {
                let name = source.name();
                let name = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                target.place(name)?
            }
        };
        let job = Job { source, version, size, etag, target };
        self.refuse_same(&job)?;
        self.add(job).await
    }

    /// Refuses a copy onto itself. A copy of an object onto itself changes its properties, so it is
    /// allowed. A file would stay as it is, and a move would remove either.
    fn refuse_same(&self, job: &Job) -> Result<(), Error> {
        let changes = self.after == After::Keep && matches!(job.source, Target::Remote(_));
        if !changes && is_same(&job.source, &job.target) {
            let name = job.target.name();
            return Err(Error::refused(format!("'{name}' is the source itself")));
        }
        Ok(())
    }

    /// Copies everything below a folder. Without a slash at its end, the last part of its name
    /// becomes part of the target.
    async fn folder(&mut self, text: &str, source: Target, target: &Target) -> Result<(), Error> {
        if let Target::Local(local) = &source
            && !local.path().is_dir()
        {
            return self.one(source, &target.folder(), true, None).await;
        }
        if let Target::Remote(remote) = &source
            && remote.bucket.is_empty()
        {
            for bucket in remote.s3.buckets().await? {
                let below = Target::Remote(remote.bucket(&bucket.key)?);
                self.all(&below, &bucket.key, target).await?;
            }
            return Ok(());
        }
        let folder = match folder_or_object(self.session, &source, Listed::Objects).await? {
            Named::Folder(folder) => folder,
            Named::Object(_) => return self.one(source, &target.folder(), true, None).await,
        };
        refuse_itself(&folder, target)?;
        // The name itself, if no slash ends it. `.` and `..` are no names.
        let last = text.rsplit('/').next().unwrap_or_default();
        let last = if matches!(last, "." | "..") { "" } else { last };
        self.all(&folder, last, target).await
    }

    async fn all(&mut self, folder: &Target, prefix: &str, target: &Target) -> Result<(), Error> {
        let slash = if prefix.is_empty() { "" } else { "/" };
        // A copy into this part would replace objects that are still to be copied.
        let own = names_within(target, folder);
        let mut listing = Listing::below(folder, true).await?;
        while let Some(item) = listing.next(self.session).await? {
            // The marker of the folder itself has a name only if the folder's name is part of the
            // target.
            let has_name = !item.relative.is_empty() || !prefix.is_empty();
            if !self.age.matches(item.entry.modified) || !has_name {
                continue;
            }
            let name = format!("{prefix}{slash}{}", item.relative);
            let job = target.place(&name).and_then(|target| {
                let job = Job {
                    source: item.target.clone(),
                    version: None,
                    size: item.entry.size,
                    etag: item.entry.etag,
                    target,
                };
                self.refuse_same(&job)?;
                let is_within = own.as_ref().is_some_and(|own| name.starts_with(own));
                if is_within && !is_same(&job.source, &job.target) {
                    let (name, folder) = (job.target.name(), folder.name());
                    let reason = format!("'{name}' is within '{folder}', which is copied");
                    return Err(Error::refused(reason));
                }
                Ok(job)
            });
            match job {
                Ok(job) => self.add(job).await?,
                Err(error) => {
                    let message = format!("Unable to copy `{}`.", item.target.name());
                    self.session.output.failure(&message, &error);
                }
            }
        }
        Ok(())
    }

    /// Size, time and ETag of a source.
    async fn look(
        &self,
        source: &Target,
        version: Option<&str>,
    ) -> Result<(u64, Option<jiff::Timestamp>, String), Error> {
        match source {
            Target::Local(local) => {
                let path = local.path();
                let metadata = std::fs::metadata(path).map_err(Error::file(path))?;
                if metadata.is_dir() {
                    return Err(is_a_folder(&source.name()));
                }
                Ok((metadata.len(), modified(&metadata), String::new()))
            }
            Target::Remote(remote) if remote.key.is_empty() => Err(is_a_folder(&source.name())),
            Target::Remote(remote) => {
                match remote.s3.head(&remote.bucket, &remote.key, version).await {
                    Ok(head) => Ok((head.size, head.modified, head.etag)),
                    Err(error) if error.is_missing() && version.is_none() => {
                        remote.s3.head_bucket(&remote.bucket).await?;
                        match is_folder(self.session, source).await? {
                            true => Err(is_a_folder(&source.name())),
                            false => Err(error),
                        }
                    }
                    Err(error) => Err(error),
                }
            }
        }
    }

    async fn add(&mut self, job: Job) -> Result<(), Error> {
        while let Some((job, result)) = self.pool.room().await {
            self.done(job, result).await?;
        }
        self.progress.expect(job.size);
        let (session, properties) = (self.session.clone(), self.properties.clone());
        let sent: Sent = self.progress.counter();
        let after = self.after;
        self.pool.add(async move {
            let result = match after {
                After::Keep => copy(&session, &job, &properties, Some(sent)).await,
                After::Remove => copy_for_good(&session, &job, &properties, sent).await,
            };
            (job, result)
        });
        Ok(())
    }

    async fn done(&mut self, job: Job, result: Result<(), Error>) -> Result<(), Error> {
        let result = match (result, self.after) {
            (Ok(()), After::Remove) => remove(&job).await,
            (result, _) => result,
        };
        if let Err(error) = result {
            let message = format!("Unable to copy `{}`.", job.source.name());
            self.session.output.failure(&message, &error);
            return Ok(());
        }
        self.count += 1;
        self.size += job.size;
        self.session.output.print_transfer(&CopyMessage {
            status: SUCCESS,
            source: job.source.name(),
            target: job.target.name(),
            size: job.size,
            total_count: self.count,
            total_size: self.size,
        })
    }

    async fn finish(mut self) -> Result<(), Error> {
        while let Some((job, result)) = self.pool.next().await {
            self.done(job, result).await?;
        }
        Ok(())
    }
}

/// Copies so that the source can be removed: the copy is durable.
async fn copy_for_good(
    session: &Arc<Session>,
    job: &Job,
    properties: &Properties,
    sent: Sent,
) -> Result<(), Error> {
    refuse_same(&job.source, &job.target).await?;
    copy(session, job, properties, Some(sent)).await?;
    match &job.target {
        Target::Local(local) => tokio::task::block_in_place(|| persist(local.path())),
        // A service answers after the object is stored.
        Target::Remote(_) => Ok(()),
    }
}

/// `true` for a folder: a bucket, a name with a slash at its end, or a name with anything below it.
async fn is_folder(session: &Session, target: &Target) -> Result<bool, Error> {
    match target {
        Target::Local(local) => Ok(target.ends_with_slash() || local.path().is_dir()),
        Target::Remote(_) if target.ends_with_slash() => Ok(true),
        Target::Remote(_) => {
            let named = object_unless_folder(session, target).await?;
            Ok(matches!(named, Named::Folder(_)))
        }
    }
}

fn is_a_folder(name: &str) -> Error {
    Error::refused(format!("'{name}' is a folder; use --recursive to copy its contents"))
}

/// Refuses a copy into its own source, which would list and copy its copies without end.
fn refuse_itself(source: &Target, target: &Target) -> Result<(), Error> {
    if is_within(target, source) {
        let (source, target) = (source.name(), target.name());
        return Err(Error::refused(format!("'{target}' is within '{source}', which is copied")));
    }
    Ok(())
}

/// Removes the source of a copy.
async fn remove(job: &Job) -> Result<(), Error> {
    match &job.source {
        Target::Local(local) => {
            std::fs::remove_file(local.path()).map_err(Error::file(local.path()))
        }
        Target::Remote(remote) => {
            let removal = Removal { key: remote.key.clone(), version: job.version.clone() };
            remote.s3.delete(&remote.bucket, &removal, false).await.map(drop)
        }
    }
}
