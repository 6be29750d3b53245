//! The command line: every setting once, with its flag, its variable and its help. The values stay
//! raw; [`Config::resolve`](crate::config::Config::resolve) is their only reader.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

use clap::builder::{BoolishValueParser, Resettable};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{
    ArgAction, ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
};
use liteio_import::cli::ImportCommand;

/// An object store that speaks Amazon S3: durable by default, one static binary.
#[derive(Debug, Parser)]
#[command(name = "liteio", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    server: ServerArgs,
}

/// The subcommand.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve S3; the same as no command.
    Server(Box<ServerCommand>),
    /// Print the table of the variables of other servers that this one understands.
    Environment,
    /// Ask a running server whether it is ready: exit code 0 if so, else 1.
    #[command(alias = "healthcheck")]
    Health(HealthArgs),
    /// Check every blob and record of a data directory that no server uses, and change nothing in it; exit
    /// code 1 if any is damaged.
    Verify(VerifyArgs),
    /// Make and replace the keys that objects are encrypted with.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Run a command beside a server in memory of its own, on a free port and with the test API; its environment
    /// (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID and others) leads to it. Ends with the exit code of the command.
    Exec(Box<ExecCommand>),
    /// Use any S3, as MinIO's mc does: `liteio client --help` lists its verbs.
    #[command(disable_help_flag = true)]
    Client(ClientArgs),
    /// Say what can be kept of a damaged data directory that no server uses; with --yes keep that, remove the
    /// rest, and move its blobs to blobs/lost; exit code 1 if anything is left to be done.
    Repair(RepairArgs),
    /// Bring buckets, objects and versions from elsewhere into a data directory that no server uses; the same
    /// command again goes on where it ended. Exit code 1 if anything was left out, which is named.
    #[command(subcommand)]
    Import(ImportCommand),
}

/// The arguments of `liteio server`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServerCommand {
    /// Directory of all data; the same as --data-dir.
    #[arg(value_name = "DIR")]
    directories: Vec<String>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// The arguments of `liteio exec`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ExecCommand {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// The command and its arguments.
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

/// The source of a setting that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The server whose place this one takes has it so.
    Profile,
    /// The variable of this name.
    Variable(String),
    Flag,
}

impl Source {
    /// Of two settings that contradict each other, the one of the higher rank counts.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Source::Profile => 0,
            Source::Variable(name) if !name.starts_with("LITEIO_") => 1,
            Source::Variable(_) => 2,
            Source::Flag => 3,
        }
    }
}

/// The sources of the settings that were given, by the name of the field.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources(BTreeMap<String, Source>);

impl Sources {
    /// The source of a setting, if it was given.
    pub(crate) fn get(&self, setting: &str) -> Option<&Source> {
        self.0.get(setting)
    }

    pub(crate) fn note(&mut self, setting: &str, source: Source) {
        self.0.insert(setting.to_owned(), source);
    }

    /// The sources of what clap has read.
    fn of(matches: &ArgMatches) -> Sources {
        let command = ServerArgs::augment_args(clap::Command::new("server"));
        let settings = command.get_arguments().filter_map(|argument| {
            let name = argument.get_id().as_str();
            // Groups have ids, too.
            let source = matches.try_contains_id(name).ok().and(matches.value_source(name))?;
            let variable = argument.get_env().map(|it| it.to_string_lossy().into_owned());
            match source {
                ValueSource::CommandLine => Some((name.to_owned(), Source::Flag)),
                ValueSource::EnvVariable => Some((name.to_owned(), Source::Variable(variable?))),
                _ => None,
            }
        });
        Sources(settings.collect())
    }
}

