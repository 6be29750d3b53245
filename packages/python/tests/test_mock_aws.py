"""mock_aws by the names and behaviour of moto's."""

import asyncio
import base64
import multiprocessing
import os
import signal
import socket
import subprocess
import unittest
import urllib.request
from contextlib import ExitStack

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.httpsession import URLLib3Session

import liteio
from liteio import mock_aws, mock_iam, mock_s3, mock_sts
from liteio._redirect import redirected

REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
KEYS = dict(aws_access_key_id="testing", aws_secret_access_key="testing")
MADE_BEFORE = boto3.client("s3", region_name="eu-west-1", **KEYS)
RESOURCE_MADE_BEFORE = boto3.resource("s3", region_name="us-east-1", **KEYS)


def names(client=None):
    client = client or boto3.client("s3")
    return [each["Name"] for each in client.list_buckets()["Buckets"]]


def test_start_and_stop():
    mock = mock_aws()
    mock.start()
    boto3.client("s3").create_bucket(Bucket="photos")
    assert names() == ["photos"]
    mock.stop()
    assert "AWS_ENDPOINT_URL" not in os.environ
    with pytest.raises(RuntimeError, match="before start"):
        mock.stop()


def test_another_mock_stops_what_one_has_started():
    mock_aws().start()
    mock_aws().stop()
    assert "AWS_ENDPOINT_URL" not in os.environ


def test_names_before_moto_5():
    with mock_s3() as s3, mock_sts() as sts, mock_iam() as iam:
        assert s3 is sts is iam
        boto3.client("iam").create_user(UserName="ann")
        assert boto3.client("sts").get_caller_identity()["Account"]


def test_reset(test_api):
    mock = mock_aws()
    mock.reset()  # Nothing to do: the next use begins empty.
    with mock:
        boto3.client("s3").create_bucket(Bucket="photos")
        mock.reset()
        assert names() == []


def test_mocks_that_end_in_another_order():
    first, second = mock_aws(), mock_aws()
    first.start()
    second.start()
    first.stop()
    assert names() == []
    second.stop()
    assert "AWS_ENDPOINT_URL" not in os.environ


def test_one_server_for_the_process_that_each_use_finds_empty(test_api):
    with mock_aws() as first:
        client, endpoint = boto3.client("s3"), first.endpoint
        client.create_bucket(Bucket="photos")
    with mock_aws() as second:
        assert second is first and second.endpoint == endpoint
        assert names(client) == []
        client.create_bucket(Bucket="photos")


def test_options_have_a_server_that_each_use_finds_empty(test_api):
    endpoints = set()
    for _ in range(2):
        with mock_aws(buckets=["letters"]) as server:
            assert names() == ["letters"]
            server.client("s3").put_object(Bucket="letters", Key="a")
            assert boto3.client("s3").list_objects_v2(Bucket="letters")["KeyCount"] == 1
            endpoints.add(server.endpoint)
    assert len(endpoints) == 1


def test_a_directory_is_not_emptied(tmp_path):
    for found in ([], ["photos"]):
        with mock_aws(data_dir=tmp_path / "data") as server:
            assert names() == found
            if not found:
                boto3.client("s3").create_bucket(Bucket="photos")
    with pytest.raises(liteio.LiteIOError):
        server.endpoint


def test_a_server_that_was_killed_is_replaced():
    with mock_aws() as server:
        os.killpg(server._process._process.pid, signal.SIGKILL)
        server._process._process.wait()
    with mock_aws():
        assert names() == []


def test_without_the_test_api_each_use_is_empty_too():
    for _ in range(2):
        with mock_aws(environment={"LITEIO_TEST_API": ""}):
            assert names() == []
            boto3.client("s3").create_bucket(Bucket="photos")


def test_a_fork_has_a_server_of_its_own():
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def child():
        with mock_aws() as server:
            theirs.send(server.endpoint)

    with mock_aws() as server:
        endpoint = server.endpoint
    process = context.Process(target=child)
    process.start()
    assert ours.poll(60) and ours.recv() != endpoint
    process.join()


