//! The key-value benchmark: `liteio-bench kv`.
//!
//! From the bottom up: [`data`] makes keys and values, [`engine`] is the interface of engines,
//! [`task`] the work of a process, [`work`] does it. The private `floor` has loops without an
//! engine. [`rows`] lists the rows, [`roster`] the engines, and [`run`] puts it together. Every
//! engine runs in processes of its own, so that its memory is its own and it can be killed.

pub mod data;
pub mod engine;
pub mod options;
pub mod rows;
pub mod run;
pub mod task;
pub mod work;

pub(crate) mod roster;

mod counted_disk;
mod floor;
mod liteio;
mod plain_redb;
mod scan;
mod space;
mod trickle;

pub use roster::run_own;

#[cfg(test)]
mod tests;

/// The program of one engine: its name in reports, its package in the lock file beside the
/// manifest, and its type. Allocations are counted.
#[macro_export]
macro_rules! kv_engine {
    ($name:literal, $package:literal, $engine:ty) => {
        #[global_allocator]
        static ALLOCATOR: $crate::counting_allocator::CountingAllocator =
            $crate::counting_allocator::CountingAllocator;

        fn main() -> std::io::Result<()> {
            $crate::worker::main(&[$crate::worker::Candidate {
                name: $name,
                version: || {
                    let lock = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock"));
                    $crate::worker::locked_version(lock, $package).to_owned()
                },
                measure: $crate::kv::work::run::<$engine>,
            }])
        }
    };
}
