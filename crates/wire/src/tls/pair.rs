//! [`Pair`]: a certificate and its key, read from files and checked.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use jiff::Timestamp;
use rustls::client::verify_server_name;
use rustls::pki_types::pem::{Error as PemError, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};

use super::provider;
use super::validity::{is_version_1, validity};
use crate::private_file;
use crate::settings::CertificateFiles;

/// Maximum bytes of a certificate or key file.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Mode bit: readable by others.
const READABLE_FOR_ALL: u32 = 0o004;

/// A certificate with its intermediate certificates, and its key.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) certified: std::sync::Arc<CertifiedKey>,
}

impl Pair {
    /// Reads and checks a pair of files, and logs warnings.
    ///
    /// # Errors
    /// One line that tells what to change. It reveals nothing of the key.
    pub(super) fn read(files: &CertificateFiles) -> Result<Pair, String> {
        let CertificateFiles { certificate, key } = files;
        let chain = read_file(certificate)?;
        let secret = read_file(key)?;
        let pair = Pair::parse(&chain, &secret).map_err(|reason| match reason {
            Reason::Certificate(what) => format!("{}: {what}", certificate.display()),
            Reason::Key(what) => format!("{}: {what}", key.display()),
            Reason::Both(what) => {
                format!("{} and {}: {what}", certificate.display(), key.display())
            }
        })?;
        if fs::metadata(key).is_ok_and(|it| it.mode() & READABLE_FOR_ALL != 0) {
            let key = key.display();
            tracing::warn!(%key, "every user of this machine can read the key: chmod o-rwx it");
        }
        if let Some(warning) = pair.doubt(Timestamp::now()) {
            tracing::warn!(certificate = %certificate.display(), "{warning}");
        }
        Ok(pair)
    }

    /// Checks a pair in PEM.
    pub(super) fn parse(chain: &[u8], secret: &[u8]) -> Result<Pair, Reason> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
        let chain = chain.map_err(|error| {
            Reason::Certificate(format!("the certificate is not valid PEM ({error})"))
        })?;
        if chain.is_empty() {
            let what = "there is no certificate in it: give --tls-cert a file in PEM";
            return Err(Reason::Certificate(what.to_owned()));
        }
        // An encrypted key is PKCS #8 with its own label, or a traditional key with a header.
        if [&b"ENCRYPTED PRIVATE KEY"[..], b"Proc-Type: 4,ENCRYPTED"]
            .iter()
            .any(|mark| memchr::memmem::find(secret, mark).is_some())
        {
            let what = "the key is encrypted: decrypt it with `openssl pkey -in FILE -out NEW`";
            return Err(Reason::Key(what.to_owned()));
        }
        let key = PrivateKeyDer::from_pem_slice(secret).map_err(|error| {
            Reason::Key(match error {
                PemError::NoItemsFound => {
                    "there is no private key in it: give --tls-key a file in PEM".to_owned()
                }
                error => format!("the key is not valid PEM ({error})"),
            })
        })?;
        let has_no_names = chain.first().is_some_and(|first| is_version_1(first));
        let certified =
            CertifiedKey::from_der(chain, key, &provider()).map_err(|error| match error {
                Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                    Reason::Both("the certificate and the key do not belong together".to_owned())
                }
                // As `openssl x509 -req` makes it without extensions, which is easily forgotten.
                Error::InvalidCertificate(_) if has_no_names => Reason::Certificate(
                    "the certificate is X.509 version 1, which has no subjectAltName, so that clients refuse it: sign it again \
                     with `openssl x509 -req … -extfile FILE` (docs/tls.md)"
                        .to_owned(),
                ),
                Error::InvalidCertificate(_) => {
                    Reason::Certificate(format!("the certificate cannot be used ({error})"))
                }
                error => Reason::Key(format!("the key cannot be used ({error})")),
            })?;
        let pair = Pair { certified: std::sync::Arc::new(certified) };
        match pair.parsed() {
            Some(_) => Ok(pair),
            None => Err(Reason::Certificate("the certificate cannot be read".to_owned())),
        }
    }

    fn parsed(&self) -> Option<ParsedCertificate<'_>> {
        ParsedCertificate::try_from(self.certified.end_entity_cert().ok()?).ok()
    }

    /// `true` if the certificate is valid for this host.
    pub(super) fn is_for(&self, host: &str) -> bool {
        let host = ServerName::try_from(host).ok();
        host.zip(self.parsed())
            .is_some_and(|(host, parsed)| verify_server_name(&parsed, &host).is_ok())
    }

    /// The last second in which the certificate is valid. `None` if it cannot be determined here.
    pub(super) fn end(&self) -> Option<Timestamp> {
        validity(self.certified.end_entity_cert().ok()?).map(|(_, last)| last)
    }

    /// The reason why clients will reject the certificate at this time, if it can be determined
    /// here.
    fn doubt(&self, now: Timestamp) -> Option<String> {
        let (first, last) = validity(self.certified.end_entity_cert().ok()?)?;
        if now > last {
            return Some(format!("the certificate has expired on {last}: clients refuse it"));
        }
        let soon = first > now;
        soon.then(|| format!("the certificate is not valid before {first}: clients refuse it"))
    }
}

