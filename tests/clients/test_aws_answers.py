"""Answers that were recorded on Amazon S3, each with its source: LocalStack's snapshots of AWS (the name of the
test), moto's tests that were run on AWS, or AWS's documentation. A kind has a table, so that a sister is a line."""

import base64
import copy
import datetime
import functools
import hashlib
import http.client
import urllib.parse
import uuid

import boto3
import pytest
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from conftest import ACCESS_KEY, SECRET_KEY, Server, client, make_keys

PAST = datetime.datetime(2010, 1, 1, tzinfo=datetime.timezone.utc)
OWN = Credentials(ACCESS_KEY, SECRET_KEY)


def ahead():
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)


def answer(call, *arguments, **named):
    """(200, None) if it works, else the status, and the error's code."""
    try:
        done = call(*arguments, **named)
    except ClientError as error:
        return error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]["Code"]
    return done["ResponseMetadata"]["HTTPStatusCode"], None


def send(server, method, path, headers=(), body=b""):
    """Sends a request as it is: the status, the headers and the document."""
    url = urllib.parse.urlsplit(server.endpoint)
    kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
    connection = kinds[url.scheme](url.hostname, url.port, timeout=30)
    sent = {name: value.encode() for name, value in dict(headers).items()}
    connection.request(method, path, body, sent)
    got = connection.getresponse()
    found = got.status, got.headers, got.read().decode()
    connection.close()
    return found


def signed(server, method, path, headers=(), body=b""):
    request = AWSRequest(method=method, url=server.endpoint + path, data=body, headers=dict(headers))
    request.headers["x-amz-content-sha256"] = hashlib.sha256(body).hexdigest()
    S3SigV4Auth(OWN, "s3", "us-east-1").add_auth(request)
    return send(server, method, path, request.headers.items(), body)


def presigned(server, method, path, parameters):
    request = AWSRequest(method=method, url=server.endpoint + path, params=parameters)
    S3SigV4QueryAuth(OWN, "s3", "us-east-1").add_auth(request)
    return request.url[len(server.endpoint):]


@pytest.fixture
def object_writer(s3):
    """A bucket in which access control lists count."""
    name = f"suite-{uuid.uuid4().hex[:16]}"
    s3.create_bucket(Bucket=name, ObjectOwnership="ObjectWriter")
    return name


@pytest.fixture
def versioned(s3, bucket):
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    return bucket


@pytest.fixture
def locking(s3):
    name = f"suite-{uuid.uuid4().hex[:16]}"
    s3.create_bucket(Bucket=name, ObjectLockEnabledForBucket=True)
    return name


# ---- conditions


COPY_CONDITIONS = [
    # test_s3_copy_object_preconditions, test_s3_copy_object_if_source_unmodified_since_versioned
    ({"CopySourceIfUnmodifiedSince": PAST}, "x-amz-copy-source-If-Unmodified-Since"),
    ({"CopySourceIfMatch": '"no"'}, "x-amz-copy-source-If-Match"),
    ({"CopySourceIfNoneMatch": "ETAG"}, "x-amz-copy-source-If-None-Match"),
    ({"CopySourceIfMatch": '"no"', "CopySourceIfUnmodifiedSince": PAST}, "x-amz-copy-source-If-Match"),
    ({"CopySourceIfNoneMatch": "ETAG", "CopySourceIfUnmodifiedSince": PAST},
     "x-amz-copy-source-If-Unmodified-Since"),
    ({"CopySourceIfMatch": "ETAG", "CopySourceIfUnmodifiedSince": PAST}, None),
    ({"CopySourceIfModifiedSince": PAST}, None),
    ({"CopySourceIfModifiedSince": "AHEAD"}, None),
]


@pytest.mark.parametrize("conditions, failed", COPY_CONDITIONS)
@pytest.mark.parametrize("ownership", ["BucketOwnerEnforced", "ObjectWriter", "BucketOwnerPreferred"])
def test_conditions_on_the_source_of_a_copy(s3, conditions, failed, ownership):
    # Where ACLs count, the server compares the object that it authorized; the client's conditions count all the same.
    bucket = f"suite-{uuid.uuid4().hex[:16]}"
    s3.create_bucket(Bucket=bucket, ObjectOwnership=ownership)
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"x")["ETag"]
    values = {"ETAG": etag, "AHEAD": ahead()}
    conditions = {name: values.get(value, value) if isinstance(value, str) else value
                  for name, value in conditions.items()}
    upload = s3.create_multipart_upload(Bucket=bucket, Key="parts")["UploadId"]
    source = {"Bucket": bucket, "CopySource": f"{bucket}/k", **conditions}
    for call, target in ((s3.copy_object, {"Key": "copy"}),
                         (s3.upload_part_copy, {"Key": "parts", "UploadId": upload, "PartNumber": 1})):
        try:
            call(**source, **target)
            found = None
        except ClientError as error:
            assert error.response["Error"]["Code"] == "PreconditionFailed"
            found = error.response["Error"]["Condition"]
        assert found == failed


def test_a_condition_on_the_target_of_a_copy_has_its_short_name(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    with pytest.raises(ClientError) as refused:
        s3.copy_object(Bucket=bucket, Key="k", CopySource=f"{bucket}/k", IfMatch='"no"',
                       MetadataDirective="REPLACE", Metadata={"a": "b"})
    assert refused.value.response["Error"]["Condition"] == "If-Match"


@pytest.mark.parametrize("since, expected", [("AHEAD", 200), ("LAST", 304), (PAST, 200)])
def test_if_modified_since(s3, bucket, since, expected):
    # test_s3_get_object_preconditions: a date in the future is ignored
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    dates = {"AHEAD": ahead(), "LAST": s3.head_object(Bucket=bucket, Key="k")["LastModified"]}
    since = dates.get(since, since) if isinstance(since, str) else since
    for call in (s3.get_object, s3.head_object):
        assert answer(call, Bucket=bucket, Key="k", IfModifiedSince=since)[0] == expected


CHANGES = [
    # test_multipart_if_match_with_put, …_with_put_identical, …_with_delete, test_multipart_if_none_match_with_delete,
    # …_with_put: the condition is decided first, then every change since CreateMultipartUpload is a conflict.
    # Before the upload; meanwhile; the condition; the answer.
    (["put 1"], [], "match", (200, None)),
    (["put 1"], ["put 2"], "match", (409, "ConditionalRequestConflict")),
    (["put 1"], ["put 1"], "match", (409, "ConditionalRequestConflict")),
    (["put 1"], ["put 2"], "match other", (412, "PreconditionFailed")),
    (["put 1"], ["delete"], "match other", (404, "NoSuchKey")),
    (["put 1"], ["delete", "put 1"], "match", (409, "ConditionalRequestConflict")),
    (["put 1"], ["copy"], "match", (409, "ConditionalRequestConflict")),
    (["put 1"], ["delete"], "none", (409, "ConditionalRequestConflict")),
    ([], [], "none", (200, None)),
    ([], ["put 1"], "none", (412, "PreconditionFailed")),
    ([], ["put 1", "delete"], "none", (409, "ConditionalRequestConflict")),
    (["put 1"], ["put 2"], "no condition", (200, None)),
    (["put 1"], ["delete"], "no condition", (200, None)),
]


@pytest.mark.parametrize("before, meanwhile, condition, expected", CHANGES)
@pytest.mark.parametrize("versioning", [None, "Enabled", "Suspended"])
def test_a_conditional_complete_after_a_change_of_the_key(s3, bucket, before, meanwhile, condition, expected, versioning):
    if versioning:
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": versioning})

    def do(step):
        if step == "delete":
            s3.delete_object(Bucket=bucket, Key="k")
        elif step == "copy":
            s3.copy_object(Bucket=bucket, Key="k", CopySource=f"{bucket}/k", MetadataDirective="REPLACE")
        else:
            s3.put_object(Bucket=bucket, Key="k", Body=step.encode())

    for step in before:
        do(step)
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    part = s3.upload_part(Bucket=bucket, Key="k", UploadId=upload, PartNumber=1, Body=b"part")["ETag"]
    for step in meanwhile:
        do(step)
    conditions = {"none": {"IfNoneMatch": "*"}, "match other": {"IfMatch": '"other"'}, "no condition": {}}
    if condition == "match":
        conditions["match"] = {"IfMatch": s3.head_object(Bucket=bucket, Key="k")["ETag"]}
    parts = {"Parts": [{"PartNumber": 1, "ETag": part}]}
    complete = {"Bucket": bucket, "Key": "k", "UploadId": upload, "MultipartUpload": parts}
    assert answer(s3.complete_multipart_upload, **complete, **conditions[condition]) == expected


def test_a_conflicting_complete_names_its_condition_and_key(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"1")
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    part = s3.upload_part(Bucket=bucket, Key="k", UploadId=upload, PartNumber=1, Body=b"part")["ETag"]
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"2")["ETag"]
    with pytest.raises(ClientError) as refused:
        s3.complete_multipart_upload(Bucket=bucket, Key="k", UploadId=upload, IfMatch=etag,
                                     MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part}]})
    error = refused.value.response["Error"]
    assert (error["Condition"], error["Key"]) == ("If-Match", "k")


