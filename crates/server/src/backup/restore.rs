//! `liteio restore`: makes a data directory from a backup.

use std::path::Path;

use liteio_backup::{Error, Moment, Restored};
use liteio_store::backup::RestoredPart;
use liteio_store::{Durability, StoreConfig};

use super::moment::{now_ms, parse, shown};
use super::progress::Progress;
use super::{CommandError, check_apart, open};
use crate::cli::{BackupTargetArgs, RestoreArgs};
use crate::config::Storage;
use crate::output::say;
use crate::platform::{is_denied, refusal_to_write};

/// Restores everything. `Ok(false)` if something was left out.
pub(super) fn run(arguments: &RestoreArgs) -> Result<bool, CommandError> {
    let Some(directory) = &arguments.directory else {
        return Err(CommandError::Usage("give a directory to restore into".to_owned()));
    };
    let path = directory.clone();
    let storage = Storage::Directory { path, durability: Durability::default() };
    check_apart(&arguments.location, &storage).map_err(CommandError::Usage)?;
    let is_whole = restore(arguments, &RestoredPart::Everything, directory)?;
    if !is_whole {
        let shown = directory.display();
        say!("`liteio verify --data-dir {shown}` lists the objects whose bodies were left out");
    }
    Ok(is_whole)
}

/// Restores a part into a directory, and prints the moment and what was left out. `Ok(false)` if anything was.
pub(super) fn restore(
    arguments: &RestoreArgs,
    part: &RestoredPart,
    directory: &Path,
) -> Result<bool, CommandError> {
    let moment = moment(arguments).map_err(CommandError::Usage)?;
    let RestoreArgs { location, access, .. } = arguments;
    let repository =
        open(&BackupTargetArgs { location: location.clone(), access: access.clone() })?;
    let plan = repository.plan(moment)?;
    let progress = Progress::new();
    let config = StoreConfig::directory(directory);
    let mut tell = |restored: &Restored| {
        progress.set(|| {
            format!(
                "record {}, {} blobs, {} bytes",
                restored.number, restored.blobs, restored.blob_bytes
            )
        });
    };
    let restored = match arguments.lazy {
        true => repository.restore_lazily(&plan, config, &mut tell),
        false => repository.restore(&plan, part, config, &mut tell),
    };
    drop(progress);
    let restored = restored.map_err(|error| refused(directory, error))?;
    for reason in &restored.reasons {
        say!("left out: {reason}");
    }
    say!(
        "{}: restored to {} (generation {}, record {}): {} blobs of {} bytes, {} vectors, {} left \
         out",
        directory.display(),
        shown(restored.time_ms),
        restored.generation,
        restored.number,
        restored.blobs,
        restored.blob_bytes,
        restored.vectors,
        restored.left_out
    );
    if arguments.lazy && restored.blobs > 0 {
        say!(
            "{}: these blobs are only in the backup: start the server with --backup {location}, which brings them",
            directory.display()
        );
    }
    Ok(restored.left_out == 0)
}

/// The error of a restore, with advice if the directory cannot be made or written.
fn refused(directory: &Path, error: Error) -> CommandError {
    let told = error.to_string();
    match is_denied(&told).then(|| refusal_to_write(directory)).flatten() {
        // The directory is no option of this command.
        Some(advice) => {
            let advice = advice.replace(" (--data-dir DIR)", "");
            CommandError::Failed(format!("{told}; {advice}"))
        }
        None => error.into(),
    }
}

fn moment(arguments: &RestoreArgs) -> Result<Moment, String> {
    match (&arguments.at, &arguments.generation, arguments.number) {
        (Some(at), ..) => Ok(Moment::Time(parse(at, now_ms())?)),
        (None, Some(name), Some(number)) => {
            let generation = u64::from_str_radix(name, 16);
            let generation = generation.map_err(|_| {
                format!(
                    "{name:?} is no generation: give --generation as `liteio backup list` shows it"
                )
            })?;
            Ok(Moment::Number { generation, number })
        }
        _ => Ok(Moment::Newest),
    }
}
