use super::{BUCKET, Row, check};

const ROWS: &[Row] = &[
    ("'Action':'s3:GetObject'", "alice GetObject bucket/a", "everyone"),
    ("'Action':'s3:getobject'", "alice GetObject bucket/a", "everyone"),
    ("'Action':'S3:GETOBJECT'", "alice GetObject bucket/a", "everyone"),
    ("'Action':'s3:GetObject'", "alice GetObjectVersion bucket/a", "none"),
    ("'Action':'s3:GetObject'", "alice PutObject bucket/a", "none"),
    ("'Action':'s3:GetObject*'", "alice GetObjectVersion bucket/a", "everyone"),
    ("'Action':'s3:Get*'", "alice GetObjectTagging bucket/a", "everyone"),
    ("'Action':'s3:Get*'", "alice PutObjectTagging bucket/a", "none"),
    ("'Action':'s3:*Object'", "alice PutObject bucket/a", "everyone"),
    ("'Action':'s3:*Object'", "alice PutObjectAcl bucket/a", "none"),
    ("'Action':'s3:?etObject'", "alice GetObject bucket/a", "everyone"),
    ("'Action':'s3:?utObject'", "alice GetObject bucket/a", "none"),
    ("'Action':'s3:*'", "alice DeleteObject bucket/a", "everyone"),
    ("'Action':'*'", "alice DeleteObject bucket/a", "everyone"),
    ("'Action':'s3*'", "alice DeleteObject bucket/a", "everyone"),
    ("'Action':['s3:PutObject','s3:GetObject']", "alice GetObject bucket/a", "everyone"),
    ("'Action':['s3:PutObject','s3:GetObject']", "alice PutObject bucket/a", "everyone"),
    ("'Action':['s3:PutObject','s3:GetObject']", "alice DeleteObject bucket/a", "none"),
    ("'NotAction':'s3:GetObject'", "alice GetObject bucket/a", "none"),
    ("'NotAction':'s3:GetObject'", "alice PutObject bucket/a", "everyone"),
    ("'NotAction':['s3:Get*','s3:List*']", "alice ListMultipartUploadParts bucket/a", "none"),
    ("'NotAction':['s3:Get*','s3:List*']", "alice DeleteObject bucket/a", "everyone"),
    ("'Effect':'Deny','NotAction':'s3:Get*'", "alice PutObject bucket/a", "deny"),
    ("'Effect':'Deny','NotAction':'s3:Get*'", "alice GetObject bucket/a", "none"),
    (
        "'Action':'s3:*'||'Effect':'Deny','Action':'s3:Delete*'",
        "alice DeleteObjectVersion bucket/a",
        "deny",
    ),
    (
        "'Action':'s3:*'||'Effect':'Deny','Action':'s3:Delete*'",
        "alice PutObject bucket/a",
        "everyone",
    ),
    (
        "'Action':'s3:ListBucket','Resource':'arn:aws:s3:::bucket'",
        "alice ListBucket bucket",
        "everyone",
    ),
    (
        "'Action':'s3:ListBucket','Resource':'arn:aws:s3:::bucket'",
        "alice ListBucketVersions bucket",
        "none",
    ),
    (
        "'Action':'s3:ListBucket*','Resource':'arn:aws:s3:::bucket'",
        "alice ListBucketVersions bucket",
        "everyone",
    ),
    (
        "'Action':'s3:*','Resource':['arn:aws:s3:::bucket','arn:aws:s3:::bucket/*']",
        "alice PutBucketPolicy bucket",
        "everyone",
    ),
    (
        "'Action':['s3:GetObject','s3:ListBucket'],'Resource':['arn:aws:s3:::bucket','arn:aws:s3:::bucket/*']",
        "alice ListBucket bucket",
        "everyone",
    ),
];

#[test]
fn actions_are_patterns_without_case() {
    check(BUCKET, ROWS);
}
