//! Messages to the service manager that started this process, as `sd_notify(3)` of systemd describes them.
//!
//! ```text
//! start ──► READY=1 ──► WATCHDOG=1, twice an interval ──► STOPPING=1
//! ```
//!
//! Each message is a datagram to the socket in `NOTIFY_SOCKET`: a path, or with `@` a name of Linux's abstract name
//! space. Only `liteio server` and `liteio standby` send any.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

const SOCKET_VARIABLE: &str = "NOTIFY_SOCKET";
/// Microseconds without a ping after which the manager ends the process.
const INTERVAL_VARIABLE: &str = "WATCHDOG_USEC";
/// The process that has to ping: a child that inherits the variables must not.
const PROCESS_VARIABLE: &str = "WATCHDOG_PID";

/// Longest wait of the two messages that come once for a manager that reads slowly; a ping is followed by others.
const PATIENCE: Duration = Duration::from_secs(1);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// The way to the service manager.
#[derive(Debug)]
pub(crate) struct Notifier {
    socket: UnixDatagram,
    manager: SocketAddr,
    /// Half of the time that the manager waits for a ping.
    ping_interval: Option<Duration>,
}

impl Notifier {
    /// The manager that the environment names; `None` without one. A manager that cannot be reached is not a
    /// reason to serve nothing: it is logged.
    pub(crate) fn of_environment() -> Option<Notifier> {
        match Notifier::new(|name| env::var_os(name), process::id()) {
            Ok(notifier) => notifier,
            Err(reason) => {
                tracing::warn!(reason, "the service manager is not notified");
                None
            }
        }
    }

    fn new(
        variable: impl Fn(&str) -> Option<OsString>,
        process_id: u32,
    ) -> Result<Option<Notifier>, String> {
        let Some(name) = variable(SOCKET_VARIABLE).filter(|it| !it.is_empty()) else {
            return Ok(None);
        };
        let shown = name.to_string_lossy();
        let failed = |error: io::Error| format!("{SOCKET_VARIABLE}={shown}: {error}");
        let manager = address(name.as_bytes()).map_err(failed)?;
        let socket = UnixDatagram::unbound().map_err(failed)?;
        // A manager that reads nothing must not stop the server.
        socket.set_nonblocking(true).map_err(failed)?;
        let number = |name| variable(name)?.to_str()?.parse::<u64>().ok();
        let is_ours = number(PROCESS_VARIABLE).is_none_or(|id| id == u64::from(process_id));
        let micros = number(INTERVAL_VARIABLE).filter(|micros| is_ours && *micros > 0);
        let ping_interval = micros.map(|micros| Duration::from_micros(micros.div_ceil(2)));
        Ok(Some(Notifier { socket, manager, ping_interval }))
    }

    /// Reports that the store is open and requests are accepted.
    pub(crate) fn ready(&self, endpoint: &str) {
        self.send(&format!("READY=1\nSTATUS=ready at {endpoint}"), PATIENCE);
    }

    /// Reports that the server has begun to stop.
    pub(crate) fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=stopping", PATIENCE);
    }

    /// Pings the manager for as long as `condition`, which describes the state of the server, returns. Never ends.
    ///
    /// A runtime that is stuck does not come to a ping, and a store that is stuck does not let `condition` return.
    pub(crate) async fn keep_pinging(
        &self,
        condition: impl Fn() -> String + Clone + Send + 'static,
    ) {
        let Some(interval) = self.ping_interval else { return std::future::pending().await };
        let mut ticks = tokio::time::interval(interval);
        loop {
            ticks.tick().await;
            // One that panics has not answered.
            if let Ok(condition) = tokio::task::spawn_blocking(condition.clone()).await {
                let ping = format!("WATCHDOG=1\nSTATUS={}", condition.replace('\n', " "));
                self.send(&ping, Duration::ZERO);
            }
        }
    }

    /// Sends a message; while the manager has many others to read, tries again for so long.
    fn send(&self, message: &str, patience: Duration) {
        let begun = Instant::now();
        while let Err(error) = self.socket.send_to_addr(message.as_bytes(), &self.manager) {
            if error.kind() != io::ErrorKind::WouldBlock || begun.elapsed() >= patience {
                tracing::warn!(%error, "the service manager was not notified");
                return;
            }
            thread::park_timeout(PAUSE);
        }
    }
}

