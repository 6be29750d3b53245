//! Form uploads: signature and policy of the form are checked, and the request becomes a PUT.

use std::sync::Arc;

use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, TRANSFER_ENCODING};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Uri};

use super::Authenticator;
use super::amz_date::AmzDate;
use super::body::{AuthBody, Source, Verifier};
use super::canonical::push_encoded;
use super::error::{self, SignatureDiagnostics};
use super::identity::Identity;
use super::limits::OBJECT_KEY_BYTES_MAX;
use super::post_file::{FileDecoder, LengthRange};
use super::post_form::{Form, is_form};
use super::post_policy::PostPolicy;
use super::post_tagging::tagging_header;
use super::presigned::PresignedQuery;
use super::query::Query;
use super::service::Service;
use super::signed_as::SignedAs;
use super::signing_key::same_signature;
use super::sigv2::is_version_2;
use super::sigv4::{ALGORITHM, ALGORITHM_ASYMMETRIC, Place, Scope};
use liteio_identity::AccessKey;
use liteio_wire::reply::{ApiError, ErrorCode};

/// The form behind a PUT, in the extensions of the request: the file has no declared length, and
/// the form selects the success response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostForm {
    /// The bucket that the request names.
    pub bucket: String,
    /// The key, with `${filename}` expanded.
    pub key: String,
    /// The requested `success_action_status`: 200, 201 (with a document) or 204.
    pub success_status: u16,
    /// The URL to which the browser is redirected on success (303), with `bucket`, `key` and `etag`
    /// added to its query. It takes precedence over the status.
    pub success_redirect: Option<String>,
}

/// The content type `multipart/form-data` of a POST that is not a form upload, moved from its
/// headers to its extensions. It may describe an object (of CreateMultipartUpload), but no inner
/// layer may parse the body as a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HiddenContentType(pub(crate) HeaderValue);

/// Removes such a content type from a POST.
pub(super) fn hide_form_content_type(parts: &mut Parts) {
    if parts.method == Method::POST
        && is_form(&parts.headers)
        && let Some(value) = parts.headers.remove(CONTENT_TYPE)
    {
        parts.extensions.insert(HiddenContentType(value));
    }
}

const VERSION_4_FIELDS: [&str; 4] =
    ["x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature"];
const TOKEN_FIELD: &str = "x-amz-security-token";

/// MinIO's list of the objects that a form makes of one file. Ignored, it would make one object.
const FAN_OUT: &str = "x-minio-fanout-list";
const VERSION_2_FIELDS: [&str; 2] = ["awsaccesskeyid", "signature"];

/// The target of a form.
pub(super) struct FormTarget {
    bucket: String,
    /// The host names the bucket, not the path.
    by_host: bool,
}

/// `true` for a request whose signature claims to be for S3 Tables.
fn is_for_tables(headers: &HeaderMap) -> bool {
    let authorization = headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
    authorization.and_then(Service::claimed) == Some(Service::S3Tables)
}

impl Authenticator {
    /// The target of a form upload; `None` for any other request.
    ///
    /// # Errors
    /// `MethodNotAllowed` for a form that names no bucket; `PreconditionFailed` for a POST to a bucket
    /// that is neither a form nor an operation of a subresource.
    pub(super) fn form_target(
        &self,
        parts: &Parts,
        host_bucket: Option<&str>,
    ) -> Result<Option<FormTarget>, ApiError> {
        if parts.method != Method::POST {
            return Ok(None);
        }
        if !is_form(&parts.headers) {
            // Paths of S3 Tables look like names of buckets.
            let is_of_s3 = !is_for_tables(&parts.headers);
            return match is_of_s3 && is_post_to_bucket(&parts.uri, host_bucket) {
                true => Err(no_form()),
                false => Ok(None),
            };
        }
        // `?delete` (DeleteObjects) is the only other POST to a bucket.
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        if query.parameters().iter().any(|parameter| *parameter.decoded_name() == *b"delete") {
            return Ok(None);
        }
        let path = parts.uri.path().trim_start_matches('/');
        if let Some(bucket) = host_bucket {
            return match path {
                "" => Ok(Some(FormTarget { bucket: bucket.to_owned(), by_host: true })),
                _ => Ok(None),
            };
        }
        let bucket = path.strip_suffix('/').unwrap_or(path);
        if bucket.is_empty() {
            let error = ApiError::new(
                ErrorCode::MethodNotAllowed,
                "The specified method is not allowed against this resource.",
            );
            return Err(error.with("Method", "POST").with("ResourceType", "SERVICE"));
        }
        // A bucket name has no escapes, and a slash would begin the key that the policy covers.
        match bucket.contains(['/', '%']) {
            true => Ok(None),
            false => Ok(Some(FormTarget { bucket: bucket.to_owned(), by_host: false })),
        }
    }

