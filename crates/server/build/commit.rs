//! The commit of the sources: of a clone, of an archive that git has made, or of a published package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The commit that was found, and the files that it depends on.
pub(crate) struct Found {
    /// The hash, with `-dirty` if sources differ from it; `None` if nothing tells it.
    pub(crate) commit: Option<String>,
    pub(crate) depends_on: Vec<PathBuf>,
}

/// Finds the commit of the sources of the package in this directory.
///
/// A repository that the sources were unpacked into says nothing of them: only one whose root is the workspace is asked.
pub(crate) fn of_sources(package: &Path, asks_git: bool) -> Found {
    // `git archive` writes the hash into this file (`.gitattributes`), `cargo package` makes the other one.
    let (archived, published) =
        (package.join("build/COMMIT"), package.join(".cargo_vcs_info.json"));
    let mut depends_on = vec![package.join("build")];
    let told = fs::read_to_string(archived).ok().and_then(|text| hash_in(&text));
    let told = told.or_else(|| {
        let text = fs::read_to_string(&published).ok()?;
        depends_on.push(published);
        hash_in(text.split_once("\"sha1\"")?.1)
    });
    if told.is_some() || !asks_git {
        return Found { commit: told, depends_on };
    }
    let Some(root) = package.parent().and_then(Path::parent).filter(|it| it.join(".git").exists())
    else {
        return Found { commit: None, depends_on };
    };
    let sources = ["crates", "Cargo.toml", "Cargo.lock"];
    depends_on.extend(sources.map(|name| root.join(name)));
    let head = git(root, &["rev-parse", "--absolute-git-dir"]).map(|it| PathBuf::from(it.trim()));
    // It gets a line with each commit and each branch that is checked out.
    depends_on.extend(head.map(|it| it.join("logs/HEAD")).filter(|it| it.exists()));
    let commit = git(root, &["rev-parse", "HEAD"]).and_then(|text| hash_in(&text));
    let changes = git(root, &[&["status", "--porcelain", "--"][..], &sources].concat());
    let is_dirty = changes.is_none_or(|text| !text.trim().is_empty());
    let commit = commit.map(|hash| if is_dirty { format!("{hash}-dirty") } else { hash });
    Found { commit, depends_on }
}

/// The output of a git command in this directory, if it succeeds.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).ok())?
}

/// The first hash of a commit in a text.
fn hash_in(text: &str) -> Option<String> {
    let mut words = text.split(|it: char| !it.is_ascii_alphanumeric());
    let is_hash = |word: &&str| {
        matches!(word.len(), 40 | 64) && word.bytes().all(|it| it.is_ascii_hexdigit())
    };
    words.find(is_hash).map(str::to_owned)
}
