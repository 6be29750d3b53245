//! Rights of users and groups: keys, policies, conditions, paths and tags.

use liteio_auth::fuzzing::signer::sha256_hex;

use super::{ALLOW_ALL, encoded, iam, policy, user_with_key};
use crate::harness::{BOB, memory};

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
