//! Lifecycle rules, and their evaluation for one version or upload. Pure: the time is an argument.

use serde::{Deserialize, Serialize};

use super::record;
use crate::error::StoreError;

/// The lifecycle rules of a bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifecycle {
    /// Rules, in order.
    pub rules: Vec<LifecycleRule>,
    /// Document from which they were read. Clients get it back.
    pub document: Vec<u8>,
}

/// One rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifecycleRule {
    /// Id, unique in the bucket.
    pub id: String,
    /// `true` if the rule is applied.
    pub is_enabled: bool,
    /// Filter of the objects to which it applies.
    pub filter: LifecycleFilter,
    /// Expiration of current versions.
    pub expiration: Option<Expiration>,
    /// `true` if a delete marker without other versions is removed.
    pub expires_delete_markers: bool,
    /// Expiration of noncurrent versions.
    pub noncurrent: Option<NoncurrentExpiration>,
    /// Age in days at which an upload in progress is aborted.
    pub abort_uploads_days: Option<u32>,
    /// Transitions of current versions. Stored behind all rules, by [`Lifecycle::encode`].
    #[serde(skip)]
    pub transitions: Vec<Transition>,
    /// Transitions of noncurrent versions.
    #[serde(skip)]
    pub noncurrent_transitions: Vec<NoncurrentTransition>,
}

/// A transition of current versions to a storage class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// Time, as of an expiration. Zero days are due at once.
    pub at: Expiration,
    /// Storage class.
    pub class: String,
    /// Size of the smallest versions that move, in bytes.
    pub bytes_min: u64,
}

/// A transition of noncurrent versions to a storage class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoncurrentTransition {
    /// Time, and the newest versions that stay.
    pub at: NoncurrentExpiration,
    /// Storage class.
    pub class: String,
    /// Size of the smallest versions that move, in bytes.
    pub bytes_min: u64,
}

/// The transitions of all rules, by the place of the rule.
type StoredTransitions = Vec<(u32, Vec<Transition>, Vec<NoncurrentTransition>)>;

/// Filter of a rule. All its conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifecycleFilter {
    /// Prefix of the key.
    pub prefix: String,
    /// Tags of the version, each with this value.
    pub tags: Vec<(String, String)>,
    /// Size that it must exceed, in bytes.
    pub larger_than: Option<u64>,
    /// Size that it must stay below, in bytes.
    pub smaller_than: Option<u64>,
}

/// Expiration of current versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expiration {
    /// Days after the write.
    Days(u32),
    /// At this time, in milliseconds since 1970, whatever their age.
    At(u64),
}

/// Expiration of noncurrent versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoncurrentExpiration {
    /// Days since a version became noncurrent.
    pub days: u32,
    /// Number of the newest noncurrent versions that stay.
    pub keep_newest: u32,
}

/// Facts of a version that filters test. Delete markers have no size and no tags.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Key of the object.
    pub key: &'a str,
    /// Size; `None` for a delete marker or an upload.
    pub bytes: Option<u64>,
    /// Tags.
    pub tags: &'a [(String, String)],
}

/// Time of an expiration, and the rule behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due<'a> {
    /// Time, in milliseconds since 1970.
    pub at_ms: u64,
    /// Id of the rule.
    pub rule: &'a str,
}

impl LifecycleFilter {
    fn matches(&self, subject: &Subject<'_>) -> bool {
        let is_sized = self.larger_than.is_some() || self.smaller_than.is_some();
        // Delete markers and uploads have no size, so a rule with a bound does not match them.
        let has_size = || {
            subject.bytes.is_some_and(|bytes| {
                self.larger_than.is_none_or(|bound| bytes > bound)
                    && self.smaller_than.is_none_or(|bound| bytes < bound)
            })
        };
        subject.key.starts_with(&self.prefix)
            && (!is_sized || has_size())
            && self.tags.iter().all(|tag| subject.tags.contains(tag))
    }
}

