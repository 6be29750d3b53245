//! Lifecycle rules as clients give and see them. The store's tests have their execution.

use crate::harness;

fn document(rules: &str) -> String {
    format!("<LifecycleConfiguration>{rules}</LifecycleConfiguration>")
}

fn rule(inner: &str) -> String {
    document(&format!("<Rule><Status>Enabled</Status>{inner}</Rule>"))
}

const ONE_DAY: &str = "<Expiration><Days>1</Days></Expiration>";
const ALL: &str = "<Filter><Prefix/></Filter>";

#[tokio::test]
async fn rules_are_kept_answered_and_taken_away() {
    for server in harness::both().await {
        server.bucket("mine").await;
        server.get("/mine?lifecycle").await.expect_error(404, "NoSuchLifecycleConfiguration");
        let sent = document(
            "<Rule><ID>logs</ID><Status>Enabled</Status><Filter><And><Prefix>logs/</Prefix>\
             <Tag><Key>k</Key><Value>v</Value></Tag></And></Filter>\
             <Transition><Days>30</Days><StorageClass>GLACIER</StorageClass></Transition>\
             <Expiration><Days>365</Days></Expiration></Rule>\
             <Rule><Status>Disabled</Status><Prefix>old/</Prefix>\
             <NoncurrentVersionExpiration><NewerNoncurrentVersions>2</NewerNoncurrentVersions>\
             <NoncurrentDays>9</NoncurrentDays></NoncurrentVersionExpiration></Rule>",
        );
        server.put("/mine?lifecycle", &sent).await.expect_status(200);
        let got = server.get("/mine?lifecycle").await.expect_status(200);
        assert_eq!(got.elements("ID"), ["logs", "rule-1"]);
        assert_eq!(got.elements("Status"), ["Enabled", "Disabled"]);
        assert_eq!(got.elements("Prefix"), ["logs/", "old/"]);
        assert_eq!(got.elements("StorageClass"), ["GLACIER"]);
        assert_eq!(got.element("NewerNoncurrentVersions"), "2");
        server.delete("/mine?lifecycle").await.expect_status(204);
        server.get("/mine?lifecycle").await.expect_error(404, "NoSuchLifecycleConfiguration");
        server.delete("/mine?lifecycle").await.expect_status(204);
    }
}

#[tokio::test]
async fn objects_and_uploads_say_when_they_end() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let abort = "<AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation>\
                 </AbortIncompleteMultipartUpload>";
    let sent = document(&format!(
        "<Rule><ID>a b</ID><Status>Enabled</Status><Filter><Prefix>logs/</Prefix></Filter>\
         {ONE_DAY}{abort}</Rule>"
    ));
    server.put("/mine?lifecycle", sent).await.expect_status(200);
    let put = server.put("/mine/logs/a", "x").await.expect_status(200);
    let expiration = put.header("x-amz-expiration").expect("it ends").to_owned();
    assert!(expiration.starts_with("expiry-date=\""), "{expiration}");
    assert!(expiration.ends_with("00:00:00 GMT\", rule-id=\"a%20b\""), "{expiration}");
    for method in ["GET", "HEAD"] {
        let got = server.request(method, "/mine/logs/a").send().await.expect_status(200);
        assert_eq!(got.header("x-amz-expiration"), Some(&*expiration), "{method}");
    }
    let begun = server.post("/mine/logs/b?uploads", "").await.expect_status(200);
    assert!(begun.header("x-amz-abort-date").is_some_and(|date| date.ends_with("00:00:00 GMT")));
    assert_eq!(begun.header("x-amz-abort-rule-id"), Some("a%20b"));
    let other = server.put("/mine/other", "x").await.expect_status(200);
    assert_eq!(other.header("x-amz-expiration"), None);
}

