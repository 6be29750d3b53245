//! [`Unclaimed`]: a range that was read without a claim that keeps others from changing it.

use std::fmt;

use super::super::{ClaimName, Group, RangeRead};

/// A commit changed a range between the fetch and the commit of another one, or could have: they have no
/// claim that conflicts. Of two such commits at the same moment neither sees what the other does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unclaimed {
    lower: Vec<u8>,
    upper: Option<Vec<u8>>,
    key: Vec<u8>,
    reader: Vec<ClaimName>,
    writer: Vec<ClaimName>,
}

impl Unclaimed {
    /// `None` if the claims conflict.
    pub(super) fn between(
        range: &RangeRead,
        reader: &Group,
        key: &[u8],
        writer: &[ClaimName],
    ) -> Option<Self> {
        let conflicts = |one: &ClaimName, other: &ClaimName| {
            one.name == other.name && !(one.is_shared && other.is_shared)
        };
        let is_claimed =
            reader.claims.iter().any(|one| writer.iter().any(|other| conflicts(one, other)));
        (!is_claimed).then(|| Self {
            lower: range.lower.clone(),
            upper: range.upper.clone(),
            key: key.to_vec(),
            reader: reader.claims.clone(),
            writer: writer.to_vec(),
        })
    }
}

impl fmt::Display for Unclaimed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let claims = |claims: &[ClaimName]| {
            let name = |claim: &ClaimName| {
                let shared = if claim.is_shared { " (shared)" } else { "" };
                format!("{}{shared}", claim.name.escape_ascii())
            };
            claims.iter().map(name).collect::<Vec<_>>().join(", ")
        };
        let upper = self.upper.as_deref().map(|upper| upper.escape_ascii().to_string());
        write!(
            formatter,
            "the range {}..{} was read with the claims [{}], and {} in it written with [{}]",
            self.lower.escape_ascii(),
            upper.unwrap_or_default(),
            claims(&self.reader),
            self.key.escape_ascii(),
            claims(&self.writer)
        )
    }
}
