//! Resolves the continuous backup: settings of the server, and targets of the commands.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use liteio_client::parse_duration;

use super::environment::Variables;
use super::{Config, ConfigError, Preparation, Storage, error, named_by};
use crate::cli::{BackupAccessArgs, ServerArgs, Source};

const INTERVAL: Duration = Duration::from_secs(1);
/// Each interval is a request to the target, or several.
const INTERVAL_MIN: Duration = Duration::from_millis(100);
const INTERVAL_MAX: Duration = Duration::from_secs(60 * 60);
const BASE_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// A base has every record.
const BASE_EVERY_MIN: Duration = Duration::from_secs(60);
const KEEP: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const KEEP_BASES: usize = 2;
/// Packs of blobs that are sent at the same time.
pub(crate) const UPLOADS: usize = 4;
/// Each takes 8 MiB of memory, and a thread while it is sent.
const UPLOADS_MAX: usize = 64;
/// A pack takes two minutes at this rate.
const BANDWIDTH_MIN: u64 = 64 << 10;

/// Less would be reached by one slow answer. A standby of a dead primary is promoted after 4 seconds
/// with it.
const FENCE_MIN: Duration = Duration::from_secs(2);
const FENCE_MAX: Duration = Duration::from_secs(60 * 60);
/// The fence of a flag without a value, and of a variable that is `true`.
const FENCE: Duration = Duration::from_secs(10);

/// A continuous backup of the data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupSettings {
    /// The place of the backup.
    pub target: BackupTarget,
    /// Time between two copies of the changes.
    pub interval: Duration,
    /// Time between two bases.
    pub base_every: Duration,
    /// Time whose every moment can be restored.
    pub keep: Duration,
    /// Number of bases that are kept however old they are.
    pub keep_bases: usize,
    /// Most bytes that are sent in a second; `None` for no limit.
    pub bytes_per_second: Option<u64>,
    /// Packs of bodies that are sent at the same time.
    pub uploads: usize,
    /// Time without a look at the lease after which writes are refused; `None` for no such time.
    pub fence: Option<Duration>,
}

impl BackupSettings {
    /// The defaults, for a backup at this place.
    #[must_use]
    pub fn new(target: BackupTarget) -> BackupSettings {
        BackupSettings {
            target,
            interval: INTERVAL,
            base_every: BASE_EVERY,
            keep: KEEP,
            keep_bases: KEEP_BASES,
            bytes_per_second: None,
            uploads: UPLOADS,
            fence: None,
        }
    }
}

/// The place of a backup, and access to it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct BackupTarget {
    /// `s3://BUCKET/PREFIX` or `file:///ABSOLUTE/PATH`.
    pub location: String,
    /// The file with the key that encrypts the backup.
    pub key_file: Option<PathBuf>,
    /// The URL of the service; by default that of AWS in the region.
    pub endpoint: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// The access key.
    pub access_key: Option<String>,
    /// The secret key.
    pub secret_key: Option<String>,
    /// The file with the secret key, if that is not given.
    pub secret_key_file: Option<PathBuf>,
    /// The PEM file of more certificate authorities to trust.
    pub ca_file: Option<PathBuf>,
    /// The session token of temporary keys.
    pub session_token: Option<String>,
}

// Written by hand, so that no secret is logged.
impl fmt::Debug for BackupTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("BackupTarget")
            .field("key_file", &self.key_file)
            .field("access_key", &self.access_key)
            .finish_non_exhaustive()
    }
}

/// Resolves the backup of a server.
///
/// # Errors
/// [`ConfigError`] for invalid settings, for flags without `--backup`, and for data in memory.
pub(super) fn resolve(
    arguments: &ServerArgs,
    variables: &Variables,
    storage: &Storage,
) -> Result<Option<BackupSettings>, ConfigError> {
    let backup = &arguments.backup;
    // Variables without a location, too: a mistake in them would come out on the day on which it is set.
    let settings = resolve_settings(arguments)?;
    let Some(location) = &backup.backup else {
        // Variables stay where somebody starts a server without the backup of the service: `in_vain` tells of them.
        let flag = given(arguments).into_iter().find(|it| it.variable(arguments).is_none());
        return match flag {
            Some(Given(flag)) => {
                let variable = variable_of(flag);
                error(format!("{flag} ({variable}) needs --backup: give the location, too"))
            }
            None => Ok(None),
        };
    };
    // One of several servers refuses it by its own rules.
    if *storage == Storage::Memory {
        return error(
            "--backup (LITEIO_BACKUP) and --memory contradict each other: remove one of them",
        );
    }
    let access = BackupAccessArgs {
        key_file: backup.backup_key_file.clone(),
        endpoint: backup.backup_endpoint.clone(),
        region: backup.backup_region.clone(),
        access_key: backup.backup_access_key.clone(),
        secret_key: backup.backup_secret_key.clone(),
        secret_key_file: backup.backup_secret_key_file.clone(),
        ca_file: arguments.ca_file.clone(),
    };
    let target = resolve_target(location, &access, "--backup-", variables)?;
    Ok(Some(BackupSettings { target, ..settings }))
}

