"""Clients that a suite makes before its tests, in the space of a fixture or of `environment`."""

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError, EndpointConnectionError, ProxyConnectionError
from botocore.httpsession import URLLib3Session

import liteio

aiobotocore = pytest.importorskip("aiobotocore.session")
AioConfig = pytest.importorskip("aiobotocore.config").AioConfig
DEVELOPER = dict(
    region_name="us-east-1", aws_access_key_id="of-the-developer", aws_secret_access_key="secret", aws_session_token="token"
)
# What is not redirected ends at once, and on this machine.
LOCAL = Config(proxies={"https": "http://127.0.0.1:1"}, retries={"total_max_attempts": 1})


def made_early(service, **options):
    return boto3.client(service, config=LOCAL.merge(Config(**options)), **DEVELOPER)


S3 = made_early("s3")
VIRTUAL = made_early("s3", s3={"addressing_style": "virtual"})
ANONYMOUS = made_early("s3", signature_version=UNSIGNED)
IAM, STS, VECTORS, TABLES, DYNAMODB = map(made_early, ("iam", "sts", "s3vectors", "s3tables", "dynamodb"))


@pytest.fixture
def space(testing_server):
    with testing_server.space() as space, liteio.environment(space):
        yield space


def test_the_fixture_redirects_them_to_the_space_of_each_test(test_api, pytester, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    for name, value in (("AWS_ACCESS_KEY_ID", "of-the-developer"), ("AWS_SECRET_ACCESS_KEY", "secret")):
        monkeypatch.setenv(name, value)
    pytester.makepyfile("""
        import boto3
        import pytest

        early = boto3.client("s3", region_name="us-east-1")

        @pytest.mark.parametrize("number", range(2))
        def test_it(number, s3_space):
            assert early.list_buckets()["Buckets"] == []
            early.create_bucket(Bucket="photos")
            [request] = s3_space.wait_for_request(operation="CreateBucket")
            assert request.user == s3_space.access_key and request.status == 200
            s3_space.client().head_bucket(Bucket="photos")
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)


def test_proxies_of_the_environment_do_not_get_what_is_redirected(test_api, pytester, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    pytester.makepyfile("""
        import aiobotocore.session
        import boto3
        import pytest
        from botocore.config import Config
        from liteio import mock_aws

        KEYS = dict(region_name="us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing")
        early = boto3.client("s3", **KEYS)

        def use():
            early.create_bucket(Bucket="photos")
            at_aws = boto3.client("s3", region_name="us-east-1", endpoint_url="https://s3.amazonaws.com")
            at_aws.put_object(Bucket="photos", Key="hello.txt", Body=b"hello")
            proxies = {"http": "http://127.0.0.1:1", "https": "http://127.0.0.1:1"}
            boto3.client("s3", config=Config(proxies=proxies)).head_object(Bucket="photos", Key="hello.txt")

        @mock_aws
        def test_in_the_mock():
            use()

        def test_in_a_space(s3_space):
            use()

        @pytest.mark.asyncio
        async def test_aiobotocore():
            async with aiobotocore.session.get_session().create_client("s3", **KEYS) as s3:
                with mock_aws():
                    await s3.create_bucket(Bucket="photos")
                    assert [each["Name"] for each in (await s3.list_buckets())["Buckets"]] == ["photos"]
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=3)


def test_a_proxy_that_a_client_of_the_space_names_is_used(space):
    through = Config(proxies={"http": "http://127.0.0.1:1"}, retries={"total_max_attempts": 1})
    with pytest.raises(ProxyConnectionError):
        space.client(config=through).list_buckets()


OF_ANOTHER_SERVER = """
    import aiobotocore.session
    import boto3
    import os
    import pytest
    import s3fs
    from botocore.config import Config
    from liteio import mock_aws

    ELSEWHERE = os.environ["ELSEWHERE"]
    KEYS = dict(aws_access_key_id="elsewhere", aws_secret_access_key="elsewhere-secret")
    early = boto3.client("s3", config=Config(s3={"addressing_style": "virtual"}))
    early_user = boto3.client("sts", region_name="us-east-1")
    files = s3fs.S3FileSystem()

    def use(space):
        early.create_bucket(Bucket="photos")
        early.put_object(Bucket="photos", Key="a b/ü?.txt", Body=b"hello")
        assert early.list_objects_v2(Bucket="photos")["KeyCount"] == 1
        assert early_user.get_caller_identity()["Account"]
        assert files.ls("photos/a b") == ["photos/a b/ü?.txt"]
        assert space.client().get_object(Bucket="photos", Key="a b/ü?.txt")["Body"].read() == b"hello"
        # Another name of the address is meant.
        meant = boto3.client("s3", endpoint_url=ELSEWHERE, config=Config(s3={"addressing_style": "path"}), **KEYS)
        assert [each["Name"] for each in meant.list_buckets()["Buckets"]] == ["letters"]

    def test_in_the_mock():
        with mock_aws() as server:
            use(server)

    def test_in_the_mock_again():
        with mock_aws() as server:
            use(server)

    def test_in_a_space(s3_space):
        use(s3_space)
        with mock_aws() as server:
            use(server)

    @pytest.mark.asyncio
    async def test_aiobotocore():
        async with aiobotocore.session.get_session().create_client("s3") as s3:
            with mock_aws():
                await s3.create_bucket(Bucket="photos")
                assert [each["Name"] for each in (await s3.list_buckets())["Buckets"]] == ["photos"]

    def test_outside_of_a_use():
        assert [each["Name"] for each in early.list_buckets()["Buckets"]] == ["letters"]
"""


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_clients_of_the_server_that_the_variables_have_named_reach_the_test(test_api, pytester, monkeypatch, variable):
    with liteio.Server(buckets=["letters"], access_key="elsewhere", secret_key="elsewhere-secret") as server:
        for name, value in server.env().items():
            if not name.startswith("AWS_ENDPOINT_URL"):
                monkeypatch.setenv(name, value)
        at_localhost = server.endpoint.replace("127.0.0.1", "localhost")
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", at_localhost)
        monkeypatch.setenv(variable, at_localhost)
        monkeypatch.setenv("ELSEWHERE", server.endpoint)
        pytester.makepyfile(OF_ANOTHER_SERVER)
        pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=5)