/// The settings of the server, as they were given.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServerArgs {
    /// Take the place of "minio", "localstack" or "s3mock": its ports, credentials and defaults.
    #[arg(long, value_name = "NAME", env = "LITEIO_PROFILE")]
    pub(crate) profile: Option<String>,
    /// Address to listen on; port 0 takes a free one [default: 127.0.0.1:9000].
    #[arg(long, value_name = "HOST:PORT", env = "LITEIO_ADDRESS")]
    pub(crate) address: Option<String>,
    /// File in PEM with the certificate to serve HTTPS with, and behind it those that signed it; repeatable,
    /// chosen by the name that the client asks for. Read again when it changes.
    #[arg(long, value_name = "FILE", env = "LITEIO_TLS_CERT", value_delimiter = ',')]
    pub(crate) tls_cert: Vec<PathBuf>,
    /// File in PEM with the private key of the certificate; as many as certificates, in their order.
    #[arg(long, value_name = "FILE", env = "LITEIO_TLS_KEY", value_delimiter = ',')]
    pub(crate) tls_key: Vec<PathBuf>,
    /// Serve HTTPS with a certificate that is made and kept in the data directory.
    #[arg(long, env = "LITEIO_TLS_SELF_SIGNED", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) tls_self_signed: bool,
    /// Address to serve plain HTTP on, beside HTTPS.
    #[arg(long, value_name = "HOST:PORT", env = "LITEIO_PLAIN_ADDRESS")]
    pub(crate) plain_address: Option<String>,
    /// Address to serve websites of buckets on, beside BUCKET.s3-website.DOMAIN: the host of a request is a
    /// bucket, or begins with one.
    #[arg(long, value_name = "HOST:PORT", env = "LITEIO_WEBSITE_ADDRESS")]
    pub(crate) website_address: Option<String>,
    /// Serve the console at /_liteio/console/ [default: on].
    #[arg(long, value_name = "on|off", env = "LITEIO_CONSOLE", action = ArgAction::Set,
        value_parser = BoolishValueParser::new())]
    pub(crate) console: Option<bool>,
    /// Address to serve on as well, for browsers that look for the console there [default: none; port 9001 in
    /// the profile "minio" if it is free].
    #[arg(long, value_name = "HOST:PORT", env = "LITEIO_CONSOLE_ADDRESS")]
    pub(crate) console_address: Option<String>,
    /// Address or network of a proxy whose Forwarded and X-Forwarded headers count, repeatable.
    #[arg(long, value_name = "CIDR", env = "LITEIO_TRUSTED_PROXY", value_delimiter = ',')]
    pub(crate) trusted_proxy: Vec<String>,
    /// Directory of all data; created if missing [default: ./data].
    #[arg(long, short, value_name = "DIR", env = "LITEIO_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Keep everything in memory: nothing survives the process.
    #[arg(long, env = "LITEIO_MEMORY", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) memory: bool,
    /// Durability of acknowledged writes: "fsync" survives a power cut, "os" only the end of the process
    /// [default: fsync].
    #[arg(long, value_name = "LEVEL", env = "LITEIO_DURABILITY")]
    pub(crate) durability: Option<String>,
    /// MiB of memory for metadata on its way into the tree, and for what was written or read lately; more makes
    /// many small writes in no order cheaper, with as much log to be read after a crash [default: 192, or 1/8 of the
    /// memory].
    #[arg(long, value_name = "MIB", env = "LITEIO_METADATA_MEMORY")]
    pub(crate) metadata_memory: Option<u32>,
    /// Access key of the one user, 3 to 128 characters [default: liteio].
    #[arg(long, value_name = "KEY", env = "LITEIO_ACCESS_KEY")]
    pub(crate) access_key: Option<String>,
    /// Secret key of the one user, 8 to 128 characters [default: liteio123].
    #[arg(long, value_name = "SECRET", env = "LITEIO_SECRET_KEY", hide_env_values = true)]
    pub(crate) secret_key: Option<String>,
    /// TOML file with any number of users, instead of the one.
    #[arg(long, value_name = "FILE", env = "LITEIO_CREDENTIALS_FILE")]
    pub(crate) credentials_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    /// Take keys of clients (SSE-C) over connections that are not encrypted.
    #[arg(long, env = "LITEIO_ALLOW_INSECURE_SSE_C", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) allow_insecure_sse_c: bool,
    /// The region that requests are signed for [default: us-east-1].
    #[arg(long, value_name = "REGION", env = "LITEIO_REGION")]
    pub(crate) region: Option<String>,
    /// A domain for BUCKET.NAME addressing, repeatable; localhost and s3.localhost always are.
    #[arg(long, value_name = "NAME", env = "LITEIO_DOMAIN", value_delimiter = ',')]
    pub(crate) domain: Vec<String>,
    /// Object ownership of new buckets that name none: "bucket-owner-enforced", where ACLs do not count, as on AWS;
    /// "bucket-owner-preferred" or "object-writer" for programs that use ACLs [default: bucket-owner-enforced].
    #[arg(long, value_name = "OWNERSHIP", env = "LITEIO_OBJECT_OWNERSHIP")]
    pub(crate) object_ownership: Option<String>,
    /// Bucket to make at the start, unless it is there, repeatable: public, download (reading) and upload (writing)
    /// let everybody in; versioned keeps every version.
    #[arg(
        long,
        value_name = "NAME[:public|download|upload][:versioned]",
        env = "LITEIO_BUCKET",
        value_delimiter = ','
    )]
    pub(crate) bucket: Vec<String>,
    /// File with more such buckets, one a line.
    #[arg(long, value_name = "FILE", env = "LITEIO_BUCKET_FILE")]
    pub(crate) bucket_file: Option<PathBuf>,
    /// Directory, or archive (.tar, .tar.gz, .tgz, .zip), whose directories are made buckets at the start, and the files
    /// in them objects, unless they are there.
    #[arg(long, value_name = "DIR|ARCHIVE", env = "LITEIO_SEED")]
    pub(crate) seed: Option<PathBuf>,
    /// Origin of pages that may use buckets without CORS rules of their own, repeatable; * for all.
    #[arg(long, value_name = "ORIGIN", env = "LITEIO_CORS_ORIGIN", value_delimiter = ',')]
    pub(crate) cors_origin: Vec<String>,
    /// Filter of the log, such as "info", "warn" or "info,liteio::access=off" [default: info].
    #[arg(long, value_name = "FILTER", env = "LITEIO_LOG")]
    pub(crate) log: Option<String>,
    /// Format of the log: "text" or "json" [default: text].
    #[arg(long, value_name = "FORMAT", env = "LITEIO_LOG_FORMAT")]
    pub(crate) log_format: Option<String>,
    /// Days after which everything is read again to find damage; 0 for never, SIGUSR1 for now [default: 7].
    #[arg(long, value_name = "DAYS", env = "LITEIO_SCRUB_DAYS")]
    pub(crate) scrub_days: Option<u32>,
    /// MiB that are read in a second meanwhile [default: 8].
    #[arg(long, value_name = "MIB", env = "LITEIO_SCRUB_RATE")]
    pub(crate) scrub_rate: Option<u32>,
    /// Seconds of a day of lifecycle rules, for tests that cannot wait for midnight [default: 86400].
    #[arg(long, value_name = "SECONDS", env = "LITEIO_LIFECYCLE_DAY")]
    pub(crate) lifecycle_day: Option<u32>,
    /// Target of event notifications, repeatable (the variable: separated by spaces): buckets name it in the ARN
    /// of a queue, topic or function.
    #[arg(
        long,
        value_name = "NAME=URL",
        env = "LITEIO_WEBHOOK",
        value_delimiter = ' ',
        hide_env_values = true
    )]
    pub(crate) webhook: Vec<String>,
    /// TOML file with more such targets, with secrets to sign events.
    #[arg(long, value_name = "FILE", env = "LITEIO_WEBHOOK_FILE")]
    pub(crate) webhook_file: Option<PathBuf>,
    /// Readers of metrics at /_liteio/metrics: "jwt", with a token that `mc admin prometheus generate` makes or a signed
    /// request of a user with admin:Prometheus; or "public" [default: jwt].
    #[arg(long, value_name = "READERS", env = "LITEIO_METRICS_AUTH")]
    pub(crate) metrics_auth: Option<String>,
    /// File to whose end the audit log is written: a line of JSON for each request.
    #[arg(long, value_name = "FILE", env = "LITEIO_AUDIT_FILE")]
    pub(crate) audit_file: Option<PathBuf>,
    /// MiB of that file, after which it becomes FILE.1 and a new one begins [default: it grows].
    #[arg(long, value_name = "MIB", env = "LITEIO_AUDIT_FILE_SIZE")]
    pub(crate) audit_file_size: Option<u32>,
    /// Former files that are kept, FILE.1 to FILE.N; older ones are deleted [default: 10].
    #[arg(long, value_name = "FILES", env = "LITEIO_AUDIT_FILES_KEPT")]
    pub(crate) audit_files_kept: Option<u32>,
    /// URL that the audit log is posted to.
    #[arg(long, value_name = "URL", env = "LITEIO_AUDIT_WEBHOOK", hide_env_values = true)]
    pub(crate) audit_webhook: Option<String>,
    /// Token that is sent along.
    #[arg(long, value_name = "TOKEN", env = "LITEIO_AUDIT_WEBHOOK_TOKEN", hide_env_values = true)]
    pub(crate) audit_webhook_token: Option<String>,
    /// URL of a collector of OpenTelemetry, which spans of requests are sent to (OTLP over HTTP). Needs a binary that
    /// was built with the feature otlp.
    #[arg(long, value_name = "URL", env = "LITEIO_OTLP_ENDPOINT", hide_env_values = true)]
    pub(crate) otlp_endpoint: Option<String>,
    /// PEM file of authorities that certificates of targets are trusted by, beside those of browsers.
    #[arg(long, value_name = "FILE", env = "LITEIO_CA_FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Issuer of OpenID Connect whose tokens prove web identities (AssumeRoleWithWebIdentity), with the
    /// audiences that count (*: all); repeatable.
    #[arg(long, value_name = "URL,AUDIENCE…", env = "LITEIO_OIDC_ISSUER", value_delimiter = ' ')]
    pub(crate) oidc_issuer: Vec<String>,
    /// Answer the test API at /_liteio/test: resets, snapshots, faults, time. "local" for programs on this machine,
    /// "any" for everybody; nobody signs for it [default: off; alone: local].
    #[arg(
        long,
        value_name = "ACCESS",
        env = "LITEIO_TEST_API",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "local"
    )]
    pub(crate) test_api: Option<String>,
    /// Events that wait for one target; beyond them events are lost [default: 100000].
    #[arg(long, value_name = "EVENTS", env = "LITEIO_EVENT_QUEUE")]
    pub(crate) event_queue: Option<u32>,
    /// Delete the events that wait for a target that there is no more; repeatable.
    #[arg(long, value_name = "NAME")]
    pub(crate) drop_events: Vec<String>,
    /// Take every request for one of the root user's, without a look at its signature; only on loopback or in a
    /// container.
    #[arg(long, env = "LITEIO_NO_AUTH", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) no_auth: bool,
    /// This is a container: listen on all interfaces, keep the data in /data, and make credentials if none are
    /// given.
    #[arg(long, env = "LITEIO_IN_CONTAINER", hide = true, action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) in_container: bool,
    #[command(flatten)]
    pub(crate) minio: MinioArgs,
    /// The host of the address, when that is not given. A flag of our ancestor.
    #[arg(long, value_name = "HOST", hide = true)]
    pub(crate) host: Option<String>,
    /// The port of the address, when that is not given. A flag of our ancestor.
    #[arg(long, short, value_name = "PORT", hide = true)]
    pub(crate) port: Option<u16>,
    /// The data, as our ancestor has it: memory:// or local:///DIR.
    #[arg(long, value_name = "DSN", hide = true)]
    pub(crate) driver: Option<String>,
    /// The same as --log warn. A flag of our ancestor.
    #[arg(long, hide = true)]
    pub(crate) no_log: bool,
    /// The region that buckets are told to be in, when none is given.
    #[arg(skip)]
    pub(crate) told_region: Option<String>,
    /// The directories of data behind `liteio server`.
    #[arg(skip)]
    pub(crate) directories: Vec<String>,
    /// Remarks about these settings, for whoever starts the server.
    #[arg(skip)]
    pub(crate) notes: Vec<String>,
    #[arg(skip)]
    pub(crate) sources: Sources,
    /// Serve the default credentials to other machines too.
    #[arg(long, env = "LITEIO_ALLOW_DEFAULT_CREDENTIALS", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) allow_default_credentials: bool,
}

