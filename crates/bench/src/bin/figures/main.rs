//! The figures of speed and size that the README and `docs/durability.md` speak of, measured on the
//! machine at hand, each as a ratio to what the disk, the socket or the hash can do in the same run.
//!
//! ```text
//! cargo build --release -p liteio -p liteio-bench
//! target/release/figures DIRECTORY [put get large list start memory]
//! ```
//! `DIRECTORY` lies on the disk to measure; everything is written below it and removed at the end.

mod client;
mod process;
mod sections;

use std::path::PathBuf;

type Section = fn(&std::path::Path) -> std::io::Result<()>;

const SECTIONS: [(&str, Section); 6] = [
    ("put", sections::put),
    ("get", sections::get),
    ("large", sections::large),
    ("list", sections::list),
    ("start", sections::start),
    ("memory", sections::memory),
];

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next().map(PathBuf::from) else {
        eprintln!("usage: figures DIRECTORY [put get large list start memory]");
        std::process::exit(2);
    };
    let wanted: Vec<String> = arguments.collect();
    for (name, section) in SECTIONS {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            println!("== {name}");
            let folder = directory.join(format!("figures-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder)?;
            let outcome = section(&folder);
            std::fs::remove_dir_all(&folder)?;
            outcome?;
        }
    }
    Ok(())
}
