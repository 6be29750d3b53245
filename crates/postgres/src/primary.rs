//! [`Primary`] and [`Newest`]: a primary that goes on behind the promotion of its standby is not used again.
//!
//! ```text
//!  time ────────────────────────────────────────────────►
//!  former primary    timeline 1 ──────────┬── 1 ── 1 ──     still answers reads
//!  promoted standby                       └── 2 ── 2 ──
//! ```

use liteio_kv::database::PrimaryId;
use parking_lot::Mutex;

/// The primary that a session is at. A promotion begins a new timeline of the same system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Primary {
    system: u64,
    timeline: u32,
}

impl Primary {
    /// Its query, without parameters. An error is no primary, or not PostgreSQL's own functions.
    pub(crate) const QUERY: &str =
        "SELECT system_identifier, pg_walfile_name(pg_current_wal_lsn()) FROM pg_control_system()";

    /// The primary of an answer to [`Primary::QUERY`]. The name of a file of the write-ahead log begins with its timeline.
    pub(crate) fn parse(system: &str, file: &str) -> Option<Self> {
        let timeline = u32::from_str_radix(file.get(..8)?, 16).ok()?;
        Some(Self { system: system.parse().ok()?, timeline })
    }
}

impl From<Primary> for PrimaryId {
    fn from(Primary { system, timeline }: Primary) -> Self {
        system ^ Self::from(timeline)
    }
}

/// The newest primary that a process has been connected to.
#[derive(Debug, Default)]
pub(crate) struct Newest(Mutex<Option<Primary>>);

impl Newest {
    /// It, if a session has told.
    pub(crate) fn get(&self) -> Option<Primary> {
        *self.0.lock()
    }

    /// Notes the primary of a new session, if it is known. `false` if another one has replaced it.
    pub(crate) fn admit(&self, primary: Option<Primary>) -> bool {
        let Some(primary) = primary else { return true };
        let mut newest = self.0.lock();
        // Another system is a database that was restored or upgraded meanwhile, and counts from 1 again.
        let is_former =
            newest.is_some_and(|it| it.system == primary.system && it.timeline > primary.timeline);
        if !is_former {
            *newest = Some(primary);
        }
        !is_former
    }

    /// `true` if no other primary has replaced this one, as far as is known.
    pub(crate) fn is_at(&self, primary: Option<Primary>) -> bool {
        primary.is_none() || *self.0.lock() == primary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_is_never_left_for_a_former_one() {
        let of = |system: u64, timeline: &str| {
            Primary::parse(&system.to_string(), &format!("{timeline}0000000100000002"))
        };
        let (former, promoted) = (of(7, "00000009"), of(7, "0000000A"));
        assert_ne!(former, None);
        let newest = Newest::default();
        assert!(newest.admit(former) && newest.is_at(former));
        assert!(newest.admit(promoted) && newest.is_at(promoted) && !newest.is_at(former));
        assert!(!newest.admit(former) && newest.is_at(promoted));
        // Another database, and one that does not tell.
        let other = of(8, "00000001");
        assert!(newest.admit(other) && newest.is_at(other) && !newest.is_at(promoted));
        assert!(newest.admit(None) && newest.is_at(None) && newest.is_at(other));
        assert_eq!(Primary::parse("7", "0000"), None);
        assert_eq!(Primary::parse("", "00000009"), None);
    }
}