impl ServerArgs {
    /// The host to listen on, when no address is given.
    pub(crate) fn host(&self) -> &str {
        let default = if self.in_container { "0.0.0.0" } else { "127.0.0.1" };
        self.host.as_deref().unwrap_or(default)
    }

    /// True if the first of these settings was given by a source that counts more than that of the second.
    pub(crate) fn outranks(&self, setting: &str, other: &str) -> bool {
        let rank = |setting| self.sources.get(setting).map(Source::rank);
        rank(setting) > rank(other)
    }
}

/// Flags of `minio server` that mean something here, or must not stop a command line that works there.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct MinioArgs {
    /// Directory with public.crt and private.key, for HTTPS.
    #[arg(long, short = 'S', value_name = "DIR", hide = true)]
    pub(crate) certs_dir: Option<PathBuf>,
    /// The same as --log-format json.
    #[arg(long, hide = true)]
    pub(crate) json: bool,
    /// Print no block at the start.
    #[arg(long, hide = true)]
    pub(crate) quiet: bool,
    /// Nothing secret is in the log anyway.
    #[arg(long, hide = true)]
    anonymous: bool,
}

/// The keys of encryption, as they were given.
#[derive(Args, Clone, Default)]
pub(crate) struct KeyArgs {
    /// File of the master key of SSE-S3, which `liteio key new` makes.
    #[arg(long, value_name = "FILE", env = "LITEIO_MASTER_KEY_FILE")]
    pub(crate) master_key_file: Option<PathBuf>,
    /// The master key itself, 32 bytes in base64; former ones behind it, separated by commas. Better as a
    /// variable than in the list of processes.
    #[arg(long, value_name = "KEY", env = "LITEIO_MASTER_KEY", hide_env_values = true)]
    pub(crate) master_key: Option<String>,
    /// TOML file of the named keys of SSE-KMS, which `liteio key new --name` makes.
    #[arg(long, value_name = "FILE", env = "LITEIO_KMS_KEY_FILE")]
    pub(crate) kms_key_file: Option<PathBuf>,
}