/// The reason why a pair cannot be used, by the file at fault.
#[derive(Debug)]
pub(super) enum Reason {
    Certificate(String),
    Key(String),
    Both(String),
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("cannot read {}: {error}", path.display());
    let about = fs::metadata(path).map_err(|error| private_file::unreadable(path, &error))?;
    if !about.is_file() || about.len() > FILE_BYTES_MAX {
        return Err(failed(&"it is not a regular file, or is larger than 1 MiB"));
    }
    fs::read(path).map_err(|error| private_file::unreadable(path, &error))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    fn pem(names: &[&str]) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let params = CertificateParams::new(names).expect("names");
        (params.self_signed(&key).expect("a certificate").pem(), key.serialize_pem())
    }

    #[test]
    fn a_pair_is_for_its_names() {
        let (chain, key) = pem(&["a.example", "*.b.example", "127.0.0.1"]);
        let pair = Pair::parse(chain.as_bytes(), key.as_bytes()).expect("a pair");
        let rows = [
            ("a.example", true),
            ("A.Example", true),
            ("x.b.example", true),
            ("b.example", false),
            ("x.y.b.example", false),
            ("127.0.0.1", true),
            ("c.example", false),
            ("not a name", false),
        ];
        for (host, expected) in rows {
            assert_eq!(pair.is_for(host), expected, "{host}");
        }
    }

    #[test]
    fn a_bad_pair_is_refused_in_a_line() {
        let (chain, key) = pem(&["a.example"]);
        let (_, other) = pem(&["a.example"]);
        let encrypted =
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
        let old = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
        let cut = &chain[..chain.len() / 2];
        let version_1 = "-----BEGIN CERTIFICATE-----
MIIBKDCBzwIUUHIUk1EzaOUhsoWYhyUg9CKKixowCgYIKoZIzj0EAwIwFjEUMBIG
A1UEAwwLb2xkLmV4YW1wbGUwIBcNMjYxMTMwMjIwMTMzWhgPMjEyNjExMDYyMjAx
MzNaMBYxFDASBgNVBAMMC29sZC5leGFtcGxlMFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEKhhKTwT/OeQQnlg9nINo01kKaRLS3n7qFqXTp5Qjaxx46mU6rqqfWFEz
pKPKwQrvUHlwbjPM8CV+ovbUA5iW/jAKBggqhkjOPQQDAgNIADBFAiEA2u2JCfLI
s5AfC+oUB25v4IawVPFBdgDrtVkTywBa4p4CIA62iwHg4uKJ8hWaI4vVGel14jpa
AgHvKb+TgatvilGu
-----END CERTIFICATE-----
";
        let nonsense = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let rows = [
            (&*chain, &*other, "do not belong together"),
            (&chain, encrypted, "encrypted"),
            (&chain, old, "encrypted"),
            (&chain, "", "no private key"),
            (&chain, &chain, "no private key"),
            ("", &key, "no certificate"),
            (&key, &key, "no certificate"),
            (cut, &key, "certificate"),
            (nonsense, &key, "certificate"),
            (version_1, &key, "X.509 version 1"),
            (
                &chain,
                "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
                "key cannot",
            ),
        ];
        for (chain, key, expected) in rows {
            let (Reason::Certificate(what) | Reason::Key(what) | Reason::Both(what)) =
                Pair::parse(chain.as_bytes(), key.as_bytes()).expect_err(expected);
            assert!(what.contains(expected) && !what.contains('\n'), "{expected}: {what}");
        }
    }

    #[test]
    fn a_certificate_out_of_its_time_is_doubtful() {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.not_before = date_time_ymd(2024, 1, 1);
        params.not_after = date_time_ymd(2025, 1, 1);
        let chain = params.self_signed(&key).expect("a certificate").pem();
        let pair = Pair::parse(chain.as_bytes(), key.serialize_pem().as_bytes()).expect("a pair");
        assert_eq!(pair.end(), Some("2025-01-01T00:00:00Z".parse::<Timestamp>().expect("a time")));
        let doubt = |time: &str| pair.doubt(time.parse().expect("a time"));
        assert!(doubt("2023-12-31T23:59:59Z").is_some_and(|it| it.contains("not valid before")));
        assert_eq!(doubt("2024-06-01T00:00:00Z"), None);
        assert!(doubt("2025-01-01T00:00:01Z").is_some_and(|it| it.contains("expired")));
    }
}
