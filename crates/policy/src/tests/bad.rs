use super::{BUCKET, BUCKET_POLICY_BYTES_MAX, Kind, Policy, VECTOR_BUCKET_ARN, document};

const INVALID_JSON: &str = "This policy contains invalid Json";
const INVALID_PRINCIPAL: &str = "Invalid principal in policy";
const INVALID_ACTION: &str = "Policy has invalid action";
const INVALID_RESOURCE: &str = "Policy has invalid resource";
const INVALID_KEY: &str = "Policy has an invalid condition key";
const MISMATCH: &str = "Action does not apply to any resource(s) in statement";
const SYNTAX: &str = "Syntax errors in policy.";
const LEGACY: &str = "The policy failed legacy parsing";
const VENDOR: &str = "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.";

/// Whole documents, with `'` for `"`, and the beginning of what is said of them.
const DOCUMENTS: &[(&str, &str)] = &[
    ("", "Policies must be valid JSON and the first byte must be '{'"),
    (" {}", "Policies must be valid JSON and the first byte must be '{'"),
    ("[]", "Policies must be valid JSON and the first byte must be '{'"),
    ("{", INVALID_JSON),
    ("{'Statement':[]", INVALID_JSON),
    ("{'Statement':[]}}", INVALID_JSON),
    ("{'Version':'2012-10-17',}", INVALID_JSON),
    ("{}", "Missing required field Statement"),
    ("{'Version':'2012-10-17'}", "Missing required field Statement"),
    ("{'Statement':[]}", "Could not parse the policy: Statement is empty!"),
    ("{'Statement':null}", "Invalid policy syntax: a statement must be an object"),
    ("{'Statement':'x'}", "Invalid policy syntax: a statement must be an object"),
    ("{'Statement':[[]]}", "Invalid policy syntax: a statement must be an object"),
    ("{'Statement':[{}]}", "Missing required field Effect"),
    ("{'Statement':{}}", "Missing required field Effect"),
    ("{'Statement':[],'Version':'2012-10-18'}", "The policy must contain a valid version string"),
    ("{'Statement':[],'Version':2012}", "The policy must contain a valid version string"),
    ("{'Statement':[],'Version':''}", "The policy must contain a valid version string"),
    ("{'Statement':[],'statement':[]}", "Unknown field statement"),
    ("{'Statement':[],'Id':1}", "Invalid policy syntax: an Id must be a text"),
    ("{'Statement':[],'Statement':[]}", "The policy has the element twice: Statement"),
    (
        "{'Version':'2012-10-17','Version':'2008-10-17','Statement':[]}",
        "The policy has the element twice: Version",
    ),
];

