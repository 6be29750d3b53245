//! The conditions of a statement.
//!
//! A condition compares the request's values for a key with operands. One of the operands must
//! match, or none with a negated operator. A request without the key satisfies negated operators
//! and `…IfExists`, and no others (AWS, "Evaluation logic for multiple context keys or values" and
//! "…IfExists condition operators").

use std::cmp::Ordering;

use jiff::Timestamp;

use super::error::{PolicyError, Stage};
use super::key::ContextKey;
use super::operand::{AddressRange, ArnPattern, address, number, time};
use super::pattern::Case;
use super::request::{Request, Value};
use super::template::{Syntax, Template};

/// One operator applied to one key.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) key: ContextKey,
    quantifier: Quantifier,
    if_exists: bool,
    negated: bool,
    operands: Operands,
}

/// The number of request values that must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantifier {
    /// The single value.
    One,
    /// `ForAnyValue:` at least one value.
    Any,
    /// `ForAllValues:` every value; holds if there are none.
    All,
}

#[derive(Debug)]
enum Operands {
    Text(Box<[Template]>),
    /// Booleans and binary values, compared as texts.
    Coded(Box<[Template]>),
    Arn(Box<[ArnPattern]>),
    Number(Comparison, Box<[f64]>),
    Time(Comparison, Box<[Timestamp]>),
    Address(Box<[AddressRange]>),
    /// `true`: the key must be missing; `false`: it must be present.
    Null(Box<[bool]>),
}

/// The order that a value must have relative to an operand.
#[derive(Clone, Copy, Debug)]
enum Comparison {
    Equals,
    LessThan,
    LessThanEquals,
    GreaterThan,
    GreaterThanEquals,
}

/// An operator without its `ForAnyValue:`, `ForAllValues:` or `IfExists`.
#[derive(Clone, Copy, Debug)]
enum Operator {
    Text { wildcards: bool, case: Case },
    Arn,
    Bool,
    Binary,
    Number(Comparison),
    Time(Comparison),
    Address,
    Null,
}

/// The operator of this name, and `true` if it is negated.
fn operator(name: &str) -> Option<(Operator, bool)> {
    use Comparison::{Equals, GreaterThan, GreaterThanEquals, LessThan, LessThanEquals};
    let text = |wildcards, case| Operator::Text { wildcards, case };
    Some(match name {
        "StringEquals" => (text(false, Case::Differs), false),
        "StringNotEquals" => (text(false, Case::Differs), true),
        "StringEqualsIgnoreCase" => (text(false, Case::Ignored), false),
        "StringNotEqualsIgnoreCase" => (text(false, Case::Ignored), true),
        "StringLike" => (text(true, Case::Differs), false),
        "StringNotLike" => (text(true, Case::Differs), true),
        "ArnEquals" | "ArnLike" => (Operator::Arn, false),
        "ArnNotEquals" | "ArnNotLike" => (Operator::Arn, true),
        "Bool" => (Operator::Bool, false),
        "BinaryEquals" => (Operator::Binary, false),
        "NumericEquals" => (Operator::Number(Equals), false),
        "NumericNotEquals" => (Operator::Number(Equals), true),
        "NumericLessThan" => (Operator::Number(LessThan), false),
        "NumericLessThanEquals" => (Operator::Number(LessThanEquals), false),
        "NumericGreaterThan" => (Operator::Number(GreaterThan), false),
        "NumericGreaterThanEquals" => (Operator::Number(GreaterThanEquals), false),
        "DateEquals" => (Operator::Time(Equals), false),
        "DateNotEquals" => (Operator::Time(Equals), true),
        "DateLessThan" => (Operator::Time(LessThan), false),
        "DateLessThanEquals" => (Operator::Time(LessThanEquals), false),
        "DateGreaterThan" => (Operator::Time(GreaterThan), false),
        "DateGreaterThanEquals" => (Operator::Time(GreaterThanEquals), false),
        "IpAddress" => (Operator::Address, false),
        "NotIpAddress" => (Operator::Address, true),
        "Null" => (Operator::Null, false),
        _ => return None,
    })
}

