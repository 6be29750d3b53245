//! The certificates of a server: chosen by the name that the client asks for (SNI), and read again when
//! their files change.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::Pair;
use crate::file_stamp::FileStamp;
use crate::settings::CertificateFiles;

/// Between two looks at the files.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The certificates of a server. The first is for clients that ask for no name, or for another.
#[derive(Debug)]
pub struct Certificates {
    places: Vec<Place>,
}

/// The place of one certificate.
#[derive(Debug)]
struct Place {
    pair: RwLock<Arc<Pair>>,
    /// Where it came from, if it was not made in memory.
    files: Option<CertificateFiles>,
    seen: Mutex<Seen>,
}

/// The files as they were seen.
#[derive(Debug)]
struct Seen {
    /// When they were read.
    read: Option<Stamps>,
    /// When they were looked at last.
    last: Option<Stamps>,
}

/// The states of the two files of a pair.
type Stamps = [FileStamp; 2];

impl Certificates {
    /// Reads these pairs.
    ///
    /// # Errors
    /// One line that says what to change.
    pub(super) fn open(pairs: &[CertificateFiles]) -> Result<Certificates, String> {
        let place = |files: &CertificateFiles| {
            // Before they are read: a later change is seen.
            let stamps = stamps(files);
            let pair = RwLock::new(Arc::new(Pair::read(files)?));
            let seen = Mutex::new(Seen { read: stamps, last: stamps });
            Ok(Place { pair, files: Some(files.clone()), seen })
        };
        let places: Result<Vec<_>, String> = pairs.iter().map(place).collect();
        places.map(|places| Certificates { places })
    }

    /// One pair that is in no file.
    pub(super) fn in_memory(pair: Pair) -> Certificates {
        let seen = Mutex::new(Seen { read: None, last: None });
        let place = Place { pair: RwLock::new(Arc::new(pair)), files: None, seen };
        Certificates { places: vec![place] }
    }

    /// The first certificate with those that signed it, in DER.
    pub fn first_chain(&self) -> Vec<Vec<u8>> {
        let pair = self.places.first().map(|place| Arc::clone(&place.pair.read()));
        let chain = pair.iter().flat_map(|pair| &pair.certified.cert);
        chain.map(|certificate| certificate.to_vec()).collect()
    }

    /// The file of the first certificate, if it is in one.
    pub fn first_file(&self) -> Option<&Path> {
        Some(&self.places.first()?.files.as_ref()?.certificate)
    }

    /// True if the first certificate is for this host.
    pub(super) fn is_first_for(&self, host: &str) -> bool {
        self.places.first().is_some_and(|place| place.pair.read().is_for(host))
    }

    /// Looks at the files now and then, as long as there are the certificates, and reads those that have
    /// changed.
    pub async fn watch(certificates: Weak<Certificates>) {
        loop {
            tokio::time::sleep(LOOK_INTERVAL).await;
            match certificates.upgrade() {
                Some(certificates) => certificates.places.iter().for_each(Place::look),
                None => return,
            }
        }
    }
}

impl Place {
    /// Reads the files if they have changed, and did not between the last two looks: one may be half
    /// written. If they are bad, what was read before stays.
    fn look(&self) {
        let Some(files) = &self.files else {
            return;
        };
        let now = stamps(files);
        let mut seen = self.seen.lock();
        let is_steady = now == seen.last;
        seen.last = now;
        if !is_steady || now == seen.read {
            return;
        }
        seen.read = now;
        match Pair::read(files) {
            Ok(pair) => {
                *self.pair.write() = Arc::new(pair);
                tracing::info!(certificate = %files.certificate.display(), "certificate read again");
            }
            Err(reason) => tracing::error!(reason, "the certificate before stays in use"),
        }
    }
}

fn stamps(files: &CertificateFiles) -> Option<Stamps> {
    Some([FileStamp::of(&files.certificate)?, FileStamp::of(&files.key)?])
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let usable =
            |pair: &Pair| pair.certified.key.choose_scheme(hello.signature_schemes()).is_some();
        let pairs = || self.places.iter().map(|place| Arc::clone(&place.pair.read()));
        let first = || pairs().find(|pair| usable(pair)).or_else(|| pairs().next());
        let host = hello.server_name().filter(|_| self.places.len() > 1);
        let named = host.and_then(|host| pairs().find(|pair| usable(pair) && pair.is_for(host)));
        named.or_else(first).map(|pair| Arc::clone(&pair.certified))
    }
}
