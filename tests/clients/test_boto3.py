"""What users do with boto3, in the ways that its defaults exercise: checksums, paging, transfers."""

import base64
import hashlib
import io
import os
import threading
import urllib.error
import urllib.request

import pytest
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from conftest import client

MIB = 1 << 20


def code(refused):
    return refused.value.response["Error"]["Code"]


def status(refused):
    return refused.value.response["ResponseMetadata"]["HTTPStatusCode"]


@pytest.mark.parametrize("key", ["a", "a//b", "../x", "a b+c%20", "ключ/日本", "s" * 300, "t/" * 300,
                                 "=@(),;&$!*'", "trailing/"])
def test_keys_are_kept_verbatim(s3, bucket, key):
    s3.put_object(Bucket=bucket, Key=key, Body=b"body of " + key.encode())
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == b"body of " + key.encode()
    assert [o["Key"] for o in s3.list_objects_v2(Bucket=bucket)["Contents"]] == [key]


@pytest.mark.parametrize("length", [0, 1, 16383, 16384, 16385, 262144, 3 * MIB + 1])
def test_bodies_of_every_size(s3, bucket, length):
    data = os.urandom(length)
    put = s3.put_object(Bucket=bucket, Key="k", Body=data)
    assert put["ETag"] == f'"{hashlib.md5(data).hexdigest()}"'
    got = s3.get_object(Bucket=bucket, Key="k")
    assert got["ContentLength"] == length and got["Body"].read() == data


def test_an_empty_object_does_not_stall_the_next_request(server, bucket):
    # botocore waits for 100 Continue also before an empty body, and mixes up the answers of a connection that goes on.
    s3 = client(server.endpoint, read_timeout=5)
    for key, body in (("1", b""), ("2", b"abc"), ("3", b""), ("4", b"")):
        s3.put_object(Bucket=bucket, Key=key, Body=body)
    assert s3.get_object(Bucket=bucket, Key="2")["Body"].read() == b"abc"


def test_metadata_and_headers_come_back(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", ContentType="text/plain",
                  CacheControl="max-age=1", ContentDisposition="attachment", ContentLanguage="de",
                  ContentEncoding="gzip", Metadata={"Colour": "blue"}, Tagging="a=1&b=2")
    head = s3.head_object(Bucket=bucket, Key="k")
    assert head["ContentType"] == "text/plain" and head["CacheControl"] == "max-age=1"
    assert head["ContentDisposition"] == "attachment" and head["ContentLanguage"] == "de"
    assert head["ContentEncoding"] == "gzip" and head["Metadata"] == {"colour": "blue"}
    assert s3.get_object(Bucket=bucket, Key="k")["TagCount"] == 2
    changed = s3.get_object(Bucket=bucket, Key="k", ResponseContentType="image/png",
                            ResponseCacheControl="no-store")
    assert changed["ContentType"] == "image/png" and changed["CacheControl"] == "no-store"


def test_transfer_manager_uploads_in_parts_and_downloads_in_ranges(s3, bucket):
    data = os.urandom(33 * MIB)
    config = TransferConfig(multipart_threshold=8 * MIB, multipart_chunksize=8 * MIB)
    s3.upload_fileobj(io.BytesIO(data), bucket, "large", Config=config)
    out = io.BytesIO()
    s3.download_fileobj(bucket, "large", out, Config=config)
    assert out.getvalue() == data
    s3.copy({"Bucket": bucket, "Key": "large"}, bucket, "copied", Config=config)
    assert s3.get_object(Bucket=bucket, Key="copied")["Body"].read() == data
    part = s3.get_object(Bucket=bucket, Key="large", PartNumber=2)
    assert part["PartsCount"] == 5 and part["Body"].read() == data[8 * MIB:16 * MIB]


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256", "SHA512",
                                       "XXHASH64", "XXHASH3", "XXHASH128"])
def test_checksums_are_verified_and_returned(s3, bucket, algorithm):
    if algorithm in ("CRC32C", "CRC64NVME") or algorithm.startswith("XXHASH"):
        pytest.importorskip("awscrt")
    put = s3.put_object(Bucket=bucket, Key="k", Body=io.BytesIO(b"checked"),
                        ChecksumAlgorithm=algorithm)
    head = s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert head[f"Checksum{algorithm}"] == put[f"Checksum{algorithm}"]
    with pytest.raises(ClientError) as refused:
        s3.put_object(Bucket=bucket, Key="bad", Body=b"checked", ContentMD5="1B2M2Y8AsgTpgAmY7PhCfg==")
    assert code(refused) == "BadDigest"
    with pytest.raises(ClientError) as refused:
        s3.head_object(Bucket=bucket, Key="bad")
    assert status(refused) == 404


