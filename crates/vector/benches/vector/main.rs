//! The speed of writing, reading and searching: `cargo bench -p liteio-vector --bench vector`.
//!
//! Everything that touches files runs twice: in `LITEIO_BENCH_DIRECTORY` (by default the directory for
//! temporary files of the build) as `disk`, and in `/dev/shm` as `tmpfs`. On a file system on which a
//! sync is free, `disk` says nothing.
//!
//! With the path of a checkout of Chassis in `LITEIO_BENCH_CHASSIS`, its own benchmark of the same
//! operations is built and run in the same two places.

mod data;
mod read;
mod search;
mod write;

use std::path::{Path, PathBuf};
use std::process::Command;

use criterion::Criterion;

/// A place for files.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    directory: PathBuf,
}

impl Place {
    /// A directory of its own, removed when dropped.
    pub(crate) fn directory(&self) -> tempfile::TempDir {
        tempfile::tempdir_in(&self.directory).expect("a directory for the benchmark")
    }
}

fn places() -> Vec<Place> {
    let disk = std::env::var_os("LITEIO_BENCH_DIRECTORY")
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let memory = PathBuf::from("/dev/shm");
    let places =
        [Place { name: "disk", directory: disk }, Place { name: "tmpfs", directory: memory }];
    places.into_iter().filter(|place| place.directory.is_dir()).collect()
}

/// Runs the benchmark of a checkout of Chassis with its files in `place`.
fn run_chassis(checkout: &Path, place: &Place) {
    println!("Chassis, {}", place.name);
    let status = Command::new(env!("CARGO"))
        .current_dir(checkout)
        .args(["bench", "--package", "chassis-core", "--bench", "storage_bench"])
        .env("TMPDIR", &place.directory)
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => eprintln!("the benchmark of Chassis has failed: {status}"),
        Err(error) => eprintln!("the benchmark of Chassis cannot be run: {error}"),
    }
}

fn main() {
    println!("kernels: {}", liteio_vector::processor_kernels());
    let mut criterion = Criterion::default().configure_from_args();
    for place in places() {
        write::bench(&mut criterion, &place);
        read::bench(&mut criterion, &place);
        if let Some(checkout) = std::env::var_os("LITEIO_BENCH_CHASSIS") {
            run_chassis(Path::new(&checkout), &place);
        }
    }
    search::bench(&mut criterion);
    criterion.final_summary();
}
