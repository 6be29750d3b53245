//! How a store is opened.

use std::path::PathBuf;

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// After everything it needs was synced: it survives a power cut.
    #[default]
    Fsync,
    /// After the operating system has it: it survives the end of the process, `kill -9` included; a
    /// power cut may take the last second.
    Os,
}

/// Where a store keeps its data.
#[derive(Clone, Debug)]
pub enum Backend {
    /// A directory, created if it is missing.
    Directory(PathBuf),
    /// Memory: nothing survives the process.
    Memory,
}