/// Members of statements, as in the other tables.
const STATEMENTS: &[(&str, &str)] = &[
    ("'effect':'Allow'", "Unknown field effect"),
    ("'Foo':1", "Unknown field Foo"),
    ("'Sid':1", "Invalid policy syntax: a Sid must be a text"),
    ("'Effect':'allow'", "Invalid effect: allow"),
    ("'Effect':''", "Invalid effect: "),
    ("'Effect':true", "Invalid effect: it must be"),
    ("'Effect':'Allow','Effect':'Deny'", "The policy has the element twice: Effect"),
    (
        "'Condition':{'StringEquals':{'aws:Referer':'x','aws:Referer':'y'}}",
        "The policy has the element twice: aws:Referer",
    ),
    (
        "'Condition':{'StringEquals':{'aws:Referer':'x','aws:referer':'y'}}",
        "The policy has the element twice: aws:referer of StringEquals",
    ),
    (
        "'Condition':{'StringEquals':{'aws:Referer':'x'},'StringEquals':{}}",
        "The policy has the element twice: StringEquals",
    ),
    ("'a\\nb':1", "Unknown field a\\nb"),
    ("'Condition':{'a\\nb':{'aws:Referer':'x'}}", "Invalid Condition type : a\\nb"),
    (
        "'Condition':{'NumericEquals':{'s3:RequestObjectTag/a\\nb':'x'}}",
        "Invalid value for condition",
    ),
    ("'a\\nb':1,'a\\nb':1", "The policy has the element twice: a\\nb"),
    // Principals.
    ("'Principal':''", INVALID_PRINCIPAL),
    ("'Principal':'alice'", INVALID_PRINCIPAL),
    ("'Principal':null", INVALID_PRINCIPAL),
    ("'Principal':7", INVALID_PRINCIPAL),
    ("'Principal':{}", INVALID_PRINCIPAL),
    ("'Principal':[]", INVALID_PRINCIPAL),
    ("'Principal':['*','grt1']", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':''}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':[]}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':{}}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':['*',1]}", INVALID_PRINCIPAL),
    ("'Principal':{'aws':'*'}", INVALID_PRINCIPAL),
    ("'Principal':{'User':'*'}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':'11112222333'}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':'1111222233334'}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':'AIDAEXAMPLE'}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':'arn:aws:iam::111122223333:user/*'}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':'arn:aws:iam::*:root'}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':'arn:aws:iam::111122223333:user/${aws:username}'}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':'arn:aws:iam::111122223333:user/'}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':'arn:aws:iam::111122223333:user'}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':'arn:aws:iam::111122223333:group/x'}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':'arn:aws:iam::111122223333'}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':'arn:aws:iam:us-east-1:111122223333:root'}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':'arn:moon:iam::111122223333:root'}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':'arn:aws:s3:::bucket'}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':'arn:aws:sts::111122223333:assumed-role/r'}", INVALID_PRINCIPAL),
    ("'Principal':{'AWS':'arn:aws:sts::111122223333:assumed-role/r/'}", INVALID_PRINCIPAL),
    ("'Principal':{'CanonicalUser':''}", INVALID_PRINCIPAL),
    ("'Principal':{'CanonicalUser':'*'}", INVALID_PRINCIPAL),
    ("'Principal':{'Federated':'x'}", INVALID_PRINCIPAL),
    ("'Principal':{'Federated':'arn:aws:iam::111122223333:user/x'}", INVALID_PRINCIPAL),
    ("'Principal':{'Service':'*'}", INVALID_PRINCIPAL),
    ("'Principal':{'Service':'s3'}", INVALID_PRINCIPAL),
    (
        "'Effect':'Deny','Principal':'*','NotPrincipal':'*'",
        "A statement must not have both Principal and NotPrincipal",
    ),
    (
        "'Effect':'Allow','NotPrincipal':{'AWS':'arn:aws:iam::s3tenant1:root'}",
        "Allow with NotPrincipal is not allowed",
    ),
    // Actions.
    ("'Action':''", INVALID_ACTION),
    ("'Action':[]", INVALID_ACTION),
    ("'Action':1", INVALID_ACTION),
    ("'Action':['s3:GetObject',1]", INVALID_ACTION),
    ("'Action':null", INVALID_ACTION),
    ("'Action':'GetObject'", INVALID_ACTION),
    ("'Action':'s3:GetObjec'", INVALID_ACTION),
    ("'Action':'s3:GetObject '", INVALID_ACTION),
    ("'Action':'s3:Frob*'", INVALID_ACTION),
    ("'Action':'s3vectors:GetIndex'", INVALID_ACTION),
    ("'Action':'iam:CreateUser'", INVALID_ACTION),
    ("'Action':['s3:GetObject','s3:X']", INVALID_ACTION),
    ("'NotAction':'s3:X'", INVALID_ACTION),
    ("'Action':'s3:*','NotAction':'s3:*'", "A statement must not have both Action and NotAction"),
    // Resources.
    ("'Resource':''", INVALID_RESOURCE),
    ("'Resource':[]", INVALID_RESOURCE),
    ("'Resource':{}", INVALID_RESOURCE),
    ("'Resource':'bucket/*'", INVALID_RESOURCE),
    ("'Resource':'arn:aws:s3:::other/*'", INVALID_RESOURCE),
    ("'Resource':'arn:aws:s3:::bucke/*'", INVALID_RESOURCE),
    ("'Resource':'arn:aws:s3:::bucketx/*'", INVALID_RESOURCE),
    ("'Resource':'arn:aws:s3:::bucketx*'", INVALID_RESOURCE),
    ("'Resource':'arn:aws:s3:::Bucket/*'", INVALID_RESOURCE),
    ("'Resource':'arn:aws:s3:::/bucket/*'", INVALID_RESOURCE),
    ("'Resource':'arn:aws:s3:::'", INVALID_RESOURCE),
    ("'Resource':'arn:aws:s3::bucket/*'", INVALID_RESOURCE),
    ("'Resource':'arn:aws:s3:us-east-1::bucket/*'", INVALID_RESOURCE),
    ("'Resource':'arn:aws:iam:::bucket/*'", INVALID_RESOURCE),
    ("'Resource':'arn:aws:s3:us-east-1:111122223333:accesspoint/x'", INVALID_RESOURCE),
    ("'Resource':'*bucket/*'", INVALID_RESOURCE),
    ("'Resource':['arn:aws:s3:::bucket/*','arn:aws:s3:::other/*']", INVALID_RESOURCE),
    ("'Resource':['arn:aws:s3:::bucket/*',1]", INVALID_RESOURCE),
    ("'NotResource':'arn:aws:s3:::other/*'", INVALID_RESOURCE),
    ("'Resource':'*','NotResource':'*'", "A statement must not have both Resource and NotResource"),
    ("'Resource':'arn:aws:s3:::bucket/${aws:username'", "A policy variable lacks its closing '}'"),
    (
        "'Resource':'arn:aws:s3:::bucket/${}'",
        "A policy variable must be the name of a condition key",
    ),
    (
        "'Resource':'arn:aws:s3:::bucket/${username}'",
        "A policy variable must be the name of a condition key",
    ),
    (
        "'Resource':'arn:aws:s3:::bucket/${aws:user name}'",
        "A policy variable must be the name of a condition key",
    ),
    (
        "'Resource':'arn:aws:s3:::bucket/${aws:username, x}'",
        "The default of a policy variable must stand in single quotes",
    ),
    // Actions that cannot be on any of the resources.
    ("'Action':'s3:ListBucket'", MISMATCH),
    ("'Action':'s3:GetObject','Resource':'arn:aws:s3:::bucket'", MISMATCH),
    ("'Action':['s3:GetObject','s3:ListBucket']", MISMATCH),
    ("'Action':['s3:GetObject','s3:ListBucket'],'Resource':'arn:aws:s3:::bucket'", MISMATCH),
    ("'Action':'s3:ListBucket*'", MISMATCH),
    ("'Action':'s3:ListAllMyBuckets','Resource':'*'", MISMATCH),
    ("'Action':'s3:DeleteBucket','Resource':'arn:aws:s3:::bucket/*'", MISMATCH),
    // Conditions.
    ("'Condition':[]", "Invalid policy syntax: a Condition is {operator: {key: value}}"),
    ("'Condition':null", "Invalid policy syntax: a Condition is {operator: {key: value}}"),
    (
        "'Condition':{'StringEquals':'x'}",
        "Invalid policy syntax: a Condition is {operator: {key: value}}",
    ),
    (
        "'Condition':{'StringEquals':{'aws:Referer':[]}}",
        "Invalid policy syntax: a condition needs one or more values",
    ),
    (
        "'Condition':{'StringEquals':{'aws:Referer':null}}",
        "Invalid policy syntax: a condition needs one or more values",
    ),
    (
        "'Condition':{'StringEquals':{'aws:Referer':{}}}",
        "Invalid policy syntax: a condition needs one or more values",
    ),
    (
        "'Condition':{'StringEquals':{'aws:Referer':[['x']]}}",
        "Invalid policy syntax: a condition needs one or more values",
    ),
    ("'Condition':{'StringSame':{'aws:Referer':'x'}}", "Invalid Condition type : StringSame"),
    ("'Condition':{'stringequals':{'aws:Referer':'x'}}", "Invalid Condition type : stringequals"),
    ("'Condition':{'':{'aws:Referer':'x'}}", "Invalid Condition type : "),
    (
        "'Condition':{'ForSomeValues:StringEquals':{'aws:Referer':'x'}}",
        "Invalid Condition type : ForSomeValues:StringEquals",
    ),
    (
        "'Condition':{'NullIfExists':{'aws:Referer':'true'}}",
        "Invalid Condition type : NullIfExists",
    ),
    (
        "'Condition':{'ForAnyValue:Null':{'aws:Referer':'true'}}",
        "Invalid Condition type : ForAnyValue:Null",
    ),
    (
        "'Condition':{'StringEqualsIfExistsIfExists':{'aws:Referer':'x'}}",
        "Invalid Condition type : ",
    ),
    ("'Condition':{'StringEquals':{'Referer':'x'}}", INVALID_KEY),
    ("'Condition':{'StringEquals':{'aws:Foo':'x'}}", INVALID_KEY),
    ("'Condition':{'StringEquals':{'s3:foo':'x'}}", INVALID_KEY),
    ("'Condition':{'StringEquals':{'s3:ExistingObjectTag/':'x'}}", INVALID_KEY),
    ("'Condition':{'StringEquals':{'s3vectors:sseType':'x'}}", INVALID_KEY),
    (
        "'Condition':{'NumericEquals':{'s3:max-keys':'ten'}}",
        "Invalid value for condition NumericEquals on s3:max-keys: \"ten\"",
    ),
    (
        "'Condition':{'NumericEquals':{'s3:max-keys':'${aws:username}'}}",
        "Invalid value for condition NumericEquals",
    ),
    (
        "'Condition':{'DateLessThan':{'aws:CurrentTime':'soon'}}",
        "Invalid value for condition DateLessThan on aws:CurrentTime: \"soon\"",
    ),
    (
        "'Condition':{'DateLessThan':{'aws:CurrentTime':'2030-02-30'}}",
        "Invalid value for condition DateLessThan",
    ),
    (
        "'Condition':{'Bool':{'aws:SecureTransport':'yes'}}",
        "Invalid value for condition Bool on aws:SecureTransport: \"yes\"",
    ),
    ("'Condition':{'Null':{'aws:Referer':'x'}}", "Invalid value for condition Null"),
    ("'Condition':{'BinaryEquals':{'s3:prefix':'x'}}", "Invalid value for condition BinaryEquals"),
    (
        "'Condition':{'IpAddress':{'aws:SourceIp':'10.0.0.0/33'}}",
        "Invalid value for condition IpAddress on aws:SourceIp",
    ),
    (
        "'Condition':{'IpAddress':{'aws:SourceIp':'10.0.0'}}",
        "Invalid value for condition IpAddress",
    ),
    ("'Condition':{'IpAddress':{'aws:SourceIp':''}}", "Invalid value for condition IpAddress"),
    (
        "'Condition':{'ArnLike':{'aws:SourceArn':'x'}}",
        "A condition on an ARN needs one of six parts",
    ),
    (
        "'Condition':{'ArnLike':{'aws:SourceArn':'arn:aws:s3:*'}}",
        "A condition on an ARN needs one of six parts",
    ),
    (
        "'Condition':{'StringLike':{'aws:Referer':'${aws:username'}}",
        "A policy variable lacks its closing '}'",
    ),
];

