//! The scrub: asked by a signal, it tells the health what it has found.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::command::Running;
use crate::raw::{Keys, Request, send};

const KEYS: Keys = Keys { access: "liteio", secret: "liteio123" };

fn address(running: &Running) -> SocketAddr {
    let address = running.endpoint().strip_prefix("http://").expect("a URL");
    address.parse().expect("an address")
}

pub(crate) fn blob(path: &Path) -> Option<PathBuf> {
    fs::read_dir(path).expect("readable").map(|entry| entry.expect("one").path()).find_map(|path| {
        match path.is_dir() {
            true => blob(&path),
            false => Some(path),
        }
    })
}

#[test]
fn a_signal_asks_for_it_and_the_health_tells_what_it_has_found() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let running =
        Running::start_with(&directory, &["--data-dir", "data", "--address", "127.0.0.1:0"], &[]);
    for (target, body) in [("/bucket", &b""[..]), ("/bucket/large", &[7; 100_000])] {
        let put = Request::new("PUT", target).body(body).sign(KEYS);
        assert_eq!(send(address(&running), &put.bytes()).status, 200);
    }
    let blob = blob(&directory.path().join("data/blobs")).expect("one");
    let mut bytes = fs::read(&blob).expect("readable");
    bytes[50_000] ^= 1;
    fs::write(&blob, bytes).expect("written");
    let sent = Command::new("kill").args(["-s", "USR1", &running.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());

    let ask = || {
        let ready = Request::new("GET", "/_liteio/health/ready");
        let body = send(address(&running), &ready.bytes()).body;
        serde_json::from_slice::<serde_json::Value>(&body).expect("JSON")
    };
    let told = loop {
        let told = ask();
        if told["scrub"]["ended_ms"].is_number() {
            break told;
        }
        thread::yield_now();
    };
    assert_eq!(told["status"], "degraded", "{told}");
    assert_eq!(told["scrub"]["damaged"], 1, "{told}");
    // Whoever asks for the health need not be known: the names are in the log.
    let reason = told["reason"].as_str().expect("a reason");
    assert!(reason.contains("liteio verify") && !reason.contains("large"), "{told}");
    let (_, log) = running.signal("TERM");
    assert!(log.contains("bucket/large"), "{log}");
}
