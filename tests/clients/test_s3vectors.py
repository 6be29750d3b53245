"""S3 Vectors through boto3: every operation, its limits, its errors, and what survives a restart."""

import json
import random
import signal
import threading
import uuid

import boto3
import pytest
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from conftest import ACCESS_KEY, KILLS, SECRET_KEY, Server

ACCOUNT = "000000000000"


def vectors_client(endpoint, **overrides):
    keys = {"aws_access_key_id": ACCESS_KEY, "aws_secret_access_key": SECRET_KEY, **overrides}
    return boto3.client(
        "s3vectors", endpoint_url=endpoint, region_name="us-east-1",
        config=Config(retries={"max_attempts": 1}, parameter_validation=False), **keys)


@pytest.fixture
def client(server):
    return vectors_client(server.endpoint)


@pytest.fixture
def bucket(client):
    name = f"suite-{uuid.uuid4().hex[:16]}"
    client.create_vector_bucket(vectorBucketName=name)
    return name


def make_index(client, bucket, dimension=3, metric="euclidean", name="films", **more):
    made = client.create_index(vectorBucketName=bucket, indexName=name, dataType="float32",
                               dimension=dimension, distanceMetric=metric, **more)
    return made["indexArn"]


def vector(key, data, metadata=None):
    made = {"key": key, "data": {"float32": data}}
    return made if metadata is None else {**made, "metadata": metadata}


def policy_of(arn):
    """A policy that allows everything to another account."""
    return json.dumps({"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Principal": {"AWS": "111122223333"}, "Action": "s3vectors:*",
        "Resource": [arn, f"{arn}/*"]}]})


def keys_of(answer):
    return [found["key"] for found in answer["vectors"]]


def refused(call, code, part="", **arguments):
    """The call fails with this exception of the model, and says what is wrong."""
    with pytest.raises(ClientError) as failure:
        call(**arguments)
    error = failure.value.response["Error"]
    assert error["Code"] == code, error
    assert part in error["Message"], error
    model = {"ValidationException": 400, "AccessDeniedException": 403, "NotFoundException": 404,
             "ConflictException": 409}
    assert failure.value.response["ResponseMetadata"]["HTTPStatusCode"] == model[code]
    return failure.value.response


def test_every_operation_of_the_model_is_answered(client, bucket):
    operations = client.meta.service_model.operation_names
    assert len(operations) >= 22
    arn = make_index(client, bucket)
    bucket_arn = client.get_vector_bucket(vectorBucketName=bucket)["vectorBucket"]["vectorBucketArn"]
    names = {"vectorBucketName": bucket, "indexName": "films"}
    only = {"vectorBucketName": bucket}
    client.put_vectors(**names, vectors=[vector("a", [1, 2, 3])])
    arguments = {
        "CreateIndex": {**only, "indexName": "other", "dataType": "float32", "dimension": 1,
                        "distanceMetric": "cosine"},
        "CreateVectorBucket": {"vectorBucketName": bucket + "-2"},
        "DeleteIndex": {**only, "indexName": "other"},
        "DeleteVectorBucket": {"vectorBucketName": bucket + "-2"},
        "DeleteVectorBucketPolicy": only,
        "DeleteVectors": {**names, "keys": ["b"]},
        "GetIndex": names,
        "GetVectorBucket": {"vectorBucketArn": bucket_arn},
        "GetVectorBucketPolicy": only,
        "GetVectors": {"indexArn": arn, "keys": ["a"]},
        "ListIndexes": only,
        "ListTagsForResource": {"resourceArn": arn},
        "ListVectorBuckets": {},
        "ListVectors": names,
        "PutVectorBucketDefaultIndexMode": {**only, "defaultIndexMode": "ENHANCED"},
        "PutVectorBucketPolicy": {**only, "policy": policy_of(bucket_arn)},
        "PutVectors": {"indexArn": arn, "vectors": [vector("b", [1, 2, 3])]},
        "QueryVectors": {"indexArn": arn, "topK": 1, "queryVector": {"float32": [1, 2, 3]}},
        "TagResource": {"resourceArn": bucket_arn, "tags": {"a": "b"}},
        "UntagResource": {"resourceArn": bucket_arn, "tagKeys": ["a"]},
        "UpdateIndexMode": {**names, "indexMode": "ENHANCED"},
        "UpdateMetadataConfiguration": {
            **names, "add": {"textSearchConfigurations": [{"metadataKey": "text"}]}},
    }
    order = sorted(operations, key=lambda name: (name.startswith("Delete"), not name.startswith("Put")))
    for operation in order:
        answer = getattr(client, xform_name(operation))(**arguments[operation])
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200, operation
        required = client.meta.service_model.operation_model(operation).output_shape
        for member in required.required_members if required else []:
            assert member in answer, f"{operation} lacks {member}"


