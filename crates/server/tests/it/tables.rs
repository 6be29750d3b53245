//! The Iceberg REST catalog: routes, commits, permission, tokens and credentials, through a real server.

use serde_json::{Value, json};

use crate::harness::{
    ACCOUNTS, ALICE, BOB, CAROL, TestServer, User, both, in_memory_with_users, memory, start_with,
};
use crate::reply::Reply;

const CATALOG: &str = "/_iceberg/v1/lake";

/// A user of Alice's account who may read the tables of one namespace.
const DAVE: User = User { access_key: "dave-key", secret_key: "dave's secret", id: "alice-id" };

const DAVES_POLICY: &str = r#"{"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": ["s3tables:GetTableMetadataLocation", "s3tables:GetTableData"],
     "Resource": "arn:aws:s3tables:us-east-1:111111111111:bucket/lake/table/sales/*"},
    {"Effect": "Allow", "Action": "s3tables:GetTableBucket", "Resource": "arn:aws:s3tables:*:*:bucket/lake"},
    {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::lake/*"}]}"#;

async fn send(server: &TestServer, method: &'static str, path: &str, body: Value) -> Reply {
    server.request(method, &format!("{CATALOG}/{path}")).body(body.to_string()).send().await
}

async fn get(server: &TestServer, path: &str) -> Reply {
    server.get(&format!("{CATALOG}/{path}")).await
}

fn document(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.body).unwrap_or_else(|_| panic!("no JSON: {}", reply.text()))
}

/// An error of the specification's model.
#[track_caller]
fn expect(reply: Reply, status: u16, kind: &str) -> String {
    assert_eq!(reply.status, status, "{}", reply.text());
    let error = &document(&reply)["error"];
    assert_eq!((&error["type"], &error["code"]), (&json!(kind), &json!(status)), "{error}");
    error["message"].as_str().expect("a message").to_owned()
}

fn schema() -> Value {
    json!({ "type": "struct", "fields": [
        { "id": 1, "name": "id", "type": "long", "required": true },
        { "id": 2, "name": "note", "type": "string", "required": false },
    ] })
}

async fn warehouse(server: &TestServer) {
    server.bucket("lake").await;
    send(server, "POST", "namespaces", json!({ "namespace": ["sales"] })).await.expect_status(200);
}

async fn create(server: &TestServer, name: &str) -> Value {
    let body = json!({ "name": name, "schema": schema() });
    document(&send(server, "POST", "namespaces/sales/tables", body).await.expect_status(200))
}

/// The updates by which a client creates a table with this metadata.
pub(crate) fn updates_of_create(metadata: &Value) -> Value {
    let (schema, last_column_id) = (&metadata["schemas"][0], &metadata["last-column-id"]);
    json!([
        { "action": "assign-uuid", "uuid": metadata["table-uuid"] },
        { "action": "upgrade-format-version", "format-version": 2 },
        { "action": "add-schema", "schema": schema, "last-column-id": last_column_id },
        { "action": "set-current-schema", "schema-id": -1 },
        { "action": "add-spec", "spec": { "spec-id": 0, "fields": [] } },
        { "action": "set-default-spec", "spec-id": -1 },
        { "action": "add-sort-order", "sort-order": { "order-id": 0, "fields": [] } },
        { "action": "set-default-sort-order", "sort-order-id": -1 },
        { "action": "set-location", "location": metadata["location"] },
    ])
}

fn set_property(requirements: Value, value: &str) -> Value {
    json!({
        "requirements": requirements,
        "updates": [{ "action": "set-properties", "updates": { "a": value } }],
    })
}

/// The key of an object in the warehouse.
fn key_of(location: &Value) -> String {
    let location = location.as_str().expect("a location");
    location.strip_prefix("s3://").expect("of S3").to_owned()
}

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
async fn a_table_is_created_loaded_committed_and_dropped() {
    for server in both().await {
        warehouse(&server).await;
        let created = create(&server, "orders").await;
        let location = key_of(&created["metadata"]["location"]);
        assert!(location.starts_with("lake/sales/orders-"), "{location}");
        let file = key_of(&created["metadata-location"]);
        assert!(file.starts_with(&format!("{location}/metadata/00000-")), "{file}");
        // The file is an ordinary object of the bucket.
        let object = server.get(&format!("/{file}")).await.expect_status(200);
        assert_eq!(document(&object), created["metadata"]);

        let again = json!({ "name": "orders", "schema": schema() });
        let again = send(&server, "POST", "namespaces/sales/tables", again).await;
        expect(again, 409, "AlreadyExistsException");
        let uuid = &created["metadata"]["table-uuid"];
        let requirement = json!([{ "type": "assert-table-uuid", "uuid": uuid }]);
        let path = "namespaces/sales/tables/orders";
        let commit = send(&server, "POST", path, set_property(requirement, "1")).await;
        let committed = document(&commit.expect_status(200));
        assert_eq!(committed["metadata"]["properties"]["a"], "1");
        let file = key_of(&committed["metadata-location"]);
        assert!(file.contains("/metadata/00001-"), "{file}");
        let other = json!([{ "type": "assert-table-uuid", "uuid": "00000000-0000-0000-0000-000000000000" }]);
        let refused = send(&server, "POST", path, set_property(other, "2")).await;
        expect(refused, 409, "CommitFailedException");
        let unknown = json!({ "requirements": [], "updates": [{ "action": "unknown" }] });
        expect(send(&server, "POST", path, unknown).await, 400, "BadRequestException");
        let elsewhere = json!({ "requirements": [], "updates": [
            { "action": "set-location", "location": "s3://other/t" }] });
        expect(send(&server, "POST", path, elsewhere).await, 400, "ValidationException");

        let loaded = get(&server, path).await.expect_status(200);
        let tag = loaded.header("etag").expect("a tag").to_owned();
        assert_eq!(document(&loaded)["metadata"], committed["metadata"]);
        let known = server.request("GET", &format!("{CATALOG}/{path}"));
        known.header("if-none-match", &tag).send().await.expect_status(304);
        get(&server, &format!("{path}?snapshots=refs")).await.expect_status(200);
        expect(get(&server, &format!("{path}?snapshots=x")).await, 400, "BadRequestException");
        send(&server, "POST", &format!("{path}/metrics"), json!({})).await.expect_status(204);
        let list = document(&get(&server, "namespaces/sales/tables").await.expect_status(200));
        assert_eq!(list["identifiers"], json!([{ "namespace": ["sales"], "name": "orders" }]));

        let rename = json!({
            "source": { "namespace": ["sales"], "name": "orders" },
            "destination": { "namespace": ["sales"], "name": "new/orders" },
        });
        send(&server, "POST", "tables/rename", rename).await.expect_status(204);
        expect(get(&server, path).await, 404, "NoSuchTableException");
        let path = "namespaces/sales/tables/new%2Forders";
        server.head(&format!("{CATALOG}/{path}")).await.expect_status(204);
        server.delete(&format!("{CATALOG}/{path}")).await.expect_status(204);
        server.head(&format!("{CATALOG}/{path}")).await.expect_status(404);
        // A drop keeps the files, which can be registered again.
        server.head(&format!("/{file}")).await.expect_status(200);
        let register =
            json!({ "name": "back", "metadata-location": committed["metadata-location"] });
        let back = send(&server, "POST", "namespaces/sales/register", register).await;
        assert_eq!(document(&back.expect_status(200))["metadata"], committed["metadata"]);
    }
}

#[tokio::test]
async fn a_purge_deletes_the_files_of_a_table_and_no_others() {
    let server = memory().await;
    warehouse(&server).await;
    let orders = create(&server, "orders").await;
    let other = create(&server, "other").await;
    let location = key_of(&orders["metadata"]["location"]);
    server.put(&format!("/{location}/data/1.parquet"), "x").await.expect_status(200);
    server.put(&format!("/{location}-2/1.parquet"), "x").await.expect_status(200);
    // A table within the location of another one keeps that from being purged.
    let inner = json!({ "name": "inner", "schema": schema(),
        "location": format!("{}/inner", orders["metadata"]["location"].as_str().expect("text")) });
    send(&server, "POST", "namespaces/sales/tables", inner).await.expect_status(200);
    let purge = |name: &str| {
        server
            .request(
                "DELETE",
                &format!("{CATALOG}/namespaces/sales/tables/{name}?purgeRequested=true"),
            )
            .send_owned()
    };
    let message = expect(purge("orders").await, 400, "BadRequestException");
    assert!(message.contains("sales.inner"), "{message}");
    purge("inner").await.expect_status(204);
    purge("orders").await.expect_status(204);
    for gone in [&format!("{location}/data/1.parquet"), &key_of(&orders["metadata-location"])] {
        server.head(&format!("/{gone}")).await.expect_status(404);
    }
    for kept in [&format!("{location}-2/1.parquet"), &key_of(&other["metadata-location"])] {
        server.head(&format!("/{kept}")).await.expect_status(200);
    }
}

#[tokio::test]
async fn a_location_elsewhere_is_refused_or_replaced() {
    let elsewhere = json!({ "name": "elsewhere", "schema": schema(), "location": "hdfs://name-node/elsewhere" });
    let refusing = memory().await;
    warehouse(&refusing).await;
    let reply = send(&refusing, "POST", "namespaces/sales/tables", elsewhere.clone()).await;
    expect(reply, 400, "ValidationException");
    let replacing =
        start_with("memory", "us-east-1", |builder, _| builder.iceberg_own_locations()).await;
    warehouse(&replacing).await;
    let created =
        send(&replacing, "POST", "namespaces/sales/tables", elsewhere).await.expect_status(200);
    let created = document(&created);
    let location = &created["metadata"]["location"];
    assert!(key_of(location).starts_with("lake/sales/elsewhere-"), "{location}");
    let moved = json!({ "requirements": [], "updates": [
        { "action": "set-location", "location": "file:/elsewhere" },
        { "action": "set-properties", "updates": { "a": "b" } },
    ] });
    let moved = send(&replacing, "POST", "namespaces/sales/tables/elsewhere", moved)
        .await
        .expect_status(200);
    let moved = document(&moved);
    assert_eq!(
        (&moved["metadata"]["location"], &moved["metadata"]["properties"]["a"]),
        (location, &json!("b"))
    );
}

#[tokio::test]
async fn a_staged_table_exists_once_it_is_committed() {
    let server = memory().await;
    warehouse(&server).await;
    let body = json!({ "name": "t", "schema": schema(), "stage-create": true });
    let staged = send(&server, "POST", "namespaces/sales/tables", body.clone()).await;
    let staged = document(&staged.expect_status(200));
    assert!(staged.get("metadata-location").is_none(), "{staged}");
    let path = "namespaces/sales/tables/t";
    expect(get(&server, path).await, 404, "NoSuchTableException");
    let metadata = &staged["metadata"];
    let commit = json!({
        "identifier": { "namespace": ["sales"], "name": "t" },
        "requirements": [{ "type": "assert-create" }],
        "updates": updates_of_create(metadata),
    });
    let committed = send(&server, "POST", path, commit.clone()).await;
    let committed = document(&committed.expect_status(200));
    assert_eq!(committed["metadata"]["table-uuid"], metadata["table-uuid"]);
    expect(send(&server, "POST", path, commit).await, 409, "CommitFailedException");
    let again = send(&server, "POST", "namespaces/sales/tables", body).await;
    expect(again, 409, "AlreadyExistsException");
}

#[tokio::test]
async fn a_transaction_commits_all_of_its_tables_or_none() {
    let server = memory().await;
    warehouse(&server).await;
    let (one, two) = (create(&server, "one").await, create(&server, "two").await);
    let change = |name: &str, uuid: &Value, value: &str| {
        let mut change =
            set_property(json!([{ "type": "assert-table-uuid", "uuid": uuid }]), value);
        change["identifier"] = json!({ "namespace": ["sales"], "name": name });
        change
    };
    let (first, second) = (&one["metadata"]["table-uuid"], &two["metadata"]["table-uuid"]);
    let commit = |changes: Value| {
        send(&server, "POST", "transactions/commit", json!({ "table-changes": changes }))
    };
    commit(json!([change("one", first, "1"), change("two", second, "1")])).await.expect_status(204);
    let refused = commit(json!([change("one", first, "2"), change("two", first, "2")])).await;
    expect(refused, 409, "CommitFailedException");
    let refused = commit(json!([change("one", first, "2"), change("no", first, "2")])).await;
    expect(refused, 404, "NoSuchTableException");
    expect(commit(json!([])).await, 400, "BadRequestException");
    for name in ["one", "two"] {
        let loaded = get(&server, &format!("namespaces/sales/tables/{name}")).await;
        assert_eq!(document(&loaded)["metadata"]["properties"]["a"], "1");
    }
}

#[tokio::test]
async fn of_many_writers_all_that_conflict_lose_and_no_change_is_lost() {
    let server = memory().await;
    warehouse(&server).await;
    create(&server, "t").await;
    // Without a requirement that another commit breaks, all succeed.
    let path = format!("{CATALOG}/namespaces/sales/tables/t");
    let writers = (0..6).map(|number: u32| {
        let updates =
            json!([{ "action": "set-properties", "updates": { format!("k{number}"): "v" } }]);
        let body = json!({ "requirements": [], "updates": updates }).to_string();
        tokio::spawn(server.request("POST", &path).body(body).send_owned())
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.expect("no panic").expect_status(200);
    }
    let loaded = document(&server.get(&path).await.expect_status(200));
    for number in 0..6 {
        assert_eq!(loaded["metadata"]["properties"][format!("k{number}")], "v");
    }
    // With one, a single writer wins.
    let schema_of = |number: u32| {
        json!({ "type": "struct", "fields": [
        { "id": 1, "name": "id", "type": "long", "required": true },
        { "id": 3, "name": format!("n{number}"), "type": "long", "required": false }] })
    };
    let writers = (0..6).map(|number: u32| {
        let body = json!({
            "requirements": [{ "type": "assert-last-assigned-field-id", "last-assigned-field-id": 2 }],
            "updates": [
                { "action": "add-schema", "schema": schema_of(number), "last-column-id": 3 },
                { "action": "set-current-schema", "schema-id": -1 }],
        });
        tokio::spawn(server.request("POST", &path).body(body.to_string()).send_owned())
    });
    let mut won = 0;
    for writer in writers.collect::<Vec<_>>() {
        let reply = writer.await.expect("no panic");
        match reply.status {
            200 => won += 1,
            _ => drop(expect(reply, 409, "CommitFailedException")),
        }
    }
    assert_eq!(won, 1);
}

#[tokio::test]
async fn views_are_created_replaced_renamed_and_dropped() {
    let server = memory().await;
    warehouse(&server).await;
    let version = json!({
        "version-id": 1, "timestamp-ms": 1, "schema-id": 0, "summary": {},
        "default-namespace": ["sales"],
        "representations": [{ "type": "sql", "sql": "select 1", "dialect": "spark" }],
    });
    let body =
        json!({ "name": "v", "schema": schema(), "view-version": version, "properties": {} });
    let created = send(&server, "POST", "namespaces/sales/views", body.clone()).await;
    let created = document(&created.expect_status(200));
    expect(
        send(&server, "POST", "namespaces/sales/views", body).await,
        409,
        "AlreadyExistsException",
    );
    let table = json!({ "name": "v", "schema": schema() });
    let table = send(&server, "POST", "namespaces/sales/tables", table).await;
    expect(table, 409, "AlreadyExistsException");
    let path = "namespaces/sales/views/v";
    assert_eq!(
        document(&get(&server, path).await.expect_status(200))["metadata"],
        created["metadata"]
    );
    let uuid = &created["metadata"]["view-uuid"];
    let replace = json!({
        "requirements": [{ "type": "assert-view-uuid", "uuid": uuid }],
        "updates": [{ "action": "set-properties", "updates": { "a": "1" } }],
    });
    let replaced = document(&send(&server, "POST", path, replace).await.expect_status(200));
    assert_eq!(replaced["metadata"]["properties"]["a"], "1");
    let rename = json!({
        "source": { "namespace": ["sales"], "name": "v" },
        "destination": { "namespace": ["sales"], "name": "w" },
    });
    send(&server, "POST", "views/rename", rename).await.expect_status(204);
    expect(get(&server, path).await, 404, "NoSuchViewException");
    let list = document(&get(&server, "namespaces/sales/views").await.expect_status(200));
    assert_eq!(list["identifiers"], json!([{ "namespace": ["sales"], "name": "w" }]));
    server.head(&format!("{CATALOG}/namespaces/sales/views/w")).await.expect_status(204);
    server.delete(&format!("{CATALOG}/namespaces/sales/views/w")).await.expect_status(204);
    server.head(&format!("{CATALOG}/namespaces/sales/views/w")).await.expect_status(404);
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

#[tokio::test]
async fn policies_decide_who_may_load_and_change_tables() {
    let users = format!(
        "{ACCOUNTS}\n[[user]]\nname = \"dave\"\nparent = \"alice\"\naccess_key = \"dave-key\"\n\
         secret_key = \"dave's secret\"\npolicies = ['''{DAVES_POLICY}''']\n"
    );
    let server = in_memory_with_users(&users).await;
    warehouse(&server).await;
    create(&server, "orders").await;
    let by = |user: User, method, path: &str| {
        let request = server.request(method, &format!("/_iceberg/v1/{path}")).by(user);
        request.body(json!({ "namespace": ["x"] }).to_string()).send_owned()
    };
    let table = "lake/namespaces/sales/tables/orders";
    by(DAVE, "GET", "config?warehouse=lake").await.expect_status(200);
    by(DAVE, "GET", table).await.expect_status(200);
    for (user, method, path) in [
        (DAVE, "DELETE", table),
        (DAVE, "GET", "lake/namespaces"),
        (DAVE, "POST", "lake/namespaces"),
        (CAROL, "GET", "config?warehouse=lake"),
        (CAROL, "GET", table),
        (BOB, "GET", table),
        (BOB, "POST", "lake/namespaces"),
    ] {
        expect(by(user, method, path).await, 403, "ForbiddenException");
    }
    let anonymous = server.request("GET", &format!("/_iceberg/v1/{table}")).anonymous();
    expect(anonymous.send().await, 401, "NotAuthorizedException");
    let wrong = User { secret_key: "another secret", ..ALICE };
    expect(by(wrong, "GET", table).await, 401, "NotAuthorizedException");
    for service in ["s3tables", "execute-api"] {
        let request = server.request("GET", &format!("/_iceberg/v1/{table}"));
        request.for_service(service).send().await.expect_status(200);
    }
    // AWS's own path, if the request is signed for its service.
    let request = server.request("GET", &format!("/iceberg/v1/{table}"));
    request.for_service("s3tables").send().await.expect_status(200);
    server.get(&format!("/iceberg/v1/{table}")).await.expect_error(404, "NoSuchBucket");
    let other = server.request("GET", "/lake").for_service("s3tables").send().await;
    assert_eq!(other.status, 501, "{}", other.text());
}

/// Policies name tables by their ids, so a client takes none of another table.
#[tokio::test]
async fn an_id_is_that_of_one_table() {
    let server = memory().await;
    warehouse(&server).await;
    let one = create(&server, "one").await;
    let uuid = &one["metadata"]["table-uuid"];
    let create_as = |uuid: &Value| {
        let mut metadata = one["metadata"].clone();
        metadata["table-uuid"] = uuid.clone();
        metadata["location"] = json!("s3://lake/two");
        let requirements = json!([{ "type": "assert-create" }]);
        let commit =
            json!({ "requirements": requirements, "updates": updates_of_create(&metadata) });
        send(&server, "POST", "namespaces/sales/tables/two", commit)
    };
    let message = expect(create_as(uuid).await, 409, "AlreadyExistsException");
    assert!(message.contains("sales.two"), "{message}");
    expect(get(&server, "namespaces/sales/tables/two").await, 404, "NoSuchTableException");
    let other = json!("11111111-2222-4333-8444-555555555555");
    create_as(&other).await.expect_status(200);
    // A second name for the same metadata is a table with an id of its own.
    let again = json!({ "name": "again", "metadata-location": one["metadata-location"] });
    send(&server, "POST", "namespaces/sales/register", again).await.expect_status(200);
    let listed = server.request("GET", "/buckets").for_service("s3tables").send().await;
    let bucket = document(&listed.expect_status(200))["tableBuckets"][0]["arn"].clone();
    let bucket = bucket.as_str().expect("an ARN").replace(':', "%3A").replace('/', "%2F");
    let arn = async |name: &str| {
        let path = format!("/get-table?tableBucketARN={bucket}&namespace=sales&name={name}");
        let found = server.request("GET", &path).for_service("s3tables").send().await;
        document(&found.expect_status(200))["tableARN"].clone()
    };
    let (first, second) = (arn("one").await, arn("again").await);
    assert!(first != second && first.to_string().contains(uuid.as_str().expect("text")), "{first}");
}

/// A catalog is no way around the policies of objects.
#[tokio::test]
async fn who_may_do_everything_with_tables_reads_and_deletes_no_objects_by_them() {
    let policy = r#"{"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "s3tables:*", "Resource": "*"},
        {"Effect": "Allow", "Action": ["s3:GetObject", "s3:DeleteObject"], "Resource": "arn:aws:s3:::lake/own/*"}]}"#;
    let users = format!(
        "{ACCOUNTS}\n[[user]]\nname = \"dave\"\nparent = \"alice\"\naccess_key = \"dave-key\"\n\
         secret_key = \"dave's secret\"\npolicies = ['''{policy}''']\n"
    );
    let server = in_memory_with_users(&users).await;
    warehouse(&server).await;
    let by = |method, path: &str, body: &Value| {
        let request =
            server.request(method, &format!("{CATALOG}/namespaces/sales/{path}")).by(DAVE);
        request.body(body.to_string()).send_owned()
    };
    for (location, is_allowed) in [("own/table", true), ("payroll", false)] {
        let file = format!("/lake/{location}/2026.csv");
        server.put(&file, "secret").await.expect_status(200);
        let table = json!({ "name": "mine", "schema": schema(), "location": format!("s3://lake/{location}") });
        let created = document(&by("POST", "tables", &table).await.expect_status(200));
        let again = json!({ "name": "copy", "metadata-location": created["metadata-location"] });
        let registered = by("POST", "register", &again).await;
        let purged = by("DELETE", "tables/mine?purgeRequested=true", &Value::Null);
        match is_allowed {
            true => {
                registered.expect_status(200);
                expect(purged.await, 400, "BadRequestException");
                by("DELETE", "tables/copy", &Value::Null).await.expect_status(204);
                by("DELETE", "tables/mine?purgeRequested=true", &Value::Null)
                    .await
                    .expect_status(204);
                server.head(&file).await.expect_status(404);
            }
            false => {
                expect(registered, 403, "ForbiddenException");
                expect(purged.await, 403, "ForbiddenException");
                server.head(&file).await.expect_status(200);
                by("GET", "tables/mine", &Value::Null).await.expect_status(200);
                by("DELETE", "tables/mine", &Value::Null).await.expect_status(204);
            }
        }
    }
}

#[tokio::test]
async fn a_token_stands_for_an_access_key() {
    let server = memory().await;
    warehouse(&server).await;
    let ask = |form: &str| {
        let request = server.request("POST", "/_iceberg/v1/oauth/tokens").anonymous();
        request.header("content-type", "application/x-www-form-urlencoded").body(form).send_owned()
    };
    let form = "grant_type=client_credentials&client_id=alice-key&client_secret=alice's+secret";
    let answer = document(&ask(&format!("{form}&scope=catalog")).await.expect_status(200));
    assert_eq!((&answer["token_type"], &answer["expires_in"]), (&json!("bearer"), &json!(3600)));
    let token = answer["access_token"].as_str().expect("a token").to_owned();
    let with = |token: &str| {
        let request = server.request("GET", &format!("{CATALOG}/namespaces")).anonymous();
        request.header("authorization", format!("Bearer {token}")).send_owned()
    };
    with(&token).await.expect_status(200);
    expect(with(&format!("{token}0")).await, 401, "NotAuthorizedException");
    // It is for the catalog only.
    let object = server.request("GET", "/lake").anonymous();
    let object = object.header("authorization", format!("Bearer {token}")).send().await;
    assert!(object.status >= 400, "{}", object.text());
    for (form, error) in [
        ("grant_type=client_credentials&client_id=alice-key&client_secret=x", "invalid_client"),
        ("grant_type=client_credentials&client_id=nobody&client_secret=x", "invalid_client"),
        ("grant_type=client_credentials", "invalid_client"),
        ("grant_type=password", "unsupported_grant_type"),
        (
            "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token=x",
            "unsupported_grant_type",
        ),
    ] {
        let refused = ask(form).await.expect_status(401);
        assert_eq!(document(&refused)["error"], error, "{form}");
    }
}

#[tokio::test]
async fn vended_credentials_reach_the_files_of_one_table_only() {
    let server = memory().await;
    warehouse(&server).await;
    let orders = create(&server, "orders").await;
    let other = create(&server, "other").await;
    let path = format!("{CATALOG}/namespaces/sales/tables/orders");
    let plain = document(&server.get(&path).await.expect_status(200));
    assert_eq!(plain["config"], json!({}));
    let delegated = server.request("GET", &path);
    let delegated = delegated.header("x-iceberg-access-delegation", "vended-credentials").send();
    let answer = document(&delegated.await.expect_status(200));
    let config = &answer["config"];
    assert_eq!(&answer["storage-credentials"][0]["config"], config);
    let text = |key: &str| config[key].as_str().unwrap_or_else(|| panic!("{key}")).to_owned();
    let leaked = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let user = User {
        access_key: leaked(text("s3.access-key-id")),
        secret_key: leaked(text("s3.secret-access-key")),
        id: "",
    };
    let token = text("s3.session-token");
    let send = |method, path: String| {
        let request = server.request(method, &path).by(user).body("x");
        request.header("x-amz-security-token", &token).send_owned()
    };
    let location = key_of(&orders["metadata"]["location"]);
    send("PUT", format!("/{location}/data/1")).await.expect_status(200);
    send("GET", format!("/{location}/data/1")).await.expect_status(200);
    send("GET", format!("/{}", key_of(&orders["metadata-location"]))).await.expect_status(200);
    send("GET", format!("/{}", key_of(&other["metadata-location"]))).await.expect_status(403);
    send("PUT", "/lake/elsewhere".to_owned()).await.expect_status(403);
    send("DELETE", "/lake".to_owned()).await.expect_status(403);
    // They do not open the catalog, and get no others.
    let catalog = send("GET", path.clone()).await;
    expect(catalog, 403, "ForbiddenException");
    let own = document(&get(&server, "namespaces/sales/tables/orders/credentials").await);
    assert_eq!(own["storage-credentials"].as_array().expect("a list").len(), 1);
}

#[tokio::test]
async fn what_is_no_table_is_refused_and_nothing_is_half_done() {
    let server = memory().await;
    warehouse(&server).await;
    let post = |path: &str, body: &str| {
        server.request("POST", &format!("{CATALOG}/{path}")).body(body).send_owned()
    };
    for body in ["", "{", "[]", "{}", r#"{"name": "t"}"#, r#"{"name": "", "schema": {}}"#] {
        expect(post("namespaces/sales/tables", body).await, 400, "BadRequestException");
    }
    let invalid = json!({ "name": "t", "schema": { "type": "struct", "fields": [
        { "id": 1, "name": "a", "type": "unknown-type", "required": true }] } });
    let invalid = send(&server, "POST", "namespaces/sales/tables", invalid).await;
    expect(invalid, 400, "ValidationException");
    for location in ["s3://other/t", "s3://lake", "s3://lake/", "file:/tmp/t", "s3://lakeside/t"] {
        let body = json!({ "name": "t", "schema": schema(), "location": location });
        let refused = send(&server, "POST", "namespaces/sales/tables", body).await;
        expect(refused, 400, "ValidationException");
    }
    for (file, content) in [("a.json", "{}"), ("b.json", "x")] {
        server.put(&format!("/lake/{file}"), content).await.expect_status(200);
        let body = json!({ "name": "t", "metadata-location": format!("s3://lake/{file}") });
        let refused = send(&server, "POST", "namespaces/sales/register", body).await;
        expect(refused, 400, "ValidationException");
    }
    let missing = json!({ "name": "t", "metadata-location": "s3://lake/none.json" });
    let missing = send(&server, "POST", "namespaces/sales/register", missing).await;
    expect(missing, 400, "ValidationException");
    let list = document(&get(&server, "namespaces/sales/tables").await.expect_status(200));
    assert_eq!(list["identifiers"], json!([]));
    expect(get(&server, "namespaces/no/tables").await, 404, "NoSuchNamespaceException");
    let plan = send(&server, "POST", "namespaces/sales/tables/t/plan", json!({})).await;
    expect(plan, 406, "UnsupportedOperationException");
}
