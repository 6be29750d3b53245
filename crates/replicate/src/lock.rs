//! The retention and the event hold of a version, as targets are told of them.

use liteio_access::remote::RemoteKind;
use liteio_store::{EventHold, ObjectLock, Retention, RetentionMode, RetentionPeriod};

use crate::remote::{NAMESPACE, Pairs, pair, time};

/// The headers of the retention and the event hold.
pub(crate) fn headers(kind: RemoteKind, lock: &ObjectLock, now_ms: u64) -> Pairs {
    let Some(SentRetention { mode, until_ms, event_hold }) = SentRetention::of(kind, lock, now_ms)
    else {
        return Pairs::new();
    };
    let mut headers = vec![pair("x-amz-object-lock-mode", mode_name(mode))];
    let until = until_ms.map(|until_ms| pair(UNTIL, time(until_ms)));
    headers.extend(until);
    match event_hold {
        EventHold::Never => {}
        EventHold::Off => headers.push(pair(HOLD, "OFF")),
        EventHold::On(duration) => {
            headers.push(pair(HOLD, "ON"));
            headers.push(match duration {
                RetentionPeriod::Days(days) => pair(HOLD_DAYS, days.to_string()),
                RetentionPeriod::Years(years) => pair(HOLD_YEARS, years.to_string()),
            });
        }
    }
    headers
}

const UNTIL: &str = "x-amz-object-lock-retain-until-date";
const HOLD: &str = "x-amz-object-lock-event-hold";
const HOLD_DAYS: &str = "x-amz-object-lock-event-hold-duration-days";
const HOLD_YEARS: &str = "x-amz-object-lock-event-hold-duration-years";

/// The retention that is sent to a target.
struct SentRetention {
    mode: RetentionMode,
    /// `None` where the target computes it from an event hold.
    until_ms: Option<u64>,
    event_hold: EventHold,
}

impl SentRetention {
    /// The retention of a lock at `now_ms`. MinIO knows no event holds: its copy has the end that the
    /// retention has now.
    fn of(kind: RemoteKind, lock: &ObjectLock, now_ms: u64) -> Option<SentRetention> {
        let Retention { mode, until_ms } = lock.retention_at(now_ms)?;
        let event_hold = match kind {
            RemoteKind::Minio => EventHold::Never,
            _ => lock.event_hold,
        };
        // An end that follows the clock is computed there; a fixed one behind it is told.
        let follows = matches!(event_hold, EventHold::On(_))
            && lock.retention.is_none_or(|stored| stored.until_ms < until_ms);
        Some(SentRetention { mode, until_ms: (!follows).then_some(until_ms), event_hold })
    }
}

/// The document that gives the copy the retention and the event hold.
pub(crate) fn document(kind: RemoteKind, lock: &ObjectLock, now_ms: u64) -> String {
    let fields = SentRetention::of(kind, lock, now_ms).map(|sent| {
        let mode = mode_name(sent.mode);
        let until = sent.until_ms.map(time).unwrap_or_default();
        let until = match until.is_empty() {
            true => String::new(),
            false => format!("<RetainUntilDate>{until}</RetainUntilDate>"),
        };
        let hold = match sent.event_hold {
            EventHold::Never => String::new(),
            EventHold::Off => "<EventHold>OFF</EventHold>".to_owned(),
            EventHold::On(duration) => {
                let duration = match duration {
                    RetentionPeriod::Days(days) => format!("<Days>{days}</Days>"),
                    RetentionPeriod::Years(years) => format!("<Years>{years}</Years>"),
                };
                format!(
                    "<EventHold>ON</EventHold><EventHoldDuration>{duration}</EventHoldDuration>"
                )
            }
        };
        format!("<Mode>{mode}</Mode>{until}{hold}")
    });
    format!("<Retention {NAMESPACE}>{}</Retention>", fields.unwrap_or_default())
}

fn mode_name(mode: RetentionMode) -> &'static str {
    match mode {
        RetentionMode::Governance => "GOVERNANCE",
        RetentionMode::Compliance => "COMPLIANCE",
    }
}
