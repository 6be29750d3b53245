//! Refusals of requests for services of AWS that are not here, in the format that their clients read.

use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderName, Method, StatusCode};

use liteio_auth::Service;
use liteio_wire::reply::{ApiError, Dialect};

/// The operation of services with the JSON protocol.
const AMZ_TARGET: HeaderName = HeaderName::from_static("x-amz-target");
/// Characters of an operation or a service that a refusal shows.
const SHOWN_CHARACTERS_MAX: usize = 100;
/// The start of the content type of forms.
const FORM: &[u8] = b"application/x-www-form-urlencoded";
/// Services of AWS that have their operations in the path and errors in JSON, by their names in credential scopes.
const REST_IN_JSON: [&str; 17] = [
    "apigateway",
    "appconfig",
    "appsync",
    "backup",
    "batch",
    "bedrock",
    "eks",
    "elasticfilesystem",
    "es",
    "glacier",
    "iot",
    "kafka",
    "lambda",
    "pipes",
    "scheduler",
    "ses",
    "xray",
];
/// The same with errors in XML.
const REST_IN_XML: [&str; 2] = ["cloudfront", "route53"];

/// The refusal of a request that is signed for the catalog, and is for something else.
pub(crate) fn not_served(service: Service) -> ApiError {
    let message = format!(
        "Requests for {} are served below /_iceberg/v1/ only: the Iceberg REST catalog.",
        service.name()
    );
    let code = "UnknownOperationException";
    ApiError::with_status(Dialect::S3Vectors, code, StatusCode::NOT_IMPLEMENTED, message)
}

/// The refusal of a request for another service of AWS, in JSON, which its client understands: services with that
/// protocol name their operation in a header (DynamoDB, SQS, KMS). None of those here has it.
pub(crate) fn of_other_service(head: &Parts) -> Option<ApiError> {
    let target = head.headers.get(AMZ_TARGET).filter(|_| head.method == Method::POST)?;
    Some(served_elsewhere(target.to_str().ok()?, Dialect::S3Vectors))
}

/// The refusal of a request whose signature is for another service of AWS: in XML for a form (SNS, CloudFormation, EC2), else in
/// the format of that service (Lambda, API Gateway). S3 has no forms with a signature in a header. Other requests with the
/// name of an unknown service are left to S3: clients of S3 may sign with a name of their own.
pub(crate) fn of_other_scope(authorization: &str, is_form: bool) -> Option<ApiError> {
    let name = Service::claimed_name(authorization)?;
    if name.is_empty() || name.starts_with("s3") {
        return None;
    }
    if is_form || REST_IN_XML.contains(&name) {
        return Some(served_elsewhere(name, Dialect::S3Control));
    }
    REST_IN_JSON.contains(&name).then(|| served_elsewhere(name, Dialect::S3Vectors))
}

/// `true` for a request of the Query protocol, which has its operation in a form.
pub(crate) fn is_form(head: &Parts) -> bool {
    head.method == Method::POST
        && head.headers.get(CONTENT_TYPE).is_some_and(|it| it.as_bytes().starts_with(FORM))
}

/// The refusal of an operation or a service that other servers have.
fn served_elsewhere(name: &str, dialect: Dialect) -> ApiError {
    let of_name = |it: &char| it.is_ascii_alphanumeric() || matches!(it, '_' | '.' | '-');
    let name: String = name.chars().take(SHOWN_CHARACTERS_MAX).filter(of_name).collect();
    let message = format!(
        "{name} is not served here: this server has S3, S3 Vectors, S3 Tables, IAM and STS. Point the client of the other \
         service elsewhere."
    );
    let code = "UnknownOperationException";
    ApiError::with_status(dialect, code, StatusCode::NOT_IMPLEMENTED, message)
}
