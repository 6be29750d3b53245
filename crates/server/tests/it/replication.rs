//! Replication of buckets between servers that are killed, restarted, refused and written to at the same time.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use liteio_auth::fuzzing::signer::encoded_path;
use liteio_disk::effort;

use crate::command::Running;
use crate::harness::{ALICE, RawRequest, etag};
use crate::reply::Reply;

const ARN: &str = "arn:aws:s3:::copies";

/// A server in a process of its own, which comes back at the same address.
struct Site {
    directory: tempfile::TempDir,
    address: SocketAddr,
    running: Option<Running>,
}

/// A target in a file of targets.
fn target(arn: &str, address: SocketAddr, bucket: &str, more: &str) -> String {
    let (access, secret) = (ALICE.access_key, ALICE.secret_key);
    format!(
        "[[target]]\narn = \"{arn}\"\nurl = \"http://{address}\"\nbucket = \"{bucket}\"\n\
         access_key = \"{access}\"\nsecret_key = \"{secret}\"\n{more}\n"
    )
}

impl Site {
    fn start(targets: &str) -> Site {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut site = Site { directory, address, running: None };
        site.begin(targets);
        site
    }

    /// Starts it where it was, with these targets.
    fn begin(&mut self, targets: &str) {
        let (address, file) = (self.address.to_string(), "targets.toml");
        std::fs::write(self.directory.path().join(file), targets).expect("a file");
        let mut arguments = vec!["--data-dir", "data", "--address", &address];
        if !targets.is_empty() {
            arguments.extend(["--replication-file", file]);
        }
        let users =
            [("LITEIO_ACCESS_KEY", ALICE.access_key), ("LITEIO_SECRET_KEY", ALICE.secret_key)];
        let running = Running::start_with(&self.directory, &arguments, &users);
        let endpoint = running.endpoint().trim_start_matches("http://").to_owned();
        self.address = endpoint.parse().expect("an address");
        self.running = Some(running);
    }

    fn kill(&mut self) {
        self.running.take().expect("it runs").signal("KILL");
    }

