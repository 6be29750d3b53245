//! [`Origin`]: the sender of a request, its connection, and its target. Determined once, where the
//! request enters, and carried in its extensions.

mod current;
mod domains;
mod found;
mod locale;
mod peer;
mod target;

use http::Version;

pub(crate) use self::current::{answering, answering_now};
pub use self::current::{carried, log_failure};
pub use self::domains::{Domains, without_port};
pub use self::found::{DenialBy, Found};
pub use self::locale::{Locale, MAIN_SPACE, Moment, rfc_3339, timestamp};
pub use self::peer::{Peer, Tls};
pub use self::target::{Entrance, Target};
use crate::request_id::RequestIds;

/// The origin of one request.
#[derive(Debug)]
pub struct Origin {
    /// The ids of the request.
    pub ids: RequestIds,
    /// The sender.
    pub peer: Peer,
    /// The bucket and the key.
    pub target: Target,
    /// The version of HTTP.
    pub version: Version,
    /// Findings of the inner layers, for the log.
    pub found: Found,
}

impl Origin {
    /// The bucket, and of S3 Vectors the index, that the request names: there the path has the operation, and the body the
    /// names.
    pub fn bucket_and_index(&self) -> (&str, Option<&str>) {
        self.found.vectors().unwrap_or_else(|| (self.target.bucket(), None))
    }
}
