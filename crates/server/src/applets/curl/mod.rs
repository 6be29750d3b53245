//! `curl` in the image: as much of it as health checks use.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::http_client::in_one_line;
use crate::tls::{Trust, client_config};

const REDIRECTS_MAX: usize = 50;

/// A failure: curl's exit code, and a line.
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
const RECEIVE: u8 = 56;

fn failure<T>(code: u8, line: impl Into<String>) -> Result<T, Failure> {
    Err(Failure(code, line.into()))
}

/// What is asked for.
#[derive(Debug)]
struct Options {
    url: String,
    method: Option<Method>,
    headers: Vec<(HeaderName, HeaderValue)>,
    fails_on_status: bool,
    is_silent: bool,
    shows_errors: bool,
    follows: bool,
    trusts_all: bool,
    prints_head: bool,
    output: Option<PathBuf>,
    time_max: Option<Duration>,
    connect_time_max: Option<Duration>,
}

pub(super) fn run(arguments: &[OsString]) -> ExitCode {
    let (options, result) = match parse(arguments) {
        Ok(options) => {
            let result = fetch(&options);
            (Some(options), result)
        }
        Err(failure) => (None, Err(failure)),
    };
    let Err(Failure(code, line)) = result else { return ExitCode::SUCCESS };
    if options.is_none_or(|it| !it.is_silent || it.shows_errors) {
        let _ = writeln!(io::stderr(), "curl: ({code}) {line}");
    }
    ExitCode::from(code)
}

fn parse(arguments: &[OsString]) -> Result<Options, Failure> {
    let mut options = Options {
        url: String::new(),
        method: None,
        headers: Vec::new(),
        fails_on_status: false,
        is_silent: false,
        shows_errors: false,
        follows: false,
        trusts_all: false,
        prints_head: false,
        output: None,
        time_max: None,
        connect_time_max: None,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let Some(argument) = argument.to_str() else {
            return failure(USAGE, "an argument is not UTF-8");
        };
        let mut value = || arguments.next().and_then(|it| it.to_str()).map(str::to_owned);
        if let Some(name) = argument.strip_prefix("--") {
            let flag = LONG.iter().find(|(long, _)| *long == name).map(|(_, short)| *short);
            let Some(flag) = flag else {
                return failure(USAGE, format!("the option {argument} is not supported here"));
            };
            options.set(flag, argument, &mut value)?;
        } else if let Some(flags) = argument.strip_prefix('-').filter(|it| !it.is_empty()) {
            let mut flags = flags.chars();
            while let Some(flag) = flags.next() {
                let glued = flags.as_str().to_owned();
                let mut has_taken = false;
                let mut value = || {
                    has_taken = true;
                    if glued.is_empty() { value() } else { Some(glued.clone()) }
                };
                options.set(flag, &format!("-{flag}"), &mut value)?;
                if has_taken {
                    break;
                }
            }
        } else if options.url.is_empty() {
            argument.clone_into(&mut options.url);
        } else {
            return failure(USAGE, "more than one URL is not supported here");
        }
    }
    if options.url.is_empty() {
        return failure(USAGE, "no URL specified");
    }
    Ok(options)
}

/// Long options, and the letter of each; `C` is one that has none.
const LONG: [(&str, char); 12] = [
    ("connect-timeout", 'C'),
    ("fail", 'f'),
    ("head", 'I'),
    ("header", 'H'),
    ("include", 'i'),
    ("insecure", 'k'),
    ("location", 'L'),
    ("max-time", 'm'),
    ("output", 'o'),
    ("request", 'X'),
    ("show-error", 'S'),
    ("silent", 's'),
];

impl Options {
    fn set(
        &mut self,
        flag: char,
        name: &str,
        value: &mut dyn FnMut() -> Option<String>,
    ) -> Result<(), Failure> {
        let mut wanted =
            || value().ok_or_else(|| Failure(USAGE, format!("option {name}: requires parameter")));
        match flag {
            'f' => self.fails_on_status = true,
            'i' => self.prints_head = true,
            'I' => {
                self.prints_head = true;
                self.method.get_or_insert(Method::HEAD);
            }
            'k' => self.trusts_all = true,
            'L' => self.follows = true,
            's' => self.is_silent = true,
            'S' => self.shows_errors = true,
            'o' => self.output = Some(wanted()?.into()),
            'm' => self.time_max = Some(seconds(name, &wanted()?)?),
            'C' if name.len() > 2 => self.connect_time_max = Some(seconds(name, &wanted()?)?),
            'X' => {
                let method = wanted()?;
                let parsed = Method::from_bytes(method.as_bytes());
                self.method =
                    Some(parsed.map_err(|_| Failure(USAGE, format!("{method:?} is no method")))?);
            }
            'H' => {
                let line = wanted()?;
                let header = line.split_once(':').and_then(|(name, value)| {
                    Some((name.trim().parse().ok()?, value.trim().parse().ok()?))
                });
                self.headers
                    .push(header.ok_or_else(|| Failure(USAGE, format!("{line:?} is no header")))?);
            }
            _ => return failure(USAGE, format!("the option {name} is not supported here")),
        }
        Ok(())
    }
}