# ---- listings


@pytest.mark.parametrize("deleted", [[0], [0, 1], []])
def test_the_newest_version_is_the_latest_behind_a_marker_that_is_gone(s3, versioned, deleted):
    # test_list_objects_versions_with_prefix_only_and_pagination
    for number in range(4):
        s3.put_object(Bucket=versioned, Key="k", Body=str(number).encode())
    page = s3.list_object_versions(Bucket=versioned, Prefix="k", MaxKeys=max(len(deleted), 1))
    for index in deleted:
        s3.delete_object(Bucket=versioned, Key="k", VersionId=page["Versions"][index]["VersionId"])
    rest = s3.list_object_versions(Bucket=versioned, Prefix="k", KeyMarker=page["NextKeyMarker"],
                                   VersionIdMarker=page["NextVersionIdMarker"])
    latest = [version["IsLatest"] for version in rest["Versions"]]
    assert latest == [bool(deleted)] + [False] * (len(latest) - 1)


def test_markers_of_a_list_of_uploads(s3, bucket):
    # test_list_multiparts_next_marker: the markers of the last upload, whether more follow or not
    empty = s3.list_multipart_uploads(Bucket=bucket)
    assert (empty["NextKeyMarker"], empty["NextUploadIdMarker"]) == ("", "")
    uploads = {key: s3.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"] for key in ("a", "b")}
    for most, last in ((1, "a"), (2, "b"), (3, "b")):
        page = s3.list_multipart_uploads(Bucket=bucket, MaxUploads=most)
        assert (page["NextKeyMarker"], page["NextUploadIdMarker"]) == (last, uploads[last])


def test_markers_of_a_list_of_uploads_below_prefixes(s3, bucket):
    # test_list_multiparts_with_prefix_and_delimiter: a prefix is a marker only where more follows
    uploads = {key: s3.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"] for key in ("a/1", "b/2", "c")}
    only = s3.list_multipart_uploads(Bucket=bucket, Delimiter="/", Prefix="a")
    assert (only["NextKeyMarker"], only["NextUploadIdMarker"]) == ("", "")
    last = s3.list_multipart_uploads(Bucket=bucket, Delimiter="/")
    assert (last["NextKeyMarker"], last["NextUploadIdMarker"]) == ("c", uploads["c"])
    first = s3.list_multipart_uploads(Bucket=bucket, Delimiter="/", MaxUploads=1)
    rest = s3.list_multipart_uploads(Bucket=bucket, Delimiter="/", KeyMarker=first["NextKeyMarker"])
    assert [it["Prefix"] for it in rest["CommonPrefixes"]] == ["b/"]


@pytest.mark.parametrize("key, upload, expected", [
    # test_list_multiparts_next_marker: the marker is an upload of the key marker; one that has ended since counts
    ("a", "a", ["b"]), ("a", "b", "InvalidArgument"), ("c", "b", "InvalidArgument"), ("a", "no-upload", "InvalidArgument"),
    ("a", "ended", ["b"]), ("", "b", ["a", "b"]), (None, "b", ["a", "b"])])
def test_the_upload_id_marker_is_an_upload_of_the_key_marker(s3, bucket, key, upload, expected):
    uploads = {name: s3.create_multipart_upload(Bucket=bucket, Key=name)["UploadId"] for name in ("a", "b")}
    uploads["ended"] = s3.create_multipart_upload(Bucket=bucket, Key="a")["UploadId"]
    s3.abort_multipart_upload(Bucket=bucket, Key="a", UploadId=uploads["ended"])
    markers = {"UploadIdMarker": uploads.get(upload, upload)} | ({} if key is None else {"KeyMarker": key})
    if isinstance(expected, list):
        page = s3.list_multipart_uploads(Bucket=bucket, **markers)
        assert [it["Key"] for it in page["Uploads"]] == expected
        return
    with pytest.raises(ClientError) as refused:
        s3.list_multipart_uploads(Bucket=bucket, **markers)
    error = refused.value.response["Error"]
    assert (error["Code"], error["ArgumentName"]) == (expected, "upload-id-marker")
    assert error["ArgumentValue"] == markers["UploadIdMarker"]


@pytest.mark.parametrize("parameters, names_regions", [
    # test_delete_bucket_with_content and the tests of TestS3ListBuckets
    ({}, False), ({"Prefix": "suite-"}, True), ({"MaxBuckets": 1}, True), ({"BucketRegion": "us-east-1"}, True)])
def test_a_list_of_buckets_names_regions_if_it_has_a_parameter(s3, bucket, parameters, names_regions):
    found = s3.list_buckets(**parameters)["Buckets"][0]
    assert ("BucketRegion" in found) == names_regions and "BucketArn" in found


def test_a_region_that_does_not_exist():
    # test_list_buckets_region_validation
    started = Server("--memory", "--region", "us-east-1")
    with pytest.raises(ClientError) as refused:
        client(started.endpoint).list_buckets(BucketRegion="nowhere-1")
    started.stop()
    error = refused.value.response["Error"]
    assert (error["Code"], error["ArgumentName"]) == ("InvalidArgument", "bucket-region")


def test_empty_tokens_and_markers(server, s3, bucket):
    # test_list_objects_v2_continuation_start_after, test_list_parts_empty_part_number_marker
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    status, _, text = signed(server, "GET", f"/{bucket}?continuation-token=&list-type=2")
    assert status == 400 and "InvalidArgument" in text
    assert "StartAfter" in s3.list_objects_v2(Bucket=bucket, StartAfter="a")
    s3.put_object(Bucket=bucket, Key="l", Body=b"x")
    token = s3.list_objects_v2(Bucket=bucket, MaxKeys=1)["NextContinuationToken"]
    assert "StartAfter" not in s3.list_objects_v2(Bucket=bucket, StartAfter="a", ContinuationToken=token)
    upload = s3.create_multipart_upload(Bucket=bucket, Key="p")["UploadId"]
    s3.upload_part(Bucket=bucket, Key="p", UploadId=upload, PartNumber=1, Body=b"x")
    for query in ("part-number-marker=&uploadId={}", "part-number-marker&uploadId={}", "max-parts=&uploadId={}",
                  "uploadId={}"):
        status, _, text = signed(server, "GET", f"/{bucket}/p?" + query.format(upload))
        assert status == 200 and "<PartNumber>1</PartNumber>" in text
    assert s3.list_parts(Bucket=bucket, Key="p", UploadId=upload, PartNumberMarker=9)["NextPartNumberMarker"] == 0


def test_regions_and_names_of_buckets(s3, bucket):
    # test_list_buckets_region_validation, test_list_buckets_by_bucket_region, test_create_bucket_head_bucket
    arn = f"arn:aws:s3:::{bucket}"
    assert s3.head_bucket(Bucket=bucket)["BucketArn"] == arn
    assert s3.list_buckets(Prefix=bucket)["Buckets"][0]["BucketArn"] == arn
    found = s3.list_buckets(Prefix=bucket, BucketRegion="us-east-1")["Buckets"]
    assert [it["Name"] for it in found] == [bucket]
    assert s3.list_buckets(Prefix=bucket, BucketRegion="eu-west-1")["Buckets"] == []


@pytest.mark.parametrize("owner, expected", [
    # test_get_bucket_policy_invalid_account_id
    ("0000", (400, "InvalidBucketOwnerAWSAccountID")), ("0000000000020", (400, "InvalidBucketOwnerAWSAccountID")),
    ("abcd", (400, "InvalidBucketOwnerAWSAccountID")), ("aa000000000$", (400, "InvalidBucketOwnerAWSAccountID")),
    ("999999999999", (403, "AccessDenied")), ("f" * 64, (403, "AccessDenied"))])
def test_an_expected_owner_is_an_account(s3, bucket, owner, expected):
    assert answer(s3.get_bucket_versioning, Bucket=bucket, ExpectedBucketOwner=owner) == expected
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    copied = answer(s3.copy_object, Bucket=bucket, Key="l", CopySource=f"{bucket}/k", ExpectedSourceBucketOwner=owner)
    assert copied == expected


# ---- what AWS takes


@pytest.mark.parametrize("sent, back", [
    # test_user_metadata_rfc2047_encoded, …_bad_b64_encoded, test_put_unicode_metadata_with_sig_s3
    ("plain", "plain"), ("=?UTF-8?Q?actually-ascii?=", "actually-ascii"), ("=?UTF-8?B?YWJj?=", "abc"),
    ("=?UTF-8?B?=GGG?=", "=?UTF-8?B?=GGG?="), ("=?UTF-8?X?a?=", "=?UTF-8?X?a?="), ("=?", "=?"),
    ("=?UTF-8?Q?=C3=84M=C3=84Z=C3=95=C3=91_S3?=", "=?UTF-8?Q?=C3=84M=C3=84Z=C3=95=C3=91_S3?="),
    ("=?UTF-8?B?AAECAw==?=", "=?UTF-8?B?AAECAw==?=")])
def test_user_metadata_in_encoded_words(s3, bucket, sent, back):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", Metadata={"m": sent})
    assert s3.head_object(Bucket=bucket, Key="k")["Metadata"]["m"] == back


def test_user_metadata_in_utf_8(server, s3, bucket):
    headers = {"x-amz-meta-foo": "non-ascii-%E2%80%94_—_é_"}
    assert signed(server, "PUT", f"/{bucket}/k", headers)[0] == 200
    found = s3.head_object(Bucket=bucket, Key="k")["Metadata"]["foo"]
    assert found == "=?UTF-8?Q?non-ascii-%E2%80%94=5F=E2=80=94=5F=C3=A9=5F?="


@pytest.mark.parametrize("condition, statuses", [
    # test_pre_signed_url_if_none_match, test_pre_signed_url_if_match
    ({"If-None-Match": "*"}, [200, 412]), ({"if-none-match": "*"}, [200, 412]),
    ({"If-Match": '"no"'}, [404, 404])])
def test_conditions_in_presigned_urls(server, bucket, condition, statuses):
    url = presigned(server, "PUT", f"/{bucket}/k", condition)
    assert [send(server, "PUT", url)[0] for _ in statuses] == statuses


@pytest.mark.parametrize("header, expected", [
    # test_s3_ignored_special_headers
    ({"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}, 200), ({"x-amz-user-agent": "test"}, 403), ({}, 200)])
def test_unsigned_headers_beside_a_presigned_url(server, s3, bucket, header, expected):
    url = presigned(server, "PUT", f"/{bucket}/k", {})
    assert send(server, "PUT", url, header, b"something")[0] == expected
    if expected == 200:
        assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"something"


def form(server, s3, bucket, disposition, body):
    post = s3.generate_presigned_post(bucket, "f-${filename}", Conditions=[["starts-with", "$key", "f-"]])
    lines = [f'--edge\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
             for name, value in post["fields"].items()]
    lines.append(f"--edge\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{body}\r\n--edge--\r\n")
    headers = {"Content-Type": "multipart/form-data; boundary=edge"}
    return send(server, "POST", f"/{bucket}", headers, "".join(lines).encode())


@pytest.mark.parametrize("disposition, key", [
    # test_post_object_with_file_as_string
    ('name="file"', "f-${filename}"), ('name="file"; filename="a.txt"', "f-a.txt"),
    ('name="file"; filename=""', "f-"), ('name="file"; filename="C:\\dir\\b.txt"', "f-b.txt")])
def test_the_file_of_a_form_with_and_without_a_name(server, s3, bucket, disposition, key):
    assert form(server, s3, bucket, disposition, "y" * 30000)[0] == 204
    assert s3.head_object(Bucket=bucket, Key=key)["ContentLength"] == 30000


@pytest.mark.parametrize("content_type", ["text/html", "application/x-www-form-urlencoded", None])
def test_a_post_to_a_bucket_that_is_no_form(server, bucket, content_type):
    # test_post_object_with_wrong_content_type
    headers = {"Content-Type": content_type} if content_type else {}
    status, _, text = send(server, "POST", f"/{bucket}", headers, b"x")
    assert status == 412 and "Bucket POST must be of the enclosure-type multipart/form-data" in text


@pytest.mark.parametrize("method, path, kind", [
    ("POST", "/", "SERVICE"), ("PUT", "/", "SERVICE"), ("DELETE", "/", "SERVICE"), ("POST", "/?delete", "SERVICE"),
    ("PATCH", "/BUCKET", "BUCKET"), ("POST", "/BUCKET/k", "OBJECT"), ("PATCH", "/BUCKET/k", "OBJECT")])
def test_methods_that_a_resource_does_not_have(server, bucket, method, path, kind):
    status, _, text = signed(server, method, path.replace("BUCKET", bucket))
    assert status == 405 and "<Code>MethodNotAllowed</Code>" in text
    assert f"<Method>{method}</Method><ResourceType>{kind}</ResourceType>" in text


@pytest.mark.parametrize("version, dropped, missing", [
    # test_post_request_missing_signature, test_post_request_missing_fields
    ("s3v4", {"x-amz-signature"}, "X-Amz-Signature"), ("s3v4", {"x-amz-algorithm", "x-amz-credential"}, "X-Amz-Algorithm"),
    ("s3v4", {"x-amz-credential"}, "X-Amz-Credential"), ("s3v4", {"x-amz-date"}, "X-Amz-Date"),
    ("s3", {"signature"}, "Signature"), ("s3", {"AWSAccessKeyId"}, "AWSAccessKeyId"),
    ("s3v4", {"x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature"}, None),
    ("s3", {"AWSAccessKeyId", "signature"}, None)])
def test_a_form_that_lacks_a_part_of_its_signature(server, bucket, version, dropped, missing):
    post = client(server.endpoint, signature_version=version).generate_presigned_post(bucket, "k")
    lines = [f'--edge\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
             for name, value in post["fields"].items() if name not in dropped]
    lines.append('--edge\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nx\r\n--edge--\r\n')
    headers = {"Content-Type": "multipart/form-data; boundary=edge"}
    status, _, text = send(server, "POST", f"/{bucket}", headers, "".join(lines).encode())
    if missing is None:
        assert status == 403 and "<Code>AccessDenied</Code>" in text
    else:
        assert status == 400 and f"<ArgumentName>{missing}</ArgumentName>" in text


@pytest.mark.parametrize("source, message", [
    # test_s3_copy_object_wrong_format
    ("wrongformat", "Invalid copy source object key"), ("/wrongformat", "Invalid copy source object key"),
    ("Wrong_Bucket/k", "Invalid copy source bucket name")])
def test_a_wrong_source_of_a_copy(server, bucket, source, message):
    status, _, text = signed(server, "PUT", f"/{bucket}/k", {"x-amz-copy-source": source})
    assert status == 400 and f"<Code>InvalidArgument</Code><Message>{message}</Message>" in text
    name = "x-amz-copy-source"
    assert f"<ArgumentName>{name}</ArgumentName><ArgumentValue>{name}</ArgumentValue>" in text


@pytest.mark.parametrize("encryption, expected", [
    # test_s3_copy_object_in_place_with_encryption: the encryption of the source is not copied
    ({"ServerSideEncryption": "aws:kms"}, (200, None)), ({"ServerSideEncryption": "AES256"}, (400, "InvalidRequest")),
    ({}, (400, "InvalidRequest"))])
def test_a_copy_onto_itself_changes_the_encryption(s3, bucket, encryption, expected):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", **encryption)
    copy = {"Bucket": bucket, "Key": "k", "CopySource": f"{bucket}/k"}
    assert answer(s3.copy_object, **copy) == expected
    assert answer(s3.copy_object, **copy) == (400, "InvalidRequest")
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"x"


def test_a_copy_onto_itself_in_a_bucket_with_encryption(s3, bucket):
    # test_copy_in_place_with_bucket_encryption
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    assert answer(s3.copy_object, Bucket=bucket, Key="k", CopySource=f"{bucket}/k") == (400, "InvalidRequest")
    rule = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
    s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": [rule]})
    copied = s3.copy_object(Bucket=bucket, Key="k", CopySource=f"{bucket}/k")
    assert copied["ServerSideEncryption"] == "AES256"


def test_a_url_as_the_source_of_a_copy(server, s3, bucket):
    # test_response_structure
    s3.put_object(Bucket=bucket, Key="a b", Body=b"x")
    for source in (f"{server.endpoint}/{bucket}/a%20b", f"/{bucket}/a%20b", f"{bucket}/a%20b"):
        status, _, text = signed(server, "PUT", f"/{bucket}/copy", {"x-amz-copy-source": source})
        assert status == 200 and "<CopyObjectResult" in text


def test_empty_lists_of_tags(server, s3, bucket):
    # test_create_bucket_with_tags_us_east_1_idempotency, test_bucket_tagging_crud
    assert answer(s3.create_bucket, Bucket=bucket, CreateBucketConfiguration={"Tags": []}) == (200, None)
    tags = {"TagSet": [{"Key": "a", "Value": "b"}]}
    assert answer(s3.put_bucket_tagging, Bucket=bucket, Tagging=tags) == (204, None)
    for document in (b"<Tagging/>", b"<Tagging></Tagging>", b"<Tagging><TagSet/></Tagging>",
                     b'<Tagging xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><TagSet></TagSet></Tagging>'):
        s3.put_bucket_tagging(Bucket=bucket, Tagging=tags)
        md5 = {"Content-MD5": base64.b64encode(hashlib.md5(document).digest()).decode()}
        assert signed(server, "PUT", f"/{bucket}?tagging", md5, document)[0] == 204
        assert answer(s3.get_bucket_tagging, Bucket=bucket) == (404, "NoSuchTagSet")
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", Tagging="a=b")
    md5 = {"Content-MD5": base64.b64encode(hashlib.md5(b"<Tagging/>").digest()).decode()}
    assert signed(server, "PUT", f"/{bucket}/k?tagging", md5, b"<Tagging/>")[0] == 200
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == []


CONFIGURATIONS = [
    ("put_bucket_analytics_configuration", "AnalyticsConfiguration", {"Id": "i", "StorageClassAnalysis": {}}),
    ("put_bucket_intelligent_tiering_configuration", "IntelligentTieringConfiguration",
     {"Id": "i", "Status": "Enabled", "Tierings": [{"Days": 90, "AccessTier": "ARCHIVE_ACCESS"}]}),
    ("put_bucket_metrics_configuration", "MetricsConfiguration", {"Id": "i"}),
    ("put_bucket_inventory_configuration", "InventoryConfiguration",
     {"Id": "i", "IsEnabled": True, "IncludedObjectVersions": "All", "Schedule": {"Frequency": "Daily"},
      "Destination": {"S3BucketDestination": {"Bucket": "arn:aws:s3:::b", "Format": "CSV"}}}),
]


@pytest.mark.parametrize("operation, name, configuration", CONFIGURATIONS)
def test_configurations_are_put_without_content(s3, bucket, operation, name, configuration):
    # test_bucket_analytics_configuration, test_bucket_inventory_configuration, … (moto and versitygw have it so, too)
    assert answer(getattr(s3, operation), Bucket=bucket, Id="i", **{name: configuration}) == (204, None)


OTHER_IDS = {"put_bucket_inventory_configuration": "IdMismatch"}


@pytest.mark.parametrize("operation, name, configuration", CONFIGURATIONS)
def test_the_id_of_a_configuration_is_the_one_of_the_query(s3, bucket, operation, name, configuration):
    # test_s3_analytics_configurations, test_s3_intelligent_tier_config, test_s3_put_inventory_report_exceptions
    found = answer(getattr(s3, operation), Bucket=bucket, Id="other", **{name: configuration})
    assert found == (400, OTHER_IDS.get(operation, "MalformedXML"))


@pytest.mark.parametrize("index, place, value, expected", [
    # test_s3_put_inventory_report_exceptions; the others are values that AWS's model does not list
    (3, "Destination S3BucketDestination Bucket", "b", "InvalidS3DestinationBucket"),
    (3, "Destination S3BucketDestination Format", "WRONG", "MalformedXML"),
    (3, "Schedule Frequency", "Hourly", "MalformedXML"), (3, "IncludedObjectVersions", "Wrong", "MalformedXML"),
    (3, "OptionalFields", ["Size", "Wrong"], "MalformedXML"), (1, "Status", "On", "MalformedXML"),
    (1, "Tierings", [{"Days": 90, "AccessTier": "WRONG"}], "MalformedXML")])
def test_values_that_a_configuration_cannot_have(s3, bucket, index, place, value, expected):
    operation, name, configuration = CONFIGURATIONS[index]
    changed = copy.deepcopy(configuration)
    *path, last = place.split()
    functools.reduce(dict.__getitem__, path, changed)[last] = value
    assert answer(getattr(s3, operation), Bucket=bucket, Id="i", **{name: changed}) == (400, expected)


# ---- uploads in parts, and checksums


def in_parts(s3, bucket, key, bodies, **settings):
    upload = s3.create_multipart_upload(Bucket=bucket, Key=key, **settings)["UploadId"]
    algorithm = settings.get("ChecksumAlgorithm")
    parts = []
    for number, body in enumerate(bodies, 1):
        part = s3.upload_part(Bucket=bucket, Key=key, UploadId=upload, PartNumber=number, Body=body,
                              **({"ChecksumAlgorithm": algorithm} if algorithm else {}))
        listed = {"PartNumber": number, "ETag": part["ETag"]}
        if algorithm:
            listed[f"Checksum{algorithm}"] = part[f"Checksum{algorithm}"]
        parts.append(listed)
    return s3.complete_multipart_upload(Bucket=bucket, Key=key, UploadId=upload, MultipartUpload={"Parts": parts})


@pytest.mark.parametrize("settings, algorithm", [
    # test_multipart_copy_object_etag, test_complete_multipart_parts_checksum_composite, …_full_object, …_default
    ({}, "CRC64NVME"), ({"ChecksumAlgorithm": "SHA256"}, "SHA256"), ({"ChecksumAlgorithm": "CRC32"}, "CRC32"),
    ({"ChecksumAlgorithm": "CRC32C", "ChecksumType": "FULL_OBJECT"}, "CRC32C"),
    ({"ServerSideEncryption": "AES256"}, "CRC64NVME")])
@pytest.mark.parametrize("bodies", [[b"abc"], [b"p" * (5 << 20), b"end"]])
def test_a_copy_of_an_upload_in_parts_is_one_piece(s3, bucket, settings, algorithm, bodies):
    in_parts(s3, bucket, "k", bodies, **settings)
    copied = s3.copy_object(Bucket=bucket, Key="c", CopySource=f"{bucket}/k")["CopyObjectResult"]
    whole = b"".join(bodies)
    assert copied["ETag"] == f'"{hashlib.md5(whole).hexdigest()}"'
    assert copied["ChecksumType"] == "FULL_OBJECT" and f"Checksum{algorithm}" in copied
    found = s3.get_object_attributes(Bucket=bucket, Key="c", ObjectAttributes=["ObjectParts", "Checksum"])
    assert "ObjectParts" not in found and found["Checksum"]["ChecksumType"] == "FULL_OBJECT"
    s3.delete_object(Bucket=bucket, Key="k")
    got = s3.get_object(Bucket=bucket, Key="c", ChecksumMode="ENABLED")
    assert got["Body"].read() == whole and got[f"Checksum{algorithm}"] == copied[f"Checksum{algorithm}"]
    assert answer(s3.head_object, Bucket=bucket, Key="c", PartNumber=2)[0] == 416


@pytest.mark.parametrize("settings, is_composite", [
    ({"ChecksumAlgorithm": "SHA256"}, True), ({"ChecksumAlgorithm": "CRC32C", "ChecksumType": "FULL_OBJECT"}, False),
    ({"ChecksumAlgorithm": "CRC64NVME"}, False), ({}, False)])
def test_attributes_of_checksums(s3, bucket, settings, is_composite):
    # The same tests: a composite checksum has no number of parts here, and only its parts are listed.
    in_parts(s3, bucket, "k", [b"abc"], **settings)
    found = s3.get_object_attributes(Bucket=bucket, Key="k", ObjectAttributes=["ObjectParts", "Checksum"])
    name = f"Checksum{settings.get('ChecksumAlgorithm', 'CRC64NVME')}"
    head = s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")[name]
    assert found["Checksum"][name] == head.removesuffix("-1")
    assert head.endswith("-1") == is_composite
    assert found["ObjectParts"]["TotalPartsCount"] == 1 and ("Parts" in found["ObjectParts"]) == is_composite
    # test_get_object_part_checksum: the only part has the checksum of the object
    part = s3.get_object(Bucket=bucket, Key="k", PartNumber=1, ChecksumMode="ENABLED")
    assert part["ChecksumType"] == ("COMPOSITE" if is_composite else "FULL_OBJECT") and name in part


@pytest.mark.parametrize("kind", ["COMPOSITE", "FULL_OBJECT"])
def test_the_checksum_of_one_of_several_parts(s3, bucket, kind):
    # test_complete_multipart_parts_checksum_composite, …_full_object
    in_parts(s3, bucket, "k", [b"p" * (5 << 20), b"end"], ChecksumAlgorithm="CRC32C", ChecksumType=kind)
    for number in (1, 2):
        part = s3.head_object(Bucket=bucket, Key="k", PartNumber=number, ChecksumMode="ENABLED")
        assert ("ChecksumCRC32C" in part) == (kind == "COMPOSITE")


def test_an_upload_without_an_algorithm_shows_none(server, bucket):
    # test_multipart_and_list_parts, test_complete_multipart_parts_checksum_default
    s3 = client(server.endpoint, request_checksum_calculation="when_required")
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    part = s3.upload_part(Bucket=bucket, Key="k", UploadId=upload, PartNumber=1, Body=b"abc")
    s3.put_object(Bucket=bucket, Key="source", Body=b"abc")
    copied = s3.upload_part_copy(Bucket=bucket, Key="k", UploadId=upload, PartNumber=2, CopySource=f"{bucket}/source")
    listed = s3.list_parts(Bucket=bucket, Key="k", UploadId=upload)
    (listed_upload,) = s3.list_multipart_uploads(Bucket=bucket)["Uploads"]
    for shown in (part, copied["CopyPartResult"], listed, *listed["Parts"], listed_upload):
        assert not [name for name in shown if name.startswith("Checksum")], shown
    sent = s3.upload_part(Bucket=bucket, Key="k", UploadId=upload, PartNumber=1, Body=b"abc", ChecksumAlgorithm="CRC32C")
    assert "ChecksumCRC32C" in sent
    complete = {"Bucket": bucket, "Key": "k", "UploadId": upload}
    one = {"PartNumber": 1, "ETag": part["ETag"]}
    listed = {"Parts": [{**one, "ChecksumCRC32C": sent["ChecksumCRC32C"]}]}
    assert answer(s3.complete_multipart_upload, **complete, MultipartUpload=listed) == (400, "InvalidPart")
    for kind in ("FULL_OBJECT", "COMPOSITE"):
        found = answer(s3.complete_multipart_upload, **complete, ChecksumType=kind, MultipartUpload={"Parts": [one]})
        assert found == (400, "InvalidRequest")
    # A composite checksum is ignored; another one is compared.
    wrong = {"ChecksumCRC32C": "AAAAAA=="}
    assert answer(s3.complete_multipart_upload, **complete, **wrong, MultipartUpload={"Parts": [one]}) == (400, "BadDigest")
    done = s3.complete_multipart_upload(**complete, ChecksumCRC32C="AAAAAA==-2", MultipartUpload={"Parts": [one]})
    assert done["ChecksumType"] == "FULL_OBJECT" and "ChecksumCRC64NVME" in done


WRONG = base64.b64encode(hashlib.sha256(b"zzz").digest()).decode()


@pytest.mark.parametrize("algorithm, bodies, sent, expected", [
    # test_multipart_parts_checksum_exceptions_composite: another algorithm, or the only part, is a wrong digest;
    # test_complete_multipart_parts_checksum_composite: one of several is a wrong part
    ("CRC32", [b"abc"], {"ChecksumSHA256": WRONG}, (400, "BadDigest")),
    ("SHA256", [b"abc"], {"ChecksumSHA256": WRONG}, (400, "BadDigest")),
    ("SHA256", [b"p" * (5 << 20), b"end"], {"ChecksumSHA256": WRONG}, (400, "InvalidPart"))])
def test_a_wrong_checksum_of_a_part_in_the_list(s3, bucket, algorithm, bodies, sent, expected):
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k", ChecksumAlgorithm=algorithm)["UploadId"]
    parts = [{"PartNumber": number, **sent, "ETag": s3.upload_part(
        Bucket=bucket, Key="k", UploadId=upload, PartNumber=number, Body=body, ChecksumAlgorithm=algorithm)["ETag"]}
             for number, body in enumerate(bodies, 1)]
    complete = {"Bucket": bucket, "Key": "k", "UploadId": upload, "MultipartUpload": {"Parts": parts}}
    assert answer(s3.complete_multipart_upload, **complete) == expected


def test_the_digests_of_a_wrong_body(server, s3, bucket):
    # test_s3_invalid_content_md5
    expected, calculated = (hashlib.md5(body).digest() for body in (b"other", b"x"))
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    in_base64 = base64.b64encode(expected).decode()
    for query, shown in (("", expected.hex()), (f"?partNumber=1&uploadId={upload}", in_base64)):
        status, _, text = signed(server, "PUT", f"/{bucket}/k{query}", {"Content-MD5": in_base64}, b"x")
        assert status == 400 and f"<ExpectedDigest>{shown}</ExpectedDigest>" in text
        assert f"<CalculatedDigest>{base64.b64encode(calculated).decode()}</CalculatedDigest>" in text


def test_a_complete_without_a_list(s3, bucket):
    # test_multipart_no_such_upload, test_multipart_complete_multipart_too_small
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    for identity, expected in ((upload, (400, "InvalidRequest")), ("fakeid", (404, "NoSuchUpload"))):
        assert answer(s3.complete_multipart_upload, Bucket=bucket, Key="k", UploadId=identity) == expected


@pytest.mark.parametrize("bytes_, expected", [
    # test_upload_part_copy_range
    ("bytes=0-9", (200, None)), ("bytes=0-100", (400, "InvalidArgument")), ("bytes=9-10", (400, "InvalidArgument")),
    ("bytes=100-200", (400, "InvalidRequest")), ("bytes=10-10", (400, "InvalidRequest")),
    ("bytes=1-", (400, "InvalidArgument")), ("0-8", (400, "InvalidArgument"))])
def test_the_range_of_a_copied_part(s3, bucket, bytes_, expected):
    s3.put_object(Bucket=bucket, Key="k", Body=b"0123456789")
    upload = s3.create_multipart_upload(Bucket=bucket, Key="m")["UploadId"]
    assert answer(s3.upload_part_copy, Bucket=bucket, Key="m", UploadId=upload, PartNumber=1,
                  CopySource=f"{bucket}/k", CopySourceRange=bytes_) == expected


@pytest.mark.parametrize("bytes_, has_checksum", [
    # test_get_object_range: a range of all bytes has the checksum of the object
    ("bytes=0-100", True), ("bytes=0-", True), ("bytes=-15", True), ("bytes=0-8", False), ("bytes=1-", False)])
def test_the_checksum_of_a_range(s3, bucket, bytes_, has_checksum):
    s3.put_object(Bucket=bucket, Key="k", Body=b"0123456789")
    got = s3.get_object(Bucket=bucket, Key="k", Range=bytes_, ChecksumMode="ENABLED")
    assert ("ChecksumType" in got) == has_checksum


# ---- versions, locks, tags and access


@pytest.mark.parametrize("operation, more", [
    # test_object_tagging_versioned, test_put_object_acl_on_delete_marker
    ("get_object_tagging", {}), ("delete_object_tagging", {}), ("put_object_tagging", {"Tagging": {"TagSet": []}}),
    ("put_object_acl", {"ACL": "private"})])
@pytest.mark.parametrize("names_version", [False, True])
def test_tags_of_a_delete_marker(s3, object_writer, operation, more, names_version):
    bucket = object_writer
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    marker = s3.delete_object(Bucket=bucket, Key="k")["VersionId"]
    version = {"VersionId": marker} if names_version else {}
    call = getattr(s3, operation)
    assert answer(call, Bucket=bucket, Key="k", **version, **more) == (405, "MethodNotAllowed")
    assert answer(call, Bucket=bucket, Key="other", **more) == (404, "NoSuchKey")
    assert answer(s3.get_object_acl, Bucket=bucket, Key="k") == (404, "NoSuchKey")


def test_a_copy_names_the_version_null_in_a_suspended_bucket(s3, bucket):
    # test_s3_copy_object_in_place_suspended_only
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    copy = {"Bucket": bucket, "Key": "k", "CopySource": f"{bucket}/k", "MetadataDirective": "REPLACE"}
    assert "VersionId" not in s3.copy_object(**copy)
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Suspended"})
    assert s3.copy_object(**copy)["VersionId"] == "null"
    assert "VersionId" not in s3.put_object(Bucket=bucket, Key="k", Body=b"x")


def test_an_impossible_version_in_a_batch_is_missing(s3, versioned):
    # test_delete_objects_versioned
    version = "HPniJFCxqTsMuIH9KX8K8wEjNUgmABCD"
    deleted = s3.delete_objects(Bucket=versioned, Delete={"Objects": [{"Key": "k", "VersionId": version}]})
    assert deleted["Errors"][0]["Code"] == "NoSuchVersion"
    assert answer(s3.delete_object, Bucket=versioned, Key="k", VersionId=version) == (400, "InvalidArgument")


def test_legal_holds_that_never_were_and_that_were_released(s3, locking):
    # test_put_get_object_legal_hold, test_s3_legal_hold_lock_versioned
    version = {"Bucket": locking, "Key": "k",
               "VersionId": s3.put_object(Bucket=locking, Key="k", Body=b"x")["VersionId"]}
    assert answer(s3.get_object_legal_hold, **version) == (404, "NoSuchObjectLockConfiguration")
    assert "ObjectLockLegalHoldStatus" not in s3.head_object(**version)
    for status in ("ON", "OFF"):
        s3.put_object_legal_hold(**version, LegalHold={"Status": status})
        assert s3.get_object_legal_hold(**version)["LegalHold"]["Status"] == status
        assert s3.head_object(**version)["ObjectLockLegalHoldStatus"] == status
    assert answer(s3.delete_object, **version) == (204, None)


@pytest.mark.parametrize("value", [True, False])
def test_a_bypass_needs_a_bucket_with_locks(s3, bucket, locking, value):
    # test_delete_object_with_no_locking
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    one = {"Key": "k", "BypassGovernanceRetention": value}
    many = {"Delete": {"Objects": [{"Key": "k"}]}, "BypassGovernanceRetention": value}
    for call, more in ((s3.delete_object, one), (s3.delete_objects, many)):
        assert answer(call, Bucket=bucket, **more) == (400, "InvalidArgument")
        assert answer(call, Bucket=locking, **more)[1] is None
    s3.head_object(Bucket=bucket, Key="k")


@pytest.mark.parametrize("acl, groups", [
    # test_s3_bucket_acl, test_s3_object_acl, test_s3_multipart_upload_acls
    ("public-read", ["READ"]), ("public-read-write", ["READ", "WRITE"]), ("private", [])])
def test_grants_begin_with_the_owner(s3, object_writer, acl, groups):
    s3.put_bucket_acl(Bucket=object_writer, ACL=acl)
    s3.put_object(Bucket=object_writer, Key="k", Body=b"x", ACL=acl)
    for found in (s3.get_bucket_acl(Bucket=object_writer), s3.get_object_acl(Bucket=object_writer, Key="k")):
        assert [grant["Permission"] for grant in found["Grants"]] == ["FULL_CONTROL", *groups]
        assert found["Grants"][0]["Grantee"]["ID"] == found["Owner"]["ID"]


@pytest.mark.parametrize("owner, expected", [
    # test_s3_bucket_acl_exceptions, test_s3_object_acl_exceptions
    ("wrong-id", "InvalidArgument"), ("f" * 64, "InvalidArgument"), (None, "MalformedACLError")])
def test_the_owner_in_an_acl_is_an_account(s3, object_writer, owner, expected):
    s3.put_object(Bucket=object_writer, Key="k", Body=b"x")
    group = {"Type": "Group", "URI": "http://acs.amazonaws.com/groups/s3/LogDelivery"}
    policy = {"Grants": [{"Grantee": group, "Permission": "READ"}]} | ({"Owner": {"ID": owner}} if owner else {})
    for call, key in ((s3.put_bucket_acl, {}), (s3.put_object_acl, {"Key": "k"})):
        with pytest.raises(ClientError) as refused:
            call(Bucket=object_writer, AccessControlPolicy=policy, **key)
        error = refused.value.response["Error"]
        assert error["Code"] == expected
        if owner:
            assert (error["ArgumentName"], error["ArgumentValue"]) == ("CanonicalUser/ID", owner)


@pytest.mark.parametrize("leaves", ["version", "marker", "both"])
def test_a_bucket_with_versions_is_named_when_it_is_not_empty(s3, versioned, leaves):
    # test_delete_versioned_bucket_with_objects
    version = s3.put_object(Bucket=versioned, Key="k", Body=b"x")["VersionId"]
    if leaves != "version":
        s3.delete_object(Bucket=versioned, Key="k")
    if leaves == "marker":
        s3.delete_object(Bucket=versioned, Key="k", VersionId=version)
    with pytest.raises(ClientError) as refused:
        s3.delete_bucket(Bucket=versioned)
    error = refused.value.response["Error"]
    assert (error["Code"], error["BucketName"]) == ("BucketNotEmpty", versioned)


@pytest.mark.parametrize("asked, is_allowed", [
    # test_cors_match_methods, test_cors_match_headers: AWS reads the headers of a preflight request in every request
    ({}, True), ({"Access-Control-Request-Method": "GET"}, True), ({"Access-Control-Request-Method": "PUT"}, False),
    ({"Access-Control-Request-Headers": "content-type"}, True),
    ({"Access-Control-Request-Headers": "x-amz-request-payer"}, False)])
def test_the_headers_of_a_preflight_request_in_another_one(server, s3, bucket, asked, is_allowed):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    rule = {"AllowedOrigins": ["https://a.test"], "AllowedMethods": ["GET"], "AllowedHeaders": ["content-*"]}
    s3.put_bucket_cors(Bucket=bucket, CORSConfiguration={"CORSRules": [rule]})
    status, headers, _ = signed(server, "GET", f"/{bucket}/k", {"Origin": "https://a.test", **asked})
    assert status == 200 and ("Access-Control-Allow-Origin" in headers) == is_allowed


@pytest.mark.parametrize("method", ["PUT", None])
def test_a_preflight_request_without_rules_names_the_bucket(server, bucket, method):
    # test_cors_http_options_no_config, test_cors_http_options_non_existent_bucket
    asked = {"Origin": "https://a.test"} | ({"Access-Control-Request-Method": method} if method else {})
    for path in (f"/{bucket}/k", "/no-such-bucket-here/k"):
        status, _, text = send(server, "OPTIONS", path, asked)
        assert status == 403
        assert f"<Method>{method or 'OPTIONS'}</Method><ResourceType>BUCKET</ResourceType>" in text


def test_an_anonymous_list_names_no_owners(server, s3, bucket):
    # test_bucket_name_with_dots
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    policy = ('{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:ListBucket",'
              '"Resource":"arn:aws:s3:::%s"}]}')
    s3.put_bucket_policy(Bucket=bucket, Policy=policy % bucket)
    status, _, text = send(server, "GET", f"/{bucket}")
    assert status == 200 and "<Key>k</Key>" in text and "<Owner>" not in text
    assert "Owner" in s3.list_objects(Bucket=bucket)["Contents"][0]


@pytest.mark.parametrize("name, algorithm, expected", [
    # test_put_object_validation_sse_c, test_object_retrieval_sse_c
    ("put_object", "KMS", "InvalidEncryptionAlgorithmError"), ("get_object", "KMS", "InvalidEncryptionAlgorithmError"),
    ("put_object", "AES256", "InvalidArgument"), ("get_object", "AES256", "AccessDenied")])
def test_customer_keys_of_another_length_or_algorithm(s3, bucket, name, algorithm, expected):
    right = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": b"0" * 32}
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", **right)
    sent = {"SSECustomerAlgorithm": algorithm, "SSECustomerKey": b"0" * (31 if algorithm == "AES256" else 32)}
    with pytest.raises(ClientError) as refused:
        getattr(s3, name)(Bucket=bucket, Key="k", **sent)
    error = refused.value.response["Error"]
    assert error["Code"] == expected
    if algorithm == "KMS":
        found = error["ArgumentName"], error["ArgumentValue"]
        assert found == ("x-amz-server-side-encryption", "KMS")


def test_a_method_beside_a_customer_key_is_refused_first(server, bucket):
    # test_put_object_validation_sse_c
    headers = {"x-amz-server-side-encryption": "AES256", "x-amz-server-side-encryption-customer-algorithm": "KMS"}
    status, _, text = signed(server, "PUT", f"/{bucket}/k", headers, b"x")
    assert status == 400 and "<Code>InvalidArgument</Code>" in text and "<ArgumentValue>AES256</ArgumentValue>" in text


def test_a_read_by_version_does_not_tell_the_expiry(s3, versioned):
    # test_bucket_lifecycle_configuration_object_expiry_versioned
    rule = {"ID": "r", "Status": "Enabled", "Filter": {}, "Expiration": {"Days": 3}}
    s3.put_bucket_lifecycle_configuration(Bucket=versioned, LifecycleConfiguration={"Rules": [rule]})
    put = s3.put_object(Bucket=versioned, Key="k", Body=b"x")
    assert "Expiration" in put
    for call in (s3.head_object, s3.get_object):
        assert "Expiration" in call(Bucket=versioned, Key="k")
        assert "Expiration" not in call(Bucket=versioned, Key="k", VersionId=put["VersionId"])


def test_tags_of_a_lifecycle_rule_are_unique(s3, bucket):
    # test_put_bucket_lifecycle_conf_exc
    tags = [{"Key": "k", "Value": "1"}, {"Key": "k", "Value": "2"}]
    rule = {"ID": "r", "Status": "Enabled", "Filter": {"And": {"Tags": tags}}, "Expiration": {"Days": 3}}
    found = answer(s3.put_bucket_lifecycle_configuration, Bucket=bucket, LifecycleConfiguration={"Rules": [rule]})
    assert found == (400, "InvalidRequest")


def test_a_website_without_routing_rules_has_no_list_of_them(s3, bucket):
    # test_validate_website_configuration
    pages = {"IndexDocument": {"Suffix": "index.html"}}
    call = s3.put_bucket_website
    assert answer(call, Bucket=bucket, WebsiteConfiguration={**pages, "RoutingRules": []}) == (400, "MalformedXML")
    assert answer(call, Bucket=bucket, WebsiteConfiguration=pages) == (200, None)


@pytest.mark.parametrize("sent, back", [
    # test_post_object_with_unicode_metadata: words of RFC 2047 are not decoded in forms
    ("=?UTF-8?Q?actually-ascii?=", "=?UTF-8?Q?actually-ascii?="), ("=?UTF-8?B?YWJj?=", "=?UTF-8?B?YWJj?="),
    ("\x00\x01\x02\x03\x04", "=?UTF-8?B?AAECAwQ=?="), ("ÄMÄZÕÑ S3", "=?UTF-8?Q?=C3=84M=C3=84Z=C3=95=C3=91_S3?="),
    ("plain", "plain")])
def test_user_metadata_of_a_form(server, s3, bucket, sent, back):
    post = s3.generate_presigned_post(bucket, "k", Fields={"x-amz-meta-m": sent},
                                      Conditions=[["eq", "$x-amz-meta-m", sent]])
    lines = [f'--edge\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
             for name, value in post["fields"].items()]
    lines.append('--edge\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nx\r\n--edge--\r\n')
    headers = {"Content-Type": "multipart/form-data; boundary=edge"}
    status, _, text = send(server, "POST", f"/{bucket}", headers, "".join(lines).encode())
    assert status == 204, text
    assert s3.head_object(Bucket=bucket, Key="k")["Metadata"]["m"] == back


def test_cors_names_headers_in_lower_case(server, s3, bucket):
    # test_cors_match_headers
    rule = {"AllowedOrigins": ["*"], "AllowedMethods": ["GET"], "AllowedHeaders": ["*"]}
    s3.put_bucket_cors(Bucket=bucket, CORSConfiguration={"CORSRules": [rule]})
    asked = {"Origin": "https://a.test", "Access-Control-Request-Method": "GET",
             "Access-Control-Request-Headers": "X-My-Header, X-Other"}
    _, headers, _ = send(server, "OPTIONS", f"/{bucket}/k", asked)
    assert headers["Access-Control-Allow-Headers"] == "x-my-header, x-other"


def test_preflight_requests_of_buckets_without_rules(server, s3, bucket):
    # test_cors_http_options_no_config, …_non_existent_bucket, test_put_cors_empty_origin
    page = {"Origin": "https://a.test"}
    for path in (f"/{bucket}/k", "/no-such-bucket-here/k"):
        assert send(server, "OPTIONS", path)[0] == 400
        assert send(server, "OPTIONS", path, page)[0] == 403
    rule = {"AllowedOrigins": [""], "AllowedMethods": ["GET"]}
    s3.put_bucket_cors(Bucket=bucket, CORSConfiguration={"CORSRules": [rule]})
    assert s3.get_bucket_cors(Bucket=bucket)["CORSRules"] == [rule]
    assert send(server, "OPTIONS", f"/{bucket}/k", page)[0] == 400
    assert send(server, "OPTIONS", f"/{bucket}/k", {**page, "Access-Control-Request-Method": "GET"})[0] == 403


@pytest.mark.parametrize("algorithm, expected", [
    # test_put_object_validation_sse_c
    ("KMS", "InvalidEncryptionAlgorithmError"), ("aes256", "InvalidEncryptionAlgorithmError"), (None, "InvalidArgument")])
def test_algorithms_of_customer_keys(server, bucket, algorithm, expected):
    key = b"0" * 32
    start = "x-amz-server-side-encryption-customer-"
    headers = {f"{start}key": base64.b64encode(key).decode(),
               f"{start}key-md5": base64.b64encode(hashlib.md5(key).digest()).decode()}
    if algorithm:
        headers[f"{start}algorithm"] = algorithm
    status, _, text = signed(server, "PUT", f"/{bucket}/k", headers, b"x")
    assert status == 400 and f"<Code>{expected}</Code>" in text


# ---- new buckets


@pytest.fixture(scope="module", params=["--profile localstack", "--profile s3mock", "--aws-defaults --memory", "key"])
def as_aws(request, tmp_path_factory):
    arguments = request.param.split()
    if arguments == ["key"]:
        keys = make_keys(tmp_path_factory.mktemp("keys"))
        arguments = ["--aws-defaults", "--data-dir", str(tmp_path_factory.mktemp("data")), *keys]
    started = Server(*arguments)
    yield client(started.endpoint)
    started.stop()


def test_new_buckets_of_the_profiles_are_as_on_aws(as_aws):
    # test_s3_default_bucket_encryption, test_crud_public_access_block, test_bucket_ownership_controls, and 566 answers
    # that name AES256
    bucket = f"suite-{uuid.uuid4().hex[:16]}"
    as_aws.create_bucket(Bucket=bucket)
    assert as_aws.put_object(Bucket=bucket, Key="k", Body=b"x")["ServerSideEncryption"] == "AES256"
    got = as_aws.get_object(Bucket=bucket, Key="k")
    assert (got["ServerSideEncryption"], got["Body"].read()) == ("AES256", b"x")
    assert got["ETag"] == f'"{hashlib.md5(b"x").hexdigest()}"'
    assert as_aws.create_multipart_upload(Bucket=bucket, Key="m")["ServerSideEncryption"] == "AES256"
    assert as_aws.copy_object(Bucket=bucket, Key="c", CopySource=f"{bucket}/k")["ServerSideEncryption"] == "AES256"
    for _ in range(2):
        rules = as_aws.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"]
        default = {"SSEAlgorithm": "AES256"}
        assert rules == [{"ApplyServerSideEncryptionByDefault": default, "BucketKeyEnabled": False}]
        as_aws.delete_bucket_encryption(Bucket=bucket)
    block = as_aws.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
    assert len(block) == 4 and all(block.values())
    controls = as_aws.get_bucket_ownership_controls(Bucket=bucket)["OwnershipControls"]
    assert controls["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]
    as_aws.delete_public_access_block(Bucket=bucket)
    assert answer(as_aws.get_public_access_block, Bucket=bucket)[0] == 404


# ---- IAM and S3 Vectors


def other(server, service):
    return boto3.client(service, endpoint_url=server.endpoint, region_name="us-east-1", aws_access_key_id=ACCESS_KEY,
                        aws_secret_access_key=SECRET_KEY, config=Config(retries={"max_attempts": 1}))


@pytest.mark.parametrize("version, is_taken", [('"Version":"2012-10-17",', True), ('"Version":"2008-10-17",', False),
                                               ("", False)])
def test_managed_policies_are_of_2012(server, version, is_taken):
    # moto's list of AWS's refusals, test_iam_policies
    iam = other(server, "iam")
    document = f'{{{version}"Statement":{{"Effect":"Allow","Action":"s3:ListBucket","Resource":"arn:aws:s3:::b"}}}}'
    good = document.replace(version, '"Version":"2012-10-17",') if version else "{" + '"Version":"2012-10-17",' + document[1:]
    expected = (200, None) if is_taken else (400, "MalformedPolicyDocument")
    name = f"p-{uuid.uuid4().hex[:8]}"
    assert answer(iam.create_policy, PolicyName=name, PolicyDocument=document) == expected
    arn = iam.create_policy(PolicyName=name + "-2", PolicyDocument=good)["Policy"]["Arn"]
    assert answer(iam.create_policy_version, PolicyArn=arn, PolicyDocument=document) == expected


def test_a_vector_policy_may_name_another_bucket(server):
    # moto, run on AWS: test_put_vector_bucket_policy_by_name
    vectors, name = other(server, "s3vectors"), f"suite-{uuid.uuid4().hex[:12]}"
    vectors.create_vector_bucket(vectorBucketName=name)
    account = other(server, "sts").get_caller_identity()["Account"]
    policy = ('{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"%s"},"Action":'
              '["s3vectors:PutVectors"],"Resource":"arn:aws:s3vectors:aws-region:%s:bucket/amzn-s3-demo-vector-bucket"}]}')
    policy = policy % (account, account)
    vectors.put_vector_bucket_policy(vectorBucketName=name, policy=policy)
    assert vectors.get_vector_bucket_policy(vectorBucketName=name)["policy"] == policy
