//! Inventories: their schedule, their objects in the destination, and their contents.

use std::io::Read as _;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use flate2::read::GzDecoder;
use liteio::{Server, TestAccess};
use md5::{Digest as _, Md5};
use serde_json::{Value, json};

use crate::harness::{self, ACCOUNTS, BOB, RawRequest, TestServer};
use crate::parquet_reader::{self, Cell};
use crate::test_api::told;

const ALL_FIELDS: [&str; 17] = [
    "Size",
    "LastModifiedDate",
    "StorageClass",
    "ETag",
    "IsMultipartUploaded",
    "ReplicationStatus",
    "EncryptionStatus",
    "ObjectLockRetainUntilDate",
    "ObjectLockMode",
    "ObjectLockLegalHoldStatus",
    "ObjectLockEventHoldStatus",
    "IntelligentTieringAccessTier",
    "BucketKeyStatus",
    "ChecksumAlgorithm",
    "ObjectAccessControlList",
    "ObjectOwner",
    "LifecycleExpirationDate",
];

/// A configuration of an inventory.
struct Inventory<'i> {
    format: &'i str,
    versions: &'i str,
    frequency: &'i str,
    fields: &'i [&'i str],
    /// Elements of the destination besides its bucket and format.
    destination: &'i str,
    filter: &'i str,
}

const DAILY: Inventory<'_> = Inventory {
    format: "CSV",
    versions: "Current",
    frequency: "Daily",
    fields: &[],
    destination: "<Prefix>inv</Prefix>",
    filter: "",
};

impl Inventory<'_> {
    fn document(&self) -> String {
        let Inventory { format, versions, frequency, fields, destination, filter } = self;
        let fields: String = fields.iter().map(|it| format!("<Field>{it}</Field>")).collect();
        format!(
            "<InventoryConfiguration><Id>all</Id><IsEnabled>true</IsEnabled>{filter}<Destination>\
             <S3BucketDestination><Format>{format}</Format><Bucket>arn:aws:s3:::lists</Bucket>\
             {destination}</S3BucketDestination></Destination><Schedule><Frequency>{frequency}\
             </Frequency></Schedule><IncludedObjectVersions>{versions}</IncludedObjectVersions>\
             <OptionalFields>{fields}</OptionalFields></InventoryConfiguration>"
        )
    }
}

/// The policy that AWS documents for destinations of inventories.
fn policy(source: &str, account: &str) -> String {
    format!(
        r#"{{"Version": "2012-10-17", "Statement": [{{
            "Effect": "Allow", "Principal": {{"Service": "s3.amazonaws.com"}},
            "Action": "s3:PutObject", "Resource": ["arn:aws:s3:::lists/*"],
            "Condition": {{
                "ArnLike": {{"aws:SourceArn": "arn:aws:s3:::{source}"}},
                "StringEquals": {{
                    "aws:SourceAccount": "{account}", "s3:x-amz-acl": "bucket-owner-full-control"
                }}
            }}}}]}}"#
    )
}

async fn server() -> TestServer {
    harness::start_with("memory", "us-east-1", |builder, directory| {
        let file = directory.join("accounts.toml");
        std::fs::write(&file, ACCOUNTS).expect("the users are written");
        builder.credentials_file(file).test_api(TestAccess::Local)
    })
    .await
}

/// Makes the buckets `source` and `lists`, and lets inventories of the first into the second.
async fn prepare(server: &TestServer) {
    // Far from midnight.
    told(server, "PUT", "/clock", json!({ "now": "2030-06-03T12:00:00Z" })).await;
    server.bucket("source").await;
    server.bucket("lists").await;
    server.put("/lists?policy", policy("source", "111111111111")).await.expect_status(204);
}

/// Moves the clock, and writes what is due then.
async fn advance(server: &TestServer, milliseconds: u64) {
    told(server, "PUT", "/clock", json!({ "advance_ms": milliseconds })).await;
}

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

async fn keys(server: &TestServer, suffix: &str) -> Vec<String> {
    let listed = server.get("/lists?list-type=2").await.expect_status(200);
    listed.elements("Key").into_iter().filter(|key| key.ends_with(suffix)).collect()
}