@pytest.mark.parametrize("token", [None, "a-token"])
def test_any_credentials_are_taken(token):
    with mock_aws():
        session = boto3.Session("AKIAEXAMPLE", "a-secret", token, region_name="ap-south-1")
        session.resource("s3").create_bucket(
            Bucket="photos", CreateBucketConfiguration={"LocationConstraint": "ap-south-1"}
        )
        session.client("s3").put_object(Bucket="photos", Key="a", Body=b"a")
        assert names() == ["photos"]


def test_credentials_that_are_given_are_checked():
    with mock_aws(access_key="the-only-key", secret_key="the-only-secret"):
        assert names() == []
        with pytest.raises(boto3.client("s3").exceptions.ClientError, match="InvalidAccessKeyId"):
            boto3.client("s3", **KEYS).list_buckets()


AES = dict(ServerSideEncryption="AES256")
KMS = dict(ServerSideEncryption="aws:kms")
OF_CLIENT = dict(SSECustomerAlgorithm="AES256", SSECustomerKey="k" * 32)
GIVEN_KEY = base64.b64encode(bytes(32)).decode()


def put(**options):
    return boto3.client("s3").put_object(Bucket="photos", Key="a", Body=b"hello", **options)


def read(**options):
    return boto3.client("s3").get_object(Bucket="photos", Key="a", **options)["Body"].read()


@pytest.mark.parametrize("options", [
    {},
    dict(access_key="the-only-key", secret_key="the-only-secret"),
    dict(arguments=["--master-key", GIVEN_KEY]),
    dict(environment={"LITEIO_MASTER_KEY": GIVEN_KEY}),
    dict(environment={"MINIO_KMS_SECRET_KEY": f"theirs:{GIVEN_KEY}"}),
    dict(arguments=["--aws-defaults"]),
])
def test_encryption_needs_no_key_of_the_test(options):
    with mock_aws(buckets=["photos"], **options):
        assert put(**AES)["ServerSideEncryption"] == "AES256" and read() == b"hello"
        assert put(**KMS)["ServerSideEncryption"] == "aws:kms" and read() == b"hello"
        assert put(**OF_CLIENT)["SSECustomerAlgorithm"] == "AES256" and read(**OF_CLIENT) == b"hello"
        s3 = boto3.client("s3")
        for algorithm in ("AES256", "aws:kms"):
            s3.put_bucket_encryption(Bucket="photos", ServerSideEncryptionConfiguration={
                "Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": algorithm}}]})
            assert put()["ServerSideEncryption"] == algorithm and read() == b"hello"


def test_nothing_is_encrypted_or_blocked_without_a_request():
    with mock_aws(buckets=["photos"]):
        assert "ServerSideEncryption" not in put()
        s3 = boto3.client("s3")
        with pytest.raises(ClientError, match="NoSuchPublicAccessBlockConfiguration"):
            s3.get_public_access_block(Bucket="photos")


def test_data_in_a_directory_have_no_key_of_the_mock(tmp_path):
    with mock_aws(data_dir=tmp_path / "data", buckets=["photos"]):
        with pytest.raises(ClientError, match="no master key"):
            put(**AES)


def test_acls_are_accepted():
    with mock_aws():
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="photos", ACL="public-read")
        put(ACL="public-read")
        grants = s3.get_object_acl(Bucket="photos", Key="a")["Grants"]
        assert [it["Permission"] for it in grants if it["Grantee"]["Type"] == "Group"] == ["READ"]
        s3.put_bucket_acl(Bucket="photos", ACL="private")


@pytest.mark.parametrize("options", [
    dict(arguments=["--object-ownership", "bucket-owner-enforced"]),
    dict(environment={"LITEIO_OBJECT_OWNERSHIP": "bucket-owner-enforced"}),
])
def test_acls_are_refused_where_the_options_say_so(options):
    with mock_aws(**options):
        boto3.client("s3").create_bucket(Bucket="photos")
        with pytest.raises(ClientError, match="AccessControlListNotSupported"):
            put(ACL="public-read")


