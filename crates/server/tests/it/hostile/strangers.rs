//! Resources that one client takes do not stop the others, and are given back when it goes.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use liteio::Limits;
use tokio::net::TcpSocket;

use super::*;
use crate::command::Running;
use crate::raw::{FORM_TYPE, UNSIGNED, connect};
use crate::reply::read_head;

const SLOW: Duration = Duration::from_secs(600);
const OBJECT_BYTES: usize = 8 << 20;

/// A connection from another address of this machine.
fn connect_from(host: u8, address: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let connected = runtime.expect("a runtime").block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.bind(([127, 0, 0, host], 0).into())?;
        socket.connect(address).await?.into_std()
    });
    let stream = connected.expect("the server accepts");
    stream.set_nonblocking(false).expect("a socket");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    stream
}

/// The answer to a request from another address.
fn send_from(host: u8, address: SocketAddr, request: &Request) -> Reply {
    let mut stream = connect_from(host, address);
    // The server may have answered and closed before it has read everything.
    let _ = stream.write_all(&request.bytes());
    Reply::read(&mut BufReader::new(stream), false).expect("an answer")
}

/// A PUT that is at work: its body is waited for. Earlier requests may count for a moment after their answers were read.
fn uploading(address: SocketAddr) -> TcpStream {
    let request = put("hanging").header("x-amz-content-sha256", UNSIGNED).sign(OWNER);
    let request = request.no_length().header("content-length", "5000000");
    let head = request.header("expect", "100-continue").head_bytes();
    loop {
        let mut stream = connect(address);
        stream.write_all(&head).expect("sent");
        let mut stream = BufReader::new(stream);
        match read_head(&mut stream).expect("an interim answer").0 {
            503 => {}
            status => {
                assert_eq!(status, 100);
                return stream.into_inner();
            }
        }
    }
}

/// A reader that has the head of its answer and takes no more.
fn reading(address: SocketAddr, request: &Request) -> TcpStream {
    let mut stream = connect(address);
    stream.write_all(&request.bytes()).expect("sent");
    let mut start = [0; 12];
    stream.read_exact(&mut start).expect("an answer");
    assert_eq!(&start, b"HTTP/1.1 200");
    stream
}

#[track_caller]
fn assert_slow_down(reply: &Reply) {
    assert_eq!((reply.status, &*reply.code()), (503, "SlowDown"), "{reply:?}");
    assert_eq!(reply.header("retry-after"), Some("1"), "{reply:?}");
}

#[test]
fn the_fields_of_a_form_have_to_come_in_time() {
    let limits = Limits {
        header_timeout: Duration::from_millis(300),
        body_window: SLOW,
        ..Limits::default()
    };
    let server = RawServer::with_limits(limits);
    let form = Request::new("POST", "/bucket").header("content-type", FORM_TYPE);
    let form = form.no_length().header("content-length", "5000000000");
    let mut stream = connect(server.address);
    stream.write_all(&form.body("--edge\r\nContent-Disposition: form-").bytes()).expect("sent");
    let reply = Reply::read(&mut BufReader::new(stream), false).expect("an answer");
    assert_eq!((reply.status, &*reply.code()), (400, "RequestTimeout"), "{reply:?}");
    assert_alive(&server);
}

#[test]
fn a_body_that_drips_is_a_request_timeout() {
    // So fast that no client is fast enough.
    let limits = Limits {
        body_window: Duration::from_millis(50),
        bytes_per_second_min: u32::MAX,
        // The sender goes on after the answer, until the server closes the connection.
        unread_body_timeout: Duration::from_millis(500),
        ..Limits::default()
    };
    let server = RawServer::with_limits(limits);
    let request = put("dripping").header("x-amz-content-sha256", UNSIGNED).sign(OWNER);
    let request = request.no_length().header("content-length", "5000000000");
    let mut stream = connect(server.address);
    stream.write_all(&request.head_bytes()).expect("sent");
    let mut sender = stream.try_clone().expect("a socket");
    let sender = std::thread::spawn(move || while sender.write_all(b"x").is_ok() {});
    let reply = Reply::read(&mut BufReader::new(stream), false).expect("an answer");
    assert_eq!((reply.status, &*reply.code()), (400, "RequestTimeout"), "{reply:?}");
    sender.join().expect("the connection is closed");
}

#[test]
fn one_address_cannot_take_all_connections() {
    let server = RawServer::with_limits(Limits { connections_max: 4, ..Limits::default() });
    let listing = Request::new("GET", "/").sign(OWNER);
    let mut idle = Vec::new();
    let refusal = loop {
        idle.push(connect(server.address));
        let reply = send_from(1, server.address, &listing);
        if reply.status != 200 {
            break reply;
        }
    };
    assert_slow_down(&refusal);
    let reply = send_from(2, server.address, &listing);
    assert_eq!(reply.status, 200, "{reply:?}");
    drop(idle);
    while send_from(1, server.address, &listing).status != 200 {}
}

#[test]
fn one_address_cannot_take_all_requests() {
    let server =
        RawServer::with_limits(Limits { requests_max: 8, body_window: SLOW, ..Limits::default() });
    let hanging: Vec<TcpStream> = (0..4).map(|_| uploading(server.address)).collect();
    let small = put("small").body("x").sign(OWNER);
    assert_slow_down(&send_from(1, server.address, &small));
    let reply = send_from(2, server.address, &small);
    assert_eq!(reply.status, 200, "{reply:?}");
    let ready = Request::new("GET", "/_liteio/health/ready");
    assert_eq!(send_from(1, server.address, &ready).status, 200);
    drop(hanging);
    while send_from(1, server.address, &small).status != 200 {}
}

