//! The console's static files, embedded in the binary.
//!
//! The start page names the others below `files/SUM/`, with a sum of all of them: browsers keep these for ever, and ask for the
//! files of another release under other names.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::OnceLock;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

/// A file, and the forms of it that are computed on first use.
pub(super) struct File {
    path: &'static str,
    source: &'static [u8],
    made: OnceLock<Made>,
}

struct Made {
    bytes: Bytes,
    compressed: Bytes,
    etag: String,
}

const fn file(path: &'static str, source: &'static [u8]) -> File {
    File { path, source, made: OnceLock::new() }
}

macro_rules! files {
    ($($path:literal)*) => {
        [$(file($path, include_bytes!(concat!("../../console/", $path)))),*]
    };
}

static FILES: [File; FILES_COUNT] = files!(
    "app.js" "icon.svg" "index.html" "lib/api.js" "lib/avro.js" "lib/csv.js" "lib/decompress.js"
    "lib/drafts.js" "lib/drop.js" "lib/empty.js" "lib/encoded_words.js" "lib/format.js"
    "lib/gzip.js" "lib/hash.js" "lib/iam.js" "lib/json.js" "lib/lock.js" "lib/manifests.js"
    "lib/markdown.js" "lib/metadata.js" "lib/overview.js" "lib/own_keys.js" "lib/parquet.js"
    "lib/parquet_rows.js" "lib/parquet_values.js" "lib/prometheus.js" "lib/rates.js"
    "lib/readings.js" "lib/replication.js" "lib/s3.js" "lib/server.js" "lib/session.js"
    "lib/settings.js" "lib/shape.js" "lib/share.js" "lib/sign.js" "lib/snippets.js" "lib/svg.js"
    "lib/tables.js" "lib/thrift.js" "lib/trace.js" "lib/transfer.js" "lib/upload.js"
    "lib/vectors.js" "lib/xml.js" "lib/zip.js" "lib/zstd.js" "pages/buckets.js"
    "pages/home/index.js" "pages/metrics/index.js" "pages/metrics/tables.js" "pages/object.js"
    "pages/object_lock.js" "pages/objects/dialogs.js" "pages/objects/index.js"
    "pages/objects/listing.js" "pages/objects/open_uploads.js" "pages/preview.js"
    "pages/settings/cors.js" "pages/settings/encryption.js" "pages/settings/events.js"
    "pages/settings/index.js" "pages/settings/lifecycle.js" "pages/settings/overview.js"
    "pages/settings/ownership.js" "pages/settings/panel.js" "pages/settings/policy.js"
    "pages/settings/public_access.js" "pages/settings/quota.js" "pages/settings/replication.js"
    "pages/settings/rules.js" "pages/settings/tags.js" "pages/settings/versioning.js"
    "pages/settings/website.js" "pages/sign_in.js" "pages/tables/index.js" "pages/tables/parts.js"
    "pages/tables/table.js" "pages/tables/view.js" "pages/trace/entry.js" "pages/trace/index.js"
    "pages/upload_list.js" "pages/users/group.js" "pages/users/index.js" "pages/users/keys.js"
    "pages/users/new_user.js" "pages/users/own_keys.js" "pages/users/parts.js"
    "pages/users/policies_of.js" "pages/users/policy.js" "pages/users/role.js" "pages/users/user.js"
    "pages/vectors/index.js" "pages/vectors/put_vectors.js" "pages/vectors/query.js"
    "pages/vectors/vector.js" "pages/vectors/vector_index.js" "style/base.css" "style/pages.css"
    "style/watch.css" "ui/editor.js" "ui/grid.js" "ui/hooks.js" "ui/icons.js" "ui/kit.js"
    "ui/names.js" "ui/plot.js" "ui/scroll.js" "ui/snippets.js" "ui/theme.js" "vendor/LICENSE-htm"
    "vendor/LICENSE-preact" "vendor/preact.js"
);
const FILES_COUNT: usize = 113;
const START_PAGE: &str = "index.html";

/// The directory of this release's files, below the console's path.
fn release() -> &'static str {
    static RELEASE: OnceLock<String> = OnceLock::new();
    RELEASE.get_or_init(|| {
        let mut sum = Sha256::new();
        for file in &FILES {
            sum.update(file.path);
            sum.update(Sha256::digest(file.source));
        }
        format!("files/{}/", hex(&sum.finalize()[..12]))
    })
}

fn hex(bytes: &[u8]) -> String {
    hex_simd::encode_to_string(bytes, hex_simd::AsciiCase::Lower)
}

/// A file as it was asked for.
pub(super) struct Found {
    pub(super) file: &'static File,
    /// The path names this release: there will never be other contents below it.
    pub(super) is_fixed: bool,
}

impl File {
    /// The file at a path below the console's; the start page for an empty path.
    ///
    /// The directory of another release has the files of this one: the page may be of another server of a cluster.
    pub(super) fn at(path: &str) -> Option<Found> {
        let of_any_release = path.strip_prefix("files/").and_then(|rest| rest.split_once('/'));
        let is_fixed = path.starts_with(release());
        let path = match of_any_release {
            Some((_, path)) => path,
            None if path.is_empty() => START_PAGE,
            None => path,
        };
        let file = FILES.iter().find(|file| file.path == path)?;
        Some(Found { file, is_fixed })
    }

