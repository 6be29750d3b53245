//! Browser forms (`multipart/form-data`): the fields before the file.
//!
//! At most [`FORM_PREFACE_BYTES_MAX`] bytes are buffered; the file itself stays in the stream.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use memchr::memmem;

use super::body::Source;
use super::limits::{FORM_FIELDS_MAX, FORM_PREFACE_BYTES_MAX};
use super::post_file::{malformed_form, not_one_file};
use liteio_wire::reply::{ApiError, ErrorCode};

/// A form field: its name in lower case, and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) value: String,
}

/// A form up to the contents of its file.
#[derive(Debug)]
pub(super) struct Form {
    /// The fields in order; names may repeat.
    pub(super) fields: Vec<Field>,
    /// The client's name of the file, without directories; `None` if the part has no file name.
    pub(super) file_name: Option<String>,
    /// CRLF, two dashes and the boundary.
    pub(super) delimiter: Bytes,
    /// The start of the file that was read ahead.
    pub(super) file_start: [Bytes; 2],
}

/// `true` if the headers announce a form to any reader: also with a suffix (`form-data+xml`), which
/// parsers of media types split off.
pub(super) fn is_form(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_TYPE).iter().any(|value| {
        let mut parts = value.as_bytes().split(|byte| matches!(byte, b';' | b'+'));
        let essence = parts.next().unwrap_or_default();
        essence.trim_ascii().eq_ignore_ascii_case(b"multipart/form-data")
    })
}

/// The delimiter: CRLF, two dashes and the boundary of the content type.
fn delimiter(headers: &HeaderMap) -> Option<Bytes> {
    let content_type = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let content_type: mime::Mime = content_type.parse().ok()?;
    let boundary = content_type.get_param(mime::BOUNDARY)?.as_str();
    let valid = (1..=70).contains(&boundary.len())
        && boundary.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    valid.then(|| Bytes::from(format!("\r\n--{boundary}")))
}

impl Form {
    /// Reads a form up to the contents of its file.
    ///
    /// # Errors
    /// `MalformedPOSTRequest`, `MaxPostPreDataLengthExceededError`, a missing file, or an error of
    /// the connection.
    pub(super) async fn read(headers: &HeaderMap, source: &mut Source) -> Result<Form, ApiError> {
        let delimiter = delimiter(headers).ok_or_else(malformed_form)?;
        let mut reader = PrefaceReader::new(delimiter);
        loop {
            let mut data = source.next_data().await.ok_or_else(malformed_form)??;
            let room = FORM_PREFACE_BYTES_MAX + reader.slack() - reader.buffer.len();
            let taken = data.split_to(room.min(data.len()));
            reader.buffer.extend_from_slice(&taken);
            if let Some(file_name) = reader.advance()? {
                let start = reader.buffer.split_off(reader.position).freeze();
                return Ok(Form {
                    fields: reader.fields,
                    file_name,
                    delimiter: reader.delimiter,
                    file_start: [start, data],
                });
            }
            if taken.len() == room {
                return Err(ApiError::new(
                    ErrorCode::MaxPostPreDataLengthExceededError,
                    "Your POST request fields preceding the upload file were too large.",
                ));
            }
        }
    }

    /// The first field of this name.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|field| field.name == name).map(|field| field.value.as_str())
    }
}

/// Parses fields from a growing buffer.
struct PrefaceReader {
    delimiter: Bytes,
    finder: memmem::Finder<'static>,
    /// Starts with an added CRLF, so that the first delimiter looks like all others.
    buffer: BytesMut,
    /// The start of the next part: before the first delimiter, later directly behind one.
    position: usize,
    before_first: bool,
    fields: Vec<Field>,
}

impl PrefaceReader {
    fn new(delimiter: Bytes) -> Self {
        let finder = memmem::Finder::new(&delimiter).into_owned();
        let buffer = BytesMut::from(&b"\r\n"[..]);
        PrefaceReader {
            delimiter,
            finder,
            buffer,
            position: 0,
            before_first: true,
            fields: Vec::new(),
        }
    }

    /// Bytes of the buffer that the client did not send.
    fn slack(&self) -> usize {
        2
    }