CONNECTED_LATE = """
    import os
    import boto3
    import functools
    import s3fs
    from liteio import Server, mock_aws

    AT_REPLACED = os.environ["AWS_ENDPOINT_URL"]
    files = s3fs.S3FileSystem(endpoint_url=AT_REPLACED)

    class Storage:
        # As that of django-storages.
        @functools.cached_property
        def connection(self):
            return boto3.session.Session().client("s3", endpoint_url=AT_REPLACED)

    storage = Storage()

    def use(space):
        assert storage.connection.list_buckets()["Buckets"] == []
        storage.connection.create_bucket(Bucket="photos")
        files.pipe("photos/hello.txt", b"hello")
        made_now = boto3.client("s3", endpoint_url=AT_REPLACED)
        assert made_now.get_object(Bucket="photos", Key="hello.txt")["Body"].read() == b"hello"
        assert space.client().head_object(Bucket="photos", Key="hello.txt")["ContentLength"] == 5

    def test_in_the_mock():
        with mock_aws() as server:
            use(server)

    def test_in_a_mock_that_checks_keys():
        with mock_aws(access_key="the-only-key", secret_key="the-only-secret") as server:
            use(server)

    def test_in_a_space(s3_space):
        use(s3_space)

    def test_a_server_of_the_test_is_reached():
        with mock_aws(), Server(buckets=["letters"]) as own:
            keys = dict(aws_access_key_id=own.access_key, aws_secret_access_key=own.secret_key)
            for s3 in (own.client(), boto3.client("s3", endpoint_url=own.endpoint, **keys)):
                assert [each["Name"] for each in s3.list_buckets()["Buckets"]] == ["letters"]

    @mock_aws
    def test_the_variable_has_the_server_of_the_use():
        now = os.environ["AWS_ENDPOINT_URL"]
        assert now != AT_REPLACED
        boto3.client("s3", endpoint_url=now).create_bucket(Bucket="photos")
        s3fs.S3FileSystem(endpoint_url=now).pipe("photos/hello.txt", b"hello")
        assert files.cat("photos/hello.txt") == b"hello"
"""


@pytest.mark.parametrize("chosen", ["test_in_the_mock", "test_in_a_mock", "test_in_a_space", "test_"])
def test_when_a_client_connects_makes_no_difference(test_api, pytester, monkeypatch, chosen):
    with liteio.Server() as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        pytester.makepyfile(CONNECTED_LATE)
        found = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-k", chosen)
        assert set(found.parseoutcomes()) - {"deselected"} == {"passed"}
        assert server.client().list_buckets()["Buckets"] == []


def test_a_mock_that_checks_keys_takes_clients_made_before_and_no_wrong_keys(test_api):
    with liteio.mock_aws(access_key="the-only-key", secret_key="the-only-secret") as server:
        S3.create_bucket(Bucket="photos")
        assert [each["Name"] for each in server.client().list_buckets()["Buckets"]] == ["photos"]
        late = boto3.client("s3", endpoint_url="https://s3.amazonaws.com", **{**DEVELOPER, "aws_session_token": None})
        with pytest.raises(ClientError, match="InvalidAccessKeyId"):
            late.list_buckets()


