//! Commands and options of `mc` and of other clients that this one does not have, and what to use instead.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Commands, and what to use instead.
const ABSENT: [(&[&str], &str); 17] = [
    (
        &["sql"],
        "S3 Select is not supported: read the object with `cat`, or query it with a program that reads S3, such as DuckDB",
    ),
    (&["tree"], "use `ls --recursive TARGET`, or `find TARGET`"),
    (&["download"], "use `get ALIAS/BUCKET/KEY FILE`, or `cat`"),
    (&["upload", "copy"], "use `put FILE ALIAS/BUCKET/KEY`, or `pipe` for standard input"),
    (&["move", "rename"], "use `mv SOURCE TARGET`"),
    (&["sync"], "use `mirror SOURCE TARGET`, with `--overwrite` and `--remove`"),
    (&["list", "dir"], "use `ls TARGET`"),
    (&["delete", "del", "remove"], "use `rm TARGET` for objects, `rb TARGET` for buckets"),
    (&["mkdir", "create", "make-bucket", "bucket"], "use `mb ALIAS/BUCKET`"),
    (
        &["undo"],
        "use `cp --version-id ID` to bring back a version, or `rm --version-id ID` to remove a delete marker: `ls --versions` shows them",
    ),
    (&["batch"], "use `mirror`, `cp --recursive`, or `replicate`"),
    (
        &["idp"],
        "issuers of OpenID Connect are options of the server (--oidc-issuer, --console-oidc); LDAP is not supported",
    ),
    (
        &["user", "group", "policies", "accesskey", "info", "trace"],
        "it is a command of `admin`: `admin --help` lists them",
    ),
    (
        &["vectors", "vector", "s3vectors"],
        "use `aws s3vectors`, or boto3 with the client `s3vectors`: docs/vectors.md has examples with all options of queries",
    ),
    (&["od"], "use `cp`, which shows the speed, or `ping` for the response time"),
    (
        &["support", "license", "update", "session", "inventory", "table"],
        "it is for MinIO's servers and programs only: use MinIO's `mc`",
    ),
    (
        &["s3", "s3api"],
        "this is a client like `mc`: use `aws s3` with --endpoint-url, or `ls`, `cp`, `mb` here",
    ),
];

/// Commands of commands, and what to use instead.
const ABSENT_BELOW: [(&str, &[&str], &str); 3] = [
    (
        "share",
        &["list", "ls"],
        "the URLs are kept nowhere: make new ones with `share download TARGET` or `share upload TARGET`; the former work until \
         they expire",
    ),
    (
        "alias",
        &["import"],
        "use `alias set NAME URL ACCESSKEY SECRETKEY`, or a variable MC_HOST_NAME",
    ),
    ("alias", &["export", "e"], "the aliases with their keys are in ~/.mc/config.json"),
];

/// Options, the commands that have them in `mc` (all if there are none here), and what to use instead.
const ABSENT_OPTIONS: [(&[&str], &[&str], &str); 15] = [
    (
        &["--active-active", "--multi-master"],
        &["mirror"],
        "use `mirror --watch --overwrite` in one direction, or `replicate add` on both sides",
    ),
    (
        &["--rewind"],
        &[],
        "`ls --versions` shows the versions with their times, and --version-id takes one of them",
    ),
    (
        &["--enc-c", "--encrypt-key"],
        &[],
        "use `aws s3 cp` with --sse-c and --sse-c-key for objects with keys of clients (SSE-C)",
    ),
    (
        &["--enc-s3", "--enc-kms", "--encrypt"],
        &[],
        "use `encrypt set` for the new objects of a bucket",
    ),
    (
        &["--exec"],
        &["find"],
        "pipe the names into a program: `find TARGET | xargs -I{} COMMAND {}`",
    ),
    (
        &["--regex"],
        &["find"],
        "use --name or --path with a pattern, or pipe the names: `find TARGET | grep -E REGEX`",
    ),
    (&["--print"], &["find"], "use --json, which prints all properties"),
    (&["--watch"], &["find"], "use `watch TARGET`"),
    (
        &["--metadata"],
        &["find"],
        "use `stat --recursive --json TARGET`, and select among its lines",
    ),
    (&["--tags"], &["find"], "pipe the names: `find TARGET | xargs -I{} mc tag list {}`"),
    (
        &["--retention-mode", "--retention-duration"],
        &[],
        "use `retention set` for the copy, or `retention set --default` for the new objects of a bucket",
    ),
    (&["--legal-hold"], &[], "use `legalhold set` for the copy"),
    (&["--continue", "-c"], &["cp", "mv"], "use `mirror`, which leaves out what is there"),
    (
        &["--exclude-storageclass"],
        &["mirror"],
        "objects of all classes are mirrored: `ls --recursive --json SOURCE` shows their classes, and --exclude takes names",
    ),
    (
        &["--recursive", "-r"],
        &["tag"],
        "pipe the names: `find TARGET | xargs -I{} mc tag set {} TAGS`",
    ),
];

