//! Commands that there are not, as users of other programs try them, and what does the same here.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use liteio_wire::nearest::nearest;

/// Words in the place of a command, and what to do instead.
const GUESSES: [(&[&str], &str); 20] = [
    (
        &["start", "run", "serve", "up", "daemon", "minio", "web"],
        "`liteio` alone, or `liteio server`, starts the server; as a service `systemctl start liteio`",
    ),
    (
        &["stop", "shutdown", "down", "restart", "quit"],
        "Ctrl-C or SIGTERM stops a server; a service `systemctl stop liteio`, a container `docker stop`",
    ),
    (
        &["reload"],
        "SIGHUP, or `systemctl reload liteio`, lets a server read users, certificates and keys again",
    ),
    (
        &["status", "info", "stats", "usage"],
        "`liteio health` asks whether a server is ready, and `liteio client admin info local` shows its version and usage",
    ),
    (
        &["check", "doctor", "fsck", "diagnose", "scrub"],
        "`liteio health` asks whether a server is ready, `liteio verify` reads a data directory, and `liteio repair` mends it",
    ),
    (
        &["user", "users", "useradd", "adduser"],
        "`liteio client admin user add local NAME SECRET` adds a user to a running server, `… user list local` lists them",
    ),
    (
        &["group", "groups", "policy", "policies", "accesskey", "access-key", "svcacct"],
        "`liteio client admin group`, `policy` and `accesskey` manage them in a running server: `liteio client admin --help`",
    ),
    (
        &["bucket", "buckets", "create", "create-bucket", "make-bucket"],
        "`liteio client mb local/NAME` makes a bucket in a running server, `liteio --bucket NAME` at the start",
    ),
    (
        &["upload", "put", "sync", "copy", "get", "download"],
        "`liteio client cp` and `mirror` copy: `liteio client cp FILE local/BUCKET/`",
    ),
    (
        &["delete", "remove", "del"],
        "`liteio client rm` removes objects, `liteio client rb` buckets",
    ),
    (
        &["reset", "clean", "clear", "wipe", "erase", "purge", "destroy"],
        "no command does it: stop the server and remove its data directory; `liteio client rb --force local/NAME` removes a bucket",
    ),
    (&["list", "dir"], "`liteio client ls local` lists the buckets of the server on this machine"),
    (
        &["config", "configure", "settings", "set", "env"],
        "settings are options and variables: `liteio --help` and `liteio environment` list them",
    ),
    (
        &["init", "setup", "install", "new"],
        "nothing has to be set up: `liteio --data-dir DIR` makes the directory and starts",
    ),
    (
        &["log", "logs"],
        "the log is on standard error: `journalctl -u liteio`, `docker logs`; `liteio client admin trace local` shows requests",
    ),
    (
        &["console", "ui", "dashboard"],
        "the console is part of the server: http://127.0.0.1:9000/_liteio/console/ once `liteio` runs",
    ),
    (
        &["vector", "vectors", "s3vectors", "index"],
        "a server has S3 Vectors at its address, for `aws s3vectors` and every SDK: docs/vectors.md",
    ),
    (
        &["update", "upgrade"],
        "a new version is a new program in the place of this one: docs/install.md",
    ),
    (&["mc"], "`liteio client` has the commands of `mc`: `liteio client ls local`"),
    (
        &["aws", "s3", "s3api"],
        "the AWS CLI is a program of its own, and `liteio client` has `ls`, `cp` and others: `liteio client ls local`",
    ),
];

/// Options in the place of the directory of the data.
const DIRECTORY: [&str; 6] = ["--dir", "--data", "--directory", "--path", "--root", "--storage"];

/// Options that there are not, and what to do instead. The most similar option is about something else.
const OPTIONS: [(&[&str], &str); 12] = [
    (
        &["--vector-bucket", "--vector-buckets"],
        "vector buckets are made by clients: docs/vectors.md",
    ),
    (&DIRECTORY, "`--data-dir DIR` names the directory of the data"),
    (
        &["--listen", "--listen-address", "--bind", "--addr"],
        "`--address HOST:PORT`, or `--port PORT`, selects where the server listens",
    ),
    (
        &["--console-port", "--website-port", "--iceberg-port", "--plain-port"],
        "an address has the port: `--console-address HOST:PORT`, and so --website-address, --iceberg-address, --plain-address",
    ),
    (
        &["-v", "--verbose", "--debug"],
        "`liteio -V` prints the version, and a server with `--log debug` logs more",
    ),
    (
        &["--user", "--username", "--root-user", "--password", "--root-password", "--secret"],
        "`--access-key KEY` and `--secret-key SECRET` are the name and the password of the root user",
    ),
    (
        &["--tls", "--https", "--ssl"],
        "`--tls-self-signed` serves HTTPS with a certificate made for it, `--tls-cert FILE` and `--tls-key FILE` with yours",
    ),
    (
        &["--cert", "--certificate", "--cert-file", "--tls-certificate", "--ssl-cert"],
        "`--tls-cert FILE` names the certificate, and `--tls-key FILE` its private key",
    ),
    (
        &["--config", "--config-file", "-c"],
        "settings are options and variables: `liteio --help` and `liteio environment` list them; `--credentials-file FILE` has users",
    ),
    (
        &["--daemon", "--daemonize", "--detach", "--background"],
        "a server runs until it is stopped: `systemctl start liteio` runs it as a service, `nohup liteio &` in the background",
    ),
    (
        &["--ftp", "--sftp"],
        "there is no FTP and no SFTP: `rclone serve sftp REMOTE:BUCKET` offers a bucket by it; remove the option, also from MINIO_OPTS",
    ),
    // MinIO's of some releases.
    (
        &[
            "--compat",
            "--no-compat",
            "--conn-user-timeout",
            "--conn-read-deadline",
            "--conn-write-deadline",
            "--crossdomain-xml",
            "--dns-cache-ttl",
            "--idle-timeout",
            "--interface",
            "--log-dir",
            "--log-size",
            "--log-compress",
            "--log-prefix",
            "--max-idle-conns-per-host",
            "--memlimit",
            "--pre-allocate",
            "--read-header-timeout",
            "--recv-buf-size",
            "--send-buf-size",
            "--shutdown-timeout",
        ],
        "MinIO has it, and there is nothing to set here: remove it, also from MINIO_OPTS; docs/limits.md has time limits",
    ),
];

