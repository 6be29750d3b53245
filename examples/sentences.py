"""Finds sentences by their meaning and their words, with S3 Vectors on LiteIO.

Start a server, then run this:

    liteio server --memory
    pip install "boto3>=1.44" model2vec
    python examples/sentences.py "Which animal flies at night?"

model2vec and its dependencies take 29 MB (numpy is 17 of them; no torch). The first run downloads the model
minishlab/potion-base-8M from Hugging Face, some 30 MB; --model DIR reads one that was saved before, by
`StaticModel.from_pretrained("minishlab/potion-base-8M").save_pretrained("potion")`. With --words neither is
needed: sentences are then found by words shared with the question, not by meaning.

Each query has the embedding of the question and its text. The server ranks the sentences by both and fuses the
two rankings. The columns are the fused score, the distance, and the BM25 score of the text if it shares a word.

To use another server, set AWS_ENDPOINT_URL (or LITEIO_ENDPOINT, which counts first), AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY.
"""

import argparse
import os
import re
import uuid
import zlib

import boto3
from botocore.exceptions import ClientError, EndpointConnectionError

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
    ("Why does bread dough get bigger?", "kitchen"),
    ("How does stored data survive a power cut?", "computing"),
]
MODEL = "minishlab/potion-base-8M"
# Elements of the vectors that stand in for a model's.
WORDS = 256


def load_model(place):
    """Embedding function for a list of texts: one vector for each."""
    try:
        from model2vec import StaticModel
    except ImportError as error:
        raise SystemExit(f"model2vec is not installed: {error}\n"
                         "Install it with `pip install model2vec`, or use --words, which needs no model.")
    if place is not None and not os.path.isdir(place):
        raise SystemExit(f"The model is a directory, which {place} is not.")
    try:
        model = StaticModel.from_pretrained(place or MODEL)
    except (OSError, ValueError) as error:
        if place is not None:
            raise SystemExit(f"The model in {place} cannot be read: {error}")
        raise SystemExit(f"The model {MODEL} cannot be downloaded from Hugging Face: {error}\n"
                         "Name a directory that has it with --model, or use --words, which needs no model.")
    return lambda texts: model.encode(texts).tolist()


def count_words(texts):
    """Substitute for a model: each word counts in the element selected by its hash."""
    vectors = []
    for text in texts:
        vector = [0.0] * WORDS
        for word in re.findall(r"\w+", text.lower()) or [""]:
            # Long words count more; their endings are ignored.
            vector[zlib.crc32(word[:4].encode()) % WORDS] += max(len(word), 1)
        vectors.append(vector)
    return vectors


def main():
    parser = argparse.ArgumentParser(description="Finds sentences by their meaning and their words.")
    parser.add_argument("question", nargs="*")
    parser.add_argument("--words", action="store_true", help="match shared words, without a model")
    parser.add_argument("--model", metavar="DIR", help="directory of a saved model, in place of the download")
    arguments = parser.parse_args()
    question = " ".join(arguments.question).strip()
    if arguments.question and not question:
        raise SystemExit("The question is empty: write one, or none for the questions of the example.")
    embed = count_words if arguments.words else load_model(arguments.model)
    endpoint = (os.environ.get("LITEIO_ENDPOINT") or os.environ.get("AWS_ENDPOINT_URL")
                or "http://127.0.0.1:9000")
    client = boto3.client(
        "s3vectors", region_name="us-east-1", endpoint_url=endpoint,
        aws_access_key_id=os.environ.get("AWS_ACCESS_KEY_ID", "liteio"),
        aws_secret_access_key=os.environ.get("AWS_SECRET_ACCESS_KEY", "liteio123"))

    questions = [(question, None)] if question else QUESTIONS
    bucket = f"sentences-{uuid.uuid4().hex[:8]}"
    try:
        client.create_vector_bucket(vectorBucketName=bucket)
    except EndpointConnectionError:
        raise SystemExit(f"There is no server at {endpoint}: start `liteio --memory`.") from None
    except ClientError as error:
        raise SystemExit(f"{endpoint}: {error}") from None
    try:
        search(client, bucket, embed, questions)
    finally:
        for index in client.list_indexes(vectorBucketName=bucket)["indexes"]:
            client.delete_index(indexArn=index["indexArn"])
        client.delete_vector_bucket(vectorBucketName=bucket)


def search(client, bucket, embed, questions):
    embeddings = embed([text for text, _ in SENTENCES])
    index = client.create_index(
        vectorBucketName=bucket, indexName="facts", dataType="float32", dimension=len(embeddings[0]),
        distanceMetric="cosine", metadataConfiguration={
            "nonFilterableMetadataKeys": ["text"],
            "textSearchConfigurations": [{"metadataKey": "text", "language": "en"}]})["indexArn"]
    client.put_vectors(indexArn=index, vectors=[
        {"key": str(number), "data": {"float32": embedding},
         "metadata": {"text": text, "topic": topic}}
        for number, ((text, topic), embedding) in enumerate(zip(SENTENCES, embeddings))])

    for question, topic in questions:
        query = {"filter": {"topic": topic}} if topic else {}
        found = client.query_vectors(
            indexArn=index, topK=2, queryVector={"float32": embed([question])[0]},
            # The server takes up to 1,024 characters.
            queryTexts=[{"metadataKey": "text", "text": question[:1024]}],
            returnMetadata=True, returnScores=True, **query)
        print(question)
        for hit in found["vectors"]:
            scores = hit["scores"]
            words = sum(one["score"] for one in scores.get("bm25Scores", []))
            print(f"  {scores['fused']:.4f}  {scores['vectorDistance']:.3f}  "
                  f"{f'{words:.3f}' if words else '-':>5}  {hit['metadata']['text']}")


if __name__ == "__main__":
    main()
