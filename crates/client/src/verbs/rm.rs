//! `rm`: remove objects, versions, uploads and files.

use std::io::BufRead as _;
use std::sync::Arc;

use super::SUCCESS;
use super::age::Age;
use super::removal::{How, Remover, RmMessage};
use crate::cli::RmArgs;
use crate::error::Error;
use crate::local::Local;
use crate::s3::{Entry, Listed, Removal, Removed, Upload};
use crate::session::Session;
use crate::target::{Remote, Target};
use crate::transfer::{Listing, modified};

pub(super) async fn run(session: &Arc<Session>, arguments: &RmArgs) -> Result<(), Error> {
    check(arguments)?;
    let age = Age::of(&arguments.age)?;
    let mut targets = arguments.targets.clone();
    if arguments.stdin {
        for line in std::io::stdin().lock().lines() {
            let line = line
                .map_err(|error| Error::refused(format!("cannot read standard input: {error}")))?;
            targets.extend(Some(line).filter(|it| !it.trim().is_empty()));
        }
    }
    // All targets are checked before anything is removed.
    for text in &targets {
        check_target(session, arguments, text)?;
    }
    for text in &targets {
        let result = match Target::parse(session, text)? {
            Target::Local(local) => remove_files(session, arguments, age, &local).await,
            Target::Remote(remote) if remote.bucket.is_empty() => {
                remove_everywhere(session, arguments, age, &remote).await
            }
            Target::Remote(remote) if arguments.incomplete => {
                remove_uploads(session, arguments, age, &remote).await
            }
            Target::Remote(remote) if arguments.recursive || arguments.versions => {
                remove_many(session, arguments, age, &remote).await
            }
            Target::Remote(remote) => remove_one(session, arguments, age, &remote).await,
        };
        match result {
            Err(error @ Error::Output(_)) => return Err(error),
            Err(error) => session.output.failure(&format!("Failed to remove `{text}`."), &error),
            Ok(()) => {}
        }
    }
    Ok(())
}

/// Refuses ambiguous arguments before anything is removed.
fn check(arguments: &RmArgs) -> Result<(), Error> {
    let RmArgs { recursive, versions, stdin, force, .. } = arguments;
    if arguments.targets.is_empty() && !stdin {
        return Err(Error::refused("name what to remove: ALIAS/BUCKET/KEY"));
    }
    if (*recursive || *versions || *stdin) && !force && !arguments.dry_run {
        return Err(Error::refused(
            "this removes more than one object, and cannot be undone: add --force to do it, or \
             --dry-run to see what it would remove",
        ));
    }
    if arguments.non_current && !versions {
        return Err(Error::refused("--non-current needs --versions"));
    }
    if arguments.version_id.is_some() && (*recursive || *versions || arguments.incomplete) {
        return Err(Error::refused(
            "--version-id removes one version: leave out the other options",
        ));
    }
    Ok(())
}

/// Refuses to remove more than an object without the options for it, in arguments and lines of
/// standard input alike.
fn check_target(session: &Session, arguments: &RmArgs, text: &str) -> Result<(), Error> {
    let RmArgs { recursive, force, dangerous, .. } = arguments;
    let Target::Remote(remote) = Target::parse(session, text)? else { return Ok(()) };
    if remote.bucket.is_empty() && !(*dangerous && *force && *recursive) {
        return Err(Error::refused(format!(
            "'{text}' is all of a service: add --recursive --force --dangerous to remove the \
             objects of all its buckets"
        )));
    }
    if remote.key.is_empty() && !recursive {
        return Err(Error::refused(format!(
            "'{text}' is a bucket: add --recursive --force to remove its objects, or use `rb` to \
             remove it"
        )));
    }
    Ok(())
}

async fn remove_one(
    session: &Session,
    arguments: &RmArgs,
    age: Age,
    remote: &Remote,
) -> Result<(), Error> {
    let version = arguments.version_id.as_deref();
    // A delete marker, or a version encrypted with a key of the client, has no head.
    if version.is_none() && !arguments.force || !age.is_any() {
        let head = remote.s3.head(&remote.bucket, &remote.key, version).await;
        let head = head.map_err(|error| perhaps_a_folder(error, version))?;
        if !age.matches(head.modified) {
            return Ok(());
        }
    }
    let removal = Removal { key: remote.key.clone(), version: version.map(ToOwned::to_owned) };
    if arguments.dry_run {
        let mut remover = Remover::new(session, remote, how(arguments));
        return remover.add(removal).await;
    }
    let removed = remote.s3.delete(&remote.bucket, &removal, arguments.bypass).await?;
    session.output.print(&RmMessage::of(remote.name(), &removed))
}

/// The error for an object that does not exist, which is often the name of a folder.
fn perhaps_a_folder(error: Error, version: Option<&str>) -> Error {
    match error {
        Error::Service(mut error) if error.status == 404 && version.is_none() => {
            error.message.push_str("; add --recursive --force to remove all objects below it");
            Error::Service(error)
        }
        error => error,
    }
}