    fn request(&self, method: &'static str, path: &str) -> RawRequest<'static> {
        RawRequest::of_s3(self.address, "us-east-1", method, path)
    }

    async fn get(&self, path: &str) -> Reply {
        self.request("GET", path).send().await
    }

    async fn put(&self, path: &str, body: impl AsRef<[u8]>) -> Reply {
        self.request("PUT", path).body(body).send().await
    }

    async fn delete(&self, path: &str) -> Reply {
        self.request("DELETE", path).send().await
    }

    /// A bucket with versions, that can be locked.
    async fn bucket(&self, name: &str) {
        let request = self.request("PUT", &format!("/{name}"));
        let request = request.header("x-amz-bucket-object-lock-enabled", "true");
        request.send().await.expect_status(200);
    }

    /// The version id of a new object.
    async fn version(&self, path: &str, body: &str) -> String {
        let put = self.put(path, body).await.expect_status(200);
        put.header("x-amz-version-id").expect("an id").to_owned()
    }

    async fn status(&self, path: &str) -> Option<String> {
        let head = self.request("HEAD", path).send().await.expect_status(200);
        head.header("x-amz-replication-status").map(str::to_owned)
    }

    /// All versions of a bucket with all that a client sees of them, by key and version id.
    async fn everything(&self, bucket: &str) -> BTreeMap<(String, String), String> {
        let mut all = BTreeMap::new();
        let mut after = String::new();
        loop {
            let page = self.get(&format!("/{bucket}?versions{after}")).await.expect_status(200);
            let (keys, ids) = (page.elements("Key"), page.elements("VersionId"));
            let (latest, times) = (page.elements("IsLatest"), page.elements("LastModified"));
            for (place, key) in keys.iter().enumerate() {
                let path = encoded_path(&format!("/{bucket}/{key}"));
                let path = format!("{path}?versionId={}", ids[place]);
                let shown = format!(
                    "latest {} at {} {}",
                    latest[place],
                    times[place],
                    self.seen(&path).await
                );
                all.insert((key.clone(), ids[place].clone()), shown);
            }
            if page.element("IsTruncated") != "true" {
                return all;
            }
            let (key, id) = (page.element("NextKeyMarker"), page.element("NextVersionIdMarker"));
            after = format!("&key-marker={key}&version-id-marker={id}");
        }
    }

    /// A version in one line.
    async fn seen(&self, path: &str) -> String {
        let got = self.get(path).await;
        if got.status != 200 {
            return got.status.to_string();
        }
        let mut shown = etag(&got.body);
        for name in [
            "etag",
            "content-type",
            "cache-control",
            "x-amz-meta-colour",
            "x-amz-object-lock-mode",
            "x-amz-object-lock-retain-until-date",
            "x-amz-object-lock-legal-hold",
            "x-amz-object-lock-event-hold",
            "x-amz-object-lock-event-hold-duration-days",
            "x-amz-object-lock-event-hold-duration-years",
        ] {
            shown.push_str(&format!(" {name}={}", got.header(name).unwrap_or_default()));
        }
        let tags = self.get(&path.replace('?', "?tagging&")).await.expect_status(200);
        let pairs: Vec<_> = tags.elements("Key").into_iter().zip(tags.elements("Value")).collect();
        format!("{shown} {pairs:?}")
    }
}

/// A configuration with one rule for everything, and all that can be copied.
fn rule(arn: &str) -> String {
    format!(
        "<ReplicationConfiguration><Role></Role><Rule><ID>all</ID><Status>Enabled</Status>\
         <Priority>1</Priority><Filter><Prefix></Prefix></Filter>\
         <DeleteMarkerReplication><Status>Enabled</Status></DeleteMarkerReplication>\
         <DeleteReplication><Status>Enabled</Status></DeleteReplication>\
         <ExistingObjectReplication><Status>Enabled</Status></ExistingObjectReplication>\
         <SourceSelectionCriteria><ReplicaModifications><Status>Enabled</Status>\
         </ReplicaModifications></SourceSelectionCriteria>\
         <Destination><Bucket>{arn}</Bucket></Destination></Rule></ReplicationConfiguration>"
    )
}

/// Waits until both buckets are equal, and returns what is in them.
async fn equal(one: (&Site, &str), other: (&Site, &str)) -> BTreeMap<(String, String), String> {
    let (mut wanted, mut last) = (BTreeMap::new(), BTreeMap::new());
    // A round takes some milliseconds.
    for _ in 0..2_000 {
        // Both may change, if both are copied to.
        wanted = one.0.everything(one.1).await;
        last = other.0.everything(other.1).await;
        if last == wanted && one.0.everything(one.1).await == wanted {
            return wanted;
        }
    }
    wanted.retain(|version, shown| last.remove(version).is_none_or(|it| it != *shown));
    panic!("they stay different:\n{wanted:#?}\n{last:#?}");
}

/// Waits until the version has this status.
async fn until_status(site: &Site, path: &str, wanted: &str) {
    let mut last = None;
    for _ in 0..20_000 {
        last = site.status(path).await;
        if last.as_deref() == Some(wanted) {
            return;
        }
    }
    panic!("{path} is {last:?} and not {wanted}");
}

/// A target and a source with a rule.
async fn pair() -> (Site, Site) {
    let copy = Site::start("");
    copy.bucket("copies").await;
    let source = Site::start(&target(ARN, copy.address, "copies", ""));
    source.bucket("photos").await;
    source.put("/photos?replication", rule(ARN)).await.expect_status(200);
    (source, copy)
}

const TAGS: &str = "<Tagging><TagSet><Tag><Key>k</Key><Value>new</Value></Tag></TagSet></Tagging>";

#[tokio::test]
async fn versions_markers_tags_locks_and_parts_arrive_as_they_are() {
    let (source, copy) = pair().await;
    let first = source.version("/photos/a", "1").await;
    source.version("/photos/a", &"2".repeat(20_000)).await;
    source.version("/photos/large", &"3".repeat(700_000)).await;
    source.version("/photos/empty", "").await;
    let until = jiff::Timestamp::now() + std::time::Duration::from_secs(3600);
    let until = until.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let locked = source.request("PUT", "/photos/dir/b%20%C3%BC").body("4").headers(&[
        ("content-type", "text/plain"),
        ("cache-control", "no-store"),
        ("x-amz-meta-colour", "green"),
        ("x-amz-tagging", "k=v&l=a%20b"),
        ("x-amz-object-lock-mode", "GOVERNANCE"),
        ("x-amz-object-lock-retain-until-date", &until),
        ("x-amz-object-lock-legal-hold", "ON"),
    ]);
    locked.send().await.expect_status(200);
    let begun = source.request("POST", "/photos/parts?uploads").send().await.expect_status(200);
    let id = begun.element("UploadId");
    let mut list = String::new();
    for (number, body) in [(1, vec![5; 5 << 20]), (2, vec![6; 300_000])] {
        let path = format!("/photos/parts?partNumber={number}&uploadId={id}");
        let put = source.put(&path, body).await.expect_status(200);
        let etag = put.header("etag").expect("a tag").to_owned();
        list.push_str(&format!(
            "<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"
        ));
    }
    let list = format!("<CompleteMultipartUpload>{list}</CompleteMultipartUpload>");
    let path = format!("/photos/parts?uploadId={id}");
    source.request("POST", &path).body(list).send().await.expect_status(200);
    source.version("/photos/gone", "7").await;
    source.delete("/photos/gone").await.expect_status(204);
    let all = equal((&source, "photos"), (&copy, "copies")).await;
    assert_eq!(all.len(), 8, "{all:#?}");
    assert!(all.values().any(|shown| shown.contains("-2\"")), "an object in two parts: {all:#?}");
    until_status(&source, "/photos/parts", "COMPLETED").await;
    assert_eq!(copy.status("/copies/parts").await.as_deref(), Some("REPLICA"));

    // Changes of what is there.
    source.put("/photos/a?tagging", TAGS).await.expect_status(200);
    let path = format!("/photos/a?tagging&versionId={first}");
    source.put(&path, TAGS).await.expect_status(200);
    source.delete(&path).await.expect_status(204);
    source.put("/photos/dir/b%20%C3%BC?legal-hold", OFF).await.expect_status(200);
    let bypass = source.request("PUT", "/photos/dir/b%20%C3%BC?retention").body("<Retention/>");
    let bypass = bypass.header("x-amz-bypass-governance-retention", "true");
    bypass.send().await.expect_status(200);
    equal((&source, "photos"), (&copy, "copies")).await;
    source.delete(&format!("/photos/a?versionId={first}")).await.expect_status(204);
    let all = equal((&source, "photos"), (&copy, "copies")).await;
    assert_eq!(all.len(), 7, "{all:#?}");
    until_status(&source, "/photos/a", "COMPLETED").await;
}

const ON: &str = "<LegalHold><Status>ON</Status></LegalHold>";
const OFF: &str = "<LegalHold><Status>OFF</Status></LegalHold>";

/// The annotations of a current version: their names, and their texts.
async fn annotations(site: &Site, path: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for name in site.get(&format!("{path}?annotation")).await.elements("AnnotationName") {
        let text = site.get(&format!("{path}?annotation&annotationName={name}")).await;
        all.insert(name, String::from_utf8(text.body).expect("a text"));
    }
    all
}

/// Waits until the current version has exactly these annotations.
async fn until_annotated(site: &Site, path: &str, wanted: &[(&str, &str)]) {
    let wanted = wanted.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let (wanted, mut last) = (BTreeMap::from_iter(wanted), BTreeMap::new());
    for _ in 0..20_000 {
        last = annotations(site, path).await;
        if last == wanted {
            return;
        }
    }
    panic!("{path} has {last:?} and not {wanted:?}");
}

#[tokio::test]
async fn annotations_arrive_before_the_lock_that_keeps_them_and_after_the_one_that_did() {
    let (source, mut copy) = pair().await;
    let (changed, removed) =
        ("/photos/a?annotation&annotationName=n", "/photos/a?annotation&annotationName=gone");
    source.version("/photos/a", "1").await;
    source.put(changed, "first").await.expect_status(200);
    source.put(removed, "text").await.expect_status(200);
    until_annotated(&copy, "/copies/a", &[("gone", "text"), ("n", "first")]).await;
    copy.kill();
    source.put(changed, "second").await.expect_status(200);
    source.delete(removed).await.expect_status(204);
    source.put("/photos/a?legal-hold", ON).await.expect_status(200);
    copy.begin("");
    until_annotated(&copy, "/copies/a", &[("n", "second")]).await;
    equal((&source, "photos"), (&copy, "copies")).await;

    copy.kill();
    source.put("/photos/a?legal-hold", OFF).await.expect_status(200);
    source.put(changed, "third").await.expect_status(200);
    copy.begin("");
    until_annotated(&copy, "/copies/a", &[("n", "third")]).await;
    equal((&source, "photos"), (&copy, "copies")).await;
}

#[tokio::test]
async fn the_time_of_an_annotation_arrives_though_its_text_is_there_already() {
    let (source, copy) = pair().await;
    let annotation = "/photos/a?annotation&annotationName=n";
    source.version("/photos/a", "1").await;
    source.put(annotation, "text").await.expect_status(200);
    until_annotated(&copy, "/copies/a", &[("n", "text")]).await;
    let first = source.get("/photos/a?annotation").await.element("LastModified");
    let mut wanted = first.clone();
    // Lists have whole seconds.
    while wanted == first {
        source.put(annotation, "text").await.expect_status(200);
        wanted = source.get("/photos/a?annotation").await.element("LastModified");
    }
    until_status(&source, "/photos/a", "COMPLETED").await;
    assert_eq!(copy.get("/copies/a?annotation").await.element("LastModified"), wanted);
}

#[tokio::test]
async fn a_lock_of_the_copy_keeps_an_annotation_and_no_later_version_waits_for_its_end() {
    let (source, copy) = pair().await;
    source.version("/photos/a", "1").await;
    let annotation = "/photos/a?annotation&annotationName=n";
    source.put(annotation, "first").await.expect_status(200);
    until_annotated(&copy, "/copies/a", &[("n", "first")]).await;
    copy.put("/copies/a?legal-hold", ON).await.expect_status(200);
    source.put(annotation, "second").await.expect_status(200);
    until_status(&source, "/photos/a", "COMPLETED").await;
    assert_eq!(annotations(&copy, "/copies/a").await["n"], "first");
    source.version("/photos/a", "2").await;
    until_status(&source, "/photos/a", "COMPLETED").await;
    assert_eq!(copy.get("/copies/a").await.expect_status(200).body, b"2");
}

#[tokio::test]
async fn event_holds_arrive_and_so_does_their_release() {
    let (source, copy) = pair().await;
    // An end behind that of the hold stays where it is, so that both can be compared.
    let far = "2999-01-01T00:00:00Z";
    for (key, mode) in [("/photos/a", "GOVERNANCE"), ("/photos/b", "COMPLIANCE")] {
        let held = source.request("PUT", key).body("held").headers(&[
            ("x-amz-object-lock-mode", mode),
            ("x-amz-object-lock-retain-until-date", far),
            ("x-amz-object-lock-event-hold", "ON"),
            ("x-amz-object-lock-event-hold-duration-days", "2"),
        ]);
        held.send().await.expect_status(200);
    }
    let follows = source.request("PUT", "/photos/follows").body("held").headers(&[
        ("x-amz-object-lock-mode", "GOVERNANCE"),
        ("x-amz-object-lock-event-hold", "ON"),
        ("x-amz-object-lock-event-hold-duration-years", "1"),
    ]);
    follows.send().await.expect_status(200);
    until_status(&source, "/photos/follows", "COMPLETED").await;
    until_status(&source, "/photos/a", "COMPLETED").await;
    until_status(&source, "/photos/b", "COMPLETED").await;
    let head = copy.request("HEAD", "/copies/follows").send().await.expect_status(200);
    assert_eq!(head.header("x-amz-object-lock-event-hold"), Some("ON"));
    assert_eq!(head.header("x-amz-object-lock-event-hold-duration-years"), Some("1"));
    assert_eq!(head.header("x-amz-object-lock-mode"), Some("GOVERNANCE"));
    let version = head.header("x-amz-version-id").expect("an id").to_owned();
    let path = format!("/copies/follows?versionId={version}");
    copy.delete(&path).await.expect_error(403, "AccessDenied");

    let release = |mode: &str| {
        format!("<Retention><Mode>{mode}</Mode><EventHold>OFF</EventHold></Retention>")
    };
    for (key, mode) in [
        ("/photos/a", "GOVERNANCE"),
        ("/photos/b", "COMPLIANCE"),
        ("/photos/follows", "GOVERNANCE"),
    ] {
        source.put(&format!("{key}?retention"), release(mode)).await.expect_status(200);
    }
    let all = equal((&source, "photos"), (&copy, "copies")).await;
    let released = all.values().filter(|it| it.contains("x-amz-object-lock-event-hold=OFF"));
    assert_eq!(released.count(), 3, "{all:#?}");
}

#[tokio::test]
async fn a_target_that_is_down_costs_no_request_and_no_kill_loses_a_version() {
    let (mut source, mut copy) = pair().await;
    source.version("/photos/before", "1").await;
    equal((&source, "photos"), (&copy, "copies")).await;
    let targets = target(ARN, copy.address, "copies", "");
    for round in 0..2 {
        copy.kill();
        for number in 0..12 {
            let path = format!("/photos/{}", number % 5);
            source.version(&path, &format!("{round} {number}")).await;
            if number % 4 == 0 {
                source.delete(&path).await.expect_status(204);
            }
            if number % 3 == 0 {
                source.put("/photos/before?tagging", TAGS).await.expect_status(200);
            }
        }
        assert_eq!(source.status("/photos/before").await.as_deref(), Some("PENDING"));
        source.kill();
        copy.begin("");
        source.begin(&targets);
        // Killed again while it copies.
        source.kill();
        copy.kill();
        copy.begin("");
        source.begin(&targets);
        equal((&source, "photos"), (&copy, "copies")).await;
    }
    until_status(&source, "/photos/before", "COMPLETED").await;
}

#[tokio::test]
async fn two_servers_that_copy_to_each_other_agree_and_send_nothing_back() {
    let mut one = Site::start("");
    one.bucket("photos").await;
    let other = Site::start(&target(ARN, one.address, "photos", ""));
    other.bucket("copies").await;
    other.put("/copies?replication", rule(ARN)).await.expect_status(200);
    one.kill();
    one.begin(&target(ARN, other.address, "copies", ""));
    one.put("/photos?replication", rule(ARN)).await.expect_status(200);
    for number in 0..10 {
        let (here, there) = tokio::join!(
            one.put("/photos/a", format!("one {number}")),
            other.put("/copies/a", "2")
        );
        here.expect_status(200);
        there.expect_status(200);
        other.delete("/copies/a").await.expect_status(204);
        one.put("/photos/b", "1").await.expect_status(200);
    }
    let all = equal((&one, "photos"), (&other, "copies")).await;
    assert_eq!(all.len(), 40, "{all:#?}");
    // A change of a replica goes to where the version came from; of two, the later one counts.
    other.put("/copies/b?tagging", TAGS).await.expect_status(200);
    let all = equal((&one, "photos"), (&other, "copies")).await;
    assert_eq!(all.values().filter(|shown| shown.contains("\"new\"")).count(), 1, "{all:#?}");
    let tags = |value: &str| TAGS.replace("new", value);
    let (here, there) = tokio::join!(
        one.put("/photos/b?tagging", tags("here")),
        other.put("/copies/b?tagging", tags("there"))
    );
    here.expect_status(200);
    there.expect_status(200);
    equal((&one, "photos"), (&other, "copies")).await;
    until_status(&one, "/photos/b", "COMPLETED").await;
}

#[tokio::test]
async fn a_bucket_is_copied_to_another_one_of_the_same_server() {
    let mut site = Site::start("");
    site.bucket("photos").await;
    site.bucket("copies").await;
    site.kill();
    site.begin(&target(ARN, site.address, "copies", ""));
    site.put("/photos?replication", rule(ARN)).await.expect_status(200);
    // Bodies of these sizes are in rows of their own, with the version id as the key.
    let id = site.version("/photos/a", &"1".repeat(5_000)).await;
    site.version("/photos/a", &"2".repeat(5_000)).await;
    equal((&site, "photos"), (&site, "copies")).await;
    // Not copied: the rule of the target's bucket is none.
    site.delete(&format!("/copies/a?versionId={id}")).await.expect_status(204);
    let kept = site.get(&format!("/photos/a?versionId={id}")).await.expect_status(200);
    assert_eq!(kept.body.len(), 5_000);
}

#[tokio::test]
async fn versions_from_before_the_rule_are_copied_on_request() {
    let copy = Site::start("");
    copy.bucket("copies").await;
    let mut source = Site::start(&target(ARN, copy.address, "copies", ""));
    source.put("/photos", "").await.expect_status(200);
    source.put("/photos/null", "before versioning").await.expect_status(200);
    let enabled = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    let refused = source.put("/photos?replication", rule(ARN)).await;
    refused.expect_error(400, "InvalidRequest");
    source.put("/photos?versioning", enabled).await.expect_status(200);
    let count = effort::amount(100, 300);
    for number in 0..count {
        source
            .put(&format!("/photos/{}", number % (count / 2)), number.to_string())
            .await
            .expect_status(200);
    }
    source.put("/photos/null", "after it").await.expect_status(200);
    source.delete("/photos/7").await.expect_status(204);
    source.put("/photos?replication", rule(ARN)).await.expect_status(200);
    source.kill();
    source.begin(&target(ARN, copy.address, "copies", ""));
    let all = equal((&source, "photos"), (&copy, "copies")).await;
    assert_eq!(all.len() as u64, count + 3);
    assert!(all.contains_key(&("null".to_owned(), "null".to_owned())), "{all:#?}");
}

#[tokio::test]
async fn a_target_that_refuses_is_told_in_the_status_and_tried_again() {
    let (mut source, mut copy) = pair().await;
    source.kill();
    let wrong = target(ARN, copy.address, "copies", "").replace(ALICE.secret_key, "wrong secret");
    source.begin(&wrong);
    source.version("/photos/a", "1").await;
    until_status(&source, "/photos/a", "FAILED").await;
    source.kill();
    // Another bucket that has got the name since, without versions.
    copy.kill();
    std::fs::remove_dir_all(copy.directory.path().join("data")).expect("removed");
    copy.begin("");
    copy.put("/copies", "").await.expect_status(200);
    source.begin(&target(ARN, copy.address, "copies", ""));
    source.version("/photos/b", "1").await;
    until_status(&source, "/photos/b", "FAILED").await;
    assert_eq!(copy.everything("copies").await.len(), 0);
    let enabled = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    copy.put("/copies?versioning", enabled).await.expect_status(200);
    equal((&source, "photos"), (&copy, "copies")).await;
    until_status(&source, "/photos/a", "COMPLETED").await;
}

#[tokio::test]
async fn any_other_service_gets_versions_of_its_own() {
    let copy = Site::start("");
    copy.bucket("copies").await;
    let source = Site::start(&target(ARN, copy.address, "copies", "kind = \"s3\""));
    source.bucket("photos").await;
    source.put("/photos?replication", rule(ARN)).await.expect_status(200);
    let id = source.version("/photos/a", "1").await;
    until_status(&source, "/photos/a", "COMPLETED").await;
    let head = copy.request("HEAD", "/copies/a").send().await.expect_status(200);
    let chosen = head.header("x-amz-version-id").expect("an id").to_owned();
    assert_ne!(chosen, id);
    assert_eq!(head.header("x-amz-replication-status"), None);
    source.version("/photos/a", "2").await;
    let path = format!("/photos/a?tagging&versionId={id}");
    source.put(&path, TAGS).await.expect_status(200);
    until_status(&source, &format!("/photos/a?versionId={id}"), "COMPLETED").await;
    until_status(&source, "/photos/a", "COMPLETED").await;
    let tags = copy.get(&format!("/copies/a?tagging&versionId={chosen}")).await.expect_status(200);
    assert_eq!(tags.element("Value"), "new");
    assert_eq!(copy.get("/copies/a").await.expect_status(200).text(), "2");
    source.delete(&format!("/photos/a?versionId={id}")).await.expect_status(204);
    loop {
        if copy.get(&format!("/copies/a?versionId={chosen}")).await.status == 404 {
            break;
        }
    }
}

#[tokio::test]
async fn ten_thousand_versions_arrive_though_both_servers_are_killed() {
    if std::env::var("LITEIO_TESTS").as_deref() != Ok("full") {
        return;
    }
    let (mut source, mut copy) = pair().await;
    let targets = target(ARN, copy.address, "copies", "");
    for round in 0..10 {
        if round % 2 == 1 {
            copy.kill();
        }
        for number in 0..1_000 {
            let path = format!("/photos/{:04}", (round * 1_000 + number) % 3_000);
            let put = source.request("PUT", &path).body(format!("{round} {number}"));
            let put = match number % 10 {
                0 => put.header("x-amz-tagging", "k=v"),
                1 => put.header("x-amz-object-lock-legal-hold", "ON"),
                _ => put,
            };
            put.send().await.expect_status(200);
            match number % 20 {
                5 => drop(source.delete(&path).await.expect_status(204)),
                6 => drop(source.put(&format!("{path}?tagging"), TAGS).await.expect_status(200)),
                _ => {}
            }
        }
        source.kill();
        source.begin(&targets);
        if round % 2 == 1 {
            copy.begin("");
        }
    }
    copy.kill();
    copy.begin("");
    let all = equal((&source, "photos"), (&copy, "copies")).await;
    assert_eq!(all.len(), 10_500);
}
