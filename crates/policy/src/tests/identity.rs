use super::{Kind, Row, check};

const IDENTITY: &[Row] = &[
    ("", "alice GetObject any/a", "caller"),
    ("'Action':'*'", "alice iam:CreateUser *", "caller"),
    ("'Action':'iam:*'", "alice iam:CreateUser *", "caller"),
    ("'Action':'iam:*'", "alice sts:AssumeRole *", "none"),
    ("'Action':'iam:Create*'", "alice IAM:createuser *", "caller"),
    (
        "'Action':['s3:*','s3vectors:*']",
        "alice s3vectors:GetIndex arn:aws:s3vectors:us-east-1:1:bucket/b/index/i",
        "caller",
    ),
    ("'Action':'s3:*'", "alice s3vectors:GetIndex *", "none"),
    ("'NotAction':'iam:*'", "alice GetObject any/a", "caller"),
    ("'NotAction':'iam:*'", "alice iam:CreateUser *", "none"),
    ("'Action':'s3:ListAllMyBuckets'", "alice ListAllMyBuckets *", "caller"),
    (
        "'Action':'s3:ListAllMyBuckets','Resource':'arn:aws:s3:::*'",
        "alice ListAllMyBuckets arn:aws:s3:::*",
        "caller",
    ),
    ("'Action':'s3:*','Resource':'arn:aws:s3:::b*'", "alice CreateBucket b1", "caller"),
    ("'Action':'s3:*','Resource':'arn:aws:s3:::b*'", "alice CreateBucket c1", "none"),
    ("'Resource':['arn:aws:s3:::a/*','arn:aws:s3:::b/*']", "alice GetObject b/k", "caller"),
    ("'Resource':['arn:aws:s3:::a/*','arn:aws:s3:::b/*']", "alice GetObject c/k", "none"),
    ("'NotResource':'arn:aws:s3:::secret/*'", "alice GetObject secret/k", "none"),
    ("'NotResource':'arn:aws:s3:::secret/*'", "alice GetObject open/k", "caller"),
    ("'Resource':'arn:aws:s3:::${aws:username}/*'", "alice GetObject alice/k", "caller"),
    ("'Resource':'arn:aws:s3:::${aws:username}/*'", "alice GetObject bob/k", "none"),
    ("'Resource':'arn:*:s3:::b/*'", "alice GetObject b/k", "caller"),
    (
        "'Resource':'arn:aws:iam::111122223333:user/${aws:username}','Action':'iam:*AccessKey*'",
        "alice iam:CreateAccessKey arn:aws:iam::111122223333:user/alice",
        "caller",
    ),
    ("||'Effect':'Deny','Resource':'arn:aws:s3:::secret/*'", "alice GetObject secret/k", "deny"),
    ("||'Effect':'Deny','Resource':'arn:aws:s3:::secret/*'", "alice GetObject open/k", "caller"),
    // Keys that nobody knows are accepted and absent.
    ("'Condition':{'StringEquals':{'x:y':'z'}}", "alice GetObject b/k", "none"),
    ("'Condition':{'StringEqualsIfExists':{'x:y':'z'}}", "alice GetObject b/k", "caller"),
    ("'Condition':{'StringNotEquals':{'s3:frobnicate':'z'}}", "alice GetObject b/k", "caller"),
    ("'Condition':{'StringEquals':{'x:y':'z'}}", "alice GetObject b/k x:y=z", "caller"),
];

const TRUST: &[Row] = &[
    ("", "alice AssumeRole *", "everyone"),
    ("'Principal':{'AWS':'111122223333'}", "alice AssumeRole *", "account"),
    (
        "'Principal':{'AWS':'arn:aws:iam::111122223333:user/team/alice'}",
        "alice AssumeRole *",
        "caller",
    ),
    ("'Principal':{'AWS':'arn:aws:iam::111122223333:user/team/alice'}", "bob AssumeRole *", "none"),
    ("'Principal':{'AWS':'arn:aws:iam::111122223333:role/reader'}", "role AssumeRole *", "caller"),
    ("'Principal':{'Service':'ec2.amazonaws.com'}", "alice AssumeRole *", "none"),
    (
        "'Action':'sts:AssumeRoleWithWebIdentity','Principal':{'Federated':'idp.example.com'}",
        "web AssumeRoleWithWebIdentity *",
        "caller",
    ),
    (
        "'Action':'sts:AssumeRoleWithWebIdentity','Principal':{'Federated':'idp.example.com'},'Condition':{'StringEquals':{'idp.example.com:aud':'app'}}",
        "web AssumeRoleWithWebIdentity * idp.example.com:aud=app",
        "caller",
    ),
    (
        "'Action':'sts:AssumeRoleWithWebIdentity','Principal':{'Federated':'idp.example.com'},'Condition':{'StringEquals':{'idp.example.com:aud':'app'}}",
        "web AssumeRoleWithWebIdentity * idp.example.com:aud=other",
        "none",
    ),
    // A web identity is of no account, so an account without digits does not name it.
    (
        "'Action':'sts:AssumeRoleWithWebIdentity','Principal':{'AWS':'arn:aws:iam:::root'}",
        "web AssumeRoleWithWebIdentity *",
        "none",
    ),
    (
        "'Action':'sts:AssumeRoleWithWebIdentity','Principal':{'AWS':'arn:aws-cn:iam:::root'}",
        "web AssumeRoleWithWebIdentity *",
        "none",
    ),
    (
        "'Action':'sts:*','Principal':{'AWS':['111122223333','arn:aws:iam:::root']}",
        "web AssumeRoleWithWebIdentity *",
        "none",
    ),
    (
        "'Action':'sts:*','Principal':'*'||'Effect':'Deny','Action':'sts:*','NotPrincipal':{'AWS':'arn:aws:iam:::root'}",
        "web AssumeRoleWithWebIdentity *",
        "deny",
    ),
    (
        "'Condition':{'StringEquals':{'sts:ExternalId':'x'}}",
        "alice AssumeRole * sts:ExternalId=x",
        "everyone",
    ),
    ("'Condition':{'StringEquals':{'sts:ExternalId':'x'}}", "alice AssumeRole *", "none"),
    ("||'Effect':'Deny','Principal':{'AWS':'222233334444'}", "bob AssumeRole *", "deny"),
    ("'Action':'sts:TagSession'", "alice AssumeRole *", "none"),
];

#[test]
fn policies_of_users_are_about_them() {
    check(Kind::Identity, IDENTITY);
    check(Kind::Session, IDENTITY);
}

#[test]
fn trust_policies_are_about_their_role() {
    check(Kind::Trust, TRUST);
}
