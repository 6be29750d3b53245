//! Resources of requests: ARNs, permission on them, fields of bodies, names.

use std::ops::RangeInclusive;

use liteio_access::{Action, Granted};
use liteio_iceberg::{Identifier, Namespace};
use liteio_store::tables::{CatalogError, Table, TableSettings};
use liteio_wire::origin::timestamp;
use serde_json::Value;

use super::error::not_found;
use crate::Call;
use crate::commit::named;
use crate::error::{ApiResult, Exception};
use crate::metadata::{text_of_uuid, uuid_of};

/// Items on one page of a listing. AWS's limit.
const PAGE_MAX: usize = 1000;

/// The ARN of a table bucket, or of a table in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arn<'a> {
    /// The 12 digits of the account.
    pub(super) account: &'a str,
    /// The name of the bucket.
    pub(super) bucket: &'a str,
    /// The id of the table.
    pub(super) table: Option<&'a str>,
}

impl<'a> Arn<'a> {
    /// The parts of `arn:PARTITION:s3tables:REGION:ACCOUNT:bucket/NAME`, with `/table/ID` or without.
    pub(super) fn parse(arn: &'a str) -> ApiResult<Arn<'a>> {
        let parts: Vec<_> = arn.splitn(6, ':').collect();
        let ["arn", _, "s3tables", _, account, resource] = parts[..] else {
            return Err(no_arn(arn));
        };
        let rest = resource.strip_prefix("bucket/").ok_or_else(|| no_arn(arn))?;
        let (bucket, table) = match rest.split_once('/') {
            None => (rest, None),
            Some((bucket, table)) => {
                let table = table.strip_prefix("table/").filter(|table| !table.contains('/'));
                (bucket, Some(table.ok_or_else(|| no_arn(arn))?))
            }
        };
        match bucket.is_empty() || table == Some("") {
            true => Err(no_arn(arn)),
            false => Ok(Arn { account, bucket, table }),
        }
    }

    /// The part of its text that is the ARN of the table bucket.
    pub(super) fn of_its_bucket(&self, arn: &'a str) -> &'a str {
        let below = self.table.map_or(0, |table| "/table/".len() + table.len());
        &arn[..arn.len() - below]
    }

    /// The same, of a whole table bucket.
    pub(super) fn of_bucket(arn: &'a str) -> ApiResult<Arn<'a>> {
        let parsed = Arn::parse(arn)?;
        match parsed.table {
            None => Ok(parsed),
            Some(_) => Err(no_arn(arn)),
        }
    }
}

fn no_arn(arn: &str) -> Exception {
    let arn: String = arn.chars().take(200).collect();
    Exception::bad_request(format!(
        "{arn:?} is not the ARN of such a resource: arn:aws:s3tables:REGION:ACCOUNT:bucket/NAME is a table bucket, \
         with /table/ID behind it a table."
    ))
}

/// Authorizes the operation on the subject of the route.
pub(super) fn granted(call: &Call<'_>) -> ApiResult<Granted> {
    of_account(call, call.granted()?)
}

/// Authorizes the operation on a namespace that the body or the query names.
pub(super) fn granted_in(call: &Call<'_>, namespace: &Namespace) -> ApiResult<Granted> {
    let action = [call.route.operation.action];
    of_account(call, call.granted_on(&action, Some(namespace), None)?)
}

/// Authorizes actions on a table that the body names.
pub(super) fn granted_named(
    call: &Call<'_>,
    actions: &[Action],
    name: &Identifier,
) -> ApiResult<Granted> {
    of_account(call, call.granted_on(actions, Some(name.namespace()), Some(name.name()))?)
}

/// The permission, if the ARN of the route has the account of the bucket.
fn of_account(call: &Call<'_>, granted: Granted) -> ApiResult<Granted> {
    let arn = Arn::parse(call.route.prefix.as_deref().unwrap_or_default())?;
    match arn.account == account(call, &granted) {
        true => Ok(granted),
        false => Err(no_bucket()),
    }
}

/// The error for a bucket that the account does not have.
pub(super) fn no_bucket() -> Exception {
    not_found("The specified bucket does not exist.")
}

/// The account of a bucket.
pub(super) fn account(call: &Call<'_>, granted: &Granted) -> String {
    call.shared.app.account_id(&granted.bucket().owner.id)
}

/// The ARN of a table bucket.
pub(super) fn bucket_arn(call: &Call<'_>, granted: &Granted) -> String {
    let bucket = granted.bucket();
    call.shared.buckets.arn(&bucket.owner.id, bucket.name.as_str())
}

/// The ARN of a table.
pub(super) fn table_arn(call: &Call<'_>, granted: &Granted, id: &[u8; 16]) -> String {
    call.shared.buckets.table_arn(granted.bucket(), id)
}

/// The id of a table in an ARN. A text that is none is that of no table.
pub(super) fn id_of(text: &str) -> [u8; 16] {
    let id = uuid_of(text);
    match text_of_uuid(&id) == text {
        true => id,
        false => [0xFF; 16],
    }
}

/// Authorizes the operation on the table of the route, and finds it with its settings.
pub(super) fn granted_table(call: &Call<'_>) -> ApiResult<(Granted, Table, TableSettings)> {
    let granted = granted(call)?;
    let name = named(call.identifier()?)?;
    match call.store.table_with_settings(granted.bucket(), &name)? {
        Some((table, settings)) => Ok((granted, table, settings)),
        None => Err(CatalogError::NoSuchTable { table: name.to_string() }.into()),
    }
}

/// A namespace of one level.
pub(super) fn namespace_of(name: &str) -> ApiResult<Namespace> {
    let namespace = Namespace::new(vec![name.to_owned()]);
    namespace.map_err(|error| Exception::bad_request(error.to_string()))
}

/// A table in a namespace of one level.
pub(super) fn table_of(namespace: &str, table: &str) -> ApiResult<Identifier> {
    let name = Identifier::new(namespace_of(namespace)?, table);
    name.map_err(|error| Exception::bad_request(error.to_string()))
}

/// A time as the protocol has it.
pub(super) fn time(ms: u64) -> String {
    timestamp(ms).to_string()
}

/// A field of a body with a text.
pub(super) fn text<'d>(document: &'d Value, field: &str) -> ApiResult<&'d str> {
    let found = optional_text(document, field)?;
    found.ok_or_else(|| Exception::bad_request(format!("{field} is missing.")))
}

/// A field of a body with a text, if it has one.
pub(super) fn optional_text<'d>(document: &'d Value, field: &str) -> ApiResult<Option<&'d str>> {
    match document.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Exception::bad_request(format!("{field} must be a string."))),
    }
}

