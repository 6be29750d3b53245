//! The speed of writing, reading and searching: `cargo bench -p liteio-vector --bench vector`.
//!
//! Everything that touches files runs twice: in `LITEIO_BENCH_DIRECTORY` (by default the directory for
//! temporary files of the build) as `disk`, and in `/dev/shm` as `tmpfs`. On a file system on which a
//! sync is free, `disk` says nothing.
//!
//! `liteio-bench vector` measures the same beside others.

mod data;
mod read;
mod search;
mod write;

use std::path::PathBuf;

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

fn main() {
    println!("kernels: {}", liteio_vector::processor_kernels());
    let mut criterion = Criterion::default().configure_from_args();
    for place in places() {
        write::bench(&mut criterion, &place);
        read::bench(&mut criterion, &place);
    }
    search::bench(&mut criterion);
    criterion.final_summary();
}
