//! The builtin commands: `[`, `echo`, `false`, `mkdir`, `sleep`, `tail`, `test` and `true`.

use std::fs::{self, Metadata};
use std::time::{Duration, Instant};

/// A builtin: gets its arguments and an output function; returns the exit code.
pub(super) type Builtin = fn(&[String], &mut dyn FnMut(&str)) -> Result<u8, String>;

/// Finds a builtin by name.
pub(super) fn find(name: &str) -> Option<Builtin> {
    Some(match name {
        "[" => |arguments, _| match arguments.split_last() {
            Some((last, arguments)) if last == "]" => test(arguments),
            _ => Err("the ] is missing".to_owned()),
        },
        "echo" => |arguments, print| {
            echo(arguments, print);
            Ok(0)
        },
        "false" => |_, _| Ok(1),
        "mkdir" => |arguments, _| mkdir(arguments),
        "sleep" => |arguments, _| sleep(arguments),
        "tail" => |arguments, _| tail(arguments),
        "test" => |arguments, _| test(arguments),
        "true" => |_, _| Ok(0),
        _ => return None,
    })
}

/// The options of `mkdir`.
pub(super) const MKDIR_OPTIONS: [&str; 3] = ["-p", "--parents", "--"];
/// The unary operators of `test`.
pub(super) const UNARY_TESTS: [&str; 6] = ["-e", "-f", "-d", "-s", "-z", "-n"];
/// The binary operators of `test`.
pub(super) const BINARY_TESTS: [&str; 9] =
    ["=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

fn echo(arguments: &[String], print: &mut dyn FnMut(&str)) {
    let (words, end) = match arguments.split_first() {
        Some((first, rest)) if first == "-n" => (rest, ""),
        _ => (arguments, "\n"),
    };
    print(&format!("{}{end}", words.join(" ")));
}

fn mkdir(arguments: &[String]) -> Result<u8, String> {
    let mut makes_parents = false;
    let mut directories = Vec::new();
    for argument in arguments {
        match &**argument {
            "-p" | "--parents" => makes_parents = true,
            "--" => {}
            _ if argument.starts_with('-') => {
                return Err(format!("the option {argument} is not supported here"));
            }
            directory => directories.push(directory),
        }
    }
    if directories.is_empty() {
        return Err("name a directory".to_owned());
    }
    for directory in directories {
        let made =
            if makes_parents { fs::create_dir_all(directory) } else { fs::create_dir(directory) };
        made.map_err(|error| format!("cannot make {directory}: {error}"))?;
    }
    Ok(0)
}

/// Waits for the sum of its arguments, in seconds, or with the suffix m, h or d.
fn sleep(arguments: &[String]) -> Result<u8, String> {
    let mut time = Some(Duration::ZERO);
    for argument in arguments {
        let seconds = seconds(argument).ok_or(format!("{argument:?} is no time in seconds"))?;
        let one = Duration::try_from_secs_f64(seconds).ok();
        time = time.zip(one).and_then(|(sum, one)| sum.checked_add(one));
    }
    if arguments.is_empty() {
        return Err("name a time in seconds".to_owned());
    }
    // A time beyond the range of `Instant` counts as forever.
    let end = time.and_then(|time| Instant::now().checked_add(time));
    loop {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        match left {
            None => std::thread::park(),
            Some(Duration::ZERO) => return Ok(0),
            // `park_timeout` may return early.
            Some(left) => std::thread::park_timeout(left),
        }
    }
}

/// Parses `10`, `0.1`, `5s`, `1m` or `infinity`.
fn seconds(text: &str) -> Option<f64> {
    if text == "infinity" || text == "inf" {
        return Some(f64::INFINITY);
    }
    let units = [("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86400.0)];
    let unit = units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = unit.unwrap_or((text, &1.0));
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    Some(number.parse::<f64>().ok().filter(|_| is_number)? * factor)
}

/// True for the arguments of `tail` that keep a container running forever.
pub(super) fn is_tail_of_nothing(flag: &str, file: &str) -> bool {
    matches!(flag, "-f" | "-F") && file == "/dev/null"
}

/// Runs `tail -f /dev/null`, the only supported form.
fn tail(arguments: &[String]) -> Result<u8, String> {
    match arguments {
        [flag, file] if is_tail_of_nothing(flag, file) => sleep(&["infinity".to_owned()]),
        _ => Err("only \"tail -f /dev/null\" is supported here".to_owned()),
    }
}

fn test(arguments: &[String]) -> Result<u8, String> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    decide(&arguments).map(|holds| u8::from(!holds))
}

fn decide(arguments: &[&str]) -> Result<bool, String> {
    let is = |file: &str, kind: fn(&Metadata) -> bool| fs::metadata(file).is_ok_and(|it| kind(&it));
    Ok(match arguments {
        [] => false,
        [text] => !text.is_empty(),
        ["!", rest @ ..] => !decide(rest)?,
        ["-e", file] => is(file, |_| true),
        ["-f", file] => is(file, Metadata::is_file),
        ["-d", file] => is(file, Metadata::is_dir),
        ["-s", file] => is(file, |it| it.len() > 0),
        ["-z", text] => text.is_empty(),
        ["-n", text] => !text.is_empty(),
        [left, "=" | "==", right] => left == right,
        [left, "!=", right] => left != right,
        [left, "-eq", right] => integer(left)? == integer(right)?,
        [left, "-ne", right] => integer(left)? != integer(right)?,
        [left, "-lt", right] => integer(left)? < integer(right)?,
        [left, "-le", right] => integer(left)? <= integer(right)?,
        [left, "-gt", right] => integer(left)? > integer(right)?,
        [left, "-ge", right] => integer(left)? >= integer(right)?,
        _ => return Err(format!("{:?} is not supported here", arguments.join(" "))),
    })
}

fn integer(text: &str) -> Result<i64, String> {
    text.trim().parse().map_err(|_| format!("{text:?} is no integer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> (Result<u8, String>, String) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let mut printed = String::new();
        let builtin = find(&words[0]).expect("a command");
        (builtin(&words[1..], &mut |text| printed.push_str(text)), printed)
    }

    #[test]
    fn echo_prints_its_arguments() {
        assert_eq!(run("echo a b").1, "a b\n");
        assert_eq!(run("echo -n a").1, "a");
        assert_eq!(run("echo").1, "\n");
    }

    #[test]
    fn tests_hold_or_do_not() {
        let rows = [
            ("test -d /", Ok(0)),
            ("test -f /", Ok(1)),
            ("test -e /no/such", Ok(1)),
            ("[ ! -f /no/such ]", Ok(0)),
            ("[ a = a ]", Ok(0)),
            ("[ a != a ]", Ok(1)),
            ("[ ! a = a ]", Ok(1)),
            ("[ -z a ]", Ok(1)),
            ("[ -n a ]", Ok(0)),
            ("[ a ]", Ok(0)),
            ("[ 1 -eq 1 ]", Ok(0)),
            ("[ 01 -ne 1 ]", Ok(1)),
            ("[ 9 -lt 10 ]", Ok(0)),
            ("[ 10 -le 9 ]", Ok(1)),
            ("test 6 -gt 5", Ok(0)),
            ("[ ! -1 -ge 0 ]", Ok(0)),
            ("true", Ok(0)),
            ("false", Ok(1)),
        ];
        for (line, expected) in rows {
            assert_eq!(run(line).0, expected, "{line}");
        }
        assert!(run("[ a = a").0.unwrap_err().contains("]"));
        assert!(run("[ 1 -a 2 ]").0.unwrap_err().contains("1 -a 2"));
        assert!(run("[ a -lt 2 ]").0.unwrap_err().contains("\"a\" is no integer"));
    }

    #[test]
    fn directories_are_made_with_their_parents() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a/b").display().to_string();
        assert!(run(&format!("mkdir {path}")).0.unwrap_err().contains(&path));
        assert_eq!(run(&format!("mkdir -p {path}")).0, Ok(0));
        assert_eq!(run(&format!("mkdir -p {path}")).0, Ok(0));
        assert!(directory.path().join("a/b").is_dir());
        assert!(run("mkdir -m 700 x").0.unwrap_err().contains("-m"));
        assert!(run("mkdir").0.is_err());
    }

    #[test]
    fn times_are_seconds_or_have_a_unit() {
        let rows = [("10", Some(10.0)), ("0.1", Some(0.1)), ("5s", Some(5.0)), ("1m", Some(60.0))];
        for (text, expected) in rows {
            assert_eq!(seconds(text), expected, "{text}");
        }
        for text in ["", "s", "-1", "a", "1e3", "nan"] {
            assert_eq!(seconds(text), None, "{text}");
        }
        assert_eq!(run("sleep 0").0, Ok(0));
        assert!(run("tail -n 1 x").0.is_err());
    }
}
