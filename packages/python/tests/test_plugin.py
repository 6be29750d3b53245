"""The fixtures, in test suites of their own, as users write them."""

import pytest

ISOLATION = """
    import os
    import boto3
    import pytest

    @pytest.mark.parametrize("number", range(6))
    def test_each_test_has_a_space(number, s3_space, s3_client):
        assert s3_client.list_buckets()["Buckets"] == []
        s3_client.create_bucket(Bucket="photos")

    def test_a_bucket_is_there(s3_bucket, s3_client):
        s3_client.put_object(Bucket=s3_bucket, Key="key", Body=b"body")
        assert s3_client.get_object(Bucket=s3_bucket, Key="key")["Body"].read() == b"body"

    def test_the_environment_is_that_of_the_space(s3_space):
        assert os.environ["AWS_ACCESS_KEY_ID"] == s3_space.access_key
        boto3.client("s3").create_bucket(Bucket="photos")

    def test_the_environment_is_put_back():
        assert "LITEIO_ENDPOINT" not in os.environ
"""


def test_each_test_has_a_space_of_its_own(test_api, pytester):
    pytester.makepyfile(ISOLATION)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=9)


def test_tests_in_parallel(test_api, pytester):
    pytester.makepyfile(ISOLATION)
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", "2").assert_outcomes(passed=9)


@pytest.mark.parametrize("scope", ["module", "session"])
@pytest.mark.parametrize("first_line", [
    "with mock_aws() as space:", "with s3_server.space() as space, liteio.environment(space):",
])
def test_a_bucket_is_filled_once_for_many_tests(test_api, pytester, scope, first_line):
    pytester.makepyfile(f"""
        import boto3
        import liteio
        import pytest
        from liteio import mock_aws

        @pytest.fixture(scope="{scope}")
        def filled(s3_server):
            {first_line}
                space.client("s3").create_bucket(Bucket="photos")
                yield space

        def buckets():
            return [each["Name"] for each in boto3.client("s3").list_buckets()["Buckets"]]

        @pytest.mark.parametrize("number", range(2))
        def test_it(number, filled):
            assert buckets() == ["photos"]

        def test_with_a_space_beside(filled, s3_space):
            assert buckets() == []

        @mock_aws
        def test_with_a_use_inside(filled):
            assert buckets() == (["photos"] if "mock_aws" in {first_line!r} else [])

        def test_once_more(filled):
            assert buckets() == ["photos"]
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=5)


def test_the_server_of_a_session_has_the_options_given(pytester):
    pytester.makeconftest("""
        import pytest

        @pytest.fixture(scope="session")
        def s3_server_options():
            return {"buckets": ["letters"], "access_key": "tester", "secret_key": "tester-secret"}
    """)
    pytester.makepyfile("""
        def test_one(s3_server):
            assert s3_server.access_key == "tester"
            s3_server.client().head_bucket(Bucket="letters")
            s3_server.client().create_bucket(Bucket="of-the-first-test")

        def test_other(s3_server):
            s3_server.client().head_bucket(Bucket="of-the-first-test")
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)


def test_a_misspelled_option_of_the_server_is_told(pytester):
    pytester.makepyfile("""
        import pytest

        @pytest.fixture(scope="session")
        def s3_server_options():
            return {"bukets": ["letters"]}

        def test_it(s3_server):
            pass
    """)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["E * Server has no option 'bukets': did you mean buckets=*"])


