//! Keys for a time, as clients of STS get and use them.

use crate::harness::{BOB, TestServer, User, memory};
use crate::iam::{encoded, key_of, policy, user_with_key};
use crate::reply::Reply;

/// The keys of a session.
#[derive(Clone, Copy)]
struct Session {
    key: User,
    token: &'static str,
}

impl Session {
    fn of(reply: &Reply) -> Session {
        Session { key: key_of(reply), token: String::leak(reply.element("SessionToken")) }
    }

    async fn send(self, server: &TestServer, service: &'static str, form: &str) -> Reply {
        let request = server.form(service, form).by(self.key);
        request.header("x-amz-security-token", self.token).send().await
    }

    async fn who(self, server: &TestServer) -> Reply {
        self.send(server, "sts", "Action=GetCallerIdentity").await
    }
}

async fn iam(server: &TestServer, form: &str) -> Reply {
    server.form("iam", form).send().await.expect_status(200)
}

#[tokio::test]
async fn a_session_works_with_its_token_alone() {
    let server = memory().await;
    server.bucket("bucket").await;
    let reply = server.form("sts", "Action=GetSessionToken&DurationSeconds=900").send().await;
    let session = Session::of(&reply.expect_status(200));
    assert!(session.key.access_key.starts_with("ASIA"));
    let arn = session.who(&server).await.expect_status(200).element("Arn");
    assert!(arn.ends_with(":root"), "{arn}");
    let get = |by: User, token: String| {
        let request = server.request("GET", "/bucket").by(by);
        let request =
            if token.is_empty() { request } else { request.header("x-amz-security-token", &token) };
        request.send_owned()
    };
    let token = session.token;
    get(session.key, token.to_owned()).await.expect_status(200);
    get(session.key, String::new()).await.expect_error(403, "InvalidAccessKeyId");
    get(session.key, token[1..].to_owned()).await.expect_error(400, "InvalidToken");
    get(session.key, token[..token.len() - 1].to_owned()).await.expect_error(400, "InvalidToken");
    get(session.key, format!("{token}A")).await.expect_error(400, "InvalidToken");
    get(
        session.key,
        token.replacen(&token[40..41], if &token[40..41] == "A" { "B" } else { "A" }, 1),
    )
    .await
    .expect_error(400, "InvalidToken");
    get(BOB, token.to_owned()).await.expect_error(400, "InvalidToken");
    let other = User { access_key: session.key.access_key, secret_key: "another secret", id: "" };
    get(other, token.to_owned()).await.expect_error(403, "SignatureDoesNotMatch");
    let anonymous = server.request("GET", "/bucket").anonymous();
    anonymous.header("x-amz-security-token", token).send().await.expect_error(400, "InvalidToken");
    // Keys of a session begin no other one, and reach IAM with a second factor only.
    session.send(&server, "sts", "Action=GetSessionToken").await.expect_error(403, "AccessDenied");
    session.send(&server, "iam", "Action=ListUsers").await.expect_error(403, "AccessDenied");
}

#[tokio::test]
async fn a_session_ends_with_its_user() {
    let server = memory().await;
    let carol = user_with_key(&server, "carol").await;
    let session = server.form("sts", "Action=GetSessionToken").by(carol).send().await;
    let session = Session::of(&session.expect_status(200));
    session.who(&server).await.expect_status(200);
    iam(
        &server,
        &format!("Action=DeleteAccessKey&UserName=carol&AccessKeyId={}", carol.access_key),
    )
    .await;
    iam(&server, "Action=DeleteUser&UserName=carol").await;
    session.who(&server).await.expect_error(403, "InvalidClientTokenId");
    // A user of the same name is another one.
    iam(&server, "Action=CreateUser&UserName=carol").await;
    session.who(&server).await.expect_error(403, "InvalidClientTokenId");
}

fn trust(account: &str, principal: &str, condition: &str) -> String {
    encoded(&format!(
        r#"{{"Version":"2012-10-17","Statement":{{"Effect":"Allow","Principal":{{"AWS":"arn:aws:iam::{account}:{principal}"}},"Action":"sts:AssumeRole"{condition}}}}}"#
    ))
}

async fn account(server: &TestServer) -> String {
    server.form("sts", "Action=GetCallerIdentity").send().await.element("Account")
}