const IDENTITY: &[(&str, &str)] = &[
    ("'Principal':'*'", "Policy document should not specify a principal."),
    ("'Effect':'Deny','NotPrincipal':'*'", "Policy document should not specify a principal."),
    ("'Sid':'a'||'Sid':'a'", "Statement IDs (SID) in a single policy must be unique."),
    ("'Sid':'with space'", "Statement IDs (SID) must be alpha-numeric."),
    ("'Action':'GetObject'", VENDOR),
    ("'Action':':GetObject'", VENDOR),
    ("'Action':'s3:'", VENDOR),
    ("'Action':'s*:GetObject'", "Vendor s* is not valid"),
    ("'Action':'s3:Get Object'", INVALID_ACTION),
    ("'Action':'s3:Get:Object'", "Actions/Condition can contain only one colon."),
    ("'Action':[]", "Policy statement must contain actions."),
    ("'Resource':[]", "Policy statement must contain resources."),
    ("'Resource':'bucket/*'", "Resource bucket/* must be in ARN format or \"*\"."),
    ("'Resource':''", "Resource  must be in ARN format or \"*\"."),
    (
        "'Resource':'arn:aws:s3:::'||'Resource':'arn:aws'",
        "Resource vendor must be fully qualified and cannot contain regexes.",
    ),
    (
        "'Resource':'aws:s3:::bucket'",
        "Partition \"s3\" is not valid for resource \"arn:s3:::bucket:*\".",
    ),
    (
        "'Resource':'a:b:c:d:e:f:g:h'",
        "Partition \"b\" is not valid for resource \"arn:b:c:d:e:f:g:h\".",
    ),
    ("'Resource':'arn:aws:s3::bucket'", LEGACY),
    ("'Effect':'allow'", LEGACY),
    ("'Effect':'dENY'", LEGACY),
    ("'Effect':'Grant'", SYNTAX),
    ("'Effect':1", SYNTAX),
    ("'Sid':1", SYNTAX),
    ("'Foo':1", SYNTAX),
    ("'Action':{}", SYNTAX),
    ("'Action':[[]]", SYNTAX),
    ("'Action':'s3:*','NotAction':[]", SYNTAX),
    ("'Resource':['x',{}]", SYNTAX),
    ("'Resource':'*','NotResource':'*'", SYNTAX),
    ("'Condition':[]", SYNTAX),
    ("'Condition':{'a':'b'}", SYNTAX),
    ("'Condition':{'x':{'a':'1'}}", SYNTAX),
    ("'Condition':{'DateGreaterThan':{'a':{}}}", SYNTAX),
    ("'Condition':{'DateGreaterThan':{'a':'soon'}}", LEGACY),
    // Of several faults IAM reports the one of the first stage.
    ("'Effect':'allow','Action':[],'Resource':[]", LEGACY),
    ("'Action':'Get','Resource':'x'", VENDOR),
    ("'Action':'s:3:Get','Resource':'x'", "Resource x must be in ARN format or \"*\"."),
    ("'Action':[]||'Effect':'deny'", LEGACY),
    ("'Action':[]||'Foo':1", SYNTAX),
    (
        "'Sid':'a','Action':[]||'Sid':'a','Resource':[]",
        "Statement IDs (SID) in a single policy must be unique.",
    ),
    (
        "'Resource':'arn:moon:s3:::b'",
        "Partition \"moon\" is not valid for resource \"arn:moon:s3:::b\".",
    ),
    ("'Condition':{'StringEquals':{'key':'x'}}", VENDOR),
    ("'Condition':{'StringEquals':{'a b:c':'x'}}", VENDOR),
];

