//! Documents of settings as JSON, in the names that `mc` uses, and back.

use serde_json::{Map, Value};

use super::document::{Element, escaped};

/// The elements of a document that are no texts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The name of the root.
    pub(crate) root: &'static str,
    /// Elements that may be repeated, with the names of their lists.
    pub(crate) lists: &'static [(&'static str, &'static str)],
    /// Elements that are numbers.
    pub(crate) numbers: &'static [&'static str],
    /// Elements that are true or false.
    pub(crate) flags: &'static [&'static str],
    /// Elements that have children, also where none is there.
    pub(crate) parents: &'static [&'static str],
}

/// Depth of a JSON document beyond which it is none of a setting.
const DEPTH_MAX: usize = 16;

impl Shape {
    pub(super) fn to_json(self, element: &Element) -> Value {
        if element.children().is_empty() && !self.parents.contains(&&*element.name) {
            let text = element.own_text();
            let number = text.trim().parse::<i64>();
            return match (number, text.trim()) {
                (Ok(number), _) if self.numbers.contains(&&*element.name) => number.into(),
                (_, "true") if self.flags.contains(&&*element.name) => true.into(),
                (_, "false") if self.flags.contains(&&*element.name) => false.into(),
                _ => text.into(),
            };
        }
        let mut object = Map::new();
        for child in element.children() {
            let value = self.to_json(child);
            match self.lists.iter().find(|(name, _)| *name == child.name) {
                None => drop(object.insert(child.name.clone(), value)),
                Some((_, list)) => {
                    let list = object.entry(*list).or_insert_with(|| Value::Array(Vec::new()));
                    if let Value::Array(values) = list {
                        values.push(value);
                    }
                }
            }
        }
        Value::Object(object)
    }

    /// The document. Nulls are left out.
    ///
    /// # Errors
    /// One line about a name that no element has, or a value that is no object.
    pub(crate) fn to_xml(self, value: &Value) -> Result<String, String> {
        if !value.is_object() {
            return Err("it is no JSON object".to_owned());
        }
        let mut xml = String::new();
        self.write(&mut xml, self.root, value, 0)?;
        Ok(xml)
    }

    fn write(
        self,
        xml: &mut String,
        name: &str,
        value: &Value,
        depth: usize,
    ) -> Result<(), String> {
        let is_name = !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric());
        if !is_name || depth > DEPTH_MAX {
            return Err(format!("'{}' cannot be a part of it", name.escape_debug()));
        }
        let text = match value {
            Value::Null => return Ok(()),
            Value::Array(values) => {
                let found = self.lists.iter().find(|(_, list)| *list == name);
                let name = found.map_or(name, |(name, _)| name);
                for value in values {
                    self.write(xml, name, value, depth + 1)?;
                }
                return Ok(());
            }
            Value::Object(fields) => {
                xml.push_str(&format!("<{name}>"));
                for (name, value) in fields {
                    self.write(xml, name, value, depth + 1)?;
                }
                xml.push_str(&format!("</{name}>"));
                return Ok(());
            }
            Value::String(text) => escaped(text),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
        };
        xml.push_str(&format!("<{name}>{text}</{name}>"));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SHAPE: Shape = Shape {
        root: "Root",
        lists: &[("Rule", "Rules"), ("Tag", "Tags")],
        numbers: &["Days"],
        flags: &["Flag"],
        parents: &["Filter"],
    };

    #[test]
    fn documents_come_back_from_json() {
        let xml = "<Root><Rules></Rules></Root>";
        let root = Element::parse(xml.as_bytes()).expect("a document");
        assert_eq!(SHAPE.to_json(&root), json!({ "Rules": "" }));
        let xml = "<Root><Rule><Days>3</Days><Filter></Filter><Flag>true</Flag><ID>4</ID></Rule>\
                   <Rule><ID>a&amp;b</ID></Rule></Root>";
        let root = Element::parse(xml.as_bytes()).expect("a document");
        let json = SHAPE.to_json(&root);
        let expected = json!({ "Rules": [
            { "Days": 3, "Filter": {}, "Flag": true, "ID": "4" }, { "ID": "a&b" }] });
        assert_eq!(json, expected);
        assert_eq!(SHAPE.to_xml(&json).as_deref(), Ok(xml));
    }

    #[test]
    fn names_that_would_be_markup_are_refused() {
        for value in [json!([]), json!("text"), json!({ "a><b": 1 }), json!({ "": 1 })] {
            assert!(SHAPE.to_xml(&value).is_err(), "{value}");
        }
        assert_eq!(SHAPE.to_xml(&json!({ "a": null })).as_deref(), Ok("<Root></Root>"));
    }
}
