//! TOML tables that may contain secrets: users, event targets. Errors quote neither lines nor
//! values.

use toml::{Table, Value};

/// Parses a document with no other keys than `known`.
///
/// # Errors
/// One line that tells what to change.
pub fn document(text: &str, known: &[&str]) -> Result<Table, String> {
    // The parser's report quotes the line, which may contain a secret. Its message does not: it is
    // a fixed text, or at most names a key.
    let document: Table = text.parse().map_err(|error: toml::de::Error| match error.span() {
        Some(span) => {
            let before = text.as_bytes().iter().take(span.start);
            let line = 1 + before.filter(|byte| **byte == b'\n').count();
            format!("line {line}: not valid TOML: {}", error.message())
        }
        None => "not valid TOML".to_owned(),
    })?;
    let Some(other) = document.keys().find(|key| !known.contains(&key.as_str())) else {
        return Ok(document);
    };
    let known: Vec<String> = known.iter().map(|name| format!("[[{name}]]")).collect();
    Err(format!("unknown key {other:?}; only {} tables are expected", known.join(" and ")))
}

/// The tables `[[name]]` of a document in order, with no other fields than `keys`.
///
/// # Errors
/// One line that tells what to change.
pub fn tables<'t>(
    document: &'t Table,
    name: &str,
    keys: &[&str],
) -> Result<Vec<Fields<'t>>, String> {
    let no_table = || format!("there is no [[{name}]] table");
    let values = match document.get(name) {
        Some(Value::Array(values)) => values.as_slice(),
        None => &[],
        Some(_) => return Err(no_table()),
    };
    let fields = values.iter().enumerate().map(|(index, value)| {
        let label = format!("{name} {}", index + 1);
        let table = value.as_table();
        let table = table.ok_or_else(|| format!("{label} is not a [[{name}]] table"))?;
        match table.keys().find(|key| !keys.contains(&key.as_str())) {
            Some(other) => Err(format!("{label}: unknown key {other:?}")),
            None => Ok(Fields { label, table }),
        }
    });
    fields.collect()
}

/// The fields of one table.
#[derive(Clone, Debug)]
pub struct Fields<'t> {
    /// The label for errors: `user 2`.
    pub label: String,
    table: &'t Table,
}

impl Fields<'_> {
    /// `true` if the field is present.
    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// The text of a field, if present.
    ///
    /// # Errors
    /// The value is not a non-empty string.
    pub fn text(&self, key: &str) -> Result<Option<String>, String> {
        match self.table.get(key) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => {
                Err(format!("{}: {key} is empty", self.label))
            }
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("{}: {key} must be a string in quotes", self.label)),
        }
    }

    /// The text of a required field.
    ///
    /// # Errors
    /// The errors of [`Fields::text`], or the field is missing.
    pub fn required(&self, key: &str) -> Result<String, String> {
        self.text(key)?.ok_or_else(|| format!("{}: {key} is missing", self.label))
    }

    /// The texts of a list, if present.
    ///
    /// # Errors
    /// The value is not a non-empty list of strings.
    pub fn texts(&self, key: &str) -> Result<Option<Vec<String>>, String> {
        let texts = match self.table.get(key) {
            None => return Ok(None),
            Some(Value::Array(values)) if !values.is_empty() => {
                values.iter().map(|value| value.as_str().map(str::to_owned)).collect()
            }
            Some(_) => None,
        };
        let wrong = || format!("{}: {key} must be a list of strings, at least one", self.label);
        texts.ok_or_else(wrong).map(Some)
    }

    /// The number in a field, if present.
    ///
    /// # Errors
    /// The value is not an integer of 0 or more.
    pub fn number(&self, key: &str) -> Result<Option<u64>, String> {
        match self.table.get(key) {
            None => Ok(None),
            Some(value) => match value.as_integer().map(u64::try_from) {
                Some(Ok(number)) => Ok(Some(number)),
                _ => Err(format!("{}: {key} must be a whole number", self.label)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_errors_name_place_and_key_alone() {
        let keys = ["text", "list", "number"];
        let read = |text: &str| -> Result<_, String> {
            let document = document(text, &["thing"])?;
            let tables = tables(&document, "thing", &keys)?;
            let Some(first) = tables.first() else { return Ok(None) };
            let list = first.texts("list")?;
            Ok(Some((first.required("text")?, list, first.number("number")?)))
        };
        let good = "[[thing]]\ntext = 'a'\nlist = ['b', 'c']\nnumber = 7";
        let (text, list, number) = read(good).expect("valid").expect("one");
        assert_eq!((&*text, list.map(|it| it.len()), number), ("a", Some(2), Some(7)));
        assert!(read("").expect("valid").is_none());
        for (text, expected) in [
            ("[[thing]]\ntext = 'hush\n", "line 2: not valid TOML"),
            ("[[thing]]\ntext = hush", "line 2: not valid TOML: string values must be quoted"),
            ("[[thing]]\ntext = hush'", "line 2: not valid TOML: "),
            ("[[thing]]\ntext = \"hush\\q\"", "line 2: not valid TOML: "),
            ("[[thing]]\ntext = ['hush' 'hush']", "line 2: not valid TOML: "),
            ("[[thing]]\nlist = 1\nlist = 'hush'", "line 3: not valid TOML: "),
            ("[[other]]", "unknown key \"other\"; only [[thing]] tables are expected"),
            ("thing = 'hush'", "there is no [[thing]] table"),
            ("thing = ['hush']", "thing 1 is not a [[thing]] table"),
            ("[[thing]]\nlist = ['a']", "thing 1: text is missing"),
            ("[[thing]]\ntext = ''", "thing 1: text is empty"),
            ("[[thing]]\ntext = 5", "thing 1: text must be a string"),
            ("[[thing]]\ntext = 'a'\nlist = 'hush'", "thing 1: list must be a list"),
            ("[[thing]]\ntext = 'a'\nlist = []", "thing 1: list must be a list"),
            ("[[thing]]\ntext = 'a'\nlist = ['hush', 1]", "thing 1: list must be a list"),
            ("[[thing]]\ntext = 'a'\nnumber = -1", "thing 1: number must be a whole number"),
            ("[[thing]]\ncolour = 'hush'", "thing 1: unknown key \"colour\""),
        ] {
            let error = read(text).expect_err(expected);
            assert!(error.contains(expected) && !error.contains("hush"), "{error:?}: {expected:?}");
        }
    }
}