def test_buckets_and_indexes_are_described_and_listed_to_the_end(client, bucket):
    described = client.get_vector_bucket(vectorBucketName=bucket)["vectorBucket"]
    assert described["vectorBucketArn"] == f"arn:aws:s3vectors:us-east-1:{ACCOUNT}:bucket/{bucket}"
    assert described["encryptionConfiguration"] == {"sseType": "AES256"}
    assert described["defaultIndexMode"] == "ENHANCED"
    for number in range(7):
        make_index(client, bucket, name=f"index-{number}", tags={"n": str(number)})
    make_index(client, bucket, name="other", dimension=4096, metric="cosine",
               metadataConfiguration={
                   "nonFilterableMetadataKeys": ["text"],
                   "textSearchConfigurations": [{"metadataKey": "text", "language": "en"}]},
               encryptionConfiguration={"sseType": "AES256"})
    pages = client.get_paginator("list_indexes").paginate(
        vectorBucketName=bucket, prefix="index-", PaginationConfig={"PageSize": 3})
    listed = [index["indexName"] for page in pages for index in page["indexes"]]
    assert listed == [f"index-{number}" for number in range(7)]
    index = client.get_index(vectorBucketName=bucket, indexName="other")["index"]
    assert (index["dimension"], index["distanceMetric"], index["dataType"]) == (4096, "cosine", "float32")
    assert index["metadataConfiguration"] == {
        "nonFilterableMetadataKeys": ["text"],
        "textSearchConfigurations": [
            {"metadataKey": "text", "language": "en", "status": "ACTIVE"}]}
    for number in range(4):
        client.create_vector_bucket(vectorBucketName=f"{bucket}-{number}")
    pages = client.get_paginator("list_vector_buckets").paginate(
        prefix=bucket, PaginationConfig={"PageSize": 2})
    listed = [found["vectorBucketName"] for page in pages for found in page["vectorBuckets"]]
    assert listed == [bucket] + [f"{bucket}-{number}" for number in range(4)]
    refused(client.create_vector_bucket, "ConflictException", vectorBucketName=bucket)
    refused(client.create_index, "ConflictException", vectorBucketName=bucket, indexName="other",
            dataType="float32", dimension=1, distanceMetric="cosine")
    refused(client.delete_vector_bucket, "ConflictException", vectorBucketName=bucket)
    refused(client.list_indexes, "ValidationException", "/nextToken", vectorBucketName=bucket,
            nextToken="bm9uc2Vuc2U")


def test_tags_and_policies_come_back(client, bucket):
    arn = client.get_vector_bucket(vectorBucketName=bucket)["vectorBucket"]["vectorBucketArn"]
    client.tag_resource(resourceArn=arn, tags={"team": "a b", "x": ""})
    client.tag_resource(resourceArn=arn, tags={"team": "c", "y/z": "1+1=2"})
    assert client.list_tags_for_resource(resourceArn=arn)["tags"] == {
        "team": "c", "x": "", "y/z": "1+1=2"}
    client.untag_resource(resourceArn=arn, tagKeys=["x", "y/z"])
    assert client.list_tags_for_resource(resourceArn=arn)["tags"] == {"team": "c"}
    refused(client.tag_resource, "ValidationException", resourceArn=arn, tags={"a": "x" * 257})
    refused(client.get_vector_bucket_policy, "NotFoundException", vectorBucketName=bucket)
    policy = policy_of(arn)
    client.put_vector_bucket_policy(vectorBucketName=bucket, policy=policy)
    assert client.get_vector_bucket_policy(vectorBucketName=bucket)["policy"] == policy
    client.delete_vector_bucket_policy(vectorBucketName=bucket)
    refused(client.get_vector_bucket_policy, "NotFoundException", vectorBucketName=bucket)
    refused(client.put_vector_bucket_policy, "ValidationException", "/policy",
            vectorBucketName=bucket, policy="no JSON")


