//! Values of options of the AWS CLI: JSON, a file, or its shorthand.
//!
//! ```text
//! value := pairs | '{' pairs '}' | '[' [value {',' value}] ']' | word
//! pairs := name '=' value {',' value} {',' name '=' value {',' value}}
//! ```
//!
//! A list without brackets, `Methods=GET,PUT`, ends at the next name.

use serde_json::{Map, Value};

/// Depth beyond which a value is refused.
const DEPTH_MAX: usize = 16;

/// Reads the value of an option.
///
/// # Errors
/// One line with the reason.
pub(super) fn value(text: &str) -> Result<Value, String> {
    let file = match text.strip_prefix("file://") {
        Some(path) => {
            Some(std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?)
        }
        None => None,
    };
    let content = file.as_deref().unwrap_or(text).trim();
    if file.is_some() || content.starts_with(['{', '[', '"']) {
        let json = serde_json::from_str(content);
        if file.is_some() || json.is_ok() {
            return json.map_err(|error| format!("{text} is not JSON: {error}"));
        }
    }
    let mut parser = Parser { rest: content, depth: 0 };
    let value = if content.starts_with(['{', '[']) { parser.value()? } else { parser.pairs()? };
    match parser.rest.is_empty() {
        true => Ok(value),
        false => Err(format!("{text:?} is not understood from {:?} on", parser.rest)),
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn take(&mut self, sign: char) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        match self.take(sign) {
            true => Ok(()),
            false => Err(format!("{sign:?} is missing before {:?}", self.rest)),
        }
    }

    fn value(&mut self) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("the value is nested too deeply".to_owned());
        }
        let value = if self.take('{') {
            let pairs = self.pairs()?;
            self.expect('}')?;
            pairs
        } else if self.take('[') {
            let mut list = Vec::new();
            while !self.take(']') {
                if !list.is_empty() {
                    self.expect(',')?;
                }
                list.push(self.value()?);
            }
            Value::Array(list)
        } else {
            Value::String(self.word()?)
        };
        self.depth -= 1;
        Ok(value)
    }

    fn pairs(&mut self) -> Result<Value, String> {
        let mut pairs = Map::new();
        loop {
            let name =
                self.name().ok_or(format!("a name and = are missing before {:?}", self.rest))?;
            let first = self.value()?;
            let mut more = Vec::new();
            let mut has_next = false;
            while self.take(',') {
                has_next = self.looks_at_name();
                if has_next {
                    break;
                }
                more.push(self.value()?);
            }
            let value = match more.is_empty() {
                true => first,
                false => Value::Array(std::iter::once(first).chain(more).collect()),
            };
            pairs.insert(name, value);
            if !has_next {
                return Ok(Value::Object(pairs));
            }
        }
    }

    fn looks_at_name(&self) -> bool {
        let end = self.rest.find(|it: char| !it.is_ascii_alphanumeric() && it != '_' && it != '-');
        end.is_some_and(|end| end > 0 && self.rest[end..].starts_with('='))
    }

    fn name(&mut self) -> Option<String> {
        if !self.looks_at_name() {
            return None;
        }
        let (name, rest) = self.rest.split_once('=')?;
        self.rest = rest;
        Some(name.to_owned())
    }

    fn word(&mut self) -> Result<String, String> {
        for quote in ['"', '\''] {
            if self.take(quote) {
                let end = self.rest.find(quote).ok_or(format!("{quote} has no end"))?;
                let word = self.rest[..end].to_owned();
                self.rest = &self.rest[end + 1..];
                return Ok(word);
            }
        }
        let end = self.rest.find([',', '}', ']']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(word.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_json_or_shorthand() {
        let rows = [
            ("Status=Enabled", json!({"Status": "Enabled"})),
            (
                "TagSet=[{Key=a,Value=1},{Key=b,Value='x, y'}]",
                json!({"TagSet": [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "x, y"}]}),
            ),
            (
                "Rules=[{Default={Algorithm=AES256},Enabled=true}]",
                json!({"Rules": [{"Default": {"Algorithm": "AES256"}, "Enabled": "true"}]}),
            ),
            ("Methods=GET,PUT,Age=5", json!({"Methods": ["GET", "PUT"], "Age": "5"})),
            (r#"{"Status": "Enabled", "n": 1}"#, json!({"Status": "Enabled", "n": 1})),
            ("A=", json!({"A": ""})),
            ("A=[]", json!({"A": []})),
        ];
        for (text, expected) in rows {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn nothing_that_is_not_understood_is_guessed() {
        let deep = format!("A={}", "[".repeat(1000));
        for text in ["", "Enabled", "=1", "A=[1", "A={B=1", "A='x", "A=1}", "{\"a\": }", &deep] {
            assert!(value(text).is_err(), "{text}");
        }
        assert!(value("file:///no/such").expect_err("no file").contains("/no/such"));
    }
}
