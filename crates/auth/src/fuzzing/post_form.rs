//! Browser forms.

use http::header::HeaderName;
use http::request::Parts;
use http::{Method, Request};
use memchr::memmem;

use super::exchange::{SIGNER, authenticate, element, read, sign_version_2};
use crate::{Identity, PostForm};
use liteio_wire::reply::ApiError;

const BOUNDARY: &str = "b";
/// A boundary of the usual length, which small inputs do not contain by chance.
const LONG_BOUNDARY: &str = "----WebKitFormBoundary7MA4YWxkTrZu0gW";

/// Input: one byte for the length of the pieces that arrive at once, then the body of a form with
/// the boundary `b`, or data for a generated form.
pub fn post_form(data: &[u8]) {
    let Some((&piece_bytes, body)) = data.split_first() else { return };
    let head = form_head(BOUNDARY);
    let whole = outcome(&head, body, 0);
    let pieces = outcome(&head, body, piece_bytes.into());
    assert_eq!(whole, pieces, "it does not matter how the form was cut on its way");
    if let Err(error) = authenticate(&head, body, 0) {
        signed_here(&head, body, &error);
    }
    made_here(body, piece_bytes);
}

pub(super) fn form_head(boundary: &str) -> Parts {
    let content_type = format!("multipart/form-data; boundary={boundary}");
    let builder = Request::post("/bucket").header("host", "localhost");
    let (head, ()) =
        builder.header("content-type", content_type).body(()).expect("valid").into_parts();
    head
}

/// The upload described by a form: its head as a handler sees it, the file, and the result at its
/// end.
#[derive(Debug, PartialEq, Eq)]
struct Put {
    form: PostForm,
    path: String,
    is_user: bool,
    headers: Vec<(String, Vec<u8>)>,
    /// Compared only if the file arrived as a whole: the forwarded part of a broken one is not
    /// specified.
    file: Result<Vec<u8>, String>,
}

fn outcome(head: &Parts, body: &[u8], piece_bytes: usize) -> Result<Put, String> {
    let request = authenticate(head, body, piece_bytes).map_err(|error| error.to_string())?;
    let (parts, auth_body) = request.into_parts();
    assert_eq!(parts.method, Method::PUT);
    let form = parts.extensions.get::<PostForm>().expect("it came as a form").clone();
    assert_eq!(form.bucket, "bucket");
    assert!((1..=1024).contains(&form.key.len()));
    let path = parts.uri.path().to_owned();
    let key = path.strip_prefix("/bucket/").expect("a path in the bucket");
    let decoded: Vec<u8> = percent_encoding::percent_decode_str(key).collect();
    assert_eq!(decoded, form.key.as_bytes(), "the path names the key");
    assert!(parts.uri.query().is_none());
    assert!(parts.headers.keys().all(is_allowed), "{:?}", parts.headers);
    let (data, result) = read(auth_body);
    let file = result.map_err(|error| error.to_string());
    if file.is_ok() {
        assert!(data.is_empty() || memmem::find(body, &data).is_some(), "part of what was sent");
    }
    let headers = parts.headers.iter();
    Ok(Put {
        form,
        path,
        is_user: parts.extensions.get::<Identity>().expect("always there").user().is_some(),
        headers: headers.map(|(n, v)| (n.to_string(), v.as_bytes().to_vec())).collect(),
        file: file.map(|()| data),
    })
}

/// `true` if a form field may become this header: one that needs no signature and selects no other
/// operation.
fn is_allowed(name: &HeaderName) -> bool {
    let name = name.as_str();
    let of_object = ["meta-", "checksum-", "server-side-encryption", "object-lock-"];
    match name.strip_prefix("x-amz-") {
        None => !matches!(name, "authorization" | "transfer-encoding" | "content-length" | "range"),
        Some("storage-class" | "tagging" | "website-redirect-location" | "acl") => true,
        Some("sdk-checksum-algorithm") => true,
        Some(rest) => of_object.iter().any(|prefix| rest.starts_with(prefix)),
    }
}

/// Signs a form whose policy signature is its only fault, so that the policy is checked. If the
/// policy permits it, the form becomes the signer's.
fn signed_here(head: &Parts, body: &[u8], error: &ApiError) {
    let Some(provided) = element(error, "SignatureProvided").map(str::as_bytes) else { return };
    let string_to_sign = element(error, "StringToSign").expect("beside the signature");
    let places: Vec<usize> = match provided {
        b"" => Vec::new(),
        _ => memmem::find_iter(body, provided).take(2).collect(),
    };
    let [place] = places[..] else { return };
    // The scope must have the date of the clock, or signing is useless.
    let version_4 = SIGNER.sign(string_to_sign);
    let rest = &body[place + provided.len()..];
    for signature in [version_4, sign_version_2(string_to_sign)] {
        let signed = [&body[..place], signature.as_bytes(), rest].concat();
        if let Ok(put) = outcome(head, &signed, 0) {
            assert!(put.is_user);
        }
    }
}

/// A form as sent by browsers, with key and file from the input: it is accepted.
fn made_here(data: &[u8], piece_bytes: u8) {
    let (key, file) = data.split_at(data.len().min(usize::from(piece_bytes) % 16));
    let key = String::from_utf8_lossy(key).into_owned();
    let delimiter = format!("\r\n--{LONG_BOUNDARY}");
    if key.is_empty() || memmem::find(file, delimiter.as_bytes()).is_some() {
        return;
    }
    let mut body = Vec::new();
    push_field(&mut body, "key", &key);
    push_file(&mut body, file);
    let put = outcome(&form_head(LONG_BOUNDARY), &body, usize::from(piece_bytes));
    let put = put.expect("a form as browsers send it");
    assert_eq!((put.form.key, put.is_user), (key.replace("${filename}", "name.txt"), false));
    assert_eq!(put.file.as_deref(), Ok(file));
}

/// Adds a field with the long boundary.
pub(super) fn push_field(body: &mut Vec<u8>, name: &str, value: &str) {
    let disposition = format!("Content-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
    body.extend_from_slice(format!("--{LONG_BOUNDARY}\r\n{disposition}").as_bytes());
}

/// Adds the file and the end, with the long boundary.
pub(super) fn push_file(body: &mut Vec<u8>, file: &[u8]) {
    let disposition =
        "Content-Disposition: form-data; name=\"file\"; filename=\"name.txt\"\r\n\r\n";
    body.extend_from_slice(format!("--{LONG_BOUNDARY}\r\n{disposition}").as_bytes());
    body.extend_from_slice(file);
    body.extend_from_slice(format!("\r\n--{LONG_BOUNDARY}--\r\n").as_bytes());
}

/// A head for forms with the long boundary.
pub(super) fn long_form_head() -> Parts {
    form_head(LONG_BOUNDARY)
}
