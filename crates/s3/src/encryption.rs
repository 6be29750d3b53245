//! Server-side encryption headers of requests and responses.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{Extensions, HeaderMap, HeaderName, HeaderValue};
use liteio_store::{Bucket, Encryption, EncryptionKey, EncryptionScheme, Sealing, StoreError};
use md5::{Digest as _, Md5};
use s3s::{S3Error, S3Result, s3_error};

use super::details::Details;
use super::headers::{header, header_value, insert_text};
use super::{bucket_encryption, error};
use liteio_access::state::App;
use liteio_wire::origin::Origin;

const PREFIX: &str = "x-amz-server-side-encryption";
const METHOD: HeaderName = HeaderName::from_static(PREFIX);
const KMS_KEY: HeaderName = HeaderName::from_static("x-amz-server-side-encryption-aws-kms-key-id");
const CONTEXT: HeaderName = HeaderName::from_static("x-amz-server-side-encryption-context");
const BUCKET_KEY: HeaderName =
    HeaderName::from_static("x-amz-server-side-encryption-bucket-key-enabled");
const CUSTOMER_ALGORITHM: HeaderName =
    HeaderName::from_static("x-amz-server-side-encryption-customer-algorithm");
const CUSTOMER_MD5: HeaderName =
    HeaderName::from_static("x-amz-server-side-encryption-customer-key-md5");

