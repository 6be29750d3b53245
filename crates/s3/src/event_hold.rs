//! Event holds of object lock: headers of writes and elements of documents, for which s3s 0.14 has no
//! fields.
//!
//! The rules are those of AWS's page
//! [Object Lock considerations](https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-lock-managing.html):
//! a hold that is on has a mode and exactly one duration, one that is off has none, and the duration
//! of a release is the one that the version has.

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use liteio_store::{EventHold, RetentionPeriod};
use s3s::xml::{DeError, DeResult, DeserializeContent, Deserializer};
use s3s::{S3Error, S3Result, s3_error};

use super::details::Details;
use super::headers::{header, insert_text};
use super::limits::{RETENTION_DAYS_MAX, RETENTION_YEARS_MAX};
use super::xml::XmlWriter;
use super::{cut, error};

pub(super) const STATUS: HeaderName = HeaderName::from_static("x-amz-object-lock-event-hold");
pub(super) const DAYS: HeaderName =
    HeaderName::from_static("x-amz-object-lock-event-hold-duration-days");
pub(super) const YEARS: HeaderName =
    HeaderName::from_static("x-amz-object-lock-event-hold-duration-years");

const ON: &str = "ON";
const OFF: &str = "OFF";

/// The hold that the headers of a write request for the new version.
pub(super) fn of_request(headers: &HeaderMap) -> S3Result<EventHold> {
    let days = of_header(headers, DAYS, RETENTION_DAYS_MAX)?.map(RetentionPeriod::Days);
    let years = of_header(headers, YEARS, RETENTION_YEARS_MAX)?.map(RetentionPeriod::Years);
    match (header(headers, STATUS), days, years) {
        (None, None, None) => Ok(EventHold::Never),
        (Some(OFF), None, None) => Ok(EventHold::Off),
        (Some(ON), Some(duration), None) | (Some(ON), None, Some(duration)) => {
            Ok(EventHold::On(duration))
        }
        (Some(ON), ..) => Err(s3_error!(
            Details::named(DAYS),
            InvalidArgument,
            "An event hold that is ON has one duration, in either days or years."
        )),
        (Some(OFF) | None, ..) => Err(s3_error!(
            Details::named(STATUS),
            InvalidArgument,
            "An event hold duration is only applicable to an event hold that is ON."
        )),
        (Some(other), ..) => Err(s3_error!(
            Details::argument(STATUS, other),
            InvalidArgument,
            "Event Hold must be either of 'ON' or 'OFF'"
        )),
    }
}

fn of_header(headers: &HeaderMap, name: HeaderName, maximum: u32) -> S3Result<Option<u32>> {
    let Some(text) = header(headers, &name) else { return Ok(None) };
    match length(text, maximum) {
        Some(length) => Ok(Some(length)),
        None => Err(out_of_range(name.as_str(), text)),
    }
}

fn length(text: &str, maximum: u32) -> Option<u32> {
    text.trim().parse().ok().filter(|length| (1..=maximum).contains(length))
}

fn out_of_range(name: &str, sent: &str) -> S3Error {
    s3_error!(
        Details::argument(name, error::quoted(sent)),
        InvalidArgument,
        "An event hold duration must be a positive integer of at most {RETENTION_DAYS_MAX} days or \
         {RETENTION_YEARS_MAX} years."
    )
}

/// Adds the headers that describe the hold of an object.
pub(super) fn insert(headers: &mut HeaderMap, hold: EventHold) -> S3Result<()> {
    insert_text(headers, STATUS, status_of(hold))?;
    match hold {
        EventHold::On(RetentionPeriod::Days(days)) => {
            insert_text(headers, DAYS, Some(&days.to_string()))
        }
        EventHold::On(RetentionPeriod::Years(years)) => {
            insert_text(headers, YEARS, Some(&years.to_string()))
        }
        EventHold::Off | EventHold::Never => Ok(()),
    }
}

fn status_of(hold: EventHold) -> Option<&'static str> {
    match hold {
        EventHold::Never => None,
        EventHold::On(_) => Some(ON),
        EventHold::Off => Some(OFF),
    }
}

/// Writes the elements of a `Retention` that describe a hold.
pub(super) fn write(xml: &mut XmlWriter, hold: EventHold) {
    if let Some(status) = status_of(hold) {
        xml.word("EventHold", status);
    }
    if let EventHold::On(duration) = hold {
        write_duration(xml, "EventHoldDuration", duration);
    }
}

