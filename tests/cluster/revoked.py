"""revoked.py TIMES: one server answers that a key, or what it may do, is gone; the next request, to another server, has to be
refused. And the other way round: what was granted is granted everywhere at once.

LITEIO names the program. Needs boto3."""

import itertools
import json
import random
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from servers import ACCESS, SECRET, Cluster, with_cluster

BUCKET = "revoked"
POLICY = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]})
OF_BUCKET = json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Principal": "*", "Action": "s3:ListBucket", "Resource": f"arn:aws:s3:::{BUCKET}"}]})


def client(server, service, key=ACCESS, secret=SECRET):
    return boto3.client(service, endpoint_url=f"http://127.0.0.1:{server.port}", region_name="us-east-1",
                        aws_access_key_id=key, aws_secret_access_key=secret, config=Config(retries={"max_attempts": 1}))


def is_refused(s3):
    try:
        s3.list_objects_v2(Bucket=BUCKET)
    except ClientError as error:
        assert error.response["ResponseMetadata"]["HTTPStatusCode"] == 403, error
        return True
    return False


class Ways:
    """The ways to take a right, each with the way to give it again; arguments are clients of the server that does it."""

    def __init__(self, user, key):
        self.user, self.key = user, key

    def all(self):
        return [(self.key_off, self.key_on), (self.policy_off, self.policy_on), (self.bucket_off, self.bucket_on)]

    def key_off(self, iam, _s3):
        iam.update_access_key(UserName=self.user, AccessKeyId=self.key, Status="Inactive")

    def key_on(self, iam, _s3):
        iam.update_access_key(UserName=self.user, AccessKeyId=self.key, Status="Active")

    def policy_off(self, iam, _s3):
        iam.delete_user_policy(UserName=self.user, PolicyName="all")

    def policy_on(self, iam, _s3):
        iam.put_user_policy(UserName=self.user, PolicyName="all", PolicyDocument=POLICY)

    def bucket_off(self, _iam, s3):
        s3.put_bucket_policy(Bucket=BUCKET, Policy=OF_BUCKET.replace("Allow", "Deny"))

    def bucket_on(self, _iam, s3):
        s3.delete_bucket_policy(Bucket=BUCKET)


def run(cluster, times):
    iams = [client(server, "iam") for server in cluster.servers]
    roots = [client(server, "s3") for server in cluster.servers]
    roots[0].create_bucket(Bucket=BUCKET)
    iams[0].create_user(UserName="bob")
    key = iams[1].create_access_key(UserName="bob")["AccessKey"]
    ways = Ways("bob", key["AccessKeyId"])
    ways.policy_on(iams[2], None)
    bobs = [client(server, "s3", key["AccessKeyId"], key["SecretAccessKey"]) for server in cluster.servers]
    pairs = list(itertools.permutations(range(len(bobs)), 2))
    for number in range(times):
        here, there = random.choice(pairs)
        take, give = random.choice(ways.all())
        # It remembers that he may.
        assert not is_refused(bobs[there]), f"{number}: {give.__name__} has not come to server {there}"
        take(iams[here], roots[here])
        assert is_refused(bobs[there]), f"{number}: {take.__name__} at server {here} has not come to server {there}"
        give(iams[there], roots[there])
        assert not is_refused(bobs[here]), f"{number}: {give.__name__} at server {there} has not come to server {here}"
    # For good.
    iams[0].delete_access_key(UserName="bob", AccessKeyId=key["AccessKeyId"])
    assert all(is_refused(bob) for bob in bobs)
    print(f"{times} times a right was taken at one server, and refused by another one with the next request")


def main():
    cluster = Cluster()
    with_cluster(cluster, lambda: run(cluster, int(sys.argv[1])))


if __name__ == "__main__":
    main()
