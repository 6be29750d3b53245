//! Users after a restart.

use liteio::{KeySources, MasterKeySource, Server, ServerHandle};

use super::key_of;
use crate::harness::{ALICE, RawRequest, User};

async fn start(folder: &std::path::Path) -> ServerHandle {
    let builder = Server::builder().data_dir(folder).credentials("alice-key", "alice's secret");
    builder.spawn().await.expect("starts")
}

#[tokio::test]
async fn users_and_sessions_are_there_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path()).await;
    let send = |server: &ServerHandle, service: &'static str, form: &str, by: User| {
        RawRequest::of_form(server.address(), service, form).by(by).send_owned()
    };
    send(&server, "iam", "Action=CreateUser&UserName=carol", ALICE).await.expect_status(200);
    let key = send(&server, "iam", "Action=CreateAccessKey&UserName=carol", ALICE).await;
    let carol = key_of(&key.expect_status(200));
    let who = |server: &ServerHandle| send(server, "sts", "Action=GetCallerIdentity", carol);
    let id = who(&server).await.expect_status(200).element("UserId");
    server.stop().await;
    let server = start(folder.path()).await;
    assert_eq!(who(&server).await.expect_status(200).element("UserId"), id);
    server.stop().await;
}

#[tokio::test]
async fn keys_of_users_outlive_the_master_key_that_sealed_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = |keys: &'static str| {
        let master = (!keys.is_empty()).then(|| MasterKeySource::Text(keys.to_owned()));
        let builder = Server::builder().data_dir(folder.path());
        let builder = builder.credentials("alice-key", "alice's secret");
        let keys = KeySources { master, kms_file: None };
        async { builder.keys(keys).spawn().await.expect("starts") }
    };
    const OLD: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    const NEW: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    const BOTH: &str =
        "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let send = |server: &ServerHandle, service: &'static str, form: &str, by: User| {
        RawRequest::of_form(server.address(), service, form).by(by).send_owned()
    };
    // Without a master key, then with one, and then with another one.
    let server = start("").await;
    send(&server, "iam", "Action=CreateUser&UserName=carol", ALICE).await.expect_status(200);
    let key = send(&server, "iam", "Action=CreateAccessKey&UserName=carol", ALICE).await;
    let carol = key_of(&key.expect_status(200));
    server.stop().await;
    for keys in ["", OLD, BOTH, NEW] {
        let server = start(keys).await;
        send(&server, "sts", "Action=GetCallerIdentity", carol).await.expect_status(200);
        server.stop().await;
    }
}
