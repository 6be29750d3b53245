//! Commands of `mc` and of other clients that this one does not have, and what to use instead.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Commands, and what to use instead.
const ABSENT: [(&[&str], &str); 17] = [
    (
        &["sql"],
        "S3 Select is not supported: read the object with `cat`, or query it with a program that reads S3, such as DuckDB",
    ),
    (&["tree"], "use `ls --recursive TARGET`, or `find TARGET`"),
    (&["get", "download"], "use `cp ALIAS/BUCKET/KEY FILE`, or `cat`"),
    (&["put", "upload", "copy"], "use `cp FILE ALIAS/BUCKET/KEY`, or `pipe` for standard input"),
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

/// The line about the word in the place of a command, if it is known what does the same.
pub(super) fn instead(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    // Words of commands of commands are others: `tag get`.
    let first = arguments.iter().skip(1).find(|it| !it.to_string_lossy().starts_with('-'));
    if error.kind() != ErrorKind::InvalidSubcommand || first.is_none_or(|it| it != word.as_str()) {
        return None;
    }
    let (_, instead) = ABSENT.iter().find(|(words, _)| words.contains(&word.as_str()))?;
    Some(super::elsewhere(word, instead).to_string())
}
