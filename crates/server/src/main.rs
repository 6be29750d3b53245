//! The `liteio` command.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Optional: without it, queries and small writes are slower.
    let _ = liteio_store::vectors::map_files();
    liteio::run(std::env::args_os())
}
