//! The objects and versions that a verb is about: one, or all below a target.

use std::sync::Arc;

use crate::cli::SelectionArgs;
use crate::error::Error;
use crate::s3::{Listed, Locked};
use crate::session::Session;
use crate::target::{Remote, Target};
use crate::transfer::{Listing, Named, folder_or_object};

/// An object or a version of it.
#[derive(Clone, Debug)]
pub(super) struct Selected {
    pub(super) remote: Remote,
    pub(super) version: Option<String>,
}

impl Selected {
    pub(super) fn locked(&self) -> Locked<'_> {
        let Remote { bucket, key, .. } = &self.remote;
        Locked { bucket, key, version: self.version.as_deref() }
    }
}

/// A walk over the selection.
pub(super) enum Selection {
    One(Option<Selected>),
    /// Objects of a listing, only the one with this key if there is one.
    Many(Remote, Box<Listing>, Option<String>),
}

impl Selection {
    pub(super) async fn new(
        session: &Arc<Session>,
        target: &str,
        arguments: &SelectionArgs,
    ) -> Result<Selection, Error> {
        let remote = Target::bucket(session, target)?;
        let SelectionArgs { recursive, version_id, versions } = arguments;
        let listed = if *versions { Listed::Versions } else { Listed::Objects };
        if !recursive && remote.key.is_empty() {
            return Err(Error::refused(format!(
                "'{target}' is a bucket: add --recursive for all of its objects"
            )));
        }
        if *recursive && version_id.is_some() {
            return Err(Error::refused("--version-id is one version: leave out --recursive"));
        }
        if *recursive {
            let start = Target::Remote(remote.clone());
            return Ok(match folder_or_object(session, &start, listed).await? {
                Named::Folder(folder) => Selection::Many(
                    remote,
                    Box::new(Listing::of(&folder, true, listed).await?),
                    None,
                ),
                Named::Object(object) => Selection::among(object, listed).await?,
            });
        }
        match versions {
            true => Selection::among(remote, listed).await,
            false => Ok(Selection::One(Some(Selected { remote, version: version_id.clone() }))),
        }
    }

    /// All versions of one object, or the object.
    async fn among(remote: Remote, listed: Listed) -> Result<Selection, Error> {
        let key = remote.key.clone();
        let listing = Listing::of(&Target::Remote(remote.clone()), true, listed).await?;
        Ok(Selection::Many(remote, Box::new(listing), Some(key)))
    }

    /// The next object. Delete markers are left out: they have no locks and no tags.
    pub(super) async fn next(&mut self, session: &Session) -> Result<Option<Selected>, Error> {
        let (remote, listing, only) = match self {
            Selection::One(one) => return Ok(one.take()),
            Selection::Many(remote, listing, only) => (remote, listing, only),
        };
        while let Some(item) = listing.next(session).await? {
            let entry = item.entry;
            if entry.is_delete_marker || entry.is_folder {
                continue;
            }
            if only.as_ref().is_some_and(|only| *only != entry.key) {
                continue;
            }
            let version = entry.version;
            return Ok(Some(Selected { remote: remote.with_key(&entry.key), version }));
        }
        Ok(None)
    }
}
