//! `curl` and `wget` in the image: the subset that health checks use.

mod options;
mod target;
mod wget;

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use self::options::{Family, Options, Retries, format_of};
use self::target::Target;
use liteio_wire::http_client::in_one_line;
use liteio_wire::tls::{Trust, client_config};

const REDIRECTS_MAX: usize = 50;
/// Longest pause of the exponential backoff between attempts.
const DELAY_MAX: Duration = Duration::from_secs(600);

/// A failure: curl's exit code, and a message.
#[derive(Debug, PartialEq, Eq)]
struct Failure(u8, String);

const USAGE: u8 = 2;
const BAD_URL: u8 = 3;
const NO_ADDRESS: u8 = 6;
const NO_CONNECTION: u8 = 7;
const STATUS: u8 = 22;
const WRITE: u8 = 23;
const TIMEOUT: u8 = 28;
const TLS: u8 = 35;
const REDIRECTS: u8 = 47;
const NO_ANSWER: u8 = 52;
const RECEIVE: u8 = 56;
const CERTIFICATE: u8 = 60;

fn failure<T>(code: u8, line: impl Into<String>) -> Result<T, Failure> {
    Err(Failure(code, line.into()))
}

pub(super) fn run(arguments: &[OsString]) -> ExitCode {
    let (shows_errors, result) = match options::parse(arguments) {
        Ok(options) => (!options.is_silent || options.shows_errors, fetch(&options)),
        Err(failure) => (true, Err(failure)),
    };
    let Err(Failure(code, line)) = result else { return ExitCode::SUCCESS };
    if shows_errors {
        let _ = writeln!(io::stderr(), "curl: ({code}) {line}");
    }
    ExitCode::from(code)
}

pub(super) use self::wget::run as wget;

fn fetch(options: &Options) -> Result<(), Failure> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| Failure(USAGE, error.to_string()))?;
    let result = runtime.block_on(attempts(options));
    // A DNS lookup that exceeds the time limit continues on a thread that is not waited for.
    runtime.shutdown_background();
    result
}

/// Performs the transfer, with retries if they are requested and can help.
async fn attempts(options: &Options) -> Result<(), Failure> {
    let mut left = options.retries.count;
    let mut delay = Duration::from_secs(1);
    loop {
        // The status of the last response; 0 without one.
        let mut status = 0;
        let transfer = follow(options, left > 0, &mut status);
        let result = match options.time_max {
            Some(limit) if !limit.is_zero() => {
                tokio::time::timeout(limit, transfer).await.unwrap_or_else(|_| {
                    let line = format!("Operation timed out after {} ms", limit.as_millis());
                    Err(Failure(TIMEOUT, line))
                })
            }
            _ => transfer.await,
        };
        let code = result.as_ref().map_or_else(|failure| failure.0, |()| 0);
        if left == 0 || !is_worth_another(&options.retries, code, status) {
            if let Some(format) = &options.written {
                // A closed standard output is not an error of the transfer.
                let _ = io::stdout().write_all(format_of(format, status)?.as_bytes());
            }
            return result;
        }
        left -= 1;
        // As in curl, a delay of 0 means exponential backoff.
        let wanted = options.retries.delay.filter(|it| !it.is_zero());
        tokio::time::sleep(wanted.unwrap_or(delay)).await;
        delay = (delay * 2).min(DELAY_MAX);
    }
}

/// True if curl would retry after this exit code and status.
fn is_worth_another(retries: &Retries, code: u8, status: u16) -> bool {
    let is_passing = matches!(status, 408 | 429 | 500 | 502 | 503 | 504);
    match code {
        0 | STATUS if is_passing => true,
        0 => false,
        TIMEOUT | NO_ADDRESS => true,
        NO_CONNECTION if retries.also_if_refused => true,
        _ => retries.after_all_errors,
    }
}

/// Sends the request, and follows redirects on the same host.
async fn follow(options: &Options, has_more: bool, seen: &mut u16) -> Result<(), Failure> {
    let mut target = Target::parse(&options.url)?;
    for _ in 0..=REDIRECTS_MAX {
        let mut answer = ask(&target, options).await?;
        let status = answer.status();
        *seen = status.as_u16();
        let location = answer.headers().get(header::LOCATION).filter(|_| status.is_redirection());
        if let Some(location) = location.filter(|_| options.follows) {
            target = target.redirected(location)?;
            continue;
        }
        let failed = failed_by_status(options, status);
        // The body of a response that will be retried is not output.
        let is_in_between = has_more && is_worth_another(&options.retries, 0, *seen);
        if !is_in_between && (failed.is_ok() || options.writes_failed_body) {
            write(&mut answer, options).await?;
        }
        return failed;
    }
    failure(REDIRECTS, format!("Maximum ({REDIRECTS_MAX}) redirects followed"))
}

