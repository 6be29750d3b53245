//! Every refusal of settings of several servers names what to change.

use clap::Parser as _;

use super::*;
use crate::cli::ServerArgs;
use crate::config::environment::Variables;

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    server: ServerArgs,
}

const PLACE: [&str; 4] =
    ["--metadata", "postgres://liteio:hush@db/liteio", "--blobs", "s3://bodies/liteio"];

fn arguments(line: &[&str]) -> ServerArgs {
    let line = [&["liteio"], line].concat();
    Line::try_parse_from(line).expect("arguments").server
}

fn resolved(line: &[&str]) -> Result<Option<ClusterSettings>, ConfigError> {
    resolve(&arguments(line).cluster)
}

fn refused(line: &[&str]) -> String {
    let error = resolved(line).expect_err("refused").to_string();
    assert!(!error.contains("hush") && !error.contains('\n'), "{error}");
    error
}

#[test]
fn a_place_has_defaults_and_no_secret_is_shown() {
    let settings = resolved(&PLACE).expect("valid").expect("a cluster");
    assert_eq!((&*settings.name, settings.connections), ("liteio", None));
    assert_eq!(settings.deletion_grace, Duration::ZERO);
    assert!(!settings.server_name.is_empty() && !settings.allows_unsafe);
    assert_eq!(settings.blobs.cache, None);
    assert!(!format!("{settings:?}{:?}", settings.blobs).contains("hush"));
    assert_eq!(resolved(&[]).expect("valid"), None);

    let all = [
        &PLACE[..],
        &["--cluster-name", "prod_2", "--server-name", "one", "--deletion-grace", "24h"],
        &["--metadata-connections", "40", "--metadata-unsafe", "--blob-cache", "/cache"],
        &["--blobs-access-key", "key", "--blobs-secret-key-file", "secret"],
    ];
    let settings = resolved(&all.concat()).expect("valid").expect("a cluster");
    assert_eq!((&*settings.name, &*settings.server_name), ("prod_2", "one"));
    assert_eq!(settings.deletion_grace, Duration::from_secs(24 * 60 * 60));
    assert_eq!((settings.connections, settings.allows_unsafe), (Some(40), true));
    assert_eq!(settings.blobs.cache, Some(("/cache".into(), CACHE_MIB)));
}

#[test]
fn half_a_place_is_refused() {
    assert!(refused(&PLACE[..2]).contains("--metadata (LITEIO_METADATA) needs --blobs"));
    assert!(refused(&PLACE[2..]).contains("--blobs (LITEIO_BLOBS) needs --metadata"));
    let lonely: [&[&str]; 10] = [
        &["--metadata-password-file", "file"],
        &["--metadata-connections", "9"],
        &["--metadata-unsafe"],
        &["--blobs-access-key", "key"],
        &["--blobs-secret-key-file", "file"],
        &["--blob-cache", "/cache"],
        &["--blob-cache-size", "9"],
        &["--cluster-name", "name"],
        &["--server-name", "name"],
        &["--deletion-grace", "1h"],
    ];
    for line in lonely {
        let error = refused(line);
        assert!(error.contains(line[0]) && error.contains("--metadata and --blobs"), "{error}");
    }
}

#[test]
fn values_that_are_not_valid_are_refused_by_name() {
    let long = "a".repeat(49);
    let cases: [(&[&str], &str); 12] = [
        (&["--cluster-name", "Prod"], "the cluster name \"Prod\" is not valid"),
        (&["--cluster-name", "1st"], "is not valid"),
        (&["--cluster-name", ""], "is not valid"),
        (&["--cluster-name", &long], "is not valid"),
        (&["--metadata-connections", "1"], "--metadata-connections is from 2 to 1000"),
        (&["--metadata-connections", "1001"], "--metadata-connections is from 2 to 1000"),
        (&["--deletion-grace", "soon"], "give --deletion-grace a time"),
        (&["--deletion-grace", "9000h"], "give --deletion-grace a time"),
        (&["--blob-cache-size", "9"], "--blob-cache-size needs --blob-cache"),
        (&["--blob-cache", "/cache", "--blob-cache-size", "0"], "--blob-cache-size is 1 or more"),
        (&["--blobs-access-key", "key"], "belong together"),
        (&["--blobs-secret-key-file", "file"], "belong together"),
    ];
    for (line, expected) in cases {
        let error = refused(&[&PLACE[..], line].concat());
        assert!(error.contains(expected), "{line:?}: {error}");
    }
    let mut both = arguments(&PLACE).cluster;
    both.blobs_access_key = Some("key".to_owned());
    both.blobs_secret_key = Some("hush".to_owned());
    both.blobs_secret_key_file = Some("file".into());
    let error = resolve(&both).expect_err("refused").to_string();
    assert!(error.contains("contradict each other") && !error.contains("hush"), "{error}");
    let directory = [&PLACE[..3], &["file:///bodies", "--blobs-access-key", "key"]].concat();
    assert!(refused(&directory).contains("are for s3:// only"));
}

#[test]
fn what_is_of_one_process_or_a_directory_is_refused_by_name() {
    let pair =
        ["--master-key-file", "master.key", "--access-key", "key", "--secret-key", "a long secret"];
    let valid = |line: &[&str]| {
        let line = [&PLACE[..], &pair, line].concat();
        let resolved = Config::of_command(&arguments(&line), &Variables::default());
        resolved.map(|(config, _)| config)
    };
    let config = valid(&[]).expect("valid");
    assert!(matches!(config.storage, Storage::Cluster(_)));
    let cases: [(&[&str], &str); 7] = [
        (&["--data-dir", "data"], "--data-dir"),
        (&["--memory"], "--memory"),
        (&["--durability", "os"], "--durability"),
        (&["--backup", "file:///backup"], "--backup"),
        (&["--test-api"], "--test-api"),
        (&["--tls-self-signed"], "--tls-self-signed"),
        (&["--seed", "files"], "--seed"),
    ];
    for (line, flag) in cases {
        let error = valid(line).expect_err(flag).to_string();
        assert!(error.contains(&format!("{flag} and --metadata contradict")), "{flag}: {error}");
        assert!(error.ends_with(&format!("remove {flag}")), "{error}");
    }
    // A container makes a pair where none is given.
    let mut without = arguments(&[&PLACE[..], &pair[..2]].concat());
    without.in_container = true;
    let refused = Config::of_command(&without, &Variables::default());
    let error = refused.expect_err("no credentials").to_string();
    assert!(error.contains("set LITEIO_ACCESS_KEY and LITEIO_SECRET_KEY"), "{error}");
    let without = arguments(&[&PLACE[..], &pair[2..]].concat());
    let refused = Config::of_command(&without, &Variables::default());
    let error = refused.expect_err("no master key").to_string();
    assert!(error.contains("liteio key new master.key"), "{error}");
}
