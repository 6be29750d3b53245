//! The web console: its pages, sessions, and links to single objects.
//!
//! The pages sign their S3 requests themselves, so the usual authorization decides what a user
//! sees. They hold no long-term key: a [session] is bound to the client's address and expires.
//! Objects share the pages' origin and must not run as part of them: [`browser`] ensures that.

pub mod browser;
mod files;
mod keys;
mod oidc;
mod routes;
mod session;

use std::sync::Arc;

pub use self::routes::routes;
pub(crate) use self::routes::{check_unsigned, is_below};
use liteio_access::state::App;
use liteio_iam::minio::Manager;
use liteio_iam::{SignIn, Users};

/// The path of the start page.
pub const PATH: &str = "/_liteio/console/";

/// The console of a server.
pub struct Console {
    app: Arc<App>,
    /// Signatures are not checked: signing in needs no keys.
    is_open: bool,
    /// The sign-in by an issuer, if one is configured.
    sign_in: Option<SignIn>,
    /// The users, for their own keys.
    manager: Manager,
}

impl Console {
    /// Creates the console of a server. With `is_open`, signatures are not checked.
    pub fn new(
        app: Arc<App>,
        users: Arc<Users>,
        is_open: bool,
        sign_in: Option<SignIn>,
    ) -> Console {
        let manager = Manager::new(Arc::clone(&app), users);
        Console { app, is_open, sign_in, manager }
    }
}
