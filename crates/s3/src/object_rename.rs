//! RenameObject, which AWS offers for directory buckets only.

use http::HeaderMap;
use liteio_store::{ObjectKey, RenameOptions, StoreError};
use percent_encoding::percent_decode_str;
use s3s::{S3Error, S3Result, s3_error};

use super::convert::object_key;
use super::details::Details;
use super::headers::header;
use super::plain::{self, PlainRequest, PlainResponse};
use super::{access, condition, encryption, error, event_cause};
use liteio_access::Action;
use liteio_access::state::App;

const CLIENT_TOKEN_BYTES_MAX: usize = 64;

pub(super) async fn rename_object(app: &App, request: PlainRequest) -> PlainResponse {
    let source = source(&request.headers)?;
    // The rename deletes the source key and makes its content readable under the target key.
    let actions = [Action::RenameObject, Action::GetObject, Action::DeleteObject];
    let (granted, sent) = (&request.granted, request.sent());
    access::of_object(app, granted, sent, &actions, source.as_str(), None).await?;
    let PlainRequest { granted, key, headers, extensions, .. } = request;
    let target = object_key(key)?;
    let customer = encryption::of_read(app, &headers, &extensions)?;
    let options = RenameOptions {
        source_conditions: condition::of_rename_source(&extensions),
        conditions: condition::of_rename(&extensions),
        token: client_token(&headers)?,
        customer_key: customer.map(|customer| customer.key),
        cause: event_cause::of_request(app, &granted, &headers, &extensions),
    };
    let renamed = app.store.rename_object(granted.bucket(), source.clone(), target, options).await;
    renamed.map_err(|error| from_rename(error, &source))?;
    plain::done()
}

/// The source key in `x-amz-rename-source`, always in the same bucket.
fn source(headers: &HeaderMap) -> S3Result<ObjectKey> {
    let Some(source) = headers.get("x-amz-rename-source") else {
        return Err(s3_error!(
            Details::named("x-amz-rename-source"),
            InvalidArgument,
            "RenameObject needs the key of the object to rename in the header x-amz-rename-source."
        ));
    };
    let invalid = || {
        s3_error!(
            Details::argument("x-amz-rename-source", &String::from_utf8_lossy(source.as_bytes())),
            InvalidArgument,
            "The x-amz-rename-source header is no URL-encoded key."
        )
    };
    let text = source.to_str().map_err(|_| invalid())?;
    let key = percent_decode_str(text).decode_utf8().map_err(|_| invalid())?;
    object_key(key.into_owned())
}

/// The client token: 1 to 64 ASCII characters from `!` to `~`.
fn client_token(headers: &HeaderMap) -> S3Result<Option<String>> {
    if !headers.contains_key("x-amz-client-token") {
        return Ok(None);
    }
    let token = header(headers, "x-amz-client-token").filter(|token| {
        let is_short = (1..=CLIENT_TOKEN_BYTES_MAX).contains(&token.len());
        is_short && token.bytes().all(|byte| byte.is_ascii_graphic())
    });
    let token = token.ok_or_else(|| {
        s3_error!(
            Details::named("x-amz-client-token"),
            InvalidArgument,
            "The x-amz-client-token header must have 1 to 64 visible ASCII characters."
        )
    })?;
    Ok(Some(token.to_owned()))
}

fn from_rename(error: StoreError, source: &ObjectKey) -> S3Error {
    match error {
        StoreError::NoSuchKey { .. } => s3_error!(
            Details::of("Key", source),
            NoSuchKey,
            "The object to rename does not exist: {:?}.",
            source.as_str()
        ),
        error => error::from_store(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_short_and_visible() {
        let long = "a".repeat(64);
        for (token, is_valid) in [
            ("a-1", true),
            (&*long, true),
            (&*(long.clone() + "a"), false),
            ("", false),
            ("a b", false),
        ] {
            let headers = [("x-amz-client-token", token)];
            let headers: HeaderMap = headers
                .map(|(name, value)| {
                    (http::HeaderName::from_static(name), value.parse().expect("text"))
                })
                .into_iter()
                .collect();
            assert_eq!(client_token(&headers).is_ok(), is_valid, "{token:?}");
        }
        assert_eq!(client_token(&HeaderMap::new()).expect("none"), None);
    }
}
