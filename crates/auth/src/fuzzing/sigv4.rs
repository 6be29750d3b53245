//! Signatures in the Authorization header and in the query.

use http::header::{HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Uri};

use super::exchange::{SIGNER, authenticate, element, read, sign_version_2};
use super::signer::{Signer, sha256_hex};
use crate::{Identity, PostForm};
use liteio_wire::reply::ApiError;

/// Input: a request as text: a line `METHOD target`, lines `name: value`, an empty line, the body.
///
/// The request is refused, or accepted for a valid reason. Version 2 URLs are included. If only the
/// signature is wrong, the request is signed here; then it must be accepted, and any change of its
/// signed parts must be refused.
pub fn sigv4(data: &[u8]) {
    let Some((head, body)) = parse(data) else { return };
    match authenticate(&head, body, 0) {
        Ok(request) => accepted(&head, body, request),
        Err(error) => {
            let Some(signed) = signed(&head, &error) else { return };
            match authenticate(&signed, body, 0) {
                Ok(request) => accepted(&signed, body, request),
                // Checks after authentication: a parameter that is not a valid value of its header,
                // an empty body without the signed hash.
                Err(error) => {
                    let still = ["SignatureDoesNotMatch", "AccessDenied", "InvalidAccessKeyId"];
                    assert!(!still.contains(&error.code()), "signed, but {error}");
                }
            }
        }
    }
}

fn parse(data: &[u8]) -> Option<(Parts, &[u8])> {
    let mut rest = data;
    let mut line = || {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = rest[..end].trim_ascii_end();
        rest = &rest[rest.len().min(end + 1)..];
        line
    };
    let first = line();
    let space = memchr::memchr(b' ', first)?;
    let method = Method::from_bytes(&first[..space]).ok()?;
    let uri = Uri::try_from(&first[space + 1..]).ok()?;
    let (mut head, ()) = Request::new(()).into_parts();
    (head.method, head.uri) = (method, uri);
    loop {
        let line = line();
        if line.is_empty() {
            return Some((head, rest));
        }
        let colon = memchr::memchr(b':', line)?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        head.headers.append(name, HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?);
    }
}

/// The same head with the right signature, if nothing else was wrong.
fn signed(head: &Parts, error: &ApiError) -> Option<Parts> {
    let text = element(error, "StringToSign")?;
    let Some(canonical) = element(error, "CanonicalRequest") else {
        // Version 2 and forms: forms are another target.
        let is_exact = !text.contains(char::REPLACEMENT_CHARACTER);
        let signature = sign_version_2(text).replace('+', "%2B");
        return is_exact.then(|| with_signature(head, |_| signature))?;
    };
    // A signature cannot cover the header that carries it.
    let signed_headers = canonical.rsplit('\n').nth(1)?;
    if signed_headers.split(';').any(|name| name.eq_ignore_ascii_case("authorization")) {
        return None;
    }
    let scope = text.split('\n').nth(2).expect("the scope");
    let (day, service) = (scope.split('/').next(), scope.split('/').nth(2));
    let (day, service) = (day.expect("day"), service.expect("service"));
    let signature = Signer { time: day, service, ..SIGNER }.sign(text);
    with_signature(head, |_| signature)
}

/// The same head with another signature derived from its own.
fn with_signature(head: &Parts, make: impl FnOnce(&str) -> String) -> Option<Parts> {
    let mut signed = head.clone();
    if let Some(authorization) = head.headers.get("authorization") {
        let fields: Vec<&str> = authorization.to_str().ok()?.split(',').collect();
        let is_signature = |field: &&str| field.trim().starts_with("Signature=");
        let place = fields.iter().position(is_signature)?;
        let value = fields[place].split_once('=').map_or("", |(_, value)| value);
        let mut fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
        fields[place] = format!(" Signature={}", make(value.trim()));
        signed.headers.insert("authorization", fields.join(",").parse().ok()?);
    } else {
        let mut pairs: Vec<String> = head.uri.query()?.split('&').map(str::to_owned).collect();
        let names = ["X-Amz-Signature=", "Signature="];
        let signature = |pair: &String| names.iter().find(|name| pair.starts_with(**name)).copied();
        let place = pairs.iter().position(|pair| signature(pair).is_some())?;
        let name = signature(&pairs[place])?;
        pairs[place] = format!("{name}{}", make(&pairs[place][name.len()..]));
        signed.uri = with_target(&head.uri, head.uri.path(), &pairs.join("&"))?;
    }
    Some(signed)
}

