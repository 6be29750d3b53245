//! The commands that describe the program: `liteio version`, `liteio completion`, `liteio man`.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use clap_complete::aot::{self, Generator};
use clap_mangen::Man;

use crate::cli::{self, CompletionArgs, ManArgs, Shell, VersionArgs};

/// Version of the program, as in its manifest.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Hash of the commit that it was built from; empty if the sources did not tell.
const COMMIT: &str = env!("LITEIO_BUILT_COMMIT");
const TARGET: &str = env!("LITEIO_BUILT_TARGET");
/// Names of the features, separated by commas.
const FEATURES: &str = env!("LITEIO_BUILT_FEATURES");
const PROFILE: &str = env!("LITEIO_BUILT_PROFILE");

/// The output of `liteio version`.
pub(crate) fn version(arguments: &VersionArgs) -> String {
    let features: Vec<&str> = FEATURES.split(',').filter(|it| !it.is_empty()).collect();
    let commit = Some(COMMIT).filter(|it| !it.is_empty());
    if arguments.json {
        let object = serde_json::json!({
            "version": VERSION,
            "commit": commit,
            "target": TARGET,
            "features": features,
            "profile": PROFILE,
        });
        return format!("{object}\n");
    }
    format!(
        "liteio {VERSION}\ncommit    {}\ntarget    {TARGET}\nfeatures  {}\nprofile   {PROFILE}\n",
        commit.unwrap_or("unknown"),
        features.join(", "),
    )
}

/// The completion script of a shell.
pub(crate) fn completion(arguments: &CompletionArgs) -> Vec<u8> {
    match arguments.shell {
        Shell::Bash => script(aot::Bash),
        Shell::Zsh => script(aot::Zsh),
        Shell::Fish => script(aot::Fish),
        Shell::Powershell => script(aot::PowerShell),
    }
}

fn script(shell: impl Generator) -> Vec<u8> {
    let mut script = Vec::new();
    let mut command = cli::command();
    command.set_bin_name("liteio");
    command.build();
    aot::generate(shell, &mut cli::with_values(command), "liteio", &mut script);
    script
}

/// Returns the man page of a command, without a name that of `liteio`; or writes the pages of all commands into a directory.
///
/// # Errors
/// One line with the file that cannot be written, or the command that does not exist.
pub(crate) fn man(arguments: &ManArgs) -> Result<String, String> {
    let mut command = cli::command().disable_help_subcommand(true);
    command.build();
    // A directory with the name of a command is written as `./NAME`.
    if let Some(command) = find(&command, &arguments.names) {
        return Ok(page(command));
    }
    let [directory] = &*arguments.names else {
        let names: Vec<_> = arguments.names.iter().map(|it| it.to_string_lossy()).collect();
        return Err(format!("there is no command `liteio {}`", names.join(" ")));
    };
    let directory = Path::new(directory);
    // Rather a command that is misspelled than a new directory.
    let is_path = directory.as_os_str().as_encoded_bytes().contains(&b'/');
    if !is_path && !directory.is_dir() {
        let name = directory.display();
        return Err(format!(
            "there is no command `liteio {name}`: `liteio man ./{name}` writes the pages of all commands into a directory"
        ));
    }
    let failed = |path: &Path, error| format!("cannot write {}: {error}", path.display());
    fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
    let mut left = vec![&command];
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().filter(|it| !it.is_hide_set()));
        let path = directory.join(format!("{}.1", full_name(command)));
        fs::write(&path, page(command)).map_err(|error| failed(&path, error))?;
    }
    Ok(String::new())
}

/// The command with these names below another one: itself, without a name.
fn find<'c>(command: &'c clap::Command, names: &[OsString]) -> Option<&'c clap::Command> {
    names.iter().try_fold(command, |command, name| command.find_subcommand(name))
}

/// The name of a command with those above it: `liteio-key-new`.
fn full_name(command: &clap::Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// The page of a command, in ASCII: programs that format pages take other characters for those of Latin-1.
fn page(command: &clap::Command) -> String {
    let mut text = Vec::new();
    if let Err(error) = Man::new(command.clone()).render(&mut text) {
        unreachable!("a vector takes all bytes: {error}");
    }
    let mut page = String::with_capacity(text.len());
    for line in String::from_utf8_lossy(&text).lines() {
        if line.starts_with(".TH ") {
            // Without a date, which must be an argument nevertheless: the rendered line has none.
            let name = full_name(command);
            page.push_str(&format!(".TH {name} 1 \"\" \"LiteIO {VERSION}\" \"LiteIO Manual\""));
        } else {
            for character in line.chars() {
                match character.is_ascii() {
                    true => page.push(character),
                    false => page.push_str(&format!("\\[u{:04X}]", u32::from(character))),
                }
            }
        }
        page.push('\n');
    }
    page
}