def test_vectors_are_put_got_listed_and_deleted(client, bucket):
    arn = make_index(client, bucket, dimension=4)
    metadata = {"title": "é\"\n", "year": 1999, "score": -1.5, "seen": True, "genres": ["a", "b"]}
    put = {f"key {number:04}": [number / 7, -number, 0.1, 1e-20] for number in range(1200)}
    for start in range(0, 1200, 500):
        part = list(put.items())[start:start + 500]
        client.put_vectors(indexArn=arn, vectors=[vector(k, data, metadata) for k, data in part])
    got = client.get_vectors(indexArn=arn, keys=["key 0007", "nobody", "key 0001"],
                             returnData=True, returnMetadata=True)["vectors"]
    assert [found["key"] for found in got] == ["key 0007", "key 0001"]
    assert got[0]["data"]["float32"] == pytest.approx(put["key 0007"], rel=1e-6)
    assert got[0]["metadata"] == metadata
    assert set(client.get_vectors(indexArn=arn, keys=["key 0001"])["vectors"][0]) == {"key"}
    page = client.list_vectors(indexArn=arn)
    assert len(page["vectors"]) == 500 and page["nextToken"]
    for segments in (1, 3, 16):
        listed = []
        for segment in range(segments):
            pages = client.get_paginator("list_vectors").paginate(
                indexArn=arn, segmentCount=segments, segmentIndex=segment, returnData=True,
                returnMetadata=True, PaginationConfig={"PageSize": 130})
            listed += [found for page in pages for found in page["vectors"]]
        assert sorted(found["key"] for found in listed) == sorted(put)
        assert all(found["metadata"] == metadata for found in listed)
    client.delete_vectors(indexArn=arn, keys=["key 0001", "nobody"])
    assert keys_of(client.get_vectors(indexArn=arn, keys=["key 0001", "key 0002"])) == ["key 0002"]


def test_a_page_of_large_vectors_ends_at_a_megabyte(client, bucket):
    arn = make_index(client, bucket, dimension=4096)
    for number in range(0, 80, 40):
        client.put_vectors(indexArn=arn, vectors=[
            vector(str(key), [0.5] * 4096) for key in range(number, number + 40)])
    page = client.list_vectors(indexArn=arn, returnData=True)
    assert len(page["vectors"]) == 64 and page["nextToken"]


def test_neighbours_have_the_distances_of_their_metric(client, bucket):
    put = [vector("x", [3, 4]), vector("y", [0, 2]), vector("z", [-3, -4])]
    for metric, expected in (("euclidean", [("y", 2 ** 0.5), ("x", 13 ** 0.5), ("z", 41 ** 0.5)]),
                             ("cosine", [("y", 1 - 0.5 ** 0.5), ("x", 1 - 7 / 50 ** 0.5),
                                         ("z", 1 + 7 / 50 ** 0.5)])):
        arn = make_index(client, bucket, dimension=2, metric=metric, name=metric)
        client.put_vectors(indexArn=arn, vectors=put)
        answer = client.query_vectors(indexArn=arn, topK=3, queryVector={"float32": [1, 1]},
                                      returnDistance=True)
        assert answer["distanceMetric"] == metric
        expected = sorted(expected, key=lambda pair: pair[1])
        assert keys_of(answer) == [key for key, _ in expected]
        for found, (_, distance) in zip(answer["vectors"], expected):
            assert found["distance"] == pytest.approx(distance, abs=1e-5)
            assert "metadata" not in found


