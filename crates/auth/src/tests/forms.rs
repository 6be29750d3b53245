//! Browser forms: the published example, every kind of condition, and hostile forms.

use http::Request;
use proptest::prelude::*;

use super::signer::Signer;
use super::*;
use crate::PostForm;
use crate::post_object::HiddenContentType;
use liteio_wire::reply::ApiError;

const FORM_DATE: &str = "20151229T000000Z";

/// The policy of the published example, as encoded in the form.
const PUBLISHED_POLICY: &str = "\
eyAiZXhwaXJhdGlvbiI6ICIyMDE1LTEyLTMwVDEyOjAwOjAwLjAwMFoiLA0KICAiY29uZGl0aW9ucyI6IFsNCiAgICB7ImJ1Y2\
tldCI6ICJzaWd2NGV4YW1wbGVidWNrZXQifSwNCiAgICBbInN0YXJ0cy13aXRoIiwgIiRrZXkiLCAidXNlci91c2VyMS8iXSwN\
CiAgICB7ImFjbCI6ICJwdWJsaWMtcmVhZCJ9LA0KICAgIHsic3VjY2Vzc19hY3Rpb25fcmVkaXJlY3QiOiAiaHR0cDovL3NpZ3\
Y0ZXhhbXBsZWJ1Y2tldC5zMy5hbWF6b25hd3MuY29tL3N1Y2Nlc3NmdWxfdXBsb2FkLmh0bWwifSwNCiAgICBbInN0YXJ0cy13\
aXRoIiwgIiRDb250ZW50LVR5cGUiLCAiaW1hZ2UvIl0sDQogICAgeyJ4LWFtei1tZXRhLXV1aWQiOiAiMTQzNjUxMjM2NTEyNz\
QifSwNCiAgICB7IngtYW16LXNlcnZlci1zaWRlLWVuY3J5cHRpb24iOiAiQUVTMjU2In0sDQogICAgWyJzdGFydHMtd2l0aCIs\
ICIkeC1hbXotbWV0YS10YWciLCAiIl0sDQoNCiAgICB7IngtYW16LWNyZWRlbnRpYWwiOiAiQUtJQUlPU0ZPRE5ON0VYQU1QTE\
UvMjAxNTEyMjkvdXMtZWFzdC0xL3MzL2F3czRfcmVxdWVzdCJ9LA0KICAgIHsieC1hbXotYWxnb3JpdGhtIjogIkFXUzQtSE1B\
Qy1TSEEyNTYifSwNCiAgICB7IngtYW16LWRhdGUiOiAiMjAxNTEyMjlUMDAwMDAwWiIgfQ0KICBdDQp9";

const PUBLISHED_SIGNATURE: &str =
    "8afdbf4008c03f22c2cd3cdb72e4afbb1f6a588f3255ac628749a66d7f09699e";

pub(super) type Fields = Vec<(String, String)>;

