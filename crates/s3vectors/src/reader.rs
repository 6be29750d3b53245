//! A streaming JSON reader (a pull parser), which builds no tree.
//!
//! A PutVectors body is megabytes of numbers. A tree of JSON values would take twenty times its
//! size; this reader needs four bytes per number.

use std::collections::HashSet;

use liteio_store::invalid_field::pointer;
use serde::de::IgnoredAny;

use super::error::{ApiResult, Exception};
use super::float;

/// Deepest nesting of a skipped value.
const DEPTH_MAX: usize = 128;

/// Limit of values in a JSON text that is parsed into a tree. A value takes up to 80 bytes in the
/// tree and as little as two in the text, so a body could otherwise allocate forty times its size.
pub(super) const TREE_VALUES_MAX: usize = 128 << 10;

/// True if a JSON text may have more values than [`TREE_VALUES_MAX`].
pub(super) fn has_too_many_values(text: &[u8]) -> bool {
    text.len() > TREE_VALUES_MAX && value_count_bound(text) > TREE_VALUES_MAX
}

/// An upper bound of the number of values in a JSON text; in a malformed text, up to the error.
pub(super) fn value_count_bound(text: &[u8]) -> usize {
    let mut count = 1;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b',' | b'[' | b'{' => count += 1,
            b'"' => pass_string(&mut bytes),
            _ => {}
        }
    }
    count
}

/// Passes over the rest of a string, behind its first quotation mark.
fn pass_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => break,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
}

/// Numbers that Python writes, although JSON has none of them.
const FOREIGN_NUMBERS: [(&str, f32); 3] =
    [("NaN", f32::NAN), ("Infinity", f32::INFINITY), ("-Infinity", f32::NEG_INFINITY)];

/// The first number in a text that Python writes and JSON does not have.
pub(super) fn foreign_number(text: &[u8]) -> Option<&'static str> {
    let mut bytes = text.iter();
    loop {
        let rest = bytes.as_slice();
        let mut numbers = FOREIGN_NUMBERS.into_iter();
        let found = numbers.find(|(name, _)| rest.starts_with(name.as_bytes()));
        if let Some((name, _)) = found {
            return Some(name);
        }
        if *bytes.next()? == b'"' {
            pass_string(&mut bytes);
        }
    }
}

/// The reason for which a text is not JSON, in words of the user's data where it is the data that
/// JSON cannot hold: pandas has NaN for a missing value, and texts of broken files have lone
/// surrogates. The parser has only positions.
pub(super) fn reason(text: &[u8], error: &serde_json::Error) -> String {
    if let Some(number) = foreign_number(text) {
        return format!("JSON has no {number}: leave the key out");
    }
    let message = error.to_string();
    // The parser's two messages about surrogates, and about nothing else.
    let is_of_surrogates = ["lone leading surrogate in hex", "unexpected end of hex escape"];
    match is_of_surrogates.iter().any(|start| message.starts_with(start)) {
        true => "a text has half of a surrogate pair (\\ud800 to \\udfff), which is no character: \
                 replace it"
            .to_owned(),
        false => message,
    }
}

/// The message for a repeated field of an object.
const TWICE: &str = "the field is there twice";

/// The names of an object's fields so far: a list while they are few, as usual, else a set.
#[derive(Default)]
struct Names {
    few: Vec<String>,
    many: HashSet<String>,
}

impl Names {
    const FEW: usize = 8;

    fn contain(&self, name: &str) -> bool {
        self.few.iter().any(|other| other == name) || self.many.contains(name)
    }

    fn add(&mut self, name: String) {
        match self.few.len() < Self::FEW {
            true => self.few.push(name),
            false => drop(self.many.insert(name)),
        }
    }
}

/// A position in a JSON text.
pub(super) struct Reader<'text> {
    bytes: &'text [u8],
    at: usize,
}

