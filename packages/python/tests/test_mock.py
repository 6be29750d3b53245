"""mock_s3 in the place of moto's decorators."""

import asyncio
import inspect
import os
import re
import unittest

import boto3
import pytest

import liteio
from liteio import mock_s3
from liteio._names import options_of
from liteio._options import Options


def use():
    """The code under test: it knows nothing of a server."""
    s3 = boto3.client("s3")
    assert s3.list_buckets()["Buckets"] == []
    s3.create_bucket(Bucket="photos")
    return os.environ["AWS_ENDPOINT_URL"]


@mock_s3
def test_a_function():
    use()


@mock_s3()
def test_a_function_with_parentheses():
    use()


@mock_s3(buckets=["letters"], region="eu-central-1")
def test_options():
    s3 = boto3.client("s3")
    assert s3.meta.region_name == "eu-central-1"
    assert [each["Name"] for each in s3.list_buckets()["Buckets"]] == ["letters"]


@pytest.mark.parametrize("number", [1, 2])
@mock_s3
def test_parameters_are_passed_on(number, tmp_path):
    use()
    assert number in (1, 2) and tmp_path.exists()


@mock_s3
@pytest.mark.asyncio
async def test_an_async_function():
    await asyncio.sleep(0)
    use()


@pytest.fixture
@mock_s3
def bucket_of_fixture():
    use()
    yield "photos"
    assert "AWS_ENDPOINT_URL" in os.environ


def test_a_fixture(bucket_of_fixture):
    boto3.client("s3").head_bucket(Bucket=bucket_of_fixture)


def test_a_context_manager():
    for mock in (mock_s3, mock_s3(), mock_s3(buckets=[])):
        with mock as server:
            assert use() == server.endpoint


def test_a_mock_in_a_mock_is_the_same_server():
    with mock_s3 as outer:
        use()
        for mock in (mock_s3, mock_s3()):
            with mock as inner:
                assert inner is outer
                boto3.client("s3").head_bucket(Bucket="photos")
        boto3.client("s3").head_bucket(Bucket="photos")


def test_a_mock_in_a_mock_with_other_options_is_another_server():
    with mock_s3 as outer:
        use()
        with mock_s3(buckets=["letters"]) as inner, mock_s3:
            assert os.environ["AWS_ENDPOINT_URL"] == inner.endpoint != outer.endpoint
            assert [each["Name"] for each in boto3.client("s3").list_buckets()["Buckets"]] == ["letters"]
        assert os.environ["AWS_ENDPOINT_URL"] == outer.endpoint
        boto3.client("s3").head_bucket(Bucket="photos")


def test_the_environment_is_put_back(monkeypatch):
    elsewhere = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_ROLE_ARN",
                 "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ACCESS_KEY_ID",
                 "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT")
    for name in elsewhere:
        monkeypatch.setenv(name, "elsewhere")
    # With it, credentials count as those of a session that is over.
    monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", "2020-01-01T00:00:00Z")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    before = dict(os.environ)
    with pytest.raises(ZeroDivisionError), mock_s3:
        assert not any(os.environ.get(name) == "elsewhere" for name in elsewhere)
        use()
        1 / 0
    assert dict(os.environ) == before


def test_delta_rs_is_allowed_plain_http(monkeypatch, server):
    monkeypatch.setenv("AWS_ALLOW_HTTP", "false")
    for use in (mock_s3, liteio.environment(server)):
        with use:
            assert os.environ["AWS_ALLOW_HTTP"] == "true"
        assert os.environ["AWS_ALLOW_HTTP"] == "false"


def test_a_start_that_fails_leaves_the_environment(monkeypatch):
    before = dict(os.environ)
    with pytest.raises(liteio.StartFailed), mock_s3(buckets=["B"]):
        pass
    assert dict(os.environ) == before


def test_the_default_session_does_not_keep_other_credentials(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-production")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-production")
    boto3.setup_default_session()
    boto3.client("s3", region_name="us-east-1")
    session = boto3.DEFAULT_SESSION
    with mock_s3:
        use()
    assert boto3.DEFAULT_SESSION is session


def test_what_is_decorated_keeps_its_name_and_result():
    @mock_s3
    def documented(number):
        """Documented."""
        return number + 1

    assert documented(1) == 2
    assert (documented.__name__, documented.__doc__) == ("documented", "Documented.")
    assert list(inspect.signature(documented).parameters) == ["number"]


def test_what_cannot_be_decorated_is_refused():
    async def generator():
        yield

    with pytest.raises(TypeError, match="asynchronous generators"):
        mock_s3(generator)
    with pytest.raises(TypeError, match="options by name"):
        mock_s3("photos")
    with pytest.raises(TypeError, match="no_such_option"):
        mock_s3(no_such_option=1).__enter__()


@mock_s3
class TestAClass:
    def test_one(self):
        use()

    def test_other(self):
        use()

    @staticmethod
    def test_static():
        use()


@mock_s3
class TestAClassWithSetup:
    def setup_method(self):
        boto3.client("s3").create_bucket(Bucket="of-setup")

    def test_setup_uses_the_same_server(self):
        boto3.client("s3").head_bucket(Bucket="of-setup")

    def test_each_test_has_a_server(self):
        assert len(boto3.client("s3").list_buckets()["Buckets"]) == 1


