//! Conditional requests.
//!
//! # Reading
//! The order of RFC 9110 section 13.2.2, which S3 follows:
//! 1. `If-Match`, if present, takes precedence over `If-Unmodified-Since`, which is then ignored.
//!    So a matching tag gives 200, even if the object was modified after the date.
//! 2. `If-None-Match`, if present, takes precedence over `If-Modified-Since`, which is then
//!    ignored. So a matching tag gives 304, even if the object was modified after the date, and
//!    another tag gives 200 whatever the date.
//! 3. The first failure decides the status: 412 for a failed `If-Match` or `If-Unmodified-Since`,
//!    304 for the others.
//!
//! HTTP dates have a resolution of seconds, so times are compared in whole seconds. As on AWS (RFC
//! 9110 section 13.1.3), a date in the future is no condition for `If-Modified-Since`.
//!
//! `If-Range` (section 13.1.5) is decided after these. If the object is not the one that it names, the range is
//! ignored and the answer is the whole object: a client would otherwise append bytes of a new object to those of an
//! old one.
//!
//! # Writing
//! `If-None-Match: *` requires that no current object exists, `If-Match` that one with this tag
//! does. The two further conditions of DeleteObject compare its size and its time; RenameObject's
//! compare its time with a date. All given conditions must hold. A delete marker counts as no
//! object.

use liteio_disk::Clock;

use crate::ETag;

/// An entity tag as sent by a client, compared as opaque text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ETagText {
    text: String,
    is_weak: bool,
}

impl ETagText {
    /// The strong tag `"text"`.
    #[must_use]
    pub fn strong(text: &str) -> Self {
        Self { text: text.to_owned(), is_weak: false }
    }

    /// The weak tag `W/"text"`.
    #[must_use]
    pub fn weak(text: &str) -> Self {
        Self { text: text.to_owned(), is_weak: true }
    }
}

/// The value of `If-Match` or `If-None-Match`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EtagCondition {
    /// `*`: any object.
    Any,
    /// An object with one of these tags.
    Matches(Vec<ETagText>),
}

impl EtagCondition {
    /// Parses the value of a header as AWS does: `*`, or tags separated by commas, weak or not,
    /// with or without quotes. `None` if it names no tag.
    #[must_use]
    pub fn parse(header: &str) -> Option<Self> {
        let mut rest = header.trim();
        if rest == "*" || rest == "\"*\"" {
            return Some(Self::Any);
        }
        let mut tags = Vec::new();
        while !rest.is_empty() {
            let is_weak = rest.starts_with("W/") || rest.starts_with("w/");
            let tag = if is_weak { &rest[2..] } else { rest };
            // A comma inside quotes belongs to the tag; outside of quotes it separates tags.
            let quoted = tag.strip_prefix('"').and_then(|inner| inner.split_once('"'));
            let (text, after) = match quoted {
                Some((text, after)) => (text, after.split_once(',').map_or("", |(_, after)| after)),
                None => tag.split_once(',').unwrap_or((tag, "")),
            };
            let text = text.trim().trim_matches('"');
            match is_weak {
                _ if text.is_empty() => {}
                true => tags.push(ETagText::weak(text)),
                false => tags.push(ETagText::strong(text)),
            }
            rest = after.trim_start();
        }
        (!tags.is_empty()).then_some(Self::Matches(tags))
    }

    /// The comparison of `If-Match`: weak tags never match.
    fn matches_strongly(&self, etag: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Matches(tags) => tags.iter().any(|tag| !tag.is_weak && tag.text == etag),
        }
    }

    /// The comparison of `If-None-Match`: weakness is ignored.
    fn matches_weakly(&self, etag: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Matches(tags) => tags.iter().any(|tag| tag.text == etag),
        }
    }
}

/// Conditions on an object to read or to copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadConditions {
    /// `If-Match`.
    pub if_match: Option<EtagCondition>,
    /// `If-None-Match`.
    pub if_none_match: Option<EtagCondition>,
    /// `If-Modified-Since`, in seconds since 1970.
    pub if_modified_since_s: Option<i64>,
    /// `If-Unmodified-Since`, in seconds since 1970.
    pub if_unmodified_since_s: Option<i64>,
    /// The tag of the object that the sender may read, if the decision depended on the object. It
    /// is no header: unlike `If-Match` it outweighs no other condition.
    pub authorized: Option<ETag>,
}

/// The object that a range is for: the value of `If-Range`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeCondition {
    /// The object with this entity tag; never one that is weak.
    Etag(ETagText),
    /// The object that was last modified in exactly this second since 1970.
    ModifiedInS(i64),
    /// No object: the client sent something that is neither a tag nor a date.
    Nothing,
}

impl RangeCondition {
    /// `true` for an object with this tag, last modified at `modified_ms` since 1970.
    #[must_use]
    pub fn holds(&self, etag: &ETag, modified_ms: u64) -> bool {
        match self {
            Self::Etag(tag) => !tag.is_weak && tag.text == etag.to_string(),
            Self::ModifiedInS(second) => seconds(modified_ms) == *second,
            Self::Nothing => false,
        }
    }
}

/// The outcome of conditions on a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionResult {
    /// The read may proceed.
    Proceed,
    /// The client's copy is still valid: 304. A copy request has no 304 and answers 412.
    NotModified,
    /// 412.
    PreconditionFailed,
}