impl<'text> Reader<'text> {
    pub(super) fn new(bytes: &'text [u8]) -> Reader<'text> {
        Reader { bytes, at: 0 }
    }

    /// The number of bytes left.
    pub(super) fn rest(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    fn wrong(&self, expected: &str) -> Exception {
        match self.bytes.get(self.at) {
            Some(_) => Exception::malformed(&format!("expected {expected} at byte {}", self.at)),
            None => Exception::malformed(&format!("it ends where {expected} is expected")),
        }
    }

    /// The next byte that is not white space, without consuming it.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.bytes.get(self.at) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    /// The first byte of the next value, without consuming it. A text that ends before it is not
    /// JSON.
    pub(super) fn value(&mut self) -> ApiResult<u8> {
        self.peek().ok_or_else(|| self.wrong("a value"))
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, byte: u8) -> ApiResult<()> {
        match self.take(byte) {
            true => Ok(()),
            false => Err(self.wrong(&format!("{:?}", char::from(byte)))),
        }
    }

    /// Checks that only white space follows.
    pub(super) fn end(&mut self) -> ApiResult<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.wrong("the end")),
        }
    }

    /// Calls `field` with the name of every field of the object at `path`; it must consume the
    /// value. A repeated name is an error: parsers differ in which of the values they take.
    pub(super) fn object(
        &mut self,
        path: impl Fn() -> String,
        mut field: impl FnMut(&mut Reader<'text>, &str) -> ApiResult<()>,
    ) -> ApiResult<()> {
        self.expect(b'{')?;
        if self.take(b'}') {
            return Ok(());
        }
        let mut names = Names::default();
        loop {
            let name = self.string()?;
            self.expect(b':')?;
            if names.contain(&name) {
                return Err(Exception::field(pointer(&path(), &name), TWICE));
            }
            field(self, &name)?;
            names.add(name);
            if !self.take(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// Calls `element` with the position of every element of a list; it must consume the value.
    pub(super) fn list(
        &mut self,
        mut element: impl FnMut(&mut Reader<'text>, usize) -> ApiResult<()>,
    ) -> ApiResult<()> {
        self.expect(b'[')?;
        if self.take(b']') {
            return Ok(());
        }
        for position in 0.. {
            element(self, position)?;
            if !self.take(b',') {
                break;
            }
        }
        self.expect(b']')
    }

    pub(super) fn string(&mut self) -> ApiResult<String> {
        if self.peek() != Some(b'"') {
            return Err(self.wrong("a string"));
        }
        let text = self.skip(String::new)?;
        serde_json::from_slice(text).map_err(|error| Exception::malformed(&reason(text, &error)))
    }

    /// Parses a number to the nearest `f32`. Also accepts `NaN` and `Infinity`, which Python writes
    /// although they are not JSON, so that the error can name their position. Any other value gives
    /// `None` and is not consumed.
    pub(super) fn float(&mut self) -> Option<f32> {
        self.peek()?;
        let rest = &self.bytes[self.at..];
        if let Some((value, length)) = float::parse(rest) {
            self.at += length;
            return Some(value);
        }
        for (name, value) in FOREIGN_NUMBERS {
            if rest.starts_with(name.as_bytes()) {
                self.at += name.len();
                return Some(value);
            }
        }
        None
    }

    /// Skips a value and returns its text, unchecked. `path` names the value in the error for too
    /// deep nesting.
    pub(super) fn skip(&mut self, path: impl FnOnce() -> String) -> ApiResult<&'text [u8]> {
        self.value()?;
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                None => return Err(self.wrong("the rest of a value")),
                Some(b'"') => self.skip_string()?,
                Some(b'{' | b'[') => {
                    self.at += 1;
                    depth += 1;
                    if depth > DEPTH_MAX {
                        let message = format!("it is nested more than {DEPTH_MAX} deep");
                        return Err(Exception::field(path(), message));
                    }
                    continue;
                }
                Some(b'}' | b']') if depth > 0 => {
                    self.at += 1;
                    depth -= 1;
                }
                Some(b',' | b':') if depth > 0 => {
                    self.at += 1;
                    continue;
                }
                Some(_) => self.skip_word()?,
            }
            if depth == 0 {
                return Ok(&self.bytes[start..self.at]);
            }
        }
    }

    /// Skips the value of an unknown field, which must still be valid JSON.
    pub(super) fn pass_over(&mut self, path: impl FnOnce() -> String) -> ApiResult<()> {
        let text = std::str::from_utf8(self.skip(path)?);
        let text = text.map_err(|error| Exception::malformed(&error.to_string()))?;
        let checked = serde_json::from_str::<IgnoredAny>(text);
        checked.map(drop).map_err(|error| Exception::malformed(&reason(text.as_bytes(), &error)))
    }

    fn skip_string(&mut self) -> ApiResult<()> {
        self.at += 1;
        loop {
            match self.bytes.get(self.at) {
                None => return Err(self.wrong("the end of a string")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
            }
        }
    }

    /// Skips a number, `true`, `false` or `null`.
    fn skip_word(&mut self) -> ApiResult<()> {
        let is_part =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        let length = self.bytes[self.at..].iter().take_while(|byte| is_part(byte)).count();
        if length == 0 {
            return Err(self.wrong("a value"));
        }
        self.at += length;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_other_things_are_left() {
        let rows = [
            ("0.5", Some(0.5)),
            (" -1e3 ", Some(-1000.0)),
            ("1E+2,", Some(100.0)),
            ("0.30000001192092896]", Some(0.3)),
            ("1e39", Some(f32::INFINITY)),
            ("-Infinity", Some(f32::NEG_INFINITY)),
            ("\"1\"", None),
            ("null", None),
            ("-", None),
            ("+1", None),
            (".5", None),
            ("1.", None),
            ("01", None),
            ("-007.5", None),
            ("", None),
            ("inf", None),
        ];
        for (text, expected) in rows {
            assert_eq!(Reader::new(text.as_bytes()).float(), expected, "{text}");
        }
        assert!(Reader::new(b"NaN").float().expect("a value").is_nan());
    }

    #[test]
    fn values_are_counted_whatever_texts_hold() {
        let list = |count: usize, value: &str| format!("[{}]", vec![value; count].join(","));
        let few = [
            list(TREE_VALUES_MAX - 1, "0"),
            list(TREE_VALUES_MAX / 2 - 1, "[0]"),
            list(1_000, &format!("{:?}", r#"[{",]}\"#.repeat(100))),
        ];
        for text in few {
            assert!(!has_too_many_values(text.as_bytes()), "{}", &text[..100]);
        }
        let many = [
            list(TREE_VALUES_MAX, "0"),
            list(TREE_VALUES_MAX, r#""""#),
            list(TREE_VALUES_MAX / 2, "[0]"),
            list(TREE_VALUES_MAX / 2, r#"{"a\\":0}"#),
        ];
        for text in many {
            assert!(has_too_many_values(text.as_bytes()), "{}", &text[..100]);
        }
    }

    #[test]
    fn numbers_that_json_has_not_are_found_outside_of_strings() {
        let rows = [
            (r#"{"a":NaN}"#, Some("NaN")),
            (r#"{"a":[1,"\"NaN", -Infinity]}"#, Some("-Infinity")),
            (r#"{"NaN":"Infinity","\\":Infinity,"b":NaN}"#, Some("Infinity")),
            (r#"{"NaN":"\"-Infinity"}"#, None),
            (r#"{"a":1e400,"b":"NaN"#, None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(foreign_number(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn values_are_passed_over_whole() {
        for text in ["1", "\"a\\\"]\"", "{\"a\":[1,{\"b\":\"}\"}],\"c\":null}", "[]", "true"] {
            let whole = format!(" {text} ,");
            assert_eq!(
                Reader::new(whole.as_bytes()).skip(String::new).expect("a value"),
                text.as_bytes()
            );
        }
        let deep = format!("{}{}", "[".repeat(DEPTH_MAX), "]".repeat(DEPTH_MAX));
        for text in ["1e400", "-0.5E-3", r#"{"a":[{},"\u00e4\n"]}"#, "[[],0]", "null", &deep] {
            let mut reader = Reader::new(text.as_bytes());
            reader.pass_over(String::new).expect(text);
            reader.end().expect(text);
        }
        let malformed = [
            "[1,,2]",
            "[1:2]",
            "tru",
            "[1,]",
            "[,]",
            "{\"a\"}",
            "{\"a\":1,}",
            "{\"a\":}",
            "{1:2}",
            "{\"a\",1}",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "+1",
            "NaN",
            "0x10",
            "[1 2]",
            "[}",
            "{]",
            "[1}",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\n\"",
            "nulll",
        ];
        for text in malformed {
            let mut reader = Reader::new(text.as_bytes());
            let passed = reader.pass_over(String::new).and_then(|()| reader.end());
            assert!(passed.is_err(), "{text}");
        }
        assert!(Reader::new(b"\"\xff\"").pass_over(String::new).is_err(), "not UTF-8");
        let deep = "[".repeat(1000);
        for text in ["", "{", "[1,", "\"a", "\"\\", ",", "}", &deep] {
            assert!(Reader::new(text.as_bytes()).skip(String::new).is_err(), "{text}");
        }
    }
}
