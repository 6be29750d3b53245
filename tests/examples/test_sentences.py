"""`examples/sentences.py`, with the embeddings that need no model, and with a stand-in for the package of models."""

import os
import pathlib
import socket
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


def run_alone(*arguments, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LITEIO_", "AWS_"))}
    environment.update(variables, AWS_MAX_ATTEMPTS="1")
    return subprocess.run([sys.executable, EXAMPLE, *arguments], env=environment, text=True, capture_output=True)


def test_the_usual_variable_names_the_server(sandbox):
    sandbox.start_server()
    done = run_alone("--words", "flying", AWS_ENDPOINT_URL=f"http://127.0.0.1:{sandbox.ports['9000']}")
    assert done.returncode == 0, done.stderr
    assert "can truly fly" in done.stdout


def test_a_server_that_is_not_there_is_one_sentence():
    with socket.socket() as taken:
        # Bound, and not listening: nobody else gets the port, and connections are refused.
        taken.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}"
        done = run_alone("--words", AWS_ENDPOINT_URL=endpoint)
    assert done.returncode == 1
    assert done.stderr == f"There is no server at {endpoint}: start `liteio --memory`.\n"


@pytest.mark.parametrize("question", ["", " "])
def test_an_empty_question_is_one_sentence(question):
    done = run_alone("--words", question)
    assert done.returncode == 1
    assert "question is empty" in done.stderr and "Traceback" not in done.stderr


def test_the_nearest_sentence_comes_first(find):
    question, nearest, _ = find("--words", "Why does bread rise?")
    assert question == "Why does bread rise?"
    assert "Bread rises because yeast" in nearest


def test_the_questions_of_the_example_are_answered_each_time(find):
    first = find("--words")
    assert len(first) == 9
    assert find("--words") == first


def test_each_question_of_the_example_finds_its_sentence_first(find):
    lines = find("--words")
    for question, nearest, sentence in zip(lines[::3], lines[1::3], [
            "Bats are the only mammals", "Bread rises because yeast", "A power cut in the middle"]):
        assert sentence in nearest, question


def test_the_text_is_searched_too(find):
    # "flying" has another beginning of four letters than "fly", so only the text search, which compares stems, knows
    # that they are one word.
    _, nearest, other = find("--words", "flying")
    assert "can truly fly" in nearest
    assert nearest.split()[2] != "-" and other.split()[2] == "-"


def test_all_that_it_stores_is_deleted_again(find, sandbox):
    find("--words")
    sandbox.run_command(["bash", "-c", f"""[ "$(aws s3vectors list-vector-buckets --output text \\
        --query 'length(vectorBuckets)' --endpoint-url http://127.0.0.1:{sandbox.ports['9000']})" = 0 ]"""])


STAND_IN = """
import os
import types
import zlib


class StaticModel:
    @classmethod
    def from_pretrained(cls, name):
        if not os.path.isdir(name):
            raise FileNotFoundError(f"no connection for {name}")
        return cls()

    def encode(self, texts):
        vectors = [[zlib.crc32(text.encode()) + 1.0] + [0.0] * 255 for text in texts]
        return types.SimpleNamespace(tolist=lambda: vectors)
"""


@pytest.fixture
def run_with(sandbox):
    """Runs the example with a module `model2vec` of this text."""
    sandbox.start_server()

    def run(module, *arguments):
        (sandbox.directory / "model2vec.py").write_text(module)
        environment = dict(sandbox.environment, PYTHONPATH=str(sandbox.directory),
                           LITEIO_ENDPOINT=f"http://127.0.0.1:{sandbox.ports['9000']}")
        return subprocess.run([sys.executable, EXAMPLE, *arguments], cwd=sandbox.directory, env=environment,
                              text=True, capture_output=True)
    return run


@pytest.mark.parametrize("module, arguments, told", [
    ("raise ImportError('no such module')", [], "pip install model2vec"),
    (STAND_IN, [], "minishlab/potion-base-8M cannot be downloaded"),
    (STAND_IN, ["--model", "nowhere"], "directory, which nowhere is not"),
], ids=["not installed", "no download", "no directory"])
def test_a_model_that_cannot_be_loaded_is_told_by_its_cause(run_with, module, arguments, told):
    done = run_with(module, *arguments)
    assert done.returncode == 1 and told in done.stderr
    assert "Traceback" not in done.stderr
    assert ("pip install" in done.stderr) == ("pip install" in told)


def test_a_saved_model_is_read_from_its_directory(run_with):
    done = run_with(STAND_IN, "--model", ".", "Why does bread rise?")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Why does bread rise?")
