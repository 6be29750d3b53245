//! MinIO's admin API, as its client calls it. The client itself is in `tests/clients/`.

use liteio_admin::fuzzing::{open_admin_body, seal_admin_body};
use serde_json::{Value, json};

use crate::harness::{ACCOUNTS, ALICE, BOB, CAROL, TestServer, User, in_memory_with_users, memory};
use crate::metrics::{OWN, scrape};
use crate::reply::Reply;

const DAVE: User = User { access_key: "dave", secret_key: "dave's secret", id: "alice-id" };
const NARROW: User = User { access_key: "narrow", secret_key: "narrow secret", id: "alice-id" };

const READ_PHOTOS: &str = r#"{"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::photos/*"}]}"#;

/// Sends a request of MinIO's admin API; `path` has the query.
pub(crate) async fn send(
    server: &TestServer,
    by: User,
    method: &'static str,
    path: &str,
    body: impl AsRef<[u8]>,
) -> Reply {
    server.request(method, &format!("/minio/admin/v3/{path}")).by(by).body(body).send().await
}

/// Sends an encrypted document.
async fn sealed(
    server: &TestServer,
    by: User,
    method: &'static str,
    path: &str,
    body: Value,
) -> Reply {
    let body = seal_admin_body(by.secret_key, body.to_string().as_bytes());
    send(server, by, method, path, body).await
}

async fn get(server: &TestServer, path: &str) -> Reply {
    send(server, ALICE, "GET", path, "").await
}

/// The document of an answer.
fn json_of(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.body).expect("JSON")
}

/// The document of an encrypted answer.
fn opened(reply: Reply, user: User) -> Value {
    let reply = reply.expect_status(200);
    let plain = open_admin_body(user.secret_key, &reply.body).expect("it is for its sender");
    serde_json::from_slice(&plain).expect("JSON")
}

fn check_error(reply: &Reply, status: u16, code: &str) {
    assert_eq!(reply.status, status, "{}", reply.everything());
    let told = json_of(reply);
    assert_eq!(told["Code"], code, "{told}");
    assert!(told["Message"].as_str().is_some_and(|message| !message.is_empty()), "{told}");
    assert!(told["RequestId"].is_string(), "{told}");
}

async fn with_dave() -> TestServer {
    let server = in_memory_with_users(ACCOUNTS).await;
    let new = json!({ "secretKey": DAVE.secret_key, "status": "enabled" });
    sealed(&server, ALICE, "PUT", "add-user?accessKey=dave", new).await.expect_status(200);
    server
}

async fn attach(server: &TestServer, policy: &str) {
    let association = json!({ "policies": [policy], "user": "dave" });
    let path = "idp/builtin/policy/attach";
    let attached = opened(sealed(server, ALICE, "POST", path, association).await, ALICE);
    assert_eq!(attached["policiesAttached"], json!([policy]));
}

#[tokio::test]
async fn a_user_is_one_of_iam_with_a_key_of_its_name() {
    let server = with_dave().await;
    server.request("GET", "/").by(DAVE).send().await.expect_error(403, "AccessDenied");
    attach(&server, "readwrite").await;
    server.request("PUT", "/photos").by(DAVE).send().await.expect_status(200);
    let users = opened(get(&server, "list-users").await, ALICE);
    assert_eq!(users["dave"]["policyName"], "readwrite");
    assert_eq!(users["dave"]["status"], "enabled");

    let iam = |form: &'static str| server.form("iam", form).send();
    let listed = iam("Action=ListUsers").await.expect_status(200);
    assert_eq!(listed.elements("UserName"), ["dave"]);
    let form = "Action=ListAttachedUserPolicies&UserName=dave";
    assert_eq!(iam(form).await.elements("PolicyArn"), ["arn:aws:iam::aws:policy/readwrite"]);

    let status = |status: &'static str| format!("set-user-status?accessKey=dave&status={status}");
    send(&server, ALICE, "PUT", &status("disabled"), "").await.expect_status(200);
    let refused = server.request("GET", "/photos").by(DAVE).send().await;
    refused.expect_error(403, "InvalidAccessKeyId");
    send(&server, ALICE, "PUT", &status("enabled"), "").await.expect_status(200);
    server.request("GET", "/photos").by(DAVE).send().await.expect_status(200);

    let removed = send(&server, ALICE, "DELETE", "remove-user?accessKey=dave", "").await;
    removed.expect_status(200);
    let refused = server.request("GET", "/photos").by(DAVE).send().await;
    refused.expect_error(403, "InvalidAccessKeyId");
    check_error(&get(&server, "user-info?accessKey=dave").await, 404, "XMinioAdminNoSuchUser");
}

