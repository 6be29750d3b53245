//! The cost of evaluating a policy: `cargo run --release --features fuzzing --example policy_cost`.
//!
//! A bucket policy of ten statements such as AWS's examples have, on one thread; medians over batches.

use std::hint::black_box;
use std::time::Instant;

use liteio_policy::fuzzing::policy_evaluator;

const BATCHES: usize = 201;
const REQUESTS_PER_BATCH: u32 = 1000;

const POLICY: &str = r#"{"Version": "2012-10-17", "Statement": [
    {"Sid": "TlsOnly", "Effect": "Deny", "Principal": "*", "Action": "s3:*",
        "Resource": ["arn:aws:s3:::bucket", "arn:aws:s3:::bucket/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}}},
    {"Sid": "Encrypted", "Effect": "Deny", "Principal": "*", "Action": "s3:PutObject",
        "Resource": "arn:aws:s3:::bucket/*",
        "Condition": {"StringNotEquals": {"s3:x-amz-server-side-encryption": ["AES256", "aws:kms"]}}},
    {"Sid": "Networks", "Effect": "Deny", "Principal": "*", "Action": "s3:*",
        "Resource": ["arn:aws:s3:::bucket", "arn:aws:s3:::bucket/*"],
        "Condition": {"NotIpAddress": {"aws:SourceIp": ["203.0.113.0/24", "198.51.100.0/24"]}}},
    {"Sid": "Site", "Effect": "Allow", "Principal": "*", "Action": "s3:GetObject",
        "Resource": "arn:aws:s3:::bucket/public/*"},
    {"Sid": "Partner", "Effect": "Allow", "Principal": {"AWS": "222233334444"},
        "Action": ["s3:GetObject", "s3:PutObject"], "Resource": "arn:aws:s3:::bucket/partner/*"},
    {"Sid": "List", "Effect": "Allow", "Principal": {"AWS": "111122223333"},
        "Action": "s3:ListBucket", "Resource": "arn:aws:s3:::bucket",
        "Condition": {"StringLike": {"s3:prefix": ["", "home/", "home/${aws:username}/*"]}}},
    {"Sid": "Home", "Effect": "Allow", "Principal": {"AWS": "111122223333"},
        "Action": ["s3:GetObject*", "s3:PutObject*", "s3:DeleteObject*"],
        "Resource": "arn:aws:s3:::bucket/home/${aws:username}/*"},
    {"Sid": "Logs", "Effect": "Allow", "Principal": {"Service": "logging.s3.amazonaws.com"},
        "Action": "s3:PutObject", "Resource": "arn:aws:s3:::bucket/logs/*"},
    {"Sid": "Until", "Effect": "Allow", "Principal": {"AWS": [
            "arn:aws:iam::111122223333:user/alice", "arn:aws:iam::111122223333:role/reader"]},
        "Action": "s3:Get*", "Resource": "arn:aws:s3:::bucket/*/reports/*.csv",
        "Condition": {"DateLessThan": {"aws:CurrentTime": "2030-01-01T00:00:00Z"}}},
    {"Sid": "Keep", "Effect": "Deny", "Principal": "*", "Action": ["s3:DeleteObject", "s3:DeleteObjectVersion"],
        "Resource": "arn:aws:s3:::bucket/archive/*"}
]}"#;

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
    let evaluate = policy_evaluator(POLICY);
    let long = format!("arn:aws:s3:::bucket/data/reports/{}.csv", "a".repeat(900));
    for (what, action, resource) in [
        ("public object", "s3:GetObject", "arn:aws:s3:::bucket/public/index.html"),
        ("own home", "s3:PutObject", "arn:aws:s3:::bucket/home/alice/2026/photo.jpg"),
        ("listing", "s3:ListBucket", "arn:aws:s3:::bucket"),
        ("report", "s3:GetObject", "arn:aws:s3:::bucket/data/2026/reports/november.csv"),
        ("long key", "s3:GetObject", long.as_str()),
        ("nobody's", "s3:GetObject", "arn:aws:s3:::bucket/private/key"),
        ("archive", "s3:DeleteObject", "arn:aws:s3:::bucket/archive/key"),
    ] {
        let requests = [(action, resource)];
        let allowed = evaluate(&requests) == 1;
        let cost = median_nanoseconds(|| {
            black_box(evaluate(black_box(&requests)));
        });
        println!("{what:>14}: {cost:>6} ns, {}", if allowed { "allowed" } else { "not allowed" });
    }
}
