//! The spelling of header names on HTTP/1.
//!
//! Names are case-insensitive (RFC 9110, section 5.1), and `http` holds them in lower case. But some clients compare
//! them letter by letter with the ones of S3: htslib up to 1.16 finds no `etag` of a part, aborts the upload and
//! reports success. So every answer spells its names as S3 does: `ETag`, `Last-Modified`, and `x-amz-…` in lower case.
//!
//! hyper writes a head as a whole, in lower case, before anything of its body. Its bytes are spelled on their way to the
//! socket. A spelling changes no length, so hyper's count of what was written stays right. (hyper could spell the names
//! itself, by an extension with the names of a request, which is for proxies; the copies of that extension and the
//! look-ups in it took a tenth of a GET of 1 KiB.) HTTP/2 has lower case only, and does not pass through here.

use memchr::memchr;

use crate::connection::ConnectionState;

/// Names that [`spell_name`] would spell in another way than S3.
const EXCEPTIONS: [&[u8]; 8] = [
    b"Content-MD5",
    b"ETag",
    b"WWW-Authenticate",
    b"X-Content-Type-Options",
    b"X-Frame-Options",
    b"X-XSS-Protection",
    b"x-amzn-ErrorType",
    b"x-amzn-RequestId",
];

/// The interim answer, which hyper writes without headers.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The heads of the answers on one connection, on their way to the socket.
#[derive(Default)]
pub(super) struct Heads {
    /// Spelled bytes. Before `written`, the socket has taken them; hyper offers the others again.
    spelled: Vec<u8>,
    written: usize,
}

impl Heads {
    /// The spelled bytes to write in place of the first ones of `offered`, which are as many. Empty
    /// if no head is on its way.
    ///
    /// `state` counts the heads that hyper has been given. hyper adds the next one behind the bytes
    /// of earlier heads only, and offers them together, without bytes of a body.
    pub(super) fn spelled(&mut self, offered: &[u8], state: &ConnectionState) -> &[u8] {
        let known = self.spelled.len() - self.written;
        let mut new = offered.get(known..).unwrap_or_default();
        while !new.is_empty() && state.take_head() {
            new = &new[self.spell(new)..];
        }
        let end = self.spelled.len().min(self.written + offered.len());
        &self.spelled[self.written..end]
    }

    /// Notes that the socket has taken bytes.
    pub(super) fn advance(&mut self, bytes: usize) {
        self.written += bytes;
        if self.written >= self.spelled.len() {
            self.spelled.clear();
            self.written = 0;
        }
    }

    /// Gives the buffer back, for a connection that becomes idle.
    pub(super) fn release(&mut self) {
        if self.spelled.is_empty() {
            self.spelled = Vec::new();
        }
    }

    /// Spells the head at the beginning of `sent`, and returns its length in bytes.
    fn spell(&mut self, sent: &[u8]) -> usize {
        let start = self.spelled.len();
        self.spelled.extend_from_slice(sent);
        let mut rest = &mut self.spelled[start..];
        // The socket may have taken the beginning of the interim answer before hyper added the head, which begins with
        // none of the ends of that.
        let is_before = |end: &&[u8]| rest.starts_with(end);
        let mut ends = (0..CONTINUE.len()).map(|taken| &CONTINUE[taken..]);
        let interim = ends.find(is_before).map_or(0, <[u8]>::len);
        rest = &mut rest[interim..];
        let mut is_status = true;
        // The empty line ends the head.
        while let Some(end) = memchr(b'\n', rest).filter(|end| *end > 1) {
            if !std::mem::take(&mut is_status) {
                spell_name(&mut rest[..end]);
            }
            rest = &mut rest[end + 1..];
        }
        let bytes = sent.len() - rest.len().saturating_sub(b"\r\n".len());
        self.spelled.truncate(start + bytes);
        bytes
    }
}

