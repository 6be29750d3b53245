//! CreateBucket, HeadBucket, DeleteBucket, ListBuckets and GetBucketLocation.

use http::header::{CONTENT_TYPE, HeaderName, LOCATION};
use http::{HeaderMap, HeaderValue};
use liteio_store::{DocumentKind, ListBuckets, NewBucket, StoreError, Versioning};
use s3s::dto::*;
use s3s::{S3Error, S3Response, S3Result, s3_error};

use super::answer::xml_response;
use super::context::Sent;
use super::details::Details;
use super::document::NewBucketTags;
use super::headers::header_value;
use super::page_token::{name_of_token, token_after};
use super::tagging::Tagged;
use super::xml::XmlWriter;
use super::{
    Req, Resp, access, acl, bucket_settings, directory_bucket, error, force_delete, ownership,
};
use liteio_access::state::App;
use liteio_access::{Granted, GrantedAccount};

const BUCKET_ARN: HeaderName = HeaderName::from_static("x-amz-bucket-arn");

/// The region whose buckets have no location constraint, and in which creating one's own bucket
/// again succeeds, as documented for AWS's CreateBucket.
const US_EAST_1: &str = "us-east-1";
/// Longest accepted region name. Our limit; AWS's names are shorter.
const REGION_BYTES_MAX: usize = 63;

pub(super) async fn create_bucket(
    app: &App,
    granted: GrantedAccount,
    request: Req<CreateBucketInput>,
) -> Resp<CreateBucketOutput> {
    let asked_ownership = ownership::of_header(&request.headers)?;
    let ownership = asked_ownership.unwrap_or(app.object_ownership);
    // An empty list of tags is none.
    let tags = request.extensions.get::<NewBucketTags>().cloned();
    let tags = tags
        .filter(|NewBucketTags(tags)| !tags.is_empty())
        .map(|NewBucketTags(tags)| bucket_settings::tagging_document(tags, Tagged::NewBucket));
    let tags = tags.transpose()?;
    let configuration = request.input.create_bucket_configuration.as_ref();
    let is_directory = directory_bucket::check_configuration(&request.input)?;
    let region = match app.takes_any_region {
        _ if is_directory => app.region.clone(),
        true => asked_region(configuration)?.unwrap_or(&app.region).to_owned(),
        false => check_location(&app.region, configuration).map(|()| app.region.clone())?,
    };
    let owner = granted.owner();
    let name = granted.new_bucket_name(request.input.bucket).map_err(error::from_store)?;
    let account = || app.account_id(&owner.id);
    check_namespace(&request.headers, name.as_str(), account, &region)?;
    // It would take the paths of MinIO's health, metrics and admin API from everybody. MinIO's answer.
    if app.acts_as_minio && name.as_str() == "minio" {
        return Err(s3_error!(
            Details::of("BucketName", name.as_str()),
            AllAccessDisabled,
            "All access to this resource has been disabled."
        ));
    }
    let location = header_value(&format!("/{name}"))?;
    let arn = header_value(&arn(name.as_str()))?;
    let object_lock = request.input.object_lock_enabled_for_bucket.unwrap_or(false);
    let acl = acl::of_new_bucket(app, &owner, ownership, &request.headers)?;
    let has_settings =
        object_lock || tags.is_some() || acl.is_some() || ownership != app.object_ownership;
    let mut documents = app.documents_of_new_bucket(ownership);
    let asked = [(DocumentKind::Tagging, tags), (DocumentKind::Acl, acl)];
    documents.extend(asked.into_iter().filter_map(|(kind, it)| Some((kind, it?))));
    let is_in_us_east_1 = region == US_EAST_1;
    let new = NewBucket::new(name, owner, region);
    match app.store.create_bucket(NewBucket { object_lock, documents, ..new }).await {
        Ok(()) => {}
        // An existing bucket keeps its settings, so success would falsely promise the requested
        // ones.
        Err(StoreError::BucketAlreadyOwnedByYou { .. }) if is_in_us_east_1 && !has_settings => {}
        Err(error) => return Err(error::from_store(error)),
    }
    let mut response = S3Response::new(CreateBucketOutput::default());
    response.headers.insert(LOCATION, location);
    response.headers.insert(BUCKET_ARN, arn);
    Ok(response)
}

