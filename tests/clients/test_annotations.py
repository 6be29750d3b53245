"""Annotations of objects, by boto3's model: put, get, list, delete, copies, versions, errors, checksums."""

import os
import subprocess
import threading
import uuid

import pytest
from botocore.exceptions import ClientError

from conftest import ACCESS_KEY, SECRET_KEY, Server, client


@pytest.fixture
def here(s3, bucket):
    s3.put_object(Bucket=bucket, Key="a/b", Body=b"body")
    return {"Bucket": bucket, "Key": "a/b"}


def refused(call, **arguments):
    with pytest.raises(ClientError) as error:
        call(**arguments)
    response = error.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def names(s3, **of):
    return [it["AnnotationName"] for it in s3.list_object_annotations(**of).get("Annotations", [])]


def test_annotations_live_and_die_beside_their_object(s3, here):
    before = s3.head_object(**here)
    put = s3.put_object_annotation(**here, AnnotationName="ml.sentiment", AnnotationPayload="größer".encode())
    assert (put["Key"], put["AnnotationName"]) == ("a/b", "ml.sentiment")
    got = s3.get_object_annotation(**here, AnnotationName="ml.sentiment", ChecksumMode="ENABLED")
    assert got["AnnotationPayload"].read() == "größer".encode()
    assert (got["ETag"], got["ContentLength"]) == (put["ETag"], 8)
    assert any(name.startswith("Checksum") for name in got)
    after = s3.head_object(**here)
    assert (after["ETag"], after["LastModified"]) == (before["ETag"], before["LastModified"])
    for name in ("a", "b", "c"):
        s3.put_object_annotation(**here, AnnotationName=name, AnnotationPayload=name.encode())
    pages, token = [], {}
    while True:
        page = s3.list_object_annotations(**here, MaxAnnotationResults=3, **token)
        assert page["AnnotationCount"] == len(page["Annotations"])
        pages.append([(it["AnnotationName"], it["Size"]) for it in page["Annotations"]])
        if "NextContinuationToken" not in page:
            break
        token = {"ContinuationToken": page["NextContinuationToken"]}
    assert pages == [[("a", 1), ("b", 1), ("c", 1)], [("ml.sentiment", 8)]]
    assert names(s3, **here, AnnotationPrefix="ml") == ["ml.sentiment"]
    for _ in range(2):
        s3.delete_object_annotation(**here, AnnotationName="a")
    assert names(s3, **here) == ["b", "c", "ml.sentiment"]
    assert refused(s3.get_object_annotation, **here, AnnotationName="a") == ("NoSuchAnnotation", 404)
    s3.put_object(**here, Body=b"another")
    assert names(s3, **here) == []


def test_limits_and_conditions_are_the_models(s3, here):
    put = {**here, "AnnotationPayload": b"x"}
    for name, code in (("", "InvalidAnnotationName"), ("aws.x", "InvalidAnnotationName"), ("a b", "InvalidAnnotationName"),
                       ("x" * 513, "AnnotationNameTooLong")):
        assert refused(s3.put_object_annotation, **put, AnnotationName=name) == (code, 400), name
    payload = {**here, "AnnotationName": "n"}
    assert refused(s3.put_object_annotation, **payload, AnnotationPayload=b"\xff") == ("UnsupportedMediaType", 415)
    assert refused(s3.put_object_annotation, **payload, AnnotationPayload=b"") == ("InvalidRequest", 400)
    s3.put_object_annotation(**payload, AnnotationPayload=b"x" * (1 << 20))
    assert refused(s3.put_object_annotation, **payload, AnnotationPayload=b"x" * ((1 << 20) + 1))[1] == 400
    assert refused(s3.put_object_annotation, **payload, AnnotationPayload=b"y",
                   ObjectIfMatch='"0"') == ("PreconditionFailed", 412)
    tag = s3.head_object(**here)["ETag"]
    s3.put_object_annotation(**payload, AnnotationPayload=b"y", ObjectIfMatch=tag)
    assert refused(s3.delete_object_annotation, **payload, ObjectIfMatch='"0"') == ("PreconditionFailed", 412)
    missing = {"Bucket": here["Bucket"], "Key": "none", "AnnotationName": "n"}
    for call, more in ((s3.put_object_annotation, {"AnnotationPayload": b"x"}), (s3.get_object_annotation, {}),
                       (s3.delete_object_annotation, {})):
        assert refused(call, **missing, **more) == ("NoSuchKey", 404)
    assert refused(s3.list_object_annotations, Bucket=here["Bucket"], Key="none") == ("NoSuchKey", 404)


