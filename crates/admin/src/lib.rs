//! Routes for operators: everything that a server answers beside S3 and its sister services.
//!
//! One axum router, reached only by paths below `/_liteio/` and by the health and admin paths of other servers. A
//! comparison of the path comes before the router, so requests for objects do not pay for it. Health is answered to
//! everyone, however busy the server is; other routes get the identity of their sender, and policies decide.
//!
//! ```text
//! request ──► Operational::claim ──► Health ──► answer
//!                   │            └─► Operator ──► metrics, trace, admin API, console
//!                   └── None: a request for a service
//! ```
//!
//! | Module | Content |
//! |---|---|
//! | [`operational`] | The claim to a request and the router: `health`, `trace`, the health paths of other servers (`others`) |
//! | [`operator`] | The sender of such a request, and the decision about it |
//! | [`metrics`] | Prometheus metrics: `requests` counts by operation without locks, `figures` looks up the rest on demand, `page` writes it under our names (`own`) and MinIO's (`minio`); `access` and `token` decide who reads them |
//! | [`minio`] | MinIO's admin API as `mc admin` calls it: `call` (request, permission, body; secrets are encrypted by `liteio_client::sealed`), one file per family |
//! | [`console`] | The console: pages (`crates/admin/console/`), sessions, links to objects; `browser` gives objects that a browser opens an origin of their own |
//! | `fuzzing` | Encrypted bodies for clients of tests (feature `fuzzing`) |
//!
//! The crate must not know S3, S3 Vectors or spaces. axum is named only by routes, `minio`, `operational` and
//! `operator`.
//!
//! ```
//! use http::Request;
//! use liteio_admin::operational::{Operational, Way};
//! use liteio_wire::origin::{Domains, Entrance, Target};
//!
//! let domains = Domains::new(Vec::new(), "us-east-1");
//! let way = |uri: &str| -> Result<Option<Way>, http::Error> {
//!     let (head, ()) = Request::get(uri).body(())?.into_parts();
//!     let target = Target::of(&head, &domains, Entrance::All);
//!     Ok(Operational::claim(&head, &target).map(|claim| claim.way))
//! };
//! assert_eq!(way("/_liteio/health/live")?, Some(Way::Health));
//! assert_eq!(way("/_liteio/metrics")?, Some(Way::Operator));
//! assert_eq!(way("/photos/cat.jpg")?, None);
//! # Ok::<(), http::Error>(())
//! ```

pub mod console;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod metrics;
pub mod minio;
pub mod operational;
pub mod operator;
