//! Metrics: who may read them, what they say, and the documents that explain them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use hmac::{Hmac, KeyInit as _, Mac as _};
use liteio::MetricsAuth;
use serde_json::{Value, json};
use sha2::Sha512;

use crate::admin::send;
use crate::harness::{
    ACCOUNTS, ALICE, BOB, CAROL, RawRequest, TestServer, User, both, in_memory_with_users, memory,
    start_with,
};
use crate::reply::Reply;

pub(crate) const OWN: &str = "/_liteio/metrics";
const PATHS: [&str; 5] = [
    OWN,
    "/minio/v2/metrics/cluster",
    "/minio/v2/metrics/node",
    "/minio/v2/metrics/bucket",
    "/minio/prometheus/metrics",
];

/// The samples of a page, by name and labels as they are written.
pub(crate) fn samples(page: &str) -> BTreeMap<String, f64> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        (name.to_owned(), value.parse().expect("a number"))
    };
    lines.map(sample).collect()
}

/// The metrics of a page, those without samples, too.
fn names(page: &str) -> BTreeSet<String> {
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.map(|line| line.split(' ').next().expect("a name").to_owned()).collect()
}

pub(crate) async fn scrape(server: &TestServer, path: &str) -> BTreeMap<String, f64> {
    samples(&server.get(path).await.expect_status(200).text())
}

