//! Amazon resource names of vector buckets and indexes in requests. Every account and region is
//! accepted: the name alone identifies the vector bucket.

use liteio_store::vectors::VectorName;

use super::error::{ApiResult, Exception};

/// The names in an ARN.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ArnNames {
    /// The vector bucket.
    pub(super) bucket: VectorName,
    /// The index; `None` in the ARN of a vector bucket.
    pub(super) index: Option<VectorName>,
}

/// Parses an ARN; `field` is its path in the request, for errors.
pub(super) fn parse(arn: &str, field: &str) -> ApiResult<ArnNames> {
    let wrong = || {
        Exception::field(
            field,
            "it is no ARN such as arn:aws:s3vectors:REGION:ACCOUNT:bucket/NAME or \
             arn:aws:s3vectors:REGION:ACCOUNT:bucket/NAME/index/NAME",
        )
    };
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let ["arn", partition, "s3vectors", region, account, resource] = parts[..] else {
        return Err(wrong());
    };
    let is_word = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let is_account = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
    if !partition.starts_with("aws")
        || !is_word(partition)
        || !is_word(region)
        || region.is_empty()
        || !is_account
    {
        return Err(wrong());
    }
    let names = resource.strip_prefix("bucket/").ok_or_else(wrong)?;
    let (bucket, index) = match names.split_once("/index/") {
        Some((bucket, index)) => (bucket, Some(index)),
        None => (names, None),
    };
    let bucket = VectorName::bucket(bucket).map_err(|_| wrong())?;
    let index = index.map(VectorName::index).transpose().map_err(|_| wrong())?;
    Ok(ArnNames { bucket, index })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arns_are_read_and_others_refused() {
        let bucket = VectorName::bucket("media").expect("a name");
        let index = VectorName::index("films").expect("a name");
        let arn = "arn:aws:s3vectors:us-east-1:000000000000:bucket/media";
        let parent = ArnNames { bucket: bucket.clone(), index: None };
        assert_eq!(parse(arn, "vectorBucketArn").expect("an ARN"), parent);
        let whole = ArnNames { bucket, index: Some(index) };
        let arn = format!("{arn}/index/films");
        assert_eq!(parse(&arn, "indexArn").expect("an ARN"), whole);
        for arn in [
            "",
            "media",
            "arn:aws:s3:::media",
            "arn:aws:s3vectors:us-east-1:12:bucket/media",
            "arn:aws:s3vectors::000000000000:bucket/media",
            "arn:aws:s3vectors:us-east-1:000000000000:media",
            "arn:aws:s3vectors:us-east-1:000000000000:bucket/m",
            "arn:aws:s3vectors:us-east-1:000000000000:bucket/media/index/",
            "arn:aws:s3vectors:us-east-1:000000000000:bucket/media/films",
        ] {
            assert!(parse(arn, "indexArn").is_err(), "{arn}");
        }
    }
}
