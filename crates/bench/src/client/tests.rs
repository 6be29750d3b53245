//! Signatures are those of the SDK.

use std::time::{Duration, SystemTime};

use aws_sigv4::http_request::{
    PayloadChecksumKind, SignableBody, SignableRequest, SigningParams, SigningSettings, sign,
};
use aws_sigv4::sign::v4;

use super::sign::{EMPTY_SHA256, Service, Signer, ToSign};

/// The GET with a range of Amazon's documentation of Signature Version 4, but for the header `range`,
/// which is not signed here.
#[test]
fn a_signature_covers_host_and_amz_headers_in_order() {
    let mut signer =
        Signer::new("AKIDEXAMPLE", "secret", "us-east-1", "example.com:80", Service::S3);
    let headers = [("x-amz-acl".to_owned(), "private".to_owned())];
    let request = ToSign { method: "PUT", path: "/b/k", query: "", headers: &headers };
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_440_938_160);
    let signed = signer.sign_at(request, EMPTY_SHA256, time);
    assert_eq!(signed.date, "20150830T123600Z");
    assert!(
        signed.authorization.starts_with(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/s3/aws4_request, \
             SignedHeaders=host;x-amz-acl;x-amz-content-sha256;x-amz-date, Signature="
        ),
        "{}",
        signed.authorization
    );
}

/// Our own signing is light because it does less each time, not because it does something else.
#[test]
fn signatures_are_those_of_the_sdk() {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
    let identity =
        aws_credential_types::Credentials::new("KEY", "secret", None, None, "test").into();
    let metadata = [("x-amz-meta-name".to_owned(), "a value".to_owned())];
    for (method, path, query, headers, hash) in [
        ("GET", "/", "", &[][..], EMPTY_SHA256),
        ("PUT", "/b/a%20key/%C3%BC", "", &metadata[..], EMPTY_SHA256),
        (
            "GET",
            "/b",
            "continuation-token=a%2Fb%3D&delimiter=%2F&list-type=2&prefix=p%2F",
            &[],
            EMPTY_SHA256,
        ),
        ("POST", "/b/key", "uploads=", &[], EMPTY_SHA256),
        ("PUT", "/b/key", "partNumber=1&uploadId=a.b-c", &[], "UNSIGNED-PAYLOAD"),
    ] {
        let mut signer = Signer::new("KEY", "secret", "eu-west-1", "127.0.0.1:9000", Service::S3);
        let ours = signer.sign_at(ToSign { method, path, query, headers }, hash, time);

        let mut settings = SigningSettings::default();
        settings.percent_encoding_mode = aws_sigv4::http_request::PercentEncodingMode::Single;
        settings.uri_path_normalization_mode =
            aws_sigv4::http_request::UriPathNormalizationMode::Disabled;
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region("eu-west-1")
            .name("s3")
            .time(time)
            .settings(settings)
            .build()
            .expect("all parameters are there");
        let mark = if query.is_empty() { "" } else { "?" };
        let uri = format!("http://127.0.0.1:9000{path}{mark}{query}");
        let body = match hash {
            "UNSIGNED-PAYLOAD" => SignableBody::UnsignedPayload,
            hash => SignableBody::Precomputed(hash.to_owned()),
        };
        let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let request = SignableRequest::new(method, uri, headers, body).expect("it can be signed");
        let theirs = sign(request, &SigningParams::V4(params)).expect("it is signed");
        let signature = format!("Signature={}", theirs.signature());
        assert!(ours.authorization.ends_with(&signature), "{method} {path}?{query}");
    }
}

/// S3 Vectors is signed as boto3 signs it: with the type of the body, without its hash in a header.
#[test]
fn signatures_for_vectors_are_those_of_the_sdk() {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
    let headers = [("content-type".to_owned(), "application/json".to_owned())];
    let host = "127.0.0.1:9000";
    let mut signer = Signer::new("KEY", "secret", "eu-west-1", host, Service::S3Vectors);
    let to_sign = ToSign { method: "POST", path: "/PutVectors", query: "", headers: &headers };
    let ours = signer.sign_at(to_sign, EMPTY_SHA256, time);
    assert_eq!(ours.content_sha256, None);
    assert!(ours.authorization.contains("SignedHeaders=content-type;host;x-amz-date, "));

    let identity =
        aws_credential_types::Credentials::new("KEY", "secret", None, None, "test").into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region("eu-west-1")
        .name("s3vectors")
        .time(time)
        .settings(SigningSettings::default())
        .build()
        .expect("all parameters are there");
    let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let uri = format!("http://{host}/PutVectors");
    let body = SignableBody::Precomputed(EMPTY_SHA256.to_owned());
    let request = SignableRequest::new("POST", uri, headers, body).expect("it can be signed");
    let theirs = sign(request, &SigningParams::V4(params)).expect("it is signed");
    assert!(ours.authorization.ends_with(&format!("Signature={}", theirs.signature())));
}