/// The settings of a backup without its place.
///
/// # Errors
/// [`ConfigError`] for invalid settings.
fn resolve_settings(arguments: &ServerArgs) -> Result<BackupSettings, ConfigError> {
    let backup = &arguments.backup;
    let named = |setting| move |error| named_by(arguments, setting, error);
    let duration = |text: &Option<String>, default, flag, range| match text {
        Some(text) => duration_in(flag, text, range),
        None => Ok(default),
    };
    let longest = Duration::MAX;
    Ok(BackupSettings {
        target: BackupTarget::default(),
        interval: duration(
            &backup.backup_interval,
            INTERVAL,
            "--backup-interval",
            (INTERVAL_MIN, INTERVAL_MAX, "100ms to 1h"),
        )
        .map_err(named("backup_interval"))?,
        base_every: duration(
            &backup.backup_base_every,
            BASE_EVERY,
            "--backup-base-every",
            (BASE_EVERY_MIN, longest, "1m or more, such as 24h"),
        )
        .map_err(named("backup_base_every"))?,
        keep: duration(
            &backup.backup_keep,
            KEEP,
            "--backup-keep",
            (Duration::ZERO, longest, "a time such as 30d"),
        )
        .map_err(named("backup_keep"))?,
        keep_bases: match backup.backup_keep_bases {
            Some(0) => {
                let message = "no base would be kept: give --backup-keep-bases 1 or more";
                return Err(named_by(arguments, "backup_keep_bases", ConfigError(message.into())));
            }
            bases => bases.unwrap_or(KEEP_BASES),
        },
        bytes_per_second: match &backup.backup_bandwidth {
            Some(text) => Some(bandwidth(text).map_err(named("backup_bandwidth"))?),
            None => None,
        },
        uploads: match backup.backup_uploads.unwrap_or(UPLOADS) {
            uploads @ 1..=UPLOADS_MAX => uploads,
            _ => {
                let message = format!("--backup-uploads is from 1 to {UPLOADS_MAX}");
                return Err(named_by(arguments, "backup_uploads", ConfigError(message)));
            }
        },
        fence: backup.fence.as_deref().map(fence).transpose().map_err(named("fence"))?,
    })
}

/// Refuses settings that write, at a standby.
///
/// # Errors
/// [`ConfigError`].
pub(super) fn check_standby(config: &Config) -> Result<(), ConfigError> {
    if !config.is_standby {
        return Ok(());
    }
    let Preparation { buckets, bucket_file, seed, directories_are_buckets, .. } =
        &config.preparation;
    let is_preparing =
        !buckets.is_empty() || bucket_file.is_some() || seed.is_some() || *directories_are_buckets;
    let flags = [
        ("--bucket, --bucket-file or --seed", is_preparing),
        ("--drop-events", !config.events.dropped.is_empty()),
        ("--test-api", config.test_api.is_some()),
    ];
    match flags.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => error(format!(
            "a standby writes nothing of its own: remove {flag}, which the primary may have"
        )),
        None => Ok(()),
    }
}

/// The flag of a given setting of a backup.
struct Given(&'static str);

impl Given {
    /// The variable that gave it.
    fn variable<'a>(&self, arguments: &'a ServerArgs) -> Option<&'a str> {
        match arguments.sources.get(&self.0.trim_start_matches('-').replace('-', "_")) {
            Some(Source::Variable(name)) => Some(name),
            _ => None,
        }
    }
}

