use super::{BUCKET, Row, check};

const ROWS: &[Row] = &[
    ("'Principal':'*'", "anonymous GetObject bucket/a", "everyone"),
    ("'Principal':'*'", "alice GetObject bucket/a", "everyone"),
    ("'Principal':{'AWS':'*'}", "anonymous GetObject bucket/a", "everyone"),
    ("'Principal':{'AWS':['*']}", "bob GetObject bucket/a", "everyone"),
    ("'Principal':['*']", "bob GetObject bucket/a", "everyone"),
    // Accounts.
    ("'Principal':{'AWS':'111122223333'}", "alice GetObject bucket/a", "account"),
    ("'Principal':{'AWS':'111122223333'}", "root GetObject bucket/a", "account"),
    ("'Principal':{'AWS':'111122223333'}", "role GetObject bucket/a", "account"),
    ("'Principal':{'AWS':'111122223333'}", "bob GetObject bucket/a", "none"),
    ("'Principal':{'AWS':'111122223333'}", "anonymous GetObject bucket/a", "none"),
    ("'Principal':{'AWS':'arn:aws:iam::111122223333:root'}", "alice GetObject bucket/a", "account"),
    ("'Principal':{'AWS':'arn:aws:iam::111122223333:root'}", "root GetObject bucket/a", "account"),
    ("'Principal':{'AWS':'arn:aws:iam::111122223333:root'}", "bob GetObject bucket/a", "none"),
    ("'Principal':{'AWS':'arn:aws:iam::s3tenant1:root'}", "bob GetObject bucket/a", "none"),
    ("'Principal':{'AWS':'arn:aws:iam:::root'}", "bob GetObject bucket/a", "none"),
    ("'Principal':{'CanonicalUser':'c1'}", "alice GetObject bucket/a", "account"),
    ("'Principal':{'CanonicalUser':'c1'}", "bob GetObject bucket/a", "none"),
    ("'Principal':{'CanonicalUser':['c3','c2']}", "bob GetObject bucket/a", "account"),
    // Users.
    (
        "'Principal':{'AWS':'arn:aws:iam::111122223333:user/team/alice'}",
        "alice GetObject bucket/a",
        "caller",
    ),
    (
        "'Principal':{'AWS':'arn:aws:iam::111122223333:user/alice'}",
        "alice GetObject bucket/a",
        "none",
    ),
    (
        "'Principal':{'AWS':'arn:aws:iam::111122223333:user/team/Alice'}",
        "alice GetObject bucket/a",
        "none",
    ),
    (
        "'Principal':{'AWS':'arn:aws:iam::111122223333:user/team/alice'}",
        "role GetObject bucket/a",
        "none",
    ),
    (
        "'Principal':{'AWS':'arn:aws:iam::222233334444:user/team/alice'}",
        "alice GetObject bucket/a",
        "none",
    ),
    (
        "'Principal':{'AWS':['arn:aws:iam::1:user/x','arn:aws:iam::222233334444:user/team/bob']}",
        "bob GetObject bucket/a",
        "caller",
    ),
    (
        "'Principal':{'AWS':'arn:aws:iam::111122223333:user/named-root'}",
        "named-root GetObject bucket/a",
        "caller",
    ),
    (
        "'Principal':{'AWS':'arn:aws:iam::111122223333:user/named-root'}",
        "root GetObject bucket/a",
        "none",
    ),
    (
        "'Principal':{'AWS':'arn:aws:iam::cloudfront:user/CloudFront Origin Access Identity E1'}",
        "alice GetObject bucket/a",
        "none",
    ),
    ("'Principal':{'AWS':'arn:aws:iam:::user/alice'}", "alice GetObject bucket/a", "none"),
    // Roles and sessions.
    (
        "'Principal':{'AWS':'arn:aws:iam::111122223333:role/reader'}",
        "role GetObject bucket/a",
        "caller",
    ),
    (
        "'Principal':{'AWS':'arn:aws:sts::111122223333:assumed-role/reader/session'}",
        "role GetObject bucket/a",
        "caller",
    ),
    (
        "'Principal':{'AWS':'arn:aws:sts::111122223333:assumed-role/reader/other'}",
        "role GetObject bucket/a",
        "none",
    ),
    (
        "'Principal':{'AWS':'arn:aws:iam::111122223333:role/writer'}",
        "role GetObject bucket/a",
        "none",
    ),
    (
        "'Principal':{'AWS':'arn:aws:sts::111122223333:federated-user/fred'}",
        "federated GetObject bucket/a",
        "caller",
    ),
    (
        "'Principal':{'AWS':'arn:aws:sts::111122223333:federated-user/fritz'}",
        "federated GetObject bucket/a",
        "none",
    ),
    ("'Principal':{'Federated':'idp.example.com'}", "web GetObject bucket/a", "caller"),
    (
        "'Principal':{'Federated':'arn:aws:iam::111122223333:oidc-provider/idp.example.com'}",
        "web GetObject bucket/a",
        "caller",
    ),
    ("'Principal':{'Federated':'accounts.google.com'}", "web GetObject bucket/a", "none"),
    ("'Principal':{'Federated':'idp.example.com'}", "anonymous GetObject bucket/a", "none"),
    // Services send no requests: the server writes for them.
    ("'Principal':{'Service':'logging.s3.amazonaws.com'}", "alice GetObject bucket/a", "none"),
    ("'Principal':{'Service':'logging.s3.amazonaws.com'}", "anonymous GetObject bucket/a", "none"),
    (
        "'Principal':{'Service':'logging.s3.amazonaws.com','AWS':'222233334444'}",
        "bob GetObject bucket/a",
        "account",
    ),
    ("'Principal':{'Service':'logging.s3.amazonaws.com'}", "logging GetObject bucket/a", "caller"),
    ("'Principal':{'Service':'s3.amazonaws.com'}", "logging GetObject bucket/a", "none"),
    ("'Principal':{'Federated':'logging.s3.amazonaws.com'}", "logging GetObject bucket/a", "none"),
    ("'Principal':{'AWS':'111122223333'}", "logging GetObject bucket/a", "none"),
    ("'Principal':'*'", "logging GetObject bucket/a", "everyone"),
    (
        "'Principal':'*','Condition':{'Bool':{'aws:PrincipalIsAWSService':'true'}}",
        "logging GetObject bucket/a",
        "everyone",
    ),
    (
        "'Principal':'*','Condition':{'Bool':{'aws:PrincipalIsAWSService':'true'}}",
        "alice GetObject bucket/a",
        "none",
    ),
    (
        "'Principal':'*','Condition':{'StringLike':{'aws:PrincipalArn':'*'}}",
        "logging GetObject bucket/a",
        "none",
    ),
    // What grants most counts.
    (
        "'Principal':{'AWS':['111122223333','arn:aws:iam::111122223333:user/team/alice']}",
        "alice GetObject bucket/a",
        "caller",
    ),
    ("'Principal':{'AWS':['111122223333','*']}", "alice GetObject bucket/a", "everyone"),
    ("'Principal':{'AWS':'111122223333'}||'Principal':'*'", "alice GetObject bucket/a", "everyone"),
    ("'Principal':'*'||'Principal':{'AWS':'111122223333'}", "alice GetObject bucket/a", "everyone"),
    (
        "'Principal':'*'||'Principal':{'AWS':'arn:aws:iam::111122223333:user/team/alice'}",
        "alice GetObject bucket/a",
        "caller",
    ),
    (
        "'Sid':'a'||'Sid':'a','Principal':{'AWS':'111122223333'}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    // Deny wins, wherever it stands.
    ("'Effect':'Deny'||", "alice GetObject bucket/a", "deny"),
    ("||'Effect':'Deny'", "alice GetObject bucket/a", "deny"),
    (
        "||'Effect':'Deny','Principal':{'AWS':'222233334444'}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    ("||'Effect':'Deny','Principal':{'AWS':'222233334444'}", "bob GetObject bucket/a", "deny"),
    (
        "||'Effect':'Deny','Principal':{'AWS':'222233334444'}",
        "other-root GetObject bucket/a",
        "deny",
    ),
    ("'Effect':'Deny','Action':'s3:PutObject'", "alice GetObject bucket/a", "none"),
    // All but some. An account is its root user there.
    (
        "'Effect':'Deny','NotPrincipal':{'AWS':'arn:aws:iam::111122223333:user/team/alice'}",
        "alice GetObject bucket/a",
        "none",
    ),
    (
        "'Effect':'Deny','NotPrincipal':{'AWS':'arn:aws:iam::111122223333:user/team/alice'}",
        "bob GetObject bucket/a",
        "deny",
    ),
    (
        "'Effect':'Deny','NotPrincipal':{'AWS':'arn:aws:iam::111122223333:user/team/alice'}",
        "root GetObject bucket/a",
        "deny",
    ),
    (
        "'Effect':'Deny','NotPrincipal':{'AWS':'arn:aws:iam::111122223333:user/team/alice'}",
        "anonymous GetObject bucket/a",
        "deny",
    ),
    (
        "'Effect':'Deny','NotPrincipal':{'AWS':'arn:aws:iam::111122223333:root'}",
        "root GetObject bucket/a",
        "none",
    ),
    (
        "'Effect':'Deny','NotPrincipal':{'AWS':'arn:aws:iam::111122223333:root'}",
        "alice GetObject bucket/a",
        "deny",
    ),
    (
        "'Effect':'Deny','NotPrincipal':{'AWS':['arn:aws:iam::111122223333:role/reader','111122223333']}",
        "role GetObject bucket/a",
        "none",
    ),
    ("'Effect':'Deny','NotPrincipal':'*'", "bob GetObject bucket/a", "none"),
    ("'Effect':'Deny','NotPrincipal':'*'", "anonymous GetObject bucket/a", "none"),
];

#[test]
fn principals_name_senders() {
    check(BUCKET, ROWS);
}
