//! The names that others choose for files here.

/// A checked name below a directory, with slashes between its parts. A slash at its end denotes a
/// directory.
///
/// Keys and the names of buckets are any text, chosen by a service and by every user who may write
/// to it. A name that would lead out of the directory, or to a file that another name could share,
/// is refused. Only this type can be joined to a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RelativeName(String);

/// The systems with different rules for names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Windows,
    Other,
}

impl System {
    const HERE: System = if cfg!(windows) { System::Windows } else { System::Other };
}

/// Names that Windows gives to devices, with any ending.
const DEVICES: [&str; 6] = ["AUX", "CON", "CONIN$", "CONOUT$", "NUL", "PRN"];

impl RelativeName {
    /// Checks a name.
    ///
    /// # Errors
    /// The reason, for the user.
    pub(crate) fn parse(name: &str) -> Result<RelativeName, String> {
        RelativeName::of_system(System::HERE, name)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    fn of_system(system: System, name: &str) -> Result<RelativeName, String> {
        let parts = name.strip_suffix('/').unwrap_or(name);
        // Directories may be shared with Windows, so what leads out there is refused everywhere.
        let reason = match parts.split('/').find_map(|part| refusal(system, part)) {
            None if begins_with_drive(name) => "it begins with the letter of a drive",
            None => return Ok(RelativeName(name.to_owned())),
            Some(reason) => reason,
        };
        let name = name.escape_debug();
        Err(format!("'{name}' cannot be the name of a file: {reason}"))
    }
}

/// The reason why this cannot be a part of a name.
fn refusal(system: System, part: &str) -> Option<&'static str> {
    let is_windows = system == System::Windows;
    match part {
        "" => Some("a part of it is empty, or it begins with a slash"),
        "." | ".." => Some("it would lead to another directory"),
        _ if part.contains('\0') => Some("it holds a NUL"),
        _ if part.starts_with('\\') || part.split('\\').any(|it| it == "..") => {
            Some("it would lead to another directory on Windows")
        }
        _ if is_windows && part.contains(['\\', ':', '<', '>', '"', '|', '?', '*']) => {
            Some("it has characters that files here cannot have")
        }
        _ if is_windows && part.contains(char::is_control) => {
            Some("it has characters that files here cannot have")
        }
        _ if is_windows && part.ends_with(['.', ' ']) => {
            Some("a part of it ends with a dot or a space")
        }
        _ if is_windows && is_device(part) => Some("it is the name of a device"),
        _ => None,
    }
}

/// `true` for `C:/` and `C:\`.
fn begins_with_drive(name: &str) -> bool {
    matches!(name.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
}

/// `true` for `CON`, `con.txt`, `COM1`, `LPT².log`.
fn is_device(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default().trim_end();
    let stem = stem.to_ascii_uppercase();
    let port = ["COM", "LPT"].iter().find_map(|port| stem.strip_prefix(port));
    let is_port = port.is_some_and(|it| {
        let mut number = it.chars();
        let is_number = |it: char| it.is_ascii_digit() || matches!(it, '¹' | '²' | '³');
        number.next().is_some_and(is_number) && number.next().is_none()
    });
    is_port || DEVICES.contains(&stem.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of others, and whether they are names of files on Windows and elsewhere.
    const ROWS: &[(&str, bool, bool)] = &[
        ("a", true, true),
        ("a/b", true, true),
        ("a b/ü", true, true),
        ("..a/b..c", true, true),
        ("-", true, true),
        ("dir/", true, true),
        ("console", true, true),
        ("com", true, true),
        ("com10", true, true),
        ("comma.txt", true, true),
        ("nul_", true, true),
        // Names of files here that Windows does not have.
        ("...", false, true),
        ("a.", false, true),
        ("a ", false, true),
        ("a\nb", false, true),
        ("C:", false, true),
        ("u:12", false, true),
        ("2026-01-01T00:00:00", false, true),
        ("file:stream", false, true),
        ("a\\b", false, true),
        ("a?", false, true),
        ("CON", false, true),
        ("con", false, true),
        ("aux.txt", false, true),
        ("Nul.tar.gz", false, true),
        ("prn .txt", false, true),
        ("dir/aux/file", false, true),
        ("com1", false, true),
        ("LPT9.log", false, true),
        ("lpt²", false, true),
        ("conin$", false, true),
        // Another directory, or no name at all.
        ("", false, false),
        ("/", false, false),
        ("//", false, false),
        ("/etc/passwd", false, false),
        (".", false, false),
        ("./", false, false),
        ("..", false, false),
        ("../", false, false),
        ("../x", false, false),
        ("../../x", false, false),
        ("a/../../x", false, false),
        ("a/..", false, false),
        ("./a", false, false),
        ("a//b", false, false),
        ("a/./b", false, false),
        ("a//", false, false),
        ("a\0b", false, false),
        ("a/\0", false, false),
        ("\\", false, false),
        ("\\x", false, false),
        ("\\\\server\\share", false, false),
        ("\\\\?\\C:\\x", false, false),
        ("..\\x", false, false),
        ("a\\..\\..\\x", false, false),
        ("a/..\\b", false, false),
        ("a/\\b", false, false),
        ("C:\\x", false, false),
        ("c:/x", false, false),
        ("C:/", false, false),
    ];

    #[test]
    fn a_name_stays_below_its_directory_on_every_system() {
        for &(name, on_windows, elsewhere) in ROWS {
            for (system, expected) in [(System::Windows, on_windows), (System::Other, elsewhere)] {
                let parsed = RelativeName::of_system(system, name);
                assert_eq!(parsed.is_ok(), expected, "{name:?} {system:?}: {parsed:?}");
                match parsed {
                    Ok(parsed) => assert_eq!(parsed.as_str(), name),
                    Err(reason) => assert!(!reason.contains(['\n', '\0']), "{reason}"),
                }
            }
        }
    }
}
