//! `liteio version`, `liteio completion`, `liteio man`: what describes the program itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::command::{liteio, stderr};

#[path = "../../build/commit.rs"]
mod commit;

fn run(arguments: &[&str]) -> Output {
    let directory = tempfile::tempdir().expect("a directory");
    liteio(&directory).args(arguments).output().expect("it runs")
}

fn stdout(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).expect("text")
}

/// True where this program is installed.
fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

#[test]
fn the_version_tells_what_the_program_was_built_from() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(stdout(&["--version"]), format!("liteio {version}\n"));
    let told: serde_json::Value =
        serde_json::from_str(&stdout(&["version", "--json"])).expect("JSON");
    assert_eq!(told["version"], version);
    assert!(
        told["commit"].is_null() || told["commit"].as_str().is_some_and(|it| it.len() >= 40),
        "{told}"
    );
    let target = told["target"].as_str().expect("a target");
    assert!(target.starts_with(std::env::consts::ARCH), "{target}");
    let features: Vec<_> = told["features"].as_array().expect("a list").iter().collect();
    assert!(
        features.contains(&&"testkit".into()) && features.is_sorted_by_key(|it| it.as_str()),
        "{told}"
    );
    assert_eq!(told["profile"], if cfg!(debug_assertions) { "debug" } else { "release" });
    assert_eq!(told.as_object().map(|it| it.len()), Some(5));
    let text = stdout(&["version"]);
    assert_eq!(text.lines().next(), Some(&*format!("liteio {version}")));
    assert!(text.contains(&format!("\ntarget    {target}\n")), "{text}");
}

#[test]
fn commands_about_the_program_refuse_bad_input_in_one_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("file");
    fs::write(&file, "").expect("written");
    let file = file.to_str().expect("text");
    let rows: [(&[&str], i32, &str); 6] = [
        (&["completion"], 2, "<SHELL>"),
        (&["completion", "csh"], 2, "bash, zsh, fish, powershell"),
        (&["version", "--yaml"], 2, "--yaml"),
        (&["man", file], 1, "cannot write"),
        (&["man", "serv"], 1, "there is no command `liteio serv`: `liteio man ./serv` writes"),
        (&["man", "client", "fly"], 1, "there is no command `liteio client fly`"),
    ];
    for (arguments, code, reason) in rows {
        let output = run(arguments);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        assert!(told.lines().count() == 1 && told.contains(reason), "{arguments:?}: {told}");
        assert_eq!(output.stdout, [0; 0], "{arguments:?}");
    }
}

/// The words that bash offers for a line.
fn completed(script: &Path, words: &[&str]) -> BTreeSet<String> {
    // As bash calls a completion function: the words, the index of the last one, then the function.
    let code = "source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
        _liteio liteio \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; \
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut command = Command::new("bash");
    command.args(["--norc", "-c", code, "bash"]).arg(script).args(words);
    let output = command.output().expect("bash runs");
    assert_eq!(stderr(&output), "", "{words:?}");
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_verbs_of_the_client_and_flags() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("liteio.bash");
    fs::write(&script, stdout(&["completion", "bash"])).expect("written");
    let set = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(completed(&script, &["liteio", "ve"]), set(&["verify", "version"]));
    assert_eq!(completed(&script, &["liteio", "completion", "p"]), set(&["powershell"]));
    assert_eq!(completed(&script, &["liteio", "client", "mir"]), set(&["mirror"]));
    assert_eq!(completed(&script, &["liteio", "backup", "pr"]), set(&["prune"]));
    assert_eq!(completed(&script, &["liteio", "--profile", "m"]), set(&["minio"]));
    let formats = completed(&script, &["liteio", "server", "--log-format", ""]);
    assert_eq!(formats, set(&["json", "text"]));
    let flags = completed(&script, &["liteio", "server", "--tls-"]);
    assert_eq!(flags, set(&["--tls-cert", "--tls-key", "--tls-self-signed"]));
}

