//! Indexes: create, get, list, delete, their index mode and metadata configuration.

use liteio_store::StoreError;
use liteio_store::limits::{CONFIGURED_KEYS_MAX, DIMENSION_MAX, LIST_INDEXES_MAX};
use liteio_store::vectors::{
    CreateIndex, DistanceMetric, Index, Language, ListIndexes, TextSearch, VectorName,
};
use serde_json::{Value, json};

use super::context::Asked;
use super::error::{ApiResult, Exception};
use super::fields::Fields;
use super::vector_bucket::{MODES, encryption, encryption_json, mode_name, prefix};
use super::{Answer, Call, answer, done, page_token, seconds, tags};

const METRICS: [(&str, DistanceMetric); 2] =
    [("euclidean", DistanceMetric::Euclidean), ("cosine", DistanceMetric::Cosine)];

const LANGUAGES: [(&str, Language); 10] = [
    ("en", Language::English),
    ("fr", Language::French),
    ("es", Language::Spanish),
    ("pt", Language::Portuguese),
    ("it", Language::Italian),
    ("de", Language::German),
    ("nl", Language::Dutch),
    ("zh", Language::Chinese),
    ("ja", Language::Japanese),
    ("ko", Language::Korean),
];

pub(super) fn metric_name(metric: DistanceMetric) -> &'static str {
    METRICS.iter().find(|(_, other)| *other == metric).map_or("", |(name, _)| name)
}

pub(super) fn create(call: &Call, mut fields: Fields) -> Answer {
    let name = fields.string("indexName")?;
    let name = VectorName::index(fields.require("indexName", name)?)?;
    let data_type = fields.choice("dataType", &[("float32", ())])?;
    fields.require("dataType", data_type)?;
    let dimension = fields.number("dimension", 1..=u64::from(DIMENSION_MAX))?;
    let dimension = fields.require("dimension", dimension)?;
    let metric = fields.choice("distanceMetric", &METRICS)?;
    let metric = fields.require("distanceMetric", metric)?;
    let mut options = CreateIndex::new(dimension as u32, metric);
    if let Some(mut metadata) = fields.object("metadataConfiguration")? {
        let keys = metadata.strings("nonFilterableMetadataKeys")?;
        options.non_filterable = keys.unwrap_or_default();
        options.text_search = text_search(&mut metadata)?;
    }
    options.encryption = encryption(&mut fields)?;
    options.tags = tags::take(&mut fields)?.unwrap_or_default();
    let encryption = options.encryption.as_ref();
    let asked = Asked { encryption, ..Asked::with_tags(&call.sent, &options.tags) };
    let granted = call.bucket_of_new_index(&mut fields, &name, &asked)?;
    let bucket = granted.target();
    let index = call.app.store.create_index(bucket, name, options).wait()?;
    answer(&json!({ "indexArn": bucket.index_arn(&index.name) }))
}

pub(super) fn get(call: &Call, mut fields: Fields) -> Answer {
    let granted = call.index(&mut fields)?;
    let index = granted.target();
    let mut output = summary(index, &index.arn);
    output["dataType"] = "float32".into();
    output["dimension"] = index.dimension.into();
    output["distanceMetric"] = metric_name(index.metric).into();
    output["encryptionConfiguration"] = encryption_json(index.encryption.as_ref());
    output["indexMode"] = mode_name(index.mode).into();
    let mut metadata = json!({});
    if !index.non_filterable.is_empty() {
        metadata["nonFilterableMetadataKeys"] = index.non_filterable.clone().into();
    }
    if !index.text_search.is_empty() {
        metadata["textSearchConfigurations"] =
            index.text_search.iter().map(text_search_json).collect();
    }
    if metadata != json!({}) {
        output["metadataConfiguration"] = metadata;
    }
    answer(&json!({ "index": output }))
}

