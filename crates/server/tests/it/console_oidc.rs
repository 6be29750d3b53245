//! The console's sign-in by an issuer: the authorization code flow, as the page goes through it.

use liteio::{OidcIssuer, SignInSettings, TestAccess};
use liteio_identity::SecretKey;
use serde_json::{Value, json};

use crate::harness::{TestServer, User, memory, start_with};
use crate::iam::encoded;
use crate::issuer::{CLIENT_SECRET, Issuer};
use crate::reply::Reply;

const BEGIN: &str = "/_liteio/console/oidc/begin";
const FINISH: &str = "/_liteio/console/oidc/finish";
const ORIGIN: &str = "https://storage.example.com";

/// A server whose console knows the issuer, with roles in the claim `groups`.
async fn server(issuer: &Issuer, secret: &str) -> TestServer {
    let known = OidcIssuer { url: issuer.url.clone(), audiences: vec!["console".to_owned()] };
    // The number of the account of the server's only user.
    let first = memory().await;
    let account = first.form("sts", "Action=GetCallerIdentity").send().await.element("Account");
    let role = format!("arn:aws:iam::{account}:role/{{groups}}");
    let sign_in = format!("{},console", issuer.url);
    let mut settings = SignInSettings::new(&sign_in, &role).expect("valid");
    settings.client_secret = Some(SecretKey::new(secret).expect("valid"));
    let server = start_with("memory", "us-east-1", |builder, _| {
        builder.oidc_issuer(known).console_sign_in(settings).test_api(TestAccess::Local)
    })
    .await;
    let name = issuer.name();
    for (role, of, policy) in [
        ("readers", "me", Some("AmazonS3ReadOnlyAccess")),
        ("admins", "boss", Some("AdministratorAccess")),
        ("nothing", "me", None),
    ] {
        let trust = encoded(&format!(
            r#"{{"Version":"2012-10-17","Statement":{{"Effect":"Allow","Principal":{{"Federated":"arn:aws:iam::{account}:oidc-provider/{name}"}},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{{"StringEquals":{{"{name}:sub":"{of}"}}}}}}}}"#
        ));
        let create = format!("Action=CreateRole&RoleName={role}&AssumeRolePolicyDocument={trust}");
        server.form("iam", &create).send().await.expect_status(200);
        let Some(policy) = policy else { continue };
        let attach = format!(
            "Action=AttachRolePolicy&RoleName={role}&PolicyArn=arn:aws:iam::aws:policy/{policy}"
        );
        server.form("iam", &attach).send().await.expect_status(200);
    }
    server
}

fn parsed(reply: Reply) -> Value {
    serde_json::from_slice(&reply.expect_status(200).body).expect("JSON")
}

async fn begin(server: &TestServer) -> Value {
    let request = server.request("POST", BEGIN).anonymous().header("origin", ORIGIN);
    parsed(request.send().await)
}

async fn finish(server: &TestServer, origin: &str, flow: &Value, answer: (&str, &str)) -> Reply {
    let body = json!({ "flow": flow, "state": answer.0, "code": answer.1 }).to_string();
    let request = server.request("POST", FINISH).anonymous().header("origin", origin);
    request.body(body).send().await
}

/// A whole sign-in of somebody with these claims.
async fn sign_in(server: &TestServer, issuer: &Issuer, claims: Value) -> Reply {
    let begun = begin(server).await;
    let (state, code) = issuer.sign_in(begun["url"].as_str().expect("a URL"), claims);
    finish(server, ORIGIN, &begun["flow"], (&state, &code)).await
}

