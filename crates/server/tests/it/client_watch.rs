//! `liteio client watch` and `mirror --watch`, which look again and again until they are ended.

use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::Value;

use crate::client::Shell;

/// A verb that does not end by itself.
struct Watching {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watching {
    fn start(shell: &Shell, arguments: &[&str]) -> Watching {
        let mut command = shell.command(arguments);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Watching { child, lines }
    }

    /// The next object that it prints.
    fn next(&mut self) -> Value {
        let line = self.lines.next().expect("a line").expect("readable");
        serde_json::from_str(&line).expect("JSON")
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // It may have ended with a failure of the test.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn changes_are_printed_as_they_happen() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/photos"]);
    shell.put("a/photos/old.jpg", b"one");
    let arguments = ["watch", "a/photos", "--suffix", ".jpg"];
    let mut watching = Watching::start(&shell, &arguments);
    // It says when it has begun.
    let mut said = String::new();
    let errors = watching.child.stderr.take().expect("a pipe");
    BufReader::new(errors).read_line(&mut said).expect("readable");
    assert_eq!(said, "Watching a/photos\n");
    shell.put("a/photos/new.png", b"not this");
    shell.put("a/photos/new.jpg", b"new");
    shell.ok(&["rm", "a/photos/old.jpg"]);
    let mut lines = Vec::new();
    for _ in 0..2 {
        lines.push(watching.lines.next().expect("a line").expect("readable"));
    }
    lines.sort_by_key(|line| line.contains("Removed"));
    assert!(lines[0].ends_with("3 B s3:ObjectCreated:Put a/photos/new.jpg"), "{lines:?}");
    assert!(lines[1].ends_with("s3:ObjectRemoved:Delete a/photos/old.jpg"), "{lines:?}");
    drop(watching);
    assert!(shell.fails(&["watch", "a/photos", "--events", "get"]).contains("cannot be watched"));
}

#[test]
fn a_mirror_that_watches_copies_what_comes_later() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/photos"]);
    shell.write("here/one", "1");
    let here = shell.path("here").display().to_string();
    let arguments = ["mirror", "--watch", "--overwrite", "--remove", "--json", &here, "a/photos"];
    let mut mirror = Watching::start(&shell, &arguments);
    let is = |line: &Value, name: &str| {
        line["target"].as_str().is_some_and(|target| target.ends_with(name))
    };
    assert!(is(&mirror.next(), "photos/one"));
    shell.write("here/two", "2");
    assert!(is(&mirror.next(), "photos/two"));
    std::fs::remove_file(shell.path("here/one")).expect("removed");
    let removed = mirror.next();
    assert!(is(&removed, "photos/one") && removed["eventType"] == "s3:ObjectRemoved:Delete");
    shell.write("here/two", "another size");
    assert!(is(&mirror.next(), "photos/two"));
    assert_eq!(shell.ok(&["cat", "a/photos/two"]), "another size");
}