/// The given settings of a backup, without the location.
fn given(arguments: &ServerArgs) -> Vec<Given> {
    let backup = &arguments.backup;
    let settings = [
        ("--fence", backup.fence.is_some()),
        ("--backup-key-file", backup.backup_key_file.is_some()),
        ("--backup-interval", backup.backup_interval.is_some()),
        ("--backup-base-every", backup.backup_base_every.is_some()),
        ("--backup-keep", backup.backup_keep.is_some()),
        ("--backup-keep-bases", backup.backup_keep_bases.is_some()),
        ("--backup-bandwidth", backup.backup_bandwidth.is_some()),
        ("--backup-uploads", backup.backup_uploads.is_some()),
        ("--backup-endpoint", backup.backup_endpoint.is_some()),
        ("--backup-region", backup.backup_region.is_some()),
        ("--backup-access-key", backup.backup_access_key.is_some()),
        ("--backup-secret-key", backup.backup_secret_key.is_some()),
        ("--backup-secret-key-file", backup.backup_secret_key_file.is_some()),
    ];
    let given = settings.into_iter().filter(|(_, is_given)| *is_given);
    given.map(|(flag, _)| Given(flag)).collect()
}

/// The variable of a flag.
fn variable_of(flag: &str) -> String {
    format!("LITEIO_{}", flag.trim_start_matches('-').to_uppercase().replace('-', "_"))
}

/// The warning about variables of a backup whose location is not given.
pub(super) fn in_vain(arguments: &ServerArgs) -> Option<String> {
    if arguments.backup.backup.is_some() {
        return None;
    }
    let given = given(arguments);
    let names: Vec<&str> = given.iter().filter_map(|it| it.variable(arguments)).collect();
    let fence = match given.iter().any(|it| it.0 == "--fence") {
        true => "; writes are not fenced, since there is no lease",
        false => "",
    };
    (!names.is_empty()).then(|| {
        format!(
            "nothing is backed up, because LITEIO_BACKUP is not set, without which these have no effect: {}{fence}",
            names.join(", ")
        )
    })
}

/// Parses bytes in a second, such as `10MiB/s`.
fn bandwidth(text: &str) -> Result<u64, ConfigError> {
    const UNITS: [(&str, u64); 6] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("KB", 1000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
    ];
    let amount = text.strip_suffix("/s").unwrap_or(text);
    let parsed = UNITS.iter().find_map(|(unit, bytes)| {
        amount.strip_suffix(unit)?.trim_end().parse::<u64>().ok()?.checked_mul(*bytes)
    });
    match parsed {
        Some(bytes) if bytes >= BANDWIDTH_MIN => Ok(bytes),
        _ => error(format!(
            "the bandwidth {text:?} is not valid: give --backup-bandwidth 64KiB/s or more, such as 10MiB/s"
        )),
    }
}

/// The time of a fence. A variable cannot be given without a value, and so has `true` for that.
fn fence(text: &str) -> Result<Duration, ConfigError> {
    if text.eq_ignore_ascii_case("true") {
        return Ok(FENCE);
    }
    duration_in("a time from", text, (FENCE_MIN, FENCE_MAX, "2s to 1h, such as --fence=10s"))
}

/// Parses a duration within `(least, most, in words)`. A refusal says to give `asked`, such as a flag, and these words.
fn duration_in(
    asked: &str,
    text: &str,
    (least, most, words): (Duration, Duration, &str),
) -> Result<Duration, ConfigError> {
    match parse_duration(text) {
        Ok(duration) if (least..=most).contains(&duration) => Ok(duration),
        Ok(_) | Err(_) => error(format!("the time {text:?} is not valid: give {asked} {words}")),
    }
}