fn with_target(uri: &Uri, path: &str, query: &str) -> Option<Uri> {
    let separator = if query.is_empty() { "" } else { "?" };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(format!("{path}{separator}{query}").parse().ok()?);
    Uri::from_parts(parts).ok()
}

fn accepted(head: &Parts, body: &[u8], request: Request<crate::AuthBody>) {
    let (parts, auth_body) = request.into_parts();
    if parts.extensions.get::<PostForm>().is_some() {
        return;
    }
    for name in ["authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token"] {
        assert!(!parts.headers.contains_key(name), "{name} is left");
    }
    let query = head.uri.query().unwrap_or_default();
    let query = percent_encoding::percent_decode_str(query).decode_utf8_lossy();
    let query = query.to_ascii_lowercase();
    for name in parts.headers.keys().filter(|name| name.as_str().starts_with("x-amz-")) {
        let was_sent = head.headers.contains_key(name) || query.contains(name.as_str());
        assert!(was_sent, "{name} comes from nowhere");
    }
    match parts.extensions.get::<Identity>().expect("always there") {
        Identity::Anonymous => {
            assert!(!head.headers.contains_key("authorization"));
        }
        Identity::User(key) => {
            assert_eq!(key.user.name, "example");
            let is_version_2 = query.contains("awsaccesskeyid=");
            signature_is_needed(head, body, !is_version_2);
        }
    }
    let (read_data, result) = read(auth_body);
    if result.is_err() {
        return;
    }
    let declared = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(hash) = declared("x-amz-content-sha256")
        && hash.trim().len() == 64
    {
        assert_eq!(hash.trim().to_ascii_lowercase(), sha256_hex(&read_data));
    }
    let length = parts.headers.get("content-length").and_then(|value| value.to_str().ok());
    if let Some(length) = length {
        assert_eq!(length.trim().parse(), Ok(read_data.len()), "the declared length");
    }
}

/// The holder of this signature can send this request only. Version 2 does not cover the host.
fn signature_is_needed(head: &Parts, body: &[u8], covers_host: bool) {
    let refused = |what: &str, changed: Option<Parts>| {
        let Some(changed) = changed else { return };
        assert!(authenticate(&changed, body, 0).is_err(), "accepted with {what}: {changed:?}");
    };
    let change = |edit: &dyn Fn(&mut Parts) -> Option<()>| {
        let mut changed = head.clone();
        edit(&mut changed).map(|()| changed)
    };
    let flipped = |signature: &str| match signature.split_at_checked(1) {
        Some(("0", rest)) => format!("1{rest}"),
        Some((_, rest)) => format!("0{rest}"),
        None => "0".to_owned(),
    };
    refused("another signature", with_signature(head, flipped));
    refused("a part of the signature", with_signature(head, |signature| signature[1..].to_owned()));
    let query = head.uri.query().unwrap_or_default();
    refused(
        "another path",
        change(&|head| {
            head.uri = with_target(&head.uri, &format!("{}x", head.uri.path()), query)?;
            Some(())
        }),
    );
    refused(
        "another parameter",
        change(&|head| {
            let separator = if query.is_empty() { "" } else { "&" };
            let query = format!("{query}{separator}uploads=");
            head.uri = with_target(&head.uri, head.uri.path(), &query)?;
            Some(())
        }),
    );
    refused(
        "another method",
        change(&|head| {
            let is_get = head.method == Method::GET;
            head.method = if is_get { Method::PUT } else { Method::GET };
            Some(())
        }),
    );
    refused(
        "another host",
        change(&|head| {
            if !covers_host {
                return None;
            }
            let host = head.headers.get("host")?.to_str().ok()?.trim().to_owned();
            head.headers.insert("host", format!("x{host}").parse().ok()?);
            Some(())
        }),
    );
    // One more header: either unsigned, or signed with another value.
    refused(
        "another copy source",
        change(&|head| {
            head.headers.append("x-amz-copy-source", HeaderValue::from_static("/other/secret"));
            Some(())
        }),
    );
}
