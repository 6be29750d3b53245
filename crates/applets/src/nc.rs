//! `nc -z`, by which scripts wait for a port: BusyBox has `nc`, without this option.

use std::ffi::OsString;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::process::{Command, ExitCode};
use std::time::Duration;

const BUSYBOX: &str = "/bin/busybox";
const WAIT: Duration = Duration::from_secs(10);

/// A port to try.
#[derive(Debug, PartialEq, Eq)]
struct Probe {
    host: String,
    port: u16,
    wait: Duration,
}

/// Runs the command: exit code 0 if the port accepts a connection, 1 if not.
///
/// # Errors
/// One line: the arguments are no probe, and there is no BusyBox.
pub(crate) fn run(arguments: &[OsString]) -> Result<ExitCode, String> {
    let Some(probe) = probe(arguments) else {
        let status = Command::new(BUSYBOX).arg("nc").args(arguments).status();
        let status = status.map_err(|_| "only -z HOST PORT is supported here".to_owned())?;
        return Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    };
    let addresses = (probe.host.as_str(), probe.port).to_socket_addrs();
    let mut addresses = addresses.into_iter().flatten();
    match addresses.any(|it| TcpStream::connect_timeout(&it, probe.wait).is_ok()) {
        true => Ok(ExitCode::SUCCESS),
        false => Ok(ExitCode::FAILURE),
    }
}

/// The probe that the arguments ask for; `None` if they are for another `nc`.
fn probe(arguments: &[OsString]) -> Option<Probe> {
    let mut arguments = arguments.iter().map(|it| it.to_str());
    let (mut names, mut wait, mut is_probe) = (Vec::new(), WAIT, false);
    while let Some(argument) = arguments.next() {
        let argument = argument?;
        let Some(flags) = argument.strip_prefix('-').filter(|it| !it.is_empty()) else {
            names.push(argument);
            continue;
        };
        let (flags, seconds) = match flags.split_once('w') {
            Some((flags, "")) => (flags, Some(arguments.next()??)),
            Some((flags, seconds)) => (flags, Some(seconds)),
            None => (flags, None),
        };
        if !flags.bytes().all(|flag| b"nvz".contains(&flag)) {
            return None;
        }
        is_probe |= flags.contains('z');
        if let Some(seconds) = seconds {
            wait = Duration::from_secs(seconds.parse::<u64>().ok()?.max(1));
        }
    }
    match names[..] {
        [host, port] if is_probe => {
            Some(Probe { host: host.to_owned(), port: port.parse().ok()?, wait })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<(String, u16, u64)> {
        let arguments: Vec<OsString> = line.split(' ').map(Into::into).collect();
        probe(&arguments).map(|it| (it.host, it.port, it.wait.as_secs()))
    }

    #[test]
    fn probes_are_told_from_other_uses() {
        let minio = |wait| Some(("minio".to_owned(), 9000, wait));
        assert_eq!(of("-z minio 9000"), minio(10));
        assert_eq!(of("-zv -w 3 minio 9000"), minio(3));
        assert_eq!(of("-vzw2 minio 9000"), minio(2));
        for line in
            ["minio 9000", "-l -p 9000", "-z minio", "-zu minio 9000", "-z minio http", "-z -w"]
        {
            assert_eq!(of(line), None, "{line}");
        }
    }

    #[test]
    fn a_port_accepts_or_does_not() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        // Bound and not listening: nobody else can take its port meanwhile.
        let silent = tokio::net::TcpSocket::new_v4().expect("a socket");
        silent.bind(([127, 0, 0, 1], 0).into()).expect("a port");
        let ask = |address: std::io::Result<std::net::SocketAddr>| {
            let port = address.expect("bound").port().to_string();
            run(&["-z", "127.0.0.1", &port].map(Into::into)).expect("a probe")
        };
        assert_eq!(ask(listener.local_addr()), ExitCode::SUCCESS);
        assert_eq!(ask(silent.local_addr()), ExitCode::FAILURE);
    }
}