/// Options in the place of the URL that `liteio health` takes.
const URL_OF_HEALTH: [&str; 5] = ["--port", "-p", "--host", "--url", "--endpoint"];

/// Options of commands with a backup, which `liteio standby` takes with `backup-`, as the server does.
const OF_A_BACKUP: [&str; 3] = ["--key-file", "--endpoint", "--secret-key-file"];

/// Commands of a data directory, which they take by an option: it has a default.
const OF_A_DIRECTORY: [&str; 2] = ["verify", "repair"];

/// The line about a directory behind a command that takes it by an option.
pub(super) fn of_a_directory(arguments: &[OsString]) -> Option<String> {
    let [_, command, directory, ..] = arguments else { return None };
    let (command, directory) = (command.to_str()?, directory.to_str()?);
    let is_meant = OF_A_DIRECTORY.contains(&command) && !directory.starts_with('-');
    is_meant.then(|| format!("write `liteio {command} --data-dir {directory}`"))
}

/// The advice about options of a server before a command.
pub(super) fn of_options_before(command: &str) -> String {
    match command {
        "server" => "write the options behind `server`, or leave `server` out".to_owned(),
        _ => {
            format!("options in this place are the server's: write those of `{command}` behind it")
        }
    }
}

/// The line about an option that there is not, if it is known what was meant.
pub(super) fn option(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    // Another error is about an option that there is.
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_of_health = arguments.get(1).is_some_and(|it| it == "health");
    if is_of_health && URL_OF_HEALTH.contains(&option.as_str()) {
        let mut words = arguments.iter().filter_map(|it| it.to_str());
        let port = words.find_map(|it| it.trim_start_matches("--port=").parse::<u16>().ok());
        let port = port.unwrap_or(9000);
        return Some(format!(
            "there is no option `{option}`: write the URL alone: `liteio health http://127.0.0.1:{port}`"
        ));
    }
    let is_of_standby = arguments.get(1).is_some_and(|it| it == "standby");
    if is_of_standby && OF_A_BACKUP.contains(&option.as_str()) {
        let name = option.trim_start_matches('-');
        return Some(format!(
            "there is no option `{option}`: `standby` takes the options of the server: write `--backup-{name}`"
        ));
    }
    let is_of_restore = arguments.get(1).is_some_and(|it| it == "restore");
    if is_of_restore && (DIRECTORY.contains(&option.as_str()) || option == "--data-dir") {
        return Some(format!(
            "there is no option `{option}`: the directory follows the backup: `liteio restore LOCATION DIR`"
        ));
    }
    let (_, instead) = OPTIONS.iter().find(|(options, _)| options.contains(&option.as_str()))?;
    Some(format!("there is no option `{option}`: {instead}"))
}

/// The option of `program` that a mistyped one probably stands for. clap's own advice misses short ones, such as `--log` for `--lgo`.
pub(super) fn nearest_option(
    error: &clap::Error,
    arguments: &[OsString],
    mut program: clap::Command,
) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let mistyped = option.strip_prefix("--")?;
    // The options of commands are defined by that.
    program.build();
    let mut command = &program;
    for word in arguments.iter().skip(1).take_while(|it| *it != "--") {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    nearest(mistyped, command.get_arguments().filter_map(|it| it.get_long())).map(str::to_owned)
}

/// The advice about the value of a flag, which takes none: `--memory=true`.
pub(super) fn of_a_flag(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
    let value = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => value.to_ascii_lowercase(),
        _ => return None,
    };
    Some(match ["false", "off", "no", "0"].contains(&value.as_str()) {
        true => format!("leave `{flag}` out"),
        false => format!("write `{flag}` alone"),
    })
}

/// The line about a word in the place of a command, if it is known what was meant.
pub(super) fn instead(arguments: &[OsString]) -> Option<String> {
    of_word(arguments.get(1)?.to_str()?)
}

/// The line about `backup FROM TO`, as `cp` takes it.
pub(super) fn of_copy(arguments: &[OsString]) -> Option<String> {
    let [_, command, from, to] = arguments else { return None };
    let (from, to) = (from.to_str()?, to.to_str()?);
    (command == "backup").then(|| format!("write `liteio backup copy --data-dir {from} {to}`"))
}

/// The line about this word in the place of a command, if it is known what was meant.
pub(super) fn of_word(word: &str) -> Option<String> {
    if word.starts_with('-') {
        return None;
    }
    if let Some((_, instead)) = GUESSES.iter().find(|(words, _)| words.contains(&word)) {
        return Some(format!("there is no command `{word}`: {instead}"));
    }
    let client = liteio_client::command();
    let of_client = |verb: &clap::Command| {
        verb.get_name() == word || verb.get_all_aliases().any(|alias| alias == word)
    };
    if client.get_subcommands().any(of_client) {
        return Some(format!("`{word}` is a command of the client: `liteio client {word}`"));
    }
    // As `minio server DIR` and other servers take it.
    (word.contains('/') || Path::new(word).is_dir()).then(|| {
        format!("there is no command {word:?}: `liteio server {word}`, or `liteio --data-dir {word}`, serves a directory")
    })
}