const TRUST: &[(&str, &str)] = &[
    ("'Resource':'*'", "Has prohibited field Resource"),
    ("'NotResource':'*'", "Has prohibited field Resource"),
    ("'Principal':{'AWS':'x'}", INVALID_PRINCIPAL),
];

const VECTORS: &[(&str, &str)] = &[
    ("'Action':'s3:GetObject'", INVALID_ACTION),
    ("'Action':'s3vectors:Frob'", INVALID_ACTION),
    ("'Resource':'arn:aws:s3vectors:us-east-1:444455556666:bucket/vectors'", INVALID_RESOURCE),
    ("'Resource':'arn:aws:s3vectors:eu-west-1:111122223333:bucket/vec*'", INVALID_RESOURCE),
    ("'Resource':'arn:aws:s3vectors:us-east-1:111122223333:vectors'", INVALID_RESOURCE),
    ("'Resource':'arn:aws:s3vectors:us-east-1:bucket/vectors'", INVALID_RESOURCE),
    ("'Resource':'arn:aws:s3:::vectors'", INVALID_RESOURCE),
    (
        "'Action':'s3vectors:QueryVectors','Resource':'arn:aws:s3vectors:us-east-1:111122223333:bucket/vectors'",
        MISMATCH,
    ),
    (
        "'Action':'s3vectors:ListIndexes','Resource':'arn:aws:s3vectors:us-east-1:111122223333:bucket/vectors/*'",
        MISMATCH,
    ),
    ("'Condition':{'StringEquals':{'s3:prefix':'x'}}", INVALID_KEY),
];