/// A field of a body that is there and not empty.
pub(super) fn given<'d>(document: &'d Value, field: &str) -> Option<&'d Value> {
    document.get(field).filter(|value| match value {
        Value::Null => false,
        Value::Object(map) => !map.is_empty(),
        _ => true,
    })
}

/// Checks the name of a new namespace or table by AWS's rule. Names that the REST catalog made need not follow it.
pub(super) fn check_name(name: &str) -> ApiResult<()> {
    let of_name = |it: u8| it.is_ascii_digit() || it.is_ascii_lowercase() || it == b'_';
    check(name, 1..=255, of_name, "of 1 to 255 lowercase letters, digits and underscores")
}

/// Checks the name of a new table bucket by AWS's rule.
pub(super) fn check_bucket_name(name: &str) -> ApiResult<()> {
    let of_name = |it: u8| it.is_ascii_digit() || it.is_ascii_lowercase() || it == b'-';
    check(name, 3..=63, of_name, "of 3 to 63 lowercase letters, digits and hyphens")
}

fn check(
    name: &str,
    length: RangeInclusive<usize>,
    of_name: impl Fn(u8) -> bool,
    rule: &str,
) -> ApiResult<()> {
    match length.contains(&name.len()) && name.bytes().all(of_name) {
        true => Ok(()),
        false => {
            let name: String = name.chars().take(100).collect();
            Err(Exception::bad_request(format!(
                "The name {name:?} is not valid: names are {rule}."
            )))
        }
    }
}

/// The most items on the page that the parameter `name` asks for.
pub(super) fn page_of(call: &Call<'_>, name: &str) -> ApiResult<usize> {
    let Some(text) = call.parameter(name) else { return Ok(PAGE_MAX) };
    let max = text.parse().ok().filter(|max| (1..=PAGE_MAX).contains(max));
    max.ok_or_else(|| {
        Exception::bad_request(format!("{name} must be a number from 1 to {PAGE_MAX}."))
    })
}

/// A parameter of the query that is not empty.
pub(super) fn parameter<'c>(call: &'c Call<'_>, name: &str) -> Option<&'c str> {
    call.parameter(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arn_names_a_table_bucket_or_a_table() {
        let bucket = "arn:aws:s3tables:us-east-1:123456789012:bucket/lake";
        let parsed = Arn::parse(bucket).expect("an ARN");
        assert_eq!((parsed.account, parsed.bucket, parsed.table), ("123456789012", "lake", None));
        let table = format!("{bucket}/table/id");
        assert_eq!(Arn::parse(&table).expect("an ARN").table, Some("id"));
        Arn::of_bucket(bucket).expect("of a bucket");
        Arn::of_bucket(&table).expect_err("of a table");
        for wrong in [
            "lake",
            "arn:aws:s3:::lake",
            "arn:aws:s3tables:us-east-1:123456789012:bucket/",
            "arn:aws:s3tables:us-east-1:123456789012:lake",
            &format!("{bucket}/"),
            &format!("{bucket}/table/"),
            &format!("{bucket}/table/a/b"),
        ] {
            Arn::parse(wrong).expect_err(wrong);
        }
    }

    #[test]
    fn names_follow_the_rules_of_aws() {
        let long = "x".repeat(255);
        for name in ["a", "daily_sales_2", &long] {
            check_name(name).expect(name);
        }
        for name in ["", "A", "a-b", "a.b", "ä", &"x".repeat(256)] {
            check_name(name).expect_err(name);
        }
        check_bucket_name("my-lake-1").expect("a name");
        for name in ["ab", "a.b", "a_b", "Lake"] {
            check_bucket_name(name).expect_err(name);
        }
    }
}
