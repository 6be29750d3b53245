use super::{Kind, Row, VECTOR_BUCKET_ARN, check};

const ROWS: &[Row] = &[
    ("", "alice GetVectorBucket vectors", "everyone"),
    ("", "alice QueryVectors vectors/index/i", "everyone"),
    ("", "alice GetVectorBucket other", "none"),
    // The resource of another vector bucket, in a region of any name, matches nothing here.
    (
        "'Resource':'arn:aws:s3vectors:aws-region:111122223333:bucket/other'",
        "alice GetVectorBucket vectors",
        "none",
    ),
    ("'Action':'s3vectors:QueryVectors'", "alice QueryVectors vectors/index/i", "everyone"),
    ("'Action':'s3vectors:QueryVectors'", "alice GetVectors vectors/index/i", "none"),
    ("'Action':'s3vectors:Get*'", "alice GetVectors vectors/index/i", "everyone"),
    (
        "'Action':'s3vectors:QueryVectors','Resource':'arn:aws:s3vectors:us-east-1:111122223333:bucket/vectors/index/i'",
        "alice QueryVectors vectors/index/i",
        "everyone",
    ),
    (
        "'Action':'s3vectors:QueryVectors','Resource':'arn:aws:s3vectors:us-east-1:111122223333:bucket/vectors/index/i'",
        "alice QueryVectors vectors/index/j",
        "none",
    ),
    (
        "'Action':'s3vectors:ListIndexes','Resource':'arn:aws:s3vectors:us-east-1:111122223333:bucket/vectors'",
        "alice ListIndexes vectors",
        "everyone",
    ),
    (
        "'Resource':'arn:aws:s3vectors:*:*:bucket/vectors/*'",
        "alice QueryVectors vectors/index/i",
        "everyone",
    ),
    (
        "'Action':'s3vectors:TagResource','Resource':'arn:aws:s3vectors:us-east-1:111122223333:bucket/vectors'",
        "alice TagResource vectors",
        "everyone",
    ),
    ("'Principal':{'AWS':'222233334444'}", "bob QueryVectors vectors/index/i", "account"),
    ("'Principal':{'AWS':'222233334444'}", "alice QueryVectors vectors/index/i", "none"),
    (
        "'Condition':{'StringEquals':{'s3vectors:sseType':'AES256'}}",
        "alice CreateIndex vectors/index/i s3vectors:sseType=AES256",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'s3vectors:sseType':'AES256'}}",
        "alice CreateIndex vectors/index/i",
        "none",
    ),
    (
        "'Condition':{'StringEquals':{'s3vectors:VectorBucketTag/team':'red'}}",
        "alice GetIndex vectors/index/i s3vectors:VectorBucketTag/team=red",
        "everyone",
    ),
    (
        "'Condition':{'IpAddress':{'aws:SourceIp':'10.0.0.0/8'}}",
        "alice GetIndex vectors/index/i aws:SourceIp=10.0.0.1",
        "everyone",
    ),
    (
        "||'Effect':'Deny','Action':'s3vectors:Delete*'",
        "alice DeleteVectors vectors/index/i",
        "deny",
    ),
];

#[test]
fn vector_buckets_have_policies() {
    check(Kind::VectorBucket(VECTOR_BUCKET_ARN), ROWS);
}
