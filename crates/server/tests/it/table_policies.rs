//! Policies of table buckets and tables: whom they let in and keep out, by S3 Tables and by the REST catalog.

use serde_json::{Value, json};

use crate::harness::{ACCOUNTS, ALICE, BOB, CAROL, TestServer, User, in_memory_with_users};
use crate::reply::Reply;

/// A user of Alice's account who may do everything.
const ERIN: User = User { access_key: "erin-key", secret_key: "erin's secret", id: "alice-id" };

fn encoded(text: &str) -> String {
    text.replace(':', "%3A").replace('/', "%2F")
}

fn document(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.body).unwrap_or_else(|_| panic!("no JSON: {}", reply.text()))
}

struct Lake {
    server: TestServer,
    /// The ARNs of the table bucket and of the table `sales.orders`.
    arn: String,
    table: String,
}

impl Lake {
    async fn new() -> Lake {
        let all = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "s3tables:*", "Resource": "*"}}"#;
        let users = format!(
            "{ACCOUNTS}\n[[user]]\nname = \"erin\"\nparent = \"alice\"\naccess_key = \"erin-key\"\n\
             secret_key = \"erin's secret\"\npolicies = ['''{all}''']\n"
        );
        let server = in_memory_with_users(&users).await;
        let mut lake = Lake { server, arn: String::new(), table: String::new() };
        let made = lake.send(ALICE, "PUT", "/buckets", json!({ "name": "lake" })).await;
        lake.arn = document(&made.expect_status(200))["arn"].as_str().expect("an ARN").to_owned();
        let path = format!("/namespaces/{}", lake.path());
        lake.send(ALICE, "PUT", &path, json!({ "namespace": ["sales"] })).await.expect_status(200);
        for name in ["orders", "other"] {
            let path = format!("/tables/{}/sales", lake.path());
            let schema = json!({ "fields": [{ "name": "id", "type": "long" }] });
            let body = json!({ "name": name, "format": "ICEBERG", "tags": { "team": name },
                "metadata": { "iceberg": { "schema": schema } } });
            let made = lake.send(ALICE, "PUT", &path, body).await.expect_status(200);
            if name == "orders" {
                lake.table = document(&made)["tableARN"].as_str().expect("an ARN").to_owned();
            }
        }
        lake
    }

    fn path(&self) -> String {
        encoded(&self.arn)
    }

    async fn send(&self, user: User, method: &'static str, path: &str, body: Value) -> Reply {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.server.request(method, path).for_service("s3tables").by(user).body(body).send().await
    }

    /// Sets the policy of the table bucket, or of the table `sales.orders`.
    async fn set(&self, of_table: bool, statement: Value) -> Reply {
        let policy = json!({ "Version": "2012-10-17", "Statement": statement }).to_string();
        let path = match of_table {
            false => format!("/buckets/{}/policy", self.path()),
            true => format!("/tables/{}/sales/orders/policy", self.path()),
        };
        self.send(ALICE, "PUT", &path, json!({ "resourcePolicy": policy })).await
    }

    /// Loads a table by its names, by its ARN, and by the REST catalog, with the same result, which is returned.
    async fn loads(&self, user: User, name: &str) -> bool {
        let by_name =
            format!("/get-table?tableBucketARN={}&namespace=sales&name={name}", self.path());
        let found = self.send(user, "GET", &by_name, Value::Null).await;
        let rest = format!("/_iceberg/v1/lake/namespaces/sales/tables/{name}");
        let loaded = self.send(user, "GET", &rest, Value::Null).await;
        let is_allowed = found.status == 200;
        assert_eq!(found.status, if is_allowed { 200 } else { 403 }, "{}", found.text());
        assert_eq!(loaded.status, found.status, "{}", loaded.text());
        if name == "orders" {
            let by_arn = format!("/get-table?tableArn={}", encoded(&self.table));
            let by_arn = self.send(user, "GET", &by_arn, Value::Null).await;
            assert_eq!(by_arn.status, found.status, "{}", by_arn.text());
        }
        is_allowed
    }
}

