//! [`Found`]: the findings of the inner layers about a request.

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use liteio_disk::{Clock as _, SystemClock};

use super::locale::{Locale, timestamp};
use crate::record::RequestRecord;

/// The account whose policies the reason of a refusal names. Another account must not learn it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenialBy {
    /// The account of the sender.
    Sender,
    /// The owner of the bucket.
    Owner,
    /// The reason names none.
    Nobody,
}

/// The user, the operation and other findings of a request, noted by the layers that determine
/// them.
#[derive(Debug, Default)]
pub struct Found {
    /// The name of the user, and the canonical id of its account.
    user: OnceLock<(String, String)>,
    /// The canonical id of the owner of the bucket.
    owner: OnceLock<String>,
    is_health: OnceLock<()>,
    is_routine: OnceLock<()>,
    /// The access key, and `true` if it belongs to a session.
    key: OnceLock<(String, bool)>,
    operation: OnceLock<&'static str>,
    /// The names of a vector bucket and, unless it is about the bucket alone, of an index.
    vectors: OnceLock<(String, Option<String>)>,
    denial: OnceLock<(DenialBy, String)>,
    has_cors: OnceLock<()>,
    /// The reason why the page that sent the request must not read the answer.
    cors_refusal: OnceLock<String>,
    locale: OnceLock<Arc<Locale>>,
    is_acl_required: OnceLock<()>,
    record: OnceLock<Box<dyn RequestRecord>>,
    /// The record of a copy about its source.
    source_record: OnceLock<Box<dyn RequestRecord>>,
}

impl Found {
    /// Notes the user whose signature was verified, and the canonical id of its account. The first counts.
    pub fn note_user(&self, name: &str, account: &str) {
        self.user.get_or_init(|| (name.to_owned(), account.to_owned()));
    }

    /// The canonical id of the account of the user, if there is one.
    pub fn account(&self) -> Option<&str> {
        self.user.get().map(|(_, account)| account.as_str())
    }

    /// Notes the canonical id of the owner of the requested bucket, once its name is resolved. The
    /// first call counts.
    pub fn note_owner(&self, canonical_id: &str) {
        self.owner.get_or_init(|| canonical_id.to_owned());
    }

    /// The canonical id of the owner of the bucket, if the request has reached one.
    pub fn owner(&self) -> Option<&str> {
        self.owner.get().map(String::as_str)
    }

    /// Notes that the request is answered as a health check.
    pub fn note_health(&self) {
        self.is_health.get_or_init(|| ());
    }

    /// `true` if the request was answered as a health check.
    pub fn is_health(&self) -> bool {
        self.is_health.get().is_some()
    }

    /// Notes that programs repeat the request by themselves: a scrape of metrics, or a call of the test API.
    pub fn note_routine(&self) {
        self.is_routine.get_or_init(|| ());
    }

    /// `true` for a health check, for a scrape of metrics, which machines repeat day and night, and for a call of the test API.
    pub fn is_routine(&self) -> bool {
        self.is_health() || self.is_routine.get().is_some()
    }

    /// Notes the access key whose signature was verified, and whether it belongs to a session. The
    /// first call counts.
    pub fn note_key(&self, id: &str, is_of_session: bool) {
        self.key.get_or_init(|| (id.to_owned(), is_of_session));
    }

    /// The access key, if any, and `true` if it belongs to a session.
    pub fn key(&self) -> Option<(&str, bool)> {
        self.key.get().map(|(id, is_of_session)| (&**id, *is_of_session))
    }

    /// Notes the operation. The first counts.
    pub fn note_operation(&self, name: &'static str) {
        self.operation.get_or_init(|| name);
    }

    /// Notes the vector bucket, and the index, that the body of a request of S3 Vectors names: an empty bucket if it names none,
    /// or was not read. The first call counts.
    pub fn note_vectors(&self, bucket: &str, index: Option<&str>) {
        self.vectors.get_or_init(|| (bucket.to_owned(), index.map(str::to_owned)));
    }

    /// The vector bucket, and the index, of the request.
    pub fn vectors(&self) -> Option<(&str, Option<&str>)> {
        self.vectors.get().map(|(bucket, index)| (&**bucket, index.as_deref()))
    }

    /// Notes the reason why the request was refused, and whose documents it names. The first counts.
    pub fn note_denial(&self, by: DenialBy, reason: impl FnOnce() -> String) {
        self.denial.get_or_init(|| (by, reason()));
    }

    /// The reason why the request was refused, if it was and the reason is more than its code.
    pub fn denial(&self) -> Option<&str> {
        self.denial.get().map(|(_, reason)| reason.as_str())
    }

    /// The account whose documents the reason names.
    pub fn denial_by(&self) -> Option<DenialBy> {
        self.denial.get().map(|(by, _)| *by)
    }

    /// Notes that the bucket has CORS rules.
    pub fn note_cors(&self) {
        self.has_cors.get_or_init(|| ());
    }

    /// `true` if the bucket has CORS rules, once the request has reached it.
    pub fn has_cors(&self) -> bool {
        self.has_cors.get().is_some()
    }

    /// Notes the reason why no CORS rule lets the page read the answer. The first counts.
    pub fn note_cors_refusal(&self, reason: impl FnOnce() -> String) {
        self.cors_refusal.get_or_init(reason);
    }

    /// The reason why the page must not read the answer, if it is of another origin.
    pub fn cors_refusal(&self) -> Option<&str> {
        self.cors_refusal.get().map(String::as_str)
    }

    /// Notes that only an ACL allows the request.
    pub fn note_acl_required(&self) {
        self.is_acl_required.get_or_init(|| ());
    }

    /// `true` if only an ACL allows the request.
    pub fn is_acl_required(&self) -> bool {
        self.is_acl_required.get().is_some()
    }

    /// Notes the record to be told of the end of the request, made by `begin`. The first counts.
    pub fn note_record(&self, begin: impl FnOnce() -> Box<dyn RequestRecord>) {
        self.record.get_or_init(begin);
    }

    /// Notes the record of a copy that is about its source, likewise.
    pub fn note_source_record(&self, begin: impl FnOnce() -> Box<dyn RequestRecord>) {
        self.source_record.get_or_init(begin);
    }

    /// The records that the request leaves; most requests leave none.
    pub fn records(&self) -> impl Iterator<Item = &dyn RequestRecord> {
        let records = [self.record.get(), self.source_record.get()];
        records.into_iter().flatten().map(|record| &**record)
    }

    /// Notes region and clock of the services that answer.
    pub fn note_locale(&self, locale: &Arc<Locale>) {
        self.locale.get_or_init(|| Arc::clone(locale));
    }

    /// The space of the services that answer, once the request has reached them.
    pub fn locale(&self) -> Option<&Locale> {
        self.locale.get().map(|locale| &**locale)
    }

    /// The region of the services that answer, once the request has reached them.
    pub fn region(&self) -> Option<&str> {
        self.locale.get().map(|locale| &*locale.region)
    }

    /// The time by the clock of the services that answer; by the system clock before the request
    /// has reached them.
    pub fn now(&self) -> Timestamp {
        let now_ms = self.locale.get().map_or_else(|| SystemClock.now_ms(), |it| it.clock.now_ms());
        timestamp(now_ms)
    }

    /// The user's name, if there is one.
    pub fn user(&self) -> Option<&str> {
        self.user.get().map(|(name, _)| name.as_str())
    }

    /// The operation's name, if it is known.
    pub fn operation(&self) -> Option<&'static str> {
        self.operation.get().copied()
    }
}
