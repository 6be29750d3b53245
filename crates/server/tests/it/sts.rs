//! Keys for a time, as clients of STS get and use them.

use liteio::{KeySources, MasterKeySource, OidcIssuer, Server, ServerHandle};
use serde_json::json;
use tokio::net::TcpListener;

use crate::harness::{ALICE, BOB, RawRequest, TestServer, User, memory, start_with};
use crate::iam::{encoded, key_of, policy, user_with_key};
use crate::issuer::Issuer;
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
        (
            "&ExternalId=x1&PolicyArns.member.2.arn=arn:aws:iam::aws:policy/ReadOnlyAccess",
            "ValidationError",
        ),
        ("&ExternalId=x1&Policy=", "ValidationError"),
        ("&ExternalId=x", "ValidationError"),
        ("&ExternalId=x1&SourceIdentity=a%20b", "ValidationError"),
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
async fn the_tags_of_a_role_are_those_of_its_sessions() {
    let server = memory().await;
    server.bucket("bucket").await;
    server.put("/bucket/key", "x").await.expect_status(200);
    let carol = user_with_key(&server, "carol").await;
    let trust = encoded(
        r#"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":"*","Action":"sts:AssumeRole"}}"#,
    );
    let tag = "Tags.member.1.Key=Team&Tags.member.1.Value=red";
    let form = format!("Action=CreateRole&RoleName=reader&AssumeRolePolicyDocument={trust}&{tag}");
    let arn = iam(&server, &form).await.element("Arn");
    let form = format!(
        "Action=PutRolePolicy&RoleName=reader&PolicyName=p&PolicyDocument={}",
        policy("Allow", "s3:GetObject")
    );
    iam(&server, &form).await;
    let form = format!("Action=AssumeRole&RoleArn={arn}&RoleSessionName=now");
    let session = Session::of(&server.form("sts", &form).by(carol).send().await.expect_status(200));
    let get = || {
        let request = server.request("GET", "/bucket/key").by(session.key);
        request.header("x-amz-security-token", session.token).send_owned()
    };
    get().await.expect_status(200);
    // A statement that denies by tag, and its effect on a session of the role with the tag `red`.
    let rows = [
        (r#""StringEquals":{"aws:PrincipalTag/Team":"red"}"#, 403),
        (r#""StringEquals":{"aws:PrincipalTag/team":"red"}"#, 403),
        (r#""StringNotEquals":{"aws:PrincipalTag/Team":"blue"}"#, 403),
        (r#""Null":{"aws:PrincipalTag/Team":"false"}"#, 403),
        (r#""StringEquals":{"aws:PrincipalTag/Team":"blue"}"#, 200),
        (r#""StringEquals":{"aws:PrincipalTag/other":"red"}"#, 200),
        (r#""Null":{"aws:PrincipalTag/Team":"true"}"#, 200),
    ];
    for (condition, status) in rows {
        let denies = format!(
            r#"{{"Version":"2012-10-17","Statement":{{"Effect":"Deny","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::bucket/*","Condition":{{{condition}}}}}}}"#
        );
        server.request("PUT", "/bucket?policy").body(denies).send().await.expect_status(204);
        get().await.expect_status(status);
    }
    // A change counts at once, and so does a variable.
    iam(&server, &format!("Action=TagRole&RoleName=reader&{}", tag.replace("red", "blue"))).await;
    server.request("DELETE", "/bucket?policy").send().await.expect_status(204);
    let denies = r#"{"Version":"2012-10-17","Statement":{"Effect":"Deny","Principal":"*","Action":"s3:GetObject","NotResource":"arn:aws:s3:::bucket/${aws:PrincipalTag/Team}/*"}}"#;
    server.request("PUT", "/bucket?policy").body(denies).send().await.expect_status(204);
    server.put("/bucket/blue/key", "x").await.expect_status(200);
    get().await.expect_status(403);
    let request = server.request("GET", "/bucket/blue/key").by(session.key);
    request.header("x-amz-security-token", session.token).send().await.expect_status(200);
    // The role is the resource of the call that assumes it.
    let form = format!(
        "Action=PutUserPolicy&UserName=carol&PolicyName=p&PolicyDocument={}",
        encoded(
            r#"{"Version":"2012-10-17","Statement":{"Effect":"Deny","Action":"sts:AssumeRole","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/team":"blue"}}}}"#
        )
    );
    iam(&server, &form).await;
    let form = format!("Action=AssumeRole&RoleArn={arn}&RoleSessionName=now");
    let refused = server.form("sts", &form).by(carol).send().await;
    refused.expect_error(403, "AccessDenied");
}

#[tokio::test]
async fn the_source_identity_of_a_session_stays() {
    let server = memory().await;
    let carol = user_with_key(&server, "carol").await;
    let trust = |action: &str| {
        encoded(&format!(
            r#"{{"Version":"2012-10-17","Statement":{{"Effect":"Allow","Principal":"*","Action":{action}}}}}"#
        ))
    };
    let create = |name: &str, action: &str| {
        format!("Action=CreateRole&RoleName={name}&AssumeRolePolicyDocument={}", trust(action))
    };
    let both = r#"["sts:AssumeRole","sts:SetSourceIdentity"]"#;
    let arn = iam(&server, &create("both", both)).await.element("Arn");
    let plain = iam(&server, &create("plain", r#""sts:AssumeRole""#)).await.element("Arn");
    let assume = |arn: &str, more: &str| {
        format!("Action=AssumeRole&RoleArn={arn}&RoleSessionName=now{more}")
    };
    let by_carol = |form: String| server.form("sts", &form).by(carol).send_owned();
    by_carol(assume(&plain, "&SourceIdentity=carol")).await.expect_error(403, "AccessDenied");
    let session = by_carol(assume(&arn, "&SourceIdentity=carol")).await.expect_status(200);
    let session = Session::of(&session);
    let other = assume(&arn, "&SourceIdentity=dave");
    session.send(&server, "sts", &other).await.expect_error(403, "AccessDenied");
    let same = assume(&arn, "&SourceIdentity=carol");
    session.send(&server, "sts", &same).await.expect_status(200);
    session.send(&server, "sts", &assume(&plain, "")).await.expect_status(200);
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

#[tokio::test]
async fn a_web_identity_assumes_the_role_that_trusts_its_issuer() {
    let issuer = Issuer::start().await;
    let known = OidcIssuer { url: issuer.url.clone(), audiences: vec!["storage".to_owned()] };
    let server = start_with("memory", "us-east-1", |builder, _| builder.oidc_issuer(known)).await;
    let account = account(&server).await;
    let name = issuer.name();
    let trust = encoded(&format!(
        r#"{{"Version":"2012-10-17","Statement":{{"Effect":"Allow","Principal":{{"Federated":"arn:aws:iam::{account}:oidc-provider/{name}"}},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{{"StringEquals":{{"{name}:sub":"me","{name}:aud":"storage"}}}}}}}}"#
    ));
    let create = format!("Action=CreateRole&RoleName=web&AssumeRolePolicyDocument={trust}");
    let arn = iam(&server, &create).await.element("Arn");
    let assume = |token: String| {
        let form = format!(
            "Action=AssumeRoleWithWebIdentity&RoleArn={arn}&RoleSessionName=web&WebIdentityToken={token}"
        );
        server.form("sts", &form).anonymous().send_owned()
    };
    let reply = assume(issuer.token(json!({}))).await.expect_status(200);
    assert_eq!(reply.element("SubjectFromWebIdentityToken"), "me");
    assert_eq!(reply.element("Audience"), "storage");
    let session = Session::of(&reply);
    let who = session.who(&server).await.expect_status(200).element("Arn");
    assert!(who.ends_with(":assumed-role/web/web"), "{who}");

    let now = jiff::Timestamp::now().as_second();
    for (claims, code) in [
        (json!({"sub": "you"}), "AccessDenied"),
        (json!({"aud": "other"}), "InvalidIdentityToken"),
        (json!({"aud": null}), "InvalidIdentityToken"),
        (json!({"iss": "https://login.example.com"}), "InvalidIdentityToken"),
        (json!({"exp": now}), "ExpiredTokenException"),
        (json!({"exp": null}), "InvalidIdentityToken"),
        (json!({"nbf": now + 100}), "InvalidIdentityToken"),
    ] {
        let reply = assume(issuer.token(claims.clone())).await;
        assert_eq!(reply.code(), code, "{claims}: {}", reply.text());
    }
    let other = Issuer::start().await;
    assume(other.token(json!({"iss": issuer.url}))).await.expect_error(400, "InvalidIdentityToken");
    assume("a.b.c".to_owned()).await.expect_error(400, "InvalidIdentityToken");
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_is_an_error_of_its_tokens() {
    let issuer = Issuer::start().await;
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        format!("http://{}", listener.local_addr().expect("bound"))
    };
    let known = OidcIssuer { url: closed.clone(), audiences: vec!["*".to_owned()] };
    let server = start_with("memory", "us-east-1", |builder, _| builder.oidc_issuer(known)).await;
    let token = issuer.token(json!({"iss": closed}));
    let form = format!(
        "Action=AssumeRoleWithWebIdentity&RoleArn=arn:aws:iam::1:role/r&RoleSessionName=web&WebIdentityToken={token}"
    );
    let reply = server.form("sts", &form).anonymous().send().await;
    reply.expect_error(400, "IDPCommunicationError");
}

/// A server over this directory with the master key that all of them share.
async fn sharing(folder: &std::path::Path, access_key: &str, secret_key: &str) -> ServerHandle {
    const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let keys = KeySources { master: Some(MasterKeySource::Text(KEY.to_owned())), kms_file: None };
    let builder = Server::builder().data_dir(folder).credentials(access_key, secret_key);
    builder.keys(keys).spawn().await.expect("starts")
}

#[tokio::test]
async fn sessions_of_root_end_with_its_keys_and_are_good_for_one_directory() {
    let (here, there) = (tempfile::tempdir(), tempfile::tempdir());
    let (here, there) = (here.expect("a folder"), there.expect("a folder"));
    let send = |server: &ServerHandle, form: &str, by: User, token: &str| {
        let request = RawRequest::of_form(server.address(), "sts", form).by(by);
        let request =
            if token.is_empty() { request } else { request.header("x-amz-security-token", token) };
        request.send_owned()
    };
    let server = sharing(here.path(), "alice-key", "alice's secret").await;
    let reply = send(&server, "Action=GetSessionToken", ALICE, "").await.expect_status(200);
    let session = Session::of(&reply);
    server.stop().await;
    // The directory, the keys of root, and whether the session is good.
    let rows = [
        (&here, "alice-key", "alice's secret", true),
        (&there, "alice-key", "alice's secret", false),
        (&here, "other-key", "alice's secret", false),
        (&here, "alice-key", "another secret", false),
        (&here, "other-key", "another secret", false),
        (&here, "alice-key", "alice's secret", true),
    ];
    for (folder, access_key, secret_key, is_good) in rows {
        let server = sharing(folder.path(), access_key, secret_key).await;
        let reply = send(&server, "Action=GetCallerIdentity", session.key, session.token).await;
        let status = if is_good { 200 } else { 403 };
        assert_eq!(reply.status, status, "{access_key} {secret_key}: {}", reply.text());
        server.stop().await;
    }
}

#[tokio::test]
async fn sessions_are_good_for_one_test_space() {
    let server = crate::test_api::server().await;
    let other = crate::test_api::space(&server, "other").await;
    server.bucket("main-bucket").await;
    server.request("PUT", "/other-bucket").by(other).send().await.expect_status(200);
    let of_main = server.form("sts", "Action=GetSessionToken").send().await.expect_status(200);
    let of_main = Session::of(&of_main);
    let of_other = server.form("sts", "Action=GetSessionToken").by(other).send().await;
    let of_other = Session::of(&of_other.expect_status(200));
    let list = |session: Session, space: &str| {
        let request = server.request("GET", "/").by(session.key);
        let request = request.header("x-amz-security-token", session.token);
        match space {
            "" => request.send_owned(),
            space => request.header("x-liteio-space", space).send_owned(),
        }
    };
    // Each is led to its own space, and is good there only.
    assert_eq!(list(of_main, "").await.expect_status(200).elements("Name"), ["main-bucket"]);
    assert_eq!(list(of_other, "").await.expect_status(200).elements("Name"), ["other-bucket"]);
    list(of_main, "main").await.expect_status(200);
    list(of_other, "other").await.expect_status(200);
    list(of_main, "other").await.expect_error(400, "InvalidToken");
    list(of_other, "main").await.expect_error(400, "InvalidToken");
    // A user of a space has the access key of the main space's root.
    let body = serde_json::json!({ "secretKey": "another secret", "status": "enabled" });
    let path = format!("/minio/admin/v3/add-user?accessKey={}", ALICE.access_key);
    let request = server.request("PUT", &path).by(other).header("x-liteio-space", "other");
    let _ = request.body(body.to_string()).send().await;
    let names = server.request("GET", "/").send().await.expect_status(200).elements("Name");
    assert_eq!(names, ["main-bucket"]);
}

#[tokio::test]
async fn refusals_of_roles_have_the_words_of_aws() {
    let server = memory().await;
    let role = "arn:aws:iam::000000000000:role/none";
    for (arn, name, message) in [
        ("nothing-valid-in-here", "a1", "nothing-valid-in-here is invalid"),
        ("arn::b:::something/test-role", "a1", "arn::b:::something/test-role is invalid"),
        ("arn:a::::something/test-role", "a1", "arn:a::::something/test-role is invalid"),
        ("arn:a:::something/test-role", "a1", "arn:a:::something/test-role is invalid"),
        ("arn:a:a::aaaaaaaaaa:", "a1", "arn:a:a::aaaaaaaaaa: is invalid"),
        (
            "arn:a:a::a:a",
            "a1",
            "1 validation error detected: Value 'arn:a:a::a:a' at 'roleArn' failed to satisfy \
             constraint: Member must have length greater than or equal to 20",
        ),
        (
            role,
            "Session1:2",
            "1 validation error detected: Value 'Session1:2' at 'roleSessionName' failed to satisfy \
             constraint: Member must satisfy regular expression pattern: [\\w+=,.@-]*",
        ),
        (
            role,
            "a",
            "1 validation error detected: Value 'a' at 'roleSessionName' failed to satisfy \
             constraint: Member must have length greater than or equal to 2",
        ),
    ] {
        let form = format!("Action=AssumeRole&RoleArn={arn}&RoleSessionName={name}");
        let reply = server.form("sts", &form).send().await.expect_error(400, "ValidationError");
        assert_eq!(reply.element("Message"), message, "{form}");
    }
}

/// Without authentication any role can be assumed, as with moto and LocalStack: tests do not create them.
#[tokio::test]
async fn without_authentication_any_role_can_be_assumed() {
    let server = start_with("memory", "us-east-1", |builder, _| {
        builder.credentials("liteio", "liteio123").no_auth()
    })
    .await;
    let form = "Action=AssumeRole&RoleArn=arn:aws:iam::000000000000:role/path/reader&RoleSessionName=tests";
    let reply = server
        .form("sts", &form.replace(':', "%3A").replace('/', "%2F"))
        .send()
        .await
        .expect_status(200);
    assert_eq!(reply.element("Arn"), "arn:aws:sts::000000000000:assumed-role/reader/tests");
    let session = Session::of(&reply);
    session.who(&server).await.expect_status(200);
    let put = server.request("PUT", "/bucket").by(session.key);
    put.header("x-amz-security-token", session.token).send().await.expect_status(200);
    let form = "Action=AssumeRole&RoleArn=none&RoleSessionName=tests";
    assert_eq!(server.form("sts", form).send().await.status, 400);
}