/// Resolves the place of a backup. Flags have this `prefix`. The variables of AWS count for `s3://` only, and its keys
/// only if none are given.
///
/// # Errors
/// [`ConfigError`] if credentials are missing, incomplete or in vain. The location is checked when it is opened.
pub(crate) fn resolve_target(
    location: &str,
    access: &BackupAccessArgs,
    prefix: &str,
    variables: &Variables,
) -> Result<BackupTarget, ConfigError> {
    let BackupAccessArgs {
        key_file,
        endpoint,
        region,
        access_key,
        secret_key,
        secret_key_file,
        ca_file,
    } = access.clone();
    let mut target = BackupTarget {
        location: location.to_owned(),
        key_file,
        endpoint,
        region,
        access_key,
        secret_key,
        secret_key_file,
        session_token: None,
        ca_file,
    };
    let has_secret = target.secret_key.is_some() || target.secret_key_file.is_some();
    if !location.starts_with("s3://") {
        let is_given = target.endpoint.is_some() || target.region.is_some();
        return match is_given || target.access_key.is_some() || has_secret {
            true => error(format!(
                "{prefix}endpoint, {prefix}region and the keys are for s3:// only: remove them, or \
                 give s3://BUCKET/PREFIX"
            )),
            false => Ok(target),
        };
    }
    if target.secret_key.is_some() && target.secret_key_file.is_some() {
        return error(format!(
            "{prefix}secret-key (LITEIO_BACKUP_SECRET_KEY) and {prefix}secret-key-file contradict \
             each other: remove one of them"
        ));
    }
    let variable = |name| variables.get(name).map(str::to_owned);
    match (&target.access_key, has_secret) {
        (Some(_), true) => {}
        (Some(_), false) => {
            return error(format!(
                "{prefix}access-key needs {prefix}secret-key-file or LITEIO_BACKUP_SECRET_KEY: set \
                 both or neither"
            ));
        }
        (None, true) => {
            return error(format!(
                "the secret key of the backup needs {prefix}access-key (LITEIO_BACKUP_ACCESS_KEY): \
                 set both or neither"
            ));
        }
        (None, false) => {
            target.access_key = variable("AWS_ACCESS_KEY_ID");
            target.secret_key = variable("AWS_SECRET_ACCESS_KEY");
            target.session_token = variable("AWS_SESSION_TOKEN");
            // The keys are those of that service, as for the AWS CLI: AWS itself must not get them.
            let endpoint =
                || variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL"));
            target.endpoint = target.endpoint.or_else(endpoint);
        }
    }
    let has_secret = target.secret_key.is_some() || target.secret_key_file.is_some();
    if target.access_key.is_none() || !has_secret {
        return error(format!(
            "a backup to s3:// needs keys: give {prefix}access-key and {prefix}secret-key-file, or \
             set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        ));
    }
    let region = || variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
    target.region = target.region.or_else(region);
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::BackupArgs;

    fn directory() -> Storage {
        Storage::Directory { path: "data".into(), durability: liteio_store::Durability::Fsync }
    }

    fn resolved(
        backup: BackupArgs,
        variables: &[(&str, &str)],
    ) -> Result<Option<BackupSettings>, ConfigError> {
        let arguments = ServerArgs { backup, ..ServerArgs::default() };
        resolve(&arguments, &Variables::of(variables), &directory())
    }

    fn at(location: &str) -> BackupArgs {
        BackupArgs { backup: Some(location.to_owned()), ..BackupArgs::default() }
    }

    const AWS: [(&str, &str); 5] = [
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_SESSION_TOKEN", "token"),
        ("AWS_REGION", "eu-west-1"),
        ("AWS_DEFAULT_REGION", "other"),
    ];

    #[test]
    fn variables_of_aws_count_for_buckets_and_where_no_key_is_given() {
        let target = |backup| resolved(backup, &AWS).expect("settings").expect("a backup").target;
        let bucket = target(at("s3://bucket"));
        assert_eq!(bucket.access_key.as_deref(), Some("key"));
        assert_eq!(bucket.secret_key.as_deref(), Some("secret"));
        assert_eq!(bucket.session_token.as_deref(), Some("token"));
        assert_eq!(bucket.region.as_deref(), Some("eu-west-1"));
        let file = "file:///backup";
        assert_eq!(target(at(file)), BackupTarget { location: file.into(), ..Default::default() });
        let own = target(BackupArgs {
            backup_access_key: Some("own".into()),
            backup_secret_key: Some("hush".into()),
            backup_region: Some("here".into()),
            ..at("s3://bucket")
        });
        assert_eq!((own.secret_key.as_deref(), own.session_token), (Some("hush"), None));
        assert_eq!(own.region.as_deref(), Some("here"));
    }

    #[test]
    fn the_endpoint_of_aws_variables_counts_with_their_keys() {
        let (own, other) = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");
        let endpoint = |backup: BackupArgs, variables: &[(&str, &str)]| {
            let all = [&AWS[..], variables].concat();
            resolved(backup, &all).expect("settings").expect("a backup").target.endpoint
        };
        let bucket = || at("s3://bucket");
        assert_eq!(endpoint(bucket(), &[]), None);
        assert_eq!(endpoint(bucket(), &[(other, "http://b")]).as_deref(), Some("http://b"));
        let both = [(own, "http://a"), (other, "http://b")];
        assert_eq!(endpoint(bucket(), &both).as_deref(), Some("http://a"));
        let given = BackupArgs { backup_endpoint: Some("http://c".into()), ..bucket() };
        assert_eq!(endpoint(given, &both).as_deref(), Some("http://c"));
        let keys = BackupArgs {
            backup_access_key: Some("own".into()),
            backup_secret_key: Some("hush".into()),
            ..bucket()
        };
        assert_eq!(endpoint(keys, &both), None, "they are for another service");
        assert_eq!(endpoint(at("file:///backup"), &both), None);
    }

    #[test]
    fn what_contradicts_itself_or_is_out_of_range_is_refused() {
        let file = "file:///backup";
        let rows: Vec<(BackupArgs, &str)> = vec![
            (at("s3://bucket"), "AWS_ACCESS_KEY_ID"),
            (
                BackupArgs { backup_access_key: Some("a".into()), ..at("s3://bucket") },
                "--backup-secret-key-file",
            ),
            (
                BackupArgs { backup_secret_key: Some("a".into()), ..at("s3://bucket") },
                "--backup-access-key",
            ),
            (
                BackupArgs {
                    backup_access_key: Some("a".into()),
                    backup_secret_key: Some("a".into()),
                    backup_secret_key_file: Some("a".into()),
                    ..at("s3://bucket")
                },
                "contradict",
            ),
            (BackupArgs { backup_region: Some("a".into()), ..at(file) }, "s3:// only"),
            (BackupArgs { backup_interval: Some("99ms".into()), ..at(file) }, "100ms to 1h"),
            (BackupArgs { backup_interval: Some("61m".into()), ..at(file) }, "100ms to 1h"),
            (BackupArgs { backup_interval: Some("soon".into()), ..at(file) }, "100ms to 1h"),
            (BackupArgs { backup_base_every: Some("59s".into()), ..at(file) }, "1m or more"),
            (BackupArgs { backup_keep: Some("30".into()), ..at(file) }, "--backup-keep"),
            (BackupArgs { backup_keep_bases: Some(0), ..at(file) }, "--backup-keep-bases 1"),
            (BackupArgs { backup_bandwidth: Some("10".into()), ..at(file) }, "such as 10MiB/s"),
            (BackupArgs { backup_bandwidth: Some("1KiB/s".into()), ..at(file) }, "64KiB/s or more"),
            (BackupArgs { backup_uploads: Some(0), ..at(file) }, "from 1 to 64"),
            (BackupArgs { fence: Some("abc".into()), ..BackupArgs::default() }, "2s to 1h"),
            (
                BackupArgs { backup_uploads: Some(2), ..BackupArgs::default() },
                "--backup-uploads (LITEIO_BACKUP_UPLOADS) needs --backup",
            ),
            (
                BackupArgs { backup_keep: Some("30d".into()), ..BackupArgs::default() },
                "--backup-keep (LITEIO_BACKUP_KEEP) needs --backup",
            ),
        ];
        for (backup, expected) in rows {
            let error = resolved(backup, &[]).expect_err(expected).to_string();
            assert!(error.contains(expected) && !error.contains('\n'), "{expected}: {error}");
        }
        let arguments = ServerArgs { backup: at(file), ..ServerArgs::default() };
        resolve(&arguments, &Variables::default(), &Storage::Memory).expect_err("in memory");
    }

    #[test]
    fn a_bandwidth_has_a_unit() {
        for (text, bytes) in [
            ("10MiB/s", 10 << 20),
            ("10 MiB", 10 << 20),
            ("64KiB/s", 64 << 10),
            ("2GB/s", 2_000_000_000),
        ] {
            assert_eq!(bandwidth(text).expect(text), bytes, "{text}");
        }
        for text in
            ["", "MiB/s", "-1MiB/s", "1.5MiB/s", "99999999999999GiB/s", "10Mbit/s", "10MiB/h"]
        {
            bandwidth(text).expect_err(text);
        }
    }

    #[test]
    fn no_secret_is_shown() {
        let backup = resolved(at("s3://bucket"), &AWS).expect("settings");
        assert!(!format!("{backup:?}").contains("secret\""), "{backup:?}");
    }
}