#[tokio::test]
async fn rules_that_make_no_sense_are_refused_and_the_old_ones_stay() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server
        .put("/mine?lifecycle", rule(&format!("<ID>kept</ID>{ALL}{ONE_DAY}")))
        .await
        .expect_status(200);
    let tag = "<Tag><Key>k</Key><Value>v</Value></Tag>";
    let many = (0..1001).map(|number| {
        format!("<Rule><ID>{number}</ID><Status>Enabled</Status>{ALL}{ONE_DAY}</Rule>")
    });
    let twice = format!("<Rule><ID>a</ID><Status>Enabled</Status>{ALL}{ONE_DAY}</Rule>").repeat(2);
    let rows = [
        (document(""), "MalformedXML"),
        (document(&many.collect::<String>()), "MalformedXML"),
        (document(&twice), "InvalidArgument"),
        (rule(&format!("<ID>{}</ID>{ALL}{ONE_DAY}", "x".repeat(256))), "InvalidArgument"),
        (rule(ALL), "InvalidRequest"),
        (rule(ONE_DAY), "MalformedXML"),
        (rule(&format!("{ALL}<Prefix/>{ONE_DAY}")), "MalformedXML"),
        (rule(&format!("<Filter><Prefix>a</Prefix>{tag}</Filter>{ONE_DAY}")), "MalformedXML"),
        (rule(&format!("{ALL}<Expiration><Days>0</Days></Expiration>")), "InvalidArgument"),
        (rule(&format!("{ALL}<Expiration><Days>x</Days></Expiration>")), "MalformedXML"),
        (
            rule(&format!(
                "{ALL}<Expiration><Days>1</Days><Date>2030-01-01T00:00:00Z</Date></Expiration>"
            )),
            "MalformedXML",
        ),
        (
            rule(&format!("{ALL}<Expiration><Date>2030-01-01T00:00:01Z</Date></Expiration>")),
            "InvalidArgument",
        ),
        (
            rule(&format!(
                "<Filter>{tag}</Filter><Expiration><ExpiredObjectDeleteMarker>true\
                 </ExpiredObjectDeleteMarker></Expiration>"
            )),
            "InvalidRequest",
        ),
        (
            rule(&format!(
                "<Filter>{tag}</Filter><AbortIncompleteMultipartUpload><DaysAfterInitiation>1\
                 </DaysAfterInitiation></AbortIncompleteMultipartUpload>"
            )),
            "InvalidRequest",
        ),
        (
            rule(&format!(
                "{ALL}<Transition><Days>1</Days><StorageClass>ICE</StorageClass></Transition>"
            )),
            "MalformedXML",
        ),
        (
            rule(&format!(
                "<Filter><And><ObjectSizeGreaterThan>5</ObjectSizeGreaterThan>\
                 <ObjectSizeLessThan>5</ObjectSizeLessThan></And></Filter>{ONE_DAY}"
            )),
            "InvalidRequest",
        ),
        (document(&format!("<Rule><Status>enabled</Status>{ALL}{ONE_DAY}</Rule>")), "MalformedXML"),
        (rule(&format!("{ALL}{ONE_DAY}<Colour/>")), "MalformedXML"),
        (
            rule(&format!("{ALL}<Expiration><NoncurrentDays>1</NoncurrentDays></Expiration>")),
            "MalformedXML",
        ),
    ];
    for (body, code) in rows {
        server.put("/mine?lifecycle", &body).await.expect_error(400, code);
    }
    assert_eq!(server.get("/mine?lifecycle").await.elements("ID"), ["kept"]);
}

