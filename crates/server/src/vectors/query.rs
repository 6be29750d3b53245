//! QueryVectors.

use liteio_store::limits::{DIMENSION_MAX, TOP_K_MAX};
use liteio_store::vectors::VectorQuery;
use serde_json::{Value, json};

use super::error::{ApiError, ApiResult};
use super::fields::Fields;
use super::index::metric_name;
use super::{Answer, Call, answer, document};

pub(super) fn query(call: &Call, mut fields: Fields) -> Answer {
    let top_k = fields.number("topK", 1..=TOP_K_MAX as u64)?;
    let top_k = fields.require("topK", top_k)?;
    let vector = query_vector(&mut fields)?;
    let with_distance = fields.boolean("returnDistance")?;
    let with_metadata = fields.boolean("returnMetadata")?;
    let index = call.index(&mut fields)?;
    let query = VectorQuery { vector, top_k: top_k as usize, with_metadata };
    let found = call.app.store.query_vectors(&index, &query)?;
    let hits = found.hits.into_iter().map(|hit| {
        let mut output = json!({ "key": hit.key });
        if with_distance && let Some(distance) = hit.distance {
            output["distance"] = distance.into();
        }
        if let Some(metadata) = &hit.metadata {
            output["metadata"] = document::json(metadata);
        }
        output
    });
    let hits: Vec<Value> = hits.collect();
    answer(&json!({ "vectors": hits, "distanceMetric": metric_name(index.metric) }))
}

fn query_vector(fields: &mut Fields) -> ApiResult<Option<Vec<f32>>> {
    let Some(mut vector) = fields.object("queryVector")? else { return Ok(None) };
    let elements = vector.list("float32")?;
    let elements = vector.require("float32", elements)?;
    if elements.len() > DIMENSION_MAX as usize {
        let message = format!("a vector has at most {DIMENSION_MAX} elements");
        return Err(ApiError::field(vector.path("float32"), message));
    }
    let number = |(position, value): (usize, Value)| match value.as_f64() {
        Some(number) => Ok(number as f32),
        None => {
            let path = vector.path(&format!("float32[{position}]"));
            Err(ApiError::field(path, "it is not a number"))
        }
    };
    elements.into_iter().enumerate().map(number).collect::<ApiResult<_>>().map(Some)
}
