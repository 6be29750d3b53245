//! The spelling of header names on HTTP/1.
//!
//! Names are case-insensitive (RFC 9110, section 5.1), and `http` holds them in lower case. But some clients compare
//! them letter by letter with the ones of S3: htslib up to 1.16 finds no `etag` of a part, aborts the upload and
//! reports success. So every answer spells its names as S3 does: `ETag`, `Last-Modified`, and `x-amz-…` in lower case.
//!
//! hyper itself writes the names, so no byte of an answer is searched or changed here. Its server keeps the spelling
//! of a request's names in an extension, and uses it for an answer with that extension (`preserve_header_case`, for
//! proxies). The type of the extension is private, but the parser makes one: each thread lets it parse a request with
//! all names once, and copies the extension to its answers. HTTP/2 has lower case only, and does not pass through here.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::{Future as _, ready};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, DATE, ETAG, LAST_MODIFIED, SERVER,
    VARY,
};
use http::{Extensions, HeaderMap, HeaderName, Request, Response};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;

/// The names in most answers for objects, with those that hyper adds. A short list is cheap to copy.
const OF_OBJECTS: [&str; 8] = [
    "Accept-Ranges",
    "Connection",
    "Content-Length",
    "Content-Type",
    "Date",
    "ETag",
    "Last-Modified",
    "Server",
];

/// The names in answers for parts of objects and for pages, and the one that hyper adds to an answer without a length.
const OF_PARTS: [&str; 3] = ["Content-Range", "Transfer-Encoding", "Vary"];

/// The other names of answers, except `x-amz-…`, which S3 sends in lower case, too.
const OTHERS: [&str; 40] = [
    "Access-Control-Allow-Credentials",
    "Access-Control-Allow-Headers",
    "Access-Control-Allow-Methods",
    "Access-Control-Allow-Origin",
    "Access-Control-Expose-Headers",
    "Access-Control-Max-Age",
    "Age",
    "Allow",
    "Cache-Control",
    "Clear-Site-Data",
    "Content-Disposition",
    "Content-Encoding",
    "Content-Language",
    "Content-Location",
    "Content-MD5",
    "Content-Security-Policy",
    "Cross-Origin-Embedder-Policy",
    "Cross-Origin-Opener-Policy",
    "Cross-Origin-Resource-Policy",
    "Expires",
    "Keep-Alive",
    "Link",
    "Location",
    "Origin-Agent-Cluster",
    "Permissions-Policy",
    "Pragma",
    "Referrer-Policy",
    "Refresh",
    "Retry-After",
    "Set-Cookie",
    "Strict-Transport-Security",
    "Timing-Allow-Origin",
    "Trailer",
    "Via",
    "WWW-Authenticate",
    "X-Content-Type-Options",
    "X-Frame-Options",
    "X-XSS-Protection",
    "x-amzn-ErrorType",
    "x-amzn-RequestId",
];

/// Names that an answer may have several times. hyper keeps one spelling for each of its values.
const REPEATED: [&str; 5] =
    ["Content-Security-Policy", "Link", "Set-Cookie", "Vary", "WWW-Authenticate"];

/// The times that an answer may have one of them.
const REPEATED_MAX: usize = 4;

thread_local! {
    /// A copy for each thread: threads that shared one would wait for its reference counts.
    static SPELLINGS: Spellings = Spellings::learn();
}

/// Makes hyper spell the header names of an answer as S3 does.
pub(super) fn spell<B>(response: &mut Response<B>) {
    // Other extensions are of no use any more: nothing but hyper sees the answer after this.
    SPELLINGS.with(|spellings| {
        *response.extensions_mut() = spellings.of(response.headers()).clone();
    });
}

/// Spellings in the form in which hyper keeps them.
struct Spellings {
    /// The names of objects, those with the names of parts, and all names.
    lists: [Extensions; 3],
}

impl Spellings {
    fn learn() -> Spellings {
        let (objects, parts) = (OF_OBJECTS.into_iter(), OF_OBJECTS.into_iter().chain(OF_PARTS));
        let all = parts.clone().chain(OTHERS).flat_map(|name| {
            let times = if REPEATED.contains(&name) { REPEATED_MAX } else { 1 };
            std::iter::repeat_n(name, times)
        });
        Spellings { lists: [parsed(objects), parsed(parts), parsed(all)] }
    }

    /// The shortest list that has all names of an answer.
    fn of(&self, headers: &HeaderMap) -> &Extensions {
        let is_repeated = headers.keys_len() != headers.len();
        // Without a length, hyper may add `Transfer-Encoding`.
        let (mut list, mut without_length) = (0, 1);
        for name in headers.keys() {
            list = list.max(list_of(name));
            if *name == CONTENT_LENGTH {
                without_length = 0;
            }
        }
        &self.lists[if is_repeated { 2 } else { list.max(without_length) }]
    }
}

/// The number of the first list with a name, or that of an answer in which it stays in lower case.
/// (hyper adds the others.)
fn list_of(name: &HeaderName) -> usize {
    match *name {
        ACCEPT_RANGES | CONTENT_LENGTH | CONTENT_TYPE | DATE | ETAG | LAST_MODIFIED | SERVER => 0,
        CONTENT_RANGE | VARY => 1,
        _ if name.as_str().starts_with("x-amz-") => 0,
        _ => 2,
    }
}