#[tokio::test]
async fn actions_whose_times_contradict_each_other_are_refused_in_the_words_of_aws() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let moved = |time: &str, class: &str| {
        format!("<Transition>{time}<StorageClass>{class}</StorageClass></Transition>")
    };
    let days = |days: u32, class: &str| moved(&format!("<Days>{days}</Days>"), class);
    let date =
        |year: u32, class: &str| moved(&format!("<Date>{year}-01-01T00:00:00Z</Date>"), class);
    let older = |days: u32, class: &str| {
        format!(
            "<NoncurrentVersionTransition><NoncurrentDays>{days}</NoncurrentDays>\
             <StorageClass>{class}</StorageClass></NoncurrentVersionTransition>"
        )
    };
    let ends = |time: &str| format!("<Expiration>{time}</Expiration>");
    let older_ends = |days: u32| {
        format!(
            "<NoncurrentVersionExpiration><NoncurrentDays>{days}</NoncurrentDays></NoncurrentVersionExpiration>"
        )
    };
    let logs = "<Filter><And><Prefix>logs/</Prefix><ObjectSizeGreaterThan>9</ObjectSizeGreaterThan></And></Filter>";
    let rows = [
        (
            format!("{ALL}{}", days(29, "STANDARD_IA")),
            "InvalidArgument",
            "'Days' in Transition action must be greater than or equal to 30 for storageClass 'STANDARD_IA'",
        ),
        (
            format!("{ALL}{}", older(1, "ONEZONE_IA")),
            "InvalidArgument",
            "'NoncurrentDays' in NoncurrentVersionTransition action must be greater than or equal to 30 for \
             storageClass 'ONEZONE_IA'",
        ),
        (
            format!("{logs}{}{}", days(30, "GLACIER"), ends("<Days>30</Days>")),
            "InvalidArgument",
            "'Days' in the Expiration action for filter '(prefix=logs/ and objectsizegreaterthan=9)' must be \
             greater than 'Days' in the Transition action",
        ),
        (
            format!("{ALL}{}{}", date(2031, "GLACIER"), ends("<Date>2030-01-01T00:00:00Z</Date>")),
            "InvalidArgument",
            "'Date' in the Expiration action for filter '(prefix=)' must be greater than 'Date' in the \
             Transition action",
        ),
        (
            format!("{ALL}{}{}", older(9, "GLACIER"), older_ends(9)),
            "InvalidArgument",
            "'NoncurrentDays' in the NoncurrentVersionExpiration action for filter '(prefix=)' must be \
             greater than 'NoncurrentDays' in the NoncurrentVersionTransition action",
        ),
        (
            format!("{ALL}{}{}", days(1, "GLACIER"), ends("<Date>2030-01-01T00:00:00Z</Date>")),
            "InvalidRequest",
            "Found mixed 'Date' and 'Days' based Expiration and Transition actions in lifecycle rule for \
             filter '(prefix=)'",
        ),
        (
            format!("{ALL}{}{}", days(1, "GLACIER"), date(2030, "DEEP_ARCHIVE")),
            "InvalidRequest",
            "Found mixed 'Date' and 'Days' based Transition actions in lifecycle rule for filter '(prefix=)'",
        ),
        (
            format!("{ALL}{}{}", days(1, "GLACIER"), days(2, "GLACIER")),
            "InvalidRequest",
            "'StorageClass' must be different for 'Transition' actions in same 'Rule' with filter '(prefix=)'",
        ),
    ];
    for (inner, code, message) in rows {
        let refused = server.put("/mine?lifecycle", rule(&inner)).await.expect_error(400, code);
        assert_eq!(refused.element("Message").replace("&apos;", "'"), message, "{inner}");
    }
    server.get("/mine?lifecycle").await.expect_error(404, "NoSuchLifecycleConfiguration");
    let valid = [
        format!("{ALL}{}{}", days(30, "STANDARD_IA"), days(0, "GLACIER")),
        format!("{ALL}{}{}", days(0, "INTELLIGENT_TIERING"), ends("<Days>1</Days>")),
        format!("{ALL}{}{}", older(30, "ONEZONE_IA"), older_ends(31)),
        format!("{ALL}{}{}", date(2030, "STANDARD_IA"), ends("<Date>2031-01-01T00:00:00Z</Date>")),
        // Current and noncurrent versions are apart.
        format!("{ALL}{}{}", older(60, "GLACIER"), ends("<Days>1</Days>")),
    ];
    for inner in valid {
        server.put("/mine?lifecycle", rule(&inner)).await.expect_status(200);
    }
}
