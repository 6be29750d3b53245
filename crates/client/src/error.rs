//! The only error type, written for the user: one line with the reason and, if there is one, the
//! remedy.

use std::io;
use std::path::{Path, PathBuf};

/// A failure of a verb, or of one object of many.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The service answered with an error.
    #[error("{0}")]
    Service(ServiceError),
    /// No answer, or an incomplete one.
    #[error("{}", with_remedy(reason, *remedy))]
    Transport { reason: String, remedy: Option<&'static str>, again: Again },
    /// A file or directory.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// A request of the user that cannot be fulfilled as it is.
    #[error("{0}")]
    Refused(String),
    /// Standard output is closed or full.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
}

/// Requests that may be repeated after a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// All requests: no byte was sent.
    All,
    /// Idempotent requests.
    Repeatable,
    /// No request: it would fail again.
    None,
}

/// An error of S3.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServiceError {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) message: String,
    /// The region that the service expects, if it names one.
    pub(crate) region: Option<String>,
    /// The id of the request in the log of the service, if it tells one.
    pub(crate) request_id: Option<String>,
}

impl Error {
    pub(crate) fn refused(reason: impl Into<String>) -> Error {
        Error::Refused(reason.into())
    }

    pub(crate) fn transport(reason: impl Into<String>) -> Error {
        Error::Transport { reason: reason.into(), remedy: None, again: Again::Repeatable }
    }

    /// A constructor of errors about this path.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_path_buf();
        move |source| Error::File { path, source }
    }

    /// The failure in one line, for programs that have no aliases: without the remedies of the command
    /// line.
    pub(crate) fn line(&self) -> String {
        match self {
            Error::Service(error) => error.reason(),
            // Of an untrusted certificate.
            Error::Transport { reason, remedy: Some(_), again: Again::None } => {
                format!(
                    "{reason}; add its authority to the file that SSL_CERT_FILE or AWS_CA_BUNDLE names"
                )
            }
            Error::Transport { reason, .. } => reason.clone(),
            error => error.to_string(),
        }
    }

    pub(crate) fn code(&self) -> &str {
        match self {
            Error::Service(error) => &error.code,
            _ => "",
        }
    }

    /// The region that the service expects, if it says that the one of the request is wrong.
    pub(crate) fn region(&self) -> Option<&str> {
        match self {
            Error::Service(error) => error.region.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Error::Service(error) => Some(error.status),
            _ => None,
        }
    }

    /// `true` if there is no such bucket, object or setting.
    pub(crate) fn is_missing(&self) -> bool {
        self.status() == Some(404)
    }

    /// `true` if the keys are right, and have no right to this.
    pub(crate) fn is_denied(&self) -> bool {
        self.status() == Some(403) && self.code() == "AccessDenied"
    }

    /// `true` if the reader of standard output has ended, as `head` does: nothing to report.
    pub(crate) fn is_closed_output(&self) -> bool {
        matches!(self, Error::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl std::fmt::Display for ServiceError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let reason = match &self.request_id {
            // The log of the service has the cause under this id. Logs of other servers that repeat a request have `reason()`: an
            // id would make each failure another one.
            Some(id) if self.status >= 500 => format!("{}, request id {id}", self.reason()),
            _ => self.reason(),
        };
        formatter.write_str(&with_remedy(&reason, self.remedy()))
    }
}

fn with_remedy(reason: &str, remedy: Option<&str>) -> String {
    match remedy {
        Some(remedy) => format!("{reason}; {remedy}"),
        None => reason.to_owned(),
    }
}

impl ServiceError {
    /// The answer of the service, in one line, without the remedy of the command line.
    pub(crate) fn reason(&self) -> String {
        let message = match self.message.trim() {
            "" => "the service gave no reason",
            message => message.trim_end_matches('.'),
        };
        let code = if self.code.is_empty() { "no code" } else { &self.code };
        format!("{message} ({code}, status {})", self.status)
    }

    /// `true` if the service refuses the keys, the token or the clock, whatever is asked.
    pub(crate) fn is_about_keys(&self) -> bool {
        matches!(
            self.code.as_str(),
            "InvalidAccessKeyId"
                | "SignatureDoesNotMatch"
                | "ExpiredToken"
                | "TokenRefreshRequired"
                | "InvalidToken"
                | "RequestTimeTooSkewed"
        )
    }

    fn remedy(&self) -> Option<&'static str> {
        Some(match self.code.as_str() {
            "NoSuchBucket" => "make the bucket with `mb`, or list those there are with `ls ALIAS`",
            "BucketAlreadyOwnedByYou" => "`mb --ignore-existing` takes it as it is",
            "InvalidAccessKeyId" | "SignatureDoesNotMatch" => {
                "set the credentials of the alias again with `alias set`"
            }
            "ExpiredToken" | "TokenRefreshRequired" | "InvalidToken" => {
                "get new session credentials, and set them in MC_HOST_<alias> or in the alias"
            }
            "ReplicationConfigurationNotFoundError" => "make a rule with `replicate add`",
            "RequestTimeTooSkewed" => "set the clock of this machine",
            "BucketNotEmpty" => "remove its objects, or use `rb --force`",
            "MethodNotAllowed" => "this may be the URL of a console: S3 has a port of its own",
            "SlowDown" | "ServiceUnavailable" => "try again later",
            _ if (300..400).contains(&self.status) => {
                "redirects are not followed: set the alias to the address of the service itself"
            }
            _ => return None,
        })
    }
}