pub(super) fn fields(pairs: &[(&str, &str)]) -> Fields {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The bytes of a form; a field named `file` is written as a file.
fn form_bytes(fields: &Fields, file: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        let head = format!("--edge\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
        bytes.extend_from_slice(format!("{head}{value}\r\n").as_bytes());
    }
    let head = "--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"dir/a b.txt\"\
                \r\nContent-Type: text/x-part\r\n\r\n";
    bytes.extend_from_slice(head.as_bytes());
    bytes.extend_from_slice(file);
    bytes.extend_from_slice(b"\r\n--edge--\r\n");
    bytes
}

fn post_to(uri: &str, body: TestBody) -> Request<TestBody> {
    Request::post(uri)
        .header("host", "localhost:9000")
        .header("content-type", "multipart/form-data; boundary=edge")
        .header("cache-control", "max-age=0")
        .body(body)
        .expect("valid request")
}

fn send_bytes(uri: &str, bytes: Vec<u8>) -> Result<Request<AuthBody>, ApiError> {
    let authenticator = authenticator_at(FORM_DATE, 60);
    authenticate(&authenticator, post_to(uri, TestBody::new([bytes])))
}

pub(super) fn send(
    bucket: &str,
    fields: &Fields,
    file: &[u8],
) -> Result<Request<AuthBody>, ApiError> {
    send_bytes(&format!("/{bucket}"), form_bytes(fields, file))
}

fn published() -> Fields {
    fields(&[
        ("key", "user/user1/${filename}"),
        ("acl", "public-read"),
        (
            "success_action_redirect",
            "http://sigv4examplebucket.s3.amazonaws.com/successful_upload.html",
        ),
        ("Content-Type", "image/jpeg"),
        ("x-amz-meta-uuid", "14365123651274"),
        ("x-amz-server-side-encryption", "AES256"),
        ("X-Amz-Credential", "AKIAIOSFODNN7EXAMPLE/20151229/us-east-1/s3/aws4_request"),
        ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
        ("X-Amz-Date", FORM_DATE),
        ("x-amz-meta-tag", ""),
        ("Policy", PUBLISHED_POLICY),
        ("X-Amz-Signature", PUBLISHED_SIGNATURE),
    ])
}

pub(super) fn replaced(mut fields: Fields, name: &str, value: &str) -> Fields {
    for field in &mut fields {
        if field.0 == name {
            value.clone_into(&mut field.1);
        }
    }
    fields
}

pub(super) fn without(mut fields: Fields, name: &str) -> Fields {
    fields.retain(|field| field.0 != name);
    fields
}

#[test]
fn a_form_that_expired_by_a_moved_clock_alone_tells_of_it() {
    let server = authenticator_moved(FORM_DATE, 7 * 86_400, 0);
    let body = TestBody::new([form_bytes(&published(), b"JPEG")]);
    let refused = authenticate(&server, post_to("/sigv4examplebucket", body));
    let refused = refused.expect_err("expired");
    assert!(refused.message().ends_with("Policy expired."), "{refused}");
    assert!(element(&refused, "Detail").is_some_and(|told| told.contains("reset the clock")));
}

#[test]
fn the_published_form_becomes_a_put() {
    let put = send("sigv4examplebucket", &published(), b"JPEG").expect("accepted");
    assert_user(&put, "example");
    assert_eq!(put.method(), http::Method::PUT);
    assert_eq!(put.uri(), "/sigv4examplebucket/user/user1/a%20b.txt");
    let headers = put.headers();
    assert_eq!(headers["content-type"], "image/jpeg");
    assert_eq!(headers["x-amz-acl"], "public-read");
    assert_eq!(headers["x-amz-meta-uuid"], "14365123651274");
    assert_eq!(headers["x-amz-server-side-encryption"], "AES256");
    assert_eq!(headers["host"], "localhost:9000");
    for name in ["cache-control", "content-length", "x-amz-signature", "x-amz-date"] {
        assert!(!headers.contains_key(name), "{name}");
    }
    let form = put.extensions().get::<PostForm>().expect("marked").clone();
    assert_eq!(form.bucket, "sigv4examplebucket");
    assert_eq!(form.key, "user/user1/a b.txt");
    assert_eq!(form.success_status, 204);
    let redirect = "http://sigv4examplebucket.s3.amazonaws.com/successful_upload.html";
    assert_eq!(form.success_redirect.as_deref(), Some(redirect));
    assert_eq!(read(put.into_body()), (b"JPEG".to_vec(), Ok(())));
}

#[test]
fn the_published_form_cannot_be_changed() {
    let bucket = "sigv4examplebucket";
    for (name, value, code, message) in [
        ("X-Amz-Signature", "00", "SignatureDoesNotMatch", ""),
        ("Policy", "e30=", "SignatureDoesNotMatch", ""),
        ("key", "user/user2/a", "AccessDenied", "[\"starts-with\", \"$key\", \"user/user1/\"]"),
        ("acl", "private", "AccessDenied", "Policy Condition failed"),
        ("Content-Type", "text/html", "AccessDenied", "Policy Condition failed"),
        ("Content-Type", "image/png, text/html", "AccessDenied", "Policy Condition failed"),
        ("x-amz-meta-uuid", "1", "AccessDenied", "Policy Condition failed"),
        (
            "X-Amz-Algorithm",
            "AWS4-HMAC-SHA1",
            "InvalidArgument",
            "Only AWS4-HMAC-SHA256 is supported",
        ),
        ("X-Amz-Algorithm", "AWS4-ECDSA-P256-SHA256", "NotImplemented", "4A"),
        ("X-Amz-Date", "today", "InvalidArgument", "ISO8601"),
        ("X-Amz-Date", "20151230T000000Z", "InvalidArgument", "credential date"),
        ("X-Amz-Credential", "nonsense", "InvalidArgument", "mal-formed"),
        (
            "X-Amz-Credential",
            "AKIAIOSFODNN7EXAMPLE/2015-12-29/us-east-1/s3/aws4_request",
            "InvalidArgument",
            "incorrect date format \"2015-12-29\"",
        ),
        ("X-Amz-Credential", "NOBODY/20151229/us-east-1/s3/aws4_request", "InvalidAccessKeyId", ""),
        (
            "X-Amz-Credential",
            "AKIAIOSFODNN7EXAMPLE/20151229/mars/s3/aws4_request",
            "InvalidArgument",
            "the region 'mars' is wrong; expecting 'us-east-1'",
        ),
    ] {
        let refused = send(bucket, &replaced(published(), name, value), b"JPEG");
        assert_refused(refused, code, message);
    }
    let other = send("otherbucket", &published(), b"JPEG");
    assert_refused(other, "AccessDenied", "[\"eq\", \"$bucket\", \"sigv4examplebucket\"]");
    for name in ["Policy", "X-Amz-Signature", "X-Amz-Date", "X-Amz-Credential", "X-Amz-Algorithm"] {
        let refused = send(bucket, &without(published(), name), b"JPEG");
        let spelled = name.replace("Policy", "policy");
        let message = format!("Bucket POST must contain a field named '{spelled}'");
        assert_refused(refused, "InvalidArgument", &message);
    }
    let signature = |name: &str| name.to_ascii_lowercase().starts_with("x-amz-");
    let unsigned = published().into_iter().filter(|(name, _)| !signature(name)).collect::<Fields>();
    assert_refused(send(bucket, &unsigned, b"JPEG"), "AccessDenied", "Access Denied");
    let mut extra = published();
    extra.push(("x-amz-storage-class".into(), "GLACIER".into()));
    let refused = send(bucket, &extra, b"JPEG");
    assert_refused(refused, "AccessDenied", "Extra input fields: x-amz-storage-class");
    let mut ignored = published();
    ignored.push(("x-ignore-me".into(), "please".into()));
    assert_user(&send(bucket, &ignored, b"JPEG").expect("exempt"), "example");
    // A list of content types is valid if each of them is.
    let images = replaced(published(), "Content-Type", "image/png, image/jpeg");
    assert_user(&send(bucket, &images, b"JPEG").expect("both begin so"), "example");

    let late = authenticator_at(FORM_DATE, 36 * 3600 + 1);
    let body = TestBody::new([form_bytes(&published(), b"")]);
    let refused = authenticate(&late, post_to("/sigv4examplebucket", body));
    assert_refused(refused, "AccessDenied", "Policy expired");
}

/// A signed form to `bucket` with the key `k` and these conditions in addition to the usual ones.
fn signed(conditions: &str, extra: &[(&str, &str)]) -> Fields {
    signed_document(
        &format!(
            r#"{{"expiration": "2016-01-01T00:00:00Z", "conditions": [{{"bucket": "bucket"}},
        ["eq", "$KEY", "k"], ["starts-with", "$x-amz-", ""], {{"x-amz-date": "{FORM_DATE}"}},
        ["starts-with", "$x-amz-credential", "AKIA"], {{"x-amz-algorithm": "AWS4-HMAC-SHA256"}}
        {}{conditions}]}}"#,
            if conditions.is_empty() { "" } else { "," },
        ),
        extra,
    )
}

