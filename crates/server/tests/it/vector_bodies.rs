//! Bodies of S3 Vectors that are too long or ambiguous, as clients on a plain connection see them.

use crate::harness::both;
use crate::raw::{OWNER, RawServer, Request, send_all};
use crate::reply::Reply;
use crate::vectors::{expect_exception, make_index, put_body, query_body};

/// The largest body of a request.
const BODY_BYTES_MAX: usize = 20 << 20;

fn put_vectors(body: impl AsRef<[u8]>) -> Request {
    Request::new("POST", "/PutVectors").scope("us-east-1", "s3vectors").body(body)
}

/// The body as one chunk of the transfer encoding.
fn chunked(body: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\n0\r\n\r\n"].concat()
}

#[track_caller]
fn expect_too_large(reply: &Reply) {
    let wrong = ("", "Request body exceeds max allowed size: 20971520 bytes");
    expect_exception(reply, 400, "ValidationException", wrong);
}

#[test]
fn a_client_that_sends_too_much_before_it_reads_gets_the_error() {
    let server = RawServer::start();
    // The last is longer than every buffer between client and server, and than the limit by far.
    for bytes in [BODY_BYTES_MAX + 1, 24 << 20, 96 << 20] {
        let body = vec![b' '; bytes];
        let named = put_vectors(&body).sign(OWNER);
        expect_too_large(&send_all(server.address, &named.bytes()));
        let unnamed = put_vectors(&body).sign_unnamed(OWNER);
        expect_too_large(&send_all(server.address, &unnamed.bytes()));
        for request in [named, unnamed] {
            let request = request.no_length().header("transfer-encoding", "chunked");
            expect_too_large(&send_all(
                server.address,
                &[request.head_bytes(), chunked(&body)].concat(),
            ));
        }
    }
    let most = put_vectors(vec![b' '; BODY_BYTES_MAX]).sign_unnamed(OWNER);
    let wrong = ("", "not valid JSON");
    expect_exception(&send_all(server.address, &most.bytes()), 400, "ValidationException", wrong);
}

#[test]
fn the_rest_of_a_refused_upload_is_read_before_the_connection_is_closed() {
    let server = RawServer::start();
    let upload = Request::new("PUT", "/no-such-bucket/key").sign(OWNER);
    let body = vec![b'x'; 96 << 20];
    let upload = upload.no_length().header("content-length", body.len().to_string()).body(body);
    let reply = send_all(server.address, &upload.bytes());
    assert_eq!((reply.status, &*reply.code()), (404, "NoSuchBucket"), "{reply:?}");
}

#[tokio::test]
async fn a_member_that_is_there_twice_is_refused_and_neither_is_taken() {
    let put = |vector: &str| put_body(&format!(r#"[{vector}]"#));
    let (key, data) = (r#""key":"a""#, r#""data":{"float32":[1,2,3]}"#);
    let puts = [
        (put(&format!(r#"{{{key},{data},"key":"b"}}"#)), "/vectors/0/key"),
        (put(&format!(r#"{{{key},{data},"k\u0065y":"a"}}"#)), "/vectors/0/key"),
        (put(&format!("{{{key},{data},{data}}}")), "/vectors/0/data"),
        (put(&format!(r#"{{"data":{{"x":1}},{key},{data}}}"#)), "/vectors/0/data"),
        (
            put(&format!(r#"{{{key},"data":{{"float32":[1,2,3],"float32":[1,2,3]}}}}"#)),
            "/vectors/0/data/float32",
        ),
        (
            put(&format!(r#"{{{key},{data},"metadata":null,"metadata":{{"n":1}}}}"#)),
            "/vectors/0/metadata",
        ),
        (
            put(&format!(r#"{{{key},{data},"metadata":{{"n":1,"text":"x","n":2}}}}"#)),
            "/vectors/0/metadata/n",
        ),
        (
            put(&format!(r#"{{{key},{data},"metadata":{{"text":{{"a":{{"b":1,"b":1}}}}}}}}"#)),
            "/vectors/0/metadata/text",
        ),
        (
            format!(r#"{{"indexName":"films",{}"#, &put(&format!("{{{key},{data}}}"))[1..]),
            "/indexName",
        ),
        (put_body(&format!(r#"[],"vectors":[{{{key},{data}}}]"#)), "/vectors"),
    ];
    let query = |fields: &str| query_body(&format!(r#""topK":1,{fields}"#));
    let vector = r#""queryVector":{"float32":[1,2,3]}"#;
    let queries = [
        (query(&format!(r#"{vector},"topK":2"#)), "/topK"),
        (query(&format!("{vector},{vector}")), "/queryVector"),
        (query(&format!(r#"{vector},"filter":{{"n":1,"n":2}}"#)), "/filter"),
    ];
    for server in both().await {
        make_index(&server).await;
        for (operation, rows) in [("PutVectors", &puts[..]), ("QueryVectors", &queries[..])] {
            for (body, path) in rows {
                let reply = server.vectors(operation, body).send().await;
                expect_exception(&reply, 400, "ValidationException", (path, "there twice"));
            }
        }
        let list = query_body(r#""maxResults":1,"maxResults":2"#);
        let reply = server.vectors("ListVectors", list).send().await;
        expect_exception(&reply, 400, "ValidationException", ("", "\"maxResults\" is there twice"));
        let list = server.vectors("ListVectors", query_body(r#""maxResults":1"#)).send().await;
        assert_eq!(list.expect_status(200).text(), r#"{"vectors":[]}"#);
    }
}