def test_acls_are_ignored_as_s3mock_does():
    with mock_aws(profile="s3mock"):
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="photos")
        put(ACL="public-read")
        grants = s3.get_object_acl(Bucket="photos", Key="a")["Grants"]
        assert [it["Grantee"]["Type"] for it in grants] == ["CanonicalUser"]


class TestOptionsOfThePageForWhatDiffersFromMoto:
    """docs/python.md, "What differs from moto"."""

    def test_keys_for_kms(self, tmp_path):
        file = tmp_path / "kms.toml"
        subprocess.run([liteio.find_binary(), "key", "new", "--name", "mine", file], check=True, capture_output=True)
        with mock_aws(buckets=["photos"], arguments=["--kms-key-file", str(file)]):
            for name in ("mine", "alias/mine", "arn:aws:kms:us-east-1:123456789012:key/mine"):
                assert put(**KMS, SSEKMSKeyId=name)["SSEKMSKeyId"] == "mine"
        with mock_aws(buckets=["photos"]), pytest.raises(ClientError, match="KMS.NotFoundException"):
            put(**KMS, SSEKMSKeyId="mine")

    def test_a_notification_to_a_function(self):
        function = "arn:aws:lambda:us-east-1:123456789012:function:resize"
        wanted = {"LambdaFunctionConfigurations": [{"LambdaFunctionArn": function, "Events": ["s3:ObjectCreated:*"]}]}
        asked = dict(Bucket="photos", NotificationConfiguration=wanted)
        with mock_aws(buckets=["photos"], arguments=["--event-target", "resize=http://127.0.0.1:1/"]):
            boto3.client("s3").put_bucket_notification_configuration(**asked)
        with mock_aws(buckets=["photos"]), pytest.raises(ClientError, match="no target named 'resize'"):
            boto3.client("s3").put_bucket_notification_configuration(**asked)

    @mock_aws(buckets=["photos"])
    def test_a_notification_to_eventbridge(self, test_api):
        with pytest.raises(ClientError, match="InvalidArgument.*There is no EventBridge"):
            boto3.client("s3").put_bucket_notification_configuration(
                Bucket="photos", NotificationConfiguration={"EventBridgeConfiguration": {}})
        put()
        with mock_aws(buckets=["photos"]) as server:
            server.wait_for_event(bucket="photos", key="a")

    @pytest.mark.parametrize(("options", "region"), [({}, "us-east-1"), ({"region": "eu-west-1"}, "eu-west-1")])
    def test_the_region_in_arns(self, options, region):
        with mock_aws(**options):
            made = boto3.client("s3vectors", region_name="eu-west-1").create_vector_bucket(vectorBucketName="media")
            assert made["vectorBucketArn"] == f"arn:aws:s3vectors:{region}:000000000000:bucket/media"

    def test_replication_between_two_buckets(self, test_api, tmp_path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        target = tmp_path / "targets.toml"
        target.write_text(f"""
            [[target]]
            arn = "arn:aws:s3:::copies"
            url = "http://127.0.0.1:{port}"
            access_key = "any-key"
            secret_key = "any-secret"
        """)
        rule = {"ID": "all", "Priority": 1, "Filter": {}, "Status": "Enabled",
                "DeleteMarkerReplication": {"Status": "Disabled"}, "Destination": {"Bucket": "arn:aws:s3:::copies"}}
        options = dict(port=port, buckets=["photos:versioned", "copies:versioned"])
        with mock_aws(**options, arguments=["--replication-file", str(target)]) as server:
            boto3.client("s3").put_bucket_replication(Bucket="photos", ReplicationConfiguration={
                "Role": "arn:aws:iam::123456789012:role/any", "Rules": [rule]})
            put()
            server.wait_for_event(bucket="copies", key="a")
            assert boto3.client("s3").get_object(Bucket="copies", Key="a")["Body"].read() == b"hello"


@pytest.mark.parametrize("name", REGIONS)
def test_the_region_of_the_environment_stays(name, monkeypatch):
    for each in REGIONS:
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, "eu-central-1")
    before = {each: os.environ.get(each) for each in REGIONS}
    with mock_aws():
        assert [os.environ[each] for each in REGIONS] == ["eu-central-1"] * 2
        # botocore reads one of the two only.
        assert boto3.client("s3vectors").meta.region_name == "eu-central-1"
        where = {"LocationConstraint": "eu-central-1"}
        boto3.client("s3").create_bucket(Bucket="photos", CreateBucketConfiguration=where)
        assert boto3.client("s3").get_bucket_location(Bucket="photos")["LocationConstraint"] == "eu-central-1"
    assert {each: os.environ.get(each) for each in REGIONS} == before