fn reader(effect: &str, principal: &str, resource: &str) -> Value {
    json!({ "Effect": effect, "Principal": { "AWS": principal }, "Resource": resource,
        "Action": ["s3tables:GetTable", "s3tables:GetTableData", "s3tables:GetTableMetadataLocation"] })
}

const CAROLS_ARN: &str = "arn:aws:iam::111111111111:user/carol";
const BOBS_ACCOUNT: &str = "222222222222";

#[tokio::test]
async fn a_policy_of_a_table_or_its_bucket_lets_in_and_keeps_out() {
    let lake = Lake::new().await;
    for user in [CAROL, BOB] {
        assert!(!lake.loads(user, "orders").await);
    }
    assert!(lake.loads(ERIN, "orders").await);
    // By the ARN that AWS gives, with the id, and by the names.
    let named = format!("{}/table/sales/orders", lake.arn);
    for resource in [lake.table.clone(), named, format!("{}/table/*", lake.arn)] {
        lake.set(false, json!([reader("Allow", CAROLS_ARN, &resource)])).await.expect_status(200);
        assert!(lake.loads(CAROL, "orders").await, "{resource}");
        assert_eq!(lake.loads(CAROL, "other").await, resource.ends_with('*'), "{resource}");
        assert!(!lake.loads(BOB, "orders").await);
    }
    let path = format!("/buckets/{}/policy", lake.path());
    lake.send(ALICE, "DELETE", &path, Value::Null).await.expect_status(204);
    assert!(!lake.loads(CAROL, "orders").await);

    // The policy of the table, for another account as well.
    let both = json!([
        reader("Allow", CAROLS_ARN, &lake.table),
        reader("Allow", BOBS_ACCOUNT, &lake.table),
    ]);
    lake.set(true, both).await.expect_status(200);
    assert!(lake.loads(CAROL, "orders").await && lake.loads(BOB, "orders").await);
    assert!(!lake.loads(CAROL, "other").await && !lake.loads(BOB, "other").await);
    // A denial of either wins, also over what a user's own policies allow.
    let erin = "arn:aws:iam::111111111111:user/erin";
    lake.set(false, json!([reader("Deny", erin, &lake.table)])).await.expect_status(200);
    assert!(!lake.loads(ERIN, "orders").await && lake.loads(ERIN, "other").await);
    assert!(lake.loads(CAROL, "orders").await);
    lake.set(true, json!([reader("Deny", CAROLS_ARN, &lake.table)])).await.expect_status(200);
    assert!(!lake.loads(CAROL, "orders").await && !lake.loads(BOB, "orders").await);
    // It goes with the table to a new name, and is not that of a new table with the old one.
    let rename = format!("/tables/{}/sales/orders/rename", lake.path());
    lake.send(ALICE, "PUT", &rename, json!({ "newName": "sold" })).await.expect_status(204);
    assert!(!lake.loads(ERIN, "sold").await);
}

#[tokio::test]
async fn the_root_user_can_correct_every_policy() {
    let lake = Lake::new().await;
    let all = |resource: &str| json!([{ "Effect": "Deny", "Principal": "*", "Action": "s3tables:*", "Resource": resource }]);
    lake.set(true, all(&lake.table)).await.expect_status(200);
    let of_all = json!([{ "Effect": "Deny", "Principal": "*", "Action": "s3tables:*",
        "Resource": [lake.arn, format!("{}/*", lake.arn)] }]);
    lake.set(false, of_all).await.expect_status(200);
    assert!(!lake.loads(ALICE, "orders").await);
    for path in [
        format!("/tables/{}/sales/orders/policy", lake.path()),
        format!("/buckets/{}/policy", lake.path()),
    ] {
        lake.send(ALICE, "GET", &path, Value::Null).await.expect_status(200);
        lake.send(ERIN, "DELETE", &path, Value::Null).await.expect_status(403);
        lake.send(ALICE, "DELETE", &path, Value::Null).await.expect_status(204);
    }
    assert!(lake.loads(ALICE, "orders").await);
}