fn failed_by_status(options: &Options, status: StatusCode) -> Result<(), Failure> {
    if options.fails_on_status && status.as_u16() >= 400 {
        return failure(STATUS, format!("The requested URL returned error: {}", status.as_u16()));
    }
    Ok(())
}

async fn ask(target: &Target, options: &Options) -> Result<Response<Incoming>, Failure> {
    let connecting = connect(target, options.family);
    let stream = match options.connect_time_max {
        Some(limit) if !limit.is_zero() => {
            let connected = tokio::time::timeout(limit, connecting).await;
            connected.unwrap_or_else(|_| {
                let line = format!("Connection timed out after {} ms", limit.as_millis());
                failure(TIMEOUT, line)
            })?
        }
        _ => connecting.await?,
    };
    // Reuses the stream and body types of the server's own client, whose code is already linked.
    let stream = TokioIo::new(stream);
    if !target.is_encrypted {
        return exchange(MaybeHttpsStream::Http(stream), target, options).await;
    }
    let trust = if options.trusts_all { Trust::Any } else { Trust::Authorities(None) };
    let config = client_config(trust).map_err(|reason| Failure(TLS, reason))?;
    let name = ServerName::try_from(target.host.clone());
    let name = name.map_err(|error| Failure(BAD_URL, error.to_string()))?;
    let stream = TlsConnector::from(Arc::new(config)).connect(name, TokioIo::new(stream)).await;
    let stream = stream.map_err(|error| {
        // curl has an exit code of its own for untrusted certificates.
        let code = if error.to_string().contains("certificate") { CERTIFICATE } else { TLS };
        Failure(code, in_one_line(&error))
    })?;
    exchange(MaybeHttpsStream::from(stream), target, options).await
}

async fn connect(target: &Target, family: Option<Family>) -> Result<TcpStream, Failure> {
    let Target { host, port, .. } = target;
    let addresses = tokio::net::lookup_host((&**host, *port)).await;
    let addresses =
        addresses.map_err(|_| Failure(NO_ADDRESS, format!("Could not resolve host: {host}")))?;
    let mut reason = "the host has no address".to_owned();
    let is_wanted = |address: &SocketAddr| match family {
        None => true,
        Some(Family::V4) => address.is_ipv4(),
        Some(Family::V6) => address.is_ipv6(),
    };
    for address in addresses.filter(is_wanted) {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => reason = error.to_string(),
        }
    }
    failure(NO_CONNECTION, format!("Failed to connect to {host} port {port}: {reason}"))
}

async fn exchange(
    stream: MaybeHttpsStream<TokioIo<TcpStream>>,
    target: &Target,
    options: &Options,
) -> Result<Response<Incoming>, Failure> {
    // Canceled: the peer closed the connection before the request was sent.
    let broken = |error: hyper::Error| match error.is_incomplete_message() || error.is_canceled() {
        true => Failure(NO_ANSWER, "Empty reply from server".to_owned()),
        false => Failure(RECEIVE, in_one_line(&error)),
    };
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(stream).await.map_err(broken)?;
    tokio::spawn(connection);
    let mut request = Request::new(Full::new(Bytes::new()));
    *request.method_mut() = options.method.clone().unwrap_or(Method::GET);
    *request.uri_mut() =
        target.path.parse().map_err(|_| Failure(BAD_URL, "bad path".to_owned()))?;
    let host = target.authority.parse().map_err(|_| Failure(BAD_URL, "bad host".to_owned()))?;
    let own = [
        (header::HOST, host),
        (header::USER_AGENT, HeaderValue::from_static("curl/8.0")),
        (header::ACCEPT, HeaderValue::from_static("*/*")),
    ];
    request.headers_mut().extend(own);
    for (name, value) in &options.headers {
        request.headers_mut().insert(name, value.clone());
    }
    sender.send_request(request).await.map_err(broken)
}

async fn write(answer: &mut Response<Incoming>, options: &Options) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure(WRITE, format!("Failure writing output: {error}"));
    let mut output: Box<dyn Write> = match &options.output {
        None => Box::new(io::stdout().lock()),
        Some(path) if path.as_os_str() == "-" => Box::new(io::stdout().lock()),
        Some(path) => Box::new(std::fs::File::create(path).map_err(failed)?),
    };
    if options.prints_head {
        write!(output, "HTTP/1.1 {}\r\n", answer.status()).map_err(failed)?;
        for (name, value) in answer.headers() {
            let line = [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat();
            output.write_all(&line).map_err(failed)?;
        }
        output.write_all(b"\r\n").map_err(failed)?;
    }
    while let Some(frame) = answer.body_mut().frame().await {
        let frame = frame.map_err(|error| Failure(RECEIVE, in_one_line(&error)))?;
        if let Ok(bytes) = frame.into_data() {
            output.write_all(&bytes).map_err(failed)?;
        }
    }
    output.flush().map_err(failed)
}

#[cfg(test)]
mod tests;
