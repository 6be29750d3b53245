"""`examples/sentences.py`, with the embeddings that need no model."""

import pathlib
import subprocess
import sys

import pytest

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "sentences.py"


@pytest.fixture
def find(sandbox):
    sandbox.start_server()

    def run(*arguments):
        environment = dict(sandbox.environment, LITEIO_ENDPOINT=f"http://127.0.0.1:{sandbox.ports['9000']}")
        done = subprocess.run([sys.executable, EXAMPLE, *arguments], env=environment, text=True,
                              capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()
    return run


def test_the_nearest_sentence_comes_first(find):
    question, nearest, _ = find("--words", "Why does bread rise?")
    assert question == "Why does bread rise?"
    assert "Bread rises because yeast" in nearest


def test_the_questions_of_the_example_are_answered_each_time(find):
    first = find("--words")
    assert len(first) == 9
    assert find("--words") == first


def test_all_that_it_stores_is_deleted_again(find, sandbox):
    find("--words")
    sandbox.run_command(["bash", "-c", f"""[ "$(aws s3vectors list-vector-buckets --output text \\
        --query 'length(vectorBuckets)' --endpoint-url http://127.0.0.1:{sandbox.ports['9000']})" = 0 ]"""])
