//! S3 Tables through a real server: its operations, versions, permission, errors, and the REST catalog beside it.

use serde_json::{Value, json};

use crate::harness::{
    ACCOUNTS, ALICE, BOB, CAROL, TestServer, User, both, in_memory_with_users, memory, with_keys,
};
use crate::reply::Reply;

const CATALOG: &str = "/_iceberg/v1/lake";

/// A user of Alice's account who may read one namespace.
const DAVE: User = User { access_key: "dave-key", secret_key: "dave's secret", id: "alice-id" };

const DAVES_POLICY: &str = r#"{"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": ["s3tables:GetTable", "s3tables:GetTableMetadataLocation"],
     "Resource": "arn:aws:s3tables:us-east-1:111111111111:bucket/lake/table/sales/*"},
    {"Effect": "Allow", "Action": "s3tables:ListTables", "Resource": "arn:aws:s3tables:*:*:bucket/lake",
     "Condition": {"StringEquals": {"s3tables:namespace": "sales"}}}]}"#;

fn document(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.body).unwrap_or_else(|_| panic!("no JSON: {}", reply.text()))
}

/// An exception, in AWS's form.
#[track_caller]
fn expect(reply: Reply, status: u16, code: &str) -> String {
    assert_eq!(reply.status, status, "{}", reply.text());
    assert_eq!(reply.header("x-amzn-errortype"), Some(code), "{}", reply.text());
    let body = document(&reply);
    assert_eq!(body["__type"], code, "{body}");
    body["message"].as_str().expect("a message").to_owned()
}

fn encoded(text: &str) -> String {
    text.replace(':', "%3A").replace('/', "%2F")
}

async fn send(server: &TestServer, method: &'static str, path: &str, body: Value) -> Reply {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    server.request(method, path).for_service("s3tables").body(body).send().await
}

async fn get(server: &TestServer, path: &str) -> Reply {
    send(server, "GET", path, Value::Null).await
}

async fn delete(server: &TestServer, path: &str) -> Reply {
    send(server, "DELETE", path, Value::Null).await
}

/// Creates a table bucket, and returns its ARN.
async fn table_bucket(server: &TestServer, name: &str) -> String {
    let created = send(server, "PUT", "/buckets", json!({ "name": name })).await;
    let arn = document(&created.expect_status(200))["arn"].as_str().expect("an ARN").to_owned();
    assert!(arn.starts_with("arn:aws:s3tables:us-east-1:"), "{arn}");
    assert!(arn.ends_with(&format!(":bucket/{name}")), "{arn}");
    arn
}

/// The table bucket `lake` with the namespace `sales`, and its ARN as a part of paths.
async fn lake(server: &TestServer) -> String {
    let arn = encoded(&table_bucket(server, "lake").await);
    let body = json!({ "namespace": ["sales"] });
    let created = send(server, "PUT", &format!("/namespaces/{arn}"), body).await;
    assert_eq!(document(&created.expect_status(200))["namespace"], json!(["sales"]));
    arn
}

fn with_schema(name: &str) -> Value {
    json!({ "name": name, "format": "ICEBERG", "metadata": { "iceberg": { "schema": { "fields": [
        { "name": "id", "type": "long", "required": true },
        { "name": "note", "type": "string" },
    ] } } } })
}

async fn create(server: &TestServer, arn: &str, body: Value) -> Value {
    let created = send(server, "PUT", &format!("/tables/{arn}/sales"), body).await;
    document(&created.expect_status(200))
}

async fn table(server: &TestServer, arn: &str, name: &str) -> Value {
    let path = format!("/get-table?tableBucketARN={arn}&namespace=sales&name={name}");
    document(&get(server, &path).await.expect_status(200))
}

