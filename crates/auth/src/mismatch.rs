//! Signatures that do not match, and the usual reasons: for the answer and the log, in more detail with `--log debug`.
//!
//! The usual causes are another host or method than the signed one, and a signer for other services than S3. They can be
//! told, by a look whether the signature fits the request with that difference. It is never accepted.

use http::HeaderMap;
use http::request::Parts;
use sha2::{Digest as _, Sha256};

use super::signing_key::hex_digest;

/// Hosts with these ports are the same as without, for a client.
const DEFAULT_PORTS: [&str; 2] = [":80", ":443"];
/// Names of the machine itself: a URL that is signed for one is often used with another.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// The methods that URLs are signed for.
const METHODS: [&str; 5] = ["GET", "PUT", "HEAD", "POST", "DELETE"];

/// The difference between what was signed and what has come, if it is one of the usual ones. `matches` checks a signature against
/// the hash of a canonical request.
pub(super) fn explain(
    access_key: &str,
    canonical: &[u8],
    parts: &Parts,
    matches: impl Fn(&[u8]) -> bool,
) -> Option<String> {
    let text = String::from_utf8_lossy(canonical);
    let forwarded = parts.headers.get("x-forwarded-host").and_then(|it| it.to_str().ok());
    let is_signed = |it: &str| matches(&hex_digest(&Sha256::digest(it.as_bytes())));
    let found = difference(&text, forwarded, is_signed).or_else(|| encoding(canonical, is_signed));
    let mut end = text.rsplit('\n');
    let (payload_hash, signed_headers) = (end.next(), end.next());
    let signed = signed_headers.unwrap_or_default();
    let found = found.or_else(|| missing_headers(signed, &parts.headers));
    let is_url = parts.uri.query().is_some_and(|query| query.contains("X-Amz-Signature="));
    let found = found.or_else(|| is_url.then(|| headers_of_url(signed, &parts.headers)).flatten());
    if tracing::enabled!(tracing::Level::DEBUG) {
        let guess = found.clone().or_else(|| doubtful_headers(signed, &parts.headers));
        tracing::debug!(
            access_key,
            host = host_of(&text).unwrap_or("not signed"),
            signed_headers = signed,
            payload_hash = payload_hash.unwrap_or_default(),
            difference = guess.as_deref().unwrap_or(
                "not found: the secret key may be another, or a signed header or the query was changed"
            ),
            "the signature does not match"
        );
    }
    found
}

/// The encoding with which the signature fits: header values that were signed in UTF-8, and have come in Latin-1.
fn encoding(canonical: &[u8], matches: impl Fn(&str) -> bool) -> Option<String> {
    let signed: String = canonical.iter().map(|byte| char::from(*byte)).collect();
    (!canonical.is_ascii() && matches(&signed)).then(|| {
        "the client signed a header in UTF-8 and sent it in Latin-1, as the AWS SDK for Java does with metadata beyond ASCII: encode \
         the value, such as by percent encoding"
            .to_owned()
    })
}

/// The signed headers that did not come.
fn missing_headers(signed: &str, headers: &HeaderMap) -> Option<String> {
    let names = signed.split(';').filter(|name| *name != "host" && !name.is_empty());
    let missing: Vec<_> = names.filter(|name| !headers.contains_key(*name)).collect();
    (!missing.is_empty()).then(|| {
        format!(
            "the client signed the headers {}, which have not come: send them with the values that were signed",
            missing.join(", ")
        )
    })
}

/// The signed headers beside a presigned URL, which another program may send with other values than its signer: an upload by a
/// library that chooses `Content-Type` itself. Other values may be secret, such as the key of SSE-C, and this comes into the log.
fn headers_of_url(signed: &str, headers: &HeaderMap) -> Option<String> {
    let names = signed.split(';').filter(|name| *name != "host");
    let shown = |name: &str| {
        let value = headers.get(name)?;
        Some(match name.starts_with("content-") {
            true => format!("{name} as {value:?}"),
            false => name.to_owned(),
        })
    };
    let came: Vec<String> = names.filter_map(shown).collect();
    (!came.is_empty()).then(|| {
        format!(
            "if the secret key is right and the URL was not changed, one of these signed headers has come with another value than the \
             signed one: {} (the URL was signed with the headers {signed})",
            came.join(", ")
        )
    })
}

/// The signed headers that may have come with other values: clients choose these themselves.
fn doubtful_headers(signed: &str, headers: &HeaderMap) -> Option<String> {
    let names = signed.split(';').filter(|name| *name != "host");
    let chosen =
        names.filter(|name| !name.starts_with("x-amz-") || name.starts_with("x-amz-meta-"));
    let came: Vec<_> = chosen.filter_map(|name| Some((name, headers.get(name)?))).collect();
    (!came.is_empty()).then(|| {
        format!(
            "not found: the secret key may be another, or the query was changed, or one of these headers was signed with another \
             value: {came:?}"
        )
    })
}

/// The signed host in a canonical request.
fn host_of(canonical: &str) -> Option<&str> {
    canonical.lines().find_map(|line| line.strip_prefix("host:"))
}

