//! The way in which a request was signed, for the conditions of policies.

use super::sigv4::Place;

/// The way in which a request was signed.
#[derive(Clone, Debug)]
pub struct SignedAs {
    pub(super) place: Place,
    pub(super) version: Version,
    /// The time since a presigned request was signed, in milliseconds.
    pub age_ms: Option<u64>,
    /// The hash of the body, or the words in its place, as the request tells it.
    pub content_sha256: Option<Box<str>>,
}

/// The version of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Two,
    Four,
}

impl SignedAs {
    /// Signed with Version 2.
    pub(super) fn version_2(place: Place) -> SignedAs {
        SignedAs { place, version: Version::Two, age_ms: None, content_sha256: None }
    }

    /// Signed with Version 4 in a form.
    pub(super) fn form() -> SignedAs {
        let place = Place::Form;
        SignedAs { place, version: Version::Four, age_ms: None, content_sha256: None }
    }

    /// The value of `s3:authType`.
    pub fn auth_type(&self) -> &'static str {
        match self.place {
            Place::Header => "REST-HEADER",
            Place::Query => "REST-QUERY-STRING",
            Place::Form => "POST",
        }
    }

    /// The value of `s3:signatureversion`.
    pub fn version(&self) -> &'static str {
        match self.version {
            Version::Two => "AWS",
            Version::Four => "AWS4-HMAC-SHA256",
        }
    }
}