#[track_caller]
fn check(document: &str, kind: Kind<'_>, wanted: &str) {
    match Policy::parse(document.as_bytes(), kind) {
        Ok(_) => panic!("taken: {document}"),
        Err(error) => {
            let line = error.to_string();
            assert!(line.starts_with(wanted), "{document}\n    {line:?}, not {wanted:?}");
            assert!(!line.contains('\n'), "{line}");
        }
    }
}

#[test]
fn bad_documents_get_the_errors_of_aws() {
    for (text, wanted) in DOCUMENTS {
        check(&text.replace('\'', "\""), BUCKET, wanted);
    }
    let tables = [
        (BUCKET, STATEMENTS),
        (Kind::Identity, IDENTITY),
        (Kind::Session, IDENTITY),
        (Kind::Trust, TRUST),
        (Kind::VectorBucket(VECTOR_BUCKET_ARN), VECTORS),
    ];
    for (kind, rows) in tables {
        for (row, wanted) in rows {
            check(&document(row, kind), kind, wanted);
        }
    }
}

#[test]
fn every_element_is_required() {
    let all = [
        ("Effect", "'Effect':'Allow'"),
        ("Principal", "'Principal':'*'"),
        ("Action", "'Action':'s3:*'"),
        ("Resource", "'Resource':'*'"),
    ];
    let without = |name: &str| {
        let members: Vec<&str> = all.iter().filter(|it| it.0 != name).map(|it| it.1).collect();
        format!("{{'Statement':{{{}}}}}", members.join(",")).replace('\'', "\"")
    };
    assert!(Policy::parse(without("").as_bytes(), BUCKET).is_ok());
    for (name, _) in all {
        check(&without(name), BUCKET, &format!("Missing required field {name}"));
    }
    let identity = |member: &str| format!("{{\"Statement\":{{\"Effect\":\"Deny\",{member}}}}}");
    check(
        &identity("\"Action\":\"*\""),
        Kind::Identity,
        "Policy statement must contain resources.",
    );
    check(
        &identity("\"Resource\":\"*\""),
        Kind::Identity,
        "Policy statement must contain actions.",
    );
}

