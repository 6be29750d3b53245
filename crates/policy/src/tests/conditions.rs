use super::{BUCKET, Row, check};

/// Operators on texts, ARNs and presence.
const ROWS: &[Row] = &[
    ("'Condition':{}", "alice GetObject bucket/a", "everyone"),
    ("'Condition':{'StringEquals':{}}", "alice GetObject bucket/a", "everyone"),
    // StringEquals
    (
        "'Condition':{'StringEquals':{'aws:Referer':'x'}}",
        "alice GetObject bucket/a aws:Referer=x",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'aws:referer':'x'}}",
        "alice GetObject bucket/a aws:Referer=x",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'aws:Referer':'x'}}",
        "alice GetObject bucket/a aws:Referer=X",
        "none",
    ),
    ("'Condition':{'StringEquals':{'aws:Referer':'x'}}", "alice GetObject bucket/a", "none"),
    (
        "'Condition':{'StringEquals':{'aws:Referer':['x','y']}}",
        "alice GetObject bucket/a aws:Referer=y",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'aws:Referer':'*'}}",
        "alice GetObject bucket/a aws:Referer=y",
        "none",
    ),
    (
        "'Condition':{'StringEquals':{'aws:Referer':'*'}}",
        "alice GetObject bucket/a aws:Referer=*",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'aws:Referer':''}}",
        "alice GetObject bucket/a aws:Referer=",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'s3:max-keys':10}}",
        "alice GetObject bucket/a s3:max-keys=10",
        "everyone",
    ),
    (
        "'Condition':{'StringEqualsIfExists':{'aws:Referer':'x'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'StringEqualsIfExists':{'aws:Referer':'x'}}",
        "alice GetObject bucket/a aws:Referer=y",
        "none",
    ),
    (
        "'Condition':{'StringEqualsIfExists':{'aws:Referer':'x'}}",
        "alice GetObject bucket/a aws:Referer=x",
        "everyone",
    ),
    // StringNotEquals
    (
        "'Condition':{'StringNotEquals':{'aws:Referer':'x'}}",
        "alice GetObject bucket/a aws:Referer=x",
        "none",
    ),
    (
        "'Condition':{'StringNotEquals':{'aws:Referer':'x'}}",
        "alice GetObject bucket/a aws:Referer=y",
        "everyone",
    ),
    ("'Condition':{'StringNotEquals':{'aws:Referer':'x'}}", "alice GetObject bucket/a", "everyone"),
    (
        "'Condition':{'StringNotEquals':{'aws:Referer':['x','y']}}",
        "alice GetObject bucket/a aws:Referer=y",
        "none",
    ),
    (
        "'Condition':{'StringNotEquals':{'aws:Referer':['x','y']}}",
        "alice GetObject bucket/a aws:Referer=z",
        "everyone",
    ),
    (
        "'Condition':{'StringNotEqualsIfExists':{'aws:Referer':'x'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    (
        "'Effect':'Deny','Condition':{'StringNotEquals':{'s3:x-amz-server-side-encryption':'AES256'}}",
        "alice GetObject bucket/a",
        "deny",
    ),
    (
        "'Effect':'Deny','Condition':{'StringNotEquals':{'s3:x-amz-server-side-encryption':'AES256'}}",
        "alice GetObject bucket/a s3:x-amz-server-side-encryption=AES256",
        "none",
    ),
    (
        "'Effect':'Deny','Condition':{'StringNotEquals':{'s3:x-amz-server-side-encryption':'AES256'}}",
        "alice GetObject bucket/a s3:x-amz-server-side-encryption=aws:kms",
        "deny",
    ),
    // IgnoreCase
    (
        "'Condition':{'StringEqualsIgnoreCase':{'aws:Referer':'abc'}}",
        "alice GetObject bucket/a aws:Referer=ABC",
        "everyone",
    ),
    (
        "'Condition':{'StringEqualsIgnoreCase':{'aws:Referer':'\u{e4}'}}",
        "alice GetObject bucket/a aws:Referer=\u{c4}",
        "everyone",
    ),
    (
        "'Condition':{'StringEqualsIgnoreCase':{'aws:Referer':'abc'}}",
        "alice GetObject bucket/a aws:Referer=ABD",
        "none",
    ),
    (
        "'Condition':{'StringEqualsIgnoreCase':{'aws:Referer':'a*'}}",
        "alice GetObject bucket/a aws:Referer=ABD",
        "none",
    ),
    (
        "'Condition':{'StringNotEqualsIgnoreCase':{'aws:Referer':'abc'}}",
        "alice GetObject bucket/a aws:Referer=ABC",
        "none",
    ),
    (
        "'Condition':{'StringNotEqualsIgnoreCase':{'aws:Referer':'abc'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    // StringLike
    (
        "'Condition':{'StringLike':{'aws:Referer':'http://*.example.com/*'}}",
        "alice GetObject bucket/a aws:Referer=http://www.example.com/x",
        "everyone",
    ),
    (
        "'Condition':{'StringLike':{'aws:Referer':'http://*.example.com/*'}}",
        "alice GetObject bucket/a aws:Referer=http://example.com/x",
        "none",
    ),
    (
        "'Condition':{'StringLike':{'aws:Referer':'http://*.example.com/*'}}",
        "alice GetObject bucket/a",
        "none",
    ),
    (
        "'Condition':{'StringLike':{'aws:Referer':'a?c'}}",
        "alice GetObject bucket/a aws:Referer=abc",
        "everyone",
    ),
    (
        "'Condition':{'StringLike':{'aws:Referer':'A?c'}}",
        "alice GetObject bucket/a aws:Referer=abc",
        "none",
    ),
    (
        "'Condition':{'StringLike':{'s3:prefix':['','home/','home/alice/*']}}",
        "alice GetObject bucket/a s3:prefix=",
        "everyone",
    ),
    (
        "'Condition':{'StringLike':{'s3:prefix':['','home/','home/alice/*']}}",
        "alice GetObject bucket/a s3:prefix=home/bob/",
        "none",
    ),
    (
        "'Condition':{'StringNotLike':{'aws:Referer':'*.example.com'}}",
        "alice GetObject bucket/a aws:Referer=a.example.com",
        "none",
    ),
    (
        "'Condition':{'StringNotLike':{'aws:Referer':'*.example.com'}}",
        "alice GetObject bucket/a aws:Referer=a.example.org",
        "everyone",
    ),
    (
        "'Condition':{'StringNotLike':{'aws:Referer':'*.example.com'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'StringNotLike':{'aws:userid':['AROA1:*','AIDAalice']}}",
        "role GetObject bucket/a",
        "none",
    ),
    (
        "'Condition':{'StringNotLike':{'aws:userid':['AROA1:*','AIDAalice']}}",
        "bob GetObject bucket/a",
        "everyone",
    ),
    // All conditions must hold.
    (
        "'Condition':{'StringEquals':{'aws:Referer':'x','aws:UserAgent':'y'}}",
        "alice GetObject bucket/a aws:Referer=x aws:UserAgent=y",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'aws:Referer':'x','aws:UserAgent':'y'}}",
        "alice GetObject bucket/a aws:Referer=x",
        "none",
    ),
    (
        "'Condition':{'StringEquals':{'aws:Referer':'x'},'StringLike':{'aws:Referer':'?'}}",
        "alice GetObject bucket/a aws:Referer=x",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'aws:Referer':'x'},'StringLike':{'aws:Referer':'y*'}}",
        "alice GetObject bucket/a aws:Referer=x",
        "none",
    ),
    // ARNs, part by part.
    (
        "'Condition':{'ArnEquals':{'aws:PrincipalArn':'arn:aws:iam::111122223333:user/team/alice'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'ArnEquals':{'aws:PrincipalArn':'arn:aws:iam::111122223333:user/*'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'ArnLike':{'aws:PrincipalArn':'arn:aws:iam::*:user/team/*'}}",
        "bob GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'ArnLike':{'aws:PrincipalArn':'arn:aws:iam::*:role/*'}}",
        "bob GetObject bucket/a",
        "none",
    ),
    (
        "'Condition':{'ArnLike':{'aws:PrincipalArn':'arn:aws:iam::111122223333:role/reader'}}",
        "role GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'ArnLike':{'aws:PrincipalArn':'arn:aws:sts::111122223333:assumed-role/*'}}",
        "role GetObject bucket/a",
        "none",
    ),
    ("'Condition':{'ArnLike':{'aws:PrincipalArn':'*'}}", "bob GetObject bucket/a", "everyone"),
    ("'Condition':{'ArnLike':{'aws:PrincipalArn':'*'}}", "anonymous GetObject bucket/a", "none"),
    (
        "'Condition':{'ArnNotEquals':{'aws:PrincipalArn':'arn:aws:iam::111122223333:user/team/alice'}}",
        "alice GetObject bucket/a",
        "none",
    ),
    (
        "'Condition':{'ArnNotEquals':{'aws:PrincipalArn':'arn:aws:iam::111122223333:user/team/alice'}}",
        "bob GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'ArnNotLike':{'aws:PrincipalArn':'arn:aws:iam::111122223333:*'}}",
        "anonymous GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'ArnNotLike':{'aws:PrincipalArn':'arn:aws:iam::111122223333:*'}}",
        "root GetObject bucket/a",
        "none",
    ),
    (
        "'Condition':{'ArnLike':{'aws:SourceArn':'arn:aws:s3::1*:x'}}",
        "alice GetObject bucket/a aws:SourceArn=arn:aws:s3::12:x",
        "everyone",
    ),
    (
        "'Condition':{'ArnLike':{'aws:SourceArn':'arn:aws:s3::*:x'}}",
        "alice GetObject bucket/a aws:SourceArn=arn:aws:s3::1:2:x",
        "none",
    ),
    (
        "'Condition':{'ArnLike':{'aws:SourceArn':'arn:aws:s3:::*x'}}",
        "alice GetObject bucket/a aws:SourceArn=arn:aws:s3:::2:x",
        "everyone",
    ),
    (
        "'Condition':{'ArnLike':{'aws:SourceArn':'arn:aws:s3:::x'}}",
        "alice GetObject bucket/a aws:SourceArn=x",
        "none",
    ),
    (
        "'Condition':{'ArnLikeIfExists':{'aws:SourceArn':'arn:aws:s3:::x'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    // Null
    ("'Condition':{'Null':{'aws:Referer':'true'}}", "alice GetObject bucket/a", "everyone"),
    (
        "'Condition':{'Null':{'aws:Referer':'true'}}",
        "alice GetObject bucket/a aws:Referer=",
        "none",
    ),
    (
        "'Condition':{'Null':{'aws:Referer':'false'}}",
        "alice GetObject bucket/a aws:Referer=x",
        "everyone",
    ),
    ("'Condition':{'Null':{'aws:Referer':false}}", "alice GetObject bucket/a", "none"),
    (
        "'Condition':{'Null':{'aws:Referer':['true','false']}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'Null':{'aws:TagKeys':'true'}}",
        "alice GetObject bucket/a aws:TagKeys=|",
        "everyone",
    ),
    (
        "'Condition':{'Null':{'aws:TagKeys':'false'}}",
        "alice GetObject bucket/a aws:TagKeys=a|b",
        "everyone",
    ),
    (
        "'Effect':'Deny','Condition':{'Null':{'s3:x-amz-server-side-encryption':'true'}}",
        "alice GetObject bucket/a",
        "deny",
    ),
    // Keys of the sender.
    (
        "'Condition':{'StringEquals':{'aws:username':'alice'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    ("'Condition':{'StringEquals':{'aws:username':'alice'}}", "bob GetObject bucket/a", "none"),
    (
        "'Condition':{'StringEquals':{'aws:username':'named-root'}}",
        "named-root GetObject bucket/a",
        "everyone",
    ),
    ("'Condition':{'Null':{'aws:username':'true'}}", "role GetObject bucket/a", "everyone"),
    ("'Condition':{'Null':{'aws:username':'true'}}", "root GetObject bucket/a", "everyone"),
    ("'Condition':{'Null':{'aws:username':'true'}}", "anonymous GetObject bucket/a", "everyone"),
    (
        "'Condition':{'StringEquals':{'aws:userid':'AIDAalice'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'aws:userid':'anonymous'}}",
        "anonymous GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'aws:PrincipalAccount':'111122223333'}}",
        "role GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'aws:PrincipalAccount':'111122223333'}}",
        "bob GetObject bucket/a",
        "none",
    ),
    (
        "'Condition':{'StringEquals':{'aws:PrincipalAccount':'anonymous'}}",
        "anonymous GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'aws:PrincipalType':'Account'}}",
        "root GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'aws:PrincipalType':'User'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'aws:PrincipalType':'AssumedRole'}}",
        "role GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'aws:PrincipalType':'FederatedUser'}}",
        "federated GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'aws:PrincipalType':'Anonymous'}}",
        "anonymous GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'Bool':{'aws:PrincipalIsAWSService':'false'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    ("'Condition':{'Bool':{'aws:ViaAWSService':'false'}}", "alice GetObject bucket/a", "everyone"),
    // Nobody can say who he is by a key of the request.
    (
        "'Condition':{'StringEquals':{'aws:username':'root'}}",
        "alice GetObject bucket/a aws:username=root",
        "none",
    ),
    // Keys of S3.
    (
        "'Condition':{'StringEquals':{'s3:x-amz-acl':'public-read'}}",
        "alice GetObject bucket/a s3:x-amz-acl=public-read",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'s3:VersionId':'v'}}",
        "alice GetObject bucket/a s3:versionid=v",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'s3:ExistingObjectTag/team':'red'}}",
        "alice GetObject bucket/a s3:ExistingObjectTag/team=red",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'s3:ExistingObjectTag/team':'red'}}",
        "alice GetObject bucket/a s3:ExistingObjectTag/Team=red",
        "none",
    ),
    (
        "'Condition':{'StringEquals':{'s3:RequestObjectTag/team':'red'}}",
        "alice GetObject bucket/a s3:RequestObjectTag/team=blue",
        "none",
    ),
    (
        "'Condition':{'StringLike':{'s3:x-amz-copy-source':'/bucket/public/*'}}",
        "alice GetObject bucket/a s3:x-amz-copy-source=/bucket/public/x",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'s3:x-amz-metadata-directive':'COPY'}}",
        "alice GetObject bucket/a",
        "none",
    ),
    (
        "'Condition':{'StringEquals':{'s3:authType':'REST-QUERY-STRING'}}",
        "alice GetObject bucket/a s3:authType=REST-HEADER",
        "none",
    ),
    (
        "'Condition':{'StringEquals':{'s3:if-none-match':'*'}}",
        "alice GetObject bucket/a s3:if-none-match=*",
        "everyone",
    ),
    (
        "'Condition':{'StringEquals':{'s3:object-lock-mode':'GOVERNANCE'}}",
        "alice GetObject bucket/a s3:object-lock-mode=COMPLIANCE",
        "none",
    ),
    // Several values without an operator for them.
    (
        "'Condition':{'StringEquals':{'aws:TagKeys':'a'}}",
        "alice GetObject bucket/a aws:TagKeys=a|b",
        "everyone",
    ),
    (
        "'Condition':{'StringNotEquals':{'aws:TagKeys':'a'}}",
        "alice GetObject bucket/a aws:TagKeys=a|b",
        "none",
    ),
];

#[test]
fn conditions_compare_texts() {
    check(BUCKET, ROWS);
}