#[test]
fn one_address_cannot_take_all_room_for_bodies() {
    let server = RawServer::with_limits(Limits {
        body_bytes_max: 8 << 20,
        body_window: SLOW,
        ..Limits::default()
    });
    // Held whole, before anything proves who sends it.
    let call = Request::new("POST", "/PutVectors").scope("us-east-1", "s3vectors");
    let call = call.sign(STRANGER).without("x-amz-content-sha256");
    let call = call.no_length().header("content-length", "20000000");
    let body = vec![b' '; 3 << 19];
    let mut holding: Vec<TcpStream> = Vec::new();
    let mut refused = 0;
    while refused == 0 {
        let mut stream = connect(server.address);
        // Those after the first may be refused before they are read.
        let _ = stream.write_all(&call.clone().body(&body).bytes());
        let large = send_from(1, server.address, &put("large").body(vec![0; 3 << 20]).sign(OWNER));
        refused += usize::from(large.status == 503);
        holding.push(stream);
    }
    let large = put("large").body(vec![0; 3 << 20]).sign(OWNER);
    let small = put("small").body("x").sign(OWNER);
    for (host, request) in [(1, &small), (2, &small), (2, &large)] {
        let reply = send_from(host, server.address, request);
        assert_eq!(reply.status, 200, "from {host}: {reply:?}");
    }
    drop(holding);
    while send_from(1, server.address, &large).status != 200 {}
}

#[test]
fn readers_who_take_nothing_do_not_stop_readers() {
    let server = RawServer::with_limits(Limits {
        answer_bytes_max: 1 << 20,
        answer_window: SLOW,
        ..Limits::default()
    });
    let object: Vec<u8> = (0..OBJECT_BYTES).map(|at| (at / 1000) as u8).collect();
    assert_eq!(server.send(&put("large").body(&object).sign(OWNER).bytes()).status, 200);
    let link = Request::new("GET", "/bucket/large").presign(OWNER, "3600");
    let readers: Vec<TcpStream> = (0..20).map(|_| reading(server.address, &link)).collect();
    for host in [1, 2] {
        let reply = send_from(host, server.address, &link);
        assert!(reply.status == 200 && reply.body == object, "from {host}: {}", reply.status);
    }
    // They get all of it when they go on.
    for mut reader in readers {
        let mut rest = vec![0; OBJECT_BYTES];
        reader.read_exact(&mut rest).expect("the answer goes on");
    }
}

#[test]
fn documents_that_nobody_takes_are_bounded() {
    let server = RawServer::with_limits(Limits { answer_bytes_max: 64 << 10, ..Limits::default() });
    for index in 0..300 {
        let request = put(&format!("{index:0200}")).body("x").sign(OWNER);
        assert_eq!(server.send(&request.bytes()).status, 200);
    }
    assert_slow_down(&server.ask("GET", "/bucket?list-type=2"));
    assert_eq!(server.ask("GET", "/bucket?list-type=2&max-keys=10").status, 200);
}

/// A server in a directory, with so many files.
fn with_files(directory: &tempfile::TempDir, files: u32) -> (Running, SocketAddr) {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {files}; exec \"$0\" \"$@\"")]);
    command.args([env!("CARGO_BIN_EXE_liteio"), "--address", "127.0.0.1:0"]);
    command.current_dir(directory.path()).env_clear();
    command.envs([("LITEIO_ACCESS_KEY", OWNER.access), ("LITEIO_SECRET_KEY", OWNER.secret)]);
    let running = Running::start(&mut command);
    let address = running.endpoint().strip_prefix("http://").expect("a URL");
    let address = address.parse().expect("an address");
    (running, address)
}

#[test]
fn connections_leave_files_for_objects() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (_running, address) = with_files(&directory, 256);
    let created = send_from(2, address, &Request::new("PUT", "/bucket").sign(OWNER));
    assert_eq!(created.status, 200, "{created:?}");
    let idle: Vec<TcpStream> = (0..300).map(|_| connect(address)).collect();
    let object = vec![b'x'; 100 << 10];
    for index in 0..3 {
        let key = format!("object{index}");
        let stored = send_from(2, address, &put(&key).body(&object).sign(OWNER));
        assert_eq!(stored.status, 200, "{stored:?}");
        let target = format!("/bucket/{key}");
        let read = send_from(2, address, &Request::new("GET", &target).sign(OWNER));
        assert!(read.status == 200 && read.body == object, "{}", read.status);
    }
    drop(idle);
}

/// Most resident memory of a server with readers that take nothing, in KiB.
const RESIDENT_KIB_MAX: u64 = 215 << 10;

#[test]
fn memory_is_bounded_whatever_readers_leave_untaken() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (running, address) = with_files(&directory, 4096);
    let created = send_from(2, address, &Request::new("PUT", "/bucket").sign(OWNER));
    assert_eq!(created.status, 200, "{created:?}");
    let object = vec![b'x'; OBJECT_BYTES];
    let stored = send_from(2, address, &put("large").body(&object).sign(OWNER));
    assert_eq!(stored.status, 200, "{stored:?}");
    let link = Request::new("GET", "/bucket/large").presign(OWNER, "3600");
    let readers: Vec<TcpStream> = (0..500).map(|_| reading(address, &link)).collect();
    let read = send_from(2, address, &link);
    assert!(read.status == 200 && read.body == object, "{}", read.status);
    super::load::assert_peak(running.id(), "readers that take nothing", RESIDENT_KIB_MAX);
    drop(readers);
}