#[tokio::test]
async fn a_person_gets_the_first_role_of_a_claim_that_trusts_them() {
    let issuer = Issuer::start().await;
    let server = server(&issuer, CLIENT_SECRET).await;
    server.bucket("photos").await;
    let about = server.request("GET", "/_liteio/console/session").anonymous().send().await;
    let host = issuer.name().trim_end_matches("/realm");
    assert_eq!(parsed(about)["issuer"], host);

    let claims = json!({"groups": ["unknown", "admins", "readers"], "email": "me@example.com"});
    let told = parsed(sign_in(&server, &issuer, claims).await);
    assert_eq!(told["user"], "me@example.com");
    let arn = told["arn"].as_str().expect("an ARN");
    assert!(arn.ends_with(":assumed-role/readers/me"), "{arn}");
    let text = |name: &str| told[name].as_str().expect("a text").to_owned();
    let (access_key, secret_key) = (text("access_key").leak(), text("secret_key").leak());
    let user = User { access_key, secret_key, id: "" };
    let ask = |method: &'static str, path: &'static str| {
        let request = server.request(method, path).by(user);
        request.header("x-amz-security-token", told["token"].as_str().expect("a token"))
    };
    ask("GET", "/photos").send().await.expect_status(200);
    ask("PUT", "/photos/a").body("x").send().await.expect_error(403, "AccessDenied");

    // Links of the role read the object, and end with the session.
    server.request("PUT", "/photos/a").body("x").send().await.expect_status(200);
    let link = json!({ "bucket": "photos", "key": "a", "seconds": 7 * 24 * 3600 }).to_string();
    let link = parsed(ask("POST", "/_liteio/console/share").body(link).send().await);
    assert_eq!(link["expires"], told["expires"]);
    let text = |name: &str| link[name].as_str().expect("a text").to_owned();
    let (access_key, secret_key) = (text("access_key").leak(), text("secret_key").leak());
    let read = server.request("GET", "/photos/a").by(User { access_key, secret_key, id: "" });
    let read = read.header("x-amz-security-token", text("token")).send().await;
    assert_eq!(read.expect_status(200).text(), "x");

    // The secret of the client is for the issuer alone.
    let (authorization, form) = issuer.asked().pop().expect("asked");
    assert!(authorization.starts_with("Basic ") && !form.contains_key("client_secret"));
    assert!(!told.to_string().contains(CLIENT_SECRET));
    assert!(!begin(&server).await.to_string().contains("secret"));
}

/// As administrators revoke the sessions of a role: the time of a session, and who vouched for it, are those of its links.
#[tokio::test]
async fn a_policy_that_revokes_a_session_revokes_its_links() {
    let issuer = Issuer::start().await;
    let server = server(&issuer, CLIENT_SECRET).await;
    server.bucket("photos").await;
    server.put("/photos/a", "x").await.expect_status(200);
    let keys = |told: &Value| {
        let text = |name: &str| told[name].as_str().expect("a text").to_owned().leak();
        (
            User { access_key: text("access_key"), secret_key: text("secret_key"), id: "" },
            text("token"),
        )
    };
    let session = keys(&parsed(sign_in(&server, &issuer, json!({"groups": "readers"})).await));
    let advance = json!({ "advance_ms": 60_000 }).to_string();
    let clock = server.request("PUT", "/_liteio/test/clock").anonymous().body(advance);
    clock.send().await.expect_status(200);
    let share = || {
        let link = json!({ "bucket": "photos", "key": "a", "seconds": 600 }).to_string();
        let request = server.request("POST", "/_liteio/console/share").by(session.0).body(link);
        request.header("x-amz-security-token", &*session.1)
    };
    let link = keys(&parsed(share().send().await));
    let read = || {
        let request = server.request("GET", "/photos/a").by(link.0);
        request.header("x-amz-security-token", &*link.1)
    };
    read().send().await.expect_status(200);

    let after = jiff::Timestamp::now().as_second() + 30;
    let after = jiff::Timestamp::from_second(after).expect("a time");
    let issued = json!({ "DateLessThan": { "aws:TokenIssueTime": after.to_string() } });
    let vouched = json!({ "StringLike": { "aws:FederatedProvider": "*/realm" } });
    for condition in [issued, vouched] {
        let deny = json!({ "Version": "2012-10-17", "Statement": {
            "Effect": "Deny", "Action": "*", "Resource": "*", "Condition": condition,
        } });
        let put = format!(
            "Action=PutRolePolicy&RoleName=readers&PolicyName=revoked&PolicyDocument={}",
            encoded(&deny.to_string())
        );
        server.form("iam", &put).send().await.expect_status(200);
        read().send().await.expect_error(403, "AccessDenied");
        share().send().await.expect_error(403, "AccessDenied");
    }
    let delete = "Action=DeleteRolePolicy&RoleName=readers&PolicyName=revoked";
    server.form("iam", delete).send().await.expect_status(200);
    read().send().await.expect_status(200);
}

