//! The module with the image that LITEIO_IMAGE names; tests/containers/run makes it.

use liteio_testcontainers::{
    LiteIO, PORT, TAG,
    testcontainers::{
        ContainerAsync, ContainerRequest, Image, ImageExt, bollard::models::PortBinding,
        runners::AsyncRunner,
    },
};
use object_store::{Error, ObjectStoreExt, aws::AmazonS3Builder, path::Path};

fn with_image(image: LiteIO) -> Option<ContainerRequest<LiteIO>> {
    let Ok(named) = std::env::var("LITEIO_IMAGE") else {
        eprintln!("LITEIO_IMAGE names no image: not tested");
        return None;
    };
    let (name, tag) = named.rsplit_once(':').expect("NAME:TAG");
    let image = image.with_name(name).with_tag(tag);
    // Podman 4.3 tells no address of a port that is open on all, and the library skips such ports.
    Some(image.with_host_config_modifier(|config| {
        let local = PortBinding { host_ip: Some("127.0.0.1".to_owned()), host_port: None };
        config.port_bindings = Some([(PORT.to_string(), Some(vec![local]))].into());
    }))
}

async fn client(container: &ContainerAsync<LiteIO>, password: &str) -> impl ObjectStoreExt {
    let (host, port) =
        (container.get_host().await.unwrap(), container.get_host_port_ipv4(PORT).await.unwrap());
    let image = container.image();
    AmazonS3Builder::new()
        .with_endpoint(format!("http://{host}:{port}"))
        .with_allow_http(true)
        .with_bucket_name("photos")
        .with_region(image.region())
        .with_access_key_id(image.username())
        .with_secret_access_key(password)
        .build()
        .unwrap()
}

#[test]
fn the_tag_is_the_version() {
    assert_eq!((LiteIO::default().name(), LiteIO::default().tag()), ("liteio", TAG));
}

#[tokio::test]
async fn an_object_goes_in_and_comes_out() {
    // The example of docs/testcontainers.md.
    let Some(image) = with_image(LiteIO::default().with_buckets(["photos"])) else { return };
    let container = image.start().await.unwrap();
    let host = container.get_host().await.unwrap();
    let port = container.get_host_port_ipv4(PORT).await.unwrap();
    assert_ne!(format!("http://{host}:{port}"), "");
    let s3 = client(&container, container.image().password()).await;
    let key = Path::from("hello.txt");
    s3.put(&key, "hello".into()).await.unwrap();
    assert_eq!(s3.get(&key).await.unwrap().bytes().await.unwrap(), "hello");
}

#[tokio::test]
async fn credentials_and_region_are_those_that_were_given() {
    let image = LiteIO::default()
        .with_username("a-user")
        .with_password("its-password")
        .with_region("eu-west-1");
    let Some(image) = with_image(image.with_buckets(["photos"])) else { return };
    let container = image.start().await.unwrap();
    let key = Path::from("hello.txt");
    client(&container, "its-password").await.put(&key, "hello".into()).await.unwrap();
    let refused = client(&container, "another-password").await.get(&key).await.unwrap_err();
    assert!(matches!(refused, Error::PermissionDenied { .. }), "{refused:?}");
}
