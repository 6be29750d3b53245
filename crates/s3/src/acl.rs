//! ACLs of buckets and objects: GetBucketAcl, PutBucketAcl, GetObjectAcl and PutObjectAcl, and the
//! owner and ACL of new objects.
//!
//! With `BucketOwnerEnforced`, ACLs are disabled: reads return the default ACL, writes are
//! rejected, or ignored beside a new object or bucket ([`App::ignores_disabled_acls`]).

use std::sync::Arc;

use http::HeaderMap;
use liteio_store::{Bucket, DocumentKind, ObjectVersion, Owner, StoreError, VersionChange};
use s3s::dto::{
    GetBucketAclInput, GetBucketAclOutput, GetObjectAclInput, GetObjectAclOutput,
    PutBucketAclInput, PutBucketAclOutput, PutObjectAclInput, PutObjectAclOutput,
};
use s3s::{S3Error, S3Response, S3Result, s3_error};

use super::acl_request::AskedAcl;
use super::answer::xml_response;
use super::bucket_settings::drop_kept;
use super::context::Sent;
use super::convert::{object_key, version_id};
use super::xml::XmlWriter;
use super::{
    Req, Resp, access, bucket_public_access, error, event_cause, object_version, ownership,
};
use liteio_access::Granted;
use liteio_access::state::App;
use liteio_policy::acl::{Acl, CannedAcl, Grant, Grantee, Ownership, Party, decode, encode};

/// Attempts to change the ACL of an object that is replaced, or gets another ACL, in the meantime.
/// Each failed attempt means that another request has succeeded, so the loop makes progress.
const ATTEMPTS: usize = 16;

/// The owner and the ACL of an object that a request writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewObjectAcl {
    pub(super) owner: Owner,
    /// The ACL as stored; `None` for the default.
    pub(super) acl: Option<Vec<u8>>,
}

impl NewObjectAcl {
    /// Owner and ACL requested by the headers of a write.
    pub(super) fn of_request(
        app: &App,
        granted: &Granted,
        headers: &HeaderMap,
    ) -> S3Result<NewObjectAcl> {
        let bucket = granted.bucket();
        let asked = of_headers(app, headers)?;
        let is_bucket_owners = asked == Some(AskedAcl::Canned(CannedAcl::BucketOwnerFullControl));
        let owner = match ownership::of_bucket(bucket)? {
            Ownership::BucketOwnerEnforced => {
                // ACLs are disabled, but SDKs and tools still send some: AWS accepts the canned ACL
                // `bucket-owner-full-control` and grants to the bucket owner only, without effect.
                let is_same = |asked: &AskedAcl| asked.is_grants_to(party(&bucket.owner));
                let is_taken = app.ignores_disabled_acls
                    || is_bucket_owners
                    || asked.as_ref().is_none_or(is_same);
                return match is_taken {
                    true => Ok(NewObjectAcl { owner: bucket.owner.clone(), acl: None }),
                    false => Err(not_supported()),
                };
            }
            Ownership::BucketOwnerPreferred if is_bucket_owners => bucket.owner.clone(),
            _ => granted.owner(),
        };
        let Some(asked) = asked else { return Ok(NewObjectAcl { owner, acl: None }) };
        let acl = asked.of_object(app, party(&owner), party(&bucket.owner))?;
        bucket_public_access::check_acl(bucket, &acl)?;
        let acl = stored(&acl, &owner);
        Ok(NewObjectAcl { owner, acl })
    }
}

/// The ACL that the headers ask for beside an object or a bucket that the request makes. MinIO ignores
/// it, so what its clients write does not become public in its place.
fn of_headers(app: &App, headers: &HeaderMap) -> S3Result<Option<AskedAcl>> {
    if app.acts_as_minio { Ok(None) } else { AskedAcl::of_headers(headers) }
}

