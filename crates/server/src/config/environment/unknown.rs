//! Variables that nothing reads: mostly typing errors. Each is told in one line at the start.

use std::cell::LazyCell;

use liteio_wire::nearest::nearest;

use super::table::TABLE;
use super::{PREFIXES, Variables, is_known};

/// The prefix of our own variables.
const OWN: &str = "LITEIO_";

/// Variables of ours that other programs read: the packages for test suites, the install script, a container, builds, tests.
const OF_OTHERS: [&str; 10] = [
    "LITEIO_BINARY",
    "LITEIO_BUILD_COMMIT",
    "LITEIO_DOWNLOAD_URL",
    "LITEIO_ENDPOINT",
    "LITEIO_IMAGE",
    "LITEIO_INSTALL_DIR",
    "LITEIO_REQUIRE_TEST_API",
    "LITEIO_SHARED_SERVER",
    "LITEIO_TESTS",
    "LITEIO_TEST_ENDPOINT",
];

/// The beginnings of variables that measurements, tests and scripts of ours read.
const FAMILIES_OF_OTHERS: [&str; 5] =
    ["LITEIO_BENCH_", "LITEIO_CRASH_", "LITEIO_DAMAGE_", "LITEIO_INIT_", "LITEIO_SEED_"];

/// Names that users of other programs try, and the variable here that they mean.
const OTHER_NAMES: [(&str, &str); 10] = [
    ("LITEIO_LOG_LEVEL", "LITEIO_LOG"),
    ("LITEIO_CORS", "LITEIO_CORS_ORIGIN"),
    ("LITEIO_TLS", "LITEIO_TLS_SELF_SIGNED"),
    ("LITEIO_HTTPS", "LITEIO_TLS_SELF_SIGNED"),
    ("LITEIO_ROOT_USER", "LITEIO_ACCESS_KEY"),
    ("LITEIO_USER", "LITEIO_ACCESS_KEY"),
    ("LITEIO_ROOT_PASSWORD", "LITEIO_SECRET_KEY"),
    ("LITEIO_PASSWORD", "LITEIO_SECRET_KEY"),
    ("LITEIO_SECRET", "LITEIO_SECRET_KEY"),
    ("LITEIO_DATA", "LITEIO_DATA_DIR"),
];

/// Events need no directory of their own.
const QUEUES: &str = "events wait in the data directory until they are delivered; `--event-queue` limits their number";

/// Features of MinIO that there are not here, by the beginning of their variables, and what to use instead.
const ABSENT: [(&str, &str); 18] = [
    (
        "MINIO_IDENTITY_LDAP_",
        "LDAP is not supported: sign in through an issuer of OpenID Connect in front of the directory (--oidc-issuer, \
         --console-oidc), or make users with `liteio client admin user add`",
    ),
    (
        "MINIO_IDENTITY_OPENID_",
        "an issuer of OpenID Connect is named by --oidc-issuer, and for the console by --console-oidc",
    ),
    (
        "MINIO_KMS_KES_",
        "KES is not supported: give the keys by --master-key-file, --kms-key-file or MINIO_KMS_SECRET_KEY",
    ),
    ("MINIO_ETCD_", "etcd is not supported: users and settings are in the data directory"),
    ("MINIO_COMPRESSION_", "objects are not compressed: use a file system that does"),
    (
        "MINIO_BATCH_",
        "batch jobs are not supported: use `liteio client mirror`, or replication rules",
    ),
    (
        "MINIO_API_REQUESTS_",
        "docs/limits.md has the limits of requests, which are not set by variables",
    ),
    (
        "MINIO_SCANNER_",
        "`--scrub-days` sets how often data is checked, and lifecycles need no scanner",
    ),
    (
        "MINIO_HEAL_",
        "`--scrub-days` sets how often data is checked; one directory has no other drives",
    ),
    (
        "MINIO_LOGGER_WEBHOOK_",
        "the log goes to standard error; `--audit-webhook` sends the audit log",
    ),
    ("MINIO_AUDIT_WEBHOOK_", "`--audit-webhook` sends the audit log"),
    ("MINIO_CACHE_", "there is no cache of another storage"),
    ("MINIO_NOTIFY_WEBHOOK_QUEUE_", QUEUES),
    ("MINIO_NOTIFY_REDIS_QUEUE_", QUEUES),
    ("MINIO_NOTIFY_NATS_QUEUE_", QUEUES),
    ("MINIO_SITE_NAME", "a server has no name; MINIO_REGION names the region of its buckets"),
    ("MINIO_STORAGE_CLASS_RRS", "a single directory has no parity"),
    (
        "MINIO_API_ROOT_ACCESS",
        "the root user can always sign requests: keep its keys, and make users for clients",
    ),
];

