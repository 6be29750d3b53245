//! Tests arguments and URLs.

use super::options::parse;
use super::*;

fn parse_line(line: &str) -> Result<Options, Failure> {
    let arguments: Vec<OsString> = line.split_whitespace().map(Into::into).collect();
    parse(&arguments)
}

#[test]
fn flags_can_stand_together() {
    let options =
        parse_line("-fsSLk -m5 -o /dev/null --connect-timeout 0.5 http://a").expect("valid");
    assert!(options.fails_on_status && options.is_silent && options.shows_errors);
    assert!(options.follows && options.trusts_all);
    assert_eq!(options.time_max, Some(Duration::from_secs(5)));
    assert_eq!(options.connect_time_max, Some(Duration::from_millis(500)));
    assert_eq!(options.output, Some("/dev/null".into()));
    assert_eq!(options.url, "http://a");
    let options = parse_line("--fail --silent -I http://a").expect("valid");
    assert_eq!(options.method, Some(Method::HEAD));
    assert_eq!(parse_line("-X PUT http://a").expect("valid").method, Some(Method::PUT));
}

#[test]
fn unknown_options_are_named() {
    for (line, name) in [
        ("-w %{time_total} http://a", "-w"),
        ("-w x http://a", "http_code"),
        ("-Z http://a", "-Z"),
        ("-fC http://a", "-C"),
        ("--retry x http://a", "--retry"),
        ("--silently http://a", "--silently"),
        ("-d x http://a", "-d"),
        ("http://a http://b", "URL"),
        ("-m", "-m"),
        ("-m x http://a", "-m"),
        ("", "URL"),
    ] {
        let Failure(code, reason) = parse_line(line).expect_err(line);
        assert_eq!(code, USAGE, "{line}");
        assert!(reason.contains(name), "{line}: {reason}");
    }
}

#[test]
fn harmless_options_are_taken() {
    let line = "-4vN# --no-progress-meter --fail-with-body -sw %{http_code} --retry 5 \
                --retry-delay 2 --retry-connrefused http://a";
    let options = parse_line(line).expect("valid");
    assert!(options.fails_on_status && options.writes_failed_body);
    assert_eq!(options.family, Some(Family::V4));
    let delay = Some(Duration::from_secs(2));
    let expected = Retries { count: 5, delay, also_if_refused: true, after_all_errors: false };
    assert_eq!(options.retries, expected);
    assert_eq!(format_of(r"a%{http_code}\n", 7).expect("known"), "a007\n");
    assert_eq!(format_of("100%%", 200).expect("known"), "100%");
}

#[test]
fn what_can_pass_is_tried_again() {
    let plain = Retries::default();
    let refused = Retries { also_if_refused: true, ..Retries::default() };
    let all = Retries { after_all_errors: true, ..Retries::default() };
    for (retries, code, status, expected) in [
        (&plain, 0, 200, false),
        (&plain, 0, 503, true),
        (&plain, STATUS, 503, true),
        (&plain, STATUS, 404, false),
        (&plain, TIMEOUT, 0, true),
        (&plain, NO_CONNECTION, 0, false),
        (&refused, NO_CONNECTION, 0, true),
        (&refused, NO_ANSWER, 0, false),
        (&all, NO_ANSWER, 0, true),
        (&all, STATUS, 404, true),
        (&all, 0, 404, false),
    ] {
        assert_eq!(
            is_worth_another(retries, code, status),
            expected,
            "{retries:?} {code} {status}"
        );
    }
}

#[test]
fn urls() {
    let rows = [
        (
            "http://localhost:9000/minio/health/live",
            Some((false, "localhost", 9000, "/minio/health/live")),
        ),
        ("localhost", Some((false, "localhost", 80, "/"))),
        ("localhost:9000/x?y=z", Some((false, "localhost", 9000, "/x?y=z"))),
        ("https://[::1]", Some((true, "::1", 443, "/"))),
        ("ftp://a", None),
        ("http://a:b@c", None),
        ("http://", None),
    ];
    for (url, expected) in rows {
        let target = Target::parse(url).ok();
        let parts = target.as_ref().map(|it| (it.is_encrypted, &*it.host, it.port, &*it.path));
        assert_eq!(parts, expected, "{url}");
    }
}

#[test]
fn redirections_stay_on_the_host() {
    let target = Target::parse("http://a:1/x").expect("valid");
    let to = |location: &'static str| target.redirected(&HeaderValue::from_static(location));
    assert_eq!(to("/y").expect("same host").path, "/y");
    assert_eq!(to("https://a:2/z").expect("same host").port, 2);
    assert!(to("http://b/").is_err());
    assert!(to("//b/").is_err());
}
