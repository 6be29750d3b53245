//! `wget` in the image, for health checks: the same requests, with GNU Wget's options and exit
//! codes.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use http::Method;

use super::options::{Options, seconds};
use super::{CERTIFICATE, Failure, STATUS, TLS, USAGE, WRITE, failure, fetch};

pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let (is_silent, result) = match parse(arguments) {
        Ok(options) => (options.is_silent, fetch(&options)),
        Err(failure) => (false, Err(failure)),
    };
    let Err(Failure(code, line)) = result else { return ExitCode::SUCCESS };
    if !is_silent {
        let _ = writeln!(io::stderr(), "wget: {line}");
    }
    ExitCode::from(match code {
        USAGE => 2,
        WRITE => 3,
        TLS | CERTIFICATE => 5,
        STATUS => 8,
        // A network failure.
        _ => 4,
    })
}

fn parse(arguments: &[OsString]) -> Result<Options, Failure> {
    let mut options = Options { fails_on_status: true, follows: true, ..Options::default() };
    let mut has_output = false;
    let mut arguments = arguments.iter().map(|it| it.to_str().unwrap_or_default());
    while let Some(argument) = arguments.next() {
        // `-qO-` means `-q -O-`.
        let silent = argument.strip_prefix("-q").filter(|it| !it.is_empty());
        options.is_silent |= silent.is_some();
        let argument = silent.map_or(argument.to_owned(), |rest| format!("-{rest}"));
        let (flag, glued) = parts(&argument);
        let mut value = || {
            let value = glued.or_else(|| arguments.next()).map(str::to_owned);
            value.ok_or_else(|| Failure(USAGE, format!("option {flag}: requires a value")))
        };
        match flag {
            "-q" | "--quiet" | "-nv" | "--no-verbose" => options.is_silent = true,
            "--spider" => options.method = Some(Method::HEAD),
            "--no-check-certificate" => options.trusts_all = true,
            "-O" | "--output-document" => {
                options.output = Some(value()?.into());
                has_output = true;
            }
            "-T" | "--timeout" => options.time_max = Some(seconds(flag, &value()?)?),
            "-t" | "--tries" => {
                let tries: u32 = value()?
                    .parse()
                    .map_err(|_| Failure(USAGE, format!("option {flag}: no number")))?;
                options.retries.count = tries.saturating_sub(1);
            }
            _ if flag.starts_with('-') => {
                return failure(USAGE, format!("the option {flag} is not supported here"));
            }
            _ if !options.url.is_empty() => {
                return failure(USAGE, "more than one URL is not supported here");
            }
            url => url.clone_into(&mut options.url),
        }
    }
    if options.url.is_empty() {
        return failure(USAGE, "missing URL");
    }
    if !has_output && options.method.is_none() {
        return failure(USAGE, "give --spider, -O - or -O FILE");
    }
    Ok(options)
}

/// Splits a flag from a value in the same argument.
fn parts(argument: &str) -> (&str, Option<&str>) {
    if argument.starts_with("--") {
        return argument.split_once('=').map_or((argument, None), |(it, value)| (it, Some(value)));
    }
    let glued = ["-O", "-T", "-t"].into_iter().find_map(|flag| {
        Some((flag, argument.strip_prefix(flag).filter(|value| !value.is_empty())?))
    });
    glued.map_or((argument, None), |(flag, value)| (flag, Some(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Options, Failure> {
        parse(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn checks_of_compose_files_are_taken() {
        let options = parse_line("-q --spider http://a").expect("valid");
        assert_eq!((options.is_silent, options.method), (true, Some(Method::HEAD)));
        for line in ["-qO- http://a", "-q -O - http://a", "-nv --output-document=- http://a"] {
            let options = parse_line(line).expect(line);
            assert!(options.is_silent && options.fails_on_status, "{line}");
            assert_eq!(options.output, Some("-".into()), "{line}");
        }
        let line = "--no-verbose --tries=3 -T5 --spider http://a";
        let options = parse_line(line).expect(line);
        assert_eq!(options.retries.count, 2);
        assert_eq!(options.time_max, Some(std::time::Duration::from_secs(5)));
    }

    #[test]
    fn what_is_not_supported_is_named() {
        for (line, name) in [
            ("http://a", "-O"),
            ("-q --spider", "URL"),
            ("--post-data=x http://a", "--post-data"),
            ("-qx --spider http://a", "-x"),
            ("--spider http://a -O", "-O"),
        ] {
            let Failure(code, reason) = parse_line(line).expect_err(line);
            assert_eq!(code, USAGE, "{line}");
            assert!(reason.contains(name), "{line}: {reason}");
        }
    }
}
