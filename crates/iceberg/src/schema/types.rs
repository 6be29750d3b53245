//! Types of columns.

use std::fmt;

use crate::error::{Invalid, quoted, refuse};

/// Digits of a decimal.
const PRECISION_MAX: u32 = 38;

/// A type without fields of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Primitive {
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Decimal {
        precision: u32,
        scale: u32,
    },
    Date,
    Time,
    Timestamp,
    Timestamptz,
    TimestampNs,
    TimestamptzNs,
    String,
    Uuid,
    Fixed(u32),
    Binary,
    Unknown,
    Variant,
    /// With its parameter, as it was written.
    Geometry(String),
    /// With its parameters, as they were written.
    Geography(String),
}

impl Primitive {
    /// The type with a name, in any case.
    pub(crate) fn parse(text: &str) -> Result<Primitive, Invalid> {
        let lower = text.to_ascii_lowercase();
        let simple = match lower.as_str() {
            "boolean" => Primitive::Boolean,
            "int" => Primitive::Int,
            "long" => Primitive::Long,
            "float" => Primitive::Float,
            "double" => Primitive::Double,
            "date" => Primitive::Date,
            "time" => Primitive::Time,
            "timestamp" => Primitive::Timestamp,
            "timestamptz" => Primitive::Timestamptz,
            "timestamp_ns" => Primitive::TimestampNs,
            "timestamptz_ns" => Primitive::TimestamptzNs,
            "string" => Primitive::String,
            "uuid" => Primitive::Uuid,
            "binary" => Primitive::Binary,
            "unknown" => Primitive::Unknown,
            "variant" => Primitive::Variant,
            _ => return Primitive::with_parameters(text, &lower),
        };
        Ok(simple)
    }

    fn with_parameters(text: &str, lower: &str) -> Result<Primitive, Invalid> {
        if let Some(bytes) = between(lower, "fixed", '[', ']')
            && let Ok(bytes) = bytes.parse()
        {
            return Ok(Primitive::Fixed(bytes));
        }
        if let Some(numbers) = between(lower, "decimal", '(', ')')
            && let Some((precision, scale)) = numbers.split_once(',')
            && let (Ok(precision), Ok(scale)) = (precision.trim().parse(), scale.trim().parse())
        {
            if precision == 0 || precision > PRECISION_MAX || scale > precision {
                refuse!(
                    "a decimal has 1 to {PRECISION_MAX} digits, and a scale up to them: {}",
                    quoted(text)
                );
            }
            return Ok(Primitive::Decimal { precision, scale });
        }
        for (name, make) in [
            ("geometry", Primitive::Geometry as fn(String) -> Primitive),
            ("geography", Primitive::Geography),
        ] {
            if lower == name {
                return Ok(make(String::new()));
            }
            if between(lower, name, '(', ')').is_some() {
                // The parameters keep their case.
                let parameters = between(&text[name.len()..], "", '(', ')').unwrap_or_default();
                return Ok(make(parameters.to_owned()));
            }
        }
        Err(Invalid::new(format!("unknown type: {}", quoted(text))))
    }

    /// The first format version with the type.
    pub(crate) fn format_version(&self) -> i32 {
        match self {
            Primitive::TimestampNs
            | Primitive::TimestamptzNs
            | Primitive::Unknown
            | Primitive::Variant
            | Primitive::Geometry(_)
            | Primitive::Geography(_) => 3,
            _ => 1,
        }
    }

    /// `true` for dates and timestamps.
    pub(crate) fn has_days(&self) -> bool {
        *self == Primitive::Date || self.has_hours()
    }

    /// `true` for timestamps.
    pub(crate) fn has_hours(&self) -> bool {
        matches!(
            self,
            Primitive::Timestamp
                | Primitive::Timestamptz
                | Primitive::TimestampNs
                | Primitive::TimestamptzNs
        )
    }
}

/// The parameters of `NAME ( … )`, trimmed.
fn between<'t>(text: &'t str, name: &str, open: char, close: char) -> Option<&'t str> {
    let rest = text.strip_prefix(name)?.trim_start().strip_prefix(open)?;
    let inner = rest.strip_suffix(close)?;
    (!inner.contains([open, close])).then(|| inner.trim())
}

/// The spelling of the specification.
impl fmt::Display for Primitive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Primitive::Boolean => "boolean",
            Primitive::Int => "int",
            Primitive::Long => "long",
            Primitive::Float => "float",
            Primitive::Double => "double",
            Primitive::Decimal { precision, scale } => {
                return write!(formatter, "decimal({precision}, {scale})");
            }
            Primitive::Date => "date",
            Primitive::Time => "time",
            Primitive::Timestamp => "timestamp",
            Primitive::Timestamptz => "timestamptz",
            Primitive::TimestampNs => "timestamp_ns",
            Primitive::TimestamptzNs => "timestamptz_ns",
            Primitive::String => "string",
            Primitive::Uuid => "uuid",
            Primitive::Fixed(bytes) => return write!(formatter, "fixed[{bytes}]"),
            Primitive::Binary => "binary",
            Primitive::Unknown => "unknown",
            Primitive::Variant => "variant",
            Primitive::Geometry(parameters) if parameters.is_empty() => "geometry",
            Primitive::Geometry(parameters) => return write!(formatter, "geometry({parameters})"),
            Primitive::Geography(parameters) if parameters.is_empty() => "geography",
            Primitive::Geography(parameters) => {
                return write!(formatter, "geography({parameters})");
            }
        };
        formatter.write_str(name)
    }
}
