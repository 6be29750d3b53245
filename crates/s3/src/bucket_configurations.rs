//! The four kinds of bucket configurations with IDs: analytics, intelligent tiering, inventory and
//! request metrics. They are stored and returned; only inventories have an effect ([`bucket_inventory`]).
//!
//! All configurations of one kind are stored in one bucket document: a JSON object of XML documents
//! by ID.

use std::collections::BTreeMap;

use http::StatusCode;
use liteio_store::{DocumentKind, StoreError};
use s3s::dto::*;
use s3s::xml::{Deserialize, Serialize};
use s3s::{S3Error, S3Response, S3Result, s3_error};

use super::answer::no_content;
use super::bucket_inventory::{self, InventoryEncryption};
use super::bucket_settings::{from_xml, to_xml};
use super::limits::{CONFIGURATIONS_MAX, LIST_CONFIGURATIONS_MAX};
use super::{Req, Resp, encryption, error};
use liteio_access::Granted;
use liteio_access::state::App;

/// XML documents by ID.
type Documents = BTreeMap<String, String>;

fn read(document: Option<&[u8]>) -> Result<Documents, StoreError> {
    let documents = document.map_or(Ok(Documents::new()), serde_json::from_slice);
    documents.map_err(|error| StoreError::Corrupt { what: error.to_string() })
}

fn write(documents: &Documents) -> Option<Vec<u8>> {
    // Serializing a map of strings to JSON cannot fail.
    (!documents.is_empty()).then(|| serde_json::to_vec(documents).unwrap_or_default())
}

/// One configuration.
trait Configuration: Serialize {
    fn id(&self) -> &str;

    /// AWS's error for an ID that is not the one in the query.
    fn other_id() -> S3Error {
        s3_error!(
            MalformedXML,
            "The id in the query is not the Id of the configuration. Send the same in both."
        )
    }

    /// Checks the texts for which AWS knows a list.
    fn check(&self, app: &App) -> S3Result<()>;
}

impl Configuration for AnalyticsConfiguration {
    fn id(&self) -> &str {
        &self.id
    }

    fn check(&self, _app: &App) -> S3Result<()> {
        let Some(export) = &self.storage_class_analysis.data_export else { return Ok(()) };
        let target = &export.destination.s3_bucket_destination;
        one_of(export.output_schema_version.as_str(), &["V_1"])?;
        one_of(target.format.as_str(), &["CSV"])
    }
}

impl Configuration for IntelligentTieringConfiguration {
    fn id(&self) -> &str {
        &self.id
    }

    fn check(&self, _app: &App) -> S3Result<()> {
        one_of(self.status.as_str(), &["Enabled", "Disabled"])?;
        let tiers = ["ARCHIVE_ACCESS", "DEEP_ARCHIVE_ACCESS"];
        self.tierings.iter().try_for_each(|tiering| one_of(tiering.access_tier.as_str(), &tiers))
    }
}

impl Configuration for InventoryConfiguration {
    fn id(&self) -> &str {
        &self.id
    }

    fn other_id() -> S3Error {
        let message = "Document ID does not match the specified configuration ID.";
        error::custom("IdMismatch", StatusCode::BAD_REQUEST, message)
    }

    fn check(&self, app: &App) -> S3Result<()> {
        let inventory = bucket_inventory::read(self)?;
        match &inventory.encryption {
            Some(InventoryEncryption::Named(key)) => encryption::kms_key(app, key).map(drop),
            _ => Ok(()),
        }
    }
}

impl Configuration for MetricsConfiguration {
    fn id(&self) -> &str {
        &self.id
    }

    fn check(&self, _app: &App) -> S3Result<()> {
        Ok(())
    }
}

fn one_of(text: &str, known: &[&str]) -> S3Result<()> {
    match known.contains(&text) {
        true => Ok(()),
        false => Err(error::malformed_xml()),
    }
}

async fn put<C: Configuration>(
    app: &App,
    granted: &Granted,
    kind: DocumentKind,
    id: String,
    configuration: &C,
) -> S3Result<()> {
    if id != configuration.id() {
        return Err(C::other_id());
    }
    configuration.check(app)?;
    let xml = String::from_utf8(to_xml(configuration)?).map_err(S3Error::internal_error)?;
    let put = app.store.change_document(granted.bucket(), kind, move |document| {
        let mut documents = read(document)?;
        documents.insert(id.clone(), xml.clone());
        match documents.len() > CONFIGURATIONS_MAX {
            true => Err(StoreError::InvalidRequest {
                message: format!("A bucket has at most {CONFIGURATIONS_MAX} configurations"),
            }),
            false => Ok(write(&documents)),
        }
    });
    put.await.map_err(error::from_store)?;
    if kind == DocumentKind::Inventory {
        app.inventory_changed.notify_one();
    }
    Ok(())
}

fn get<T>(granted: &Granted, kind: DocumentKind, id: &str) -> S3Result<T>
where
    T: for<'xml> Deserialize<'xml>,
{
    let documents = read(granted.bucket().settings.document(kind)).map_err(error::from_store)?;
    from_xml(documents.get(id).ok_or_else(no_such_configuration)?.as_bytes())
}

async fn delete(app: &App, granted: &Granted, kind: DocumentKind, id: String) -> S3Result<()> {
    let has = read(granted.bucket().settings.document(kind)).map_err(error::from_store)?;
    if !has.contains_key(&id) {
        return Err(no_such_configuration());
    }
    let deleted = app.store.change_document(granted.bucket(), kind, move |document| {
        let mut documents = read(document)?;
        documents.remove(&id);
        Ok(write(&documents))
    });
    deleted.await.map_err(error::from_store)
}