    /// `true` for a form upload.
    #[must_use]
    pub fn is_form_upload(&self, parts: &Parts, host_bucket: Option<&str>) -> bool {
        matches!(self.form_target(parts, host_bucket), Ok(Some(_)))
    }

    /// Turns a form upload into the equivalent PUT.
    pub(super) async fn authenticate_form(
        &self,
        mut parts: Parts,
        mut source: Source,
        target: FormTarget,
    ) -> Result<http::Request<AuthBody>, ApiError> {
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let is_signed_twice = parts.headers.contains_key(AUTHORIZATION)
            || is_version_2(&query)
            || PresignedQuery::find(&query)?.is_some();
        if is_signed_twice {
            return Err(error::only_one_mechanism());
        }
        let mut form = Form::read(&parts.headers, &mut source).await?;
        if form.field(FAN_OUT).is_some() {
            return Err(error::fan_out());
        }
        expand_file_name(&mut form);
        let key = form_key(&form)?;
        let (identity, length) = self.check_form(&form, &target.bucket)?;
        let signed_as = match form.field("awsaccesskeyid") {
            Some(_) => SignedAs::version_2(Place::Form),
            None => SignedAs::form(),
        };
        let post_form = PostForm {
            success_status: success_status(&form),
            success_redirect: success_redirect(&form),
            bucket: target.bucket.clone(),
            key: key.clone(),
        };
        rewrite_headers(&mut parts.headers, &form)?;
        parts.method = Method::PUT;
        parts.uri = object_uri(&target, &key)?;
        let decoder = FileDecoder::new(form.delimiter, length);
        let [first, second] = form.file_start;
        let verifier = Verifier::FormFile(Box::new(decoder));
        let body = AuthBody::after((first, second), source, verifier);
        parts.extensions.insert(post_form);
        if matches!(identity, Identity::User(_)) {
            parts.extensions.insert(signed_as);
        }
        parts.extensions.insert(identity);
        if let Some(fault) = body.fault() {
            parts.extensions.insert(fault);
        }
        Ok(http::Request::from_parts(parts, body))
    }

    /// The sender of the form, and the allowed size of its file.
    fn check_form(&self, form: &Form, bucket: &str) -> Result<(Identity, LengthRange), ApiError> {
        if let Some(named) = form.field("bucket")
            && named != bucket
        {
            let message = "The bucket field of the form is not the bucket of the request.";
            return Err(error::access_denied(message));
        }
        let has_any = |names: &[&str]| names.iter().any(|name| form.field(name).is_some());
        let (is_version_2, is_version_4) = (has_any(&VERSION_2_FIELDS), has_any(&VERSION_4_FIELDS));
        if is_version_2 && is_version_4 {
            return Err(error::only_one_mechanism());
        }
        if !is_version_2 && !is_version_4 && form.field("policy").is_none() {
            return Ok((self.sender_without_signature()?, LengthRange::default()));
        }
        // Of a repeated field one copy could be checked and the other one used.
        for name in
            VERSION_4_FIELDS.into_iter().chain(VERSION_2_FIELDS).chain(["policy", TOKEN_FIELD])
        {
            if form.fields.iter().filter(|field| field.name == name).count() > 1 {
                let message = format!("The form field {name} is given more than once");
                return Err(error::invalid_argument(message).with("ArgumentName", name));
            }
        }
        let key = match self.everyone()? {
            Some(key) => key,
            None if is_version_2 => self.check_version_2_policy(
                required_field(form, "awsaccesskeyid")?,
                form.field(TOKEN_FIELD),
                required_field(form, "policy")?,
                required_field(form, "signature")?,
            )?,
            None if is_version_4 => self.check_form_signature(form)?,
            // As on AWS, a policy does not admit a sender without a signature.
            None => return Err(error::access_denied("Access Denied")),
        };
        let policy = PostPolicy::parse(required_field(form, "policy")?)?;
        let checked = policy.check(&form.fields, bucket, self.now_unix_seconds());
        checked.map_err(|refused| self.note_moved_clock(refused, policy.expires_unix_seconds))?;
        Ok((Identity::User(key), policy.length))
    }

