//! Routes for operators: everything that a server answers beside S3 and its sister services.
//!
//! One axum router, reached only by paths below `/_liteio/` and by the health and admin paths of other servers.
//!
//! | module | subject |
//! |---|---|
//! | [`operational`] | the router: health, trace, and the claim to a request |
//! | [`operator`] | the sender of such a request, and the decision about it |
//! | [`metrics`] | metrics for Prometheus, by our names and by MinIO's |
//! | [`minio`] | MinIO's admin API, as `mc admin` calls it |
//! | [`console`] | the console: its pages, sessions and links to objects |

pub mod console;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod metrics;
pub mod minio;
pub mod operational;
pub mod operator;