    pub(super) fn content_type(&self) -> &'static str {
        match self.path.rsplit_once('.').map(|(_, ending)| ending) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "text/plain; charset=utf-8",
        }
    }

    /// The file as it is served.
    pub(super) fn bytes(&self) -> Bytes {
        self.made().bytes.clone()
    }

    /// The file compressed with gzip.
    pub(super) fn compressed(&self) -> Bytes {
        self.made().compressed.clone()
    }

    pub(super) fn etag(&self) -> &str {
        &self.made().etag
    }

    fn made(&self) -> &Made {
        self.made.get_or_init(|| {
            let bytes = match self.is_ours() {
                true => Bytes::from(without_comments(self.source)),
                false if self.path == START_PAGE => Bytes::from(start_page(self.source)),
                false => Bytes::from_static(self.source),
            };
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            let written = encoder.write_all(&bytes).and_then(|()| encoder.finish());
            let etag = format!("\"{}\"", hex(&Sha256::digest(&bytes)[..12]));
            Made { bytes, compressed: written.expect("a vector takes every write").into(), etag }
        })
    }

    /// `true` for a script or a style sheet of this project. Those of others keep their notices.
    fn is_ours(&self) -> bool {
        let is_code = self.path.ends_with(".js") || self.path.ends_with(".css");
        is_code && !self.path.starts_with("vendor/")
    }
}

/// The start page with the names of this release. It names all scripts, so that browsers load them at once, and not each when
/// another one is found to import it.
fn start_page(source: &[u8]) -> String {
    let release = release();
    let mut page = String::from_utf8_lossy(source).into_owned();
    for attribute in ["href", "src"] {
        page = page.replace(&format!("{attribute}=\""), &format!("{attribute}=\"{release}"));
    }
    let scripts = FILES.iter().filter(|file| file.path.ends_with(".js") && file.path != "app.js");
    let links = scripts.fold(String::new(), |mut links, file| {
        let _ = writeln!(links, "<link rel=\"modulepreload\" href=\"{release}{}\">", file.path);
        links
    });
    page.replace("</head>", &format!("{links}</head>"))
}

/// A script or style sheet without its lines of comments, which are a tenth of what browsers would load.
///
/// A line behind an odd number of backticks stays: it may be text of a template.
fn without_comments(source: &[u8]) -> Vec<u8> {
    let (mut kept, mut is_in_block, mut is_in_template) = (Vec::new(), false, false);
    for line in source.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii();
        if is_in_block || (!is_in_template && text.starts_with(b"/*")) {
            is_in_block = !text.ends_with(b"*/");
            continue;
        }
        if !is_in_template && text.starts_with(b"//") {
            continue;
        }
        is_in_template ^= line.iter().filter(|byte| **byte == b'`').count() % 2 == 1;
        kept.extend_from_slice(line);
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Compressed size of all pages together.
    const BYTES_MAX: usize = 200_000;

    #[test]
    fn all_files_are_in_the_binary_and_small() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("console");
        let mut found = Vec::new();
        let mut directories = vec![root.clone()];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).expect("a directory") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    let path = path.strip_prefix(&root).expect("below it");
                    found.push(path.to_str().expect("UTF-8").to_owned());
                }
            }
        }
        found.sort();
        let mut embedded: Vec<_> = FILES.iter().map(|file| file.path).collect();
        embedded.sort_unstable();
        assert_eq!(embedded, found);
        let bytes: usize = FILES.iter().map(|file| file.compressed().len()).sum();
        assert!(bytes < BYTES_MAX, "{bytes} bytes");
    }

    #[test]
    fn comments_are_not_served_and_code_is() {
        let source = "// About.\n\n/** One\n * two. */\nlet a = `\n// text\n`;\n  // Why.\nb(); // here\n/* x */\n";
        let served = without_comments(source.as_bytes());
        assert_eq!(std::str::from_utf8(&served), Ok("\nlet a = `\n// text\n`;\nb(); // here\n"));
        for file in FILES.iter().filter(|file| file.is_ours()) {
            // A comment that ended within a line would hide the code behind it.
            let source = std::str::from_utf8(file.source).expect("UTF-8");
            let ends = source.lines().filter(|line| line.trim_start().starts_with("/*"));
            for line in ends.filter(|line| line.contains("*/")) {
                assert!(line.trim_end().ends_with("*/"), "{}: {line}", file.path);
            }
        }
        let licence = File::at("vendor/LICENSE-preact").expect("a file").file;
        assert_eq!(licence.bytes(), licence.source);
    }

    #[test]
    fn the_start_page_names_files_by_their_release() {
        let page = String::from_utf8(File::at("").expect("the page").file.bytes().to_vec());
        let page = page.expect("UTF-8");
        let names: Vec<&str> = page.split('"').filter(|part| part.starts_with("files/")).collect();
        for name in &names {
            assert!(File::at(name).is_some_and(|found| found.is_fixed), "{name}");
        }
        let scripts = FILES.iter().filter(|file| file.path.ends_with(".js"));
        for script in scripts {
            assert!(names.iter().any(|name| name.ends_with(script.path)), "{}", script.path);
        }
        let of_another = File::at("files/0123456789abcdef01234567/app.js").expect("a file");
        assert!(!of_another.is_fixed && of_another.file.path == "app.js");
        assert!(File::at("app.js").is_some_and(|found| !found.is_fixed));
        for missing in ["files/", "files/app.js", "files/0/", "files/0/files/0/app.js"] {
            assert!(File::at(missing).is_none(), "{missing}");
        }
    }

    #[test]
    fn no_file_names_another_host() {
        for file in FILES.iter().filter(|file| !file.path.starts_with("vendor/LICENSE")) {
            let text = std::str::from_utf8(file.source).expect("UTF-8");
            let namespaces = ["http://www.w3.org/", "http://s3.amazonaws.com/doc/"];
            let text = namespaces.iter().fold(text.to_owned(), |text, it| text.replace(it, ""));
            assert!(!text.contains("http://") && !text.contains("https://"), "{}", file.path);
        }
    }
}