// Never shows a key.
impl fmt::Debug for KeyArgs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KeyArgs")
            .field("master_key_file", &self.master_key_file)
            .field("kms_key_file", &self.kms_key_file)
            .finish_non_exhaustive()
    }
}

/// The subcommand of `liteio key`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a file with a new master key; with --name, add a new key to a file of KMS keys.
    New(KeyFileArgs),
    /// Put a new key before those of a file: it encrypts from the next start on, the others only decrypt.
    Rotate(KeyFileArgs),
    /// Encrypt the data keys of all objects of a directory that no server uses by the newest keys; the former
    /// ones are not needed any more then.
    Rewrap(RewrapArgs),
}

/// The arguments of `liteio key new` and `liteio key rotate`.
#[derive(Args, Clone, Debug)]
pub(crate) struct KeyFileArgs {
    /// The file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The name of a KMS key.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// The arguments of `liteio key rewrap`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RewrapArgs {
    /// The data directory [default: ./data].
    #[arg(long, value_name = "DIR", env = "LITEIO_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
}

/// The arguments of `liteio health`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct HealthArgs {
    /// http://HOST:PORT or https://HOST:PORT of the server [default: the address that LITEIO_ADDRESS names].
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The profile of the server: its port is the default.
    #[arg(long, env = "LITEIO_PROFILE", hide = true)]
    pub(crate) profile: Option<String>,
    /// The address of the server, when no URL is given.
    #[arg(long, value_name = "HOST:PORT", env = "LITEIO_ADDRESS")]
    pub(crate) address: Option<String>,
    /// PEM file of authorities that its certificate is trusted by, beside those of browsers. Without it, that of
    /// a server on this machine is trusted whatever it is.
    #[arg(long, value_name = "FILE", env = "LITEIO_CA_FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// The certificate that the server has: with any, and without a URL, it is asked over HTTPS.
    #[arg(long, env = "LITEIO_TLS_CERT", hide = true)]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The same for a certificate that it has made.
    #[arg(long, env = "LITEIO_TLS_SELF_SIGNED", hide = true, action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) tls_self_signed: bool,
}