def test_two_regions_of_the_environment_stay(monkeypatch):
    regions = ["eu-central-1", "ap-south-1"]
    for name, value in zip(REGIONS, regions):
        monkeypatch.setenv(name, value)
    with mock_aws():
        assert [os.environ[each] for each in REGIONS] == regions


def test_a_region_is_there_without_one(monkeypatch):
    for each in REGIONS:
        monkeypatch.delenv(each, raising=False)
    with mock_aws():
        assert boto3.client("s3vectors").meta.region_name == "us-east-1"


def test_configuration_of_moto(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "mine")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "mine")
    boto3.setup_default_session()
    session = boto3.DEFAULT_SESSION
    kept = {"core": {"mock_credentials": False, "reset_boto3_session": False}}
    with mock_aws(config=kept):
        assert os.environ["AWS_ACCESS_KEY_ID"] == os.environ["AWS_SESSION_TOKEN"] == "mine"
        assert boto3.DEFAULT_SESSION is session
        assert names() == []
    with mock_aws() as outer:
        assert os.environ["AWS_ACCESS_KEY_ID"] != "mine" and boto3.DEFAULT_SESSION is not session
        with mock_aws(config=kept) as inner:
            assert inner is outer
    with pytest.raises(TypeError, match="core.passthrough"):
        mock_aws(config={"core": {"passthrough": {"services": ["s3"]}}})
    with pytest.raises(TypeError, match="lambda"):
        mock_aws(config={"lambda": {"use_docker": False}})


@mock_aws(config={"core": {"reset_boto3_session": False}})
def test_a_decorator_with_a_configuration():
    assert names() == []


def located(constraint):
    return {} if constraint is None else {"CreateBucketConfiguration": {"LocationConstraint": constraint}}


@pytest.mark.parametrize(("region", "constraint", "code"), [
    ("eu-west-1", None, "IllegalLocationConstraintException.*The unspecified location"),
    ("eu-west-1", "us-west-2", "IllegalLocationConstraintException.*The us-west-2 location"),
    ("eu-west-1", "us-east-1", "IllegalLocationConstraintException"),
    ("us-east-1", "us-east-1", "InvalidLocationConstraint"),
    ("eu-west-1", "eu-west-1", None),
    ("eu-west-1", "EU", None),
    ("us-east-1", "eu-west-1", None),
    ("us-east-1", None, None),
])
@mock_aws
def test_a_location_that_does_not_fit_the_region_is_refused_as_by_moto(region, constraint, code):
    s3 = boto3.client("s3", region_name=region)
    if code is None:
        s3.create_bucket(Bucket="photos", **located(constraint))
    else:
        with pytest.raises(ClientError, match=code) as error:
            s3.create_bucket(Bucket="photos", **located(constraint))
        assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert names() == ([] if code else ["photos"])


@mock_aws
def test_a_location_is_checked_for_a_client_that_was_made_before():
    with pytest.raises(ClientError, match="IllegalLocationConstraintException"):
        MADE_BEFORE.create_bucket(Bucket="photos")
    assert names() == []


def test_servers_that_a_profile_emulates_take_any_location():
    with mock_aws(profile="minio"):
        boto3.client("s3", region_name="eu-west-1").create_bucket(Bucket="photos")


def test_another_server_is_not_checked():
    with liteio.Server() as other, mock_aws:
        other.client("s3", region_name="eu-west-1").create_bucket(Bucket="photos")


