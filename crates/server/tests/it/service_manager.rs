//! A service manager that waits for a server, as systemd does with `Type=notify` and a watchdog.

use std::os::unix::net::UnixDatagram;
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::command::{Running, liteio, stderr};

/// The longest wait for a message, for a machine that is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Reads all messages as they come: a socket holds a few only.
pub(crate) fn messages(socket: UnixDatagram) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = [0; 1024];
        while let Ok(count) = socket.recv(&mut buffer) {
            let message = String::from_utf8_lossy(&buffer[..count]).into_owned();
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    receiver
}

#[test]
fn a_service_manager_is_told_of_the_start_of_the_health_and_of_the_stop() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("notify");
    let messages = messages(UnixDatagram::bind(&path).expect("a socket"));
    let receive = || messages.recv_timeout(PATIENCE).expect("a message");
    let mut command = liteio(&directory);
    command.args(["--address", "127.0.0.1:0"]).env("NOTIFY_SOCKET", &path);
    let server = Running::start(command.env("WATCHDOG_USEC", "20000"));

    let ready = receive();
    assert_eq!(ready, format!("READY=1\nSTATUS=ready at {}", server.endpoint()));
    let health = liteio(&directory).args(["health", server.endpoint()]).output();
    assert!(health.expect("it runs").status.success());
    for _ in 0..3 {
        assert_eq!(receive(), "WATCHDOG=1\nSTATUS=ready");
    }
    let (code, log) = server.signal("TERM");
    assert_eq!(code, Some(0), "{log}");
    let mut last = receive();
    while last.starts_with("WATCHDOG=1") {
        last = receive();
    }
    assert_eq!(last, "STOPPING=1\nSTATUS=stopping");
}

#[test]
fn a_server_that_does_not_start_is_never_ready_and_a_bad_socket_is_only_logged() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket.set_nonblocking(true).expect("a socket");
    let file = directory.path().join("file");
    std::fs::write(&file, "").expect("written");
    let mut command = liteio(&directory);
    command.args(["--address", "127.0.0.1:0", "--data-dir"]).arg(&file);
    let output = command.env("NOTIFY_SOCKET", &path).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(socket.recv(&mut [0; 64]).is_err(), "nothing is told");

    let mut command = liteio(&directory);
    command.args(["--address", "127.0.0.1:0", "--memory"]).stdin(Stdio::null());
    let server = Running::start(command.env("NOTIFY_SOCKET", "vsock:2:1234"));
    let (code, log) = server.signal("TERM");
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("the service manager is not notified"), "{log}");
}
