//! The identity of a shared blob store: the object, or file, `liteio-cluster`.
//!
//! ```text
//! LiteIO cluster
//! format 2
//! id 0123456789abcdef0123456789abcdef
//! ```
//! A server compares the id with that in its database, so that it never works with the blobs of another
//! cluster. The format is that of the blobs.

use std::fmt;

/// Name of the object, below the prefix of the location.
pub(super) const IDENTITY: &str = "liteio-cluster";
/// Format of the blobs that this program writes, and the newest that it reads.
const FORMAT: u32 = 2;
/// The longest identity that is read: longer ones are of a newer program, or not ours.
pub(super) const IDENTITY_BYTES_MAX: u64 = 4096;

/// The id of a cluster: 16 random bytes, the same in its database and its blob store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ClusterId(pub [u8; 16]);

impl fmt::Display for ClusterId {
    /// 32 lower-case hexadecimal digits.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for ClusterId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ClusterId({self})")
    }
}

/// The contents of the identity of a cluster.
pub(super) fn encode(id: &ClusterId) -> String {
    format!("LiteIO cluster\nformat {FORMAT}\nid {id}\n")
}

/// Reads them; `shown` is the blob store.
///
/// # Errors
/// One line that says what to do.
pub(super) fn decode(contents: &[u8], shown: &str) -> Result<ClusterId, String> {
    let foreign = || {
        format!(
            "the object {IDENTITY} in {shown} does not belong to a LiteIO cluster, or it is damaged: give another location, or restore the object from a backup"
        )
    };
    let text = str::from_utf8(contents).map_err(|_| foreign())?;
    let mut lines = text.lines();
    if lines.next() != Some("LiteIO cluster") {
        return Err(foreign());
    }
    let format = lines.next().and_then(|line| line.strip_prefix("format ")?.parse::<u32>().ok());
    let format = format.ok_or_else(foreign)?;
    if format > FORMAT {
        return Err(format!(
            "the blob store {shown} has format {format}, and this program knows formats up to {FORMAT}: start a newer program"
        ));
    }
    let id = lines.next().and_then(|line| super::file_path::parse_id(line.strip_prefix("id ")?));
    id.map(|id| ClusterId(id.0)).ok_or_else(foreign)
}

/// The refusal of a blob store whose identity is not that of the cluster `expected`; `None` if it is.
pub(super) fn mismatch(
    found: Option<ClusterId>,
    expected: &ClusterId,
    shown: &str,
) -> Option<String> {
    match found {
        Some(found) if found == *expected => None,
        Some(found) => Some(format!(
            "the blob store {shown} belongs to the cluster {found}, the database to the cluster {expected}: give the two that were created together"
        )),
        None => Some(format!(
            "the blob store {shown} has no object {IDENTITY}: check the location, or create the cluster there"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_reads_back_and_others_are_refused_in_one_line() {
        let id = ClusterId([0xa5; 16]);
        let contents = encode(&id);
        assert_eq!(decode(contents.as_bytes(), "s3://b"), Ok(id));
        let newer = contents.replace("format 2", "format 3");
        let rows = [
            (newer.as_str(), "newer program"),
            ("", "does not belong to a LiteIO cluster"),
            ("LiteIO cluster\nformat x\n", "damaged"),
            ("LiteIO cluster\nformat 2\nid 12\n", "damaged"),
        ];
        for (contents, expected) in rows {
            let reason = decode(contents.as_bytes(), "s3://b").expect_err(expected);
            assert!(reason.contains(expected) && reason.contains("s3://b"), "{reason}");
            assert!(!reason.contains('\n'), "{reason}");
        }
        decode(&[0xff, 0xfe], "s3://b").expect_err("no text");
    }

    #[test]
    fn a_wrong_pair_is_refused() {
        let (one, other) = (ClusterId([1; 16]), ClusterId([2; 16]));
        assert_eq!(mismatch(Some(one), &one, "s3://b"), None);
        let reason = mismatch(Some(other), &one, "s3://b").expect("refused");
        assert!(reason.contains(&one.to_string()) && reason.contains(&other.to_string()));
        assert!(mismatch(None, &one, "s3://b").expect("refused").contains("create"));
    }
}
