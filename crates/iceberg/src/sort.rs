//! Sort orders.

use serde_json::{Map, Value};

use crate::error::{Invalid, quoted, refuse};
use crate::json::Fields;
use crate::partition::sources;
use crate::schema::Schema;
use crate::transform::Transform;

/// The id of the order of unsorted tables.
pub(crate) const UNSORTED: i32 = 0;

/// A sort order.
#[derive(PartialEq, Eq)]
pub(crate) struct SortOrder {
    pub(crate) fields: Vec<SortField>,
}

/// A field of a sort order.
#[derive(PartialEq, Eq)]
pub(crate) struct SortField {
    /// The columns; one, except of transforms that this version does not know.
    pub(crate) sources: Vec<i32>,
    transform: Transform,
    is_descending: bool,
    puts_nulls_last: bool,
}

impl SortOrder {
    /// Checks an order by itself.
    pub(crate) fn parse(map: &Map<String, Value>) -> Result<SortOrder, Invalid> {
        let order = Fields::of_map(map, "sort order");
        order.optional_int("order-id")?;
        let mut parsed = Vec::new();
        for field in order.list("fields")? {
            let fields = Fields::of(field, "sort field")?;
            parsed.push(SortField {
                sources: sources(&fields)?,
                transform: Transform::parse(fields.text("transform")?)?,
                is_descending: one_of(&fields, "direction", ["asc", "desc"])?,
                puts_nulls_last: one_of(&fields, "null-order", ["nulls-first", "nulls-last"])?,
            });
        }
        Ok(SortOrder { fields: parsed })
    }

    /// Checks the fields against the schema.
    pub(crate) fn check(&self, schema: &Schema) -> Result<(), Invalid> {
        let mut fields = self.fields.iter();
        fields.try_for_each(|field| field.transform.check(&field.sources, schema, "sort field"))
    }

    /// Checks an order's id: 0 is the unsorted one.
    pub(crate) fn check_id(&self, id: i32) -> Result<(), Invalid> {
        match (self.fields.is_empty(), id == UNSORTED) {
            (true, false) => {
                Err(Invalid::new("sort order: order-id of an unsorted order must be 0"))
            }
            (false, true) => {
                Err(Invalid::new("sort order: order-id 0 is reserved for the unsorted order"))
            }
            _ => Ok(()),
        }
    }
}

/// `true` for the second of two texts, in any case.
fn one_of(fields: &Fields<'_>, name: &str, texts: [&str; 2]) -> Result<bool, Invalid> {
    let text = fields.text(name)?;
    match texts.iter().position(|it| it.eq_ignore_ascii_case(text)) {
        Some(at) => Ok(at == 1),
        None => {
            refuse!("sort field: {name} must be {} or {}, not {}", texts[0], texts[1], quoted(text))
        }
    }
}