def test_another_service_of_the_same_endpoint_stays_there(testing_server, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1/base")
    queues, buckets = made_early("sqs"), made_early("s3")
    with liteio.mock_aws():
        buckets.create_bucket(Bucket="photos")
        with pytest.raises(EndpointConnectionError, match="127.0.0.1:1/base"):
            queues.list_queues()


@pytest.mark.parametrize("early", [S3, VIRTUAL])
def test_all_that_s3_signs_is_signed_by_the_key_of_the_space(space, early, tmp_path):
    key = "a b/ü?=&+~.txt"
    (tmp_path / "large").write_bytes(bytes(9_000_000))
    early.create_bucket(Bucket="photos")
    early.put_object(Bucket="photos", Key=key, Body=b"hello", ContentType="text/plain", Metadata={"of": "a  test"})
    assert early.get_object(Bucket="photos", Key=key)["Body"].read() == b"hello"
    with open(tmp_path / "large", "rb") as file:
        early.put_object(Bucket="photos", Key="large", Body=file, ChecksumAlgorithm="SHA256")
    early.upload_file(tmp_path / "large", "photos", "parts")
    assert early.list_objects_v2(Bucket="photos", Prefix="a b/ü", Delimiter="+")["KeyCount"] == 1
    early.copy_object(Bucket="photos", Key="copy", CopySource={"Bucket": "photos", "Key": key})
    early.delete_objects(Bucket="photos", Delete={"Objects": [{"Key": "large"}]})
    seen = space.client().list_objects_v2(Bucket="photos")
    assert [(each["Key"], each["Size"]) for each in seen["Contents"]] == [(key, 5), ("copy", 5), ("parts", 9_000_000)]
    with pytest.raises(ClientError, match="NoSuchBucket"):
        early.list_objects_v2(Bucket="elsewhere")


def test_other_services_are_redirected_too(space):
    IAM.create_user(UserName="ann+bee=c@example.org")
    assert len(space.client("iam").list_users()["Users"]) == 1
    assert STS.get_caller_identity()["Account"] == space.client("sts").get_caller_identity()["Account"]
    VECTORS.create_vector_bucket(vectorBucketName="embeddings")
    assert len(space.client("s3vectors").list_vector_buckets()["vectorBuckets"]) == 1
    made = TABLES.create_table_bucket(name="tables")
    assert TABLES.get_table_bucket(tableBucketARN=made["arn"])["name"] == "tables"


def test_a_service_that_is_not_there_is_told(space):
    with pytest.raises(ClientError, match="dynamodb is not served here: .* Keep moto for dynamodb$"):
        DYNAMODB.list_tables()


def test_one_without_a_signature_stays_without(space):
    space.client().create_bucket(Bucket="photos")
    with pytest.raises(ClientError, match="AccessDenied"):
        ANONYMOUS.list_objects_v2(Bucket="photos")
    with pytest.raises(ClientError, match="NoSuchBucket"):
        ANONYMOUS.list_objects_v2(Bucket="elsewhere")


def made_late(space, **options):
    return boto3.client("s3", endpoint_url=space.endpoint, config=LOCAL.merge(Config(**options)), region_name="us-east-1")


def test_one_made_later_without_a_signature_finds_the_space(space):
    space.client().create_bucket(Bucket="photos")
    with pytest.raises(ClientError, match="AccessDenied"):
        made_late(space, signature_version=UNSIGNED).list_objects_v2(Bucket="photos")


def test_a_key_of_another_space_finds_that_one(space, testing_server):
    with testing_server.space() as other:
        other.client().create_bucket(Bucket="letters")
        testing_server.client().create_bucket(Bucket="photos")
        assert [each["Name"] for each in other.client().list_buckets()["Buckets"]] == ["letters"]
        assert [each["Name"] for each in testing_server.client().list_buckets()["Buckets"]] == ["photos"]


def test_wrong_keys_stay_wrong(space):
    wrong = boto3.client("s3", config=LOCAL, **{**DEVELOPER, "aws_session_token": None})
    with pytest.raises(ClientError, match="InvalidAccessKeyId"):
        wrong.list_buckets()


def test_the_keys_of_the_developer_do_not_reach_the_server(space):
    S3.create_bucket(Bucket="photos")
    [request] = space.wait_for_request(operation="CreateBucket")
    assert not [name for name in request.headers if name.lower() == "x-amz-security-token"]


def test_the_innermost_wins(space, testing_server):
    S3.create_bucket(Bucket="outer")
    with liteio.mock_aws(), testing_server.space() as inner, liteio.environment(inner):
        S3.create_bucket(Bucket="inner")
        with liteio.mock_aws(buckets=["letters"]):
            assert [each["Name"] for each in S3.list_buckets()["Buckets"]] == ["letters"]
    assert [each["Name"] for each in S3.list_buckets()["Buckets"]] == ["outer"]


def test_how_requests_are_sent_is_put_back(server):
    before = URLLib3Session.send
    with pytest.raises(ZeroDivisionError), liteio.environment(server):
        assert URLLib3Session.send is not before
        1 / 0
    assert URLLib3Session.send is before


@pytest.mark.asyncio
async def test_aiobotocore_without_a_signature(space):
    space.client().create_bucket(Bucket="photos")
    unsigned = AioConfig(signature_version=UNSIGNED)
    async with aiobotocore.get_session().create_client("s3", config=unsigned) as s3:
        with pytest.raises(ClientError, match="AccessDenied"):
            await s3.list_objects_v2(Bucket="photos")


@pytest.mark.asyncio
async def test_aiobotocore(space):
    s3 = aiobotocore.get_session().create_client("s3", endpoint_url="https://s3.amazonaws.com", **DEVELOPER)
    async with s3 as early:
        await early.create_bucket(Bucket="photos")
        await early.put_object(Bucket="photos", Key="a", Body=b"hello")
    assert space.client().get_object(Bucket="photos", Key="a")["Body"].read() == b"hello"
