//! `liteio client` never removes the last of something: moves to itself, mirrors that overlap or fail, names that
//! are empty or mistyped.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use crate::client::Shell;
use crate::command::{Running, stderr};
use crate::failing::{Failing, error, ok};

#[test]
fn nothing_is_moved_onto_itself() {
    let shell = Shell::start();
    shell.write("f.txt", "file");
    shell.write("dir/x", "x");
    shell.write("dir/dir/x", "deeper");
    for arguments in [
        &["mv", "f.txt", "."][..],
        &["mv", "f.txt", "./f.txt"],
        &["mv", "./f.txt", "dir/../f.txt"],
        &["cp", "f.txt", "."],
        &["mv", "-r", "dir", "dir/"],
    ] {
        shell.fails(arguments);
        assert_eq!(fs::read(shell.path("f.txt")).expect("there"), b"file", "{arguments:?}");
    }
    // Of many, each: the names below would become one another.
    for arguments in [&["mv", "-r", "dir", "."][..], &["mv", "-r", "dir/", "."]] {
        let output = shell.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", stderr(&output));
        assert_eq!(fs::read(shell.path("dir/dir/x")).expect("there"), b"deeper", "{arguments:?}");
        shell.write("dir/x", "x");
    }
    shell.ok(&["mb", "a/buc"]);
    for key in ["k", "d/k", "d/d/k"] {
        shell.put(&format!("a/buc/{key}"), key.as_bytes());
    }
    for arguments in [
        &["mv", "--attr", "X=y", "a/buc/k", "a/buc/"][..],
        &["mv", "--storage-class", "STANDARD", "a/buc/k", "a/buc/k"],
        &["mv", "a/buc/k", "a/buc"],
        &["mv", "-r", "a/buc/d", "a/buc/"],
    ] {
        let output = shell.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", stderr(&output));
        assert_eq!(shell.keys("a/buc"), ["d/d/k", "d/k", "k"], "{arguments:?}");
    }
    // Through another address of the same service.
    let other = shell.url.replace("127.0.0.1", "localhost");
    let other = other.replace("http://", "http://liteio:liteio123@");
    let through = |arguments: &[&str]| {
        shell.command(arguments).env("MC_HOST_other", &other).output().expect("it runs")
    };
    let output = through(&["mv", "a/buc/k", "other/buc/k"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("same object"), "{}", stderr(&output));
    assert_eq!(shell.ok(&["cat", "a/buc/k"]), "k");
    let output = through(&["mv", "a/buc/k", "other/buc/moved"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(shell.ok(&["cat", "a/buc/moved"]), "k");
    // Its properties change, and it stays.
    shell.ok(&["cp", "--attr", "X=y", "a/buc/moved", "a/buc/moved"]);
    assert!(shell.ok(&["stat", "a/buc/moved"]).contains("X-Amz-Meta-X: y"));
    // What is moved elsewhere has gone.
    shell.ok(&["mv", "-r", "dir", "a/buc/new/"]);
    assert!(!shell.path("dir/x").exists());
    shell.ok(&["mv", "a/buc/new/dir/x", "./back/x"]);
    assert_eq!(fs::read(shell.path("back/x")).expect("there"), b"x");
}

#[test]
fn a_mirror_refuses_what_overlaps_and_what_is_not_there() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/buc"]);
    shell.put("a/buc/x", b"x");
    shell.put("a/buc/new/x", b"new");
    shell.write("site/page", "x");
    for arguments in [
        &["mirror", "--remove", "a/buc/new", "a/buc"][..],
        &["mirror", "a/buc", "a/buc/backup"],
        &["mirror", "a/buc", "a/buc"],
        &["mirror", "site", "site/copy"],
        &["mirror", "--remove", "site/../site", "."],
    ] {
        assert!(shell.fails(arguments).contains("within the other"), "{arguments:?}");
    }
    assert_eq!(shell.keys("a/buc"), ["new/x", "x"]);
    // A mistyped name is as empty as one below which there is nothing.
    assert!(shell.fails(&["mirror", "--remove", "a/buc/nwe", "site"]).contains("a/buc/nwe"));
    assert!(shell.path("site/page").exists());
    assert!(shell.fails(&["mirror", "--remove", "a/none", "a/made"]).contains("NoSuchBucket"));
    assert!(shell.fails(&["ls", "a/made"]).contains("NoSuchBucket"));
}

#[cfg(unix)]
#[test]
fn a_mirror_removes_nothing_after_a_failure() {
    use std::os::unix::fs::symlink;

    let shell = Shell::start();
    shell.write("site/page", "x");
    shell.write("site/dir/page", "x");
    shell.ok(&["mirror", "site", "a/website"]);
    shell.put("a/website/old", b"x");
    // The user of the tests may read everything, so a link to nothing is what cannot be read.
    symlink("nowhere", shell.path("site/broken")).expect("linked");
    let mirror = ["mirror", "--remove", "site", "a/website"];
    let output = shell.run(&mirror);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("Nothing is removed"), "{}", stderr(&output));
    assert_eq!(shell.keys("a/website"), ["dir/page", "old", "page"]);
    fs::remove_file(shell.path("site/broken")).expect("removed");
    // A directory that is left out for being a link now says nothing of what is in it.
    fs::rename(shell.path("site/dir"), shell.path("elsewhere")).expect("moved");
    symlink("../elsewhere", shell.path("site/dir")).expect("linked");
    shell.ok(&mirror);
    assert_eq!(shell.keys("a/website"), ["dir/page", "page"]);
    // A copy that fails, here as no file can have the name.
    shell.put("a/website/a//b", b"x");
    shell.write("copy/old", "x");
    let output = shell.run(&["mirror", "--remove", "a/website", "copy"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("Nothing is removed"), "{}", stderr(&output));
    assert!(shell.path("copy/old").exists() && shell.path("copy/page").exists());
}

#[test]
fn lines_of_standard_input_are_checked_like_arguments() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/bucket"]);
    shell.put("a/bucket/key", b"x");
    shell.ok(&["mb", "a/empty"]);
    let rm = |arguments: &[&str], lines: &str| {
        let mut child = shell
            .command(&[&["rm", "--stdin", "--force"], arguments].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        (output.status.code(), stderr(&output))
    };
    let (code, message) = rm(&["--recursive"], "a/bucket/key\na/\n");
    assert!(code == Some(1) && message.contains("--dangerous"), "{message}");
    for line in ["a/empty", "a/empty/"] {
        let (code, message) = rm(&[], &format!("a/bucket/key\n{line}\n"));
        assert!(code == Some(1) && message.contains("is a bucket"), "{message}");
    }
    assert_eq!(shell.keys("a/bucket"), ["key"]);
    shell.ok(&["ls", "a/empty"]);
    assert_eq!(rm(&[], "a/bucket/key\n\n").0, Some(0));
    assert_eq!(shell.ok(&["ls", "a/bucket"]), "");
}

#[test]
fn large_copies_keep_their_tags() {
    let failing = Failing::start(|request, _| match request {
        _ if request.starts_with("GET") && request.contains("tagging") => {
            let tag = "<Tag><Key>team</Key><Value>blue</Value></Tag>";
            ok(&[], format!("<Tagging><TagSet>{tag}</TagSet></Tagging>").as_bytes())
        }
        _ if request.starts_with("HEAD /bucket/big") => ok(
            &[("content-length", "6442450944"), ("x-amz-tagging-count", "1"), ("etag", "\"e\"")],
            b"",
        ),
        _ if request.starts_with("POST") && request.contains("uploads=") => {
            ok(&[], b"<R><UploadId>u1</UploadId></R>")
        }
        _ if request.starts_with("POST") => ok(&[], b"<R></R>"),
        _ if request.starts_with("PUT") => {
            ok(&[], b"<CopyPartResult><ETag>x</ETag></CopyPartResult>")
        }
        _ => error(404, "NoSuchKey"),
    });
    let shell = Shell::with(failing.url());
    shell.ok(&["cp", "a/bucket/big", "a/bucket/to/"]);
    let requests = failing.requests();
    let begin = requests.iter().find(|it| it.contains("uploads=")).expect("an upload");
    assert!(begin.contains("x-amz-tagging: team=blue"), "{begin}");
}

#[test]
fn an_upload_whose_last_answer_is_lost_is_stored() {
    // The MD5 of 16 MiB and of 1 MiB of zeros, and of both.
    let first = "\"2c7ab85a893283e98c931e9511add182\"";
    let last = "\"b6d81b360a5672d80c27430f39153e2c\"";
    let whole = "\"1233e638842d834c4a8b518d7901b782-3\"";
    for (etag, code) in [(whole, 0), ("\"other-3\"", 1)] {
        let failing = Failing::start(move |request, count| match request {
            _ if request.starts_with("POST") && request.contains("uploads=") => {
                ok(&[], b"<R><UploadId>u1</UploadId></R>")
            }
            _ if request.starts_with("PUT") && request.contains("partNumber=3") => {
                ok(&[("etag", last)], b"")
            }
            _ if request.starts_with("PUT") => ok(&[("etag", first)], b""),
            // The first answer is lost, and then the upload has gone.
            _ if request.starts_with("POST") && count < 6 => Vec::new(),
            _ if request.starts_with("POST") => error(404, "NoSuchUpload"),
            _ if request.starts_with("HEAD") => ok(&[("etag", etag), ("content-length", "1")], b""),
            _ => b"HTTP/1.1 204 Gone\r\n\r\n".to_vec(),
        });
        let shell = Shell::with(failing.url());
        shell.write("big", vec![0; 33 << 20]);
        let output = shell.run(&["cp", "big", "a/bucket/"]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    }
}

/// The region is told by the refusal of a signature for another one, in XML or JSON.
#[test]
fn a_server_with_a_region_needs_no_option() {
    let shell = Shell::start_with(&["--region", "eu-west-1"]);
    let other = Shell::start_with(&["--region", "eu-north-1"]);
    let made = shell.json(&["mb", "--with-versioning", "a/first"]);
    assert_eq!(made[0]["region"], "eu-west-1");
    shell.ok(&["mb", "--ignore-existing", "a/second"]);
    shell.ok(&["mb", "--ignore-existing", "a/second"]);
    // The default of `mc`, in scripts that write it out.
    shell.ok(&["mb", "--region", "us-east-1", "a/third"]);
    shell.write("files/x", "x");
    shell.ok(&["mirror", "files", "a/fourth"]);
    assert_eq!(shell.ok(&["cat", "a/fourth/x"]), "x");
    for (name, option) in [("fifth", None), ("sixth", Some("--ignore-existing"))] {
        let target = format!("a/{name}");
        let arguments: Vec<&str> = ["mb", &target].into_iter().chain(option).collect();
        let mut command = shell.command(&arguments);
        let output = command.env("MC_REGION", "eu-central-1").output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let wrong = shell.fails(&["mb", "--region", "eu-central-1", "a/seventh"]);
    assert!(wrong.contains("location constraint"), "{wrong}");

    shell.ok(&["admin", "info", "a"]);
    shell.ok(&["admin", "user", "add", "a", "carol", "carols-secret"]);
    shell.ok(&["admin", "policy", "attach", "a", "readwrite", "--user", "carol"]);
    assert!(shell.ok(&["admin", "config", "get", "a", "region"]).contains("name=eu-west-1"));
    shell.ok(&["quota", "set", "a/first", "--size", "1GiB"]);
    other.ok(&["mb", "--with-versioning", "a/copies"]);
    let place = other.url.replace("http://", "http://liteio:liteio123@") + "/copies";
    shell.ok(&["replicate", "add", "a/first", "--remote-bucket", &place]);
    assert!(shell.ok(&["replicate", "ls", "a/first"]).contains("copies"));
}

#[test]
fn the_region_of_a_service_is_learned() {
    let files = tempfile::tempdir().expect("a temporary directory");
    let arguments = ["--memory", "--address", "127.0.0.1:0", "--region", "eu-central-1"];
    let server = Running::start_with(&files, &arguments, &[]);
    let shell = Shell::with(server.endpoint());
    shell.ok(&["alias", "set", "b", server.endpoint(), "liteio", "liteio123"]);
    assert_eq!(shell.ok(&["ls", "b"]), "");
    let wrong = shell.fails(&["alias", "set", "c", server.endpoint(), "liteio", "wrong-secret"]);
    assert!(wrong.contains("SignatureDoesNotMatch"), "{wrong}");
    shell.ok(&["mb", "--region", "eu-central-1", "b/bucket"]);
    shell.put("b/bucket/key", b"x");
    assert_eq!(shell.ok(&["cat", "b/bucket/key"]), "x");
}

#[test]
fn a_wrong_key_is_told_by_every_verb_with_what_to_do() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/photos"]);
    shell.put("a/photos/cat", b"x");
    shell.write("files/x", "x");
    let host = shell.url.replace("http://", "http://liteio:stale-secret@");
    // The first request of most of them is a HEAD, whose answer has no document with the reason.
    for arguments in [
        &["ls", "b/photos"][..],
        &["stat", "b/photos/cat"],
        &["cp", "b/photos/cat", "copy"],
        &["mirror", "files", "b/photos"],
    ] {
        let output = shell.command(arguments).env("MC_HOST_b", &host).output().expect("it runs");
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {line}");
        assert!(line.contains("SignatureDoesNotMatch"), "{arguments:?}: {line}");
        assert!(line.contains("`alias set`"), "{arguments:?}: {line}");
    }
}
