//! The default encryption of a bucket, and the types of encryption that it blocks.

use bytes::Bytes;
use http::StatusCode;
use liteio_store::{Bucket, DefaultEncryption, DefaultMethod, Encryption};
use s3s::dto::*;
use s3s::xml::{DeError, Deserializer};
use s3s::{S3Response, S3Result, s3_error};

use super::answer::xml_response;
use super::details::Details;
use super::xml::XmlWriter;
use super::{Req, Resp, cut, error};
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

/// The `BlockedEncryptionTypes` of a document, for which s3s has no field: `true` for `SSE-C`, `false`
/// for `NONE`, `None` without the element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockedEncryption(Option<bool>);

const CUSTOMER_KEYS: &str = "SSE-C";
const NOTHING: &str = "NONE";

impl BlockedEncryption {
    /// Reads the blocked types, and returns the document without them, as s3s reads it.
    ///
    /// # Errors
    /// `MalformedXML` for other types, for none in the element, and for `NONE` beside another.
    pub(super) fn take(document: &[u8]) -> S3Result<(BlockedEncryption, Bytes)> {
        let mut types: Option<Vec<String>> = None;
        let mut parser = Deserializer::new(document);
        let read = parser.named_element("ServerSideEncryptionConfiguration", |parser| {
            parser.for_each_element(|parser, _| {
                parser.for_each_element(|parser, name| match name {
                    b"BlockedEncryptionTypes" => {
                        let types = types.get_or_insert_default();
                        parser.for_each_element(|parser, name| match name {
                            b"EncryptionType" => {
                                types.push(parser.content()?);
                                Ok(())
                            }
                            _ => Err(DeError::UnexpectedTagName),
                        })
                    }
                    b"BucketKeyEnabled" => parser.content::<String>().map(drop),
                    b"ApplyServerSideEncryptionByDefault" => {
                        parser.for_each_element(|parser, _| parser.content::<String>().map(drop))
                    }
                    _ => Err(DeError::UnexpectedTagName),
                })
            })
        });
        read.map_err(|_| error::malformed_xml())?;
        let types =
            types.as_ref().map(|types| types.iter().map(String::as_str).collect::<Vec<_>>());
        let blocked = match types.as_deref() {
            None => None,
            Some([NOTHING]) => Some(false),
            Some([CUSTOMER_KEYS]) => Some(true),
            Some(_) => return Err(error::malformed_xml()),
        };
        Ok((BlockedEncryption(blocked), cut::without(document, "BlockedEncryptionTypes")?))
    }
}

/// Parses the setting from a document; `None` for a rule that only blocks.
pub(super) fn from_document(
    configuration: ServerSideEncryptionConfiguration,
    BlockedEncryption(blocked): BlockedEncryption,
) -> S3Result<Option<DefaultEncryption>> {
    let [rule] = &configuration.rules[..] else { return Err(error::malformed_xml()) };
    let default = rule.apply_server_side_encryption_by_default.as_ref();
    let Some(default) = default else {
        return if blocked.is_some() { Ok(None) } else { Err(error::malformed_xml()) };
    };
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
    Ok(Some(DefaultEncryption { method, bucket_key: rule.bucket_key_enabled == Some(true) }))
}

pub(super) async fn put_bucket_encryption(
    app: &App,
    granted: Granted,
    request: Req<PutBucketEncryptionInput>,
) -> Resp<PutBucketEncryptionOutput> {
    let blocked: BlockedEncryption = request.extensions.get().copied().unwrap_or_default();
    let configuration = request.input.server_side_encryption_configuration;
    let default = from_document(configuration, blocked)?;
    if let Some(default) = &default {
        // A missing key is reported here, and not later on every write.
        let encryption = encryption_of(app, default)?;
        app.ask(|store| store.seal_object(&encryption)).map_err(error::from_store)?;
    }
    let set = app.store.set_default_encryption(granted.bucket(), default, blocked.0).await;
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
    let settings = &granted.bucket().settings;
    let default = settings.default_encryption.as_ref().or(of_server.as_ref());
    if default.is_none() && settings.blocks_customer_keys.is_none() {
        return Err(error::custom(
            "ServerSideEncryptionConfigurationNotFoundError",
            StatusCode::NOT_FOUND,
            "The server side encryption configuration was not found",
        ));
    }
    let mut xml = XmlWriter::new("ServerSideEncryptionConfiguration", 256);
    xml.open("Rule");
    if let Some(default) = default {
        let (algorithm, key) = match &default.method {
            DefaultMethod::Master => (ServerSideEncryption::AES256, None),
            DefaultMethod::Named { key } => (ServerSideEncryption::AWS_KMS, key.as_deref()),
        };
        xml.open("ApplyServerSideEncryptionByDefault");
        xml.word("SSEAlgorithm", algorithm);
        xml.optional_text("KMSMasterKeyID", key);
        xml.close("ApplyServerSideEncryptionByDefault");
    }
    xml.value("BucketKeyEnabled", default.is_some_and(|default| default.bucket_key));
    if let Some(blocked) = settings.blocks_customer_keys {
        xml.open("BlockedEncryptionTypes");
        xml.word("EncryptionType", if blocked { CUSTOMER_KEYS } else { NOTHING });
        xml.close("BlockedEncryptionTypes");
    }
    xml.close("Rule");
    Ok(xml_response(xml.finish()))
}

pub(super) async fn delete_bucket_encryption(
    app: &App,
    granted: Granted,
    _request: Req<DeleteBucketEncryptionInput>,
) -> Resp<DeleteBucketEncryptionOutput> {
    let set = app.store.set_default_encryption(granted.bucket(), None, None).await;
    set.map_err(error::from_store)?;
    Ok(S3Response::new(DeleteBucketEncryptionOutput::default()))
}
