//! [`sign_post`]: Signature Version 4 of a POST to a service other than S3.

use jiff::Timestamp;

use super::sign::{Credentials, Signer, ToSign, sha256_hex};

/// A POST, and what its signature is for.
#[derive(Clone, Copy, Debug)]
pub struct PostToSign<'a> {
    /// The service as in the scope of a signature, such as `sqs`.
    pub service: &'a str,
    /// The region of the service.
    pub region: &'a str,
    /// The time of the request, in seconds since 1970.
    pub now_s: u64,
    /// The host, with a port that is not the scheme's.
    pub authority: &'a str,
    /// The path, of letters, digits, `-`, `.`, `_`, `~` and `/`: no service but S3 signs others as they are sent.
    pub path: &'a str,
    /// The value of the header `content-type`.
    pub content_type: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// The headers that a signed POST has in addition to `host` and `content-type`.
pub(crate) fn sign_post(
    credentials: &Credentials,
    post: PostToSign<'_>,
) -> Vec<(&'static str, String)> {
    let PostToSign { service, region, now_s, authority, path, content_type, body } = post;
    let now_s = i64::try_from(now_s).unwrap_or(i64::MAX);
    let time = Timestamp::from_second(now_s).unwrap_or(Timestamp::MAX);
    let signer = Signer { credentials, region, service, time };
    let mut headers = vec![("x-amz-date", signer.date())];
    if let Some(token) = &credentials.session_token {
        headers.push(("x-amz-security-token", token.clone()));
    }
    let sent = [("content-type", content_type), ("host", authority)];
    let sent = sent.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let added = headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    let signed: Vec<(String, String)> = sent.into_iter().chain(added).collect();
    let content_sha256 = sha256_hex(body);
    let request = ToSign {
        method: "POST",
        path,
        query: "",
        headers: &signed,
        content_sha256: &content_sha256,
    };
    headers.push(("authorization", signer.authorization(request)));
    headers
}

#[cfg(test)]
mod tests {
    use aws_sigv4::http_request::{
        SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign,
    };
    use aws_sigv4::sign::v4::SigningParams;

    use super::*;

    #[test]
    fn a_signature_for_another_service_is_that_of_aws() {
        let keys = Credentials {
            access_key: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: Some("token".to_owned()),
        };
        let post = PostToSign {
            service: "sqs",
            region: "eu-west-1",
            now_s: 1_770_091_506,
            authority: "sqs.eu-west-1.amazonaws.com",
            path: "/123456789012/events",
            content_type: "application/x-www-form-urlencoded",
            body: b"Action=SendMessage",
        };
        let ours = sign_post(&keys, post);

        let identity = aws_credential_types::Credentials::from_keys(
            keys.access_key.clone(),
            keys.secret_key.clone(),
            keys.session_token.clone(),
        )
        .into();
        let mut settings = SigningSettings::default();
        settings.signature_location = SignatureLocation::Headers;
        let time = Timestamp::from_second(1_770_091_506).expect("a time");
        let parameters = SigningParams::builder()
            .identity(&identity)
            .region("eu-west-1")
            .name("sqs")
            .time(time.into())
            .settings(settings)
            .build()
            .expect("all is set");
        let url = format!("https://{}{}", post.authority, post.path);
        let headers = [("content-type", post.content_type), ("host", post.authority)];
        let body = SignableBody::Bytes(post.body);
        let signable = SignableRequest::new("POST", &url, headers.into_iter(), body);
        let (instructions, _) =
            sign(signable.expect("valid"), &parameters.into()).expect("signed").into_parts();
        let theirs: Vec<_> = instructions.headers().collect();
        for (name, value) in ours {
            assert!(theirs.contains(&(name, &*value)), "{name}: {value}, not one of {theirs:?}");
        }
    }
}
