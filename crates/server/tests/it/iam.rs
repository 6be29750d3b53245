//! Users that are made at run time, as clients of IAM make them.

use liteio::{KeySources, MasterKeySource, Server, ServerHandle};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::harness::{ALICE, BOB, RawRequest, TestServer, User, memory};
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

#[tokio::test]
async fn a_key_works_until_it_is_inactive_or_gone() {
    let server = memory().await;
    let user = user_with_key(&server, "carol").await;
    assert_eq!((user.access_key.len(), user.secret_key.len()), (20, 40));
    let who = || async { server.form("sts", "Action=GetCallerIdentity").by(user).send().await };
    let arn = who().await.expect_status(200).element("Arn");
    assert!(arn.starts_with("arn:aws:iam::") && arn.ends_with(":user/carol"), "{arn}");
    let key = user.access_key;
    let sent = &server;
    let change = |form: String| async move { iam(sent, &form).await.expect_status(200) };
    change(format!("Action=UpdateAccessKey&UserName=carol&AccessKeyId={key}&Status=Inactive"))
        .await;
    who().await.expect_error(403, "InvalidClientTokenId");
    server.request("GET", "/").by(user).send().await.expect_error(403, "InvalidAccessKeyId");
    change(format!("Action=UpdateAccessKey&UserName=carol&AccessKeyId={key}&Status=Active")).await;
    who().await.expect_status(200);
    change(format!("Action=DeleteAccessKey&UserName=carol&AccessKeyId={key}")).await;
    who().await.expect_error(403, "InvalidClientTokenId");
    change("Action=DeleteUser&UserName=carol".to_owned()).await;
}

#[tokio::test]
async fn users_of_an_account_do_what_their_policies_allow_and_no_more() {
    let server = memory().await;
    let user = user_with_key(&server, "carol").await;
    let list = || async { server.form("iam", "Action=ListUsers").by(user).send().await };
    let refused = list().await.expect_error(403, "AccessDenied").element("Message");
    assert!(refused.contains("is not authorized to perform: iam:ListUsers"), "{refused}");
    let put = |who: &str, name: &str, document: String| {
        format!("Action=Put{who}Policy&{who}Name={name}&PolicyName=p&PolicyDocument={document}")
    };
    iam(&server, &put("User", "carol", policy("Allow", "iam:List*"))).await.expect_status(200);
    assert_eq!(list().await.expect_status(200).elements("UserName"), ["carol"]);
    server
        .form("iam", "Action=CreateUser&UserName=dave")
        .by(user)
        .send()
        .await
        .expect_error(403, "AccessDenied");

    // A denial of a group counts, whatever else allows.
    iam(&server, "Action=CreateGroup&GroupName=some").await.expect_status(200);
    iam(&server, &put("Group", "some", policy("Deny", "iam:ListUsers"))).await.expect_status(200);
    iam(&server, "Action=AddUserToGroup&GroupName=some&UserName=carol").await.expect_status(200);
    let refused = list().await.expect_error(403, "AccessDenied").element("Message");
    assert!(refused.contains("explicit deny"), "{refused}");
    let remove = "Action=RemoveUserFromGroup&GroupName=some&UserName=carol";
    iam(&server, remove).await.expect_status(200);
    list().await.expect_status(200);
    iam(&server, remove).await.expect_error(404, "NoSuchEntity");

    // A managed policy, and another version of it.
    let made = iam(
        &server,
        &format!("Action=CreatePolicy&PolicyName=all&PolicyDocument={}", encoded(ALLOW_ALL)),
    )
    .await
    .expect_status(200);
    let arn = made.element("Arn");
    iam(&server, &format!("Action=AttachUserPolicy&UserName=carol&PolicyArn={arn}"))
        .await
        .expect_status(200);
    let create =
        || async { server.form("iam", "Action=CreateGroup&GroupName=other").by(user).send().await };
    create().await.expect_status(200);
    create().await.expect_error(409, "EntityAlreadyExists");
    let version = format!(
        "Action=CreatePolicyVersion&PolicyArn={arn}&SetAsDefault=true&PolicyDocument={}",
        policy("Allow", "s3:*")
    );
    assert_eq!(iam(&server, &version).await.expect_status(200).element("VersionId"), "v2");
    create().await.expect_error(403, "AccessDenied");

    // Another account sees nothing of it.
    let of_bob = server.form("iam", "Action=ListUsers").by(BOB).send().await.expect_status(200);
    assert_eq!(of_bob.elements("UserName"), [""; 0]);
    let foreign = server.form("iam", &format!("Action=GetPolicy&PolicyArn={arn}")).by(BOB);
    foreign.send().await.expect_error(404, "NoSuchEntity");
}