#[tokio::test]
async fn a_service_account_of_a_root_user_may_no_more_than_its_policy_says() {
    let server = in_memory_with_users(ACCOUNTS).await;
    server.bucket("photos").await;
    server.put("/photos/a", "1").await.expect_status(200);
    let policy: Value = serde_json::from_str(READ_PHOTOS).expect("JSON");
    let new = json!({
        "policy": policy,
        "accessKey": NARROW.access_key,
        "secretKey": NARROW.secret_key,
        "expiration": "2099-01-01T00:00:00Z",
    });
    let made = opened(sealed(&server, ALICE, "PUT", "add-service-account", new).await, ALICE);
    assert_eq!(made["credentials"]["accessKey"], NARROW.access_key);

    let by = |method, path: &str| server.request(method, path).by(NARROW).send();
    by("GET", "/photos/a").await.expect_status(200);
    for (method, path) in
        [("PUT", "/photos/a"), ("GET", "/photos"), ("DELETE", "/photos/a"), ("PUT", "/other")]
    {
        by(method, path).await.expect_error(403, "AccessDenied");
    }
    let form = "Action=GetSessionToken";
    let session = server.form("sts", form).by(NARROW).send().await;
    assert_eq!(session.expect_status(403).code(), "AccessDenied");
    // Nor by another account that its policy does not narrow.
    let more = sealed(&server, NARROW, "PUT", "add-service-account", json!({})).await;
    check_error(&more, 403, "AccessDenied");

    // Nor may an administrator who is not the root user have a key of it.
    let new = json!({ "secretKey": DAVE.secret_key, "policy": "consoleAdmin" });
    sealed(&server, ALICE, "PUT", "add-user?accessKey=dave", new).await.expect_status(200);
    let of_root = json!({ "targetUser": ALICE.access_key });
    let more = sealed(&server, DAVE, "PUT", "add-service-account", of_root).await;
    check_error(&more, 403, "AccessDenied");
    let stolen = json!({ "newSecretKey": "stolen secret", "newPolicy": {} });
    let path = "update-service-account?accessKey=narrow";
    check_error(&sealed(&server, DAVE, "POST", path, stolen).await, 403, "AccessDenied");

    let info = get(&server, "info-service-account?accessKey=narrow").await;
    let info = opened(info, ALICE);
    assert_eq!((&info["parentUser"], &info["impliedPolicy"]), (&"alice-key".into(), &false.into()));
    let path = "update-service-account?accessKey=narrow";
    let past = json!({ "newExpiration": "2001-01-01T00:00:00Z" });
    let refused = sealed(&server, ALICE, "POST", path, past).await;
    check_error(&refused, 400, "XMinioAdminInvalidArgument");
    let off = json!({ "newStatus": "off" });
    sealed(&server, ALICE, "POST", path, off).await.expect_status(204);
    by("GET", "/photos/a").await.expect_error(403, "InvalidAccessKeyId");
    let path = "delete-service-account?accessKey=narrow";
    check_error(&send(&server, BOB, "DELETE", path, "").await, 404, "XMinioInvalidIAMCredentials");
    send(&server, ALICE, "DELETE", path, "").await.expect_status(204);
    let listed = opened(get(&server, "list-service-accounts").await, ALICE);
    assert_eq!(listed["accounts"], json!([]));
}

