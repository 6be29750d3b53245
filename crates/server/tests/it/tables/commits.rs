//! Tables: creation, commits, transactions and conflicts.

use serde_json::{Value, json};

use super::{
    CATALOG, create, document, expect, get, key_of, schema, send, set_property, updates_of_create,
    warehouse,
};
use crate::harness::{both, memory};

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
