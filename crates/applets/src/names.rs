//! The names that the binary can be called by.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The program that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Applet {
    /// `liteio` itself.
    Own,
    /// `minio server DIR`.
    Minio,
    LocalStack,
    /// The start script of MinIO and LocalStack images.
    Entrypoint,
    /// `mc`.
    Client,
    Curl,
    Wget,
    Shell,
    /// A command in `builtin`.
    Builtin,
}

/// All names. The image has a link for each (`.ci/image-tree`).
pub(super) const NAMES: [(&str, Applet); 16] = [
    ("liteio", Applet::Own),
    ("minio", Applet::Minio),
    ("localstack", Applet::LocalStack),
    ("docker-entrypoint.sh", Applet::Entrypoint),
    ("mc", Applet::Client),
    ("curl", Applet::Curl),
    ("sh", Applet::Shell),
    ("bash", Applet::Shell),
    ("echo", Applet::Builtin),
    ("false", Applet::Builtin),
    ("mkdir", Applet::Builtin),
    ("sleep", Applet::Builtin),
    ("tail", Applet::Builtin),
    ("test", Applet::Builtin),
    ("true", Applet::Builtin),
    ("wget", Applet::Wget),
];

/// Program directories in images.
const DIRECTORIES: [&str; 5] = ["", "/bin", "/usr/bin", "/usr/local/bin", "/opt/bin"];

/// The applet of a file name.
pub(super) fn applet(name: &str) -> Option<Applet> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, applet)| *applet)
}

/// The applet that a script calls by name, or by a path in a program directory.
pub(super) fn applet_at(name: &str) -> Option<Applet> {
    match name.rsplit_once('/') {
        None => applet(name),
        Some((directory, name)) if DIRECTORIES.contains(&directory) => applet(name),
        Some(_) => None,
    }
}

/// True for a shell script file.
///
/// # Errors
/// The file cannot be read.
pub(super) fn is_script(file: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(file)?.take(128).read_to_end(&mut head)?;
    let Some(rest) = head.strip_prefix(b"#!") else {
        // As in shells, a file without `#!` is a script, unless it is binary.
        return Ok(!head.contains(&0));
    };
    let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let interpreter = match words.next() {
        Some("env") => words.next(),
        first => first,
    };
    Ok(matches!(interpreter, Some("sh" | "bash" | "dash" | "ash")))
}