S3_MADE_BEFORE = boto3.client("s3", region_name="us-east-1", **KEYS)


def test_a_request_to_s3_by_another_client_does_not_leave_the_machine():
    early = S3_MADE_BEFORE.generate_presigned_url("get_object", Params=dict(Bucket="photos", Key="hello.txt"))
    look_up, without_proxy = socket.getaddrinfo, urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with mock_aws(buckets=["photos:public"]):
        s3 = boto3.client("s3", region_name="us-east-1")
        s3.put_object(Bucket="photos", Key="hello.txt", Body=b"hello")
        for url in ("http://photos.s3.amazonaws.com/hello.txt", "https://s3.eu-west-1.amazonaws.com/photos/hello.txt", early):
            with pytest.raises(liteio.LiteIOError, match="amazonaws.com is AWS, .* use a presigned URL"):
                without_proxy.open(url)
        late = s3.generate_presigned_url("get_object", Params=dict(Bucket="photos", Key="hello.txt"))
        for url in (late, f"{os.environ['AWS_ENDPOINT_URL']}/photos/hello.txt"):
            with without_proxy.open(url) as answer:
                assert answer.read() == b"hello"
    assert socket.getaddrinfo is look_up


def test_a_patch_of_the_look_up_that_outlives_a_use_leaves_no_refusal(monkeypatch):
    look_up = socket.getaddrinfo

    def of_suite(host, *args, **options):
        return "of the suite" if host == "s3.amazonaws.com" else look_up(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", of_suite)
    with pytest.MonkeyPatch.context() as later:
        with mock_aws():
            later.setattr(socket, "getaddrinfo", look_up)
        assert socket.getaddrinfo is look_up
    assert socket.getaddrinfo("s3.amazonaws.com", 443) == "of the suite"


CONTROL_MADE_BEFORE = boto3.client("s3control", region_name="us-east-1", **KEYS)


@mock_aws
def test_a_service_with_a_host_for_each_account_is_named_without_a_look_at_the_host():
    for control in (boto3.client("s3control"), CONTROL_MADE_BEFORE):
        with pytest.raises(ClientError, match="s3control is not served here: .* Keep moto for s3control"):
            control.get_public_access_block(AccountId="123456789012")
    with pytest.raises(ClientError, match="servicediscovery is not served here"):
        boto3.client("servicediscovery").discover_instances(NamespaceName="a", ServiceName="b")


SQS_MADE_BEFORE = boto3.client("sqs", region_name="us-east-1", **KEYS)
# One for each protocol.
CALLS_OF_OTHERS = {
    "cloudfront": lambda client: client.list_distributions(),
    "cloudwatch": lambda client: client.list_metrics(),
    "dynamodb": lambda client: client.list_tables(),
    "ec2": lambda client: client.describe_instances(),
    "lambda": lambda client: client.list_functions(),
    "route53": lambda client: client.list_hosted_zones(),
    "sns": lambda client: client.list_topics(),
    "sqs": lambda client: client.create_queue(QueueName="photos"),
}


@pytest.mark.parametrize("service", CALLS_OF_OTHERS)
@mock_aws
def test_a_client_of_another_service_is_told_to_keep_moto(service):
    with pytest.raises(ClientError, match=r"is not served here: .* Keep moto for \w+$") as error:
        CALLS_OF_OTHERS[service](boto3.client(service))
    assert error.value.response["Error"]["Code"] == "UnknownOperationException"


@mock_aws
def test_a_client_of_another_service_that_was_made_before_is_told_to_keep_moto():
    with pytest.raises(ClientError, match="Keep moto for sqs$"):
        SQS_MADE_BEFORE.list_queues()


@mock_aws
def test_the_keys_are_those_of_moto():
    assert os.environ["AWS_ACCESS_KEY_ID"] == "FOOBARKEY"
    with liteio.Server() as server, pytest.raises(ClientError, match="InvalidAccessKeyId"):
        boto3.client("s3", endpoint_url=server.endpoint).list_buckets()


def test_a_server_beside_moto_takes_what_moto_takes():
    moto = pytest.importorskip("moto")
    with liteio.Server(**liteio.like_moto(buckets=["letters"])) as server:
        with moto.mock_aws():
            s3 = boto3.client("s3", endpoint_url=server.endpoint, region_name="us-east-1")
            s3.create_bucket(Bucket="photos", ACL="public-read")
            for options in (AES, KMS, OF_CLIENT, dict(ACL="public-read")):
                s3.put_object(Bucket="photos", Key="a", Body=b"hello", **options)
            assert names(s3) == ["letters", "photos"]


class TestMotoAndOurs:
    """They do not work inside each other, and say so."""

    told = r"mock_aws of moto is active.*let AWS_ENDPOINT_URL_S3 point at a liteio.Server\(\*\*liteio.like_moto\(\)\)"

    def test_ours_inside(self):
        moto = pytest.importorskip("moto")
        before = dict(os.environ)
        with moto.mock_aws():
            with pytest.raises(liteio.LiteIOError, match=self.told):
                mock_aws(lambda: None)()
        assert dict(os.environ) == before

    def test_moto_inside(self):
        moto = pytest.importorskip("moto")
        with mock_aws():
            with moto.mock_aws():
                for call in (names, lambda: boto3.client("sqs", region_name="us-east-1").list_queues()):
                    with pytest.raises(liteio.LiteIOError, match=self.told):
                        call()
            assert names() == []

    @pytest.mark.parametrize("inside", [True, False])
    def test_moto_and_a_space(self, testing_server, inside):
        moto = pytest.importorskip("moto")
        with testing_server.space() as space, ExitStack() as stack:
            uses = [liteio.environment(space), moto.mock_aws()]
            for use in uses if inside else reversed(uses):
                stack.enter_context(use)
            space.client().create_bucket(Bucket="photos")
            with pytest.raises(ClientError, match=r"sqs is not served here.*moto is active.*let AWS_ENDPOINT_URL_S3 point"):
                boto3.client("sqs", region_name="us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing").list_queues()
            if inside:
                with pytest.raises(liteio.LiteIOError, match=self.told):
                    names()
            else:
                assert names() == ["photos"]

    def test_one_after_the_other(self):
        moto = pytest.importorskip("moto")
        with moto.mock_aws():
            boto3.client("sqs", region_name="us-east-1").list_queues()
        with mock_aws():
            assert names() == []


def test_clients_that_were_made_before_the_first_mock():
    where = {"LocationConstraint": "eu-west-1"}
    with mock_aws():
        MADE_BEFORE.create_bucket(Bucket="photos.of.summer", CreateBucketConfiguration=where)
        MADE_BEFORE.put_object(Bucket="photos.of.summer", Key="a b/ü?.txt", Body=b"hello")
        made = RESOURCE_MADE_BEFORE.create_bucket(Bucket="letters")
        made.upload_fileobj(open(__file__, "rb"), "this.py")
        assert [each.key for each in made.objects.all()] == ["this.py"]
        s3 = boto3.client("s3")
        assert s3.get_object(Bucket="photos.of.summer", Key="a b/ü?.txt")["Body"].read() == b"hello"
        assert names() == ["letters", "photos.of.summer"]


def test_clients_whose_endpoint_is_of_aws():
    with mock_aws():
        for url in ("https://s3.amazonaws.com", "https://s3.eu-west-1.amazonaws.com"):
            s3 = boto3.client("s3", endpoint_url=url, config=Config(s3={"addressing_style": "virtual"}))
            s3.create_bucket(Bucket=f"photos-{url.count('.')}")
        assert names() == ["photos-2", "photos-3"]


def test_how_requests_are_sent_is_put_back():
    before = URLLib3Session.send
    with mock_aws():
        assert URLLib3Session.send is not before
    assert URLLib3Session.send is before


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://photos.s3.amazonaws.com/a/b?x=1", "/photos/a/b?x=1"),
        ("https://photos.s3.amazonaws.com", "/photos/"),
        ("https://a.s3.b.s3.eu-west-1.amazonaws.com/k", "/a.s3.b/k"),
        ("https://x.s3.s3.us-gov-west-1.amazonaws.com/k", "/x.s3/k"),
        ("https://photos.s3.dualstack.eu-west-1.amazonaws.com/k", "/photos/k"),
        ("https://photos.s3-fips.us-east-1.amazonaws.com/k", "/photos/k"),
        ("https://photos.s3-accelerate.amazonaws.com/k", "/photos/k"),
        ("https://photos.s3-us-west-2.amazonaws.com/k", "/photos/k"),
        ("https://photos.s3.cn-north-1.amazonaws.com.cn/k", "/photos/k"),
        ("https://s3.eu-west-1.amazonaws.com/photos/k", "/photos/k"),
        ("https://sts.amazonaws.com/", "/"),
        ("https://s3vectors.us-east-1.api.aws/ListIndexes", "/ListIndexes"),
    ],
)
def test_a_url_of_aws_becomes_one_of_the_server(url, path):
    assert redirected(url, "http://127.0.0.1:1") == f"http://127.0.0.1:1{path}"


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest", "https://amazonaws.com.example.org/k", "http://127.0.0.1:2/photos/k"]
)
def test_other_urls_stay(url):
    assert redirected(url, "http://127.0.0.1:1") == url


