"""Clients and sessions that a suite keeps from one test to the next, which were made while the variables pointed elsewhere."""

import functools

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

import liteio


@pytest.fixture(autouse=True)
def region(monkeypatch):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


class Kept:
    """As application code has them: made at the first use, in a cache or at the top of a module."""

    def __init__(self):
        self.session = boto3.Session()

    @functools.cached_property
    def client(self):
        return boto3.client("s3")

    @functools.cached_property
    def resource(self):
        return boto3.resource("s3", aws_access_key_id="testing", aws_secret_access_key="testing")

    @functools.cached_property
    def anonymous(self):
        return boto3.client("s3", config=Config(signature_version=UNSIGNED))

    def make_buckets(self):
        self.client.create_bucket(Bucket="of-client")
        self.session.client("s3").create_bucket(Bucket="of-session")


BUCKETS = ["of-client", "of-session"]


def buckets_of(space):
    return [each["Name"] for each in space.client().list_buckets()["Buckets"]]


class InSpace:
    def __init__(self, server):
        self.space = server.space()
        self.environment = liteio.environment(self.space)

    def __enter__(self):
        return self.environment.__enter__()

    def __exit__(self, *of_error):
        self.environment.__exit__(*of_error)
        self.space.close()


USES = {
    "space": InSpace,
    "server": liteio.environment,
    "mock": lambda _: liteio.mock_aws(),
    "mock with a bucket": lambda _: liteio.mock_aws(buckets=["letters"]),
    "mock that checks keys": lambda _: liteio.mock_aws(access_key="the-only-key", secret_key="the-only-secret"),
}


@pytest.mark.parametrize("later", USES)
@pytest.mark.parametrize("earlier", USES)
def test_what_was_made_in_one_use_goes_to_the_next(testing_server, earlier, later):
    kept = Kept()
    with USES[earlier](testing_server):
        kept.make_buckets()
    testing_server.reset()
    with USES[later](testing_server) as space:
        kept.make_buckets()
        assert set(buckets_of(space)) - {"letters"} == set(BUCKETS)
    if later != "server":
        assert buckets_of(testing_server) == []