fn seconds(name: &str, text: &str) -> Result<Duration, Failure> {
    let seconds = text.parse::<f64>().ok().and_then(|it| Duration::try_from_secs_f64(it).ok());
    seconds
        .ok_or_else(|| Failure(USAGE, format!("option {name}: {text:?} is no number of seconds")))
}

fn fetch(options: &Options) -> Result<(), Failure> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| Failure(USAGE, error.to_string()))?;
    let result = runtime.block_on(async {
        match options.time_max {
            Some(limit) if !limit.is_zero() => {
                let result = tokio::time::timeout(limit, follow(options)).await;
                result.unwrap_or_else(|_| {
                    failure(TIMEOUT, format!("Operation timed out after {} ms", limit.as_millis()))
                })
            }
            _ => follow(options).await,
        }
    });
    // A look-up of a name that takes longer than was wanted is on a thread that nobody waits for.
    runtime.shutdown_background();
    result
}

/// The request, and those that its answers redirect to on the same host.
async fn follow(options: &Options) -> Result<(), Failure> {
    let mut target = Target::parse(&options.url)?;
    for _ in 0..=REDIRECTS_MAX {
        let mut answer = ask(&target, options).await?;
        let status = answer.status();
        let location = answer.headers().get(header::LOCATION).filter(|_| status.is_redirection());
        if let Some(location) = location.filter(|_| options.follows) {
            target = target.redirected(location)?;
            continue;
        }
        if options.fails_on_status && status.as_u16() >= 400 {
            let line = format!("The requested URL returned error: {}", status.as_u16());
            return failure(STATUS, line);
        }
        return write(&mut answer, options).await;
    }
    failure(REDIRECTS, format!("Maximum ({REDIRECTS_MAX}) redirects followed"))
}

/// A URL, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    is_encrypted: bool,
    /// Without the brackets of an address.
    host: String,
    port: u16,
    /// The host as the URL has it, with the port, if that is not the usual one.
    authority: String,
    path: String,
}

impl Target {
    fn parse(url: &str) -> Result<Target, Failure> {
        let bad = || Failure(BAD_URL, format!("URL rejected: {url:?}"));
        let with_scheme =
            if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let uri: Uri = with_scheme.parse().map_err(|_| bad())?;
        let is_encrypted = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return failure(1, format!("Protocol of {url:?} not supported")),
        };
        let authority = uri.authority().ok_or_else(bad)?;
        if authority.as_str().contains('@') {
            return failure(BAD_URL, "credentials in a URL are not supported here");
        }
        let host = authority.host();
        let path = uri.path_and_query().map_or("/", |it| it.as_str());
        Ok(Target {
            is_encrypted,
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 }),
            authority: authority.as_str().to_owned(),
            path: if path.starts_with('/') { path.to_owned() } else { format!("/{path}") },
        })
    }

    fn redirected(&self, location: &HeaderValue) -> Result<Target, Failure> {
        let location =
            location.to_str().map_err(|_| Failure(BAD_URL, "bad Location".to_owned()))?;
        if location.starts_with('/') && !location.starts_with("//") {
            return Ok(Target { path: location.to_owned(), ..self.clone() });
        }
        let next = Target::parse(location)?;
        if next.host != self.host {
            return failure(BAD_URL, format!("the redirection to {location} is another host's"));
        }
        Ok(next)
    }
}

async fn ask(target: &Target, options: &Options) -> Result<Response<Incoming>, Failure> {
    let connecting = connect(target);
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
    // The stream and the body of the server's own client: its code is there already.
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
        // The code of a certificate that is not trusted is its own.
        let code = if error.to_string().contains("certificate") { 60 } else { TLS };
        Failure(code, in_one_line(&error))
    })?;
    exchange(MaybeHttpsStream::from(stream), target, options).await
}

async fn connect(target: &Target) -> Result<TcpStream, Failure> {
    let Target { host, port, .. } = target;
    let addresses = tokio::net::lookup_host((&**host, *port)).await;
    let addresses =
        addresses.map_err(|_| Failure(NO_ADDRESS, format!("Could not resolve host: {host}")))?;
    let mut reason = "the host has no address".to_owned();
    for address in addresses {
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
    let broken = |error: hyper::Error| Failure(RECEIVE, in_one_line(&error));
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
