//! Permission for every operation of the table: none is forgotten, and a refused one changes nothing.

use crate::harness::{
    ACCOUNTS, ALICE, BOB, CAROL, RawRequest, TestServer, User, base64, in_memory_with_users, md5,
};
use crate::operations::{Operation, operations};
use crate::reply::Reply;

/// Of Alice's account, with every right.
const DAVE: User = User { access_key: "dave-key", secret_key: "dave's secret", id: "alice-id" };
/// Of Alice's account, with every right, and all of them denied.
const EVE: User = User { access_key: "eve-key", secret_key: "eve's secret", id: "alice-id" };

/// These, beside those of the accounts.
const DAVE_AND_EVE: &str = r#"
    [[user]]
    name = "dave"
    parent = "alice"
    access_key = "dave-key"
    secret_key = "dave's secret"
    policies = ['{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}']

    [[user]]
    name = "eve"
    parent = "alice"
    access_key = "eve-key"
    secret_key = "eve's secret"
    policies = [
        '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}',
        '{"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*"}]}',
    ]
"#;

/// A bucket with an object, another one to copy from, and an upload in progress.
struct Fixture<'s> {
    server: &'s TestServer,
    bucket: String,
    upload: String,
}

impl<'s> Fixture<'s> {
    async fn new(server: &'s TestServer, bucket: &str) -> Fixture<'s> {
        let fixture = Fixture { server, bucket: bucket.to_owned(), upload: String::new() };
        fixture.server.bucket(bucket).await;
        fixture.server.put(&format!("/{bucket}/key"), "the object").await.expect_status(200);
        fixture.server.put(&format!("/{bucket}/source"), "the source").await.expect_status(200);
        let begun = fixture.server.post(&format!("/{bucket}/big?uploads"), "").await;
        let upload = begun.expect_status(200).element("UploadId");
        Fixture { upload, ..fixture }
    }

    /// A request for `operation`, as whole as the decision about it needs.
    fn request(&self, operation: &Operation, more: &[&str]) -> RawRequest<'s> {
        let bucket = &self.bucket;
        let is_of_upload = operation.required.contains(&"uploadId");
        let path = match operation.level {
            "service" => "/".to_owned(),
            "bucket" if operation.name == "CreateBucket" => format!("/{bucket}-new"),
            "bucket" | "keys" => format!("/{bucket}"),
            _ if is_of_upload => format!("/{bucket}/big"),
            _ => format!("/{bucket}/key"),
        };
        let value = |name: &str| match name {
            "uploadId" => self.upload.clone(),
            "partNumber" | "list-type" => if name == "list-type" { "2" } else { "1" }.to_owned(),
            "versionId" => "null".to_owned(),
            "select-type" => "2".to_owned(),
            _ => String::new(),
        };
        let names = operation.required.iter().chain(more);
        let query: Vec<String> = names.map(|name| format!("{name}={}", value(name))).collect();
        let request = self.server.request(operation.method, &format!("{path}?{}", query.join("&")));
        let request = request.body(document(operation.name));
        match operation.name {
            "CopyObject" | "UploadPartCopy" => {
                request.header("x-amz-copy-source", format!("/{bucket}/source"))
            }
            "RenameObject" => request.header("x-amz-rename-source", "source"),
            "DeleteObjects" => {
                request.header("content-md5", base64(&md5(document("DeleteObjects").as_bytes())))
            }
            "GetObjectAttributes" => request.header("x-amz-object-attributes", "ETag"),
            _ => request,
        }
    }

    /// All that can be read of the server by Alice.
    async fn state(&self) -> Vec<String> {
        let mut state = vec![self.server.get("/").await.text()];
        for operation in operations() {
            if operation.method == "GET" && operation.level != "service" {
                let reply = self.request(&operation, &[]).by(ALICE).send().await;
                let text = reply.text();
                let text = text.split("<RequestId>").next().unwrap_or_default();
                state.push(format!("{} {} {text}", operation.name, reply.status));
            }
        }
        state
    }
}

/// A document for operations whose decision needs it.
fn document(operation: &str) -> &'static str {
    match operation {
        "PutObjectTagging" => {
            "<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tagging>"
        }
        "PutObjectRetention" => {
            "<Retention><Mode>GOVERNANCE</Mode>\
             <RetainUntilDate>2099-01-01T00:00:00Z</RetainUntilDate></Retention>"
        }
        "PutObjectLegalHold" => "<LegalHold><Status>ON</Status></LegalHold>",
        "DeleteObjects" => "<Delete><Object><Key>key</Key></Object></Delete>",
        _ => "",
    }
}

fn is_denied(reply: &Reply) -> bool {
    let is_of_each_key = reply.status == 200 && reply.text().contains("<Code>AccessDenied</Code>");
    // An answer to HEAD has no code.
    let is_whole = reply.status == 403 && matches!(&*reply.code(), "AccessDenied" | "");
    // A POST of a bucket that is no form is refused before anybody is asked.
    let is_no_form = reply.status == 412 && reply.text().contains("enclosure-type");
    is_whole || is_of_each_key || is_no_form
}

/// Every operation, by itself and with a version.
fn requests() -> Vec<(Operation, &'static [&'static str])> {
    let operations = operations().into_iter();
    let requests = operations.flat_map(|operation| {
        let with_version: &[&[&str]] = match operation.known.contains(&"versionId") {
            true => &[&[], &["versionId"]],
            false => &[&[]],
        };
        with_version.iter().map(move |more| (operation.clone(), *more)).collect::<Vec<_>>()
    });
    requests.collect()
}