/// Spells the name at the beginning of a line: each word with a capital, `x-…` in lower case.
fn spell_name(line: &mut [u8]) {
    if line.starts_with(b"x-amz-") {
        return;
    }
    let bytes = memchr(b':', line).unwrap_or_default();
    let name = &mut line[..bytes];
    if let Some(spelled) = EXCEPTIONS.iter().find(|it| it.eq_ignore_ascii_case(name)) {
        name.copy_from_slice(spelled);
    } else if !name.starts_with(b"x-") {
        let mut begins = true;
        for byte in name {
            if begins {
                byte.make_ascii_uppercase();
            }
            begins = *byte == b'-';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "HTTP/1.1 200 o-k: a\r\netag: \"e-f\"\r\nlast-modified: x\r\nx-amz-id-2: i\r\n\r\n";
    const SPELLED: &str =
        "HTTP/1.1 200 o-k: a\r\nETag: \"e-f\"\r\nLast-Modified: x\r\nx-amz-id-2: i\r\n\r\n";

    fn name(sent: &str) -> String {
        let mut line = format!("{sent}: a-b").into_bytes();
        spell_name(&mut line);
        let line = String::from_utf8(line).expect("text");
        line.strip_suffix(": a-b").expect("the value stays").to_owned()
    }

    #[test]
    fn names_are_spelled_as_s3_spells_them() {
        for spelled in [
            "Accept-Ranges",
            "Access-Control-Allow-Origin",
            "Connection",
            "Content-Length",
            "Content-MD5",
            "Content-Security-Policy",
            "Date",
            "ETag",
            "Keep-Alive",
            "Server",
            "Transfer-Encoding",
            "Vary",
            "WWW-Authenticate",
            "X-Content-Type-Options",
            "X-Frame-Options",
            "X-XSS-Protection",
            "x-amz-request-id",
            "x-amz-meta-camel-case",
            "x-amzn-ErrorType",
            "x-amzn-RequestId",
            "x-other",
        ] {
            assert_eq!(name(&spelled.to_ascii_lowercase()), spelled);
        }
    }

    /// What a socket gets that takes `step` bytes at a time of heads and bodies, which hyper offers
    /// as one piece each.
    fn written(pieces: &[(&str, u32)], step: usize) -> String {
        let (mut heads, state) = (Heads::default(), ConnectionState::default());
        let mut taken = Vec::new();
        for (piece, due) in pieces {
            (0..*due).for_each(|_| state.head_due());
            let mut offered = piece.as_bytes();
            while !offered.is_empty() {
                let spelled = heads.spelled(offered, &state);
                let sent = [spelled, &offered[spelled.len()..]].concat();
                assert_eq!(sent.len(), offered.len(), "a spelling changes no length");
                let bytes = step.min(sent.len());
                taken.extend_from_slice(&sent[..bytes]);
                heads.advance(bytes);
                offered = &offered[bytes..];
            }
            assert!(heads.spelled.is_empty() && !state.take_head(), "{piece}");
        }
        String::from_utf8(taken).expect("text")
    }

    #[test]
    fn heads_are_spelled_and_bodies_are_not_however_few_bytes_the_socket_takes() {
        let body = "HTTP/1.1 100 Continue\r\n\r\netag: a\r\n\r\n";
        let interim = "HTTP/1.1 100 Continue\r\n\r\n";
        for step in (1..=HEAD.len()).chain([1000]) {
            let two = (&*HEAD.repeat(2), 2);
            let after = (&*format!("{interim}{HEAD}"), 1);
            let pieces = [(HEAD, 1), (body, 0), two, (interim, 0), after, (body, 0)];
            let expected =
                [SPELLED, body, SPELLED, SPELLED, interim, interim, SPELLED, body].concat();
            assert_eq!(written(&pieces, step), expected, "{step} bytes at a time");
        }
    }

    #[test]
    fn a_head_that_follows_one_on_its_way_is_spelled() {
        let (mut heads, state) = (Heads::default(), ConnectionState::default());
        state.head_due();
        assert_eq!(heads.spelled(HEAD.as_bytes(), &state), SPELLED.as_bytes());
        heads.advance(10);
        // hyper adds the next head to what it still holds.
        state.head_due();
        let offered = format!("{}{HEAD}", &HEAD[10..]);
        let expected = format!("{}{SPELLED}", &SPELLED[10..]);
        assert_eq!(heads.spelled(offered.as_bytes(), &state), expected.as_bytes());
        heads.advance(offered.len());
        assert!(heads.spelled(b"body", &state).is_empty());
    }

    #[test]
    fn a_head_behind_the_rest_of_an_interim_answer_is_spelled() {
        for taken in 0..CONTINUE.len() {
            let (mut heads, state) = (Heads::default(), ConnectionState::default());
            assert!(heads.spelled(CONTINUE, &state).is_empty());
            heads.advance(taken);
            state.head_due();
            let rest = &CONTINUE[taken..];
            let offered = [rest, HEAD.as_bytes(), b"body"].concat();
            let expected = [rest, SPELLED.as_bytes()].concat();
            assert_eq!(heads.spelled(&offered, &state), expected, "{taken} bytes were taken");
        }
    }

    #[test]
    fn bytes_that_are_no_head_pass() {
        for sent in ["\n", "\r\n", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\netag", "a\nb\nc"] {
            assert_eq!(written(&[(sent, 1)], 1000).len(), sent.len(), "{sent:?}");
        }
    }
}
