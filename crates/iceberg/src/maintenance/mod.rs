//! Maintenance of tables: snapshots to expire, and files that nothing names any more.
//!
//! ```text
//! metadata ──► Policy, expired ──► updates of a commit
//! metadata before and after ──► References: metadata files, manifest lists, manifests, data files
//!                               before − after: files that may be deleted
//! ```

mod expiry;
mod manifest;
mod references;
#[cfg(test)]
mod tests;

pub use self::expiry::{Expired, Policy, expired};
pub use self::manifest::{
    Content, EntryStatus, ManifestEntry, ManifestFile, read_manifest, read_manifest_list,
};
pub use self::references::{Entries, References};
