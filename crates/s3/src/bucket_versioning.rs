//! GetBucketVersioning and PutBucketVersioning.

use liteio_store::Versioning;
use s3s::dto::{
    BucketVersioningStatus, GetBucketVersioningInput, GetBucketVersioningOutput, MFADelete,
    PutBucketVersioningInput, PutBucketVersioningOutput,
};
use s3s::{S3Response, s3_error};

use super::{Req, Resp, error};
use liteio_access::Granted;
use liteio_access::state::App;

pub(super) async fn get_bucket_versioning(
    _app: &App,
    granted: Granted,
    _request: Req<GetBucketVersioningInput>,
) -> Resp<GetBucketVersioningOutput> {
    let status = match granted.bucket().versioning {
        Versioning::Never => None,
        Versioning::Enabled => Some(BucketVersioningStatus::ENABLED),
        Versioning::Suspended => Some(BucketVersioningStatus::SUSPENDED),
    };
    let status = status.map(BucketVersioningStatus::from_static);
    Ok(S3Response::new(GetBucketVersioningOutput { status, mfa_delete: None }))
}

pub(super) async fn put_bucket_versioning(
    app: &App,
    granted: Granted,
    request: Req<PutBucketVersioningInput>,
) -> Resp<PutBucketVersioningOutput> {
    let sent = request.input.versioning_configuration;
    match sent.mfa_delete.as_ref().map(MFADelete::as_str) {
        None | Some(MFADelete::DISABLED) => {}
        Some(MFADelete::ENABLED) => {
            return Err(s3_error!(
                NotImplemented,
                "MFA delete is not implemented by LiteIO: there are no MFA devices. Use object lock."
            ));
        }
        Some(_) => return Err(error::malformed_xml()),
    }
    let versioning = match sent.status.as_ref().map(BucketVersioningStatus::as_str) {
        Some(BucketVersioningStatus::ENABLED) => Versioning::Enabled,
        Some(BucketVersioningStatus::SUSPENDED) => Versioning::Suspended,
        None => {
            return Err(s3_error!(
                IllegalVersioningConfigurationException,
                "The Versioning element must be specified"
            ));
        }
        Some(_) => return Err(error::malformed_xml()),
    };
    let set = app.store.set_versioning(granted.bucket(), versioning).await;
    set.map_err(error::from_store)?;
    Ok(S3Response::new(PutBucketVersioningOutput::default()))
}
