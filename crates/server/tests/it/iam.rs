//! Users that are made at run time, as clients of IAM make them.

use liteio::{KeySources, MasterKeySource, Server, ServerHandle};
use liteio_auth::fuzzing::signer::sha256_hex;
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

/// Ids of keys are random: some user has a first key with a later id than its second.
#[tokio::test]
async fn every_key_is_on_some_page() {
    let server = memory().await;
    for number in 0..8 {
        let user = format!("user-{number}");
        iam(&server, &format!("Action=CreateUser&UserName={user}")).await.expect_status(200);
        for _ in 0..2 {
            let made = iam(&server, &format!("Action=CreateAccessKey&UserName={user}")).await;
            made.expect_status(200);
        }
        let list = format!("Action=ListAccessKeys&UserName={user}");
        let all = iam(&server, &list).await.expect_status(200).elements("AccessKeyId");
        let first = iam(&server, &format!("{list}&MaxItems=1")).await.expect_status(200);
        let marker = first.element("Marker");
        let second = iam(&server, &format!("{list}&MaxItems=1&Marker={marker}")).await;
        let paged = [first.elements("AccessKeyId"), second.elements("AccessKeyId")].concat();
        assert_eq!(paged, all);
        assert_eq!(paged.len(), 2);
    }
}

/// A policy of a user that allows one action on one resource of the account.
fn allow_on(user: &str, action: &str, resource: &str) -> String {
    let document = format!(
        r#"{{"Version":"2012-10-17","Statement":{{"Effect":"Allow","Action":"{action}","Resource":"arn:aws:iam::*:{resource}"}}}}"#
    );
    let (name, document) = (action.replace([':', '*'], "-"), encoded(&document));
    format!("Action=PutUserPolicy&UserName={user}&PolicyName={name}&PolicyDocument={document}")
}

#[tokio::test]
async fn a_name_and_a_path_are_given_by_who_may_change_what_has_them_then() {
    let server = memory().await;
    let carol = user_with_key(&server, "carol").await;
    iam(&server, "Action=CreateGroup&GroupName=some").await.expect_status(200);
    for allowed in [
        allow_on("carol", "iam:UpdateUser", "user/carol"),
        allow_on("carol", "iam:UpdateGroup", "group/some"),
    ] {
        iam(&server, &allowed).await.expect_status(200);
    }
    let by_carol = |form: &str| server.form("iam", form).by(carol).send_owned();
    for (form, target) in [
        ("Action=UpdateUser&UserName=carol&NewUserName=bob", ":user/bob"),
        ("Action=UpdateUser&UserName=carol&NewPath=/admin/", ":user/admin/carol"),
        ("Action=UpdateGroup&GroupName=some&NewGroupName=other", ":group/other"),
        ("Action=UpdateGroup&GroupName=some&NewPath=/admin/", ":group/admin/some"),
    ] {
        let refused = by_carol(form).await.expect_error(403, "AccessDenied").element("Message");
        assert!(refused.contains(target), "{refused}");
    }
    let users = iam(&server, "Action=ListUsers").await.expect_status(200);
    assert!(users.element("Arn").ends_with(":user/carol"), "{}", users.text());
    iam(&server, &allow_on("carol", "iam:Update*", "*")).await.expect_status(200);
    let form = "Action=UpdateUser&UserName=carol&NewUserName=Carol&NewPath=/x/";
    by_carol(form).await.expect_status(200);
    by_carol("Action=UpdateGroup&GroupName=some&NewGroupName=SOME").await.expect_status(200);
}

