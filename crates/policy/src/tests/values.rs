use super::{BUCKET, Row, check};

/// Operators on numbers, times, booleans, bytes and addresses.
const ROWS: &[Row] = &[
    (
        "'Condition':{'NumericEquals':{'s3:max-keys':'10'}}",
        "alice GetObject bucket/a s3:max-keys=10",
        "everyone",
    ),
    (
        "'Condition':{'NumericEquals':{'s3:max-keys':10}}",
        "alice GetObject bucket/a s3:max-keys=10.0",
        "everyone",
    ),
    (
        "'Condition':{'NumericEquals':{'s3:max-keys':'10'}}",
        "alice GetObject bucket/a s3:max-keys=11",
        "none",
    ),
    (
        "'Condition':{'NumericEquals':{'s3:max-keys':['10','11']}}",
        "alice GetObject bucket/a s3:max-keys=11",
        "everyone",
    ),
    ("'Condition':{'NumericEquals':{'s3:max-keys':'10'}}", "alice GetObject bucket/a", "none"),
    (
        "'Condition':{'NumericEquals':{'s3:max-keys':'10'}}",
        "alice GetObject bucket/a s3:max-keys=ten",
        "none",
    ),
    (
        "'Condition':{'NumericNotEquals':{'s3:max-keys':'10'}}",
        "alice GetObject bucket/a s3:max-keys=10",
        "none",
    ),
    (
        "'Condition':{'NumericNotEquals':{'s3:max-keys':'10'}}",
        "alice GetObject bucket/a s3:max-keys=9",
        "everyone",
    ),
    (
        "'Condition':{'NumericNotEquals':{'s3:max-keys':'10'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'NumericLessThan':{'s3:max-keys':'10'}}",
        "alice GetObject bucket/a s3:max-keys=9",
        "everyone",
    ),
    (
        "'Condition':{'NumericLessThan':{'s3:max-keys':'10'}}",
        "alice GetObject bucket/a s3:max-keys=10",
        "none",
    ),
    (
        "'Condition':{'NumericLessThan':{'s3:TlsVersion':1.2}}",
        "alice GetObject bucket/a s3:TlsVersion=1.1",
        "everyone",
    ),
    (
        "'Condition':{'NumericLessThan':{'s3:TlsVersion':1.2}}",
        "alice GetObject bucket/a s3:TlsVersion=1.3",
        "none",
    ),
    (
        "'Condition':{'NumericLessThanEquals':{'s3:max-keys':'10'}}",
        "alice GetObject bucket/a s3:max-keys=10",
        "everyone",
    ),
    (
        "'Condition':{'NumericLessThanEquals':{'s3:max-keys':'10'}}",
        "alice GetObject bucket/a s3:max-keys=11",
        "none",
    ),
    (
        "'Condition':{'NumericGreaterThan':{'s3:signatureAge':'600000'}}",
        "alice GetObject bucket/a s3:signatureAge=600001",
        "everyone",
    ),
    (
        "'Condition':{'NumericGreaterThan':{'s3:signatureAge':'600000'}}",
        "alice GetObject bucket/a s3:signatureAge=600000",
        "none",
    ),
    (
        "'Condition':{'NumericGreaterThan':{'s3:signatureAge':'600000'}}",
        "alice GetObject bucket/a",
        "none",
    ),
    (
        "'Condition':{'NumericGreaterThanEquals':{'s3:max-keys':'10'}}",
        "alice GetObject bucket/a s3:max-keys=10",
        "everyone",
    ),
    (
        "'Condition':{'NumericGreaterThanEquals':{'s3:max-keys':'-1'}}",
        "alice GetObject bucket/a s3:max-keys=-2",
        "none",
    ),
    (
        "'Condition':{'NumericGreaterThanIfExists':{'s3:max-keys':'10'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'NumericGreaterThanIfExists':{'s3:max-keys':'10'}}",
        "alice GetObject bucket/a s3:max-keys=10",
        "none",
    ),
    (
        "'Effect':'Deny','Condition':{'NumericGreaterThan':{'s3:max-keys':'100'}}",
        "alice GetObject bucket/a s3:max-keys=1000",
        "deny",
    ),
    (
        "'Effect':'Deny','Condition':{'NumericLessThan':{'s3:object-lock-remaining-retention-days':'30'}}",
        "alice GetObject bucket/a s3:object-lock-remaining-retention-days=7",
        "deny",
    ),
    // Times.
    (
        "'Condition':{'DateLessThan':{'aws:CurrentTime':'2030-01-01T00:00:00Z'}}",
        "alice GetObject bucket/a aws:CurrentTime=2029-12-31T23:59:59Z",
        "everyone",
    ),
    (
        "'Condition':{'DateLessThan':{'aws:CurrentTime':'2030-01-01T00:00:00Z'}}",
        "alice GetObject bucket/a aws:CurrentTime=2030-01-01T00:00:00Z",
        "none",
    ),
    (
        "'Condition':{'DateLessThan':{'aws:CurrentTime':'2030-01-01'}}",
        "alice GetObject bucket/a aws:CurrentTime=2029-12-31T23:59:59Z",
        "everyone",
    ),
    (
        "'Condition':{'DateLessThan':{'aws:CurrentTime':'1893456000'}}",
        "alice GetObject bucket/a aws:CurrentTime=2029-12-31T23:59:59Z",
        "everyone",
    ),
    (
        "'Condition':{'DateLessThan':{'aws:EpochTime':'2030-01-01T00:00:00Z'}}",
        "alice GetObject bucket/a aws:EpochTime=1893455999",
        "everyone",
    ),
    (
        "'Condition':{'DateLessThan':{'aws:EpochTime':1893456000}}",
        "alice GetObject bucket/a aws:EpochTime=1893456000",
        "none",
    ),
    (
        "'Condition':{'NumericLessThan':{'aws:EpochTime':'1893456000'}}",
        "alice GetObject bucket/a aws:EpochTime=1893455999",
        "everyone",
    ),
    (
        "'Condition':{'DateGreaterThan':{'aws:CurrentTime':'2030-01-01T00:00:00Z'}}",
        "alice GetObject bucket/a aws:CurrentTime=2030-01-01T00:00:01Z",
        "everyone",
    ),
    (
        "'Condition':{'DateGreaterThan':{'aws:CurrentTime':'2030-01-01T01:00:00+01:00'}}",
        "alice GetObject bucket/a aws:CurrentTime=2030-01-01T00:00:01Z",
        "everyone",
    ),
    (
        "'Condition':{'DateGreaterThan':{'aws:CurrentTime':'2030-01-01T00:00:00Z'}}",
        "alice GetObject bucket/a",
        "none",
    ),
    (
        "'Condition':{'DateGreaterThanEquals':{'aws:CurrentTime':'2030-01-01T00:00:00Z'}}",
        "alice GetObject bucket/a aws:CurrentTime=2030-01-01T00:00:00Z",
        "everyone",
    ),
    (
        "'Condition':{'DateLessThanEquals':{'aws:CurrentTime':'2030-01-01T00:00:00Z'}}",
        "alice GetObject bucket/a aws:CurrentTime=2030-01-01T00:00:00Z",
        "everyone",
    ),
    (
        "'Condition':{'DateLessThanEquals':{'aws:CurrentTime':'2030-01-01T00:00:00Z'}}",
        "alice GetObject bucket/a aws:CurrentTime=soon",
        "none",
    ),
    (
        "'Condition':{'DateEquals':{'s3:object-lock-retain-until-date':'2030-01-01T00:00:00Z'}}",
        "alice GetObject bucket/a s3:object-lock-retain-until-date=2030-01-01T00:00:00.000Z",
        "everyone",
    ),
    (
        "'Condition':{'DateNotEquals':{'s3:object-lock-retain-until-date':'2030-01-01T00:00:00Z'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'DateNotEquals':{'s3:object-lock-retain-until-date':'2030-01-01T00:00:00Z'}}",
        "alice GetObject bucket/a s3:object-lock-retain-until-date=2030-01-01",
        "none",
    ),
    (
        "'Condition':{'DateGreaterThan':{'aws:CurrentTime':'2020-01-01'},'DateLessThan':{'aws:CurrentTime':'2030-01-01'}}",
        "alice GetObject bucket/a aws:CurrentTime=2026-01-01T00:00:00Z",
        "everyone",
    ),
    (
        "'Condition':{'DateLessThanIfExists':{'aws:TokenIssueTime':'2030-01-01'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    // Booleans.
    (
        "'Condition':{'Bool':{'aws:SecureTransport':'true'}}",
        "alice GetObject bucket/a aws:SecureTransport=true",
        "everyone",
    ),
    (
        "'Condition':{'Bool':{'aws:SecureTransport':true}}",
        "alice GetObject bucket/a aws:SecureTransport=true",
        "everyone",
    ),
    (
        "'Condition':{'Bool':{'aws:SecureTransport':'TRUE'}}",
        "alice GetObject bucket/a aws:SecureTransport=true",
        "everyone",
    ),
    (
        "'Condition':{'Bool':{'aws:SecureTransport':'true'}}",
        "alice GetObject bucket/a aws:SecureTransport=false",
        "none",
    ),
    (
        "'Effect':'Deny','Condition':{'Bool':{'aws:SecureTransport':'false'}}",
        "alice GetObject bucket/a aws:SecureTransport=false",
        "deny",
    ),
    (
        "'Effect':'Deny','Condition':{'Bool':{'aws:SecureTransport':'false'}}",
        "alice GetObject bucket/a aws:SecureTransport=true",
        "none",
    ),
    (
        "'Condition':{'Bool':{'aws:MultiFactorAuthPresent':'true'}}",
        "alice GetObject bucket/a",
        "none",
    ),
    (
        "'Condition':{'BoolIfExists':{'aws:MultiFactorAuthPresent':'true'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'Bool':{'aws:SecureTransport':['true','false']}}",
        "alice GetObject bucket/a aws:SecureTransport=false",
        "everyone",
    ),
    (
        "'Condition':{'Bool':{'s3:ObjectCreationOperation':'false'}}",
        "alice GetObject bucket/a s3:ObjectCreationOperation=no",
        "none",
    ),
    // Bytes.
    (
        "'Condition':{'BinaryEquals':{'s3:prefix':'QmluYXJ5'}}",
        "alice GetObject bucket/a s3:prefix=QmluYXJ5",
        "everyone",
    ),
    (
        "'Condition':{'BinaryEquals':{'s3:prefix':'QmluYXJ5'}}",
        "alice GetObject bucket/a s3:prefix=QmluYXJ6",
        "none",
    ),
    ("'Condition':{'BinaryEquals':{'s3:prefix':'QmluYXJ5'}}", "alice GetObject bucket/a", "none"),
    // Addresses.
    (
        "'Condition':{'IpAddress':{'aws:SourceIp':'10.0.0.0/8'}}",
        "alice GetObject bucket/a aws:SourceIp=10.1.2.3",
        "everyone",
    ),
    (
        "'Condition':{'IpAddress':{'aws:SourceIp':'10.0.0.0/8'}}",
        "alice GetObject bucket/a aws:SourceIp=11.1.2.3",
        "none",
    ),
    (
        "'Condition':{'IpAddress':{'aws:SourceIp':'10.0.0.0/8'}}",
        "alice GetObject bucket/a aws:SourceIp=::ffff:10.1.2.3",
        "everyone",
    ),
    (
        "'Condition':{'IpAddress':{'aws:SourceIp':'10.0.0.0/8'}}",
        "alice GetObject bucket/a aws:SourceIp=2001:db8::1",
        "none",
    ),
    ("'Condition':{'IpAddress':{'aws:SourceIp':'10.0.0.0/8'}}", "alice GetObject bucket/a", "none"),
    (
        "'Condition':{'IpAddress':{'aws:SourceIp':'10.0.0.0/8'}}",
        "alice GetObject bucket/a aws:SourceIp=x",
        "none",
    ),
    (
        "'Condition':{'IpAddress':{'aws:SourceIp':['10.0.0.0/8','192.168.1.0/24']}}",
        "alice GetObject bucket/a aws:SourceIp=192.168.1.7",
        "everyone",
    ),
    (
        "'Condition':{'IpAddress':{'aws:SourceIp':'192.168.1.7'}}",
        "alice GetObject bucket/a aws:SourceIp=192.168.1.7",
        "everyone",
    ),
    (
        "'Condition':{'IpAddress':{'aws:SourceIp':'192.168.1.7'}}",
        "alice GetObject bucket/a aws:SourceIp=192.168.1.8",
        "none",
    ),
    (
        "'Condition':{'IpAddress':{'aws:SourceIp':'2001:db8::/32'}}",
        "alice GetObject bucket/a aws:SourceIp=2001:db8:1::1",
        "everyone",
    ),
    (
        "'Condition':{'IpAddress':{'aws:SourceIp':'2001:DB8:0:0:0::/32'}}",
        "alice GetObject bucket/a aws:SourceIp=2001:db9::1",
        "none",
    ),
    (
        "'Condition':{'NotIpAddress':{'aws:SourceIp':'10.0.0.0/8'}}",
        "alice GetObject bucket/a aws:SourceIp=10.1.2.3",
        "none",
    ),
    (
        "'Condition':{'NotIpAddress':{'aws:SourceIp':'10.0.0.0/8'}}",
        "alice GetObject bucket/a aws:SourceIp=11.1.2.3",
        "everyone",
    ),
    (
        "'Condition':{'NotIpAddress':{'aws:SourceIp':['10.0.0.0/8','11.0.0.0/8']}}",
        "alice GetObject bucket/a aws:SourceIp=11.1.2.3",
        "none",
    ),
    (
        "'Condition':{'NotIpAddress':{'aws:SourceIp':'10.0.0.0/8'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'NotIpAddressIfExists':{'aws:SourceIp':'10.0.0.0/8'}}",
        "alice GetObject bucket/a aws:SourceIp=10.1.2.3",
        "none",
    ),
    (
        "'Condition':{'IpAddress':{'aws:SourceIp':'10.0.0.0/8'},'NotIpAddress':{'aws:SourceIp':'10.1.0.0/16'}}",
        "alice GetObject bucket/a aws:SourceIp=10.1.2.3",
        "none",
    ),
    (
        "'Condition':{'IpAddress':{'aws:SourceIp':'10.0.0.0/8'},'NotIpAddress':{'aws:SourceIp':'10.1.0.0/16'}}",
        "alice GetObject bucket/a aws:SourceIp=10.2.2.3",
        "everyone",
    ),
    (
        "'Effect':'Deny','Condition':{'NotIpAddress':{'aws:SourceIp':'10.0.0.0/8'}}",
        "alice GetObject bucket/a aws:SourceIp=11.0.0.1",
        "deny",
    ),
];

#[test]
fn conditions_compare_values() {
    check(BUCKET, ROWS);
}