FILTERS = [
    ({"n": 5}, lambda m: m["n"] == 5),
    ({"n": {"$gte": 90, "$lt": 95}}, lambda m: 90 <= m["n"] < 95),
    ({"n": {"$gt": 97}}, lambda m: m["n"] > 97),
    ({"n": {"$lte": 1}}, lambda m: m["n"] <= 1),
    ({"n": {"$in": [3, 50, 1000]}}, lambda m: m["n"] in (3, 50)),
    ({"parity": {"$nin": ["even"]}}, lambda m: m["parity"] != "even"),
    ({"parity": {"$ne": "odd"}}, lambda m: m["parity"] != "odd"),
    ({"tags": "three"}, lambda m: "three" in m["tags"]),
    ({"tags": {"$in": ["three", "seven"]}}, lambda m: {"three", "seven"} & set(m["tags"])),
    ({"rare": {"$exists": True}}, lambda m: "rare" in m),
    ({"rare": {"$exists": False}}, lambda m: "rare" not in m),
    ({"$and": [{"parity": "odd"}, {"$or": [{"n": {"$lt": 3}}, {"n": 99}]}]},
     lambda m: m["n"] in (1, 99)),
    ({"parity": "odd", "n": {"$lt": 4}}, lambda m: m["n"] in (1, 3)),
    ({"flag": True}, lambda m: m["flag"]),
    ({"parity": {"$startsWith": "od"}}, lambda m: m["parity"] == "odd"),
    ({"parity": {"$startsWith": "dd"}}, lambda m: False),
    ({"tags": {"$startsWith": "s", "$ne": "three"}}, lambda m: m["tags"] == ["seven"]),
    ({"$or": [{"n": 1}, {"$and": [{"tags": {"$startsWith": "th"}}, {"n": {"$gt": 95}}]}]},
     lambda m: m["n"] in (1, 96, 99)),
]


def test_filters_choose_before_the_search(client, bucket):
    arn = make_index(client, bucket, dimension=2,
                     metadataConfiguration={"nonFilterableMetadataKeys": ["text"]})
    metadata = []
    for n in range(100):
        found = {"n": n, "parity": "odd" if n % 2 else "even", "flag": n > 40, "text": f"text {n}",
                 "tags": [name for name, of in (("three", 3), ("seven", 7)) if n % of == 0]}
        metadata.append({**found, "rare": "x"} if n == 77 else found)
    client.put_vectors(indexArn=arn, vectors=[
        vector(str(m["n"]), [m["n"], 1], m) for m in metadata])
    for condition, allows in FILTERS:
        answer = client.query_vectors(indexArn=arn, topK=100, queryVector={"float32": [0, 0]},
                                      filter=condition, returnMetadata=True)
        expected = [str(m["n"]) for m in metadata if allows(m)]
        assert keys_of(answer) == expected, condition
        assert [found["metadata"] for found in answer["vectors"]] == [
            m for m in metadata if allows(m)]
    query = {"indexArn": arn, "topK": 1, "queryVector": {"float32": [0, 0]}}
    for condition, part in (({"text": "x"}, "non-filterable"), ({"n": {"$like": 1}}, "$like"),
                            ({"n": {"$gt": "x"}}, "number"),
                            ({"$or": [{"tags": {"$startsWith": ["t"]}}]},
                             "/filter/$or/0/tags/$startsWith"), ({"$and": []}, "$and"),
                            ({}, "filter"), ([1], "filter")):
        refused(client.query_vectors, "ValidationException", part, filter=condition, **query)


