//! Builds of rivals, on request. Every function returns the program, or the reason that there is
//! none, in words for the report.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{Launch, find_program};

/// Directory beside this program in which rivals are built.
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

/// Builds one program of a workspace of rivals, each of which is a feature. The lock file is used
/// as it is: a build changes no source.
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
    // Go's default, whatever the environment says: checksums and requirements are not changed.
    go.args(["build", "-mod=readonly", "-o"]).arg(&path).arg(".");
    build(go, sources, path)
}

/// A program that was built before.
pub(crate) fn found(path: PathBuf) -> Result<Launch, String> {
    match path.is_file() {
        true => Ok(Launch::new(path)),
        false => Err(format!("not built: {} is not there", path.display())),
    }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    /// The names below `[dependencies]` of a manifest, those that may be left out not among them.
    fn required(manifest: &str) -> BTreeSet<&str> {
        let rest = manifest.split_once("\n[dependencies]\n").map_or("", |(_, rest)| rest);
        let section = rest.split("\n[").next().unwrap_or_default();
        let lines = section.lines().filter(|line| !line.contains("optional = true"));
        let names = lines.filter_map(|line| line.split(['.', ' ', '=']).next());
        names.filter(|name| !name.is_empty() && !name.starts_with('#')).collect()
    }

    #[test]
    fn the_lock_files_of_rivals_have_what_our_crates_depend_on() {
        let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut crates = 0;
        for rivals in ["rust-kv", "rust-vector"] {
            let lock = fs::read_to_string(bench.join("rivals").join(rivals).join("Cargo.lock"));
            let lock = lock.expect("the lock file");
            for block in lock.split("[[package]]\nname = \"liteio-").skip(1) {
                let (name, rest) = block.split_once('"').expect("a name");
                let manifest = bench.join("..").join(name).join("Cargo.toml");
                // The package of the rivals themselves has none there.
                let Ok(manifest) = fs::read_to_string(manifest) else { continue };
                let required = required(&manifest);
                let locked = rest.split("[[").next().unwrap_or_default();
                let is_locked = |wanted: &&str| {
                    locked.contains(&format!(" \"{wanted}\""))
                        || locked.contains(&format!(" \"{wanted} "))
                };
                let missing: Vec<&str> =
                    required.iter().copied().filter(|wanted| !is_locked(wanted)).collect();
                assert!(
                    missing.is_empty() && !required.is_empty(),
                    "{rivals}/Cargo.lock has no {missing:?} of liteio-{name}: run `cargo update --workspace` there"
                );
                crates += 1;
            }
        }
        assert!(crates >= 6, "found {crates}");
    }
}
