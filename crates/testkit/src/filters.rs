//! Names in filters of the history: a mistyped one would match nothing, and a test would wait for its time limit.

use liteio_s3::Level;
use liteio_store::EventKind;
use liteio_wire::nearest::{nearest, nearest_within};
use liteio_wire::reply::ApiError;

use super::glob::Glob;
use super::guard::bad_request;
use super::operation::level_of;

/// Characters of a wrong text that a message shows.
const SHOWN_CHARACTERS_MAX: usize = 100;
/// Beginnings of the operations of the admin API, of which there is no table.
const ADMIN: [&str; 2] = ["Admin", "KMS"];
/// Differences of a mistyped event from its name: with three, `ObjectMade` would stand for `ObjectAcl`.
const EVENT_DIFFERENCES_MAX: usize = 2;

/// Refuses a pattern that fits none of these operations, nor one of the admin API: no request will have it.
///
/// # Errors
/// `InvalidRequest`, with the name that was meant.
pub(super) fn check_operation(pattern: &str, known: &[&'static str]) -> Result<(), ApiError> {
    let start = pattern.split(['*', '?']).next().unwrap_or_default();
    let is_cut = start.len() < pattern.len();
    let is_of_admin = |name: &&str| start.starts_with(*name) || (is_cut && name.starts_with(start));
    if ADMIN.iter().any(is_of_admin) {
        return Ok(());
    }
    match unknown_operation(pattern, known) {
        Some(unknown) => Err(bad_request(format!(
            "No request will have the operation {}: {}",
            unknown.shown, unknown.advice
        ))),
        None => Ok(()),
    }
}

/// Refuses a pattern of a bucket or a key beside operations whose requests name none: no request would match both.
///
/// # Errors
/// `InvalidRequest`, with the pattern to leave out.
pub(super) fn check_names(
    operation: &str,
    bucket: Option<&str>,
    key: Option<&str>,
    known: &[&'static str],
) -> Result<(), ApiError> {
    let glob = Glob::new(operation);
    let fitting = known.iter().filter(|name| glob.matches(name));
    let Some(level) = fitting.map(|name| level_of(name)).max() else { return Ok(()) };
    for (name, pattern, needed) in [("bucket", bucket, Level::Bucket), ("key", key, Level::Key)] {
        // The name of such a request is empty.
        if level < needed && pattern.is_some_and(|pattern| !Glob::new(pattern).matches("")) {
            return Err(bad_request(format!(
                "No request of {operation:?} is for one {name}, so that none would match: leave {name} out."
            )));
        }
    }
    Ok(())
}

/// A pattern that fits no operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnknownOperation {
    /// The pattern in quotation marks, without its end if it is long.
    pub(super) shown: String,
    /// The name to give instead, or the form of names.
    pub(super) advice: String,
}

/// The advice about a pattern that fits none of these operations; `None` if it fits one.
pub(super) fn unknown_operation(pattern: &str, known: &[&'static str]) -> Option<UnknownOperation> {
    let fits = |pattern: &str| {
        let glob = Glob::new(pattern);
        known.iter().any(|name| glob.matches(name))
    };
    if fits(pattern) {
        return None;
    }
    // Actions of policies have a service in front, and classes of the SDK for JavaScript an ending.
    let bare = pattern.rsplit(':').next().unwrap_or(pattern);
    let bare = bare.strip_suffix("Command").unwrap_or(bare);
    let meant = if fits(bare) { Some(bare) } else { nearest(bare, known.iter().copied()) };
    let advice = match meant {
        Some(meant) => format!("did you mean {meant:?}?"),
        None => {
            "operations have the names of AWS, such as \"GetObject\", and a pattern has * and ?."
                .to_owned()
        }
    };
    let shown: String = pattern.chars().take(SHOWN_CHARACTERS_MAX).collect();
    Some(UnknownOperation { shown: format!("{shown:?}"), advice })
}

/// Methods that a server answers, or refuses by name.
const METHODS: [&str; 7] = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];

/// Refuses a method in small letters, or one that HTTP does not have.
///
/// # Errors
/// `InvalidRequest`, with the method that was meant, or all methods.
pub(super) fn method_pattern(pattern: &str) -> Result<Glob, ApiError> {
    let glob = Glob::new(pattern);
    if METHODS.iter().any(|method| glob.matches(method)) {
        return Ok(glob);
    }
    // Also of a pattern in small letters.
    let in_capitals = pattern.to_ascii_uppercase();
    let capitals = Glob::new(&in_capitals);
    let meant = match METHODS.iter().any(|method| capitals.matches(method)) {
        true => Some(&*in_capitals),
        false => nearest(pattern, METHODS),
    };
    let advice = match meant {
        Some(meant) => format!("did you mean {meant:?}?"),
        None => format!("methods are {}.", METHODS.join(", ")),
    };
    Err(bad_request(format!("No request will have the method {pattern:?}: {advice}")))
}

/// Refuses what no status of HTTP is, such as `4xx`.
///
/// # Errors
/// `InvalidRequest`, with the form of a pattern.
pub(super) fn status_pattern(pattern: &str) -> Result<Glob, ApiError> {
    let glob = Glob::new(pattern);
    // 0 is that of a request whose client has gone.
    if (100..600).chain([0]).any(|status: u16| glob.matches(&status.to_string())) {
        return Ok(glob);
    }
    Err(bad_request(format!(
        "No request will have the status {pattern:?}: give a number such as 404, or 4?? for all from 400 to 499."
    )))
}

/// The events of a pattern, which may leave `s3:` out, as the records of events do.
///
/// # Errors
/// `InvalidRequest` for a pattern that no event has, with the one that was meant, or all families of events.
pub(super) fn event_names(pattern: &str) -> Result<Glob, ApiError> {
    let names: Vec<String> =
        EventKind::ALL.iter().map(|kind| format!("s3:{}", kind.name())).collect();
    let is_known = |glob: &Glob| names.iter().any(|name| glob.matches(name));
    for pattern in [pattern, &format!("s3:{pattern}")] {
        let glob = Glob::new(pattern);
        if is_known(&glob) {
            return Ok(glob);
        }
    }
    let families = names.iter().filter_map(|name| Some(format!("{}:*", name.rsplit_once(':')?.0)));
    let mut families: Vec<String> = families.filter(|family| family != "s3:*").collect();
    families.dedup();
    let bare = pattern.strip_prefix("s3:").unwrap_or(pattern);
    let known = names.iter().chain(&families).map(String::as_str);
    let meant = nearest_within(EVENT_DIFFERENCES_MAX, &format!("s3:{bare}"), known);
    let advice = match meant {
        Some(meant) => format!("did you mean {meant:?}?"),
        None => format!("events are {}.", families.join(", ")),
    };
    Err(bad_request(format!("No event will have the name {pattern:?}: {advice}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["GetObject", "PutObject", "ListBuckets", "CreateTable"];

    #[test]
    fn the_name_that_was_meant_is_told() {
        for (pattern, expected) in [
            ("GetObjct", Some("did you mean \"GetObject\"?")),
            ("putobject", Some("did you mean \"PutObject\"?")),
            ("PutObjectCommand", Some("did you mean \"PutObject\"?")),
            ("getObjectCommand", Some("did you mean \"GetObject\"?")),
            ("Put*Command", Some("did you mean \"Put*\"?")),
            ("s3:PutObject", Some("did you mean \"PutObject\"?")),
            ("s3:Put*", Some("did you mean \"Put*\"?")),
            ("Foo", Some("operations have the names of AWS")),
            ("Foo*", Some("operations have the names of AWS")),
            ("PutObject", None),
            ("*", None),
            ("?utObject", None),
        ] {
            let told = unknown_operation(pattern, &KNOWN).map(|unknown| unknown.advice);
            assert_eq!(told.is_some(), expected.is_some(), "{pattern}: {told:?}");
            let told = told.unwrap_or_default();
            assert!(told.contains(expected.unwrap_or_default()), "{pattern}: {told}");
        }
    }

    #[test]
    fn a_long_pattern_is_shown_in_part() {
        let unknown = unknown_operation(&"x".repeat(5000), &KNOWN).expect("no operation");
        assert_eq!(unknown.shown.len(), SHOWN_CHARACTERS_MAX + 2);
    }

    #[test]
    fn the_method_that_was_meant_is_told() {
        for (pattern, told) in [
            ("put", Some("did you mean \"PUT\"?")),
            ("p*", Some("did you mean \"P*\"?")),
            ("GETS", Some("did you mean \"GET\"?")),
            ("PutObject", Some("methods are DELETE, GET, ")),
            ("PUT", None),
            ("P*", None),
        ] {
            let refused = method_pattern(pattern).err().map(|error| error.message().to_owned());
            assert_eq!(refused.is_some(), told.is_some(), "{pattern}: {refused:?}");
            let refused = refused.unwrap_or_default();
            assert!(refused.contains(told.unwrap_or_default()), "{pattern}: {refused}");
        }
    }

    #[test]
    fn names_that_no_request_of_the_operation_has_are_refused() {
        let known = [
            "CreateBucket",
            "DeleteObject",
            "DeleteObjects",
            "ListBuckets",
            "CreateVectorBucket",
            "PutVectors",
            "CreateUser",
        ];
        for (operation, bucket, key, is_taken) in [
            ("DeleteObjects", Some("b"), None, true),
            ("DeleteObjects", None, Some("k"), false),
            ("DeleteObjects", None, Some("*"), true),
            ("DeleteObject*", None, Some("k"), true),
            ("CreateBucket", None, Some("k"), false),
            ("Create*Bucket", None, Some("k"), false),
            ("ListBuckets", Some("b"), None, false),
            ("CreateVectorBucket", Some("b"), None, true),
            ("CreateVectorBucket", None, Some("i"), false),
            ("PutVectors", Some("b"), Some("i"), true),
            ("*", Some("b"), Some("k"), true),
            ("Admin*", Some("b"), None, true),
        ] {
            let checked = check_names(operation, bucket, key, &known);
            assert_eq!(checked.is_ok(), is_taken, "{operation} {bucket:?} {key:?}");
        }
    }

    #[test]
    fn operations_of_the_admin_api_are_taken_by_their_beginning() {
        for pattern in ["AdminAddUser", "Admin*", "Adm*", "KMSStatus", "*ServerInfo", "PutObject"] {
            assert!(check_operation(pattern, &KNOWN).is_ok(), "{pattern}");
        }
        for pattern in ["Foo", "Adm", "Foo*", "PutObjectCommand", "s3:PutObject"] {
            assert!(check_operation(pattern, &KNOWN).is_err(), "{pattern}");
        }
    }
}
