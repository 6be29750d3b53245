//! The console: pages in the browser, their sessions, and links to single objects.
//!
//! The pages sign requests themselves, so what a user may see is decided where every request is. They hold no
//! long-term key: a [session] is for the address that asked for it, and ends by itself. Objects have the
//! origin of the pages, and must not run as them: [`browser`] sees to that.

pub mod browser;
mod files;
mod routes;
mod session;

use std::sync::Arc;

pub use self::routes::routes;
use liteio_access::state::App;

/// The first page.
pub const PATH: &str = "/_liteio/console/";

/// The console of a server.
#[derive(Debug)]
pub struct Console {
    app: Arc<App>,
    /// Signatures are not checked: one signs in without keys.
    is_open: bool,
}

impl Console {
    /// The console of a server. If it `is_open`, signatures are not checked.
    pub fn new(app: Arc<App>, is_open: bool) -> Console {
        Console { app, is_open }
    }
}