def test_a_presigned_url_is_read_by_other_clients():
    with mock_aws():
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="photos")
        s3.put_object(Bucket="photos", Key="a", Body=b"hello")
        url = s3.generate_presigned_url("get_object", Params=dict(Bucket="photos", Key="a"))
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url) as answer:
            assert answer.read() == b"hello"


def test_s3fs_sees_no_listing_of_an_earlier_use():
    s3fs = pytest.importorskip("s3fs")
    for key in ("a", "b"):
        with mock_aws():
            files = s3fs.S3FileSystem()
            files.mkdir("photos")
            boto3.client("s3").put_object(Bucket="photos", Key=key, Body=b"hello")
            assert files.ls("photos") == [f"photos/{key}"]
            assert files.cat(f"photos/{key}") == b"hello"


def test_pyarrow_needs_the_endpoint():
    pyarrow = pytest.importorskip("pyarrow.fs")
    with mock_aws(buckets=["photos"], access_key="the-only-key", secret_key="the-only-secret"):
        files = pyarrow.S3FileSystem(endpoint_override=os.environ["AWS_ENDPOINT_URL"])
        with files.open_output_stream("photos/a") as stream:
            stream.write(b"hello")
        assert read() == b"hello"


def test_aiobotocore():
    aiobotocore = pytest.importorskip("aiobotocore.session")

    @mock_aws
    async def use(**options):
        async with aiobotocore.get_session().create_client("s3", **options) as s3:
            await s3.create_bucket(Bucket="photos")
            await s3.put_object(Bucket="photos", Key="a", Body=b"hello")
            answer = await s3.get_object(Bucket="photos", Key="a")
            assert await answer["Body"].read() == b"hello"

    asyncio.run(use())
    asyncio.run(use(region_name="us-east-1", aws_access_key_id="any", aws_secret_access_key="any"))
    asyncio.run(use(endpoint_url="https://s3.amazonaws.com"))
    with pytest.raises(ClientError, match="IllegalLocationConstraintException"):
        asyncio.run(use(region_name="eu-west-1"))


@mock_aws
class TestOuter:
    class TestInner:
        def test_it_has_a_server(self):
            assert names() == []

    elsewhere = dict

    def test_classes_from_elsewhere_stay(self):
        assert self.elsewhere is dict and names() == []


class TestStartedInSetUp(unittest.TestCase):
    def setUp(self):
        mock = mock_aws()
        mock.start()
        self.addCleanup(mock.stop)
        boto3.client("s3").create_bucket(Bucket="photos")

    def test_it_has_the_bucket(self):
        self.assertEqual(names(), ["photos"])

    @mock_aws
    def test_a_decorated_method_has_the_same_server(self):
        self.assertEqual(names(), ["photos"])