fn signed_document(document: &str, extra: &[(&str, &str)]) -> Fields {
    let signer = Signer::new("POST", "/", "").date(FORM_DATE);
    let policy = base64_simd::STANDARD.encode_to_string(document);
    let credential = signer.credential();
    let signature = signer.sign(&policy);
    let mut all = fields(&[
        ("key", "k"),
        ("x-amz-credential", &credential),
        ("x-amz-algorithm", "AWS4-HMAC-SHA256"),
        ("x-amz-date", FORM_DATE),
        ("policy", &policy),
        ("x-amz-signature", &signature),
    ]);
    all.extend(fields(extra));
    all
}

#[test]
fn conditions_decide() {
    let denied = Some("AccessDenied");
    for (conditions, extra, code) in [
        ("", &[][..], None),
        (r#"["eq", "$x-amz-meta-a", "1"]"#, &[("x-amz-meta-a", "1")], None),
        (r#"["EQ", "$X-Amz-Meta-A", "1"]"#, &[("X-AMZ-META-a", "1")], None),
        (r#"["eq", "$x-amz-meta-a", "1"]"#, &[("x-amz-meta-a", "12")], denied),
        (r#"["eq", "$x-amz-meta-a", "a"]"#, &[("x-amz-meta-a", "A")], denied),
        (r#"["eq", "$x-amz-meta-a", "1"]"#, &[], denied),
        (r#"{"x-amz-meta-a": "1"}"#, &[("x-amz-meta-a", "1")], None),
        (r#"["starts-with", "$x-amz-meta-a", "1"]"#, &[("x-amz-meta-a", "12")], None),
        (r#"["starts-with", "$x-amz-meta-a", ""]"#, &[], None),
        (r#"["starts-with", "$x-amz-meta-a", "1"]"#, &[("x-amz-meta-a", "21")], denied),
        (r#"["starts-with", "$x-amz-meta-a", "1"]"#, &[], denied),
        (r#"["starts-with", "$a", "1"]"#, &[("a", "1"), ("a", "2")], denied),
        ("", &[("x-amz-meta-a", "1")], denied),
        ("", &[("x-ignore-a", "1")], None),
        ("", &[("submit", "Upload")], denied),
        (r#"["starts-with", "$submit", ""]"#, &[("submit", "Upload")], None),
    ] {
        let result = send("bucket", &signed(conditions, extra), b"x");
        match code {
            None => assert_user(&result.expect(conditions), "example"),
            Some(code) => assert_refused(result, code, "Invalid according to Policy"),
        }
    }
}

/// As recorded on AWS: the document is well-formed, and no form fulfils the condition.
#[test]
fn a_condition_without_a_field_or_a_number_never_holds() {
    for condition in [
        r#"["eq", "x-amz-meta-a", "1"]"#,
        r#"["starts-with", "x-amz-meta-a", ""]"#,
        r#"["eq", "", ""]"#,
        r#"["content-length-range", "test", "10"]"#,
        r#"["content-length-range", "1", "test"]"#,
        r#"["content-length-range", "-1", "10"]"#,
    ] {
        let refused = send("bucket", &signed(condition, &[]), b"x");
        let message = format!("Invalid according to Policy: Policy Condition failed: {condition}");
        assert_refused(refused, "AccessDenied", &message);
    }
}

#[test]
fn malformed_policies_are_refused() {
    let usual = r#""expiration": "2016-01-01T00:00:00Z""#;
    for document in [
        "",
        "[]",
        "{}",
        "{",
        r#"{"conditions": []}"#,
        r#"{"expiration": "soon", "conditions": []}"#,
        r#"{"expiration": "2016-01-01 00:00:00+00:00", "conditions": []}"#,
        r#"{"expiration": 1, "conditions": []}"#,
        r#"{"Expiration": "2016-01-01T00:00:00Z", "conditions": []}"#,
        &format!("{{{usual}}}"),
        &format!(r#"{{{usual}, "CONDITIONS": []}}"#),
        &format!(r#"{{{usual}, "conditions": {{}}}}"#),
        &format!(r#"{{{usual}, "conditions": [{{}}]}}"#),
        &format!(r#"{{{usual}, "conditions": [1]}}"#),
        &format!(r#"{{{usual}, "conditions": [{{"a": 1}}]}}"#),
        &format!(r#"{{{usual}, "conditions": [{{"a": "1", "b": "2"}}]}}"#),
        &format!(r#"{{{usual}, "conditions": [["eq", "$a"]]}}"#),
        &format!(r#"{{{usual}, "conditions": [["eq", 1, "b"]]}}"#),
        &format!(r#"{{{usual}, "conditions": [["eq", "$a", 1]]}}"#),
        &format!(r#"{{{usual}, "conditions": [["ends-with", "$a", "b"]]}}"#),
        &format!(r#"{{{usual}, "conditions": [["content-length-range", 0]]}}"#),
        &format!(r#"{{{usual}, "conditions": [["content-length-range", -1, 2]]}}"#),
        &format!(r#"{{{usual}, "conditions": [["content-length-range", 2, 1]]}}"#),
        &format!(r#"{{{usual}, "conditions": [["content-length-range", 1, false]]}}"#),
        &format!(r#"{{{usual}, "conditions": {}{}}}"#, "[".repeat(500), "]".repeat(500)),
    ] {
        let result = send("bucket", &signed_document(document, &[]), b"x");
        assert_refused(result, "InvalidPolicyDocument", "Invalid Policy");
    }
}

#[test]
fn the_length_of_the_file_is_held_to_its_range() {
    for (range, length, code) in [
        ("2, 4", 1, Some("EntityTooSmall")),
        ("2, 4", 2, None),
        ("2, 4", 4, None),
        ("2, 4", 5, Some("EntityTooLarge")),
        ("\"2\", \"4\"", 5, Some("EntityTooLarge")),
        ("0, 0", 0, None),
        ("0, 10], [\"content-length-range\", 3, 100", 2, Some("EntityTooSmall")),
    ] {
        let condition = format!("[\"content-length-range\", {range}]");
        let file = vec![b'x'; length];
        let put = send("bucket", &signed(&condition, &[]), &file).expect("the head is right");
        let (data, end) = read(put.into_body());
        match code {
            None => assert_eq!((data, end), (file, Ok(()))),
            Some(code) => assert_eq!(end.expect_err(range).code(), code),
        }
    }
}

#[test]
fn a_form_without_signature_is_anonymous() {
    let put = send("bucket", &fields(&[("key", "a/b?c#é")]), b"x").expect("passes");
    assert!(matches!(put.extensions().get(), Some(Identity::Anonymous)));
    assert_eq!(put.uri(), "/bucket/a/b%3Fc%23%C3%A9");
    assert!(!put.headers().contains_key("content-type"));
    assert_eq!(read(put.into_body()), (b"x".to_vec(), Ok(())));
}

#[test]
fn forms_say_how_success_is_answered() {
    for (status, expected) in [("200", 200), ("201", 201), ("204", 204), ("404", 204), ("", 204)] {
        let form = fields(&[("key", "k"), ("success_action_status", status)]);
        let put = send("bucket", &form, b"x").expect("passes");
        assert_eq!(put.extensions().get::<PostForm>().expect("form").success_status, expected);
    }
    for (redirect, kept) in [
        ("https://example.com/done?a=b", true),
        ("javascript:alert(1)", false),
        ("/relative", false),
        ("http://a/\r\nSet-Cookie: a=b", false),
    ] {
        let form = fields(&[("key", "k"), ("redirect", redirect)]);
        let put = send("bucket", &form, b"x").expect("passes");
        let found = &put.extensions().get::<PostForm>().expect("form").success_redirect;
        assert_eq!(found.as_deref(), kept.then_some(redirect));
    }
}

#[test]
fn fields_become_headers_only_where_they_may() {
    let form = fields(&[
        ("key", "k"),
        ("Content-Disposition", "attachment"),
        ("Expires", "Wed, 21 Oct 2015 07:28:00 GMT"),
        ("x-amz-meta-name", "Grüße"),
        ("x-amz-meta-lines", "b\r\nc: d"),
        ("x-amz-checksum-crc32", "AAAAAA=="),
        (
            "tagging",
            "<Tagging><TagSet><Tag><Key>a</Key><Value>b c</Value></Tag></TagSet></Tagging>",
        ),
        ("x-amz-copy-source", "/bucket/secret"),
        ("authorization", "AWS4-HMAC-SHA256 x"),
        ("transfer-encoding", "chunked"),
        ("content-length", "5"),
        ("if-none-match", "*"),
    ]);
    let mut request = post_to("/bucket/", TestBody::new([form_bytes(&form, b"x")]));
    for name in ["x-amz-copy-source", "x-amz-acl", "if-match", "range", "content-md5"] {
        request.headers_mut().insert(name, "injected".parse().expect("valid"));
    }
    let put = authenticate(&authenticator_at(FORM_DATE, 0), request).expect("passes");
    let headers = put.headers();
    assert_eq!(headers["content-disposition"], "attachment");
    assert_eq!(headers["expires"], "Wed, 21 Oct 2015 07:28:00 GMT");
    assert_eq!(headers["x-amz-meta-name"], "=?UTF-8?B?R3LDvMOfZQ==?=");
    // A line break injects no header.
    assert_eq!(headers["x-amz-meta-lines"], "=?UTF-8?B?Yg0KYzogZA==?=");
    assert_eq!(headers["x-amz-checksum-crc32"], "AAAAAA==");
    assert_eq!(headers["x-amz-tagging"], "a=b%20c");
    for name in [
        "x-amz-copy-source",
        "x-amz-acl",
        "if-match",
        "if-none-match",
        "range",
        "content-md5",
        "authorization",
        "transfer-encoding",
        "content-length",
    ] {
        assert!(!headers.contains_key(name), "{name}");
    }
}

#[test]
fn incomplete_and_hostile_forms() {
    let argument = "InvalidArgument";
    for (form, code, message) in [
        (fields(&[]), argument, "a field named 'key'"),
        (fields(&[("key", "")]), argument, "length greater than 0"),
        (fields(&[("key", &"k".repeat(1025))]), "KeyTooLongError", ""),
        (fields(&[("key", "a"), ("key", "b")]), argument, "more than once"),
        (fields(&[("key", "k"), ("bucket", "else")]), "AccessDenied", "bucket field"),
        (fields(&[("key", "k"), ("x-amz-acl", "a"), ("acl", "b")]), argument, "more than once"),
        (fields(&[("key", "k"), ("x-amz-meta-a:b", "c")]), argument, "cannot be a header"),
        (fields(&[("key", "k"), ("tagging", "<a")]), "MalformedXML", ""),
        (fields(&[("key", "k"), ("x-minio-fanout-list", "{}")]), "NotImplemented", "fanout"),
        (fields(&[("key", "k"), ("X-Minio-Fanout-List", "")]), "NotImplemented", "fanout"),
        (signed("", &[("x-minio-fanout-list", "{}")]), "NotImplemented", "fanout"),
        (
            fields(&[("key", "k"), ("AWSAccessKeyId", "a"), ("signature", "b")]),
            argument,
            "a field named 'policy'",
        ),
        (fields(&[("key", "k"), ("a", &"x".repeat(21_000))]), PREFACE_TOO_LONG, "too large"),
        (vec![("a".into(), String::new()); 300], "MalformedPOSTRequest", "too many fields"),
        (vec![("a".into(), String::new()); 3000], "MalformedPOSTRequest", "too many fields"),
    ] {
        assert_refused(send("bucket", &form, b"x"), code, message);
    }
    let token =
        signed(r#"["starts-with", "$x-amz-security-token", ""]"#, &[("x-amz-security-token", "t")]);
    assert_refused(send("bucket", &token, b"x"), "InvalidToken", "");
    let twice = signed("", &[("x-amz-date", FORM_DATE)]);
    assert_refused(send("bucket", &twice, b"x"), argument, "more than once");
}

const PREFACE_TOO_LONG: &str = "MaxPostPreDataLengthExceededError";

#[test]
fn malformed_multipart_is_refused() {
    let file = "--edge\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n";
    let key = "--edge\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\nk\r\n";
    for (bytes, code) in [
        (String::new(), "MalformedPOSTRequest"),
        ("garbage".to_owned(), "MalformedPOSTRequest"),
        ("--edge".to_owned(), "MalformedPOSTRequest"),
        ("--edge--\r\n".to_owned(), "InvalidArgument"),
        (format!("{key}--edge--\r\n"), "InvalidArgument"),
        (format!("{key}--edgex"), "MalformedPOSTRequest"),
        (key.to_owned(), "MalformedPOSTRequest"),
        ("--edge\r\nA: b\r\n\r\n".to_owned(), "MalformedPOSTRequest"),
        ("--edge\r\nContent-Disposition: form-data; name=\"a".to_owned(), "MalformedPOSTRequest"),
        (key.replace('k', "\u{fffd}").replace("name=", "n="), "MalformedPOSTRequest"),
        ("x".repeat(30_000), PREFACE_TOO_LONG),
        (
            format!("{}{}", key.replace("\"key\"", "\"\"; filename=\"f\""), "x".repeat(30_000)),
            "MalformedPOSTRequest",
        ),
    ] {
        assert_refused(send_bytes("/bucket", bytes.into_bytes()), code, "");
    }
    let mut binary = key.as_bytes().to_vec();
    let place = binary.len() - 3;
    binary[place] = 0xff;
    binary.extend_from_slice(file.as_bytes());
    assert_refused(send_bytes("/bucket", binary), "MalformedPOSTRequest", "");

    // In the file, after the fields were accepted.
    for end in ["", "\r\n", "\r\n--edg", "\r\n--edge", "\r\n--edge-", "\r\n--edgexx"] {
        let put = send_bytes("/bucket", format!("{key}{file}data{end}").into_bytes());
        let body = put.expect("the fields are right").into_body();
        assert_eq!(body_code(body), "MalformedPOSTRequest", "{end:?}");
    }
    for content_type in ["multipart/form-data", "multipart/form-data; boundary=\"\""] {
        let mut request = post_to("/bucket", TestBody::new(["x"]));
        request.headers_mut().insert("content-type", content_type.parse().expect("valid"));
        assert_refused(authenticate(&authenticator(), request), "MalformedPOSTRequest", "");
    }
    // A second file is refused; other fields after the first are ignored.
    let field =
        "\r\n--edge\r\nContent-Disposition: form-data; name=\"submit\"\r\n\r\nfile\r\n--edge--";
    let whole = send_bytes("/bucket", format!("{key}{file}data{field}").into_bytes());
    assert_eq!(read(whole.expect("right").into_body()), (b"data".to_vec(), Ok(())));
    let second = format!("{key}{file}data\r\n{file}more\r\n--edge--");
    let second = send_bytes("/bucket", second.into_bytes()).expect("the fields are right");
    assert_eq!(body_code(second.into_body()), "InvalidArgument");
}

#[test]
fn fields_after_the_file_mean_nothing() {
    let mut bytes = form_bytes(&fields(&[("key", "k")]), b"data");
    bytes.truncate(bytes.len() - 4);
    let after =
        "\r\nContent-Disposition: form-data; name=\"acl\"\r\n\r\npublic-read\r\n--edge--\r\n";
    bytes.extend_from_slice(after.as_bytes());
    bytes.extend_from_slice(&vec![b'x'; 3 << 20]);
    let put = send_bytes("/bucket", bytes).expect("passes");
    assert!(!put.headers().contains_key("x-amz-acl"));
    assert_eq!(read(put.into_body()), (b"data".to_vec(), Ok(())));
}

#[test]
fn a_form_goes_to_a_bucket() {
    let form = || form_bytes(&fields(&[("key", "k")]), b"x");
    assert_refused(send_bytes("/", form()), "MethodNotAllowed", "");
    // Other POST requests may have any content type.
    let content_type = "multipart/form-data; boundary=edge";
    for uri in ["/bucket/key?uploads", "/bucket?delete", "/bucket/key"] {
        let passed = send_bytes(uri, form()).expect("not a form");
        assert_eq!(passed.method(), http::Method::POST);
        assert!(passed.extensions().get::<PostForm>().is_none());
        // But no inner layer may parse them as a form.
        assert!(!passed.headers().contains_key("content-type"));
        assert_eq!(passed.extensions().get::<HiddenContentType>().expect("kept").0, content_type);
    }
    let unknown = send_bytes("/bucket?x=y", form()).expect("a form all the same");
    assert_eq!(unknown.uri(), "/bucket/k");
    for query in ["X-Amz-Signature=0", "Signature=0", "X-Amz-Algorithm=AWS4-HMAC-SHA256"] {
        let both = send_bytes(&format!("/bucket?{query}"), form());
        assert_refused(both, "InvalidArgument", "Only one auth");
    }
    for content_type in
        ["Multipart/Form-Data; boundary=edge", "multipart/form-data+xml;boundary=edge"]
    {
        let mut request = post_to("/bucket", TestBody::new([form()]));
        request.headers_mut().insert("content-type", content_type.parse().expect("valid"));
        let put = authenticate(&authenticator(), request).expect(content_type);
        assert_eq!(put.uri(), "/bucket/k");
    }
    let mut request = post_to("/", TestBody::new([form()]));
    request.headers_mut().insert("host", "photos.example.com".parse().expect("valid"));
    let put = authenticate_by_host(&authenticator_at(FORM_DATE, 0), request, "photos");
    let put = put.expect("accepted");
    assert_eq!(put.uri(), "/k");
    assert_eq!(put.extensions().get::<PostForm>().expect("form").bucket, "photos");

    let mut both = post_to("/bucket", TestBody::new([form()]));
    both.headers_mut().insert("authorization", "AWS4-HMAC-SHA256 x".parse().expect("valid"));
    assert_refused(authenticate(&authenticator(), both), "InvalidArgument", "Only one auth");
}

#[test]
fn a_file_streams_without_being_copied() {
    let whole = Bytes::from(form_bytes(&fields(&[("key", "k")]), &vec![b'x'; 1 << 20]));
    let frames: Vec<Bytes> = whole.chunks(100_000).map(|c| whole.slice_ref(c)).collect();
    let body = TestBody::new(frames);
    let polled = body.polled();
    let put = authenticate(&authenticator(), post_to("/bucket", body)).expect("passes");
    assert_eq!(polled.load(Ordering::Relaxed), 1, "only the frame with the fields was read");
    let mut body = put.into_body();
    let (mut total, mut copied) = (0, 0);
    while let Some(frame) = block_on(body.frame()) {
        let data = frame.expect("good").into_data().expect("data");
        total += data.len();
        if !whole.as_ptr_range().contains(&data.as_ptr()) {
            copied += data.len();
        }
    }
    assert_eq!(total, 1 << 20);
    assert!(copied <= 20 << 10, "{copied} bytes copied");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn frames_make_no_difference(
        file in prop::collection::vec(prop::sample::select(&b"\r\n-edgx"[..]), 0..80),
        places in prop::collection::vec(any::<usize>(), 0..60),
    ) {
        prop_assume!(!file.windows(8).any(|window| window == b"\r\n--edge"));
        let bytes = form_bytes(&fields(&[("key", "k")]), &file);
        let mut places: Vec<usize> = places.iter().map(|p| p % (bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let frames = places.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec());
        let request = post_to("/bucket", TestBody::new(frames.collect::<Vec<_>>()));
        let put = authenticate(&authenticator(), request).expect("passes");
        prop_assert_eq!(read(put.into_body()), (file, Ok(())));
    }
}

/// A slash in the bucket would begin the key, which the policy of the form covers.
#[test]
fn a_slash_in_the_name_of_the_bucket_is_no_form_upload() {
    let sent = send_bytes("/bucket%2Fsecret", form_bytes(&Vec::new(), b"x")).expect("passes");
    assert_eq!((sent.method(), sent.uri().path()), (&http::Method::POST, "/bucket%2Fsecret"));
}
