//! `liteio client admin`: users, groups, policies and keys, in the words and documents of `mc`.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::client::Shell;
use crate::failing::get_with;

const READ_PHOTOS: &str = r#"{"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::photos/*"}]}"#;

/// The same client with the keys of another user.
fn by(shell: &Shell, access_key: &str, secret_key: &str, arguments: &[&str]) -> (bool, String) {
    let url = shell.url.replace("://", &format!("://{access_key}:{secret_key}@"));
    let output = shell.command(arguments).env("MC_HOST_a", url).output().expect("it runs");
    (output.status.success(), crate::command::stderr(&output))
}

#[test]
fn a_disabled_user_is_told_so_in_the_place_of_minio() {
    let rows: [(&[&str], &str); 2] =
        [(&["--profile", "minio"], "Your account is disabled"), (&[], "does not exist")];
    for (profile, told) in rows {
        let keys = ["--access-key", "liteio", "--secret-key", "liteio123"];
        let shell = Shell::start_with(&[&keys[..], profile].concat());
        shell.ok(&["admin", "user", "add", "a", "carol", "carols-secret"]);
        shell.ok(&["admin", "user", "disable", "a", "carol"]);
        let refusal = by(&shell, "carol", "carols-secret", &["ls", "a"]).1;
        assert!(refusal.contains("InvalidAccessKeyId") && refusal.contains(told), "{refusal}");
    }
}

#[test]
fn users_groups_and_policies_are_those_of_the_server() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/photos"]);
    shell.put("a/photos/x", b"one");
    let added = shell.ok(&["admin", "user", "add", "a", "carol", "carols-secret"]);
    assert_eq!(added, "Added user `carol` successfully.\n");
    let carol = |arguments: &[&str]| by(&shell, "carol", "carols-secret", arguments);
    assert!(carol(&["cat", "a/photos/x"]).1.contains("AccessDenied"));
    shell.write("read.json", READ_PHOTOS);
    let file = shell.path("read.json").display().to_string();
    shell.ok(&["admin", "policy", "create", "a", "read", &file]);
    let info = &shell.json(&["admin", "policy", "info", "a", "read"])[0];
    assert_eq!(info["policyInfo"]["Policy"]["Version"], "2012-10-17");
    let attached = shell.ok(&["admin", "policy", "attach", "a", "read", "--user", "carol"]);
    assert_eq!(attached, "Attached Policies: [read]\nTo User: carol\n");
    assert!(carol(&["cat", "a/photos/x"]).0);
    let listed = shell.json(&["admin", "user", "ls", "a"]);
    let expected = json!({ "status": "success", "accessKey": "carol", "userStatus": "enabled", "policyName": "read" });
    assert_eq!(listed, [expected]);
    let policy = shell.ok(&["admin", "user", "policy", "a", "carol"]);
    let policy: Value = serde_json::from_str(&policy).expect("JSON");
    assert_eq!(policy["Statement"][0]["Action"], "s3:GetObject");

    shell.ok(&["admin", "user", "disable", "a", "carol"]);
    assert!(carol(&["cat", "a/photos/x"]).1.contains("InvalidAccessKeyId"));
    shell.ok(&["admin", "user", "enable", "a", "carol"]);
    shell.ok(&["admin", "policy", "detach", "a", "read", "--user", "carol"]);
    assert!(!carol(&["cat", "a/photos/x"]).0);

    shell.ok(&["admin", "group", "add", "a", "team", "carol"]);
    shell.ok(&["admin", "policy", "attach", "a", "read", "--group", "team"]);
    assert!(carol(&["cat", "a/photos/x"]).0);
    assert_eq!(shell.ok(&["admin", "group", "ls", "a"]), "team\n");
    let info = shell.ok(&["admin", "group", "info", "a", "team"]);
    assert_eq!(info, "Group: team\nStatus: enabled\nPolicy: read\nMembers: carol\n");
    let user = shell.ok(&["admin", "user", "info", "a", "carol"]);
    assert_eq!(user, "AccessKey: carol\nStatus: enabled\nPolicyName: \nMemberOf: [team]\n");
    let entities = shell.ok(&["admin", "policy", "entities", "a", "--policy", "read"]);
    assert!(entities.contains("  Policy: read\n    Group Mappings:\n      team\n"), "{entities}");
    shell.ok(&["admin", "group", "disable", "a", "team"]);
    assert!(!carol(&["cat", "a/photos/x"]).0);
    // As on MinIO, neither the user's own policies nor another group help.
    shell.ok(&["admin", "policy", "attach", "a", "read", "--user", "carol"]);
    let refusal = carol(&["cat", "a/photos/x"]).1;
    assert!(refusal.contains("AccessDenied"), "{refusal}");
    assert!(refusal.contains("because the group team is disabled"), "{refusal}");
    let refusal = carol(&["admin", "user", "ls", "a"]).1;
    assert!(refusal.contains("because the group team is disabled"), "{refusal}");
    shell.ok(&["admin", "group", "add", "a", "others", "carol"]);
    shell.ok(&["admin", "policy", "attach", "a", "read", "--group", "others"]);
    assert!(carol(&["cat", "a/photos/x"]).1.contains("AccessDenied"));
    shell.ok(&["admin", "group", "enable", "a", "team"]);
    assert!(carol(&["cat", "a/photos/x"]).0);
    shell.ok(&["admin", "policy", "detach", "a", "read", "--user", "carol"]);
    shell.ok(&["admin", "policy", "detach", "a", "read", "--group", "others"]);
    shell.ok(&["admin", "group", "rm", "a", "others", "carol"]);
    shell.ok(&["admin", "group", "rm", "a", "others"]);
    shell.ok(&["admin", "group", "rm", "a", "team", "carol"]);
    shell.ok(&["admin", "group", "rm", "a", "team"]);
    shell.ok(&["admin", "policy", "rm", "a", "read"]);
    let removed = shell.ok(&["admin", "user", "rm", "a", "carol"]);
    assert_eq!(removed, "Removed user `carol` successfully.\n");
    let region = shell.ok(&["admin", "config", "get", "a", "region"]);
    assert_eq!(region.trim_end(), "region name=us-east-1");
    let listed = shell.ok(&["admin", "config", "get", "a"]);
    let names: Vec<&str> =
        listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(
        names,
        [
            "api",
            "compression",
            "notify_nats",
            "notify_redis",
            "notify_sqs",
            "notify_webhook",
            "region",
            "site"
        ]
    );
    let listed = shell.json(&["admin", "config", "get", "a"]);
    assert_eq!(listed[6]["description"], "region of the server (--region)");
    for (wrong, word) in [
        (&["admin", "user", "info", "a", "carol"][..], "XMinioAdminNoSuchUser"),
        (&["admin", "group", "info", "a", "team"], "XMinioAdminNoSuchGroup"),
        (&["admin", "policy", "info", "a", "read"], "XMinioAdminNoSuchPolicy"),
        (&["admin", "user", "add", "a", "dave", "short"], "XMinioAdminInvalidSecretKey"),
        (&["admin", "heal", "a"], "not part of this client"),
        (&["admin", "config", "get", "a", "identity_ldap"], "XMinioAdminInvalidArgument"),
        (&["admin", "user", "ls", "a/photos"], "alias only"),
    ] {
        let message = shell.fails(wrong);
        assert!(message.contains(word), "{message}");
    }
}

