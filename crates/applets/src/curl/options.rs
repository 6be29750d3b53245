//! Parses the arguments of curl.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Method};

use super::{Failure, USAGE, failure};

/// The request, and the treatment of its response.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) url: String,
    pub(super) method: Option<Method>,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) fails_on_status: bool,
    /// Writes the body even if the status is an error.
    pub(super) writes_failed_body: bool,
    pub(super) is_silent: bool,
    pub(super) shows_errors: bool,
    pub(super) follows: bool,
    pub(super) trusts_all: bool,
    pub(super) prints_head: bool,
    pub(super) output: Option<PathBuf>,
    /// The `--write-out` format, written after the last attempt.
    pub(super) written: Option<String>,
    pub(super) family: Option<Family>,
    /// Time limit of one attempt.
    pub(super) time_max: Option<Duration>,
    pub(super) connect_time_max: Option<Duration>,
    pub(super) retries: Retries,
}

/// The accepted address families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

/// Retries after the first attempt.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Retries {
    pub(super) count: u32,
    pub(super) delay: Option<Duration>,
    pub(super) also_if_refused: bool,
    pub(super) after_all_errors: bool,
}

/// Short options, and their long forms.
const SHORT: [(char, &str); 18] = [
    ('#', "progress-bar"),
    ('4', "ipv4"),
    ('6', "ipv6"),
    ('H', "header"),
    ('I', "head"),
    ('L', "location"),
    ('N', "no-buffer"),
    ('S', "show-error"),
    ('X', "request"),
    ('f', "fail"),
    ('g', "globoff"),
    ('i', "include"),
    ('k', "insecure"),
    ('m', "max-time"),
    ('o', "output"),
    ('s', "silent"),
    ('v', "verbose"),
    ('w', "write-out"),
];

pub(super) fn parse(arguments: &[OsString]) -> Result<Options, Failure> {
    let mut options = Options::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let Some(argument) = argument.to_str() else {
            return failure(USAGE, "an argument is not UTF-8");
        };
        let mut value = || arguments.next().and_then(|it| it.to_str()).map(str::to_owned);
        if let Some(name) = argument.strip_prefix("--") {
            options.set(name, argument, &mut value)?;
        } else if let Some(flags) = argument.strip_prefix('-').filter(|it| !it.is_empty()) {
            let mut flags = flags.chars();
            while let Some(flag) = flags.next() {
                let glued = flags.as_str().to_owned();
                let mut has_taken = false;
                let mut value = || {
                    has_taken = true;
                    if glued.is_empty() { value() } else { Some(glued.clone()) }
                };
                let name = SHORT.iter().find(|(short, _)| *short == flag).map_or("", |it| it.1);
                options.set(name, &format!("-{flag}"), &mut value)?;
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

impl Options {
    /// Applies a long option, which the user wrote as `shown`.
    fn set(
        &mut self,
        name: &str,
        shown: &str,
        value: &mut dyn FnMut() -> Option<String>,
    ) -> Result<(), Failure> {
        let mut wanted =
            || value().ok_or_else(|| Failure(USAGE, format!("option {shown}: requires parameter")));
        match name {
            "fail" => self.fails_on_status = true,
            "fail-with-body" => (self.fails_on_status, self.writes_failed_body) = (true, true),
            "include" => self.prints_head = true,
            "head" => {
                self.prints_head = true;
                self.method.get_or_insert(Method::HEAD);
            }
            "insecure" => self.trusts_all = true,
            "ipv4" => self.family = Some(Family::V4),
            "ipv6" => self.family = Some(Family::V6),
            "location" => self.follows = true,
            "silent" => self.is_silent = true,
            "show-error" => self.shows_errors = true,
            // These change nothing that exists here.
            "globoff" | "http1.1" | "no-buffer" | "no-progress-meter" | "progress-bar"
            | "verbose" => {}
            "output" => self.output = Some(wanted()?.into()),
            "write-out" => {
                let format = wanted()?;
                // An invalid format is rejected before the request is sent.
                if format_of(&format, 0)? == format_of(&format, 1)? {
                    let line = format!("option {shown}: {format:?} has no %{{http_code}}");
                    return failure(USAGE, line);
                }
                self.written = Some(format);
            }
            "max-time" => self.time_max = Some(seconds(shown, &wanted()?)?),
            "connect-timeout" => self.connect_time_max = Some(seconds(shown, &wanted()?)?),
            "retry" => {
                let count = wanted()?;
                self.retries.count = count.parse().map_err(|_| {
                    Failure(USAGE, format!("option {shown}: {count:?} is no number"))
                })?;
            }
            "retry-delay" => self.retries.delay = Some(seconds(shown, &wanted()?)?),
            "retry-connrefused" => self.retries.also_if_refused = true,
            "retry-all-errors" => self.retries.after_all_errors = true,
            "request" => {
                let method = wanted()?;
                let parsed = Method::from_bytes(method.as_bytes());
                self.method =
                    Some(parsed.map_err(|_| Failure(USAGE, format!("{method:?} is no method")))?);
            }
            "header" => {
                let line = wanted()?;
                let header = line.split_once(':').and_then(|(name, value)| {
                    Some((name.trim().parse().ok()?, value.trim().parse().ok()?))
                });
                self.headers
                    .push(header.ok_or_else(|| Failure(USAGE, format!("{line:?} is no header")))?);
            }
            _ => return failure(USAGE, format!("the option {shown} is not supported here")),
        }
        Ok(())
    }
}

pub(super) fn seconds(name: &str, text: &str) -> Result<Duration, Failure> {
    let seconds = text.parse::<f64>().ok().and_then(|it| Duration::try_from_secs_f64(it).ok());
    seconds
        .ok_or_else(|| Failure(USAGE, format!("option {name}: {text:?} is no number of seconds")))
}

/// Expands a `--write-out` format.
///
/// # Errors
/// It names a variable other than the status.
pub(super) fn format_of(format: &str, status: u16) -> Result<String, Failure> {
    let mut text = String::new();
    let mut rest = format;
    while let Some(index) = rest.find(['%', '\\']) {
        text.push_str(&rest[..index]);
        rest = &rest[index..];
        let status = format!("{status:03}");
        let forms = [
            ("%{http_code}", &*status),
            ("%{response_code}", &*status),
            ("%%", "%"),
            ("\\n", "\n"),
            ("\\r", "\r"),
            ("\\t", "\t"),
            ("\\\\", "\\"),
        ];
        let found = forms.iter().find_map(|(form, value)| Some((rest.strip_prefix(form)?, value)));
        let Some((after, value)) = found else {
            let line = format!("option -w: only %{{http_code}} is supported here, not {rest:?}");
            return failure(USAGE, line);
        };
        text.push_str(value);
        rest = after;
    }
    Ok(text + rest)
}