/// The ARN of a bucket.
fn arn(name: &str) -> String {
    format!("arn:aws:s3:::{name}")
}

/// The requested region, for a server that accepts buckets of every region.
fn asked_region(configuration: Option<&CreateBucketConfiguration>) -> S3Result<Option<&str>> {
    let constraint = configuration.and_then(|it| it.location_constraint.as_ref());
    match constraint.map(BucketLocationConstraint::as_str).filter(|it| !it.is_empty()) {
        Some("EU") => Ok(Some("eu-west-1")),
        None => Ok(None),
        Some(constraint) if is_word(constraint) => Ok(Some(constraint)),
        Some(constraint) => Err(invalid_location(constraint)),
    }
}

/// Checks the location constraint against the region of a single-region server.
fn check_location(region: &str, configuration: Option<&CreateBucketConfiguration>) -> S3Result<()> {
    let constraint = configuration.and_then(|it| it.location_constraint.as_ref());
    match constraint.map(BucketLocationConstraint::as_str).filter(|it| !it.is_empty()) {
        None if region == US_EAST_1 => Ok(()),
        None => Err(illegal_location("unspecified", region)),
        Some(US_EAST_1) if region == US_EAST_1 => Err(invalid_location(US_EAST_1)),
        Some(constraint) if constraint == region => Ok(()),
        Some("EU") if region == "eu-west-1" => Ok(()),
        // AWS tells only clients of us-east-1 that a text is no region.
        Some(constraint) if is_region(constraint) || region != US_EAST_1 => {
            Err(illegal_location(constraint, region))
        }
        Some(constraint) => Err(invalid_location(constraint)),
    }
}

/// Checks that a bucket of the account's namespace has the name that this demands:
/// `PREFIX-ACCOUNT-REGION-an`. No other account can have such a name, since it is not its id.
fn check_namespace(
    headers: &HeaderMap,
    name: &str,
    account: impl FnOnce() -> String,
    region: &str,
) -> S3Result<()> {
    let Some(namespace) = headers.get(NAMESPACE) else { return Ok(()) };
    match namespace.as_bytes() {
        b"global" => Ok(()),
        b"account-regional" => {
            let suffix = format!("-{}-{region}-an", account());
            match name.strip_suffix(&*suffix).is_some_and(|prefix| !prefix.is_empty()) {
                true => Ok(()),
                false => Err(s3_error!(
                    Details::of("BucketName", name),
                    InvalidBucketName,
                    "The specified bucket is not valid. In the namespace account-regional its name ends \
                     with {suffix}."
                )),
            }
        }
        other => Err(s3_error!(
            Details::argument(NAMESPACE, &String::from_utf8_lossy(other)),
            InvalidArgument,
            "The {NAMESPACE} header must be global or account-regional."
        )),
    }
}

const NAMESPACE: &str = "x-amz-bucket-namespace";

/// True for text that any server may use as a region name, including `auto`.
fn is_word(text: &str) -> bool {
    text.len() <= REGION_BYTES_MAX
        && text.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_'))
}

/// True for text in the form of an AWS region name, such as `ap-southeast-2`.
fn is_region(text: &str) -> bool {
    let mut words = text.split('-');
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|it| it.is_ascii_lowercase());
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|it| it.is_ascii_digit());
    text == "EU"
        || (words.next_back().is_some_and(is_number)
            && words.clone().count() >= 2
            && words.all(is_word))
}

