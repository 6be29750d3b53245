//! QueryVectors.

use liteio_store::StoreError;
use liteio_store::limits::QUERY_TEXTS_MAX;
use liteio_store::vectors::{Hit, QueryPosition, QueryText, VectorQuery};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::error::ApiResult;
use super::fields::Fields;
use super::index::metric_name;
use super::query_body::QueryBody;
use super::vector_bucket::MODES;
use super::{Answer, Call, answer, document, filter, page_token};
use liteio_access::Action;

pub(super) fn query(call: &Call, _fields: Fields) -> Answer {
    let QueryBody { mut fields, vector } = QueryBody::parse(&call.body)?;
    call.note_sent(&fields);
    let top_k = fields.number("topK", 1..=u64::MAX)?;
    let top_k = fields.require("topK", top_k)?;
    let texts = fields.objects("queryTexts")?;
    if texts.as_ref().is_some_and(Vec::is_empty) {
        let range = 1..=QUERY_TEXTS_MAX as u64;
        return Err(StoreError::wrong_length("/queryTexts", 0, &range).into());
    }
    let texts = texts.unwrap_or_default().into_iter().map(query_text);
    let texts = texts.collect::<ApiResult<Vec<QueryText>>>()?;
    let written = fields.take("filter");
    let filter = written.as_ref().map(filter::parse).transpose()?;
    let mode = fields.choice("queryMode", &MODES)?;
    let with_distance = fields.boolean("returnDistance")?;
    let with_metadata = fields.boolean("returnMetadata")?;
    // Only text searches, and their fusion with the vector search, have scores.
    let with_scores = fields.boolean("returnScores")? && !texts.is_empty();
    let token = fields.string("nextToken")?;
    // A filter reveals metadata, so it needs the permission to read it.
    let reads = with_metadata || filter.is_some();
    let granted = call.index_for(&mut fields, reads.then_some(Action::GetVectors))?;
    let index = granted.target();
    if let Some(written) = &written {
        filter::check_keys(written, "/filter", &index.non_filterable)?;
    }
    let top_k = usize::try_from(top_k).unwrap_or(usize::MAX);
    let mut query = VectorQuery { vector, texts, top_k, filter, mode, ..VectorQuery::default() };
    // A token is valid for the same query only; the requested parts of the results may differ.
    let scope = |query: &VectorQuery| {
        format!("query {} {} {:x}", index.bucket, index.name, query.fingerprint())
    };
    query.after = token.map(|token| position(&scope(&query), &token)).transpose()?;
    query.with_metadata = with_metadata;
    query.with_scores = with_scores;
    let found = call.app.store.query_vectors(index, &query)?;
    let vector = |hit| Vector::new(hit, with_distance, with_scores);
    answer(&Found {
        vectors: found.hits.iter().map(vector).collect(),
        distance_metric: metric_name(index.metric),
        next_token: found.next.map(|next| page_token::after(&scope(&query), &next.to_string())),
    })
}

/// The position in a `nextToken`: the end of the page that it came with.
fn position(scope: &str, token: &str) -> ApiResult<QueryPosition> {
    Ok(page_token::name(scope, token)?.parse()?)
}

/// A page of results.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found<'page> {
    vectors: Vec<Vector<'page>>,
    distance_metric: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_token: Option<String>,
}

#[derive(Serialize)]
struct Vector<'page> {
    key: &'page str,
    #[serde(skip_serializing_if = "Option::is_none")]
    distance: Option<Distance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<Scores<'page>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Scores<'page> {
    #[serde(skip_serializing_if = "Option::is_none")]
    fused: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector_distance: Option<Distance>,
    #[serde(rename = "bm25Scores", skip_serializing_if = "Vec::is_empty")]
    texts: Vec<TextScore<'page>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TextScore<'page> {
    metadata_key: &'page str,
    score: f64,
}

/// A distance printed with the digits of an `f32`, unless it exceeds that range.
struct Distance(f64);

impl Serialize for Distance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let short = self.0 as f32;
        if f64::from(short) == self.0 {
            serializer.serialize_f32(short)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

impl<'page> Vector<'page> {
    fn new(hit: &'page Hit, with_distance: bool, with_scores: bool) -> Vector<'page> {
        let text_score = |(key, score): &'page (String, f64)| TextScore {
            metadata_key: key.as_str(),
            score: *score,
        };
        let scores = || Scores {
            fused: hit.fused,
            // In a query with texts, only hits of the vector search have a distance.
            vector_distance: hit.distance.map(Distance),
            texts: hit.text_scores.iter().map(text_score).collect(),
        };
        Vector {
            key: &hit.key,
            distance: hit.distance.filter(|_| with_distance).map(Distance),
            metadata: hit.metadata.as_ref().map(document::json),
            scores: with_scores.then(scores),
        }
    }
}

fn query_text(mut fields: Fields) -> ApiResult<QueryText> {
    let text = fields.string("text")?;
    let key = fields.string("metadataKey")?;
    let text = fields.require("text", text)?;
    let key = fields.require("metadataKey", key)?;
    Ok(QueryText { key, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_have_no_more_digits_than_they_were_computed_with() {
        for (distance, expected) in
            [(f64::from(0.3_f32), "0.3"), (0.0, "0.0"), (f64::from(f32::MAX) * 2.0, "6.80564")]
        {
            let json = serde_json::to_string(&Distance(distance)).expect("a number");
            assert!(json.starts_with(expected), "{json}");
            assert!(json.len() == expected.len() || distance > 1.0, "{json}");
        }
    }
}