@mock_s3
class TestAUnittest(unittest.TestCase):
    def setUp(self):
        boto3.client("s3").create_bucket(Bucket="of-setup")

    def tearDown(self):
        boto3.client("s3").delete_bucket(Bucket="of-setup")

    def test_setup_uses_the_same_server(self):
        boto3.client("s3").head_bucket(Bucket="of-setup")

    def test_each_test_has_a_server(self):
        self.assertEqual(len(boto3.client("s3").list_buckets()["Buckets"]), 1)


@mock_s3
class TestAnAsyncUnittest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        boto3.client("s3").create_bucket(Bucket="of-setup")

    async def test_setup_uses_the_same_server(self):
        boto3.client("s3").head_bucket(Bucket="of-setup")


@mock_s3
class Surrounded:
    def setup_method(self):
        self.endpoint = use()


class TestOfASubclassWithoutItsSetUp(Surrounded):
    def setup_method(self):
        pass

    def test_it_has_no_server_and_fails_nowhere(self):
        assert not hasattr(self, "endpoint") and "AWS_ENDPOINT_URL" not in os.environ


@mock_s3
class Helper:
    def create(self):
        use()
        self._put("a")

    @staticmethod
    def keys():
        found = boto3.client("s3").list_objects_v2(Bucket="photos")["Contents"]
        return [each["Key"] for each in found]

    async def stream(self):
        yield

    def _put(self, key):
        boto3.client("s3").put_object(Bucket="photos", Key=key)


def test_a_class_without_tests_is_mocked_in_each_public_method(test_api):
    helper = Helper()
    helper.create()
    assert Helper.keys() == ["a"]
    with mock_s3:
        helper.create()
        helper._put("b")
        assert helper.keys() == ["a", "b"]
    helper.create()  # Nothing of a test is there.
    assert "AWS_ENDPOINT_URL" not in os.environ


def test_an_option_that_is_none_names_the_one_that_was_meant():
    with pytest.raises(TypeError, match=r"no option 'bucket': did you mean buckets=…\?"):
        liteio.mock_aws(bucket="photos")
    with pytest.raises(TypeError, match="no option 'colour': it has data_dir, buckets"):

        @liteio.mock_aws(colour="red")
        def test():
            pass


def test_a_mock_of_another_service_says_where_that_service_is():
    with pytest.raises(ImportError, match="no mock_sqs: its server has S3, S3 Vectors.*Keep moto for sqs"):
        from liteio import mock_sqs  # noqa: F401
    with pytest.raises(ImportError, match="Keep moto for dynamodb, "):
        from liteio import mock_dynamodb2  # noqa: F401
    with pytest.raises(ImportError, match="no mock_all: .* all behind mock_aws$"):
        from liteio import mock_all  # noqa: F401
    with pytest.raises(AttributeError):
        liteio.nothing  # noqa: B018


def test_a_type_checker_finds_a_mistyped_name(tmp_path):
    api = pytest.importorskip("mypy.api")
    (tmp_path / "suite.py").write_text("from liteio import Server, Sever\n")
    told, _, _ = api.run(["--no-incremental", "--config-file=", str(tmp_path / "suite.py")])
    assert '"Sever"' in told and "Found 1 error" in told, told


def test_a_type_checker_finds_wrong_options(tmp_path):
    api = pytest.importorskip("mypy.api")
    (tmp_path / "suite.py").write_text("""\
import liteio

liteio.mock_aws(bucket=["photos"])
liteio.mock_aws(buckets="photos")
liteio.like_moto(bucket=["photos"])
liteio.Server(buckets="photos")

for buckets in (["photos"], ("photos",), {"photos"}):
    liteio.mock_aws(buckets=buckets, config={"core": {}})
    liteio.like_moto(buckets=buckets)
    liteio.Server(buckets=buckets)
""")
    told, _, _ = api.run(["--no-incremental", "--config-file=", str(tmp_path / "suite.py")])
    assert re.findall(r"suite.py:(\d+): error", told) == ["3", "4", "5", "6"], told
    # Of the two lists that the package has.
    assert list(Options.__annotations__) == list(options_of(liteio.Server))


def test_a_completion_has_the_public_names_alone():
    assert [name for name in dir(liteio) if not name.startswith("__")] == sorted(liteio.__all__)


@pytest.mark.parametrize("name", ["mock_asw", "mock_AWS", "mock_aw", "mock_awss"])
def test_a_mistyped_name_has_the_one_that_was_meant(name):
    with pytest.raises(ImportError, match=rf"^liteio has no {name}: did you mean mock_aws\?$"):
        exec(f"from liteio import {name}")


@pytest.mark.parametrize("service", ["acm", "ses", "sns", "ssm", "ebs", "ecs", "eks", "waf", "swf", "ds", "s3control"])
def test_a_mock_of_moto_is_not_a_mistyped_one(service):
    with pytest.raises(ImportError, match=f"Keep moto for {service}"):
        exec(f"from liteio import mock_{service}")
