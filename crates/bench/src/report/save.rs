//! Reports as files.

use std::fs;
use std::path::{Path, PathBuf};

use super::model::{FORMAT, Report};
use super::{csv, html, markdown};
use crate::error::BenchError;

/// Writes `name.md`, `name.json`, `name.csv` and `name.html` into a directory, created if missing.
/// Returns their paths.
///
/// # Errors
/// [`BenchError::File`].
pub fn save(report: &Report, directory: &Path, name: &str) -> Result<Vec<PathBuf>, BenchError> {
    fs::create_dir_all(directory).map_err(BenchError::file(directory))?;
    let json = serde_json::to_string_pretty(report).map_err(std::io::Error::other)?;
    let texts =
        [("md", markdown(report)), ("json", json), ("csv", csv(report)), ("html", html(report))];
    let mut paths = Vec::new();
    for (extension, text) in texts {
        let path = directory.join(format!("{name}.{extension}"));
        fs::write(&path, text).map_err(BenchError::file(&path))?;
        paths.push(path);
    }
    Ok(paths)
}

/// Reads a report back from its JSON.
///
/// # Errors
/// [`BenchError::File`], and [`BenchError::NotAReport`] for other JSON or a newer layout.
pub fn load(path: &Path) -> Result<Report, BenchError> {
    let text = fs::read_to_string(path).map_err(BenchError::file(path))?;
    let not = |reason: String| BenchError::NotAReport { path: path.to_owned(), reason };
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| not(error.to_string()))?;
    // The version first: a newer layout may not parse, and that would be a puzzling message.
    match value.get("format").and_then(serde_json::Value::as_u64) {
        Some(format) if format <= u64::from(FORMAT) => {}
        Some(format) => {
            return Err(not(format!("its layout is version {format}, {FORMAT} is known")));
        }
        None => return Err(not("it has no \"format\"".to_owned())),
    }
    serde_json::from_value(value).map_err(|error| not(error.to_string()))
}
