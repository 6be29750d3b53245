//! The command.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The buffers of connections come and go in small pieces: on huge pages the allocator could give
    // almost none of them back. Where the system refuses, more memory stays in use, and that is all.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    liteio::command::run(std::env::args_os())
}