/// Removes the object with this name and all below it; with `--versions` all their versions.
async fn remove_many(
    session: &Session,
    arguments: &RmArgs,
    age: Age,
    remote: &Remote,
) -> Result<(), Error> {
    let listed = if arguments.versions { Listed::Versions } else { Listed::Objects };
    let mut remover = Remover::new(session, remote, how(arguments));
    let wanted =
        |entry: &Entry| age.matches(entry.modified) && !(arguments.non_current && entry.is_latest);
    let mut found = false;
    if !remote.key.is_empty() && !remote.key.ends_with('/') {
        let exact = Target::Remote(remote.clone());
        let mut listing = Listing::of(&exact, true, listed).await?;
        while let Some(item) = listing.next(session).await? {
            // Keys come in order, so this one is first.
            if item.entry.key != remote.key {
                break;
            }
            found = true;
            if wanted(&item.entry) {
                let Entry { key, version, .. } = item.entry;
                remover.add(Removal { key, version }).await?;
            }
        }
    }
    if arguments.recursive {
        let mut listing = Listing::of(&Target::Remote(remote.folder()), true, listed).await?;
        while let Some(item) = listing.next(session).await? {
            found = true;
            if wanted(&item.entry) {
                let Entry { key, version, .. } = item.entry;
                remover.add(Removal { key, version }).await?;
            }
        }
    }
    remover.flush().await?;
    if !found && !arguments.force {
        return Err(Error::refused("there is no such object"));
    }
    Ok(())
}

async fn remove_everywhere(
    session: &Session,
    arguments: &RmArgs,
    age: Age,
    service: &Remote,
) -> Result<(), Error> {
    for bucket in service.s3.buckets().await? {
        let remote = Remote { bucket: bucket.key, ..service.clone() };
        if arguments.incomplete {
            remove_uploads(session, arguments, age, &remote).await?;
        } else {
            remove_many(session, arguments, age, &remote).await?;
        }
    }
    Ok(())
}

async fn remove_uploads(
    session: &Session,
    arguments: &RmArgs,
    age: Age,
    remote: &Remote,
) -> Result<(), Error> {
    let start = Target::Remote(remote.clone());
    let folder = remote.folder().key;
    let mut listing = Listing::of(&start, true, Listed::Uploads).await?;
    while let Some(item) = listing.next(session).await? {
        let Entry { key, version, modified, .. } = item.entry;
        let is_meant = key == remote.key || arguments.recursive && key.starts_with(&folder);
        if !is_meant || !age.matches(modified) {
            continue;
        }
        let name = remote.with_key(&key).name();
        if arguments.dry_run {
            let mut remover = Remover::new(session, remote, how(arguments));
            remover.add(Removal { key, version: None }).await?;
            continue;
        }
        let id = version.unwrap_or_default();
        let upload = Upload { bucket: remote.bucket.clone(), key: key.clone(), id };
        remote.s3.abort_upload(&upload).await?;
        let removed = Removed { key, version: None, marker: None, error: None };
        session.output.print(&RmMessage::of(name, &removed))?;
    }
    Ok(())
}

async fn remove_files(
    session: &Session,
    arguments: &RmArgs,
    age: Age,
    local: &Local,
) -> Result<(), Error> {
    let path = local.path();
    let metadata = std::fs::symlink_metadata(path).map_err(Error::file(path))?;
    if !metadata.is_dir() {
        return match age.matches(modified(&metadata)) {
            true => remove_file(session, arguments, local),
            false => Ok(()),
        };
    }
    if !arguments.recursive {
        let reason = format!("{} is a directory; add --recursive --force", path.display());
        return Err(Error::refused(reason));
    }
    let mut listing = Listing::below(&Target::Local(local.clone()), true).await?;
    while let Some(item) = listing.next(session).await? {
        if let Target::Local(file) = &item.target
            && age.matches(item.entry.modified)
        {
            remove_file(session, arguments, file)?;
        }
    }
    // Directories that are empty by now, from the bottom.
    if age.is_any() && !arguments.dry_run {
        remove_empty(path).map_err(Error::file(path))?;
    }
    Ok(())
}

fn remove_file(session: &Session, arguments: &RmArgs, local: &Local) -> Result<(), Error> {
    if !arguments.dry_run {
        std::fs::remove_file(local.path()).map_err(Error::file(local.path()))?;
    }
    session.output.print(&RmMessage {
        status: SUCCESS,
        key: local.text().to_owned(),
        delete_marker: false,
        version_id: String::new(),
        dry_run: arguments.dry_run,
    })
}

fn remove_empty(directory: &std::path::Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_empty(&entry.path())?;
        }
    }
    std::fs::remove_dir(directory)
}

fn how(arguments: &RmArgs) -> How {
    How { dry_run: arguments.dry_run, bypass: arguments.bypass, silent: false }
}