/// minio-py has no absent fields, but null, and it says how the account begins.
#[tokio::test]
async fn a_service_account_of_minio_py_is_made() {
    let server = in_memory_with_users(ACCOUNTS).await;
    let add = |new: Value| sealed(&server, ALICE, "PUT", "add-service-account", new);
    let new = json!({ "status": "enabled", "accessKey": null, "secretKey": null });
    let reply = add(new).await;
    // The cipher of the answer: Argon2id with AES-GCM, which all clients have.
    assert_eq!(reply.body[32], 0);
    let made = opened(reply, ALICE);
    let id = made["credentials"]["accessKey"].as_str().expect("a key").to_owned();
    let info = opened(get(&server, &format!("info-service-account?accessKey={id}")).await, ALICE);
    assert_eq!(info["accountStatus"], "on");
    let off = json!({
        "status": "off", "accessKey": NARROW.access_key, "secretKey": NARROW.secret_key,
        "name": null, "description": "", "policy": null, "expiration": "",
    });
    opened(add(off).await, ALICE);
    let refused = server.request("GET", "/").by(NARROW).send().await;
    refused.expect_error(403, "InvalidAccessKeyId");
    check_error(&add(json!({ "status": "odd" })).await, 400, "XMinioAdminInvalidArgument");
    check_error(&add(json!({ "odd": true })).await, 400, "XMinioAdminConfigBadJSON");
}

#[tokio::test]
async fn a_service_account_begins_no_session_which_would_have_more_rights_and_outlive_it() {
    let server = in_memory_with_users(ACCOUNTS).await;
    server.bucket("photos").await;
    server.put("/photos/a", "1").await.expect_status(200);
    let read: Value = serde_json::from_str(READ_PHOTOS).expect("JSON");
    for policy in [read, json!({})] {
        let new = json!({
            "policy": policy, "accessKey": NARROW.access_key, "secretKey": NARROW.secret_key,
        });
        opened(sealed(&server, ALICE, "PUT", "add-service-account", new).await, ALICE);
        server.request("GET", "/photos/a").by(NARROW).send().await.expect_status(200);
        let session = server.form("sts", "Action=GetSessionToken").by(NARROW).send().await;
        assert_eq!(session.expect_status(403).code(), "AccessDenied");
        let signed_in = server.request("POST", "/_liteio/console/session").by(NARROW).send().await;
        let signed_in = signed_in.expect_error(403, "AccessDenied");
        assert!(signed_in.text().contains("keys of a user"), "{}", signed_in.text());
        let link = json!({ "bucket": "photos", "key": "a", "seconds": 600 }).to_string();
        let shared = server.request("POST", "/_liteio/console/share").by(NARROW).body(link).send();
        shared.await.expect_error(403, "AccessDenied");
        let path = "delete-service-account?accessKey=narrow";
        send(&server, ALICE, "DELETE", path, "").await.expect_status(204);
    }
}