/// A page of configurations and the continuation token: the last ID of the page.
fn list<T>(
    granted: &Granted,
    kind: DocumentKind,
    token: Option<&str>,
) -> S3Result<(Vec<T>, Option<String>)>
where
    T: for<'xml> Deserialize<'xml>,
{
    let documents = read(granted.bucket().settings.document(kind)).map_err(error::from_store)?;
    let behind = |(id, _): &(&String, &String)| token.is_none_or(|token| id.as_str() > token);
    let mut behind = documents.iter().filter(behind);
    let page: Vec<_> = behind.by_ref().take(LIST_CONFIGURATIONS_MAX).collect();
    let next = behind.next().and(page.last()).map(|(id, _)| (*id).clone());
    let parsed = page.into_iter().map(|(_, xml)| from_xml(xml.as_bytes())).collect::<S3Result<_>>();
    Ok((parsed?, next))
}

fn no_such_configuration() -> S3Error {
    error::custom(
        "NoSuchConfiguration",
        StatusCode::NOT_FOUND,
        "The specified configuration does not exist.",
    )
}

/// The four operations of one kind.
macro_rules! family {
    (
        $kind:ident, $field:ident, $list_field:ident,
        $put:ident($put_input:ident) -> $put_output:ident,
        $get:ident($get_input:ident) -> $get_output:ident,
        $delete:ident($delete_input:ident) -> $delete_output:ident,
        $list:ident($list_input:ident) -> $list_output:ident
    ) => {
        pub(super) async fn $put(
            app: &App,
            granted: Granted,
            request: Req<$put_input>,
        ) -> Resp<$put_output> {
            let $put_input { $field: sent, id, .. } = request.input;
            put(app, &granted, DocumentKind::$kind, id, &sent).await?;
            Ok(no_content($put_output::default()))
        }

        pub(super) async fn $get(
            _app: &App,
            granted: Granted,
            request: Req<$get_input>,
        ) -> Resp<$get_output> {
            let found = get(&granted, DocumentKind::$kind, &request.input.id)?;
            Ok(S3Response::new($get_output { $field: Some(found) }))
        }

        pub(super) async fn $delete(
            app: &App,
            granted: Granted,
            request: Req<$delete_input>,
        ) -> Resp<$delete_output> {
            delete(app, &granted, DocumentKind::$kind, request.input.id).await?;
            Ok(S3Response::new($delete_output::default()))
        }

        pub(super) async fn $list(
            _app: &App,
            granted: Granted,
            request: Req<$list_input>,
        ) -> Resp<$list_output> {
            let token = request.input.continuation_token;
            let (page, next) = list(&granted, DocumentKind::$kind, token.as_deref())?;
            Ok(S3Response::new($list_output {
                is_truncated: Some(next.is_some()),
                next_continuation_token: next,
                continuation_token: token,
                $list_field: Some(page),
            }))
        }
    };
}

family! {
    Analytics, analytics_configuration, analytics_configuration_list,
    put_bucket_analytics_configuration(PutBucketAnalyticsConfigurationInput)
        -> PutBucketAnalyticsConfigurationOutput,
    get_bucket_analytics_configuration(GetBucketAnalyticsConfigurationInput)
        -> GetBucketAnalyticsConfigurationOutput,
    delete_bucket_analytics_configuration(DeleteBucketAnalyticsConfigurationInput)
        -> DeleteBucketAnalyticsConfigurationOutput,
    list_bucket_analytics_configurations(ListBucketAnalyticsConfigurationsInput)
        -> ListBucketAnalyticsConfigurationsOutput
}

family! {
    IntelligentTiering, intelligent_tiering_configuration, intelligent_tiering_configuration_list,
    put_bucket_intelligent_tiering_configuration(PutBucketIntelligentTieringConfigurationInput)
        -> PutBucketIntelligentTieringConfigurationOutput,
    get_bucket_intelligent_tiering_configuration(GetBucketIntelligentTieringConfigurationInput)
        -> GetBucketIntelligentTieringConfigurationOutput,
    delete_bucket_intelligent_tiering_configuration(DeleteBucketIntelligentTieringConfigurationInput)
        -> DeleteBucketIntelligentTieringConfigurationOutput,
    list_bucket_intelligent_tiering_configurations(ListBucketIntelligentTieringConfigurationsInput)
        -> ListBucketIntelligentTieringConfigurationsOutput
}

family! {
    Inventory, inventory_configuration, inventory_configuration_list,
    put_bucket_inventory_configuration(PutBucketInventoryConfigurationInput)
        -> PutBucketInventoryConfigurationOutput,
    get_bucket_inventory_configuration(GetBucketInventoryConfigurationInput)
        -> GetBucketInventoryConfigurationOutput,
    delete_bucket_inventory_configuration(DeleteBucketInventoryConfigurationInput)
        -> DeleteBucketInventoryConfigurationOutput,
    list_bucket_inventory_configurations(ListBucketInventoryConfigurationsInput)
        -> ListBucketInventoryConfigurationsOutput
}

family! {
    Metrics, metrics_configuration, metrics_configuration_list,
    put_bucket_metrics_configuration(PutBucketMetricsConfigurationInput)
        -> PutBucketMetricsConfigurationOutput,
    get_bucket_metrics_configuration(GetBucketMetricsConfigurationInput)
        -> GetBucketMetricsConfigurationOutput,
    delete_bucket_metrics_configuration(DeleteBucketMetricsConfigurationInput)
        -> DeleteBucketMetricsConfigurationOutput,
    list_bucket_metrics_configurations(ListBucketMetricsConfigurationsInput)
        -> ListBucketMetricsConfigurationsOutput
}
