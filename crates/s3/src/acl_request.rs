//! The ACL in a request: canned, in `x-amz-grant-*` headers, or in a document.

use http::{Extensions, HeaderMap, HeaderName, StatusCode};
use s3s::dto::{AccessControlPolicy, Grant as GrantDto};
use s3s::xml::{Deserialize as _, Deserializer};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

use super::details::Details;
use super::error;
use liteio_access::state::App;
use liteio_policy::acl::{
    Acl, CannedAcl, Grant, Grantee, Group, NamedGrantee, Party, Permission, parse_grants,
};

/// The requested ACL. Grantees are not resolved to accounts yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AskedAcl {
    Canned(CannedAcl),
    Grants(Vec<NamedGrant>),
    Document(AclDocument),
}

/// A grant with its grantee as the client named it.
pub(super) type NamedGrant = (NamedGrantee, Permission);

/// The document of PutBucketAcl and PutObjectAcl.
///
/// Parsed here and not by s3s, because AWS answers a malformed ACL with `MalformedACLError`, not
/// `MalformedXML`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AclDocument {
    /// Canonical ID of the owner.
    pub(super) owner_id: String,
    pub(super) grants: Vec<NamedGrant>,
}

const CANNED: &str = "x-amz-acl";
const GRANT: &str = "x-amz-grant-";

/// The names of the headers with grants.
fn grant_headers(headers: &HeaderMap) -> impl Iterator<Item = &HeaderName> {
    headers.keys().filter(|name| name.as_str().starts_with(GRANT))
}

impl AskedAcl {
    /// The ACL in the headers of a request.
    pub(super) fn of_headers(headers: &HeaderMap) -> S3Result<Option<AskedAcl>> {
        let mut grants = Vec::new();
        // Two lists contradict each other, whether or not each is right.
        if headers.contains_key(CANNED) && grant_headers(headers).next().is_some() {
            return Err(s3_error!(
                InvalidRequest,
                "Specifying both Canned ACLs and Header Grants is not allowed"
            ));
        }
        for name in grant_headers(headers) {
            let permission = Permission::ALL.into_iter().find(|it| it.header() == name.as_str());
            let values = headers.get_all(name).iter();
            let permission = permission.ok_or_else(|| not_recognized(name, b""))?;
            for value in values {
                let refused = || not_recognized(name, value.as_bytes());
                let grantees = value.to_str().ok().and_then(|value| parse_grants(value).ok());
                let grantees = grantees.ok_or_else(refused)?;
                grants.extend(grantees.into_iter().map(|grantee| (grantee, permission)));
            }
        }
        grants.sort_by_key(|(_, permission)| {
            Permission::ALL.into_iter().position(|it| it == *permission)
        });
        let mut canned = headers.get_all(CANNED).iter();
        match (canned.next(), canned.next()) {
            (None, _) => Ok((!grants.is_empty()).then_some(AskedAcl::Grants(grants))),
            (Some(sent), None) => {
                let canned = sent.to_str().ok().and_then(CannedAcl::of_name);
                let canned = canned.map(|canned| Some(AskedAcl::Canned(canned)));
                canned.ok_or_else(|| no_canned_acl(&String::from_utf8_lossy(sent.as_bytes())))
            }
            (Some(_), Some(second)) => {
                Err(no_canned_acl(&String::from_utf8_lossy(second.as_bytes())))
            }
        }
    }

    /// The ACL of a PutBucketAcl or PutObjectAcl, from its headers or its document.
    pub(super) fn of_put(headers: &HeaderMap, extensions: &mut Extensions) -> S3Result<AskedAcl> {
        let document = extensions.remove::<AclDocument>();
        let in_headers = headers.contains_key(CANNED) || grant_headers(headers).next().is_some();
        match (in_headers, document) {
            (true, Some(_)) => Err(error::custom(
                "UnexpectedContent",
                StatusCode::BAD_REQUEST,
                "This request does not support content: send the ACL in headers or in a document, not \
                 both.",
            )),
            (false, Some(document)) => Ok(AskedAcl::Document(document)),
            (_, None) => AskedAcl::of_headers(headers)?.ok_or_else(|| {
                let error = error::custom(
                    "MissingSecurityHeader",
                    StatusCode::BAD_REQUEST,
                    "Your request was missing a required header: send x-amz-acl, x-amz-grant-* or a \
                     document.",
                );
                Details::add(error, "MissingHeaderName", CANNED)
            }),
        }
    }

    /// The ACL of a bucket.
    pub(super) fn of_bucket(&self, app: &App, owner: Party<'_>) -> S3Result<Acl> {
        match self {
            AskedAcl::Canned(canned) => Ok(canned.of_bucket(owner)),
            AskedAcl::Grants(grants) => resolve(app, grants, &IN_HEADERS),
            AskedAcl::Document(document) => document.resolve(app, owner),
        }
    }

    /// The ACL of an object.
    pub(super) fn of_object(
        &self,
        app: &App,
        owner: Party<'_>,
        bucket_owner: Party<'_>,
    ) -> S3Result<Acl> {
        match self {
            // Log files are delivered to buckets; the canned ACL does not exist for objects.
            AskedAcl::Canned(CannedAcl::LogDeliveryWrite) => {
                Err(no_canned_acl("log-delivery-write"))
            }
            AskedAcl::Canned(canned) => Ok(canned.of_object(owner, bucket_owner)),
            AskedAcl::Grants(grants) => resolve(app, grants, &IN_HEADERS),
            AskedAcl::Document(document) => document.resolve(app, owner),
        }
    }