impl ReadConditions {
    /// Decides for an object with this tag, last modified at `modified_ms` since 1970.
    #[must_use]
    pub fn check(&self, etag: &ETag, modified_ms: u64, clock: &dyn Clock) -> ConditionResult {
        // Fast path: most reads have no conditions.
        if self.is_empty() {
            return ConditionResult::Proceed;
        }
        if self.authorized.as_ref().is_some_and(|authorized| authorized != etag) {
            return ConditionResult::PreconditionFailed;
        }
        let etag = etag.to_string();
        let modified_s = seconds(modified_ms);
        let goes_on = match (&self.if_match, self.if_unmodified_since_s) {
            (Some(condition), _) => condition.matches_strongly(&etag),
            (None, Some(since_s)) => modified_s <= since_s,
            (None, None) => true,
        };
        if !goes_on {
            return ConditionResult::PreconditionFailed;
        }
        let is_news = match (&self.if_none_match, self.if_modified_since_s) {
            (Some(condition), _) => !condition.matches_weakly(&etag),
            (None, Some(since_s)) => modified_s > since_s || since_s > seconds(clock.now_ms()),
            (None, None) => true,
        };
        if is_news { ConditionResult::Proceed } else { ConditionResult::NotModified }
    }

    /// The header that causes a [`ConditionResult::PreconditionFailed`].
    #[must_use]
    pub fn precondition_name(&self) -> &'static str {
        match (&self.if_match, self.if_unmodified_since_s) {
            (None, Some(_)) => "If-Unmodified-Since",
            _ => IF_MATCH,
        }
    }

    /// The header that causes a [`ConditionResult::NotModified`].
    #[must_use]
    pub fn validator_name(&self) -> &'static str {
        if self.if_none_match.is_some() { IF_NONE_MATCH } else { "If-Modified-Since" }
    }

    /// `true` if there are no conditions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Conditions on an object to replace or to delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteConditions {
    /// `If-Match`.
    pub if_match: Option<EtagCondition>,
    /// `If-None-Match`. S3 allows only `*`.
    pub if_none_match: Option<EtagCondition>,
    /// `x-amz-if-match-size` of DeleteObject, in bytes.
    pub if_match_size: Option<u64>,
    /// `x-amz-if-match-last-modified-time` of DeleteObject, in seconds since 1970.
    pub if_match_modified_s: Option<i64>,
    /// `If-Modified-Since` of RenameObject, in seconds since 1970. It requires an object.
    pub if_modified_since_s: Option<i64>,
    /// `If-Unmodified-Since` of RenameObject, in seconds since 1970.
    pub if_unmodified_since_s: Option<i64>,
}

/// The properties of the current object that [`WriteConditions`] compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurrentObject<'a> {
    /// The entity tag.
    pub etag: &'a ETag,
    /// The size.
    pub bytes: u64,
    /// Time of the last modification, in milliseconds since 1970.
    pub modified_ms: u64,
}

/// The outcome of [`WriteConditions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteConditionResult {
    /// The write may proceed.
    Proceed,
    /// A condition requires an object, and none exists: 404 for a PUT.
    NoObject,
    /// 412.
    PreconditionFailed {
        /// The header of the failed condition.
        condition: &'static str,
    },
}

impl WriteConditions {
    /// The header of the first condition.
    pub(crate) fn name(&self) -> &'static str {
        if self.if_match.is_some() { IF_MATCH } else { IF_NONE_MATCH }
    }

    /// Decides for the current object; `None` if none exists, or it is a delete marker.
    #[must_use]
    pub fn check(&self, current: Option<CurrentObject<'_>>) -> WriteConditionResult {
        let failed = |condition| WriteConditionResult::PreconditionFailed { condition };
        let wants_object = self.if_match.is_some()
            || self.if_match_size.is_some()
            || self.if_match_modified_s.is_some()
            || self.if_modified_since_s.is_some();
        let Some(current) = current else {
            return match wants_object {
                true => WriteConditionResult::NoObject,
                false => WriteConditionResult::Proceed,
            };
        };
        let etag = current.etag.to_string();
        if self.if_match.as_ref().is_some_and(|wanted| !wanted.matches_strongly(&etag)) {
            return failed(IF_MATCH);
        }
        if self.if_none_match.as_ref().is_some_and(|unwanted| unwanted.matches_weakly(&etag)) {
            return failed(IF_NONE_MATCH);
        }
        if self.if_match_size.is_some_and(|bytes| bytes != current.bytes) {
            return failed("x-amz-if-match-size");
        }
        if self.if_match_modified_s.is_some_and(|time_s| time_s != seconds(current.modified_ms)) {
            return failed("x-amz-if-match-last-modified-time");
        }
        if self.if_modified_since_s.is_some_and(|since_s| seconds(current.modified_ms) <= since_s) {
            return failed("If-Modified-Since");
        }
        if self.if_unmodified_since_s.is_some_and(|since_s| seconds(current.modified_ms) > since_s)
        {
            return failed("If-Unmodified-Since");
        }
        WriteConditionResult::Proceed
    }

    /// `true` if there are no conditions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

const IF_MATCH: &str = "If-Match";
const IF_NONE_MATCH: &str = "If-None-Match";

fn seconds(time_ms: u64) -> i64 {
    // Always fits after the division.
    i64::try_from(time_ms / 1000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