/// The first midnight UTC after `days` days since `since_ms`: S3 rounds up. `day_ms` is the length
/// of a day.
pub(super) fn after_days(since_ms: u64, days: u32, day_ms: u64) -> u64 {
    // At least 1, because it divides.
    let day_ms = day_ms.max(1);
    let passed = since_ms.saturating_add(u64::from(days).saturating_mul(day_ms));
    passed.div_ceil(day_ms).saturating_mul(day_ms)
}

impl Lifecycle {
    /// The rules as a setting of a bucket. With transitions it has version 2, which programs refuse
    /// that would not move anything.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut transitions = StoredTransitions::new();
        for (place, rule) in (0..).zip(&self.rules) {
            let LifecycleRule { transitions: current, noncurrent_transitions: older, .. } = rule;
            if !current.is_empty() || !older.is_empty() {
                transitions.push((place, current.clone(), older.clone()));
            }
        }
        match transitions.is_empty() {
            true => record::encode(1, self),
            false => record::encode(2, &(self, transitions)),
        }
    }

    /// The inverse of [`Lifecycle::encode`].
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        const WHAT: &str = "a setting of a bucket";
        let (version, fields) = record::split_version(bytes, 2)?;
        if version == 1 {
            return record::take_all(fields, WHAT);
        }
        let (mut lifecycle, transitions): (Self, StoredTransitions) =
            record::take_all(fields, WHAT)?;
        for (place, current, older) in transitions {
            let rule = lifecycle.rules.get_mut(place as usize);
            let rule = rule.ok_or_else(|| StoreError::corrupt("a transition without a rule"))?;
            (rule.transitions, rule.noncurrent_transitions) = (current, older);
        }
        Ok(lifecycle)
    }

    /// The rules that are applied.
    fn enabled(&self) -> impl Iterator<Item = &LifecycleRule> {
        self.rules.iter().filter(|rule| rule.is_enabled)
    }

    /// The tags in the filters of all applied rules.
    pub(crate) fn all_tags(&self) -> Vec<(String, String)> {
        self.enabled().flat_map(|rule| rule.filter.tags.iter().cloned()).collect()
    }

    /// `true` if a rule is applied in this phase. `is_effective` is false for storage classes whose
    /// transitions do nothing: names of tiers that are no longer configured.
    pub(crate) fn is_of(&self, what: LifecyclePhase, is_effective: &dyn Fn(&str) -> bool) -> bool {
        self.enabled().any(|rule| match what {
            LifecyclePhase::Uploads => rule.abort_uploads_days.is_some(),
            LifecyclePhase::Versions => {
                rule.expiration.is_some()
                    || rule.noncurrent.is_some()
                    || rule.expires_delete_markers
                    || rule.transitions.iter().any(|it| is_effective(&it.class))
                    || rule.noncurrent_transitions.iter().any(|it| is_effective(&it.class))
            }
        })
    }

    /// The longest common prefix of all keys to which rules apply.
    pub(crate) fn common_prefix(&self) -> String {
        let mut prefixes = self.enabled().map(|rule| rule.filter.prefix.as_str());
        let first = prefixes.next().unwrap_or_default().to_owned();
        prefixes.fold(first, |common, prefix| {
            let both = common.chars().zip(prefix.chars());
            both.take_while(|(one, other)| one == other).map(|(one, _)| one).collect()
        })
    }

    /// Expiration of a current version that was written at `modified_ms`. Of several rules the one
    /// that is due first counts.
    #[must_use]
    pub fn expiration(
        &self,
        subject: &Subject<'_>,
        modified_ms: u64,
        day_ms: u64,
    ) -> Option<Due<'_>> {
        let due = |rule: &LifecycleRule| match rule.expiration? {
            Expiration::Days(days) => Some(after_days(modified_ms, days, day_ms)),
            Expiration::At(at_ms) => Some(at_ms),
        };
        let matching = self.enabled().filter(|rule| rule.filter.matches(subject));
        let dues = matching.filter_map(|rule| Some(Due { at_ms: due(rule)?, rule: &rule.id }));
        dues.min_by_key(|due| due.at_ms)
    }

    /// Expiration of a delete marker without other versions.
    pub(crate) fn marker_expiration(
        &self,
        key: &str,
        modified_ms: u64,
        day_ms: u64,
    ) -> Option<u64> {
        let subject = Subject { key, bytes: None, tags: &[] };
        let matching = self.enabled().filter(|rule| rule.filter.matches(&subject));
        let due = |rule: &LifecycleRule| match (rule.expires_delete_markers, rule.expiration) {
            // At once.
            (true, _) => Some(0),
            (false, Some(Expiration::Days(days))) => Some(after_days(modified_ms, days, day_ms)),
            (false, _) => None,
        };
        matching.filter_map(due).min()
    }

    /// Expiration of a noncurrent version: it became noncurrent at `since_ms`, and `newer`
    /// noncurrent versions of its key are newer.
    pub(crate) fn noncurrent_expiration(
        &self,
        subject: &Subject<'_>,
        newer: u64,
        since_ms: u64,
        day_ms: u64,
    ) -> Option<u64> {
        let matching = self.enabled().filter(|rule| rule.filter.matches(subject));
        let due = |rule: &LifecycleRule| {
            // The newest noncurrent versions stay, however old they are.
            let rule = rule.noncurrent.filter(|rule| newer >= u64::from(rule.keep_newest))?;
            Some(after_days(since_ms, rule.days, day_ms))
        };
        matching.filter_map(due).min()
    }

    /// The storage class that a current version has by `now_ms`. Of several transitions the last one
    /// that is due counts; of those of one day, as on AWS, the one to the coldest class.
    pub(crate) fn transition(
        &self,
        subject: &Subject<'_>,
        modified_ms: u64,
        (now_ms, day_ms): (u64, u64),
    ) -> Option<&Transition> {
        let due = |transition: &Transition| match transition.at {
            Expiration::Days(0) => modified_ms,
            Expiration::Days(days) => after_days(modified_ms, days, day_ms),
            Expiration::At(at_ms) => at_ms,
        };
        let matching = self.enabled().filter(|rule| rule.filter.matches(subject));
        let transitions = matching.flat_map(|rule| &rule.transitions);
        let large = transitions.filter(|it| subject.bytes.is_some_and(|size| size >= it.bytes_min));
        let dues = large.map(|it| (due(it), it)).filter(|(at_ms, _)| *at_ms <= now_ms);
        dues.max_by_key(|(at_ms, it)| (*at_ms, class_rank(&it.class))).map(|(_, it)| it)
    }

    /// The same for a noncurrent version, as [`Lifecycle::noncurrent_expiration`] has it.
    pub(crate) fn noncurrent_transition(
        &self,
        subject: &Subject<'_>,
        (newer, since_ms): (u64, u64),
        (now_ms, day_ms): (u64, u64),
    ) -> Option<&NoncurrentTransition> {
        let due = |at: &NoncurrentExpiration| match at.days {
            0 => since_ms,
            days => after_days(since_ms, days, day_ms),
        };
        let matching = self.enabled().filter(|rule| rule.filter.matches(subject));
        let transitions = matching.flat_map(|rule| &rule.noncurrent_transitions);
        let large = transitions.filter(|it| subject.bytes.is_some_and(|size| size >= it.bytes_min));
        let old = large.filter(|it| newer >= u64::from(it.at.keep_newest));
        let dues = old.map(|it| (due(&it.at), it)).filter(|(at_ms, _)| *at_ms <= now_ms);
        dues.max_by_key(|(at_ms, it)| (*at_ms, class_rank(&it.class))).map(|(_, it)| it)
    }

    /// Expiration of an upload that began at `initiated_ms`.
    #[must_use]
    pub fn upload_expiration(&self, key: &str, initiated_ms: u64, day_ms: u64) -> Option<Due<'_>> {
        let subject = Subject { key, bytes: None, tags: &[] };
        let matching = self.enabled().filter(|rule| rule.filter.matches(&subject));
        let due = |rule: &LifecycleRule| {
            rule.abort_uploads_days.map(|days| after_days(initiated_ms, days, day_ms))
        };
        let dues = matching.filter_map(|rule| Some(Due { at_ms: due(rule)?, rule: &rule.id }));
        dues.min_by_key(|due| due.at_ms)
    }
}

