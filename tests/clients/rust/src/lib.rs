//! A server for a test, and a client of the AWS SDK for it.

use aws_sdk_s3::config::{BehaviorVersion, Config, Credentials, Region};
use liteio::{Server, ServerBuilder, ServerHandle};
use tempfile::TempDir;

/// The credentials of a server without settings.
pub const ACCESS_KEY: &str = "liteio";
/// The secret key to it.
pub const SECRET_KEY: &str = "liteio123";

/// A server that ends with the test.
pub struct TestServer {
    handle: ServerHandle,
    _directory: TempDir,
}

/// A server in memory, and one on a directory.
pub async fn both() -> [TestServer; 2] {
    let spawn = async |set: fn(ServerBuilder, &TempDir) -> ServerBuilder| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let handle = set(Server::builder(), &directory).spawn().await.expect("the server starts");
        TestServer { handle, _directory: directory }
    };
    [
        spawn(|builder, _| builder.memory()).await,
        spawn(|builder, directory| builder.data_dir(directory.path())).await,
    ]
}

impl TestServer {
    /// The URL.
    pub fn endpoint(&self) -> String {
        self.handle.endpoint()
    }

    /// A client of the AWS SDK.
    pub fn client(&self) -> aws_sdk_s3::Client {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .credentials_provider(Credentials::new(ACCESS_KEY, SECRET_KEY, None, None, "test"))
            .endpoint_url(self.endpoint())
            .force_path_style(true)
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .region(Region::new("us-east-1"));
        aws_sdk_s3::Client::from_conf(config.build())
    }

    /// [`TestServer::client`], and the new bucket `mine`.
    pub async fn client_with_bucket(&self) -> aws_sdk_s3::Client {
        let client = self.client();
        client.create_bucket().bucket("mine").send().await.expect("the bucket is created");
        client
    }
}
