//! Files that hold a secret.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use rustix::process::{getegid, geteuid};

/// Reads a file as text.
///
/// # Errors
/// One line with the path and the reason.
pub fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

/// The reason why this process cannot read a file, with advice if it lacks the right.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> String {
    let shown = path.display();
    if error.kind() != io::ErrorKind::PermissionDenied {
        return format!("cannot read {shown}: {error}");
    }
    let user = geteuid().as_raw();
    match fs::metadata(path) {
        Ok(metadata) => {
            let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
            // Not the user's own: a server that is broken into cannot write it. By number, which a host knows as well as
            // its containers.
            let group = getegid().as_raw();
            format!(
                "user {user} cannot read {shown}, which is owned by user {owner} with mode {mode:04o}: run \
                 \"chown root:{group} {shown} && chmod 640 {shown}\" (in a container: on the mounted file), or start as \
                 user {owner}"
            )
        }
        // A directory above it.
        Err(_) => format!(
            "user {user} cannot read {shown}: {error}: give user {user} the right to enter its directory"
        ),
    }
}

/// Reads a file and parses its text.
///
/// # Errors
/// One line with the path, and the reason or the error of `parse`.
pub fn parsed<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<T, String> {
    parse(&read(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads the only secret in a file, without the white space around it.
///
/// # Errors
/// One line with the path and the reason, also for an empty file.
pub fn read_secret(path: &Path) -> Result<String, String> {
    match read(path)?.trim() {
        "" => Err(format!("{} is empty: it must have the secret", path.display())),
        secret => Ok(secret.to_owned()),
    }
}

/// The same for a file that may have the bare name of a secret which a container engine mounts.
///
/// # Errors
/// As those of [`read_secret`].
pub fn read_mounted_secret(path: &Path) -> Result<String, String> {
    let mounted = Path::new("/run/secrets").join(path);
    read_secret(if mounted.is_file() { mounted.as_path() } else { path })
}

/// Replaces a file atomically. A new one is readable by its owner only, another one keeps owner, group and mode: the
/// server that reads it may run as another user than the command that writes it. The old content stays valid until
/// the rename.
///
/// # Errors
/// The errors of the system; nothing has changed if the new file cannot be given to the owner of the old one.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = PathBuf::from(temporary);
    let mut file = create(&temporary)?;
    if let Ok(old) = fs::metadata(path)
        && let Err(error) = give(&file, &old)
    {
        drop(file);
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    // Synced before the rename, and the directory after it: a crash leaves the old or the new file,
    // never a torn one.
    fs::rename(&temporary, path)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    fs::File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

fn create(path: &Path) -> io::Result<fs::File> {
    let _ = fs::remove_file(path);
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Gives a new file owner, group and mode of the old one.
fn give(new: &fs::File, old: &fs::Metadata) -> io::Result<()> {
    let own = new.metadata()?;
    if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
        fchown(new, Some(old.uid()), Some(old.gid())).map_err(|error| {
            let (owner, group) = (old.uid(), old.gid());
            let told = format!(
                "it belongs to user {owner} and group {group}, and a new one cannot be given to them ({error}): run \
                 this as user {owner} or as root"
            );
            io::Error::new(error.kind(), told)
        })?;
    }
    new.set_permissions(fs::Permissions::from_mode(old.mode() & 0o777))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_replaced_keeps_its_mode_and_a_new_one_is_of_its_owner_only() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("key");
        let mode = || fs::metadata(&path).expect("there").mode() & 0o777;
        write(&path, "one").expect("written");
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("changed");
        write(&path, "two").expect("written");
        assert_eq!((mode(), read(&path).as_deref()), (0o640, Ok("two")));
    }

    #[test]
    fn a_file_without_the_right_to_read_it_names_the_user_and_advises() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("key");
        write(&path, "one").expect("written");
        let told = unreadable(&path, &io::ErrorKind::PermissionDenied.into());
        let user = geteuid().as_raw();
        assert!(told.starts_with(&format!("user {user} cannot read ")), "{told}");
        assert!(told.contains("with mode 0600: run \"chown root:"), "{told}");
        let told = unreadable(&path.join("below"), &io::ErrorKind::PermissionDenied.into());
        assert!(told.contains("enter its directory"), "{told}");
        assert!(read(&path.join("below")).expect_err("no file").starts_with("cannot read "));
    }
}
