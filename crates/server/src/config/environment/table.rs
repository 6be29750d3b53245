//! The table of variables.

use std::fmt::Write as _;

use super::give;
use crate::cli::ServerArgs;
use crate::config::profile::Profile;

/// The program that defines the variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    LiteIo,
    Minio,
    LocalStack,
    S3Mock,
    Aws,
    Rust,
}

impl Program {
    /// The profile that alone reads the variables, with its name; none for those that are always read.
    pub(super) fn profile(self) -> Option<(Profile, &'static str)> {
        match self {
            LocalStack => Some((Profile::Localstack, "localstack")),
            S3Mock => Some((Profile::S3mock, "s3mock")),
            LiteIo | Minio | Aws | Rust => None,
        }
    }

    /// The name as its users write it.
    pub(super) fn name(self) -> &'static str {
        match self {
            LiteIo => "LiteIO",
            Rust => "Rust",
            Minio => "MinIO",
            LocalStack => "LocalStack",
            S3Mock => "S3Mock",
            Aws => "AWS",
        }
    }
}

/// The effect of a variable.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    /// Gives the setting with this field name in [`ServerArgs`], by this function, unless it
    /// returns false.
    Gives(&'static str, fn(&str, &mut ServerArgs) -> Result<bool, String>),
    /// Half of the credentials ([`super::PAIRS`]), or the name of a file with it.
    Credentials,
    /// Names a file with variables ([`super::Variables::read`]).
    File,
    /// Known, but without effect.
    Nothing,
}

/// A line of the table.
pub(super) struct Variable {
    pub(super) name: &'static str,
    pub(super) program: Program,
    pub(super) effect: Effect,
    /// The description of the setting.
    pub(super) note: &'static str,
}

use Effect::{Credentials, File, Gives, Nothing};
use Program::{Aws, LiteIo, LocalStack, Minio, Rust, S3Mock};

const fn row(name: &'static str, program: Program, effect: Effect, note: &'static str) -> Variable {
    Variable { name, program, effect, note }
}