def test_a_checksum_of_the_client_is_verified_and_kept(s3, here):
    put = s3.put_object_annotation(**here, AnnotationName="n", AnnotationPayload=b"text", ChecksumAlgorithm="SHA256")
    got = s3.get_object_annotation(**here, AnnotationName="n", ChecksumMode="ENABLED")
    assert got["ChecksumSHA256"] == put["ChecksumSHA256"] and got["ChecksumType"] == "FULL_OBJECT"
    assert got["AnnotationPayload"].read() == b"text"
    assert s3.list_object_annotations(**here)["Annotations"][0]["ChecksumAlgorithm"] == ["SHA256"]
    assert refused(s3.put_object_annotation, **here, AnnotationName="n", AnnotationPayload=b"other",
                   ChecksumSHA256="A" * 43 + "=") == ("BadDigest", 400)
    assert s3.get_object_annotation(**here, AnnotationName="n")["AnnotationPayload"].read() == b"text"


def test_versions_and_copies_have_their_own(s3, here):
    s3.put_bucket_versioning(Bucket=here["Bucket"], VersioningConfiguration={"Status": "Enabled"})
    first = s3.put_object(**here, Body=b"1")["VersionId"]
    put = s3.put_object_annotation(**here, AnnotationName="n", AnnotationPayload=b"of the first")
    assert put["ObjectVersionId"] == first
    second = s3.put_object(**here, Body=b"2")["VersionId"]
    assert names(s3, **here) == [] and names(s3, **here, VersionId=first) == ["n"]
    s3.put_object_annotation(**here, VersionId=second, AnnotationName="m", AnnotationPayload=b"of the second")
    s3.delete_object(**here)
    assert refused(s3.list_object_annotations, **here)[1] in (404, 405)
    assert names(s3, **here, VersionId=second) == ["m"]
    source = {**here, "VersionId": first}
    for directive, expected in (({}, ["n"]), ({"AnnotationDirective": "COPY"}, ["n"]),
                                ({"AnnotationDirective": "EXCLUDE"}, [])):
        s3.copy_object(Bucket=here["Bucket"], Key="copy", CopySource=source, **directive)
        assert names(s3, Bucket=here["Bucket"], Key="copy") == expected
    assert refused(s3.copy_object, Bucket=here["Bucket"], Key="copy", CopySource=source,
                   AnnotationDirective="MOVE") == ("InvalidArgument", 400)


def test_encrypted_objects_have_encrypted_annotations_and_keys_of_clients_none(s3, bucket):
    for key, method in (("master", {"ServerSideEncryption": "AES256"}),
                        ("named", {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "reports"})):
        here = {"Bucket": bucket, "Key": key}
        s3.put_object(**here, Body=b"body", **method)
        put = s3.put_object_annotation(**here, AnnotationName="n", AnnotationPayload=b"text")
        assert put["ServerSideEncryption"] == method["ServerSideEncryption"]
        got = s3.get_object_annotation(**here, AnnotationName="n")
        assert (got["AnnotationPayload"].read(), got["ETag"]) == (b"text", put["ETag"])
    own = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": "k" * 32}
    s3.put_object(Bucket=bucket, Key="client", Body=b"body", **own)
    assert refused(s3.put_object_annotation, Bucket=bucket, Key="client", AnnotationName="n",
                   AnnotationPayload=b"x") == ("InvalidRequest", 400)


