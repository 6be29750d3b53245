//! The session: settings, aliases, clients and output of one run.

mod aliases;
mod output;
mod progress;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;

pub(crate) use aliases::{Alias, Aliases, PathStyle, Source, is_name, local_keys, masked};
pub(crate) use output::{Output, refusal};
pub(crate) use progress::Progress;

use crate::error::Error;
use crate::s3::{Credentials, Endpoint, Http, S3, Settings, Style, Upload, connect};

/// Memory for parts of all uploads together, in MiB.
pub(crate) const BUFFER_MIB: u32 = 256;
const RETRIES: u32 = 5;
/// Few repetitions, but some: a server may just be starting.
const PROBE_RETRIES: u32 = 2;

/// Options of all verbs.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) directory: Option<PathBuf>,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) insecure: bool,
    pub(crate) idle: Duration,
    /// The name that messages begin with.
    pub(crate) program: &'static str,
    /// An alias of this run only, which hides others of its name.
    pub(crate) alias: Option<(&'static str, Alias)>,
}

/// State that the verbs share.
pub(crate) struct Session {
    pub(crate) options: Options,
    pub(crate) output: Output,
    pub(crate) aliases: Aliases,
    /// Memory for parts; a permit is one MiB.
    pub(crate) buffers: Arc<Semaphore>,
    http: Mutex<Option<Http>>,
    clients: Mutex<HashMap<String, Arc<S3>>>,
    /// Uploads to abort when the run is interrupted.
    uploads: Mutex<Vec<(Arc<S3>, Upload)>>,
}

impl Session {
    /// # Errors
    /// The configuration cannot be read.
    pub(crate) fn new(options: Options) -> Result<Session, Error> {
        let directory = options.directory.clone().or_else(default_directory);
        let aliases = Aliases::read(directory.as_deref())?.with(options.alias.clone());
        Ok(Session {
            output: Output::new(&options),
            options,
            aliases,
            buffers: Arc::new(Semaphore::new(BUFFER_MIB as usize)),
            http: Mutex::default(),
            clients: Mutex::default(),
            uploads: Mutex::default(),
        })
    }

    /// The client of an alias.
    ///
    /// # Errors
    /// The alias is not valid.
    pub(crate) fn client(&self, name: &str, alias: &Alias) -> Result<Arc<S3>, Error> {
        let mut clients = self.clients.lock().expect("no panic while clients are locked");
        if let Some(client) = clients.get(name) {
            return Ok(client.clone());
        }
        let client = Arc::new(self.connect(name, alias, RETRIES)?);
        clients.insert(name.to_owned(), client.clone());
        Ok(client)
    }

    /// A client that tries an alias, and gives up sooner.
    ///
    /// # Errors
    /// The alias is not valid.
    pub(crate) fn probe(&self, name: &str, alias: &Alias) -> Result<Arc<S3>, Error> {
        self.connect(name, alias, PROBE_RETRIES).map(Arc::new)
    }

    fn connect(&self, name: &str, alias: &Alias, retries: u32) -> Result<S3, Error> {
        let style = match alias.path.to_ascii_lowercase().as_str() {
            "on" | "path" => Style::Path,
            "off" | "dns" => Style::Host,
            _ => Style::Auto,
        };
        if alias.api.eq_ignore_ascii_case("S3v2") {
            return Err(Error::refused(format!(
                "the alias '{name}' asks for signatures of version 2, which are not supported; set \
                 it again with --api S3v4"
            )));
        }
        let endpoint = Endpoint::parse(&alias.url, style)
            .map_err(|reason| Error::refused(format!("the alias '{name}': {reason}")))?;
        // `mc` writes placeholders into its first configuration.
        let is_set = |key: &str| !key.is_empty() && !key.starts_with("YOUR-");
        let credentials = (is_set(&alias.access_key) && is_set(&alias.secret_key)).then(|| {
            let session_token = alias.session_token.clone().filter(|it| !it.is_empty());
            let (access_key, secret_key) = (alias.access_key.clone(), alias.secret_key.clone());
            Credentials { access_key, secret_key, session_token }
        });
        let region = std::env::var("MC_REGION").ok().filter(|it| !it.is_empty());
        let region = region.or_else(|| endpoint.region().map(ToOwned::to_owned));
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        let settings = Settings { idle: self.options.idle, retries };
        let http = match alias.is_loopback {
            true => connect(true, None).map_err(Error::Refused)?,
            false => self.http()?,
        };
        Ok(S3::new(endpoint, credentials, region, http, settings))
    }

    fn http(&self) -> Result<Http, Error> {
        let mut http = self.http.lock().expect("no panic while the client is locked");
        if let Some(http) = &*http {
            return Ok(http.clone());
        }
        let authorities = self.aliases.directory().map(|it| it.join("certs").join("CAs"));
        let made =
            connect(self.options.insecure, authorities.as_deref()).map_err(Error::Refused)?;
        *http = Some(made.clone());
        Ok(made)
    }

    /// Registers an upload until it is completed or aborted.
    pub(crate) fn open_upload(&self, s3: &Arc<S3>, upload: &Upload) {
        let mut uploads = self.uploads.lock().expect("no panic while uploads are locked");
        uploads.push((s3.clone(), upload.clone()));
    }

    pub(crate) fn close_upload(&self, upload: &Upload) {
        let mut uploads = self.uploads.lock().expect("no panic while uploads are locked");
        uploads.retain(|(_, open)| open.id != upload.id);
    }

    /// Aborts the uploads that an interruption has left open, within a short time.
    pub(crate) async fn abort_uploads(&self) {
        let open =
            std::mem::take(&mut *self.uploads.lock().expect("no panic while uploads are locked"));
        let abort = async {
            for (s3, upload) in open {
                // An upload that cannot be aborted is listed by `ls --incomplete`.
                let _ = s3.abort_upload(&upload).await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(5), abort).await;
    }
}

fn default_directory() -> Option<PathBuf> {
    let home = std::env::home_dir().filter(|it| it != Path::new(""))?;
    Some(home.join(".mc"))
}