/// As with `mc`: the script that sets a server up runs again at each start.
#[test]
fn policies_that_are_attached_or_detached_already_are_no_failure() {
    let shell = Shell::start();
    shell.ok(&["admin", "user", "add", "a", "carol", "carols-secret"]);
    shell.ok(&["admin", "group", "add", "a", "team", "carol"]);
    for (kind, name, word) in [("--user", "carol", "User"), ("--group", "team", "Group")] {
        for (verb, done, preposition) in
            [("attach", "Attached", "To"), ("detach", "Detached", "From")]
        {
            for _ in ["first", "again"] {
                let told = shell.ok(&["admin", "policy", verb, "a", "readonly", kind, name]);
                let expected =
                    format!("{done} Policies: [readonly]\n{preposition} {word}: {name}\n");
                assert_eq!(told, expected);
            }
        }
    }
    let again = shell.json(&["admin", "policy", "detach", "a", "readonly", "--user", "carol"]);
    let expected =
        json!({ "status": "success", "policiesDetached": ["readonly"], "user": "carol" });
    assert_eq!(again, [expected]);
    let missing = shell.fails(&["admin", "policy", "attach", "a", "nothing", "--user", "carol"]);
    assert!(missing.contains("XMinioAdminNoSuchPolicy"), "{missing}");
}