/// The arguments of `liteio verify`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct VerifyArgs {
    /// The data directory [default: ./data].
    #[arg(long, value_name = "DIR", env = "LITEIO_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
}

/// The arguments of `liteio repair`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RepairArgs {
    /// The data directory [default: ./data].
    #[arg(long, value_name = "DIR", env = "LITEIO_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Repair it, after it was copied.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// The arguments of `liteio client`, which reads them itself.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ClientArgs {
    /// The verb and its arguments.
    #[arg(value_name = "VERB", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// An end without a command to run.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Help or the version was asked for: print it, exit code 0.
    Help(String),
    /// The arguments are not valid: print this one line, exit code 2.
    Usage(String),
}

/// Reads the arguments (the first is the program) and the environment.
///
/// # Errors
/// The text to print instead of running.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, Stop> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let stop = |error: clap::Error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            Stop::Help(error.render().to_string())
        }
        _ => Stop::Usage(with_variable(&error, &arguments)),
    };
    let matches = without_empty_variables(Cli::command());
    let matches = matches.try_get_matches_from(&arguments).map_err(stop)?;
    let parsed = Cli::from_arg_matches(&matches).map_err(stop)?;
    match parsed.command {
        Some(Command::Server(mut command)) => {
            let matches = matches.subcommand_matches("server").unwrap_or(&matches);
            command.server.sources = Sources::of(matches);
            command.server.directories = std::mem::take(&mut command.directories);
            Ok(Command::Server(command))
        }
        Some(Command::Exec(mut command)) => {
            let matches = matches.subcommand_matches("exec").unwrap_or(&matches);
            command.server.sources = Sources::of(matches);
            Ok(Command::Exec(command))
        }
        Some(command) => Ok(command),
        None => {
            let mut server = parsed.server;
            server.sources = Sources::of(&matches);
            Ok(Command::Server(Box::new(ServerCommand { directories: Vec::new(), server })))
        }
    }
}