/// The keys with this end, as soon as there are `count`.
async fn await_keys(server: &TestServer, suffix: &str, count: usize) -> Vec<String> {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let found = keys(server, suffix).await;
        if found.len() >= count {
            return found;
        }
        assert!(Instant::now() < end, "only {found:?}");
    }
}

/// The only complete inventory: its manifest, checked against its checksum, and its data files.
async fn inventory(server: &TestServer) -> (Value, Vec<Vec<u8>>) {
    let checksums = await_keys(server, "/manifest.checksum", 1).await;
    let [checksum] = &checksums[..] else { panic!("{checksums:?}") };
    let read = async |key: &str| server.get(&format!("/lists/{key}")).await.expect_status(200);
    let manifest = read(&checksum.replace(".checksum", ".json")).await;
    let md5 = read(checksum).await.text();
    assert_eq!(hex(&Md5::digest(&manifest.body)), md5);
    let manifest: Value = serde_json::from_slice(&manifest.body).expect("JSON");
    let mut data = Vec::new();
    let mut links = String::new();
    for file in manifest["files"].as_array().expect("files") {
        let key = file["key"].as_str().expect("a key");
        let body = read(key).await.body;
        assert_eq!(file["size"], body.len());
        assert_eq!(file["MD5checksum"], hex(&Md5::digest(&body)));
        links.push_str(&format!("s3://lists/{key}\n"));
        data.push(body);
    }
    let symlinks = keys(server, "/symlink.txt").await;
    assert_eq!(read(&symlinks[0]).await.text(), links);
    (manifest, data)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn csv(data: &[Vec<u8>]) -> String {
    let mut text = String::new();
    for file in data {
        GzDecoder::new(&file[..]).read_to_string(&mut text).expect("gzip");
    }
    text
}

#[tokio::test]
async fn a_new_inventory_is_written_at_once_as_csv() {
    let server = server().await;
    prepare(&server).await;
    server.put("/source/a%20b%2C%22%C3%A4", "0123").await.expect_status(200);
    server.put("/source/other/x", "").await.expect_status(200);
    server.put("/source/other/y", "12").await.expect_status(200);
    let filter = "<Filter><Prefix>other/</Prefix></Filter>";
    let fields = &["Size", "ETag", "StorageClass", "IsMultipartUploaded", "EncryptionStatus"];
    let wanted = Inventory { fields, ..DAILY }.document();
    server.put("/source?inventory&id=all", wanted).await.expect_status(204);
    let (manifest, data) = inventory(&server).await;
    assert_eq!(manifest["sourceBucket"], "source");
    assert_eq!(manifest["destinationBucket"], "arn:aws:s3:::lists");
    assert_eq!(
        (&manifest["version"], &manifest["fileFormat"]),
        (&json!("2016-11-30"), &json!("CSV"))
    );
    assert_eq!(
        manifest["fileSchema"],
        "Bucket, Key, Size, ETag, StorageClass, IsMultipartUploaded, EncryptionStatus"
    );
    let key = manifest["files"][0]["key"].as_str().expect("a key");
    assert!(key.starts_with("inv/source/all/data/") && key.ends_with(".csv.gz"), "{key}");
    let manifests = keys(&server, "/manifest.json").await;
    let stamp = manifests[0].strip_prefix("inv/source/all/").expect("a prefix");
    let shape: String =
        stamp.chars().map(|it| if it.is_ascii_digit() { '0' } else { it }).collect();
    assert_eq!(shape, "0000-00-00T00-00Z/manifest.json");
    let links = keys(&server, "/symlink.txt").await;
    assert!(links[0].starts_with("inv/source/all/hive/dt=20"), "{links:?}");
    let text = csv(&data);
    let lines: Vec<&str> = text.lines().collect();
    let expected = "\"source\",\"a%20b%2C%22%C3%A4\",\"4\",\"eb62f6b9306db575c2d596b1279627a4\",\
                    \"STANDARD\",\"false\",\"NOT-SSE\"";
    assert_eq!((lines.len(), lines[0]), (3, expected));
    // A filter, from the next day on.
    let filtered = Inventory { filter, ..DAILY }.document();
    server.put("/source?inventory&id=all", filtered).await.expect_status(204);
    advance(&server, DAY_MS).await;
    let manifests = await_keys(&server, "/manifest.json", 2).await;
    let manifest = server.get(&format!("/lists/{}", manifests[1])).await.text();
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    let key = manifest["files"][0]["key"].as_str().expect("a key").to_owned();
    let data = server.get(&format!("/lists/{key}")).await.body;
    assert_eq!(csv(&[data]), "\"source\",\"other/x\"\n\"source\",\"other/y\"\n");
}

#[tokio::test]
async fn all_versions_and_fields_are_written_as_parquet() {
    let server = server().await;
    prepare(&server).await;
    let versioning = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    server.put("/source?versioning", versioning).await.expect_status(200);
    let first = server.put("/source/%C3%A4%20b", "0123").await.expect_status(200);
    let first = first.header("x-amz-version-id").expect("a version").to_owned();
    server.put("/source/%C3%A4%20b", "01234567").await.expect_status(200);
    server.delete("/source/%C3%A4%20b").await.expect_status(204);
    for number in 0..20 {
        server.put(&format!("/source/n/{number:02}"), "x").await.expect_status(200);
    }
    let wanted =
        Inventory { format: "Parquet", versions: "All", fields: &ALL_FIELDS, ..DAILY }.document();
    server.put("/source?inventory&id=all", wanted).await.expect_status(204);
    let (manifest, data) = inventory(&server).await;
    assert_eq!(manifest["fileFormat"], "Parquet");
    let schema = manifest["fileSchema"].as_str().expect("a schema");
    assert!(
        schema.starts_with("message s3.inventory { required binary bucket (STRING);"),
        "{schema}"
    );
    assert!(
        schema.contains("optional int64 last_modified_date (TIMESTAMP(MILLIS,true));"),
        "{schema}"
    );
    let columns = parquet_reader::columns(&data[0]);
    assert_eq!(columns.len(), 5 + ALL_FIELDS.len());
    let column = |name: &str| &columns[name];
    let text = |text: &str| Cell::Text(text.to_owned());
    assert_eq!(column("key").len(), 23);
    assert!(column("bucket").iter().all(|it| *it == text("source")));
    let at = |key: &str| column("key").iter().position(|it| *it == text(key)).expect("a row");
    let object = at("n/00");
    assert_eq!(column("size")[object], Cell::Int(1));
    assert_eq!(column("is_latest")[object], Cell::Bool(true));
    assert_eq!(column("is_delete_marker")[object], Cell::Bool(false));
    assert_eq!(column("e_tag")[object], text("9dd4e461268c8034f5c8564e155c67a6"));
    assert_eq!(column("storage_class")[object], text("STANDARD"));
    assert_eq!(column("encryption_status")[object], text("NOT-SSE"));
    assert_eq!(column("bucket_key_status")[object], text("DISABLED"));
    assert_eq!(column("checksum_algorithm")[object], text("CRC64NVME"));
    assert_eq!(column("object_owner")[object], text("alice-id"));
    assert_eq!(column("replication_status")[object], Cell::Null);
    assert_eq!(column("object_lock_mode")[object], Cell::Null);
    let Cell::Int(modified) = column("last_modified_date")[object] else { panic!("no time") };
    let created: i64 = manifest["creationTimestamp"].as_str().expect("text").parse().expect("ms");
    assert!((created - 600_000..=created + 1000).contains(&modified), "{modified} {created}");
    // Newest first: the delete marker, then two versions.
    let marker = at("ä b");
    assert_eq!(column("is_delete_marker")[marker], Cell::Bool(true));
    assert_eq!(column("size")[marker], Cell::Null);
    assert_eq!(column("size")[marker + 1..marker + 3], [Cell::Int(8), Cell::Int(4)]);
    assert_eq!(column("version_id")[marker + 2], text(&first));
    assert_eq!(column("is_latest")[marker + 2], Cell::Bool(false));
}

#[tokio::test]
async fn inventories_are_written_each_day_or_week_and_not_more_often() {
    let server = server().await;
    prepare(&server).await;
    server.put("/source/key", "x").await.expect_status(200);
    // A Saturday.
    told(&server, "PUT", "/clock", json!({ "now": "2030-11-30T12:00:00Z" })).await;
    let weekly = Inventory { frequency: "Weekly", destination: "<Prefix>w</Prefix>", ..DAILY };
    let weekly = weekly.document().replace("<Id>all<", "<Id>weekly<");
    server.put("/source?inventory&id=all", DAILY.document()).await.expect_status(204);
    server.put("/source?inventory&id=weekly", weekly).await.expect_status(204);
    advance(&server, 1).await;
    let count = async |prefix: &str| {
        let checksums = keys(&server, "/manifest.checksum").await;
        checksums.iter().filter(|key| key.starts_with(prefix)).count()
    };
    assert_eq!((count("inv/").await, count("w/").await), (1, 1));
    advance(&server, 60_000).await;
    assert_eq!((count("inv/").await, count("w/").await), (1, 1), "the same day");
    advance(&server, DAY_MS).await;
    assert_eq!((count("inv/").await, count("w/").await), (2, 2), "Sunday");
    advance(&server, DAY_MS).await;
    assert_eq!((count("inv/").await, count("w/").await), (3, 2), "Monday");
    let disabled = DAILY.document().replace("<IsEnabled>true", "<IsEnabled>false");
    server.put("/source?inventory&id=all", disabled).await.expect_status(204);
    server.delete("/source?inventory&id=weekly").await.expect_status(204);
    advance(&server, 8 * DAY_MS).await;
    assert_eq!((count("inv/").await, count("w/").await), (3, 2), "disabled, and deleted");
}

#[tokio::test]
async fn nothing_is_written_that_the_destination_does_not_allow() {
    let server = server().await;
    prepare(&server).await;
    server.put("/source/key", "x").await.expect_status(200);
    let failures = async || {
        let page = server.get("/_liteio/metrics").await.expect_status(200).text();
        let name = "liteio_inventory_failures_total ";
        let line = page.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
        line.expect("a metric").parse::<f64>().expect("a number")
    };
    server.put("/lists?policy", policy("other", "111111111111")).await.expect_status(204);
    server.put("/source?inventory&id=all", DAILY.document()).await.expect_status(204);
    advance(&server, 1).await;
    let refused = [
        Some(policy("source", "222222222222")),
        Some(policy("source", "111111111111").replace("Allow", "Deny")),
        Some(policy("source", "111111111111").replace("s3.amazonaws", "logging.s3.amazonaws")),
        None,
    ];
    for policy in refused {
        match policy {
            Some(policy) => server.put("/lists?policy", policy).await.expect_status(204),
            None => server.delete("/lists?policy").await.expect_status(204),
        };
        let before = failures().await;
        advance(&server, 1).await;
        assert!(failures().await > before);
    }
    assert_eq!(keys(&server, "").await, [""; 0]);
    // The account of the destination, if the configuration names it.
    server.put("/lists?policy", policy("source", "111111111111")).await.expect_status(204);
    for (account, count) in [("222222222222", 0), ("111111111111", 1)] {
        let destination = format!("<AccountId>{account}</AccountId>");
        let wanted = Inventory { destination: &destination, ..DAILY }.document();
        server.put("/source?inventory&id=all", wanted).await.expect_status(204);
        advance(&server, 1).await;
        assert_eq!(keys(&server, "/manifest.checksum").await.len(), count, "{account}");
    }
}

#[tokio::test]
async fn the_destination_of_another_account_decides() {
    let server = server().await;
    server.bucket("source").await;
    server.put("/source/key", "x").await.expect_status(200);
    server.request("PUT", "/lists").by(BOB).send().await.expect_status(200);
    let put = server.request("PUT", "/lists?policy").by(BOB);
    put.body(policy("source", "111111111111")).send().await.expect_status(204);
    server.put("/source?inventory&id=all", DAILY.document()).await.expect_status(204);
    advance(&server, 1).await;
    let listed = server.request("GET", "/lists?list-type=2").by(BOB).send().await;
    assert_eq!(listed.elements("Key").len(), 4);
    // What is delivered belongs to the owner of the destination.
    let listed = server.request("GET", "/lists?versions").by(BOB).send().await;
    assert!(listed.elements("ID").iter().all(|owner| owner == "bob-id"));
}

#[tokio::test]
async fn what_is_not_written_is_refused() {
    let server = harness::with_keys().await.into_iter().next().expect("a server");
    server.bucket("source").await;
    let put = async |inventory: Inventory<'_>| {
        server.put("/source?inventory&id=all", inventory.document()).await
    };
    put(Inventory { format: "ORC", ..DAILY }).await.expect_error(501, "NotImplemented");
    put(Inventory { format: "JSON", ..DAILY }).await.expect_error(400, "MalformedXML");
    let unknown = "<Encryption><SSE-KMS><KeyId>none</KeyId></SSE-KMS></Encryption>";
    let reply = put(Inventory { destination: unknown, ..DAILY }).await;
    reply.expect_error(400, "KMS.NotFoundException");
}

