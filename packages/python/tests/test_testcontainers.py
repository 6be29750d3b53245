"""The module for Testcontainers. LITEIO_IMAGE names an image that is there; tests/containers/run makes it."""

import os
import pathlib
import re
import urllib.request

import pytest

import liteio

pytest.importorskip("testcontainers.core.wait_strategies")
from liteio.testcontainers import DEFAULT_IMAGE, LiteIOContainer  # noqa: E402

IMAGE = os.environ.get("LITEIO_IMAGE")
PAGE = pathlib.Path(__file__).parents[3] / "docs" / "testcontainers.md"
needs_image = pytest.mark.skipif(not IMAGE, reason="LITEIO_IMAGE names no image")


def test_the_default_image_has_the_version_of_the_package():
    assert DEFAULT_IMAGE == f"liteio:{liteio.__version__}"


@pytest.mark.parametrize("credentials", [{"access_key": ""}, {"secret_key": ""}])
def test_empty_credentials_are_refused(credentials):
    with pytest.raises(ValueError, match="must not be empty"):
        LiteIOContainer(**credentials)


@needs_image
def test_an_object_goes_in_and_comes_out():
    with LiteIOContainer(IMAGE, buckets=["photos", "letters:versioned"]) as container:
        s3 = container.get_client("s3")
        assert [it["Name"] for it in s3.list_buckets()["Buckets"]] == ["letters", "photos"]
        assert s3.get_bucket_versioning(Bucket="letters")["Status"] == "Enabled"
        s3.put_object(Bucket="photos", Key="hello.txt", Body=b"hello")
        assert s3.get_object(Bucket="photos", Key="hello.txt")["Body"].read() == b"hello"
        vectors = container.get_client("s3vectors")
        vectors.create_vector_bucket(vectorBucketName="embeddings")
        assert container.get_config() == {
            "endpoint": container.get_url().removeprefix("http://"), "access_key": "testaccess", "secret_key": "testsecret"}


@needs_image
def test_credentials_port_and_region_are_those_that_were_given():
    made = LiteIOContainer(IMAGE, port=9002, access_key="a-user", secret_key="its-password", region="eu-west-1")
    with made as container:
        container.get_client("s3").create_bucket(
            Bucket="photos", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        from botocore.exceptions import ClientError
        with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
            container.get_client("s3", aws_secret_access_key="another-password").list_buckets()
        assert container.get_config()["access_key"] == "a-user"


@needs_image
def test_data_are_in_the_volume_where_memory_is_off():
    with LiteIOContainer(IMAGE).with_env("LITEIO_MEMORY", "false") as container:
        container.get_client("s3").create_bucket(Bucket="photos")
        output = b"".join(container.get_logs()).decode()
        assert "/data" in output and "in memory" not in output


@needs_image
def test_the_test_api_is_opened_by_its_variable():
    with LiteIOContainer(IMAGE, buckets=["photos"]).with_env("LITEIO_TEST_API", "any") as container:
        s3 = container.get_client("s3")
        s3.put_object(Bucket="photos", Key="hello.txt", Body=b"hello")
        reset = urllib.request.Request(f"{container.get_url()}/_liteio/test/reset", method="POST")
        urllib.request.urlopen(reset).close()
        assert "Contents" not in s3.list_objects_v2(Bucket="photos")


@needs_image
def test_the_example_of_the_page(pytester):
    if not PAGE.exists():
        pytest.skip("the page is not part of the source distribution")
    [block] = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert block.count("LiteIOContainer()") == 1
    pytester.makepyfile(block.replace("LiteIOContainer()", f"LiteIOContainer({IMAGE!r})"))
    assert pytester.runpytest_subprocess("-p", "no:cacheprovider").parseoutcomes().keys() == {"passed"}