    fn check_form_signature(&self, form: &Form) -> Result<Arc<AccessKey>, ApiError> {
        let policy = required_field(form, "policy")?;
        match required_field(form, "x-amz-algorithm")? {
            ALGORITHM => {}
            ALGORITHM_ASYMMETRIC => return Err(error::signature_version_4a()),
            other => {
                return Err(error::invalid_argument("Only AWS4-HMAC-SHA256 is supported")
                    .with("ArgumentName", "X-Amz-Algorithm")
                    .with("ArgumentValue", other));
            }
        }
        let date = required_field(form, "x-amz-date")?;
        let date = AmzDate::parse(date).ok_or_else(|| {
            // The spelling is AWS's.
            let message = "X-Amz-Date must be formated via ISO8601 Long format";
            error::invalid_argument(message)
                .with("ArgumentName", "X-Amz-Date")
                .with("ArgumentValue", date)
        })?;
        let credential = required_field(form, "x-amz-credential")?;
        let signature = required_field(form, "x-amz-signature")?;
        let scope = Scope::parse(credential, Place::Form, &self.rules, &date)?;
        if scope.service != Service::S3 {
            let detail = "incorrect service; this endpoint belongs to \"s3\".";
            return Err(Place::Form.malformed_credential(credential, detail));
        }
        let (access_key, signing_key) = self.signer(&scope, form.field(TOKEN_FIELD))?;
        if same_signature(&signing_key.sign(&[policy.as_bytes()]), signature) {
            return Ok(access_key);
        }
        Err(error::signature_does_not_match(&SignatureDiagnostics {
            access_key_id: scope.access_key,
            string_to_sign: policy,
            signature_provided: signature,
            canonical_request: None,
        }))
    }
}

/// `true` for a bucket without a subresource. A path that does not begin like the name of a bucket
/// belongs to another service: the operations of S3 Vectors begin with a capital letter.
fn is_post_to_bucket(uri: &Uri, host_bucket: Option<&str>) -> bool {
    let path = uri.path().trim_start_matches('/');
    let is_bucket = match host_bucket {
        Some(_) => path.is_empty(),
        None => {
            let bucket = path.strip_suffix('/').unwrap_or(path);
            let begins = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            bucket.as_bytes().first().is_some_and(begins) && !bucket.contains(['/', '%'])
        }
    };
    is_bucket && uri.query().unwrap_or_default().is_empty()
}

fn no_form() -> ApiError {
    let message = "At least one of the pre-conditions you specified did not hold";
    let condition = "Bucket POST must be of the enclosure-type multipart/form-data";
    ApiError::new(ErrorCode::PreconditionFailed, message).with("Condition", condition)
}

/// The spelling of a field's name in errors, as on AWS. In forms the case does not matter.
fn spelled(name: &str) -> &str {
    match name {
        "awsaccesskeyid" => "AWSAccessKeyId",
        "signature" => "Signature",
        "x-amz-algorithm" => "X-Amz-Algorithm",
        "x-amz-credential" => "X-Amz-Credential",
        "x-amz-date" => "X-Amz-Date",
        "x-amz-signature" => "X-Amz-Signature",
        other => other,
    }
}

fn required_field<'a>(form: &'a Form, name: &str) -> Result<&'a str, ApiError> {
    form.field(name).ok_or_else(|| {
        let name = spelled(name);
        let message = format!(
            "Bucket POST must contain a field named '{name}'.  If it is specified, please check \
             the order of the fields."
        );
        error::invalid_argument(message).with("ArgumentName", name).with("ArgumentValue", "")
    })
}

/// Expands `${filename}` in every field, before the policy is checked. As on AWS it stays as it is
/// if the file has no name: programs send the file as a plain field.
fn expand_file_name(form: &mut Form) {
    let Some(file_name) = &form.file_name else { return };
    for field in &mut form.fields {
        if field.name != "policy" && field.value.contains("${filename}") {
            field.value = field.value.replace("${filename}", file_name);
        }
    }
}

fn form_key(form: &Form) -> Result<String, ApiError> {
    if form.fields.iter().filter(|field| field.name == "key").count() > 1 {
        let message = "The form field key is given more than once";
        return Err(error::invalid_argument(message).with("ArgumentName", "key"));
    }
    let key = required_field(form, "key")?;
    if key.is_empty() {
        let message = "User key must have a length greater than 0.";
        return Err(error::invalid_argument(message).with("ArgumentName", "key"));
    }
    if key.len() > OBJECT_KEY_BYTES_MAX {
        return Err(ApiError::new(ErrorCode::KeyTooLongError, "Your key is too long")
            .with("Size", key.len().to_string())
            .with("MaxSizeAllowed", OBJECT_KEY_BYTES_MAX.to_string()));
    }
    Ok(key.to_owned())
}

