//! The command line: all commands with their options, as `mc` has them. Values that need more than
//! parsing are checked by the commands.

mod admin;
mod settings;

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, Parser, Subcommand};

pub(crate) use self::admin::{
    AdminVerb, AttachArgs, GroupVerb, KeyArgs, KeyVerb, KmsKeyVerb, KmsVerb, PolicyVerb,
    PrometheusVerb, ServerConfigVerb, TraceArgs, UserVerb,
};
pub(crate) use self::settings::{
    CorsVerb, EncryptVerb, EventArgs, EventHoldVerb, EventVerb, IlmVerb, LegalHoldVerb, QuotaVerb,
    ReplicateArgs, ReplicateVerb, ResyncVerb, RetentionVerb, RuleAddArgs, RuleArgs, RuleEditArgs,
    RuleRemoveArgs, RuleVerb, SelectionArgs,
};
use crate::session::PathStyle;

/// The everyday commands of mc for any S3 service. Targets are ALIAS/BUCKET/KEY or file paths.
#[derive(Debug, Parser)]
#[command(name = "client", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// Options of all commands.
#[derive(Args, Debug)]
pub(crate) struct Global {
    /// Directory with config.json (the aliases) and certs/CAs (certificate authorities) [default:
    /// ~/.mc].
    #[arg(long, short = 'C', global = true, value_name = "DIR", env = "MC_CONFIG_DIR")]
    pub(crate) config_dir: Option<PathBuf>,
    /// Print one JSON object per line.
    #[arg(long, global = true, env = "MC_JSON", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) json: bool,
    /// Do not show progress bars.
    #[arg(long, short, global = true, env = "MC_QUIET", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) quiet: bool,
    /// Do not verify TLS certificates.
    #[arg(long, global = true, env = "MC_INSECURE", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) insecure: bool,
    /// No effect: output has no colours.
    #[arg(long, global = true, hide = true)]
    pub(crate) no_color: bool,
    /// No effect: there is no pager.
    #[arg(long, visible_alias = "dp", global = true, hide = true)]
    pub(crate) disable_pager: bool,
    /// No effect: errors always carry all details.
    #[arg(long, global = true, hide = true)]
    pub(crate) debug: bool,
    /// No effect: the rate is not limited.
    #[arg(long, global = true, hide = true, value_name = "RATE")]
    pub(crate) limit_upload: Option<String>,
    /// No effect: the rate is not limited.
    #[arg(long, global = true, hide = true, value_name = "RATE")]
    pub(crate) limit_download: Option<String>,
    /// Time without progress after which a connection is closed.
    #[arg(long, global = true, value_name = "TIME", default_value = "60s")]
    pub(crate) conn_read_deadline: String,
    /// The same as --conn-read-deadline.
    #[arg(long, global = true, value_name = "TIME", hide = true)]
    pub(crate) conn_write_deadline: Option<String>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Manage aliases: named services with credentials.
    #[command(subcommand)]
    Alias(AliasVerb),
    /// The former name of `alias`.
    #[command(subcommand, hide = true)]
    Config(ConfigVerb),
    /// Create buckets.
    Mb(MbArgs),
    /// Remove buckets.
    Rb(RbArgs),
    /// List buckets, objects and files.
    Ls(LsArgs),
    /// Copy objects and files.
    Cp(CpArgs),
    /// Move objects and files.
    Mv(CpArgs),
    /// Download an object.
    Get(GetArgs),
    /// Upload a file.
    Put(PutArgs),
    /// Synchronize a target with a source.
    Mirror(MirrorArgs),
    /// Remove objects.
    Rm(RmArgs),
    /// Show the properties of a bucket or an object.
    Stat(StatArgs),
    /// Create URLs that work without credentials.
    #[command(subcommand)]
    Share(ShareVerb),
    /// Manage the versioning of a bucket.
    #[command(subcommand)]
    Version(VersionVerb),
    /// Manage anonymous access to a bucket.
    #[command(subcommand, visible_alias = "policy")]
    Anonymous(AnonymousVerb),
    /// Wait until a service is ready.
    Ready(ReadyArgs),
    /// Sum up object sizes.
    Du(DuArgs),
    /// Search for objects.
    Find(FindArgs),
    /// Print objects.
    Cat(CatArgs),
    /// Print the first lines of objects.
    Head(HeadArgs),
    /// Store standard input as an object.
    Pipe(PipeArgs),
    /// List the differences between two folders.
    Diff(DiffArgs),
    /// Manage the tags of a bucket or an object.
    #[command(subcommand)]
    Tag(TagVerb),
    /// Measure the response time of a service.
    Ping(PingArgs),
    /// Manage the quota of a bucket.
    #[command(subcommand)]
    Quota(QuotaVerb),
    /// Manage retentions, which protect objects for some time.
    #[command(subcommand)]
    Retention(RetentionVerb),
    /// Manage legal holds, which protect objects until they are cleared.
    #[command(subcommand)]
    Legalhold(LegalHoldVerb),
    /// Manage event holds, which protect objects until an event, and for some time after it.
    #[command(subcommand)]
    Eventhold(EventHoldVerb),
    /// Manage the encryption of new objects of a bucket.
    #[command(subcommand)]
    Encrypt(EncryptVerb),
    /// Manage the CORS rules of a bucket.
    #[command(subcommand)]
    Cors(CorsVerb),
    /// Manage the lifecycle rules of a bucket.
    #[command(subcommand)]
    Ilm(IlmVerb),
    /// Manage the notifications of a bucket.
    #[command(subcommand)]
    Event(EventVerb),
    /// Manage the replication of a bucket.
    #[command(subcommand)]
    Replicate(ReplicateVerb),
    /// Print changes below a target as they happen.
    Watch(WatchArgs),
    /// Manage users and keys of a server, and look at it.
    #[command(subcommand)]
    Admin(Box<AdminVerb>),
}

