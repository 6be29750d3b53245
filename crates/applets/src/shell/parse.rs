//! The parser: builds the syntax tree from tokens.

use super::lex::{NEWLINE, Token, tokens};
use super::syntax::{
    AndOr, Command, DEPTH_MAX, Joint, List, Pipeline, Redirection, Refusal, SCRIPT_BYTES_MAX, Word,
    is_name,
};

/// Keywords that end a list, or stand inside a compound command.
const ENDS: [&str; 7] = ["then", "elif", "else", "fi", "do", "done", "}"];
const REFUSED: [&str; 6] = ["case", "function", "select", "[[", "esac", "coproc"];

/// Parses a whole script.
///
/// # Errors
/// The first line with an unsupported form.
pub(super) fn parse(script: &str) -> Result<List, Refusal> {
    if script.len() > SCRIPT_BYTES_MAX {
        return Err(Refusal { line: 1, reason: "the script is too long".to_owned() });
    }
    let mut parser = Parser { tokens: tokens(script)?, next: 0, depth: 0 };
    let list = parser.list()?;
    match parser.peek() {
        None => Ok(list),
        Some(_) => parser.unexpected(),
    }
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.next).or(self.tokens.last()).map_or(1, |(line, _)| *line)
    }

    fn refuse<T>(&self, reason: impl Into<String>) -> Result<T, Refusal> {
        Err(Refusal { line: self.line(), reason: reason.into() })
    }

    fn unexpected<T>(&self) -> Result<T, Refusal> {
        match self.peek() {
            None => self.refuse("the script ends in the middle of a command"),
            Some(Token::Word(word)) => {
                let word = word.literal().unwrap_or_default();
                self.refuse(format!("{word:?} stands where no command can be"))
            }
            Some(Token::Operator(operator)) => {
                self.refuse(format!("{operator:?} stands where a command has to be"))
            }
            Some(Token::Redirection(_)) => self.refuse("a redirection without a command"),
        }
    }

    fn take_operator(&mut self, operator: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Operator(next)) if *next == operator);
        self.next += usize::from(is_next);
        is_next
    }

    fn keyword(&self) -> Option<&str> {
        match self.peek() {
            Some(Token::Word(word)) => word.bare(),
            _ => None,
        }
    }

    fn take_keyword(&mut self, keyword: &str) -> bool {
        let is_next = self.keyword() == Some(keyword);
        self.next += usize::from(is_next);
        is_next
    }

    fn expect_keyword(&mut self, keyword: &str) -> Result<(), Refusal> {
        if self.take_keyword(keyword) {
            return Ok(());
        }
        self.refuse(format!("{keyword:?} is missing"))
    }

    fn skip_newlines(&mut self) {
        while self.take_operator(NEWLINE) {}
    }

    /// Parses commands up to the end of the script or of a group, or to a keyword.
    fn list(&mut self) -> Result<List, Refusal> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return self.refuse("commands are nested too deeply");
        }
        let mut list = List::new();
        loop {
            self.skip_newlines();
            let is_end = match self.peek() {
                None => true,
                Some(Token::Operator(operator)) => *operator == ")",
                Some(_) => self.keyword().is_some_and(|word| ENDS.contains(&word)),
            };
            if is_end {
                break;
            }
            let mut command = self.and_or()?;
            command.in_background = self.take_operator("&");
            let is_ended =
                command.in_background || self.take_operator(";") || self.take_operator(NEWLINE);
            list.push(command);
            if !is_ended {
                break;
            }
        }
        self.depth -= 1;
        Ok(list)
    }

    /// Parses a list with at least one command.
    fn body(&mut self) -> Result<List, Refusal> {
        let list = self.list()?;
        if list.is_empty() { self.unexpected() } else { Ok(list) }
    }

    fn and_or(&mut self) -> Result<AndOr, Refusal> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            let joint = match () {
                () if self.take_operator("&&") => Joint::And,
                () if self.take_operator("||") => Joint::Or,
                () => return Ok(AndOr { first, rest, in_background: false }),
            };
            self.skip_newlines();
            rest.push((joint, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Result<Pipeline, Refusal> {
        let line = self.line();
        let mut is_negated = false;
        while self.take_keyword("!") {
            is_negated = !is_negated;
        }
        let mut redirections = Vec::new();
        let command = self.command(&mut redirections)?;
        while let Some(Token::Redirection(_)) = self.peek() {
            self.redirection(&mut redirections);
        }
        Ok(Pipeline { is_negated, command, redirections, line })
    }

    fn redirection(&mut self, redirections: &mut Vec<Redirection>) {
        if let Some(Token::Redirection(Redirection { from, to })) = self.peek() {
            redirections.push(Redirection { from: *from, to: *to });
            self.next += 1;
        }
    }

    fn command(&mut self, redirections: &mut Vec<Redirection>) -> Result<Command, Refusal> {
        if self.take_operator("(") {
            let list = self.body()?;
            if !self.take_operator(")") {
                return self.refuse("\")\" is missing");
            }
            return Ok(Command::Group { list, is_subshell: true });
        }
        match self.keyword() {
            Some("{") => {
                self.next += 1;
                let list = self.body()?;
                self.expect_keyword("}")?;
                Ok(Command::Group { list, is_subshell: false })
            }
            Some("if") => self.conditional(),
            Some(word @ ("while" | "until")) => {
                let is_until = word == "until";
                self.next += 1;
                let condition = self.body()?;
                self.expect_keyword("do")?;
                let body = self.body()?;
                self.expect_keyword("done")?;
                Ok(Command::While { is_until, condition, body })
            }
            Some("for") => self.iteration(),
            Some(word) if REFUSED.contains(&word) => {
                let reason = format!("{word:?} is not supported here");
                self.refuse(reason)
            }
            Some(word) if ENDS.contains(&word) => self.unexpected(),
            _ => self.simple(redirections),
        }
    }

    fn conditional(&mut self) -> Result<Command, Refusal> {
        let mut branches = Vec::new();
        let mut otherwise = List::new();
        // The position is at "if", then at each "elif".
        loop {
            self.next += 1;
            let condition = self.body()?;
            self.expect_keyword("then")?;
            branches.push((condition, self.body()?));
            if self.keyword() != Some("elif") {
                break;
            }
        }
        if self.take_keyword("else") {
            otherwise = self.body()?;
        }
        self.expect_keyword("fi")?;
        Ok(Command::If { branches, otherwise })
    }

    fn iteration(&mut self) -> Result<Command, Refusal> {
        self.next += 1;
        let name = match self.keyword() {
            Some(name) if is_name(name) => name.to_owned(),
            _ => return self.refuse("a name is missing after \"for\""),
        };
        self.next += 1;
        self.skip_newlines();
        self.expect_keyword("in")?;
        let mut words = Vec::new();
        while let Some(Token::Word(word)) = self.peek() {
            words.push(word.clone());
            self.next += 1;
        }
        if !self.take_operator(";") && !self.take_operator(NEWLINE) {
            return self.unexpected();
        }
        self.skip_newlines();
        self.expect_keyword("do")?;
        let body = self.body()?;
        self.expect_keyword("done")?;
        Ok(Command::For { name, words, body })
    }

    fn simple(&mut self, redirections: &mut Vec<Redirection>) -> Result<Command, Refusal> {
        let mut assignments = Vec::new();
        let mut words: Vec<Word> = Vec::new();
        loop {
            match self.peek() {
                Some(Token::Word(word)) => {
                    let assignment = word.assignment().filter(|_| words.is_empty());
                    match assignment {
                        Some(assignment) => assignments.push(assignment),
                        None => words.push(word.clone()),
                    }
                    self.next += 1;
                }
                Some(Token::Redirection(_)) => self.redirection(redirections),
                Some(Token::Operator("(")) if words.len() == 1 && assignments.is_empty() => {
                    return self.refuse("a function is not supported here");
                }
                _ => break,
            }
        }
        if words.is_empty() && assignments.is_empty() {
            return self.unexpected();
        }
        Ok(Command::Simple { assignments, words })
    }
}
