//! `liteio client` against services whose names of buckets and keys lead elsewhere: nothing is
//! written, and nothing removed, outside of the target.

use std::fs;
use std::path::Path;

use crate::client::Shell;
use crate::command::stderr;
use crate::failing::{Failing, listing, ok};

/// Names that lead out of a directory, or to no file of their own.
const NAMES: &[&str] = &[
    "..",
    "../",
    "../x",
    "../../x",
    "../victim",
    "../victim/",
    "a/../../victim",
    "a/../../../x",
    ".",
    "./../x",
    "/",
    "//",
    "/x",
    "//x",
    "x//../../victim",
    "..\\victim",
    "\\x",
    "a\\..\\..\\victim",
    "C:\\x",
    "C:/x",
    // A link that is in the target already, and a place behind it.
    "link/",
    "link/x",
    "link/kept",
    "link/deep/x",
];

/// A service that has buckets and keys with these names, and the bucket `good` with the key `fine`.
/// Each object has four bytes.
fn service(names: &'static [&'static str]) -> Failing {
    Failing::start(move |request, _| {
        if request.starts_with("GET / ") || request.starts_with("GET /? ") {
            let bucket = |name: &&str| format!("<Bucket><Name>{name}</Name></Bucket>");
            let buckets: String = names.iter().chain(&["good"]).map(bucket).collect();
            return ok(&[], format!("<R><Buckets>{buckets}</Buckets></R>").as_bytes());
        }
        if request.contains("list-type=2") {
            let entry = |key: &&str| {
                format!(
                    "<Contents><Key>{key}</Key><Size>4</Size><ETag>x</ETag>\
                     <LastModified>2030-01-01T00:00:00.000Z</LastModified></Contents>\
                     <CommonPrefixes><Prefix>{key}</Prefix></CommonPrefixes>"
                )
            };
            let entries: String = names.iter().chain(&["fine"]).map(entry).collect();
            return listing(&entries);
        }
        let headers = [("last-modified", "Tue, 01 Jan 2030 00:00:00 GMT"), ("etag", "\"x\"")];
        match request.starts_with("HEAD") {
            true => ok(&[&headers[..], &[("content-length", "4")]].concat(), b""),
            false => ok(&headers, b"evil"),
        }
    })
}

/// Every file below a directory, with what is in it.
fn files(directory: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if fs::symlink_metadata(&path).expect("there").is_dir() {
            files(&path, found);
        } else if path.is_file() {
            found.push((path.display().to_string(), fs::read(&path).expect("read")));
        }
    }
    found.sort();
}

#[cfg(unix)]
#[test]
fn names_of_a_service_stay_in_the_target() {
    use std::os::unix::fs::symlink;

    let commands: &[&[&str]] = &[
        &["mirror", "a", "work/target"],
        &["mirror", "--remove", "--overwrite", "a", "work/target"],
        &["mirror", "a/good", "work/target"],
        &["mirror", "--remove", "--overwrite", "a/good", "work/target/"],
        &["cp", "-r", "a/", "work/target/"],
        &["cp", "-r", "a/good/", "work/target/"],
        &["mv", "-r", "a/good/", "work/target"],
    ];
    let failing = service(NAMES);
    let shell = Shell::with(failing.url());
    for &command in commands {
        shell.write("outside/kept", "kept");
        shell.write("outside/deep/kept", "kept");
        shell.write("work/victim/kept", "kept");
        shell.write("work/x", "kept");
        shell.write("work/target/good/old", "old");
        symlink("../../outside", shell.path("work/target/link")).expect("linked");
        symlink("../../../outside", shell.path("work/target/good/link")).expect("linked");
        let outside = || {
            let mut found = Vec::new();
            files(&shell.path("outside"), &mut found);
            files(&shell.path("work/victim"), &mut found);
            let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
            let around = fs::read_dir(shell.path("work")).expect("read").count();
            let above = fs::read_dir(shell.path("")).expect("read").count();
            let root = is_there(Path::new("/x")) || is_there(Path::new("/victim"));
            (found, fs::read(shell.path("work/x")).ok(), around, above, root)
        };
        let before = outside();
        let output = shell.run(command);
        let message = stderr(&output);
        assert_eq!(outside(), before, "{command:?}: {message}");
        assert_eq!(output.status.code(), Some(1), "{command:?}: {message}");
        assert!(!message.contains("panicked"), "{command:?}: {message}");
        // Each is refused by itself, and the rest is copied. A mirror makes no directory for a
        // marker, so it has nothing to refuse.
        if command.last() != Some(&"work/target/") || command.contains(&"a/good/") {
            let refused = NAMES.iter().filter(|name| !name.ends_with('/')).count();
            assert!(message.lines().count() >= refused, "{command:?}: {message}");
            let copied = ["fine", "good/fine"].map(|it| shell.path("work/target").join(it));
            assert!(copied.iter().any(|it| it.exists()), "{command:?}: {message}");
        }
        fs::remove_dir_all(shell.path("work/target")).expect("removed");
    }
}

#[cfg(unix)]
#[test]
fn a_bucket_that_is_a_link_in_the_target_is_not_emptied() {
    use std::os::unix::fs::symlink;

    let failing = service(&["fine2"]);
    let shell = Shell::with(failing.url());
    shell.write("outside/old", "kept");
    fs::create_dir(shell.path("target")).expect("made");
    symlink("../outside", shell.path("target/good")).expect("linked");
    let output = shell.run(&["mirror", "--remove", "a", "target"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("is a link"), "{}", stderr(&output));
    assert_eq!(fs::read(shell.path("outside/old")).expect("kept"), b"kept");
    assert_eq!(fs::read_dir(shell.path("outside")).expect("read").count(), 1);
    // The user may name a link as the target.
    symlink("outside", shell.path("named")).expect("linked");
    shell.ok(&["mirror", "a/good", "named"]);
    assert_eq!(fs::read(shell.path("outside/fine")).expect("copied"), b"evil");
}