fn success_status(form: &Form) -> u16 {
    match form.field("success_action_status") {
        Some("200") => 200,
        Some("201") => 201,
        _ => 204,
    }
}

/// The success redirect. Like AWS, ignores a value that is not a URL.
fn success_redirect(form: &Form) -> Option<String> {
    let redirect = form.field("success_action_redirect").or_else(|| form.field("redirect"))?;
    let uri: Uri = redirect.parse().ok()?;
    matches!(uri.scheme_str(), Some("http" | "https")).then(|| redirect.to_owned())
}

fn object_uri(target: &FormTarget, key: &str) -> Result<Uri, ApiError> {
    let mut path = Vec::with_capacity(target.bucket.len() + key.len() + 16);
    path.push(b'/');
    if !target.by_host {
        // Taken from the path, so it is encoded already.
        path.extend_from_slice(target.bucket.as_bytes());
        path.push(b'/');
    }
    push_encoded(&mut path, key.bytes(), true);
    let path = PathAndQuery::from_maybe_shared(path)
        .map_err(|_| ApiError::new(ErrorCode::InvalidURI, "Couldn't parse the specified URI."))?;
    Ok(Uri::from(path))
}

/// `true` for a form field that becomes a header of the same name.
fn is_header_field(name: &str) -> bool {
    const EXACT: [&str; 12] = [
        "cache-control",
        "content-type",
        "content-disposition",
        "content-encoding",
        "content-language",
        "content-md5",
        "expires",
        "x-amz-sdk-checksum-algorithm",
        "x-amz-storage-class",
        "x-amz-tagging",
        "x-amz-website-redirect-location",
        "x-amz-acl",
    ];
    const PREFIXES: [&str; 4] =
        ["x-amz-meta-", "x-amz-checksum-", "x-amz-server-side-encryption", "x-amz-object-lock-"];
    EXACT.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Removes headers that describe the form or that only a signature could have allowed, and adds
/// headers for the fields that describe the object.
fn rewrite_headers(headers: &mut HeaderMap, form: &Form) -> Result<(), ApiError> {
    let describes_form = |name: &HeaderName| {
        let text = name.as_str();
        text.starts_with("x-amz-")
            || text.starts_with("content-")
            || text.starts_with("if-")
            || matches!(text, "cache-control" | "expires" | "range")
            || name == TRANSFER_ENCODING
    };
    let removed: Vec<HeaderName> = headers.keys().filter(|n| describes_form(n)).cloned().collect();
    for name in removed {
        headers.remove(name);
    }
    for field in &form.fields {
        match field.name.as_str() {
            "acl" => insert(headers, "x-amz-acl", &field.value)?,
            "tagging" => insert(headers, "x-amz-tagging", &tagging_header(&field.value)?)?,
            name if is_header_field(name) => insert(headers, name, &field.value)?,
            _ => {}
        }
    }
    Ok(())
}

/// True for text that means itself in a header: in forms, unlike in headers, S3 does not decode
/// words of RFC 2047.
fn is_plain(text: &str) -> bool {
    let is_visible = |byte: u8| byte == b'\t' || (b' '..=b'~').contains(&byte);
    text.bytes().all(is_visible) && !text.contains("=?")
}

fn insert(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), ApiError> {
    let invalid = || {
        error::invalid_argument(format!("The form field {name} cannot be a header"))
            .with("ArgumentName", name)
    };
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
    let is_user_metadata = name.as_str().starts_with("x-amz-meta-");
    let text = if is_user_metadata { value } else { value.trim() };
    // User metadata that a header cannot carry, or that would be decoded, is encoded according to
    // RFC 2047. The other headers are ISO-8859-1 on S3, where a blank replaces each character that
    // this does not have.
    let value = if is_user_metadata && !is_plain(text) {
        let base64 = base64_simd::STANDARD.encode_to_string(text.as_bytes());
        HeaderValue::from_str(&format!("=?UTF-8?B?{base64}?="))
    } else if !text.is_ascii() && !name.as_str().starts_with("x-amz-") {
        let bytes: Vec<u8> =
            text.chars().map(|character| u8::try_from(character).unwrap_or(b' ')).collect();
        HeaderValue::from_bytes(&bytes)
    } else {
        HeaderValue::from_bytes(text.as_bytes())
    };
    if headers.insert(name.clone(), value.map_err(|_| invalid())?).is_some() {
        let message = format!("The form field {name} is given more than once");
        return Err(error::invalid_argument(message).with("ArgumentName", name.as_str()));
    }
    Ok(())
}
