//! GetBucketAcl and GetObjectAcl: where ACLs do not count, the owner of the bucket has full control, and nobody
//! else is named.

use s3s::S3Response;
use s3s::dto::{GetBucketAclInput, GetBucketAclOutput, GetObjectAclInput, GetObjectAclOutput};

use super::convert::xml_response;
use super::xml::XmlWriter;
use super::{Req, Resp, object_version};
use crate::access::Granted;
use crate::state::App;

pub(super) async fn get_bucket_acl(
    _app: &App,
    granted: Granted,
    _request: Req<GetBucketAclInput>,
) -> Resp<GetBucketAclOutput> {
    Ok(of_owner(&granted))
}

pub(super) async fn get_object_acl(
    app: &App,
    granted: Granted,
    request: Req<GetObjectAclInput>,
) -> Resp<GetObjectAclOutput> {
    object_version::find(app, &granted, request.input.key, request.input.version_id)?;
    Ok(of_owner(&granted))
}

fn of_owner<T: Default>(granted: &Granted) -> S3Response<T> {
    let owner = &granted.bucket().owner;
    let mut xml = XmlWriter::new("AccessControlPolicy", 512);
    xml.owner("Owner", owner);
    xml.open("AccessControlList");
    xml.open("Grant");
    xml.open(
        "Grantee xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"CanonicalUser\"",
    );
    xml.text("ID", &owner.id);
    xml.text("DisplayName", &owner.display_name);
    xml.close("Grantee");
    xml.value("Permission", "FULL_CONTROL");
    xml.close("Grant");
    xml.close("AccessControlList");
    xml_response(xml.finish())
}
