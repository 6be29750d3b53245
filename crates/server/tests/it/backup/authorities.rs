//! The place of a backup whose certificate is of an authority of one's own.

use super::{Served, directory, refused, told};
use crate::command::{Running, liteio};

#[tokio::test]
async fn a_backup_trusts_the_authorities_of_the_server() {
    let directory = directory();
    let arguments = ["--data-dir", "target", "--bucket", "backup", "--address", "127.0.0.1:0"];
    let arguments = [&arguments[..], &["--tls-self-signed"]].concat();
    let target = Running::start_with(&directory, &arguments, &[]);
    let (location, endpoint) = ("s3://backup/mine", target.endpoint());
    let place = ["--backup-endpoint", endpoint, "--backup-access-key", "liteio"];
    let place = [&place[..], &["--backup-secret-key", "liteio123"]].concat();
    let server = ["--address", "127.0.0.1:0", "--log", "error", "--backup", location];
    let line = refused(&directory, 1, &[&server[..], &place].concat());
    let remedy = "add its authority to the file that --ca-file (LITEIO_CA_FILE) names";
    assert!(line.contains("UnknownIssuer") && line.contains(remedy), "{line}");

    let trust = ["--ca-file", "target/tls/certificate.pem"];
    let trusting = [&place[..], &trust].concat();
    let primary =
        Served::backed_up(&directory, "data", &[&["--backup", location], &trusting[..]].concat());
    primary.put("/photos", "").await;
    primary.kept().await;
    let standby = Served::standby(&directory, location, "standby", &trusting);
    standby.gets("/photos", 200).await;
    standby.end();
    primary.end();

    let keys = ["--endpoint", endpoint, "--access-key", "liteio", "--secret-key", "liteio123"];
    for command in [&["backup", "status", location][..], &["restore", location, "restored"]] {
        let arguments = [command, &keys].concat();
        let line = refused(&directory, 1, &arguments);
        assert!(line.contains(remedy), "{line}");
        told(&directory, 0, &[&arguments[..], &trust].concat());
    }
    let mut command = liteio(&directory);
    command.args(["backup", "verify", location]).args(keys).env("LITEIO_CA_FILE", trust[1]);
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let absent = [&server[..], &place, &["--ca-file", "absent.pem"]].concat();
    let line = refused(&directory, 2, &absent);
    assert!(line.contains("cannot read certificates from absent.pem"), "{line}");
}
