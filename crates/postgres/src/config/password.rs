//! Passwords and their files.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Host, PostgresConfig};
use crate::error::PostgresError;

/// A password, which no log shows.
#[derive(Clone)]
pub(crate) struct Password(String);

impl Password {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Password(…)")
    }
}

/// The password that the environment has for these settings: the file of passwords that the URL
/// names, `LITEIO_METADATA_PASSWORD_FILE`, `PGPASSFILE`, in this order.
pub(super) fn find(
    config: &PostgresConfig,
    passfile: Option<PathBuf>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<Password>, PostgresError> {
    let set = |name: &str| variable(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    if let Some(file) = passfile {
        return of_table(config, &file);
    }
    if let Some(file) = set("LITEIO_METADATA_PASSWORD_FILE") {
        return read(&file).map(Some);
    }
    match set("PGPASSFILE") {
        Some(file) => of_table(config, &file),
        None => Ok(None),
    }
}

/// The first line of a file.
pub(super) fn read(file: &Path) -> Result<Password, PostgresError> {
    // Secrets of containers are files that everybody in the container may read.
    let text = text_of(file)?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(Password::new(line.to_owned())),
        _ => Err(PostgresError::Settings(format!(
            "the password file {} has no password in its first line",
            file.display()
        ))),
    }
}

/// The password in a file as of libpq: lines of `host:port:database:user:password`, where `*` stands for
/// anything and `\` before `:` and `\`.
fn of_table(config: &PostgresConfig, file: &Path) -> Result<Option<Password>, PostgresError> {
    check_readers(file)?;
    let text = text_of(file)?;
    let of_host = |host: &Host| {
        let port = host.port.to_string();
        let wanted = [&*host.name, &*port, &*config.database, &*config.user];
        text.lines().find_map(|line| password_in(line, &wanted))
    };
    let mut found = config.hosts.iter().map(of_host);
    let first = found.next().flatten();
    // A connection tries the hosts in turn with one password.
    if found.any(|other| other != first) {
        return Err(PostgresError::Settings(format!(
            "the password file {} has different passwords for the hosts of the database",
            file.display()
        )));
    }
    Ok(first.map(Password::new))
}

fn password_in(line: &str, wanted: &[&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let count = fields.len();
        let field = fields.last_mut()?;
        match character {
            '\\' => field.extend(characters.next()),
            ':' if count < 5 => fields.push(String::new()),
            _ => field.push(character),
        }
    }
    let password = fields.pop().filter(|_| fields.len() == 4)?;
    let fits = fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
    fits.then_some(password)
}

/// Refuses a table of passwords that everybody may read, as libpq does.
fn check_readers(file: &Path) -> Result<(), PostgresError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = fs::metadata(file).map_err(|error| unreadable(file, &error))?;
        if metadata.is_file() && metadata.permissions().mode() & 0o007 != 0 {
            return Err(unreadable(file, &"everybody may use it: chmod o-rwx"));
        }
    }
    Ok(())
}

fn text_of(file: &Path) -> Result<String, PostgresError> {
    fs::read_to_string(file).map_err(|error| unreadable(file, &error))
}

fn unreadable(file: &Path, error: &dyn fmt::Display) -> PostgresError {
    PostgresError::Settings(format!("cannot read the password file {}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn file(text: &str, mode: u32) -> tempfile::NamedTempFile {
        use std::os::unix::fs::PermissionsExt;
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).expect("set");
        file
    }

    fn parsed(url: &str, name: &str, file: &Path) -> Result<PostgresConfig, PostgresError> {
        let variable = |asked: &str| (asked == name).then(|| file.as_os_str().to_owned());
        PostgresConfig::parse(url, variable)
    }

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let table = file(
            "# a comment\nother:*:*:*:no\ndb1:5432:data:us\\:er:a\\\\b:c\n*:*:data:us\\:er:second\n",
            0o600,
        );
        let config = parsed("postgres://us%3Aer@db1/data", "PGPASSFILE", table.path());
        let password = config.expect("it is valid").password.expect("a password");
        assert_eq!(password.text(), "a\\b:c");
        assert!(!format!("{password:?}").contains("b:c"));
        let config = parsed("postgres://us%3Aer@db9/data", "PGPASSFILE", table.path());
        assert_eq!(config.expect("valid").password.expect("a password").text(), "second");
        let config = parsed("postgres://other@db9/data", "PGPASSFILE", table.path());
        assert!(config.expect("valid").password.is_none());
        let error = parsed("postgres://us%3Aer@db1,db9/data", "PGPASSFILE", table.path());
        assert!(error.expect_err("they differ").to_string().contains("different passwords"));
        let url = format!("postgres://us%3Aer@db1/data?passfile={}", table.path().display());
        let config = parsed(&url, "OTHER", table.path()).expect("valid");
        assert_eq!(config.password.expect("a password").text(), "a\\b:c");
    }

    #[test]
    fn a_file_of_one_password_is_read() {
        let secret = file("hush\n", 0o644);
        let name = "LITEIO_METADATA_PASSWORD_FILE";
        let config = parsed("postgres://u@h/d", name, secret.path()).expect("valid");
        assert_eq!(config.password.expect("a password").text(), "hush");
        // That of the URL comes first.
        let config = parsed("postgres://u:own@h/d", name, secret.path()).expect("valid");
        assert!(!format!("{config:?}").contains("own"));
        assert_eq!(config.password.expect("a password").text(), "own");
        let table = file("*:*:*:*:hush\n", 0o644);
        let error = parsed("postgres://u@h/d", "PGPASSFILE", table.path());
        assert!(error.expect_err("everybody reads it").to_string().contains("chmod"));
        let empty = file("\nhush", 0o600);
        let error = parsed("postgres://u@h/d", name, empty.path()).expect_err("no password");
        assert!(error.to_string().contains("first line"), "{error}");
        parsed("postgres://u@h/d", name, Path::new("/nonexistent/file")).expect_err("no file");
    }

    #[test]
    fn a_cluster_is_named_by_a_plain_word() {
        let config = parsed("postgres://u@h/d", "", Path::new("")).expect("valid");
        for name in ["liteio", "a", "prod_2"] {
            assert_eq!(config.clone().with_cluster(name).expect(name).cluster(), name);
        }
        for name in
            ["", "2a", "_a", "A", "a-b", "a\"b", "a b", "pg_x", "public", "é", &"a".repeat(49)]
        {
            config.clone().with_cluster(name).expect_err(name);
        }
    }
}
