"""The module for Testcontainers: a server in a container, with its data in memory.

    from liteio.testcontainers import LiteIOContainer

    with LiteIOContainer(buckets=["photos"]) as container:
        container.get_client("s3").put_object(Bucket="photos", Key="hello.txt", Body=b"hello")

It needs `pip install boto3 testcontainers`.
"""

from __future__ import annotations

import importlib
from typing import Any, Dict, Sequence

try:
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.wait_strategies import HttpWaitStrategy
except ImportError as error:
    raise type(error)(f"{error}: pip install boto3 'testcontainers>=4.13'") from error

__all__ = ["DEFAULT_IMAGE", "LiteIOContainer"]

# Of the version of this package. Tags of versions never move.
DEFAULT_IMAGE = "liteio:0.1.0"


class LiteIOContainer(DockerContainer):
    """A container of LiteIO. It is started once the server answers that it is ready.

    `buckets` are created at start, each NAME[:public|download|upload][:versioned|locked]. Other settings of the server are
    variables, which `with_env` sets: `LITEIO_MEMORY=false` keeps the data in `/data` of the container.
    """

    def __init__(
        self,
        image: str = DEFAULT_IMAGE,
        port: int = 9000,
        access_key: str = "testaccess",
        secret_key: str = "testsecret",
        region: str = "us-east-1",
        buckets: Sequence[str] = (),
        **options: Any,
    ) -> None:
        # Without credentials the server would make a pair of its own.
        if not access_key or not secret_key:
            raise ValueError("the access key and the secret key must not be empty")
        super().__init__(image, **options)
        self.port = port
        self.access_key = access_key
        self.secret_key = secret_key
        self.region = region
        self.with_exposed_ports(port)
        self.waiting_for(HttpWaitStrategy(port, "/_liteio/health/ready").for_status_code(200))
        self.with_env("LITEIO_ADDRESS", f"0.0.0.0:{port}")
        self.with_env("LITEIO_ACCESS_KEY", access_key)
        self.with_env("LITEIO_SECRET_KEY", secret_key)
        self.with_env("LITEIO_REGION", region)
        self.with_env("LITEIO_MEMORY", "true")
        if buckets:
            self.with_env("LITEIO_BUCKET", ",".join(buckets))

    def get_url(self) -> str:
        """URL of the endpoint, as this machine reaches it."""
        return f"http://{self.get_container_host_ip()}:{self.get_exposed_port(self.port)}"

    def get_config(self) -> Dict[str, str]:
        """The endpoint (`HOST:PORT`), the access key and the secret key, as the module for MinIO names them."""
        return {
            "endpoint": self.get_url().removeprefix("http://"),
            "access_key": self.access_key,
            "secret_key": self.secret_key,
        }

    def get_client(self, service: str = "s3", **options: Any) -> Any:
        """A client of boto3 with the endpoint and the credentials of the container; `options` replace its settings."""
        boto3: Any = importlib.import_module("boto3")  # boto3 and botocore have no types.
        botocore: Any = importlib.import_module("botocore.config")
        settings = {
            "endpoint_url": self.get_url(),
            "aws_access_key_id": self.access_key,
            "aws_secret_access_key": self.secret_key,
            "region_name": self.region,
            # The name of the host may be an address, before which no bucket can stand.
            "config": botocore.Config(s3={"addressing_style": "path"}),
        }
        return boto3.client(service, **{**settings, **options})
