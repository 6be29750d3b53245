//! The operations of a run, and what they answer.

use liteio_store::SeededRandom;
use md5::{Digest as _, Md5};

/// The number of an operation in its run. What it writes carries it.
pub(super) type OpId = u32;

/// A bucket and a key: positions in [`BUCKETS`] and [`KEYS`].
pub(super) type Place = (usize, usize);

/// The names of buckets. In the last one versions may be locked.
pub(super) const BUCKETS: [&str; 2] = ["first", "locked"];
/// The bucket in which versions may be locked.
pub(super) const LOCKABLE: usize = 1;
pub(super) const KEYS: [&str; 5] = ["a", "b/1", "b/2", "b/c/1", "d"];
/// The target of events.
pub(super) const TARGET: &str = "target";
/// Entries about users.
pub(super) const USERS: u8 = 3;

/// The condition of a put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    None,
    /// `If-None-Match: *`.
    IsNew,
    /// `If-Match` with the entity tag of a version.
    Is(String),
}

/// The name of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// `null`, whichever that is.
    Null,
    /// The id that the version of this operation has got.
    Id(OpId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Op {
    CreateBucket {
        bucket: usize,
    },
    DeleteBucket {
        bucket: usize,
    },
    SetVersioning {
        bucket: usize,
        is_enabled: bool,
    },
    /// Everything that happens in the bucket is told, or nothing.
    SetTold {
        bucket: usize,
        is_told: bool,
    },
    /// A document that names the operation.
    SetDocument {
        bucket: usize,
    },
    /// Versions of the key `d` end after a day of the lifecycle.
    SetLifecycle {
        bucket: usize,
    },
    Put {
        place: Place,
        bytes: usize,
        condition: Condition,
    },
    /// Sends a body that is put later.
    Stage {
        bytes: usize,
    },
    PutStaged {
        place: Place,
        staged: OpId,
        bytes: usize,
    },
    DropStaged,
    Copy {
        from: Place,
        to: Place,
    },
    Delete {
        place: Place,
    },
    DeleteAll {
        bucket: usize,
    },
    DeleteVersion {
        place: Place,
        version: Named,
    },
    /// A compliance retention of the current version, from now on.
    Retain {
        place: Place,
        until_ms: u64,
    },
    Hold {
        place: Place,
        is_held: bool,
    },
    CreateUpload {
        place: Place,
    },
    PutPart {
        place: Place,
        upload: OpId,
        number: u16,
        bytes: usize,
    },
    Complete {
        place: Place,
        upload: OpId,
        numbers: Vec<u16>,
    },
    Abort {
        place: Place,
        upload: OpId,
    },
    ChangeUser {
        user: u8,
        /// `true` if nobody may have changed users since this server has read them.
        if_unchanged: bool,
    },
    /// Reads the users as a server remembers them.
    Users,
    Get {
        place: Place,
    },
    GetVersion {
        place: Place,
        version: Named,
    },
    /// Opens a reader, which is read by [`Op::ReadOn`].
    OpenReader {
        place: Place,
    },
    ReadOn,
    List {
        bucket: usize,
        prefix: &'static str,
        is_grouped: bool,
    },
    Versions {
        bucket: usize,
    },
    Uploads {
        bucket: usize,
    },
    Usage {
        bucket: usize,
    },
    Settings {
        bucket: usize,
    },
    Events,
    /// Takes the first events that were read, as a sender does that has sent them.
    Forget {
        count: usize,
    },
    /// The server opens its store.
    Open,
    Beat,
    Tidy,
    Lifecycle,
    /// Looks whether everything that is left is whole, and nothing is left over.
    Verify {
        /// `true` if bodies may be left that no record needs.
        leaves_orphans: bool,
    },
    /// Looks whether the server has noticed the commits that it has lost.
    CountLost,
}

impl Op {
    /// `true` if it may change what the model knows.
    pub(super) fn writes(&self) -> bool {
        !matches!(
            self,
            Self::Stage { .. }
                | Self::DropStaged
                | Self::Users
                | Self::Get { .. }
                | Self::GetVersion { .. }
                | Self::OpenReader { .. }
                | Self::ReadOn
                | Self::List { .. }
                | Self::Versions { .. }
                | Self::Uploads { .. }
                | Self::Usage { .. }
                | Self::Settings { .. }
                | Self::Events
                | Self::Open
                | Self::Beat
                | Self::Tidy
                | Self::Verify { .. }
                | Self::CountLost
        )
    }

    /// `true` for what a server does by itself, which has no answer.
    pub(super) fn is_own(&self) -> bool {
        matches!(
            self,
            Self::Open
                | Self::Beat
                | Self::Tidy
                | Self::Lifecycle
                | Self::DropStaged
                | Self::Verify { .. }
                | Self::CountLost
        )
    }
}

/// A version, as an operation tells of it; `V` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen<V> {
    pub(super) version: V,
    pub(super) key: String,
    pub(super) is_marker: bool,
    pub(super) is_latest: bool,
    pub(super) bytes: u64,
    /// The entity tag; empty of delete markers.
    pub(super) etag: String,
}

