//! Arbitrary input: it may be refused, but never accepted as signed, and never break anything.

use http::{HeaderValue, Request};
use proptest::prelude::*;

use super::signer::Signer;
use super::*;
use crate::post_policy::PostPolicy;

/// Sends a request, reads its body, and returns whether a user was authenticated.
fn is_user(request: Request<TestBody>) -> bool {
    match authenticate(&authenticator(), request) {
        Err(error) => {
            assert!(error.status().is_client_error() || error.status() == 501);
            assert!(!error.elements().iter().any(|(_, text)| text.contains(SECRET_KEY)));
            false
        }
        Ok(request) => {
            let is_user = request.extensions().get::<Identity>().expect("always").user().is_some();
            let _ = read(request.into_body());
            is_user
        }
    }
}

/// Changes a text in a few places, so that it still looks similar.
fn changed(text: &str, changes: &[(usize, char)]) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for (place, character) in changes {
        let place = place % characters.len();
        match character {
            '\u{0}' => drop(characters.remove(place)),
            other => characters[place] = *other,
        }
        if characters.is_empty() {
            break;
        }
    }
    characters.into_iter().collect()
}

fn changes() -> impl Strategy<Value = Vec<(usize, char)>> {
    let character =
        prop::sample::select(vec!['\u{0}', 'a', '0', '/', '%', ',', '=', ';', ' ', 'Z', '-']);
    prop::collection::vec((any::<usize>(), character), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn changed_authorization_headers(changes in changes()) {
        let signer = Signer::new("GET", "/test.txt", EMPTY);
        let good = signer.authorization();
        let bad = changed(&good, &changes);
        // White space around fields is insignificant, so only such a change may still be accepted.
        prop_assume!(bad.replace(' ', "") != good.replace(' ', ""));
        let mut request = signer.request();
        request.headers_mut().insert("authorization", HeaderValue::from_str(&bad).expect("ASCII"));
        prop_assert!(!is_user(request), "{bad}");
    }

    #[test]
    fn changed_presigned_urls(changes in changes()) {
        let good = Signer::new("GET", "/test.txt", "UNSIGNED-PAYLOAD").presigned("3600");
        let uri = good.uri().to_string();
        let bad = changed(&uri, &changes).replace(' ', "+");
        prop_assume!(bad != uri && bad.starts_with('/'));
        let Ok(bad_uri) = bad.parse::<http::Uri>() else { return Ok(()) };
        let (mut parts, body) = good.into_parts();
        parts.uri = bad_uri;
        let decode = |text: &str| {
            percent_encoding::percent_decode_str(text).collect::<Vec<u8>>()
        };
        let request = Request::from_parts(parts, body);
        // The same characters in another encoding are the same request.
        prop_assert!(!is_user(request) || decode(&bad) == decode(&uri), "{bad}");
    }

    #[test]
    fn arbitrary_headers(
        authorization in "(AWS4-HMAC-SHA256 )?[ -~]{0,80}",
        date in "[0-9TZ]{0,18}",
        hash in "(STREAMING-|UNSIGNED-)?[A-Z0-9a-f-]{0,64}",
        query in "([a-zA-Z%+=&-]|X-Amz-[A-Z][a-z]{2,9}=){0,40}",
    ) {
        let request = Request::put(format!("/b/k?{query}"))
            .header("host", "h")
            .header("authorization", authorization)
            .header("x-amz-date", date)
            .header("x-amz-content-sha256", hash)
            .header("x-amz-decoded-content-length", "3")
            .body(TestBody::new(["3\r\nabc\r\n0\r\n\r\n"]));
        if let Ok(request) = request {
            prop_assert!(!is_user(request));
        }
    }

    #[test]
    fn arbitrary_forms(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "--edge", "\r\n", "--", "Content-Disposition: form-data; name=", "\"key\"", "\"file\"",
                "; filename=", "\"a\\\"", "\"policy\"", "x", "\r\n\r\n", "--edge\r\n", "\n", ":", "é",
                "\r\n--edge\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n",
                "\r\n--edge\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\nk",
            ]),
            0..24,
        ),
    ) {
        let request = Request::post("/bucket")
            .header("host", "h")
            .header("content-type", "multipart/form-data; boundary=edge")
            .body(TestBody::new(parts));
        prop_assert!(!is_user(request.expect("valid")));
    }

    #[test]
    fn arbitrary_policies(document in "[\\[\\]{}\":,a-z$0-9-]{0,80}") {
        let _ = PostPolicy::parse(&base64_simd::STANDARD.encode_to_string(document));
    }
}
