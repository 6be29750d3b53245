//! [`SignedAs`]: the kind of a request's signature, for policy conditions.

use super::service::Service;
use super::sigv4::Place;

/// The kind of a request's signature.
#[derive(Clone, Debug)]
pub struct SignedAs {
    pub(super) place: Place,
    pub(super) version: Version,
    /// The service that the signature is for. Without a check of signatures, it may be none.
    pub(super) service: Option<Service>,
    /// The time since a presigned request was signed, in milliseconds.
    pub age_ms: Option<u64>,
    /// The declared hash of the body, or the keyword in its place.
    pub content_sha256: Option<Box<str>>,
    /// The signature covers every parameter of the query.
    pub(super) covers_query: bool,
}

/// The version of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Two,
    Four,
}

impl SignedAs {
    /// A Version 2 signature.
    pub(super) fn version_2(place: Place) -> SignedAs {
        SignedAs {
            place,
            version: Version::Two,
            service: Some(Service::S3),
            age_ms: None,
            content_sha256: None,
            covers_query: false,
        }
    }

    /// A Version 4 signature in a form.
    pub(super) fn form() -> SignedAs {
        let place = Place::Form;
        SignedAs {
            place,
            version: Version::Four,
            service: Some(Service::S3),
            age_ms: None,
            content_sha256: None,
            covers_query: false,
        }
    }

    /// The service that the request was signed for. Version 2 and forms are for S3 only.
    pub fn service(&self) -> Option<Service> {
        self.service
    }

    /// `true` if the signature covers every parameter of the query, as those of Version 4 do. Without a check of
    /// signatures, it says what the sender claims.
    pub fn covers_query(&self) -> bool {
        self.covers_query
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
