//! The second address, where the Iceberg REST catalog is at the root of the path.

use std::net::SocketAddr;

use liteio::Server;
use serde_json::Value;

use crate::harness::{RawRequest, User};

const ROOT: User = User { access_key: "liteio", secret_key: "liteio123", id: "" };

#[tokio::test]
async fn the_catalog_is_at_the_root_of_its_own_address() {
    let server = Server::builder().memory().iceberg_address("127.0.0.1:0");
    let server = server.spawn().await.expect("it starts");
    let at = |address: SocketAddr, method, path: &str| {
        RawRequest::of_s3(address, "us-east-1", method, path).by(ROOT)
    };
    let own = server.iceberg_address().expect("it has one");
    at(own, "PUT", "/lake").send().await.expect_status(200);
    let config = at(own, "GET", "/v1/config?warehouse=lake").send().await.expect_status(200);
    let config: Value = serde_json::from_slice(&config.body).expect("JSON");
    assert_eq!(config["overrides"]["prefix"], "lake");
    // The files of tables are there as well.
    let endpoint = config["defaults"]["s3.endpoint"].as_str().expect("an endpoint");
    assert!(endpoint.ends_with(&format!(":{}", own.port())), "{endpoint}");
    let body = r#"{"namespace":["n"]}"#;
    let made = at(own, "POST", "/v1/lake/namespaces").body(body).send().await;
    made.expect_status(200);
    for (address, path) in [
        (own, "/v1/lake/namespaces/n"),
        (own, "/_iceberg/v1/lake/namespaces/n"),
        (server.address(), "/_iceberg/v1/lake/namespaces/n"),
    ] {
        at(address, "GET", path).send().await.expect_status(200);
    }
    let anonymous = at(own, "GET", "/v1/lake/namespaces").anonymous().send().await;
    anonymous.expect_status(401);
    // Elsewhere the path is that of a bucket, whose name is not valid.
    let elsewhere = at(server.address(), "GET", "/v1/lake/namespaces/n").send().await;
    assert!(elsewhere.text().contains("<Error>"), "{}", elsewhere.text());
    server.stop().await;
}
