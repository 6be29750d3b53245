//! Programs of rivals are built when they are asked for. Every function returns the program, or the
//! reason that there is none in words for the report.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{Launch, find_program};

/// The directory beside this program where rivals are built.
pub(crate) fn built_place(own: &Launch) -> PathBuf {
    own.program.parent().unwrap_or(Path::new(".")).join("rivals")
}

/// Builds one program of a Cargo workspace.
pub(crate) fn cargo_build(
    sources: &Path,
    arguments: &[&str],
    binary: &str,
    target: &Path,
) -> Result<Launch, String> {
    let mut cargo = Command::new(tool("cargo")?);
    cargo.args(["build", "--release"]).args(arguments);
    cargo.args(["--bin", binary, "--target-dir"]).arg(target);
    build(cargo, sources, target.join("release").join(binary))
}

/// Builds one program of a workspace of rivals, which is a feature of its own. The lock file is used as
/// it is: a build changes no source.
pub(crate) fn rival_build(
    rivals: &Path,
    workspace: &str,
    (feature, binary): (&str, &str),
    built: &Path,
) -> Result<Launch, String> {
    let arguments = ["--locked", "--no-default-features", "--features", feature];
    cargo_build(&rivals.join(workspace), &arguments, binary, &built.join(workspace))
}

/// Builds the program in a folder of a Go module.
pub(crate) fn go_build(sources: &Path, path: PathBuf) -> Result<Launch, String> {
    let mut go = Command::new(tool("go")?);
    go.arg("build").arg("-o").arg(&path).arg(".");
    build(go, sources, path)
}

fn tool(name: &str) -> Result<PathBuf, String> {
    find_program(name).ok_or_else(|| format!("not built: {name} is not on PATH"))
}

fn build(mut command: Command, sources: &Path, built: PathBuf) -> Result<Launch, String> {
    if !sources.is_dir() {
        return Err("not built: its sources are not there".to_owned());
    }
    let output = command.current_dir(sources).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("not built: {error}"))?;
    if output.status.success() {
        return Ok(Launch::new(built));
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let first = lines.iter().position(|line| line.starts_with("error"));
    let shown = &lines[first.unwrap_or(lines.len().saturating_sub(2))..];
    let reason: String = shown.join(" / ").chars().take(200).collect();
    Err(format!("not built: {reason}"))
}
