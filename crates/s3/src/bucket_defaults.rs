//! Reads and deletes of settings that no bucket can have yet: the exact answers of a bucket that was never
//! given any, which clients read before they do anything else.

use s3s::dto::*;
use s3s::{S3Error, S3Response, s3_error};

use super::error;
use super::plain::{self, PlainRequest, PlainResponse};
use super::{Req, Resp};
use liteio_access::Granted;
use liteio_access::state::App;

/// Handlers that answer with an error: there is no such setting.
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

/// Handlers that delete what is not there.
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
    get_bucket_replication(GetBucketReplicationInput) -> GetBucketReplicationOutput = s3_error!(
        ReplicationConfigurationNotFoundError,
        "The replication configuration was not found"
    );
    get_bucket_metadata_table_configuration(GetBucketMetadataTableConfigurationInput)
        -> GetBucketMetadataTableConfigurationOutput = no_metadata_configuration();
}

/// The tables of S3 Metadata. AWS's code is not in its documentation; Terraform and CloudFormation have it.
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
    delete_bucket_replication(DeleteBucketReplicationInput) -> DeleteBucketReplicationOutput;
}