/// As `mc admin policy info` shows a policy for `*` of MinIO.
#[test]
fn a_policy_of_minio_for_all_resources_is_taken() {
    let shell = Shell::start();
    let policy = READ_PHOTOS.replace(r#""arn:aws:s3:::photos/*""#, r#"["**"]"#);
    shell.write("all.json", policy);
    let file = shell.path("all.json").display().to_string();
    shell.ok(&["admin", "policy", "create", "a", "all", &file]);
    let info = &shell.json(&["admin", "policy", "info", "a", "all"])[0];
    assert_eq!(info["policyInfo"]["Policy"]["Statement"][0]["Resource"], json!(["*"]));
}

#[test]
fn a_listed_user_has_the_policies_of_its_groups() {
    let shell = Shell::start();
    shell.ok(&["admin", "user", "add", "a", "carol", "carols-secret"]);
    shell.ok(&["admin", "group", "add", "a", "others", "carol"]);
    shell.ok(&["admin", "group", "add", "a", "team", "carol"]);
    shell.ok(&["admin", "policy", "attach", "a", "readonly", "writeonly", "--group", "team"]);
    let groups =
        json!([{ "name": "others" }, { "name": "team", "policies": ["readonly", "writeonly"] }]);
    for arguments in [&["admin", "user", "ls", "a"][..], &["admin", "user", "info", "a", "carol"]] {
        assert_eq!(shell.json(arguments)[0]["memberOf"], groups, "{arguments:?}");
    }
}

/// As with `mc`: the right for the object is enough, without the right to list its bucket.
#[test]
fn keys_for_one_operation_copy_move_and_share() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/photos"]);
    shell.put("a/photos/x", b"one");
    shell.write("file", b"two");
    for (user, actions) in [
        ("getter", r#""s3:GetObject""#),
        ("putter", r#""s3:PutObject""#),
        ("mover", r#""s3:GetObject", "s3:PutObject", "s3:DeleteObject""#),
    ] {
        let policy = format!(
            r#"{{"Version": "2012-10-17", "Statement": [{{"Effect": "Allow", "Action": [{actions}],
                "Resource": "arn:aws:s3:::photos/*"}}]}}"#
        );
        shell.write("policy.json", policy);
        let file = shell.path("policy.json").display().to_string();
        shell.ok(&["admin", "user", "add", "a", user, "a-long-secret"]);
        shell.ok(&["admin", "policy", "create", "a", user, &file]);
        shell.ok(&["admin", "policy", "attach", "a", user, "--user", user]);
    }
    let file = shell.path("file").display().to_string();
    let copy = shell.path("copy").display().to_string();
    for (user, arguments) in [
        ("putter", &["cp", &file, "a/photos/new"][..]),
        ("putter", &["share", "upload", "a/photos/new"]),
        ("putter", &["share", "upload", "--recursive", "a/photos/in/"]),
        ("getter", &["cp", "a/photos/x", &copy]),
        ("getter", &["share", "download", "a/photos/x"]),
        ("mover", &["cp", "a/photos/x", "a/photos/y"]),
        ("mover", &["mv", "a/photos/y", "a/photos/z"]),
        ("mover", &["mv", &file, "a/photos/moved"]),
    ] {
        let (is_ok, told) = by(&shell, user, "a-long-secret", arguments);
        assert!(is_ok, "{user} {arguments:?}: {told}");
    }
    assert_eq!(shell.keys("a/photos"), ["moved", "new", "x", "z"]);
    let (is_ok, told) = by(&shell, "putter", "a-long-secret", &["share", "download", "a/photos/x"]);
    assert!(!is_ok && told.contains("`a/photos/x`") && told.contains("AccessDenied"), "{told}");
}

