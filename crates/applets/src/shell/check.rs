//! Rejects, before anything is run, commands that the script could not run.

use super::run::{OWN_COMMANDS, options};
use super::syntax::{Command, List, Pipeline, Refusal, Word, is_name};
use crate::{builtin, names};

/// Rejects unknown commands and unsupported arguments, as far as they are literal in the script.
///
/// # Errors
/// The first such line.
pub(super) fn check(script: &List) -> Result<(), Refusal> {
    list(script, false)
}

fn list(list: &List, in_loop: bool) -> Result<(), Refusal> {
    for command in list {
        let pipelines =
            std::iter::once(&command.first).chain(command.rest.iter().map(|(_, it)| it));
        for pipeline in pipelines {
            check_pipeline(pipeline, in_loop)?;
            let is_program = matches!(&pipeline.command, Command::Simple { words, .. }
                if words.first().and_then(Word::literal).is_none_or(|it| it.contains('/')
                    || names::applet_at(&it).is_some()));
            let is_alone = command.rest.is_empty() && !pipeline.is_negated && is_program;
            if command.in_background && !is_alone {
                let reason = "& is supported after a single program only".to_owned();
                return Err(Refusal { line: pipeline.line, reason });
            }
        }
    }
    Ok(())
}

fn check_pipeline(pipeline: &Pipeline, in_loop: bool) -> Result<(), Refusal> {
    match &pipeline.command {
        Command::Simple { assignments, words } => {
            let fails = assignments.iter().any(|(name, _)| name == "IFS");
            let reason = if fails {
                Err("other separators of words (IFS) are not supported here".to_owned())
            } else {
                simple(words, in_loop)
            };
            reason.map_err(|reason| Refusal { line: pipeline.line, reason })
        }
        // `break` in a subshell cannot leave the loop around it.
        Command::Group { list: body, is_subshell } => list(body, in_loop && !is_subshell),
        Command::If { branches, otherwise } => {
            for (condition, body) in branches {
                list(condition, in_loop)?;
                list(body, in_loop)?;
            }
            list(otherwise, in_loop)
        }
        Command::While { condition, body, .. } => {
            list(condition, true)?;
            list(body, true)
        }
        Command::For { body, .. } => list(body, true),
    }
}

fn simple(words: &[Word], in_loop: bool) -> Result<(), String> {
    let Some((name, arguments)) = words.split_first() else { return Ok(()) };
    // Names from variables are checked when they are run.
    let Some(name) = name.literal() else { return Ok(()) };
    if OWN_COMMANDS.contains(&&*name) {
        return own_command(&name, arguments, in_loop);
    }
    let is_known = builtin::find(&name).is_some()
        || names::applet_at(&name).is_some()
        // A script file, which may be created while this script runs.
        || name.contains('/');
    if !is_known {
        return Err(format!("there is no command {name:?} in this image"));
    }
    small_command(&name, arguments)
}

fn own_command(name: &str, arguments: &[Word], in_loop: bool) -> Result<(), String> {
    let literals: Vec<Option<String>> = arguments.iter().map(Word::literal).collect();
    let refuse = |what: &str| Err(format!("{name} {what} is not supported here"));
    match name {
        "break" | "continue" if !in_loop => refuse("outside a loop"),
        "break" | "continue" | "wait" if !arguments.is_empty() => refuse("with an argument"),
        "exec" if arguments.is_empty() => refuse("without a command"),
        "exec" => simple(arguments, in_loop),
        "exit" if arguments.len() > 1 => refuse("with several arguments"),
        "exit" => match literals.first() {
            Some(Some(code)) if code.parse::<u32>().is_err() => refuse("with this code"),
            _ => Ok(()),
        },
        "cd" => match &literals[..] {
            [Some(directory)] if directory.starts_with('-') => refuse("with an option"),
            [_] => Ok(()),
            _ => refuse("without one directory"),
        },
        "set" => match literals.into_iter().collect::<Option<Vec<_>>>() {
            Some(literals) if !literals.is_empty() => options(&literals).map(drop),
            _ => refuse("without literal options"),
        },
        "export" | "unset" => {
            let is_bad = |literal: &String| {
                let value = if name == "export" { literal.split_once('=') } else { None };
                !is_name(value.map_or(literal, |(name, _)| name))
            };
            match literals.iter().flatten().find(|it| is_bad(it)) {
                Some(literal) => refuse(&format!("of {literal:?}")),
                None if arguments.is_empty() => refuse("without a name"),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// Checks the builtins' options, so that a script does not fail halfway.
fn small_command(name: &str, arguments: &[Word]) -> Result<(), String> {
    let name = name.rsplit('/').next().unwrap_or(name);
    let refuse = |what: &str| Err(format!("{name} {what} is not supported here"));
    let literals: Vec<Option<String>> = arguments.iter().map(Word::literal).collect();
    match name {
        "[" | "test" => {
            let bare: Vec<Option<&str>> = arguments.iter().map(Word::bare).collect();
            match unknown_operator(&bare) {
                Some(operator) => refuse(operator),
                None => Ok(()),
            }
        }
        "echo" => match literals.first() {
            Some(Some(first)) if is_echo_option(first) => refuse(first),
            _ => Ok(()),
        },
        "mkdir" => match literals
            .iter()
            .flatten()
            .find(|it| it.starts_with('-') && !builtin::MKDIR_OPTIONS.contains(&&***it))
        {
            Some(option) => refuse(option),
            None => Ok(()),
        },
        "tail" => match &literals[..] {
            [Some(flag), Some(file)] if builtin::is_tail_of_nothing(flag, file) => Ok(()),
            _ => refuse("of anything but -f /dev/null"),
        },
        _ => Ok(()),
    }
}

/// True for options of `echo` other than `-n`.
fn is_echo_option(text: &str) -> bool {
    let letters = text.strip_prefix('-').filter(|it| !it.is_empty());
    text != "-n" && letters.is_some_and(|it| it.bytes().all(|byte| b"neE".contains(&byte)))
}

/// The first word in an operator's position of `test` that looks like an operator but is unknown.
fn unknown_operator<'a>(words: &[Option<&'a str>]) -> Option<&'a str> {
    let is_binary = |index: Option<usize>| {
        let word = index.and_then(|index| *words.get(index)?);
        word.is_some_and(|it| builtin::BINARY_TESTS.contains(&it))
    };
    words.iter().enumerate().find_map(|(index, word)| {
        let word = (*word)?;
        let is_operand = is_binary(index.checked_sub(1)) || is_binary(Some(index + 1));
        let looks_so = word.strip_prefix('-').is_some_and(|it| it.starts_with(char::is_alphabetic))
            || word == "=~";
        let is_known =
            builtin::BINARY_TESTS.contains(&word) || builtin::UNARY_TESTS.contains(&word);
        (looks_so && !is_known && !is_operand).then_some(word)
    })
}