@pytest.mark.parametrize("algorithm", ["SHA512", "XXHASH64", "XXHASH3", "XXHASH128"])
def test_parts_with_the_checksums_of_2026(s3, bucket, algorithm):
    if algorithm.startswith("XXHASH"):
        pytest.importorskip("awscrt")
    name = f"Checksum{algorithm}"
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k", ChecksumAlgorithm=algorithm)
    assert (upload["ChecksumAlgorithm"], upload["ChecksumType"]) == (algorithm, "COMPOSITE")
    parts = []
    for number, body in ((1, bytes(5 * MIB)), (2, b"end")):
        part = s3.upload_part(Bucket=bucket, Key="k", UploadId=upload["UploadId"],
                              PartNumber=number, Body=body, ChecksumAlgorithm=algorithm)
        parts.append({"PartNumber": number, "ETag": part["ETag"], name: part[name]})
    done = s3.complete_multipart_upload(Bucket=bucket, Key="k", UploadId=upload["UploadId"],
                                        MultipartUpload={"Parts": parts})
    assert done[name].endswith("-2")
    got = s3.get_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert got[name] == done[name] and got["Body"].read() == bytes(5 * MIB) + b"end"
    about = s3.get_object_attributes(Bucket=bucket, Key="k",
                                     ObjectAttributes=["Checksum", "ObjectParts"])
    # Only here without the number of parts.
    assert about["Checksum"][name] == done[name].removesuffix("-2")
    assert [part[name] for part in about["ObjectParts"]["Parts"]] == [part[name] for part in parts]


def test_md5_as_a_checksum_is_sent_as_it_is(s3, bucket):
    digest = base64.b64encode(hashlib.md5(b"checked").digest()).decode()
    put = s3.put_object(Bucket=bucket, Key="k", Body=b"checked", ChecksumMD5=digest)
    assert put["ChecksumMD5"] == digest
    assert s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")["ChecksumMD5"] == digest
    with pytest.raises(ClientError) as refused:
        s3.put_object(Bucket=bucket, Key="k", Body=b"other", ChecksumMD5=digest)
    assert code(refused) == "BadDigest"


def test_paging_meets_every_key_once(s3, bucket):
    keys = sorted(f"{letter}/{number:03}" for letter in "abc" for number in range(25))
    for key in keys:
        s3.put_object(Bucket=bucket, Key=key, Body=b"")
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, PaginationConfig={"PageSize": 7})
    assert [o["Key"] for page in pages for o in page["Contents"]] == keys
    prefixes = s3.list_objects_v2(Bucket=bucket, Delimiter="/", MaxKeys=2)
    assert [p["Prefix"] for p in prefixes["CommonPrefixes"]] == ["a/", "b/"] and prefixes["IsTruncated"]
    pages = s3.get_paginator("list_objects").paginate(Bucket=bucket, PaginationConfig={"PageSize": 9})
    assert [o["Key"] for page in pages for o in page["Contents"]] == keys
    versions = s3.get_paginator("list_object_versions").paginate(
        Bucket=bucket, PaginationConfig={"PageSize": 10})
    assert [v["Key"] for page in versions for v in page["Versions"]] == keys


def test_delete_objects_in_one_request(s3, bucket):
    for number in range(20):
        s3.put_object(Bucket=bucket, Key=str(number), Body=b"x")
    answer = s3.delete_objects(Bucket=bucket, Delete={
        "Objects": [{"Key": str(number)} for number in range(25)]})
    assert len(answer["Deleted"]) == 25 and "Errors" not in answer
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_conditional_writes_have_one_winner(server, s3, bucket):
    winners, losers = [], []

    def race(number):
        try:
            client(server.endpoint).put_object(
                Bucket=bucket, Key="lock", Body=str(number).encode(), IfNoneMatch="*")
            winners.append(number)
        except ClientError as refused:
            losers.append(refused.response["ResponseMetadata"]["HTTPStatusCode"])

    threads = [threading.Thread(target=race, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(winners) == 1 and set(losers) <= {409, 412}
    assert s3.get_object(Bucket=bucket, Key="lock")["Body"].read() == str(winners[0]).encode()


def test_rename_and_append(s3, bucket):
    s3.put_object(Bucket=bucket, Key="a b", Body=b"one", Metadata={"color": "blue"})
    s3.rename_object(Bucket=bucket, Key="log", RenameSource="a%20b", ClientToken="token-1",
                     DestinationIfNoneMatch="*")
    with pytest.raises(ClientError) as refused:
        s3.rename_object(Bucket=bucket, Key="log", RenameSource="none")
    assert code(refused) == "NoSuchKey"
    appended = s3.put_object(Bucket=bucket, Key="log", Body=b"two", WriteOffsetBytes=3)
    assert appended["Size"] == 6
    with pytest.raises(ClientError) as refused:
        s3.put_object(Bucket=bucket, Key="log", Body=b"x", WriteOffsetBytes=3)
    assert code(refused) == "InvalidWriteOffset"
    got = s3.get_object(Bucket=bucket, Key="log", ChecksumMode="ENABLED")
    assert got["Body"].read() == b"onetwo" and got["Metadata"] == {"color": "blue"}
    keys = [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    assert keys == ["log"]


def test_deletes_compare_size_and_time(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"seven b")
    modified = s3.head_object(Bucket=bucket, Key="k")["LastModified"]
    for condition in ({"IfMatchSize": 8}, {"IfMatchLastModifiedTime": 0}):
        with pytest.raises(ClientError) as refused:
            s3.delete_object(Bucket=bucket, Key="k", **condition)
        assert status(refused) == 412
    for condition in ({"Size": 8}, {"LastModifiedTime": 0}):
        answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "k", **condition}]})
        assert [error["Code"] for error in answer["Errors"]] == ["PreconditionFailed"]
    entry = {"Key": "k", "Size": 7, "LastModifiedTime": modified}
    answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": [entry]})
    assert "Errors" not in answer and answer["Deleted"][0]["Key"] == "k"