#[tokio::test]
async fn tokens_that_are_not_for_this_sign_in_are_refused_with_a_sentence() {
    let issuer = Issuer::start().await;
    let server = server(&issuer, CLIENT_SECRET).await;
    let now = jiff::Timestamp::now().as_second();
    for (claims, words) in [
        (json!({"groups": "readers", "nonce": "another"}), "(nonce)"),
        (json!({"groups": "readers", "nonce": null}), "(nonce)"),
        (json!({"groups": "readers", "aud": "other"}), "audiences of the issuer"),
        (json!({"groups": "readers", "azp": "other"}), "for another client"),
        (json!({"groups": "readers", "exp": now - 5}), "clocks"),
        (json!({"groups": "readers", "iat": now + 600}), "clocks"),
        (json!({"groups": "readers", "nbf": now + 600}), "clocks"),
        (json!({"groups": "readers", "iss": "https://evil.example"}), "No OpenIDConnect provider"),
        (json!({"email": "me@example.com"}), "me@example.com is signed in at"),
        (json!({}), "names no role"),
        (
            json!({"groups": ["admins", "unknown", "*", "readers/../admins"]}),
            "no role of this server lets them in",
        ),
        (json!({"groups": "nothing"}), "has no policy"),
    ] {
        let reply = sign_in(&server, &issuer, claims.clone()).await;
        assert!(matches!(reply.status, 400 | 403), "{claims}: {}", reply.text());
        assert!(reply.text().contains(words), "{claims}: {}", reply.text());
    }
}

#[tokio::test]
async fn answers_count_once_for_the_page_that_has_begun() {
    let issuer = Issuer::start().await;
    let server = server(&issuer, CLIENT_SECRET).await;
    let claims = || json!({"groups": "readers"});
    let begun = begin(&server).await;
    let url = begun["url"].as_str().expect("a URL");
    let (state, code) = issuer.sign_in(url, claims());
    let other = begin(&server).await;
    let asked = issuer.asked().len();
    let elsewhere = "https://evil.example";
    for (origin, flow, answer) in [
        (ORIGIN, &begun["flow"], ("another", &*code)),
        (ORIGIN, &begun["flow"], ("", &*code)),
        (ORIGIN, &begun["flow"], (&*state, "")),
        (ORIGIN, &other["flow"], (&*state, &*code)),
        (ORIGIN, &json!("rubbish"), (&*state, &*code)),
        (elsewhere, &begun["flow"], (&*state, &*code)),
    ] {
        let reply = finish(&server, origin, flow, answer).await.expect_error(403, "AccessDenied");
        assert!(reply.text().contains("did not begin here"), "{}", reply.text());
    }
    let without = json!({ "flow": begun["flow"], "state": state, "code": code }).to_string();
    let without = server.request("POST", FINISH).anonymous().body(without).send().await;
    without.expect_error(403, "AccessDenied");
    let other_issuer = json!({
        "flow": begun["flow"], "state": state, "code": code, "iss": "https://evil.example",
    });
    let request = server.request("POST", FINISH).anonymous().header("origin", ORIGIN);
    let reply = request.body(other_issuer.to_string()).send().await;
    assert!(reply.text().contains("another issuer"), "{}", reply.text());
    // No code was sent to the issuer for any of them.
    assert_eq!(issuer.asked().len(), asked);

    parsed(finish(&server, ORIGIN, &begun["flow"], (&state, &code)).await);
    let again = finish(&server, ORIGIN, &begun["flow"], (&state, &code)).await;
    assert!(again.expect_error(403, "AccessDenied").text().contains("used already"));
    assert_eq!(issuer.asked().len(), asked + 1);
    // A code that was used already, and a fresh one of another sign-in: the verifier is not its own.
    let url = other["url"].as_str().expect("a URL");
    let (_, of_other) = issuer.sign_in(url, claims());
    for stolen in [&code, &of_other] {
        let begun = begin(&server).await;
        let (state, _) = issuer.sign_in(begun["url"].as_str().expect("a URL"), claims());
        let reply = finish(&server, ORIGIN, &begun["flow"], (&state, stolen)).await;
        assert!(reply.expect_error(403, "AccessDenied").text().contains("refuses the code"));
    }

    let begun = begin(&server).await;
    let (state, code) = issuer.sign_in(begun["url"].as_str().expect("a URL"), claims());
    let advance = json!({ "advance_ms": 11 * 60 * 1000 }).to_string();
    let clock = server.request("PUT", "/_liteio/test/clock").anonymous().body(advance);
    clock.send().await.expect_status(200);
    let late = finish(&server, ORIGIN, &begun["flow"], (&state, &code)).await;
    assert!(late.expect_error(403, "AccessDenied").text().contains("more than 10 minutes"));
}

