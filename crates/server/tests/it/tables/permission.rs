//! Policies, tokens and vended credentials.

use serde_json::{Value, json};

use super::{CATALOG, create, document, expect, get, key_of, schema, warehouse};
use crate::harness::{ACCOUNTS, ALICE, BOB, CAROL, User, in_memory_with_users, memory};

/// A user of Alice's account who may read the tables of one namespace.
const DAVE: User = User { access_key: "dave-key", secret_key: "dave's secret", id: "alice-id" };

const DAVES_POLICY: &str = r#"{"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": ["s3tables:GetTableMetadataLocation", "s3tables:GetTableData"],
     "Resource": "arn:aws:s3tables:us-east-1:111111111111:bucket/lake/table/sales/*"},
    {"Effect": "Allow", "Action": "s3tables:GetTableBucket", "Resource": "arn:aws:s3tables:*:*:bucket/lake"},
    {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::lake/*"}]}"#;

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
