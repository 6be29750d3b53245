//! Commands whose options are defined when they are used.

use std::ops::{Deref, DerefMut};

use clap::builder::{Resettable, StyledStr};
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};

use super::{help, parse};

/// The arguments of a command, which clap defines only for the command that is given: to define those of all commands takes a
/// quarter of the start of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Later<T>(pub(crate) Box<T>);

impl<T> Deref for Later<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Later<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for Later<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self(Box::new(T::from_arg_matches(matches)?)))
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        Ok(Self(Box::new(T::from_arg_matches_mut(matches)?)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }

    fn update_from_arg_matches_mut(&mut self, matches: &mut ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches_mut(matches)
    }
}

impl<T: Args> Args for Later<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| defined(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(|command| defined(command, T::augment_args_for_update))
    }
}

impl<T: Subcommand> Subcommand for Later<T> {
    fn augment_subcommands(command: Command) -> Command {
        command.defer(|command| defined(command, T::augment_subcommands))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        command.defer(|command| defined(command, T::augment_subcommands_for_update))
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}

/// The command with its arguments, under its own description: clap would take that of their type.
fn defined(command: Command, define: fn(Command) -> Command) -> Command {
    let about = Resettable::<StyledStr>::from(command.get_about().cloned());
    let long_about = Resettable::<StyledStr>::from(command.get_long_about().cloned());
    let command = define(command).about(about).long_about(long_about);
    parse::without_empty_variables(help::by_subject(command))
}