#[tokio::test]
async fn bad_requests_are_refused_and_nothing_is_stored() {
    let server = memory().await;
    iam(&server, "Action=CreateUser&UserName=carol").await.expect_status(200);
    let long = "a".repeat(65);
    let large =
        encoded(&ALLOW_ALL.replace("\"*\"}", &format!("\"arn:aws:s3:::{}\"}}", "b".repeat(2100))));
    for (form, status, code) in [
        ("Action=MakeTea", 400, "InvalidAction"),
        ("Action=CreateLoginProfile&UserName=carol", 501, "NotImplemented"),
        ("UserName=carol", 400, "MissingAction"),
        ("Action=CreateUser", 400, "ValidationError"),
        ("Action=CreateUser&UserName=a%20b", 400, "ValidationError"),
        (&format!("Action=CreateUser&UserName={long}"), 400, "ValidationError"),
        ("Action=CreateUser&UserName=CAROL", 409, "EntityAlreadyExists"),
        ("Action=CreateUser&UserName=dave&Path=x", 400, "ValidationError"),
        ("Action=CreateUser&UserName=dave&UserName=eve", 404, "MalformedQueryString"),
        (
            "Action=CreateUser&UserName=dave&Tags.member.1.Key=aws:x&Tags.member.1.Value=",
            400,
            "ValidationError",
        ),
        (
            "Action=CreateUser&UserName=dave&PermissionsBoundary=arn:aws:iam::aws:policy/ReadOnlyAccess",
            501,
            "NotImplemented",
        ),
        ("Action=GetUser&UserName=dave", 404, "NoSuchEntity"),
        (
            "Action=PutUserPolicy&UserName=carol&PolicyName=p&PolicyDocument=%7B",
            400,
            "MalformedPolicyDocument",
        ),
        (
            &format!("Action=PutUserPolicy&UserName=carol&PolicyName=p&PolicyDocument={large}"),
            409,
            "LimitExceeded",
        ),
        (
            "Action=AttachUserPolicy&UserName=carol&PolicyArn=arn:aws:iam::aws:policy/None",
            404,
            "NoSuchEntity",
        ),
        ("Action=ListUsers&MaxItems=0", 400, "ValidationError"),
        ("Action=ListUsers&Marker=%21", 400, "ValidationError"),
        (
            "Action=DeletePolicy&PolicyArn=arn:aws:iam::aws:policy/ReadOnlyAccess",
            403,
            "AccessDenied",
        ),
        ("Action=CreateAccessKey", 400, "ValidationError"),
        (
            "Action=CreateRole&RoleName=r&AssumeRolePolicyDocument=%7B%7D",
            400,
            "MalformedPolicyDocument",
        ),
    ] {
        let reply = iam(&server, form).await.expect_error(status, code);
        assert!(reply.text().starts_with("<ErrorResponse"), "{}", reply.text());
    }
    assert_eq!(iam(&server, "Action=ListUsers").await.elements("UserName"), ["carol"]);
    iam(&server, "Action=CreateAccessKey&UserName=carol").await.expect_status(200);
    iam(&server, "Action=CreateAccessKey&UserName=carol").await.expect_status(200);
    iam(&server, "Action=CreateAccessKey&UserName=carol").await.expect_error(409, "LimitExceeded");
    iam(&server, "Action=DeleteUser&UserName=carol").await.expect_error(409, "DeleteConflict");
    server
        .form("iam", "Action=ListUsers")
        .anonymous()
        .send()
        .await
        .expect_error(403, "MissingAuthenticationToken");
}

#[tokio::test]
async fn lists_come_in_pages() {
    let server = memory().await;
    for name in ["dave", "Carol", "erin", "bert"] {
        iam(&server, &format!("Action=CreateUser&UserName={name}")).await.expect_status(200);
    }
    let (mut names, mut marker) = (Vec::new(), String::new());
    loop {
        let page = iam(&server, &format!("Action=ListUsers&MaxItems=1&Marker={marker}")).await;
        names.extend(page.elements("UserName"));
        marker = page.element("Marker");
        assert_eq!(page.element("IsTruncated") == "true", !marker.is_empty());
        if marker.is_empty() {
            break;
        }
    }
    assert_eq!(names, ["bert", "Carol", "dave", "erin"]);
}

async fn start(folder: &std::path::Path) -> ServerHandle {
    let builder = Server::builder().data_dir(folder).credentials("alice-key", "alice's secret");
    builder.spawn().await.expect("starts")
}

#[tokio::test]
async fn users_and_sessions_are_there_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path()).await;
    let send = |server: &ServerHandle, service: &'static str, form: &str, by: User| {
        RawRequest::of_form(server.address(), service, form).by(by).send_owned()
    };
    send(&server, "iam", "Action=CreateUser&UserName=carol", ALICE).await.expect_status(200);
    let key = send(&server, "iam", "Action=CreateAccessKey&UserName=carol", ALICE).await;
    let carol = key_of(&key.expect_status(200));
    let who = |server: &ServerHandle| send(server, "sts", "Action=GetCallerIdentity", carol);
    let id = who(&server).await.expect_status(200).element("UserId");
    server.stop().await;
    let server = start(folder.path()).await;
    assert_eq!(who(&server).await.expect_status(200).element("UserId"), id);
    server.stop().await;
}

#[tokio::test]
async fn keys_of_users_outlive_the_master_key_that_sealed_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = |keys: &'static str| {
        let master = (!keys.is_empty()).then(|| MasterKeySource::Text(keys.to_owned()));
        let builder = Server::builder().data_dir(folder.path());
        let builder = builder.credentials("alice-key", "alice's secret");
        let keys = KeySources { master, kms_file: None };
        async { builder.keys(keys).spawn().await.expect("starts") }
    };
    const OLD: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    const NEW: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    const BOTH: &str =
        "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let send = |server: &ServerHandle, service: &'static str, form: &str, by: User| {
        RawRequest::of_form(server.address(), service, form).by(by).send_owned()
    };
    // Without a master key, then with one, and then with another one.
    let server = start("").await;
    send(&server, "iam", "Action=CreateUser&UserName=carol", ALICE).await.expect_status(200);
    let key = send(&server, "iam", "Action=CreateAccessKey&UserName=carol", ALICE).await;
    let carol = key_of(&key.expect_status(200));
    server.stop().await;
    for keys in ["", OLD, BOTH, NEW] {
        let server = start(keys).await;
        send(&server, "sts", "Action=GetCallerIdentity", carol).await.expect_status(200);
        server.stop().await;
    }
}
