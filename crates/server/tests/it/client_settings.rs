//! `liteio client`: the settings of buckets and the locks of objects, in the words and documents of `mc`.

use serde_json::json;

use crate::client::Shell;

#[test]
fn quotas_are_set_told_and_removed() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/photos"]);
    assert_eq!(shell.ok(&["quota", "info", "a/photos"]), "Bucket `photos` has no quota\n");
    let set = shell.ok(&["quota", "set", "a/photos", "--size", "1KiB"]);
    assert_eq!(set, "Successfully set bucket quota of 1.0 KiB on `photos`\n");
    let told = shell.ok(&["quota", "info", "a/photos"]);
    assert_eq!(told, "Bucket `photos` has hard quota of 1.0 KiB\n");
    let told = json!({ "status": "success", "bucket": "photos", "quota": 1024, "type": "hard" });
    assert_eq!(shell.json(&["quota", "info", "a/photos"]), [told]);
    shell.write("large", [b'x'; 1025]);
    let file = shell.path("large").display().to_string();
    let refused = shell.fails(&["cp", &file, "a/photos/"]);
    assert!(refused.contains("XMinioAdminBucketQuotaExceeded"), "{refused}");
    shell.ok(&["quota", "clear", "a/photos"]);
    shell.ok(&["cp", &file, "a/photos/"]);
    for (wrong, word) in [
        (&["quota", "set", "a/photos", "--size", "much"][..], "no size"),
        (&["quota", "set", "a/photos", "--size", "0"], "quota clear"),
        (&["quota", "info", "a/nothing-here"], "NoSuchBucket"),
        (&["quota", "info", "a"], "names no bucket"),
    ] {
        let message = shell.fails(wrong);
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn retentions_protect_and_are_told() {
    let shell = Shell::start();
    shell.ok(&["mb", "--with-lock", "a/locked"]);
    for key in ["a/locked/x/1", "a/locked/x/2"] {
        shell.put(key, b"one");
    }
    shell.put("a/locked/x/1", b"two");
    let set = shell.ok(&["retention", "set", "governance", "30d", "a/locked/x/1"]);
    assert_eq!(set, "Object retention successfully set for `a/locked/x/1`.\n");
    let told = shell.ok(&["retention", "info", "a/locked/x/1"]);
    // By the seconds that it takes to ask.
    let days = ["29 days 23 hours", "30 days 0 hours"];
    let is_told = |days: &&str| told.contains(&format!("Mode    : GOVERNANCE, expiring in {days}"));
    assert!(days.iter().any(is_told), "{told}");
    let json = shell.json(&["retention", "info", "--recursive", "a/locked/x"]);
    assert_eq!(json[0]["mode"], "GOVERNANCE");
    assert_eq!((&json[1]["mode"], &json[1]["urlpath"]), (&json!(""), &json!("a/locked/x/2")));
    // The current version is protected, the one before it is not.
    let versions = shell.json(&["ls", "--versions", "a/locked/x/1"]);
    let id = |place: usize| versions[place]["versionId"].as_str().expect("an id").to_owned();
    let removed = shell.fails(&["rm", "--version-id", &id(0), "a/locked/x/1"]);
    assert!(removed.contains("lock"), "{removed}");
    shell.ok(&["rm", "--version-id", &id(1), "a/locked/x/1"]);
    shell.ok(&["retention", "clear", "--recursive", "--versions", "a/locked"]);
    shell.ok(&["rm", "--version-id", &id(0), "a/locked/x/1"]);

    shell.ok(&["mb", "a/plain"]);
    shell.ok(&["version", "enable", "a/plain"]);
    let default = ["retention", "set", "--default", "compliance", "1y", "a/locked"];
    assert_eq!(shell.ok(&default), "Object locking 'COMPLIANCE' is configured for 1YEARS.\n");
    let json = shell.json(&["retention", "info", "--default", "a/locked"]);
    assert_eq!((&json[0]["mode"], &json[0]["validity"]), (&json!("COMPLIANCE"), &json!("1YEARS")));
    shell.ok(&["retention", "clear", "--default", "a/locked"]);
    let none = shell.ok(&["retention", "info", "--default", "a/locked"]);
    assert_eq!(none, "Object locking is not enabled.\n");
    for (wrong, word) in [
        (&["retention", "set", "gentle", "30d", "a/locked/x/2"][..], "no mode"),
        (&["retention", "set", "governance", "30", "a/locked/x/2"], "no time"),
        (&["retention", "set", "governance", "30d", "a/locked"], "--recursive"),
        (&["retention", "set", "--default", "governance", "30d", "a/locked/x"], "no object"),
        (&["retention", "set", "--default", "governance", "30d", "a/plain"], "mb --with-lock"),
    ] {
        let message = shell.fails(wrong);
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn legal_holds_protect_and_are_told() {
    let shell = Shell::start();
    shell.ok(&["mb", "--with-lock", "a/locked"]);
    shell.put("a/locked/held", b"one");
    let set = shell.ok(&["legalhold", "set", "a/locked/held"]);
    assert_eq!(set, "Object legal hold successfully set for `held`.\n");
    assert_eq!(shell.ok(&["legalhold", "info", "a/locked/held"]), "[    ON    ]  held\n");
    let json = shell.json(&["legalhold", "info", "--recursive", "a/locked"]);
    assert_eq!((&json[0]["legalhold"], &json[0]["key"]), (&json!("ON"), &json!("held")));
    let removed = shell.fails(&["rm", "--versions", "--force", "a/locked/held"]);
    assert!(removed.contains("lock"), "{removed}");
    shell.ok(&["legalhold", "clear", "--recursive", "--versions", "a/locked"]);
    shell.ok(&["rm", "--versions", "--force", "a/locked/held"]);
    shell.ok(&["mb", "a/plain"]);
    shell.put("a/plain/x", b"one");
    assert!(shell.fails(&["legalhold", "set", "a/plain/x"]).contains("Lock"));
}

#[test]
fn event_holds_protect_until_they_are_released_and_are_told() {
    let shell = Shell::start();
    shell.ok(&["mb", "--with-lock", "a/locked"]);
    shell.put("a/locked/held", b"one");
    assert_eq!(shell.ok(&["eventhold", "info", "a/locked/held"]), "[ NOT SET  ]  held\n");
    let set = shell.ok(&["eventhold", "set", "governance", "30d", "a/locked/held"]);
    assert_eq!(set, "Object event hold successfully set for `held`.\n");
    let told = shell.ok(&["eventhold", "info", "a/locked/held"]);
    assert_eq!(told, "[    ON    ]  held: GOVERNANCE, 30 days after the release\n");
    let json = shell.json(&["eventhold", "info", "--recursive", "a/locked"]);
    assert_eq!(json[0]["eventhold"], "ON");
    assert_eq!((&json[0]["duration"], &json[0]["key"]), (&json!({ "Days": 30 }), &json!("held")));
    let removed = shell.fails(&["rm", "--versions", "--force", "a/locked/held"]);
    assert!(removed.contains("lock"), "{removed}");
    let released = shell.ok(&["eventhold", "release", "a/locked/held"]);
    assert_eq!(released, "Object event hold successfully released for `held`.\n");
    assert_eq!(shell.ok(&["eventhold", "info", "a/locked/held"]), "[   OFF    ]  held\n");
    // Its time has begun.
    let json = shell.json(&["retention", "info", "a/locked/held"]);
    assert_eq!(json[0]["mode"], "GOVERNANCE");
    for (wrong, word) in [
        (&["eventhold", "release", "a/locked/held"][..], "no event hold"),
        (&["eventhold", "set", "gentle", "30d", "a/locked/held"], "no mode"),
        (&["eventhold", "set", "governance", "30", "a/locked/held"], "no time"),
    ] {
        let message = shell.fails(wrong);
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn encryption_and_cors_are_set_told_and_removed() {
    let files = tempfile::tempdir().expect("a temporary directory");
    let key = files.path().join("key");
    let mut made = crate::command::liteio(&files);
    let made = made.args(["key", "new"]).arg(&key).output().expect("it runs");
    assert!(made.status.success(), "{made:?}");
    let shell = Shell::start_with(&["--master-key-file", key.to_str().expect("text")]);
    shell.ok(&["mb", "a/photos"]);
    let none = shell.ok(&["encrypt", "info", "a/photos"]);
    assert_eq!(none, "Auto encryption is not enabled for a/photos\n");
    shell.ok(&["encrypt", "set", "sse-s3", "a/photos"]);
    let told = shell.json(&["encrypt", "info", "a/photos"]);
    assert_eq!(told[0]["encryption"]["algorithm"], "AES256");
    shell.put("a/photos/x", b"one");
    let stat = shell.json(&["stat", "a/photos/x"]);
    assert_eq!(stat[0]["metadata"]["X-Amz-Server-Side-Encryption"], "AES256");
    shell.ok(&["encrypt", "clear", "a/photos"]);
    assert_eq!(shell.ok(&["encrypt", "info", "a/photos"]), none);
    assert!(shell.fails(&["encrypt", "set", "sse-c", "a/photos"]).contains("no type"));
    assert!(shell.fails(&["encrypt", "set", "sse-kms", "a/photos"]).contains("name of a key"));

    let none = shell.ok(&["cors", "get", "a/photos"]);
    assert_eq!(none, "No bucket CORS configuration found.\n");
    let rules = "<CORSConfiguration><CORSRule><AllowedOrigin>https://a.example</AllowedOrigin>\
                 <AllowedMethod>GET</AllowedMethod><MaxAgeSeconds>5</MaxAgeSeconds></CORSRule>\
                 </CORSConfiguration>";
    shell.ok_with(&["cors", "set", "a/photos", "-"], rules);
    let told = shell.json(&["cors", "get", "a/photos"]);
    let rule = &told[0]["cors"]["CORSRules"][0];
    assert_eq!(rule["AllowedOrigin"], json!(["https://a.example"]));
    assert_eq!(rule["MaxAgeSeconds"], 5);
    assert!(shell.ok(&["cors", "get", "a/photos"]).contains("<AllowedMethod>GET</AllowedMethod>"));
    shell.ok(&["cors", "remove", "a/photos"]);
    assert_eq!(shell.ok(&["cors", "get", "a/photos"]), none);
}

#[test]
fn lifecycle_rules_are_added_changed_and_removed() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/logs"]);
    let list = ["ilm", "rule", "ls", "a/logs"];
    assert!(shell.fails(&list).contains("no lifecycle rules"));
    let add = ["ilm", "rule", "add", "--expire-days", "30", "--prefix", "tmp/", "a/logs"];
    let added = shell.json(&add);
    let id = added[0]["id"].as_str().expect("an id");
    assert_eq!(id.len(), 20);
    let more = [
        "--noncurrent-expire-days",
        "5",
        "--noncurrent-expire-newer",
        "2",
        "--tags",
        "k=v&l=w",
        "--size-gt",
        "1MiB",
    ];
    shell.ok(&[&["ilm", "add", "a/logs", "--id", "second"][..], &more].concat());
    let rules = shell.json(&list).remove(0)["config"]["Rules"].clone();
    let first = json!({
        "ID": id, "Status": "Enabled", "Filter": { "Prefix": "tmp/" }, "Expiration": { "Days": 30 },
    });
    let tags = json!([{ "Key": "k", "Value": "v" }, { "Key": "l", "Value": "w" }]);
    let second = json!({
        "ID": "second", "Status": "Enabled",
        "Filter": { "And": { "ObjectSizeGreaterThan": 1_048_576, "Tags": tags } },
        "NoncurrentVersionExpiration": { "NoncurrentDays": 5, "NewerNoncurrentVersions": 2 },
    });
    assert_eq!(rules, json!([first, second]));
    let edit = ["ilm", "rule", "edit", "--id", id, "--disable", "--expire-days", "7", "a/logs"];
    shell.ok(&edit);
    let text = shell.ok(&list);
    assert!(
        text.contains(&format!("{id}, Disabled, prefix \"tmp/\", expires after 7 days")),
        "{text}"
    );
    // An export is an import.
    let exported = shell.ok(&["ilm", "rule", "export", "a/logs"]);
    // An object tells when which rule removes it.
    shell.ok(&["ilm", "rule", "add", "--expire-days", "9", "--id", "soon", "a/logs"]);
    shell.put("a/logs/today", b"x");
    let stat = shell.json(&["stat", "a/logs/today"]).remove(0);
    assert!(stat["expirationRuleID"] == "soon" && stat["expiration"].is_string(), "{stat}");
    assert!(shell.ok(&["stat", "a/logs/today"]).contains(" UTC (lifecycle-rule-id: soon)"));
    shell.ok(&["ilm", "rule", "rm", "--all", "--force", "a/logs"]);
    assert!(shell.fails(&list).contains("no lifecycle rules"));
    shell.ok_with(&["ilm", "rule", "import", "a/logs"], &exported);
    assert_eq!(shell.ok(&["ilm", "rule", "export", "a/logs"]), exported);
    shell.ok(&["ilm", "rule", "rm", "--id", "second", "a/logs"]);
    assert_eq!(shell.json(&list)[0]["config"]["Rules"].as_array().map(Vec::len), Some(1));
    for (wrong, word) in [
        (&["ilm", "rule", "rm", "--id", "third", "a/logs"][..], "not found"),
        (&["ilm", "rule", "rm", "--all", "a/logs"], "--force"),
        (&["ilm", "rule", "add", "a/logs"], "does nothing"),
        (&["ilm", "rule", "add", "--transition-days", "3", "a/logs"], "need each other"),
        (&["ilm", "tier", "ls", "a"], "not part of this client"),
    ] {
        let message = shell.fails(wrong);
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn notifications_are_added_and_removed() {
    let shell = Shell::start_with(&["--webhook", "hook=http://127.0.0.1:9/"]);
    shell.ok(&["mb", "a/photos"]);
    let arn = "arn:minio:sqs::hook:webhook";
    let add = ["event", "add", "a/photos", arn, "--event", "put", "--suffix", ".jpg"];
    assert_eq!(shell.ok(&add), format!("Successfully added {arn}\n"));
    assert!(shell.fails(&add).contains("--ignore-existing"));
    shell.ok(&[&add[..], &["-p"]].concat());
    shell.ok(&["event", "add", "a/photos", arn, "--event", "delete"]);
    let listed = shell.json(&["event", "ls", "a/photos"]);
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0]["event"], json!(["s3:ObjectCreated:*"]));
    assert_eq!((&listed[0]["suffix"], &listed[0]["prefix"]), (&json!(".jpg"), &json!("")));
    // The filter of a removal is the one of the notification.
    let missing = shell.fails(&["event", "rm", "a/photos", arn, "--event", "put"]);
    assert!(missing.contains("no notification"), "{missing}");
    shell.ok(&["event", "rm", "a/photos", arn, "--event", "put", "--suffix", ".jpg"]);
    assert_eq!(shell.json(&["event", "ls", "a/photos", arn]).len(), 1);
    assert!(shell.fails(&["event", "rm", "a/photos"]).contains("--force"));
    shell.ok(&["event", "rm", "a/photos", "--force"]);
    assert_eq!(shell.ok(&["event", "ls", "a/photos"]), "");
    // Reads, which `mc event add` asks for by default, are kept beside others, and not alone.
    let alone = shell.fails(&["event", "add", "a/photos", arn, "--event", "get"]);
    assert!(alone.contains("None of these events occurs here"), "{alone}");
    shell.ok(&["event", "add", "a/photos", arn, "--event", "put,get"]);
    let listed = shell.json(&["event", "ls", "a/photos"]);
    assert_eq!(listed[0]["event"], json!(["s3:ObjectCreated:*", "s3:ObjectAccessed:*"]));
    shell.ok(&["event", "rm", "a/photos", "--force"]);
    assert!(shell.fails(&["event", "add", "a/photos", "hook"]).contains("no ARN"));
    assert!(shell.fails(&["event", "add", "a/photos", arn, "--event", "odd"]).contains("no kind"));
}

#[test]
fn replication_rules_are_added_changed_and_removed() {
    let (shell, other) = (Shell::start(), Shell::start());
    shell.ok(&["mb", "--with-versioning", "a/photos"]);
    other.ok(&["mb", "--with-versioning", "a/copies"]);
    let list = ["replicate", "ls", "a/photos"];
    assert!(shell.fails(&list).contains("not set"));
    let to = format!("{}/copies", other.url.replace("://", "://liteio:liteio123@"));
    let added = shell.json(&["replicate", "add", "a/photos", "--remote-bucket", &to]);
    let id = added[0]["id"].as_str().expect("an id");
    let rule = &shell.json(&list)[0]["rule"];
    assert_eq!((&rule["Priority"], &rule["Status"]), (&json!(1), &json!("Enabled")));
    assert_eq!(rule["DeleteReplication"]["Status"], "Enabled");
    let update = ["replicate", "update", "a/photos", "--id", id, "--priority", "7"];
    shell.ok(&[&update[..], &["--state", "disable", "--replicate", "delete-marker"]].concat());
    let rule = &shell.json(&list)[0]["rule"];
    assert_eq!((&rule["Priority"], &rule["Status"]), (&json!(7), &json!("Disabled")));
    assert_eq!(rule["DeleteReplication"]["Status"], "Disabled");
    assert_eq!(shell.ok(&["replicate", "ls", "a/photos", "--status", "enabled"]), "");
    // The last rule takes the document with it, as in `mc`.
    shell.ok(&["replicate", "rm", "a/photos", "--id", id]);
    assert!(shell.fails(&list).contains("not set"));
    shell.ok(&["replicate", "add", "a/photos", "--remote-bucket", &to]);
    shell.ok(&["replicate", "rm", "a/photos", "--all", "--force"]);
    assert!(shell.fails(&list).contains("not set"));
    for (wrong, word) in [
        (&["replicate", "add", "a/photos", "--remote-bucket", "nobody/copies"][..], "no alias"),
        (&["replicate", "add", "a/photos", "--remote-bucket", "copies"], "ALIAS/BUCKET"),
        (&["replicate", "rm", "a/photos", "--all"], "--force"),
        (&["replicate", "backlog", "a/photos"], "not part of this client"),
    ] {
        let message = shell.fails(wrong);
        assert!(message.contains(word), "{message}");
    }
}
