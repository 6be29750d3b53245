//! `liteio client replicate status` and `resync`, with a second server as the target.

use serde_json::{Value, json};

use crate::client::Shell;

/// Adds a rule that copies `a/photos` to a new bucket of the other server. Returns the ARN of the target.
fn replicate(shell: &Shell, other: &Shell, to: &str) -> String {
    other.ok(&["mb", "--with-versioning", &format!("a/{to}")]);
    let url = format!("{}/{to}", other.url.replace("://", "://liteio:liteio123@"));
    // Without existing objects: they would begin a walk of their own.
    let only = ["--replicate", "delete-marker,delete"];
    let add = ["replicate", "add", "a/photos", "--remote-bucket", &url];
    shell.ok(&[&add[..], &only].concat());
    let rules = shell.json(&["replicate", "ls", "a/photos"]);
    let newest = rules.last().expect("a rule");
    newest["rule"]["Destination"]["Bucket"].as_str().expect("an ARN").to_owned()
}

/// The document of a command, once it is as wanted.
fn eventually(shell: &Shell, arguments: &[&str], is_wanted: impl Fn(&Value) -> bool) -> Value {
    loop {
        let told = shell.json(arguments).remove(0);
        if is_wanted(&told) {
            return told;
        }
    }
}

#[test]
fn the_figures_of_each_target_are_told() {
    let (shell, other) = (Shell::start(), Shell::start());
    shell.ok(&["mb", "--with-versioning", "a/photos"]);
    let status = ["replicate", "status", "a/photos"];
    let none = shell.fails(&status);
    assert!(none.contains("not set; make a rule with `replicate add`"), "{none}");
    let arn = replicate(&shell, &other, "copies");
    shell.put("a/photos/x", b"hello");
    let told = eventually(&shell, &status, |told| {
        let figures = &told["replicationstats"]["currStats"]["Stats"][&arn];
        figures["replicationCount"] == 1 && figures["pendingReplicationCount"] == 0
    });
    let stat = ["stat", "a/photos/x"];
    eventually(&shell, &stat, |told| told["replicationStatus"] == "COMPLETED");
    assert!(shell.ok(&stat).contains("\nReplication Status: COMPLETED \n"));
    let copy = other.json(&["stat", "a/copies/x"]).remove(0);
    assert_eq!(copy["replicationStatus"], "REPLICA");
    assert_eq!((&told["status"], &told["op"]), (&json!("success"), &json!("status")));
    assert_eq!(told["url"], "a/photos");
    assert_eq!(told["remoteTargets"][0]["arn"], *arn);
    let text = shell.ok(&status);
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    let place = format!("({}/copies)", other.url);
    assert_eq!(lines[0], ["STATE", "WAITING", "OLDEST", "COPIED", "SIZE", "FAILED", "TARGET"]);
    assert_eq!(lines[1..], [["online", "0", "-", "1", "5", "B", "0", &arn, &place]]);
    // A target that is down, since after it was last online.
    let online = shell.json(&status).remove(0);
    drop(other);
    shell.put("a/photos/y", b"bye");
    let failing = eventually(&shell, &status, |told| {
        told["replicationstats"]["currStats"]["Stats"][&arn]["isFailing"] == true
            && told["remoteTargets"][0]["isOnline"] == false
    });
    let [before, since] = [online, failing]
        .map(|told| told["remoteTargets"][0]["lastOnline"].as_str().expect("a time").to_owned());
    assert!(before < since, "{before} {since}");
    let text = shell.ok(&status);
    let line: Vec<&str> = text.lines().nth(1).expect("a target").split_whitespace().collect();
    assert_eq!(line[..2], ["failing", "1"], "{text}");
    let reason = text.lines().nth(2).expect("a reason");
    let is_told = reason.starts_with(&format!("{arn} fails: ")) && reason.contains("refused");
    assert!(is_told, "{text}");
}

#[test]
fn versions_are_sent_to_a_target_again() {
    let (shell, other) = (Shell::start(), Shell::start());
    shell.ok(&["mb", "--with-versioning", "a/photos"]);
    let (start, status) = (
        ["replicate", "resync", "start", "a/photos"],
        ["replicate", "resync", "status", "a/photos"],
    );
    for none in [&start, &status] {
        let message = shell.fails(none);
        assert!(message.contains("replicate add"), "{message}");
    }
    let arn = replicate(&shell, &other, "copies");
    let none = shell.ok(&status);
    assert!(none.starts_with("No resynchronization of a/photos was started"), "{none}");
    shell.put("a/photos/x", b"hello");
    eventually(&shell, &["replicate", "status", "a/photos"], |told| {
        let figures = &told["replicationstats"]["currStats"]["Stats"][&arn];
        figures["replicationCount"] == 1 && figures["pendingReplicationCount"] == 0
    });
    other.ok(&["rm", "--recursive", "--force", "--versions", "a/copies"]);
    let begun = shell.json(&start).remove(0);
    assert_eq!((&begun["op"], &begun["targetArn"]), (&json!("start"), &json!(arn)));
    let id = begun["resyncInfo"]["target"][0]["resetid"].as_str().expect("an id");
    let told = eventually(&shell, &status, |told| {
        told["resyncInfo"]["target"][0]["resyncStatus"] == "Completed"
    });
    assert_eq!(told["resyncInfo"]["target"][0]["resetid"], *id);
    let text = shell.ok(&status);
    assert!(text.lines().nth(1).is_some_and(|line| line.starts_with("Completed ")), "{text}");
    assert!(text.ends_with(&format!("  {id}  {arn}\n")), "{text}");
    while other.keys("a/copies") != ["x"] {}

    // Of several targets one is named.
    let second = replicate(&shell, &other, "more");
    let several = shell.fails(&start);
    assert!(several.contains(&format!("--remote-bucket: {arn}, {second}")), "{several}");
    let one = ["--remote-bucket", &second];
    let text = shell.ok(&[&start[..], &one, &["--older-than", "7d"]].concat());
    assert!(text.starts_with("Replication reset started for a/photos with ID "), "{text}");
    // Nothing is as old.
    let told = eventually(&shell, &[&status[..], &one].concat(), |told| {
        told["resyncInfo"]["target"][0]["resyncStatus"] == "Completed"
    });
    assert_eq!(told["resyncInfo"]["target"].as_array().map(Vec::len), Some(1));
    assert_eq!(told["resyncInfo"]["target"][0]["replicationCount"], 0);
    assert_eq!(shell.ok(&status).lines().count(), 3);
    for (wrong, word) in [
        (&[&start[..], &["--remote-bucket", "copies"]].concat()[..], "'copies' is no target"),
        (&[&status[..], &["--remote-bucket", "copies"]].concat(), "'copies' is no target"),
        (&[&start[..], &one, &["--older-than", "much"]].concat(), "no duration"),
        (&["replicate", "resync", "start", "a/photos/x"], "whole bucket"),
        (&["replicate", "resync", "start", "a"], "names no bucket"),
    ] {
        let message = shell.fails(wrong);
        assert!(message.contains(word), "{message}");
    }
}
