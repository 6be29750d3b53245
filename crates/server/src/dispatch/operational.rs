//! The operational routes: their making over a space and the server-wide state, and their requests.

use std::sync::Arc;

use http::Request;
use http::header::AUTHORIZATION;

use super::ConsoleSettings;
use crate::backup::{BackupState, Pair, StandbyState};
use liteio_admin::console::Console;
use liteio_admin::metrics::{
    BackupFigures, Counters, Metrics, ReportFigures, StandbyFigures, TableFigures,
};
use liteio_admin::minio::Admin;
use liteio_admin::operational::{Health, Operational};
use liteio_auth::{Identity, is_signed};
use liteio_iam::minio::Manager;
use liteio_observe::trace::{Audience, Tracer};
use liteio_space::Space;
use liteio_wire::front::Allowance;
use liteio_wire::front::body::RequestBody;
use liteio_wire::origin::{Moment, Origin};
use liteio_wire::reply::Reply;

/// State that all spaces share.
pub(super) type Shared<'a> = (&'a Arc<Health>, &'a Arc<Tracer>, &'a Arc<Counters>, &'a Arc<Pair>);

/// Creates the operational routes over a space and the server-wide state.
pub(super) fn of(
    (health, tracer, counters, pair): Shared<'_>,
    space: &Arc<Space>,
    console: &ConsoleSettings,
) -> Operational {
    let (app, users) = (Arc::clone(&space.app), Arc::clone(&space.users));
    let manager = Manager::new(Arc::clone(&app), Arc::clone(&users));
    let audience = Audience::new(Arc::clone(tracer), Arc::clone(&app.directory));
    let admin = Admin::new(Arc::clone(&app), manager, audience.clone());
    let is_open = space.no_auth().is_some();
    let told = Arc::clone(space);
    let failing = move || told.senders.failing();
    let metrics = Metrics::new(Arc::clone(&app), Arc::clone(counters), failing);
    let reporting = Arc::clone(space);
    let metrics = metrics.with_reports(move || report_figures(reporting.reports.figures()));
    let maintained = Arc::clone(space);
    let metrics = metrics.with_tables(move || table_figures(maintained.maintenance.figures()));
    let pair = Arc::clone(pair);
    let metrics = metrics.with_backup(move || {
        let standby = pair.standby_state().as_ref().map(standby_figures);
        (pair.backup_state().as_ref().map(backup_figures), standby)
    });
    let sign_in = console.sign_in.clone().map(|settings| space.sign_in(settings));
    let console = console.is_on.then(|| Arc::new(Console::new(app, users, is_open, sign_in)));
    Operational::new(Arc::clone(health), audience, console).with_admin(admin).with_metrics(metrics)
}

/// Passes a request to the operational routes, with the sender's identity if it is signed.
pub(super) async fn operate(
    operational: &Operational,
    space: &Space,
    request: Request<RequestBody>,
    origin: &Origin,
    allowance: &Allowance,
) -> Reply {
    // This also rejects a web page that reaches the server by DNS rebinding and sends a token.
    if let Some(no_auth) = space.no_auth() {
        no_auth.check(&request, |_| false)?;
    }
    let (mut head, body) = request.into_parts();
    // A bearer token is checked by the route that accepts it.
    let is_bearer = head.headers.get(AUTHORIZATION).is_some_and(|value| {
        value.as_bytes().get(..7).is_some_and(|it| it.eq_ignore_ascii_case(b"bearer "))
    });
    if is_bearer || space.no_auth().is_none() && !is_signed(&head) {
        head.extensions.insert(Identity::Anonymous);
        return operational.call(Request::from_parts(head, body)).await;
    }
    let request = Request::from_parts(head, body);
    let mut request = space.authenticated(request, origin, allowance).await?;
    request.extensions_mut().insert(Moment(space.app.now_unix_seconds()));
    operational.call(request).await
}

/// The metrics of access logs and inventories.
fn report_figures(figures: liteio_reports::Figures) -> ReportFigures {
    ReportFigures {
        log_objects: figures.log_objects,
        log_lines: figures.log_lines,
        log_lines_lost: figures.log_lines_lost,
        log_failures: figures.log_failures,
        log_bytes_waiting: figures.log_bytes_waiting,
        inventories: figures.inventories,
        inventory_rows: figures.inventory_rows,
        inventory_failures: figures.inventory_failures,
    }
}

/// The metrics of the maintenance of tables.
fn table_figures(figures: liteio_tables::MaintenanceFigures) -> TableFigures {
    let liteio_tables::MaintenanceFigures {
        snapshots_expired,
        files_deleted,
        bytes_deleted,
        failures,
    } = figures;
    TableFigures { snapshots_expired, files_deleted, bytes_deleted, failures }
}

/// The metrics of the backup.
fn backup_figures(state: &BackupState) -> BackupFigures {
    BackupFigures {
        seconds_behind: state.behind.as_secs_f64(),
        last_base_ms: state.base_ms,
        sent_bytes: state.sent_bytes,
        sent_objects: state.sent_objects,
        failures: state.failures,
        unreadable: state.unreadable,
        verified_ms: state.verification.map(|it| it.time_ms),
        verified_damaged: state.verification.map(|it| it.damaged),
    }
}

/// The metrics of the standby.
fn standby_figures(state: &StandbyState) -> StandbyFigures {
    StandbyFigures {
        seconds_behind: state.behind.as_secs_f64(),
        applied_ms: state.applied_ms,
        applied: state.applied,
        failures: state.failures,
        left_out: state.left_out,
    }
}
