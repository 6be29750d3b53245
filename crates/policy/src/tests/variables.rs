use super::{BUCKET, Row, check};

const ROWS: &[Row] = &[
    (
        "'Resource':'arn:aws:s3:::bucket/home/${aws:username}/*'",
        "alice GetObject bucket/home/alice/x",
        "everyone",
    ),
    (
        "'Resource':'arn:aws:s3:::bucket/home/${aws:username}/*'",
        "alice GetObject bucket/home/bob/x",
        "none",
    ),
    (
        "'Resource':'arn:aws:s3:::bucket/home/${aws:username}/*'",
        "alice GetObject bucket/other/alice/x",
        "none",
    ),
    (
        "'Resource':'arn:aws:s3:::bucket/home/${AWS:UserName}/*'",
        "alice GetObject bucket/home/alice/x",
        "everyone",
    ),
    (
        "'Resource':'arn:aws:s3:::bucket/home/${aws:username}/*'",
        "role GetObject bucket/home//x",
        "none",
    ),
    (
        "'Resource':'arn:aws:s3:::bucket/home/${aws:username}/*'",
        "anonymous GetObject bucket/home/x",
        "none",
    ),
    (
        "'NotResource':'arn:aws:s3:::bucket/home/${aws:username}/*'",
        "anonymous GetObject bucket/home/x",
        "everyone",
    ),
    (
        "'Resource':'arn:aws:s3:::bucket/${aws:PrincipalAccount}-${aws:username}'",
        "bob GetObject bucket/222233334444-bob",
        "everyone",
    ),
    (
        "'Resource':'arn:aws:s3:::${s3:prefix}/x'",
        "bob GetObject bucket/x s3:prefix=bucket",
        "everyone",
    ),
    // A value is compared as it is.
    (
        "'Resource':'arn:aws:s3:::bucket/${aws:Referer}'",
        "alice GetObject bucket/anything aws:Referer=*",
        "none",
    ),
    (
        "'Resource':'arn:aws:s3:::bucket/${aws:Referer}'",
        "alice GetObject bucket/* aws:Referer=*",
        "everyone",
    ),
    (
        "'Resource':'arn:aws:s3:::bucket/${aws:Referer}'",
        "alice GetObject bucket/alice aws:Referer=${aws:username}",
        "none",
    ),
    // Defaults.
    (
        r#""Resource":"arn:aws:s3:::bucket/${aws:username, 'nobody'}""#,
        "alice GetObject bucket/alice",
        "everyone",
    ),
    (
        r#""Resource":"arn:aws:s3:::bucket/${aws:username, 'nobody'}""#,
        "anonymous GetObject bucket/nobody",
        "everyone",
    ),
    (
        r#""Resource":"arn:aws:s3:::bucket/${aws:username, 'nobody'}""#,
        "anonymous GetObject bucket/alice",
        "none",
    ),
    (
        r#""Resource":"arn:aws:s3:::bucket/${aws:username,'a}b'}c""#,
        "anonymous GetObject bucket/a}bc",
        "everyone",
    ),
    (
        r#""Resource":"arn:aws:s3:::bucket/${aws:username, ''}""#,
        "anonymous GetObject bucket/",
        "everyone",
    ),
    (
        r#""Resource":"arn:aws:s3:::bucket/${aws:username, '*'}""#,
        "anonymous GetObject bucket/x",
        "none",
    ),
    (
        r#""Resource":"arn:aws:s3:::bucket/${aws:PrincipalTag/team, 'company-wide'}/*""#,
        "alice GetObject bucket/red/x aws:PrincipalTag/team=red",
        "everyone",
    ),
    (
        r#""Resource":"arn:aws:s3:::bucket/${aws:PrincipalTag/team, 'company-wide'}/*""#,
        "alice GetObject bucket/company-wide/x",
        "everyone",
    ),
    // Of several values there is no one.
    (
        "'Resource':'arn:aws:s3:::bucket/${aws:TagKeys}'",
        "alice GetObject bucket/a aws:TagKeys=a|b",
        "none",
    ),
    (
        "'Resource':'arn:aws:s3:::bucket/${aws:TagKeys}'",
        "alice GetObject bucket/a aws:TagKeys=a",
        "everyone",
    ),
    // In conditions.
    (
        "'Condition':{'StringLike':{'s3:prefix':'home/${aws:username}/*'}}",
        "alice GetObject bucket/a s3:prefix=home/alice/x",
        "everyone",
    ),
    (
        "'Condition':{'StringLike':{'s3:prefix':'home/${aws:username}/*'}}",
        "alice GetObject bucket/a s3:prefix=home/bob/x",
        "none",
    ),
    (
        "'Condition':{'StringEquals':{'s3:prefix':'${aws:username}'}}",
        "alice GetObject bucket/a s3:prefix=alice",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'s3:prefix':'${aws:username}*'}}",
        "alice GetObject bucket/a s3:prefix=alice*",
        "everyone",
    ),
    (
        "'Condition':{'StringEqualsIgnoreCase':{'s3:prefix':'x${aws:username}'}}",
        "alice GetObject bucket/a s3:prefix=XALICE",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'s3:ExistingObjectTag/team':'${aws:PrincipalTag/team}'}}",
        "alice GetObject bucket/a aws:PrincipalTag/team=red s3:ExistingObjectTag/team=red",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'s3:ExistingObjectTag/team':'${aws:PrincipalTag/team}'}}",
        "alice GetObject bucket/a aws:PrincipalTag/team=red s3:ExistingObjectTag/team=blue",
        "none",
    ),
    (
        "'Condition':{'StringEquals':{'s3:ExistingObjectTag/team':'${aws:PrincipalTag/team}'}}",
        "alice GetObject bucket/a s3:ExistingObjectTag/team=blue",
        "none",
    ),
    (
        "'Condition':{'StringNotEquals':{'s3:ExistingObjectTag/team':'${aws:PrincipalTag/team}'}}",
        "alice GetObject bucket/a s3:ExistingObjectTag/team=blue",
        "everyone",
    ),
    (
        "'Condition':{'ArnLike':{'aws:SourceArn':'arn:aws:s3:::${aws:username}'}}",
        "alice GetObject bucket/a aws:SourceArn=arn:aws:s3:::alice",
        "everyone",
    ),
    (
        "'Condition':{'ArnLike':{'aws:SourceArn':'arn:aws:s3::${aws:PrincipalAccount}:x'}}",
        "alice GetObject bucket/a aws:SourceArn=arn:aws:s3::111122223333:x",
        "everyone",
    ),
    (
        "'Condition':{'ArnLike':{'aws:SourceArn':'arn:aws:s3::${aws:Referer}:x'}}",
        "alice GetObject bucket/a aws:Referer=1:2 aws:SourceArn=arn:aws:s3::1:2:x",
        "none",
    ),
    (
        "'Condition':{'Bool':{'aws:SecureTransport':'${s3:prefix}'}}",
        "alice GetObject bucket/a aws:SecureTransport=true s3:prefix=true",
        "everyone",
    ),
    (
        "'Condition':{'StringLike':{'aws:Referer':'a${*}'}}",
        "alice GetObject bucket/a aws:Referer=ab",
        "none",
    ),
    (
        "'Condition':{'StringLike':{'aws:Referer':'a${*}'}}",
        "alice GetObject bucket/a aws:Referer=a*",
        "everyone",
    ),
    // The older version has none.
    (
        "2008 'Resource':'arn:aws:s3:::bucket/${aws:username}'",
        "alice GetObject bucket/alice",
        "none",
    ),
    (
        "2008 'Condition':{'StringEquals':{'s3:prefix':'${aws:username}'}}",
        "alice GetObject bucket/a s3:prefix=alice",
        "none",
    ),
    (
        "2008 'Condition':{'StringEquals':{'s3:prefix':'${aws:username}'}}",
        "alice GetObject bucket/a s3:prefix=${aws:username}",
        "everyone",
    ),
];

#[test]
fn variables_stand_for_values() {
    check(BUCKET, ROWS);
}
