//! Files that the metadata of a table name.

use std::collections::BTreeSet;

use crate::error::Invalid;
use crate::table::TableMetadata;

use super::manifest::{EntryStatus, ManifestFile, read_manifest, read_manifest_list};

/// Entries of manifests that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// Files of the table. For the references after a change: these must stay.
    Live,
    /// Those, and files whose removal a manifest records. For the references before an expiry: they may still be there.
    WithRemovals,
}

/// Locations of files that the metadata of a table name: metadata files, statistics, manifest lists, manifests, data and
/// delete files. [`References::of`] has those that the metadata name themselves, [`References::add_snapshots`] the rest.
///
/// A location stands in several spellings: clients write `s3a://` or `s3n://` for `s3://`, and some take `//` in a key for `/`,
/// or cut `?` and `#` off. A file that any of them could mean counts as named.
#[derive(Clone, Debug, Default)]
pub struct References {
    /// Locations as they stand, with `s3://` for the other schemes of S3.
    locations: BTreeSet<String>,
    /// Other files that readers could mean by them. They are never deleted by this, as nothing names them for certain.
    others: BTreeSet<String>,
}

impl References {
    /// Files that the metadata name themselves. `location` is that of the metadata file, where it is known.
    pub fn of(metadata: &TableMetadata, location: Option<&str>) -> References {
        let mut references = References::default();
        location.into_iter().for_each(|location| references.add(location));
        metadata.metadata_log().for_each(|(_, file)| references.add(file));
        metadata.statistics().for_each(|(_, file)| references.add(file));
        for snapshot in metadata.snapshots() {
            snapshot.manifest_list.into_iter().for_each(|list| references.add(list));
            snapshot.manifests().for_each(|manifest| references.add(manifest));
        }
        references
    }

    /// Adds the manifests that a manifest list names, and returns them.
    ///
    /// # Errors
    /// As [`read_manifest_list`]. Nothing was added.
    pub fn add_manifest_list(&mut self, file: &[u8]) -> Result<Vec<ManifestFile>, Invalid> {
        let manifests = read_manifest_list(file)?;
        manifests.iter().for_each(|manifest| self.add(&manifest.path));
        Ok(manifests)
    }

    /// Adds the files that a manifest names, until there are more than `most`.
    ///
    /// # Errors
    /// As [`read_manifest`], and for too many. The references are incomplete then: nothing may be deleted by them.
    pub fn add_manifest(
        &mut self,
        file: &[u8],
        entries: Entries,
        most: usize,
    ) -> Result<(), Invalid> {
        read_manifest(file, |entry| {
            let is_named = entries == Entries::WithRemovals || entry.status != EntryStatus::Deleted;
            // One more shows that there are too many.
            if is_named && self.len() <= most {
                self.add(entry.path);
            }
        })?;
        self.check(most)
    }

    fn check(&self, most: usize) -> Result<(), Invalid> {
        match self.len() <= most {
            true => Ok(()),
            false => Err(Invalid::Illegal(format!("The table has more than {most} files."))),
        }
    }

    /// Adds the manifests of the snapshots that `is_read` chooses, and the files that these name. `read` gives the bytes of a
    /// file; each is read once. At most `most` locations are held.
    ///
    /// # Errors
    /// Of `read`, and as [`References::add_manifest`]. The references are incomplete then: nothing may be deleted by them.
    pub fn add_snapshots<E: From<Invalid>>(
        &mut self,
        metadata: &TableMetadata,
        (entries, most): (Entries, usize),
        is_read: impl Fn(i64) -> bool,
        mut read: impl FnMut(&str) -> Result<Vec<u8>, E>,
    ) -> Result<(), E> {
        // Snapshots share most of their manifests.
        let mut manifests = BTreeSet::new();
        for snapshot in metadata.snapshots().filter(|snapshot| is_read(snapshot.id)) {
            manifests.extend(snapshot.manifests().map(str::to_owned));
            if let Some(list) = snapshot.manifest_list {
                let listed = self.add_manifest_list(&read(list)?)?;
                self.check(most)?;
                manifests.extend(listed.into_iter().map(|manifest| manifest.path));
            }
        }
        for manifest in &manifests {
            self.add_manifest(&read(manifest)?, entries, most)?;
        }
        Ok(self.check(most)?)
    }

    /// Adds a location.
    pub fn add(&mut self, location: &str) {
        let location = with_one_scheme(location);
        self.others.extend(readings(&location));
        self.locations.insert(location);
    }

    /// The number of locations.
    pub fn len(&self) -> usize {
        self.locations.len()
    }

    /// `true` without locations.
    pub fn is_empty(&self) -> bool {
        self.locations.is_empty()
    }

    /// The locations that do not begin with `prefix`, or that could mean a file which does not. In them `s3a://` and `s3n://`
    /// are `s3://`.
    pub fn outside<'r>(&'r self, prefix: &str) -> impl Iterator<Item = &'r str> + use<'r> {
        let prefix = with_one_scheme(prefix);
        let all = self.locations.iter().map(String::as_str);
        let is_outside = move |location: &&str| {
            !location.starts_with(&*prefix)
                || readings(location).iter().any(|other| !other.starts_with(&*prefix))
        };
        all.filter(is_outside)
    }

    /// `true` if the file at a location is named.
    pub fn contains(&self, location: &str) -> bool {
        let location = with_one_scheme(location);
        self.locations.contains(&location) || self.others.contains(&location)
    }

    /// Files that these references name and those of the table after a commit do not: nothing reads them any more. Metadata
    /// files that fell out of the metadata log are among them.
    pub fn missing_in<'r>(&'r self, after: &'r References) -> impl Iterator<Item = &'r str> {
        self.locations.iter().map(String::as_str).filter(|location| !after.contains(location))
    }

    /// Files of a listing that nothing names and that were written before a time: those of commits that failed. `before_ms`
    /// must leave writers the time to commit what they have written.
    pub fn unreferenced<'f>(
        &self,
        files: impl IntoIterator<Item = (&'f str, i64)>,
        before_ms: i64,
    ) -> Vec<&'f str> {
        let old = files.into_iter().filter(|(_, written_ms)| *written_ms < before_ms);
        old.map(|(location, _)| location).filter(|location| !self.contains(location)).collect()
    }
}

/// The location with `s3://` for the schemes of S3, in whatever case.
fn with_one_scheme(location: &str) -> String {
    let end = scheme_end(location);
    let scheme = &location[..end];
    match ["s3://", "s3a://", "s3n://"].iter().any(|other| scheme.eq_ignore_ascii_case(other)) {
        true => format!("s3://{}", &location[end..]),
        false => location.to_owned(),
    }
}

/// Other files that readers could mean by a location.
fn readings(location: &str) -> Vec<String> {
    let mut readings = Vec::new();
    for end in ['?', '#'] {
        if let Some((cut, _)) = location.split_once(end) {
            readings.push(with_single_slashes(cut));
            readings.push(cut.to_owned());
        }
    }
    if location[scheme_end(location)..].contains("//") {
        readings.push(with_single_slashes(location));
    }
    readings
}

/// The end of `scheme://`; 0 for a location without.
fn scheme_end(location: &str) -> usize {
    location.find("://").map_or(0, |at| at + 3)
}

fn with_single_slashes(location: &str) -> String {
    let (scheme, path) = location.split_at(scheme_end(location));
    let mut single = scheme.to_owned();
    for character in path.chars() {
        if character != '/' || !single.ends_with('/') || single.len() == scheme.len() {
            single.push(character);
        }
    }
    single
}
