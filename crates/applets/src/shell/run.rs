//! The interpreter of the syntax tree.

use std::process::Child;

use super::expand::{Scope, Variable};
use super::process::{Program, Programs, Streams};
use super::syntax::{AndOr, Command, Joint, List, Pipeline, Word, is_name};
use crate::builtin::{self, Builtin};
use crate::names;

/// Exit code: the script cannot continue, because a program cannot be started or `set -u` was
/// violated.
const FAILED: u8 = 2;
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;

/// The reason to leave a list early.
pub(super) enum Leave {
    Script(u8),
    Loop { goes_on: bool },
}

/// The context of a command in the script.
#[derive(Clone, Copy)]
struct Place {
    /// Nothing follows, so the program can replace this process.
    is_last: bool,
    /// The status is tested, so `set -e` does not end the script.
    is_condition: bool,
    streams: Streams,
}

impl Place {
    fn inner(self) -> Place {
        Place { is_last: false, ..self }
    }

    fn condition(self) -> Place {
        Place { is_last: false, is_condition: true, ..self }
    }
}

/// The state of a running script.
pub(super) struct Shell {
    pub(super) scope: Scope,
    /// `set -e`.
    pub(super) ends_on_failure: bool,
    programs: Programs,
    in_background: Vec<Child>,
    /// Depth of subshells around the current command.
    subshells: usize,
}

/// Builtins that change the shell itself.
pub(super) const OWN_COMMANDS: [&str; 10] =
    ["break", "cd", "continue", "exec", "exit", "export", "set", "unset", "wait", ":"];

impl Shell {
    /// Starts handling stop signals, which end the script.
    pub(super) fn new(scope: Scope) -> Shell {
        Shell {
            scope,
            ends_on_failure: false,
            programs: Programs::listening(),
            in_background: Vec::new(),
            subshells: 0,
        }
    }

    /// Runs a script, and returns its exit code, unless its last program replaces this process.
    pub(super) fn run(&mut self, script: &List) -> u8 {
        let place = Place { is_last: true, is_condition: false, streams: Streams::OWN };
        match self.list(script, place) {
            Ok(status) | Err(Leave::Script(status)) => status,
            // `check` rejects it, unless the command's name comes from a variable.
            Err(Leave::Loop { .. }) => FAILED,
        }
    }

    fn list(&mut self, list: &List, place: Place) -> Result<u8, Leave> {
        let mut status = 0;
        for (index, command) in list.iter().enumerate() {
            let is_last = place.is_last && index + 1 == list.len();
            status = self.and_or(command, Place { is_last, ..place })?;
        }
        Ok(status)
    }

    fn and_or(&mut self, command: &AndOr, place: Place) -> Result<u8, Leave> {
        if command.in_background {
            self.start(&command.first, place)?;
            return Ok(self.note(0));
        }
        let steps = command.rest.len();
        let at = |index| if index == steps { place } else { place.condition() };
        let mut status = self.pipeline(&command.first, at(0))?;
        for (index, (joint, pipeline)) in command.rest.iter().enumerate() {
            if (*joint == Joint::And) == (status == 0) {
                status = self.pipeline(pipeline, at(index + 1))?;
            }
        }
        Ok(status)
    }

    fn note(&mut self, status: u8) -> u8 {
        self.scope.status = status;
        status
    }

    fn pipeline(&mut self, pipeline: &Pipeline, place: Place) -> Result<u8, Leave> {
        let streams = place.streams.redirected(&pipeline.redirections);
        let place = Place { streams, ..place };
        let place = if pipeline.is_negated { place.condition() } else { place };
        let status = self.command(&pipeline.command, place)?;
        let status = if pipeline.is_negated { u8::from(status == 0) } else { status };
        // Commands inside compound commands were checked individually.
        let ends = matches!(
            pipeline.command,
            Command::Simple { .. } | Command::Group { is_subshell: true, .. }
        );
        if self.ends_on_failure && status != 0 && ends && !place.is_condition {
            return Err(Leave::Script(status));
        }
        Ok(self.note(status))
    }

    fn command(&mut self, command: &Command, place: Place) -> Result<u8, Leave> {
        match command {
            Command::Simple { assignments, words } => self.simple(assignments, words, place),
            Command::Group { list, is_subshell: false } => self.list(list, place),
            Command::Group { list, is_subshell: true } => self.subshell(list, place),
            Command::If { branches, otherwise } => {
                for (condition, body) in branches {
                    if self.list(condition, place.condition())? == 0 {
                        return self.list(body, place);
                    }
                }
                self.list(otherwise, place)
            }
            Command::While { is_until, condition, body } => {
                let mut status = 0;
                while (self.list(condition, place.condition())? == 0) != *is_until {
                    match self.list(body, place.inner()) {
                        Ok(of_body) => status = of_body,
                        Err(Leave::Loop { goes_on: true }) => status = 0,
                        Err(Leave::Loop { goes_on: false }) => return Ok(0),
                        Err(leave) => return Err(leave),
                    }
                }
                Ok(status)
            }
            Command::For { name, words, body } => {
                let mut status = 0;
                for value in self.fields(words, place)? {
                    self.scope.set(name, value);
                    match self.list(body, place.inner()) {
                        Ok(of_body) => status = of_body,
                        Err(Leave::Loop { goes_on: true }) => status = 0,
                        Err(Leave::Loop { goes_on: false }) => return Ok(0),
                        Err(leave) => return Err(leave),
                    }
                }
                Ok(status)
            }
        }
    }