#[test]
fn each_shell_reads_its_script() {
    for (shell, arguments) in
        [("bash", &["-n"][..]), ("zsh", &["-n"]), ("fish", &["--no-execute"]), ("powershell", &[])]
    {
        let script = stdout(&["completion", shell]);
        assert!(script.contains("mirror") && script.contains("data-dir"), "{shell}");
        if arguments.is_empty() || !is_installed(shell) {
            continue;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("script");
        fs::write(&file, script).expect("written");
        let output = Command::new(shell).args(arguments).arg(&file).output().expect("it runs");
        assert!(output.status.success(), "{shell}: {}", stderr(&output));
        assert_eq!(stderr(&output), "", "{shell}");
    }
}

/// The commands that a help text lists.
fn commands_in(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| line.starts_with("  "));
    let commands = lines.filter(|line| !line.starts_with("   "));
    let names = commands.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The names of the pages that a command and those below it need.
fn pages_of(path: &[&str], pages: &mut BTreeSet<String>) {
    pages.insert(format!("{}.1", [&["liteio"], path].concat().join("-")));
    for command in commands_in(&stdout(&[path, &["--help"]].concat())) {
        pages_of(&[path, &[&command]].concat(), pages);
    }
}

#[test]
fn every_command_has_a_man_page_that_is_well_formed() {
    let directory = tempfile::tempdir().expect("a directory");
    let pages = directory.path().join("share/man/man1");
    assert_eq!(stdout(&["man", pages.to_str().expect("text")]), "");
    let files = fs::read_dir(&pages).expect("a directory").map(|it| it.expect("a file"));
    let found: BTreeSet<String> =
        files.map(|it| it.file_name().into_string().expect("text")).collect();
    let mut expected = BTreeSet::new();
    pages_of(&[], &mut expected);
    assert_eq!(found, expected);
    assert!(found.contains("liteio-client-cp.1") && found.contains("liteio-key-rotate.1"));

    let page = fs::read_to_string(pages.join("liteio-server.1")).expect("text");
    assert!(page.contains("LITEIO_DATA_DIR") && page.contains(env!("CARGO_PKG_VERSION")));
    let head = format!(".TH liteio-server 1 \"\" \"LiteIO {}\"", env!("CARGO_PKG_VERSION"));
    assert!(page.lines().any(|line| line.starts_with(&head)), "{page}");
    let main = fs::read_to_string(pages.join("liteio.1")).expect("text");
    assert_eq!(stdout(&["man"]), main);
    for (command, file) in
        [(&["client"][..], "liteio-client.1"), (&["client", "cp"], "liteio-client-cp.1")]
    {
        let page = fs::read_to_string(pages.join(file)).expect("text");
        assert_eq!(stdout(&[&["man"], command].concat()), page);
    }
    for (program, arguments) in
        [("groff", &["-man", "-ww", "-Tutf8", "-z"][..]), ("mandoc", &["-Tlint", "-Wwarning"])]
    {
        if Command::new(program).arg("--help").output().is_err() {
            continue;
        }
        let files = found.iter().map(|name| pages.join(name));
        let output = Command::new(program).args(arguments).args(files).output().expect("it runs");
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8(told).expect("text");
        // There is no date, which the same sources do not have, and lines are broken before spaces.
        let harmless = ["missing date", "skipping paragraph macro: br"];
        let lines = told.lines().filter(|line| !harmless.iter().any(|it| line.contains(it)));
        assert_eq!(lines.collect::<Vec<_>>(), [""; 0], "{program}");
    }
}

/// Two runs write the same bytes, and no environment is in them.
#[test]
fn pages_and_completions_are_reproducible_and_show_no_setting() {
    for arguments in [&["man"][..], &["completion", "bash"], &["completion", "zsh"]] {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = liteio(&directory);
        let output = command.args(arguments).env("LITEIO_SECRET_KEY", "sesame open").output();
        let output = output.expect("it runs");
        assert_eq!(String::from_utf8(output.stdout).expect("text"), stdout(arguments));
    }
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    let mut command = Command::new("git");
    command.current_dir(directory).args(identity).args(arguments);
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git runs");
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

#[test]
fn the_commit_comes_from_a_clone_an_archive_or_a_published_package() {
    let directory = tempfile::tempdir().expect("a directory");
    let clone = directory.path().join("clone");
    let package = clone.join("crates/server");
    fs::create_dir_all(package.join("build")).expect("made");
    fs::write(clone.join("Cargo.toml"), "").expect("written");
    fs::write(clone.join("Cargo.lock"), "").expect("written");
    fs::write(package.join("build/COMMIT"), "$Format:%H$\n").expect("written");
    fs::write(clone.join(".gitattributes"), "/crates/server/build/COMMIT export-subst\n")
        .expect("written");
    git(&clone, &["init", "--quiet"]);
    git(&clone, &["add", "."]);
    git(&clone, &["commit", "--quiet", "--message", "First"]);
    let hash = git(&clone, &["rev-parse", "HEAD"]);
    assert_eq!(commit::of_sources(&package, true).commit.as_ref(), Some(&hash));
    assert_eq!(commit::of_sources(&package, false).commit, None);

    // An archive tells its commit, also below another repository.
    let archive = clone.join("archive");
    git(&clone, &["archive", "--output", "archive.tar", "--prefix", "archive/", "HEAD"]);
    let unpacked = Command::new("tar").args(["-xf", "archive.tar"]).current_dir(&clone).status();
    assert!(unpacked.expect("tar runs").success());
    let found = commit::of_sources(&archive.join("crates/server"), false);
    assert_eq!(found.commit.as_ref(), Some(&hash));
    // Other sources there have no commit, whatever repository they are in.
    fs::write(archive.join("crates/server/build/COMMIT"), "$Format:%H$\n").expect("written");
    assert_eq!(commit::of_sources(&archive.join("crates/server"), true).commit, None);

    let published =
        format!("{{\"git\": {{\"sha1\": \"{hash}\"}}, \"path_in_vcs\": \"crates/server\"}}");
    fs::write(archive.join("crates/server/.cargo_vcs_info.json"), published).expect("written");
    let found = commit::of_sources(&archive.join("crates/server"), false);
    assert_eq!(found.commit.as_ref(), Some(&hash));

    fs::write(clone.join("Cargo.toml"), "changed").expect("written");
    let found = commit::of_sources(&package, true);
    assert_eq!(found.commit, Some(format!("{hash}-dirty")));
    assert!(found.depends_on.contains(&clone.join("crates")), "{:?}", found.depends_on);
}
