//! Reads the command line and the environment, and words the errors of doing so.

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, Resettable};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args as _, CommandFactory as _, FromArgMatches as _, Subcommand as _};
use liteio_client::parse_duration;

use super::{
    Cli, Command, Commands, Later, ServerArgs, ServerCommand, Source, Sources, guess, help,
};

/// The parser ended without a command to run.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Help or version requested: print it, exit code 0.
    Help(String),
    /// Invalid arguments: print this one line, exit code 2.
    Usage(String),
    /// A command is missing: print the list of them to standard error, exit code 2.
    Commands(String),
}

/// The parser of the command line.
fn parser() -> clap::Command {
    help::by_subject(Cli::command())
}

/// `true` if the line begins with a command.
fn names_a_command(arguments: &[OsString]) -> bool {
    arguments.get(1).and_then(|it| it.to_str()).is_some_and(Command::has_subcommand)
}

/// `true` for the name of a command, `help` included.
fn is_command(word: &str) -> bool {
    word == "help" || Command::has_subcommand(word)
}

/// `true` if `-h` asks for the short help, and nothing for the whole one.
fn asks_for_short_help(arguments: &[OsString]) -> bool {
    let mut ours = arguments.iter().take_while(|it| *it != "--");
    ours.clone().any(|it| it == "-h") && !ours.any(|it| it == "--help")
}

/// The line about `--fence 2s`: the flag works without a value, so the time would be a command or a directory.
fn apart_from_its_fence(arguments: &[OsString]) -> Option<String> {
    let ours = arguments.iter().take_while(|it| *it != "--");
    let times = ours.clone().skip(1).zip(ours).filter(|(_, flag)| *flag == "--fence");
    times.filter_map(|(time, _)| time.to_str()).find_map(|time| {
        let seconds = time.parse::<u64>().map(|seconds| format!("{seconds}s"));
        let meant = seconds.or_else(|_| parse_duration(time).map(|_| time.to_owned())).ok()?;
        Some(format!("--fence {time}: the time follows an equals sign: write --fence={meant}"))
    })
}

/// `true` if the error is about the word in the place of the command.
fn is_first(error: &clap::Error, arguments: &[OsString]) -> bool {
    let about = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
    let about = about.into_iter().find_map(|kind| error.get(kind));
    match (about, arguments.get(1)) {
        (Some(ContextValue::String(word)), Some(first)) => first == word.as_str(),
        _ => false,
    }
}

/// The whole command line, with the commands of the client, for what describes it: completions and
/// man pages.
pub(crate) fn command() -> clap::Command {
    parser().mut_subcommand("client", |client| {
        let about = client.get_about().cloned().unwrap_or_default();
        liteio_client::command().about(about)
    })
}

/// Values of options, by field name, that completions offer. The configuration checks them, with messages of its own.
const VALUES: [(&str, &[&str]); 6] = [
    ("profile", &["minio", "localstack", "s3mock"]),
    ("take_over", &["complete", "incomplete", "keep"]),
    ("durability", &["fsync", "os"]),
    ("object_ownership", &["bucket-owner-enforced", "bucket-owner-preferred", "object-writer"]),
    ("log_format", &["text", "json"]),
    ("metrics_auth", &["jwt", "public"]),
];

/// The options of a command, and of those below it, with their [`VALUES`]. It must be built: the options of commands are defined
/// by that.
pub(crate) fn with_values(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| {
        let known = VALUES.iter().find(|(name, _)| argument.get_id().as_str() == *name);
        match known {
            Some((_, values)) => argument
                .value_parser(PossibleValuesParser::new(values.iter().copied()))
                .hide_possible_values(true),
            None => argument,
        }
    });
    command.mut_subcommands(with_values)
}

