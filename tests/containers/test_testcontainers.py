"""Testcontainers' modules for others, with the name of this image and nothing else changed."""

from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy
from testcontainers.community.localstack import LocalStackContainer
from testcontainers.community.minio import MinioContainer

from conftest import answers, check_s3, s3, wait_for


def test_minio():
    with MinioContainer("localhost/liteio-minio") as minio:
        client = minio.get_client()
        client.make_bucket("a-bucket")
        assert client.bucket_exists("a-bucket")
        config = minio.get_config()
        check_s3(s3(f"http://{config['endpoint']}", config["access_key"], config["secret_key"]))


def test_localstack():
    with LocalStackContainer("localhost/liteio-localstack") as localstack:
        client = localstack.get_client("s3")
        client.create_bucket(Bucket="a-bucket")
        check_s3(client)


def test_localstack_by_the_script_of_the_module_for_java():
    """It replaces the entrypoint, and copies the script that starts LocalStack into the container."""
    script = "/testcontainers_start.sh"
    content = (
        "#!/bin/bash\n"
        'export LAMBDA_DOCKER_FLAGS="-l org.testcontainers=true -l org.testcontainers.lang=java"\n'
        "/usr/local/bin/docker-entrypoint.sh\n"
    )
    waiting = f"while [ ! -f {script} ]; do sleep 0.1; done; {script}"
    container = (
        DockerContainer("localhost/liteio-localstack")
        .with_exposed_ports(4566)
        .with_kwargs(entrypoint=["sh", "-c", waiting])
        .with_copy_into_container(content.encode(), script, mode=0o777)
        .waiting_for(LogMessageWaitStrategy(r".*Ready\.\n"))
    )
    with container:
        endpoint = f"http://127.0.0.1:{container.get_exposed_port(4566)}"
        check_s3(s3(endpoint, "test", "test"))


def test_s3mock():
    """There is no module for Python: the container as those for Go and Node start it."""
    container = (
        DockerContainer("localhost/liteio-s3mock")
        .with_exposed_ports(9090, 9191)
        .with_env("COM_ADOBE_TESTING_S3MOCK_STORE_INITIAL_BUCKETS", "a-bucket")
    )
    with container:
        endpoint = f"http://127.0.0.1:{container.get_exposed_port(9090)}"
        wait_for("S3Mock", lambda: answers(f"{endpoint}/favicon.ico"))
        check_s3(s3(endpoint, "any", "thing"))
