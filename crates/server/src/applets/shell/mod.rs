//! `sh` and `bash` in the image: the shell forms of compose files, health checks and start scripts, and
//! nothing else. A script that has anything more is refused as a whole, with a line that names it. Programs
//! are this one under its other names, so a script starts nothing that the image does not hold.

mod expand;
mod lex;
mod parse;
mod process;
mod run;
mod syntax;

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;

use self::expand::{Scope, Variable};
use self::parse::parse;
use self::run::{Shell, is_known};
use self::syntax::{Command, List, Pipeline, Refusal, SCRIPT_BYTES_MAX};

/// The script, or its arguments, cannot be run.
const REFUSED: u8 = 2;
const NOT_FOUND: u8 = 127;

/// `sh [-eux] -c SCRIPT [NAME [ARGUMENT…]]` or `sh [-eux] FILE [ARGUMENT…]`.
pub(super) fn run(arguments: &[OsString]) -> ExitCode {
    let fail = |code: u8, reason: &str| {
        let _ = writeln!(io::stderr(), "sh: {reason}");
        ExitCode::from(code)
    };
    let Some(arguments) = arguments.iter().map(|it| it.to_str()).collect::<Option<Vec<_>>>() else {
        return fail(REFUSED, "an argument is not UTF-8");
    };
    let mut shell = Shell::new(Scope::of_process());
    let mut has_script = false;
    let mut next = 0;
    while let Some(letters) = arguments.get(next).and_then(|it| it.strip_prefix('-')) {
        next += 1;
        let letters: String = letters.chars().filter(|letter| !"cl".contains(*letter)).collect();
        has_script |= arguments[next - 1].contains('c');
        if letters.is_empty() {
            continue;
        }
        if let Err(reason) = shell.set_options(&[format!("-{letters}")]) {
            return fail(REFUSED, &reason);
        }
    }
    let Some(first) = arguments.get(next) else {
        return fail(REFUSED, "there is no terminal to talk to: give a script, as sh -c '…'");
    };
    let (text, arguments) = if has_script {
        ((*first).to_owned(), &arguments[next + 1..])
    } else {
        match read(first) {
            Ok(text) => (text, &arguments[next..]),
            Err(error) => return fail(NOT_FOUND, &format!("{first}: {error}")),
        }
    };
    shell.scope.arguments = arguments.iter().map(|it| (*it).to_owned()).collect();
    if shell.scope.arguments.is_empty() {
        shell.scope.arguments.push("sh".to_owned());
    }
    let checked = parse(&text).and_then(|script| check(&script).map(|()| script));
    match checked {
        Ok(script) => ExitCode::from(shell.run(&script)),
        Err(refusal) => fail(REFUSED, &format!("nothing was run: {refusal}")),
    }
}

/// Has a signal to stop end the process from here on, also where it is process 1, which otherwise has none that
/// it does not ask for.
pub(super) fn end_on_signal() {
    process::Programs::default().listen();
}

fn read(file: &str) -> io::Result<String> {
    let mut text = String::new();
    // One more than a script may have: `parse` refuses it.
    std::fs::File::open(file)?.take(SCRIPT_BYTES_MAX as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

impl Scope {
    fn of_process() -> Scope {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            // Others could not be named, nor cut into words.
            let value = value.into_string().ok()?;
            Some((name.into_string().ok()?, Variable { value, is_exported: true }))
        });
        let variables = variables.collect();
        Scope { variables, arguments: Vec::new(), status: 0, refuses_unset: false }
    }
}

/// Refuses commands that there are not, before any is run.
fn check(list: &List) -> Result<(), Refusal> {
    for command in list {
        let pipelines =
            std::iter::once(&command.first).chain(command.rest.iter().map(|(_, it)| it));
        for pipeline in pipelines {
            check_pipeline(pipeline)?;
            let is_program = matches!(&pipeline.command, Command::Simple { words, .. }
                if words.first().and_then(|it| it.literal()).is_none_or(|it| it.contains('/')
                    || super::names::applet_at(&it).is_some()));
            let is_alone = command.rest.is_empty() && !pipeline.is_negated && is_program;
            if command.in_background && !is_alone {
                let reason = "& is supported after a single program only".to_owned();
                return Err(Refusal { line: pipeline.line, reason });
            }
        }
    }
    Ok(())
}

fn check_pipeline(pipeline: &Pipeline) -> Result<(), Refusal> {
    match &pipeline.command {
        Command::Simple { words, .. } => {
            let mut words = words.iter().map(syntax::Word::literal);
            let mut name = words.next().flatten();
            if name.as_deref() == Some("exec") {
                name = words.next().flatten();
            }
            match name {
                Some(name) if !is_known(&name) => {
                    let reason = format!("there is no command {name:?} in this image");
                    Err(Refusal { line: pipeline.line, reason })
                }
                _ => Ok(()),
            }
        }
        Command::Group { list, .. } => check(list),
        Command::If { branches, otherwise } => {
            for (condition, body) in branches {
                check(condition)?;
                check(body)?;
            }
            check(otherwise)
        }
        Command::While { condition, body, .. } => check(condition).and_then(|()| check(body)),
        Command::For { body, .. } => check(body),
    }
}

#[cfg(test)]
mod tests;
