//! The configuration that a client gets, and namespaces.

use serde_json::{Value, json};

use super::{CATALOG, create, document, expect, get, send, warehouse};
use crate::harness::{both, memory, start_with};

#[tokio::test]
async fn a_client_is_told_its_prefix_the_routes_and_how_to_reach_objects() {
    let server = memory().await;
    server.bucket("lake").await;
    let arn = "arn:aws:s3tables:us-east-1:000000000000:bucket/lake";
    for warehouse in ["lake", "s3://lake", "s3://lake/", arn] {
        let reply = server.get(&format!("/_iceberg/v1/config?warehouse={warehouse}")).await;
        let config = document(&reply.expect_status(200));
        assert_eq!(config["overrides"]["prefix"], "lake");
        assert_eq!(config["defaults"]["s3.endpoint"], server.endpoint());
        assert_eq!(config["defaults"]["s3.path-style-access"], "true");
        assert_eq!(config["defaults"]["client.region"], "us-east-1");
        let endpoints = config["endpoints"].as_array().expect("a list");
        assert!(endpoints.contains(&json!("POST /v1/{prefix}/transactions/commit")));
    }
    let message = expect(server.get("/_iceberg/v1/config").await, 400, "BadRequestException");
    assert!(message.contains("--iceberg-warehouse"), "{message}");
    let elsewhere = server.get("/_iceberg/v1/config?warehouse=s3://lake/prefix").await;
    expect(elsewhere, 400, "BadRequestException");
    let missing = server.get("/_iceberg/v1/config?warehouse=missing").await;
    expect(missing, 404, "NoSuchWarehouseException");
    expect(server.get("/_iceberg/v1/lake/other").await, 404, "NotFoundException");
    expect(
        server.get("/_iceberg/v1/lake/transactions/commit").await,
        406,
        "UnsupportedOperationException",
    );
}

#[tokio::test]
async fn a_server_has_a_default_warehouse_if_it_is_told_so() {
    let server =
        start_with("memory", "us-east-1", |builder, _| builder.iceberg_warehouse("lake")).await;
    server.bucket("lake").await;
    let config = document(&server.get("/_iceberg/v1/config").await.expect_status(200));
    assert_eq!(config["overrides"]["prefix"], "lake");
    let body = json!({ "namespace": ["sales"] }).to_string();
    server.post("/_iceberg/v1/namespaces", body).await.expect_status(200);
    get(&server, "namespaces/sales").await.expect_status(200);
}

#[tokio::test]
async fn namespaces_are_nested_listed_changed_and_dropped() {
    for server in both().await {
        server.bucket("lake").await;
        let create = |levels: Value| {
            send(
                &server,
                "POST",
                "namespaces",
                json!({ "namespace": levels, "properties": { "owner": "me" } }),
            )
        };
        create(json!(["a"])).await.expect_status(200);
        create(json!(["a", "b c"])).await.expect_status(200);
        expect(create(json!(["a"])).await, 409, "AlreadyExistsException");
        expect(create(json!(["no", "b"])).await, 404, "NoSuchNamespaceException");
        expect(create(json!([])).await, 400, "BadRequestException");
        expect(create(json!(["a\n"])).await, 400, "BadRequestException");
        let list = document(&get(&server, "namespaces").await.expect_status(200));
        assert_eq!(list["namespaces"], json!([["a"]]));
        let list = document(&get(&server, "namespaces?parent=a").await.expect_status(200));
        assert_eq!(list["namespaces"], json!([["a", "b c"]]));
        let nested = document(&get(&server, "namespaces/a%1Fb%20c").await.expect_status(200));
        assert_eq!(nested, json!({ "namespace": ["a", "b c"], "properties": { "owner": "me" } }));
        server.head(&format!("{CATALOG}/namespaces/a")).await.expect_status(204);
        server.head(&format!("{CATALOG}/namespaces/no")).await.expect_status(404);
        let change = json!({ "removals": ["owner", "x"], "updates": { "k": "v" } });
        let changed = send(&server, "POST", "namespaces/a/properties", change).await;
        let changed = document(&changed.expect_status(200));
        assert_eq!(changed, json!({ "updated": ["k"], "removed": ["owner"], "missing": ["x"] }));
        let both = json!({ "removals": ["k"], "updates": { "k": "v" } });
        let both = send(&server, "POST", "namespaces/a/properties", both).await;
        expect(both, 422, "UnprocessableEntityException");
        let dropped = server.delete(&format!("{CATALOG}/namespaces/a")).await;
        expect(dropped, 409, "NamespaceNotEmptyException");
        server.delete("/lake").await.expect_error(409, "BucketNotEmpty");
        server.delete(&format!("{CATALOG}/namespaces/a%1Fb%20c")).await.expect_status(204);
        server.delete(&format!("{CATALOG}/namespaces/a")).await.expect_status(204);
        server.delete("/lake").await.expect_status(204);
    }
}

#[tokio::test]
async fn names_come_in_pages_to_clients_that_ask_for_them() {
    let server = memory().await;
    warehouse(&server).await;
    for number in 0..5 {
        create(&server, &format!("t{number}")).await;
    }
    let (mut token, mut names) = (String::new(), Vec::new());
    loop {
        let path = format!("namespaces/sales/tables?pageSize=2&pageToken={token}");
        let page = document(&get(&server, &path).await.expect_status(200));
        let found = page["identifiers"].as_array().expect("a list");
        assert!(found.len() <= 2);
        names.extend(found.iter().map(|it| it["name"].as_str().expect("a name").to_owned()));
        match page["next-page-token"].as_str() {
            Some(next) => token = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(names, ["t0", "t1", "t2", "t3", "t4"]);
    for path in ["?pageSize=0", "?pageSize=x", "?pageToken=!"] {
        let refused = get(&server, &format!("namespaces/sales/tables{path}")).await;
        expect(refused, 400, "BadRequestException");
    }
}
