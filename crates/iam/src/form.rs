//! Requests of IAM and STS: a form in the body of a POST, or in the query of a GET.

use super::constraint::{self, Rule};
use super::error::{self, ApiError};

/// Maximum fields of a request. The longest lists have 50 tags with two fields each.
const FIELDS_MAX: usize = 1000;

/// The fields of a request.
#[derive(Debug)]
pub(crate) struct Form {
    fields: Vec<(String, String)>,
}

impl Form {
    /// Parses a form.
    ///
    /// # Errors
    /// `MalformedQueryString` if the bytes are not a form, or if it has too many or duplicate
    /// fields.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Form, ApiError> {
        let mut fields: Vec<(String, String)> = Vec::new();
        // Invalid UTF-8 is refused rather than replaced, which could change a name.
        let decoded = percent_encoding::percent_decode(bytes).decode_utf8();
        if decoded.is_err() {
            return Err(error::malformed_query("The request is not UTF-8."));
        }
        for (name, value) in form_urlencoded::parse(bytes) {
            if fields.len() == FIELDS_MAX {
                return Err(error::malformed_query("The request has too many fields."));
            }
            fields.push((name.into_owned(), value.into_owned()));
        }
        fields.sort();
        match fields.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            true => Err(error::malformed_query("The request has a field twice.")),
            false => Ok(Form { fields }),
        }
    }

    /// The text of a field; an empty one counts as missing.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.raw(name).filter(|value| !value.is_empty())
    }

    /// The text of a field, possibly empty.
    pub(super) fn raw(&self, name: &str) -> Option<&str> {
        let place = self.fields.binary_search_by(|(other, _)| other.as_str().cmp(name)).ok()?;
        Some(&self.fields[place].1)
    }

    /// The text of a required field.
    ///
    /// # Errors
    /// `ValidationError`.
    pub(super) fn required(&self, name: &str) -> Result<&str, ApiError> {
        self.text(name).ok_or_else(|| Rule::NotNull.of_iam(name))
    }

    /// The number in a field.
    ///
    /// # Errors
    /// `ValidationError` if it is not a number in the range.
    pub(super) fn number(&self, name: &str, min: u32, max: u32) -> Result<Option<u32>, ApiError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = constraint::number(text, min, max).map(Some);
        number.map_err(|rule| rule.map_or_else(|| not_a_number(name), |rule| rule.of_iam(name)))
    }

    /// The flag in a field: `true` or `false`.
    ///
    /// # Errors
    /// `ValidationError` for anything else.
    pub(super) fn flag(&self, name: &str) -> Result<bool, ApiError> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(error::validation(format!("{name} must be true or false"))),
        }
    }

    /// The items of a list, `NAME.member.1`, `NAME.member.2`, …, or one field of each structure in
    /// it: `NAME.member.1.FIELD`. The first missing item ends the list.
    pub(super) fn list(&self, name: &str, field: &str) -> Vec<&str> {
        let dot = if field.is_empty() { "" } else { "." };
        let item = |number: usize| self.raw(&format!("{name}.member.{number}{dot}{field}"));
        (1..=FIELDS_MAX).map_while(item).collect()
    }

    /// `true` if a field with this name, or one below it, is present.
    pub(super) fn has(&self, name: &str) -> bool {
        let below = |other: &str| {
            other.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.fields.iter().any(|(other, _)| below(other))
    }
}

/// The refusal of a field that is not a number.
pub(super) fn not_a_number(name: &str) -> ApiError {
    error::validation(format!("{name} must be a whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_lists_are_read() {
        let form = Form::parse(
            b"Action=TagUser&UserName=a%2Bb&Tags.member.1.Key=k&Tags.member.1.Value=&\
              Tags.member.2.Key=l&Tags.member.2.Value=+v&MaxItems=7&Empty=",
        )
        .expect("a form");
        assert_eq!(form.required("UserName").expect("there"), "a+b");
        assert_eq!(form.list("Tags", "Key"), ["k", "l"]);
        assert_eq!(form.list("Tags", "Value"), ["", " v"]);
        assert_eq!(form.number("MaxItems", 1, 1000).expect("a number"), Some(7));
        assert!(form.has("Tags") && !form.has("Tag") && form.text("Empty").is_none());
        assert!(form.number("MaxItems", 8, 9).is_err());
        assert!(form.required("None").expect_err("missing").message().contains("'none'"));
        for wrong in [&b"a=1&a=2"[..], b"a=%ff", b"\xff=1"] {
            assert!(Form::parse(wrong).is_err(), "{wrong:?}");
        }
        let many: String = (0..1001).map(|number| format!("f{number}=1&")).collect();
        assert!(Form::parse(many.as_bytes()).is_err());
    }
}
