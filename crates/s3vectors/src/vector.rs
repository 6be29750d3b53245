//! Vectors: put, get, list, delete.

use liteio_store::limits::{LIST_SEGMENTS_MAX, LIST_VECTORS_MAX};
use liteio_store::vectors::{GetVectors, ListVectors, Segment, StoredVector};
use serde::Serialize;
use serde_json::Value;

use super::error::{ApiResult, Exception};
use super::fields::Fields;
use super::put_body::PutBody;
use super::{Answer, Call, answer, document, done, page_token};
use liteio_access::Action;

/// Default page size of ListVectors.
const LIST_VECTORS_DEFAULT: u64 = 500;

pub(super) fn put(call: &Call, _fields: Fields) -> Answer {
    let PutBody { mut fields, vectors } = PutBody::parse(&call.body)?;
    let granted = call.index(&mut fields)?;
    let index = granted.target();
    call.app.store.put_vectors(index, vectors)?;
    done()
}

pub(super) fn delete(call: &Call, mut fields: Fields) -> Answer {
    let keys = fields.strings("keys")?;
    let keys = fields.require("keys", keys)?;
    let granted = call.index(&mut fields)?;
    let index = granted.target();
    call.app.store.delete_vectors(index, keys)?;
    done()
}

pub(super) fn get(call: &Call, mut fields: Fields) -> Answer {
    let keys = fields.strings("keys")?;
    let query = GetVectors {
        keys: fields.require("keys", keys)?,
        with_elements: fields.boolean("returnData")?,
        with_metadata: fields.boolean("returnMetadata")?,
    };
    let granted = call.index(&mut fields)?;
    let index = granted.target();
    let vectors = call.app.store.get_vectors(index, &query)?;
    answer(&Vectors { vectors: vectors.into_iter().map(Vector::from).collect(), next_token: None })
}

pub(super) fn list(call: &Call, mut fields: Fields) -> Answer {
    let max = fields.number("maxResults", 1..=LIST_VECTORS_MAX as u64)?;
    let segment = segment(&mut fields)?;
    let with_elements = fields.boolean("returnData")?;
    let with_metadata = fields.boolean("returnMetadata")?;
    let token = fields.string("nextToken")?;
    let reads = with_elements || with_metadata;
    let granted = call.index_for(&mut fields, reads.then_some(Action::GetVectors))?;
    let index = granted.target();
    let scope = format!("vectors {} {} {segment:?}", index.bucket, index.name);
    let query = ListVectors {
        after: token.map(|token| page_token::name(&scope, &token)).transpose()?,
        segment,
        max: max.unwrap_or(LIST_VECTORS_DEFAULT) as usize,
        with_elements,
        with_metadata,
    };
    let page = call.app.store.list_vectors(index, &query)?;
    answer(&Vectors {
        vectors: page.vectors.into_iter().map(Vector::from).collect(),
        next_token: page.next.map(|next| page_token::after(&scope, &next)),
    })
}

fn segment(fields: &mut Fields) -> ApiResult<Segment> {
    let most = u64::from(LIST_SEGMENTS_MAX);
    let count = fields.number("segmentCount", 1..=most)?;
    let index = fields.number("segmentIndex", 0..=most - 1)?;
    match (index, count) {
        (None, None) => Ok(Segment::WHOLE),
        (Some(index), Some(count)) => Ok(Segment::new(index as u32, count as u32)?),
        _ => Err(Exception::invalid("Specify segmentCount and segmentIndex, or neither.")),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Vectors {
    vectors: Vec<Vector>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_token: Option<String>,
}

#[derive(Serialize)]
struct Vector {
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Data>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
}

#[derive(Serialize)]
struct Data {
    float32: Vec<f32>,
}

impl From<StoredVector> for Vector {
    fn from(vector: StoredVector) -> Vector {
        Vector {
            key: vector.key,
            data: vector.elements.map(|float32| Data { float32 }),
            metadata: vector.metadata.as_ref().map(document::json),
        }
    }
}
