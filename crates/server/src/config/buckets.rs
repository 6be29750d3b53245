//! Resolves the buckets and data to create at startup, and the default CORS origins.

use super::{ConfigError, Preparation, Profile, error};
use crate::cli::ServerArgs;

pub(super) fn resolve_preparation(
    arguments: &ServerArgs,
    profile: Option<Profile>,
) -> Result<Preparation, ConfigError> {
    // A list may end with a separator.
    let given = arguments.bucket.iter().filter(|text| !text.trim().is_empty());
    let buckets = given.map(|text| {
        let named = |reason| ConfigError(format!("--bucket (LITEIO_BUCKET): {reason}"));
        text.parse().map_err(named)
    });
    for (path, name) in [
        (&arguments.bucket_file, "--bucket-file (LITEIO_BUCKET_FILE)"),
        (&arguments.seed, "--seed (LITEIO_SEED)"),
    ] {
        if path.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            return error(format!("{name} is empty: give a path"));
        }
    }
    Ok(Preparation {
        buckets: buckets.collect::<Result<_, _>>()?,
        bucket_file: arguments.bucket_file.clone(),
        seed: arguments.seed.clone(),
        directories_are_buckets: profile == Some(Profile::Minio),
    })
}

/// The origins allowed on buckets without CORS rules.
pub(super) fn resolve_cors_origins(origins: &[String]) -> Result<Vec<String>, ConfigError> {
    let given = origins.iter().map(|origin| origin.trim()).filter(|origin| !origin.is_empty());
    let checked = given.map(|origin| match is_origin(origin) {
        true => Ok(origin.to_owned()),
        false => error(format!(
            "--cors-origin (LITEIO_CORS_ORIGIN): {origin:?} is not an origin: give SCHEME://HOST[:PORT] without a \
             slash at the end, with one * for any text at most, or * for every origin{}",
            question(origin)
        )),
    });
    checked.collect()
}

/// The question for the origin that was meant by a host without a scheme, or a URL with a path.
fn question(origin: &str) -> String {
    let (scheme, rest) = origin.split_once("://").unwrap_or(("", origin));
    let host = rest.split('/').next().unwrap_or_default();
    let scheme = match scheme {
        "" if host.starts_with("localhost") || host.contains(':') => "http",
        "" => "https",
        given => given,
    };
    let meant = format!("{scheme}://{host}");
    if is_origin(&meant) { format!("; did you mean {meant}?") } else { String::new() }
}

/// True for `*`, `null`, or a scheme and a host without a path.
fn is_origin(origin: &str) -> bool {
    let is_text = origin.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',');
    let host = origin.split_once("://").map(|(_, host)| host);
    let has_host = host.is_some_and(|host| !host.is_empty() && !host.contains('/'));
    let is_known = matches!(origin, "*" | "null") || has_host;
    is_text && is_known && origin.matches('*').count() <= 1
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn bad_values_name_their_setting() {
        let buckets =
            |text: &str| ServerArgs { bucket: vec![text.into()], ..ServerArgs::default() };
        let empty = Some(PathBuf::new());
        let rows = [
            (buckets("NOT"), "--bucket (LITEIO_BUCKET): "),
            (buckets("abc:what"), "--bucket (LITEIO_BUCKET): "),
            (ServerArgs { bucket_file: empty.clone(), ..ServerArgs::default() }, "--bucket-file"),
            (ServerArgs { seed: empty, ..ServerArgs::default() }, "--seed"),
        ];
        for (arguments, told) in rows {
            let refused = resolve_preparation(&arguments, None).expect_err(told).to_string();
            assert!(refused.starts_with(told), "{refused}");
        }
        let none = resolve_preparation(&buckets(" "), None).expect("nothing");
        assert_eq!(none, Preparation::default());
    }

    #[test]
    fn origins_have_a_scheme_and_a_host() {
        for origin in
            ["*", "null", "http://a", "https://*.example.com", "app://.", "http://[::1]:80"]
        {
            assert_eq!(resolve_cors_origins(&[origin.into()]), Ok(vec![origin.to_owned()]));
        }
        for origin in
            ["a", "http://", "http://a/", "http://a/b", "http://*.*", "http://ä", "a b://c"]
        {
            let refused = resolve_cors_origins(&[origin.into()]).expect_err(origin).to_string();
            assert!(refused.starts_with("--cors-origin (LITEIO_CORS_ORIGIN): "), "{refused}");
            assert!(refused.contains("without a slash at the end"), "{refused}");
        }
        for (origin, told) in [
            ("localhost:3000", "every origin; did you mean http://localhost:3000?"),
            ("app.example.com", "every origin; did you mean https://app.example.com?"),
            ("http://localhost:3000/app/", "every origin; did you mean http://localhost:3000?"),
            ("http://*.*", "every origin"),
        ] {
            let refused = resolve_cors_origins(&[origin.into()]).expect_err(origin).to_string();
            assert!(refused.ends_with(told), "{refused}");
        }
        assert_eq!(resolve_cors_origins(&[String::new()]), Ok(Vec::new()));
    }
}
