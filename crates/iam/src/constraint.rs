//! Violated constraints of the service models, in the words of IAM and STS.
//!
//! IAM does not repeat the value in its message; STS does.

use super::error::{self, ApiError};

/// Characters of a value that a message repeats at most.
const SHOWN_MAX: usize = 256;

/// A rule of a service model that a field violates.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule<'r> {
    NotNull,
    LongerThan(usize),
    ShorterThan(usize),
    LessThan(u32),
    MoreThan(u32),
    Pattern(&'r str),
    Words,
}

impl Rule<'_> {
    fn text(self) -> String {
        match self {
            Rule::NotNull => "must not be null".to_owned(),
            Rule::LongerThan(max) => format!("must have length less than or equal to {max}"),
            Rule::ShorterThan(min) => format!("must have length greater than or equal to {min}"),
            Rule::LessThan(min) => format!("must have value greater than or equal to {min}"),
            Rule::MoreThan(max) => format!("must have value less than or equal to {max}"),
            Rule::Pattern(pattern) => {
                format!("must satisfy regular expression pattern: {pattern}")
            }
            Rule::Words => "must satisfy enum value set".to_owned(),
        }
    }

    /// IAM's refusal of a field.
    pub(super) fn of_iam(self, field: &str) -> ApiError {
        error::validation(format!(
            "1 validation error detected: Value at '{}' failed to satisfy constraint: Member {}",
            lower_first(field),
            self.text()
        ))
    }

    /// STS's refusal of a field with this value.
    pub(super) fn of_sts(self, field: &str, value: &str) -> ApiError {
        let value: String = value.chars().take(SHOWN_MAX).collect();
        error::validation(format!(
            "1 validation error detected: Value '{value}' at '{}' failed to satisfy constraint: \
             Member {}",
            lower_first(field),
            self.text()
        ))
    }
}

/// The rule that a length violates.
pub(super) fn length(length: usize, min: usize, max: usize) -> Option<Rule<'static>> {
    match () {
        () if length < min => Some(Rule::ShorterThan(min)),
        () if length > max => Some(Rule::LongerThan(max)),
        () => None,
    }
}

/// The number in a text.
///
/// # Errors
/// The rule that it violates; `None` if it is not a number.
pub(super) fn number(text: &str, min: u32, max: u32) -> Result<u32, Option<Rule<'static>>> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(None);
    }
    let is_negative = digits.len() < text.len();
    match text.parse::<u32>() {
        Ok(number) if number < min => Err(Some(Rule::LessThan(min))),
        Ok(number) if number <= max => Ok(number),
        Err(_) if is_negative => Err(Some(Rule::LessThan(min))),
        // Larger than the type, too.
        _ => Err(Some(Rule::MoreThan(max))),
    }
}

/// A field name as in AWS's messages.
pub(super) fn lower_first(name: &str) -> String {
    let mut characters = name.chars();
    let first = characters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(characters).collect()
}
