use super::*;

const BUCKET_ARN: &str = "arn:aws:s3tables:us-east-1:111122223333:bucket/lake";
const TABLE_ARN: &str = "arn:aws:s3tables:us-east-1:111122223333:bucket/lake/table/0a-1b";
/// The name of the same table.
const NAMED_ARN: &str = "arn:aws:s3tables:us-east-1:111122223333:bucket/lake/table/sales/orders";

fn verdict(row: &str, kind: Kind<'_>, action: &str, resource: &str) -> &'static str {
    let policy = Policy::parse(document(row, kind).as_bytes(), kind).expect(row);
    let caller = caller("alice");
    let by_id = [Alias::WithId { base: &format!("{BUCKET_ARN}/table/"), id: "0a-1b" }];
    let aliases: &[Alias<'_>] = if resource == NAMED_ARN { &by_id } else { &[] };
    let action = format!("s3tables:{action}");
    let context = NoContext;
    let request =
        Request { caller: caller.as_ref(), action: &action, resource, aliases, context: &context };
    match policy.evaluate(&request) {
        Verdict::Denied(_) => "deny",
        Verdict::Allowed(..) => "allow",
        Verdict::Neutral => "none",
    }
}

#[test]
fn table_buckets_and_tables_have_policies() {
    let (bucket, table) = (Kind::TableBucket(BUCKET_ARN), Kind::Table(TABLE_ARN));
    let of_table = |effect: &str| format!("'Effect':'{effect}','Resource':'{TABLE_ARN}'");
    let of_all = format!("'Action':'s3tables:GetTable*','Resource':'{BUCKET_ARN}/table/*'");
    let but_table =
        format!("'Action':'s3tables:GetTable','NotResource':['{TABLE_ARN}','{BUCKET_ARN}']");
    let rows = [
        ("", bucket, "GetTableBucket", BUCKET_ARN, "allow"),
        ("", bucket, "GetTable", NAMED_ARN, "allow"),
        (&*of_all, bucket, "GetTableData", NAMED_ARN, "allow"),
        (&of_all, bucket, "DeleteTable", NAMED_ARN, "none"),
        (&of_all, bucket, "GetTableBucket", BUCKET_ARN, "none"),
        // The id and the name are one table, also where a statement is about all but it.
        (&of_table("Allow"), bucket, "DeleteTable", NAMED_ARN, "allow"),
        (&of_table("Deny"), bucket, "DeleteTable", NAMED_ARN, "deny"),
        (&but_table, bucket, "GetTable", NAMED_ARN, "none"),
        (&but_table, bucket, "GetTable", &format!("{BUCKET_ARN}/table/sales/other"), "allow"),
        ("", table, "GetTable", NAMED_ARN, "allow"),
        ("'Resource':'*'", table, "GetTable", NAMED_ARN, "allow"),
    ];
    for (row, kind, action, resource, wanted) in rows {
        assert_eq!(verdict(row, kind, action, resource), wanted, "{row} {action} {resource}");
    }
}

/// An id is random, so a pattern that fits only some of them is meant for names.
#[test]
fn a_pattern_matches_an_id_only_as_a_whole() {
    let bucket = Kind::TableBucket(BUCKET_ARN);
    for (resource, wanted) in [
        ("0*", "none"),
        ("0a-*", "none"),
        ("?a-1b", "none"),
        ("*b", "none"),
        ("*-*", "none"),
        ("??-??", "none"),
        ("*a-1b", "none"),
        ("*0a-1b", "allow"),
        ("0a-1b", "allow"),
        ("0a-1b*", "allow"),
        ("*", "allow"),
        ("s*", "allow"),
        ("sales/*", "allow"),
        ("*/orders", "allow"),
    ] {
        let row =
            format!("'Action':'s3tables:GetTable','Resource':'{BUCKET_ARN}/table/{resource}'");
        assert_eq!(verdict(&row, bucket, "GetTable", NAMED_ARN), wanted, "{resource}");
    }
    for resource in
        ["*", "arn:aws:s3tables:*", "arn:aws:s3tables:us-east-1:111122223333:bucket/*/table/*"]
    {
        let row = format!("'Effect':'Deny','Action':'s3tables:GetTable','Resource':'{resource}'");
        assert_eq!(verdict(&row, Kind::Identity, "GetTable", NAMED_ARN), "deny", "{resource}");
    }
    // A denial stays one, however its pattern was meant.
    for resource in ["0*", "??-??", "*-*", "?a-1b"] {
        let resource = format!("{BUCKET_ARN}/table/{resource}");
        let row = format!("'Effect':'Deny','Action':'s3tables:GetTable','Resource':'{resource}'");
        assert_eq!(verdict(&row, Kind::Identity, "GetTable", NAMED_ARN), "deny", "{resource}");
    }
    let but_some = format!("'Action':'s3tables:GetTable','NotResource':'{BUCKET_ARN}/table/0*'");
    assert_eq!(verdict(&but_some, bucket, "GetTable", NAMED_ARN), "allow");
}

#[test]
fn policies_of_tables_are_about_them_only() {
    let (bucket, table) = (Kind::TableBucket(BUCKET_ARN), Kind::Table(TABLE_ARN));
    for (row, kind) in [
        ("'Action':'s3:GetObject'", bucket),
        ("'Action':'s3tables:Frob'", bucket),
        ("'Action':'s3tables:GetTable','Resource':'BUCKET'", bucket),
        ("'Action':'s3tables:ListTables','Resource':'BUCKET/*'", bucket),
        ("'Resource':'arn:aws:s3tables:us-east-1:111122223333:bucket/other'", bucket),
        ("'Resource':'arn:aws:s3:::lake'", bucket),
        ("'Condition':{'StringEquals':{'s3:prefix':'x'}}", bucket),
        ("'Resource':'BUCKET'", table),
        ("'Resource':'BUCKET/table/other'", table),
        ("'Action':'s3tables:ListTables'", table),
    ] {
        let row = row.replace("BUCKET", BUCKET_ARN);
        Policy::parse(document(&row, kind).as_bytes(), kind).expect_err(&row);
    }
}
