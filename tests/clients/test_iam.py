"""IAM and STS as boto3 and the AWS CLI speak them, and what the keys may do."""

import json
import urllib.error
import urllib.request
import uuid

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from conftest import ACCESS_KEY, SECRET_KEY

READ_ONLY = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"


def client_of(server, service, key=ACCESS_KEY, secret=SECRET_KEY, token=None):
    # No test should wait for the second try of a request that is refused.
    return boto3.client(
        service, endpoint_url=server.endpoint, region_name="us-east-1", aws_access_key_id=key,
        aws_secret_access_key=secret, aws_session_token=token,
        config=Config(retries={"max_attempts": 1}))


def of_session(server, service, credentials):
    return client_of(server, service, credentials["AccessKeyId"],
                     credentials["SecretAccessKey"], credentials["SessionToken"])


def document(*actions, effect="Allow", resource="*"):
    return json.dumps({"Version": "2012-10-17", "Statement": [
        {"Effect": effect, "Action": list(actions), "Resource": resource}]})


def refused(code, call, **arguments):
    with pytest.raises(ClientError) as raised:
        call(**arguments)
    assert raised.value.response["Error"]["Code"] == code, raised.value


@pytest.fixture
def iam(server):
    return client_of(server, "iam")


@pytest.fixture
def sts(server):
    return client_of(server, "sts")


@pytest.fixture
def user(iam):
    name = f"user-{uuid.uuid4().hex[:12]}"
    iam.create_user(UserName=name, Path="/suite/", Tags=[{"Key": "team", "Value": "a b"}])
    return name


def keys(iam, user):
    key = iam.create_access_key(UserName=user)["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


def test_a_user_is_made_found_changed_and_deleted(iam, user):
    found = iam.get_user(UserName=user)["User"]
    assert found["Arn"].endswith(f":user/suite/{user}")
    assert found["UserId"].startswith("AIDA") and found["Path"] == "/suite/"
    assert found["Tags"] == [{"Key": "team", "Value": "a b"}]
    listed = [it["UserName"] for page in iam.get_paginator("list_users").paginate(
        PathPrefix="/suite/", PaginationConfig={"PageSize": 1}) for it in page["Users"]]
    assert user in listed and listed == sorted(listed)
    refused("EntityAlreadyExists", iam.create_user, UserName=user.upper())
    iam.update_user(UserName=user, NewUserName=f"{user}-2", NewPath="/")
    refused("NoSuchEntity", iam.get_user, UserName=user)
    iam.tag_user(UserName=f"{user}-2", Tags=[{"Key": "k", "Value": ""}])
    iam.untag_user(UserName=f"{user}-2", TagKeys=["team"])
    assert iam.list_user_tags(UserName=f"{user}-2")["Tags"] == [{"Key": "k", "Value": ""}]
    iam.delete_user(UserName=f"{user}-2")
    assert iam.get_user()["User"]["Arn"].endswith(":root")


def test_policies_decide_about_objects(server, iam, user, s3, bucket):
    s3.put_object(Bucket=bucket, Key="a", Body=b"1")
    mine = client_of(server, "s3", *keys(iam, user))
    refused("AccessDenied", mine.get_object, Bucket=bucket, Key="a")
    iam.attach_user_policy(UserName=user, PolicyArn=READ_ONLY)
    assert mine.get_object(Bucket=bucket, Key="a")["Body"].read() == b"1"
    assert [it["Key"] for it in mine.list_objects_v2(Bucket=bucket)["Contents"]] == ["a"]
    refused("AccessDenied", mine.put_object, Bucket=bucket, Key="b", Body=b"")
    iam.put_user_policy(UserName=user, PolicyName="deny", PolicyDocument=document(
        "s3:GetObject", effect="Deny", resource=f"arn:aws:s3:::{bucket}/*"))
    refused("AccessDenied", mine.get_object, Bucket=bucket, Key="a")
    assert iam.get_user_policy(UserName=user, PolicyName="deny")["PolicyDocument"][
        "Statement"][0]["Effect"] == "Deny"
    assert iam.list_user_policies(UserName=user)["PolicyNames"] == ["deny"]
    iam.delete_user_policy(UserName=user, PolicyName="deny")
    mine.get_object(Bucket=bucket, Key="a")
    url = mine.generate_presigned_url("get_object", {"Bucket": bucket, "Key": "a"})
    attached = iam.list_attached_user_policies(UserName=user)["AttachedPolicies"]
    assert attached == [{"PolicyName": "AmazonS3ReadOnlyAccess", "PolicyArn": READ_ONLY}]
    assert urllib.request.urlopen(url).read() == b"1"
    iam.detach_user_policy(UserName=user, PolicyArn=READ_ONLY)
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(url)
    refused("DeleteConflict", iam.delete_user, UserName=user)


def test_groups_and_managed_policies(server, iam, user, bucket):
    name = f"p-{uuid.uuid4().hex[:12]}"
    policy = iam.create_policy(PolicyName=name, Path="/suite/", PolicyDocument=document("s3:ListBucket"),
                               Description="lists", Tags=[{"Key": "k", "Value": "v"}])["Policy"]
    arn = policy["Arn"]
    assert policy["DefaultVersionId"] == "v1" and arn.endswith(f":policy/suite/{name}")
    iam.create_group(GroupName=name)
    iam.add_user_to_group(GroupName=name, UserName=user)
    iam.attach_group_policy(GroupName=name, PolicyArn=arn)
    assert [it["UserName"] for it in iam.get_group(GroupName=name)["Users"]] == [user]
    assert [it["GroupName"] for it in iam.list_groups_for_user(UserName=user)["Groups"]] == [name]
    mine = client_of(server, "s3", *keys(iam, user))
    mine.list_objects_v2(Bucket=bucket)
    iam.create_policy_version(PolicyArn=arn, PolicyDocument=document("s3:GetObject"), SetAsDefault=True)
    refused("AccessDenied", mine.list_objects_v2, Bucket=bucket)
    versions = iam.list_policy_versions(PolicyArn=arn)["Versions"]
    assert [it["VersionId"] for it in versions] == ["v2", "v1"]
    iam.set_default_policy_version(PolicyArn=arn, VersionId="v1")
    mine.list_objects_v2(Bucket=bucket)
    entities = iam.list_entities_for_policy(PolicyArn=arn)
    assert [it["GroupName"] for it in entities["PolicyGroups"]] == [name]
    assert iam.get_policy(PolicyArn=arn)["Policy"]["AttachmentCount"] == 1
    version = iam.get_policy_version(PolicyArn=arn, VersionId="v1")["PolicyVersion"]
    assert version["Document"]["Statement"][0]["Action"] == ["s3:ListBucket"]
    refused("DeleteConflict", iam.delete_policy, PolicyArn=arn)
    iam.detach_group_policy(GroupName=name, PolicyArn=arn)
    iam.delete_policy_version(PolicyArn=arn, VersionId="v2")
    iam.delete_policy(PolicyArn=arn)
    refused("DeleteConflict", iam.delete_group, GroupName=name)
    iam.remove_user_from_group(GroupName=name, UserName=user)
    iam.delete_group(GroupName=name)
    local = iam.list_policies(Scope="AWS")["Policies"]
    assert "AdministratorAccess" in [it["PolicyName"] for it in local]


def test_a_role_is_assumed_for_a_time(server, iam, sts, user, s3, bucket):
    account = sts.get_caller_identity()["Account"]
    name = f"r-{uuid.uuid4().hex[:12]}"
    trust = json.dumps({"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Action": "sts:AssumeRole",
        "Principal": {"AWS": f"arn:aws:iam::{account}:user/suite/{user}"}}]})
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust, Description="a role")["Role"]
    assert role["AssumeRolePolicyDocument"] == json.loads(trust)
    iam.put_role_policy(RoleName=name, PolicyName="all", PolicyDocument=document("s3:*"))
    my_sts = client_of(server, "sts", *keys(iam, user))
    begin = {"RoleArn": role["Arn"], "RoleSessionName": "suite"}
    refused("AccessDenied", sts.assume_role, **begin)
    answer = my_sts.assume_role(**begin)
    assert answer["AssumedRoleUser"]["Arn"].endswith(f":assumed-role/{name}/suite")
    session = of_session(server, "s3", answer["Credentials"])
    session.put_object(Bucket=bucket, Key="a", Body=b"1")
    narrow = my_sts.assume_role(**begin, Policy=document("s3:GetObject"), PolicyArns=[{"arn": READ_ONLY}])
    narrow = of_session(server, "s3", narrow["Credentials"])
    assert narrow.get_object(Bucket=bucket, Key="a")["Body"].read() == b"1"
    refused("AccessDenied", narrow.put_object, Bucket=bucket, Key="b", Body=b"")
    url = session.generate_presigned_url("get_object", {"Bucket": bucket, "Key": "a"})
    assert urllib.request.urlopen(url).read() == b"1"
    assert iam.list_role_policies(RoleName=name)["PolicyNames"] == ["all"]
    refused("DeleteConflict", iam.delete_role, RoleName=name)
    iam.delete_role_policy(RoleName=name, PolicyName="all")
    refused("AccessDenied", session.get_object, Bucket=bucket, Key="a")
    iam.delete_role(RoleName=name)
    refused("InvalidToken", session.get_object, Bucket=bucket, Key="a")