/// Reads the arguments (the first is the program) and the environment.
///
/// # Errors
/// The text to print instead of running.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, Stop> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(line) = apart_from_its_fence(&arguments) {
        return Err(Stop::Usage(line));
    }
    let stop = |error: clap::Error| match error.kind() {
        ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument
            if is_first(&error, &arguments) =>
        {
            let line = guess::instead(&arguments);
            Stop::Usage(line.unwrap_or_else(|| with_variable(&error, &arguments)))
        }
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            Stop::Help(error.render().to_string())
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Stop::Commands(error.render().to_string())
        }
        ErrorKind::ArgumentConflict => {
            let line = with_variable(&error, &arguments);
            Stop::Usage(match error.get(ContextKind::InvalidSubcommand) {
                // A word that is no command is in conflict with options, too.
                Some(ContextValue::String(word)) if !is_command(word) => {
                    guess::of_copy(&arguments).or_else(|| guess::of_word(word)).unwrap_or_else(
                        || format!("there is no command `{word}`: `liteio --help` lists them"),
                    )
                }
                Some(ContextValue::String(command)) => {
                    format!("{line}; {}", guess::of_options_before(command))
                }
                _ => line,
            })
        }
        ErrorKind::UnknownArgument if arguments.get(1).is_some_and(|it| it == "exec") => {
            let line = with_variable(&error, &arguments);
            Stop::Usage(format!("{line}; write `--` before the command: liteio exec -- aws s3 ls"))
        }
        ErrorKind::UnknownArgument => {
            let line = with_variable(&error, &arguments);
            Stop::Usage(match guess::of_a_directory(&arguments) {
                Some(meant) => format!("{line}; {meant}"),
                None => line,
            })
        }
        ErrorKind::TooManyValues => {
            let line = with_variable(&error, &arguments);
            Stop::Usage(match guess::of_a_flag(&error) {
                Some(meant) => format!("{line}; {meant}"),
                None => line,
            })
        }
        _ => Stop::Usage(with_variable(&error, &arguments)),
    };
    let names_a_command = names_a_command(&arguments);
    let parser = match (asks_for_short_help(&arguments), names_a_command) {
        (true, _) => help::short(parser()),
        (false, true) => help::by_subject(Commands::command()),
        (false, false) => parser(),
    };
    let matches = without_empty_variables(parser);
    let matches = matches.try_get_matches_from(&arguments).map_err(stop)?;
    let command = if names_a_command {
        Commands::from_arg_matches(&matches).map_err(stop)?.command
    } else {
        let parsed = Cli::from_arg_matches(&matches).map_err(stop)?;
        let Some(command) = parsed.command else {
            let mut server = parsed.server;
            server.sources = Sources::of(&matches);
            return Ok(Command::Server(server_command(server)));
        };
        command
    };
    match command {
        Command::Server(mut command) => {
            let matches = matches.subcommand_matches("server").unwrap_or(&matches);
            command.server.sources = Sources::of(matches);
            command.server.directories = std::mem::take(&mut command.directories);
            Ok(Command::Server(command))
        }
        Command::Exec(mut command) => {
            let matches = matches.subcommand_matches("exec").unwrap_or(&matches);
            command.server.sources = Sources::of(matches);
            Ok(Command::Exec(command))
        }
        Command::Standby(mut command) => {
            let matches = matches.subcommand_matches("standby").unwrap_or(&matches);
            let sources = Sources::of(matches);
            for (setting, is_given) in [
                ("data_dir", sources.get("data_dir") == Some(&Source::Flag)),
                ("backup", sources.get("backup") == Some(&Source::Flag)),
                ("memory", command.server.memory),
            ] {
                if is_given {
                    let flag = setting.replace('_', "-");
                    let line =
                        "`liteio standby LOCATION DIR` has its location and directory already";
                    return Err(Stop::Usage(format!("{line}: remove --{flag}")));
                }
            }
            command.server.sources = sources;
            command.server.is_standby = true;
            command.server.data_dir = Some(command.directory.clone());
            command.server.backup.backup = Some(command.location.clone());
            let server = std::mem::take(&mut command.server);
            Ok(Command::Server(server_command(server)))
        }
        command => Ok(command),
    }
}

/// The command of a server whose directory is among its flags.
fn server_command(server: ServerArgs) -> Later<ServerCommand> {
    Later(Box::new(ServerCommand { directories: Vec::new(), server }))
}

/// An empty variable counts as unset, because compose files pass on variables that are not set as
/// empty strings.
pub(super) fn without_empty_variables(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| {
        let value = argument.get_env().and_then(std::env::var_os);
        match value.is_some_and(|value| value.is_empty()) {
            true => argument.env(Resettable::Reset),
            false => argument,
        }
    });
    command.mut_subcommands(without_empty_variables)
}

/// The message in one line, prefixed with the variable's name if the value came from a variable.
fn with_variable(error: &clap::Error, arguments: &[OsString]) -> String {
    let line = guess::option(error, arguments).unwrap_or_else(|| {
        let line = one_line(&error.render().to_string());
        if line.contains("; tip: ") {
            return line;
        }
        match guess::nearest_option(error, arguments, Cli::command()) {
            Some(meant) => format!("{line}; tip: a similar argument exists: '--{meant}'"),
            None => line,
        }
    });
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return line;
    };
    let flag = argument.split([' ', '=']).next().unwrap_or_default();
    let command = ServerArgs::augment_args(clap::Command::new("server"));
    let known = command
        .get_arguments()
        .find(|it| it.get_long().is_some_and(|long| flag.strip_prefix("--") == Some(long)));
    let short = known.and_then(|it| it.get_short());
    let is_given = |it: &OsString| {
        let word = it.to_string_lossy();
        let letters = word.strip_prefix('-').unwrap_or_default();
        word.starts_with(flag) || short.is_some_and(|short| letters.starts_with(short))
    };
    match known.and_then(|it| it.get_env()) {
        Some(variable) if !arguments.iter().any(is_given) => {
            format!("{}: {line}", variable.to_string_lossy())
        }
        _ => line,
    }
}

/// Names of the variables that options read, of all commands.
pub(crate) fn variables() -> Vec<String> {
    let mut command = Cli::command();
    // The options of commands are defined by it.
    command.build();
    let subcommands = || command.get_subcommands();
    let commands = std::iter::once(&command)
        .chain(subcommands())
        .chain(subcommands().flat_map(|it| it.get_subcommands()));
    let names = commands.flat_map(|it| it.get_arguments()).filter_map(|it| it.get_env());
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

/// clap's message without its usage block, in one line.
fn one_line(message: &str) -> String {
    let lines = message.lines().map(str::trim);
    let wanted = lines
        .take_while(|line| !line.starts_with("Usage:"))
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        // An unknown option is rarely meant as a value.
        .filter(|line| !line.contains("as a value, use '-- "));
    // A list, such as that of missing arguments, is announced by a colon.
    let line = wanted.collect::<Vec<_>>().join("; ").replace(":; ", ": ");
    // The standard library's words for 10MB or 1.5.
    let line = line.replace("invalid digit found in string", "give a whole number, without a unit");
    // clap's own words about switches, whose help says on|off.
    let line = line.replace("value was not a boolean", "give on or off");
    let line = line.replace("; [possible values: true, false]", "");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}
