//! MinIO's admin API (`/minio/admin/v3/…`) and KMS API (`/minio/kms/v1/…`), as far as `mc admin` needs them to
//! manage users and inspect the server.
//!
//! Requests are signed like S3 requests. In addition, bodies and responses with secrets are
//! [encrypted](liteio_client::sealed) with the sender's secret key. [`routes`] lists the implemented operations;
//! every other path below the prefixes is answered with `NotImplemented`. Users are IAM users
//! ([`Manager`]).

mod call;
mod config;
mod groups;
mod info;
mod kms;
mod policies;
mod quotas;
mod remotes;
mod service_accounts;
mod tiers;
mod trace;
mod users;

use std::sync::Arc;

use axum::Router;
use axum::response::Response;
use axum::routing::{any, delete, get, post, put};
use http::Uri;

use self::call::Call;
use crate::operator::Refused;
use liteio_access::state::App;
use liteio_iam::minio::{Manager, not_implemented};
use liteio_observe::trace::Audience;

/// `true` for a path of the APIs. They take precedence over a bucket named `minio`.
pub(crate) fn is_claimed(path: &str) -> bool {
    path.starts_with("/minio/admin/") || path.starts_with("/minio/kms/")
}

/// The state of the routes.
pub struct Admin {
    app: Arc<App>,
    manager: Manager,
    audience: Audience,
}

/// The response of a route.
type Answer = Result<Response, Refused>;

impl Admin {
    /// Creates the state.
    pub fn new(app: Arc<App>, manager: Manager, audience: Audience) -> Admin {
        Admin { app, manager, audience }
    }
}

/// The routes.
pub fn routes() -> Router<Arc<Admin>> {
    let builtin = "/idp/builtin/policy";
    let routes = Router::new()
        .route("/info", get(info::server))
        .route("/storageinfo", get(info::storage))
        .route("/datausageinfo", get(info::usage))
        .route("/trace", get(trace::trace))
        .route("/get-config-kv", get(config::get))
        .route("/help-config-kv", get(config::help))
        .route("/add-user", put(users::add))
        .route("/remove-user", delete(users::remove))
        .route("/list-users", get(users::list))
        .route("/user-info", get(users::info))
        .route("/set-user-status", put(users::set_status))
        .route("/add-service-account", put(service_accounts::add))
        .route("/update-service-account", post(service_accounts::update))
        .route("/info-service-account", get(service_accounts::info))
        .route("/list-service-accounts", get(service_accounts::list))
        .route("/delete-service-account", delete(service_accounts::remove))
        .route("/list-access-keys-bulk", get(service_accounts::list_all))
        .route("/update-group-members", put(groups::change))
        .route("/group", get(groups::info))
        .route("/groups", get(groups::list))
        .route("/set-group-status", put(groups::set_status))
        .route("/set-bucket-quota", put(quotas::set))
        .route("/get-bucket-quota", get(quotas::get))
        .route("/set-remote-target", put(remotes::set))
        .route("/list-remote-targets", get(remotes::list))
        .route("/remove-remote-target", delete(remotes::remove))
        .route("/tier", get(tiers::list).put(tiers::add))
        .route("/tier/{name}", get(tiers::verify).post(tiers::update).delete(tiers::remove))
        .route("/add-canned-policy", put(policies::add))
        .route("/remove-canned-policy", delete(policies::remove))
        .route("/list-canned-policies", get(policies::list))
        .route("/info-canned-policy", get(policies::info))
        .route("/set-user-or-group-policy", put(policies::set))
        .route(&format!("{builtin}/attach"), post(policies::attach))
        .route(&format!("{builtin}/detach"), post(policies::detach))
        .route("/idp/builtin/policy-entities", get(policies::entities));
    Router::new()
        .nest("/minio/admin/v3", routes.nest("/kms", of_keys()))
        .nest("/minio/kms/v1", of_keys())
        .route("/minio/admin/{*path}", any(missing))
        .route("/minio/kms/{*path}", any(missing))
}

/// The routes of keys. Clients before 2022 call them below the admin API.
fn of_keys() -> Router<Arc<Admin>> {
    Router::new()
        .route("/status", get(kms::service).post(kms::service))
        .route("/key/list", get(kms::list))
        .route("/key/status", get(kms::status))
        .route("/key/create", post(kms::create))
}

/// Only signed requests learn which operations exist.
async fn missing(uri: Uri, _call: Call) -> Refused {
    // Behind the version, as in `/minio/admin/v3/service`.
    let operation = uri.path().split('/').nth(4).unwrap_or_default();
    not_implemented(match operation {
        "set-config-kv" | "del-config-kv" | "config" => {
            "The settings of LiteIO are options of its start, such as --event-target NAME=URL for a target of \
             events, and --region: see docs/options.md."
        }
        "service" => "A LiteIO is restarted and stopped with its process, service or container.",
        "update" => "A LiteIO is updated with its package or image, and a restart of its process.",
        _ => {
            "LiteIO does not implement this operation of MinIO's admin API: see docs/admin.md for those that \
             it does."
        }
    })
    .into()
}
