//! Places of the files of tables: whether the server has chosen them, or a client.
//!
//! A client may name any location of the bucket, also one with objects that others have put there. Only at a place that
//! the server has chosen are all objects those of the table, so that maintenance may delete them.

use std::collections::VecDeque;

use liteio_store::tables::{TableDocument, TableSettings};
use liteio_store::{Bucket, BucketId};
use parking_lot::Mutex;

use super::limits::STAGED_MAX;
use super::warehouse::{key_of, trimmed};

/// The location of a new table or view.
pub(crate) struct Place {
    pub(crate) location: String,
    /// `true` if the server has chosen it.
    pub(crate) is_own: bool,
}

impl Place {
    /// The settings of a new table there.
    pub(crate) fn settings(&self) -> TableSettings {
        let mut settings = TableSettings::default();
        if self.is_own {
            note(&mut settings, &self.location);
        }
        settings
    }
}

/// Notes the place that the server has chosen for a table.
pub(crate) fn note(settings: &mut TableSettings, location: &str) {
    settings.set(TableDocument::Place, Some(trimmed(location).as_bytes().to_vec()));
}

/// `true` if the server has chosen the location for the table with these settings.
pub(crate) fn is_own(bucket: &Bucket, settings: &TableSettings, location: &str) -> bool {
    let chosen = settings.document(TableDocument::Place);
    let key = |location: &str| key_of(bucket, location).ok().map(|key| trimmed(&key).to_owned());
    let chosen = chosen.and_then(|chosen| key(std::str::from_utf8(chosen).ok()?));
    chosen.is_some() && chosen == key(location)
}

/// Places that the server has chosen for tables whose creation was staged: the commit that creates one names it. The
/// oldest go first. A table that is committed after a restart, or at another server, is one at a place of the client's.
#[derive(Debug, Default)]
pub(crate) struct Staged {
    places: Mutex<VecDeque<(BucketId, String)>>,
}

impl Staged {
    pub(crate) fn note(&self, bucket: BucketId, place: &Place) {
        if !place.is_own {
            return;
        }
        let mut places = self.places.lock();
        if places.len() >= STAGED_MAX {
            places.pop_front();
        }
        places.push_back((bucket, place.location.clone()));
    }

    /// The place with this location.
    pub(crate) fn place(&self, bucket: BucketId, location: &str) -> Place {
        let location = trimmed(location).to_owned();
        let places = self.places.lock();
        let is_own = places.iter().any(|(of, place)| *of == bucket && *place == location);
        Place { location, is_own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_staged_places_are_known() {
        let staged = Staged::default();
        let id = |number: u32| serde_json::from_value::<BucketId>(number.into()).expect("an id");
        let place = |number: usize| Place { location: format!("s3://b/t-{number}"), is_own: true };
        for number in 0..=STAGED_MAX {
            staged.note(id(1), &place(number));
        }
        staged.note(id(1), &Place { is_own: false, ..place(STAGED_MAX + 1) });
        let is_own = |bucket, location: &str| staged.place(id(bucket), location).is_own;
        assert!(is_own(1, "s3://b/t-1") && is_own(1, "s3://b/t-2/"));
        assert!(!is_own(1, "s3://b/t-0") && !is_own(2, "s3://b/t-1"));
        assert!(!is_own(1, &format!("s3://b/t-{}", STAGED_MAX + 1)));
    }
}