/// Anybody may send rubbish to exchange: it delays a sign-in, and spends nothing of it.
#[tokio::test]
async fn an_answer_that_finds_too_many_others_may_come_again() {
    let issuer = Issuer::start().await;
    let server = server(&issuer, CLIENT_SECRET).await;
    issuer.hold(true);
    let mut others = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let begun = begin(&server).await;
        let (state, _) = issuer.sign_in(begun["url"].as_str().expect("a URL"), json!({}));
        let body = json!({ "flow": begun["flow"], "state": state, "code": "rubbish" }).to_string();
        let request = server.request("POST", FINISH).anonymous().header("origin", ORIGIN);
        others.spawn(request.body(body).send_owned());
    }
    let begun = begin(&server).await;
    let url = begun["url"].as_str().expect("a URL");
    let (state, code) = issuer.sign_in(url, json!({"groups": "readers"}));
    let come = || finish(&server, ORIGIN, &begun["flow"], (&state, &code));
    issuer.held(4).await;
    let reply = come().await.expect_error(400, "IDPCommunicationError");
    assert!(reply.text().contains("Too many sign-ins"), "{}", reply.text());
    assert!(issuer.asked().len() < 16, "one address does not take all");
    issuer.hold(false);
    while let Some(reply) = others.join_next().await {
        assert!(matches!(reply.expect("answered").status, 400 | 403));
    }
    parsed(come().await);
}

#[tokio::test]
async fn an_issuer_returns_to_pages_of_the_console_only() {
    let issuer = Issuer::start().await;
    let server = server(&issuer, CLIENT_SECRET).await;
    let begun = begin(&server).await;
    let url = begun["url"].as_str().expect("a URL");
    let (_, query) = url.split_once('?').expect("a query");
    let mut fields = form_urlencoded::parse(query.as_bytes());
    let redirect = fields.find(|(name, _)| name == "redirect_uri").expect("an address").1;
    assert_eq!(redirect, format!("{ORIGIN}/_liteio/console/"));
    for origin in ["null", "https://evil.example/path", "javascript:alert(1)"] {
        let request = server.request("POST", BEGIN).anonymous().header("origin", origin);
        request.send().await.expect_error(403, "AccessDenied");
    }
    server.request("POST", BEGIN).anonymous().send().await.expect_error(403, "AccessDenied");
}

#[tokio::test]
async fn an_issuer_that_fails_is_told_on_the_page() {
    let issuer = Issuer::start().await;
    let with_wrong_secret = self::server(&issuer, "not the secret").await;
    let reply = sign_in(&with_wrong_secret, &issuer, json!({"groups": "readers"})).await;
    assert!(reply.text().contains("client secret is wrong"), "{}", reply.text());

    let server = server(&issuer, CLIENT_SECRET).await;
    issuer.fail(true);
    let reply = sign_in(&server, &issuer, json!({"groups": "readers"})).await;
    assert!(matches!(reply.status, 400 | 403), "{}", reply.text());
    issuer.fail(false);
    parsed(sign_in(&server, &issuer, json!({"groups": "readers"})).await);

    let nobody = issuer.at("http://127.0.0.1:9/realm");
    let down = self::server(&nobody, CLIENT_SECRET).await;
    let request = down.request("POST", BEGIN).anonymous().header("origin", ORIGIN);
    let reply = request.send().await.expect_error(400, "IDPCommunicationError");
    assert!(reply.text().contains("does not answer"), "{}", reply.text());
}

#[tokio::test]
async fn without_a_configured_issuer_there_is_no_sign_in_by_one() {
    let server = memory().await;
    let about = server.request("GET", "/_liteio/console/session").anonymous().send().await;
    assert_eq!(parsed(about)["issuer"], Value::Null);
    let request = server.request("POST", BEGIN).anonymous().header("origin", ORIGIN);
    request.send().await.expect_error(403, "AccessDenied");
}