/// Writes a duration, in the unit in which it was given.
pub(super) fn write_duration(xml: &mut XmlWriter, name: &str, duration: RetentionPeriod) {
    xml.open(name);
    write_period(xml, duration);
    xml.close(name);
}

/// Writes a period as its `Days` or `Years`.
pub(super) fn write_period(xml: &mut XmlWriter, period: RetentionPeriod) {
    match period {
        RetentionPeriod::Days(days) => xml.value("Days", days),
        RetentionPeriod::Years(years) => xml.value("Years", years),
    }
}

/// A duration as a document has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SentDuration {
    days: Option<String>,
    years: Option<String>,
}

impl<'xml> DeserializeContent<'xml> for SentDuration {
    fn deserialize_content(parser: &mut Deserializer<'xml>) -> DeResult<SentDuration> {
        let mut sent = SentDuration::default();
        parser.for_each_element(|parser, name| match name {
            b"Days" => once(&mut sent.days, parser),
            b"Years" => once(&mut sent.years, parser),
            _ => Err(DeError::UnexpectedTagName),
        })?;
        Ok(sent)
    }
}

/// Sets a member once.
fn once<'xml, T>(member: &mut Option<T>, parser: &mut Deserializer<'xml>) -> DeResult
where
    T: DeserializeContent<'xml>,
{
    match member.replace(parser.content()?) {
        None => Ok(()),
        Some(_) => Err(DeError::DuplicateField),
    }
}

impl SentDuration {
    /// The duration.
    ///
    /// # Errors
    /// `MalformedXML` for none and for two; `range` for a number that is not positive, or too great.
    pub(super) fn parsed(&self, range: fn(&str, &str) -> S3Error) -> S3Result<RetentionPeriod> {
        let parsed = |name, text: &str, maximum, period: fn(u32) -> RetentionPeriod| {
            length(text, maximum).map(period).ok_or_else(|| range(name, text))
        };
        match (self.days.as_deref(), self.years.as_deref()) {
            (Some(days), None) => parsed("Days", days, RETENTION_DAYS_MAX, RetentionPeriod::Days),
            (None, Some(years)) => {
                parsed("Years", years, RETENTION_YEARS_MAX, RetentionPeriod::Years)
            }
            _ => Err(error::malformed_xml()),
        }
    }
}

/// The event hold in the document of PutObjectRetention.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SentEventHold {
    status: Option<String>,
    duration: Option<SentDuration>,
}

impl SentEventHold {
    /// Reads the hold of a `Retention`.
    ///
    /// # Errors
    /// `MalformedXML`.
    pub(super) fn of(document: &[u8]) -> S3Result<SentEventHold> {
        let mut sent = SentEventHold::default();
        let mut parser = Deserializer::new(document);
        let read = parser.named_element("Retention", |parser| {
            parser.for_each_element(|parser, name| match name {
                b"EventHold" => once(&mut sent.status, parser),
                b"EventHoldDuration" => once(&mut sent.duration, parser),
                _ => parser.content::<String>().map(drop),
            })
        });
        read.map_err(|_| error::malformed_xml())?;
        Ok(sent)
    }

    /// The status as it was sent, for the condition key.
    pub(super) fn status(&self) -> Option<&str> {
        self.status.as_deref()
    }

    /// The duration in days, for the condition key.
    pub(super) fn days(&self) -> Option<u64> {
        let duration = self.duration.as_ref()?.parsed(out_of_range).ok()?;
        Some(duration.days())
    }

    /// The hold.
    ///
    /// # Errors
    /// `MalformedXML` for another status, for a hold without exactly one duration, and for a
    /// duration without a hold that is on; `InvalidArgument` for a duration that is out of range.
    pub(super) fn parsed(&self) -> S3Result<EventHold> {
        match (self.status.as_deref(), &self.duration) {
            (None, None) => Ok(EventHold::Never),
            (Some(OFF), None) => Ok(EventHold::Off),
            (Some(ON), Some(duration)) => duration.parsed(out_of_range).map(EventHold::On),
            _ => Err(error::malformed_xml()),
        }
    }
}

/// The event hold of new objects in the document of PutObjectLockConfiguration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SentDefaultHold(pub(super) Option<SentDuration>);

