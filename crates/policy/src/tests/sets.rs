use super::{BUCKET, Row, check};

/// Keys of several values.
const ROWS: &[Row] = &[
    // Every value must fit; there may be none.
    (
        "'Condition':{'ForAllValues:StringEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a aws:TagKeys=a",
        "everyone",
    ),
    (
        "'Condition':{'ForAllValues:StringEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a aws:TagKeys=a|b",
        "everyone",
    ),
    (
        "'Condition':{'ForAllValues:StringEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a aws:TagKeys=a|c",
        "none",
    ),
    (
        "'Condition':{'ForAllValues:StringEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a aws:TagKeys=A",
        "none",
    ),
    (
        "'Condition':{'ForAllValues:StringEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'ForAllValues:StringEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a aws:TagKeys=|",
        "everyone",
    ),
    (
        "'Condition':{'ForAllValues:StringNotEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a aws:TagKeys=c|d",
        "everyone",
    ),
    (
        "'Condition':{'ForAllValues:StringNotEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a aws:TagKeys=c|a",
        "none",
    ),
    (
        "'Condition':{'ForAllValues:StringNotEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'ForAllValues:StringLike':{'s3:RequestObjectTagKeys':['team*']}}",
        "alice GetObject bucket/a s3:RequestObjectTagKeys=team1|team2",
        "everyone",
    ),
    (
        "'Condition':{'ForAllValues:StringLike':{'s3:RequestObjectTagKeys':['team*']}}",
        "alice GetObject bucket/a s3:RequestObjectTagKeys=team1|x",
        "none",
    ),
    (
        "'Condition':{'ForAllValues:StringEqualsIfExists':{'aws:TagKeys':['a']}}",
        "alice GetObject bucket/a aws:TagKeys=b",
        "none",
    ),
    (
        "'Condition':{'ForAllValues:StringEqualsIfExists':{'aws:TagKeys':['a']}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    // One value must fit.
    (
        "'Condition':{'ForAnyValue:StringEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a aws:TagKeys=c|b",
        "everyone",
    ),
    (
        "'Condition':{'ForAnyValue:StringEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a aws:TagKeys=b",
        "everyone",
    ),
    (
        "'Condition':{'ForAnyValue:StringEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a aws:TagKeys=c|d",
        "none",
    ),
    (
        "'Condition':{'ForAnyValue:StringEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a",
        "none",
    ),
    (
        "'Condition':{'ForAnyValue:StringEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a aws:TagKeys=|",
        "none",
    ),
    (
        "'Condition':{'ForAnyValue:StringNotEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a aws:TagKeys=a|c",
        "everyone",
    ),
    (
        "'Condition':{'ForAnyValue:StringNotEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a aws:TagKeys=a|b",
        "none",
    ),
    (
        "'Condition':{'ForAnyValue:StringNotEquals':{'aws:TagKeys':['a','b']}}",
        "alice GetObject bucket/a",
        "none",
    ),
    (
        "'Condition':{'ForAnyValue:StringEqualsIfExists':{'aws:TagKeys':['a']}}",
        "alice GetObject bucket/a",
        "none",
    ),
    (
        "'Condition':{'ForAnyValue:StringLike':{'aws:PrincipalOrgPaths':['o-1/*']}}",
        "alice GetObject bucket/a aws:PrincipalOrgPaths=o-1/r/ou/",
        "everyone",
    ),
    (
        "'Condition':{'ForAnyValue:NumericLessThan':{'s3:max-keys':'5'}}",
        "alice GetObject bucket/a s3:max-keys=9|4",
        "everyone",
    ),
    (
        "'Condition':{'ForAnyValue:ArnLike':{'aws:SourceArn':'arn:aws:s3:::b*'}}",
        "alice GetObject bucket/a aws:SourceArn=arn:aws:s3:::a|arn:aws:s3:::b",
        "everyone",
    ),
    // Of a key with one value, they are the same.
    (
        "'Condition':{'ForAnyValue:StringEquals':{'aws:username':'alice'}}",
        "alice GetObject bucket/a",
        "everyone",
    ),
    (
        "'Condition':{'ForAllValues:StringEquals':{'aws:username':'alice'}}",
        "bob GetObject bucket/a",
        "none",
    ),
    (
        "'Condition':{'ForAllValues:StringEquals':{'aws:username':'alice'}}",
        "anonymous GetObject bucket/a",
        "everyone",
    ),
    // "Required, and no others", as AWS writes it.
    (
        "'Condition':{'ForAllValues:StringEquals':{'aws:TagKeys':['a']},'Null':{'aws:TagKeys':'false'}}",
        "alice GetObject bucket/a",
        "none",
    ),
    (
        "'Condition':{'ForAllValues:StringEquals':{'aws:TagKeys':['a']},'Null':{'aws:TagKeys':'false'}}",
        "alice GetObject bucket/a aws:TagKeys=a",
        "everyone",
    ),
    (
        "'Effect':'Deny','Condition':{'ForAnyValue:StringNotEquals':{'aws:TagKeys':['a']}}",
        "alice GetObject bucket/a aws:TagKeys=a|b",
        "deny",
    ),
];

#[test]
fn sets_of_values_fit() {
    check(BUCKET, ROWS);
}