#[tokio::test]
async fn without_the_right_every_operation_is_refused_and_changes_nothing() {
    let server = in_memory_with_users(&format!("{ACCOUNTS}{DAVE_AND_EVE}")).await;
    let fixture = Fixture::new(&server, "mine").await;
    let before = fixture.state().await;
    for (operation, more) in requests() {
        for (who, user) in [("carol", CAROL), ("eve", EVE), ("bob", BOB)] {
            // What Bob creates and lists is his own.
            if user == BOB && (operation.level == "service" || operation.name == "CreateBucket") {
                continue;
            }
            let reply = fixture.request(&operation, more).by(user).send().await;
            assert!(is_denied(&reply), "{who} {} {more:?}: {}", operation.name, reply.everything());
        }
        let reply = fixture.request(&operation, more).anonymous().send().await;
        assert!(is_denied(&reply), "nobody {}: {}", operation.name, reply.everything());
    }
    assert_eq!(fixture.state().await, before);
}

#[tokio::test]
async fn an_explicit_deny_wins_for_every_operation() {
    let server = in_memory_with_users(&format!("{ACCOUNTS}{DAVE_AND_EVE}")).await;
    let fixture = Fixture::new(&server, "mine").await;
    let statement = |effect, principal, actions| {
        format!(
            r#"{{"Effect": "{effect}", "Principal": {principal}, "{actions}": ["s3:*BucketPolicy"],
                "Resource": ["arn:aws:s3:::mine", "arn:aws:s3:::mine/*"]}}"#
        )
    };
    let policy = format!(
        r#"{{"Version": "2012-10-17", "Statement": [{}, {}, {}]}}"#,
        statement("Allow", "\"*\"", "NotAction"),
        statement("Deny", "\"*\"", "NotAction"),
        statement("Deny", r#"{"AWS": "111111111111"}"#, "Action"),
    );
    server.put("/mine?policy", &policy).await.expect_status(204);
    let is_of_bucket = |it: &Operation| it.level != "service" && it.name != "CreateBucket";
    for (operation, more) in requests().into_iter().filter(|(it, _)| is_of_bucket(it)) {
        let reply = fixture.request(&operation, more).by(DAVE).send().await;
        assert!(is_denied(&reply), "dave {}: {}", operation.name, reply.everything());
        let may_root = operation.action.ends_with("BucketPolicy");
        if !may_root {
            let reply = fixture.request(&operation, more).by(ALICE).send().await;
            assert!(is_denied(&reply), "alice {}: {}", operation.name, reply.everything());
        }
    }
    // The root user takes the policy off again, and nothing has happened meanwhile.
    assert_eq!(server.get("/mine?policy").await.expect_status(200).text(), policy);
    server.delete("/mine?policy").await.expect_status(204);
    assert_eq!(server.get("/mine/key").await.expect_status(200).text(), "the object");
}

/// The actions that an operation needs beside its own.
fn also_needed(operation: &Operation, has_version: bool) -> &'static [&'static str] {
    match (operation.name, has_version) {
        ("CopyObject" | "UploadPartCopy" | "GetObjectAttributes", false) => &["s3:GetObject"],
        ("GetObjectAttributes", true) => &["s3:GetObjectVersion"],
        ("RenameObject", _) => &["s3:PutObject", "s3:DeleteObject", "s3:GetObject"],
        _ => &[],
    }
}

/// The name of the action for a version of an object.
fn on_version(action: &str) -> String {
    match action {
        "s3:GetObjectRetention"
        | "s3:GetObjectLegalHold"
        | "s3:PutObjectRetention"
        | "s3:PutObjectLegalHold"
        | "s3:RestoreObject" => action.to_owned(),
        action if action.contains("Encryption") => action.to_owned(),
        action => action.replacen("Object", "ObjectVersion", 1),
    }
}

#[tokio::test]
async fn the_action_of_the_table_is_what_another_account_needs() {
    let server = in_memory_with_users(&format!("{ACCOUNTS}{DAVE_AND_EVE}")).await;
    let is_of_bucket = |it: &Operation| it.level != "service" && it.name != "CreateBucket";
    for (index, (operation, more)) in requests().into_iter().enumerate() {
        // A form that arrives without a key, and an answer to a function, are on no resource.
        let has_resource = !["PostObject", "WriteGetObjectResponse"].contains(&operation.name);
        if !(has_resource && is_of_bucket(&operation)) {
            continue;
        }
        let bucket = format!("bucket-{index}");
        let fixture = Fixture::new(&server, &bucket).await;
        let has_version = !more.is_empty();
        let action = match has_version {
            true => on_version(operation.action),
            false => operation.action.to_owned(),
        };
        let mut actions = vec![action];
        actions.extend(also_needed(&operation, has_version).iter().map(|it| (*it).to_owned()));
        // Without one of them it is refused.
        for missing in 0..=actions.len() {
            let granted: Vec<String> = actions
                .iter()
                .enumerate()
                .filter(|(index, _)| *index != missing)
                .map(|(_, action)| {
                    let resource = match operation.level {
                        "key" | "keys" => format!("arn:aws:s3:::{bucket}/*"),
                        _ => format!("arn:aws:s3:::{bucket}"),
                    };
                    format!(
                        r#"{{"Effect": "Allow", "Principal": {{"AWS": "222222222222"}},
                            "Action": "{action}", "Resource": "{resource}"}}"#
                    )
                })
                .collect();
            if granted.is_empty() {
                continue;
            }
            let policy =
                format!(r#"{{"Version": "2012-10-17", "Statement": [{}]}}"#, granted.join(","));
            let put = server.put(&format!("/{bucket}?policy"), &policy).await;
            put.expect_status(204);
            let reply = fixture.request(&operation, more).by(BOB).send().await;
            let expected = missing < actions.len();
            assert_eq!(
                is_denied(&reply),
                expected,
                "{} with {granted:?}: {}",
                operation.name,
                reply.everything()
            );
        }
    }
}
