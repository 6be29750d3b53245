//! Keys, numbers, tags and JSON at their limits, as users of S3 Vectors see them.

use serde_json::{Value, json};

use crate::harness::{TestServer, both};
use crate::reply::Reply;
use crate::vectors::{expect_exception, make_index, put_body, query_body};

async fn call(server: &TestServer, operation: &str, body: impl AsRef<[u8]>) -> Value {
    let response = server.vectors(operation, body).send().await.expect_status(200);
    serde_json::from_str(&response.text()).expect("JSON")
}

#[track_caller]
fn expect_invalid(response: &Reply, path: &str, part: &str) {
    expect_exception(response, 400, "ValidationException", (path, part));
}

#[tokio::test]
async fn euclidean_distances_of_any_vectors_are_numbers_in_order() {
    for server in both().await {
        call(&server, "CreateVectorBucket", r#"{"vectorBucketName":"media"}"#).await;
        let names = r#""vectorBucketName":"media","indexName":"places""#;
        let shape = r#""dataType":"float32","dimension":2,"distanceMetric":"euclidean""#;
        call(&server, "CreateIndex", format!("{{{names},{shape}}}")).await;
        let places = ["3e38", "-3e38", "3e19", "9e-24", "1e-24"];
        let vectors =
            places.map(|place| format!(r#"{{"key":"{place}","data":{{"float32":[{place},0]}}}}"#));
        let vectors = vectors.join(",");
        call(&server, "PutVectors", format!(r#"{{{names},"vectors":[{vectors}]}}"#)).await;
        let query = |from: &str| {
            let vector = format!(r#""queryVector":{{"float32":[{from},0]}}"#);
            format!(r#"{{{names},"topK":5,"returnDistance":true,{vector}}}"#)
        };
        for (from, expected) in [
            (
                "0",
                [
                    ("1e-24", 1e-24),
                    ("9e-24", 9e-24),
                    ("3e19", 3e19),
                    ("3e38", 3e38),
                    ("-3e38", 3e38),
                ],
            ),
            (
                "-3e38",
                [("-3e38", 0.0), ("3e19", 3e38), ("9e-24", 3e38), ("1e-24", 3e38), ("3e38", 6e38)],
            ),
        ] {
            let found = call(&server, "QueryVectors", query(from)).await;
            let found = found["vectors"].as_array().expect("a list");
            assert_eq!(found.len(), expected.len(), "{found:?}");
            for (found, (key, expected)) in found.iter().zip(expected) {
                let distance = found["distance"].as_f64().expect("a number");
                let is_right = (distance - expected).abs() <= expected * 1e-6;
                // Those about as far as each other may come in any order.
                let is_it = found["key"] == key || expected == 3e38;
                assert!(is_right && is_it, "{key}: {found}");
            }
        }
    }
}

#[tokio::test]
async fn a_vector_is_no_less_than_0_from_itself() {
    for server in both().await {
        make_index(&server).await;
        let vector = |number: u32| {
            let number = f64::from(number);
            json!([0.1 + number * 0.37, 0.7 - number * 0.11, 0.3])
        };
        let vectors: Vec<Value> = (0..100)
            .map(|number| json!({"key": number.to_string(), "data": {"float32": vector(number)}}))
            .collect();
        call(&server, "PutVectors", put_body(&Value::from(vectors).to_string())).await;
        for number in 0..100 {
            let vector = vector(number);
            let fields =
                format!(r#""topK":3,"returnDistance":true,"queryVector":{{"float32":{vector}}}"#);
            let found = call(&server, "QueryVectors", query_body(&fields)).await;
            for found in found["vectors"].as_array().expect("a list") {
                let distance = found["distance"].as_f64().expect("a number");
                assert!((0.0..=2.0).contains(&distance), "{number}: {found}");
            }
        }
    }
}

#[tokio::test]
async fn keys_have_up_to_1024_characters_of_any_length() {
    let key = |character: &str, count: usize| character.repeat(count);
    for server in both().await {
        make_index(&server).await;
        let mut keys = vec![key("a", 1024), key("ü", 1024), key("\u{10ffff}", 1024)];
        keys.extend((0..9).map(|number| key("\u{1f980}", 1023) + &number.to_string()));
        keys.sort();
        let vectors: Vec<Value> =
            keys.iter().map(|key| json!({"key": key, "data": {"float32": [1, 2, 3]}})).collect();
        call(&server, "PutVectors", put_body(&Value::from(vectors).to_string())).await;
        let (mut listed, mut token) = (Vec::new(), Value::Null);
        loop {
            let fields = format!(r#""maxResults":2,"nextToken":{token}"#);
            let page = call(&server, "ListVectors", query_body(&fields)).await;
            let page_keys = page["vectors"].as_array().expect("a list").iter();
            listed.extend(page_keys.map(|it| it["key"].as_str().expect("a key").to_owned()));
            token = page["nextToken"].clone();
            if token.is_null() {
                break;
            }
        }
        assert_eq!(listed, keys);
        let found = query_body(r#""topK":50,"queryVector":{"float32":[1,2,3]}"#);
        let found = call(&server, "QueryVectors", found).await;
        assert_eq!(found["vectors"].as_array().map(Vec::len), Some(keys.len()));
        let of_keys = query_body(&format!(r#""keys":{}"#, json!(keys)));
        let got = call(&server, "GetVectors", &of_keys).await;
        assert_eq!(got["vectors"].as_array().map(Vec::len), Some(keys.len()));
        for key in [key("a", 1025), key("ü", 1025), String::new()] {
            let part = format!("Value with length {} at", key.chars().count());
            let vector = json!([{"key": key, "data": {"float32": [1, 2, 3]}}]).to_string();
            let response = server.vectors("PutVectors", put_body(&vector)).send().await;
            expect_invalid(&response, "/vectors/0/key", &part);
            for operation in ["GetVectors", "DeleteVectors"] {
                let body = query_body(&format!(r#""keys":["a",{}]"#, json!(key)));
                let response = server.vectors(operation, body).send().await;
                expect_invalid(&response, "/keys/1", &part);
            }
        }
        call(&server, "DeleteVectors", &of_keys).await;
        let list = call(&server, "ListVectors", query_body(r#""maxResults":9"#)).await;
        assert_eq!(list, json!({"vectors": []}));
    }
}

#[tokio::test]
async fn keys_of_tags_that_begin_with_aws_are_reserved() {
    let arn = "tags/arn:aws:s3vectors:us-east-1:000000000000:bucket/media";
    for server in both().await {
        make_index(&server).await;
        let index = json!({
            "vectorBucketName": "media", "indexName": "other", "dataType": "float32",
            "dimension": 3, "distanceMetric": "cosine",
        });
        for key in ["aws:x", "aws:", "AWS:x", "Aws:cloudformation:stack-name"] {
            let tags = json!({"good": "1", key: "2"});
            let bucket = json!({"vectorBucketName": "tagged", "tags": tags});
            let mut index = index.clone();
            index["tags"] = tags.clone();
            for (operation, body) in [
                (arn, json!({"tags": tags})),
                ("CreateVectorBucket", bucket),
                ("CreateIndex", index),
            ] {
                let response = server.vectors(operation, body.to_string()).send().await;
                expect_invalid(&response, &format!("/tags/{key}"), "System tags");
            }
        }
        let tags = server.vectors(arn, "").method("GET").send().await.expect_status(200);
        assert_eq!(tags.text(), r#"{"tags":{}}"#, "none of a refused request is set");
        for (operation, name) in [("GetVectorBucket", "tagged"), ("GetIndex", "media")] {
            let body = json!({"vectorBucketName": name, "indexName": "other"});
            let response = server.vectors(operation, body.to_string()).send().await;
            assert_eq!(response.status, 404, "{}", response.text());
        }
        // Elsewhere in a key it says nothing.
        let tags = json!({"tags": {"x-aws:y": "1", "aws": "2"}});
        call(&server, arn, tags.to_string()).await;
    }
}

#[tokio::test]
async fn tags_and_keys_of_tags_are_required() {
    let arn = "tags/arn:aws:s3vectors:us-east-1:000000000000:bucket/media";
    for server in both().await {
        make_index(&server).await;
        for body in ["", "{}", r#"{"tags":null}"#] {
            let response = server.vectors(arn, body).send().await;
            expect_invalid(&response, "/tags", "must not be null");
        }
        let response = server.vectors(arn, r#"{"tags":{"":"x"}}"#).send().await;
        expect_invalid(&response, "/tags/", "Value with length 0");
        for tags in [json!({}), json!({"a": "1", "b": ""})] {
            call(&server, arn, json!({"tags": tags}).to_string()).await;
        }
        for (query, path) in [
            ("", "/tagKeys"),
            ("?tagKeys=", "/tagKeys/0"),
            ("?tagKeys=a&tagKeys=", "/tagKeys/1"),
            ("?tagKeys=a%7B", "/tagKeys/0"),
        ] {
            let request = server.vectors(&format!("{arn}{query}"), "").method("DELETE");
            expect_invalid(&request.send().await, path, "");
        }
        let tags = || async { server.vectors(arn, "").method("GET").send().await.text() };
        assert_eq!(tags().await, r#"{"tags":{"a":"1","b":""}}"#);
        let remove = server.vectors(&format!("{arn}?tagKeys=a&tagKeys=c"), "").method("DELETE");
        remove.send().await.expect_status(200);
        assert_eq!(tags().await, r#"{"tags":{"b":""}}"#);
    }
}

#[tokio::test]
async fn keys_of_encryption_have_the_arn_of_one() {
    for server in both().await {
        let create = |name: &str, arn: &str| {
            let encryption = json!({"sseType": "aws:kms", "kmsKeyArn": arn});
            let body = json!({"vectorBucketName": name, "encryptionConfiguration": encryption});
            server.vectors("CreateVectorBucket", body.to_string()).send()
        };
        for arn in ["arn:awsx:kms:", "arn:aws:kms:us-east-1:1:key/a", &"x".repeat(3_000)] {
            let response = create("media", arn).await;
            expect_invalid(&response, "/encryptionConfiguration/kmsKeyArn", "regular expression");
        }
        create("media", "arn:aws:kms:us-east-1:000000000000:key/a").await.expect_status(200);
    }
}

#[tokio::test]
async fn malformed_json_is_refused_wherever_it_stands() {
    let with = |member: &str| {
        format!(r#"[{{"key":"x","data":{{"float32":[1,2,3]}},"metadata":{{"n":1}},{member}}}]"#)
    };
    let data = |elements: &str| format!(r#"[{{"key":"x","data":{{"float32":{elements}}}}}]"#);
    for server in both().await {
        make_index(&server).await;
        for member in [r#""x":[1,,2]"#, r#""x":[1:2]"#, r#""x":tru"#, r#""x":{"a"}"#, r#""x":01"#] {
            let response = server.vectors("PutVectors", put_body(&with(member))).send().await;
            expect_invalid(&response, "", "not valid JSON");
        }
        for element in ["01", "-", "1.", ".5", "1e", "+1", "-01", "00"] {
            let vectors = data(&format!("[1,{element},3]"));
            let response = server.vectors("PutVectors", put_body(&vectors)).send().await;
            expect_invalid(&response, "/vectors/0/data/float32/1", "not a number");
            let query = format!(r#""topK":1,"queryVector":{{"float32":[1,{element},3]}}"#);
            let response = server.vectors("QueryVectors", query_body(&query)).send().await;
            expect_invalid(&response, "/queryVector/float32/1", "not a number");
        }
        for element in ["NaN", "Infinity", "-Infinity", "1e400", "-1e39"] {
            let query = format!(r#""topK":1,"queryVector":{{"float32":[1,2,{element}]}}"#);
            let response = server.vectors("QueryVectors", query_body(&query)).send().await;
            expect_invalid(&response, "/queryVector/float32/2", "not a finite");
        }
        let metadata = r#"[{"key":"x","data":{"float32":[1,2,3]},"metadata":{"a":1,"n":1e400}}]"#;
        let response = server.vectors("PutVectors", put_body(metadata)).send().await;
        expect_invalid(&response, "/vectors/0/metadata/n", "out of range");
        let list = call(&server, "ListVectors", query_body(r#""maxResults":9"#)).await;
        assert_eq!(list, json!({"vectors": []}), "nothing was stored");
        let good = with(r#""x":[1e400,{"a":[]},"\u00fc",null]"#);
        call(&server, "PutVectors", put_body(&good)).await;
    }
}

#[tokio::test]
async fn whole_numbers_are_compared_with_others_exactly() {
    for server in both().await {
        make_index(&server).await;
        let numbers = [
            "9007199254740992",
            "9007199254740993",
            "18446744073709551615",
            "123456789012345678901234567890",
        ];
        let vectors = numbers.map(|number| {
            let metadata = format!(r#"{{"n":{number}}}"#);
            format!(r#"{{"key":"{number}","data":{{"float32":[1,2,3]}},"metadata":{metadata}}}"#)
        });
        call(&server, "PutVectors", put_body(&format!("[{}]", vectors.join(",")))).await;
        let rows: [(&str, &[&str]); 6] = [
            ("9007199254740992.0", &numbers[..1]),
            ("9007199254740993", &numbers[1..2]),
            (r#"{"$gt":9007199254740992.0}"#, &numbers[1..]),
            (r#"{"$gte":18446744073709551616.0}"#, &numbers[3..]),
            (r#"{"$lt":18446744073709551616.0}"#, &numbers[..3]),
            ("1.2345678901234568e29", &numbers[3..]),
        ];
        for (condition, expected) in rows {
            let query = r#""topK":9,"queryVector":{"float32":[1,2,3]}"#;
            let fields = format!(r#"{query},"filter":{{"n":{condition}}}"#);
            let found = call(&server, "QueryVectors", query_body(&fields)).await;
            let found = found["vectors"].as_array().expect("a list").iter();
            let mut keys: Vec<&str> = found.map(|it| it["key"].as_str().expect("a key")).collect();
            keys.sort_by_key(|key| (key.len(), *key));
            assert_eq!(keys, expected, "{condition}");
        }
        let keys = query_body(&format!(r#""returnMetadata":true,"keys":{}"#, json!(numbers)));
        let got = server.vectors("GetVectors", keys).send().await.expect_status(200).text();
        for number in &numbers[..3] {
            assert!(got.contains(&format!(r#""n":{number}}}"#)), "{got}");
        }
        assert!(got.contains(r#""n":1.2345678901234568e+29"#), "{got}");
    }
}

#[tokio::test]
async fn a_token_continues_its_own_query_and_no_other() {
    for server in both().await {
        make_index(&server).await;
        let text = "x".repeat(30_000);
        let vectors: Vec<Value> = (0..50)
            .map(|number| {
                let metadata = json!({"n": 7, "text": text});
                let data = json!({"float32": [1, number, 3]});
                json!({"key": number.to_string(), "data": data, "metadata": metadata})
            })
            .collect();
        call(&server, "PutVectors", put_body(&Value::from(vectors).to_string())).await;

        let query = |rest: &str, token: &Value| {
            query_body(&format!(r#""returnMetadata":true,{rest},"nextToken":{token}"#))
        };
        let own = r#""topK":50,"filter":{"n":7},"queryVector":{"float32":[1,2,0.5]}"#;
        let first = call(&server, "QueryVectors", query(own, &Value::Null)).await;
        let again = call(&server, "QueryVectors", query(own, &Value::Null)).await;
        let token = &first["nextToken"];
        assert!(token.is_string(), "it is longer than a page");
        assert_eq!(token, &again["nextToken"]);
        // Written otherwise it is the same query, and what is wanted of its results is free.
        let same = [
            own,
            r#""queryVector":{"float32":[1.0,0.2e1,5E-1]},"filter":{"n":{"$eq":7}},"topK":50"#,
            r#""returnDistance":true,"topK":50,"filter":{"n":7},"queryVector":{"float32":[1,2,0.5]}"#,
        ];
        for rest in same {
            let second = call(&server, "QueryVectors", query(rest, token)).await;
            let keys = |page: &Value| -> Vec<String> {
                let vectors = page["vectors"].as_array().expect("a list").iter();
                vectors.map(|vector| vector["key"].to_string()).collect()
            };
            let mut keys = [keys(&first), keys(&second)].concat();
            keys.sort();
            keys.dedup();
            assert_eq!(keys.len(), 50, "{rest}");
        }
        let others = [
            r#""topK":49,"filter":{"n":7},"queryVector":{"float32":[1,2,0.5]}"#,
            r#""topK":50,"filter":{"n":8},"queryVector":{"float32":[1,2,0.5]}"#,
            r#""topK":50,"queryVector":{"float32":[1,2,0.5]}"#,
            r#""topK":50,"filter":{"n":7},"queryVector":{"float32":[1,2,0.50000006]}"#,
            r#""topK":50,"filter":{"n":7},"queryVector":{"float32":[1,2,-0.5]}"#,
        ];
        for rest in others {
            let response = server.vectors("QueryVectors", query(rest, token)).send().await;
            expect_invalid(&response, "/nextToken", "not a token of this listing");
        }
    }
}

/// Refused requests on a server with the index `films` in the vector bucket `media`, and the
/// messages of S3 Vectors.
const WORDS: &[(&str, &str, u16, &str, &str)] = &[
    (
        "CreateVectorBucket",
        r#"{"vectorBucketName":"sh"}"#,
        400,
        "ValidationException",
        "1 validation error detected. Value with length 2 at '/vectorBucketName' failed to satisfy \
         constraint: Member must have length between 3 and 63, inclusive",
    ),
    (
        "CreateVectorBucket",
        r#"{"vectorBucketName":"with_under_score"}"#,
        400,
        "ValidationException",
        "Invalid vector bucket name: a name has 3 to 63 lower-case letters, digits, hyphens and dots, and begins \
         and ends with a letter or digit",
    ),
    (
        "GetVectorBucket",
        r#"{"vectorBucketName":"arn:aws:s3vectors:us-east-1:000000000000:bucket/media"}"#,
        400,
        "ValidationException",
        "Invalid vector bucket name: an ARN belongs into vectorBucketArn or indexArn",
    ),
    (
        "GetIndex",
        r#"{"vectorBucketName":"media","indexName":"arn:aws:s3vectors:us-east-1:000000000000:bucket/media/index/films"}"#,
        400,
        "ValidationException",
        "Invalid index name: an ARN belongs into vectorBucketArn or indexArn",
    ),
    (
        "CreateVectorBucket",
        "{}",
        400,
        "ValidationException",
        "1 validation error detected. Value at '/vectorBucketName' failed to satisfy constraint: Member \
         must not be null",
    ),
    (
        "CreateVectorBucket",
        r#"{"vectorBucketName":"media"}"#,
        409,
        "ConflictException",
        "A vector bucket with the specified name already exists",
    ),
    (
        "DeleteVectorBucket",
        r#"{"vectorBucketName":"media"}"#,
        409,
        "ConflictException",
        "The specified vector bucket is not empty: delete its indexes first",
    ),
    (
        "GetVectorBucket",
        r#"{"vectorBucketName":"nowhere"}"#,
        404,
        "NotFoundException",
        "The specified vector bucket could not be found: there is no vector bucket 'nowhere'",
    ),
    (
        "GetVectorBucket",
        r#"{"vectorBucketName":"media","vectorBucketArn":"x"}"#,
        400,
        "ValidationException",
        "Must specify either vectorBucketName or vectorBucketArn but not both",
    ),
    (
        "GetVectorBucketPolicy",
        r#"{"vectorBucketName":"media"}"#,
        404,
        "NotFoundException",
        "The specified vector bucket policy could not be found",
    ),
    (
        "ListIndexes",
        r#"{"vectorBucketName":"nowhere"}"#,
        404,
        "NotFoundException",
        "The specified vector bucket could not be found: there is no vector bucket 'nowhere'",
    ),
    (
        "GetIndex",
        r#"{"vectorBucketName":"nowhere","indexName":"films"}"#,
        404,
        "NotFoundException",
        "The specified index could not be found: there is no vector bucket 'nowhere'",
    ),
    (
        "GetIndex",
        r#"{"vectorBucketName":"media","indexName":"nobody"}"#,
        404,
        "NotFoundException",
        "The specified index could not be found: there is no index 'nobody' in the vector bucket \
         'media'",
    ),
    (
        "GetIndex",
        r#"{"vectorBucketName":"media","indexArn":"x"}"#,
        400,
        "ValidationException",
        "Must specify either indexArn or both vectorBucketName and indexName",
    ),
    (
        "CreateIndex",
        r#"{"vectorBucketName":"media","indexName":"new","dataType":"int"}"#,
        400,
        "ValidationException",
        "1 validation error detected. Value at '/dataType' failed to satisfy constraint: Member must \
         satisfy enum value set: [float32]",
    ),
    (
        "CreateIndex",
        r#"{"vectorBucketName":"media","indexName":"new","dataType":"float32","dimension":99999}"#,
        400,
        "ValidationException",
        "1 validation error detected. Value at '/dimension' failed to satisfy constraint: Member must \
         be between 1 and 4096, inclusive",
    ),
    (
        "CreateIndex",
        r#"{"vectorBucketName":"media","indexName":"new","dataType":"float32","dimension":1,
            "distanceMetric":"what"}"#,
        400,
        "ValidationException",
        "1 validation error detected. Value at '/distanceMetric' failed to satisfy constraint: Member \
         must satisfy enum value set: [euclidean, cosine]",
    ),
    (
        "PutVectors",
        r#"{"vectorBucketName":"media","indexName":"films","vectors":[
            {"key":"a","data":{"float32":[1.0]}}]}"#,
        400,
        "ValidationException",
        "Invalid record for key 'a': vector must have length 3, but has length 1",
    ),
    (
        "PutVectors",
        r#"{"vectorBucketName":"media","indexName":"films","vectors":[
            {"key":"a","data":{"float32":[0,0,0]}}]}"#,
        400,
        "ValidationException",
        "Invalid record for key 'a': cosine distance does not support vectors with zero norm",
    ),
    (
        "ListVectors",
        r#"{"vectorBucketName":"media","indexName":"films","maxResults":1001}"#,
        400,
        "ValidationException",
        "1 validation error detected. Value at '/maxResults' failed to satisfy constraint: Member must \
         be between 1 and 1000, inclusive",
    ),
    (
        "QueryVectors",
        r#"{"vectorBucketName":"media","indexName":"films","topK":0,"queryVector":{"float32":[1,2,3]}}"#,
        400,
        "ValidationException",
        "1 validation error detected. Value at '/topK' failed to satisfy constraint: Member must be \
         greater than or equal to 1",
    ),
    (
        "GetVectors",
        r#"{"vectorBucketName":"media","indexName":"films","keys":[]}"#,
        400,
        "ValidationException",
        "1 validation error detected. Value with length 0 at '/keys' failed to satisfy constraint: \
         Member must have length between 1 and 100, inclusive",
    ),
];

#[tokio::test]
async fn refusals_have_the_words_of_the_service() {
    for server in both().await {
        make_index(&server).await;
        for (operation, body, status, exception, message) in WORDS {
            let reply = server.vectors(operation, *body).send().await;
            let found: Value = serde_json::from_str(&reply.text()).expect("JSON");
            assert_eq!((reply.status, &found["message"]), (*status, &json!(message)), "{body}");
            assert_eq!(found["__type"], *exception, "{body}");
            if let Some(field) = found["fieldList"][0]["message"].as_str() {
                let is_constraint = message.starts_with("1 validation error detected. ");
                assert_eq!(is_constraint, message.ends_with(field) && field.starts_with("Value"));
            }
        }
    }
}
