//! Expands words to command arguments.

use std::collections::BTreeMap;

use super::syntax::{Piece, Word};

/// A variable.
#[derive(Clone)]
pub(super) struct Variable {
    pub(super) value: String,
    /// Passed to programs in their environment.
    pub(super) is_exported: bool,
}

/// The variables and parameters that words can refer to.
#[derive(Clone)]
pub(super) struct Scope {
    pub(super) variables: BTreeMap<String, Variable>,
    /// `$0`, then `$1` and the rest.
    pub(super) arguments: Vec<String>,
    /// `$?`.
    pub(super) status: u8,
    /// `set -u`.
    pub(super) refuses_unset: bool,
}

/// Fields under construction: unquoted pieces are split at blanks, and unquoted empty words
/// disappear.
#[derive(Default)]
struct Fields {
    done: Vec<String>,
    open: Option<String>,
}

impl Fields {
    fn add(&mut self, text: &str) {
        self.open.get_or_insert_default().push_str(text);
    }

    fn cut(&mut self) {
        self.done.extend(self.open.take());
    }

    fn add_in_words(&mut self, text: &str) {
        for (index, word) in text.split([' ', '\t', '\n']).enumerate() {
            if index > 0 {
                self.cut();
            }
            if !word.is_empty() {
                self.add(word);
            }
        }
    }
}

/// The unquoted pieces to split at blanks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cuts {
    Nothing,
    /// Values of variables; literal text was already split by the lexer.
    Values,
    /// Default texts of `${NAME:-TEXT}` as well.
    Defaults,
}

impl Cuts {
    fn in_default(self) -> Cuts {
        if self == Cuts::Nothing { Cuts::Nothing } else { Cuts::Defaults }
    }
}

impl Scope {
    pub(super) fn set(&mut self, name: &str, value: String) {
        match self.variables.get_mut(name) {
            Some(variable) => variable.value = value,
            None => {
                let variable = Variable { value, is_exported: false };
                self.variables.insert(name.to_owned(), variable);
            }
        }
    }

    fn value(&self, name: &str) -> Option<String> {
        match name {
            "?" => Some(self.status.to_string()),
            "#" => Some(self.arguments.len().saturating_sub(1).to_string()),
            _ if name.starts_with(|char: char| char.is_ascii_digit()) => {
                self.arguments.get(name.parse::<usize>().ok()?).cloned()
            }
            _ => self.variables.get(name).map(|it| it.value.clone()),
        }
    }

    /// Expands words to arguments.
    ///
    /// # Errors
    /// The name of an unset variable, under `set -u`.
    pub(super) fn fields(&self, words: &[Word]) -> Result<Vec<String>, String> {
        let mut fields = Fields::default();
        for word in words {
            self.expand(word, Cuts::Values, &mut fields)?;
            fields.cut();
        }
        Ok(fields.done)
    }

    /// Expands an assigned value to a single text, without splitting.
    ///
    /// # Errors
    /// As for `fields`.
    pub(super) fn text(&self, word: &Word) -> Result<String, String> {
        let mut fields = Fields::default();
        self.expand(word, Cuts::Nothing, &mut fields)?;
        Ok(fields.open.unwrap_or_default())
    }

    fn expand(&self, word: &Word, cuts: Cuts, fields: &mut Fields) -> Result<(), String> {
        for piece in &word.0 {
            match piece {
                Piece::Text { text, is_quoted: false } if cuts == Cuts::Defaults => {
                    fields.add_in_words(text);
                }
                Piece::Text { text, .. } => fields.add(text),
                Piece::Arguments { is_quoted: true, is_joined: true } => {
                    fields.add(&self.arguments.get(1..).unwrap_or_default().join(" "));
                }
                Piece::Arguments { is_quoted, .. } => {
                    let arguments = self.arguments.get(1..).unwrap_or_default();
                    for (index, argument) in arguments.iter().enumerate() {
                        match (cuts != Cuts::Nothing, is_quoted) {
                            (true, _) if index > 0 => fields.cut(),
                            (false, _) if index > 0 => fields.add(" "),
                            _ => {}
                        }
                        if cuts != Cuts::Nothing && !is_quoted {
                            fields.add_in_words(argument);
                        } else {
                            fields.add(argument);
                        }
                    }
                }
                Piece::Value { name, default, is_quoted } => {
                    let value = self.value(name);
                    if *is_quoted {
                        // Empty quotes make an empty word.
                        fields.add("");
                    }
                    match (value, default) {
                        (Some(value), Some(default))
                            if value.is_empty() && default.also_if_empty =>
                        {
                            self.expand(&default.word, cuts.in_default(), fields)?;
                        }
                        (Some(value), _) if cuts != Cuts::Nothing && !is_quoted => {
                            fields.add_in_words(&value)
                        }
                        (Some(value), _) => fields.add(&value),
                        (None, Some(default)) => {
                            self.expand(&default.word, cuts.in_default(), fields)?
                        }
                        (None, None) if self.refuses_unset => return Err(name.clone()),
                        (None, None) => {}
                    }
                }
            }
        }
        Ok(())
    }
}