#[test]
fn access_keys_are_made_listed_changed_and_removed() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/photos"]);
    shell.ok(&["admin", "user", "add", "a", "carol", "carols-secret"]);
    shell.ok(&["admin", "policy", "attach", "a", "readwrite", "--user", "carol"]);
    let made = shell.json(&[
        "admin",
        "accesskey",
        "create",
        "a",
        "carol",
        "--name",
        "scripts",
        "--expiry",
        "2099-01-31",
    ]);
    let text = |name: &str| made[0][name].as_str().expect("text").to_owned();
    let (key, secret) = (text("accessKey"), text("secretKey"));
    assert_eq!(text("expiration"), "2099-01-31T00:00:00Z");
    assert!(by(&shell, &key, &secret, &["ls", "a/photos"]).0);
    let info = shell.ok(&["admin", "accesskey", "info", "a", &key]);
    let expected = format!(
        "Access Key: {key}\nParent User: carol\nStatus: enabled\nPolicy: implied\nName: scripts\n\
         Description: \nExpiration: 2099-01-31T00:00:00Z\n"
    );
    assert_eq!(info, expected);
    let listed = shell.json(&["admin", "accesskey", "ls", "a", "carol"]);
    assert_eq!(listed[0]["svcaccs"][0]["accessKey"], *key);
    let all = shell.json(&["admin", "accesskey", "ls", "a"]);
    assert!(all.iter().any(|user| user["user"] == "carol"), "{all:?}");
    shell.ok(&["admin", "accesskey", "edit", "a", &key, "--secret-key", "another-secret"]);
    assert!(!by(&shell, &key, &secret, &["ls", "a/photos"]).0);
    assert!(by(&shell, &key, "another-secret", &["ls", "a/photos"]).0);
    shell.ok(&["admin", "accesskey", "disable", "a", &key]);
    assert!(!by(&shell, &key, "another-secret", &["ls", "a/photos"]).0);
    shell.ok(&["admin", "accesskey", "enable", "a", &key]);
    let removed = shell.ok(&["admin", "accesskey", "rm", "a", &key]);
    assert_eq!(removed, format!("Successfully removed access key `{key}`.\n"));
    assert!(!by(&shell, &key, "another-secret", &["ls", "a/photos"]).0);

    // The same under the older name.
    let add = ["admin", "user", "svcacct", "add", "a", "carol", "--access-key", "svc00001"];
    let made = shell.ok(&[&add[..], &["--secret-key", "svcsecret1"]].concat());
    let expected = "Access Key: svc00001\nSecret Key: svcsecret1\nExpiration: no-expiry\n";
    assert_eq!(made, expected);
    let listed = shell.ok(&["admin", "user", "svcacct", "ls", "a", "carol"]);
    assert_eq!(listed, "svc00001             | no-expiry\n");
    let removed = shell.ok(&["admin", "user", "svcacct", "rm", "a", "svc00001"]);
    assert_eq!(removed, "Removed service account `svc00001` successfully.\n");
    for (wrong, word) in [
        (&["admin", "accesskey", "info", "a", "svc00001"][..], "XMinioInvalidIAMCredentials"),
        (&["admin", "accesskey", "edit", "a", "svc00001"], "name a property"),
        (&["admin", "accesskey", "create", "a", "--expiry", "soon"], "no time"),
        (&["admin", "user", "svcacct", "add", "a"], "name the user"),
    ] {
        let message = shell.fails(wrong);
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn the_server_is_told_and_scraped() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/photos"]);
    shell.put("a/photos/x", b"one");
    let info = shell.ok(&["admin", "info", "a"]);
    assert!(info.ends_with("3 B Used, 1 Bucket, 1 Object, 1 Version\n"), "{info}");
    let json = &shell.json(&["admin", "info", "a"])[0];
    assert_eq!(json["info"]["objects"]["count"], 1);

    let generated = &shell.json(&["admin", "prometheus", "generate", "a"])[0];
    let token = generated["bearerToken"].as_str().expect("a token");
    let text = shell.ok(&["admin", "prometheus", "generate", "a"]);
    assert!(text.starts_with("scrape_configs:\n- job_name: minio-job\n  bearer_token: "), "{text}");
    let path = generated["metricsPath"].as_str().expect("a path");
    let scrape = |token: &str| {
        let header = format!("authorization: Bearer {token}\r\n");
        get_with(&format!("{}{path}", shell.url), &header).0
    };
    assert_eq!((scrape(token), scrape("e30.e30.x")), (200, 403));
    let public = shell.ok(&["admin", "prometheus", "generate", "a", "bucket", "--public"]);
    assert!(!public.contains("bearer_token") && public.contains("/minio/v2/metrics/bucket"));
}

#[test]
fn requests_are_traced_as_they_are_answered() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/photos"]);
    let arguments = ["admin", "trace", "a", "--json", "--funcname", "PutObject"];
    let mut child = shell.command(&arguments).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    let (sender, receiver) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut line = String::new();
        lines.read_line(&mut line).expect("readable");
        // The other side may have stopped to wait.
        let _ = sender.send(line);
    });
    // The trace begins at some time: objects are put until one is in it.
    let line = loop {
        shell.put("a/photos/x", b"one");
        match receiver.recv_timeout(std::time::Duration::from_millis(100)) {
            Ok(line) => break line,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
            Err(error) => panic!("{error}"),
        }
    };
    reader.join().expect("it reads");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let entry: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!((&entry["api"], &entry["path"]), (&json!("s3.PutObject"), &json!("/photos/x")));
    assert_eq!((&entry["statusCode"], &entry["statusMsg"]), (&json!(200), &json!("OK")));
}
