//! The commands of `admin`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Elsewhere;

#[derive(Debug, Subcommand)]
pub(crate) enum AdminVerb {
    /// Manage users.
    #[command(subcommand)]
    User(UserVerb),
    /// Manage groups of users.
    #[command(subcommand)]
    Group(GroupVerb),
    /// Manage policies.
    #[command(subcommand)]
    Policy(PolicyVerb),
    /// Manage access keys.
    #[command(subcommand)]
    Accesskey(KeyVerb),
    /// Show version, uptime and usage.
    Info { target: String },
    /// Show requests as they are answered.
    Trace(TraceArgs),
    /// Configure scrapers.
    #[command(subcommand)]
    Prometheus(PrometheusVerb),
    /// Show settings of the server.
    #[command(subcommand)]
    Config(ServerConfigVerb),
    /// Show the keys of SSE-KMS.
    #[command(subcommand)]
    Kms(KmsVerb),
    #[command(external_subcommand)]
    Other(Vec<String>),
}

#[derive(Debug, Subcommand)]
pub(crate) enum UserVerb {
    /// Add a user, or change the secret key of one.
    Add {
        target: String,
        /// Read from standard input if omitted.
        access_key: Option<String>,
        /// Read from standard input if omitted.
        secret_key: Option<String>,
    },
    /// Refuse the requests of a user.
    Disable { target: String, user: String },
    /// Accept the requests of a user again.
    Enable { target: String, user: String },
    /// Remove a user.
    #[command(visible_alias = "rm")]
    Remove { target: String, user: String },
    /// List users.
    #[command(visible_alias = "ls")]
    List { target: String },
    /// Show a user.
    Info { target: String, user: String },
    /// Show the policies of a user in one document.
    Policy { target: String, user: String },
    /// Manage service accounts.
    #[command(subcommand)]
    Svcacct(KeyVerb),
    /// Not supported.
    #[command(hide = true)]
    Sts(Elsewhere),
}

#[derive(Debug, Subcommand)]
pub(crate) enum GroupVerb {
    /// Add users to a group, which is made if there is none.
    Add {
        target: String,
        group: String,
        #[arg(required = true)]
        members: Vec<String>,
    },
    /// Remove members from a group, or an empty group.
    #[command(visible_alias = "rm")]
    Remove { target: String, group: String, members: Vec<String> },
    /// Show a group.
    Info { target: String, group: String },
    /// List groups.
    #[command(visible_alias = "ls")]
    List { target: String },
    /// Let the policies of a group apply again.
    Enable { target: String, group: String },
    /// Let the policies of a group not apply.
    Disable { target: String, group: String },
}

#[derive(Args, Debug)]
pub(crate) struct AttachArgs {
    pub(crate) target: String,
    #[arg(required = true)]
    pub(crate) policies: Vec<String>,
    #[arg(long, short)]
    pub(crate) user: Option<String>,
    #[arg(long, short, conflicts_with = "user")]
    pub(crate) group: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    /// Create a policy from a JSON file, or replace one.
    #[command(alias = "add")]
    Create { target: String, name: String, file: PathBuf },
    /// Remove a policy.
    #[command(visible_alias = "rm")]
    Remove { target: String, name: String },
    /// List policies.
    #[command(visible_alias = "ls")]
    List { target: String },
    /// Show a policy.
    Info {
        target: String,
        name: String,
        /// Write the policy to a file, too.
        #[arg(long, short = 'f', value_name = "FILE")]
        policy_file: Option<PathBuf>,
    },
    /// Attach policies to a user or a group.
    Attach(AttachArgs),
    /// Detach policies from a user or a group.
    Detach(AttachArgs),
    /// Replace all policies of a user or a group: the command before `attach`.
    #[command(hide = true)]
    Set {
        target: String,
        /// Names of policies, separated by commas.
        names: String,
        /// user=NAME or group=NAME.
        holder: String,
    },
    /// The former command for `attach`.
    #[command(hide = true)]
    Update(Elsewhere),
    /// The former command for `detach`.
    #[command(hide = true)]
    Unset(Elsewhere),
    /// List attachments.
    Entities {
        target: String,
        #[arg(long, short)]
        user: Vec<String>,
        #[arg(long, short)]
        group: Vec<String>,
        #[arg(long, short)]
        policy: Vec<String>,
    },
}

