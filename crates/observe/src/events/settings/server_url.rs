//! URLs of servers that do not speak HTTP.

use http::Uri;
use percent_encoding::percent_decode_str;

/// The parts of `SCHEME://[USER[:PASSWORD]@]HOST[:PORT][/PATH][?FIELD=VALUE&…]`.
pub(super) struct ServerUrl {
    pub(super) scheme: String,
    /// Host name or address, without brackets.
    pub(super) host: String,
    pub(super) port: Option<u16>,
    /// The text before the colon, or before `@` without one.
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    /// Without the first slash.
    pub(super) path: String,
    /// Names and values after the question mark.
    pub(super) fields: Vec<(String, String)>,
}

impl ServerUrl {
    /// The parts of a URL; none if it is not of this form.
    pub(super) fn parse(url: &str) -> Option<ServerUrl> {
        if url.contains('#') {
            return None;
        }
        let uri = url.parse::<Uri>().ok()?;
        let host = uri.host()?.trim_start_matches('[').trim_end_matches(']').to_owned();
        let authority = uri.authority()?.as_str();
        let (user, password) = match authority.rsplit_once('@').map(|(sign_in, _)| sign_in) {
            None => (None, None),
            Some(sign_in) => match sign_in.split_once(':') {
                Some((user, password)) => (Some(decoded(user)), Some(decoded(password))),
                None => (Some(decoded(sign_in)), None),
            },
        };
        let fields = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        Some(ServerUrl {
            scheme: uri.scheme_str()?.to_owned(),
            host: Some(host).filter(|host| !host.is_empty())?,
            port: uri.port_u16(),
            user: user.filter(|user| !user.is_empty()),
            password,
            path: uri.path().trim_start_matches('/').to_owned(),
            fields: fields.into_owned().collect(),
        })
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Scheme, host and port of a server.
pub(super) fn origin(scheme: &str, host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("{scheme}://[{host}]:{port}"),
        false => format!("{scheme}://{host}:{port}"),
    }
}
