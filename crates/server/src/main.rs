//! The command.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Queries and small writes are slower without.
    let _ = liteio_store::vectors::map_files();
    liteio::run(std::env::args_os())
}
