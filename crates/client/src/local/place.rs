//! Places of files and directories.

use std::io;
use std::path::Path;

use super::name::RelativeName;
use crate::error::Error;

/// A file or directory. A slash at its end denotes a directory.
///
/// Its path begins with the text of the user, or with a path that a walk has found. Names of others
/// follow only as [`RelativeName`]s, and links that are among the directories below are not
/// followed when something is written or listed.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    text: String,
    /// Length of the part that is followed wherever it leads.
    trusted: usize,
}

impl Local {
    /// The path that the user has written.
    pub(crate) fn given(text: &str) -> Local {
        Local { text: text.to_owned(), trusted: text.len() }
    }

    /// A path that was found in a directory of this machine.
    pub(crate) fn found(path: &Path) -> Local {
        Local::given(&path.to_string_lossy())
    }

    /// The place of a name below this directory.
    pub(crate) fn below(&self, name: &RelativeName) -> Local {
        let Local { text, trusted } = self.folder();
        Local { text: format!("{text}{}", name.as_str()), trusted }
    }

    /// The same place, with a slash at its end.
    pub(crate) fn folder(&self) -> Local {
        let slash = if self.text.is_empty() || self.text.ends_with('/') { "" } else { "/" };
        Local { text: format!("{}{slash}", self.text), trusted: self.trusted }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.text)
    }

    pub(crate) fn ends_with_slash(&self) -> bool {
        self.text.ends_with('/')
    }

    /// Refuses a link on the way to this directory, this one included, unless the user has named it.
    /// Missing directories are no links.
    ///
    /// # Errors
    /// There is a link.
    pub(crate) fn refuse_links(&self) -> Result<(), Error> {
        self.each_below(|directory| match std::fs::symlink_metadata(directory) {
            Ok(metadata) if metadata.is_symlink() => Err(a_link(directory)),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Error::file(directory)(error)),
        })
    }

    /// Makes this directory, with the missing ones above it.
    ///
    /// # Errors
    /// A link is on the way, or the system cannot make a directory.
    pub(crate) fn make_directory(&self) -> Result<(), Error> {
        let trusted = Path::new(&self.text[..self.trusted]);
        std::fs::create_dir_all(trusted).map_err(Error::file(trusted))?;
        self.each_below(|directory| {
            let found = match std::fs::create_dir(directory) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    std::fs::symlink_metadata(directory)
                }
                made => made.and_then(|()| std::fs::symlink_metadata(directory)),
            };
            match found {
                Ok(metadata) if metadata.is_symlink() => Err(a_link(directory)),
                Ok(metadata) if metadata.is_dir() => Ok(()),
                Ok(_) => Err(Error::file(directory)(io::ErrorKind::NotADirectory.into())),
                Err(error) => Err(Error::file(directory)(error)),
            }
        })
    }

    /// The directory of this file.
    pub(crate) fn parent(&self) -> Local {
        let name = self.text[self.trusted..].rfind('/').map(|at| self.trusted + at);
        match name {
            Some(at) => Local { text: self.text[..at].to_owned(), trusted: self.trusted },
            None => match self.path().parent() {
                Some(parent) if !parent.as_os_str().is_empty() => Local::found(parent),
                _ => Local::given("."),
            },
        }
    }

    /// Calls `each` for every directory on the way from the trusted one to this one.
    fn each_below(&self, mut each: impl FnMut(&Path) -> Result<(), Error>) -> Result<(), Error> {
        let (trusted, below) = self.text.split_at(self.trusted);
        let ends = below.match_indices('/').map(|(at, _)| at).chain([below.len()]);
        for end in ends {
            if !below[..end].trim_matches('/').is_empty() && !below[..end].ends_with('/') {
                each(Path::new(&format!("{trusted}{}", &below[..end])))?;
            }
        }
        Ok(())
    }
}

fn a_link(path: &Path) -> Error {
    Error::refused(format!(
        "{} is a link, and names of a service are not followed out of their directory; remove the \
         link, or name the directory behind it as the target",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(directory: &Path, name: &str) -> Local {
        let name = RelativeName::parse(name).expect("a name");
        Local::found(directory).below(&name)
    }

    #[test]
    fn names_are_joined_and_their_directories_are_made() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["a", "b/c", "b/d/", "b/d/e/f"] {
            let place = below(directory.path(), name);
            assert_eq!(place.path(), directory.path().join(name), "{name}");
            place.refuse_links().expect("there is none");
            place.parent().make_directory().expect("made");
            assert!(place.path().parent().is_some_and(Path::is_dir), "{name}");
        }
        let twice = below(directory.path(), "b/d/");
        let twice = twice.below(&RelativeName::parse("x/y").expect("a name"));
        assert_eq!(twice.path(), directory.path().join("b/d/x/y"));
        twice.make_directory().expect("made");
        std::fs::write(directory.path().join("file"), "x").expect("written");
        below(directory.path(), "file/x").make_directory().expect_err("a file");
        let rows = [("a", "."), ("a/b", "a"), ("/a", "/"), ("a/b/", "a")];
        for (file, parent) in rows {
            assert_eq!(Local::given(file).parent().text(), parent, "{file}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_below_the_directory_of_the_user_leads_nowhere() {
        use std::os::unix::fs::symlink;

        let outside = tempfile::tempdir().expect("a directory");
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(outside.path().join("deep")).expect("made");
        symlink(outside.path(), directory.path().join("link")).expect("linked");
        symlink(outside.path().join("none"), directory.path().join("dangling")).expect("linked");
        std::fs::create_dir(directory.path().join("dir")).expect("made");
        symlink("../link", directory.path().join("dir/link")).expect("linked");
        for name in ["link", "link/x", "link/deep/x", "dangling", "dangling/x", "dir/link/x"] {
            let place = below(directory.path(), name);
            assert!(place.refuse_links().is_err(), "{name}");
            assert!(place.make_directory().is_err(), "{name}");
        }
        let count = std::fs::read_dir(outside.path()).expect("read").count();
        assert_eq!(count, 1);
        // The user may name a link.
        let named = Local::found(&directory.path().join("link"));
        let place = named.below(&RelativeName::parse("made/").expect("a name"));
        place.refuse_links().expect("named by the user");
        place.make_directory().expect("made");
        assert!(outside.path().join("made").is_dir());
    }
}