impl SentDefaultHold {
    /// Reads the hold of an `ObjectLockConfiguration`, and returns the document without it, as s3s
    /// reads it.
    ///
    /// # Errors
    /// `MalformedXML`.
    pub(super) fn take(document: &[u8]) -> S3Result<(SentDefaultHold, Bytes)> {
        let mut sent = None;
        let mut parser = Deserializer::new(document);
        let read = parser.named_element("ObjectLockConfiguration", |parser| {
            parser.for_each_element(|parser, name| match name {
                b"Rule" => parser.for_each_element(|parser, name| match name {
                    b"DefaultRetention" => parser.for_each_element(|parser, name| match name {
                        b"DefaultEventHold" => once(&mut sent, parser),
                        _ => parser.content::<String>().map(drop),
                    }),
                    _ => parser.content::<String>().map(drop),
                }),
                _ => parser.content::<String>().map(drop),
            })
        });
        read.map_err(|_| error::malformed_xml())?;
        Ok((SentDefaultHold(sent), cut::without(document, "DefaultEventHold")?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_a_hold_with_one_duration_or_none() {
        let (days, years) = (RetentionPeriod::Days, RetentionPeriod::Years);
        let rows: [([Option<&'static str>; 3], Option<EventHold>); 14] = [
            ([None, None, None], Some(EventHold::Never)),
            ([Some("OFF"), None, None], Some(EventHold::Off)),
            ([Some("ON"), Some("7"), None], Some(EventHold::On(days(7)))),
            ([Some("ON"), Some("36500"), None], Some(EventHold::On(days(36_500)))),
            ([Some("ON"), None, Some("100")], Some(EventHold::On(years(100)))),
            ([Some("ON"), None, None], None),
            ([Some("ON"), Some("7"), Some("1")], None),
            ([Some("ON"), Some("36501"), None], None),
            ([Some("ON"), None, Some("101")], None),
            ([Some("ON"), Some("0"), None], None),
            ([Some("ON"), Some("-1"), None], None),
            ([Some("OFF"), Some("7"), None], None),
            ([None, Some("7"), None], None),
            ([Some("on"), Some("7"), None], None),
        ];
        for (sent, expected) in rows {
            let named = [STATUS, DAYS, YEARS].into_iter().zip(sent);
            let headers = named
                .filter_map(|(name, value)| Some((name, http::HeaderValue::from_static(value?))));
            let headers = HeaderMap::from_iter(headers);
            match (of_request(&headers), expected) {
                (Ok(hold), Some(expected)) => assert_eq!(hold, expected, "{sent:?}"),
                (Err(error), None) => {
                    assert_eq!(error.code().as_str(), "InvalidArgument", "{sent:?}");
                }
                (other, _) => panic!("{sent:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn documents_have_a_hold_with_one_duration_or_none() {
        let rows = [
            ("", Ok(EventHold::Never)),
            ("<EventHold>OFF</EventHold>", Ok(EventHold::Off)),
            (
                "<EventHold>ON</EventHold><EventHoldDuration><Days>7</Days></EventHoldDuration>",
                Ok(EventHold::On(RetentionPeriod::Days(7))),
            ),
            (
                "<EventHoldDuration><Years>2</Years></EventHoldDuration><EventHold>ON</EventHold>",
                Ok(EventHold::On(RetentionPeriod::Years(2))),
            ),
            ("<EventHold>ON</EventHold>", Err("MalformedXML")),
            ("<EventHold>on</EventHold>", Err("MalformedXML")),
            ("<EventHold>ON</EventHold><EventHoldDuration/>", Err("MalformedXML")),
            (
                "<EventHold>ON</EventHold>\
                 <EventHoldDuration><Days>7</Days><Years>1</Years></EventHoldDuration>",
                Err("MalformedXML"),
            ),
            (
                "<EventHold>OFF</EventHold><EventHoldDuration><Days>7</Days></EventHoldDuration>",
                Err("MalformedXML"),
            ),
            ("<EventHoldDuration><Days>7</Days></EventHoldDuration>", Err("MalformedXML")),
            ("<EventHold>OFF</EventHold><EventHold>ON</EventHold>", Err("MalformedXML")),
            (
                "<EventHold>ON</EventHold><EventHoldDuration><Days>0</Days></EventHoldDuration>",
                Err("InvalidArgument"),
            ),
            (
                "<EventHold>ON</EventHold><EventHoldDuration><Years>x</Years></EventHoldDuration>",
                Err("InvalidArgument"),
            ),
        ];
        for (inner, expected) in rows {
            let document = format!("<Retention><Mode>COMPLIANCE</Mode>{inner}</Retention>");
            let hold = SentEventHold::of(document.as_bytes()).and_then(|sent| sent.parsed());
            let hold = hold.map_err(|error| error.code().as_str().to_owned());
            assert_eq!(hold, expected.map_err(str::to_owned), "{inner}");
        }
    }
}
