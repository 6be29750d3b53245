//! Listings below a folder of a service or a directory, in the order of keys.

use jiff::Timestamp;

use crate::error::Error;
use crate::local::{Local, Walk};
use crate::s3::{Entry, Listed, Lister, Scope};
use crate::session::Session;
use crate::target::{Remote, Target};
use crate::text::of_system;

/// An object, a file or a folder.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Name below the listed folder.
    pub(crate) relative: String,
    pub(crate) target: Target,
    pub(crate) entry: Entry,
}

/// A listing in progress.
pub(crate) enum Listing {
    Remote {
        lister: Lister,
        base: Remote,
    },
    Buckets {
        buckets: std::vec::IntoIter<Entry>,
        base: Remote,
    },
    Local {
        walk: Walk,
        /// `true` if nothing has failed so far.
        whole: bool,
    },
}

impl Listing {
    /// Lists below a folder. Below a service it lists buckets only, also with `recursive`.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(crate) async fn below(folder: &Target, recursive: bool) -> Result<Listing, Error> {
        Listing::of(&folder.folder(), recursive, Listed::Objects).await
    }

    /// Lists everything whose name begins with a prefix.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(crate) async fn of(
        start: &Target,
        recursive: bool,
        listed: Listed,
    ) -> Result<Listing, Error> {
        Ok(match start {
            Target::Remote(base) if base.bucket.is_empty() => {
                let buckets = base.s3.buckets().await?.into_iter();
                Listing::Buckets { buckets, base: base.clone() }
            }
            Target::Remote(base) => {
                let (bucket, prefix) = (base.bucket.clone(), base.key.clone());
                let scope = Scope { bucket, prefix, recursive, listed };
                Listing::Remote { lister: Lister::new(&base.s3, scope), base: base.clone() }
            }
            Target::Local(base) => {
                base.refuse_links()?;
                let walk = Walk::new(base.path(), recursive)?;
                Listing::Local { walk, whole: true }
            }
        })
    }

    /// The next item. An unreadable file is reported and left out.
    ///
    /// # Errors
    /// The listing cannot go on.
    pub(crate) async fn next(&mut self, session: &Session) -> Result<Option<Item>, Error> {
        match self {
            Listing::Remote { lister, base } => {
                let Some(entry) = lister.next().await? else {
                    return Ok(None);
                };
                let target = Target::Remote(base.with_key(&entry.key));
                // Names count from the last slash of the prefix.
                let folder = base.key.rfind('/').map_or(0, |at| at + 1);
                Ok(Some(Item { relative: entry.key[folder..].to_owned(), target, entry }))
            }
            Listing::Buckets { buckets, base } => Ok(buckets.next().map(|mut entry| {
                let remote = Remote { bucket: entry.key.clone(), ..base.clone() };
                entry.key.push('/');
                Item { relative: entry.key.clone(), target: Target::Remote(remote), entry }
            })),
            Listing::Local { walk, whole } => loop {
                match walk.next() {
                    None => return Ok(None),
                    Some(Err(error)) => {
                        *whole = false;
                        session.output.failure("Unable to read:", &error);
                    }
                    Some(Ok(found)) => {
                        let entry = Entry {
                            size: if found.metadata.is_dir() { 0 } else { found.metadata.len() },
                            modified: modified(&found.metadata),
                            is_folder: found.metadata.is_dir(),
                            is_latest: true,
                            key: found.key.clone(),
                            ..Entry::default()
                        };
                        let target = Target::Local(Local::found(&found.path));
                        return Ok(Some(Item { relative: found.key, target, entry }));
                    }
                }
            },
        }
    }
}

impl Listing {
    /// `true` if everything so far could be read.
    pub(crate) fn is_whole(&self) -> bool {
        !matches!(self, Listing::Local { whole: false, .. })
    }

    /// `true` if the listing does not say whether this name exists.
    pub(crate) fn has_left_out(&self, name: &str) -> bool {
        matches!(self, Listing::Local { walk, .. } if walk.has_left_out(name))
    }
}

/// Meaning of a name.
pub(crate) enum Named {
    /// A folder, which ends with a slash and may be empty.
    Folder(Target),
    /// An object, which may not exist.
    Object(Remote),
}

/// A name with a slash at its end is a folder. A name without one is a folder if there is anything
/// below it, and otherwise an object.
///
/// # Errors
/// It cannot be found out.
pub(crate) async fn folder_or_object(
    session: &Session,
    target: &Target,
    listed: Listed,
) -> Result<Named, Error> {
    let folder = target.folder();
    match target {
        Target::Remote(remote) if !target.ends_with_slash() => {
            let mut listing = Listing::of(&folder, true, listed).await?;
            Ok(match listing.next(session).await? {
                Some(_) => Named::Folder(folder),
                None => Named::Object(remote.clone()),
            })
        }
        _ => Ok(Named::Folder(folder)),
    }
}

/// The same for a verb that needs no listing: to a user who may not list, a name without a slash at its end is an
/// object.
///
/// # Errors
/// It cannot be found out, for another reason.
pub(crate) async fn object_unless_folder(
    session: &Session,
    target: &Target,
) -> Result<Named, Error> {
    match (folder_or_object(session, target, Listed::Objects).await, target) {
        (Err(error), Target::Remote(remote)) if error.is_denied() => {
            Ok(Named::Object(remote.clone()))
        }
        (named, _) => named,
    }
}

pub(crate) fn modified(metadata: &std::fs::Metadata) -> Option<Timestamp> {
    metadata.modified().ok().and_then(of_system)
}
