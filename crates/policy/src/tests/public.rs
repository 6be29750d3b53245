use super::{BUCKET, Policy, document};

/// Policies, and whether they are public.
const ROWS: &[(&str, bool)] = &[
    ("", true),
    ("'Principal':{'AWS':'*'}", true),
    ("'Principal':{'AWS':['111122223333','*']}", true),
    ("'Principal':{'AWS':'111122223333'}", false),
    ("'Principal':{'AWS':'arn:aws:iam::s3tenant1:root'}", false),
    ("'Principal':{'AWS':'arn:aws:iam::111122223333:user/x'}", false),
    ("'Principal':{'CanonicalUser':'c1'}", false),
    ("'Principal':{'Service':'logging.s3.amazonaws.com'}", false),
    ("'Principal':{'AWS':'111122223333'}||", true),
    ("'Effect':'Deny'", false),
    ("'Effect':'Deny','NotPrincipal':{'AWS':'111122223333'}", false),
    ("'Action':'s3:ListBucket','Resource':['arn:aws:s3:::bucket','arn:aws:s3:::bucket/*']", true),
    // Networks.
    ("'Condition':{'IpAddress':{'aws:SourceIp':'10.0.0.0/32'}}", false),
    ("'Condition':{'IpAddress':{'aws:SourceIp':'10.0.0.0/8'}}", false),
    ("'Condition':{'IpAddress':{'aws:SourceIp':'8.0.0.0/7'}}", true),
    ("'Condition':{'IpAddress':{'aws:SourceIp':'0.0.0.0/0'}}", true),
    ("'Condition':{'IpAddress':{'aws:SourceIp':['10.0.0.0/8','0.0.0.0/1']}}", true),
    ("'Condition':{'IpAddress':{'aws:SourceIp':'2001:db8::/32'}}", false),
    ("'Condition':{'IpAddress':{'aws:SourceIp':'2001::/31'}}", true),
    ("'Condition':{'NotIpAddress':{'aws:SourceIp':'10.0.0.0/8'}}", true),
    ("'Condition':{'IpAddressIfExists':{'aws:SourceIp':'10.0.0.0/8'}}", true),
    ("'Condition':{'StringEquals':{'aws:SourceVpc':'vpc-91237329'}}", false),
    ("'Condition':{'StringLike':{'aws:SourceVpc':'vpc-91237329'}}", false),
    ("'Condition':{'StringLike':{'aws:SourceVpc':'vpc-*'}}", true),
    ("'Condition':{'StringLike':{'aws:SourceVpc':'vpc-?'}}", true),
    ("'Condition':{'StringEqualsIfExists':{'aws:SourceVpc':'vpc-1'}}", true),
    ("'Condition':{'StringNotEquals':{'aws:SourceVpc':'vpc-1'}}", true),
    ("'Condition':{'ForAllValues:StringEquals':{'aws:SourceVpc':'vpc-1'}}", true),
    ("'Condition':{'ForAnyValue:StringEquals':{'aws:SourceVpc':'vpc-1'}}", false),
    ("'Condition':{'StringEquals':{'aws:SourceVpce':'vpce-1'}}", false),
    ("'Condition':{'StringEquals':{'aws:SourceVpce':['vpce-1','vpce-2']}}", false),
    ("'Condition':{'StringEquals':{'aws:SourceVpce':'${aws:username}'}}", true),
    ("2008 'Condition':{'StringEquals':{'aws:SourceVpce':'${aws:username}'}}", false),
    // Sources and senders.
    ("'Condition':{'StringEquals':{'aws:SourceAccount':'111122223333'}}", false),
    ("'Condition':{'StringLike':{'aws:SourceAccount':'*'}}", true),
    ("'Condition':{'StringEquals':{'aws:SourceOwner':'111122223333'}}", false),
    ("'Condition':{'ArnEquals':{'aws:SourceArn':'arn:aws:s3:::b'}}", false),
    ("'Condition':{'ArnLike':{'aws:SourceArn':'arn:aws:s3:::*'}}", true),
    ("'Condition':{'ArnLike':{'aws:SourceArn':'*'}}", true),
    ("'Condition':{'StringEquals':{'aws:PrincipalOrgID':'o-1'}}", false),
    ("'Condition':{'StringLike':{'aws:PrincipalOrgID':'o-*'}}", true),
    ("'Condition':{'StringEquals':{'aws:PrincipalAccount':'111122223333'}}", false),
    ("'Condition':{'ArnLike':{'aws:PrincipalArn':'arn:aws:iam::111122223333:role/*'}}", false),
    ("'Condition':{'ArnLike':{'aws:PrincipalArn':'arn:aws:iam::*:role/x'}}", true),
    ("'Condition':{'StringEquals':{'aws:userid':'AIDA1'}}", false),
    ("'Condition':{'StringLike':{'aws:userid':'AROA1:*'}}", false),
    ("'Condition':{'StringLike':{'aws:userid':'*'}}", true),
    ("'Condition':{'StringEquals':{'s3:x-amz-server-side-encryption-aws-kms-key-id':'k'}}", false),
    (
        "'Condition':{'StringLike':{'s3:DataAccessPointArn':'arn:aws:s3:us-west-2:123456789012:accesspoint/*'}}",
        false,
    ),
    (
        "'Condition':{'StringLike':{'s3:DataAccessPointArn':'arn:aws:s3:us-west-2:*:accesspoint/x'}}",
        true,
    ),
    ("'Condition':{'StringEquals':{'s3:DataAccessPointAccount':'123456789012'}}", false),
    // Others tell nobody apart.
    ("'Condition':{'StringEquals':{'aws:Referer':'x'}}", true),
    ("'Condition':{'Bool':{'aws:SecureTransport':'true'}}", true),
    ("'Condition':{'Null':{'aws:SourceVpc':'false'}}", true),
    ("'Condition':{'StringEquals':{'s3:ExistingObjectTag/public':'yes'}}", true),
    ("'Condition':{'StringEquals':{'aws:Referer':'x','aws:SourceVpc':'vpc-1'}}", false),
];

#[test]
fn policies_are_public_as_aws_defines_it() {
    for (row, is_public) in ROWS {
        let policy = Policy::parse(document(row, BUCKET).as_bytes(), BUCKET).expect(row);
        assert_eq!(policy.is_public(), *is_public, "{row}");
    }
}