def test_a_session_of_the_root_user(server, sts, s3, bucket):
    credentials = sts.get_session_token(DurationSeconds=900)["Credentials"]
    session = of_session(server, "s3", credentials)
    session.put_object(Bucket=bucket, Key="a", Body=b"1" * 9_000_000)
    assert session.head_object(Bucket=bucket, Key="a")["ContentLength"] == 9_000_000
    form = session.generate_presigned_post(bucket, "b")
    assert form["fields"]["x-amz-security-token"] == credentials["SessionToken"]
    broken = dict(credentials, SessionToken=credentials["SessionToken"][:-4])
    refused("InvalidToken", of_session(server, "s3", broken).list_buckets)


def test_the_cli_manages_users(aws):
    name = f"cli-{uuid.uuid4().hex[:12]}"
    assert f'"{name}"' in aws("iam", "create-user", "--user-name", name, "--output", "json")
    key = json.loads(aws("iam", "create-access-key", "--user-name", name, "--output", "json"))["AccessKey"]
    aws("iam", "attach-user-policy", "--user-name", name, "--policy-arn", READ_ONLY)
    assert key["AccessKeyId"] in aws("iam", "list-access-keys", "--user-name", name)
    aws("iam", "update-access-key", "--user-name", name, "--access-key-id", key["AccessKeyId"],
        "--status", "Inactive")
    aws("iam", "delete-access-key", "--user-name", name, "--access-key-id", key["AccessKeyId"])
    aws("iam", "detach-user-policy", "--user-name", name, "--policy-arn", READ_ONLY)
    aws("iam", "delete-user", "--user-name", name)
    assert ":root" in aws("sts", "get-caller-identity")
