//! Amazon resource names of vector buckets and indexes in requests. Every account and region is
//! accepted: the name alone identifies the vector bucket.

use liteio_store::StoreError;
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

/// A field of a request that holds an ARN.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArnField {
    /// Of a vector bucket.
    Bucket,
    /// Of an index.
    Index,
    /// Of either, in the path of a request about tags.
    Resource,
}

impl ArnField {
    fn wrong(self) -> Exception {
        // The patterns of the service model.
        const BUCKET: &str = "arn:aws[-a-z0-9]*:s3vectors:[a-z0-9-]+:[0-9]{12}:\
                              bucket/[a-z0-9][a-z0-9-.]{1,61}[a-z0-9]";
        const INDEX: &str = "/index/[a-z0-9][a-z0-9-.]{1,61}[a-z0-9]";
        match self {
            ArnField::Bucket => StoreError::pattern("/vectorBucketArn", BUCKET).into(),
            ArnField::Index => StoreError::pattern("/indexArn", &format!("{BUCKET}{INDEX}")).into(),
            ArnField::Resource => Exception::field(
                "/resourceArn",
                "it is no ARN such as arn:aws:s3vectors:REGION:ACCOUNT:bucket/NAME or \
                 arn:aws:s3vectors:REGION:ACCOUNT:bucket/NAME/index/NAME",
            ),
        }
    }
}

/// Parses the ARN of a vector bucket.
pub(super) fn bucket(arn: &str) -> ApiResult<VectorName> {
    match parse(arn, ArnField::Bucket)? {
        ArnNames { bucket, index: None } => Ok(bucket),
        ArnNames { .. } => Err(ArnField::Bucket.wrong()),
    }
}

/// Parses the ARN of an index: the name of its vector bucket, and its own.
pub(super) fn index(arn: &str) -> ApiResult<(VectorName, VectorName)> {
    match parse(arn, ArnField::Index)? {
        ArnNames { bucket, index: Some(index) } => Ok((bucket, index)),
        ArnNames { .. } => Err(ArnField::Index.wrong()),
    }
}

/// Parses the ARN of a vector bucket or index.
pub(super) fn resource(arn: &str) -> ApiResult<ArnNames> {
    parse(arn, ArnField::Resource)
}

fn parse(arn: &str, field: ArnField) -> ApiResult<ArnNames> {
    let wrong = || field.wrong();
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
        let media = VectorName::bucket("media").expect("a name");
        let films = VectorName::index("films").expect("a name");
        let parent = "arn:aws:s3vectors:us-east-1:000000000000:bucket/media";
        assert_eq!(bucket(parent).expect("an ARN"), media);
        assert!(index(parent).is_err());
        let names = ArnNames { bucket: media.clone(), index: None };
        assert_eq!(resource(parent).expect("an ARN"), names);
        let whole = format!("{parent}/index/films");
        assert_eq!(index(&whole).expect("an ARN"), (media.clone(), films.clone()));
        assert!(bucket(&whole).is_err());
        let names = ArnNames { bucket: media, index: Some(films) };
        assert_eq!(resource(&whole).expect("an ARN"), names);
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
            assert!(index(arn).is_err() && bucket(arn).is_err() && resource(arn).is_err(), "{arn}");
        }
    }
}