#[tokio::test]
async fn a_service_account_makes_no_keys_of_its_user_that_its_policy_does_not_narrow() {
    let server = with_dave().await;
    let everything = "Action=AttachUserPolicy&UserName=dave&PolicyArn=arn:aws:iam::aws:policy/AdministratorAccess";
    server.form("iam", everything).send().await.expect_status(200);
    let rights = json!({ "Version": "2012-10-17", "Statement": [
        { "Effect": "Allow", "Action": "*", "Resource": "*" },
        { "Effect": "Deny", "Action": "s3:CreateBucket", "Resource": "*" },
    ] });
    let new = json!({
        "policy": rights, "accessKey": NARROW.access_key, "secretKey": NARROW.secret_key,
    });
    opened(sealed(&server, DAVE, "PUT", "add-service-account", new).await, DAVE);
    server.request("PUT", "/other").by(NARROW).send().await.expect_error(403, "AccessDenied");

    let more = json!({ "accessKey": "wider", "secretKey": "a wider secret" });
    let more = sealed(&server, NARROW, "PUT", "add-service-account", more).await;
    check_error(&more, 403, "AccessDenied");
    let path = "update-service-account?accessKey=narrow";
    let none = sealed(&server, NARROW, "POST", path, json!({ "newPolicy": {} })).await;
    check_error(&none, 403, "AccessDenied");
    let secret = json!({ "secretKey": "known to narrow" });
    let secret = sealed(&server, NARROW, "PUT", "add-user?accessKey=dave", secret).await;
    check_error(&secret, 403, "AccessDenied");
    let key = server.form("iam", "Action=CreateAccessKey&UserName=dave").by(NARROW).send().await;
    assert_eq!(key.expect_status(403).code(), "AccessDenied");

    // Its user does all of that.
    server
        .form("iam", "Action=CreateAccessKey&UserName=dave")
        .by(DAVE)
        .send()
        .await
        .expect_status(200);
    let none = sealed(&server, DAVE, "POST", path, json!({ "newPolicy": {} })).await;
    none.expect_status(204);
    server.request("PUT", "/other").by(NARROW).send().await.expect_status(200);
}

/// Otherwise a leaked key for a day is one forever.
#[tokio::test]
async fn a_service_account_that_ends_makes_and_changes_no_keys_of_its_user_that_end_later() {
    let server = with_dave().await;
    attach(&server, "consoleAdmin").await;
    let ends = |end: &str| json!({ "expiration": format!("{end}-01-01T00:00:00Z") });
    let named = |end: &str, id: &str| {
        let mut new = ends(end);
        (new["accessKey"], new["secretKey"]) = (id.into(), NARROW.secret_key.into());
        new
    };
    for (end, id) in [("2090", NARROW.access_key), ("2091", "later")] {
        opened(sealed(&server, DAVE, "PUT", "add-service-account", named(end, id)).await, DAVE);
    }
    let endless = json!({ "accessKey": "endless", "secretKey": NARROW.secret_key });
    opened(sealed(&server, DAVE, "PUT", "add-service-account", endless).await, DAVE);

    let console = |path: &str, body: Value| {
        let request = server.request("POST", &format!("/_liteio/console/keys{path}"));
        request.by(NARROW).body(body.to_string())
    };
    for new in [json!({}), ends("2091"), ends("1970")] {
        let made = sealed(&server, NARROW, "PUT", "add-service-account", new.clone()).await;
        check_error(&made, 403, "AccessDenied");
        check_error(&console("", new).send().await, 403, "AccessDenied");
    }
    let until = |end: &str| json!({ "newExpiration": format!("{end}-01-01T00:00:00Z") });
    for (id, change) in [
        (NARROW.access_key, until("2091")),
        ("later", json!({ "newSecretKey": "known to narrow" })),
        ("endless", json!({ "newSecretKey": "known to narrow" })),
        ("endless", until("2091")),
    ] {
        let path = format!("update-service-account?accessKey={id}");
        let changed = sealed(&server, NARROW, "POST", &path, change.clone()).await;
        check_error(&changed, 403, "AccessDenied");
        check_error(&console(&format!("/{id}"), change).send().await, 403, "AccessDenied");
    }
    let secret = json!({ "secretKey": "known to narrow" });
    let secret = sealed(&server, NARROW, "PUT", "add-user?accessKey=dave", secret).await;
    check_error(&secret, 403, "AccessDenied");
    let key = server.form("iam", "Action=CreateAccessKey&UserName=dave").by(NARROW).send().await;
    assert_eq!(key.expect_status(403).code(), "AccessDenied");

    // Until its own end it may, and its user may do all of that.
    opened(sealed(&server, NARROW, "PUT", "add-service-account", ends("2090")).await, NARROW);
    console("", ends("2089")).send().await.expect_status(200);
    let path = format!("update-service-account?accessKey={}", NARROW.access_key);
    sealed(&server, NARROW, "POST", &path, until("2089")).await.expect_status(204);
    let renamed = json!({ "newName": "short" });
    console(&format!("/{}", NARROW.access_key), renamed).send().await.expect_status(200);
    sealed(&server, DAVE, "POST", &path, until("2092")).await.expect_status(204);
}

