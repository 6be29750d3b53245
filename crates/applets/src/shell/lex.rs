//! The lexer: splits scripts into tokens.

use super::syntax::{
    DEPTH_MAX, Default, Piece, Redirection, Refusal, Stream, Target, Word, is_in_name,
    is_name_start,
};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    Redirection(Redirection),
    /// One of `&&`, `||`, `;`, `&`, `(`, `)` and the end of a line.
    Operator(&'static str),
}

pub(super) const NEWLINE: &str = "\n";

/// Operators, the longest first, so that `&&` is not read as two `&`.
const OPERATORS: [&str; 6] = ["&&", "||", ";", "&", "(", ")"];
const REFUSED: [(&str, &str); 5] = [
    ("<(", "process substitution"),
    ("<", "reading from a file (<)"),
    (";;", "case … esac"),
    ("|", "a pipe (|)"),
    (">(", "process substitution"),
];

/// Splits a script into tokens, each with its line.
pub(super) fn tokens(script: &str) -> Result<Vec<(usize, Token)>, Refusal> {
    let mut lexer = Lexer { rest: script, line: 1 };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.token()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
}

/// True for characters that end an unquoted word.
fn is_meta(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>')
}

/// True for a glob pattern, which a shell would expand to file names. URLs are exempt, because no
/// file has such a name, and so are assigned values, which are not expanded.
fn is_pattern(word: &Word) -> bool {
    let shown = |piece: &Piece| match piece {
        Piece::Text { text, is_quoted: false } => text.clone(),
        _ => "x".to_owned(),
    };
    let text: String = word.0.iter().map(shown).collect();
    if text.contains("://") || word.assignment().is_some() {
        return false;
    }
    let has_set = text.find('[').zip(text.rfind(']')).is_some_and(|(open, close)| open + 1 < close);
    text.contains('?') || has_set
}

