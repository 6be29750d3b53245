//! QueryVectors.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use liteio_store::limits::{TOP_K_MAX, VECTOR_PAGE_BYTES_MAX};
use liteio_store::vectors::{Hit, Metadata, QueryText, VectorQuery};
use serde_json::{Value, json};

use super::error::{ApiError, ApiResult};
use super::fields::Fields;
use super::index::metric_name;
use super::query_body::QueryBody;
use super::vector_bucket::MODES;
use super::{Answer, Call, answer, document, filter, page_token};

pub(super) fn query(call: &Call, _fields: Fields) -> Answer {
    let QueryBody { mut fields, vector } = QueryBody::parse(&call.body)?;
    let top_k = fields.number("topK", 1..=TOP_K_MAX as u64)?;
    let top_k = fields.require("topK", top_k)?;
    let texts = fields.objects("queryTexts")?;
    if texts.as_ref().is_some_and(Vec::is_empty) {
        return Err(ApiError::field("queryTexts", "it is empty"));
    }
    let texts = texts.unwrap_or_default().into_iter().map(query_text);
    let texts = texts.collect::<ApiResult<Vec<QueryText>>>()?;
    let filter = fields.take("filter").map(|value| filter::parse(&value)).transpose()?;
    let mode = fields.choice("queryMode", &MODES)?;
    let with_distance = fields.boolean("returnDistance")?;
    let with_metadata = fields.boolean("returnMetadata")?;
    // Scores are those of texts, and of their fusion with the vector.
    let with_scores = fields.boolean("returnScores")? && !texts.is_empty();
    let token = fields.string("nextToken")?;
    let index = call.index(&mut fields)?;
    let top_k = top_k as usize;
    let query = VectorQuery { vector, texts, top_k, filter, mode, with_metadata };
    // A token continues the same query only.
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(format!("{query:?}"));
    let scope = format!("query {} {} {hash:x}", index.bucket, index.name);
    let start = token.map(|token| first_of(&scope, &token)).transpose()?.unwrap_or(0);
    let found = call.app.store.query_vectors(&index, &query)?;
    let mut bytes = 0;
    let mut hits = Vec::new();
    let mut next = None;
    for (place, hit) in found.hits.iter().enumerate().skip(start) {
        if bytes >= VECTOR_PAGE_BYTES_MAX {
            next = Some(page_token::after(&scope, &place.to_string()));
            break;
        }
        bytes += hit.key.len() + hit.metadata.as_ref().map_or(0, Metadata::bytes);
        hits.push(hit_json(hit, with_distance, with_scores));
    }
    let mut output = json!({ "vectors": hits, "distanceMetric": metric_name(index.metric) });
    if let Some(next) = next {
        output["nextToken"] = next.into();
    }
    answer(&output)
}

/// The first place of the page that a token asks for.
fn first_of(scope: &str, token: &str) -> ApiResult<usize> {
    let place = page_token::name(scope, token)?;
    place.parse().map_err(|_| ApiError::field("nextToken", "it is no token of this listing"))
}

fn hit_json(hit: &Hit, with_distance: bool, with_scores: bool) -> Value {
    let mut output = json!({ "key": hit.key });
    if with_distance && let Some(distance) = hit.distance {
        output["distance"] = distance.into();
    }
    if let Some(metadata) = &hit.metadata {
        output["metadata"] = document::json(metadata);
    }
    if with_scores {
        let mut scores = json!({});
        if let Some(fused) = hit.fused {
            scores["fused"] = fused.into();
            if let Some(distance) = hit.distance {
                scores["vectorDistance"] = distance.into();
            }
        }
        let texts = hit.text_scores.iter();
        let texts: Vec<Value> =
            texts.map(|(key, score)| json!({ "metadataKey": key, "score": score })).collect();
        if !texts.is_empty() {
            scores["bm25Scores"] = texts.into();
        }
        output["scores"] = scores;
    }
    output
}

fn query_text(mut fields: Fields) -> ApiResult<QueryText> {
    let text = fields.string("text")?;
    let key = fields.string("metadataKey")?;
    let text = fields.require("text", text)?;
    let key = fields.require("metadataKey", key)?;
    Ok(QueryText { key, text })
}