def test_a_new_bucket_has_no_abac_and_no_metadata_tables(s3, bucket):
    assert s3.get_bucket_abac(Bucket=bucket)["AbacStatus"] == {"Status": "Disabled"}
    s3.put_bucket_abac(Bucket=bucket, AbacStatus={"Status": "Disabled"})
    with pytest.raises(ClientError) as refused:
        s3.put_bucket_abac(Bucket=bucket, AbacStatus={"Status": "Enabled"})
    assert code(refused) == "NotImplemented"
    for get in (s3.get_bucket_metadata_configuration, s3.get_bucket_metadata_table_configuration):
        with pytest.raises(ClientError) as refused:
            get(Bucket=bucket)
        assert (code(refused), status(refused)) == ("MetadataConfigurationNotFound", 404)
    s3.delete_bucket_metadata_configuration(Bucket=bucket)
    s3.delete_bucket_metadata_table_configuration(Bucket=bucket)


@pytest.mark.parametrize("version", [None, "s3v4"])
def test_presigned_requests_and_posts(server, bucket, version):
    s3 = client(server.endpoint, signature_version=version)  # None: what boto3 takes by itself.
    sent_type = {"ContentType": "text/plain"}
    url = s3.generate_presigned_url("put_object", {"Bucket": bucket, "Key": "p", **sent_type})
    request = urllib.request.Request(
        url, data=b"presigned", method="PUT", headers={"Content-Type": "text/plain"})
    assert urllib.request.urlopen(request).status == 200
    url = s3.generate_presigned_url("get_object", {"Bucket": bucket, "Key": "p"})
    assert urllib.request.urlopen(url).read() == b"presigned"
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url.replace("/p?", "/q?"))
    assert refused.value.code == 403
    post = s3.generate_presigned_post(bucket, "form/${filename}", Conditions=[
        ["content-length-range", 1, 100]])
    boundary = "----client-suite"
    body = b""
    for name, value in post["fields"].items():
        body += (f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
                 f"{value}\r\n").encode()
    body += (f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="f.txt"\r\n'
             f"Content-Type: text/plain\r\n\r\nfrom a form\r\n--{boundary}--\r\n").encode()
    request = urllib.request.Request(post["url"], data=body, headers={
        "Content-Type": f"multipart/form-data; boundary={boundary}"})
    assert urllib.request.urlopen(request).status == 204
    assert s3.get_object(Bucket=bucket, Key="form/f.txt")["Body"].read() == b"from a form"


def test_virtual_host_addressing(server, bucket):
    virtual = client(server.endpoint.replace("127.0.0.1", "s3.localhost"), s3={"addressing_style": "virtual"})
    try:
        virtual.put_object(Bucket=bucket, Key="v", Body=b"by host name")
    except Exception as failure:
        if "connect to the endpoint" in str(failure) or "resolve" in str(failure).lower():
            pytest.skip("this machine does not resolve *.localhost")
        raise
    assert virtual.get_object(Bucket=bucket, Key="v")["Body"].read() == b"by host name"


def test_wrong_credentials_are_refused(server, bucket):
    import boto3
    wrong = boto3.client("s3", endpoint_url=server.endpoint, region_name="us-east-1",
                         aws_access_key_id="client-suite", aws_secret_access_key="not the secret")
    with pytest.raises(ClientError) as refused:
        wrong.list_objects_v2(Bucket=bucket)
    assert code(refused) == "SignatureDoesNotMatch" and status(refused) == 403
