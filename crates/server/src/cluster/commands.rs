//! `liteio cluster`: create, status, migrate, check and move.

use std::fmt::Write as _;

use liteio_postgres::{PostgresError, create, migrate, status};
use liteio_store::{ClusterId, ClusterView, RandomSource as _, Store, StoreConfig, SystemRandom};

use super::moves::moved;
use super::place::{self, blobs, database};
use crate::cli::{ClusterCommand, ClusterPlaceArgs};
use crate::config::{ClusterSettings, resolve_cluster, resolve_keys};
use crate::keys;
use crate::verify::describe;

/// See [`super::run`].
pub(super) fn run(command: &ClusterCommand) -> Result<(String, bool), String> {
    match command {
        ClusterCommand::Create(arguments) => {
            created(&settings(&arguments.place)?, arguments.if_missing)
        }
        ClusterCommand::Status(arguments) => shown(&settings(arguments)?),
        ClusterCommand::Migrate(arguments) => migrated(&settings(arguments)?),
        ClusterCommand::Check(arguments) => {
            let keys = resolve_keys(&arguments.keys).map_err(|error| error.to_string())?;
            checked(
                &settings(arguments)?,
                StoreConfig { keys: keys::open(&keys)?.into(), ..StoreConfig::memory() },
            )
        }
        ClusterCommand::Move(arguments) => moved(arguments),
    }
}

/// The settings of a command.
pub(super) fn settings(arguments: &ClusterPlaceArgs) -> Result<ClusterSettings, String> {
    let settings = resolve_cluster(&arguments.place).map_err(|error| error.to_string())?;
    settings.ok_or_else(|| "give --metadata and --blobs".to_owned())
}

fn of_database(error: PostgresError) -> String {
    format!("--metadata: {error}")
}

/// Makes the schema, and gives the blobs to the cluster. What was interrupted goes on with the same command.
fn created(settings: &ClusterSettings, if_missing: bool) -> Result<(String, bool), String> {
    let config = database(settings)?;
    let blobs = blobs(&settings.blobs, 0)?;
    let of_blobs = |error: liteio_store::BlobError| format!("--blobs: {error}");
    let owner = blobs.cluster().map_err(of_blobs)?;
    let id = match status(&config) {
        Ok(status) => ClusterId(status.cluster.0),
        Err(PostgresError::NoCluster { .. }) => {
            // Before the schema is made: a cluster with the blobs of another one would serve nothing.
            if let Some(owner) = owner {
                return Err(format!(
                    "--blobs: {} belongs to the cluster {owner} already: choose another prefix or directory",
                    blobs.shown()
                ));
            }
            let mut id = [0; 16];
            SystemRandom.fill(&mut id).map_err(|error| error.to_string())?;
            match create(&config, liteio_postgres::ClusterId(id)) {
                Ok(()) => ClusterId(id),
                // By another command since the look above: all servers of a deployment may start with this one.
                Err(PostgresError::Exists { .. }) if if_missing => {
                    ClusterId(status(&config).map_err(of_database)?.cluster.0)
                }
                Err(error) => return Err(of_database(error)),
            }
        }
        Err(error) => return Err(of_database(error)),
    };
    if owner == Some(id) {
        let there = format!("the cluster {} is there already", settings.name);
        return if if_missing { Ok((format!("{there}\n"), true)) } else { Err(there) };
    }
    blobs.create_cluster(&id).map_err(of_blobs)?;
    Ok((
        format!(
            "created the cluster {} ({id}) with its bodies in {}\n",
            settings.name,
            blobs.shown()
        ),
        true,
    ))
}

fn migrated(settings: &ClusterSettings) -> Result<(String, bool), String> {
    let (before, after) = migrate(&database(settings)?).map_err(of_database)?;
    let text = match before == after {
        true => format!("the schema of the cluster {} has format {after} already\n", settings.name),
        false => format!(
            "the schema of the cluster {} went from format {before} to {after}\n",
            settings.name
        ),
    };
    Ok((text, true))
}

fn shown(settings: &ClusterSettings) -> Result<(String, bool), String> {
    let config = database(settings)?;
    let status = status(&config).map_err(of_database)?;
    let blobs = blobs(&settings.blobs, 0)?;
    let pair = blobs.check(&ClusterId(status.cluster.0));
    let mut text = String::new();
    let mut line = |words: std::fmt::Arguments<'_>| _ = writeln!(text, "{words}");
    line(format_args!("cluster {} ({})", settings.name, status.cluster));
    let standby = match status.waits_for_standby {
        true => "commits wait for a standby",
        false => "commits wait for no standby: its disk is the only copy of the last ones",
    };
    line(format_args!("database: PostgreSQL {}, {standby}", status.server_version));
    for danger in &status.dangers {
        line(format_args!("  may lose acknowledged writes: {danger}"));
    }
    line(format_args!(
        "  format {}, about {} rows, {} bytes, {} runs of servers so far",
        status.format, status.rows, status.bytes, status.runs
    ));
    let place = pair.as_ref().map_or_else(ToString::to_string, |()| blobs.shown().to_owned());
    line(format_args!("bodies: {place}"));
    let database = place::opened(&config)?;
    let view = ClusterView::read(&database).map_err(|error| error.to_string())?;
    let mut are_well = pair.is_ok();
    for server in &view.servers {
        let ago = view.now_ms.saturating_sub(server.beat_ms) / 1000;
        let state = match (server.is_running, ago) {
            (true, 0..10) => "runs".to_owned(),
            (true, _) => format!("has been silent for {ago} s"),
            (false, _) => format!("ended, last seen {ago} s ago"),
        };
        are_well &= !server.is_running || ago < 10;
        line(format_args!("server {} (run {}): {state}", server.name, server.run));
    }
    for job in &view.jobs {
        let server = view.servers.iter().find(|it| it.run == job.run);
        let name = server.map_or_else(|| format!("run {}", job.run), |it| it.name.clone());
        line(format_args!("{}: {name}, term {}", job.name, job.term));
    }
    Ok((text, are_well && status.dangers.is_empty()))
}

/// Reads everything, as one of the servers, so that nothing that is read is deleted meanwhile.
fn checked(settings: &ClusterSettings, config: StoreConfig) -> Result<(String, bool), String> {
    let backend = place::open(settings, &config.keys)?;
    let config = StoreConfig { keys: config.keys, ..StoreConfig::cluster(backend) };
    let store = Store::open_to_read(config).map_err(|error| error.to_string())?;
    let report = store.verify(&mut |_| {}).map_err(|error| error.to_string())?;
    store.close();
    let mut text = String::new();
    for damage in &report.damaged {
        let _ = writeln!(text, "damaged: {}", describe(damage));
    }
    let _ = writeln!(
        text,
        "{} objects and {} bytes checked, {} damaged, {} bodies that no record names",
        report.objects,
        report.bytes,
        report.damaged.len(),
        report.orphans
    );
    Ok((text, report.damaged.is_empty()))
}