    /// Runs a subshell: variables and the working directory are restored after it, and `exit`
    /// leaves only the subshell.
    fn subshell(&mut self, list: &List, place: Place) -> Result<u8, Leave> {
        let before = (self.scope.clone(), self.ends_on_failure);
        let directory = std::env::current_dir();
        self.subshells += 1;
        let result = self.list(list, place);
        self.subshells -= 1;
        (self.scope, self.ends_on_failure) = before;
        if let Err(error) = directory.and_then(std::env::set_current_dir) {
            // Otherwise the following commands would run in the wrong directory.
            place.streams.complain(&format!("sh: cannot go back from a subshell: {error}\n"));
            return Err(Leave::Script(FAILED));
        }
        match result {
            Ok(status) | Err(Leave::Script(status)) => Ok(status),
            Err(Leave::Loop { .. }) => Ok(0),
        }
    }

    fn fields(&self, words: &[Word], place: Place) -> Result<Vec<String>, Leave> {
        self.scope.fields(words).map_err(|name| unset(&name, place))
    }

    fn text(&self, word: &Word, place: Place) -> Result<String, Leave> {
        self.scope.text(word).map_err(|name| unset(&name, place))
    }

    fn simple(
        &mut self,
        assignments: &[(String, Word)],
        words: &[Word],
        place: Place,
    ) -> Result<u8, Leave> {
        let mut words = self.fields(words, place)?;
        let mut values = Vec::new();
        for (name, value) in assignments {
            values.push((name.clone(), self.text(value, place)?));
        }
        if words.is_empty() {
            for (name, value) in values {
                self.scope.set(&name, value);
            }
            return Ok(0);
        }
        let replaces = words[0] == "exec";
        if replaces {
            words.remove(0);
            if words.is_empty() {
                return Ok(0);
            }
        } else if OWN_COMMANDS.contains(&&*words[0]) {
            return self.own_command(&words, place);
        }
        if let Some(builtin) = builtin::find(&words[0]) {
            let status = self.builtin(builtin, &words, place);
            return if replaces { Err(Leave::Script(status)) } else { Ok(status) };
        }
        let program = match self.program(&words, values, place) {
            Ok(program) => program,
            Err((code, reason)) => {
                place.streams.complain(&format!("sh: {reason}\n"));
                return if replaces { Err(Leave::Script(code)) } else { Ok(code) };
            }
        };
        let can_replace = place.is_last && self.in_background.is_empty();
        if can_replace || replaces && self.subshells == 0 {
            let error = self.programs.become_it(&program);
            place.streams.complain(&format!("sh: {}: {error}\n", words[0]));
            return Err(Leave::Script(NOT_RUN));
        }
        let status = match self.programs.start(&program) {
            Ok(child) => self.programs.finish(child),
            Err(error) => {
                place.streams.complain(&format!("sh: {}: {error}\n", words[0]));
                NOT_RUN
            }
        };
        // `exec` ends its subshell.
        if replaces { Err(Leave::Script(status)) } else { Ok(status) }
    }

    fn start(&mut self, pipeline: &Pipeline, place: Place) -> Result<(), Leave> {
        let streams = place.streams.redirected(&pipeline.redirections);
        let Command::Simple { assignments, words } = &pipeline.command else {
            unreachable!("`check` lets nothing else into the background");
        };
        let words = self.fields(words, place)?;
        let mut values = Vec::new();
        for (name, value) in assignments {
            values.push((name.clone(), self.text(value, place)?));
        }
        let place = Place { streams, ..place };
        let started = self.program(&words, values, place).and_then(|program| {
            self.programs.start(&program).map_err(|error| (NOT_RUN, error.to_string()))
        });
        match started {
            Ok(child) => self.in_background.push(child),
            Err((_, reason)) => streams.complain(&format!("sh: {reason}\n")),
        }
        Ok(())
    }

