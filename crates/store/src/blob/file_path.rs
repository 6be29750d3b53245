//! The path of a blob's file: `blobs/3f/3f8e…`, by the first byte of the id.

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

/// The path of the file of `id`.
pub(super) fn blob_path(id: &BlobId) -> String {
    format!("{BLOBS_DIRECTORY}/{:02x}/{id}", id.0[0])
}

/// The id of the file `name` in the directory `index`; `None` if the file is not ours.
pub(super) fn parse_name(index: u8, name: &str) -> Option<BlobId> {
    let is_canonical =
        name.len() == 32 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_canonical {
        return None;
    }
    let id = BlobId(u128::from_str_radix(name, 16).ok()?.to_be_bytes());
    (id.0[0] == index).then_some(id)
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
