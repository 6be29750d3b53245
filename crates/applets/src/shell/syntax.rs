//! The syntax tree of a script.

/// Deepest nesting of compound commands and of values in values.
pub(super) const DEPTH_MAX: usize = 50;
/// Longest script, in bytes.
pub(super) const SCRIPT_BYTES_MAX: usize = 256 << 10;

/// Commands one after another.
pub(super) type List = Vec<AndOr>;

/// Pipelines joined by `&&` and `||`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AndOr {
    pub(super) first: Pipeline,
    pub(super) rest: Vec<(Joint, Pipeline)>,
    /// Ended by `&`: nobody waits for it.
    pub(super) in_background: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    And,
    Or,
}

/// One command, whose status `!` turns around. Real pipes are refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pipeline {
    pub(super) is_negated: bool,
    pub(super) command: Command,
    pub(super) redirections: Vec<Redirection>,
    /// The line of the script, from 1.
    pub(super) line: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    Simple {
        assignments: Vec<(String, Word)>,
        words: Vec<Word>,
    },
    /// `( … )`, whose variables are its own, or `{ …; }`.
    Group {
        list: List,
        is_subshell: bool,
    },
    /// Each condition with what follows when it holds.
    If {
        branches: Vec<(List, List)>,
        otherwise: List,
    },
    /// `until` wants the condition to fail.
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

/// True for the name of a variable.
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
    /// `$@`, or `$*`, which is one word in quotes.
    Arguments {
        is_quoted: bool,
        is_joined: bool,
    },
}

/// `${NAME:-WORD}`, or `${NAME-WORD}` for a variable that is not set at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Default {
    pub(super) also_if_empty: bool,
    pub(super) word: Word,
}

impl Word {
    /// The word, if nothing in it depends on variables.
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

    /// The word, if no character of it is quoted: keywords and names of assignments are.
    pub(super) fn bare(&self) -> Option<&str> {
        match &self.0[..] {
            [Piece::Text { text, is_quoted: false }] => Some(text),
            _ => None,
        }
    }
}

/// Standard output or standard error, and where it goes.
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

/// The reason why a script is not run.
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