def test_other_options_of_a_later_module_are_told(pytester):
    of_module = """
        import pytest

        @pytest.fixture(scope="session")
        def s3_server_options():
            return {{"buckets": ["{bucket}"]}}

        def test_it(s3_server):
            s3_server.client().head_bucket(Bucket="{bucket}")
    """
    pytester.makepyfile(
        test_a=of_module.format(bucket="letters"),
        test_b=of_module.format(bucket="letters"),
        test_c=of_module.format(bucket="photos"),
        test_d="def test_it(s3_server): pass",
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(passed=2, errors=2)
    done.stdout.fnmatch_lines(["*runs with the options*letters*, not with*photos*top conftest.py*"])


def test_a_suite_may_have_a_server_of_its_own(pytester):
    pytester.makepyfile("""
        import liteio
        import pytest

        @pytest.fixture
        def s3_server():
            with liteio.Server(buckets=["letters"]) as server:
                yield server

        def test_it(s3_server, s3_server_options):
            s3_server.client().head_bucket(Bucket="letters")
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


@pytest.mark.parametrize("options", [
    {"arguments": ["--no-auth"]}, {"environment": {"LITEIO_NO_AUTH": "true"}}, {"profile": "localstack"}, {"profile": "s3mock"},
])
def test_a_server_that_takes_any_key_is_as_at_its_start_in_each_test(test_api, pytester, options):
    pytester.makeconftest(f"""
        import pytest

        @pytest.fixture(scope="session")
        def s3_server_options():
            return {dict(options, buckets=["letters"])!r}
    """)
    pytester.makepyfile("""
        import boto3
        import pytest

        early = boto3.client("s3", region_name="us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing")

        @pytest.mark.parametrize("number", range(2))
        def test_it(number, s3_space, s3_bucket):
            late = boto3.client("s3", aws_access_key_id="testing", aws_secret_access_key="testing")
            for client in (early, late, boto3.client("s3"), s3_space.client("s3")):
                assert [bucket["Name"] for bucket in client.list_buckets()["Buckets"]] == ["letters", s3_bucket]
            [request] = s3_space.wait_for_request(operation="CreateBucket")
            assert request.status == 200
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)


@pytest.mark.parametrize("keys", [{}, {"access_key": "liteio", "secret_key": "liteio123"}])
def test_the_fixtures_take_what_moto_takes(test_api, pytester, keys):
    pytester.makeconftest(f"""
        import liteio
        import pytest

        @pytest.fixture(scope="session")
        def s3_server_options():
            return liteio.like_moto(**{keys!r})
    """)
    pytester.makepyfile("""
        import boto3
        import pytest

        @pytest.mark.parametrize("number", range(2))
        def test_it(number, s3_space):
            s3 = boto3.client("s3")
            s3.create_bucket(Bucket="photos", ACL="public-read")
            s3.put_object(Bucket="photos", Key="a", ACL="public-read")
            s3.put_object(Bucket="photos", Key="b", ServerSideEncryption="AES256")
            s3.put_object(Bucket="photos", Key="c", ServerSideEncryption="aws:kms")
            s3.put_object(Bucket="photos", Key="d", SSECustomerAlgorithm="AES256", SSECustomerKey=32 * "k")
            assert s3.list_objects_v2(Bucket="photos")["KeyCount"] == 4
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)


def test_a_directory_of_a_server_that_takes_any_key_is_not_emptied(test_api, pytester):
    pytester.makeconftest("""
        import liteio
        import pytest

        @pytest.fixture(scope="session")
        def s3_server_options(tmp_path_factory):
            return liteio.like_moto(data_dir=tmp_path_factory.mktemp("data") / "data", buckets=["letters"])
    """)
    pytester.makepyfile("""
        def test_one(s3_server):
            s3_server.client().put_object(Bucket="letters", Key="a")

        def test_other(s3_space):
            pass

        def test_last(s3_server):
            s3_server.client().head_object(Bucket="letters", Key="a")
    """)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(passed=2, errors=1)
    done.stdout.fnmatch_lines(["E *LiteIOError: * accepts any key, *Leave it out (like_moto(access_key=*, or use mock_aws*"])


def test_a_bucket_is_there_in_any_region(test_api, pytester):
    pytester.makeconftest("""
        import pytest

        @pytest.fixture(scope="session")
        def s3_server_options():
            return {"region": "eu-central-1"}
    """)
    pytester.makepyfile("""
        def test_it(s3_bucket, s3_client):
            assert s3_client.get_bucket_location(Bucket=s3_bucket)["LocationConstraint"] == "eu-central-1"
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


@pytest.mark.parametrize("options", [None, ["--no-auth"]])
def test_options_that_are_no_dictionary_are_told(pytester, options):
    pytester.makeconftest(f"""
        import pytest

        @pytest.fixture(scope="session")
        def s3_server_options():
            return {options!r}
    """)
    pytester.makepyfile("def test_it(s3_client): pass")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["E *s3_server_options returned *: return a dictionary of options of liteio.Server, such as *"])


def test_a_suite_that_uses_no_fixture_pays_nothing(pytester):
    pytester.makepyfile("""
        import sys

        def test_it():
            assert "pytest_liteio" in sys.modules and "liteio" not in sys.modules
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_workers_of_xdist_have_a_server_each(pytester):
    pytester.makepyfile("""
        import pytest

        @pytest.mark.parametrize("number", range(4))
        def test_it(number, s3_server, worker_id):
            names = [bucket["Name"] for bucket in s3_server.client().list_buckets()["Buckets"]]
            assert set(names) <= {worker_id}
            s3_server.client().create_bucket(Bucket=worker_id)
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", "2").assert_outcomes(passed=4)


def test_s3fs_has_the_keys_of_the_space_of_each_test(test_api, pytester):
    pytest.importorskip("s3fs")
    pytester.makepyfile("""
        import pytest
        import s3fs

        @pytest.mark.parametrize("number", range(3))
        def test_it(number, s3_bucket):
            files = s3fs.S3FileSystem()
            files.pipe(f"{s3_bucket}/{number}", b"hello")
            assert files.ls(s3_bucket) == [f"{s3_bucket}/{number}"]
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=3)


def test_s3fs_leaves_nothing_in_the_log_of_a_later_test(test_api, pytester):
    pytest.importorskip("s3fs")
    pytester.makepyfile("""
        import asyncio
        import gc

        import pytest
        import s3fs
        from aiobotocore.session import ClientCreatorContext

        closed = []
        leave = ClientCreatorContext.__aexit__

        async def leave_and_tell(self, *of_error):
            await leave(self, *of_error)
            closed.append(asyncio.get_running_loop())

        ClientCreatorContext.__aexit__ = leave_and_tell

        async def others():
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            if tasks:
                await asyncio.wait(tasks)  # Without a look at their errors, which asyncio then logs.

        def test_one(s3_bucket):
            files = s3fs.S3FileSystem()
            assert files.ls(s3_bucket) == []
            files.itself = files  # Until the collection below, however s3fs holds it.

        @pytest.mark.asyncio
        async def test_other(s3_bucket, caplog):
            gc.collect()
            await others()
            gc.collect()
            assert caplog.records == []

        def test_the_connections_are_closed():
            from fsspec.asyn import get_loop, sync

            sync(get_loop(), others)
            assert closed == [get_loop()]
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=3)
