//! The command line of the AWS CLI: a service, a command, names, and options that may stand anywhere.

use std::ffi::OsString;

/// Options without a value.
const SWITCHES: [&str; 15] = [
    "delete",
    "dryrun",
    "force",
    "human-readable",
    "no-cli-pager",
    "no-object-lock-enabled-for-bucket",
    "no-paginate",
    "no-progress",
    "no-sign-request",
    "no-verify-ssl",
    "object-lock-enabled-for-bucket",
    "only-show-errors",
    "quiet",
    "recursive",
    "summarize",
];

/// A command line. Options are taken out of it by the command; one that is left is refused.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) service: String,
    pub(super) command: String,
    pub(super) names: Vec<String>,
    options: Vec<(String, String)>,
}

impl Line {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    /// One line with the reason.
    pub(super) fn parse(arguments: &[OsString]) -> Result<Line, String> {
        let mut words = Vec::new();
        let mut options = Vec::new();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let text = argument.to_str().ok_or("an argument is not UTF-8")?;
            let Some(name) = text.strip_prefix("--").filter(|it| !it.is_empty()) else {
                words.push(text.to_owned());
                continue;
            };
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None if SWITCHES.contains(&name) => (name, String::new()),
                None => {
                    let value = rest.next().ok_or(format!("--{name} needs a value"))?;
                    (name, value.to_str().ok_or("an argument is not UTF-8")?.to_owned())
                }
            };
            options.push((name.to_owned(), value));
        }
        let mut words = words.into_iter();
        let service = words.next().unwrap_or_default();
        let command = words.next().unwrap_or_default();
        Ok(Line { service, command, names: words.collect(), options })
    }

    /// Takes the value of an option; the last one counts.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let mut taken = None;
        self.options.retain_mut(|(known, value)| {
            let is_it = known == name;
            if is_it {
                taken = Some(std::mem::take(value));
            }
            !is_it
        });
        taken
    }

    /// Takes an option without a value.
    pub(super) fn has(&mut self, name: &str) -> bool {
        self.take(name).is_some()
    }

    /// Takes an option that the command needs.
    ///
    /// # Errors
    /// It is missing.
    pub(super) fn need(&mut self, name: &str) -> Result<String, String> {
        self.take(name).ok_or(format!("--{name} is missing"))
    }

    /// # Errors
    /// An option that the command does not have here, or another number of names.
    pub(super) fn end(&self, names: std::ops::RangeInclusive<usize>) -> Result<(), String> {
        if let Some((name, _)) = self.options.first() {
            return Err(format!("the option --{name} is not understood here"));
        }
        match self.names.len() {
            count if names.contains(&count) => Ok(()),
            count if count > *names.end() => {
                Err(format!("{:?} is not understood here", self.names[*names.end()]))
            }
            _ => Err("a name is missing".to_owned()),
        }
    }
}