/// Place of a storage class in AWS's order of transitions, which only go on in it. Standard classes and
/// the names of tiers are 0.
pub(crate) fn class_rank(class: &str) -> u8 {
    match class {
        "STANDARD_IA" => 1,
        "INTELLIGENT_TIERING" => 2,
        // Neither becomes the other.
        "ONEZONE_IA" | "GLACIER_IR" => 3,
        "GLACIER" => 4,
        "DEEP_ARCHIVE" => 5,
        _ => 0,
    }
}

/// The two phases of a walk through a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LifecyclePhase {
    /// Versions and delete markers.
    #[default]
    Versions,
    /// Uploads in progress.
    Uploads,
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000;

    fn subject<'a>(key: &'a str, bytes: u64, tags: &'a [(String, String)]) -> Subject<'a> {
        Subject { key, bytes: Some(bytes), tags }
    }

    fn one(rule: LifecycleRule) -> Lifecycle {
        let rule = LifecycleRule { id: "rule".to_owned(), is_enabled: true, ..rule };
        Lifecycle { rules: vec![rule], document: Vec::new() }
    }

    #[test]
    fn days_end_at_the_midnight_that_follows() {
        for (since, days, expected) in [
            (0, 1, DAY),
            (1, 1, 2 * DAY),
            (DAY / 2, 3, 4 * DAY),
            (DAY, 0, DAY),
            (u64::MAX, 1, u64::MAX / DAY * DAY),
        ] {
            let at = after_days(since, days, DAY);
            assert_eq!(at.min(u64::MAX / DAY * DAY), expected, "{since} {days}");
        }
        assert_eq!(after_days(1_234, 2, 10), 1_260, "with a day of 10 ms");
    }

    #[test]
    fn a_filter_needs_all_that_it_names() {
        let tags = [("k".to_owned(), "v".to_owned()), ("l".to_owned(), "w".to_owned())];
        let filter = |prefix: &str, tag: bool, larger_than, smaller_than| LifecycleFilter {
            prefix: prefix.to_owned(),
            tags: if tag { vec![tags[1].clone()] } else { Vec::new() },
            larger_than,
            smaller_than,
        };
        let rows = [
            (filter("", false, None, None), true),
            (filter("a/", true, Some(9), Some(11)), true),
            (filter("b", false, None, None), false),
            (filter("a/", false, Some(10), None), false),
            (filter("a/", false, None, Some(10)), false),
        ];
        for (filter, expected) in rows {
            assert_eq!(filter.matches(&subject("a/b", 10, &tags)), expected, "{filter:?}");
        }
        assert!(!filter("", true, None, None).matches(&subject("a", 1, &tags[..1])));
        let marker = Subject { key: "a", bytes: None, tags: &[] };
        assert!(!filter("", false, Some(0), None).matches(&marker), "it has no size");
    }

    #[test]
    fn the_first_of_several_ends_counts_and_disabled_rules_do_not() {
        let expiration = Some(Expiration::Days(3));
        let mut lifecycle = one(LifecycleRule { expiration, ..LifecycleRule::default() });
        let due = |lifecycle: &Lifecycle| {
            lifecycle.expiration(&subject("k", 1, &[]), 1, DAY).map(|due| due.at_ms)
        };
        assert_eq!(due(&lifecycle), Some(4 * DAY));
        let expiration = Some(Expiration::At(2 * DAY));
        let rule = LifecycleRule { is_enabled: true, expiration, ..LifecycleRule::default() };
        lifecycle.rules.push(rule);
        assert_eq!(due(&lifecycle), Some(2 * DAY));
        lifecycle.rules[1].is_enabled = false;
        assert_eq!(due(&lifecycle), Some(4 * DAY));
        lifecycle.rules[0].is_enabled = false;
        assert_eq!(due(&lifecycle), None);
    }

    #[test]
    fn the_newest_noncurrent_versions_stay() {
        let noncurrent = Some(NoncurrentExpiration { days: 1, keep_newest: 2 });
        let lifecycle = one(LifecycleRule { noncurrent, ..LifecycleRule::default() });
        let due = |newer| lifecycle.noncurrent_expiration(&subject("k", 1, &[]), newer, 0, DAY);
        assert_eq!([due(0), due(1), due(2), due(3)], [None, None, Some(DAY), Some(DAY)]);
    }

    #[test]
    fn transitions_survive_encoding_and_others_keep_version_1() {
        let mut lifecycle =
            one(LifecycleRule { expires_delete_markers: true, ..LifecycleRule::default() });
        let plain = lifecycle.encode();
        assert_eq!(plain, record::encode(1, &lifecycle));
        assert_eq!(Lifecycle::decode(&plain).expect("own bytes"), lifecycle);
        let class = "COLD".to_owned();
        let at = NoncurrentExpiration { days: 2, keep_newest: 1 };
        let rule = &mut lifecycle.rules[0];
        rule.noncurrent_transitions =
            vec![NoncurrentTransition { at, class: class.clone(), bytes_min: 0 }];
        rule.transitions = vec![Transition { at: Expiration::Days(0), class, bytes_min: 10 }];
        let encoded = lifecycle.encode();
        assert_eq!(encoded[0], 2, "programs that would move nothing refuse it");
        assert_eq!(Lifecycle::decode(&encoded).expect("own bytes"), lifecycle);
        for length in 0..encoded.len() {
            Lifecycle::decode(&encoded[..length]).expect_err("cut");
        }
    }

    #[test]
    fn the_last_due_transition_counts_for_versions_that_are_large_enough() {
        let to = |at, class: &str| Transition { at, class: class.to_owned(), bytes_min: 10 };
        let days = Expiration::Days;
        let transitions = vec![to(days(5), "LATE"), to(days(0), "NOW"), to(days(2), "SOON")];
        let lifecycle = one(LifecycleRule { transitions, ..LifecycleRule::default() });
        let class = |bytes, now_ms| {
            let due = lifecycle.transition(&subject("k", bytes, &[]), 1, (now_ms, DAY));
            due.map(|due| due.class.as_str())
        };
        assert_eq!(class(10, 0), None, "not written yet");
        assert_eq!(class(10, 1), Some("NOW"));
        assert_eq!(class(10, 3 * DAY), Some("SOON"));
        assert_eq!(class(10, 9 * DAY), Some("LATE"));
        assert_eq!(class(9, 9 * DAY), None);
    }

    #[test]
    fn a_walk_is_only_of_keys_that_a_rule_is_about() {
        let of = |prefixes: &[&str]| {
            let rule = |prefix: &&str| LifecycleRule {
                is_enabled: true,
                filter: LifecycleFilter {
                    prefix: (*prefix).to_owned(),
                    ..LifecycleFilter::default()
                },
                ..LifecycleRule::default()
            };
            let rules = prefixes.iter().map(rule).collect();
            Lifecycle { rules, document: Vec::new() }.common_prefix()
        };
        assert_eq!(of(&["logs/a", "logs/b"]), "logs/");
        assert_eq!(of(&["ä1", "ä2"]), "ä");
        assert_eq!(of(&["logs/", ""]), "");
        assert_eq!(of(&[]), "");
    }
}
