//! Copies whose source's bucket is deleted, and its name taken by somebody else, while they read it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use liteio_disk::{HookedDisk, Moment, OpenMode, SimulatedDisk};
use liteio_store::{Store, StoreConfig};
use parking_lot::Mutex;

use crate::raw::{Keys, OWNER, RawServer, Request, STRANGER, send};

/// Closures for the next reads of blobs, one for each.
type Hooks = Arc<Mutex<VecDeque<Box<dyn FnOnce() + Send>>>>;

/// A server with `/source/a` of [`OWNER`].
fn start() -> (RawServer, Hooks) {
    let hooks = Hooks::default();
    let on_read = Arc::clone(&hooks);
    let disk = HookedDisk::new(&SimulatedDisk::new(1), move |moment| match moment {
        Moment::Open(path, OpenMode::Read) if path.starts_with("blobs/") => {
            let next = on_read.lock().pop_front();
            next.into_iter().for_each(|hook| hook());
        }
        _ => {}
    });
    // All objects are files.
    let config = StoreConfig {
        inline_bytes_max: 0,
        logged_bytes_max: 0,
        segment_bytes_max: 0,
        ..StoreConfig::memory()
    };
    let store = Store::open_on(Arc::new(disk), config).expect("opens");
    let server = RawServer::over(store);
    ask(server.address, Request::new("PUT", "/source"), OWNER, 200);
    ask(server.address, Request::new("PUT", "/source/a").body("first"), OWNER, 200);
    (server, hooks)
}

fn ask(address: SocketAddr, request: Request, keys: Keys, status: u16) {
    let reply = send(address, &request.sign(keys).bytes());
    assert_eq!(reply.status, status, "{}", reply.everything());
}

fn change_hands(address: SocketAddr) {
    ask(address, Request::new("DELETE", "/source/a"), OWNER, 204);
    ask(address, Request::new("DELETE", "/source"), OWNER, 204);
    ask(address, Request::new("PUT", "/source"), STRANGER, 200);
    ask(address, Request::new("PUT", "/source/a").body("a stranger's"), STRANGER, 200);
}

/// Sends a copy of `/source/a`. The name changes hands while its bytes are read: by the first attempt,
/// or, because the object is replaced as well, by one that repeats it.
fn check_copy(server: &RawServer, hooks: &Hooks, copy: &Request, replaced: usize) {
    let address = server.address;
    for _ in 0..replaced {
        hooks.lock().push_back(Box::new(move || {
            ask(address, Request::new("PUT", "/source/a").body("another"), OWNER, 200);
        }));
    }
    hooks.lock().push_back(Box::new(move || change_hands(address)));
    let reply = send(address, &copy.clone().sign(OWNER).bytes());
    assert!(hooks.lock().is_empty(), "the source was not read {replaced} times and once more");
    assert_eq!((reply.status, &*reply.code()), (404, "NoSuchBucket"), "{}", reply.everything());
    assert_eq!(server.ask("GET", "/source/a").code(), "AccessDenied");
    let theirs = send(address, &Request::new("GET", "/source/a").sign(STRANGER).bytes());
    assert_eq!(theirs.text(), "a stranger's");
}

#[test]
fn an_object_is_never_copied_from_another_bucket_of_the_name() {
    for replaced in [0, 1] {
        let (server, hooks) = start();
        let copy = Request::new("PUT", "/bucket/copy")
            .header("x-amz-copy-source", "/source/a")
            // For this it is read.
            .header("x-amz-checksum-algorithm", "SHA256");
        check_copy(&server, &hooks, &copy, replaced);
        assert_eq!(server.ask("GET", "/bucket/copy").code(), "NoSuchKey");
    }
}

#[test]
fn a_part_is_never_copied_from_another_bucket_of_the_name() {
    for replaced in [0, 1] {
        let (server, hooks) = start();
        let upload = server.ask("POST", "/bucket/copy?uploads").element("UploadId");
        let part = format!("/bucket/copy?partNumber=1&uploadId={upload}");
        let copy = Request::new("PUT", &part).header("x-amz-copy-source", "/source/a");
        check_copy(&server, &hooks, &copy, replaced);
        let parts = server.ask("GET", &format!("/bucket/copy?uploadId={upload}"));
        assert_eq!(parts.status, 200);
        assert!(!parts.has_element("Part"), "{}", parts.text());
    }
}
