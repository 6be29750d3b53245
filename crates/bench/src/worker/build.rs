//! Programs of rivals are built when they are asked for.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Program;
use crate::process::find_program;

/// Beside this program, where everything else that was built lies, too.
pub(crate) fn built_place(own: &Program) -> PathBuf {
    own.path.parent().unwrap_or(Path::new(".")).join("rivals")
}

/// Builds one program of a Cargo workspace with the feature that it needs. Not `--locked`: the lock
/// file has the engines, which do not change with what this crate needs beside them.
///
/// # Errors
/// Why it cannot be built, in words for the report; that goes for all of these.
pub(crate) fn cargo_build(
    sources: &Path,
    feature: &str,
    binary: &str,
    target: &Path,
) -> Result<Program, String> {
    cargo(sources, &["--no-default-features", "--features", feature], binary, target)
}

/// Builds one program of a Cargo workspace that the benchmark has written.
///
/// # Errors
/// As above.
pub(crate) fn cargo_build_written(
    sources: &Path,
    binary: &str,
    target: &Path,
) -> Result<Program, String> {
    cargo(sources, &[], binary, target)
}

fn cargo(
    sources: &Path,
    arguments: &[&str],
    binary: &str,
    target: &Path,
) -> Result<Program, String> {
    let mut cargo = Command::new(tool("cargo")?);
    cargo.args(["build", "--release"]).args(arguments);
    cargo.args(["--bin", binary, "--target-dir"]).arg(target);
    build(cargo, sources)?;
    Ok(Program { path: target.join("release").join(binary), arguments: Vec::new() })
}

/// Builds the program in a folder of a Go module.
///
/// # Errors
/// As above.
pub(crate) fn go_build(sources: &Path, path: PathBuf) -> Result<Program, String> {
    let mut go = Command::new(tool("go")?);
    go.arg("build").arg("-o").arg(&path).arg(".");
    build(go, sources)?;
    Ok(Program { path, arguments: Vec::new() })
}

fn tool(name: &str) -> Result<PathBuf, String> {
    find_program(name).ok_or_else(|| format!("not built: {name} is not on PATH"))
}

fn build(mut command: Command, sources: &Path) -> Result<(), String> {
    if !sources.is_dir() {
        return Err("not built: its sources are not there".to_owned());
    }
    let output = command.current_dir(sources).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("not built: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let first = lines.iter().position(|line| line.starts_with("error"));
    let shown = first.map_or(&lines[lines.len().saturating_sub(2)..], |place| &lines[place..]);
    let reason: String = shown.join(" / ").chars().take(200).collect();
    Err(format!("not built: {reason}"))
}