/// The headers of a customer key (SSE-C): algorithm, key, MD5.
struct CustomerHeaders([&'static str; 3]);

impl CustomerHeaders {
    fn is_in(&self, headers: &HeaderMap) -> bool {
        self.0.iter().any(|name| headers.contains_key(*name))
    }
}

const CUSTOMER: CustomerHeaders = CustomerHeaders([
    "x-amz-server-side-encryption-customer-algorithm",
    "x-amz-server-side-encryption-customer-key",
    "x-amz-server-side-encryption-customer-key-md5",
]);
const COPY_SOURCE: CustomerHeaders = CustomerHeaders([
    "x-amz-copy-source-server-side-encryption-customer-algorithm",
    "x-amz-copy-source-server-side-encryption-customer-key",
    "x-amz-copy-source-server-side-encryption-customer-key-md5",
]);

/// A customer key in a request.
#[derive(Clone, Debug)]
pub(super) struct CustomerKey {
    pub(super) key: EncryptionKey,
    /// The key's MD5 as sent, for the response.
    md5: HeaderValue,
}

/// The encryption that a write requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub(super) encryption: Option<Encryption>,
    customer: Option<CustomerKey>,
}

impl Asked {
    /// Reads the encryption headers of a request that writes an object or starts an upload; without
    /// any, the bucket's default applies.
    ///
    /// # Errors
    /// The errors that AWS documents for contradictory or invalid headers.
    pub(super) fn of_write(
        app: &App,
        bucket: &Bucket,
        headers: &HeaderMap,
        extensions: &Extensions,
    ) -> S3Result<Asked> {
        if !headers.keys().any(|name| name.as_str().starts_with(PREFIX)) {
            let encryption = bucket_encryption::default_of(app, bucket)?;
            return Ok(Asked { encryption, customer: None });
        }
        // Before the key is looked at, as on AWS.
        if bucket.settings.blocks_customer_keys == Some(true) && CUSTOMER.is_in(headers) {
            return Err(s3_error!(
                AccessDenied,
                "The bucket blocks server-side encryption with customer-provided keys (SSE-C)."
            ));
        }
        let method = headers.get(METHOD).map(|method| method.as_bytes());
        // As on AWS, before the values are checked.
        if let Some(method) = method.filter(|_| CUSTOMER.is_in(headers)) {
            return Err(s3_error!(
                Details::argument(METHOD, &lossy(method)),
                InvalidArgument,
                "Server Side Encryption with Customer provided key is incompatible with the \
                 encryption method specified"
            ));
        }
        let customer = customer_key(app, headers, extensions)?;
        let names_key = headers.contains_key(KMS_KEY) || headers.contains_key(CONTEXT);
        let encryption = match (method, &customer) {
            (Some(b"aws:kms"), _) => Some(named(app, headers)?),
            _ if names_key => {
                return Err(s3_error!(
                    Details::argument(METHOD, &lossy(method.unwrap_or_default())),
                    InvalidArgument,
                    "Server Side Encryption with AWS KMS managed key requires HTTP header \
                     x-amz-server-side-encryption : aws:kms"
                ));
            }
            (None, Some(customer)) => Some(Encryption::Customer(customer.key.clone())),
            (None, None) => bucket_encryption::default_of(app, bucket)?,
            (Some(b"AES256"), _) => Some(Encryption::Master),
            (Some(b"aws:kms:dsse"), _) => return Err(error::no_dsse()),
            (Some(other), _) => {
                return Err(s3_error!(
                    Details::argument(METHOD, &lossy(other)),
                    InvalidEncryptionAlgorithmError,
                    "The encryption request that you specified is not valid. The valid values are \
                     AES256 and aws:kms."
                ));
            }
        };
        Ok(Asked { encryption, customer })
    }

    /// The data key that seals the body of one new object.
    ///
    /// # Errors
    /// The master key or KMS key is not configured.
    pub(super) fn seal(&self, app: &App) -> S3Result<Option<Sealing>> {
        let seal = |encryption| app.ask(|store| store.seal_object(encryption));
        self.encryption.as_ref().map(seal).transpose().map_err(error::from_store)
    }

    /// Adds the encryption headers of the response to a write.
    pub(super) fn insert(
        &self,
        headers: &mut HeaderMap,
        scheme: Option<&EncryptionScheme>,
    ) -> S3Result<()> {
        insert(headers, scheme, self.customer.as_ref())?;
        if let Some(EncryptionScheme::Named { context, .. }) = scheme {
            insert_text(headers, CONTEXT, context.as_deref())?;
        }
        Ok(())
    }
}

/// Adds the headers that describe the encryption of an object, an upload or a part.
pub(super) fn insert(
    headers: &mut HeaderMap,
    scheme: Option<&EncryptionScheme>,
    customer: Option<&CustomerKey>,
) -> S3Result<()> {
    match scheme {
        None => {}
        Some(EncryptionScheme::Master) => {
            headers.insert(METHOD, HeaderValue::from_static("AES256"));
        }
        Some(EncryptionScheme::Named { key, bucket_key, .. }) => {
            headers.insert(METHOD, HeaderValue::from_static("aws:kms"));
            headers.insert(KMS_KEY, header_value(key)?);
            if *bucket_key {
                headers.insert(BUCKET_KEY, HeaderValue::from_static("true"));
            }
        }
        Some(EncryptionScheme::Customer) => {
            headers.insert(CUSTOMER_ALGORITHM, HeaderValue::from_static("AES256"));
            if let Some(customer) = customer {
                headers.insert(CUSTOMER_MD5, customer.md5.clone());
            }
        }
    }
    Ok(())
}

/// The customer key of a request that reads an object or writes a part.
///
/// # Errors
/// `InvalidArgument`; `InvalidRequest` over an unencrypted connection.
pub(super) fn customer_key(
    app: &App,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> S3Result<Option<CustomerKey>> {
    parse_customer_key(app, headers, extensions, &CUSTOMER, invalid_key)
}

/// The customer key of a copy source.
///
/// # Errors
/// As [`customer_key`].
pub(super) fn copy_source_key(
    app: &App,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> S3Result<Option<EncryptionKey>> {
    let found = parse_customer_key(app, headers, extensions, &COPY_SOURCE, invalid_key)?;
    Ok(found.map(|customer| customer.key))
}

/// The customer key of a read. Headers that request an encryption method are rejected there.
///
/// # Errors
/// As [`customer_key`].
pub(super) fn of_read(
    app: &App,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> S3Result<Option<CustomerKey>> {
    // Fast path: hardly any request has such a header, and one pass over the names finds out.
    if !headers.keys().any(|name| name.as_str().starts_with(PREFIX)) {
        return Ok(None);
    }
    if headers.contains_key(METHOD) {
        return Err(s3_error!(
            Details::named(METHOD),
            InvalidArgument,
            "x-amz-server-side-encryption header is not supported for this operation."
        ));
    }
    // As on AWS, a key that no object can have is another one than the object's.
    let of_length = || error::from_store(StoreError::WrongCustomerKey);
    parse_customer_key(app, headers, extensions, &CUSTOMER, of_length)
}

/// Maps the error for a customer key that differs from the upload's.
pub(super) fn from_part(error: StoreError) -> S3Error {
    match error {
        StoreError::CustomerKeyRequired => s3_error!(
            InvalidRequest,
            "The multipart upload initiate requested encryption. Subsequent part requests must \
             include the appropriate encryption parameters."
        ),
        StoreError::WrongCustomerKey => s3_error!(
            InvalidRequest,
            "The provided encryption parameters did not match the ones used originally."
        ),
        error => error::from_store(error),
    }
}

/// Resolves the KMS key that a client names, by its name or by an identifier (ARN) that ends with
/// it.
///
/// # Errors
/// `KMS.NotFoundException`.
pub(super) fn kms_key(app: &App, asked: &str) -> S3Result<String> {
    let found = app.ask(|store| store.keys().find_name(asked).map(str::to_owned));
    found.ok_or_else(|| error::no_such_named_key(Some(asked)))
}

/// SSE-KMS with the key, context and bucket key setting in the headers.
fn named(app: &App, headers: &HeaderMap) -> S3Result<Encryption> {
    let key = match header(headers, KMS_KEY) {
        None => None,
        Some(asked) => Some(kms_key(app, asked)?),
    };
    let context = header(headers, CONTEXT).map(checked_context).transpose()?;
    let bucket_key = header(headers, BUCKET_KEY);
    let bucket_key = bucket_key.is_some_and(|enabled| enabled.eq_ignore_ascii_case("true"));
    Ok(Encryption::Named { key, context, bucket_key })
}

/// A header value as text for an error document.
fn lossy(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

/// Checks that the encryption context is base64 of a JSON object of strings.
fn checked_context(text: &str) -> S3Result<String> {
    let json = base64_simd::STANDARD.decode_to_vec(text).ok();
    let map = json.and_then(|json| serde_json::from_slice::<BTreeMap<String, String>>(&json).ok());
    match map {
        Some(_) => Ok(text.to_owned()),
        None => Err(s3_error!(
            Details::argument(CONTEXT, text),
            InvalidArgument,
            "The header 'x-amz-server-side-encryption-context' shall be Base64-encoded UTF-8 string \
             holding JSON which represents a string-string map"
        )),
    }
}

/// The error for a key of another length.
fn invalid_key() -> S3Error {
    s3_error!(
        Details::named(METHOD),
        InvalidArgument,
        "The secret key was invalid for the specified algorithm: it has 32 bytes, in base64."
    )
}

/// The customer key in the headers `sent`; `of_length` makes the error for a key of another length.
fn parse_customer_key(
    app: &App,
    headers: &HeaderMap,
    extensions: &Extensions,
    sent: &CustomerHeaders,
    of_length: impl FnOnce() -> S3Error,
) -> S3Result<Option<CustomerKey>> {
    if !sent.is_in(headers) {
        return Ok(None);
    }
    let CustomerHeaders(names) = sent;
    let [algorithm, key, md5] = names.map(|name| header(headers, name));
    if let Some(other) = algorithm.filter(|algorithm| *algorithm != "AES256") {
        // Recorded on AWS in LocalStack's `test_put_object_validation_sse_c`. It comes before the question how
        // the key travels, because nothing but the name of the algorithm is wrong.
        return Err(s3_error!(
            Details::argument(METHOD, other),
            InvalidEncryptionAlgorithmError,
            "The Encryption request you specified is not valid. Supported value: AES256."
        ));
    }
    let secure = extensions.get::<Arc<Origin>>().is_some_and(|origin| origin.peer.secure);
    if !secure && !app.allows_keys_in_plain {
        return Err(s3_error!(
            InvalidRequest,
            "Requests specifying Server Side Encryption with Customer provided keys must be made over \
             a secure connection. (Behind a proxy that encrypts, the server needs \
             --trusted-proxy ADDRESS=for+proto; for tests without encryption, --allow-insecure-sse-c.)"
        ));
    }
    if algorithm.is_none() {
        return Err(s3_error!(
            Details::named(METHOD),
            InvalidArgument,
            "Requests specifying Server Side Encryption with Customer provided keys must provide a \
             valid encryption algorithm: AES256."
        ));
    }
    let Some(key) = key else {
        return Err(s3_error!(
            Details::named(METHOD),
            InvalidArgument,
            "Requests specifying Server Side Encryption with Customer provided keys must provide an \
             appropriate secret key."
        ));
    };
    let Some(md5) = md5 else {
        return Err(s3_error!(
            Details::named(METHOD),
            InvalidArgument,
            "Requests specifying Server Side Encryption with Customer provided keys must provide the \
             client calculated MD5 of the secret key."
        ));
    };
    let bytes = base64_simd::STANDARD.decode_to_vec(key).ok();
    let bytes: Option<[u8; 32]> = bytes.and_then(|bytes| bytes.try_into().ok());
    let Some(bytes) = bytes else { return Err(of_length()) };
    if base64_simd::STANDARD.encode_to_string(Md5::digest(bytes)) != md5 {
        return Err(s3_error!(
            Details::named(METHOD),
            InvalidArgument,
            "The calculated MD5 hash of the key did not match the hash that was provided."
        ));
    }
    let md5 = header_value(md5)?;
    Ok(Some(CustomerKey { key: EncryptionKey::new(bytes), md5 }))
}
