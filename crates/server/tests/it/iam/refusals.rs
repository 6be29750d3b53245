//! Refused requests, with the words of AWS.

use super::{ALLOW_ALL, encoded, iam, policy, user_with_key};
use crate::harness::{BOB, memory};
use crate::reply::Reply;

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
