//! The command line: every verb with its options, as `mc` has them. The verbs check values that
//! need more than a look.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, Parser, Subcommand};

use crate::session::PathStyle;

/// The everyday verbs of mc over any S3. Targets are ALIAS/BUCKET/KEY, or paths of files.
#[derive(Debug, Parser)]
#[command(name = "client", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// The options of all verbs.
#[derive(Args, Debug)]
pub(crate) struct Global {
    /// Directory of config.json with the aliases, and of certs/CAs with authorities [default:
    /// ~/.mc].
    #[arg(long, short = 'C', global = true, value_name = "DIR", env = "MC_CONFIG_DIR")]
    pub(crate) config_dir: Option<PathBuf>,
    /// Print one JSON object a line.
    #[arg(long, global = true, env = "MC_JSON", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) json: bool,
    /// Draw no progress bar.
    #[arg(long, short, global = true, env = "MC_QUIET", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) quiet: bool,
    /// Trust any certificate.
    #[arg(long, global = true, env = "MC_INSECURE", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) insecure: bool,
    /// Nothing: there are no colours.
    #[arg(long, global = true, hide = true)]
    pub(crate) no_color: bool,
    /// Nothing: there is no pager.
    #[arg(long, visible_alias = "dp", global = true, hide = true)]
    pub(crate) disable_pager: bool,
    /// Nothing: failures say what there is to know.
    #[arg(long, global = true, hide = true)]
    pub(crate) debug: bool,
    /// Nothing: the rate has no limit.
    #[arg(long, global = true, hide = true, value_name = "RATE")]
    pub(crate) limit_upload: Option<String>,
    /// Nothing: the rate has no limit.
    #[arg(long, global = true, hide = true, value_name = "RATE")]
    pub(crate) limit_download: Option<String>,
    /// Time without any progress after which a connection counts as dead.
    #[arg(long, global = true, value_name = "TIME", default_value = "60s")]
    pub(crate) conn_read_deadline: String,
    /// The same.
    #[arg(long, global = true, value_name = "TIME", hide = true)]
    pub(crate) conn_write_deadline: Option<String>,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Manage aliases: names of services with credentials.
    #[command(subcommand)]
    Alias(AliasVerb),
    /// The former name of aliases.
    #[command(subcommand, hide = true)]
    Config(ConfigVerb),
    /// Make buckets.
    Mb(MbArgs),
    /// Remove buckets.
    Rb(RbArgs),
    /// List buckets, objects and files.
    Ls(LsArgs),
    /// Copy objects and files.
    Cp(CpArgs),
    /// Move objects and files.
    Mv(CpArgs),
    /// Make a target hold what a source holds.
    Mirror(MirrorArgs),
    /// Remove objects.
    Rm(RmArgs),
    /// Show what is known about a bucket or an object.
    Stat(StatArgs),
    /// Make links that others can use without credentials.
    #[command(subcommand)]
    Share(ShareVerb),
    /// Manage the versioning of a bucket.
    #[command(subcommand)]
    Version(VersionVerb),
    /// Manage what anyone may do with a bucket, without credentials.
    #[command(subcommand, visible_alias = "policy")]
    Anonymous(AnonymousVerb),
    /// Wait until a service is ready.
    Ready(ReadyArgs),
    /// Sum up sizes.
    Du(DuArgs),
    /// Search for objects.
    Find(FindArgs),
    /// Print objects.
    Cat(CatArgs),
    /// Print the first lines of objects.
    Head(HeadArgs),
    /// Store what comes from standard input.
    Pipe(PipeArgs),
    /// List the differences between two folders.
    Diff(DiffArgs),
    /// Manage the tags of a bucket or an object.
    #[command(subcommand)]
    Tag(TagVerb),
    /// Measure the time that a service takes to answer.
    Ping(PingArgs),
    /// Not here: the server has these.
    #[command(hide = true)]
    Admin(Elsewhere),
    /// Not here.
    #[command(hide = true)]
    Event(Elsewhere),
    /// Not here.
    #[command(hide = true)]
    Ilm(Elsewhere),
}

