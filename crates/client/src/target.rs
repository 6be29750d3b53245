//! Targets on the command line: `ALIAS[/BUCKET[/KEY]]`, or the path of a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Error;
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

/// A file or directory, as it was written. A slash at the end denotes a directory.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    pub(crate) text: String,
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
        let (name, rest) = text.split_once('/').unwrap_or((text, ""));
        let Some((alias, _)) = session.aliases.get(name)? else {
            let local = Local { text: text.to_owned() };
            return if local.looks_like_alias() {
                Err(no_alias(text))
            } else {
                Ok(Target::Local(local))
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
            Target::Local(Local { text }) => Err(no_alias(&text)),
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
            Target::Local(local) => local.text.clone(),
        }
    }

    /// The target with `more` behind it, after a slash.
    pub(crate) fn join(&self, more: &str) -> Target {
        let between = |text: &str| if text.is_empty() || text.ends_with('/') { "" } else { "/" };
        match self {
            Target::Remote(remote) if remote.bucket.is_empty() => {
                let (bucket, key) = more.split_once('/').unwrap_or((more, ""));
                let (bucket, key) = (bucket.to_owned(), key.to_owned());
                Target::Remote(Remote { bucket, key, ..remote.clone() })
            }
            Target::Remote(remote) => {
                let key = format!("{}{}{more}", remote.key, between(&remote.key));
                Target::Remote(Remote { key, ..remote.clone() })
            }
            Target::Local(Local { text }) => {
                Target::Local(Local { text: format!("{text}{}{more}", between(text)) })
            }
        }
    }

    /// The target as a folder, with a slash at the end.
    pub(crate) fn folder(&self) -> Target {
        match self {
            Target::Remote(remote) => Target::Remote(remote.folder()),
            Target::Local(_) => self.join(""),
        }
    }

    pub(crate) fn ends_with_slash(&self) -> bool {
        match self {
            Target::Remote(remote) => remote.key.is_empty() || remote.key.ends_with('/'),
            Target::Local(local) => local.text.ends_with('/'),
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

    pub(crate) fn with_key(&self, key: &str) -> Remote {
        Remote { key: key.to_owned(), ..self.clone() }
    }

    pub(crate) fn folder(&self) -> Remote {
        let slash = if self.key.is_empty() || self.key.ends_with('/') { "" } else { "/" };
        self.with_key(&format!("{}{slash}", self.key))
    }
}

impl Local {
    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.text)
    }

    pub(crate) fn of(path: &Path) -> Local {
        Local { text: path.to_string_lossy().into_owned() }
    }

    /// `true` for `NAME/REST` if no directory NAME exists here.
    fn looks_like_alias(&self) -> bool {
        let mut parts = self.text.trim_end_matches('/').splitn(2, '/');
        let first = parts.next().unwrap_or_default();
        parts.next().is_some() && crate::session::is_name(first) && !PathBuf::from(first).exists()
    }
}

fn no_alias(text: &str) -> Error {
    let name = text.split('/').next().unwrap_or(text);
    Error::refused(format!(
        "'{name}' is no alias; make it with `alias set {name} URL ACCESSKEY SECRETKEY`, or write \
         ./{text} for a path"
    ))
}
