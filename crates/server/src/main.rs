//! The `liteio` command.

mod allocator;

use std::process::ExitCode;

use crate::allocator::Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    // Optional: without it, queries and small writes are slower.
    let _ = liteio_store::vectors::map_files();
    liteio::run(std::env::args_os())
}