#[derive(Args, Debug)]
pub(crate) struct WatchArgs {
    pub(crate) target: String,
    /// Kinds of events: put, delete.
    #[arg(long, value_name = "KINDS", default_value = "put,delete")]
    pub(crate) events: String,
    /// Only names that begin with this.
    #[arg(long, default_value = "")]
    pub(crate) prefix: String,
    /// Only names that end with this.
    #[arg(long, default_value = "")]
    pub(crate) suffix: String,
    /// No effect: everything below the target is watched.
    #[arg(long, hide = true)]
    pub(crate) recursive: bool,
}

/// The arguments of an unsupported `mc` command.
#[derive(Args, Debug)]
pub(crate) struct Elsewhere {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub(crate) rest: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AliasVerb {
    /// Add or replace an alias, after testing its credentials.
    #[command(visible_alias = "s", alias = "add")]
    Set(AliasSetArgs),
    /// List aliases without their secrets.
    #[command(visible_alias = "ls")]
    List {
        /// Only this alias.
        alias: Option<String>,
    },
    /// Remove an alias.
    #[command(visible_alias = "rm")]
    Remove { alias: String },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Manage aliases.
    #[command(subcommand)]
    Host(AliasVerb),
}

#[derive(Args, Debug)]
pub(crate) struct AliasSetArgs {
    pub(crate) alias: String,
    pub(crate) url: String,
    /// Read from standard input if omitted.
    pub(crate) access_key: Option<String>,
    /// Read from standard input if omitted.
    pub(crate) secret_key: Option<String>,
    /// Signature version: S3v4. If given, the credentials are not tested.
    #[arg(long)]
    pub(crate) api: Option<String>,
    /// Bucket addressing: on (path style), off (virtual-hosted style), auto.
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) path: PathStyle,
    /// The former name of --path: path, dns, auto.
    #[arg(long, value_enum, hide = true)]
    pub(crate) lookup: Option<PathStyle>,
    /// The former position of --api.
    #[arg(hide = true, value_name = "API")]
    pub(crate) signature: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct MbArgs {
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Region of the bucket [default: the one of the service].
    #[arg(long)]
    pub(crate) region: Option<String>,
    /// Do not fail if the bucket exists.
    #[arg(long, short = 'p')]
    pub(crate) ignore_existing: bool,
    /// Do not look whether the bucket exists: the service decides, as for the AWS CLI.
    #[arg(long, hide = true)]
    pub(crate) as_aws: bool,
    /// Enable object lock, which implies versioning.
    #[arg(long, short = 'l')]
    pub(crate) with_lock: bool,
    /// Enable versioning.
    #[arg(long)]
    pub(crate) with_versioning: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RbArgs {
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Remove all objects and versions in it, too.
    #[arg(long)]
    pub(crate) force: bool,
    /// Allow removing all buckets of a service.
    #[arg(long)]
    pub(crate) dangerous: bool,
}

#[derive(Args, Debug)]
pub(crate) struct LsArgs {
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// List recursively.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    /// List all versions.
    #[arg(long)]
    pub(crate) versions: bool,
    /// List incomplete uploads.
    #[arg(long, short = 'I')]
    pub(crate) incomplete: bool,
    /// Print total number and size at the end.
    #[arg(long)]
    pub(crate) summarize: bool,
}

/// Age limits of objects.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AgeArgs {
    /// Only objects older than this, such as 7d10h.
    #[arg(long, value_name = "AGE")]
    pub(crate) older_than: Option<String>,
    /// Only objects newer than this.
    #[arg(long, value_name = "AGE")]
    pub(crate) newer_than: Option<String>,
}

/// Properties of new objects.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PropertyArgs {
    /// Metadata and headers: KEY1=VALUE1;KEY2=VALUE2.
    #[arg(long, value_name = "PAIRS")]
    pub(crate) attr: Option<String>,
    /// A header as it is: NAME=VALUE, repeatable.
    #[arg(long, value_name = "PAIR", hide = true)]
    pub(crate) header: Vec<String>,
    /// Tags: KEY1=VALUE1&KEY2=VALUE2.
    #[arg(long, value_name = "PAIRS")]
    pub(crate) tags: Option<String>,
    #[arg(long, visible_alias = "sc", value_name = "CLASS")]
    pub(crate) storage_class: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct CpArgs {
    /// One or more sources, then the target.
    #[arg(required = true, num_args = 2.., value_names = ["SOURCE", "TARGET"])]
    pub(crate) paths: Vec<String>,
    /// Copy recursively.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    /// No effect: all properties that can be kept are kept.
    #[arg(long, short = 'a', hide = true)]
    pub(crate) preserve: bool,
    /// No effect: copies are checked in any case.
    #[arg(long, hide = true)]
    pub(crate) md5: bool,
    /// Version of the source.
    #[arg(long, visible_alias = "vid", value_name = "ID")]
    pub(crate) version_id: Option<String>,
    #[command(flatten)]
    pub(crate) age: AgeArgs,
    #[command(flatten)]
    pub(crate) properties: PropertyArgs,
    /// Upload each object in a single request.
    #[arg(long)]
    pub(crate) disable_multipart: bool,
    /// Number of parallel copies.
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) max_workers: u16,
}