fn token(user: User, claims: &Value) -> String {
    let coded = |bytes: &[u8]| base64_simd::URL_SAFE_NO_PAD.encode_to_string(bytes);
    let header = coded(br#"{"alg":"HS512","typ":"JWT"}"#);
    let signed = format!("{header}.{}", coded(claims.to_string().as_bytes()));
    let mut mac = Hmac::<Sha512>::new_from_slice(user.secret_key.as_bytes()).expect("a key");
    mac.update(signed.as_bytes());
    format!("{signed}.{}", coded(&mac.finalize().into_bytes()))
}

/// As `mc admin prometheus generate` makes it.
pub(crate) fn good(user: User) -> String {
    let claims = json!({"exp": 4_810_072_144_u64, "iss": "prometheus", "sub": user.access_key});
    token(user, &claims)
}

pub(crate) async fn with_token(request: RawRequest<'_>, token: &str) -> Reply {
    request.anonymous().header("authorization", format!("Bearer {token}")).send().await
}

#[tokio::test]
async fn requests_are_counted_by_operation_status_and_code() {
    let server = memory().await;
    server.bucket("photos").await;
    server.put("/photos/cat", "meow").await.expect_status(200);
    for _ in 0..3 {
        server.get("/photos/cat").await.expect_status(200);
    }
    server.get("/photos/dog").await.expect_error(404, "NoSuchKey");
    let unchanged = server.request("HEAD", "/photos/cat").header("if-none-match", "*");
    unchanged.send().await.expect_status(304);
    server.vectors("ListVectorBuckets", "{}").send().await.expect_status(200);
    server.form("iam", "Action=ListUsers").send().await.expect_status(200);
    let found = scrape(&server, OWN).await;
    let expected = [
        (r#"liteio_requests_total{operation="GetObject",status="2xx"}"#, 3.0),
        (r#"liteio_requests_total{operation="GetObject",status="4xx"}"#, 1.0),
        (r#"liteio_requests_total{operation="HeadObject",status="3xx"}"#, 1.0),
        (r#"liteio_requests_total{operation="PutObject",status="2xx"}"#, 1.0),
        (r#"liteio_requests_total{operation="ListVectorBuckets",status="2xx"}"#, 1.0),
        (r#"liteio_requests_total{operation="ListUsers",status="2xx"}"#, 1.0),
        (r#"liteio_request_errors_total{operation="GetObject",code="NoSuchKey"}"#, 1.0),
        (r#"liteio_request_duration_seconds_bucket{operation="GetObject",le="+Inf"}"#, 4.0),
        (r#"liteio_request_duration_seconds_count{operation="GetObject"}"#, 4.0),
        (r#"liteio_received_bytes_total{operation="PutObject"}"#, 4.0),
        ("liteio_store_ready", 1.0),
        ("liteio_buckets", 1.0),
        ("liteio_vector_indexes", 0.0),
    ];
    for (name, value) in expected {
        assert_eq!(found.get(name), Some(&value), "{name} of {found:#?}");
    }
    let is_no_error = |name: &String| !name.contains("NotModified");
    assert!(found.keys().all(is_no_error), "an object that has not changed is none: {found:#?}");
    let sent = found[r#"liteio_sent_bytes_total{operation="GetObject"}"#];
    assert!(sent > 12.0, "three bodies, and the document of an error: {sent}");
    let seconds = found[r#"liteio_request_duration_seconds_sum{operation="GetObject"}"#];
    assert!(seconds > 0.0 && seconds < 60.0);
    let first = r#"liteio_request_first_byte_seconds_count{operation="GetObject"}"#;
    assert_eq!(found[first], 4.0);
    let first_byte = found[r#"liteio_request_first_byte_seconds_sum{operation="GetObject"}"#];
    assert!(first_byte > 0.0 && first_byte <= seconds, "{first_byte} of {seconds}");
    // This very request.
    assert_eq!(found[r#"liteio_budget_used{resource="requests"}"#], 1.0);
    assert!(found[r#"liteio_budget_used{resource="connections"}"#] >= 1.0);
    assert!(found[r#"liteio_budget_limit{resource="connections"}"#] > 1.0);
    assert!(found["liteio_store_commits_total"] >= 2.0);
    assert!(found["process_cpu_seconds_total"] > 0.0);
}

/// Operations of the REST catalog and of S3 Tables.
#[tokio::test]
async fn operations_of_catalogs_are_counted_by_name_and_code() {
    let server = memory().await;
    server.bucket("lake").await;
    let namespaces = "/_iceberg/v1/lake/namespaces";
    let create = || {
        let request = server.request("POST", namespaces).for_service("s3tables");
        request.body(r#"{"namespace":["sales"]}"#)
    };
    create().send().await.expect_status(200);
    create().send().await.expect_status(409);
    let ask = |path: &str| server.request("GET", path).for_service("s3tables");
    ask(&format!("{namespaces}/sales/tables/none")).send().await.expect_status(404);
    ask("/buckets").send().await.expect_status(200);
    let missing = "arn%3Aaws%3As3tables%3Aus-east-1%3A123456789012%3Abucket%2Fnone";
    ask(&format!("/buckets/{missing}")).send().await.expect_status(404);
    let found = scrape(&server, OWN).await;
    for (name, value) in [
        (r#"liteio_requests_total{operation="CreateNamespace",status="2xx"}"#, 1.0),
        (r#"liteio_requests_total{operation="CreateNamespace",status="4xx"}"#, 1.0),
        (
            r#"liteio_request_errors_total{operation="CreateNamespace",code="AlreadyExistsException"}"#,
            1.0,
        ),
        (r#"liteio_request_errors_total{operation="LoadTable",code="NoSuchTableException"}"#, 1.0),
        (r#"liteio_requests_total{operation="ListTableBuckets",status="2xx"}"#, 1.0),
        (
            r#"liteio_request_errors_total{operation="GetTableBucket",code="NotFoundException"}"#,
            1.0,
        ),
        (r#"liteio_request_duration_seconds_count{operation="CreateNamespace"}"#, 2.0),
        (r#"liteio_received_bytes_total{operation="CreateNamespace"}"#, 46.0),
    ] {
        assert_eq!(found.get(name), Some(&value), "{name} of {found:#?}");
    }
    let seconds = found[r#"liteio_request_duration_seconds_sum{operation="CreateNamespace"}"#];
    assert!(seconds > 0.0 && seconds < 60.0);
}

/// docs/metrics.md names each operation of the catalog.
#[test]
fn operations_of_the_catalog_are_in_the_documents() {
    let page = document("metrics.md");
    let of_catalog = liteio_tables::operation_names();
    // Those of S3 Tables have AWS's names, and two are known and not served.
    let of_catalog = of_catalog.take_while(|name| *name != "CreateTableBucket");
    let served = of_catalog.filter(|name| !matches!(*name, "PlanTableScan" | "FetchScanTasks"));
    for name in served {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}

#[tokio::test]
async fn a_histogram_never_falls() {
    let server = memory().await;
    server.bucket("photos").await;
    for _ in 0..20 {
        server.get("/photos").await.expect_status(200);
    }
    let page = server.get(OWN).await.expect_status(200).text();
    let mut last = BTreeMap::new();
    for line in
        page.lines().filter(|line| line.starts_with("liteio_request_duration_seconds_bucket"))
    {
        let (name, value) = line.rsplit_once(' ').expect("a value");
        let operation = name.split(",le=").next().expect("an operation").to_owned();
        let value: u64 = value.parse().expect("a count");
        let before = last.insert(operation, value).unwrap_or(0);
        assert!(before <= value, "{line}");
    }
    assert!(last.len() >= 2);
}

#[tokio::test]
async fn buckets_tell_their_objects_and_bytes() {
    for server in both().await {
        server.bucket("photos").await;
        server.bucket("empty").await;
        server.put("/photos/cat", "meow").await.expect_status(200);
        server.put("/photos/dog", "w".repeat(100_000)).await.expect_status(200);
        let found = scrape(&server, OWN).await;
        for (name, value) in [
            (r#"liteio_bucket_objects{bucket="photos"}"#, 2.0),
            (r#"liteio_bucket_versions{bucket="photos"}"#, 2.0),
            (r#"liteio_bucket_delete_markers{bucket="photos"}"#, 0.0),
            (r#"liteio_bucket_bytes{bucket="photos"}"#, 100_004.0),
            (r#"liteio_bucket_bytes{bucket="empty"}"#, 0.0),
            ("liteio_objects", 2.0),
            ("liteio_stored_bytes", 100_004.0),
            ("liteio_buckets_counting", 0.0),
        ] {
            assert_eq!(found.get(name), Some(&value), "{}: {name}", server.backend);
        }
        let has_device = found.contains_key("liteio_store_capacity_bytes");
        assert_eq!(has_device, server.backend == "directory");
        server.delete("/photos/cat").await.expect_status(204);
        server.delete("/empty").await.expect_status(204);
        let found = scrape(&server, OWN).await;
        assert_eq!(found[r#"liteio_bucket_bytes{bucket="photos"}"#], 100_000.0);
        assert!(!found.contains_key(r#"liteio_bucket_bytes{bucket="empty"}"#));
    }
}

#[tokio::test]
async fn buckets_tell_their_quota_and_their_traffic() {
    let server = memory().await;
    for bucket in ["photos", "silent"] {
        server.bucket(bucket).await;
    }
    let quota = json!({ "size": 1000, "quotatype": "hard" }).to_string();
    let set = send(&server, ALICE, "PUT", "set-bucket-quota?bucket=photos", quota).await;
    set.expect_status(200);
    server.put("/photos/cat", "meow").await.expect_status(200);
    for _ in 0..3 {
        server.get("/photos/cat").await.expect_status(200);
    }
    server.get("/nothing/cat").await.expect_error(404, "NoSuchBucket");
    let found = scrape(&server, OWN).await;
    for (name, value) in [
        (r#"liteio_bucket_quota_bytes{bucket="photos"}"#, Some(1000.0)),
        (r#"liteio_bucket_quota_bytes{bucket="silent"}"#, None),
        (r#"liteio_bucket_received_bytes_total{bucket="photos"}"#, Some(4.0)),
        (r#"liteio_bucket_sent_bytes_total{bucket="photos"}"#, Some(12.0)),
        (r#"liteio_bucket_sent_bytes_total{bucket="nothing"}"#, None),
        (r#"liteio_bucket_sent_bytes_total{bucket="_others"}"#, None),
    ] {
        assert_eq!(found.get(name).copied(), value, "{name} of {found:#?}");
    }
    let bucket = scrape(&server, "/minio/v2/metrics/bucket").await;
    for (name, value) in [
        (r#"minio_bucket_quota_total_bytes{bucket="photos",server="liteio"}"#, 1000.0),
        (r#"minio_bucket_traffic_received_bytes{bucket="photos",server="liteio"}"#, 4.0),
        (r#"minio_bucket_traffic_sent_bytes{bucket="photos",server="liteio"}"#, 12.0),
    ] {
        assert_eq!(bucket.get(name), Some(&value), "{name} of {bucket:#?}");
    }
}

#[tokio::test]
async fn minios_dashboards_find_their_names() {
    let [_, server] = both().await;
    server.bucket("photos").await;
    server.put("/photos/cat", "meow").await.expect_status(200);
    server.get("/photos/dog").await.expect_error(404, "NoSuchKey");
    let cluster = scrape(&server, "/minio/v2/metrics/cluster").await;
    for (name, value) in [
        (r#"minio_cluster_bucket_total{server="liteio"}"#, 1.0),
        (r#"minio_cluster_usage_object_total{server="liteio"}"#, 1.0),
        (r#"minio_cluster_usage_total_bytes{server="liteio"}"#, 4.0),
        (r#"minio_cluster_drive_online_total{server="liteio"}"#, 1.0),
        (r#"minio_cluster_health_status{server="liteio"}"#, 1.0),
        (r#"minio_s3_requests_total{api="putobject",server="liteio"}"#, 1.0),
        (r#"minio_s3_requests_total{api="putbucket",server="liteio"}"#, 1.0),
        (r#"minio_s3_requests_errors_total{api="getobject",server="liteio"}"#, 1.0),
        (r#"minio_s3_requests_4xx_errors_total{api="getobject",server="liteio"}"#, 1.0),
        (r#"minio_s3_traffic_received_bytes{server="liteio"}"#, 4.0),
    ] {
        assert_eq!(cluster.get(name), Some(&value), "{name} of {cluster:#?}");
    }
    let capacity = cluster[r#"minio_cluster_capacity_usable_total_bytes{server="liteio"}"#];
    assert!(capacity > cluster[r#"minio_cluster_capacity_usable_free_bytes{server="liteio"}"#]);
    let bucket = scrape(&server, "/minio/v2/metrics/bucket").await;
    assert_eq!(bucket[r#"minio_bucket_usage_total_bytes{bucket="photos",server="liteio"}"#], 4.0);
    assert_eq!(bucket[r#"minio_bucket_usage_object_total{bucket="photos",server="liteio"}"#], 1.0);
    let node = scrape(&server, "/minio/v2/metrics/node").await;
    assert!(node[r#"minio_node_process_uptime_seconds{server="liteio"}"#] < 100_000.0);
    assert!(node[r#"minio_node_drive_total_bytes{drive="data",server="liteio"}"#] > 0.0);
    let all = scrape(&server, "/minio/prometheus/metrics").await;
    for page in [cluster, bucket, node] {
        assert!(page.keys().all(|name| all.contains_key(name)));
    }
    for path in ["/minio/v2/metrics/resource", "/minio/metrics/v3", "/minio/metrics/v3/api"] {
        let refused = server.get(path).await.expect_error(404, "NoSuchKey");
        assert!(refused.text().contains("/minio/v2/metrics/cluster"), "{}", refused.text());
    }
}

#[tokio::test]
async fn a_bucket_has_the_name_of_minios_paths_to_itself() {
    let server = memory().await;
    server.bucket("minio").await;
    server.put("/minio/v2/metrics/cluster", "mine").await.expect_status(200);
    let found = server.get("/minio/v2/metrics/cluster").await.expect_status(200);
    assert_eq!(found.text(), "mine");
}

#[tokio::test]
async fn only_users_with_the_right_and_their_tokens_read_metrics() {
    let server = in_memory_with_users(ACCOUNTS).await;
    for path in PATHS {
        let ask = || server.request("GET", path);
        ask().anonymous().send().await.expect_error(403, "AccessDenied");
        ask().by(ALICE).send().await.expect_status(200);
        ask().by(CAROL).send().await.expect_error(403, "AccessDenied");
        with_token(ask(), &good(ALICE)).await.expect_status(200);
        with_token(ask(), &good(CAROL)).await.expect_error(403, "AccessDenied");
        let stranger = User { secret_key: "another secret", ..ALICE };
        ask().by(stranger).send().await.expect_error(403, "SignatureDoesNotMatch");
        let nobody = User { access_key: "nobody", ..ALICE };
        let key = ALICE.access_key;
        for wrong in [
            "x".to_owned(),
            good(stranger),
            good(nobody),
            token(ALICE, &json!({"exp": 1_000, "iss": "prometheus", "sub": key})),
            token(ALICE, &json!({"iss": "prometheus", "sub": key})),
            token(ALICE, &json!({"exp": 4_810_072_144_u64, "iss": "sts", "sub": key})),
            token(ALICE, &json!({"exp": 4_810_072_144_u64, "iss": "prometheus"})),
        ] {
            with_token(ask(), &wrong).await.expect_error(403, "AccessDenied");
        }
    }
    // A token for metrics is good for nothing else.
    let listing = with_token(server.request("GET", "/"), &good(ALICE)).await;
    assert!(listing.status >= 400, "{}", listing.text());
    let trace = with_token(server.request("GET", "/_liteio/trace"), &good(ALICE)).await;
    trace.expect_error(403, "AccessDenied");
    server.request("POST", OWN).send().await.expect_error(405, "MethodNotAllowed");
}

#[tokio::test]
async fn a_refused_credentials_file_is_told_until_it_is_valid() {
    let server = memory().await;
    let refused = async || scrape(&server, OWN).await["liteio_credentials_file_refused"];
    let health = async || server.get("/_liteio/health/ready").await.expect_status(200).text();
    assert_eq!(refused().await, 0.0);
    assert!(!health().await.contains("refused"));
    server.set_users("[[user]]\nname = 'eve'");
    assert_eq!(refused().await, 1.0);
    let told = health().await;
    assert!(told.contains("\"credentials_file_refused\":true"), "{told}");
    assert!(told.contains("\"status\":\"ready\""), "{told}");
    server.set_users(ACCOUNTS);
    assert_eq!(refused().await, 0.0);
}

#[tokio::test]
async fn a_policy_lets_a_user_read_metrics() {
    let server = in_memory_with_users(ACCOUNTS).await;
    let document = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"admin:Prometheus","Resource":"*"}]}"#;
    let users = format!("{ACCOUNTS}\n    policies = ['{document}']\n");
    let allowed = in_memory_with_users(&users).await;
    server.request("GET", OWN).by(CAROL).send().await.expect_error(403, "AccessDenied");
    with_token(allowed.request("GET", OWN), &good(CAROL)).await.expect_status(200);
    allowed
        .request("GET", "/_liteio/trace")
        .by(CAROL)
        .send()
        .await
        .expect_error(403, "AccessDenied");
}

#[tokio::test]
async fn buckets_of_another_account_are_not_named() {
    let server = in_memory_with_users(ACCOUNTS).await;
    server.bucket("alices").await;
    server.request("PUT", "/bobs").by(BOB).send().await.expect_status(200);
    for path in [OWN, "/minio/v2/metrics/bucket"] {
        let page = server.request("GET", path).by(BOB).send().await.expect_status(200).text();
        assert!(page.contains("bobs") && !page.contains("alices"), "{page}");
        let page = with_token(server.request("GET", path), &good(ALICE)).await.text();
        assert!(page.contains("alices") && !page.contains("bobs"), "{page}");
    }
    assert_eq!(scrape(&server, OWN).await["liteio_buckets"], 2.0, "they are counted");
}

#[tokio::test]
async fn everybody_reads_metrics_that_are_public_and_those_of_a_server_without_signatures() {
    let public =
        start_with("memory", "us-east-1", |builder, _| builder.metrics_auth(MetricsAuth::Public))
            .await;
    let open = start_with("memory", "us-east-1", |builder, _| {
        builder.credentials("liteio", "liteio123").no_auth()
    })
    .await;
    for path in PATHS {
        public.request("GET", path).anonymous().send().await.expect_status(200);
        open.request("GET", path).anonymous().send().await.expect_status(200);
        with_token(open.request("GET", path), "anything").await.expect_status(200);
    }
    public
        .request("GET", "/_liteio/trace")
        .anonymous()
        .send()
        .await
        .expect_error(403, "AccessDenied");
    // A page whose name was made to lead here is no user, whatever it sends along.
    let rebound = open.request("GET", OWN).anonymous().header("host", "evil.example");
    rebound.send().await.expect_error(403, "AccessDenied");
    let rebound = open.request("GET", OWN).header("host", "evil.example");
    with_token(rebound, "anything").await.expect_error(403, "AccessDenied");
}

#[tokio::test]
async fn scrapers_choose_the_format() {
    let server = memory().await;
    server.bucket("photos").await;
    let text = server.get(OWN).await.expect_status(200);
    assert_eq!(text.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(text.text().contains("# TYPE liteio_requests_total counter\n"));
    assert!(!text.text().contains("# EOF"));
    let accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    let open = server.request("GET", OWN).header("accept", accept).send().await.expect_status(200);
    let kind = open.header("content-type").unwrap_or_default();
    assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
    let page = open.text();
    assert!(page.ends_with("# EOF\n") && page.contains("# TYPE liteio_requests counter\n"));
    assert!(page.contains("\nliteio_requests_total{"));
    let head = server.head(OWN).await.expect_status(200);
    assert!(head.body.is_empty());
}

#[tokio::test]
async fn no_key_and_no_secret_is_told() {
    let server = memory().await;
    server.bucket("photos").await;
    let (object, value) = ("/photos/zebra-object", "a zebra value");
    let put = server.request("PUT", object).header("x-amz-meta-zebra", value).body("a zebra body");
    put.send().await.expect_status(200);
    server.get("/photos/missing-zebra").await.expect_error(404, "NoSuchKey");
    server.request("ZEBRA", "/photos/x").send().await;
    for path in PATHS {
        let page = server.get(path).await.expect_status(200).text();
        for secret in ["zebra", "ZEBRA", ALICE.access_key, ALICE.secret_key, "alice"] {
            assert!(!page.contains(secret), "{secret} in {page}");
        }
    }
}

#[tokio::test]
async fn two_servers_of_a_process_count_for_themselves() {
    let (one, other) = (memory().await, memory().await);
    one.bucket("photos").await;
    let name = r#"liteio_requests_total{operation="CreateBucket",status="2xx"}"#;
    assert_eq!(scrape(&one, OWN).await.get(name), Some(&1.0));
    assert_eq!(scrape(&other, OWN).await.get(name), None);
}

fn document(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    fs::read_to_string(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names of metrics in a text: what begins as they do.
fn mentioned(text: &str) -> BTreeSet<String> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words = text.split(|character| !is_part(character));
    let is_name =
        |word: &&str| ["liteio_", "process_", "minio_"].iter().any(|begin| word.starts_with(begin));
    words.filter(is_name).map(str::to_owned).collect()
}

#[tokio::test]
async fn the_documents_have_every_metric_and_no_other() {
    // In a directory, where there is everything.
    let [_, server] = both().await;
    let mut served = BTreeSet::new();
    for path in PATHS {
        served.append(&mut names(&server.get(path).await.expect_status(200).text()));
    }
    let rows = document("metrics.md");
    let rows = rows.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    // Labels stand behind some names.
    let told: BTreeSet<String> =
        rows.filter_map(|cell| mentioned(cell).into_iter().next()).collect();
    assert_eq!(told, served);
}

#[tokio::test]
async fn every_query_of_the_dashboard_asks_for_what_there_is() {
    let [_, server] = both().await;
    let served = names(&server.get(OWN).await.expect_status(200).text());
    let dashboard: Value = serde_json::from_str(&document("grafana/liteio.json")).expect("JSON");
    let mut queries = Vec::new();
    collect(&dashboard, &mut queries);
    assert!(queries.len() >= 20, "{}", queries.len());
    for query in queries {
        let names = mentioned(&query);
        assert!(!names.is_empty(), "{query}");
        for name in names {
            let is_of = |suffix| name.strip_suffix(suffix).is_some_and(|it| served.contains(it));
            let is_served =
                served.contains(&name) || ["_bucket", "_sum", "_count"].into_iter().any(is_of);
            assert!(is_served, "{name} in {query}");
        }
    }
}

#[tokio::test]
async fn every_alert_asks_for_what_there_is() {
    let [_, server] = both().await;
    let served = names(&server.get(OWN).await.expect_status(200).text());
    let rules = document("prometheus/liteio.yml");
    let queries: Vec<_> =
        rules.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).collect();
    assert_eq!(queries.len(), rules.matches("- alert: ").count());
    assert!(queries.len() >= 10, "{}", queries.len());
    for query in queries {
        let names = mentioned(query);
        // `up` is of Prometheus itself.
        let is_known = !names.is_empty() || query.starts_with("up{");
        assert!(is_known && names.is_subset(&served), "{query}");
    }
}

/// The queries of panels and of variables.
fn collect(value: &Value, queries: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "expr" || name == "query" => {
                        // A variable may be of another kind.
                        if text.contains('_') {
                            queries.push(text.clone());
                        }
                    }
                    value => collect(value, queries),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, queries)),
        _ => {}
    }
}