/// The change with which the signature fits a canonical request, if it is one of the usual ones.
fn difference(
    canonical: &str,
    forwarded: Option<&str>,
    matches: impl Fn(&str) -> bool,
) -> Option<String> {
    if let Some(host) = host_of(canonical) {
        let with = |other: &str| {
            canonical.replacen(&format!("\nhost:{host}\n"), &format!("\nhost:{other}\n"), 1)
        };
        let mut others = other_hosts(host, forwarded).into_iter();
        if let Some(signed) = others.find(|other| other != host && matches(&with(other))) {
            return Some(format!(
                "the client signed the host {signed}, and {host} has come: use a URL with the host that it was signed for, and let a \
                 proxy pass the header Host on"
            ));
        }
    }
    let (method, rest) = canonical.split_once('\n')?;
    let with = |other: &&&str| **other != method && matches(&format!("{other}\n{rest}"));
    if let Some(signed) = METHODS.iter().find(with) {
        return Some(format!("the client signed the method {signed}, and {method} has come"));
    }
    let (path, rest) = rest.split_once('\n')?;
    let twice = format!("{method}\n{}\n{rest}", path.replace('%', "%25"));
    (path.contains('%') && matches(&twice)).then(|| {
        "the client encodes the path twice: it signs as for other services than S3".to_owned()
    })
}

/// The hosts that a client may have signed where `host` has come.
fn other_hosts(host: &str, forwarded: Option<&str>) -> Vec<String> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, port),
        _ => (host, ""),
    };
    let mut others: Vec<String> = DEFAULT_PORTS.map(|port| format!("{host}{port}")).into();
    others.extend(forwarded.map(str::to_owned));
    let is_loopback = LOOPBACK.contains(&name);
    for name in LOOPBACK.iter().filter(|_| is_loopback).chain([&name]) {
        others.push((*name).to_owned());
        others.push(format!("{name}:{port}"));
    }
    others
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn canonical(path: &str, host: &str) -> String {
        format!("GET\n{path}\n\nhost:{host}\nx-amz-date:d\n\nhost;x-amz-date\nUNSIGNED-PAYLOAD")
    }

    fn found(signed: &str, received: &str, forwarded: Option<&str>) -> Option<String> {
        difference(received, forwarded, |it| it == signed)
    }

    #[test]
    fn the_host_that_a_client_signed_is_told() {
        let rows = [
            ("s3.example.com", "s3.example.com:9000", None),
            ("s3.example.com:443", "s3.example.com", None),
            ("files.example.com", "127.0.0.1:9000", Some("files.example.com")),
            ("127.0.0.1:9000", "localhost:9000", None),
            ("localhost:9000", "[::1]:9000", None),
            ("[::1]", "localhost", None),
        ];
        for (signed, received, forwarded) in rows {
            let told = found(&canonical("/a", signed), &canonical("/a", received), forwarded);
            let told = told.expect("a difference");
            assert!(told.contains(&format!("signed the host {signed}, and {received}")), "{told}");
        }
    }

    #[test]
    fn signed_headers_that_have_not_come_are_told_and_those_that_may_differ() {
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("h"));
        let told = missing_headers("content-type;host", &headers).expect("a difference");
        assert!(told.contains("the headers content-type, which have not come"), "{told}");
        headers.insert("content-type", HeaderValue::from_static("image/jpeg"));
        assert_eq!(missing_headers("content-type;host", &headers), None);
        let told = doubtful_headers("content-type;host", &headers).expect("a difference");
        assert!(told.contains(r#"("content-type", "image/jpeg")"#), "{told}");
        headers.insert("x-amz-date", HeaderValue::from_static("d"));
        assert_eq!(missing_headers("host;x-amz-date", &headers), None);
        assert_eq!(doubtful_headers("host;x-amz-date", &headers), None);
    }

    #[test]
    fn headers_beside_a_presigned_url_are_told_unless_only_the_host_was_signed() {
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("h"));
        headers.insert("content-type", HeaderValue::from_static("text/plain"));
        headers.insert("x-amz-acl", HeaderValue::from_static("private"));
        let told = headers_of_url("content-type;host", &headers).expect("a difference");
        assert!(told.contains(r#"signed one: content-type as "text/plain" ("#), "{told}");
        assert!(told.contains("the headers content-type;host"), "{told}");
        let told = headers_of_url("host;x-amz-acl", &headers).expect("a difference");
        assert!(told.contains("signed one: x-amz-acl (") && !told.contains("private"), "{told}");
        assert_eq!(headers_of_url("host", &headers), None);
    }

    #[test]
    fn the_method_that_a_client_signed_is_told() {
        let received = canonical("/a", "h");
        let told = found(&received.replacen("GET", "PUT", 1), &received, None);
        assert_eq!(told.as_deref(), Some("the client signed the method PUT, and GET has come"));
    }

    #[test]
    fn the_encoding_that_a_client_signed_is_told() {
        let signed = canonical("/a", "h").replace(":d", ":Jörg");
        let latin1: Vec<u8> = signed.chars().map(|it| u8::try_from(it).expect("Latin-1")).collect();
        let told = encoding(&latin1, |it| it == signed).expect("a difference");
        assert!(told.contains("in UTF-8 and sent it in Latin-1"), "{told}");
        assert_eq!(encoding(&latin1, |_| false), None);
        assert_eq!(encoding(b"GET", |_| true), None);
    }

    #[test]
    fn a_path_that_is_encoded_twice_is_told_and_nothing_is_guessed() {
        let received = canonical("/a%20b", "h");
        let told = found(&canonical("/a%2520b", "h"), &received, None).expect("a difference");
        assert!(told.contains("twice"), "{told}");
        assert_eq!(found(&canonical("/other", "h"), &received, Some("proxy")), None);
        assert_eq!(found("x", "", None), None);
    }
}