#[derive(Args, Debug)]
pub(crate) struct GetArgs {
    /// ALIAS/BUCKET/KEY.
    pub(crate) source: String,
    /// File, or directory.
    pub(crate) target: String,
    #[arg(long, visible_alias = "vid", value_name = "ID")]
    pub(crate) version_id: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct PutArgs {
    /// File.
    pub(crate) source: String,
    /// ALIAS/BUCKET/KEY, or ALIAS/BUCKET/ for the name of the file.
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) properties: PropertyArgs,
    /// Number of parts that are sent at a time [default: 4].
    #[arg(long, short = 'P', value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) parallel: Option<u16>,
    /// Part size; an upload has at most 10,000 parts [default: 16MiB, of files above 32 MiB].
    #[arg(long, short = 's', value_name = "SIZE", conflicts_with = "disable_multipart")]
    pub(crate) part_size: Option<String>,
    /// Upload the object in a single request.
    #[arg(long)]
    pub(crate) disable_multipart: bool,
}

#[derive(Args, Debug)]
pub(crate) struct MirrorArgs {
    pub(crate) source: String,
    pub(crate) target: String,
    /// Replace objects that differ.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Remove objects from the target that the source does not have.
    #[arg(long)]
    pub(crate) remove: bool,
    /// Only print the actions.
    #[arg(long, visible_alias = "fake")]
    pub(crate) dry_run: bool,
    /// No effect: all properties that can be kept are kept.
    #[arg(long, short = 'a', hide = true)]
    pub(crate) preserve: bool,
    /// No effect: copies are checked in any case.
    #[arg(long, hide = true)]
    pub(crate) md5: bool,
    /// Look for changes again and again until interrupted.
    #[arg(long, short = 'w')]
    pub(crate) watch: bool,
    /// No effect: the command always continues after a failure.
    #[arg(long, hide = true)]
    pub(crate) skip_errors: bool,
    /// No effect: requests are always repeated after a failure that may pass.
    #[arg(long, hide = true)]
    pub(crate) retry: bool,
    /// No effect: there is no summary.
    #[arg(long, hide = true)]
    pub(crate) summary: bool,
    /// Exclude names that match, repeatable: * matches any text, ? any character.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,
    /// Exclude buckets that match, repeatable.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude_bucket: Vec<String>,
    /// Region of new buckets [default: the one of the service].
    #[arg(long)]
    pub(crate) region: Option<String>,
    #[command(flatten)]
    pub(crate) age: AgeArgs,
    #[command(flatten)]
    pub(crate) properties: PropertyArgs,
    /// Upload each object in a single request.
    #[arg(long)]
    pub(crate) disable_multipart: bool,
    /// Give copies the encryption, storage class, retention and legal hold of their sources:
    /// `liteio restore --to` does.
    #[arg(long, hide = true)]
    pub(crate) keep_protection: bool,
    /// Only try the target, before the source is there: `liteio restore --to` does.
    #[arg(long, hide = true)]
    pub(crate) check_target: bool,
    /// Number of parallel copies.
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) max_workers: u16,
}