pub(super) fn list(call: &Call, mut fields: Fields) -> Answer {
    let max = fields.number("maxResults", 1..=LIST_INDEXES_MAX as u64)?;
    let prefix = prefix(&mut fields)?;
    let token = fields.string("nextToken")?;
    let granted = call.bucket(&mut fields)?;
    let bucket = granted.target();
    let scope = format!("indexes {} {prefix}", bucket.name);
    let query = ListIndexes {
        after: token.map(|token| page_token::name(&scope, &token)).transpose()?,
        prefix,
        max: max.map_or(LIST_INDEXES_MAX, |max| max as usize),
    };
    let page = call.app.store.list_indexes(bucket, &query)?;
    let summary = |index: &Index| summary(index, &bucket.index_arn(&index.name));
    let indexes: Vec<Value> = page.indexes.iter().map(summary).collect();
    let mut output = json!({ "indexes": indexes });
    if let Some(next) = page.next {
        output["nextToken"] = page_token::after(&scope, &next).into();
    }
    answer(&output)
}

pub(super) fn delete(call: &Call, mut fields: Fields) -> Answer {
    let granted = call.index(&mut fields)?;
    let index = granted.target();
    call.app.store.delete_index(index).wait()?;
    done()
}

pub(super) fn update_mode(call: &Call, mut fields: Fields) -> Answer {
    let mode = fields.choice("indexMode", &MODES)?;
    let mode = fields.require("indexMode", mode)?;
    let granted = call.index(&mut fields)?;
    let index = granted.target();
    call.app.store.set_index_mode(index, mode).wait()?;
    done()
}

pub(super) fn update_metadata_configuration(call: &Call, mut fields: Fields) -> Answer {
    let add = fields.object("add")?;
    let delete = fields.object("delete")?;
    let granted = call.index(&mut fields)?;
    let index = granted.target();
    match (add, delete) {
        (Some(mut add), None) => {
            let added = text_search(&mut add)?;
            call.app.store.add_text_search(index, added).wait()?;
        }
        (None, Some(mut delete)) => {
            let keys = delete.objects("textSearchConfigurations")?.unwrap_or_default();
            if !(1..=CONFIGURED_KEYS_MAX).contains(&keys.len()) {
                let range = 1..=CONFIGURED_KEYS_MAX as u64;
                let path = "/delete/textSearchConfigurations";
                return Err(StoreError::wrong_length(path, keys.len(), &range).into());
            }
            let keys = keys.into_iter().map(|mut fields| metadata_key(&mut fields));
            let keys = keys.collect::<ApiResult<Vec<String>>>()?;
            call.app.store.remove_text_search(index, keys).wait()?;
        }
        _ => return Err(Exception::invalid("Specify either add or delete.")),
    }
    answer(&json!({ "indexArn": index.arn }))
}

fn metadata_key(fields: &mut Fields) -> ApiResult<String> {
    let key = fields.string("metadataKey")?;
    fields.require("metadataKey", key)
}

fn text_search(fields: &mut Fields) -> ApiResult<Vec<TextSearch>> {
    let configurations = fields.objects("textSearchConfigurations")?.unwrap_or_default();
    let parse = |mut fields: Fields| {
        let key = metadata_key(&mut fields)?;
        let language = fields.choice("language", &LANGUAGES)?;
        Ok(TextSearch { key, language })
    };
    configurations.into_iter().map(parse).collect()
}

fn text_search_json(search: &TextSearch) -> Value {
    // Text search works from the first put on, for any number of texts, so the status is always
    // ACTIVE.
    let mut output = json!({ "metadataKey": search.key, "status": "ACTIVE" });
    if let Some(language) = search.language {
        let name = LANGUAGES.iter().find(|(_, other)| *other == language).map(|(name, _)| *name);
        output["language"] = name.into();
    }
    output
}

fn summary(index: &Index, arn: &str) -> Value {
    json!({
        "vectorBucketName": index.bucket.as_str(),
        "indexName": index.name.as_str(),
        "indexArn": arn,
        "creationTime": seconds(index.created_ms),
    })
}
