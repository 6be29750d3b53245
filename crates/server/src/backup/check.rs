//! `liteio backup verify` and `liteio backup prune`.

use liteio_backup::{Repository, Retention, Verification};
use liteio_client::parse_duration;

use super::moment::now_ms;
use super::progress::Progress;
use super::{CommandError, open};
use crate::cli::PruneArgs;
use crate::output::say;

/// Reads everything that a moment needs, and prints the damage. `Ok(false)` if there is any.
pub(super) fn verify(repository: &Repository) -> Result<bool, CommandError> {
    let progress = Progress::new();
    let scratch = std::env::temp_dir();
    let verified = repository.verify_with(Some(&scratch), &mut |verified| {
        progress.set(|| format!("{} segments, {} blobs", verified.segments, verified.blobs));
    });
    drop(progress);
    let verified = verified?;
    let damaged = verified.damaged.len() as u64;
    let noted = repository.note_verification(Verification { time_ms: now_ms(), damaged });
    for line in &verified.damaged {
        say!("damaged: {line}");
    }
    say!(
        "{}: {} generations, {} bases, {} segments, {} blobs and {} bytes checked, {} damaged",
        repository.shown(),
        verified.generations,
        verified.bases,
        verified.segments,
        verified.blobs,
        verified.blob_bytes,
        verified.damaged.len()
    );
    if verified.without_bytes > 0 {
        say!(
            "{} blobs are named and not in the backup: they were damaged when it was made, or deleted \
             before a base was complete",
            verified.without_bytes
        );
    }
    if verified.unreadable > 0 {
        say!(
            "{} pairs and blobs were damaged in the data directory when they were backed up: run \
             `liteio verify` there",
            verified.unreadable
        );
    }
    if let Err(error) = noted {
        say!("the server is not told of this verification: {error}");
    }
    Ok(verified.damaged.is_empty())
}

/// Removes what no kept moment needs.
pub(super) fn prune(arguments: &PruneArgs) -> Result<bool, CommandError> {
    let keep = parse_duration(&arguments.keep);
    let keep = keep.map_err(|reason| CommandError::Usage(format!("--keep: {reason}")))?;
    if arguments.keep_bases == 0 {
        let reason = "no base would be kept: give --keep-bases 1 or more";
        return Err(CommandError::Usage(reason.to_owned()));
    }
    let repository = open(&arguments.target)?;
    let keep_ms = u64::try_from(keep.as_millis()).unwrap_or(u64::MAX);
    let retention = Retention { keep_ms, bases: arguments.keep_bases };
    let pruned = liteio_backup::prune(&repository, &retention, now_ms())?;
    say!(
        "{}: {} objects and {} bytes removed, {} objects kept",
        repository.shown(),
        pruned.objects,
        pruned.bytes,
        pruned.kept
    );
    Ok(true)
}
