//! `format.json`: the drives of a MinIO deployment.

use std::io::read_to_string;
use std::path::Path;

use serde::Deserialize;

use crate::regular;

/// LiteIO's own directory in a volume of MinIO, which neither lists it nor lets a client reach it: a
/// bucket does not begin with a dot.
pub(super) const OWN_DIRECTORY: &str = ".liteio";

/// MinIO's directory for its own files.
pub(super) const SYSTEM: &str = ".minio.sys";

#[derive(Deserialize)]
struct Format {
    format: String,
    /// The id of the deployment.
    #[serde(default)]
    id: String,
    #[serde(default)]
    xl: Drives,
}

#[derive(Default, Deserialize)]
struct Drives {
    #[serde(default)]
    sets: Vec<Vec<String>>,
}

/// Checks that the directory is the only drive of its deployment, and returns the id of that.
///
/// # Errors
/// The reason why it cannot be imported, in one line.
pub(super) fn check(root: &Path) -> Result<String, String> {
    let shown = root.display();
    let path = root.join(SYSTEM).join("format.json");
    let text = regular::open(&path).and_then(read_to_string).map_err(|error| {
        format!(
            "{shown} is no drive of MinIO, {}: {error}; give the directory that MinIO was started with",
            path.display()
        )
    })?;
    let format: Format = serde_json::from_str(&text)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let drives: usize = format.xl.sets.iter().map(Vec::len).sum();
    let from_server = "start MinIO on it and import with `liteio import s3 URL`";
    match (&*format.format, drives) {
        ("xl" | "xl-single", 1) => Ok(format.id),
        ("xl" | "xl-single", _) => Err(format!(
            "{shown} is one of {drives} drives, which hold an object only together: {from_server}"
        )),
        ("fs", _) => Err(format!(
            "{shown} is in the format that MinIO left in 2022 (FS mode): {from_server}, or import its files with \
             `liteio import fs {shown}`, without their metadata"
        )),
        (other, _) => Err(format!("{shown} is in the format {other:?}: {from_server}")),
    }
}
