//! The `x-amz-…` headers of requests: which this server acts on, which it can ignore, and which it refuses.
//!
//! A client that sends a lock, a hold, an encryption or a condition relies on it. Ignoring a name that this version
//! does not know would promise an effect that does not happen, so such a name is refused with 501. Other unknown names
//! are ignored: proxies and SDKs add their own.

use http::{HeaderMap, HeaderName, HeaderValue};
use s3s::{S3Error, S3Result, s3_error};

use super::details::Details;
use super::{error, replica};

/// The meaning of a header for the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// An operation or the authentication acts on it.
    Handled,
    /// It may be ignored, for this reason.
    Harmless(&'static str),
}

use Meaning::{Handled, Harmless};

/// The meaning of a header, by its name in lower case; `None` for a name that is not known here.
///
/// The frequent ones come first.
fn meaning(name: &str) -> Option<Meaning> {
    Some(match name {
        "x-amz-date" | "x-amz-content-sha256" | "x-amz-security-token" => Handled,
        "x-amz-decoded-content-length" | "x-amz-trailer" | "x-amz-sdk-checksum-algorithm" => {
            Handled
        }
        "x-amz-user-agent" => Harmless("the name of the client"),
        "x-amz-checksum-algorithm" | "x-amz-checksum-mode" | "x-amz-checksum-type" => Handled,
        // An unknown algorithm is refused where the checksum is read.
        name if name.starts_with("x-amz-checksum-") => Handled,
        "x-amz-acl"
        | "x-amz-grant-full-control"
        | "x-amz-grant-read"
        | "x-amz-grant-read-acp"
        | "x-amz-grant-write"
        | "x-amz-grant-write-acp" => Handled,
        "x-amz-server-side-encryption"
        | "x-amz-server-side-encryption-aws-kms-key-id"
        | "x-amz-server-side-encryption-bucket-key-enabled"
        | "x-amz-server-side-encryption-context"
        | "x-amz-server-side-encryption-customer-algorithm"
        | "x-amz-server-side-encryption-customer-key"
        | "x-amz-server-side-encryption-customer-key-md5" => Handled,
        "x-amz-copy-source"
        | "x-amz-copy-source-if-match"
        | "x-amz-copy-source-if-modified-since"
        | "x-amz-copy-source-if-none-match"
        | "x-amz-copy-source-if-unmodified-since"
        | "x-amz-copy-source-range"
        | "x-amz-copy-source-server-side-encryption-customer-algorithm"
        | "x-amz-copy-source-server-side-encryption-customer-key"
        | "x-amz-copy-source-server-side-encryption-customer-key-md5" => Handled,
        "x-amz-rename-source"
        | "x-amz-rename-source-if-match"
        | "x-amz-rename-source-if-modified-since"
        | "x-amz-rename-source-if-none-match"
        | "x-amz-rename-source-if-unmodified-since" => Handled,
        "x-amz-if-match-initiated-time"
        | "x-amz-if-match-last-modified-time"
        | "x-amz-if-match-size" => Handled,
        "x-amz-object-lock-event-hold"
        | "x-amz-object-lock-event-hold-duration-days"
        | "x-amz-object-lock-event-hold-duration-years"
        | "x-amz-object-lock-legal-hold"
        | "x-amz-object-lock-mode"
        | "x-amz-object-lock-retain-until-date"
        | "x-amz-bucket-object-lock-enabled"
        | "x-amz-bypass-governance-retention" => Handled,
        "x-amz-expected-bucket-owner" | "x-amz-source-expected-bucket-owner" => Handled,
        "x-amz-bucket-namespace"
        | "x-amz-client-token"
        | "x-amz-create-session-mode"
        | "x-amz-max-parts"
        | "x-amz-metadata-directive"
        | "x-amz-mp-object-size"
        | "x-amz-object-annotation-directive"
        | "x-amz-object-attributes"
        | "x-amz-object-if-match"
        | "x-amz-object-ownership"
        | "x-amz-optional-object-attributes"
        | "x-amz-part-number-marker"
        | "x-amz-storage-class"
        | "x-amz-tagging"
        | "x-amz-tagging-directive"
        | "x-amz-transition-default-minimum-object-size"
        | "x-amz-website-redirect-location"
        | "x-amz-write-offset-bytes" => Handled,
        "x-amz-bucket-object-lock-token" => {
            Harmless("object lock is enabled here without the consent of a support team")
        }
        "x-amz-confirm-remove-self-bucket-access" => {
            Harmless("no policy locks the root user out of its own bucket's policy")
        }
        "x-amz-mfa" => Harmless("MFA delete cannot be enabled, so no request needs a device"),
        "x-amz-request-payer" => Harmless("nobody pays"),
        "x-amz-skip-destination-validation" => {
            Harmless("destinations are validated all the same, and a wrong one is an error")
        }
        _ => return None,
    })
}