/// The properties of an access key.
#[derive(Args, Debug, Default)]
pub(crate) struct KeyArgs {
    /// Secret key [default: a new one].
    #[arg(long)]
    pub(crate) secret_key: Option<String>,
    /// JSON file of a policy that restricts the key.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[arg(long)]
    pub(crate) description: Option<String>,
    /// Time of expiration: 2027-01-31, or 2027-01-31T10:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub(crate) expiry: Option<String>,
    /// Time until the expiration, such as 24h.
    #[arg(long, value_name = "TIME", conflicts_with = "expiry")]
    pub(crate) expiry_duration: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyVerb {
    /// Create a key of a user.
    #[command(visible_alias = "add")]
    Create {
        target: String,
        /// The user [default: the one of the alias].
        user: Option<String>,
        /// Access key [default: a new one].
        #[arg(long)]
        access_key: Option<String>,
        #[command(flatten)]
        properties: KeyArgs,
    },
    /// List keys.
    #[command(visible_alias = "ls")]
    List {
        target: String,
        users: Vec<String>,
        /// The keys of all users.
        #[arg(long, conflicts_with = "users")]
        all: bool,
        /// The keys of the user of the alias.
        #[arg(long = "self", conflicts_with_all = ["users", "all"])]
        own: bool,
        /// List users only.
        #[arg(long)]
        users_only: bool,
        /// List service accounts only.
        #[arg(long, conflicts_with = "users_only")]
        svcacc_only: bool,
        /// List keys of sessions only.
        #[arg(long, conflicts_with_all = ["users_only", "svcacc_only"])]
        temp_only: bool,
    },
    /// Remove a key.
    #[command(visible_alias = "rm")]
    Remove { target: String, key: String },
    /// Show a key.
    Info {
        target: String,
        key: String,
        /// Print the policy only.
        #[arg(long)]
        policy: bool,
    },
    /// Change a key.
    #[command(visible_alias = "set")]
    Edit {
        target: String,
        key: String,
        #[command(flatten)]
        properties: KeyArgs,
    },
    /// Accept a key again.
    Enable { target: String, key: String },
    /// Refuse a key.
    Disable { target: String, key: String },
}

#[derive(Args, Debug)]
pub(crate) struct TraceArgs {
    pub(crate) target: String,
    /// Show headers, too.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Requests to the server itself, too.
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Only failed requests.
    #[arg(long, short)]
    pub(crate) errors: bool,
    /// Only these status codes.
    #[arg(long, value_name = "CODE")]
    pub(crate) status_code: Vec<u16>,
    /// Only these methods.
    #[arg(long)]
    pub(crate) method: Vec<String>,
    /// Only operations of these names, such as PutObject; * matches any text.
    #[arg(long, value_name = "NAME")]
    pub(crate) funcname: Vec<String>,
    /// Only paths like this; * matches any text.
    #[arg(long)]
    pub(crate) path: Vec<String>,
    /// Only requests that took longer than this.
    #[arg(long, alias = "response-threshold", value_name = "TIME", default_value = "0s")]
    pub(crate) response_duration: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PrometheusVerb {
    /// Print a configuration for Prometheus, with a token.
    Generate {
        target: String,
        /// cluster, node, bucket or resource.
        #[arg(default_value = "cluster")]
        kind: String,
        /// Without a token.
        #[arg(long)]
        public: bool,
        /// v2.
        #[arg(long, default_value = "v2")]
        api_version: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServerConfigVerb {
    /// Show the settings of a subsystem.
    Get {
        target: String,
        /// A subsystem, such as region [default: list the subsystems].
        key: Option<String>,
    },
    #[command(external_subcommand)]
    Other(Vec<String>),
}

#[derive(Debug, Subcommand)]
pub(crate) enum KmsVerb {
    /// Show the keys of SSE-KMS.
    #[command(subcommand)]
    Key(KmsKeyVerb),
    #[command(external_subcommand)]
    Other(Vec<String>),
}

#[derive(Debug, Subcommand)]
pub(crate) enum KmsKeyVerb {
    /// Create a key; a LiteIO tells how, because it reads its keys from a file.
    Create { target: String, name: String },
    /// List the names of the keys.
    #[command(visible_alias = "ls")]
    List { target: String },
    /// Show whether a key encrypts and decrypts.
    Status {
        target: String,
        /// The key [default: the default key of the server].
        name: Option<String>,
    },
}
