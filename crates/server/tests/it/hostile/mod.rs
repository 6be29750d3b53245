//! Malformed, truncated and hostile requests: each gets the code and status of AWS, leaves nothing
//! behind, shows no secret, and leaves a server that goes on serving.

mod budget;
mod chunks;
mod digests;
mod forms;
mod headers;
mod lengths;
#[cfg(target_os = "linux")]
mod load;
mod names;
mod parts;
mod ranges;
mod signatures;
#[cfg(target_os = "linux")]
mod strangers;
mod xml;

use crate::raw::{OWNER, RawServer, Request, STRANGER};
use crate::reply::Reply;

/// A request, and the expected status and code; an empty code for success.
struct Row {
    name: String,
    bytes: Vec<u8>,
    status: u16,
    code: &'static str,
}

fn row(name: impl Into<String>, request: &Request, status: u16, code: &'static str) -> Row {
    Row { name: name.into(), bytes: request.bytes(), status, code }
}

/// A PUT of [`OWNER`] to the one key that these tests watch, signed by the caller.
fn put(key: &str) -> Request {
    Request::new("PUT", &format!("/bucket/{key}"))
}

/// Sends every row and reports all that were answered otherwise; then the server must still serve.
fn check(server: &RawServer, rows: impl IntoIterator<Item = Row>) {
    let mut wrong = Vec::new();
    for row in rows {
        let reply = server.send(&row.bytes);
        if let Some(difference) = difference(&row, &reply) {
            wrong.push(format!("{}: {difference}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
    assert_alive(server);
}

fn difference(row: &Row, reply: &Reply) -> Option<String> {
    let is_head = row.bytes.starts_with(b"HEAD ");
    let code = if is_head { "" } else { row.code };
    if (reply.status, &*reply.code()) != (row.status, code) {
        return Some(format!(
            "expected {} {code}, was answered {} {}",
            row.status,
            reply.status,
            reply.text()
        ));
    }
    // Codes of success come without a document of errors.
    if !is_head && !row.code.is_empty() {
        let elements = ["Code", "Message", "Resource", "RequestId", "HostId"];
        for element in elements {
            if reply.element(element).is_empty() {
                return Some(format!("the error has no {element}: {}", reply.text()));
            }
        }
        if reply.header("content-type") != Some("application/xml") {
            return Some(format!("the error is not XML by its type: {reply:?}"));
        }
        if Some(&*reply.element("RequestId")) != reply.header("x-amz-request-id") {
            return Some(format!("the ids differ: {reply:?}"));
        }
    }
    let everything = reply.everything();
    for secret in [OWNER.secret, STRANGER.secret] {
        if everything.contains(secret) {
            return Some(format!("a secret shows in {everything}"));
        }
    }
    None
}

/// No object, no part of one.
#[track_caller]
fn assert_absent(server: &RawServer, key: &str) {
    let reply = server.ask("GET", &format!("/bucket/{key}"));
    assert_eq!((reply.status, &*reply.code()), (404, "NoSuchKey"), "{key}");
}

/// Nothing at all has been stored.
#[track_caller]
fn assert_empty(server: &RawServer) {
    let listing = server.ask("GET", "/bucket?list-type=2");
    assert_eq!(listing.element("KeyCount"), "0", "{}", listing.text());
}

#[track_caller]
fn assert_alive(server: &RawServer) {
    let stored = server.send(&put("alive").body("yes").sign(OWNER).bytes());
    assert_eq!(stored.status, 200, "{stored:?}");
    assert_eq!(server.ask("GET", "/bucket/alive").text(), "yes");
    assert_eq!(server.ask("DELETE", "/bucket/alive").status, 204);
}
