//! The order of the server's options in the help, by subject.

use clap::Command;

/// The options by subject, the most used ones first. An option that the help hides has none.
const SUBJECTS: [(&str, &[&str]); 9] = [
    (
        "Common options",
        &[
            "data_dir",
            "memory",
            "address",
            "port",
            "access_key",
            "secret_key",
            "bucket",
            "region",
            "log",
            "profile",
        ],
    ),
    (
        "Addresses, HTTPS and the console",
        &[
            "tls_cert",
            "tls_key",
            "tls_self_signed",
            "plain_address",
            "domain",
            "website_address",
            "iceberg_address",
            "console",
            "console_address",
            "trusted_proxy",
            "ca_file",
            "cors_origin",
        ],
    ),
    (
        "Users and keys",
        &[
            "credentials_file",
            "oidc_issuer",
            "console_oidc",
            "console_oidc_role",
            "console_oidc_scope",
            "console_oidc_secret",
            "console_oidc_secret_file",
            "no_auth",
            "allow_default_credentials",
            "allow_signature_v2",
            "master_key_file",
            "master_key",
            "kms_key_file",
            "allow_insecure_sse_c",
        ],
    ),
    (
        "Buckets",
        &[
            "bucket_file",
            "seed",
            "object_ownership",
            "aws_defaults",
            "iceberg_warehouse",
            "iceberg_own_locations",
        ],
    ),
    (
        "Storage and background work",
        &[
            "durability",
            "metadata_memory",
            "take_over",
            "scrub_days",
            "scrub_rate",
            "lifecycle_day",
            "restore_delay",
            "tier_file",
            "replication_file",
        ],
    ),
    (
        "Events, logs and metrics",
        &[
            "webhook",
            "event_target",
            "event_target_file",
            "event_queue",
            "drop_events",
            "log_format",
            "access_log_interval",
            "metrics_auth",
            "otlp_endpoint",
            "audit_file",
            "audit_file_size",
            "audit_files_kept",
            "audit_webhook",
            "audit_webhook_token",
        ],
    ),
    (
        "Backup",
        &[
            "backup",
            "backup_key_file",
            "backup_interval",
            "backup_base_every",
            "backup_keep",
            "backup_keep_bases",
            "backup_bandwidth",
            "backup_uploads",
            "fence",
            "backup_endpoint",
            "backup_region",
            "backup_access_key",
            "backup_secret_key",
            "backup_secret_key_file",
        ],
    ),
    (
        "Several servers",
        &[
            "metadata",
            "metadata_password_file",
            "metadata_connections",
            "metadata_unsafe",
            "blobs",
            "blobs_access_key",
            "blobs_secret_key",
            "blobs_secret_key_file",
            "blob_cache",
            "blob_cache_size",
            "vector_cache",
            "vector_cache_size",
            "cluster_name",
            "server_name",
            "deletion_grace",
        ],
    ),
    ("Tests", &["test_api"]),
];

/// The commands that take the server's options.
const OF_SERVER: [&str; 3] = ["server", "exec", "standby"];

const EXAMPLES: &str = "\
Examples:
  liteio                                        Serve ./data at http://127.0.0.1:9000
  liteio --memory --port 0 --bucket photos      Serve an empty bucket from memory, on a free port
  liteio exec -- pytest                         Run a command with a server of its own
  liteio client ls local                        List the buckets of the server on this machine";

/// The command with its options by subject, if it takes those of the server, and the program with examples.
pub(super) fn by_subject(command: Command) -> Command {
    match command.get_name() {
        "liteio" => ordered(command).after_help(EXAMPLES),
        name if OF_SERVER.contains(&name) => ordered(command),
        _ => command,
    }
}

const MORE: &str = "\
Each option has a variable, such as LITEIO_DATA_DIR. All options and variables: liteio --help";

/// The same with the common options only, for `-h`.
pub(super) fn short(mut command: Command) -> Command {
    // The options of commands are defined by it.
    command.build();
    let command = OF_SERVER
        .into_iter()
        .fold(common(command), |command, name| command.mut_subcommand(name, common));
    let command = command.mut_subcommands(|subcommand| {
        let about = subcommand.get_about().map(|about| first_clause(&about.to_string()));
        match about {
            Some(about) => subcommand.about(about),
            None => subcommand,
        }
    });
    command.after_help(format!("{EXAMPLES}\n\n{MORE}"))
}

fn common(command: Command) -> Command {
    let (_, common) = SUBJECTS[0];
    command.mut_args(|argument| {
        let option = argument.get_id().as_str();
        match (place(option).is_some(), common.contains(&option)) {
            (true, false) => argument.hide(true),
            // Its grammar takes four lines.
            (true, true) if option == "bucket" => argument
                .hide_env(true)
                .value_name("NAME")
                .help("Bucket to create at startup; repeatable"),
            (true, true) => argument.hide_env(true),
            (false, _) => argument,
        }
    })
}

/// The text before the first colon, semicolon or full stop, and of a long one before the first comma.
fn first_clause(text: &str) -> String {
    let end = |ends: &[&str]| ends.iter().filter_map(|end| text.find(end)).min();
    let clause = &text[..end(&[": ", "; ", ". "]).unwrap_or(text.len())];
    match end(&[", "]).filter(|end| clause.len() > CLAUSE_BYTES_MAX && *end < clause.len()) {
        Some(end) => clause[..end].to_owned(),
        None => clause.to_owned(),
    }
}

/// Longest description that fits a line of the short help.
const CLAUSE_BYTES_MAX: usize = 80;

fn ordered(command: Command) -> Command {
    command.mut_args(|argument| match place(argument.get_id().as_str()) {
        Some((subject, at)) => argument.help_heading(subject).display_order(at),
        None => argument,
    })
}

/// The subject of an option, and its place in the help.
fn place(option: &str) -> Option<(&'static str, usize)> {
    let options = SUBJECTS
        .iter()
        .flat_map(|(subject, options)| options.iter().map(move |it| (*subject, *it)));
    options.enumerate().find(|(_, (_, it))| *it == option).map(|(at, (subject, _))| (subject, at))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Args as _;

    use super::*;
    use crate::cli::ServerArgs;

    #[test]
    fn every_option_has_one_subject() {
        let command = ServerArgs::augment_args(Command::new("server"));
        let shown = command.get_arguments().filter(|it| !it.is_hide_set());
        let shown: BTreeSet<&str> = shown.map(|it| it.get_id().as_str()).collect();
        let listed: Vec<&str> =
            SUBJECTS.iter().flat_map(|(_, options)| *options).copied().collect();
        let once: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(once.len(), listed.len(), "{listed:?}");
        assert_eq!(once, shown);
    }

    #[test]
    fn the_most_used_options_come_first() {
        for command in ["liteio --help", "liteio server --help", "liteio exec --help"] {
            let mut all = crate::cli::command();
            let error = all.try_get_matches_from_mut(command.split(' ')).expect_err("help");
            let help = error.render().to_string();
            let at = |word: &str| help.find(word).unwrap_or_else(|| panic!("{word} in {help}"));
            assert!(at("Common options:") < at("--data-dir <"), "{help}");
            assert!(at("--data-dir <") < at("--port <"), "{help}");
            assert!(at("--port <") < at("Backup:"), "{help}");
        }
    }
}
