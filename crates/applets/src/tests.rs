//! Tests the names and the arguments that they stand for.

use super::names::{Applet, NAMES, applet, applet_at};
use super::*;

#[test]
fn names_are_applets_where_programs_are() {
    assert_eq!(applet("minio"), Some(Applet::Minio));
    assert_eq!(applet_at("/usr/bin/mc"), Some(Applet::Client));
    assert_eq!(applet_at("/bin/sh"), Some(Applet::Shell));
    assert_eq!(applet_at("/liteio"), Some(Applet::Own));
    assert_eq!(applet_at("/data/mc"), None);
    assert_eq!(applet_at("./mc"), None);
    assert_eq!(applet_at("jq"), None);
}

/// The script that builds the image's file tree must agree with the table.
#[test]
fn the_image_has_a_link_for_every_name() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/image-tree");
    let script = std::fs::read_to_string(file).expect("the script");
    let links: Vec<&str> = script
        .lines()
        .find_map(|line| line.strip_prefix("names=("))
        .and_then(|line| line.strip_suffix(')'))
        .expect("a line of names")
        .split_whitespace()
        .collect();
    let names: Vec<&str> =
        NAMES.iter().map(|(name, _)| *name).filter(|it| *it != "liteio").collect();
    assert_eq!(links, names);
}

#[test]
fn the_server_gets_the_profile_of_the_name() {
    let arguments = of_server("minio", vec!["/data".into()]);
    assert_eq!(arguments, ["liteio", "server", "--profile", "minio", "/data"]);
}

#[test]
fn the_command_of_minio_comes_after_flags_of_all_commands() {
    let rows = [
        ("server /data", "server", "/data"),
        ("--certs-dir /c server /data", "server", "--certs-dir /c /data"),
        ("-S /c --quiet server --address :1 /data", "server", "-S /c --quiet --address :1 /data"),
        ("--certs-dir=/c server /data", "server", "--certs-dir=/c /data"),
        (
            "--console-address :9001 --address :9000 server /data",
            "server",
            "--console-address :9001 --address :9000 /data",
        ),
        ("--config-dir /c server /data", "server", "/data --certs-dir /c/certs"),
        ("server -C /c /data -S /d", "server", "/data -S /d"),
        ("--json gateway s3", "gateway", "--json s3"),
        ("--version", "", "--version"),
        ("--address", "", "--address"),
    ];
    for (line, command, rest) in rows {
        let arguments: Vec<OsString> = line.split(' ').map(Into::into).collect();
        let (found, left) = minio_command(&arguments);
        assert_eq!(found.unwrap_or_default(), command, "{line}");
        assert_eq!(left.join(std::ffi::OsStr::new(" ")), rest, "{line}");
    }
}

#[test]
fn the_server_of_minio_needs_a_place_for_the_data() {
    let names_none = |line: &str, given: &str| {
        let arguments: Vec<OsString> = line.split_whitespace().map(Into::into).collect();
        names_no_place(&arguments, |name| name == given)
    };
    for line in ["", "--address :9000 --quiet", "--console-address=:9001", "-S /c"] {
        assert!(names_none(line, ""), "{line}");
        assert!(names_none(line, "MINIO_ROOT_USER"), "{line}");
        assert!(!names_none(line, "MINIO_VOLUMES"), "{line}");
    }
    for line in ["/data", "--address :9000 /data", "--memory", "--data-dir /data", "--help"] {
        assert!(!names_none(line, ""), "{line}");
    }
}

#[test]
fn the_start_script_is_never_localstack_where_credentials_are_given() {
    let of = |profile: &str, has_arguments, given: &str| {
        meant(profile, has_arguments, |name| name == given)
    };
    assert_eq!(of("", false, ""), Ok(Meant::LocalStack));
    assert_eq!(of("", true, ""), Ok(Meant::Minio));
    assert_eq!(of("", false, "MINIO_ROOT_USER"), Ok(Meant::Minio));
    assert_eq!(of("", false, "MINIO_ACCESS_KEY"), Ok(Meant::Minio));
    let refusal = of("", false, "LITEIO_ACCESS_KEY").expect_err("no guess");
    assert!(refusal.contains("LITEIO_ACCESS_KEY") && refusal.contains(PROFILE_VARIABLE));
    // An explicit profile overrides the guess.
    assert_eq!(of("localstack", false, "LITEIO_ACCESS_KEY"), Ok(Meant::LocalStack));
    assert_eq!(of("minio", false, ""), Ok(Meant::Minio));
}