/// The address in `NOTIFY_SOCKET`.
fn address(name: &[u8]) -> io::Result<SocketAddr> {
    match name {
        [b'/', ..] => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(name)),
        #[cfg(target_os = "linux")]
        [b'@', name @ ..] => {
            use std::os::linux::net::SocketAddrExt as _;
            SocketAddr::from_abstract_name(name)
        }
        _ => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a path nor an abstract name"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, mpsc};

    use super::*;

    type Variables<'a> = &'a [(&'a str, &'a str)];

    fn notifier(variables: Variables<'_>, process_id: u32) -> Result<Option<Notifier>, String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(it, _)| *it == name);
            found.map(|(_, value)| OsString::from(value))
        };
        Notifier::new(variable, process_id)
    }

    fn received(socket: &UnixDatagram) -> io::Result<String> {
        let mut buffer = [0; 1024];
        let count = socket.recv(&mut buffer)?;
        Ok(String::from_utf8_lossy(&buffer[..count]).into_owned())
    }

    #[test]
    fn messages_arrive_at_a_path() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("notify");
        let socket = UnixDatagram::bind(&path).expect("a socket");
        let notifier = notifier(&[("NOTIFY_SOCKET", path.to_str().expect("text"))], 1);
        let notifier = notifier.expect("it is valid").expect("there is one");
        notifier.ready("http://127.0.0.1:9000");
        assert_eq!(
            received(&socket).ok().as_deref(),
            Some("READY=1\nSTATUS=ready at http://127.0.0.1:9000")
        );
        notifier.stopping();
        assert_eq!(received(&socket).ok().as_deref(), Some("STOPPING=1\nSTATUS=stopping"));
        // Nobody listens any more, which is no error of the server.
        drop(socket);
        notifier.stopping();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn messages_arrive_at_an_abstract_name() {
        use std::os::linux::net::SocketAddrExt as _;
        let name = format!("liteio-notify-{}", process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let socket = UnixDatagram::bind_addr(&address).expect("a socket");
        let notifier = notifier(&[("NOTIFY_SOCKET", &format!("@{name}"))], 1);
        notifier.expect("it is valid").expect("there is one").stopping();
        assert_eq!(received(&socket).ok().as_deref(), Some("STOPPING=1\nSTATUS=stopping"));
    }

    #[test]
    fn variables_of_the_manager() {
        let second = Some(Duration::from_millis(500));
        let rows: [(Variables<'_>, Option<Duration>); 6] = [
            (&[], None),
            (&[("WATCHDOG_USEC", "1000000")], second),
            (&[("WATCHDOG_USEC", "1000000"), ("WATCHDOG_PID", "7")], second),
            (&[("WATCHDOG_USEC", "1000000"), ("WATCHDOG_PID", "8")], None),
            (&[("WATCHDOG_USEC", "0")], None),
            (&[("WATCHDOG_USEC", "soon")], None),
        ];
        for (variables, expected) in rows {
            let socket = [&[("NOTIFY_SOCKET", "/run/notify")], variables].concat();
            let notifier = notifier(&socket, 7).expect("it is valid").expect("there is one");
            assert_eq!(notifier.ping_interval, expected, "{variables:?}");
        }
        assert!(notifier(&[("NOTIFY_SOCKET", "")], 7).expect("it is unset").is_none());
        for name in ["run/notify", "vsock:2:1234"] {
            let error = notifier(&[("NOTIFY_SOCKET", name)], 7).expect_err("it is refused");
            assert!(error.starts_with(&format!("NOTIFY_SOCKET={name}: ")), "{error}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn nothing_is_sent_for_a_server_that_does_not_answer() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("notify");
        let socket = UnixDatagram::bind(&path).expect("a socket");
        let variables =
            [("NOTIFY_SOCKET", path.to_str().expect("text")), ("WATCHDOG_USEC", "2000")];
        let notifier = notifier(&variables, 1).expect("it is valid").expect("there is one");
        let (asked, has_asked) = mpsc::channel();
        let (answer, answers) = mpsc::channel::<String>();
        let answers = Arc::new(Mutex::new(answers));
        let condition = move || {
            asked.send(()).expect("the test waits");
            answers.lock().expect("no panic").recv().unwrap_or_default()
        };
        let pings = tokio::spawn(async move { notifier.keep_pinging(condition).await });
        let told = tokio::task::spawn_blocking(move || {
            for round in ["ready", "read-only:\nthe device failed"] {
                has_asked.recv().expect("it asks");
                // It waits for the answer: intervals that pass meanwhile send nothing.
                socket.set_nonblocking(true).expect("a socket");
                assert!(received(&socket).is_err());
                socket.set_nonblocking(false).expect("a socket");
                answer.send(round.to_owned()).expect("it waits");
                let told = received(&socket).expect("a ping");
                assert_eq!(told, format!("WATCHDOG=1\nSTATUS={}", round.replace('\n', " ")));
            }
        });
        told.await.expect("both pings came");
        pings.abort();
    }
}