def test_the_fixtures_take_clients_sessions_and_file_systems_of_earlier_tests(test_api, pytester):
    pytest.importorskip("s3fs")
    pytester.makepyfile("""
        import asyncio
        import functools

        import boto3
        import pytest
        import s3fs
        from aiobotocore.session import get_session

        import liteio

        session = boto3.Session()
        asynchronous = get_session()
        files = s3fs.S3FileSystem()

        @functools.lru_cache
        def client():
            return boto3.client("s3")

        async def make_asynchronously():
            async with asynchronous.create_client("s3") as made:
                await made.create_bucket(Bucket="of-async-session")

        def make_all():
            client().create_bucket(Bucket="of-client")
            session.client("s3").create_bucket(Bucket="of-session")
            files.mkdir("of-files")
            asyncio.run(make_asynchronously())

        def names(s3):
            return [each["Name"] for each in s3.list_buckets()["Buckets"]]

        ALL = ["of-async-session", "of-client", "of-files", "of-session"]

        @pytest.mark.parametrize("number", range(2))
        def test_space(number, s3_server, s3_client):
            make_all()
            assert names(s3_client) == ALL
            assert names(s3_server.client()) == []

        @liteio.mock_aws
        def test_mock():
            make_all()
            assert names(boto3.client("s3")) == ALL

        def test_space_again(s3_server, s3_client):
            test_space(2, s3_server, s3_client)
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=4)


def test_keys_in_the_code_of_a_client_of_mock_aws_are_not_those_of_the_space(testing_server):
    kept = Kept()
    with liteio.mock_aws():
        kept.resource.create_bucket(Bucket="photos")
    with InSpace(testing_server) as space:
        kept.resource.create_bucket(Bucket="photos")
        assert buckets_of(space) == ["photos"]


def test_one_without_a_signature_goes_along_too(testing_server):
    kept = Kept()
    with liteio.mock_aws(buckets=["photos:public"]):
        kept.anonymous.get_object  # Made here.
    with InSpace(testing_server) as space:
        space.client().create_bucket(Bucket="photos", ACL="private")
        with pytest.raises(ClientError, match="AccessDenied"):
            kept.anonymous.list_objects_v2(Bucket="photos")


def test_a_client_of_an_outer_use_goes_to_the_inner_one_and_back(testing_server):
    kept = Kept()
    with liteio.environment(testing_server):
        kept.client.create_bucket(Bucket="outer")
        with InSpace(testing_server) as space:
            kept.client.create_bucket(Bucket="inner")
            assert buckets_of(space) == ["inner"]
            made_inside = boto3.client("s3")
        assert [each["Name"] for each in made_inside.list_buckets()["Buckets"]] == ["outer"]
    assert buckets_of(testing_server) == ["outer"]


def named(space):
    return boto3.client(
        "s3", endpoint_url=space.endpoint, region_name="us-east-1",
        aws_access_key_id=space.access_key, aws_secret_access_key=space.secret_key,
    )


def test_a_client_that_names_another_server_or_space_reaches_it(testing_server):
    with liteio.Server() as source, testing_server.space() as other:
        for each in (source, other):
            with liteio.environment(each):
                boto3.client("s3").create_bucket(Bucket="photos")
        made_by_them = [source.client(), other.client()]
        with InSpace(testing_server) as space:
            for client in [*made_by_them, source.client(), other.client(), named(source), named(other)]:
                assert [each["Name"] for each in client.list_buckets()["Buckets"]] == ["photos"]
            assert buckets_of(space) == []


def test_a_client_that_was_made_before_with_keys_of_its_own_reaches_its_server(testing_server):
    ours = dict(access_key="of-the-suite", secret_key="of-the-suite")
    with liteio.Server(**ours) as server, server.space() as space:
        kept = named(server)
        kept.create_bucket(Bucket="photos")
        with liteio.environment(space):
            boto3.client("s3").list_buckets()
        with InSpace(testing_server) as later:
            assert [each["Name"] for each in kept.list_buckets()["Buckets"]] == ["photos"]
            assert buckets_of(later) == []


def test_wrong_keys_stay_wrong(testing_server):
    wrong = dict(aws_access_key_id="wrong", aws_secret_access_key="wrong")
    with InSpace(testing_server):
        with pytest.raises(ClientError, match="InvalidAccessKeyId"):
            boto3.client("s3", **wrong).list_buckets()
    with liteio.mock_aws(access_key="the-only-key", secret_key="the-only-secret"):
        with pytest.raises(ClientError, match="InvalidAccessKeyId"):
            boto3.client("s3", **wrong).list_buckets()


def test_a_wrong_secret_of_the_key_of_the_space_stays_wrong(testing_server):
    with InSpace(testing_server) as space:
        wrong = boto3.client("s3", aws_access_key_id=space.access_key, aws_secret_access_key="wrong")
        with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
            wrong.list_buckets()


class TestListingsOfS3fs:
    """s3fs keeps the listing of a directory in the file system."""

    def test_of_a_file_system_that_is_held_for_the_whole_suite(self, testing_server):
        files = pytest.importorskip("s3fs").S3FileSystem()
        for key in ("a", "b"):
            with InSpace(testing_server) as space:
                space.client().create_bucket(Bucket="photos")
                space.client().put_object(Bucket="photos", Key=key, Body=b"hello")
                assert files.ls("photos") == [f"photos/{key}"]

    def test_after_reset_and_restore(self, testing_server):
        s3fs = pytest.importorskip("s3fs")
        with liteio.environment(testing_server):
            held = [s3fs.S3FileSystem()]
            testing_server.client().create_bucket(Bucket="photos")
            testing_server.snapshot("empty")
            for key in ("a", "b"):
                testing_server.restore("empty")
                held.append(s3fs.S3FileSystem())  # Equal to the others, but another one.
                testing_server.client().put_object(Bucket="photos", Key=key)
                assert [files.ls("photos") for files in held] == [[f"photos/{key}"]] * len(held)
            testing_server.reset()
            for files in held:
                with pytest.raises(FileNotFoundError):
                    files.ls("photos")