#[tokio::test]
async fn files_are_encrypted_as_configured() {
    for server in harness::with_keys().await {
        server.bucket("source").await;
        server.bucket("lists").await;
        let allow = policy("source", "*").replace("StringEquals", "StringLike");
        server.put("/lists?policy", allow).await.expect_status(204);
        server.put("/source/key", "x").await.expect_status(200);
        let rows = [
            ("<Encryption><SSE-S3/></Encryption><Prefix>s3</Prefix>", "AES256"),
            (
                "<Encryption><SSE-KMS><KeyId>second</KeyId></SSE-KMS></Encryption><Prefix>k</Prefix>",
                "aws:kms",
            ),
        ];
        for (at, (destination, method)) in rows.into_iter().enumerate() {
            let wanted = Inventory { destination, ..DAILY }.document();
            let wanted = wanted.replace("<Id>all<", &format!("<Id>{at}<"));
            let path = format!("/source?inventory&id={at}");
            server.put(&path, wanted).await.expect_status(204);
            await_keys(&server, "/manifest.checksum", at + 1).await;
            for key in keys(&server, "").await {
                let is_of = key.starts_with("k/") == (method == "aws:kms");
                let head = server.head(&format!("/lists/{key}")).await.expect_status(200);
                let found = head.header("x-amz-server-side-encryption");
                assert_eq!(found == Some(method), is_of, "{key}: {found:?}");
            }
        }
    }
}

