//! The ACL in a request: canned, in `x-amz-grant-*` headers, or in a document.

use http::{Extensions, HeaderMap, StatusCode};
use s3s::dto::{AccessControlPolicy, Grant as GrantDto};
use s3s::xml::{Deserialize as _, Deserializer};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

use super::error;
use liteio_access::state::App;
use liteio_policy::acl::{
    Acl, CannedAcl, Grant, Grantee, Group, NamedGrantee, Party, Permission, parse_grants,
};
use liteio_wire::reply::{ApiError, ErrorCode};

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

impl AskedAcl {
    /// The ACL in the headers of a request.
    pub(super) fn of_headers(headers: &HeaderMap) -> S3Result<Option<AskedAcl>> {
        let mut grants = Vec::new();
        let names = headers.keys().filter(|name| name.as_str().starts_with(GRANT));
        for name in names {
            let permission = Permission::ALL.into_iter().find(|it| it.header() == name.as_str());
            let permission = permission.ok_or_else(not_recognized)?;
            for value in headers.get_all(name) {
                let value = value.to_str().map_err(|_| not_recognized())?;
                let grantees = parse_grants(value).map_err(|_| not_recognized())?;
                grants.extend(grantees.into_iter().map(|grantee| (grantee, permission)));
            }
        }
        grants.sort_by_key(|(_, permission)| {
            Permission::ALL.into_iter().position(|it| it == *permission)
        });
        let mut canned = headers.get_all(CANNED).iter();
        match (canned.next(), canned.next()) {
            (None, _) => Ok((!grants.is_empty()).then_some(AskedAcl::Grants(grants))),
            (Some(canned), None) if grants.is_empty() => {
                let canned = canned.to_str().ok().and_then(CannedAcl::of_name);
                canned.map(|canned| Some(AskedAcl::Canned(canned))).ok_or_else(no_canned_acl)
            }
            (Some(_), Some(_)) => Err(no_canned_acl()),
            (Some(_), None) => Err(s3_error!(
                InvalidRequest,
                "Specifying both Canned ACLs and Header Grants is not allowed"
            )),
        }
    }

    /// The ACL of a PutBucketAcl or PutObjectAcl, from its headers or its document.
    pub(super) fn of_put(headers: &HeaderMap, extensions: &mut Extensions) -> S3Result<AskedAcl> {
        let in_headers = AskedAcl::of_headers(headers)?;
        match (in_headers, extensions.remove::<AclDocument>()) {
            (Some(asked), None) => Ok(asked),
            (None, Some(document)) => Ok(AskedAcl::Document(document)),
            (Some(_), Some(_)) => Err(error::custom(
                "UnexpectedContent",
                StatusCode::BAD_REQUEST,
                "This request does not support content: send the ACL in headers or in a document, not \
                 both.",
            )),
            (None, None) => Err(error::custom(
                "MissingSecurityHeader",
                StatusCode::BAD_REQUEST,
                "Your request was missing a required header: send x-amz-acl, x-amz-grant-* or a \
                 document.",
            )),
        }
    }

    /// The ACL of a bucket.
    pub(super) fn of_bucket(&self, app: &App, owner: Party<'_>) -> S3Result<Acl> {
        match self {
            AskedAcl::Canned(canned) => Ok(canned.of_bucket(owner)),
            AskedAcl::Grants(grants) => resolve(app, grants),
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
            AskedAcl::Canned(CannedAcl::LogDeliveryWrite) => Err(no_canned_acl()),
            AskedAcl::Canned(canned) => Ok(canned.of_object(owner, bucket_owner)),
            AskedAcl::Grants(grants) => resolve(app, grants),
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
        match self.owner_id == owner.id {
            true => resolve(app, &self.grants),
            false => Err(S3Error::with_message(
                S3ErrorCode::AccessDenied,
                "Access Denied: the owner in the document is not the owner of the resource, which an \
                 ACL cannot change.",
            )),
        }
    }
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

/// Resolves the grantees to accounts.
fn resolve(app: &App, grants: &[NamedGrant]) -> S3Result<Acl> {
    let grants = grants.iter().map(|(named, permission)| {
        let grantee = match named {
            NamedGrantee::Id(id) => match app.account(id) {
                Some(account) => Grantee::Account {
                    id: account.canonical_id.clone(),
                    display_name: account.display_name.clone(),
                },
                None => return Err(invalid_argument("Invalid id", "CanonicalUser/ID", id)),
            },
            NamedGrantee::Uri(uri) => match Group::of_uri(uri) {
                Some(group) => Grantee::Group(group),
                None => return Err(invalid_argument("Invalid group uri", "Group/URI", uri)),
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

fn not_recognized() -> S3Error {
    s3_error!(
        InvalidArgument,
        "Argument format not recognized: x-amz-grant-read, -write, -read-acp, -write-acp and \
         -full-control have values such as id=\"CANONICAL ID\", uri=\"GROUP\"."
    )
}

fn no_canned_acl() -> S3Error {
    s3_error!(InvalidArgument, "The canned ACL is not valid")
}

fn invalid_argument(message: &'static str, name: &'static str, value: &str) -> S3Error {
    let whole = ApiError::new(ErrorCode::InvalidArgument, message)
        .with("ArgumentName", name)
        .with("ArgumentValue", error::quoted(value));
    let mut error = S3Error::with_message(S3ErrorCode::InvalidArgument, message);
    error.set_source(Box::new(whole));
    error
}
