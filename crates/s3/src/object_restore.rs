//! RestoreObject, and the state of restores in answers.

use http::{HeaderMap, HeaderName, Response, StatusCode};
use liteio_store::{
    ObjectVersion, Restore, RestoreRequest, RestoreState, RetrievalTier, Store, VersionChange,
};
use s3s::xml::{DeError, DeResult, Deserializer};
use s3s::{S3Result, s3_error};

use super::dates::http_date;
use super::details::Details;
use super::headers::{header, insert_text};
use super::limits::RESTORE_DAYS_MAX;
use super::plain::{PlainRequest, PlainResponse};
use super::xml::XmlWriter;
use super::{error, event_cause, object_version};
use liteio_access::state::App;
use liteio_wire::reply::ReplyBody;

const RESTORE: HeaderName = HeaderName::from_static("x-amz-restore");

/// Begins a restore (202), or changes the expiry of a restored copy (200).
pub(super) async fn restore_object(app: &App, request: PlainRequest) -> PlainResponse {
    let version = request.sent().parameter("versionId").map(str::to_owned);
    let PlainRequest { granted, key, headers, extensions, body: document, .. } = request;
    let sent = parse(&document)?;
    sent.refuse_select()?;
    let found = object_version::find_tagged(app, &granted, key.clone(), version.clone()).await?;
    // An object that needs no restore is refused before a document that lacks something, as on AWS.
    let restore = match sent.restore() {
        Err(_) if !found.is_archived() && !found.is_in_tier => {
            let class = found.metadata.storage_class;
            return Err(error::from_store(liteio_store::StoreError::NotArchived { class }));
        }
        restore => restore?,
    };
    let cause = event_cause::of_request(app, &granted, &headers, &extensions);
    let change = VersionChange::Restore(restore);
    let object = object_version::change(app, &granted, key, version, change, cause).await?;
    let is_extended = object.restore.as_ref().is_some_and(Restore::is_dated);
    let mut response = Response::new(ReplyBody::empty());
    *response.status_mut() = if is_extended { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok(response)
}

/// A document as it was sent.
#[derive(Default)]
struct Sent {
    days: Option<String>,
    /// The retrieval tier in `GlacierJobParameters`.
    job_tier: Option<String>,
    tier: Option<String>,
    kind: Option<String>,
    /// An element of a SELECT request.
    select: Option<&'static str>,
}

/// Sets a member once.
fn once(member: &mut Option<String>, parser: &mut Deserializer<'_>) -> DeResult {
    match member.replace(parser.content()?) {
        None => Ok(()),
        Some(_) => Err(DeError::DuplicateField),
    }
}

fn parse(document: &[u8]) -> S3Result<Sent> {
    let mut sent = Sent::default();
    // As on AWS, an object that needs no restore is refused without a document, too.
    if document.is_empty() {
        return Ok(sent);
    }
    let mut parser = Deserializer::new(document);
    let parsed = parser.named_element("RestoreRequest", |parser| {
        parser.for_each_element(|parser, name| match name {
            b"Days" => once(&mut sent.days, parser),
            b"Description" => parser.content::<String>().map(drop),
            b"GlacierJobParameters" => parser.for_each_element(|parser, name| match name {
                b"Tier" => once(&mut sent.job_tier, parser),
                _ => Err(DeError::UnexpectedTagName),
            }),
            b"Tier" => once(&mut sent.tier, parser),
            b"Type" => once(&mut sent.kind, parser),
            b"OutputLocation" => {
                sent.select = Some("OutputLocation");
                Err(DeError::UnexpectedTagName)
            }
            b"SelectParameters" => {
                sent.select = Some("SelectParameters");
                Err(DeError::UnexpectedTagName)
            }
            _ => Err(DeError::UnexpectedTagName),
        })
    });
    match parsed {
        Ok(()) => Ok(sent),
        // What is behind them does not matter: the request is refused by their name.
        Err(_) if sent.select.is_some() => Ok(sent),
        Err(_) => Err(error::malformed_xml()),
    }
}

impl Sent {
    /// Refuses a request to select from an archived object.
    fn refuse_select(&self) -> S3Result<()> {
        let select = match self.kind.as_deref() {
            Some("SELECT") => Some("Type SELECT"),
            Some(_) => return Err(error::malformed_xml()),
            None => self.select,
        };
        match select {
            None => Ok(()),
            Some(named) => Err(s3_error!(
                NotImplemented,
                "RestoreObject with {named} is not implemented by LiteIO: restore the object, and \
                 select from what GetObject answers."
            )),
        }
    }

    /// The checked request.
    fn restore(&self) -> S3Result<RestoreRequest> {
        let tier = match self.job_tier.as_ref().or(self.tier.as_ref()).map(String::as_str) {
            None | Some("Standard") => RetrievalTier::Standard,
            Some("Bulk") => RetrievalTier::Bulk,
            Some("Expedited") => RetrievalTier::Expedited,
            Some(_) => return Err(error::malformed_xml()),
        };
        let sent = self.days.as_deref().map(str::trim).ok_or_else(error::malformed_xml)?;
        let days: i64 = sent.parse().map_err(|_| error::malformed_xml())?;
        let days = u32::try_from(days).ok().filter(|days| (1..=RESTORE_DAYS_MAX).contains(days));
        let days = days.ok_or_else(|| {
            s3_error!(
                Details::argument("Days", sent),
                InvalidArgument,
                "A restore is for 1 to {RESTORE_DAYS_MAX} days."
            )
        })?;
        Ok(RestoreRequest { days, tier })
    }
}

/// Adds `x-amz-restore` for a version that is being restored, or is.
pub(super) fn insert(app: &App, headers: &mut HeaderMap, object: &ObjectVersion) -> S3Result<()> {
    let text = match app.ask(|store| store.restore_state(object)) {
        None => return Ok(()),
        Some(RestoreState::Ongoing) => "ongoing-request=\"true\"".to_owned(),
        Some(RestoreState::Restored { expires_ms }) => {
            let date = http_date(expires_ms)?;
            let date = String::from_utf8_lossy(date.as_bytes());
            format!("ongoing-request=\"false\", expiry-date=\"{date}\"")
        }
    };
    insert_text(headers, RESTORE, Some(&text))
}

/// `true` if a list is to tell the restores of objects.
///
/// # Errors
/// `InvalidArgument` for another attribute.
pub(super) fn are_listed(headers: &HeaderMap) -> S3Result<bool> {
    const ATTRIBUTES: &str = "x-amz-optional-object-attributes";
    let Some(sent) = header(headers, ATTRIBUTES) else { return Ok(false) };
    match sent.split(',').map(str::trim).find(|it| !it.is_empty() && *it != "RestoreStatus") {
        None => Ok(sent.split(',').any(|it| it.trim() == "RestoreStatus")),
        Some(other) => Err(s3_error!(
            Details::argument(ATTRIBUTES, other),
            InvalidArgument,
            "Invalid attribute name specified."
        )),
    }
}

/// The time and the length of a day, by which lists tell the state of restores.
#[derive(Clone, Copy)]
pub(super) struct Now {
    now_ms: u64,
    day_ms: u64,
}

impl Now {
    pub(super) fn of(app: &App) -> Now {
        let (now_ms, day_ms) = app.ask(|store| (store.now_ms(), Store::lifecycle_day_ms(store)));
        Now { now_ms, day_ms }
    }
}

impl XmlWriter {
    /// Writes `RestoreStatus` for a version that is being restored, or is.
    pub(super) fn restore_status(&mut self, restore: Option<&Restore>, now: Now) {
        let Some(state) = restore.and_then(|it| it.state(now.now_ms, now.day_ms)) else { return };
        self.open("RestoreStatus");
        self.value("IsRestoreInProgress", state == RestoreState::Ongoing);
        if let RestoreState::Restored { expires_ms } = state {
            self.date("RestoreExpiryDate", expires_ms);
        }
        self.close("RestoreStatus");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restore(inside: &str) -> Result<RestoreRequest, String> {
        let document = format!("<RestoreRequest>{inside}</RestoreRequest>");
        let code = |error: s3s::S3Error| error.code().as_str().to_owned();
        let sent = parse(document.as_bytes()).map_err(code)?;
        sent.refuse_select().map_err(code)?;
        sent.restore().map_err(code)
    }

    #[test]
    fn a_request_has_days_and_a_tier() {
        let tier = |tier: &str| {
            format!(
                "<Days>2</Days><GlacierJobParameters><Tier>{tier}</Tier></GlacierJobParameters>"
            )
        };
        for (inside, expected) in [
            ("<Days>2</Days>".to_owned(), RetrievalTier::Standard),
            (tier("Standard"), RetrievalTier::Standard),
            (tier("Bulk"), RetrievalTier::Bulk),
            (tier("Expedited"), RetrievalTier::Expedited),
            (
                "<Days>2</Days><Tier>Bulk</Tier><Description>why</Description>".to_owned(),
                RetrievalTier::Bulk,
            ),
        ] {
            assert_eq!(
                restore(&inside),
                Ok(RestoreRequest { days: 2, tier: expected }),
                "{inside}"
            );
        }
    }

    #[test]
    fn other_requests_are_refused_by_name() {
        for (inside, code) in [
            ("", "MalformedXML"),
            ("<Days>soon</Days>", "MalformedXML"),
            ("<Days>1</Days><Days>1</Days>", "MalformedXML"),
            ("<Days>1</Days><Tier>Fast</Tier>", "MalformedXML"),
            ("<Days>1</Days><Other/>", "MalformedXML"),
            ("<Days>1</Days><Type>OTHER</Type>", "MalformedXML"),
            ("<Days>0</Days>", "InvalidArgument"),
            ("<Days>-1</Days>", "InvalidArgument"),
            ("<Days>36501</Days>", "InvalidArgument"),
            ("<Days>99999999999</Days>", "InvalidArgument"),
            ("<Type>SELECT</Type><Days>1</Days>", "NotImplemented"),
            ("<SelectParameters><Expression>x</Expression></SelectParameters>", "NotImplemented"),
            ("<Days>1</Days><OutputLocation><S3/></OutputLocation>", "NotImplemented"),
        ] {
            assert_eq!(restore(inside), Err(code.to_owned()), "{inside}");
        }
    }

    #[test]
    fn the_status_of_restores_is_listed_on_request() {
        for (sent, expected) in [
            ("RestoreStatus", Some(true)),
            (" RestoreStatus ,", Some(true)),
            ("", Some(false)),
            ("Other", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("x-amz-optional-object-attributes", sent.parse().expect("text"));
            assert_eq!(are_listed(&headers).ok(), expected, "{sent:?}");
        }
        assert!(!are_listed(&HeaderMap::new()).expect("none"));
    }
}
