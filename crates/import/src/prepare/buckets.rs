//! Prepares buckets, with their policies, versioning and object lock.

use std::sync::Arc;

use liteio_store::{Bucket, BucketName, DocumentKind, NewBucket, StoreError, Versioning};

use super::Site;
use super::policy::canned;
use crate::prepare::settings::InitialBucket;
use liteio_access::public_access_block;

/// Creates the missing buckets, with their anonymous access, versioning and object lock.
pub(super) fn make(site: &Site, buckets: &[InitialBucket]) -> Result<(), String> {
    make_missing(site, buckets.iter().map(InitialBucket::name))?;
    for wanted in buckets.iter().filter(|wanted| site.wants(wanted.name().as_str())) {
        let failed = |error| cannot_make(wanted.name(), &error);
        let bucket = site.store.bucket(wanted.name()).map_err(failed)?;
        if wanted.is_versioned() && bucket.versioning != Versioning::Enabled {
            site.store.set_versioning(&bucket, Versioning::Enabled).wait().map_err(failed)?;
            tracing::info!(bucket = %wanted.name(), "the bucket has versions from now on");
        }
        // One that has it may have a default retention, which stays.
        if wanted.is_locked() && !bucket.object_lock {
            site.store.set_object_lock(&bucket, None).wait().map_err(failed)?;
        }
        let policy = canned(wanted.access(), wanted.name().as_str());
        policy.map_or(Ok(()), |policy| open_up(site, &bucket, policy)).map_err(failed)?;
    }
    Ok(())
}

/// Creates buckets for the empty directories in the data directory.
pub(super) fn make_of_directories(site: &Site) -> Result<(), String> {
    let names = site.store.empty_directories();
    let names = names.map_err(|error| format!("cannot look for directories: {error}"))?;
    make_missing(site, names.iter())
}

/// `true` for a name that a bucket can have.
pub(super) fn is_name(name: &str) -> bool {
    BucketName::new(name).is_ok()
}

/// Finds the bucket, or creates it.
pub(super) fn find_or_make(site: &Site, name: &str) -> Result<Arc<Bucket>, String> {
    let name = BucketName::new(name).map_err(|error| error.to_string())?;
    make_missing(site, std::iter::once(&name))?;
    site.store.bucket(&name).map_err(|error| cannot_make(&name, &error))
}

/// Creates the missing buckets in one or a few commits.
fn make_missing<'n>(
    site: &Site,
    names: impl Iterator<Item = &'n BucketName>,
) -> Result<(), String> {
    let ownership = site.object_ownership.document();
    let documents: Vec<_> =
        ownership.into_iter().map(|it| (DocumentKind::OwnershipControls, it)).collect();
    let pending: Vec<_> = names
        .filter(|name| site.wants(name.as_str()))
        .filter(|name| matches!(site.store.bucket(name), Err(StoreError::NoSuchBucket { .. })))
        .map(|name| {
            let new = NewBucket::new(name.clone(), site.owner.clone(), site.region.clone());
            let new = NewBucket { documents: documents.clone(), ..new };
            (name, site.store.create_bucket(new))
        })
        .collect();
    for (name, pending) in pending {
        match pending.wait() {
            Ok(()) => tracing::info!(bucket = %name, "the bucket was made"),
            // The bucket was listed twice.
            Err(
                StoreError::BucketAlreadyOwnedByYou { .. } | StoreError::BucketAlreadyExists { .. },
            ) => {}
            Err(error) => return Err(cannot_make(name, &error)),
        }
    }
    Ok(())
}

/// Sets the policy of a bucket that has none.
fn open_up(site: &Site, bucket: &Arc<Bucket>, policy: String) -> Result<(), StoreError> {
    let name = &bucket.name;
    match bucket.settings.document(DocumentKind::Policy) {
        Some(kept) if kept == policy.as_bytes() => return Ok(()),
        Some(_) => {
            tracing::warn!(
                bucket = %name,
                "the bucket has a policy of its own, which stays: it is not made public"
            );
            return Ok(());
        }
        None => {}
    }
    if public_access_block(bucket)?.unwrap_or_default().block_public_policy {
        tracing::warn!(
            bucket = %name,
            "the public access block of the bucket prevents public policies: it is not made public"
        );
        return Ok(());
    }
    site.store.put_document(bucket, DocumentKind::Policy, policy.into_bytes()).wait()?;
    tracing::info!(bucket = %name, "the bucket has anonymous access from now on, as its option says");
    Ok(())
}

fn cannot_make(name: &BucketName, error: &StoreError) -> String {
    format!("cannot make the bucket {name}: {error}")
}