/// All variables, in order of precedence. LocalStack's have common names, and so have those of S3Mock before
/// 5.0, so both are read only in their profiles.
pub(super) const TABLE: &[Variable] = &[
    row("LITEIO_ACCESS_KEY_FILE", LiteIo, Credentials, "file with the access key"),
    row("LITEIO_SECRET_KEY_FILE", LiteIo, Credentials, "file with the secret key"),
    row("LITEIO_HOST", LiteIo, Gives("host", give::host), "host of `--address`"),
    row("LITEIO_PORT", LiteIo, Gives("port", give::port), "port of `--address`"),
    row(
        "LITEIO_DRIVER",
        LiteIo,
        Gives("data_dir", give::driver),
        "`memory://` is `--memory`; `local:///DIR` or `/DIR` is `--data-dir`; other values are rejected",
    ),
    row(
        "LITEIO_WEBHOOK_FILE",
        LiteIo,
        Gives("event_target_file", give::event_target_file),
        "`--event-target-file`",
    ),
    row("LITEIO_IN_MEMORY", LiteIo, Gives("memory", give::memory), "`--memory`"),
    row("LITEIO_NO_FSYNC", LiteIo, Gives("durability", give::no_fsync), "`--durability os`"),
    row("LITEIO_NO_LOG", LiteIo, Gives("log", give::no_log), "`--log warn`"),
    row("LITEIO_REST", LiteIo, Nothing, "the REST API of Supabase Storage is not supported"),
    row("LITEIO_JWT_SECRET", LiteIo, Nothing, "as `LITEIO_REST`"),
    row(
        "MINIO_CONFIG_ENV_FILE",
        Minio,
        File,
        "file of `NAME=VALUE` lines, which take precedence over the environment",
    ),
    row("MINIO_ROOT_USER", Minio, Credentials, "`--access-key`"),
    row("MINIO_ROOT_PASSWORD", Minio, Credentials, "`--secret-key`"),
    row(
        "MINIO_ROOT_USER_FILE",
        Minio,
        Credentials,
        "file with the value, also below `/run/secrets/`",
    ),
    row(
        "MINIO_ROOT_PASSWORD_FILE",
        Minio,
        Credentials,
        "file with the value, also below `/run/secrets/`",
    ),
    row("MINIO_ACCESS_KEY", Minio, Credentials, "`--access-key`"),
    row("MINIO_SECRET_KEY", Minio, Credentials, "`--secret-key`"),
    row(
        "MINIO_ACCESS_KEY_FILE",
        Minio,
        Credentials,
        "file with the value, also below `/run/secrets/`",
    ),
    row(
        "MINIO_SECRET_KEY_FILE",
        Minio,
        Credentials,
        "file with the value, also below `/run/secrets/`",
    ),
    row(
        "MINIO_REGION",
        Minio,
        Gives("region", give::region),
        "`--region`; the profile `minio` accepts signatures for every region beside it",
    ),
    row("MINIO_SITE_REGION", Minio, Gives("region", give::region), "`--region`"),
    row("MINIO_REGION_NAME", Minio, Gives("region", give::region), "`--region`"),
    row("MINIO_DOMAIN", Minio, Gives("domain", give::domains), "`--domain`"),
    row("MINIO_ADDRESS", Minio, Gives("address", give::address), "`--address`"),
    row("MINIO_API_PORT_NUMBER", Minio, Gives("port", give::port), "port of `--address`"),
    row("MINIO_VOLUMES", Minio, Gives("data_dir", give::volumes), "`--data-dir`: one directory"),
    row("MINIO_ENDPOINTS", Minio, Gives("data_dir", give::volumes), "`--data-dir`: one directory"),
    row("MINIO_ARGS", Minio, Gives("data_dir", give::volumes), "`--data-dir`: one directory"),
    row("MINIO_DATA_DIR", Minio, Gives("data_dir", give::volumes), "`--data-dir`"),
    row("MINIO_DEFAULT_BUCKETS", Minio, Gives("bucket", give::buckets), "`--bucket`"),
    row(
        "MINIO_API_CORS_ALLOW_ORIGIN",
        Minio,
        Gives("cors_origin", give::origins),
        "`--cors-origin`",
    ),
    row(
        "MINIO_KMS_SECRET_KEY",
        Minio,
        Gives("master_key", give::kms_key),
        "`--master-key`: `NAME:KEY`, 32 bytes in base64, which is also the key NAME of SSE-KMS",
    ),
    row(
        "MINIO_KMS_SECRET_KEY_FILE",
        Minio,
        Gives("master_key", give::kms_key_file),
        "file with the value, also below `/run/secrets/`",
    ),
    row(
        "MINIO_KMS_AUTO_ENCRYPTION",
        Minio,
        Gives("auto_encryption", give::auto_encryption),
        "`on`: objects of buckets without default encryption are encrypted with the master key, as `AES256` (MinIO: `aws:kms`)",
    ),
    row(
        "MINIO_CONSOLE_ADDRESS",
        Minio,
        Gives("console_address", give::console_address),
        "`--console-address`",
    ),
    row(
        "MINIO_CONSOLE_PORT_NUMBER",
        Minio,
        Gives("console_address", give::console_port),
        "port of `--console-address`",
    ),
    row("MINIO_BROWSER", Minio, Gives("console", give::console), "`--console`"),
    row(
        "MINIO_BROWSER_REDIRECT_URL",
        Minio,
        Nothing,
        "browsers are redirected to the host of their request",
    ),
    row(
        "MINIO_SERVER_URL",
        Minio,
        Nothing,
        "URLs may be presigned for any host that reaches the server",
    ),
    row(
        "MINIO_PROMETHEUS_AUTH_TYPE",
        Minio,
        Gives("metrics_auth", give::metrics_auth),
        "`--metrics-auth`",
    ),
    row("MINIO_PROMETHEUS_URL", Minio, Nothing, "LiteIO does not query Prometheus"),
    row("MINIO_UPDATE", Minio, Nothing, "LiteIO does not update itself"),
    row("MINIO_CI_CD", Minio, Nothing, "a single directory is always allowed"),
    row("MINIO_OPTS", Minio, Nothing, "a service file passes it as arguments"),
    row("MINIO_STORAGE_CLASS_STANDARD", Minio, Nothing, "a single directory has no parity"),
    row(
        "COM_ADOBE_TESTING_S3MOCK_STORE_INITIAL_BUCKETS",
        S3Mock,
        Gives("bucket", give::buckets),
        "`--bucket`",
    ),
    row(
        "COM_ADOBE_TESTING_S3MOCK_DOMAIN_INITIAL_BUCKETS",
        S3Mock,
        Gives("bucket", give::buckets),
        "`--bucket`",
    ),
    row("initialBuckets", S3Mock, Gives("bucket", give::buckets), "`--bucket`"),
    row(
        "COM_ADOBE_TESTING_S3MOCK_STORE_REGION",
        S3Mock,
        Gives("told_region", give::told_region),
        "region reported for buckets; any region is accepted",
    ),
    row(
        "COM_ADOBE_TESTING_S3MOCK_REGION",
        S3Mock,
        Gives("told_region", give::told_region),
        "as the variable above",
    ),
    row(
        "COM_ADOBE_TESTING_S3MOCK_STORE_RETAIN_FILES_ON_EXIT",
        S3Mock,
        Gives("memory", give::not_in_memory),
        "otherwise all data is in memory",
    ),
    row(
        "COM_ADOBE_TESTING_S3MOCK_DOMAIN_RETAIN_FILES_ON_EXIT",
        S3Mock,
        Gives("memory", give::not_in_memory),
        "otherwise all data is in memory",
    ),
    row(
        "retainFilesOnExit",
        S3Mock,
        Gives("memory", give::not_in_memory),
        "otherwise all data is in memory",
    ),
    row(
        "COM_ADOBE_TESTING_S3MOCK_STORE_ROOT",
        S3Mock,
        Gives("data_dir", give::retained_root),
        "`--data-dir`, if files are retained",
    ),
    row(
        "COM_ADOBE_TESTING_S3MOCK_DOMAIN_ROOT",
        S3Mock,
        Gives("data_dir", give::retained_root),
        "`--data-dir`, if files are retained",
    ),
    row(
        "root",
        S3Mock,
        Gives("data_dir", give::retained_root),
        "`--data-dir`, if files are retained",
    ),
    row(
        "COM_ADOBE_TESTING_S3MOCK_STORE_VALID_KMS_KEYS",
        S3Mock,
        Gives("kms_keys", give::kms_keys),
        "names of keys of SSE-KMS for data in memory; others come from `--kms-key-file`",
    ),
    row(
        "COM_ADOBE_TESTING_S3MOCK_DOMAIN_VALID_KMS_KEYS",
        S3Mock,
        Gives("kms_keys", give::kms_keys),
        "as the variable above",
    ),
    row("validKmsKeys", S3Mock, Gives("kms_keys", give::kms_keys), "as the variable above"),
    row(
        "COM_ADOBE_TESTING_S3MOCK_CONTROLLER_CONTEXT_PATH",
        S3Mock,
        Nothing,
        "no path prefix before buckets",
    ),
    row(
        "GATEWAY_LISTEN",
        LocalStack,
        Gives("address", give::gateway),
        "`--address`: the first of the list",
    ),
    row("EDGE_PORT", LocalStack, Gives("port", give::port), "port of `--address`"),
    row(
        "PERSISTENCE",
        LocalStack,
        Gives("memory", give::persistence),
        "`1`: data is kept in `/var/lib/localstack`",
    ),
    row(
        "LOCALSTACK_HOST",
        LocalStack,
        Gives("domain", give::localstack_host),
        "`--domain`, with and without the prefix `s3.`",
    ),
    row(
        "EXTRA_CORS_ALLOWED_ORIGINS",
        LocalStack,
        Gives("cors_origin", give::more_origins),
        "`--cors-origin`",
    ),
    row(
        "S3_SKIP_SIGNATURE_VALIDATION",
        LocalStack,
        Gives("no_auth", give::skip),
        "`0`: signatures are checked",
    ),
    row("DEBUG", LocalStack, Gives("log", give::debug), "`1`: `--log debug`"),
    row("LS_LOG", LocalStack, Gives("log", give::level), "`--log`"),
    row("SERVICES", LocalStack, Nothing, "S3, S3 Vectors, IAM and STS are always available"),
    row("EAGER_SERVICE_LOADING", LocalStack, Nothing, "all services are available from the start"),
    row(
        "AWS_ACCESS_KEY_ID",
        Aws,
        Credentials,
        "`--access-key` in a container, unless `AWS_SESSION_TOKEN` is set",
    ),
    row(
        "AWS_SECRET_ACCESS_KEY",
        Aws,
        Credentials,
        "`--secret-key` in a container, unless `AWS_SESSION_TOKEN` is set",
    ),
    row(
        "AWS_REGION",
        Aws,
        Gives("told_region", give::told_region),
        "region reported for buckets; any region is accepted",
    ),
    row(
        "AWS_DEFAULT_REGION",
        Aws,
        Gives("told_region", give::told_region),
        "as the variable above",
    ),
    row(
        "RUST_LOG",
        Rust,
        Gives("log", give::rust_log),
        "`--log`, unless it is about other crates alone",
    ),
];

/// The table in Markdown, as in docs/environment.md.
pub(crate) fn table() -> String {
    let mut text = String::from("| Variable | Of | Setting |\n|---|---|---|\n");
    for Variable { name, program, effect, note } in TABLE {
        let program = program.name();
        let note = match effect {
            Nothing => format!("no effect: {note}"),
            Gives(..) | Credentials | File => (*note).to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{name}` | {program} | {note} |");
    }
    text
}