def test_texts_are_searched_and_fused_with_vectors(client, bucket):
    arn = make_index(client, bucket, dimension=1, metadataConfiguration={
        "textSearchConfigurations": [{"metadataKey": "title", "language": "en"}]})
    titles = {"a": "The running man", "b": "Running with scissors, running", "c": "Standing still"}
    client.put_vectors(indexArn=arn, vectors=[
        vector(key, [position], {"title": title})
        for position, (key, title) in enumerate(titles.items())])
    texts = [{"metadataKey": "title", "text": "runs"}]
    answer = client.query_vectors(indexArn=arn, topK=5, queryTexts=texts, returnScores=True)
    assert keys_of(answer) == ["b", "a"]
    assert all(found["scores"]["bm25Scores"][0]["score"] > 0 for found in answer["vectors"])
    answer = client.query_vectors(indexArn=arn, topK=5, queryTexts=texts, returnScores=True,
                                  queryVector={"float32": [1.9]}, returnDistance=True)
    assert keys_of(answer) == ["b", "a", "c"]
    first = answer["vectors"][0]
    assert first["scores"]["fused"] == pytest.approx(1 / 61 + 1 / 62)
    assert first["scores"]["vectorDistance"] == pytest.approx(0.9, rel=1e-5) == first["distance"]
    assert "bm25Scores" not in answer["vectors"][2]["scores"]
    plain = client.query_vectors(indexArn=arn, topK=1, queryVector={"float32": [1.9]},
                                 returnScores=True)
    assert "scores" not in plain["vectors"][0]
    refused(client.query_vectors, "ValidationException", "/queryTexts/0/metadataKey", indexArn=arn,
            topK=1, queryTexts=[{"metadataKey": "other", "text": "x"}])
    refused(client.query_vectors, "ValidationException", "/queryVector", indexArn=arn, topK=1)
    refused(client.query_vectors, "ValidationException", "/queryMode", indexArn=arn, topK=1,
            queryVector={"float32": [1]}, queryMode="CLASSIC")
    refused(client.update_metadata_configuration, "ConflictException", indexArn=arn,
            add={"textSearchConfigurations": [{"metadataKey": "title"}]})
    client.update_metadata_configuration(
        indexArn=arn, delete={"textSearchConfigurations": [{"metadataKey": "title"}]})
    refused(client.query_vectors, "ValidationException", indexArn=arn, topK=1, queryTexts=texts)


def test_results_with_much_metadata_come_in_pages(client, bucket):
    arn = make_index(client, bucket, dimension=1,
                     metadataConfiguration={"nonFilterableMetadataKeys": ["text"]})
    for start in range(0, 90, 30):
        client.put_vectors(indexArn=arn, vectors=[
            vector(f"{n:02}", [n], {"text": "x" * 40_000}) for n in range(start, start + 30)])
    query = {"indexArn": arn, "topK": 90, "queryVector": {"float32": [0]}, "returnMetadata": True}
    first = client.query_vectors(**query)
    assert len(first["vectors"]) == 27
    pages = client.get_paginator("query_vectors").paginate(**query)
    assert [key for page in pages for key in keys_of(page)] == [f"{n:02}" for n in range(90)]
    refused(client.query_vectors, "ValidationException", "/nextToken",
            **{**query, "topK": 89, "nextToken": first["nextToken"]})


