//! Connections that fail, in words for the user.

use std::error::Error as Cause;
use std::io;

use hyper_util::client::legacy;

use super::trust::IS_AUTHORITY;
use crate::error::{Again, Error};

/// The error of a request that got no answer from the service at this URL.
pub(super) fn broken(url: &str, error: &legacy::Error) -> Error {
    let reason = in_one_line(error);
    if !error.is_connect() {
        return Error::transport(format!("the connection to {url} broke: {reason}"));
    }
    // Bytes that are none of TLS.
    if matches!(of_tls(error), Some(rustls::Error::InvalidMessage(_))) {
        let plain = url.replacen("https://", "http://", 1);
        let reason =
            format!("{url} speaks plain HTTP, or something else that is not TLS: use {plain}");
        return Error::Transport { reason, remedy: None, again: Again::None };
    }
    if reason.contains(IS_AUTHORITY) {
        let reason = format!(
            "cannot connect to {url}: its certificate is one of an authority (CA:TRUE) that is not known here"
        );
        let remedy = "name the file of that certificate by AWS_CA_BUNDLE=FILE, put it into certs/CAs below the \
            configuration directory (~/.mc), make one with basicConstraints=CA:FALSE, or use --insecure";
        return Error::Transport { reason, remedy: Some(remedy), again: Again::None };
    }
    let (remedy, again) = if reason.contains("certificate") {
        let remedy = "name a file with its authority by AWS_CA_BUNDLE=FILE, put that file into certs/CAs below \
            the configuration directory (~/.mc), or use --insecure";
        (remedy, Again::None)
    } else {
        ("see that the service runs, and that the URL of the alias is right", Again::All)
    };
    let reason = format!("cannot connect to {url}: {reason}");
    Error::Transport { reason, remedy: Some(remedy), again }
}

/// The failure of TLS among the causes of an error.
fn of_tls<'e>(error: &'e (dyn Cause + 'static)) -> Option<&'e rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // The source of an error of input and output is that of the error in it.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

pub(super) fn in_one_line(error: &dyn Cause) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        line = format!("{line}: {next}");
        cause = next.source();
    }
    line.replace(['\n', '\r'], " ")
}
