//! Targets on the command line: `ALIAS[/BUCKET[/KEY]]`, or the path of a file.

use std::path::Path;
use std::sync::Arc;

use crate::error::Error;
use crate::local::{Local, RelativeName};
use crate::s3::S3;
use crate::session::Session;

/// The place that a name denotes.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Remote(Remote),
    Local(Local),
}

/// A service, bucket or object. An empty bucket or key means none.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    pub(crate) alias: String,
    pub(crate) s3: Arc<S3>,
    pub(crate) bucket: String,
    pub(crate) key: String,
}

impl Target {
    /// Parses a name. A relative path whose first part does not exist is taken for an unknown
    /// alias.
    ///
    /// # Errors
    /// The name is ambiguous or unknown.
    pub(crate) fn parse(session: &Session, text: &str) -> Result<Target, Error> {
        if text.is_empty() {
            return Err(Error::refused("a target is empty; write ALIAS/BUCKET/KEY or a path"));
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            let reason = "targets are no URLs: make an alias of it with `alias set NAME URL \
                          ACCESSKEY SECRETKEY`, and write NAME/BUCKET/KEY";
            return Err(Error::refused(reason));
        }
        if let Some(place) = text.strip_prefix("s3://") {
            let reason = format!(
                "targets are ALIAS/BUCKET/KEY: write local/{place} for the server on this machine, \
                 or another alias of `alias list`"
            );
            return Err(Error::refused(reason));
        }
        let (name, rest) = text.split_once('/').unwrap_or((text, ""));
        let Some((alias, _)) = session.aliases.get(name)? else {
            return match looks_like_alias(text) {
                true => Err(no_alias(text)),
                false => Ok(Target::Local(Local::given(text))),
            };
        };
        let s3 = session.client(name, &alias)?;
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() && !key.is_empty() {
            return Err(Error::refused(format!("the bucket in '{text}' has no name")));
        }
        let (alias, bucket, key) = (name.to_owned(), bucket.to_owned(), key.to_owned());
        Ok(Target::Remote(Remote { alias, s3, bucket, key }))
    }

    /// Parses a name that must denote a service.
    ///
    /// # Errors
    /// There is no alias of this name.
    pub(crate) fn remote(session: &Session, text: &str) -> Result<Remote, Error> {
        match Target::parse(session, text)? {
            Target::Remote(remote) => Ok(remote),
            Target::Local(local) => Err(no_alias(local.text())),
        }
    }

    /// Parses a name that must denote a bucket or more.
    ///
    /// # Errors
    /// It is no alias, or no bucket follows it.
    pub(crate) fn bucket(session: &Session, text: &str) -> Result<Remote, Error> {
        let remote = Target::remote(session, text)?;
        if remote.bucket.is_empty() {
            let reason = format!("'{text}' names no bucket; write {}/BUCKET", remote.alias);
            return Err(Error::refused(reason));
        }
        Ok(remote)
    }

    /// Parses a name to write to.
    ///
    /// # Errors
    /// It names no bucket, or no alias.
    pub(crate) fn to_write(session: &Session, text: &str) -> Result<Target, Error> {
        match Target::parse(session, text)? {
            Target::Remote(remote) if remote.bucket.is_empty() => {
                let reason = format!("'{text}' names no bucket; write {}/BUCKET", remote.alias);
                Err(Error::refused(reason))
            }
            target => Ok(target),
        }
    }

    /// Name in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Target::Remote(remote) => remote.name(),
            Target::Local(local) => local.text().to_owned(),
        }
    }

    /// The place of a name below this folder. Names may come from a service.
    ///
    /// # Errors
    /// The name would lead elsewhere.
    pub(crate) fn place(&self, name: &str) -> Result<Target, Error> {
        match self {
            Target::Remote(remote) => remote.place(name).map(Target::Remote),
            Target::Local(local) => {
                let name = RelativeName::parse(name).map_err(Error::Refused)?;
                Ok(Target::Local(local.below(&name)))
            }
        }
    }

    /// The target as a folder, with a slash at the end.
    pub(crate) fn folder(&self) -> Target {
        match self {
            Target::Remote(remote) => Target::Remote(remote.folder()),
            Target::Local(local) => Target::Local(local.folder()),
        }
    }

    pub(crate) fn ends_with_slash(&self) -> bool {
        match self {
            Target::Remote(remote) => remote.key.is_empty() || remote.key.ends_with('/'),
            Target::Local(local) => local.ends_with_slash(),
        }
    }
}

impl Remote {
    pub(crate) fn name(&self) -> String {
        let Remote { alias, bucket, key, .. } = self;
        match (bucket.as_str(), key.as_str()) {
            ("", _) => alias.clone(),
            (_, "") => format!("{alias}/{bucket}"),
            _ => format!("{alias}/{bucket}/{key}"),
        }
    }

    /// A bucket of this service, by a name that the service tells.
    ///
    /// # Errors
    /// It is no name of a bucket.
    pub(crate) fn bucket(&self, name: &str) -> Result<Remote, Error> {
        check_bucket(name)?;
        Ok(Remote { bucket: name.to_owned(), key: String::new(), ..self.clone() })
    }

    /// The place of a name below this folder; below a service it begins with a bucket.
    fn place(&self, name: &str) -> Result<Remote, Error> {
        if self.bucket.is_empty() {
            let (bucket, key) = name.split_once('/').unwrap_or((name, ""));
            return Ok(self.bucket(bucket)?.with_key(key));
        }
        Ok(self.with_key(&format!("{}{name}", self.folder().key)))
    }

    pub(crate) fn with_key(&self, key: &str) -> Remote {
        Remote { key: key.to_owned(), ..self.clone() }
    }

    pub(crate) fn folder(&self) -> Remote {
        let slash = if self.key.is_empty() || self.key.ends_with('/') { "" } else { "/" };
        self.with_key(&format!("{}{slash}", self.key))
    }
}

/// `true` for `NAME/REST` if no directory NAME exists here.
fn looks_like_alias(text: &str) -> bool {
    let mut parts = text.trim_end_matches('/').splitn(2, '/');
    let first = parts.next().unwrap_or_default();
    parts.next().is_some() && crate::session::is_name(first) && !Path::new(first).exists()
}

/// Refuses a text that is no name of a bucket on any service, and could be read as another place.
fn check_bucket(name: &str) -> Result<(), Error> {
    let is_strange = |it: char| it.is_control() || matches!(it, '/' | '\\' | '?' | '#' | '%');
    if name.is_empty() || name == "." || name == ".." || name.contains(is_strange) {
        let name = name.escape_debug();
        return Err(Error::refused(format!("'{name}' cannot be the name of a bucket")));
    }
    Ok(())
}

fn no_alias(text: &str) -> Error {
    let name = text.split('/').next().unwrap_or(text);
    Error::refused(format!(
        "'{name}' is no alias; make it with `alias set {name} URL ACCESSKEY SECRETKEY`, or write \
         ./{text} for a path"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strange_names_of_buckets_are_refused() {
        for name in ["photos", "my.bucket", "Old_Bucket", "a--x-s3", "bücher"] {
            check_bucket(name).expect(name);
        }
        for name in ["", ".", "..", "a/b", "../x", "a\\b", "a\0", "a\n", "a?policy", "a#b", "%2e"] {
            let reason = check_bucket(name).expect_err(name).to_string();
            assert!(!reason.contains(['\n', '\0']), "{reason}");
        }
    }
}