#[tokio::test]
async fn conditions_read_the_tags_of_tables() {
    let lake = Lake::new().await;
    let by_tag = |key: &str, value: &str| {
        let mut statement = reader("Allow", CAROLS_ARN, &format!("{}/table/*", lake.arn));
        statement["Condition"] = json!({ "StringEquals": { key: value } });
        json!([statement])
    };
    lake.set(false, by_tag("aws:ResourceTag/team", "orders")).await.expect_status(200);
    assert!(lake.loads(CAROL, "orders").await && !lake.loads(CAROL, "other").await);
    let tags = format!("/tag/{}", encoded(&lake.table));
    let add = json!({ "tags": { "team": "x" } });
    lake.send(ALICE, "POST", &tags, add).await.expect_status(200);
    assert!(!lake.loads(CAROL, "orders").await);
    lake.set(false, by_tag("s3tables:TableBucketTag/env", "test")).await.expect_status(200);
    assert!(!lake.loads(CAROL, "orders").await);
    let tags = format!("/tag/{}", lake.path());
    let add = json!({ "tags": { "env": "test" } });
    lake.send(ALICE, "POST", &tags, add).await.expect_status(200);
    assert!(lake.loads(CAROL, "orders").await);
    // The tags of the request.
    let tagger = json!([{ "Effect": "Allow", "Principal": { "AWS": CAROLS_ARN }, "Action": "s3tables:TagResource",
        "Resource": lake.arn, "Condition": { "StringEquals": { "aws:RequestTag/cost": "1" } } }]);
    lake.set(false, tagger).await.expect_status(200);
    for (value, status) in [("2", 403), ("1", 200)] {
        let add = json!({ "tags": { "cost": value } });
        lake.send(CAROL, "POST", &tags, add).await.expect_status(status);
    }
}

/// Moving the metadata of a table reads the object at the new place.
#[tokio::test]
async fn who_may_not_read_an_object_moves_no_table_to_it() {
    let lake = Lake::new().await;
    let by_name = |name: &str| {
        format!("/get-table?tableBucketARN={}&namespace=sales&name={name}", lake.path())
    };
    let at = async |name: &str| {
        let found = lake.send(ALICE, "GET", &by_name(name), Value::Null).await;
        document(&found.expect_status(200))
    };
    let orders = at("orders").await;
    let location = orders["metadataLocation"].as_str().expect("a location");
    let key = location.strip_prefix("s3:/").expect("of S3");
    let metadata = lake.server.get(key).await.expect_status(200).body;
    let copy = "/lake/hidden/0.metadata.json";
    lake.server.request("PUT", copy).body(metadata).send().await.expect_status(200);
    let path = format!("/tables/{}/sales/orders/metadata-location", lake.path());
    let body = json!({ "versionToken": orders["versionToken"],
        "metadataLocation": format!("s3:/{copy}") });
    let refused = lake.send(ERIN, "PUT", &path, body.clone()).await.expect_status(403);
    assert_eq!(document(&refused)["__type"], "AccessDeniedException");
    lake.send(ALICE, "PUT", &path, body).await.expect_status(200);
}

#[tokio::test]
async fn a_drop_that_is_sent_again_is_answered_though_the_right_went_with_the_table() {
    let lake = Lake::new().await;
    let statement = json!([{ "Effect": "Allow", "Principal": { "AWS": CAROLS_ARN },
        "Action": "s3tables:DeleteTable", "Resource": lake.table }]);
    lake.set(true, statement).await.expect_status(200);
    let drop = async |user: User, key: &str| {
        let path = "/_iceberg/v1/lake/namespaces/sales/tables/orders";
        let request = lake.server.request("DELETE", path).for_service("s3tables").by(user);
        request.header("idempotency-key", key).send().await
    };
    let key = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
    drop(CAROL, key).await.expect_status(204);
    drop(CAROL, key).await.expect_status(204);
    drop(BOB, key).await.expect_status(403);
    drop(CAROL, "017f22e2-79b0-7cc3-98c4-dc0c0c073990").await.expect_status(403);
}