#[test]
fn long_and_deep_documents_are_refused() {
    let padded = |length: usize| {
        let text = document("", BUCKET);
        let room = " ".repeat(length - text.len());
        text.replacen('{', &format!("{{{room}"), 1)
    };
    assert!(Policy::parse(padded(BUCKET_POLICY_BYTES_MAX).as_bytes(), BUCKET).is_ok());
    let wanted = "Policy exceeds the maximum allowed document size";
    check(&padded(BUCKET_POLICY_BYTES_MAX + 1), BUCKET, wanted);
    let deep = format!("{{\"Statement\":{}{}}}", "[".repeat(9_000), "]".repeat(9_000));
    check(&deep, BUCKET, INVALID_JSON);
    check(&deep, Kind::Identity, INVALID_JSON);
}

#[test]
fn details_name_the_part() {
    let text = document("'Action':['s3:GetObject','s3:GetObjec']", BUCKET);
    let error = Policy::parse(text.as_bytes(), BUCKET).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.detail()), (INVALID_ACTION, Some("s3:GetObjec")));
    let text = document("'Effect':'allow'", Kind::Identity);
    let error = Policy::parse(text.as_bytes(), Kind::Identity).unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.detail()),
        (LEGACY, Some("Invalid effect: allow"))
    );
}

#[test]
fn new_managed_policies_have_the_newest_version() {
    let wanted = "Policy document must be version 2012-10-17 or greater.";
    let statement = |effect: &str| {
        format!(r#""Statement":{{"Effect":"{effect}","Action":"s3:*","Resource":"*"}}"#)
    };
    for (version, effect, wanted) in [
        ("", "Allow", wanted),
        (r#""Version":"2008-10-17","#, "Allow", wanted),
        // Of the two faults it is the first.
        ("", "allow", wanted),
        (r#""Version":"2012-10-17","#, "allow", LEGACY),
        (r#""Version":"2013-10-17","#, "Allow", SYNTAX),
        ("", "Grant", SYNTAX),
    ] {
        let text = format!("{{{version}{}}}", statement(effect));
        let error = Policy::parse_managed(text.as_bytes()).expect_err(&text);
        assert_eq!(error.to_string(), wanted, "{text}");
    }
    let text = format!(r#"{{"Version":"2012-10-17",{}}}"#, statement("Allow"));
    assert!(Policy::parse_managed(text.as_bytes()).is_ok());
}
