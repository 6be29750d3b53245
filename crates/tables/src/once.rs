//! `Idempotency-Key`: a request that is sent again, because its answer was lost, is not executed again.
//!
//! ```text
//! request ──► authorized ──► answered before? ── no ──► the change and its answer, in one transaction
//!                                   └── yes ──► the same answer; the same key with another request: 422
//! ```
//!
//! Source: `Idempotency-Key` in the specification of the REST catalog. Final are successes, and refusals that another attempt
//! meets again: not 401, 403, 429 and 5xx, and not a commit that others forestalled or a full bucket. Answers with metadata are kept as the location of their file, which never
//! changes. Permission is decided for each request, also for one that was answered before.

use std::cell::RefCell;
use std::sync::Arc;

use liteio_access::{Granted, Principal};
use liteio_iceberg::{Identifier, Namespace};
use liteio_store::tables::{CatalogError, KeyedAnswer};
use liteio_store::{ChecksumAlgorithm, ChecksumSet, Store};
use serde_json::{Value, json};

use super::error::{ApiResult, Exception};
use super::kept::KeptAnswers;
use super::limits::ANSWER_BYTES_MAX;
use super::metadata::uuid_of;
use super::{Call, Sent};

/// The header with the key.
const KEY: &str = "idempotency-key";

/// Operations that take a key: those that change something.
const CHANGES: [&str; 14] = [
    "CreateNamespace",
    "DropNamespace",
    "UpdateNamespaceProperties",
    "CreateTable",
    "RegisterTable",
    "CommitTable",
    "DropTable",
    "RenameTable",
    "CommitTransaction",
    "CreateView",
    "RegisterView",
    "ReplaceView",
    "DropView",
    "RenameView",
];

/// A request with a key.
pub(crate) struct Once {
    pub(super) key: [u8; 16],
    /// The operation, its sender, and a hash of the rest.
    pub(super) request: String,
    /// The canonical id of the sender's account.
    account: String,
    /// The permission, once it is decided.
    granted: RefCell<Option<Granted>>,
}

impl Once {
    /// The key of a request for an operation that changes something.
    ///
    /// # Errors
    /// A key that is no UUID of version 7.
    pub(crate) fn of(sent: &Sent, operation: &str, body: &[u8]) -> ApiResult<Option<Once>> {
        let Some(value) = sent.headers.get(KEY).filter(|_| CHANGES.contains(&operation)) else {
            return Ok(None);
        };
        let key = value.to_str().ok().filter(|text| is_key(text)).map(uuid_of).ok_or_else(|| {
            Exception::bad_request(
                "Idempotency-Key must be a UUID of version 7, such as 017f22e2-79b0-7cc3-98c4-dc0c0c07398f.",
            )
        })?;
        let (sender, account) = match &sent.principal {
            Principal::User(user) => (user.caller.arn.as_str(), user.canonical_id()),
            Principal::Anonymous => ("", ""),
        };
        let request = format!("{operation} {} {sender}", digest(sent, body));
        let account = account.to_owned();
        Ok(Some(Once { key, request, account, granted: RefCell::default() }))
    }

    /// Notes the permission. Where the request was answered before, or its answer could not be kept, the operation ends
    /// here.
    pub(crate) fn note(
        &self,
        store: &Store,
        kept: &KeptAnswers,
        granted: &Granted,
    ) -> ApiResult<()> {
        if self.granted.borrow().is_some() {
            return Ok(());
        }
        self.granted.replace(Some(granted.clone()));
        match store.answer_of(self.key)? {
            None => kept.admit(store, &self.account),
            Some(_) => Err(CatalogError::Answered.into()),
        }
    }

    /// Takes the permission, without which no answer is given again or kept.
    pub(super) fn take_permission(&self) -> Option<Granted> {
        self.granted.take()
    }

    /// The answer of this outcome.
    ///
    /// # Errors
    /// An answer that is too long.
    pub(super) fn answer(&self, outcome: &Value) -> ApiResult<KeyedAnswer> {
        let answer = outcome.to_string().into_bytes();
        if answer.len() > ANSWER_BYTES_MAX {
            return Err(Exception::bad_request(format!(
                "The answer to a request with an Idempotency-Key has {ANSWER_BYTES_MAX} bytes at most. Send fewer \
                 names at once, or no key."
            )));
        }
        let (request, account) = (self.request.clone(), self.account.clone());
        Ok(KeyedAnswer { key: self.key, account, request, answer })
    }
}

/// The SHA-256 of path, query and body, in hexadecimal: the same in all servers of a cluster, of whatever version.
fn digest(sent: &Sent, body: &[u8]) -> String {
    let mut hash = ChecksumSet::new(&[ChecksumAlgorithm::Sha256]);
    let pairs = sent.query.iter().flat_map(|(name, value)| [name, value]);
    for text in [&sent.path].into_iter().chain(pairs) {
        hash.update(text.as_bytes());
        hash.update(&[0]);
    }
    hash.update(&[0]);
    hash.update(body);
    let values = hash.finish();
    let bytes = values.iter().flat_map(|value| value.bytes());
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// `true` for a UUID of version 7.
fn is_key(text: &str) -> bool {
    let is_part = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        14 => byte == b'7',
        19 => matches!(byte, b'8' | b'9' | b'a' | b'b' | b'A' | b'B'),
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_part)
}

/// The outcome of a request whose answer is empty.
pub(crate) fn empty() -> Value {
    json!({})
}

/// The outcome of the creation of a namespace.
pub(crate) fn of_namespace(namespace: &Namespace) -> Value {
    json!({ "namespace": namespace.to_value() })
}

/// The outcome of a request whose answer is this document.
pub(crate) fn of_document(document: &Value) -> Value {
    json!({ "document": document })
}

/// The outcome of a request whose answer has the metadata at a location.
pub(crate) fn of_metadata(name: &Identifier, location: &str) -> Value {
    json!({ "namespace": name.namespace().to_value(), "name": name.name(), "location": location })
}

impl Call<'_> {
    /// A handle for the change that a request is about, with which its answer is written.
    pub(crate) fn writer(&self, outcome: impl FnOnce() -> Value) -> ApiResult<Store> {
        match &self.once {
            None => Ok(self.store.clone()),
            Some(once) => {
                let answer = once.answer(&outcome())?;
                Ok(self.store.answering(Arc::new(answer)))
            }
        }
    }

    /// Keeps the outcome of a request that has changed nothing.
    pub(crate) fn unchanged(&self, outcome: impl FnOnce() -> Value) -> ApiResult<()> {
        match &self.once {
            Some(once) => Ok(self.store.note_answer(once.answer(&outcome())?).wait()?),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_uuid_of_version_7() {
        for key in ["017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F"]
        {
            assert!(is_key(key), "{key}");
        }
        for key in [
            "",
            "017f22e2-79b0-4cc3-98c4-dc0c0c07398f",
            "017f22e2-79b0-7cc3-c8c4-dc0c0c07398f",
            "017f22e279b07cc398c4dc0c0c07398f",
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
            "{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}",
        ] {
            assert!(!is_key(key), "{key}");
        }
    }
}
