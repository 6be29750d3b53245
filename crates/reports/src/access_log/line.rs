//! The line of a request, in the format of "Amazon S3 server access log format" of the S3 user guide.

use std::fmt::Write as _;

use jiff::Timestamp;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::limits::LOG_FIELD_BYTES_MAX;

/// The fields of a line that have a value; `None` is written as `-`.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) owner: String,
    pub(super) bucket: String,
    pub(super) time: Timestamp,
    pub(super) remote_ip: String,
    pub(super) requester: Option<String>,
    pub(super) request_id: String,
    pub(super) operation: String,
    pub(super) key: String,
    /// Method, path, query and version, without secrets.
    pub(super) request_uri: String,
    pub(super) status: u16,
    pub(super) code: Option<String>,
    pub(super) bytes_sent: u64,
    pub(super) object_bytes: Option<u64>,
    pub(super) total_ms: Option<u128>,
    pub(super) turn_around_ms: Option<u128>,
    pub(super) referer: Option<String>,
    pub(super) user_agent: Option<String>,
    pub(super) version_id: Option<String>,
    pub(super) host_id: String,
    pub(super) signature_version: Option<&'static str>,
    pub(super) cipher: Option<&'static str>,
    pub(super) auth_type: Option<&'static str>,
    pub(super) host: String,
    pub(super) tls_version: Option<&'static str>,
    pub(super) is_acl_required: bool,
}

/// Everything but unreserved characters and slashes.
const KEY: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');
/// Characters that would end a field or a line. Unencoded, they would let a client write fields of its own.
const QUOTED: &AsciiSet = &CONTROLS.add(b'"');
const BARE: &AsciiSet = &QUOTED.add(b' ');

impl Line {
    /// The text of the line, with its end.
    pub(super) fn text(&self) -> String {
        let mut text = String::with_capacity(512);
        let time = self.time.strftime("%d/%b/%Y:%H:%M:%S +0000");
        bare(&mut text, &self.owner);
        bare(&mut text, &self.bucket);
        let _ = write!(text, "[{time}] ");
        bare(&mut text, &self.remote_ip);
        bare(&mut text, self.requester.as_deref().unwrap_or_default());
        bare(&mut text, &self.request_id);
        bare(&mut text, &self.operation);
        field(&mut text, &utf8_percent_encode(shortened(&self.key), KEY).to_string());
        quoted(&mut text, &self.request_uri);
        number(&mut text, (self.status != 0).then_some(self.status));
        bare(&mut text, self.code.as_deref().unwrap_or_default());
        number(&mut text, (self.bytes_sent != 0).then_some(self.bytes_sent));
        number(&mut text, self.object_bytes);
        number(&mut text, self.total_ms);
        number(&mut text, self.turn_around_ms);
        quoted(&mut text, self.referer.as_deref().unwrap_or_default());
        quoted(&mut text, self.user_agent.as_deref().unwrap_or_default());
        bare(&mut text, self.version_id.as_deref().unwrap_or_default());
        bare(&mut text, &self.host_id);
        bare(&mut text, self.signature_version.unwrap_or_default());
        bare(&mut text, self.cipher.unwrap_or_default());
        bare(&mut text, self.auth_type.unwrap_or_default());
        bare(&mut text, &self.host);
        bare(&mut text, self.tls_version.unwrap_or_default());
        // Access points do not exist here.
        field(&mut text, "");
        field(&mut text, if self.is_acl_required { "Yes" } else { "" });
        // The region of the client is unknown.
        text.push_str("-\n");
        text
    }
}

fn field(line: &mut String, value: &str) {
    line.push_str(if value.is_empty() { "-" } else { value });
    line.push(' ');
}

fn bare(line: &mut String, value: &str) {
    field(line, &utf8_percent_encode(shortened(value), BARE).to_string());
}

fn quoted(line: &mut String, value: &str) {
    let value = if value.is_empty() { "-" } else { shortened(value) };
    let _ = write!(line, "\"{}\" ", utf8_percent_encode(value, QUOTED));
}

fn number(line: &mut String, value: Option<impl std::fmt::Display>) {
    match value {
        Some(value) => write!(line, "{value} ").unwrap_or_default(),
        None => field(line, ""),
    }
}

fn shortened(value: &str) -> &str {
    &value[..value.floor_char_boundary(LOG_FIELD_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        Line {
            owner: "79a59df9".to_owned(),
            bucket: "photos".to_owned(),
            time: "2019-02-06T00:00:38Z".parse().expect("a time"),
            remote_ip: "192.0.2.3".to_owned(),
            requester: Some("arn:aws:iam::111122223333:user/a".to_owned()),
            request_id: "3E57427F3EXAMPLE".to_owned(),
            operation: "REST.GET.OBJECT".to_owned(),
            key: "a b/ä\"".to_owned(),
            request_uri: "GET /photos/a%20b?x=1 HTTP/1.1".to_owned(),
            status: 200,
            bytes_sent: 113,
            object_bytes: Some(200),
            total_ms: Some(7),
            user_agent: Some("curl\" 200 \"/8".to_owned()),
            host_id: "s9lzHYrFp76=".to_owned(),
            signature_version: Some("SigV4"),
            auth_type: Some("AuthHeader"),
            host: "localhost:9000".to_owned(),
            ..Line::default()
        }
    }

    #[test]
    fn fields_stand_in_the_order_of_the_format() {
        let expected = "79a59df9 photos [06/Feb/2019:00:00:38 +0000] 192.0.2.3 \
            arn:aws:iam::111122223333:user/a 3E57427F3EXAMPLE REST.GET.OBJECT a%20b/%C3%A4%22 \
            \"GET /photos/a%20b?x=1 HTTP/1.1\" 200 - 113 200 7 - \"-\" \"curl%22 200 %22/8\" - \
            s9lzHYrFp76= SigV4 - AuthHeader localhost:9000 - - - -\n";
        assert_eq!(line().text(), expected);
    }

    #[test]
    fn a_client_cannot_make_fields_or_lines_of_its_own() {
        let hostile = "x\"\n\r y".to_owned();
        let line = Line {
            host: hostile.clone(),
            referer: Some(hostile.clone()),
            version_id: Some(hostile.clone()),
            requester: Some(hostile),
            ..line()
        };
        let text = line.text();
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        assert_eq!(text.matches('"').count(), 6, "{text}");
        assert_eq!(
            text.trim_end().split('"').next_back().map(|it| it.split(' ').count()),
            Some(11)
        );
        let long = Line { user_agent: Some("ä".repeat(100_000)), ..super::tests::line() };
        assert!(long.text().len() < 4 * LOG_FIELD_BYTES_MAX);
    }
}
