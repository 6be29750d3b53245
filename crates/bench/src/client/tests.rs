//! Signatures equal the SDK's.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningParams,
    SigningSettings, UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4;

use super::connection::without_error;
use super::sign::{EMPTY_SHA256, Endpoint, Service, Signer, ToSign};

#[test]
fn a_failure_may_stand_in_the_text_of_an_answer() {
    let failed = "<DeleteResult><Error><Key>k</Key></Error></DeleteResult>";
    assert!(without_error("<DeleteResult/>".to_owned()).is_ok());
    assert!(without_error(failed.to_owned()).is_err());
}

/// The GET with a range of Amazon's documentation of Signature Version 4, but for the header
/// `range`, which is not signed here.
#[test]
fn a_signature_covers_host_and_amz_headers_in_order() {
    let mut signer = signer(Service::S3);
    let headers = [("x-amz-acl".to_owned(), "private".to_owned())];
    let request = ToSign { method: "PUT", path: "/b/k", query: "", headers: &headers };
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_440_938_160);
    let signed = signer.sign_at(request, EMPTY_SHA256, time);
    assert_eq!(signed.date, "20150830T123600Z");
    assert!(
        signed.authorization.starts_with(
            "AWS4-HMAC-SHA256 Credential=KEY/20150830/eu-west-1/s3/aws4_request, \
             SignedHeaders=host;x-amz-acl;x-amz-content-sha256;x-amz-date, Signature="
        ),
        "{}",
        signed.authorization
    );
}

/// The signature of the SDK, of a request to our server at [`time`].
fn theirs(request: ToSign<'_>, hash: &str, name: &str, settings: SigningSettings) -> String {
    let identity =
        aws_credential_types::Credentials::new("KEY", "secret", None, None, "test").into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region("eu-west-1")
        .name(name)
        .time(time())
        .settings(settings)
        .build()
        .expect("all parameters are there");
    let mark = if request.query.is_empty() { "" } else { "?" };
    let uri = format!("http://{HOST}{}{mark}{}", request.path, request.query);
    let body = match hash {
        "UNSIGNED-PAYLOAD" => SignableBody::UnsignedPayload,
        hash => SignableBody::Precomputed(hash.to_owned()),
    };
    let headers = request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let request = SignableRequest::new(request.method, uri, headers, body).expect("it is fine");
    let signed = sign(request, &SigningParams::V4(params)).expect("it is signed");
    format!("Signature={}", signed.signature())
}

const HOST: &str = "127.0.0.1:9000";

fn signer(service: Service) -> Signer {
    let [host, access_key, secret_key, region] =
        [HOST, "KEY", "secret", "eu-west-1"].map(str::to_owned);
    Signer::new(
        Arc::new(Endpoint { host, others: Vec::new(), access_key, secret_key, region }),
        service,
    )
}

fn time() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000)
}

/// Our own signing is light because it does less each time, not because it does something else.
#[test]
fn signatures_are_those_of_the_sdk() {
    let metadata = [("x-amz-meta-name".to_owned(), "a value".to_owned())];
    let listing = "continuation-token=a%2Fb%3D&delimiter=%2F&list-type=2&prefix=p%2F";
    for (method, path, query, headers, hash) in [
        ("GET", "/", "", &[][..], EMPTY_SHA256),
        ("PUT", "/b/a%20key/%C3%BC", "", &metadata[..], EMPTY_SHA256),
        ("GET", "/b", listing, &[], EMPTY_SHA256),
        ("POST", "/b/key", "uploads=", &[], EMPTY_SHA256),
        ("PUT", "/b/key", "partNumber=1&uploadId=a.b-c", &[], "UNSIGNED-PAYLOAD"),
    ] {
        let request = ToSign { method, path, query, headers };
        let mut settings = SigningSettings::default();
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        let ours = signer(Service::S3).sign_at(request, hash, time());
        let theirs = theirs(request, hash, "s3", settings);
        assert!(ours.authorization.ends_with(&theirs), "{method} {path}?{query}");
    }
}

/// S3 Vectors is signed as boto3 signs it: with the type of the body, without its hash in a header.
#[test]
fn signatures_for_vectors_are_those_of_the_sdk() {
    let headers = &[("content-type".to_owned(), "application/json".to_owned())];
    let request = ToSign { method: "POST", path: "/PutVectors", query: "", headers };
    let ours = signer(Service::S3Vectors).sign_at(request, EMPTY_SHA256, time());
    assert_eq!(ours.content_sha256, None);
    assert!(ours.authorization.contains("SignedHeaders=content-type;host;x-amz-date, "));
    let theirs = theirs(request, EMPTY_SHA256, "s3vectors", SigningSettings::default());
    assert!(ours.authorization.ends_with(&theirs));
}