/// The regions of AWS, for the filter of ListBuckets.
const REGIONS_OF_AWS: [&str; 38] = [
    "af-south-1",
    "ap-east-1",
    "ap-east-2",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-south-2",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "ap-southeast-5",
    "ap-southeast-6",
    "ap-southeast-7",
    "ca-central-1",
    "ca-west-1",
    "cn-north-1",
    "cn-northwest-1",
    "eu-central-1",
    "eu-central-2",
    "eu-north-1",
    "eu-south-1",
    "eu-south-2",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "il-central-1",
    "me-central-1",
    "me-south-1",
    "mx-central-1",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-gov-east-1",
    "us-gov-west-1",
    "us-west-1",
    "us-west-2",
];

fn is_region_of_aws(text: &str) -> bool {
    REGIONS_OF_AWS.contains(&text)
}

fn invalid_location(constraint: &str) -> S3Error {
    s3_error!(
        Details::of("LocationConstraint", error::quoted(constraint)),
        InvalidLocationConstraint,
        "The specified location-constraint is not valid"
    )
}

/// The error for a location other than the server's region: AWS's message names none, so the detail does.
fn illegal_location(constraint: &str, region: &str) -> S3Error {
    let detail = format!(
        "the server has the region {region} alone, by --region: set it in the client, which names it as \
         the location constraint"
    );
    s3_error!(
        Details::of("Detail", detail),
        IllegalLocationConstraintException,
        "The {constraint} location constraint is incompatible for the region specific endpoint \
         this request was sent to."
    )
}

pub(super) async fn head_bucket(
    _app: &App,
    granted: Granted,
    _request: Req<HeadBucketInput>,
) -> Resp<HeadBucketOutput> {
    let mut response = S3Response::new(HeadBucketOutput {
        bucket_region: Some(granted.bucket().region.clone()),
        access_point_alias: Some(false),
        ..HeadBucketOutput::default()
    });
    response.headers.insert(BUCKET_ARN, header_value(&arn(granted.bucket().name.as_str()))?);
    // As on AWS, although there is no document. (moto's `test_header_content_type`.)
    response.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    Ok(response)
}

pub(super) async fn delete_bucket(
    app: &App,
    granted: Granted,
    request: Req<DeleteBucketInput>,
) -> Resp<DeleteBucketOutput> {
    // Elsewhere `mc rb --force` has deleted the objects before; a bucket that is not empty is refused.
    if app.acts_as_minio && force_delete::is_asked(&request.headers)? {
        let Req { method, uri, headers, extensions, .. } = &request;
        let sent = Sent { method, uri, headers, extensions };
        force_delete::delete_all(app, &granted, sent, &force_delete::Scope::Bucket).await?;
    }
    let deleted = app.store.delete_bucket(granted.bucket()).await;
    let has_versions = granted.bucket().versioning != Versioning::Never;
    deleted.map_err(|error| match error {
        StoreError::BucketNotEmpty { bucket } if has_versions => s3_error!(
            Details::of("BucketName", bucket),
            BucketNotEmpty,
            "The bucket you tried to delete is not empty. You must delete all versions in the bucket."
        ),
        error => error::from_store(error),
    })?;
    Ok(S3Response::new(DeleteBucketOutput::default()))
}

pub(super) async fn get_bucket_location(
    _app: &App,
    granted: Granted,
    _request: Req<GetBucketLocationInput>,
) -> Resp<GetBucketLocationOutput> {
    let mut xml = XmlWriter::new("LocationConstraint", 0);
    let region = &granted.bucket().region;
    if region != US_EAST_1 {
        xml.content(region);
    }
    Ok(xml_response(xml.finish()))
}