#[tokio::test]
async fn a_user_has_service_accounts_of_its_own_which_end_with_it() {
    let server = with_dave().await;
    let new = json!({ "accessKey": "narrow", "secretKey": NARROW.secret_key });
    opened(sealed(&server, DAVE, "PUT", "add-service-account", new).await, DAVE);
    let form = "Action=ListAccessKeys&UserName=dave";
    let listed = server.form("iam", form).send().await.expect_status(200);
    assert_eq!(listed.elements("AccessKeyId"), ["dave", "narrow"]);
    // Not for another user, and not of a name that there is.
    let other = json!({ "targetUser": "alice-key" });
    let refused = sealed(&server, DAVE, "PUT", "add-service-account", other).await;
    check_error(&refused, 403, "AccessDenied");
    for name in ["narrow", "NARROW", "dave", "bob-key"] {
        let again = json!({ "accessKey": name, "secretKey": NARROW.secret_key });
        let refused = sealed(&server, ALICE, "PUT", "add-service-account", again).await;
        check_error(&refused, 400, "XMinioAdminInvalidAccessKey");
    }
    server.request("GET", "/").by(NARROW).send().await.expect_error(403, "AccessDenied");
    attach(&server, "consoleAdmin").await;
    server.request("GET", "/").by(NARROW).send().await.expect_status(200);
    send(&server, ALICE, "DELETE", "remove-user?accessKey=dave", "").await.expect_status(200);
    let gone = server.request("GET", "/").by(NARROW).send().await;
    gone.expect_error(403, "InvalidAccessKeyId");
}

#[tokio::test]
async fn who_may_not_use_them_does_not_learn_which_users_and_keys_there_are() {
    let server = with_dave().await;
    let new = json!({ "accessKey": "narrow", "secretKey": NARROW.secret_key });
    opened(sealed(&server, ALICE, "PUT", "add-service-account", new).await, ALICE);
    for user in ["carol-key", "nobody"] {
        let new = json!({ "targetUser": user });
        let refused = sealed(&server, DAVE, "PUT", "add-service-account", new).await;
        check_error(&refused, 403, "AccessDenied");
        for path in ["list-service-accounts?user=", "list-access-keys-bulk?listType=all&users="] {
            let refused = send(&server, DAVE, "GET", &format!("{path}{user}"), "").await;
            check_error(&refused, 403, "AccessDenied");
        }
    }
    for key in ["narrow", "nothing"] {
        let path = format!("delete-service-account?accessKey={key}");
        check_error(&send(&server, DAVE, "DELETE", &path, "").await, 403, "AccessDenied");
        let path = format!("info-service-account?accessKey={key}");
        check_error(&send(&server, DAVE, "GET", &path, "").await, 403, "AccessDenied");
    }
    // Who may is told.
    let missing = get(&server, "list-service-accounts?user=nobody").await;
    check_error(&missing, 404, "XMinioAdminNoSuchUser");
    let path = "delete-service-account?accessKey=nothing";
    let missing = send(&server, ALICE, "DELETE", path, "").await;
    check_error(&missing, 404, "XMinioInvalidIAMCredentials");
}

