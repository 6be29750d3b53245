//! Answers, read from a connection or from what has come of it.

use std::io::BufRead;

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// Reads one answer, interim answers skipped; `None` when the bytes end before it.
    pub(crate) fn read(stream: &mut impl BufRead, head_only: bool) -> Option<Reply> {
        let (status, headers) = loop {
            let (status, headers) = read_head(stream)?;
            if status >= 200 {
                break (status, headers);
            }
        };
        let mut reply = Reply { status, headers, body: Vec::new() };
        if head_only || matches!(status, 204 | 304) {
            // Whatever came nevertheless would be seen as the next answer: the connection is over.
            return Some(reply);
        }
        if let Some(length) = reply.header("content-length").and_then(|text| text.parse().ok()) {
            reply.body.resize(length, 0);
            stream.read_exact(&mut reply.body).ok()?;
        } else if reply.header("transfer-encoding") == Some("chunked") {
            read_chunks(stream, &mut reply.body)?;
        } else {
            stream.read_to_end(&mut reply.body).ok()?;
        }
        Some(reply)
    }

    #[track_caller]
    pub(crate) fn expect_status(self, status: u16) -> Reply {
        assert_eq!(self.status, status, "{}", self.everything());
        self
    }

    /// An error with this status and code.
    #[track_caller]
    pub(crate) fn expect_error(self, status: u16, code: &str) -> Reply {
        assert_eq!((self.status, &*self.code()), (status, code), "{}", self.everything());
        assert!(!self.element("Message").is_empty(), "{}", self.everything());
        self
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The text of the first element of this name; empty if there is none.
    pub(crate) fn element(&self, name: &str) -> String {
        self.elements(name).into_iter().next().unwrap_or_default()
    }

    /// The texts of all elements of this name, unescaped.
    pub(crate) fn elements(&self, name: &str) -> Vec<String> {
        let text = self.text();
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let inner = text.split(&open).skip(1).filter_map(|rest| rest.split(&close).next());
        inner
            .map(|text| quick_xml::escape::unescape(text).expect("escaped text").into_owned())
            .collect()
    }

    pub(crate) fn has_element(&self, name: &str) -> bool {
        self.text().contains(&format!("<{name}>"))
    }

    /// The code of an error, or nothing.
    pub(crate) fn code(&self) -> String {
        self.element("Code")
    }

    /// Status, head and body, for messages and to search in.
    pub(crate) fn everything(&self) -> String {
        format!("{} {:?}\n{}", self.status, self.headers, self.text())
    }
}

/// The status and the headers of the next answer, interim ones too.
pub(crate) fn read_head(stream: &mut impl BufRead) -> Option<(u16, Vec<(String, String)>)> {
    let status_line = read_line(stream)?;
    let status = status_line.split(' ').nth(1)?.parse().ok()?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(stream)?;
        let Some((name, value)) = line.split_once(':') else { return Some((status, headers)) };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

/// One line without its end; bytes that are no UTF-8 are replaced.
fn read_line(stream: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    stream.read_until(b'\n', &mut line).ok()?;
    let line = line.strip_suffix(b"\n")?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Some(String::from_utf8_lossy(line).into_owned())
}

fn read_chunks(stream: &mut impl BufRead, body: &mut Vec<u8>) -> Option<()> {
    loop {
        let size = usize::from_str_radix(&read_line(stream)?, 16).ok()?;
        let start = body.len();
        body.resize(start + size, 0);
        stream.read_exact(&mut body[start..]).ok()?;
        read_line(stream)?;
        if size == 0 {
            return Some(());
        }
    }
}
