//! The configured users: of a pair of keys, or of a credentials file.

use std::path::{Path, PathBuf};

use liteio_store::{Owner, Store};

use super::owner::other_owner_of_all;
use crate::settings::{CredentialsSource, IdentitySettings, OidcIssuer};
use liteio_identity::{Directory, DirectoryBuilder, Issuer, only_user, read_credentials};
use liteio_wire::file_stamp::FileStamp;
use liteio_wire::private_file;

/// The configured users, read once.
#[derive(Debug)]
pub struct ConfiguredUsers {
    pub(super) source: CredentialsSource,
    pub(super) directory: Directory,
    /// The stamps of the files, taken before they were read.
    pub(super) stamps: Vec<Stamp>,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) issuers: Vec<OidcIssuer>,
    /// The owner of all data, if it differs from the default of the only user's access key.
    pub(super) owner_id: Option<String>,
}

/// A file at one moment.
#[derive(Debug)]
pub(super) struct Stamp {
    path: PathBuf,
    /// `None` for a missing file.
    state: Option<FileStamp>,
}

impl Stamp {
    fn of(path: PathBuf) -> Stamp {
        let state = FileStamp::of(&path);
        Stamp { path, state }
    }

    pub(super) fn is_of_now(&self) -> bool {
        self.state == FileStamp::of(&self.path)
    }
}

impl ConfiguredUsers {
    /// Reads the configured users.
    ///
    /// # Errors
    /// One line that tells what to change, without secrets.
    pub fn read(settings: &IdentitySettings) -> Result<ConfiguredUsers, String> {
        let mut stamps = Vec::new();
        let (source, issuers) = (settings.credentials.clone(), settings.oidc_issuers.clone());
        let directory = read(&source, None, &issuers, &mut stamps)?;
        let ca_file = settings.ca_file.clone();
        Ok(ConfiguredUsers { source, directory, stamps, ca_file, issuers, owner_id: None })
    }

    /// The owner of what the server makes: the first account.
    pub fn owner(&self) -> Option<Owner> {
        let account = self.directory.first_account()?;
        let (id, display_name) = (account.canonical_id.clone(), account.display_name.clone());
        Some(Owner { id, display_name })
    }

    /// Makes the only configured user the owner of all data in the store, even after its access key
    /// was changed.
    ///
    /// # Errors
    /// One line.
    pub fn take_over(mut self, store: &Store) -> Result<ConfiguredUsers, String> {
        let CredentialsSource::Pair { access_key, .. } = &self.source else { return Ok(self) };
        let owner_id = other_owner_of_all(store, access_key).map_err(|error| error.to_string())?;
        if owner_id.is_some() {
            let issuers = &self.issuers;
            self.directory = read(&self.source, owner_id.as_deref(), issuers, &mut self.stamps)?;
            self.owner_id = owner_id;
        }
        Ok(self)
    }
}

/// Reads the users. The stamps are taken before, so that a change during the read is noticed.
pub(super) fn read(
    source: &CredentialsSource,
    owner_id: Option<&str>,
    issuers: &[OidcIssuer],
    stamps: &mut Vec<Stamp>,
) -> Result<Directory, String> {
    let mut directory = DirectoryBuilder::from(read_source(source, owner_id, stamps)?);
    for issuer in issuers {
        let issuer = Issuer::new(&issuer.url, issuer.audiences.clone());
        directory.issuer(issuer.map_err(|error| error.to_string())?);
    }
    Ok(directory.build())
}

fn read_source(
    source: &CredentialsSource,
    owner_id: Option<&str>,
    stamps: &mut Vec<Stamp>,
) -> Result<Directory, String> {
    let path = match source {
        CredentialsSource::Pair { access_key, secret_key } => {
            let directory = only_user(access_key, secret_key, owner_id);
            return directory.map_err(|error| error.to_string());
        }
        CredentialsSource::File(path) => path,
        CredentialsSource::Made => return Err("the credentials were not made".to_owned()),
    };
    let mut read = |path: &Path| {
        stamps.push(Stamp::of(path.to_owned()));
        private_file::read(path)
    };
    let text = read(path)?;
    let beside = path.parent().unwrap_or(Path::new(""));
    let directory = read_credentials(&text, &mut |name| read(&beside.join(name)));
    directory.map_err(|error| format!("{}: {error}", path.display()))
}
