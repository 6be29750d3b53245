//! Commands of `mc admin` that this client does not have, and what to use instead.

use crate::error::Error;
use crate::verbs::elsewhere;

/// The first words of commands, and what to use instead.
const ABSENT: [(&[&str], &str); 12] = [
    (
        &["bucket", "quota"],
        "use `quota set ALIAS/BUCKET --size 10GiB`, `quota info` and `quota clear`",
    ),
    (
        &["bucket", "remote"],
        "use `replicate add ALIAS/BUCKET --remote-bucket http(s)://ACCESSKEY:SECRETKEY@HOST/BUCKET`, which makes the \
         target with the rule, `replicate ls` and `replicate rm`",
    ),
    (
        &["service"],
        "a LiteIO is restarted with its process or its container; use MinIO's `mc` for a MinIO",
    ),
    (
        &["update"],
        "a LiteIO is updated with its package or its image; use MinIO's `mc` for a MinIO",
    ),
    (
        &["heal"],
        "`liteio verify` and `liteio repair` are for the data directory of a LiteIO; use MinIO's `mc` for a MinIO",
    ),
    (&["logs"], "a LiteIO logs to the standard error of its process; use MinIO's `mc` for a MinIO"),
    (
        &["console"],
        "a LiteIO logs to the standard error of its process; use MinIO's `mc` for a MinIO",
    ),
    (&["top"], "use `admin trace`, or the metrics of the server"),
    (&["tier"], "use MinIO's `mc ilm tier`"),
    (
        &["idp"],
        "issuers of OpenID Connect are options of the server (--oidc-issuer, --console-oidc); LDAP is not supported",
    ),
    (
        &["replicate"],
        "a LiteIO has no site replication: use `replicate add` for each bucket, and MinIO's `mc` for a MinIO",
    ),
    (&["quota"], "use `quota set ALIAS/BUCKET --size 10GiB`"),
];

/// The error about a command that is not here.
pub(super) fn instead(arguments: &[String]) -> Error {
    let is_meant = |words: &&[&str]| {
        words.len() <= arguments.len() && words.iter().zip(arguments).all(|(word, it)| it == word)
    };
    match ABSENT.iter().find(|(words, _)| is_meant(words)) {
        Some((words, instead)) => elsewhere(&format!("admin {}", words.join(" ")), instead),
        None => {
            let name = arguments.first().map_or("", String::as_str);
            elsewhere(&format!("admin {name}"), "use MinIO's `mc` for a MinIO")
        }
    }
}
