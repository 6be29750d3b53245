//! The syntax tree of a script.

/// Deepest nesting of compound commands, and of values inside values.
pub(super) const DEPTH_MAX: usize = 50;
/// Longest script, in bytes.
pub(super) const SCRIPT_BYTES_MAX: usize = 256 << 10;

/// A sequence of commands.
pub(super) type List = Vec<AndOr>;

/// Pipelines joined by `&&` and `||`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AndOr {
    pub(super) first: Pipeline,
    pub(super) rest: Vec<(Joint, Pipeline)>,
    /// Ended by `&`: the shell does not wait for it.
    pub(super) in_background: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    And,
    Or,
}

/// One command, whose status `!` negates. Real pipes are rejected.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pipeline {
    pub(super) is_negated: bool,
    pub(super) command: Command,
    pub(super) redirections: Vec<Redirection>,
    /// The line in the script, from 1.
    pub(super) line: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    Simple {
        assignments: Vec<(String, Word)>,
        words: Vec<Word>,
    },
    /// `( … )`, a subshell with its own variables, or `{ …; }`.
    Group {
        list: List,
        is_subshell: bool,
    },
    /// Each condition with its branch.
    If {
        branches: Vec<(List, List)>,
        otherwise: List,
    },
    /// `until` loops while the condition fails.
    While {
        is_until: bool,
        condition: List,
        body: List,
    },
    For {
        name: String,
        words: Vec<Word>,
        body: List,
    },
}

/// True for a valid variable name.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(is_name_start) && text.chars().all(is_in_name)
}

pub(super) fn is_name_start(char: char) -> bool {
    char.is_ascii_alphabetic() || char == '_'
}

pub(super) fn is_in_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

/// A word as written, before expansion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word(pub(super) Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text {
        text: String,
        is_quoted: bool,
    },
    /// `$NAME`, `${NAME}`, `$1`, `$?`, `$#`.
    Value {
        name: String,
        default: Option<Default>,
        is_quoted: bool,
    },
    /// `$@`, or `$*`, which becomes one word in quotes.
    Arguments {
        is_quoted: bool,
        is_joined: bool,
    },
}

/// `${NAME:-WORD}`, or `${NAME-WORD}`, which replaces unset variables only, not empty ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Default {
    pub(super) also_if_empty: bool,
    pub(super) word: Word,
}

impl Word {
    /// The word's text, if it contains no expansions.
    pub(super) fn literal(&self) -> Option<String> {
        let text = |piece: &Piece| match piece {
            Piece::Text { text, .. } => Some(text.clone()),
            _ => None,
        };
        self.0.iter().map(text).collect()
    }

    /// Name and value, if the word is an assignment.
    pub(super) fn assignment(&self) -> Option<(String, Word)> {
        let (first, rest) = self.0.split_first()?;
        let Piece::Text { text, is_quoted: false } = first else { return None };
        let (name, value) = text.split_once('=').filter(|(name, _)| is_name(name))?;
        let value = Piece::Text { text: value.to_owned(), is_quoted: true };
        Some((name.to_owned(), Word([&[value], rest].concat())))
    }

    /// The word's text if it is unquoted, as keywords and assigned names must be.
    pub(super) fn bare(&self) -> Option<&str> {
        match &self.0[..] {
            [Piece::Text { text, is_quoted: false }] => Some(text),
            _ => None,
        }
    }
}

/// A redirection of standard output or standard error.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Redirection {
    pub(super) from: Stream,
    pub(super) to: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Output,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Null,
    Stream(Stream),
}

/// The reason why a script is rejected.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) line: usize,
    pub(super) reason: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.reason)
    }
}