#[tokio::test]
async fn rights_are_those_that_policies_give() {
    let server = with_dave().await;
    let new = json!({ "secretKey": "erin's secret" });
    let reads = [
        "info",
        "datausageinfo",
        "list-users",
        "groups",
        "list-canned-policies",
        "trace",
        "group?group=g",
    ];
    for path in reads {
        check_error(&send(&server, DAVE, "GET", path, "").await, 403, "AccessDenied");
    }
    let refused = sealed(&server, DAVE, "PUT", "add-user?accessKey=erin", new.clone()).await;
    check_error(&refused, 403, "AccessDenied");
    send(&server, DAVE, "GET", "user-info?accessKey=dave", "").await.expect_status(200);

    // A statement about the server needs no resource.
    let policy = r#"{"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": ["admin:ListUsers", "admin:CreateUser"]}]}"#;
    let path = "add-canned-policy?name=operators";
    send(&server, ALICE, "PUT", path, policy).await.expect_status(200);
    attach(&server, "operators").await;
    opened(send(&server, DAVE, "GET", "list-users", "").await, DAVE);
    sealed(&server, DAVE, "PUT", "add-user?accessKey=erin", new).await.expect_status(200);
    let refused = send(&server, DAVE, "DELETE", "remove-user?accessKey=erin", "").await;
    check_error(&refused, 403, "AccessDenied");
    // Policies of MinIO name all buckets so, for lists of buckets as well.
    let policy = r#"{"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": ["s3:*"], "Resource": ["arn:aws:s3:::*"]}]}"#;
    let path = "add-canned-policy?name=buckets";
    send(&server, ALICE, "PUT", path, policy).await.expect_status(200);
    server.request("GET", "/").by(DAVE).send().await.expect_error(403, "AccessDenied");
    attach(&server, "buckets").await;
    server.request("GET", "/").by(DAVE).send().await.expect_status(200);
    // Other accounts have other users.
    let of_bob = opened(send(&server, BOB, "GET", "list-users", "").await, BOB);
    assert_eq!(of_bob, json!({}));
    check_error(&send(&server, CAROL, "GET", "list-users", "").await, 403, "AccessDenied");
}

