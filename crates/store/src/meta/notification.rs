//! Event notifications of a bucket: rules that select events, each for a target. Pure.

use serde::{Deserialize, Serialize};

use super::event::EventKind;

/// The notifications of a bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notifications {
    /// Rules, in order. Several may select the same event: each of their targets gets it once.
    pub rules: Vec<NotificationRule>,
    /// Document from which they were read. Clients get it back.
    pub document: Vec<u8>,
}

/// One rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationRule {
    /// Id, unique in the bucket.
    pub id: String,
    /// Name of the target.
    pub target: String,
    /// Names of events without `s3:`, such as `ObjectCreated:Put`. `ObjectCreated:*` stands for the
    /// whole family.
    pub events: Vec<String>,
    /// Prefix of the key.
    pub prefix: String,
    /// Suffix of the key.
    pub suffix: String,
}

impl NotificationRule {
    fn matches(&self, kind: EventKind, key: &str) -> bool {
        self.events.iter().any(|pattern| kind.matches(pattern))
            && key.starts_with(&self.prefix)
            && key.ends_with(&self.suffix)
    }

    /// `true` if both rules may select the same event.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let (prefix, suffix) = (&self.prefix, &self.suffix);
        let shares_event = |pattern: &String| other.events.iter().any(|it| share(pattern, it));
        (prefix.starts_with(&other.prefix) || other.prefix.starts_with(prefix))
            && (suffix.ends_with(&other.suffix) || other.suffix.ends_with(suffix))
            && self.events.iter().any(shares_event)
    }
}

/// `true` if two patterns have an event in common.
fn share(one: &str, other: &str) -> bool {
    let covers = |one: &str, other: &str| {
        one.strip_suffix('*').is_some_and(|family| other.starts_with(family))
    };
    one == other || covers(one, other) || covers(other, one)
}

impl Notifications {
    /// The rules that select events of a kind for a key: of each target the first.
    pub(crate) fn rules_for(&self, kind: EventKind, key: &str) -> Vec<&NotificationRule> {
        let mut selecting: Vec<&NotificationRule> = Vec::new();
        for rule in self.rules.iter().filter(|rule| rule.matches(kind, key)) {
            if selecting.iter().all(|other| other.target != rule.target) {
                selecting.push(rule);
            }
        }
        selecting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(events: &[&str], prefix: &str, suffix: &str) -> NotificationRule {
        NotificationRule {
            id: "rule".to_owned(),
            target: "target".to_owned(),
            events: events.iter().map(|event| (*event).to_owned()).collect(),
            prefix: prefix.to_owned(),
            suffix: suffix.to_owned(),
        }
    }

    #[test]
    fn a_rule_is_about_its_events_and_keys() {
        let all = rule(&["ObjectCreated:*"], "in/", ".jpg");
        assert!(all.matches(EventKind::CreatedPut, "in/a.jpg"));
        assert!(all.matches(EventKind::CreatedCopy, "in/.jpg"));
        assert!(!all.matches(EventKind::RemovedDelete, "in/a.jpg"));
        assert!(!all.matches(EventKind::CreatedPut, "out/a.jpg"));
        assert!(!all.matches(EventKind::CreatedPut, "in/a.png"));
        let one = rule(&["ObjectCreated:Put", "ObjectRemoved:Delete"], "", "");
        assert!(one.matches(EventKind::CreatedPut, "x"));
        assert!(one.matches(EventKind::RemovedDelete, "x"));
        assert!(!one.matches(EventKind::CreatedPost, "x"));
        assert!(!one.matches(EventKind::RemovedMarker, "x"));
    }

    #[test]
    fn each_target_is_told_by_its_first_rule() {
        let of = |id: &str, target: &str, prefix: &str| NotificationRule {
            id: id.to_owned(),
            target: target.to_owned(),
            ..rule(&["ObjectCreated:*"], prefix, "")
        };
        let rules = vec![
            of("one", "a", "in/"),
            of("two", "b", ""),
            of("three", "a", ""),
            of("four", "c", "out/"),
        ];
        let all = Notifications { rules, document: Vec::new() };
        let ids = |kind, key| -> Vec<&str> {
            all.rules_for(kind, key).into_iter().map(|rule| &*rule.id).collect()
        };
        assert_eq!(ids(EventKind::CreatedPut, "in/x"), ["one", "two"]);
        assert_eq!(ids(EventKind::CreatedPut, "x"), ["two", "three"]);
        assert_eq!(ids(EventKind::RemovedDelete, "in/x"), [""; 0]);
    }

    #[test]
    fn rules_overlap_when_an_event_could_be_for_both() {
        let created = rule(&["ObjectCreated:*"], "", "");
        let rows = [
            (rule(&["ObjectCreated:Put"], "a", ""), true),
            (rule(&["ObjectCreated:*"], "", ".jpg"), true),
            (rule(&["ObjectRemoved:*"], "", ""), false),
        ];
        for (other, expected) in rows {
            assert_eq!(created.overlaps(&other), expected, "{other:?}");
            assert_eq!(other.overlaps(&created), expected, "{other:?}");
        }
        let (images, logs) =
            (rule(&["ObjectCreated:*"], "in/", ""), rule(&["ObjectCreated:*"], "out/", ""));
        assert!(!images.overlaps(&logs));
        let (jpg, png) =
            (rule(&["ObjectCreated:*"], "in/", ".jpg"), rule(&["ObjectCreated:*"], "in/", ".png"));
        assert!(!jpg.overlaps(&png));
        assert!(images.overlaps(&jpg));
    }
}
