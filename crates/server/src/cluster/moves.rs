//! `liteio cluster move`.

use std::path::Path;
use std::sync::Arc;

use liteio_iam::check_secrets;
use liteio_store::cluster_move::{MoveSource, Moved, move_out};
use liteio_store::{ClusterBackend, KeyRing, StoreConfig, StoreError};

use super::commands::settings;
use super::place;
use super::progress::Progress;
use crate::cli::ClusterMoveArgs;
use crate::config::resolve_keys;
use crate::keys;

/// Moves, and returns what was moved; `false` if bodies are missing.
pub(super) fn moved(arguments: &ClusterMoveArgs) -> Result<(String, bool), String> {
    let settings = settings(&arguments.place)?;
    let sources = resolve_keys(&arguments.place.keys).map_err(|error| error.to_string())?;
    let keys: Arc<KeyRing> = keys::open(&sources)?.into();
    if keys.ids().is_empty() {
        return Err(
            "all servers of a cluster need the same master key: give --master-key-file".to_owned()
        );
    }
    let open = || place::open(&settings, &keys);
    let (moved, to) = match (&arguments.direction.from_directory, &arguments.direction.to_directory)
    {
        (Some(directory), _) => {
            let source = source(directory, &keys)?;
            let moved = into(&source, &open()?)?;
            (moved, format!("into the cluster {}", settings.name))
        }
        (None, Some(directory)) => {
            let moved = out(&open()?, directory, &keys)?;
            (moved, format!("into {}", directory.display()))
        }
        (None, None) => return Err("give --from-directory or --to-directory".to_owned()),
    };
    Ok((text(&moved, &to), moved.left_out == 0))
}

fn config(directory: &Path, keys: &Arc<KeyRing>) -> StoreConfig {
    StoreConfig { keys: Arc::clone(keys), ..StoreConfig::directory(directory) }
}

/// Opens the directory before anything of the cluster: what is refused has changed nothing.
fn source(directory: &Path, keys: &Arc<KeyRing>) -> Result<MoveSource, String> {
    let shown = directory.display();
    let told = |error: StoreError| match error {
        StoreError::KeyMissing { key } => format!(
            "--from-directory: {shown} needs {key}, which the cluster does not have: stop the server, and run `liteio \
             key rewrap --data-dir {shown} --master-key-file FILE` with the key of the cluster first, and the former ones \
             behind it"
        ),
        error => format!("--from-directory: {error}"),
    };
    let source = MoveSource::open(config(directory, keys)).map_err(told)?;
    check_secrets(source.store(), keys).map_err(told)?;
    Ok(source)
}

fn into(source: &MoveSource, to: &ClusterBackend) -> Result<Moved, String> {
    let mut progress = Progress::new();
    source.move_into(to, &mut |moved| progress.set(moved)).map_err(|error| error.to_string())
}

fn out(from: &ClusterBackend, directory: &Path, keys: &Arc<KeyRing>) -> Result<Moved, String> {
    let told = |error: StoreError| format!("--to-directory: {error}");
    let mut progress = Progress::new();
    move_out(from, config(directory, keys), &mut |moved| progress.set(moved)).map_err(told)
}

fn text(moved: &Moved, to: &str) -> String {
    let Moved { pairs, pair_bytes, written, blobs, blob_bytes, left_out, reasons, .. } = moved;
    let mut text = format!(
        "moved {pairs} records with {pair_bytes} bytes {to}, {written} of them now, and {blobs} bodies with {blob_bytes} \
         bytes. Both sides are equal\n"
    );
    for reason in reasons {
        text.push_str(&format!("left out: {reason}\n"));
    }
    if *left_out > 0 {
        text.push_str(&format!("{left_out} bodies were damaged before, and are left out\n"));
    }
    text
}
