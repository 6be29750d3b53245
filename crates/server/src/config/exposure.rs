//! Settings that other machines could abuse: refusals, warnings and guards.

use super::{
    Config, ConfigError, CredentialsSource, ListenAddress, Profile, credentials, error, test_api,
};
use crate::cli::ServerArgs;
use crate::platform;
use liteio_space::no_auth::{HostNames, NoAuth};

/// Listens on all interfaces in the place of MinIO, as it does, unless an address is given, or everyone knows the
/// credentials.
pub(super) fn open_as_minio(arguments: &mut ServerArgs, profile: Option<Profile>) {
    if profile != Some(Profile::Minio) || arguments.host.is_some() || arguments.no_auth {
        return;
    }
    // An error is told when the settings are resolved.
    let keys = credentials::resolve(arguments, profile);
    if keys.is_ok_and(|keys| !keys.is_well_known()) {
        arguments.host = Some("0.0.0.0".to_owned());
    }
}

impl Config {
    /// Warnings about insecure settings, which only a profile, a container or a flag allows.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let open =
            self.exposed().map_or(String::new(), |address| format!(", and {address} is open"));
        if self.no_auth {
            warnings
                .push(format!("signatures are not checked: every client has full access{open}"));
        } else if self.credentials.is_well_known() && self.exposed().is_some() {
            warnings
                .push(format!("the default credentials are publicly known{open}: set your own"));
        }
        if self.aws_defaults && self.keys.master.is_none() {
            warnings.push(
                "--aws-defaults encrypts new objects only with a master key, which data that stays needs: give \
                 --master-key-file FILE (`liteio key new FILE` makes one)"
                    .to_owned(),
            );
        }
        if test_api::is_open(self.test_api) {
            warnings.push(
                "the test API is on: every client can delete all data without a signature"
                    .to_owned(),
            );
        }
        warnings
    }

    /// The rules for unsigned requests, if signatures are not checked.
    pub(crate) fn without_signatures(&self) -> Option<NoAuth> {
        let CredentialsSource::Pair { access_key, .. } = &self.credentials else { return None };
        let names = || HostNames {
            domains: self.domains.clone(),
            of_container: self.exposed().map(|_| platform::host_names()),
        };
        self.no_auth.then(|| NoAuth::new(access_key.clone(), &self.cors_origins, names()))
    }

    /// The first address that other machines can connect to.
    pub(crate) fn exposed(&self) -> Option<&ListenAddress> {
        let console = self.console_address.as_ref().map(|console| &console.address);
        let iceberg = self.iceberg_address.as_ref();
        let addresses = [Some(&self.address), self.plain_address.as_ref(), console, iceberg];
        addresses.into_iter().flatten().find(|address| !address.is_loopback())
    }

    /// Rejects addresses that other machines can reach if the credentials are the public defaults.
    pub(super) fn check_exposure(&self, arguments: &ServerArgs) -> Result<(), ConfigError> {
        let Some(address) = self.exposed() else { return Ok(()) };
        if self.no_auth {
            return match arguments.in_container {
                true => Ok(()),
                false => error(format!(
                    "{address} is open to other machines, and signatures are not checked: give \
                     --address 127.0.0.1:{}, or leave --no-auth (LITEIO_NO_AUTH) and the profile out",
                    address.port
                )),
            };
        }
        // A profile's credentials are part of the emulation.
        let is_allowed = arguments.allow_default_credentials || self.profile.is_some();
        match self.credentials.is_well_known() && !is_allowed {
            true => error(format!(
                "{address} is open to other machines, and the default credentials are public: set \
                 LITEIO_ACCESS_KEY and LITEIO_SECRET_KEY (or pass --allow-default-credentials)"
            )),
            false => Ok(()),
        }
    }
}
