//! Connection settings: TLS and trusted proxies.

use std::path::Path;

use super::environment::Variables;
use super::{CertificateFiles, ConfigError, ListenAddress, Profile, TlsSettings, error};
use crate::cli::{ServerArgs, Source};
use liteio_wire::proxy::Network;

/// The console's port in MinIO's images.
const MINIO_CONSOLE_PORT: u16 = 9001;

/// A second address where browsers expect the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleAddress {
    /// The address to listen on.
    pub address: ListenAddress,
    /// The address was given explicitly: the server fails to start if the port is taken. Otherwise
    /// it starts without it.
    pub is_given: bool,
}

pub(super) fn resolve_tls(arguments: &ServerArgs) -> Result<Option<TlsSettings>, ConfigError> {
    let ServerArgs { tls_cert, tls_key, tls_self_signed, .. } = arguments;
    if tls_cert.len() != tls_key.len() {
        return error(
            "--tls-cert and --tls-key (LITEIO_TLS_CERT, LITEIO_TLS_KEY) are pairs: give as many of one as \
             of the other, in the same order",
        );
    }
    if *tls_self_signed && !tls_cert.is_empty() {
        return error("--tls-self-signed and --tls-cert contradict each other: remove one of them");
    }
    let pairs = tls_cert.iter().cloned().zip(tls_key.iter().cloned());
    let certificates: Vec<_> =
        pairs.map(|(certificate, key)| CertificateFiles { certificate, key }).collect();
    let is_wanted = *tls_self_signed || !certificates.is_empty();
    Ok(is_wanted.then_some(TlsSettings { certificates }))
}

pub(super) fn resolve_plain_address(
    arguments: &ServerArgs,
    tls: bool,
) -> Result<Option<ListenAddress>, ConfigError> {
    match &arguments.plain_address {
        None => Ok(None),
        Some(_) if !tls => error(
            "--plain-address is for plain HTTP beside TLS: give --tls-cert and --tls-key, or \
             --tls-self-signed, or use --address",
        ),
        Some(address) => ListenAddress::parse_for("--plain-address", address).map(Some),
    }
}

pub(super) fn resolve_website_address(
    arguments: &ServerArgs,
) -> Result<Option<ListenAddress>, ConfigError> {
    let address = arguments.website_address.as_deref();
    address.map(|address| ListenAddress::parse_for("--website-address", address)).transpose()
}

pub(super) fn resolve_iceberg_address(
    arguments: &ServerArgs,
) -> Result<Option<ListenAddress>, ConfigError> {
    let address = arguments.iceberg_address.as_deref();
    address.map(|address| ListenAddress::parse_for("--iceberg-address", address)).transpose()
}

/// Resolves the console's address, if it has one of its own.
pub(super) fn resolve_console_address(
    arguments: &ServerArgs,
    profile: Option<Profile>,
    main: &ListenAddress,
) -> Result<Option<ConsoleAddress>, ConfigError> {
    if arguments.console == Some(false) {
        return Ok(None);
    }
    if let Some(address) = &arguments.console_address {
        let address = ListenAddress::parse_for("--console-address", address)?;
        return Ok(Some(ConsoleAddress { address, is_given: true }));
    }
    // As in MinIO's images. With another main port, a second server may be running, with its own
    // console.
    let is_default = profile == Some(Profile::Minio) && main.port == Profile::Minio.port();
    let address = ListenAddress { host: main.host.clone(), port: MINIO_CONSOLE_PORT };
    Ok(is_default.then_some(ConsoleAddress { address, is_given: false }))
}

pub(super) fn resolve_proxies(texts: &[String]) -> Result<Vec<Network>, ConfigError> {
    texts.iter().map(|text| Network::parse(text)).collect()
}

/// Uses the certificate in MinIO's `--certs-dir`, or, with its profile, in its default directory,
/// if there is one: as in MinIO, connections are unencrypted otherwise.
pub(super) fn take_minio_certificates(
    arguments: &mut ServerArgs,
    profile: Option<Profile>,
    variables: &Variables,
) {
    let home = variables.get("HOME").filter(|_| profile == Some(Profile::Minio));
    let default = home.map(|home| Path::new(home).join(".minio/certs"));
    let given = arguments.minio.certs_dir.clone();
    let Some(directory) = given.clone().or(default) else { return };
    if !arguments.tls_cert.is_empty() || arguments.tls_self_signed {
        return;
    }
    let (certificate, key) = (directory.join("public.crt"), directory.join("private.key"));
    if certificate.is_file() && key.is_file() {
        (arguments.tls_cert, arguments.tls_key) = (vec![certificate], vec![key]);
        arguments.sources.note("tls_cert", Source::Flag);
    } else if given.is_some() {
        let told = format!(
            "{} has no public.crt and private.key: connections are not encrypted",
            directory.display()
        );
        arguments.notes.push(told);
    }
}
