//! Warehouses: buckets by the names that clients use for them, and locations in them.

use liteio_store::{Bucket, ObjectKey, OpenedObject, StoreError};

use super::error::{ApiResult, Exception};

/// The schemes of URIs of objects. Hadoop's file systems have the longer ones.
const SCHEMES: [&str; 3] = ["s3://", "s3a://", "s3n://"];

/// The first segments of the routes of a warehouse, which stand behind its prefix, or without one for the default
/// warehouse.
pub(crate) const OF_WAREHOUSE: [&str; 4] = ["namespaces", "tables", "views", "transactions"];

/// The error for a request without a warehouse.
pub(crate) fn none_named() -> Exception {
    Exception::bad_request(
        "No warehouse is named: set the property `warehouse` of the catalog to the name of a bucket, or start the \
         server with --iceberg-warehouse.",
    )
}

/// The name of the bucket of a warehouse: the name itself, `s3://NAME`, or the ARN of a table bucket.
pub(crate) fn bucket_of(warehouse: &str) -> ApiResult<String> {
    if let Some(rest) = SCHEMES.iter().find_map(|scheme| warehouse.strip_prefix(scheme)) {
        let name = rest.strip_suffix('/').unwrap_or(rest);
        return match name.split_once('/') {
            None => Ok(name.to_owned()),
            Some((bucket, _)) => Err(Exception::bad_request(format!(
                "A warehouse is a whole bucket: name {bucket} or s3://{bucket}. To put tables elsewhere in it, give \
                 them a location, or their namespace the property `location`."
            ))),
        };
    }
    if warehouse.starts_with("arn:") {
        let parts: Vec<_> = warehouse.splitn(6, ':').collect();
        return match parts[..] {
            ["arn", _, "s3tables", _, _, resource] => {
                let name = resource.strip_prefix("bucket/").filter(|name| !name.contains('/'));
                name.map(str::to_owned).ok_or_else(|| no_arn(warehouse))
            }
            _ => Err(no_arn(warehouse)),
        };
    }
    Ok(warehouse.to_owned())
}

fn no_arn(arn: &str) -> Exception {
    let arn: String = arn.chars().take(200).collect();
    Exception::bad_request(format!(
        "{arn:?} is not the ARN of a table bucket: use arn:aws:s3tables:REGION:ACCOUNT:bucket/NAME, or NAME alone."
    ))
}

/// The key of the object at a location in the warehouse.
///
/// # Errors
/// A location in another bucket or outside of S3.
pub(crate) fn key_of(bucket: &Bucket, location: &str) -> ApiResult<String> {
    let rest = SCHEMES.iter().find_map(|scheme| location.strip_prefix(scheme));
    let key = rest.and_then(|rest| rest.strip_prefix(bucket.name.as_str())?.strip_prefix('/'));
    match key.filter(|key| !key.trim_matches('/').is_empty()) {
        Some(key) => Ok(key.to_owned()),
        None => {
            let location: String = location.chars().take(200).collect();
            Err(Exception::validation(format!(
                "The location {location:?} is not in the warehouse: it must begin with s3://{}/, and name something \
                 in it.",
                bucket.name
            )))
        }
    }
}

/// The key of the object at a location in the warehouse, as a key of the store.
pub(crate) fn object_of(bucket: &Bucket, location: &str) -> ApiResult<ObjectKey> {
    let key = key_of(bucket, location)?;
    ObjectKey::new(key).map_err(|error| Exception::validation(error.to_string()))
}

/// The bytes of an opened object, whose length the caller has checked.
///
/// # Errors
/// Those of reading.
pub(crate) fn body_of(mut opened: OpenedObject) -> Result<Vec<u8>, StoreError> {
    let bytes = usize::try_from(opened.found.object.bytes).unwrap_or_default();
    let mut body = Vec::with_capacity(bytes);
    while let Some(piece) = opened.reader.next()? {
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// A location without the slashes at its end.
pub(crate) fn trimmed(location: &str) -> &str {
    location.trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warehouse_is_a_bucket_by_its_name_uri_or_arn() {
        let arn = "arn:aws:s3tables:us-east-1:123456789012:bucket/lake";
        for warehouse in ["lake", "s3://lake", "s3://lake/", "s3a://lake", arn] {
            assert_eq!(bucket_of(warehouse).expect(warehouse), "lake");
        }
        for warehouse in ["s3://lake/prefix", "arn:aws:s3:::lake", &format!("{arn}/table/x")] {
            bucket_of(warehouse).expect_err(warehouse);
        }
    }
}
