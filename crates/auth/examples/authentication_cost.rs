//! The cost of authenticating one request: `cargo run --release --features fuzzing --example
//! authentication_cost`.
//!
//! The example requests that AWS publishes, their signing key cached, on one thread; medians over
//! batches, building the request included and also shown alone.

use std::hint::black_box;
use std::time::Instant;

use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use liteio_auth::fuzzing::is_accepted;

const BATCHES: usize = 201;
const REQUESTS_PER_BATCH: u32 = 1000;

type EmptyRequest = Request<Empty<Bytes>>;
type Case = (&'static str, fn() -> EmptyRequest);

fn header_signed_get() -> EmptyRequest {
    let builder = Request::get("/test.txt")
        .header("host", "examplebucket.s3.amazonaws.com")
        .header("user-agent", "example/1.0")
        .header("accept", "*/*")
        .header("range", "bytes=0-9")
        .header("x-amz-date", "20130524T000000Z")
        .header(
            "x-amz-content-sha256",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        )
        .header(
            "authorization",
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
             SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature=\
             f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        );
    builder.body(Empty::new()).expect("a valid request")
}

fn presigned_get() -> EmptyRequest {
    let uri = "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE\
               %2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires\
               =86400&X-Amz-SignedHeaders=host&X-Amz-Signature=\
               aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
    let builder = Request::get(uri).header("host", "examplebucket.s3.amazonaws.com");
    builder.body(Empty::new()).expect("a valid request")
}

fn anonymous_get() -> EmptyRequest {
    let builder = Request::get("/examplebucket/test.txt").header("host", "localhost:9000");
    builder.body(Empty::new()).expect("a valid request")
}

/// Median cost of one call, in nanoseconds.
fn median_nanoseconds(mut work: impl FnMut()) -> u128 {
    let mut batches: Vec<u128> = (0..BATCHES)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..REQUESTS_PER_BATCH {
                work();
            }
            start.elapsed().as_nanos() / u128::from(REQUESTS_PER_BATCH)
        })
        .collect();
    batches.sort_unstable();
    batches[BATCHES / 2]
}

fn main() {
    let requests: [Case; 3] = [
        ("signed in the header", header_signed_get),
        ("presigned", presigned_get),
        ("anonymous", anonymous_get),
    ];
    for (name, request) in requests {
        assert!(is_accepted(request()), "{name}");
        let building = median_nanoseconds(|| drop(black_box(request())));
        let both = median_nanoseconds(|| {
            black_box(is_accepted(request()));
        });
        let alone = both.saturating_sub(building);
        println!("{name}: {alone} ns (with building the request {both} ns)");
    }
}
