//! Memory stays bounded whatever is claimed, sent, or left hanging.

use std::io::Write as _;
use std::net::TcpStream;

use super::*;
use crate::command::Running;
use crate::raw::{UNSIGNED, connect, send};

/// Most resident memory of the server during this test, in KiB. The pages of an unoptimized program, which are read
/// from its file, are a quarter of it.
const RESIDENT_KIB_MAX: u64 = 192 << 10;

#[test]
fn memory_is_bounded_by_the_server_and_not_by_its_clients() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let running = Running::start_with(
        &directory,
        &["--memory", "--address", "127.0.0.1:0"],
        &[("LITEIO_ACCESS_KEY", OWNER.access), ("LITEIO_SECRET_KEY", OWNER.secret)],
    );
    let address = running.endpoint().strip_prefix("http://").expect("a URL");
    let address = address.parse().expect("an address");
    let created = send(address, &Request::new("PUT", "/bucket").sign(OWNER).bytes());
    assert_eq!(created.status, 200, "{created:?}");

    // Bodies that claim gigabytes and send megabytes, without a right to.
    let megabyte = vec![b'x'; 1 << 20];
    for request in [
        put("huge"),
        put("huge").sign(STRANGER),
        put("huge").header("x-amz-content-sha256", UNSIGNED).age(3600).sign(OWNER),
        Request::new("POST", "/bucket")
            .header("content-type", "multipart/form-data; boundary=edge"),
        Request::new("POST", "/bucket?delete"),
    ] {
        let request = request.no_length().header("content-length", "5000000000");
        let mut stream = connect(address);
        stream.write_all(&request.bytes()).expect("sent");
        // Until the server has had enough.
        for _ in 0..64 {
            if stream.write_all(&megabyte).is_err() {
                break;
            }
        }
    }
    assert_peak(running.id(), "bodies without a right", RESIDENT_KIB_MAX);
    // Chunks and documents that claim more than they should, with a right to.
    for _ in 0..16 {
        let chunk = put("chunk")
            .header("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
            .header("x-amz-decoded-content-length", "5000000000")
            .sign(OWNER)
            .body([b"ffffffff\r\n", &*megabyte].concat());
        let _ = send(address, &chunk.bytes());
        let document = Request::new("POST", "/bucket/k?uploadId=a")
            .body("<CompleteMultipartUpload>".repeat(300_000))
            .sign(OWNER);
        assert_eq!(send(address, &document.bytes()).status, 400);
    }
    assert_peak(running.id(), "claims", RESIDENT_KIB_MAX);
    // Uploads that stop in the middle and stay.
    let hanging: Vec<TcpStream> = (0..64)
        .map(|index| {
            let request = put(&format!("hanging{index}"))
                .header("x-amz-content-sha256", UNSIGNED)
                .sign(OWNER)
                .no_length()
                .header("content-length", "5000000000")
                .body(&megabyte);
            let mut stream = connect(address);
            stream.write_all(&request.bytes()).expect("sent");
            stream
        })
        .collect();
    let alive = send(address, &put("alive").body("yes").sign(OWNER).bytes());
    assert_eq!(alive.status, 200, "{alive:?}");
    assert_peak(running.id(), "uploads that hang", RESIDENT_KIB_MAX);
    drop(hanging);
    let listing = send(address, &Request::new("GET", "/bucket?list-type=2").sign(OWNER).bytes());
    assert_eq!(listing.element("KeyCount"), "1", "{}", listing.text());
}

/// Fails if the process has had more memory so far, in KiB.
#[track_caller]
pub(super) fn assert_peak(process: u32, after: &str, kib_max: u64) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("running");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    println!("{peak} KiB at the peak, after {after}");
    assert!(peak < kib_max, "{peak} KiB at the peak, after {after}");
}