impl Condition {
    /// Parses the operands of one key.
    ///
    /// # Errors
    /// The operator is unknown, or an operand is not valid for it.
    pub(super) fn parse(
        name: &str,
        key: ContextKey,
        operands: &[&str],
        variables: bool,
    ) -> Result<Condition, PolicyError> {
        let unknown = || PolicyError::new(format!("Invalid Condition type : {name}"));
        let (quantifier, rest) = match name.split_once(':') {
            None => (Quantifier::One, name),
            Some(("ForAnyValue", rest)) => (Quantifier::Any, rest),
            Some(("ForAllValues", rest)) => (Quantifier::All, rest),
            Some(_) => return Err(unknown()),
        };
        let (rest, if_exists) = match rest.strip_suffix("IfExists") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let (operator, negated) = operator(rest).ok_or_else(unknown)?;
        if matches!(operator, Operator::Null) && (if_exists || quantifier != Quantifier::One) {
            return Err(unknown());
        }
        let wrong = |text: &str| {
            let message = format!("Invalid value for condition {name} on {key}: \"{text}\"");
            PolicyError::new(message).at(Stage::Legacy)
        };
        let operands = Operands::parse(operator, operands, variables, wrong)?;
        Ok(Condition { key, quantifier, if_exists, negated, operands })
    }

    /// `true` if the request satisfies the condition.
    pub(super) fn holds(&self, request: &Request<'_>) -> bool {
        let value = request.value(&self.key);
        if let Operands::Null(wanted) = &self.operands {
            return wanted.contains(&!value.is_there());
        }
        let fits = |value: &str| self.operands.contain(value, request) != self.negated;
        let values = value.as_slice();
        match self.quantifier {
            Quantifier::All => values.iter().all(|value| fits(value)),
            Quantifier::Any => values.iter().any(|value| fits(value)),
            Quantifier::One => match &value {
                Value::None => self.negated || self.if_exists,
                Value::One(value) => fits(value),
                // AWS does not specify this case: the operands are compared with all values.
                Value::Many(values) => {
                    let found = values.iter().any(|value| self.operands.contain(value, request));
                    found != self.negated
                }
            },
        }
    }

    /// `true` if the condition fails for requests without the key, and does not hold for all of its
    /// values.
    pub(super) fn is_positive(&self) -> bool {
        let names_values = !matches!(self.operands, Operands::Null(_));
        names_values && !self.negated && !self.if_exists && self.quantifier != Quantifier::All
    }

    /// The address ranges of a condition on addresses.
    pub(super) fn address_ranges(&self) -> Option<&[AddressRange]> {
        match &self.operands {
            Operands::Address(ranges) => Some(ranges),
            _ => None,
        }
    }

    /// The text or ARN operands, each up to its first wildcard or variable, and `true` if that is
    /// the whole operand. `None` for operators that compare anything else.
    pub(super) fn fixed_parts(&self) -> Option<Vec<(String, bool)>> {
        match &self.operands {
            Operands::Text(texts) => Some(texts.iter().map(Template::fixed_part).collect()),
            Operands::Arn(arns) => Some(arns.iter().map(ArnPattern::fixed_part).collect()),
            Operands::Coded(_)
            | Operands::Number(..)
            | Operands::Time(..)
            | Operands::Address(_)
            | Operands::Null(_) => None,
        }
    }

    /// The keys that it reads: its own, and the keys of variables.
    pub(super) fn keys(&self) -> impl Iterator<Item = &ContextKey> {
        let (texts, arns): (&[Template], &[ArnPattern]) = match &self.operands {
            Operands::Text(texts) | Operands::Coded(texts) => (texts, &[]),
            Operands::Arn(arns) => (&[], arns),
            _ => (&[], &[]),
        };
        let of_texts = texts.iter().flat_map(Template::keys);
        let of_arns = arns.iter().flat_map(ArnPattern::keys);
        std::iter::once(&self.key).chain(of_texts).chain(of_arns)
    }
}

