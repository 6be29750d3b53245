//! Pagination tokens: opaque to clients, checked when they come back.

use super::error::{ApiResult, Exception};

/// The token for the position after `name`. `scope` identifies the listing, so that the token of
/// another listing is rejected.
pub(super) fn after(scope: &str, name: &str) -> String {
    base64_simd::URL_SAFE_NO_PAD.encode_to_string(format!("{scope}\n{name}"))
}

/// The name in a token with this scope.
pub(super) fn name(scope: &str, token: &str) -> ApiResult<String> {
    let wrong = || Exception::field("/nextToken", "it is not a token of this listing");
    let bytes = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(token).map_err(|_| wrong())?;
    let text = String::from_utf8(bytes).map_err(|_| wrong())?;
    match text.split_once('\n') {
        Some((found, name)) if found == scope => Ok(name.to_owned()),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_back_in_their_scope_only() {
        let token = after("list", "a\nb");
        assert_eq!(name("list", &token).expect("own token"), "a\nb");
        for (scope, token) in [("other", &*token), ("list", "*"), ("list", ""), ("list", "YWJj")] {
            assert!(name(scope, token).is_err(), "{scope} {token}");
        }
    }
}
