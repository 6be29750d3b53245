//! Users that are made at run time, as clients of IAM make them.

mod pages;
mod permission;
mod refusals;
mod restarts;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::harness::{TestServer, User};
use crate::reply::Reply;

const ALLOW_ALL: &str =
    r#"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}"#;

pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// A policy of one statement.
pub(crate) fn policy(effect: &str, action: &str) -> String {
    encoded(&format!(
        r#"{{"Version":"2012-10-17","Statement":{{"Effect":"{effect}","Action":"{action}","Resource":"*"}}}}"#
    ))
}

async fn iam(server: &TestServer, form: &str) -> Reply {
    server.form("iam", form).send().await
}

/// Makes a user with a key.
pub(crate) async fn user_with_key(server: &TestServer, name: &str) -> User {
    iam(server, &format!("Action=CreateUser&UserName={name}")).await.expect_status(200);
    let key = iam(server, &format!("Action=CreateAccessKey&UserName={name}")).await;
    key_of(&key.expect_status(200))
}

pub(crate) fn key_of(reply: &Reply) -> User {
    let leak = |name: &str| -> &'static str { String::leak(reply.element(name)) };
    User { access_key: leak("AccessKeyId"), secret_key: leak("SecretAccessKey"), id: "" }
}