impl Operands {
    fn parse(
        operator: Operator,
        texts: &[&str],
        variables: bool,
        wrong: impl Fn(&str) -> PolicyError,
    ) -> Result<Operands, PolicyError> {
        let templates = |syntax: Syntax| {
            let all = texts.iter().map(|text| Template::parse(text, syntax));
            all.collect::<Result<Box<[_]>, _>>()
        };
        let check = |is_right: &dyn Fn(&str) -> bool| match texts.iter().find(|it| !is_right(it)) {
            Some(text) => Err(wrong(text)),
            None => Ok(()),
        };
        match operator {
            Operator::Text { wildcards, case } => {
                templates(Syntax { wildcards, variables, case }).map(Operands::Text)
            }
            Operator::Bool => {
                check(&|text| variables && text.contains("${") || boolean(text).is_some())?;
                templates(Syntax { wildcards: false, variables, case: Case::Ignored })
                    .map(Operands::Coded)
            }
            Operator::Binary => {
                // Both sides are Base64, which has one encoding for each value, so texts can be
                // compared.
                check(&|text| base64_simd::STANDARD.check(text.as_bytes()).is_ok())?;
                templates(Syntax { wildcards: false, variables: false, case: Case::Differs })
                    .map(Operands::Coded)
            }
            Operator::Arn => {
                let all = texts.iter().map(|text| ArnPattern::parse(text, variables));
                all.collect::<Result<_, _>>().map(Operands::Arn)
            }
            Operator::Number(comparison) => {
                Ok(Operands::Number(comparison, all(texts, number, wrong)?))
            }
            Operator::Time(comparison) => Ok(Operands::Time(comparison, all(texts, time, wrong)?)),
            Operator::Address => Ok(Operands::Address(all(texts, AddressRange::parse, wrong)?)),
            Operator::Null => Ok(Operands::Null(all(texts, boolean, wrong)?)),
        }
    }

    /// `true` if one of the operands matches the value.
    fn contain(&self, value: &str, request: &Request<'_>) -> bool {
        match self {
            Operands::Text(texts) | Operands::Coded(texts) => {
                texts.iter().any(|text| text.matches(value, request))
            }
            Operands::Arn(arns) => arns.iter().any(|arn| arn.matches(value, request)),
            Operands::Number(comparison, numbers) => number(value).is_some_and(|value| {
                let mut orders = numbers.iter().filter_map(|number| value.partial_cmp(number));
                orders.any(|order| comparison.holds(order))
            }),
            Operands::Time(comparison, times) => time(value)
                .is_some_and(|value| times.iter().any(|time| comparison.holds(value.cmp(time)))),
            Operands::Address(ranges) => address(value)
                .is_some_and(|address| ranges.iter().any(|range| range.contains(address))),
            Operands::Null(_) => false,
        }
    }
}

impl Comparison {
    /// `true` if a value with this order relative to an operand matches.
    fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Equals => order.is_eq(),
            Comparison::LessThan => order.is_lt(),
            Comparison::LessThanEquals => order.is_le(),
            Comparison::GreaterThan => order.is_gt(),
            Comparison::GreaterThanEquals => order.is_ge(),
        }
    }
}

/// Converts all texts; the error is `wrong` of the first text that fails.
fn all<T>(
    texts: &[&str],
    one: impl Fn(&str) -> Option<T>,
    wrong: impl Fn(&str) -> PolicyError,
) -> Result<Box<[T]>, PolicyError> {
    texts.iter().map(|text| one(text).ok_or_else(|| wrong(text))).collect()
}

fn boolean(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") {
        Some(true)
    } else if text.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}