/// The ACL of a new bucket, as stored; `None` for the default.
pub(super) fn of_new_bucket(
    app: &App,
    owner: &Owner,
    ownership: Ownership,
    headers: &HeaderMap,
) -> S3Result<Option<Vec<u8>>> {
    let Some(asked) = of_headers(app, headers)? else { return Ok(None) };
    if !ownership.acls_count() {
        let is_private = match &asked {
            AskedAcl::Canned(canned) => canned.of_bucket(party(owner)).is_only_for(&owner.id),
            asked => asked.is_grants_to(party(owner)),
        };
        let is_taken = is_private || app.ignores_disabled_acls;
        return if is_taken { Ok(None) } else { Err(ownership::has_acl()) };
    }
    Ok(stored(&asked.of_bucket(app, party(owner))?, owner))
}

/// The stored ACL of a bucket, even if ACLs are disabled.
pub(super) fn of_bucket(bucket: &Bucket) -> S3Result<Acl> {
    let kept = bucket.settings.parsed(DocumentKind::Acl, decode::<Acl>);
    let kept = kept.map_err(|unreadable| error::internal(&unreadable))?;
    Ok(kept.map_or_else(|| private(&bucket.owner), |kept| Acl::clone(&kept)))
}

fn of_object(object: &ObjectVersion) -> S3Result<Acl> {
    match &object.acl {
        None => Ok(private(&object.owner)),
        Some(kept) => decode(kept).map_err(|unreadable| error::internal(&unreadable)),
    }
}

pub(super) async fn get_bucket_acl(
    app: &App,
    granted: Granted,
    _request: Req<GetBucketAclInput>,
) -> Resp<GetBucketAclOutput> {
    let bucket = granted.bucket();
    let acl = match ownership::of_bucket(bucket)?.acls_count() {
        true => of_bucket(bucket)?,
        false => private(&bucket.owner),
    };
    Ok(response(app, &bucket.owner, &acl))
}

pub(super) async fn get_object_acl(
    app: &App,
    granted: Granted,
    request: Req<GetObjectAclInput>,
) -> Resp<GetObjectAclOutput> {
    let bucket = granted.bucket();
    let (key, version) = (request.input.key, request.input.version_id);
    let object = object_version::find(app, &granted, key, version).await?;
    match ownership::of_bucket(bucket)?.acls_count() {
        true => Ok(response(app, &object.owner, &of_object(&object)?)),
        false => Ok(response(app, &bucket.owner, &private(&bucket.owner))),
    }
}

pub(super) async fn put_bucket_acl(
    app: &App,
    granted: Granted,
    request: Req<PutBucketAclInput>,
) -> Resp<PutBucketAclOutput> {
    let Req { headers, mut extensions, .. } = request;
    let bucket = granted.bucket();
    let owner = party(&bucket.owner);
    // As on AWS, a wrong list is refused as such also where lists do not count.
    let acl = AskedAcl::of_put(&headers, &mut extensions)?.of_bucket(app, owner)?;
    check_ownership(bucket)?;
    bucket_public_access::check_acl(bucket, &acl)?;
    match stored(&acl, &bucket.owner) {
        Some(document) => {
            let kept = app.store.put_document(bucket, DocumentKind::Acl, document).await;
            kept.map_err(error::from_store)?;
        }
        None => drop_kept(app, &granted, DocumentKind::Acl).await?,
    }
    Ok(S3Response::new(PutBucketAclOutput::default()))
}