/// `true` for an `x-amz-…` header on which an operation or the authentication acts.
pub(super) fn is_handled(name: &HeaderName) -> bool {
    meaning(name.as_str()) == Some(Handled)
}

/// Words of a name that promise a lock, a hold, an encryption or a condition.
const PROMISES: [&str; 24] = [
    "cipher",
    "condition",
    "conditional",
    "conditions",
    "encrypt",
    "encrypted",
    "encryption",
    "expected",
    "hold",
    "if",
    "immutable",
    "kms",
    "legal",
    "lock",
    "locked",
    "match",
    "namespace",
    "precondition",
    "retain",
    "retention",
    "sse",
    "unless",
    "until",
    "worm",
];

/// Headers with a number. s3s reads the digits at the beginning of any text, so that `5x` would be 5.
const NUMBERS: [&str; 4] = [
    "x-amz-if-match-size",
    "x-amz-max-parts",
    "x-amz-part-number-marker",
    "x-amz-write-offset-bytes",
];

/// The beginning of the names of MinIO's own headers.
const OF_MINIO: &str = "x-minio-";

/// Reads members of a zip archive. Ignoring it would give the archive for its member.
const EXTRACT: &str = "x-minio-extract";

/// The beginning of headers with which one MinIO server gives another its versions, with their ids, times and delete
/// markers. Ignoring them would make other versions, and delete where a marker is meant.
const OF_A_REPLICA: &str = "x-minio-source-";

/// The source of a copy, without which there is none.
pub(super) const COPY_SOURCE: &str = "x-amz-copy-source";

/// Refuses headers whose promise this server cannot keep, numbers that are none, and the source of
/// a copy if the operation does not copy.
///
/// # Errors
/// `NotImplemented`, with the name; `InvalidArgument`.
pub(super) fn check(headers: &HeaderMap, copies: bool, operation: &str) -> S3Result<()> {
    headers.iter().try_for_each(|(name, value)| match refusal(name) {
        Some(refused) => Err(refused),
        // Ignored, it would be a copy that did not happen. (AWS answers so for all methods but PUT:
        // versitygw's pull request 1642.)
        None if !copies && name.as_str() == COPY_SOURCE => Err(no_copy(value)),
        None if NUMBERS.contains(&name.as_str()) => check_number(name, value),
        // A request of another LiteIO for replication: the operation acts on all of these headers.
        None if name.as_str().starts_with(OF_A_REPLICA)
            && replica::is_asked(headers)
            && replica::knows(name.as_str())
            && replica::action(operation).is_some() =>
        {
            Ok(())
        }
        None if name.as_str().starts_with(OF_MINIO) => check_of_minio(name.as_str(), value),
        None => Ok(()),
    })
}

/// The error for the source of a copy in a request that is none.
pub(super) fn no_copy(source: &HeaderValue) -> S3Error {
    s3_error!(
        Details::argument(COPY_SOURCE, &String::from_utf8_lossy(source.as_bytes())),
        InvalidArgument,
        "You can only specify a copy source header for copy requests."
    )
}

/// Refuses the headers of MinIO that change what a request means. `force_delete` and `snowball` handle others; the rest
/// is harmless.
fn check_of_minio(name: &str, value: &HeaderValue) -> S3Result<()> {
    match name {
        EXTRACT if value.as_bytes().eq_ignore_ascii_case(b"true") => Err(s3_error!(
            NotImplemented,
            "Reading members of archives ({EXTRACT}: true) is not implemented by LiteIO. Read the \
             whole archive."
        )),
        name if name.starts_with(OF_A_REPLICA) => Err(error::header_not_implemented(
            name,
            "LiteIO is a target of the replication of LiteIO only: MinIO's version ids have no order. Copy with `liteio \
             client mirror` or `mc mirror`. Nothing was done.",
        )),
        _ => Ok(()),
    }
}

fn check_number(name: &HeaderName, value: &HeaderValue) -> S3Result<()> {
    let text = String::from_utf8_lossy(value.as_bytes());
    match text.is_empty() || text.parse::<i64>().is_ok() {
        true => Ok(()),
        false => Err(s3_error!(
            Details::argument(name, &text),
            InvalidArgument,
            "The {name} header must be a whole number."
        )),
    }
}