def test_thousands_of_results_come_in_pages(client, bucket):
    arn = make_index(client, bucket, dimension=1, metadataConfiguration={
        "textSearchConfigurations": [{"metadataKey": "title"}],
        "nonFilterableMetadataKeys": ["text"]})
    for start in range(0, 2_500, 500):
        client.put_vectors(indexArn=arn, vectors=[
            vector(str(n), [n // 3], {"title": "zebra " * (n % 7), "text": "x" * 1_000})
            for n in range(start, start + 500)])
    near, text = {"queryVector": {"float32": [0]}}, {"queryTexts": [
        {"metadataKey": "title", "text": "zebra"}]}
    with_text = sum(n % 7 > 0 for n in range(2_500))
    for query, there in ((near, 2_500), (text, with_text), ({**near, **text}, 2_500)):
        for top_k in (1_000, 2_000, 10_000):
            paginate = client.get_paginator("query_vectors").paginate
            pages = list(paginate(indexArn=arn, topK=top_k, returnMetadata=True, returnScores=True,
                                  **query))
            found = [key for page in pages for key in keys_of(page)]
            assert len(found) == len(set(found)) == min(top_k, there), query
            assert len(pages) > 1 or top_k == 1_000
            assert all(page["vectors"] for page in pages)
            # Without metadata they fit on one page, and are the same.
            answer = client.query_vectors(indexArn=arn, topK=top_k, **query)
            assert keys_of(answer) == found and "nextToken" not in answer
            if "queryTexts" in query:
                for page in pages:
                    for one in page["vectors"]:
                        assert ("bm25Scores" in one["scores"]) == (int(one["key"]) % 7 > 0), one


def test_the_scores_of_several_texts_are_those_of_all_vectors(client, bucket):
    arn = make_index(client, bucket, dimension=1, metadataConfiguration={
        "textSearchConfigurations": [{"metadataKey": "a"}, {"metadataKey": "b"}]})
    high, low = "zebra zebra zebra", "x " * 9 + "zebra"
    rows = [(f"a{n}", high, low) for n in range(225)] + [(f"b{n}", low, high) for n in range(225)]
    rows.append(("both", "x zebra zebra", "x zebra zebra"))
    client.put_vectors(indexArn=arn, vectors=[
        vector(key, [1], {"a": a, "b": b}) for key, a, b in rows])
    texts = [{"metadataKey": key, "text": "zebra"} for key in "ab"]
    for vectors in ({}, {"queryVector": {"float32": [1]}}):
        found = client.query_vectors(indexArn=arn, topK=100, returnScores=True, queryTexts=texts,
                                     **vectors)["vectors"]
        assert vectors or found[0]["key"] == "both"
        for one in found:
            assert [score["metadataKey"] for score in one["scores"]["bm25Scores"]] == ["a", "b"]


def test_bad_vectors_are_refused_and_nothing_of_the_request_is_stored(client, bucket):
    arn = make_index(client, bucket, dimension=3, metric="cosine",
                     metadataConfiguration={"nonFilterableMetadataKeys": ["text"]})
    good = vector("good", [1, 2, 3])
    nested = []
    for _ in range(200):
        nested = [nested]
    rows = [
        ([vector("x", [1, 2])], "/vectors/1/data/float32"),
        ([vector("x", [1, 2, float("nan")])], "/vectors/1/data/float32/2"),
        ([vector("x", [1, float("inf"), 2])], "/vectors/1/data/float32/1"),
        ([vector("x", [1, 1e39, 2])], "/vectors/1/data/float32/1"),
        ([vector("x", [0, 0, 0])], "/vectors/1/data/float32"),
        ([vector("x" * 1025, [1, 2, 3])], "/vectors/1/key"),
        ([vector("", [1, 2, 3])], "/vectors/1/key"),
        ([vector("good", [1, 2, 3])], "/vectors/1/key"),
        ([vector("x", [1, 2, 3], {"a": "x" * 2048})], "/vectors/1/metadata"),
        ([vector("x", [1, 2, 3], {"text": "x" * 40_960})], "/vectors/1/metadata"),
        ([vector("x", [1, 2, 3], {"a": {"b": 1}})], "/vectors/1/metadata/a"),
        ([vector("x", [1, 2, 3], {"a": None})], "/vectors/1/metadata/a"),
        ([vector("x", [1, 2, 3], {str(n): n for n in range(51)})], "/vectors/1/metadata"),
        ([vector(str(n), [1, 2, 3]) for n in range(500)], "/vectors"),
        ([{"key": "x"}], "/vectors/1/data"),
        ([{"data": {"float32": [1, 2, 3]}}], "/vectors/1/key"),
    ]
    for bad, part in rows:
        response = refused(client.put_vectors, "ValidationException", indexArn=arn,
                           vectors=[good] + bad)
        assert response["fieldList"][0]["path"].startswith(part), response
        assert client.list_vectors(indexArn=arn)["vectors"] == [], part
    refused(client.put_vectors, "ValidationException", indexArn=arn,
            vectors=[good, vector("x", [1, 2, 3], {"text": nested})])
    refused(client.put_vectors, "ValidationException", "/vectors", indexArn=arn, vectors=[])
    client.put_vectors(indexArn=arn, vectors=[vector("ok", [1, 2, 3], {"text": {"any": [None, {}]}})])
    got = client.get_vectors(indexArn=arn, keys=["ok"], returnMetadata=True)
    assert got["vectors"][0]["metadata"] == {"text": {"any": [None, {}]}}


@pytest.mark.parametrize("mebibytes", [21, 60])
def test_a_request_that_is_too_large_is_answered(client, bucket, mebibytes):
    """The whole body is sent before the answer is read."""
    arn = make_index(client, bucket)
    text = "x" * (mebibytes << 20)
    refused(client.put_vectors, "ValidationException", "Request body exceeds max allowed size",
            indexArn=arn, vectors=[vector("large", [1, 2, 3], {"text": text})])
    assert client.list_vectors(indexArn=arn)["vectors"] == []


def test_what_does_not_exist_or_makes_no_sense_is_told(client, bucket):
    arn = make_index(client, bucket)
    query = {"topK": 1, "queryVector": {"float32": [1, 2, 3]}}
    refused(client.query_vectors, "NotFoundException", "The specified index could not be found",
            vectorBucketName=bucket, indexName="nobody", **query)
    refused(client.query_vectors, "NotFoundException", vectorBucketName="no-such-bucket",
            indexName="films", **query)
    refused(client.query_vectors, "ValidationException", vectorBucketName=bucket, **query)
    refused(client.query_vectors, "ValidationException", indexArn=arn, indexName="films", **query)
    refused(client.query_vectors, "ValidationException", "/indexArn", indexArn="nonsense", **query)
    for top_k in (0, 10_001, -1, 1.5, "x"):
        refused(client.query_vectors, "ValidationException", "/topK", indexArn=arn,
                topK=top_k, queryVector={"float32": [1, 2, 3]})
    refused(client.query_vectors, "ValidationException", "/queryVector/float32", indexArn=arn,
            topK=1, queryVector={"float32": [1, 2]})
    for name in ("ab", "Upper", "under_score", "-x-"):
        refused(client.create_vector_bucket, "ValidationException", vectorBucketName=name)
    index = {"vectorBucketName": bucket, "indexName": "new", "dataType": "float32",
             "dimension": 3, "distanceMetric": "cosine"}
    for field, value in (("dimension", 0), ("dimension", 4097), ("distanceMetric", "dot"),
                         ("dataType", "float16"), ("indexName", "x")):
        refused(client.create_index, "ValidationException", field, **{**index, field: value})
    refused(client.create_index, "ValidationException", "/nonFilterableMetadataKeys", **index,
            metadataConfiguration={"nonFilterableMetadataKeys": [str(n) for n in range(11)]})
    refused(client.get_vectors, "ValidationException", "/keys", indexArn=arn,
            keys=[str(n) for n in range(101)])
    refused(client.delete_vectors, "ValidationException", "/keys", indexArn=arn,
            keys=[str(n) for n in range(501)])
    refused(client.list_vectors, "ValidationException", "/maxResults", indexArn=arn, maxResults=1001)
    refused(client.list_vectors, "ValidationException", "/segmentCount", indexArn=arn,
            segmentCount=17, segmentIndex=0)
    refused(client.list_vectors, "ValidationException", "/segmentIndex", indexArn=arn,
            segmentCount=2, segmentIndex=2)
    refused(client.list_vectors, "ValidationException", indexArn=arn, segmentCount=2)
    refused(client.put_vector_bucket_default_index_mode, "ValidationException", "/defaultIndexMode",
            vectorBucketName=bucket, defaultIndexMode="FAST")
    client.delete_index(indexArn=arn)
    refused(client.get_index, "NotFoundException", indexArn=arn)
    refused(client.delete_index, "NotFoundException", indexArn=arn)


def test_wrong_signatures_are_refused_in_json(server, bucket):
    wrong = vectors_client(server.endpoint, aws_secret_access_key="wrong-secret-key")
    with pytest.raises(ClientError) as failure:
        wrong.get_vector_bucket(vectorBucketName=bucket)
    assert failure.value.response["Error"]["Code"] == "InvalidSignatureException"
    assert failure.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


def test_vectors_belong_to_the_owner_of_their_bucket(tmp_path):
    users = tmp_path / "users.toml"
    users.write_text("".join(
        f'[[user]]\nname = "{name}"\naccess_key = "{name}-key"\nsecret_key = "{name}-secret-key"\n'
        for name in ("alice", "bob")))
    server = Server("--memory", credentials=("--credentials-file", str(users)))
    try:
        alice, bob = (vectors_client(server.endpoint, aws_access_key_id=f"{name}-key",
                                     aws_secret_access_key=f"{name}-secret-key")
                      for name in ("alice", "bob"))
        alice.create_vector_bucket(vectorBucketName="mine")
        arn = make_index(alice, "mine")
        for call, more in ((bob.get_vector_bucket, {}), (bob.list_indexes, {}),
                           (bob.get_index, {"indexName": "films"}),
                           (bob.list_vectors, {"indexName": "films"})):
            refused(call, "AccessDeniedException", vectorBucketName="mine", **more)
        refused(bob.list_tags_for_resource, "AccessDeniedException", resourceArn=arn)
        assert bob.list_vector_buckets()["vectorBuckets"] == []
        assert len(alice.list_vector_buckets()["vectorBuckets"]) == 1
    finally:
        server.stop()


class Load(threading.Thread):
    """Puts, replaces and deletes vectors until the server is gone; `acknowledged` maps keys to what
    was answered last, `in_doubt` the keys of the request that was not."""

    def __init__(self, endpoint, seed, acknowledged):
        super().__init__()
        self.client = vectors_client(endpoint)
        self.random = random.Random(seed)
        self.acknowledged = acknowledged
        self.in_doubt = {}
        self.answers = 0

    def run(self):
        target = {"vectorBucketName": "survivors", "indexName": "films"}
        while True:
            keys = self.random.sample(range(300), self.random.choice([1, 5, 60]))
            try:
                if self.random.random() < 0.2:
                    self.in_doubt = {f"key-{key}": None for key in keys}
                    self.client.delete_vectors(**target, keys=list(self.in_doubt))
                else:
                    version = self.random.randrange(1 << 20)
                    self.in_doubt = {f"key-{key}": version for key in keys}
                    self.client.put_vectors(**target, vectors=[
                        vector(key, [version] * 300, {"version": version}) for key in self.in_doubt])
            except (BotoCoreError, ClientError):
                return
            self.acknowledged.update(self.in_doubt)
            self.in_doubt = {}
            self.answers += 1


def check(client, acknowledged, in_doubt):
    target = {"vectorBucketName": "survivors", "indexName": "films"}
    pages = client.get_paginator("list_vectors").paginate(
        **target, returnData=True, returnMetadata=True)
    found = {}
    for page in pages:
        for item in page["vectors"]:
            version = item["metadata"]["version"]
            assert item["data"]["float32"] == [version] * 300, item["key"]
            found[item["key"]] = version
    changed = [key for key in in_doubt if acknowledged.get(key) != in_doubt[key]]
    there = {found.get(key) == in_doubt[key] for key in changed}
    assert len(there) < 2, f"half of a request is there: {in_doubt}"
    for key in set(found) | set(acknowledged) | set(in_doubt):
        allowed = {acknowledged.get(key), in_doubt.get(key, acknowledged.get(key))}
        assert found.get(key) in allowed, f"{key}: {found.get(key)} is none of {allowed}"
        acknowledged[key] = found.get(key)
    for key in random.Random(1).sample(sorted(found), min(20, len(found))):
        nearest = client.query_vectors(**target, topK=100, queryVector={"float32": [found[key]] * 300})
        assert key in keys_of(nearest)


def test_vectors_survive_kills_under_load(tmp_path):
    acknowledged, in_doubt = {}, {}
    for number in range(min(KILLS, 6)):
        server = Server("--data-dir", str(tmp_path / "data"))
        client = vectors_client(server.endpoint)
        if number == 0:
            client.create_vector_bucket(vectorBucketName="survivors")
            make_index(client, "survivors", dimension=300)
        check(client, acknowledged, in_doubt)
        load = Load(server.endpoint, number, acknowledged)
        load.start()
        # Killed while it works, after a number of answers and not after a time.
        while load.answers < 5 + 7 * number and load.is_alive():
            pass
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        load.join()
        in_doubt = load.in_doubt
    server = Server("--data-dir", str(tmp_path / "data"))
    check(vectors_client(server.endpoint), acknowledged, in_doubt)
    server.stop()
    server = Server("--data-dir", str(tmp_path / "data"))
    check(vectors_client(server.endpoint), acknowledged, {})
    server.stop()