pub(super) async fn put_object_acl(
    app: &App,
    granted: Granted,
    request: Req<PutObjectAclInput>,
) -> Resp<PutObjectAclOutput> {
    let Req { input, method, uri, headers, mut extensions, .. } = request;
    let bucket = Arc::clone(granted.bucket());
    // As on AWS, a wrong list is refused as such also where lists do not count.
    let asked = AskedAcl::of_put(&headers, &mut extensions)?;
    if let Err(refusal) = check_ownership(&bucket) {
        asked.of_object(app, party(&bucket.owner), party(&bucket.owner))?;
        return Err(refusal);
    }
    let (key, version) = (object_key(input.key)?, version_id(input.version_id)?);
    let cause = event_cause::of_request(app, &granted, &headers, &extensions);
    let sent = Sent { method: &method, uri: &uri, headers: &headers, extensions: &extensions };
    let mut granted = granted;
    for _ in 0..ATTEMPTS {
        let object = app.look(|store| store.find_object(&bucket, &key, version.as_ref())).await;
        let object = object.map_err(object_version::from_marker)?;
        if granted.holds_for(&object) {
            let owner = &object.owner;
            let acl = asked.of_object(app, party(owner), party(&bucket.owner))?;
            bucket_public_access::check_acl(&bucket, &acl)?;
            let change = VersionChange::Acl {
                acl: stored(&acl, owner),
                seen_owner_id: object.owner.id,
                seen_acl: object.acl,
            };
            let (key, cause) = (key.clone(), cause.clone());
            match app.store.change_object(&bucket, key, version, change, cause).await {
                Ok(_) => return Ok(S3Response::new(PutObjectAclOutput::default())),
                Err(StoreError::ConditionalRequestConflict) => {}
                Err(error) => return Err(error::from_store(error)),
            }
        }
        // The current version or its ACL has changed since it was read: authorize and read again.
        granted = access::once_more(app, sent).await?;
    }
    Err(error::conflict())
}

/// Refuses to change ACLs if they are disabled.
fn check_ownership(bucket: &Bucket) -> S3Result<()> {
    match ownership::of_bucket(bucket)?.acls_count() {
        true => Ok(()),
        false => Err(not_supported()),
    }
}

/// The owner as a party of grants.
fn party(owner: &Owner) -> Party<'_> {
    Party { id: &owner.id, display_name: &owner.display_name }
}

/// The default ACL: full control for the owner only.
fn private(owner: &Owner) -> Acl {
    CannedAcl::Private.of_bucket(party(owner))
}

/// The ACL as stored; `None` for the default.
fn stored(acl: &Acl, owner: &Owner) -> Option<Vec<u8>> {
    (*acl != private(owner)).then(|| encode(acl))
}

pub(super) fn not_supported() -> S3Error {
    s3_error!(AccessControlListNotSupported, "The bucket does not allow ACLs")
}

/// The document of an ACL. In the place of MinIO it repeats the type of a grantee as an element, which
/// MinIO's client for Java requires.
fn response<T: Default>(app: &App, owner: &Owner, acl: &Acl) -> S3Response<T> {
    let mut xml = XmlWriter::new("AccessControlPolicy", 256 * (1 + acl.grants().len()));
    xml.owner("Owner", owner);
    xml.open("AccessControlList");
    // As on AWS, the grants to the owner come first.
    let is_owners =
        |grant: &&Grant| matches!(&grant.grantee, Grantee::Account { id, .. } if *id == owner.id);
    let (own, others): (Vec<_>, Vec<_>) = acl.grants().iter().partition(is_owners);
    for grant in own.into_iter().chain(others) {
        xml.open("Grant");
        let open = |xml: &mut XmlWriter, kind| {
            const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";
            xml.open(&format!("Grantee xmlns:xsi=\"{XSI}\" xsi:type=\"{kind}\""));
            if app.acts_as_minio {
                xml.text("Type", kind);
            }
        };
        match &grant.grantee {
            Grantee::Account { id, display_name } => {
                open(&mut xml, "CanonicalUser");
                xml.text("ID", id);
                xml.text("DisplayName", display_name);
            }
            Grantee::Group(group) => {
                open(&mut xml, "Group");
                xml.text("URI", group.uri());
            }
        }
        xml.close("Grantee");
        xml.word("Permission", grant.permission.name());
        xml.close("Grant");
    }
    xml.close("AccessControlList");
    xml_response(xml.finish())
}