/// The lines about variables that nothing reads. `options` makes the list of the variables of options, which takes
/// milliseconds, and most starts have none.
pub(crate) fn lines(variables: &Variables, options: fn() -> Vec<String>) -> Vec<String> {
    let options = LazyCell::new(options);
    let mut told: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for name in variables.0.keys() {
        let is_ours = name.starts_with(OWN);
        if is_ours && !is_of_others(name) && !options.iter().any(|it| it == name) {
            lines.push(unknown(name, own_names(&options)));
        } else if !is_ours && PREFIXES.iter().any(|it| name.starts_with(it)) && !is_known(name) {
            match ABSENT.iter().find(|(prefix, _)| name.starts_with(prefix)) {
                // One line for all variables of a feature.
                Some((prefix, _)) if told.contains(prefix) => {}
                Some((prefix, instead)) => {
                    told.push(prefix);
                    lines.push(format!("{name} has no effect: {instead}"));
                }
                None => lines.push(unknown(name, TABLE.iter().map(|row| row.name))),
            }
        }
    }
    lines
}

/// `true` for a name that something else than an option reads.
fn is_of_others(name: &str) -> bool {
    is_known(name)
        || OF_OTHERS.contains(&name)
        || FAMILIES_OF_OTHERS.iter().any(|it| name.starts_with(it))
}

fn own_names(options: &[String]) -> impl Iterator<Item = &str> {
    let of_table = TABLE.iter().map(|row| row.name).filter(|name| name.starts_with(OWN));
    options.iter().map(String::as_str).chain(of_table).chain(OF_OTHERS)
}

/// The line for a name that is probably one of these, mistyped. What comes before the first `_` names the program.
fn unknown<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    if let Some((_, meant)) = OTHER_NAMES.iter().find(|(other, _)| *other == name) {
        return format!("{name} is unknown and has no effect: did you mean {meant}?");
    }
    let (program, rest) = name.split_once('_').unwrap_or_default();
    let known = known.filter_map(|it| it.strip_prefix(program)?.strip_prefix('_'));
    match nearest(rest, known) {
        Some(meant) => {
            format!("{name} is unknown and has no effect: did you mean {program}_{meant}?")
        }
        None => format!(
            "{name} is unknown and has no effect: `liteio --help` and `liteio environment` list the variables"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_variables_are_told_with_the_nearest_name() {
        let options = || ["LITEIO_ACCESS_KEY", "LITEIO_BUCKET"].map(str::to_owned).to_vec();
        let rows = [
            ("LITEIO_ACCES_KEY", Some("did you mean LITEIO_ACCESS_KEY?")),
            ("LITEIO_DRIVR", Some("did you mean LITEIO_DRIVER?")),
            ("LITEIO_BINARI", Some("did you mean LITEIO_BINARY?")),
            ("LITEIO_LOG_LEVEL", Some("did you mean LITEIO_LOG?")),
            ("LITEIO_CORS", Some("did you mean LITEIO_CORS_ORIGIN?")),
            ("LITEIO_TLS", Some("did you mean LITEIO_TLS_SELF_SIGNED?")),
            ("LITEIO_ROOT_USER", Some("did you mean LITEIO_ACCESS_KEY?")),
            ("LITEIO_WHATEVER", Some("`liteio environment`")),
            ("MINIO_ROOT_USR", Some("did you mean MINIO_ROOT_USER?")),
            ("MINIO_IDENTITY_LDAP_SERVER_ADDR", Some("--oidc-issuer")),
            ("MINIO_API_REQUESTS_MAX", Some("docs/limits.md")),
            ("MINIO_API_CORS_ALOW_ORIGIN", Some("did you mean MINIO_API_CORS_ALLOW_ORIGIN?")),
            ("MINIO_LOGGER_WEBHOOK_ENABLE_x", Some("--audit-webhook")),
            ("MINIO_NOTIFY_WEBHOOK_QUEUE_DIR_x", Some("--event-queue")),
            ("MINIO_NOTIFY_WEBHOOK_QUEUE_LIMIT", Some("--event-queue")),
            ("MINIO_SITE_NAME", Some("MINIO_REGION")),
            ("MINIO_STORAGE_CLASS_RRS", Some("parity")),
            ("MINIO_API_ROOT_ACCESS", Some("make users")),
            ("LITEIO_BUCKET", None),
            ("LITEIO_BINARY", None),
            ("LITEIO_HOST", None),
            ("MINIO_ROOT_USER", None),
            ("PATH", None),
        ];
        for (name, expected) in rows {
            let told = lines(&Variables::of(&[(name, "x")]), options);
            match expected {
                Some(expected) => {
                    assert!(told.len() == 1 && told[0].contains(expected), "{name}: {told:?}");
                    assert!(told[0].starts_with(name), "{told:?}");
                }
                None => assert!(told.is_empty(), "{told:?}"),
            }
        }
        let ldap = ["SERVER_ADDR", "LOOKUP_BIND_DN"].map(|it| format!("MINIO_IDENTITY_LDAP_{it}"));
        let both = Variables::of(&[(&ldap[0], "x"), (&ldap[1], "y")]);
        assert_eq!(lines(&both, options).len(), 1, "one line for LDAP");
    }
}
