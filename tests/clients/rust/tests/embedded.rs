//! A server inside a test, as docs/rust.md has it. Its lines stand here, in their order (`tests/examples`).

use aws_sdk_s3::config::{Config, Credentials, Region};

#[tokio::test]
async fn a_bucket_is_made() -> Result<(), Box<dyn std::error::Error>> {
    let server = liteio::Server::builder().memory().spawn().await?;
    let config = Config::builder()
        .behavior_version_latest()
        .endpoint_url(server.endpoint())
        .force_path_style(true)
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("liteio", "liteio123", None, None, "test"))
        // The SDK brings one of its own, by a default feature that this package does without.
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    let s3 = aws_sdk_s3::Client::from_conf(config);
    s3.create_bucket().bucket("photos").send().await?;
    Ok(())
}
