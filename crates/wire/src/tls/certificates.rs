//! The certificates of a server: selected by the server name that the client requests (SNI), and
//! reloaded when their files change.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::Pair;
use crate::file_stamp::FileStamp;
use crate::settings::CertificateFiles;

/// Interval between two checks of the files.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The certificates of a server. The first is for clients that request no name, or an unknown one.
#[derive(Debug)]
pub struct Certificates {
    places: Vec<Place>,
}

/// One certificate and its source.
#[derive(Debug)]
struct Place {
    pair: RwLock<Arc<Pair>>,
    /// The files that it was read from; `None` if it was made in memory.
    files: Option<CertificateFiles>,
    seen: Mutex<Seen>,
    /// The files have changed and are not usable, so the pair is not theirs.
    is_refused: AtomicBool,
}

/// The observed states of the files.
#[derive(Debug)]
struct Seen {
    /// Their state when they were read.
    read: Option<Stamps>,
    /// Their state at the last check.
    last: Option<Stamps>,
}

/// The states of both files of a pair.
type Stamps = [FileStamp; 2];

impl Certificates {
    /// Reads these pairs.
    ///
    /// # Errors
    /// One line that tells what to change.
    pub(super) fn open(pairs: &[CertificateFiles]) -> Result<Certificates, String> {
        let place = |files: &CertificateFiles| {
            // Taken before the files are read, so that a change during the read is noticed.
            let stamps = stamps(files);
            let pair = RwLock::new(Arc::new(Pair::read(files)?));
            let seen = Mutex::new(Seen { read: stamps, last: stamps });
            let is_refused = AtomicBool::new(false);
            Ok(Place { pair, files: Some(files.clone()), seen, is_refused })
        };
        let places: Result<Vec<_>, String> = pairs.iter().map(place).collect();
        places.map(|places| Certificates { places })
    }

    /// A single pair without files.
    pub(super) fn in_memory(pair: Pair) -> Certificates {
        let seen = Mutex::new(Seen { read: None, last: None });
        let (pair, is_refused) = (RwLock::new(Arc::new(pair)), AtomicBool::new(false));
        let place = Place { pair, files: None, seen, is_refused };
        Certificates { places: vec![place] }
    }

    /// The first certificate with its intermediate certificates, in DER.
    pub fn first_chain(&self) -> Vec<Vec<u8>> {
        let pair = self.places.first().map(|place| Arc::clone(&place.pair.read()));
        let chain = pair.iter().flat_map(|pair| &pair.certified.cert);
        chain.map(|certificate| certificate.to_vec()).collect()
    }

    /// The file of the first certificate, if it has one.
    pub fn first_file(&self) -> Option<&Path> {
        Some(&self.places.first()?.files.as_ref()?.certificate)
    }

    /// The second since 1970 in which the first of them expires. `None` if none can be read.
    pub fn first_end(&self) -> Option<i64> {
        let ends = self.places.iter().filter_map(|place| place.pair.read().end());
        ends.map(|end| end.as_second()).min()
    }

    /// The number of certificates whose files have changed and are not usable: the former ones stay in use.
    pub fn refused(&self) -> usize {
        self.places.iter().filter(|place| place.is_refused.load(Ordering::Relaxed)).count()
    }

    /// `true` if the first certificate is valid for this host.
    pub(super) fn is_first_for(&self, host: &str) -> bool {
        self.places.first().is_some_and(|place| place.pair.read().is_for(host))
    }

    /// Reads all files, changed or not, and logs a refused pair again.
    pub fn read_again(&self) {
        self.places.iter().for_each(Place::read_again);
    }

    /// Checks the files periodically while the certificates exist, and reloads changed ones.
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
    /// Reloads the files if they have changed, and have been stable for one interval: one of them
    /// may be half written. If they are invalid, the old pair stays in use.
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
        self.read(files);
    }

    fn read_again(&self) {
        let Some(files) = &self.files else {
            return;
        };
        let mut seen = self.seen.lock();
        // Taken before the files are read, so that a change during the read is noticed.
        let now = stamps(files);
        *seen = Seen { read: now, last: now };
        self.read(files);
    }

    fn read(&self, files: &CertificateFiles) {
        let read = Pair::read(files);
        self.is_refused.store(read.is_err(), Ordering::Relaxed);
        match read {
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
