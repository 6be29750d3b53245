//! S3 Vectors as its users see it: what is refused and how, restarts, kills.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::command::Running;
use crate::harness::{ALICE, RawRequest, TestServer, both, memory, start_with};
use crate::reply::Reply;

const REGION: &str = "us-east-1";

/// A vector that may be put into the index `films`.
const GOOD: &str = r#"{"key":"good","data":{"float32":[1,2,3]},"metadata":{"n":1}}"#;

/// The bucket `media` with the index `films`, of three elements, by cosine, without filters on `text`.
pub(crate) async fn make_index(server: &TestServer) {
    let bucket = json!({"vectorBucketName": "media"});
    server.vectors("CreateVectorBucket", bucket.to_string()).send().await.expect_status(200);
    let index = json!({
        "vectorBucketName": "media", "indexName": "films", "dataType": "float32", "dimension": 3,
        "distanceMetric": "cosine",
        "metadataConfiguration": {"nonFilterableMetadataKeys": ["text"]},
    });
    server.vectors("CreateIndex", index.to_string()).send().await.expect_status(200);
}

/// A body of PutVectors.
pub(crate) fn put_body(vectors: &str) -> String {
    format!(r#"{{"vectorBucketName":"media","indexName":"films","vectors":{vectors}}}"#)
}

/// A body of QueryVectors with these fields, too.
pub(crate) fn query_body(fields: &str) -> String {
    format!(r#"{{"vectorBucketName":"media","indexName":"films",{fields}}}"#)
}

/// An expected validation error: the path of the field, empty for the request as a whole, and a part of
/// the message.
pub(crate) type Wrong<'a> = (&'a str, &'a str);

#[track_caller]
pub(crate) fn expect_exception(response: &Reply, status: u16, exception: &str, wrong: Wrong<'_>) {
    let text = response.text();
    let (path, part) = wrong;
    assert_eq!(response.status, status, "{part}: {text}");
    assert_eq!(response.header("x-amzn-errortype"), Some(exception), "{part}: {text}");
    let body: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(body["__type"], exception, "{text}");
    let message = body["message"].as_str().expect("a message");
    assert!(message.contains(part), "{path}, {part}: {text}");
    match path {
        "" => assert_eq!(body.get("fieldList"), None, "{text}"),
        path => assert_eq!(body["fieldList"][0]["path"], path, "{text}"),
    }
}

async fn expect_nothing_stored(server: &TestServer, after: &str) {
    let names = json!({"vectorBucketName": "media", "indexName": "films"});
    let list = server.vectors("ListVectors", names.to_string()).send().await;
    assert_eq!(list.expect_status(200).text(), r#"{"vectors":[]}"#, "after {after}");
}

#[tokio::test]
async fn a_body_full_of_small_values_is_refused_before_it_takes_many_times_its_size() {
    let lists = ["[0]"; 70_000].join(",");
    let metadata =
        format!(r#"[{{"key":"x","data":{{"float32":[1,2,3]}},"metadata":{{"text":[{lists}]}}}}]"#);
    let query = query_body(&format!(r#""topK":1,"filter":{{"n":{{"$in":[{lists}]}}}}"#));
    let empty = vec![r#""""#; 100_000].join(",");
    let vector = |number| {
        format!(r#"{{"key":"{number}","data":{{"float32":[1,2,3]}},"metadata":{{"n":[{empty}]}}}}"#)
    };
    let many: Vec<String> = (0..11).map(vector).collect();
    let many = format!("[{}]", many.join(","));
    for server in both().await {
        make_index(&server).await;
        let response = server.vectors("PutVectors", put_body(&metadata)).send().await;
        let wrong = ("/vectors/0/metadata", "131072 values");
        expect_exception(&response, 400, "ValidationException", wrong);
        expect_nothing_stored(&server, "too many values").await;
        let response = server.vectors("PutVectors", put_body(&many)).send().await;
        let wrong = ("/vectors/10/metadata", "1048576 values");
        expect_exception(&response, 400, "ValidationException", wrong);
        expect_nothing_stored(&server, "too many values together").await;
        let response = server.vectors("QueryVectors", query.clone()).send().await;
        expect_exception(&response, 400, "ValidationException", ("", "131072 JSON values"));
    }
}

#[tokio::test]
async fn bad_vectors_are_refused_by_field_and_element_and_nothing_is_stored() {
    let long_key = format!(r#"{{"key":"{}","data":{{"float32":[1,2,3]}}}}"#, "x".repeat(1_025));
    let with = |metadata: &str| {
        format!(r#"{{"key":"x","data":{{"float32":[1,2,3]}},"metadata":{metadata}}}"#)
    };
    let keys: Vec<String> = (0..51).map(|number| format!(r#""k{number}":1"#)).collect();
    let many_keys = with(&format!("{{{}}}", keys.join(",")));
    let large = with(&format!(r#"{{"text":"{}"}}"#, "x".repeat(41_000)));
    let filterable = with(&format!(r#"{{"m":"x","n":"{}"}}"#, "x".repeat(2_100)));
    let too_long =
        "Filterable metadata must have at most 2048 bytes: \"n\" has 2101; only a new index can";
    let nested =
        |depth| with(&format!(r#"{{"text":{}1{}}}"#, "[".repeat(depth), "]".repeat(depth)));
    let (deep, deeper) = (nested(127), nested(300));
    let data = |elements: &str| format!(r#"{{"key":"x","data":{{"float32":{elements}}}}}"#);
    let rows: [(&str, Wrong<'_>); 36] = [
        (&data("[1,2]"), ("/vectors/1/data/float32", "must have length 3, but has length 2")),
        (&data("[1,2,3,4]"), ("/vectors/1/data/float32", "must have length 3, but has length 4")),
        (&data("[]"), ("/vectors/1/data/float32", "must have length 3, but has length 0")),
        (&data("[1,2,NaN]"), ("/vectors/1/data/float32/2", "not a finite")),
        (&data("[1,Infinity,3]"), ("/vectors/1/data/float32/1", "not a finite")),
        (&data("[-Infinity,2,3]"), ("/vectors/1/data/float32/0", "not a finite")),
        (&data("[1,2,1e39]"), ("/vectors/1/data/float32/2", "not a finite")),
        (
            &data("[0,-0.0,0]"),
            ("/vectors/1/data/float32", "cosine distance does not support vectors with zero norm"),
        ),
        (&data(r#"[1,"2",3]"#), ("/vectors/1/data/float32/1", "not a number")),
        (&data("[1,2,null]"), ("/vectors/1/data/float32/2", "not a number")),
        (&data("[1,[2],3]"), ("/vectors/1/data/float32/1", "not a number")),
        (&data("{}"), ("/vectors/1/data/float32", "not a list")),
        (&data("null"), ("/vectors/1/data/float32", "not a list")),
        (r#"{"key":"x","data":[1,2,3]}"#, ("/vectors/1/data", "not an object")),
        (r#"{"key":"x","data":{}}"#, ("/vectors/1/data/float32", "Member must not be null")),
        (r#"{"key":"x"}"#, ("/vectors/1/data", "Member must not be null")),
        (r#"{"data":{"float32":[1,2,3]}}"#, ("/vectors/1/key", "Member must not be null")),
        (r#"{"key":7,"data":{"float32":[1,2,3]}}"#, ("/vectors/1/key", "not a string")),
        (r#"{"key":"","data":{"float32":[1,2,3]}}"#, ("/vectors/1/key", "Value with length 0 at")),
        (&long_key, ("/vectors/1/key", "Value with length 1025 at")),
        (GOOD, ("/vectors/1/key", "there twice")),
        ("7", ("/vectors/1", "not an object")),
        (&with("[]"), ("/vectors/1/metadata", "not an object")),
        (&with(r#"{"n":{"a":1}}"#), ("/vectors/1/metadata/n", "is not a string")),
        (&with(r#"{"n":{"a":1}}"#), ("/vectors/1/metadata/n", "a list of these, but an object")),
        (
            &with(r#"{"n":["a",null]}"#),
            ("/vectors/1/metadata/n", "but a list whose element 1 is null"),
        ),
        (&with(r#"{"m":1,"n":NaN}"#), ("/vectors/1/metadata/n", "has no NaN: leave the key out")),
        (&with(r#"{"n":[-Infinity]}"#), ("/vectors/1/metadata/n", "JSON has no -Infinity")),
        (&with(r#"{"text":"a\ud800b"}"#), ("/vectors/1/metadata/text", "half of a surrogate pair")),
        (&with(r#"{"text":"\udc00"}"#), ("/vectors/1/metadata/text", "half of a surrogate pair")),
        (&with(r#"{"n":null}"#), ("/vectors/1/metadata/n", "a list of these, but null")),
        (&many_keys, ("/vectors/1/metadata", "Metadata object must have at most 50 keys")),
        (&large, ("/vectors/1/metadata", "at most 40960 bytes, but has 41004: \"text\" has 41004")),
        (&filterable, ("/vectors/1/metadata", too_long)),
        (&deep, ("/vectors/1/metadata", "recursion limit")),
        (&deeper, ("/vectors/1/metadata", "nested more than")),
    ];
    for server in both().await {
        make_index(&server).await;
        for (bad, wrong) in rows {
            let body = put_body(&format!("[{GOOD},{bad}]"));
            let response = server.vectors("PutVectors", body).send().await;
            expect_exception(&response, 400, "ValidationException", wrong);
            expect_nothing_stored(&server, wrong.0).await;
        }
        let body = put_body(&format!("[{GOOD}]"));
        server.vectors("PutVectors", body).send().await.expect_status(200);
    }
}

#[tokio::test]
async fn bad_requests_to_put_are_refused_and_nothing_is_stored() {
    let vector = |number: usize| GOOD.replace("good", &number.to_string());
    let too_many: Vec<String> = (0..501).map(vector).collect();
    let too_many = put_body(&format!("[{}]", too_many.join(",")));
    let whole = put_body(&format!("[{GOOD}]"));
    let of = |names: &str| format!(r#"{{{names},"vectors":[{GOOD}]}}"#);
    let (invalid, missing) = ((400, "ValidationException"), (404, "NotFoundException"));
    let rows: [(&str, (u16, &str), Wrong<'_>); 15] = [
        (&too_many, invalid, ("/vectors", "between 1 and 500, inclusive")),
        (&put_body("[]"), invalid, ("/vectors", "between 1 and 500, inclusive")),
        (&put_body("{}"), invalid, ("/vectors", "not a list")),
        (
            r#"{"vectorBucketName":"media","indexName":"films"}"#,
            invalid,
            ("/vectors", "Member must not be null"),
        ),
        (&whole[..whole.len() - 1], invalid, ("", "not valid JSON")),
        (&whole[..whole.len() / 2], invalid, ("", "not valid JSON")),
        (&format!("{whole}x"), invalid, ("", "not valid JSON")),
        ("[]", invalid, ("", "not valid JSON")),
        ("", invalid, ("", "not valid JSON")),
        (
            &of(r#""vectorBucketName":"media","indexName":5"#),
            invalid,
            ("/indexName", "not a string"),
        ),
        (
            &of(r#""vectorBucketName":["media"],"indexName":"films""#),
            invalid,
            ("/vectorBucketName", "not a string"),
        ),
        (&of(r#""indexArn":"nonsense""#), invalid, ("/indexArn", "")),
        (
            &of(r#""vectorBucketName":"media""#),
            invalid,
            ("", "Must specify either indexArn or both vectorBucketName and indexName"),
        ),
        (
            &of(r#""vectorBucketName":"media","indexName":"nobody""#),
            missing,
            (
                "",
                "The specified index could not be found: there is no index 'nobody' in the vector \
                 bucket 'media'",
            ),
        ),
        (
            &of(r#""vectorBucketName":"nowhere","indexName":"films""#),
            missing,
            ("", "The specified index could not be found: there is no vector bucket 'nowhere'"),
        ),
    ];
    for server in both().await {
        make_index(&server).await;
        for (body, (status, exception), wrong) in rows {
            let response = server.vectors("PutVectors", body).send().await;
            expect_exception(&response, status, exception, wrong);
            expect_nothing_stored(&server, wrong.1).await;
        }
    }
}

/// As with curl, which signs nothing by itself.
#[tokio::test]
async fn operations_without_a_signature_are_known_by_their_path() {
    let open = start_with("memory", "us-east-1", |builder, _| {
        builder.credentials("liteio", "liteio123").no_auth()
    })
    .await;
    let made = open.vectors("CreateVectorBucket", r#"{"vectorBucketName":"media"}"#).anonymous();
    made.send().await.expect_status(200);
    let listed = open.vectors("ListVectorBuckets", "{}").anonymous().send().await;
    assert!(listed.expect_status(200).text().contains("bucket/media"));
    let closed = memory().await;
    let refused = closed.vectors("ListVectorBuckets", "{}").anonymous().send().await;
    expect_exception(&refused, 403, "AccessDeniedException", ("", "has no signature"));
    let other = closed.vectors("ListVectorBucket", "{}").anonymous().send().await;
    other.expect_error(400, "InvalidBucketName");
}

#[tokio::test]
async fn bad_queries_are_refused_by_field() {
    let near = r#""topK":3,"queryVector":{"float32":[1,2,3]}"#;
    let with = |filter: &str| query_body(&format!(r#"{near},"filter":{filter}"#));
    let of = |vector: &str| query_body(&format!(r#""topK":3,"queryVector":{vector}"#));
    let top =
        |top: &str| query_body(&format!(r#""topK":{top},"queryVector":{{"float32":[1,2,3]}}"#));
    let rows: [(&str, Wrong<'_>); 29] = [
        (&with(r#"{"text":"x"}"#), ("/filter/text", "\"text\" is non-filterable")),
        (
            &with(r#"{"$and":[{"n":1},{"$or":[{"n":2},{"text":{"$ne":"x"}}]}]}"#),
            ("/filter/$and/1/$or/1/text", "non-filterable"),
        ),
        (&with(r#"{"n":["x"]}"#), ("/filter/n", "did you mean $in?")),
        (&with(r#"{"n":{"$not":{"$eq":1}}}"#), ("/filter/n/$not", "such as $ne for $eq")),
        (&with(r#"{"n":{"$like":1}}"#), ("/filter/n/$like", "unknown here: use one of $eq, $ne, ")),
        (&with(r#"{"$xor":[{"n":1}]}"#), ("/filter/$xor", "unknown here: use one of $and, $or")),
        (&with(r#"{"n":{"gt":1}}"#), ("/filter/n/gt", "did you mean \"$gt\"?")),
        (
            &with(r#"{"n":{"$startswith":"x"}}"#),
            ("/filter/n/$startswith", "did you mean \"$startsWith\"?"),
        ),
        (&with(r#"{"n":{"$gt":"x"}}"#), ("/filter/n/$gt", "needs a number")),
        (&with(r#"{"n":{"$startsWith":1}}"#), ("/filter/n/$startsWith", "needs a string")),
        (&with(r#"{"n":{"$in":[]}}"#), ("/filter/n/$in", "the list is empty")),
        (&with(r#"{"n":{"$in":[1,{}]}}"#), ("/filter/n/$in/1", "not a string")),
        (&with(r#"{"$or":[{"n":1},7]}"#), ("/filter/$or/1", "is an object")),
        (&with("[]"), ("/filter", "is an object")),
        (&with("{}"), ("/filter", "empty")),
        (
            &of(r#"{"float32":[1,2]}"#),
            ("/queryVector/float32", "must have length 3, but has length 2"),
        ),
        (
            &of(r#"{"float32":[0,0,0]}"#),
            ("/queryVector/float32", "cosine distance does not support vectors with zero norm"),
        ),
        (&of(r#"{"float32":[1,1e39,3]}"#), ("/queryVector/float32/1", "not a finite")),
        (&of(r#"{"float32":[1,"2",3]}"#), ("/queryVector/float32/1", "not a number")),
        (&of(r#"{"float32":[1,2,NaN]}"#), ("/queryVector/float32/2", "not a finite")),
        (&of(r#"{"float32":7}"#), ("/queryVector/float32", "not a list")),
        (&of("[1,2,3]"), ("/queryVector", "not an object")),
        (&top("0"), ("/topK", "greater than or equal to 1")),
        (&top("10001"), ("/topK", "from 1 to 10000")),
        (&top("1.5"), ("/topK", "whole number")),
        (&top(r#""3""#), ("/topK", "not a number")),
        (&query_body(r#""queryVector":{"float32":[1,2,3]}"#), ("/topK", "Member must not be null")),
        (&query_body(r#""topK":3"#), ("/queryVector", "queryTexts")),
        (&query_body(&format!(r#"{near},"nextToken":"bm9uc2Vuc2U""#)), ("/nextToken", "")),
    ];
    for server in both().await {
        make_index(&server).await;
        for (body, wrong) in rows {
            let response = server.vectors("QueryVectors", body).send().await;
            expect_exception(&response, 400, "ValidationException", wrong);
        }
        let unknown = server.vectors("/PutVector", "{}").send().await;
        let told = ("", "S3 Vectors has no operation \"PutVector\"");
        expect_exception(&unknown, 404, "UnknownOperationException", told);
        let below = server.vectors("v1/CreateVectorBucket", "{}").send().await;
        let told = ("", "no operation \"v1/CreateVectorBucket\": the endpoint has no path");
        expect_exception(&below, 404, "UnknownOperationException", told);
    }
}

/// A server in a process of its own.
struct Process {
    running: Running,
    address: SocketAddr,
}

impl Process {
    fn start(directory: &tempfile::TempDir) -> Process {
        let arguments = ["--data-dir", "data", "--address", "127.0.0.1:0", "--log", "error"];
        let keys =
            [("LITEIO_ACCESS_KEY", ALICE.access_key), ("LITEIO_SECRET_KEY", ALICE.secret_key)];
        let running = Running::start_with(directory, &arguments, &keys);
        let address = running.endpoint().strip_prefix("http://").expect("a URL");
        let address = address.parse().expect("an address");
        Process { running, address }
    }

    async fn call(&self, operation: &str, input: Value) -> Value {
        let request = RawRequest::of_vectors(self.address, REGION, operation, input.to_string());
        let response = request.send().await.expect_status(200);
        serde_json::from_str(&response.text()).expect("JSON")
    }

    async fn make_index(&self) {
        self.call("CreateVectorBucket", json!({"vectorBucketName": "media"})).await;
        let index = json!({
            "vectorBucketName": "media", "indexName": "films", "dataType": "float32",
            "dimension": DIMENSION, "distanceMetric": "euclidean",
        });
        self.call("CreateIndex", index).await;
    }

    /// All vectors with their versions. Key, metadata and elements of each agree.
    async fn versions(&self) -> BTreeMap<String, u64> {
        let mut versions = BTreeMap::new();
        let mut token = Value::Null;
        loop {
            let input = json!({
                "vectorBucketName": "media", "indexName": "films", "maxResults": 70,
                "returnData": true, "returnMetadata": true, "nextToken": token,
            });
            let page = self.call("ListVectors", input).await;
            for vector in page["vectors"].as_array().expect("a list") {
                let key = vector["key"].as_str().expect("a key");
                let version = vector["metadata"]["version"].as_u64().expect("a version");
                assert_eq!(vector["metadata"]["key"], key, "the metadata of another key");
                assert_eq!(vector["data"], elements(key, version), "{key}, {version}");
                assert_eq!(versions.insert(key.to_owned(), version), None, "{key} twice");
            }
            token = page["nextToken"].clone();
            if token.is_null() {
                return versions;
            }
        }
    }
}

/// The largest number of bytes that a process has had in memory.
#[cfg(target_os = "linux")]
fn peak_bytes(process: &Process) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.running.id()));
    let status = status.expect("the process runs");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the peak");
    let kib = line.split_whitespace().nth(1).and_then(|kib| kib.parse::<usize>().ok());
    kib.expect("a number") << 10
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_largest_request_takes_no_more_than_twice_its_size() {
    let directory = tempfile::tempdir().expect("a directory");
    let process = Process::start(&directory);
    process.make_index().await;
    let elements = vec![format!("0.5{}", "0".repeat(145)); DIMENSION].join(",");
    let vector = |number| format!(r#"{{"key":"key-{number}","data":{{"float32":[{elements}]}}}}"#);
    let vectors: Vec<String> = (0..500).map(vector).collect();
    let numbers = put_body(&format!("[{}]", vectors.join(",")));
    let lists = vec!["[0]"; 4_800_000].join(",");
    let lists = put_body(&format!(r#"[{{"key":"x","metadata":{{"a":[{lists}]}}}}]"#));
    for (body, status) in [(numbers, 200), (lists, 400)] {
        assert!((18 << 20..20 << 20).contains(&body.len()), "nearly the largest: {}", body.len());
        let (before, bytes) = (peak_bytes(&process), body.len());
        let request = RawRequest::of_vectors(process.address, REGION, "PutVectors", body);
        request.send().await.expect_status(status);
        let more = peak_bytes(&process) - before;
        assert!(more < 2 * bytes, "{more} bytes for a body of {bytes}");
    }
}

/// Enough for searches to go by codes.
const DIMENSION: usize = 256;

/// The elements that a key has in a version: whole numbers, which come back as they are.
fn elements(key: &str, version: u64) -> Value {
    let number: u64 = key.strip_prefix("key-").and_then(|key| key.parse().ok()).expect("a key");
    let element = |index: u64| ((number * 31 + version * 17 + index * 7) % 1_000) as f64;
    json!({ "float32": (0..DIMENSION as u64).map(element).collect::<Vec<f64>>() })
}

fn put_input(keys: &[String], version: u64) -> Value {
    let vector = |key: &String| {
        let metadata = json!({"version": version, "key": key});
        json!({"key": key, "data": elements(key, version), "metadata": metadata})
    };
    let vectors: Vec<Value> = keys.iter().map(vector).collect();
    json!({"vectorBucketName": "media", "indexName": "films", "vectors": vectors})
}

fn key(number: u64) -> String {
    format!("key-{number:03}")
}

#[tokio::test]
async fn a_restart_keeps_buckets_indexes_vectors_and_what_is_found() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let process = Process::start(&directory);
    process.make_index().await;
    for start in (0..1_500).step_by(500) {
        let keys: Vec<String> = (start..start + 500).map(key).collect();
        process.call("PutVectors", put_input(&keys, 1)).await;
    }
    let query = json!({
        "vectorBucketName": "media", "indexName": "films", "topK": 100, "returnDistance": true,
        "returnMetadata": true, "queryVector": elements("key-900", 3),
    });
    let names = json!({"vectorBucketName": "media", "indexName": "films"});
    let versions = process.versions().await;
    assert_eq!(versions.len(), 1_500);
    let found = process.call("QueryVectors", query.clone()).await;
    let index = process.call("GetIndex", names.clone()).await;
    let (code, log) = process.running.signal("TERM");
    assert_eq!(code, Some(0), "{log}");
    let process = Process::start(&directory);
    assert_eq!(process.versions().await, versions);
    assert_eq!(process.call("QueryVectors", query).await, found);
    assert_eq!(process.call("GetIndex", names).await, index);
}

/// The model: acknowledged vectors, and the keys of a put whose outcome is unknown.
#[derive(Default)]
struct Known {
    versions: BTreeMap<String, u64>,
    in_doubt: Vec<String>,
    version: u64,
}

#[tokio::test]
async fn puts_are_whole_or_not_there_after_each_kill() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut known = Known::default();
    for round in 0..5 {
        let process = Process::start(&directory);
        if round == 0 {
            process.make_index().await;
        }
        check(&process, &mut known).await;
        let address = process.address;
        let (answers, mut answered) = mpsc::unbounded_channel();
        let load = tokio::spawn(put_until_killed(address, round, known, answers));
        // Killed while it works, after a number of answers and not after a time.
        for _ in 0..5 + 4 * round {
            answered.recv().await.expect("it answers until it is killed");
        }
        process.running.signal("KILL");
        known = load.await.expect("no panic");
    }
    let process = Process::start(&directory);
    check(&process, &mut known).await;
}

async fn put_until_killed(
    address: SocketAddr,
    round: u64,
    mut known: Known,
    answers: mpsc::UnboundedSender<()>,
) -> Known {
    loop {
        known.version += 1;
        let (count, first) = ([1, 7, 60][known.version as usize % 3], known.version * 13 + round);
        known.in_doubt = (first..first + count).map(|number| key(number % 200)).collect();
        let input = put_input(&known.in_doubt, known.version).to_string();
        let request = RawRequest::of_vectors(address, REGION, "PutVectors", input);
        let Some(response) = request.try_send().await else { return known };
        response.expect_status(200);
        let version = known.version;
        let put = std::mem::take(&mut known.in_doubt);
        let query = filtered(json!({"version": version}), put.len() + 1).to_string();
        let request = RawRequest::of_vectors(address, REGION, "QueryVectors", query);
        known.versions.extend(put.iter().map(|key| (key.clone(), version)));
        let Some(response) = request.try_send().await else { return known };
        let answer = response.expect_status(200).text();
        let found: Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!(keys_of(&found), put.into_iter().collect());
        // Nobody listens any more once the server is being killed.
        let _ = answers.send(());
    }
}

/// A query for vectors that `filter` accepts.
fn filtered(filter: Value, top_k: usize) -> Value {
    json!({
        "vectorBucketName": "media", "indexName": "films", "topK": top_k, "filter": filter,
        "queryVector": elements("key-1", 0),
    })
}

fn keys_of(answer: &Value) -> BTreeSet<String> {
    let vectors = answer["vectors"].as_array().expect("vectors");
    vectors.iter().map(|vector| vector["key"].as_str().expect("a key").to_owned()).collect()
}

/// Compares the server with the model: everything acknowledged is listed, the put in doubt whole or not
/// at all, and queries find every vector, also by its metadata.
async fn check(process: &Process, known: &mut Known) {
    let found = process.versions().await;
    let version = known.version;
    let mut with = known.versions.clone();
    with.extend(known.in_doubt.drain(..).map(|key| (key, version)));
    let is_right = found == known.versions || found == with;
    assert!(is_right, "found {found:?}, acknowledged {:?}, or {with:?}", known.versions);
    for (key, version) in found.iter().step_by(17) {
        let query = json!({
            "vectorBucketName": "media", "indexName": "films", "topK": 1,
            "returnDistance": true, "returnMetadata": true, "queryVector": elements(key, *version),
        });
        let nearest = process.call("QueryVectors", query).await;
        assert_eq!(nearest["vectors"][0]["distance"], 0.0, "{key}: {nearest}");
        let filter = json!({"$and": [{"version": {"$gte": version}}, {"key": {"$in": [key, ""]}}]});
        let answer = process.call("QueryVectors", filtered(filter, 9)).await;
        assert_eq!(keys_of(&answer), BTreeSet::from([key.clone()]));
        let filter = json!({"version": version});
        let answer = process.call("QueryVectors", filtered(filter, 100)).await;
        let of_version = found.iter().filter(|(_, other)| *other == version);
        assert_eq!(keys_of(&answer), of_version.map(|(key, _)| key.clone()).collect());
    }
    known.versions = found;
}
