//! Transforms of partition specs and sort orders.

use std::fmt;

use crate::error::{Invalid, quoted, refuse};
use crate::schema::{Primitive, Schema, Type};

/// A transform of a column's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Transform {
    Identity,
    Bucket(u32),
    Truncate(u32),
    Year,
    Month,
    Day,
    Hour,
    Void,
    /// One that this version does not know. Readers ignore it, so it is legal.
    Unknown(String),
}

impl Transform {
    /// The transform with a name, in any case.
    pub(crate) fn parse(text: &str) -> Result<Transform, Invalid> {
        let lower = text.to_ascii_lowercase();
        Ok(match lower.as_str() {
            "identity" => Transform::Identity,
            "year" => Transform::Year,
            "month" => Transform::Month,
            "day" => Transform::Day,
            "hour" => Transform::Hour,
            "void" => Transform::Void,
            _ => {
                let width = |name: &str| {
                    lower.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
                };
                match (width("bucket"), width("truncate")) {
                    (Some(0), _) | (_, Some(0)) => {
                        refuse!("the width of a transform must be positive: {}", quoted(text))
                    }
                    (Some(buckets), _) => Transform::Bucket(buckets),
                    (_, Some(width)) => Transform::Truncate(width),
                    (None, None) => Transform::Unknown(text.to_owned()),
                }
            }
        })
    }

    fn accepts(&self, primitive: &Primitive) -> bool {
        use Primitive as P;
        match self {
            Transform::Identity => !matches!(primitive, P::Geometry(_) | P::Geography(_)),
            Transform::Bucket(_) => {
                primitive.has_days()
                    || matches!(
                        primitive,
                        P::Int | P::Long | P::Time | P::String | P::Binary | P::Fixed(_) | P::Uuid
                    )
                    || matches!(primitive, P::Decimal { .. })
            }
            Transform::Truncate(_) => {
                matches!(primitive, P::Int | P::Long | P::String | P::Binary | P::Decimal { .. })
            }
            Transform::Year | Transform::Month | Transform::Day => primitive.has_days(),
            Transform::Hour => primitive.has_hours(),
            Transform::Void | Transform::Unknown(_) => true,
        }
    }

    /// Checks that the columns exist and have a type that the transform accepts. `of` is the field of a spec or order.
    pub(crate) fn check(&self, sources: &[i32], schema: &Schema, of: &str) -> Result<(), Invalid> {
        for id in sources {
            let Some(column) = schema.column(*id) else {
                refuse!("{of}: the schema has no column {id}");
            };
            let name = quoted(&column.name);
            match &column.kind {
                Type::Primitive(Primitive::Variant) | Type::Struct | Type::List | Type::Map => {
                    refuse!("{of}: the column {name} must have a primitive type");
                }
                Type::Primitive(primitive) if !self.accepts(primitive) => {
                    refuse!(
                        "{of}: the transform {self} does not accept the type {primitive} of {name}"
                    );
                }
                Type::Primitive(_) => {}
            }
        }
        Ok(())
    }
}

/// The spelling of the specification.
impl fmt::Display for Transform {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Transform::Identity => "identity",
            Transform::Bucket(buckets) => return write!(formatter, "bucket[{buckets}]"),
            Transform::Truncate(width) => return write!(formatter, "truncate[{width}]"),
            Transform::Year => "year",
            Transform::Month => "month",
            Transform::Day => "day",
            Transform::Hour => "hour",
            Transform::Void => "void",
            Transform::Unknown(name) => name,
        })
    }
}