/// The words after a verb of `mc` that is not here.
#[derive(Args, Debug)]
pub(crate) struct Elsewhere {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub(crate) rest: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AliasVerb {
    /// Add or replace an alias, after its credentials were tried.
    #[command(visible_alias = "s", alias = "add")]
    Set(AliasSetArgs),
    /// List aliases, without their secrets.
    #[command(visible_alias = "ls")]
    List {
        /// Only this one.
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
    /// Read from standard input if it is missing.
    pub(crate) access_key: Option<String>,
    /// Read from standard input if it is missing.
    pub(crate) secret_key: Option<String>,
    /// Version of signatures: S3v4. When it is given, the credentials are not tried.
    #[arg(long)]
    pub(crate) api: Option<String>,
    /// Place of the bucket's name: on (the path), off (the host), auto.
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) path: PathStyle,
    /// The former name of --path: path, dns, auto.
    #[arg(long, value_enum, hide = true)]
    pub(crate) lookup: Option<PathStyle>,
    /// The former place of --api.
    #[arg(hide = true, value_name = "API")]
    pub(crate) signature: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct MbArgs {
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Region of the bucket.
    #[arg(long, default_value = "us-east-1")]
    pub(crate) region: String,
    /// A bucket that exists is no failure.
    #[arg(long, short = 'p')]
    pub(crate) ignore_existing: bool,
    /// With object lock, and so with versions.
    #[arg(long, short = 'l')]
    pub(crate) with_lock: bool,
    /// With versions.
    #[arg(long)]
    pub(crate) with_versioning: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RbArgs {
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// With all objects and versions in it.
    #[arg(long)]
    pub(crate) force: bool,
    /// Allow to remove all buckets of a service.
    #[arg(long)]
    pub(crate) dangerous: bool,
}

#[derive(Args, Debug)]
pub(crate) struct LsArgs {
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Everything below.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    /// All versions.
    #[arg(long)]
    pub(crate) versions: bool,
    /// Uploads that are not complete.
    #[arg(long, short = 'I')]
    pub(crate) incomplete: bool,
    /// The number and size of all at the end.
    #[arg(long)]
    pub(crate) summarize: bool,
}

/// Limits of the age of objects.
#[derive(Args, Clone, Debug)]
pub(crate) struct AgeArgs {
    /// Only objects that are older, such as 7d10h.
    #[arg(long, value_name = "AGE")]
    pub(crate) older_than: Option<String>,
    /// Only objects that are newer.
    #[arg(long, value_name = "AGE")]
    pub(crate) newer_than: Option<String>,
}

/// Properties of new objects.
#[derive(Args, Clone, Debug)]
pub(crate) struct PropertyArgs {
    /// Metadata and headers: KEY1=VALUE1;KEY2=VALUE2.
    #[arg(long, value_name = "PAIRS")]
    pub(crate) attr: Option<String>,
    /// Tags: KEY1=VALUE1&KEY2=VALUE2.
    #[arg(long, value_name = "PAIRS")]
    pub(crate) tags: Option<String>,
    #[arg(long, visible_alias = "sc", value_name = "CLASS")]
    pub(crate) storage_class: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct CpArgs {
    /// Sources, and last the target.
    #[arg(required = true, num_args = 2.., value_names = ["SOURCE", "TARGET"])]
    pub(crate) paths: Vec<String>,
    /// With everything below.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    /// Nothing: what can be kept is kept.
    #[arg(long, short = 'a', hide = true)]
    pub(crate) preserve: bool,
    /// This version of the source.
    #[arg(long, visible_alias = "vid", value_name = "ID")]
    pub(crate) version_id: Option<String>,
    #[command(flatten)]
    pub(crate) age: AgeArgs,
    #[command(flatten)]
    pub(crate) properties: PropertyArgs,
    /// Every object in one request.
    #[arg(long)]
    pub(crate) disable_multipart: bool,
    /// Copies at a time.
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) max_workers: u16,
}

#[derive(Args, Debug)]
pub(crate) struct MirrorArgs {
    pub(crate) source: String,
    pub(crate) target: String,
    /// Replace objects that differ.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Remove from the target what the source does not have.
    #[arg(long)]
    pub(crate) remove: bool,
    /// Only say what would be done.
    #[arg(long, visible_alias = "fake")]
    pub(crate) dry_run: bool,
    /// Nothing: what can be kept is kept.
    #[arg(long, short = 'a', hide = true)]
    pub(crate) preserve: bool,
    /// Not here.
    #[arg(long, short = 'w', hide = true)]
    pub(crate) watch: bool,
    /// Nothing: after a failure the others are still done.
    #[arg(long, hide = true)]
    pub(crate) skip_errors: bool,
    /// Nothing: there is no summary.
    #[arg(long, hide = true)]
    pub(crate) summary: bool,
    /// Leave out names that match, repeatable: * is any text, ? any character.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,
    /// Leave out buckets that match, repeatable.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude_bucket: Vec<String>,
    /// Region of buckets that are made.
    #[arg(long, default_value = "us-east-1")]
    pub(crate) region: String,
    #[command(flatten)]
    pub(crate) age: AgeArgs,
    #[command(flatten)]
    pub(crate) properties: PropertyArgs,
    /// Every object in one request.
    #[arg(long)]
    pub(crate) disable_multipart: bool,
    /// Copies at a time.
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) max_workers: u16,
}

#[derive(Args, Debug)]
pub(crate) struct RmArgs {
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// With everything below; needs --force.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    /// With all versions; needs --force.
    #[arg(long)]
    pub(crate) versions: bool,
    /// This version.
    #[arg(long, visible_alias = "vid", value_name = "ID")]
    pub(crate) version_id: Option<String>,
    /// Only versions that are not the newest; with --versions.
    #[arg(long)]
    pub(crate) non_current: bool,
    /// Uploads that are not complete.
    #[arg(long, short = 'I')]
    pub(crate) incomplete: bool,
    /// Do it, although it cannot be undone.
    #[arg(long)]
    pub(crate) force: bool,
    /// Allow to remove the objects of all buckets.
    #[arg(long)]
    pub(crate) dangerous: bool,
    /// Only say what would be done.
    #[arg(long, visible_alias = "fake")]
    pub(crate) dry_run: bool,
    /// Read targets from standard input, one a line; needs --force.
    #[arg(long)]
    pub(crate) stdin: bool,
    /// Remove what governance retains, too.
    #[arg(long)]
    pub(crate) bypass: bool,
    #[command(flatten)]
    pub(crate) age: AgeArgs,
}

#[derive(Args, Debug)]
pub(crate) struct StatArgs {
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Everything below.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    #[arg(long, visible_alias = "vid", value_name = "ID")]
    pub(crate) version_id: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ShareVerb {
    /// URLs that read objects.
    Download(ShareDownloadArgs),
    /// Commands for curl that store objects.
    Upload(ShareUploadArgs),
}

#[derive(Args, Debug)]
pub(crate) struct ShareDownloadArgs {
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Everything below.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    #[arg(long, visible_alias = "vid", value_name = "ID")]
    pub(crate) version_id: Option<String>,
    /// Time for which it works, up to seven days.
    #[arg(long, short = 'E', value_name = "TIME", default_value = "168h")]
    pub(crate) expire: String,
}

#[derive(Args, Debug)]
pub(crate) struct ShareUploadArgs {
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Any key below.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    /// The one media type that is taken.
    #[arg(long, short = 'T', value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// Time for which it works, up to seven days.
    #[arg(long, short = 'E', value_name = "TIME", default_value = "168h")]
    pub(crate) expire: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum VersionVerb {
    /// Keep versions from now on.
    Enable { target: String },
    /// Keep no further versions.
    Suspend { target: String },
    /// Show whether versions are kept.
    Info { target: String },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AnonymousVerb {
    /// Set the permission of a bucket or a prefix: private, download, upload or public.
    Set { permission: String, target: String },
    /// Set a policy in JSON.
    SetJson { file: PathBuf, target: String },
    /// Show the permission.
    Get { target: String },
    /// Show the policy.
    GetJson { target: String },
    /// List the permissions of all prefixes.
    List { target: String },
    /// List the URLs of objects that anyone can read.
    Links {
        target: String,
        /// Everything below.
        #[arg(long, short)]
        recursive: bool,
    },
}

#[derive(Args, Debug)]
pub(crate) struct ReadyArgs {
    pub(crate) alias: String,
    /// Nothing: one node reads as it writes.
    #[arg(long, hide = true)]
    pub(crate) cluster_read: bool,
    /// Nothing.
    #[arg(long, hide = true)]
    pub(crate) maintenance: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DuArgs {
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Print the sums of folders down to this depth.
    #[arg(long, short)]
    pub(crate) depth: Option<u32>,
    /// Print the sums of all folders.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    /// Count all versions.
    #[arg(long)]
    pub(crate) versions: bool,
}

#[derive(Args, Debug)]
pub(crate) struct FindArgs {
    pub(crate) target: String,
    /// Pattern of the last part of the name.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) name: Option<String>,
    /// Pattern of the whole name.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) path: Option<String>,
    /// Pattern of whole names to leave out.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) ignore: Option<String>,
    /// Only objects that are larger, such as 64MiB.
    #[arg(long, value_name = "SIZE")]
    pub(crate) larger: Option<String>,
    /// Only objects that are smaller.
    #[arg(long, value_name = "SIZE")]
    pub(crate) smaller: Option<String>,
    #[command(flatten)]
    pub(crate) age: AgeArgs,
    /// Cut names at this depth.
    #[arg(long, value_name = "DEPTH")]
    pub(crate) maxdepth: Option<usize>,
    /// All versions.
    #[arg(long)]
    pub(crate) versions: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CatArgs {
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    #[arg(long, visible_alias = "vid", value_name = "ID")]
    pub(crate) version_id: Option<String>,
    /// Begin at this byte.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(crate) offset: u64,
    /// Only this many bytes at the end.
    #[arg(long, value_name = "BYTES", conflicts_with = "offset")]
    pub(crate) tail: Option<u64>,
}

#[derive(Args, Debug)]
pub(crate) struct HeadArgs {
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Lines to print.
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
    /// Size of parts; a stream has 10,000 at most.
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
    /// Ask this often; without it until interrupted.
    #[arg(long, short, value_name = "NUMBER")]
    pub(crate) count: Option<u32>,
    /// End after this many failures in a row.
    #[arg(long, short, value_name = "NUMBER")]
    pub(crate) error_count: Option<u32>,
    /// End with the first answer.
    #[arg(long, short = 'x')]
    pub(crate) exit: bool,
    /// Seconds between questions.
    #[arg(long, short, value_name = "SECONDS", default_value_t = 1)]
    pub(crate) interval: u64,
}
