//! The default encryption of a bucket.

use http::StatusCode;
use liteio_store::{Bucket, DefaultEncryption, DefaultMethod, Encryption};
use s3s::dto::*;
use s3s::{S3Response, S3Result, s3_error};

use super::details::Details;
use super::{Req, Resp, error};
use liteio_access::Granted;
use liteio_access::state::App;

/// The encryption of objects whose write specifies none.
pub(super) fn default_of(app: &App, bucket: &Bucket) -> S3Result<Option<Encryption>> {
    match &bucket.settings.default_encryption {
        Some(default) => encryption_of(app, default).map(Some),
        None => Ok(app.encrypts_by_default.then_some(Encryption::Master)),
    }
}

fn encryption_of(app: &App, default: &DefaultEncryption) -> S3Result<Encryption> {
    let encryption = app.ask(|store| default.encryption(store.keys()));
    encryption.map_err(|key| error::no_such_named_key(Some(key)))
}

/// Parses the setting from a document.
fn from_document(configuration: ServerSideEncryptionConfiguration) -> S3Result<DefaultEncryption> {
    let [rule] = &configuration.rules[..] else { return Err(error::malformed_xml()) };
    let default = rule.apply_server_side_encryption_by_default.as_ref();
    let default = default.ok_or_else(error::malformed_xml)?;
    let key = default.kms_master_key_id.clone().filter(|key| !key.is_empty());
    let method = match (default.sse_algorithm.as_str(), key) {
        (ServerSideEncryption::AES256, None) => DefaultMethod::Master,
        (ServerSideEncryption::AES256, Some(_)) => {
            return Err(s3_error!(
                Details::named("ApplyServerSideEncryptionByDefault"),
                InvalidArgument,
                "a KMSMasterKeyID is not applicable if the default sse algorithm is not aws:kms or \
                 aws:kms:dsse"
            ));
        }
        (ServerSideEncryption::AWS_KMS, key) => DefaultMethod::Named { key },
        (ServerSideEncryption::AWS_KMS_DSSE, _) => return Err(error::no_dsse()),
        _ => return Err(error::malformed_xml()),
    };
    Ok(DefaultEncryption { method, bucket_key: rule.bucket_key_enabled == Some(true) })
}

fn to_document(default: &DefaultEncryption) -> ServerSideEncryptionConfiguration {
    let (algorithm, key) = match &default.method {
        DefaultMethod::Master => (ServerSideEncryption::AES256, None),
        DefaultMethod::Named { key } => (ServerSideEncryption::AWS_KMS, key.clone()),
    };
    ServerSideEncryptionConfiguration {
        rules: vec![ServerSideEncryptionRule {
            apply_server_side_encryption_by_default: Some(ServerSideEncryptionByDefault {
                kms_master_key_id: key,
                sse_algorithm: ServerSideEncryption::from_static(algorithm),
            }),
            bucket_key_enabled: Some(default.bucket_key),
        }],
    }
}

pub(super) async fn put_bucket_encryption(
    app: &App,
    granted: Granted,
    request: Req<PutBucketEncryptionInput>,
) -> Resp<PutBucketEncryptionOutput> {
    let default = from_document(request.input.server_side_encryption_configuration)?;
    // A missing key is reported here, and not later on every write.
    let encryption = encryption_of(app, &default)?;
    app.ask(|store| store.seal_object(&encryption)).map_err(error::from_store)?;
    let set = app.store.set_default_encryption(granted.bucket(), Some(default)).await;
    set.map_err(error::from_store)?;
    Ok(S3Response::new(PutBucketEncryptionOutput::default()))
}

pub(super) async fn get_bucket_encryption(
    app: &App,
    granted: Granted,
    _request: Req<GetBucketEncryptionInput>,
) -> Resp<GetBucketEncryptionOutput> {
    let of_server = DefaultEncryption { method: DefaultMethod::Master, bucket_key: false };
    let of_server = app.encrypts_by_default.then_some(of_server);
    let own = granted.bucket().settings.default_encryption.as_ref();
    let Some(default) = own.or(of_server.as_ref()) else {
        return Err(error::custom(
            "ServerSideEncryptionConfigurationNotFoundError",
            StatusCode::NOT_FOUND,
            "The server side encryption configuration was not found",
        ));
    };
    let configuration = Some(to_document(default));
    Ok(S3Response::new(GetBucketEncryptionOutput {
        server_side_encryption_configuration: configuration,
    }))
}

pub(super) async fn delete_bucket_encryption(
    app: &App,
    granted: Granted,
    _request: Req<DeleteBucketEncryptionInput>,
) -> Resp<DeleteBucketEncryptionOutput> {
    let set = app.store.set_default_encryption(granted.bucket(), None).await;
    set.map_err(error::from_store)?;
    Ok(S3Response::new(DeleteBucketEncryptionOutput::default()))
}
