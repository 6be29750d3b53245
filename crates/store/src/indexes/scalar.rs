//! Canonical encoding of values: the bytes are the same exactly when the values are equal.

use super::filter::Condition;
use crate::meta::vector_metadata::Number;

pub(super) use crate::meta::vector_metadata::Scalar;

// Kinds, the first byte of an encoding.
const FALSE: u8 = 0;
const TRUE: u8 = 1;
const STRING: u8 = 2;
/// A whole number that fits into 8 bytes.
const SHORT: u8 = 3;
/// Any other whole number, in 16 bytes.
const LONG: u8 = 4;
const FLOAT: u8 = 5;

/// 2¹²⁷, the end of whole numbers.
const WHOLE_END: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;

/// Appends the encoding of `scalar`.
pub(super) fn encode(scalar: &Scalar, bytes: &mut Vec<u8>) {
    match scalar {
        Scalar::Boolean(value) => bytes.push(if *value { TRUE } else { FALSE }),
        Scalar::String(text) => {
            bytes.push(STRING);
            bytes.extend_from_slice(text.as_bytes());
        }
        Scalar::Number(Number::Integer(whole)) => encode_whole(*whole, bytes),
        // 2.0 equals 2, and −0.0 equals 0, so they have the same bytes.
        Scalar::Number(Number::Float(float))
            if float.fract() == 0.0 && (-WHOLE_END..WHOLE_END).contains(float) =>
        {
            encode_whole(*float as i128, bytes);
        }
        Scalar::Number(Number::Float(float)) => {
            bytes.push(FLOAT);
            bytes.extend_from_slice(&float.to_le_bytes());
        }
    }
}

fn encode_whole(whole: i128, bytes: &mut Vec<u8>) {
    // The shortest kind that fits is the only one allowed, so that equal numbers have equal bytes.
    match i64::try_from(whole) {
        Ok(short) => {
            bytes.push(SHORT);
            bytes.extend_from_slice(&short.to_le_bytes());
        }
        Err(_) => {
            bytes.push(LONG);
            bytes.extend_from_slice(&whole.to_le_bytes());
        }
    }
}

/// `true` if an encoded value meets a comparison or begins with a prefix.
#[inline]
pub(super) fn meets(value: &[u8], condition: &Condition) -> bool {
    match (condition, value.split_first()) {
        (Condition::Number(relation, number), Some((kind, rest))) => {
            decode_number(*kind, rest).is_some_and(|found| relation.holds(found.compare(*number)))
        }
        (Condition::StartsWith(prefix), Some((&STRING, text))) => {
            text.starts_with(prefix.as_bytes())
        }
        _ => false,
    }
}

#[inline]
fn decode_number(kind: u8, bytes: &[u8]) -> Option<Number> {
    match kind {
        SHORT => Some(Number::Integer(i64::from_le_bytes(*bytes.first_chunk()?).into())),
        LONG => Some(Number::Integer(i128::from_le_bytes(*bytes.first_chunk()?))),
        FLOAT => Some(Number::Float(f64::from_le_bytes(*bytes.first_chunk()?))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indexes::filter::Relation;

    #[test]
    fn encodings_are_equal_when_values_are_and_numbers_keep_their_order() {
        let text = |text: &str| Scalar::String(text.to_owned());
        let whole = |number| Scalar::Number(Number::Integer(number));
        let float = |number| Scalar::Number(Number::Float(number));
        let values = [
            text(""),
            text("2"),
            text("true"),
            Scalar::Boolean(true),
            Scalar::Boolean(false),
            whole(0),
            whole(2),
            whole(i64::MAX.into()),
            whole(i128::from(i64::MAX) + 1),
            whole(i128::from(i64::MIN)),
            whole(i128::MAX),
            whole(i128::MIN),
            float(-0.0),
            float(0.0),
            float(2.0),
            float(2.5),
            float(9_223_372_036_854_775_808.0),
            float(1e300),
            float(-1e300),
            float(WHOLE_END),
            float(-WHOLE_END),
        ];
        let encoded = |scalar: &Scalar| {
            let mut bytes = Vec::new();
            encode(scalar, &mut bytes);
            bytes
        };
        for left in &values {
            for right in &values {
                let are_equal = encoded(left) == encoded(right);
                assert_eq!(are_equal, left.equals(right), "{left:?}, {right:?}");
                let Scalar::Number(number) = right else { continue };
                for relation in [
                    Relation::Less,
                    Relation::LessOrEqual,
                    Relation::Greater,
                    Relation::GreaterOrEqual,
                ] {
                    let condition = Condition::Number(relation, *number);
                    let value = crate::meta::vector_metadata::MetadataValue::Scalar(left.clone());
                    let expected = condition.matches(Some(&value));
                    assert_eq!(meets(&encoded(left), &condition), expected, "{left:?}, {right:?}");
                }
            }
        }
    }
}