    /// Parses all complete fields. Returns the name of the file, if it has one, once its contents
    /// begin, at `position`.
    fn advance(&mut self) -> Result<Option<Option<String>>, ApiError> {
        loop {
            let rest = &self.buffer[self.position..];
            if self.before_first {
                let Some(start) = self.finder.find(rest) else { return Ok(None) };
                self.position += start + self.delimiter.len();
                self.before_first = false;
                continue;
            }
            match rest {
                [b'-', b'-', ..] => return Err(not_one_file()),
                [b'\r', b'\n', ..] => {}
                [] | [b'-' | b'\r'] => return Ok(None),
                _ => return Err(malformed_form()),
            }
            let Some(head_end) = memmem::find(rest, b"\r\n\r\n") else { return Ok(None) };
            let content = head_end + 4;
            let head = std::str::from_utf8(&rest[..head_end]).map_err(|_| malformed_form())?;
            let disposition = Disposition::of_head(head).ok_or_else(malformed_form)?;
            // A file under no name, which would count as a field that is too large.
            if disposition.name.is_empty() {
                return Err(malformed_form());
            }
            if disposition.name.eq_ignore_ascii_case("file") {
                self.position += content;
                return Ok(Some(disposition.base_file_name()));
            }
            let Some(end) = self.finder.find(&rest[content..]) else { return Ok(None) };
            let value = std::str::from_utf8(&rest[content..content + end]);
            let value = value.map_err(|_| malformed_form())?.to_owned();
            if self.fields.len() == FORM_FIELDS_MAX {
                let message = "The form has too many fields.";
                return Err(ApiError::new(ErrorCode::MalformedPOSTRequest, message));
            }
            self.fields.push(Field { name: disposition.name.to_ascii_lowercase(), value });
            self.position += content + end + self.delimiter.len();
        }
    }
}

/// The header `Content-Disposition: form-data; name="…"; filename="…"`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Disposition {
    name: String,
    file_name: Option<String>,
}

impl Disposition {
    /// Parses the header lines of a part.
    fn of_head(head: &str) -> Option<Disposition> {
        let value = head.split("\r\n").find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
        })?;
        let mut rest = value.trim().strip_prefix("form-data")?;
        let (mut name, mut file_name) = (None, None);
        while let Some(parameter) = rest.trim_start().strip_prefix(';') {
            if parameter.trim().is_empty() {
                break;
            }
            let (key, after) = parameter.split_once('=')?;
            let (value, after) = parameter_value(after.trim_start())?;
            rest = after;
            match key.trim().to_ascii_lowercase().as_str() {
                "name" => name = Some(value),
                "filename" => file_name = Some(value),
                _ => {}
            }
        }
        Some(Disposition { name: name?, file_name })
    }

    /// The file name without directories: browsers may send a path in the style of their system.
    fn base_file_name(&self) -> Option<String> {
        let base = |name: &String| name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        self.file_name.as_ref().map(base)
    }
}

/// Splits off a token or a quoted string.
fn parameter_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(';').unwrap_or(text.len());
        return Some((text[..end].trim().to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Some((value, &quoted[index + 1..])),
            // Only quotes are escaped: a backslash may belong to a path.
            '\\' if quoted[index + 1..].starts_with('"') => {
                characters.next();
                value.push('"');
            }
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dispositions_are_read_as_browsers_write_them() {
        let parse = |value: &str| {
            Disposition::of_head(&format!("\r\nContent-Type: a/b\r\nContent-Disposition: {value}"))
                .map(|found| (found.name.clone(), found.base_file_name()))
        };
        let pair = |name: &str, file: &str| Some((name.to_owned(), Some(file.to_owned())));
        assert_eq!(parse("form-data; name=\"key\""), Some(("key".to_owned(), None)));
        assert_eq!(parse("form-data; name=\"file\"; filename=\"\""), pair("file", ""));
        assert_eq!(parse("form-data; name=key; filename=a.txt"), pair("key", "a.txt"));
        assert_eq!(parse("form-data;name=\"a;b\" ; filename=\"x=y\""), pair("a;b", "x=y"));
        assert_eq!(
            parse("form-data; name=\"file\"; filename=\"C:\\dir\\a \\\"b\\\".txt\";"),
            pair("file", "a \"b\".txt")
        );
        assert_eq!(parse("form-data; filename=\"/tmp/é\"; name=file"), pair("file", "é"));
        assert_eq!(parse("form-data; name=\"open"), None);
        assert_eq!(parse("form-data"), None);
        assert_eq!(parse("attachment; name=a"), None);
        assert_eq!(Disposition::of_head("Content-Type: text/plain"), None);
    }
}
