//! The names of the objects of a backup.
//!
//! | Name | Object |
//! |---|---|
//! | `backup.json` | the [identity](crate::repository::Identity) of the backup, in plain JSON |
//! | `verified` | the time of the last [verification](crate::Verification) to its end, and what it found |
//! | `lease` | the [lease](crate::lease): which server writes |
//! | `generations/G/alive` | how far the writer has come, each minute |
//! | `generations/G/log/N` | a [segment](crate::segment) of the log |
//! | `generations/G/base/B/N` | a chunk of a base |
//! | `generations/G/base/B/manifest` | the [manifest](crate::base) of a base; without it the base is not complete |
//! | `generations/G/packs/N` | the bytes of blobs |
//!
//! G is a generation: one run of a writer. B is a base: the number of the record before its first. N counts from 0.
//! All are hexadecimal with leading zeros, so that names are in the order of numbers. No object but `alive`, `lease`
//! and `verified` is ever replaced.

/// The name of the identity.
pub const IDENTITY: &str = "backup.json";
/// The name of the last verification.
pub(crate) const VERIFIED: &str = "verified";
/// The name of the lease.
pub(crate) const LEASE: &str = "lease";
/// The prefix of all names of generations.
pub(crate) const GENERATIONS: &str = "generations/";
/// Bits of the number of a generation below the milliseconds of its begin.
pub(crate) const GENERATION_BITS: u32 = 16;

/// The name of an object, parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    Alive { generation: u64 },
    Log { generation: u64, index: u64 },
    Chunk { generation: u64, base: u64, index: u64 },
    Manifest { generation: u64, base: u64 },
    Pack { generation: u64, pack: u32 },
}

impl Name {
    /// The parsed name; `None` for one that a backup does not have.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(GENERATIONS)?.split('/');
        let generation = hex(parts.next()?)?;
        let parsed = match (parts.next()?, parts.next(), parts.next()) {
            ("alive", None, None) => Self::Alive { generation },
            ("log", Some(index), None) => Self::Log { generation, index: hex(index)? },
            ("packs", Some(pack), None) => {
                Self::Pack { generation, pack: u32::try_from(hex(pack)?).ok()? }
            }
            ("base", Some(base), Some("manifest")) => {
                Self::Manifest { generation, base: hex(base)? }
            }
            ("base", Some(base), Some(index)) => {
                Self::Chunk { generation, base: hex(base)?, index: hex(index)? }
            }
            _ => return None,
        };
        // The last numbers are of no object, so that each has a next one.
        let last = [parsed.generation(), parsed.number()].contains(&u64::MAX);
        // The only spelling, so that no two names are the same object.
        (!last && parts.next().is_none() && parsed.to_string() == name).then_some(parsed)
    }

    /// The generation that has the object.
    pub(crate) fn generation(self) -> u64 {
        match self {
            Self::Alive { generation }
            | Self::Log { generation, .. }
            | Self::Chunk { generation, .. }
            | Self::Manifest { generation, .. }
            | Self::Pack { generation, .. } => generation,
        }
    }
}

impl Name {
    /// The number of the object in its generation or base.
    fn number(self) -> u64 {
        match self {
            Self::Alive { .. } => 0,
            Self::Log { index, .. } | Self::Chunk { index, .. } => index,
            Self::Manifest { base, .. } => base,
            Self::Pack { pack: u32::MAX, .. } => u64::MAX,
            Self::Pack { pack, .. } => pack.into(),
        }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{GENERATIONS}{:016x}/", self.generation())?;
        match self {
            Self::Alive { .. } => formatter.write_str("alive"),
            Self::Log { index, .. } => write!(formatter, "log/{index:016x}"),
            Self::Chunk { base, index, .. } => write!(formatter, "base/{base:016x}/{index:016x}"),
            Self::Manifest { base, .. } => write!(formatter, "base/{base:016x}/manifest"),
            Self::Pack { pack, .. } => write!(formatter, "packs/{pack:08x}"),
        }
    }
}

/// A generation as its name has it.
pub(crate) fn generation_text(generation: u64) -> String {
    format!("{generation:016x}")
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_and_others_are_passed_over() {
        let (generation, base, index) = (u64::MAX - 1, 7, 1 << 40);
        for name in [
            Name::Alive { generation },
            Name::Log { generation, index },
            Name::Chunk { generation, base, index },
            Name::Manifest { generation, base },
            Name::Pack { generation, pack: u32::MAX - 1 },
        ] {
            assert_eq!(Name::parse(&name.to_string()), Some(name));
        }
        for other in [
            "backup.json",
            "generations/1/alive",
            "generations/0000000000000001/other",
            "generations/0000000000000001/log/1",
            "generations/0000000000000001/log/0000000000000001/more",
            "generations/0000000000000001/packs/0000000000000001",
            "generations/000000000000000A/alive",
            "generations/+000000000000001/alive",
            "generations/ffffffffffffffff/alive",
            "generations/0000000000000001/log/ffffffffffffffff",
            "generations/0000000000000001/packs/ffffffff",
        ] {
            assert_eq!(Name::parse(other), None, "{other}");
        }
    }
}
