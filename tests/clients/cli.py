"""The AWS CLI, whose start takes a second of CPU: here a process that has it loaded forks for each command.

A command is a process of its own all the same, with its environment, its directory, its outputs and its exit code, and
runs nothing but the CLI. As a program this file is the process that forks: a command is a line of JSON, the answer its
exit code. With AWS_CLI=program the CLI is started for each command, as users do."""

import json
import os
import subprocess
import sys
import tempfile

SERVICES = ("iam", "s3", "s3control", "s3vectors", "sts")


class Cli:
    def __init__(self):
        self.forks = None

    def run(self, arguments, environment, directory):
        """A subprocess.CompletedProcess with the outputs as texts."""
        if os.environ.get("AWS_CLI") == "program":
            return subprocess.run(["aws", *arguments], capture_output=True, text=True, env=environment, cwd=directory)
        if self.forks is None:
            # The variables are those of the first command, but for the credentials: the CLI reads its files now.
            self.forks = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          text=True, env=environment)
        with tempfile.TemporaryDirectory() as outputs:
            command = {"arguments": arguments, "environment": environment, "directory": str(directory),
                       "outputs": outputs}
            self.forks.stdin.write(json.dumps(command) + "\n")
            self.forks.stdin.flush()
            code = int(self.forks.stdout.readline())
            texts = []
            for name in ("out", "err"):
                with open(f"{outputs}/{name}", encoding="utf-8") as output:
                    texts.append(output.read())
        return subprocess.CompletedProcess(["aws", *arguments], code, *texts)

    def stop(self):
        if self.forks is not None:
            self.forks.stdin.close()
            self.forks.wait()


def fork(driver, command):
    """The exit code of the command, run by a child."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 255
    try:
        os.environ.clear()
        os.environ.update(command["environment"])
        os.chdir(command["directory"])
        files = [os.open(os.devnull, os.O_RDONLY)]
        for name in ("out", "err"):
            files.append(os.open(f"{command['outputs']}/{name}", os.O_WRONLY | os.O_CREAT))
        for descriptor, file in enumerate(files):
            os.dup2(file, descriptor)
        code = driver.main(command["arguments"])
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as exit_of_the_cli:
        code = exit_of_the_cli.code
    finally:
        os._exit(code if isinstance(code, int) else 255)


def main():
    from awscli.clidriver import create_clidriver

    driver = create_clidriver()
    for service in SERVICES:
        driver.session.get_service_model(service)
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        answers.write(f"{fork(driver, json.loads(line))}\n")
        answers.flush()


if __name__ == "__main__":
    main()
