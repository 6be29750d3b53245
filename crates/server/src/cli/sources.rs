//! The sources of the given settings: profile, environment variable or flag.

use std::collections::BTreeMap;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args as _};

use super::ServerArgs;

/// The source of a setting that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Default of the emulated server (`--profile`).
    Profile,
    /// The environment variable of this name.
    Variable(String),
    Flag,
}

impl Source {
    /// Precedence: if two settings contradict each other, the higher rank wins.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Source::Profile => 0,
            Source::Variable(name) if !name.starts_with("LITEIO_") => 1,
            Source::Variable(_) => 2,
            Source::Flag => 3,
        }
    }
}

/// The origins of the given settings, by field name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources(BTreeMap<String, Source>);

impl Sources {
    /// The origin of a setting, if it was given.
    pub(crate) fn get(&self, setting: &str) -> Option<&Source> {
        self.0.get(setting)
    }

    pub(crate) fn note(&mut self, setting: &str, source: Source) {
        self.0.insert(setting.to_owned(), source);
    }

    /// The origins of the values that clap has read.
    pub(super) fn of(matches: &ArgMatches) -> Sources {
        let command = ServerArgs::augment_args(clap::Command::new("server"));
        let settings = command.get_arguments().filter_map(|argument| {
            let name = argument.get_id().as_str();
            // Skips ids that the matches do not know, for which `value_source` panics.
            let source = matches.try_contains_id(name).ok().and(matches.value_source(name))?;
            let variable = argument.get_env().map(|it| it.to_string_lossy().into_owned());
            match source {
                ValueSource::CommandLine => Some((name.to_owned(), Source::Flag)),
                ValueSource::EnvVariable => Some((name.to_owned(), Source::Variable(variable?))),
                _ => None,
            }
        });
        Sources(settings.collect())
    }
}