#[derive(Args, Debug)]
pub(crate) struct RmArgs {
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Remove recursively; needs --force.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    /// Remove all versions; needs --force.
    #[arg(long)]
    pub(crate) versions: bool,
    /// Version to remove.
    #[arg(long, visible_alias = "vid", value_name = "ID")]
    pub(crate) version_id: Option<String>,
    /// Remove only noncurrent versions; with --versions.
    #[arg(long)]
    pub(crate) non_current: bool,
    /// Remove incomplete uploads.
    #[arg(long, short = 'I')]
    pub(crate) incomplete: bool,
    /// Confirm a removal that cannot be undone.
    #[arg(long)]
    pub(crate) force: bool,
    /// Allow removing the objects of all buckets.
    #[arg(long)]
    pub(crate) dangerous: bool,
    /// Only print the actions.
    #[arg(long, visible_alias = "fake")]
    pub(crate) dry_run: bool,
    /// Read targets from standard input, one per line; needs --force.
    #[arg(long)]
    pub(crate) stdin: bool,
    /// Remove objects under governance retention, too.
    #[arg(long)]
    pub(crate) bypass: bool,
    #[command(flatten)]
    pub(crate) age: AgeArgs,
}

#[derive(Args, Debug)]
pub(crate) struct StatArgs {
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Include everything below the target.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    #[arg(long, visible_alias = "vid", value_name = "ID")]
    pub(crate) version_id: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ShareVerb {
    /// Create URLs that download objects.
    Download(ShareDownloadArgs),
    /// Create curl commands that upload objects.
    Upload(ShareUploadArgs),
}

#[derive(Args, Debug)]
pub(crate) struct ShareDownloadArgs {
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Share everything below the target.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    #[arg(long, visible_alias = "vid", value_name = "ID")]
    pub(crate) version_id: Option<String>,
    /// Lifetime, up to seven days.
    #[arg(long, short = 'E', value_name = "TIME", default_value = "168h")]
    pub(crate) expire: String,
}

#[derive(Args, Debug)]
pub(crate) struct ShareUploadArgs {
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Allow any key below the target.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    /// The only accepted content type.
    #[arg(long, short = 'T', value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// Lifetime, up to seven days.
    #[arg(long, short = 'E', value_name = "TIME", default_value = "168h")]
    pub(crate) expire: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum VersionVerb {
    /// Enable versioning.
    Enable { target: String },
    /// Suspend versioning.
    Suspend { target: String },
    /// Show the versioning state.
    Info { target: String },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AnonymousVerb {
    /// Set the permission of a bucket or a prefix: private, download, upload or public.
    Set { permission: String, target: String },
    /// Set a bucket policy from a JSON file.
    SetJson { file: PathBuf, target: String },
    /// Show the permission.
    Get { target: String },
    /// Show the bucket policy.
    GetJson { target: String },
    /// List the permissions of all prefixes.
    List { target: String },
    /// List the URLs of publicly readable objects.
    Links {
        target: String,
        /// Include everything below the target.
        #[arg(long, short)]
        recursive: bool,
    },
}

#[derive(Args, Debug)]
pub(crate) struct ReadyArgs {
    pub(crate) alias: String,
    /// No effect: a single node is ready for reads and writes alike.
    #[arg(long, hide = true)]
    pub(crate) cluster_read: bool,
    /// No effect.
    #[arg(long, hide = true)]
    pub(crate) maintenance: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DuArgs {
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Print the totals of folders down to this depth.
    #[arg(long, short)]
    pub(crate) depth: Option<u32>,
    /// Print the totals of all folders.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    /// Count all versions.
    #[arg(long)]
    pub(crate) versions: bool,
}

#[derive(Args, Debug)]
pub(crate) struct FindArgs {
    pub(crate) target: String,
    /// Pattern for the last part of the name.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) name: Option<String>,
    /// Pattern for the whole name.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) path: Option<String>,
    /// Pattern for whole names to exclude.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) ignore: Option<String>,
    /// Only objects larger than this, such as 64MiB.
    #[arg(long, value_name = "SIZE")]
    pub(crate) larger: Option<String>,
    /// Only objects smaller than this.
    #[arg(long, value_name = "SIZE")]
    pub(crate) smaller: Option<String>,
    #[command(flatten)]
    pub(crate) age: AgeArgs,
    /// Truncate names at this depth.
    #[arg(long, value_name = "DEPTH")]
    pub(crate) maxdepth: Option<usize>,
    /// Search all versions.
    #[arg(long)]
    pub(crate) versions: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CatArgs {
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    #[arg(long, visible_alias = "vid", value_name = "ID")]
    pub(crate) version_id: Option<String>,
    /// Start at this byte.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(crate) offset: u64,
    /// Print only this many bytes at the end.
    #[arg(long, value_name = "BYTES", conflicts_with = "offset")]
    pub(crate) tail: Option<u64>,
}

#[derive(Args, Debug)]
pub(crate) struct HeadArgs {
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Number of lines to print.
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 10)]
    pub(crate) lines: u64,
    #[arg(long, visible_alias = "vid", value_name = "ID")]
    pub(crate) version_id: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct PipeArgs {
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) properties: PropertyArgs,
    /// Part size; an upload has at most 10,000 parts.
    #[arg(long, value_name = "SIZE", default_value = "32MiB")]
    pub(crate) part_size: String,
}

#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    pub(crate) first: String,
    pub(crate) second: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TagVerb {
    /// Set all tags: KEY1=VALUE1&KEY2=VALUE2.
    Set {
        target: String,
        tags: String,
        #[arg(long, visible_alias = "vid", value_name = "ID")]
        version_id: Option<String>,
    },
    /// List tags.
    List {
        target: String,
        #[arg(long, visible_alias = "vid", value_name = "ID")]
        version_id: Option<String>,
    },
    /// Remove all tags.
    Remove {
        target: String,
        #[arg(long, visible_alias = "vid", value_name = "ID")]
        version_id: Option<String>,
    },
}

#[derive(Args, Debug)]
pub(crate) struct PingArgs {
    pub(crate) alias: String,
    /// Number of requests; without it, until interrupted.
    #[arg(long, short, value_name = "NUMBER")]
    pub(crate) count: Option<u32>,
    /// Stop after this many consecutive failures.
    #[arg(long, short, value_name = "NUMBER")]
    pub(crate) error_count: Option<u32>,
    /// Stop at the first answer.
    #[arg(long, short = 'x')]
    pub(crate) exit: bool,
    /// Seconds between requests.
    #[arg(long, short, value_name = "SECONDS", default_value_t = 1)]
    pub(crate) interval: u64,
}