def test_locked_annotations_stay(s3):
    name = f"suite-{uuid.uuid4().hex[:16]}"
    s3.create_bucket(Bucket=name, ObjectLockEnabledForBucket=True)
    here = {"Bucket": name, "Key": "k"}
    s3.put_object(**here, Body=b"x", ObjectLockLegalHoldStatus="ON")
    s3.put_object_annotation(**here, AnnotationName="n", AnnotationPayload=b"kept")
    assert refused(s3.delete_object_annotation, **here, AnnotationName="n") == ("AccessDenied", 403)
    assert refused(s3.put_object_annotation, **here, AnnotationName="n", AnnotationPayload=b"y") == ("AccessDenied", 403)
    s3.put_object_legal_hold(**here, LegalHold={"Status": "OFF"})
    s3.delete_object_annotation(**here, AnnotationName="n")


def test_annotations_their_changes_and_deletions_are_replicated(tmp_path):
    if Server.TLS:
        pytest.skip("the source knows no certificate")
    target = Server("--memory")
    there = client(target.endpoint)
    targets = tmp_path / "targets.toml"
    targets.write_text(f"""
[[target]]
arn = "arn:aws:s3:::copies"
url = "{target.endpoint}"
bucket = "copies"
access_key = "{ACCESS_KEY}"
secret_key = "{SECRET_KEY}"
""")
    source = Server("--memory", "--replication-file", str(targets))
    here = client(source.endpoint)
    for of, name in ((here, "originals"), (there, "copies")):
        of.create_bucket(Bucket=name)
        of.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    here.put_bucket_replication(Bucket="originals", ReplicationConfiguration={"Role": "arn:aws:iam::000000000000:role/r", "Rules": [
        {"ID": "all", "Priority": 1, "Status": "Enabled", "Filter": {"Prefix": ""},
         "DeleteMarkerReplication": {"Status": "Disabled"}, "Destination": {"Bucket": "arn:aws:s3:::copies"}}]})

    def arrived(expected):
        found = None
        for _ in range(600):
            try:
                found = {name: there.get_object_annotation(Bucket="copies", Key="k", AnnotationName=name)
                         ["AnnotationPayload"].read() for name in names(there, Bucket="copies", Key="k")}
            except ClientError as error:
                found = error
            if found == expected:
                return
            threading.Event().wait(0.1)
        raise AssertionError(f"{found} instead of {expected}")

    of = {"Bucket": "originals", "Key": "k"}
    version = here.put_object(**of, Body=b"x")["VersionId"]
    here.put_object_annotation(**of, AnnotationName="a", AnnotationPayload=b"1")
    here.put_object_annotation(**of, AnnotationName="b", AnnotationPayload=b"2")
    arrived({"a": b"1", "b": b"2"})
    assert there.head_object(Bucket="copies", Key="k")["VersionId"] == version
    here.put_object_annotation(**of, AnnotationName="a", AnnotationPayload=b"changed")
    here.delete_object_annotation(**of, AnnotationName="b")
    here.put_object_annotation(**of, AnnotationName="c", AnnotationPayload=b"3")
    arrived({"a": b"changed", "c": b"3"})
    assert names(here, **of) == ["a", "c"]
    source.stop()
    target.stop()


def test_copies_by_liteio_client_within_a_server_keep_annotations(s3, here, tmp_path):
    if Server.TLS:
        pytest.skip("the client of this test knows no certificate")
    s3.put_object_annotation(**here, AnnotationName="n", AnnotationPayload=b"1")
    host = s3.meta.endpoint_url.replace("http://", f"http://{ACCESS_KEY}:{SECRET_KEY}@")
    environment = {**os.environ, "MC_HOST_x": host, "MC_CONFIG_DIR": str(tmp_path)}
    bucket = here["Bucket"]
    for verb, source, target, copy in (
            ("cp", "a/b", "c/b", "c/b"), ("mirror", "a/", "d/", "d/b"), ("mv", "c/b", "e/b", "e/b")):
        subprocess.run([os.environ["LITEIO"], "client", verb, f"x/{bucket}/{source}", f"x/{bucket}/{target}"],
                       env=environment, check=True, stdout=subprocess.DEVNULL)
        assert names(s3, Bucket=bucket, Key=copy) == ["n"], verb
