//! `sh` and `bash` in the image: the shell forms of compose files, health checks and start scripts,
//! and nothing else. A script with any other form is rejected as a whole, with a message that names
//! the line. All programs are this binary under its other names, so a script can only start what
//! the image contains.

mod check;
mod expand;
mod lex;
mod parse;
mod process;
mod run;
mod syntax;

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;

use self::check::check;
use self::expand::{Scope, Variable};
use self::parse::parse;
use self::run::Shell;
use self::syntax::SCRIPT_BYTES_MAX;

/// Exit code: the script or its arguments cannot be run.
const REFUSED: u8 = 2;
const NOT_FOUND: u8 = 127;

/// `sh [-eux] [-o OPTION] -c SCRIPT [NAME [ARGUMENT…]]` or `sh [-eux] [-o OPTION] FILE [ARGUMENT…]`.
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
    while let Some(flag) = arguments.get(next).filter(|it| it.starts_with(['-', '+'])) {
        next += 1;
        match *flag {
            "--" => break,
            // The image has no such startup files.
            "--noprofile" | "--norc" | "--login" => continue,
            _ => {}
        }
        has_script |= flag.starts_with('-') && flag.contains('c');
        let letters: String = flag.chars().filter(|letter| !"cl".contains(*letter)).collect();
        if letters.len() < 2 {
            continue;
        }
        // Each `o` consumes the next argument, as in `bash -eo pipefail -c …`.
        let named = letters.matches('o').count();
        let names = arguments.iter().skip(next).take(named).map(|it| (*it).to_owned());
        let options: Vec<String> = std::iter::once(letters).chain(names).collect();
        if let Err(reason) = shell.set_options(&options) {
            return fail(REFUSED, &reason);
        }
        next += named;
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

/// Makes stop signals end the process from here on, also as process 1, to which the kernel delivers
/// only handled signals.
pub(super) fn end_on_signal() {
    process::Programs::listening();
}

fn read(file: &str) -> io::Result<String> {
    let mut text = String::new();
    // Reads one byte more than the limit, so that `parse` rejects a longer script.
    std::fs::File::open(file)?.take(SCRIPT_BYTES_MAX as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

impl Scope {
    fn of_process() -> Scope {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            // Non-UTF-8 variables could not be named or split into words.
            let value = value.into_string().ok()?;
            Some((name.into_string().ok()?, Variable { value, is_exported: true }))
        });
        let variables = variables.collect();
        Scope { variables, arguments: Vec::new(), status: 0, refuses_unset: false }
    }
}

#[cfg(test)]
mod tests;
