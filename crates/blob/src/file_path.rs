//! The path of a blob's file: `blobs/3f/3f8e…`, by a byte of the id.

use super::BlobId;

/// The directory of all blobs.
pub(super) const BLOBS_DIRECTORY: &str = "blobs";

/// The path of the fan-out directory `index`.
pub(super) fn directory_path(index: u8) -> String {
    format!("{BLOBS_DIRECTORY}/{index:02x}")
}

/// The index of the fan-out directory `name`; `None` if the name is not ours.
pub(super) fn parse_directory(name: &str) -> Option<u8> {
    let index = u8::from_str_radix(name, 16).ok()?;
    (format!("{index:02x}") == name).then_some(index)
}

/// The place of the byte of an id that chooses its directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fanout(pub(super) usize);

impl Fanout {
    /// The first byte.
    pub(super) const FIRST: Self = Self(0);
    /// The one behind the number of the run, which is the same in all ids of a process.
    #[cfg(feature = "cluster")]
    pub(super) const BEHIND_RUN: Self = Self(super::RUN_BYTES);

    /// The index of the directory of `id`.
    pub(super) fn index(self, id: &BlobId) -> u8 {
        id.0[self.0]
    }

    /// The path of the file of `id`.
    pub(super) fn path(self, id: &BlobId) -> String {
        format!("{}/{id}", directory_path(self.index(id)))
    }

    /// The id of the file `name` in the directory `index`; `None` if the file is not ours.
    pub(super) fn parse_name(self, index: u8, name: &str) -> Option<BlobId> {
        parse_id(name).filter(|id| self.index(id) == index)
    }
}

/// The path of the file of `id` in a directory of one process.
pub(super) fn blob_path(id: &BlobId) -> String {
    Fanout::FIRST.path(id)
}

/// The id of the file `name` in the directory `index` of one process; `None` if the file is not ours.
pub(super) fn parse_name(index: u8, name: &str) -> Option<BlobId> {
    Fanout::FIRST.parse_name(index, name)
}

/// The id that is written as `name`, in 32 lower-case hexadecimal digits.
pub(super) fn parse_id(name: &str) -> Option<BlobId> {
    let is_canonical =
        name.len() == 32 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_canonical {
        return None;
    }
    Some(BlobId(u128::from_str_radix(name, 16).ok()?.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_back_to_its_blob() {
        let mut id = [0; 16];
        for (position, byte) in id.iter_mut().enumerate() {
            *byte = 0xf1 - 16 * position as u8 + position as u8;
        }
        for id in [BlobId(id), BlobId([0; 16]), BlobId([0xff; 16])] {
            let path = blob_path(&id);
            let (directory, name) = path.rsplit_once('/').expect("a directory");
            assert_eq!(directory, directory_path(id.0[0]));
            assert_eq!(parse_name(id.0[0], name), Some(id));
            assert_eq!(parse_name(id.0[0].wrapping_add(1), name), None, "the wrong directory");
        }
        assert_eq!(blob_path(&BlobId([0x0a; 16])), format!("blobs/0a/{}", "0a".repeat(16)));
    }

    #[cfg(feature = "cluster")]
    #[test]
    fn ids_of_one_run_are_spread_over_directories() {
        let mut id = BlobId([9; 16]);
        id.0[4] = 0x3f;
        let path = Fanout::BEHIND_RUN.path(&id);
        assert_eq!(path, format!("blobs/3f/{id}"));
        assert_eq!(Fanout::BEHIND_RUN.parse_name(0x3f, &id.to_string()), Some(id));
        assert_eq!(Fanout::BEHIND_RUN.parse_name(9, &id.to_string()), None);
    }

    #[test]
    fn other_names_are_not_ours() {
        for name in ["", "0", "000", "0A", "+a", "zz"] {
            assert_eq!(parse_directory(name), None, "{name:?}");
        }
        assert_eq!(parse_directory("0a"), Some(10));
        for name in ["", "0", "lost+found", &"0A".repeat(16), &"+0".repeat(16), &"0".repeat(33)] {
            assert_eq!(parse_name(0, name), None, "{name:?}");
        }
    }
}
