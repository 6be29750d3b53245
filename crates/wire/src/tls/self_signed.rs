//! A self-signed certificate, made once.

use std::fs;
use std::path::Path;

use jiff::{Timestamp, ToSpan as _, tz::TimeZone};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

use super::{Certificates, Pair};
use crate::private_file;
use crate::settings::CertificateFiles;

const DIRECTORY: &str = "tls";
const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";
/// Validity in years. It is long, because the certificate is made only once.
const YEARS: i32 = 10;

/// The pair in the data directory, made if it does not exist; without a directory, a new one.
///
/// # Errors
/// One line that tells what to change.
pub(super) fn open(domains: &[String], directory: Option<&Path>) -> Result<Certificates, String> {
    let names = names(domains);
    let Some(directory) = directory.map(|it| it.join(DIRECTORY)) else {
        let (chain, key) = make(&names)?;
        let pair = Pair::parse(chain.as_bytes(), key.as_bytes());
        return pair.map(Certificates::in_memory).map_err(|reason| format!("{reason:?}"));
    };
    let files =
        CertificateFiles { certificate: directory.join(CERTIFICATE), key: directory.join(KEY) };
    if !(files.certificate.exists() && files.key.exists()) {
        let (chain, key) = make(&names)?;
        let written = fs::create_dir_all(&directory)
            .and_then(|()| private_file::write(&files.key, &key))
            .and_then(|()| fs::write(&files.certificate, chain));
        written.map_err(|error| format!("cannot write {}: {error}", directory.display()))?;
    }
    let certificates = Certificates::open(std::slice::from_ref(&files))?;
    // A domain and its wildcard are always in the certificate together.
    let plain = names.iter().filter(|name| !name.starts_with('*'));
    for name in plain.filter(|name| !certificates.is_first_for(name)) {
        let file = files.certificate.display();
        tracing::warn!(%file, name, "the certificate is not for this name: remove it for a new one");
    }
    Ok(certificates)
}

/// The names and addresses that clients on this machine and on others may use.
fn names(domains: &[String]) -> Vec<String> {
    let host = rustix::system::uname().nodename().to_str().unwrap_or_default().to_ascii_lowercase();
    let fixed = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let of_domains = domains.iter().flat_map(|domain| [domain.clone(), format!("*.{domain}")]);
    let mut names: Vec<String> = Vec::new();
    for name in fixed.into_iter().chain([host]).chain(of_domains) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A new certificate and its key, in PEM.
fn make(names: &[String]) -> Result<(String, String), String> {
    let failed = |error: rcgen::Error| format!("no certificate could be made: {error}");
    let mut params = CertificateParams::new(names).map_err(failed)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "LiteIO self-signed");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // Valid from one day earlier, for clients with a slow clock.
    let now = Timestamp::now().to_zoned(TimeZone::UTC);
    let first = now.checked_sub(1.day()).map_err(|error| error.to_string())?;
    let date = |years| {
        let (month, day) = (first.month().unsigned_abs(), first.day().unsigned_abs());
        // February 29th does not exist in every year.
        date_time_ymd(i32::from(first.year()) + years, month, day.min(28))
    };
    (params.not_before, params.not_after) = (date(0), date(YEARS));
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = params.self_signed(&key).map_err(failed)?;
    Ok((pem("CERTIFICATE", certificate.der()), pem("PRIVATE KEY", &key.serialize_der())))
}

/// Encodes bytes in PEM. rcgen's feature for it would add two crates, one of them a third base64
/// crate.
fn pem(label: &str, der: &[u8]) -> String {
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in der.chunks(48) {
        base64_simd::STANDARD.encode_append(line, &mut text);
        text.push('\n');
    }
    text + &format!("-----END {label}-----\n")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_pair_is_made_once_and_kept_private() {
        let directory = tempfile::tempdir().expect("a directory");
        let domains = ["localhost".to_owned(), "s3.example".to_owned()];
        let made = open(&domains, Some(directory.path())).expect("a pair");
        for host in ["localhost", "127.0.0.1", "::1", "s3.example", "photos.s3.example"] {
            assert!(made.is_first_for(host), "{host}");
        }
        assert!(!made.is_first_for("other.example"));
        let again = open(&domains, Some(directory.path())).expect("the same pair");
        assert_eq!(made.first_chain(), again.first_chain());
        let key = fs::metadata(directory.path().join("tls/key.pem")).expect("a key");
        assert_eq!(key.permissions().mode() & 0o777, 0o600);
        assert_eq!(made.first_file(), Some(&*directory.path().join("tls/certificate.pem")));

        let in_memory = open(&domains, None).expect("a pair");
        assert_ne!(in_memory.first_chain(), made.first_chain());
        assert_eq!(in_memory.first_file(), None);
    }

    #[test]
    fn pem_is_as_the_library_writes_it() {
        let key = KeyPair::generate().expect("a key");
        assert_eq!(pem("PRIVATE KEY", &key.serialize_der()), key.serialize_pem());
        for names in 0..24 {
            let names: Vec<String> = (0..names).map(|number| format!("host-{number}")).collect();
            let params = CertificateParams::new(names).expect("names");
            let certificate = params.self_signed(&key).expect("a certificate");
            assert_eq!(pem("CERTIFICATE", certificate.der()), certificate.pem());
        }
    }

    #[test]
    fn a_pair_that_was_cut_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        open(&[], Some(directory.path())).expect("a pair");
        fs::write(directory.path().join("tls/key.pem"), "").expect("the key is cut");
        let reason = open(&[], Some(directory.path())).expect_err("no key");
        assert!(reason.contains("key.pem: there is no private key"), "{reason}");
    }
}
