//! The bucket at a location.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{BackoffConfig, ClientOptions, RetryConfig};

use super::bucket::Bucket;
use super::http::Connections;
use crate::location::{BlobAccess, BucketLocation, Service};

/// The client of a service. Nothing is sent yet.
///
/// # Errors
/// One line that says what to change.
pub(super) fn bucket(
    location: &BucketLocation,
    access: &BlobAccess,
) -> Result<Arc<dyn Bucket>, String> {
    let connections = Connections::new(access.authorities())?;
    let refused = |error: object_store::Error| {
        let reason = error.to_string();
        let words: Vec<&str> = reason.split_whitespace().collect();
        format!(
            "the blob store {location} cannot be used with these credentials: {}",
            words.join(" ")
        )
    };
    let is_plain = location.endpoint.as_ref().is_some_and(|it| it.starts_with("http://"));
    let options = ClientOptions::new().with_allow_http(is_plain);
    match location.service {
        Service::S3 => {
            let mut builder = AmazonS3Builder::new()
                .with_bucket_name(&location.bucket)
                // One object a request: some services know no other deletion.
                .with_disable_bulk_delete(true);
            for (key, value) in given::<AmazonS3ConfigKey>(location.service, access)? {
                builder = builder.with_config(key, value);
            }
            if let Some(region) = &location.region {
                builder = builder.with_region(region);
            }
            if let Some(endpoint) = &location.endpoint {
                builder = builder.with_endpoint(endpoint);
            }
            check_keys(access, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")?;
            let builder = builder.with_client_options(options).with_retry(retry());
            Ok(Arc::new(builder.with_http_connector(connections).build().map_err(refused)?))
        }
        Service::Google => {
            let mut builder = GoogleCloudStorageBuilder::new().with_bucket_name(&location.bucket);
            for (key, value) in given::<GoogleConfigKey>(location.service, access)? {
                builder = builder.with_config(key, value);
            }
            if let Some(endpoint) = &location.endpoint {
                builder = builder.with_base_url(endpoint);
            }
            let builder = builder.with_client_options(options).with_retry(retry());
            Ok(Arc::new(builder.with_http_connector(connections).build().map_err(refused)?))
        }
        Service::Azure => {
            let mut builder = MicrosoftAzureBuilder::new().with_container_name(&location.bucket);
            for (key, value) in given::<AzureConfigKey>(location.service, access)? {
                builder = builder.with_config(key, value);
            }
            match &location.account {
                Some(account) => builder = builder.with_account(account),
                None if access.get("AZURE_STORAGE_ACCOUNT_NAME").is_some() => {}
                None => {
                    return Err(format!(
                        "{location} needs the name of its storage account: add ?account=NAME"
                    ));
                }
            }
            if let Some(endpoint) = &location.endpoint {
                builder = builder.with_endpoint(endpoint.clone());
            }
            let builder = builder.with_client_options(options).with_retry(retry());
            Ok(Arc::new(builder.with_http_connector(connections).build().map_err(refused)?))
        }
    }
}

/// Repeats of a request below those of this store, whose patience bounds both: listings repeat only here.
fn retry() -> RetryConfig {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(50),
        max_backoff: Duration::from_secs(2),
        base: 2.0,
    };
    RetryConfig { backoff, max_retries: 2, retry_timeout: Duration::from_secs(5) }
}

/// The variables that are given, under their names in the client.
fn given<K: FromStr>(service: Service, access: &BlobAccess) -> Result<Vec<(K, String)>, String> {
    let given = service.variables().iter().filter_map(|name| Some((*name, access.get(name)?)));
    let keyed = given.map(|(name, value)| {
        let key = name.to_lowercase().parse::<K>();
        key.map(|key| (key, value.to_owned())).map_err(|_| format!("{name} is not supported"))
    });
    keyed.collect()
}

fn check_keys(access: &BlobAccess, access_key: &str, secret_key: &str) -> Result<(), String> {
    match (access.get(access_key), access.get(secret_key)) {
        (Some(_), None) => {
            Err(format!("the blob store's access key has no secret key: give {secret_key}"))
        }
        (None, Some(_)) => {
            Err(format!("the blob store's secret key has no access key: give {access_key}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::BlobLocation;

    fn open(location: &str, file: &str) -> Result<Arc<dyn Bucket>, String> {
        let BlobLocation::Bucket(location) = BlobLocation::parse(location)? else {
            return Err("a directory".to_owned());
        };
        bucket(&location, &BlobAccess::from_file(file)?)
    }

    #[test]
    fn every_variable_is_known_to_its_client() {
        for service in [Service::S3, Service::Google, Service::Azure] {
            let all: String =
                service.variables().iter().map(|name| format!("{name}=value\n")).collect();
            let access = BlobAccess::from_file(&all).expect("known");
            let count = match service {
                Service::S3 => given::<AmazonS3ConfigKey>(service, &access).expect("known").len(),
                Service::Google => given::<GoogleConfigKey>(service, &access).expect("known").len(),
                Service::Azure => given::<AzureConfigKey>(service, &access).expect("known").len(),
            };
            assert_eq!(count, service.variables().len());
        }
    }

    #[test]
    fn clients_are_made_and_what_is_missing_is_told() {
        let keys = "AWS_ACCESS_KEY_ID=key\nAWS_SECRET_ACCESS_KEY=hush\n";
        open("s3://bucket/a?endpoint=http://127.0.0.1:1", keys).expect("made");
        // With the credentials of the machine.
        open("s3://bucket/a?region=eu-west-1", "").expect("made");
        open("az://container?account=name", "AZURE_STORAGE_ACCOUNT_KEY=aHVzaA==").expect("made");
        open(
            "az://container",
            "AZURE_STORAGE_ACCOUNT_NAME=name\nAZURE_STORAGE_ACCOUNT_KEY=aHVzaA==",
        )
        .expect("made");
        let no = |location, file, expected: &str| {
            let reason = open(location, file).map(drop).expect_err(expected);
            assert!(reason.contains(expected), "{reason}");
            assert!(!reason.contains("hush") && !reason.contains('\n'), "{reason}");
        };
        no("s3://bucket", "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY");
        no("s3://bucket", "AWS_SECRET_ACCESS_KEY=hush", "AWS_ACCESS_KEY_ID");
        no("az://container", "", "?account=NAME");
        no("gs://bucket", "GOOGLE_SERVICE_ACCOUNT=/missing/file", "credentials");
    }
}
