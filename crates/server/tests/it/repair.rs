//! `liteio repair`: says what it would do, then does it, and the rest is served.

use std::fs;
use std::process::Output;

use crate::command::{Running, liteio, stderr};
use crate::raw::{Keys, Request, send};

const KEYS: Keys = Keys { access: "liteio", secret: "liteio123" };
const OBJECTS: [&str; 3] = ["first", "second", "third"];

fn serve(directory: &tempfile::TempDir) -> Running {
    Running::start_with(directory, &["--data-dir", "data", "--address", "127.0.0.1:0"], &[])
}

fn status(running: &Running, method: &'static str, target: &str) -> u16 {
    let address = running.endpoint().strip_prefix("http://").expect("a URL");
    let is_object = target.matches('/').count() == 2;
    let body: &[u8] = if method == "PUT" && is_object { b"some bytes" } else { b"" };
    let request = Request::new(method, target).body(body).sign(KEYS);
    send(address.parse().expect("an address"), &request.bytes()).status
}

fn repair(directory: &tempfile::TempDir, more: &[&str]) -> (Option<i32>, String) {
    let mut command = liteio(directory);
    let output: Output =
        command.args(["repair", "--data-dir", "data"]).args(more).output().expect("it runs");
    let told = String::from_utf8(output.stdout.clone()).expect("text") + &stderr(&output);
    (output.status.code(), told)
}

#[test]
fn a_damaged_record_of_the_log_costs_its_own_updates_and_no_others() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let running = serve(&directory);
    assert_eq!(status(&running, "PUT", "/bucket"), 200);
    for object in OBJECTS {
        assert_eq!(status(&running, "PUT", &format!("/bucket/{object}")), 200);
    }
    running.signal("KILL");
    let path = directory.path().join("data/meta.redb.log");
    let mut log = fs::read(&path).expect("readable");
    let at = log.windows(6).position(|window| window == b"second").expect("it is there");
    log[at] ^= 1;
    fs::write(&path, &log).expect("written");

    let refused = liteio(&directory)
        .args(["--data-dir", "data", "--address", "127.0.0.1:0"])
        .output()
        .expect("it runs");
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("`liteio repair`"), "{}", stderr(&refused));

    let (code, told) = repair(&directory, &[]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("lost: log records") && told.contains("nothing was changed"), "{told}");
    assert!(told.contains(": 0 would be removed, would be set aside"), "{told}");
    assert!(fs::read(&path).expect("readable") == log, "nothing was changed");

    let (code, told) = repair(&directory, &["--yes"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("lost: log records"), "{told}");
    let running = serve(&directory);
    let found = OBJECTS.map(|object| status(&running, "GET", &format!("/bucket/{object}")));
    assert_eq!(found, [200, 404, 200]);
    assert_eq!(status(&running, "PUT", "/bucket/second"), 200);
    assert_eq!(status(&running, "PUT", "/another"), 200);
    running.signal("TERM");
    assert_eq!(repair(&directory, &["--yes"]).0, Some(0), "nothing is left to be done");
}