/// A restart writes no inventory a second time, and none is missed that was due meanwhile.
#[tokio::test]
async fn a_restart_neither_skips_an_inventory_nor_doubles_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = async || {
        let builder = Server::builder().data_dir(folder.path());
        let builder = builder.credentials("alice-key", "alice's secret");
        let server = builder.test_api(TestAccess::Local).spawn().await.expect("starts");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        let to_noon = DAY_MS * 3 / 2 - now.as_millis() as u64 % DAY_MS;
        let control = server.test_control().expect("it has the test API");
        control.advance_ms(i64::try_from(to_noon).expect("small")).await.expect("advanced");
        server
    };
    let server = start().await;
    let ask = |server: &liteio::ServerHandle, method, path: &str, body: &str| {
        RawRequest::of_s3(server.address(), "us-east-1", method, path).body(body).send_owned()
    };
    let allow = policy("source", "*").replace("StringEquals", "StringLike");
    for (path, body) in [
        ("/source", ""),
        ("/lists", ""),
        ("/lists?policy", &*allow),
        ("/source/key", "x"),
        ("/source?inventory&id=all", &*DAILY.document()),
    ] {
        let reply = ask(&server, "PUT", path, body).await;
        assert!(reply.status < 300, "{}", reply.everything());
    }
    let control = server.test_control().expect("it has the test API");
    control.advance_ms(1).await.expect("advanced");
    let keys = async |server: &liteio::ServerHandle| {
        let listed = ask(server, "GET", "/lists?list-type=2", "").await.expect_status(200);
        listed.elements("Key")
    };
    let written = keys(&server).await;
    assert_eq!(written.len(), 4, "{written:?}");
    let modified = async |server: &liteio::ServerHandle| {
        let listed = ask(server, "GET", "/lists?list-type=2", "").await.expect_status(200);
        listed.elements("LastModified")
    };
    let times = modified(&server).await;
    server.stop().await;
    let server = start().await;
    let control = server.test_control().expect("it has the test API");
    control.advance_ms(2000).await.expect("advanced");
    assert_eq!((keys(&server).await, modified(&server).await), (written.clone(), times));
    control.advance_ms(i64::try_from(3 * DAY_MS).expect("small")).await.expect("advanced");
    assert_eq!(keys(&server).await.len(), 2 * written.len(), "one for the days that passed");
    server.stop().await;
}