#[tokio::test]
async fn conditions_see_the_tags_of_users_and_those_that_are_given() {
    let server = memory().await;
    let carol = user_with_key(&server, "carol").await;
    for name in ["dave", "erin"] {
        iam(&server, &format!("Action=CreateUser&UserName={name}")).await.expect_status(200);
    }
    let tag = "Tags.member.1.Key=team&Tags.member.1.Value=red";
    iam(&server, &format!("Action=TagUser&UserName=dave&{tag}")).await.expect_status(200);
    let put = |effect: &str, action: &str, condition: &str| {
        let document = encoded(&format!(
            r#"{{"Version":"2012-10-17","Statement":{{"Effect":"{effect}","Action":"{action}","Resource":"*","Condition":{condition}}}}}"#
        ));
        let form =
            format!("Action=PutUserPolicy&UserName=carol&PolicyName=p&PolicyDocument={document}");
        server.form("iam", &form).send_owned()
    };
    let by_carol = |form: &str| server.form("iam", form).by(carol).send_owned();

    put("Allow", "iam:*", r#"{"StringEquals":{"aws:ResourceTag/team":"red"}}"#)
        .await
        .expect_status(200);
    by_carol("Action=GetUser&UserName=dave").await.expect_status(200);
    by_carol("Action=GetUser&UserName=erin").await.expect_error(403, "AccessDenied");
    put("Allow", "iam:*", r#"{"StringEquals":{"aws:RequestTag/team":"red"}}"#)
        .await
        .expect_status(200);
    by_carol(&format!("Action=TagUser&UserName=erin&{tag}")).await.expect_status(200);
    // This operation reads no tags.
    by_carol(&format!("Action=DeleteUser&UserName=erin&{tag}"))
        .await
        .expect_error(403, "AccessDenied");
    put("Allow", "iam:*", r#"{"ForAllValues:StringEquals":{"aws:TagKeys":["team"]}}"#)
        .await
        .expect_status(200);
    let other = "Action=TagUser&UserName=erin&Tags.member.1.Key=other&Tags.member.1.Value=";
    by_carol(other).await.expect_error(403, "AccessDenied");
    let other = "Action=UntagUser&UserName=erin&TagKeys.member.1=other";
    by_carol(other).await.expect_error(403, "AccessDenied");
    by_carol("Action=UntagUser&UserName=erin&TagKeys.member.1=team").await.expect_status(200);
}

/// Refused requests of an account with the user and the role `carol`, and the messages of AWS.
const WORDS: &[(&str, &str, &str)] = &[
    ("GetUser&UserName=dave", "NoSuchEntity", "The user with name dave cannot be found."),
    ("GetRole&RoleName=dave", "NoSuchEntity", "The role with name dave cannot be found."),
    ("GetGroup&GroupName=dave", "NoSuchEntity", "The group with name dave cannot be found."),
    ("CreateUser&UserName=carol", "EntityAlreadyExists", "User with name carol already exists."),
    (
        "CreateUser&UserName=a%20b",
        "ValidationError",
        "The specified value for userName is invalid. It must contain only alphanumeric characters and/or \
         the following: +=,.@_-",
    ),
    (
        "CreateUser&UserName=LONG",
        "ValidationError",
        "1 validation error detected: Value at 'userName' failed to satisfy constraint: Member must have \
         length less than or equal to 64",
    ),
    (
        "CreateUser",
        "ValidationError",
        "1 validation error detected: Value at 'userName' failed to satisfy constraint: Member must not \
         be null",
    ),
    (
        "CreateUser&UserName=dave&Path=x",
        "ValidationError",
        "The specified value for path is invalid. It must begin and end with / and contain only \
         alphanumeric characters and/or / characters.",
    ),
    (
        "CreateUser&UserName=dave&Path=/LONGLONGLONGLONGLONGLONGLONGLONG/",
        "ValidationError",
        "1 validation error detected: Value at 'path' failed to satisfy constraint: Member must have \
         length less than or equal to 512",
    ),
    (
        "ListUsers&MaxItems=0",
        "ValidationError",
        "1 validation error detected: Value at 'maxItems' failed to satisfy constraint: Member must have \
         value greater than or equal to 1",
    ),
    (
        "ListUsers&MaxItems=1001",
        "ValidationError",
        "1 validation error detected: Value at 'maxItems' failed to satisfy constraint: Member must have \
         value less than or equal to 1000",
    ),
    ("ListUsers&Marker=%21", "ValidationError", "Invalid Marker."),
    (
        "GetUserPolicy&UserName=carol&PolicyName=p",
        "NoSuchEntity",
        "The user policy with name p cannot be found.",
    ),
    (
        "DeleteRolePolicy&RoleName=carol&PolicyName=p",
        "NoSuchEntity",
        "The role policy with name p cannot be found.",
    ),
    (
        "AttachUserPolicy&UserName=carol&PolicyArn=longpolicynamebutnoarn",
        "ValidationError",
        "Invalid ARN:  Could not be parsed!",
    ),
    (
        "GetPolicy&PolicyArn=arn:aws:iam::000000000000",
        "ValidationError",
        "Invalid ARN:  Could not be parsed!",
    ),
    (
        "AttachRolePolicy&RoleName=carol&PolicyArn=arn:aws:iam::000000000000:policy/none",
        "NoSuchEntity",
        "Policy arn:aws:iam::000000000000:policy/none does not exist or is not attachable.",
    ),
    (
        "AttachRolePolicy&RoleName=carol&PolicyArn=arn:aws:iam::aws:policy/None",
        "NoSuchEntity",
        "Policy arn:aws:iam::aws:policy/None does not exist or is not attachable.",
    ),
    (
        "DetachRolePolicy&RoleName=carol&PolicyArn=arn:aws:iam::000000000000:policy/none",
        "NoSuchEntity",
        "Policy arn:aws:iam::000000000000:policy/none was not found.",
    ),
    (
        "DeletePolicy&PolicyArn=arn:aws:iam::000000000000:policy/none",
        "NoSuchEntity",
        "Policy arn:aws:iam::000000000000:policy/none was not found.",
    ),
    (
        "GetPolicyVersion&PolicyArn=arn:aws:iam::aws:policy/ReadOnlyAccess&VersionId=1",
        "ValidationError",
        "1 validation error detected: Value at 'versionId' failed to satisfy constraint: Member must \
         satisfy regular expression pattern: v[1-9][0-9]*(\\.[A-Za-z0-9-]*)?",
    ),
    (
        "GetPolicyVersion&PolicyArn=arn:aws:iam::aws:policy/ReadOnlyAccess&VersionId=v2",
        "NoSuchEntity",
        "Policy arn:aws:iam::aws:policy/ReadOnlyAccess version v2 does not exist or is not attachable.",
    ),
    (
        "CreatePolicy&PolicyName=p&PolicyDocument=%22text%22",
        "MalformedPolicyDocument",
        "Syntax errors in policy.",
    ),
    (
        "CreatePolicy&PolicyName=p&PolicyDocument=%7B",
        "MalformedPolicyDocument",
        "This policy contains invalid Json",
    ),
    (
        "CreateRole&RoleName=r&AssumeRolePolicyDocument=%7B",
        "MalformedPolicyDocument",
        "This policy contains invalid Json",
    ),
    (
        "TagUser&UserName=carol&Tags.member.1.Key=LONGLONG%20&Tags.member.1.Value=",
        "ValidationError",
        "1 validation error detected: Value at 'tags.1.member.key' failed to satisfy constraint: Member \
         must have length less than or equal to 128",
    ),
    (
        "TagUser&UserName=carol&Tags.member.1.Key=a&Tags.member.1.Value=LONGLONGLONGLONG",
        "ValidationError",
        "1 validation error detected: Value at 'tags.1.member.value' failed to satisfy constraint: Member \
         must have length less than or equal to 256",
    ),
    (
        "TagRole&RoleName=carol&Tags.member.1.Key=a&Tags.member.1.Value=&Tags.member.2.Key=%21&Tags.member.2.Value=",
        "ValidationError",
        "1 validation error detected: Value at 'tags.2.member.key' failed to satisfy constraint: Member \
         must satisfy regular expression pattern: [\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]+",
    ),
    (
        "UntagUser&UserName=carol&TagKeys.member.1=%21",
        "ValidationError",
        "1 validation error detected: Value at 'tagKeys.1.member' failed to satisfy constraint: Member \
         must satisfy regular expression pattern: [\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]+",
    ),
    (
        "UpdateAccessKey&UserName=carol&AccessKeyId=KEY&Status=On",
        "ValidationError",
        "1 validation error detected: Value at 'status' failed to satisfy constraint: Member must satisfy \
         enum value set",
    ),
    (
        "DeleteUser&UserName=carol",
        "DeleteConflict",
        "Cannot delete entity, must delete access keys first.",
    ),
    (
        "CreateOpenIDConnectProvider&Url=https://x.example.com&ThumbprintList.member.1=PRINT&\
         ThumbprintList.member.2=PRINT&ThumbprintList.member.3=PRINT&ThumbprintList.member.4=PRINT&\
         ThumbprintList.member.5=PRINT&ThumbprintList.member.6=PRINT",
        "InvalidInput",
        "Thumbprint list must contain fewer than 5 entries.",
    ),
];

#[tokio::test]
async fn refusals_have_the_words_of_aws() {
    let server = memory().await;
    let trust = policy("Allow", "sts:AssumeRole").replace("%22Resource", "%22Principal");
    iam(&server, "Action=CreateUser&UserName=carol").await.expect_status(200);
    let role = format!("Action=CreateRole&RoleName=carol&AssumeRolePolicyDocument={trust}");
    iam(&server, &role).await.expect_status(200);
    let key = iam(&server, "Action=CreateAccessKey&UserName=carol").await.element("AccessKeyId");
    let (long, print) = ("a".repeat(65), "a".repeat(40));
    for (form, code, message) in WORDS {
        let form = form.replace("LONG", &long).replace("KEY", &key).replace("PRINT", &print);
        let reply = iam(&server, &format!("Action={form}")).await;
        assert_eq!(reply.element("Code"), *code, "{form}: {}", reply.text());
        assert_eq!(reply.element("Message"), *message, "{form}");
    }
    // The fault itself, where AWS has one sentence for many.
    let effect = policy("allow", "s3:GetObject");
    let form = format!("Action=PutUserPolicy&UserName=carol&PolicyName=p&PolicyDocument={effect}");
    let reply = iam(&server, &form).await.expect_error(400, "MalformedPolicyDocument");
    assert_eq!(reply.element("Message"), "The policy failed legacy parsing");
    assert_eq!(reply.element("Detail"), "Invalid effect: allow");
}

/// The calls that give tags, for a resource of this name, and the lists of what was given.
const TAGGING: [(&str, &str, &str); 4] = [
    ("CreateUser&UserName=NAME", "TagUser&UserName=NAME", "ListUserTags&UserName=NAME"),
    (
        "CreateRole&RoleName=NAME&AssumeRolePolicyDocument=TRUST",
        "TagRole&RoleName=NAME",
        "ListRoleTags&RoleName=NAME",
    ),
    (
        "CreatePolicy&PolicyName=NAME&PolicyDocument=POLICY",
        "TagPolicy&PolicyArn=arn:aws:iam::ACCOUNT:policy/NAME",
        "ListPolicyTags&PolicyArn=arn:aws:iam::ACCOUNT:policy/NAME",
    ),
    (
        "CreateOpenIDConnectProvider&Url=https://NAME.example.com",
        "TagOpenIDConnectProvider&OpenIDConnectProviderArn=arn:aws:iam::ACCOUNT:oidc-provider/NAME.example.com",
        "ListOpenIDConnectProviderTags&OpenIDConnectProviderArn=arn:aws:iam::ACCOUNT:oidc-provider/NAME.example.com",
    ),
];

fn tags(keys: &[&str]) -> String {
    let one = |(index, key): (usize, &&str)| {
        let at = index + 1;
        format!("&Tags.member.{at}.Key={}&Tags.member.{at}.Value=v{at}", encoded(key))
    };
    keys.iter().enumerate().map(one).collect()
}

#[tokio::test]
async fn no_two_keys_of_tags_differ_by_case_only() {
    let server = memory().await;
    let account = server.form("sts", "Action=GetCallerIdentity").send().await.element("Account");
    let trust = encoded(
        r#"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":"*","Action":"sts:AssumeRole"}}"#,
    );
    let send = |call: &str, name: &str, tags: &str| {
        let form = call
            .replace("NAME", name)
            .replace("ACCOUNT", &account)
            .replace("TRUST", &trust)
            .replace("POLICY", &policy("Allow", "s3:GetObject"));
        server.form("iam", &format!("Action={form}{tags}")).send_owned()
    };
    let pairs: [[&str; 2]; 5] =
        [["Team", "TEAM"], ["team", "Team"], ["a", "A"], ["\u{e9}", "\u{c9}"], ["x y", "X Y"]];
    for (create, tag, list) in TAGGING {
        for keys in pairs {
            let refused = send(create, "twice", &tags(&keys)).await;
            refused.expect_error(400, "InvalidInput");
        }
        send(create, "one", &tags(&["Team", "other"])).await.expect_status(200);
        for keys in pairs {
            send(tag, "one", &tags(&keys)).await.expect_error(400, "InvalidInput");
        }
        let listed = |reply: Reply| reply.elements("Key");
        assert_eq!(listed(send(list, "one", "").await), ["Team", "other"], "{list}");
        // As in AWS, users and roles take the new key in place of the known one.
        let reply = send(tag, "one", &tags(&["TEAM"])).await;
        let replaces = tag.starts_with("TagUser") || tag.starts_with("TagRole");
        let expected = match replaces {
            true => {
                reply.expect_status(200);
                ["TEAM", "other"]
            }
            false => {
                reply.expect_error(400, "InvalidInput");
                ["Team", "other"]
            }
        };
        assert_eq!(listed(send(list, "one", "").await), expected, "{list}");
        let untag = tag.replace("Tag", "Untag");
        send(&untag, "one", "&TagKeys.member.1=team").await.expect_status(200);
        assert_eq!(listed(send(list, "one", "").await), ["other"], "{untag}");
    }
}

const CONFIGURED: &str = r#"
    [[user]]
    name = "alice"
    access_key = "alice-key"
    secret_key = "alice's secret"

    [[user]]
    name = "bob"
    parent = "alice"
    access_key = "bob-key"
    secret_key = "bob's secret"

    [[role]]
    name = "reader"
    parent = "alice"
    trust = '''{"Version":"2012-10-17","Statement":
        {"Effect":"Allow","Principal":"*","Action":"sts:AssumeRole"}}'''
"#;

#[tokio::test]
async fn names_of_the_credentials_file_are_taken() {
    let server = memory().await;
    let bob = user_with_key(&server, "Bob").await;
    let who = || server.form("sts", "Action=GetCallerIdentity").by(bob).send_owned();
    who().await.expect_status(200);
    let account = server.form("sts", "Action=GetCallerIdentity").send().await.element("Account");
    let trust = policy("Allow", "sts:AssumeRole").replace("%22Resource", "%22Principal");
    let role = |name: &str, path: &str| {
        format!("Action=CreateRole&RoleName={name}&Path={path}&AssumeRolePolicyDocument={trust}")
    };
    let made = iam(&server, &role("reader", "/")).await.expect_status(200).element("RoleId");

    // Those of the file count from now on.
    server.set_users(&CONFIGURED.replacen(
        "access_key",
        &format!("account = '{account}'\n access_key"),
        1,
    ));
    who().await.expect_error(403, "InvalidClientTokenId");
    let assume =
        format!("Action=AssumeRole&RoleArn=arn:aws:iam::{account}:role/reader&RoleSessionName=now");
    let assumed = server.form("sts", &assume).by(BOB).send().await.expect_status(200);
    assert!(!assumed.element("AssumedRoleId").starts_with(&made), "{}", assumed.text());

    iam(&server, "Action=CreateUser&UserName=dave").await.expect_status(200);
    for form in [
        "Action=CreateUser&UserName=alice",
        "Action=CreateUser&UserName=Alice",
        "Action=CreateUser&UserName=BOB&Path=/x/",
        "Action=UpdateUser&UserName=dave&NewUserName=bob",
        "Action=UpdateUser&UserName=dave&NewUserName=BOB",
        "Action=UpdateUser&UserName=Bob&NewUserName=bob",
        &role("reader", "/x/"),
        &role("Reader", "/"),
    ] {
        iam(&server, form).await.expect_error(409, "EntityAlreadyExists");
    }
    // One that was there before gets its rights back under another name.
    iam(&server, "Action=UpdateUser&UserName=Bob&NewUserName=rob").await.expect_status(200);
    who().await.expect_status(200);
}

#[tokio::test]
async fn rights_are_those_of_the_moment_when_the_body_has_come() {
    let server = memory().await;
    let carol = user_with_key(&server, "carol").await;
    let allow = policy("Allow", "iam:*");
    let put = format!("Action=PutUserPolicy&UserName=carol&PolicyName=p&PolicyDocument={allow}");
    iam(&server, &put).await.expect_status(200);
    // With its hash in the head, the body is waited for after the signature was verified.
    let create = |name: &str| {
        let form = format!("Action=CreateUser&UserName={name}");
        let hash = sha256_hex(format!("{form}&Version=2010-05-08").as_bytes());
        server.form("iam", &form).by(carol).header("x-amz-content-sha256", hash)
    };
    create("dave").send_after(async {}).await.expect_status(200);
    let denied = create("erin").send_after(async {
        let form = "Action=DeleteUserPolicy&UserName=carol&PolicyName=p";
        iam(&server, form).await.expect_status(200);
    });
    denied.await.expect_error(403, "AccessDenied");
    let gone = create("erin").send_after(async {
        let key = carol.access_key;
        let form = format!("Action=DeleteAccessKey&UserName=carol&AccessKeyId={key}");
        iam(&server, &form).await.expect_status(200);
    });
    gone.await.expect_error(403, "InvalidClientTokenId");
    let users = iam(&server, "Action=ListUsers").await;
    assert_eq!(users.elements("UserName"), ["carol", "dave"]);
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