#[tokio::test]
async fn a_role_is_assumed_by_those_whom_it_trusts() {
    let server = memory().await;
    let account = account(&server).await;
    let (carol, dave) =
        (user_with_key(&server, "carol").await, user_with_key(&server, "dave").await);
    let external = r#","Condition":{"StringEquals":{"sts:ExternalId":"x1"}}"#;
    let made = iam(
        &server,
        &format!(
            "Action=CreateRole&RoleName=reader&AssumeRolePolicyDocument={}",
            trust(&account, "user/carol", external)
        ),
    )
    .await;
    let arn = made.element("Arn");
    let assume = |by: User, more: &str| {
        let form = format!("Action=AssumeRole&RoleArn={arn}&RoleSessionName=now{more}");
        server.form("sts", &form).by(by).send_owned()
    };
    assume(carol, "").await.expect_error(403, "AccessDenied");
    assume(dave, "&ExternalId=x1").await.expect_error(403, "AccessDenied");
    let root = crate::harness::ALICE;
    assume(root, "&ExternalId=x1").await.expect_error(403, "AccessDenied");
    for (more, code) in [
        ("&ExternalId=x1&DurationSeconds=899", "ValidationError"),
        ("&ExternalId=x1&DurationSeconds=3601", "ValidationError"),
        ("&ExternalId=x1&Policy=%7B", "MalformedPolicyDocument"),
        ("&ExternalId=x1&PolicyArns.member.1.arn=arn:aws:iam::aws:policy/None", "ValidationError"),
    ] {
        assume(carol, more).await.expect_error(400, code);
    }
    let reply = assume(carol, "&ExternalId=x1").await.expect_status(200);
    assert!(reply.element("Arn").ends_with(":assumed-role/reader/now"), "{}", reply.text());
    let session = Session::of(&reply);
    assert!(session.who(&server).await.expect_status(200).element("UserId").ends_with(":now"));
    session.send(&server, "iam", "Action=ListUsers").await.expect_error(403, "AccessDenied");

    // The policies of the role are those of its sessions at once, and a session policy narrows them.
    let put = format!(
        "Action=PutRolePolicy&RoleName=reader&PolicyName=p&PolicyDocument={}",
        policy("Allow", "iam:*")
    );
    iam(&server, &put).await;
    session.send(&server, "iam", "Action=ListUsers").await.expect_status(200);
    let narrow = format!("&ExternalId=x1&Policy={}", policy("Allow", "iam:ListGroups"));
    let narrow = Session::of(&assume(carol, &narrow).await.expect_status(200));
    narrow.send(&server, "iam", "Action=ListUsers").await.expect_error(403, "AccessDenied");
    narrow.send(&server, "iam", "Action=ListGroups").await.expect_status(200);

    iam(&server, "Action=DeleteRolePolicy&RoleName=reader&PolicyName=p").await;
    iam(&server, "Action=DeleteRole&RoleName=reader").await;
    session.who(&server).await.expect_error(403, "InvalidClientTokenId");
    assume(carol, "&ExternalId=x1").await.expect_error(403, "AccessDenied");
}

#[tokio::test]
async fn an_account_that_is_trusted_chooses_its_users() {
    let server = memory().await;
    let account = account(&server).await;
    let carol = user_with_key(&server, "carol").await;
    let made = iam(
        &server,
        &format!(
            "Action=CreateRole&RoleName=reader&AssumeRolePolicyDocument={}",
            trust(&account, "root", "")
        ),
    )
    .await;
    let form = format!("Action=AssumeRole&RoleArn={}&RoleSessionName=now", made.element("Arn"));
    let assume = || server.form("sts", &form).by(carol).send_owned();
    assume().await.expect_error(403, "AccessDenied");
    let allow = policy("Allow", "sts:AssumeRole");
    iam(
        &server,
        &format!("Action=PutUserPolicy&UserName=carol&PolicyName=p&PolicyDocument={allow}"),
    )
    .await;
    assume().await.expect_status(200);
}

#[tokio::test]
async fn bad_requests_are_refused() {
    let server = memory().await;
    for (form, status, code) in [
        ("Action=MakeTea", 400, "InvalidAction"),
        ("Action=AssumeRoleWithSAML", 501, "NotImplemented"),
        ("Action=AssumeRole&RoleArn=x", 400, "ValidationError"),
        ("Action=AssumeRole&RoleArn=x&RoleSessionName=a", 400, "ValidationError"),
        ("Action=AssumeRole&RoleArn=x&RoleSessionName=a%20b", 400, "ValidationError"),
        ("Action=GetSessionToken&DurationSeconds=899", 400, "ValidationError"),
        ("Action=GetSessionToken&DurationSeconds=129601", 400, "ValidationError"),
        ("Action=GetSessionToken&SerialNumber=1", 501, "NotImplemented"),
    ] {
        let reply = server.form("sts", form).send().await.expect_error(status, code);
        assert!(reply.text().contains("https://sts.amazonaws.com/doc/2011-06-15/"));
    }
    let unsigned = server.form("sts", "Action=GetCallerIdentity").anonymous().send().await;
    unsigned.expect_error(403, "MissingAuthenticationToken");
}
