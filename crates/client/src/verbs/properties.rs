//! Metadata and tags in the form of the command line.

use crate::cli::PropertyArgs;
use crate::error::Error;
use crate::s3::decoded;
use crate::transfer::{Kept, Properties};

/// Attributes with headers of their own. All others become user metadata.
const HEADERS: [&str; 6] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
];

pub(super) fn properties(
    arguments: &PropertyArgs,
    no_multipart: bool,
) -> Result<Properties, Error> {
    let mut headers = arguments.attr.as_deref().map_or(Ok(Vec::new()), attributes)?;
    for pair in &arguments.header {
        // A value may have a semicolon, which parts attributes.
        headers.push(attribute(pair)?);
    }
    Ok(Properties {
        attributes: headers,
        tags: arguments.tags.as_deref().map_or(Ok(Vec::new()), tags)?,
        storage_class: arguments.storage_class.clone(),
        no_multipart,
        sizes: None,
        parts_at_once: None,
        kept: Kept::Nothing,
    })
}

fn attributes(text: &str) -> Result<Vec<(String, String)>, Error> {
    let pairs = text.split(';').filter(|it| !it.trim().is_empty());
    pairs.map(attribute).collect()
}

fn attribute(pair: &str) -> Result<(String, String), Error> {
    match pair.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            let name = name.trim().to_ascii_lowercase();
            let name = match HEADERS.contains(&name.as_str()) || name.starts_with("x-amz-") {
                true => name,
                false => format!("x-amz-meta-{name}"),
            };
            if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
                return Err(Error::refused(format!("'{pair}' has no valid name for --attr")));
            }
            Ok((name, value.to_owned()))
        }
        _ => Err(Error::refused(format!(
            "'{pair}' is no attribute; write --attr KEY1=VALUE1;KEY2=VALUE2"
        ))),
    }
}

/// Pairs in the form of a query, encoded or not.
pub(super) fn tags(text: &str) -> Result<Vec<(String, String)>, Error> {
    let wrong =
        |pair: &str| Error::refused(format!("'{pair}' is no tag; write KEY1=VALUE1&KEY2=VALUE2"));
    let pairs = text.split('&').filter(|it| !it.is_empty());
    pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let plain = |text: &str| decoded(text).ok_or_else(|| wrong(pair));
            let (key, value) = (plain(key)?, plain(value)?);
            if key.is_empty() { Err(wrong(pair)) } else { Ok((key, value)) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_headers_or_metadata() {
        let found = attributes("Cache-Control=max-age=9,min-fresh=1;Key1=a b;").expect("valid");
        let expected = [("cache-control", "max-age=9,min-fresh=1"), ("x-amz-meta-key1", "a b")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found, expected);
        for text in ["a", "=b", "a b=c", "a\nb=c"] {
            assert!(attributes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn tags_are_pairs_of_a_query() {
        let found = tags("a=1&b=x%26y&c").expect("valid");
        let expected = [("a", "1"), ("b", "x&y"), ("c", "")];
        assert_eq!(found, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert!(tags("=1").is_err());
    }
}
