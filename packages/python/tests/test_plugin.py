"""The fixtures, in test suites of their own, as users write them."""

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