    /// Builds the program of these words, with these variables in addition to the exported ones.
    fn program(
        &self,
        words: &[String],
        values: Vec<(String, String)>,
        place: Place,
    ) -> Result<Program, (u8, String)> {
        let Some(name) = words.first() else {
            return Err((NOT_FOUND, "a command is missing".to_owned()));
        };
        let mut all: Vec<_> = words.iter().map(Into::into).collect();
        if names::applet_at(name).is_none() {
            let is_script = names::is_script(name.as_ref()).map_err(|error| {
                let code =
                    if error.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN };
                (code, format!("{name}: {error}"))
            })?;
            if !is_script {
                return Err((
                    NOT_RUN,
                    format!("{name}: neither a command of this image nor a script"),
                ));
            }
            all.insert(0, "sh".into());
        }
        let exported = self.scope.variables.iter().filter(|(_, it)| it.is_exported);
        let mut environment: std::collections::BTreeMap<_, _> =
            exported.map(|(name, it)| (name.clone(), it.value.clone())).collect();
        environment.extend(values);
        Ok(Program { words: all, environment, streams: place.streams })
    }

    fn builtin(&mut self, builtin: Builtin, words: &[String], place: Place) -> u8 {
        let streams = place.streams;
        let outcome = builtin(&words[1..], &mut |text| streams.print(text));
        outcome.unwrap_or_else(|reason| {
            streams.complain(&format!("{}: {reason}\n", words[0]));
            // Errors of `test` are 2, because 1 means false.
            if matches!(&*words[0], "[" | "test") { 2 } else { 1 }
        })
    }

    fn own_command(&mut self, words: &[String], place: Place) -> Result<u8, Leave> {
        let complain = |reason: &str| {
            place.streams.complain(&format!("sh: {}: {reason}\n", words[0]));
            Err(Leave::Script(FAILED))
        };
        let arguments = &words[1..];
        match &*words[0] {
            "exit" => match arguments {
                [] => Err(Leave::Script(self.scope.status)),
                [code] => match code.parse::<u32>() {
                    Ok(code) => Err(Leave::Script((code & 0xff) as u8)),
                    Err(_) => complain("the exit code is no number"),
                },
                _ => complain("too many arguments"),
            },
            "break" | "continue" if arguments.is_empty() => {
                Err(Leave::Loop { goes_on: words[0] == "continue" })
            }
            "export" => {
                for argument in arguments {
                    let (name, value) = match argument.split_once('=') {
                        Some((name, value)) => (name, Some(value.to_owned())),
                        None => (&**argument, None),
                    };
                    if !is_name(name) {
                        return complain(&format!("{name:?} is no name of a variable"));
                    }
                    let value =
                        value.or_else(|| self.scope.variables.get(name).map(|it| it.value.clone()));
                    if let Some(value) = value {
                        let variable = Variable { value, is_exported: true };
                        self.scope.variables.insert(name.to_owned(), variable);
                    }
                }
                Ok(0)
            }
            "unset" => {
                for name in arguments {
                    self.scope.variables.remove(name);
                }
                Ok(0)
            }
            "set" => match self.set_options(arguments) {
                Ok(()) => Ok(0),
                Err(reason) => complain(&reason),
            },
            "wait" if arguments.is_empty() => {
                for child in std::mem::take(&mut self.in_background) {
                    self.programs.finish(child);
                }
                Ok(0)
            }
            "cd" => match arguments {
                [directory] => match std::env::set_current_dir(directory) {
                    Ok(()) => Ok(0),
                    Err(error) => {
                        place.streams.complain(&format!("sh: cd: {directory}: {error}\n"));
                        Ok(1)
                    }
                },
                _ => complain("name one directory"),
            },
            ":" => Ok(0),
            _ => complain("arguments are not supported here"),
        }
    }

    /// Applies the options of `set -eu`, and of `sh -eu`.
    pub(super) fn set_options(&mut self, arguments: &[String]) -> Result<(), String> {
        for (option, is_on) in options(arguments)? {
            match option {
                ShellOption::EndsOnFailure => self.ends_on_failure = is_on,
                ShellOption::RefusesUnset => self.scope.refuses_unset = is_on,
                ShellOption::NoEffect => {}
            }
        }
        Ok(())
    }
}

/// An option of the shell.
#[derive(Clone, Copy)]
pub(super) enum ShellOption {
    EndsOnFailure,
    RefusesUnset,
    /// `-x`, which only prints, and `pipefail`, because there are no pipes.
    NoEffect,
}

/// Parses the options in `-eu`, `+e` or `-eo pipefail`; true turns an option on.
///
/// # Errors
/// A line that names the unsupported option.
pub(super) fn options(arguments: &[String]) -> Result<Vec<(ShellOption, bool)>, String> {
    let mut options = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let is_on = argument.starts_with('-');
        let letters = argument.strip_prefix(['-', '+']).filter(|it| !it.is_empty());
        for letter in letters.ok_or(format!("{argument:?} is not supported here"))?.chars() {
            let option = match letter {
                'e' => ShellOption::EndsOnFailure,
                'u' => ShellOption::RefusesUnset,
                'x' => ShellOption::NoEffect,
                'o' => match arguments.next().map(|name| &**name) {
                    Some("errexit") => ShellOption::EndsOnFailure,
                    Some("nounset") => ShellOption::RefusesUnset,
                    Some("pipefail" | "xtrace") => ShellOption::NoEffect,
                    Some(name) => {
                        return Err(format!("the option -o {name} is not supported here"));
                    }
                    None => return Err("the name of the option after -o is missing".to_owned()),
                },
                _ => return Err(format!("the option -{letter} is not supported here")),
            };
            options.push((option, is_on));
        }
    }
    Ok(options)
}

fn unset(name: &str, place: Place) -> Leave {
    place.streams.complain(&format!("sh: {name} is not set\n"));
    Leave::Script(FAILED)
}
