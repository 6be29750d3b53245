use super::{BUCKET, Row, check};

const ROWS: &[Row] = &[
    ("'Resource':'arn:aws:s3:::bucket/a'", "alice GetObject bucket/a", "everyone"),
    ("'Resource':'arn:aws:s3:::bucket/a'", "alice GetObject bucket/A", "none"),
    ("'Resource':'arn:aws:s3:::bucket/a'", "alice GetObject bucket/a/b", "none"),
    ("'Resource':'arn:aws:s3:::bucket/a*'", "alice GetObject bucket/a/b", "everyone"),
    ("'Resource':'arn:aws:s3:::bucket/a/*'", "alice GetObject bucket/a", "none"),
    ("'Resource':'arn:aws:s3:::bucket/a/*'", "alice GetObject bucket/a/", "everyone"),
    ("'Resource':'arn:aws:s3:::bucket/*/c'", "alice GetObject bucket/a/b/c", "everyone"),
    ("'Resource':'arn:aws:s3:::bucket/?'", "alice GetObject bucket/a", "everyone"),
    ("'Resource':'arn:aws:s3:::bucket/?'", "alice GetObject bucket/ab", "none"),
    ("'Resource':'arn:aws:s3:::bucket/?'", "alice GetObject bucket/\u{20ac}", "everyone"),
    ("'Resource':'arn:aws:s3:::bucket/*.jpg'", "alice GetObject bucket/x/y.jpg", "everyone"),
    ("'Resource':'arn:aws:s3:::bucket/*.jpg'", "alice GetObject bucket/x/y.jpg.gz", "none"),
    ("'Resource':'arn:aws:s3:::bucket/*'", "alice GetObject bucket", "none"),
    ("'Resource':'arn:aws:s3:::bucket/*'", "alice GetObject buckets/a", "none"),
    ("'Resource':'arn:aws:s3:::bucket*'", "alice GetObject bucket/a", "everyone"),
    ("'Resource':'arn:aws:s3:::b*/a'", "alice GetObject bucket/a", "everyone"),
    ("'Resource':'arn:aws:s3:::*'", "alice GetObject bucket/a", "everyone"),
    ("'Resource':'arn:aws:s3:::*/*'", "alice GetObject bucket/a", "everyone"),
    ("'Resource':'*'", "alice GetObject bucket/a", "everyone"),
    (
        "'Resource':['arn:aws:s3:::bucket/a','arn:aws:s3:::bucket/b']",
        "alice GetObject bucket/b",
        "everyone",
    ),
    (
        "'Resource':['arn:aws:s3:::bucket/a','arn:aws:s3:::bucket/b']",
        "alice GetObject bucket/c",
        "none",
    ),
    (
        "'Resource':['arn:aws:s3:::bucket/a','arn:aws:s3:::bucket/a']",
        "alice GetObject bucket/a",
        "everyone",
    ),
    ("'NotResource':'arn:aws:s3:::bucket/private/*'", "alice GetObject bucket/a", "everyone"),
    ("'NotResource':'arn:aws:s3:::bucket/private/*'", "alice GetObject bucket/private/a", "none"),
    (
        "'Effect':'Deny','NotResource':['arn:aws:s3:::bucket/a*','arn:aws:s3:::bucket/b*']",
        "alice GetObject bucket/c",
        "deny",
    ),
    (
        "'Effect':'Deny','NotResource':['arn:aws:s3:::bucket/a*','arn:aws:s3:::bucket/b*']",
        "alice GetObject bucket/b",
        "none",
    ),
    // A key that looks like a pattern is one name.
    ("'Resource':'arn:aws:s3:::bucket/a'", "alice GetObject bucket/*", "none"),
    ("'Resource':'arn:aws:s3:::bucket/a${*}'", "alice GetObject bucket/a*", "everyone"),
    ("'Resource':'arn:aws:s3:::bucket/a${*}'", "alice GetObject bucket/ab", "none"),
    ("'Resource':'arn:aws:s3:::bucket/a${?}'", "alice GetObject bucket/a?", "everyone"),
    ("'Resource':'arn:aws:s3:::bucket/a${?}'", "alice GetObject bucket/ab", "none"),
    ("'Resource':'arn:aws:s3:::bucket/a${$}'", "alice GetObject bucket/a$", "everyone"),
    ("'Resource':'arn:aws:s3:::bucket/a$b'", "alice GetObject bucket/a$b", "everyone"),
    ("'Resource':'arn:aws:s3:::bucket/a${$}{x}'", "alice GetObject bucket/a${x}", "everyone"),
    (
        "2008 'Resource':'arn:aws:s3:::bucket/${aws:username}'",
        "alice GetObject bucket/${aws:username}",
        "everyone",
    ),
];

#[test]
fn resources_are_patterns() {
    check(BUCKET, ROWS);
}