/// The line about a word that is no command, or about an option that a command does not have, if it is known
/// what to say.
pub(super) fn instead(
    error: &clap::Error,
    arguments: &[OsString],
    program: &str,
) -> Option<String> {
    let commands = commands(arguments);
    match error.kind() {
        ErrorKind::InvalidSubcommand => of_command(error, arguments, &commands),
        ErrorKind::UnknownArgument => of_option(error, &commands, program),
        _ => None,
    }
}

fn of_command(error: &clap::Error, arguments: &[OsString], commands: &[String]) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    // `share list download` has the name of a command behind the word.
    let below = ABSENT_BELOW.iter().find(|(command, words, _)| {
        commands.first().is_some_and(|it| it == command) && words.contains(&word.as_str())
    });
    if let Some((command, _, instead)) = below {
        return Some(super::elsewhere(&format!("{command} {word}"), instead).to_string());
    }
    // Words of commands of commands are others: `tag get`.
    let first = arguments.iter().skip(1).find(|it| !it.to_string_lossy().starts_with('-'));
    if first.is_none_or(|it| it != word.as_str()) {
        return None;
    }
    let (_, instead) = ABSENT.iter().find(|(words, _)| words.contains(&word.as_str()))?;
    Some(super::elsewhere(word, instead).to_string())
}

fn of_option(error: &clap::Error, commands: &[String], program: &str) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if !option.starts_with('-') {
        return None;
    }
    let known = ABSENT_OPTIONS.iter().find(|(options, of, _)| {
        let is_of = of.is_empty() || commands.first().is_some_and(|it| of.contains(&it.as_str()));
        is_of && options.contains(&option.as_str())
    });
    if let Some((_, _, instead)) = known {
        return Some(
            super::elsewhere(option, &instead.replace(" mc ", &format!(" {program} "))).to_string(),
        );
    }
    // It may be mistyped, or be one of another command.
    if in_lines(error).iter().any(|line| line.starts_with(TIP)) {
        return None;
    }
    let mut words = vec![program];
    words.extend(commands.iter().map(String::as_str));
    let help = format!("`{} --help` lists the options", words.join(" "));
    Some(super::elsewhere(option, &help).to_string())
}

const TIP: &str = "tip: ";

/// The lines of an error without its usage, and without the advice to take an option for a name behind `--`.
pub(super) fn in_lines(error: &clap::Error) -> Vec<String> {
    let text = error.render().to_string();
    text.lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:"))
        .filter(|line| !line.is_empty() && !line.starts_with("tip: to pass "))
        .map(ToOwned::to_owned)
        .collect()
}

/// The names of the commands in the arguments.
fn commands(arguments: &[OsString]) -> Vec<String> {
    let all = super::command();
    let (mut command, mut names) = (&all, Vec::new());
    for word in arguments.iter().skip(1) {
        if let Some(found) = command.find_subcommand(word) {
            names.push(found.get_name().to_owned());
            command = found;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "liteio client";

    fn error(line: &str) -> (clap::Error, Vec<OsString>) {
        let words = std::iter::once(PROGRAM).chain(line.split(' '));
        let arguments: Vec<OsString> = words.map(OsString::from).collect();
        let command = super::super::command().name(PROGRAM).bin_name(PROGRAM);
        (command.try_get_matches_from(&arguments).expect_err(line), arguments)
    }

    #[test]
    fn what_is_not_here_is_told_with_what_to_use_instead() {
        for (line, name, expected) in [
            ("mirror --active-active a b", "--active-active", "mirror --watch --overwrite"),
            ("--json ls --rewind 7d a/b", "--rewind", "--versions"),
            ("cp --enc-c=a/b=k x a/b", "--enc-c", "--sse-c"),
            ("find a/b --exec cmd", "--exec", "xargs"),
            ("find a/b --watch", "--watch", "watch TARGET"),
            ("tag list --recursive a/b", "--recursive", "xargs -I{} liteio client tag set"),
            ("share list", "share list", "share download"),
            ("share list download", "share list", "share download"),
            ("share ls --json upload", "share ls", "share upload"),
            ("alias import a", "alias import", "alias set"),
            ("sql a/b", "sql", "DuckDB"),
            (
                "version enable --exclude-folders a/b",
                "--exclude-folders",
                "`liteio client version enable --help`",
            ),
            ("ls -z a", "-z", "`liteio client ls --help`"),
            ("--unknown ls a", "--unknown", "--help`"),
        ] {
            let (error, arguments) = error(line);
            let told = instead(&error, &arguments, PROGRAM).expect(line);
            assert!(told.starts_with(&format!("`{name}` is not part of this client; ")), "{told}");
            assert!(told.contains(expected), "{told}");
        }
    }

    #[test]
    fn mistyped_words_and_options_keep_the_advice_of_the_parser() {
        for (line, expected) in [
            ("mirror --overwrit a b", "'--overwrite'"),
            ("--summarize ls a/b", "'ls --summarize' exists"),
            ("mirorr a b", "'mirror'"),
            ("mirror a b c", "'c'"),
        ] {
            let (error, arguments) = error(line);
            assert_eq!(instead(&error, &arguments, PROGRAM), None, "{line}");
            let told = in_lines(&error).join("; ");
            assert!(told.contains(expected) && !told.contains("as a value"), "{told}");
        }
    }
}
