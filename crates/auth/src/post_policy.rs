//! [`PostPolicy`]: the uploads that the signer of a form permits.

use jiff::Timestamp;
use serde_json::Value;

use super::error;
use super::limits::POLICY_CONDITIONS_MAX;
use super::post_file::LengthRange;
use super::post_form::Field;
use liteio_wire::reply::{ApiError, ErrorCode};

/// A syntactically valid policy document.
#[derive(Debug)]
pub(super) struct PostPolicy {
    pub(super) expires_unix_seconds: i64,
    conditions: Vec<Condition>,
    pub(super) length: LengthRange,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    Field(FieldCondition),
    /// No form fulfils it; the text is shown. S3 takes a field without `$` and a length that is no number as
    /// conditions that fail, not as errors of the document.
    Never(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldCondition {
    operator: Operator,
    /// The field in lower case, without `$`.
    field: String,
    operand: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equals,
    StartsWith,
}

fn invalid(detail: &str) -> ApiError {
    ApiError::new(ErrorCode::InvalidPolicyDocument, format!("Invalid Policy: {detail}"))
}

fn not_one_property() -> ApiError {
    invalid("Invalid Simple-Condition: Simple-Conditions must have exactly one property specified.")
}

fn denied(detail: &str) -> ApiError {
    error::access_denied(format!("Invalid according to Policy: {detail}"))
}

impl PostPolicy {
    /// Parses a policy from a form: JSON in Base64.
    ///
    /// # Errors
    /// `InvalidPolicyDocument`.
    pub(super) fn parse(base64: &str) -> Result<PostPolicy, ApiError> {
        let json = base64_simd::forgiving_decode_to_vec(base64.as_bytes())
            .map_err(|_| invalid("Invalid Base64."))?;
        let document: Value =
            serde_json::from_slice(&json).map_err(|_| invalid("Invalid JSON."))?;
        let Value::Object(document) = document else { return Err(invalid("Invalid JSON.")) };
        // Names are case-sensitive, as in all JSON.
        if let Some(other) = document.keys().find(|k| !matches!(&***k, "expiration" | "conditions"))
        {
            return Err(invalid(&format!("Unexpected: '{other}'.")));
        }
        let expiration = document.get("expiration").and_then(Value::as_str);
        let expiration = expiration.ok_or_else(|| invalid("Policy missing expiration."))?;
        // `2030-01-01T00:00:00Z`, with or without milliseconds: S3 accepts no other format.
        let is_utc = expiration.as_bytes().get(10) == Some(&b'T') && expiration.ends_with('Z');
        let expires = expiration.parse::<Timestamp>().ok().filter(|_| is_utc);
        let expires = expires
            .ok_or_else(|| invalid(&format!("Invalid 'expiration' value: '{expiration}'")))?;
        let conditions = document.get("conditions").and_then(Value::as_array);
        let conditions = conditions.ok_or_else(|| invalid("Policy missing conditions."))?;
        if conditions.len() > POLICY_CONDITIONS_MAX {
            return Err(invalid("Too many conditions."));
        }
        let mut policy = PostPolicy {
            expires_unix_seconds: expires.as_second(),
            conditions: Vec::with_capacity(conditions.len()),
            length: LengthRange::default(),
        };
        for condition in conditions {
            policy.push(condition)?;
        }
        Ok(policy)
    }

    fn push(&mut self, condition: &Value) -> Result<(), ApiError> {
        match condition {
            Value::Object(pairs) => {
                let mut pairs = pairs.iter();
                let (Some((field, operand)), None) = (pairs.next(), pairs.next()) else {
                    return Err(not_one_property());
                };
                let operand = operand
                    .as_str()
                    .ok_or_else(|| invalid("Invalid Simple-Condition: value must be a string."))?;
                self.push_condition(Operator::Equals, field, operand);
                Ok(())
            }
            Value::Array(items) => self.push_list(items),
            _ => Err(not_one_property()),
        }
    }

    fn push_list(&mut self, items: &[Value]) -> Result<(), ApiError> {
        let [operator, first, second] = items else {
            return Err(invalid("a condition list must have three elements."));
        };
        let operator = operator.as_str().unwrap_or_default().to_ascii_lowercase();
        let operator = match operator.as_str() {
            "eq" => Operator::Equals,
            "starts-with" => Operator::StartsWith,
            "content-length-range" => return self.push_length_range(first, second),
            other => return Err(invalid(&format!("Unknown condition operator: '{other}'."))),
        };
        let field = first.as_str().ok_or_else(|| invalid("a field name must be a string."))?;
        let operand = second.as_str().ok_or_else(|| invalid("a value must be a string."))?;
        match field.strip_prefix('$') {
            Some(field) => self.push_condition(operator, field, operand),
            None => self.conditions.push(Condition::Never(list(operator.name(), field, operand))),
        }
        Ok(())
    }

    fn push_length_range(&mut self, min: &Value, max: &Value) -> Result<(), ApiError> {
        let error = || invalid("Invalid content-length-range.");
        let (min, max) = (Length::parse(min), Length::parse(max));
        match (min.ok_or_else(error)?, max.ok_or_else(error)?) {
            (Length::Bytes(min), Length::Bytes(max)) if min <= max => {
                // Several ranges are intersected.
                self.length.min = self.length.min.max(min);
                self.length.max = self.length.max.min(max);
            }
            (Length::Bytes(_), Length::Bytes(_)) => return Err(error()),
            (min, max) => self.conditions.push(Condition::Never(list(
                "content-length-range",
                &min.to_string(),
                &max.to_string(),
            ))),
        }
        Ok(())
    }

    fn push_condition(&mut self, operator: Operator, field: &str, operand: &str) {
        let (field, operand) = (field.to_ascii_lowercase(), operand.to_owned());
        self.conditions.push(Condition::Field(FieldCondition { operator, field, operand }));
    }

    /// Checks the form against the policy, where the request names `bucket`. The length of the file
    /// is checked while it streams.
    ///
    /// # Errors
    /// `AccessDenied` with the failed condition, or with the fields that no condition covers.
    pub(super) fn check(
        &self,
        fields: &[Field],
        bucket: &str,
        now_unix_seconds: i64,
    ) -> Result<(), ApiError> {
        if now_unix_seconds > self.expires_unix_seconds {
            return Err(denied("Policy expired."));
        }
        for condition in &self.conditions {
            if !condition.holds(fields, bucket) {
                return Err(denied(&format!("Policy Condition failed: {}", condition.display())));
            }
        }
        self.check_covered(fields)
    }

    /// Requires a condition for every field and for the bucket: otherwise the form could be sent to
    /// any bucket of the signer.
    fn check_covered(&self, fields: &[Field]) -> Result<(), ApiError> {
        let covered = |name: &str| {
            self.conditions.iter().any(|c| matches!(c, Condition::Field(c) if c.field == name))
        };
        let exempt = |name: &str| {
            matches!(name, "x-amz-signature" | "awsaccesskeyid" | "signature" | "file" | "policy")
                || name.starts_with("x-ignore-")
        };
        let names = fields.iter().map(|field| field.name.as_str()).chain(["bucket"]);
        let extra: Vec<&str> = names.filter(|name| !exempt(name) && !covered(name)).collect();
        if extra.is_empty() {
            return Ok(());
        }
        Err(denied(&format!("Extra input fields: {}", extra.join(", "))))
    }
}

impl Condition {
    fn holds(&self, fields: &[Field], bucket: &str) -> bool {
        let condition = match self {
            Condition::Field(condition) => condition,
            Condition::Never(_) => return false,
        };
        if condition.field == "bucket" {
            return condition.holds(bucket);
        }
        // Every copy of a repeated field must satisfy the condition; a missing field counts as empty.
        let mut values = fields.iter().filter(|field| field.name == condition.field).peekable();
        match values.peek() {
            None => condition.holds(""),
            Some(_) => values.all(|field| condition.holds(&field.value)),
        }
    }

    fn display(&self) -> String {
        match self {
            Condition::Field(FieldCondition { operator, field, operand }) => {
                list(operator.name(), &format!("${field}"), operand)
            }
            Condition::Never(text) => text.clone(),
        }
    }
}

impl FieldCondition {
    fn holds(&self, value: &str) -> bool {
        match self.operator {
            Operator::Equals => value == self.operand,
            // Every item in a list of content types must match.
            Operator::StartsWith if self.field == "content-type" && value.contains(',') => {
                value.split(',').all(|item| item.trim().starts_with(&self.operand))
            }
            Operator::StartsWith => value.starts_with(&self.operand),
        }
    }
}

impl Operator {
    fn name(self) -> &'static str {
        match self {
            Operator::Equals => "eq",
            Operator::StartsWith => "starts-with",
        }
    }
}

/// A condition as AWS spells it, with a space after each comma.
fn list(operator: &str, first: &str, second: &str) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    format!("[{}, {}, {}]", quoted(operator), quoted(first), quoted(second))
}

/// An end of a range of lengths.
enum Length {
    Bytes(u64),
    /// Text that is no number.
    Text(String),
}

impl Length {
    /// A number, or text; `None` for everything else.
    fn parse(value: &Value) -> Option<Length> {
        match value {
            Value::Number(number) => number.as_u64().map(Length::Bytes),
            Value::String(text) => {
                Some(text.parse().map_or_else(|_| Length::Text(text.clone()), Length::Bytes))
            }
            _ => None,
        }
    }
}

impl std::fmt::Display for Length {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Length::Bytes(bytes) => write!(f, "{bytes}"),
            Length::Text(text) => f.write_str(text),
        }
    }
}