impl Lexer<'_> {
    fn refuse<T>(&self, what: &str) -> Result<T, Refusal> {
        Err(Refusal { line: self.line, reason: format!("{what} is not supported here") })
    }

    fn unfinished<T>(&self, what: &str) -> Result<T, Refusal> {
        Err(Refusal { line: self.line, reason: format!("the end of {what} is missing") })
    }

    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        if let Some(rest) = rest {
            self.rest = rest;
        }
        rest.is_some()
    }

    fn char(&mut self) -> Option<char> {
        let char = self.rest.chars().next()?;
        self.rest = &self.rest[char.len_utf8()..];
        self.line += usize::from(char == '\n');
        Some(char)
    }

    fn take_while(&mut self, is_wanted: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|char| !is_wanted(char)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken.to_owned()
    }

    fn token(&mut self) -> Result<Option<(usize, Token)>, Refusal> {
        loop {
            self.take_while(|char| matches!(char, ' ' | '\t' | '\r'));
            if self.take("\\\n") || self.take("\\\r\n") {
                self.line += 1;
            } else if self.rest.starts_with('#') {
                self.take_while(|char| char != '\n');
            } else {
                break;
            }
        }
        let line = self.line;
        if self.rest.is_empty() {
            return Ok(None);
        }
        if self.take("\n") {
            self.line += 1;
            return Ok(Some((line, Token::Operator(NEWLINE))));
        }
        if let Some(redirection) = self.redirection()? {
            return Ok(Some((line, Token::Redirection(redirection))));
        }
        for (text, what) in REFUSED {
            if self.rest.starts_with(text) && !self.rest.starts_with("||") {
                return self.refuse(what);
            }
        }
        for operator in OPERATORS {
            if self.take(operator) {
                return Ok(Some((line, Token::Operator(operator))));
            }
        }
        Ok(Some((line, Token::Word(self.word()?))))
    }

    /// Parses `>/dev/null`, `2>&1` and similar redirections, the only supported ones.
    fn redirection(&mut self) -> Result<Option<Redirection>, Refusal> {
        let forms = [("1>", Stream::Output), ("2>", Stream::Error), (">", Stream::Output)];
        if self.take("&>") {
            return self.refuse("&> (write >/dev/null 2>&1)");
        }
        let Some((_, from)) = forms.into_iter().find(|(text, _)| self.take(text)) else {
            return Ok(None);
        };
        for (text, to) in [("&1", Stream::Output), ("&2", Stream::Error)] {
            if self.take(text) {
                return Ok(Some(Redirection { from, to: Target::Stream(to) }));
            }
        }
        self.take(">");
        self.take_while(|char| matches!(char, ' ' | '\t'));
        if self.rest.starts_with(is_meta) || self.rest.is_empty() {
            return self.refuse("this redirection");
        }
        match self.word()?.literal().as_deref() {
            Some("/dev/null") => Ok(Some(Redirection { from, to: Target::Null })),
            Some("/dev/stdout") => {
                Ok(Some(Redirection { from, to: Target::Stream(Stream::Output) }))
            }
            Some("/dev/stderr") => {
                Ok(Some(Redirection { from, to: Target::Stream(Stream::Error) }))
            }
            _ => self.refuse("writing to another file than /dev/null (>)"),
        }
    }

    fn word(&mut self) -> Result<Word, Refusal> {
        let mut word = Word::default();
        while let Some(next) = self.rest.chars().next().filter(|char| !is_meta(*char)) {
            match next {
                '\'' => {
                    self.char();
                    let text = self.take_while_counted('\'')?;
                    word.0.push(Piece::Text { text, is_quoted: true });
                }
                '"' => {
                    self.char();
                    self.quoted(&mut word)?;
                }
                '\\' => {
                    self.char();
                    match self.char() {
                        Some('\n') => {}
                        Some(char) => {
                            word.0.push(Piece::Text { text: char.into(), is_quoted: true });
                        }
                        None => return self.unfinished("the line"),
                    }
                }
                '$' => {
                    let piece = self.value(false, 0)?;
                    word.0.push(piece);
                }
                '`' => return self.refuse("the output of a command (`…`)"),
                '*' => return self.refuse("a pattern of file names (*; quote it)"),
                '~' if word.0.is_empty() => return self.refuse("the home directory (~)"),
                _ => {
                    let text = self.take_while(|char| {
                        !is_meta(char) && !matches!(char, '\'' | '"' | '\\' | '$' | '`' | '*')
                    });
                    if text.contains('{') && text.contains(',') && text.contains('}') {
                        return self.refuse("a list of words in braces ({a,b}; write them out)");
                    }
                    word.0.push(Piece::Text { text, is_quoted: false });
                }
            }
        }
        let is_number = word.bare().is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
        if is_number && self.rest.starts_with(['<', '>']) {
            return self.refuse("a redirection of other streams than 1 and 2");
        }
        if is_pattern(&word) {
            return self.refuse("a pattern of file names (? or […]; quote it)");
        }
        Ok(word)
    }

    /// Consumes the text up to and including this quote.
    fn take_while_counted(&mut self, quote: char) -> Result<String, Refusal> {
        let text = self.take_while(|char| char != quote);
        if self.char().is_none() {
            return self.unfinished("a text in quotes");
        }
        self.line += text.matches('\n').count();
        Ok(text)
    }

    /// Parses the text after a double quote, up to the closing one.
    fn quoted(&mut self, word: &mut Word) -> Result<(), Refusal> {
        let mut text = String::new();
        let before = word.0.len();
        let end = |text: &mut String, word: &mut Word| {
            // `""` makes an empty word; the empty text around `"$@"` must not.
            if !text.is_empty() || word.0.len() == before {
                word.0.push(Piece::Text { text: std::mem::take(text), is_quoted: true });
            }
        };
        loop {
            match self.rest.chars().next() {
                None => return self.unfinished("a text in quotes"),
                Some('"') => {
                    self.char();
                    end(&mut text, word);
                    return Ok(());
                }
                Some('`') => return self.refuse("the output of a command (`…`)"),
                Some('$') => {
                    if !text.is_empty() {
                        end(&mut text, word);
                    }
                    let piece = self.value(true, 0)?;
                    word.0.push(piece);
                }
                Some('\\') => {
                    self.char();
                    match self.char() {
                        Some('\n') => {}
                        Some(char @ ('$' | '`' | '"' | '\\')) => text.push(char),
                        Some(char) => text.extend(['\\', char]),
                        None => return self.unfinished("a text in quotes"),
                    }
                }
                Some(char) => {
                    self.char();
                    text.push(char);
                }
            }
        }
    }

    /// Parses the expansion after `$`.
    fn value(&mut self, is_quoted: bool, depth: usize) -> Result<Piece, Refusal> {
        self.char();
        if depth > DEPTH_MAX {
            return self.refuse("such a deep nesting");
        }
        if self.rest.starts_with('(') {
            return self.refuse("the output of a command ($(…))");
        }
        if self.take("{") {
            return self.braced(is_quoted, depth);
        }
        if let Some(char @ ('@' | '*')) = self.rest.chars().next() {
            self.char();
            return Ok(Piece::Arguments { is_quoted, is_joined: char == '*' });
        }
        let name = match self.rest.chars().next() {
            Some(char) if is_name_start(char) => self.take_while(is_in_name),
            Some(char) if char.is_ascii_digit() || matches!(char, '?' | '#') => {
                self.char();
                char.to_string()
            }
            Some(char @ ('!' | '$' | '-' | '\'' | '"')) if char != '"' || !is_quoted => {
                return self.refuse(&format!("${char}"));
            }
            // A `$` before any other character is literal.
            _ => return Ok(Piece::Text { text: "$".to_owned(), is_quoted: true }),
        };
        Ok(Piece::Value { name, default: None, is_quoted })
    }

    /// Parses the expansion after `${`, up to its `}`.
    fn braced(&mut self, is_quoted: bool, depth: usize) -> Result<Piece, Refusal> {
        for (text, is_joined) in [("@}", false), ("*}", true)] {
            if self.take(text) {
                return Ok(Piece::Arguments { is_quoted, is_joined });
            }
        }
        let name = match self.rest.chars().next() {
            Some(char) if is_name_start(char) => self.take_while(is_in_name),
            Some(char) if char.is_ascii_digit() => self.take_while(|char| char.is_ascii_digit()),
            Some(char @ ('?' | '#')) if self.rest[1..].starts_with('}') => {
                self.char();
                char.to_string()
            }
            _ => return self.refuse("this form of ${…}"),
        };
        if self.take("}") {
            return Ok(Piece::Value { name, default: None, is_quoted });
        }
        let also_if_empty = self.take(":");
        if !self.take("-") {
            return self.refuse(&format!("this form of ${{{name}…}}"));
        }
        let word = self.default(is_quoted, depth)?;
        Ok(Piece::Value { name, default: Some(Default { also_if_empty, word }), is_quoted })
    }

    fn default(&mut self, is_quoted: bool, depth: usize) -> Result<Word, Refusal> {
        let mut word = Word::default();
        loop {
            match self.rest.chars().next() {
                None => return self.unfinished("${…}"),
                Some('}') => {
                    self.char();
                    return Ok(word);
                }
                Some('\'') if !is_quoted => {
                    self.char();
                    let text = self.take_while_counted('\'')?;
                    word.0.push(Piece::Text { text, is_quoted: true });
                }
                Some('"') if is_quoted => return self.refuse("a quote in a quoted ${…}"),
                Some('"') => {
                    self.char();
                    self.quoted(&mut word)?;
                }
                Some('`') => return self.refuse("the output of a command (`…`)"),
                Some('$') => {
                    let piece = self.value(is_quoted, depth + 1)?;
                    word.0.push(piece);
                }
                Some('\\') => {
                    self.char();
                    match self.char() {
                        Some(char) => {
                            word.0.push(Piece::Text { text: char.into(), is_quoted: true });
                        }
                        None => return self.unfinished("${…}"),
                    }
                }
                Some(char) => {
                    self.char();
                    word.0.push(Piece::Text { text: char.into(), is_quoted });
                }
            }
        }
    }
}