/// The answer of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer<V> {
    Done,
    Refused(&'static str),
    Object(Seen<V>),
    /// The version that was added or removed by a delete, if there was anything to do; `true` for an added or
    /// removed delete marker.
    Deleted {
        existed: bool,
        is_marker: bool,
        version: Option<V>,
    },
    DeletedAll(Vec<Answer<V>>),
    /// Keys with objects, and common prefixes.
    Listed(Vec<(String, Option<Seen<V>>)>),
    Versions(Vec<Seen<V>>),
    /// Keys, and the parts of each upload.
    Uploads(Vec<(String, OpId)>),
    /// Objects, versions, delete markers and bytes.
    Usage([u64; 4]),
    Settings {
        versioning: &'static str,
        document: Option<OpId>,
        is_told: bool,
        has_lifecycle: bool,
    },
    Users(Vec<(u8, OpId)>),
    /// By key, [in order](in_order): the kind, and the entity tag of what was created.
    Events(Vec<(String, Vec<ToldEvent>)>),
}

/// The events of a key in their order; the removals of versions, in theirs, behind all others. The removal of an old
/// version writes no row that a new version of its key writes. If both are under way at the same time,
/// their numbers may be in one order and their commits in the other.
pub(super) fn in_order(mut events: Vec<ToldEvent>) -> Vec<ToldEvent> {
    events.sort_by_key(|(kind, _)| kind.ends_with(":Delete"));
    events
}

/// The kind of an event, and the entity tag of what was created.
pub(super) type ToldEvent = (&'static str, Option<String>);

impl<V> Answer<V> {
    /// The answer without the names of versions.
    pub(super) fn shape(&self) -> Answer<()> {
        match self {
            Self::Done => Answer::Done,
            Self::Refused(kind) => Answer::Refused(kind),
            Self::Object(seen) => Answer::Object(seen.shape()),
            Self::Deleted { existed, is_marker, version } => Answer::Deleted {
                existed: *existed,
                is_marker: *is_marker,
                version: version.as_ref().map(|_| ()),
            },
            Self::DeletedAll(all) => Answer::DeletedAll(all.iter().map(Self::shape).collect()),
            Self::Listed(all) => {
                let shape = |(key, seen): &(String, Option<Seen<V>>)| {
                    (key.clone(), seen.as_ref().map(Seen::shape))
                };
                Answer::Listed(all.iter().map(shape).collect())
            }
            Self::Versions(all) => Answer::Versions(all.iter().map(Seen::shape).collect()),
            Self::Uploads(all) => Answer::Uploads(all.clone()),
            Self::Usage(counts) => Answer::Usage(*counts),
            Self::Settings { versioning, document, is_told, has_lifecycle } => Answer::Settings {
                versioning,
                document: *document,
                is_told: *is_told,
                has_lifecycle: *has_lifecycle,
            },
            Self::Users(users) => Answer::Users(users.clone()),
            Self::Events(events) => Answer::Events(events.clone()),
        }
    }

    /// The names of versions, in order.
    pub(super) fn versions(&self) -> Vec<&V> {
        match self {
            Self::Object(seen) => vec![&seen.version],
            Self::Deleted { version, .. } => version.iter().collect(),
            Self::DeletedAll(all) => all.iter().flat_map(Self::versions).collect(),
            Self::Listed(all) => {
                all.iter().filter_map(|(_, seen)| Some(&seen.as_ref()?.version)).collect()
            }
            Self::Versions(all) => all.iter().map(|seen| &seen.version).collect(),
            _ => Vec::new(),
        }
    }
}

impl<V> Seen<V> {
    fn shape(&self) -> Seen<()> {
        Seen {
            version: (),
            key: self.key.clone(),
            is_marker: self.is_marker,
            is_latest: self.is_latest,
            bytes: self.bytes,
            etag: self.etag.clone(),
        }
    }
}

/// The bytes that an operation sends.
pub(super) fn body(id: OpId, bytes: usize) -> Vec<u8> {
    let mut body = vec![0; bytes];
    let random = SeededRandom::new(0xB0D1_E500 + u64::from(id));
    liteio_store::RandomSource::fill(&random, &mut body).expect("a seeded source");
    body
}

pub(super) fn md5(body: &[u8]) -> [u8; 16] {
    Md5::digest(body).into()
}

impl Op {
    /// The object that it is about, and whether it may write it.
    pub(super) fn object(&self) -> Option<(Place, bool)> {
        match self {
            Self::Put { place, .. }
            | Self::PutStaged { place, .. }
            | Self::Copy { to: place, .. }
            | Self::Delete { place }
            | Self::DeleteVersion { place, .. }
            | Self::Retain { place, .. }
            | Self::Hold { place, .. }
            | Self::CreateUpload { place }
            | Self::PutPart { place, .. }
            | Self::Complete { place, .. }
            | Self::Abort { place, .. } => Some((*place, true)),
            Self::Get { place } | Self::GetVersion { place, .. } | Self::OpenReader { place } => {
                Some((*place, false))
            }
            _ => None,
        }
    }
}