pub(super) async fn list_buckets(
    app: &App,
    granted: GrantedAccount,
    request: Req<ListBucketsInput>,
) -> Resp<ListBucketsOutput> {
    let owner = granted.owner();
    let ListBucketsInput { bucket_region, continuation_token, max_buckets, prefix } = request.input;
    let limit = liteio_store::limits::LIST_BUCKETS_MAX;
    let max = match max_buckets.map(usize::try_from) {
        None => limit,
        Some(Ok(max)) if (1..=limit).contains(&max) => max,
        Some(_) => {
            return Err(s3_error!(
                Details::argument("max-buckets", &max_buckets.unwrap_or_default().to_string()),
                InvalidArgument,
                "Argument max-buckets must be an integer between 1 and {limit}"
            ));
        }
    };
    if let Some(asked) = bucket_region.as_deref()
        && !app.takes_any_region
        && asked != app.region
        && !is_region_of_aws(asked)
    {
        return Err(s3_error!(
            Details::named("bucket-region"),
            InvalidArgument,
            "Argument value {} is not a valid AWS Region",
            error::quoted(asked)
        ));
    }
    // As on AWS, the list names the regions if the request has a parameter.
    let names_regions = bucket_region.is_some()
        || continuation_token.is_some()
        || max_buckets.is_some()
        || prefix.is_some();
    let query = ListBuckets {
        prefix: prefix.clone(),
        after: continuation_token.as_deref().map(name_of_token).transpose()?,
        owner_id: Some(owner.id.clone()),
        max,
    };
    let page = app.blocking(move |store| store.list_buckets(&query)).await;
    let mut page = page.map_err(error::from_store)?;
    let (method, uri) = (&request.method, &request.uri);
    let sent = Sent { method, uri, headers: &request.headers, extensions: &request.extensions };
    app.look(|store| {
        page.buckets.retain(|bucket| granted.lists(store, bucket.name.as_str(), &sent));
    })
    .await;
    // There may be others before or after a page without buckets, or with another prefix.
    let is_whole = continuation_token.is_none() && page.next.is_none() && prefix.is_none();
    if let Some(refusal) = granted.refusal().filter(|_| is_whole && page.buckets.is_empty()) {
        return Err(access::refused(sent, refusal));
    }
    let mut xml = XmlWriter::new("ListAllMyBucketsResult", 160 * page.buckets.len());
    xml.owner("Owner", &owner);
    xml.open("Buckets");
    let is_wanted = |region: &str| bucket_region.as_deref().is_none_or(|wanted| wanted == region);
    for bucket in page.buckets.iter().filter(|bucket| is_wanted(&bucket.region)) {
        xml.open("Bucket");
        xml.text("Name", bucket.name.as_str());
        xml.date("CreationDate", bucket.created_ms);
        if names_regions {
            xml.text("BucketRegion", &bucket.region);
        }
        xml.text("BucketArn", &arn(bucket.name.as_str()));
        xml.close("Bucket");
    }
    xml.close("Buckets");
    xml.optional_text("ContinuationToken", page.next.as_deref().map(token_after).as_deref());
    xml.optional_text("Prefix", prefix.as_deref());
    Ok(xml_response(xml.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_created_in_the_region_of_the_server() {
        let rows = [
            ("us-east-1", None, None),
            ("us-east-1", Some(""), None),
            ("us-east-1", Some("us-east-1"), Some("InvalidLocationConstraint")),
            ("us-east-1", Some("eu-west-1"), Some("IllegalLocationConstraintException")),
            ("us-east-1", Some("EU"), Some("IllegalLocationConstraintException")),
            ("us-east-1", Some("nowhere"), Some("InvalidLocationConstraint")),
            ("us-east-1", Some("a-1"), Some("InvalidLocationConstraint")),
            ("eu-west-1", None, Some("IllegalLocationConstraintException")),
            ("eu-west-1", Some("eu-west-1"), None),
            ("eu-west-1", Some("EU"), None),
            ("eu-west-1", Some("us-east-1"), Some("IllegalLocationConstraintException")),
            ("eu-west-1", Some("nowhere"), Some("IllegalLocationConstraintException")),
            ("home", Some("home"), None),
        ];
        for (region, constraint, expected) in rows {
            let configuration = constraint.map(|constraint| CreateBucketConfiguration {
                location_constraint: Some(constraint.to_owned().into()),
                ..CreateBucketConfiguration::default()
            });
            let checked = check_location(region, configuration.as_ref());
            let code = checked.err().map(|error| error.code().as_str().to_owned());
            assert_eq!(code.as_deref(), expected, "{region} {constraint:?}");
        }
    }
}