/// The extensions of a request with these header names, as hyper's server parses it.
fn parsed(names: impl Iterator<Item = &'static str>) -> Extensions {
    let mut head = "GET / HTTP/1.1\r\n".to_owned();
    for name in names {
        let value = match name {
            "Content-Length" => "0",
            "Transfer-Encoding" => "chunked",
            _ => "-",
        };
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    let found = RefCell::new(Extensions::new());
    let service = service_fn(|request: Request<Incoming>| {
        found.replace(request.into_parts().0.extensions);
        ready(Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new())))
    });
    let mut http = http1::Builder::new();
    http.header_read_timeout(None).preserve_header_case(true);
    let connection = http.serve_connection(Script(head.as_bytes()), service);
    // The script never waits, so the request is served in the first poll.
    let _ = pin!(connection).poll(&mut Context::from_waker(Waker::noop()));
    found.into_inner()
}

/// A client that sends these bytes, and takes any answer.
struct Script<'a>(&'a [u8]);

impl Read for Script<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let (bytes, rest) = self.0.split_at(self.0.len().min(cursor.remaining()));
        cursor.put_slice(bytes);
        self.0 = rest;
        Poll::Ready(Ok(()))
    }
}

impl Write for Script<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    /// The header names of an answer as hyper writes them, with the ones that it adds.
    fn written(response: &Response<()>) -> Vec<String> {
        struct Kept<'a>(Script<'a>, &'a RefCell<Vec<u8>>);

        impl Read for Kept<'_> {
            fn poll_read(
                mut self: Pin<&mut Self>,
                context: &mut Context<'_>,
                cursor: ReadBufCursor<'_>,
            ) -> Poll<io::Result<()>> {
                Pin::new(&mut self.0).poll_read(context, cursor)
            }
        }

        impl Write for Kept<'_> {
            fn poll_write(
                self: Pin<&mut Self>,
                _: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.1.borrow_mut().extend_from_slice(bytes);
                Poll::Ready(Ok(bytes.len()))
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }
        }

        let service = service_fn(|_: Request<Incoming>| {
            let mut response = response.clone().map(|()| Empty::<Bytes>::new());
            spell(&mut response);
            ready(Ok::<_, Infallible>(response))
        });
        let kept = RefCell::new(Vec::new());
        let client = Kept(Script(b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n"), &kept);
        let mut http = http1::Builder::new();
        http.header_read_timeout(None).half_close(true);
        let connection = http.serve_connection(client, service);
        let polled = pin!(connection).poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_ready());
        let text = String::from_utf8(kept.into_inner()).expect("heads are text");
        let lines = text.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.map(|(name, _)| name.to_owned()).collect()
    }

    fn answer(names: &[&str]) -> Response<()> {
        let mut response = Response::new(());
        for name in names {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
            let value = if name == CONTENT_LENGTH { "0" } else { "-" };
            response.headers_mut().append(name, HeaderValue::from_static(value));
        }
        response
    }

    #[test]
    fn hyper_writes_every_name_as_it_is_spelled_here() {
        for name in OF_OBJECTS.into_iter().chain(OF_PARTS).chain(OTHERS) {
            // hyper decides about these two by itself; the integration tests see them.
            // The third is the one beside which the others are looked at.
            if matches!(name, "Transfer-Encoding" | "Trailer" | "Retry-After") {
                continue;
            }
            // With one more name that is not of objects, and without.
            for names in [&[name][..], &[name, "Retry-After"]] {
                let written = written(&answer(names));
                for name in names.iter().chain(&["Content-Length", "Date", "Connection"]) {
                    let same: Vec<_> =
                        written.iter().filter(|it| it.eq_ignore_ascii_case(name)).collect();
                    assert!(!same.is_empty() && same.iter().all(|it| it == name), "{same:?}");
                }
            }
        }
    }

    #[test]
    fn names_that_are_repeated_are_spelled_alike() {
        for name in REPEATED {
            let written = written(&answer(&[name; REPEATED_MAX]));
            let same = written.iter().filter(|it| **it == name);
            assert_eq!(same.count(), REPEATED_MAX, "{written:?}");
        }
    }

    #[test]
    fn names_of_amazon_and_of_users_stay_in_lower_case() {
        let names = ["x-amz-request-id", "x-amz-meta-camel-case", "x-amz-version-id", "x-other"];
        let written = written(&answer(&names));
        assert!(names.iter().all(|name| written.iter().any(|it| it == name)), "{written:?}");
    }

    #[test]
    fn names_of_an_answer_with_a_length_are_spelled() {
        for name in OF_OBJECTS.into_iter().filter(|name| *name != "Content-Length") {
            let written = written(&answer(&[name, "Content-Length", "x-amz-id-2"]));
            for name in [name, "Content-Length", "Date", "Connection", "x-amz-id-2"] {
                assert!(written.iter().any(|it| it == name), "{name} in {written:?}");
            }
        }
    }

    #[test]
    fn a_short_list_has_the_names_that_it_is_chosen_for() {
        for (number, list) in [&OF_OBJECTS[..], &OF_PARTS, &OTHERS].into_iter().enumerate() {
            for name in list {
                let added = matches!(*name, "Connection" | "Transfer-Encoding");
                let parsed = HeaderName::from_bytes(name.as_bytes()).expect("a name");
                assert_eq!(list_of(&parsed) == number, !added, "{name}");
            }
        }
    }
}