#[tokio::test]
async fn bad_requests_are_refused_in_the_form_of_minio() {
    let server = memory().await;
    let unsigned = server.request("GET", "/minio/admin/v3/info").anonymous().send().await;
    check_error(&unsigned, 403, "AccessDenied");
    let wrong = User { secret_key: "another secret", ..ALICE };
    check_error(&send(&server, wrong, "GET", "info", "").await, 403, "SignatureDoesNotMatch");
    for (path, told) in [
        ("service?action=restart", "restarted and stopped with its process"),
        ("update", "with its package or image"),
        ("set-config-kv", "--event-target NAME=URL"),
        ("config", "options of its start"),
        ("heal/", "see docs/admin.md"),
        ("nothing", "see docs/admin.md"),
    ] {
        let refused = send(&server, ALICE, "POST", path, "").await;
        check_error(&refused, 501, "NotImplemented");
        assert!(refused.text().contains(told), "{path}: {}", refused.text());
    }
    let refused = send(&server, ALICE, "POST", "add-user", "").await;
    check_error(&refused, 405, "MethodNotAllowed");
    assert_eq!(refused.header("allow"), Some("PUT"));
    let invalid = "XMinioAdminInvalidArgument";
    for path in ["list-users?bucket=photos", "user-info", "list-access-keys-bulk?listType=some"] {
        check_error(&get(&server, path).await, 400, invalid);
    }
    let path = "add-user?accessKey=dave";
    let of_other = seal_admin_body("another secret", b"{}");
    for body in [&b"{}"[..], &of_other, &of_other[..30]] {
        check_error(&send(&server, ALICE, "PUT", path, body).await, 400, invalid);
    }
    let large = vec![0; (256 << 10) + 1];
    let refused = send(&server, ALICE, "PUT", path, large).await;
    check_error(&refused, 400, "XMinioAdminConfigTooLarge");
    let bad_json = "XMinioAdminConfigBadJSON";
    for (document, code) in [
        (json!({ "secretKey": "a secret", "colour": 1 }), bad_json),
        (json!("dave"), bad_json),
        (json!({ "secretKey": 1 }), bad_json),
        (json!({ "secretKey": "short" }), "XMinioAdminInvalidSecretKey"),
        (json!({}), "XMinioAdminInvalidSecretKey"),
        (json!({ "secretKey": "a secret", "status": "asleep" }), invalid),
        (json!({ "secretKey": "a secret", "policy": "nothing" }), "XMinioAdminNoSuchPolicy"),
    ] {
        let refused = sealed(&server, ALICE, "PUT", path, document).await;
        assert!(refused.status == 400 || refused.status == 404, "{}", refused.everything());
        check_error(&refused, refused.status, code);
    }
    let new = json!({ "secretKey": "a secret" });
    for name in ["a%20b", "a%2Fb", "a,b", "%00"] {
        let path = format!("add-user?accessKey={name}");
        let refused = sealed(&server, ALICE, "PUT", &path, new.clone()).await;
        assert_eq!(refused.status, 400, "{}", refused.everything());
    }
    for policy in
        ["", "{}", "[]", r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow"}]}"#]
    {
        let refused = send(&server, ALICE, "PUT", "add-canned-policy?name=p", policy).await;
        check_error(&refused, 400, "XMinioMalformedIAMPolicy");
    }
    for (action, is_known) in [
        ("s3:GetObjekt", false),
        ("s3:GetObj*", true),
        ("S3:getobject", true),
        ("s3:ForceDeleteBucket", true),
    ] {
        let statement =
            json!({ "Effect": "Allow", "Action": [action], "Resource": "arn:aws:s3:::*" });
        let policy = json!({ "Version": "2012-10-17", "Statement": statement }).to_string();
        let answer = send(&server, ALICE, "PUT", "add-canned-policy?name=p", &policy).await;
        assert_eq!(answer.status == 200, is_known, "{action}: {}", answer.everything());
        assert!(is_known || answer.text().contains("unsupported action 's3:GetObjekt'"));
    }
    assert_eq!(opened(get(&server, "list-users").await, ALICE), json!({}), "nothing was made");
}

#[tokio::test]
async fn a_bucket_called_minio_has_its_paths_to_itself() {
    let server = memory().await;
    get(&server, "info").await.expect_status(200);
    server.bucket("minio").await;
    server.put("/minio/admin/v3/info", "an object").await.expect_status(200);
    assert_eq!(get(&server, "info").await.expect_status(200).body, b"an object");
}

#[tokio::test]
async fn the_server_tells_the_use_of_its_buckets() {
    let server = memory().await;
    server.bucket("photos").await;
    server.put("/photos/a", "12345").await.expect_status(200);
    server.put("/photos/b", "1").await.expect_status(200);
    let info = json_of(&get(&server, "info").await.expect_status(200));
    let told = [&info["buckets"]["count"], &info["objects"]["count"], &info["usage"]["size"]];
    assert_eq!(told, [1, 2, 6]);
    let start = scrape(&server, OWN).await["process_start_time_seconds"];
    let uptime = info["servers"][0]["uptime"].as_f64().expect("a number");
    let now = jiff::Timestamp::now().as_second() as f64;
    assert!((now - start - uptime).abs() <= 3.0, "{uptime} s up at {now}, started at {start}");
    assert_eq!(info["services"]["kms"]["status"], "disabled", "there is no key");
    assert_eq!(info["encryption"], json!({ "master": false, "keys": [] }));
    assert_eq!(info["sqsARN"], json!([]));
    let usage = json_of(&get(&server, "datausageinfo?capacity=true").await.expect_status(200));
    assert_eq!(usage["bucketsUsageInfo"]["photos"]["objectsCount"], 2);
    // The buckets of another account are not told.
    let usage = send(&server, BOB, "GET", "datausageinfo", "").await.expect_status(200);
    assert_eq!(json_of(&usage)["bucketsUsageInfo"], json!({}));
}