#[tokio::test]
async fn a_table_bucket_is_a_bucket() {
    for server in both().await {
        let arn = table_bucket(&server, "lake").await;
        server.head("/lake").await.expect_status(200);
        let again = send(&server, "PUT", "/buckets", json!({ "name": "lake" })).await;
        expect(again, 409, "ConflictException");
        for name in ["la", "Lake", "a.b", "a_b"] {
            let refused = send(&server, "PUT", "/buckets", json!({ "name": name })).await;
            expect(refused, 400, "BadRequestException");
        }
        server.bucket("other").await;
        let found = document(&get(&server, &format!("/buckets/{}", encoded(&arn))).await);
        assert_eq!((&found["name"], &found["arn"]), (&json!("lake"), &json!(arn)));
        assert_eq!(found["ownerAccountId"], arn.split(':').nth(4).expect("an account"));
        let names = |list: &Value| {
            let list = list["tableBuckets"].as_array().expect("a list").iter();
            list.map(|it| it["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
        };
        let list = document(&get(&server, "/buckets").await.expect_status(200));
        assert_eq!(names(&list), ["lake", "other"]);
        assert_eq!(list["tableBuckets"][0]["createdAt"], found["createdAt"]);
        let first = document(&get(&server, "/buckets?maxBuckets=1").await.expect_status(200));
        let token = first["continuationToken"].as_str().expect("a token");
        let path = format!("/buckets?continuationToken={token}&maxBuckets=1");
        let second = document(&get(&server, &path).await.expect_status(200));
        assert_eq!((names(&first), names(&second)), (vec!["lake".into()], vec!["other".into()]));
        assert_eq!(second.get("continuationToken"), None);
        let with_prefix = document(&get(&server, "/buckets?prefix=la").await.expect_status(200));
        assert_eq!(names(&with_prefix), ["lake"]);
        for path in
            ["/buckets?maxBuckets=0", "/buckets?maxBuckets=x", "/buckets?continuationToken=!"]
        {
            expect(get(&server, path).await, 400, "BadRequestException");
        }
        let path = format!("/buckets/{}", encoded(&arn));
        server.put("/lake/object", "x").await.expect_status(200);
        expect(delete(&server, &path).await, 409, "ConflictException");
        server.delete("/lake/object").await.expect_status(204);
        delete(&server, &path).await.expect_status(204);
        expect(delete(&server, &path).await, 404, "NotFoundException");
        expect(get(&server, &path).await, 404, "NotFoundException");
        server.head("/lake").await.expect_status(404);
    }
}

#[tokio::test]
async fn namespaces_are_created_listed_and_deleted() {
    let server = memory().await;
    let arn = lake(&server).await;
    let path = format!("/namespaces/{arn}");
    let create = |levels: Value| send(&server, "PUT", &path, json!({ "namespace": levels }));
    create(json!(["archive"])).await.expect_status(200);
    expect(create(json!(["sales"])).await, 409, "ConflictException");
    for levels in [json!(["Sales"]), json!(["a", "b"]), json!([]), json!("sales"), json!(["a-b"])] {
        expect(create(levels).await, 400, "BadRequestException");
    }
    let found = document(&get(&server, &format!("{path}/sales")).await.expect_status(200));
    assert_eq!(found["namespace"], json!(["sales"]));
    assert_eq!(found["createdBy"], found["ownerAccountId"]);
    let list = document(&get(&server, &path).await.expect_status(200));
    assert_eq!(list["namespaces"][0]["namespace"], json!(["archive"]));
    assert_eq!(list["namespaces"][1], found);
    let page = document(&get(&server, &format!("{path}?maxNamespaces=1")).await);
    let token = page["continuationToken"].as_str().expect("a token");
    let page = document(&get(&server, &format!("{path}?continuationToken={token}")).await);
    assert_eq!(page["namespaces"], json!([found]));
    let page = document(&get(&server, &format!("{path}?prefix=ar")).await);
    assert_eq!(page["namespaces"].as_array().expect("a list").len(), 1);
    // Those of the other API are the same.
    let catalog = document(&server.get(&format!("{CATALOG}/namespaces")).await);
    assert_eq!(catalog["namespaces"], json!([["archive"], ["sales"]]));
    let bucket = format!("/buckets/{arn}");
    expect(delete(&server, &bucket).await, 409, "ConflictException");
    create_in_both(&server, &arn).await;
    expect(delete(&server, &format!("{path}/sales")).await, 409, "ConflictException");
    delete(&server, &format!("{path}/archive")).await.expect_status(204);
    expect(delete(&server, &format!("{path}/archive")).await, 404, "NotFoundException");
    expect(get(&server, &format!("{path}/archive")).await, 404, "NotFoundException");
}

/// A table by each API: `here` and `there`.
async fn create_in_both(server: &TestServer, arn: &str) {
    create(server, arn, with_schema("here")).await;
    let schema = json!({ "type": "struct", "fields": [
        { "id": 1, "name": "id", "type": "long", "required": true }] });
    let body = json!({ "name": "there", "schema": schema }).to_string();
    server.post(&format!("{CATALOG}/namespaces/sales/tables"), body).await.expect_status(200);
}

#[tokio::test]
async fn a_table_of_either_api_is_one_of_both() {
    for server in both().await {
        let arn = lake(&server).await;
        create_in_both(&server, &arn).await;
        for name in ["here", "there"] {
            let found = table(&server, &arn, name).await;
            let path = format!("{CATALOG}/namespaces/sales/tables/{name}");
            let loaded = document(&server.get(&path).await.expect_status(200));
            assert_eq!(found["metadataLocation"], loaded["metadata-location"]);
            assert_eq!(found["warehouseLocation"], loaded["metadata"]["location"]);
            let uuid = loaded["metadata"]["table-uuid"].as_str().expect("an id");
            let table_arn = found["tableARN"].as_str().expect("an ARN");
            assert!(table_arn.ends_with(&format!(":bucket/lake/table/{uuid}")), "{table_arn}");
            let by_arn = format!("/get-table?tableArn={}", encoded(table_arn));
            assert_eq!(document(&get(&server, &by_arn).await.expect_status(200)), found);
            assert_eq!((&found["format"], &found["type"]), (&json!("ICEBERG"), &json!("customer")));
            // A commit of the catalog changes the version.
            let commit = json!({ "requirements": [], "updates": [
                { "action": "set-properties", "updates": { "a": "1" } }] });
            let committed = server.post(&path, commit.to_string()).await.expect_status(200);
            let next = table(&server, &arn, name).await;
            assert_eq!(next["metadataLocation"], document(&committed)["metadata-location"]);
            assert_eq!(next["tableARN"], found["tableARN"]);
            assert_ne!(next["versionToken"], found["versionToken"]);
        }
        let loaded = server.get(&format!("{CATALOG}/namespaces/sales/tables/here")).await;
        let fields = document(&loaded)["metadata"]["schemas"][0]["fields"].clone();
        assert_eq!(
            fields,
            json!([
                { "id": 1, "name": "id", "type": "long", "required": true },
                { "id": 2, "name": "note", "type": "string", "required": false },
            ])
        );
        let list = document(&get(&server, &format!("/tables/{arn}")).await.expect_status(200));
        let names: Vec<_> = list["tables"].as_array().expect("a list").iter().collect();
        assert_eq!(names.len(), 2);
        assert_eq!(names[0]["namespace"], json!(["sales"]));
    }
}

#[tokio::test]
async fn tables_are_listed_in_pages_renamed_and_deleted_with_their_files() {
    let server = memory().await;
    let arn = lake(&server).await;
    send(&server, "PUT", &format!("/namespaces/{arn}"), json!({ "namespace": ["b"] })).await;
    for name in ["t1", "t2", "u1"] {
        create(&server, &arn, with_schema(name)).await;
    }
    let other = send(&server, "PUT", &format!("/tables/{arn}/b"), with_schema("t0")).await;
    other.expect_status(200);
    expect(
        send(&server, "PUT", &format!("/tables/{arn}/b"), with_schema("t0")).await,
        409,
        "ConflictException",
    );
    let all = async |query: &str| {
        let (mut names, mut token) = (Vec::new(), None::<String>);
        loop {
            let more = token.map(|token| format!("&continuationToken={token}"));
            let path = format!("/tables/{arn}?maxTables=1{query}{}", more.unwrap_or_default());
            let page = document(&get(&server, &path).await.expect_status(200));
            let found = page["tables"].as_array().expect("a list");
            assert!(found.len() <= 1);
            names.extend(found.iter().map(|it| it["name"].as_str().expect("a name").to_owned()));
            match page["continuationToken"].as_str() {
                Some(next) => token = Some(next.to_owned()),
                None => return names,
            }
        }
    };
    assert_eq!(all("").await, ["t0", "t1", "t2", "u1"]);
    assert_eq!(all("&prefix=t").await, ["t0", "t1", "t2"]);
    assert_eq!(all("&namespace=sales").await, ["t1", "t2", "u1"]);
    assert_eq!(all("&namespace=sales&prefix=u").await, ["u1"]);
    expect(get(&server, &format!("/tables/{arn}?namespace=no")).await, 404, "NotFoundException");

    let before = table(&server, &arn, "t1").await;
    let path = format!("/tables/{arn}/sales/t1");
    let to_rename = format!("{path}/rename");
    let rename = |body: Value| send(&server, "PUT", &to_rename, body);
    expect(rename(json!({})).await, 400, "BadRequestException");
    expect(rename(json!({ "newName": "T" })).await, 400, "BadRequestException");
    expect(rename(json!({ "newName": "t2" })).await, 409, "ConflictException");
    let stale = json!({ "newName": "t9", "versionToken": "stale" });
    expect(rename(stale).await, 409, "ConflictException");
    let moved = json!({ "newNamespaceName": "b", "versionToken": before["versionToken"] });
    rename(moved).await.expect_status(204);
    expect(delete(&server, &path).await, 404, "NotFoundException");
    let path = format!("/tables/{arn}/b/t1");
    let by_arn =
        format!("/get-table?tableArn={}", encoded(before["tableARN"].as_str().expect("it")));
    let after = document(&get(&server, &by_arn).await.expect_status(200));
    assert_eq!((&after["namespace"], &after["name"]), (&json!(["b"]), &json!("t1")));
    assert_eq!(after["versionToken"], before["versionToken"]);

    let file = after["metadataLocation"].as_str().expect("a location");
    let file = file.strip_prefix("s3:/").expect("of S3").to_owned();
    server.head(&file).await.expect_status(200);
    let stale = delete(&server, &format!("{path}?versionToken=stale")).await;
    expect(stale, 409, "ConflictException");
    let version = after["versionToken"].as_str().expect("a token");
    delete(&server, &format!("{path}?versionToken={version}")).await.expect_status(204);
    server.head(&file).await.expect_status(404);
    expect(get(&server, &by_arn).await, 404, "NotFoundException");
    for (namespace, name) in [("b", "t0"), ("sales", "t2"), ("sales", "u1")] {
        delete(&server, &format!("/tables/{arn}/{namespace}/{name}")).await.expect_status(204);
    }
    for namespace in ["b", "sales"] {
        delete(&server, &format!("/namespaces/{arn}/{namespace}")).await.expect_status(204);
    }
    // Nothing is left.
    delete(&server, &format!("/buckets/{arn}")).await.expect_status(204);
}

/// The way of Iceberg's catalog for S3 Tables: the client writes metadata files, and moves the location.
#[tokio::test]
async fn a_client_writes_the_metadata_of_a_table_itself() {
    for server in both().await {
        let arn = lake(&server).await;
        let created = create(&server, &arn, json!({ "name": "t", "format": "ICEBERG" })).await;
        let path = format!("/tables/{arn}/sales/t/metadata-location");
        let at = document(&get(&server, &path).await.expect_status(200));
        assert_eq!(at.get("metadataLocation"), None);
        assert_eq!(at["versionToken"], created["versionToken"]);
        let warehouse = at["warehouseLocation"].as_str().expect("a location").to_owned();
        assert!(warehouse.starts_with("s3://lake/sales/t-"), "{warehouse}");
        // There is nothing to load yet, but the name is taken.
        let in_catalog = format!("{CATALOG}/namespaces/sales/tables/t");
        server.head(&in_catalog).await.expect_status(404);
        let load = server.get(&in_catalog).await.expect_status(404);
        assert_eq!(document(&load)["error"]["type"], "NoSuchTableException");
        let again = json!({ "name": "t", "format": "ICEBERG" });
        let again = send(&server, "PUT", &format!("/tables/{arn}/sales"), again).await;
        expect(again, 409, "ConflictException");

        create(&server, &arn, with_schema("other")).await;
        let other = table(&server, &arn, "other").await["metadataLocation"].clone();
        let other = other.as_str().expect("a location").strip_prefix("s3:/").expect("of S3");
        let mut metadata = document(&server.get(other).await.expect_status(200));
        metadata["location"] = warehouse.clone().into();
        metadata["table-uuid"] = "11111111-2222-4333-8444-555555555555".into();
        let write = async |file: &str, metadata: &Value| {
            let place = format!("{warehouse}/metadata/{file}");
            let key = place.strip_prefix("s3:/").expect("of S3").to_owned();
            server.put(&key, metadata.to_string()).await.expect_status(200);
            place
        };
        let update = |version: &Value, location: &str| {
            let body = json!({ "versionToken": version, "metadataLocation": location });
            send(&server, "PUT", &path, body)
        };
        let first = write("00000-a.metadata.json", &metadata).await;
        let version = &at["versionToken"];
        expect(update(&json!("stale"), &first).await, 409, "ConflictException");
        let missing = format!("{warehouse}/metadata/none.metadata.json");
        for wrong in [&*missing, "s3://other/t/0.metadata.json", "s3://lake/t.json", "file:/t"] {
            expect(update(version, wrong).await, 400, "BadRequestException");
        }
        let updated = document(&update(version, &first).await.expect_status(200));
        assert_eq!(updated["metadataLocation"], first);
        assert_eq!(updated["tableARN"], created["tableARN"]);
        // The same token a second time: another commit came first.
        expect(update(version, &first).await, 409, "ConflictException");
        let found = table(&server, &arn, "t").await;
        assert_eq!(found["versionToken"], updated["versionToken"]);
        let loaded = document(&server.get(&in_catalog).await.expect_status(200));
        assert_eq!(loaded["metadata"], metadata);

        metadata["properties"]["a"] = "1".into();
        let second = write("00001-b.metadata.json", &metadata).await;
        metadata["table-uuid"] = "99999999-2222-4333-8444-555555555555".into();
        let foreign = write("00002-c.metadata.json", &metadata).await;
        let version = &found["versionToken"];
        let message = expect(update(version, &foreign).await, 400, "BadRequestException");
        assert!(message.contains("another table"), "{message}");
        // A file is that of one table.
        let others = format!("s3:/{other}");
        let message = expect(update(version, &others).await, 400, "BadRequestException");
        assert!(message.contains("sales.other"), "{message}");
        update(version, &second).await.expect_status(200);
        let loaded = document(&server.get(&in_catalog).await.expect_status(200));
        assert_eq!(loaded["metadata"]["properties"]["a"], "1");
        // A commit of the catalog on it leaves its ARN as it is.
        let commit = json!({ "requirements": [], "updates": [
            { "action": "set-properties", "updates": { "b": "2" } }] });
        server.post(&in_catalog, commit.to_string()).await.expect_status(200);
        assert_eq!(table(&server, &arn, "t").await["tableARN"], created["tableARN"]);
    }
}

#[tokio::test]
async fn a_table_without_metadata_is_deleted() {
    let server = memory().await;
    let arn = lake(&server).await;
    create(&server, &arn, json!({ "name": "t", "format": "ICEBERG" })).await;
    delete(&server, &format!("/tables/{arn}/sales/t")).await.expect_status(204);
    delete(&server, &format!("/namespaces/{arn}/sales")).await.expect_status(204);
}

#[tokio::test]
async fn a_table_has_partitions_order_and_nested_columns_that_it_is_created_with() {
    let server = memory().await;
    let arn = lake(&server).await;
    let body = json!({ "name": "t", "format": "ICEBERG", "metadata": { "iceberg": {
        "schemaV2": { "type": "struct", "schema-id": 0, "identifier-field-ids": [7], "fields": [
            { "id": 7, "name": "id", "type": "long", "required": true },
            { "id": 8, "name": "at", "type": "timestamp", "required": false },
            { "id": 9, "name": "tags", "required": false, "type": { "type": "list", "element-id": 10,
                "element": "string", "element-required": true } },
        ] },
        "partitionSpec": { "spec-id": 0, "fields": [
            { "source-id": 8, "transform": "day", "name": "at_day", "field-id": 1000 }] },
        "writeOrder": { "order-id": 1, "fields": [{ "source-id": 7, "transform": "identity",
            "direction": "asc", "null-order": "nulls-first" }] },
        "properties": { "format-version": "2", "owner": "me" },
    } } });
    create(&server, &arn, body).await;
    let loaded = server.get(&format!("{CATALOG}/namespaces/sales/tables/t")).await;
    let metadata = document(&loaded.expect_status(200))["metadata"].clone();
    assert_eq!(metadata["properties"]["owner"], "me");
    assert_eq!(metadata["schemas"][0]["fields"][2]["type"]["element"], "string");
    assert_eq!(metadata["partition-specs"][0]["fields"][0]["source-id"], 2);
    assert_eq!(metadata["sort-orders"][0]["fields"][0]["source-id"], 1);
    let wrong = json!({ "name": "u", "format": "ICEBERG", "metadata": { "iceberg": {
        "schema": { "fields": [{ "name": "a", "type": "no-type" }] } } } });
    let others = [
        json!({ "name": "u", "format": "HUDI" }),
        json!({ "name": "U", "format": "ICEBERG" }),
        json!({ "format": "ICEBERG" }),
        json!({ "name": "u", "format": "ICEBERG", "metadata": { "iceberg": {} } }),
        wrong,
    ];
    for body in others {
        let refused = send(&server, "PUT", &format!("/tables/{arn}/sales"), body).await;
        expect(refused, 400, "BadRequestException");
    }
    for (field, value) in [
        ("storageClassConfiguration", json!({ "storageClass": "INTELLIGENT_TIERING" })),
        ("encryptionConfiguration", json!({ "sseAlgorithm": "aws:kms" })),
    ] {
        let mut body = with_schema("u");
        body[field] = value;
        let refused = send(&server, "PUT", &format!("/tables/{arn}/sales"), body).await;
        expect(refused, 501, "NotImplemented");
    }
    let list = document(&get(&server, &format!("/tables/{arn}")).await.expect_status(200));
    assert_eq!(list["tables"].as_array().expect("a list").len(), 1);
}

#[tokio::test]
async fn encryption_is_that_of_the_bucket() {
    for server in with_keys().await {
        let arn = lake(&server).await;
        create(&server, &arn, with_schema("t")).await;
        let path = format!("/buckets/{arn}/encryption");
        let of_table = format!("/tables/{arn}/sales/t/encryption");
        let put = |configuration: Value| {
            send(&server, "PUT", &path, json!({ "encryptionConfiguration": configuration }))
        };
        put(json!({ "sseAlgorithm": "AES256" })).await.expect_status(200);
        for path in [&path, &of_table] {
            let told = document(&get(&server, path).await.expect_status(200));
            assert_eq!(told["encryptionConfiguration"], json!({ "sseAlgorithm": "AES256" }));
        }
        let of_s3 = server.get("/lake?encryption").await.expect_status(200);
        assert!(of_s3.text().contains("AES256"), "{}", of_s3.text());
        for wrong in [
            json!({ "sseAlgorithm": "DES" }),
            json!({ "sseAlgorithm": "AES256", "kmsKeyArn": "a" }),
            json!({ "sseAlgorithm": "aws:kms", "kmsKeyArn": "no-such-key" }),
        ] {
            expect(put(wrong).await, 400, "BadRequestException");
        }
        delete(&server, &path).await.expect_status(204);
        expect(get(&server, &path).await, 404, "NotFoundException");
        let missing = format!("/tables/{arn}/sales/no/encryption");
        expect(get(&server, &missing).await, 404, "NotFoundException");
    }
}

#[tokio::test]
async fn policies_decide_who_may_do_what() {
    let users = format!(
        "{ACCOUNTS}\n[[user]]\nname = \"dave\"\nparent = \"alice\"\naccess_key = \"dave-key\"\n\
         secret_key = \"dave's secret\"\npolicies = ['''{DAVES_POLICY}''']\n"
    );
    let server = in_memory_with_users(&users).await;
    let arn = lake(&server).await;
    create(&server, &arn, with_schema("t")).await;
    let found = table(&server, &arn, "t").await;
    let body = json!({ "namespace": ["hidden"] });
    send(&server, "PUT", &format!("/namespaces/{arn}"), body).await.expect_status(200);
    let hidden = send(&server, "PUT", &format!("/tables/{arn}/hidden"), with_schema("h")).await;
    let hidden = document(&hidden.expect_status(200));
    let body = json!({ "name": "new", "namespace": ["x"], "format": "ICEBERG" }).to_string();
    let by = |user: User, method: &'static str, path: &str| {
        let body = if method == "PUT" { &*body } else { "" };
        server.request(method, path).for_service("s3tables").by(user).body(body).send_owned()
    };
    let by_arn = |table: &Value| {
        format!("/get-table?tableArn={}", encoded(table["tableARN"].as_str().expect("an ARN")))
    };
    let by_name = format!("/get-table?tableBucketARN={arn}&namespace=sales&name=t");
    let location = format!("/tables/{arn}/sales/t/metadata-location");
    for path in [&by_name, &by_arn(&found), &location, &format!("/tables/{arn}?namespace=sales")] {
        by(DAVE, "GET", path).await.expect_status(200);
    }
    let unknown =
        json!({ "tableARN": format!("{}0", found["tableARN"].as_str().expect("an ARN")) });
    for (user, method, path) in [
        (DAVE, "GET", &*by_arn(&hidden)),
        (DAVE, "GET", &by_arn(&unknown)),
        (DAVE, "GET", &format!("/tables/{arn}")),
        (DAVE, "GET", "/buckets"),
        (DAVE, "PUT", "/buckets"),
        (DAVE, "GET", &format!("/buckets/{arn}")),
        (DAVE, "DELETE", &format!("/tables/{arn}/sales/t")),
        (DAVE, "PUT", &format!("/namespaces/{arn}")),
        (DAVE, "PUT", &format!("/tables/{arn}/sales")),
        (BOB, "GET", &by_name),
        (BOB, "GET", &by_arn(&found)),
        (CAROL, "GET", &by_name),
        (CAROL, "GET", "/buckets"),
        (CAROL, "DELETE", &format!("/buckets/{arn}")),
    ] {
        expect(by(user, method, path).await, 403, "AccessDeniedException");
    }
    // Another account does not see the bucket among its own.
    let own = document(&by(BOB, "GET", "/buckets").await.expect_status(200));
    assert_eq!(own["tableBuckets"], json!([]));
    by(BOB, "PUT", "/buckets").await.expect_status(200);
    let own = document(&by(BOB, "GET", "/buckets").await.expect_status(200));
    assert_eq!(own["tableBuckets"][0]["name"], "new");
}

#[tokio::test]
async fn what_is_not_served_is_an_error_in_json() {
    let server = memory().await;
    let arn = lake(&server).await;
    let logging = format!("/buckets/{arn}/logging");
    let message = expect(get(&server, &logging).await, 501, "NotImplemented");
    assert!(message.contains("GetTableBucketLogging"), "{message}");
    let replication = format!("/table-replication?tableArn={arn}");
    let replication = send(&server, "PUT", &replication, json!({})).await;
    assert!(expect(replication, 501, "NotImplemented").contains("PutTableReplication"));
    let post = send(&server, "POST", &logging, Value::Null).await;
    expect(post, 405, "MethodNotAllowedException");
    expect(get(&server, "/lake").await, 501, "UnknownOperationException");
    expect(get(&server, "/buckets/lake").await, 400, "BadRequestException");
    expect(get(&server, "/get-table").await, 400, "BadRequestException");
    // The ARN of another account's bucket.
    let elsewhere = "arn%3Aaws%3As3tables%3Aus-east-1%3A999999999999%3Abucket%2Flake";
    expect(get(&server, &format!("/buckets/{elsewhere}")).await, 404, "NotFoundException");
    for body in ["{", "[]", "", "null"] {
        let request = server.request("PUT", "/buckets").for_service("s3tables").body(body);
        expect(request.send().await, 400, "BadRequestException");
    }
    let wrong = User { secret_key: "another secret", ..ALICE };
    let request = server.request("GET", "/buckets").for_service("s3tables").by(wrong);
    expect(request.send().await, 403, "InvalidSignatureException");
    // The same paths of S3 are a bucket and its objects.
    server.bucket("buckets").await;
    server.put("/buckets/key", "x").await.expect_status(200);
    assert_eq!(server.get("/buckets/key").await.expect_status(200).text(), "x");
    server.get("/get-table").await.expect_error(404, "NoSuchBucket");
}

/// The operations of a row of the document's table.
fn documented(state: &str) -> Vec<&'static str> {
    const DOCUMENT: &str = include_str!("../../../../docs/compatibility.md");
    let (_, table) = DOCUMENT.split_once("| S3 Tables | Operations |\n").expect("the table");
    let (table, _) = table.split_once("\n\n").expect("the end of the table");
    let row = table.lines().find_map(|row| row.strip_prefix(&format!("| {state} | ")));
    let row = row.unwrap_or_else(|| panic!("no row {state}")).trim_end_matches(" |");
    row.split(", ").collect()
}

#[test]
fn the_document_lists_every_operation() {
    const ROUTES: &str = include_str!("../../../tables/src/s3tables/route.rs");
    for (state, start) in [("Served", "const ROWS"), ("Refused by name", "const UNSERVED")] {
        let (_, table) = ROUTES.split_once(start).expect("the table");
        let (table, _) = table.split_once("\n];").expect("the end of the table");
        let texts = table.split('"').skip(1).step_by(2);
        // Names of operations begin with a capital, paths do not.
        let mut names: Vec<_> = texts.filter(|it| it.starts_with(char::is_uppercase)).collect();
        let mut documented = documented(state);
        names.sort_unstable();
        documented.sort_unstable();
        assert_eq!(documented, names, "{state}");
    }
}