    /// True if the ACL consists of explicit grants, all of them to `owner`.
    pub(super) fn is_grants_to(&self, owner: Party<'_>) -> bool {
        match self {
            AskedAcl::Canned(_) | AskedAcl::Document(_) => false,
            AskedAcl::Grants(grants) => grants
                .iter()
                .all(|(grantee, _)| matches!(grantee, NamedGrantee::Id(id) if id == owner.id)),
        }
    }
}

impl AclDocument {
    /// The operations with such a document.
    pub(super) const OPERATIONS: [&'static str; 2] = ["PutBucketAcl", "PutObjectAcl"];

    /// Reads a document.
    ///
    /// # Errors
    /// `MalformedACLError`.
    pub(super) fn of(document: &[u8]) -> S3Result<AclDocument> {
        let mut parser = Deserializer::new(document);
        let policy = AccessControlPolicy::deserialize(&mut parser);
        let policy = policy.and_then(|policy| parser.expect_eof().map(|()| policy));
        let AccessControlPolicy { grants, owner } = policy.map_err(|_| malformed())?;
        let owner_id = owner.and_then(|owner| owner.id).ok_or_else(malformed)?;
        let grants = grants.ok_or_else(malformed)?.into_iter().map(named_grant);
        Ok(AclDocument { owner_id, grants: grants.collect::<S3Result<_>>()? })
    }

    /// The ACL of a resource of `owner`, which the document must name as owner.
    fn resolve(&self, app: &App, owner: Party<'_>) -> S3Result<Acl> {
        if self.owner_id == owner.id {
            return resolve(app, &self.grants, &IN_DOCUMENT);
        }
        Err(match app.account(&self.owner_id) {
            Some(_) => S3Error::with_message(
                S3ErrorCode::AccessDenied,
                "Access Denied: the owner in the document is not the owner of the resource, which an \
                 ACL cannot change.",
            ),
            None => invalid_argument("Invalid id", IN_DOCUMENT.id, &self.owner_id),
        })
    }
}

/// The ACL of these grants of a document, with their grantees resolved to accounts.
///
/// # Errors
/// `MalformedACLError`, and the errors for grantees that do not exist.
pub(super) fn of_grants(app: &App, grants: Vec<GrantDto>) -> S3Result<Acl> {
    let named = grants.into_iter().map(named_grant).collect::<S3Result<Vec<_>>>()?;
    resolve(app, &named, &IN_DOCUMENT)
}

fn named_grant(grant: GrantDto) -> S3Result<NamedGrant> {
    let (Some(grantee), Some(permission)) = (grant.grantee, grant.permission) else {
        return Err(malformed());
    };
    let permission = Permission::of_name(permission.as_str()).ok_or_else(malformed)?;
    let grantee = match grantee.type_.as_str() {
        "CanonicalUser" => grantee.id.map(NamedGrantee::Id),
        "Group" => grantee.uri.map(NamedGrantee::Uri),
        "AmazonCustomerByEmail" => grantee.email_address.map(NamedGrantee::Email),
        _ => None,
    };
    Ok((grantee.ok_or_else(malformed)?, permission))
}

/// The names of a canonical ID and of a group, by the place of the grants.
struct GranteeNames {
    id: &'static str,
    uri: &'static str,
}

const IN_HEADERS: GranteeNames = GranteeNames { id: "id", uri: "uri" };
const IN_DOCUMENT: GranteeNames = GranteeNames { id: "CanonicalUser/ID", uri: "Group/URI" };

/// Resolves the grantees to accounts.
fn resolve(app: &App, grants: &[NamedGrant], names: &GranteeNames) -> S3Result<Acl> {
    let grants = grants.iter().map(|(named, permission)| {
        let grantee = match named {
            NamedGrantee::Id(id) => match app.account(id) {
                Some(account) => Grantee::Account {
                    id: account.canonical_id.clone(),
                    display_name: account.display_name.clone(),
                },
                None => return Err(invalid_argument("Invalid id", names.id, id)),
            },
            NamedGrantee::Uri(uri) => match Group::of_uri(uri) {
                Some(group) => Grantee::Group(group),
                None => return Err(invalid_argument("Invalid group uri", names.uri, uri)),
            },
            NamedGrantee::Email(_) => {
                return Err(s3_error!(
                    UnresolvableGrantByEmailAddress,
                    "The e-mail address you provided does not match any account on record: accounts \
                     have none here. Name the canonical id."
                ));
            }
        };
        Ok(Grant { grantee, permission: *permission })
    });
    Acl::new(grants.collect::<S3Result<_>>()?).map_err(|_| malformed())
}

/// AWS's error for a document that is not an ACL, or has too many grants.
pub(super) fn malformed() -> S3Error {
    s3_error!(
        MalformedACLError,
        "The XML you provided was not well-formed or did not validate against our published schema"
    )
}

fn not_recognized(name: &HeaderName, value: &[u8]) -> S3Error {
    s3_error!(
        Details::argument(name, &String::from_utf8_lossy(value)),
        InvalidArgument,
        "Argument format not recognized: x-amz-grant-read, -write, -read-acp, -write-acp and \
         -full-control have values such as id=\"CANONICAL ID\", uri=\"GROUP\"."
    )
}

fn no_canned_acl(sent: &str) -> S3Error {
    s3_error!(Details::argument(CANNED, sent), InvalidArgument, "The canned ACL is not valid")
}

fn invalid_argument(message: &'static str, name: &'static str, value: &str) -> S3Error {
    s3_error!(Details::argument(name, value), InvalidArgument, "{message}")
}
