//! Profiles: the ports, credentials and defaults of emulated servers. A profile has no effect
//! unless it is selected.

use super::{ConfigError, error};
use crate::cli::{ServerArgs, Source};

/// The emulated server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// MinIO: its port, its well-known credentials, all interfaces with others, CORS for all origins, empty directories as
    /// buckets.
    Minio,
    /// LocalStack: its port, in memory, CORS for local pages, no signature checks.
    Localstack,
    /// S3Mock: its ports, in memory, CORS for local pages, no signature checks.
    S3mock,
}

impl Profile {
    /// Parses the name of a profile.
    ///
    /// # Errors
    /// [`ConfigError`] if there is no such profile.
    pub(crate) fn parse(name: &str) -> Result<Profile, ConfigError> {
        match name {
            "minio" => Ok(Profile::Minio),
            "localstack" => Ok(Profile::Localstack),
            "s3mock" => Ok(Profile::S3mock),
            _ => {
                error(format!("the profile {name:?} is unknown: give minio, localstack or s3mock"))
            }
        }
    }

    /// The port for plain HTTP.
    pub(crate) fn port(self) -> u16 {
        match self {
            Profile::Minio => 9000,
            Profile::Localstack => 4566,
            Profile::S3mock => 9090,
        }
    }

    /// Fills in settings that are not given.
    pub(super) fn fill(self, arguments: &mut ServerArgs) {
        let mut defaults = Defaults(arguments);
        match self {
            Profile::Minio => {
                defaults.give("cors_origin", |it| it.cors_origin = vec!["*".to_owned()]);
                defaults.give("allow_signature_v2", |it| it.allow_signature_v2 = true);
                defaults.give("object_ownership", |it| {
                    it.object_ownership = Some("bucket-owner-preferred".to_owned());
                });
            }
            Profile::Localstack => {
                defaults.without_checks();
                defaults.give("domain", |it| {
                    it.domain.extend(LOCALSTACK_DOMAINS.map(str::to_owned));
                });
            }
            Profile::S3mock => {
                defaults.without_checks();
                defaults.both_ports();
            }
        }
    }
}

/// Public DNS names that resolve to 127.0.0.1, which LocalStack users send requests to.
const LOCALSTACK_DOMAINS: [&str; 2] =
    ["localhost.localstack.cloud", "s3.localhost.localstack.cloud"];

/// Origins of pages that developers serve themselves. Not all origins: without signature checks,
/// any web page that the developer opens could have full access.
const LOCAL_ORIGINS: [&str; 8] = [
    "http://localhost",
    "http://localhost:*",
    "https://localhost",
    "https://localhost:*",
    "http://127.0.0.1",
    "http://127.0.0.1:*",
    "https://127.0.0.1:*",
    "https://*.localhost.localstack.cloud:4566",
];

/// S3Mock's port for HTTPS.
const S3MOCK_TLS_PORT: u16 = 9191;

/// Settings to fill in where they are not given.
struct Defaults<'a>(&'a mut ServerArgs);

impl Defaults<'_> {
    fn give(&mut self, setting: &str, give: impl FnOnce(&mut ServerArgs)) {
        if self.0.sources.get(setting).is_none() {
            give(self.0);
            self.0.sources.note(setting, Source::Profile);
        }
    }

    fn without_checks(&mut self) {
        self.give("no_auth", |it| it.no_auth = true);
        self.give("allow_insecure_sse_c", |it| it.allow_insecure_sse_c = true);
        self.give("cors_origin", |it| {
            it.cors_origin.extend(LOCAL_ORIGINS.map(str::to_owned));
        });
        self.give("aws_defaults", |it| it.aws_defaults = true);
        self.give("memory", |it| it.memory = it.sources.get("data_dir").is_none());
    }

    /// Serves plain HTTP and HTTPS at S3Mock's two ports, unless addresses are given.
    fn both_ports(&mut self) {
        let others = ["address", "port", "tls_cert", "tls_self_signed", "plain_address"];
        if others.iter().any(|name| self.0.sources.get(name).is_some()) {
            return;
        }
        let host = self.0.host().to_owned();
        self.0.address = Some(format!("{host}:{S3MOCK_TLS_PORT}"));
        self.0.plain_address = Some(format!("{host}:{}", Profile::S3mock.port()));
        self.0.tls_self_signed = true;
    }
}
