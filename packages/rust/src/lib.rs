//! LiteIO, an object store that speaks Amazon S3, in a container for tests.
//!
//! ```no_run
//! use liteio_testcontainers::{LiteIO, testcontainers::runners::AsyncRunner};
//!
//! # async fn start() -> Result<(), liteio_testcontainers::testcontainers::TestcontainersError> {
//! let container = LiteIO::default().with_buckets(["photos"]).start().await?;
//! let endpoint = format!("http://{}:{}", container.get_host().await?, container.get_host_port_ipv4(9000).await?);
//! # Ok(())
//! # }
//! ```

use std::borrow::Cow;

pub use testcontainers;
use testcontainers::{
    Image,
    core::{ContainerPort, WaitFor, wait::HttpWaitStrategy},
};

/// Name of the image, unless `ImageExt::with_name` names another.
pub const NAME: &str = "liteio";
/// Tag of the image: the version of this crate. Tags of versions never move.
pub const TAG: &str = env!("CARGO_PKG_VERSION");
/// Port of the endpoint inside the container.
pub const PORT: ContainerPort = ContainerPort::Tcp(9000);

/// Image of LiteIO with its data in memory, which has started once the server answers that it is ready.
///
/// Other settings of the server are variables, which `ImageExt::with_env_var` sets: `LITEIO_MEMORY=false` keeps the data in `/data`
/// of the container.
#[derive(Debug, Clone)]
pub struct LiteIO {
    username: String,
    password: String,
    region: String,
    buckets: Vec<String>,
    // The trait asks for a borrowed list.
    variables: Vec<(&'static str, String)>,
}

impl Default for LiteIO {
    fn default() -> Self {
        Self {
            username: "testaccess".to_owned(),
            password: "testsecret".to_owned(),
            region: "us-east-1".to_owned(),
            buckets: Vec::new(),
            variables: Vec::new(),
        }
        .with_variables()
    }
}

impl LiteIO {
    /// Sets the access key of the root user; default: `testaccess`.
    #[must_use]
    pub fn with_username(mut self, username: impl Into<String>) -> Self {
        self.username = username.into();
        self.with_variables()
    }

    /// Sets the secret key of the root user, of at least 8 characters; default: `testsecret`.
    #[must_use]
    pub fn with_password(mut self, password: impl Into<String>) -> Self {
        self.password = password.into();
        self.with_variables()
    }

    /// Sets the region of the server; default: `us-east-1`.
    #[must_use]
    pub fn with_region(mut self, region: impl Into<String>) -> Self {
        self.region = region.into();
        self.with_variables()
    }

    /// Creates buckets at start, each `NAME[:public|download|upload][:versioned|locked]`.
    #[must_use]
    pub fn with_buckets(mut self, buckets: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.buckets.extend(buckets.into_iter().map(Into::into));
        self.with_variables()
    }

    /// Access key of the root user.
    pub fn username(&self) -> &str {
        &self.username
    }

    /// Secret key of the root user.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// Region of the server.
    pub fn region(&self) -> &str {
        &self.region
    }

    fn with_variables(mut self) -> Self {
        self.variables = vec![
            ("LITEIO_ACCESS_KEY", self.username.clone()),
            ("LITEIO_SECRET_KEY", self.password.clone()),
            ("LITEIO_REGION", self.region.clone()),
            ("LITEIO_MEMORY", "true".to_owned()),
        ];
        if !self.buckets.is_empty() {
            self.variables.push(("LITEIO_BUCKET", self.buckets.join(",")));
        }
        self
    }
}

impl Image for LiteIO {
    fn name(&self) -> &str {
        NAME
    }

    fn tag(&self) -> &str {
        TAG
    }

    fn ready_conditions(&self) -> Vec<WaitFor> {
        let ready = HttpWaitStrategy::new("/_liteio/health/ready")
            .with_port(PORT)
            .with_expected_status_code(200_u16);
        vec![WaitFor::http(ready)]
    }

    fn env_vars(
        &self,
    ) -> impl IntoIterator<Item = (impl Into<Cow<'_, str>>, impl Into<Cow<'_, str>>)> {
        self.variables.iter().map(|(name, value)| (*name, value.as_str()))
    }

    fn expose_ports(&self) -> &[ContainerPort] {
        &[PORT]
    }
}
