//! The events that a client asks for.

use std::time::Duration;

use s3s::S3Result;

use crate::bucket_notification::{EVENTS, NEVER};
use crate::error;
use crate::limits::FILTER_VALUE_BYTES_MAX;
use crate::query::Query;

/// Interval of blanks for clients that do not ask for pings.
const BLANK_INTERVAL: Duration = Duration::from_millis(500);
/// Longest interval of pings in seconds.
const PING_SECONDS_MAX: u64 = 3600;
/// Most names of events.
const NAMES_MAX: usize = 100;

/// The sign of life of a stream without events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ping {
    pub(super) interval: Duration,
    pub(super) bytes: &'static [u8],
}

/// The events that a listener may hear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    /// The name of the bucket; `None` for all of the account.
    pub(super) bucket: Option<String>,
    /// The canonical id of the owner.
    pub(super) owner: String,
}

/// The filter of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Names without `s3:`; one that ends with `*` stands for a family.
    names: Vec<String>,
    prefix: String,
    suffix: String,
    pub(super) ping: Ping,
}

impl Wanted {
    /// # Errors
    /// `InvalidArgument`.
    pub(super) fn of(query: &Query) -> S3Result<Wanted> {
        let mut wanted = Wanted {
            names: Vec::new(),
            prefix: String::new(),
            suffix: String::new(),
            ping: Ping { interval: BLANK_INTERVAL, bytes: b" " },
        };
        for (name, value) in query.pairs() {
            match name {
                "events" => wanted.add(value)?,
                "prefix" => wanted.prefix = filter(value)?,
                "suffix" => wanted.suffix = filter(value)?,
                "ping" => wanted.ping = ping(value)?,
                _ => {}
            }
        }
        Ok(wanted)
    }

    fn add(&mut self, event: &str) -> S3Result<()> {
        if !EVENTS.contains(&event) && !NEVER.contains(&event) {
            return Err(error::invalid_argument(
                "A specified event is not supported for notifications.",
            ));
        }
        if self.names.len() == NAMES_MAX {
            return Err(error::invalid_argument("A request names at most 100 events."));
        }
        self.names.push(event.trim_start_matches("s3:").to_owned());
        Ok(())
    }

    pub(super) fn includes(&self, name: &str, key: &str) -> bool {
        let is_named = self.names.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some(family) => name.starts_with(family),
            None => name == wanted,
        });
        is_named && key.starts_with(&self.prefix) && key.ends_with(&self.suffix)
    }
}

fn filter(value: &str) -> S3Result<String> {
    match value.len() > FILTER_VALUE_BYTES_MAX {
        true => Err(error::invalid_argument("The prefix and the suffix have at most 1024 bytes.")),
        false => Ok(value.to_owned()),
    }
}

fn ping(value: &str) -> S3Result<Ping> {
    match value.parse::<u64>() {
        Ok(seconds) if (1..=PING_SECONDS_MAX).contains(&seconds) => {
            // A document without events, on a line of its own: clients that read lines see it at once.
            let bytes = b"{\"Records\":null}\n";
            Ok(Ping { interval: Duration::from_secs(seconds), bytes })
        }
        _ => Err(error::invalid_argument("ping is a number of seconds from 1 to 3600.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(query: &str) -> Option<Wanted> {
        Wanted::of(&Query::of(&format!("/b?{query}").parse().expect("a URI"))).ok()
    }

    #[test]
    fn names_and_filters_select_events() {
        // As mc sends it.
        let all = "events=s3%3AObjectCreated%3A%2A&events=s3%3AObjectRemoved%3A%2A&events=s3%3AObjectAccessed%3A%2A\
                   &ping=10&prefix=in%2F&suffix=.jpg";
        let all = wanted(all).expect("valid");
        assert_eq!(all.ping.interval, Duration::from_secs(10));
        assert!(all.includes("ObjectCreated:Put", "in/a.jpg"));
        assert!(all.includes("ObjectRemoved:Delete", "in/a.jpg"));
        assert!(!all.includes("ObjectTagging:Put", "in/a.jpg"));
        assert!(!all.includes("ObjectCreated:Put", "out/a.jpg"));
        assert!(!all.includes("ObjectCreated:Put", "in/a.png"));
        let one = wanted("events=s3:ObjectCreated:Copy").expect("valid");
        assert_eq!(one.ping.bytes, b" ");
        assert!(one.includes("ObjectCreated:Copy", "a") && !one.includes("ObjectCreated:Put", "a"));
        for refused in ["events=s3:Nope", "events=&ping=0", "events=s3:ObjectCreated:*&ping=x"] {
            assert_eq!(wanted(refused), None, "{refused}");
        }
        let long = format!("events=s3:ObjectCreated:*&prefix={}", "x".repeat(1025));
        assert_eq!(wanted(&long), None);
        assert_eq!(wanted(&"events=s3:ObjectCreated:*&".repeat(NAMES_MAX + 1)), None);
    }

    #[test]
    fn names_that_never_occur_are_no_names_that_do() {
        assert!(NEVER.is_sorted() && NEVER.iter().all(|name| !EVENTS.contains(name)));
    }
}
