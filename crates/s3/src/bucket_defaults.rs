//! Reads and deletes of settings that cannot be set here: AWS's exact responses for a bucket that
//! never had them. Clients such as Terraform read them before doing anything else.

use s3s::dto::*;
use s3s::{S3Error, S3Response};

use super::error;
use super::plain::{self, PlainRequest, PlainResponse};
use super::{Req, Resp};
use liteio_access::Granted;
use liteio_access::state::App;

/// Handlers that return the error for a setting that does not exist.
macro_rules! missing {
    ($($handler:ident($input:ident) -> $output:ident = $error:expr;)*) => {
        $(pub(super) async fn $handler(
            _app: &App,
            _granted: Granted,
            _request: Req<$input>,
        ) -> Resp<$output> {
            Err($error)
        })*
    };
}

/// Handlers that delete a missing setting: success, as deletes are idempotent.
macro_rules! deleted {
    ($($handler:ident($input:ident) -> $output:ident;)*) => {
        $(pub(super) async fn $handler(
            _app: &App,
            _granted: Granted,
            _request: Req<$input>,
        ) -> Resp<$output> {
            Ok(S3Response::new($output::default()))
        })*
    };
}

missing! {
    get_bucket_metadata_table_configuration(GetBucketMetadataTableConfigurationInput)
        -> GetBucketMetadataTableConfigurationOutput = no_metadata_configuration();
}

/// The error for S3 Metadata. AWS does not document the code; it appears in Terraform and
/// CloudFormation.
fn no_metadata_configuration() -> S3Error {
    error::custom(
        "MetadataConfigurationNotFound",
        http::StatusCode::NOT_FOUND,
        "The metadata configuration was not found",
    )
}

pub(super) async fn get_bucket_metadata_configuration(
    _app: &App,
    _request: PlainRequest,
) -> PlainResponse {
    Err(no_metadata_configuration())
}

pub(super) async fn delete_bucket_metadata_configuration(
    _app: &App,
    _request: PlainRequest,
) -> PlainResponse {
    plain::no_content()
}

deleted! {
    delete_bucket_metadata_table_configuration(DeleteBucketMetadataTableConfigurationInput)
        -> DeleteBucketMetadataTableConfigurationOutput;
}