/// An empty variable counts as none: compose files hand on those that are not set.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| {
        let value = argument.get_env().and_then(std::env::var_os);
        match value.is_some_and(|value| value.is_empty()) {
            true => argument.env(Resettable::Reset),
            false => argument,
        }
    });
    command.mut_subcommands(without_empty_variables)
}

/// The message in one line, with the variable that holds the value if no argument does.
fn with_variable(error: &clap::Error, arguments: &[OsString]) -> String {
    let line = one_line(&error.render().to_string());
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return line;
    };
    let flag = argument.split([' ', '=']).next().unwrap_or_default();
    let is_given = |it: &OsString| it.to_string_lossy().starts_with(flag);
    let command = ServerArgs::augment_args(clap::Command::new("server"));
    let known = command
        .get_arguments()
        .find(|it| it.get_long().is_some_and(|long| flag.strip_prefix("--") == Some(long)));
    match known.and_then(|it| it.get_env()) {
        Some(variable) if !arguments.iter().any(is_given) => {
            format!("{}: {line}", variable.to_string_lossy())
        }
        _ => line,
    }
}

/// The names of variables that begin like ours, and that no option reads: typing errors, mostly.
pub(crate) fn unknown_variables(names: impl Iterator<Item = OsString>) -> Vec<String> {
    let command = Cli::command();
    let subcommands = || command.get_subcommands();
    let commands = std::iter::once(&command)
        .chain(subcommands())
        .chain(subcommands().flat_map(|it| it.get_subcommands()));
    let known: Vec<&OsStr> =
        commands.flat_map(|it| it.get_arguments()).filter_map(|it| it.get_env()).collect();
    let mut unknown: Vec<String> = names
        .filter(|name| !known.contains(&name.as_os_str()))
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.starts_with("LITEIO_"))
        .collect();
    unknown.sort();
    unknown
}

/// clap's message without its usage block, in one line.
fn one_line(message: &str) -> String {
    let lines = message.lines().map(str::trim);
    let wanted = lines
        .take_while(|line| !line.starts_with("Usage:"))
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    let line = wanted.collect::<Vec<_>>().join("; ");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}
