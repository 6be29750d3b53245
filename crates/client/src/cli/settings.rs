//! The commands for settings of buckets and objects.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum QuotaVerb {
    /// Set the most bytes that a bucket may have.
    Set {
        target: String,
        /// Size, such as 10GiB.
        #[arg(long, value_name = "SIZE")]
        size: String,
    },
    /// Show the quota of a bucket.
    Info { target: String },
    /// Remove the quota of a bucket.
    Clear { target: String },
}

/// The objects that a command is about.
#[derive(Args, Clone, Debug)]
pub(crate) struct SelectionArgs {
    /// Everything below the target.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    #[arg(long, visible_alias = "vid", value_name = "ID")]
    pub(crate) version_id: Option<String>,
    /// All versions.
    #[arg(long, conflicts_with = "version_id")]
    pub(crate) versions: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RetentionVerb {
    /// Protect objects for some time.
    Set {
        /// governance or compliance.
        mode: String,
        /// Days or years: 30d, 1y.
        validity: String,
        target: String,
        #[command(flatten)]
        selection: SelectionArgs,
        /// Shorten a governance retention, too.
        #[arg(long)]
        bypass: bool,
        /// Set the retention that new objects of a bucket get.
        #[arg(long)]
        default: bool,
    },
    /// End governance retentions.
    Clear {
        target: String,
        #[command(flatten)]
        selection: SelectionArgs,
        /// Remove the retention that new objects of a bucket get.
        #[arg(long)]
        default: bool,
    },
    /// Show retentions.
    Info {
        target: String,
        #[command(flatten)]
        selection: SelectionArgs,
        /// Show the retention that new objects of a bucket get.
        #[arg(long)]
        default: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum LegalHoldVerb {
    /// Protect objects until the hold is cleared.
    Set {
        target: String,
        #[command(flatten)]
        selection: SelectionArgs,
    },
    /// End legal holds.
    Clear {
        target: String,
        #[command(flatten)]
        selection: SelectionArgs,
    },
    /// Show legal holds.
    Info {
        target: String,
        #[command(flatten)]
        selection: SelectionArgs,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum EventHoldVerb {
    /// Protect objects until the hold is released, and for some time after it.
    Set {
        /// governance or compliance.
        mode: String,
        /// Days or years after the release: 30d, 1y.
        duration: String,
        target: String,
        #[command(flatten)]
        selection: SelectionArgs,
    },
    /// Release event holds: the time of each begins.
    Release {
        target: String,
        #[command(flatten)]
        selection: SelectionArgs,
    },
    /// Show event holds.
    Info {
        target: String,
        #[command(flatten)]
        selection: SelectionArgs,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum EncryptVerb {
    /// Encrypt new objects: sse-s3 TARGET, or sse-kms KEY TARGET.
    Set {
        #[arg(required = true, num_args = 2..=3, value_names = ["TYPE", "KEY", "TARGET"])]
        arguments: Vec<String>,
    },
    /// Encrypt new objects no more.
    Clear { target: String },
    /// Show the encryption of new objects.
    Info { target: String },
}

#[derive(Debug, Subcommand)]
pub(crate) enum CorsVerb {
    /// Set the CORS rules from an XML file; - is standard input.
    Set { target: String, file: PathBuf },
    /// Show the CORS rules.
    Get { target: String },
    /// Remove the CORS rules.
    Remove { target: String },
}

#[derive(Debug, Subcommand)]
pub(crate) enum IlmVerb {
    /// Manage lifecycle rules.
    #[command(subcommand)]
    Rule(Box<RuleVerb>),
    /// The former name of `rule add`.
    #[command(hide = true)]
    Add(RuleAddArgs),
    /// The former name of `rule edit`.
    #[command(hide = true)]
    Edit(RuleEditArgs),
    /// The former name of `rule list`.
    #[command(hide = true, alias = "list")]
    Ls { target: String },
    /// The former name of `rule remove`.
    #[command(hide = true, alias = "remove")]
    Rm(RuleRemoveArgs),
    /// The former name of `rule export`.
    #[command(hide = true)]
    Export { target: String },
    /// The former name of `rule import`.
    #[command(hide = true)]
    Import { target: String },
    /// Not supported.
    #[command(hide = true)]
    Tier(super::Elsewhere),
    /// Not supported.
    #[command(hide = true)]
    Restore(super::Elsewhere),
}

#[derive(Debug, Subcommand)]
pub(crate) enum RuleVerb {
    /// Add a rule.
    Add(RuleAddArgs),
    /// Change a rule.
    Edit(RuleEditArgs),
    /// List rules.
    #[command(visible_alias = "ls")]
    List { target: String },
    /// Remove rules.
    #[command(visible_alias = "rm")]
    Remove(RuleRemoveArgs),
    /// Print all rules as JSON.
    Export { target: String },
    /// Replace all rules by JSON from standard input.
    Import { target: String },
}

/// The filter and the actions of a lifecycle rule.
#[derive(Args, Debug, Default)]
pub(crate) struct RuleArgs {
    /// Only keys that begin with this.
    #[arg(long)]
    pub(crate) prefix: Option<String>,
    /// Only objects with these tags: KEY1=VALUE1&KEY2=VALUE2.
    #[arg(long, value_name = "PAIRS")]
    pub(crate) tags: Option<String>,
    /// Only objects smaller than this.
    #[arg(long, value_name = "SIZE")]
    pub(crate) size_lt: Option<String>,
    /// Only objects larger than this.
    #[arg(long, value_name = "SIZE")]
    pub(crate) size_gt: Option<String>,
    /// Days until current versions expire.
    #[arg(long, alias = "expiry-days", value_name = "DAYS")]
    pub(crate) expire_days: Option<u32>,
    /// Remove delete markers without older versions.
    #[arg(long, alias = "expired-object-delete-marker")]
    pub(crate) expire_delete_marker: bool,
    /// Days until current versions move to a tier.
    #[arg(long, value_name = "DAYS")]
    pub(crate) transition_days: Option<u32>,
    /// Tier that current versions move to.
    #[arg(long, alias = "storage-class", value_name = "TIER")]
    pub(crate) transition_tier: Option<String>,
    /// Days until noncurrent versions expire.
    #[arg(long, alias = "noncurrentversion-expiration-days", value_name = "DAYS")]
    pub(crate) noncurrent_expire_days: Option<u32>,
    /// Newer noncurrent versions that stay.
    #[arg(long, alias = "newer-noncurrentversions-expiration", value_name = "NUMBER")]
    pub(crate) noncurrent_expire_newer: Option<u32>,
    /// Days until noncurrent versions move to a tier.
    #[arg(long, alias = "noncurrentversion-transition-days", value_name = "DAYS")]
    pub(crate) noncurrent_transition_days: Option<u32>,
    /// Tier that noncurrent versions move to.
    #[arg(long, value_name = "TIER")]
    pub(crate) noncurrent_transition_tier: Option<String>,
    /// Not supported.
    #[arg(long, hide = true)]
    pub(crate) expire_all_object_versions: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RuleAddArgs {
    pub(crate) target: String,
    /// Name of the rule [default: a new one].
    #[arg(long)]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) rule: RuleArgs,
}

#[derive(Args, Debug)]
pub(crate) struct RuleEditArgs {
    pub(crate) target: String,
    #[arg(long)]
    pub(crate) id: String,
    #[arg(long, conflicts_with = "disable")]
    pub(crate) enable: bool,
    #[arg(long)]
    pub(crate) disable: bool,
    #[command(flatten)]
    pub(crate) rule: RuleArgs,
}

#[derive(Args, Debug)]
pub(crate) struct RuleRemoveArgs {
    pub(crate) target: String,
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// Confirms --all.
    #[arg(long)]
    pub(crate) force: bool,
    /// Remove all rules; needs --force.
    #[arg(long, conflicts_with = "id")]
    pub(crate) all: bool,
}

impl RuleRemoveArgs {
    /// The rule to remove; `None` for all of them.
    ///
    /// # Errors
    /// The options that are missing.
    pub(crate) fn rule(&self) -> Result<Option<&str>, &'static str> {
        match (&self.id, self.all, self.force) {
            (Some(id), _, _) => Ok(Some(id)),
            (None, true, true) => Ok(None),
            (None, true, false) => Err("--all needs --force"),
            (None, false, _) => Err("name a rule with --id, or use --all --force"),
        }
    }
}

/// The filter of a notification.
#[derive(Args, Clone, Debug)]
pub(crate) struct EventArgs {
    /// Kinds of events, separated by commas: put, delete, get, replica, ilm, or names such as
    /// s3:ObjectCreated:Copy.
    #[arg(long, default_value = "put,delete", value_name = "KINDS")]
    pub(crate) event: String,
    /// Only keys that begin with this.
    #[arg(long, default_value = "")]
    pub(crate) prefix: String,
    /// Only keys that end with this.
    #[arg(long, default_value = "")]
    pub(crate) suffix: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EventVerb {
    /// Send events of a bucket to a target.
    Add {
        target: String,
        arn: String,
        #[command(flatten)]
        filter: EventArgs,
        /// Do not fail if there is such a notification.
        #[arg(long, short = 'p')]
        ignore_existing: bool,
    },
    /// Remove notifications of a bucket.
    #[command(visible_alias = "rm")]
    Remove {
        target: String,
        arn: Option<String>,
        #[command(flatten)]
        filter: EventArgs,
        /// Remove all.
        #[arg(long)]
        force: bool,
    },
    /// List the notifications of a bucket.
    #[command(visible_alias = "ls")]
    List { target: String, arn: Option<String> },
}

/// The settings of a replication rule.
#[derive(Args, Debug)]
pub(crate) struct ReplicateArgs {
    /// Only objects with these tags: KEY1=VALUE1&KEY2=VALUE2.
    #[arg(long, value_name = "PAIRS")]
    pub(crate) tags: Option<String>,
    /// Storage class of the copies.
    #[arg(long, value_name = "CLASS")]
    pub(crate) storage_class: Option<String>,
    /// The rule of the highest priority applies.
    #[arg(long)]
    pub(crate) priority: Option<i32>,
    /// Things to copy beside new versions, separated by commas: delete-marker, delete, existing-objects,
    /// metadata-sync.
    #[arg(long, value_name = "LIST")]
    pub(crate) replicate: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReplicateVerb {
    /// Copy the versions of a bucket to another service.
    Add {
        target: String,
        /// ALIAS/BUCKET or URL with keys of the target.
        #[arg(long, value_name = "TARGET")]
        remote_bucket: String,
        /// Region of the target.
        #[arg(long, default_value = "")]
        region: String,
        /// Name of the rule [default: a new one].
        #[arg(long)]
        id: Option<String>,
        #[arg(long)]
        disable: bool,
        #[command(flatten)]
        rule: ReplicateArgs,
    },
    /// Change a rule.
    Update {
        target: String,
        #[arg(long)]
        id: String,
        /// enable or disable.
        #[arg(long)]
        state: Option<String>,
        #[command(flatten)]
        rule: ReplicateArgs,
    },
    /// List rules.
    #[command(visible_alias = "ls")]
    List {
        target: String,
        /// Only rules in this state: enabled or disabled.
        #[arg(long)]
        status: Option<String>,
    },
    /// Remove rules.
    #[command(visible_alias = "rm")]
    Remove(RuleRemoveArgs),
    /// Print all rules as JSON.
    Export { target: String },
    /// Replace all rules by JSON from standard input.
    Import { target: String },
    /// Show the changes that wait, the copies and the failures of each target.
    Status { target: String },
    /// Send the versions of a bucket to a target again.
    #[command(subcommand)]
    Resync(ResyncVerb),
    /// Not supported.
    #[command(hide = true)]
    Backlog(super::Elsewhere),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ResyncVerb {
    /// Begin to send all versions again.
    Start {
        target: String,
        /// ARN of the target that needs them [default: the only target of the bucket].
        #[arg(long, value_name = "ARN")]
        remote_bucket: Option<String>,
        /// Only versions that are older: 7d10h.
        #[arg(long, value_name = "AGE")]
        older_than: Option<String>,
    },
    /// Show how far it is.
    Status {
        target: String,
        /// ARN of a target [default: all targets].
        #[arg(long, value_name = "ARN")]
        remote_bucket: Option<String>,
    },
}