fn refusal(name: &HeaderName) -> Option<S3Error> {
    let text = name.as_str();
    let rest = text.strip_prefix("x-amz-").filter(|rest| !rest.starts_with("meta-"))?;
    let is_refused =
        meaning(text).is_none() && rest.split('-').any(|word| PROMISES.contains(&word));
    let advice = "Leave it out, if its effect is not needed. Nothing was done.";
    is_refused.then(|| error::header_not_implemented(text, advice))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// True for a header with a decision: it is handled or harmless.
    pub(in super::super) fn is_decided(name: &str) -> bool {
        match name {
            // Headers of HTTP that operations of S3 read.
            "cache-control"
            | "content-disposition"
            | "content-encoding"
            | "content-language"
            | "content-length"
            | "content-md5"
            | "content-type"
            | "expires"
            | "if-match"
            | "if-modified-since"
            | "if-none-match"
            | "if-unmodified-since"
            | "range"
            | "x-amz-meta-" => true,
            name => meaning(name).is_some(),
        }
    }

    #[test]
    fn promises_that_cannot_be_kept_are_refused_by_name() {
        for name in [
            "x-amz-object-lock-something-new",
            "x-amz-legal-hold",
            "x-amz-retention-mode",
            "x-amz-bucket-lock",
            "x-amz-server-side-encryption-algorithm",
            "x-amz-copy-source-server-side-encryption",
            "x-amz-sse-kms-key",
            "x-amz-if-match",
            "x-amz-if-none-match-version",
            "x-amz-object-if-match-size",
            "x-amz-copy-source-if-match-size",
            "x-amz-expected-version",
            "x-amz-object-namespace",
        ] {
            let refused = refusal(&HeaderName::from_static(name)).expect(name);
            assert_eq!(refused.code().as_str(), "NotImplemented", "{name}");
            assert!(refused.message().is_some_and(|message| message.contains(name)), "{name}");
        }
    }

    #[test]
    fn headers_of_minio_that_change_the_meaning_are_refused() {
        for (name, value, is_refused) in [
            ("x-minio-extract", "true", true),
            ("x-minio-extract", "TRUE", true),
            ("x-minio-extract", "false", false),
            ("x-minio-source-mtime", "2026-01-01T00:00:00Z", true),
            ("x-minio-source-etag", "a", true),
            ("x-minio-source-deletemarker", "true", true),
            ("x-minio-source-replication-request", "true", true),
            ("x-minio-force-create", "true", false),
            ("x-minio-force-delete", "true", false),
            ("x-minio-new", "true", false),
        ] {
            let value = HeaderValue::from_static(value);
            let headers = HeaderMap::from_iter([(HeaderName::from_static(name), value)]);
            let refused = check(&headers, false, "PutObject").err();
            let code = refused.as_ref().map(|refused| refused.code().as_str());
            assert_eq!(code, is_refused.then_some("NotImplemented"), "{name}");
            let message = refused.as_ref().and_then(|refused| refused.message());
            assert!(message.is_none_or(|message| message.contains(name)), "{name}");
        }
    }

    #[test]
    fn numbers_are_numbers_as_a_whole() {
        for name in NUMBERS {
            for (text, is_number) in
                [("", true), ("5", true), ("-1", true), ("5x", false), ("5.0", false), ("x", false)]
            {
                let headers = HeaderMap::from_iter([(
                    HeaderName::from_static(name),
                    HeaderValue::from_static(text),
                )]);
                assert_eq!(
                    check(&headers, false, "PutObject").is_ok(),
                    is_number,
                    "{name}: {text}"
                );
            }
        }
    }

    #[test]
    fn only_copies_have_a_source() {
        let name = HeaderName::from_static(COPY_SOURCE);
        let headers = HeaderMap::from_iter([(name, HeaderValue::from_static("a/b"))]);
        assert!(check(&headers, true, "CopyObject").is_ok());
        let refused = check(&headers, false, "PutObject").expect_err("no copy");
        assert_eq!(refused.code().as_str(), "InvalidArgument");
    }

    #[test]
    fn clients_and_proxies_may_add_their_own() {
        for name in [
            "x-amz-meta-object-lock-event-hold",
            "x-amz-meta-if",
            "x-amz-date",
            "x-amz-user-agent",
            "x-amz-cf-id",
            "x-amz-te",
            "x-amz-id-2",
            "x-amz-request-id",
            "x-amz-replication-status",
            "x-amz-restore",
            "x-amz-fwd-header-x-amz-version-id",
            "amz-sdk-invocation-id",
            "amz-sdk-request",
            "x-amzn-trace-id",
            "x-forwarded-for",
            "if-match",
        ] {
            assert!(refusal(&HeaderName::from_static(name)).is_none(), "{name}");
        }
    }
}
