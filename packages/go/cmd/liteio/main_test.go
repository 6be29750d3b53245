package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"liteio"
)

// helper is this command, as `go run` and `go install` build it.
func helper(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "liteio")
	if output, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return path
}

func binary(t *testing.T) string {
	t.Helper()
	found, err := liteio.FindBinary("")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestItRunsTheBinaryWithItsArgumentsAndExitCode(t *testing.T) {
	helper := helper(t)
	expected, err := exec.Command(binary(t), "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"--version"}, {"--", "--version"}} {
		output, err := exec.Command(helper, arguments...).Output()
		if err != nil || string(output) != string(expected) {
			t.Errorf("%v: %q, %v", arguments, output, err)
		}
	}
	command := exec.Command(helper, "--no-such-option")
	if err := command.Run(); err == nil || command.ProcessState.ExitCode() != 2 {
		t.Errorf("the exit code is %d", command.ProcessState.ExitCode())
	}
}

func TestGoRunItselfEndsWithOne(t *testing.T) {
	command := exec.Command("go", "run", ".", "--no-such-option")
	output, err := command.CombinedOutput()
	if err == nil || command.ProcessState.ExitCode() != 1 || !strings.Contains(string(output), "exit status 2") {
		t.Errorf("%d: %s", command.ProcessState.ExitCode(), output)
	}
}

func TestGoRunStartsAServerThatEndsWithASignal(t *testing.T) {
	// Not of `go run` itself, which gives the signals of a terminal to both.
	command := exec.Command(helper(t), "server", "--memory", "--address", "127.0.0.1:0")
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Process.Kill() }()
	endpoint := ""
	for lines := bufio.NewScanner(output); endpoint == "" && lines.Scan(); {
		if found := regexp.MustCompile(`^\s*Endpoint\s+(\S+)`).FindStringSubmatch(lines.Text()); found != nil {
			endpoint = found[1]
		}
	}
	answer, err := http.Get(endpoint + "/_liteio/health/live")
	if err != nil || answer.StatusCode != 200 {
		t.Fatal(answer, err)
	}
	_ = answer.Body.Close()
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the server goes on")
	}
}

func TestInstalledOnPathItIsNotItsOwnBinary(t *testing.T) {
	program, helper := binary(t), helper(t)
	behind := t.TempDir()
	if err := os.Symlink(program, filepath.Join(behind, "liteio")); err != nil {
		t.Fatal(err)
	}
	at := filepath.Dir(helper)
	run := func(path, named string) (string, error) {
		command := exec.Command(helper, "--version")
		command.Env = []string{"PATH=" + path, "LITEIO_BINARY=" + named}
		output, err := command.CombinedOutput()
		return string(output), err
	}
	if output, err := run(at+string(os.PathListSeparator)+behind, ""); err != nil || !strings.HasPrefix(output, "liteio ") {
		t.Errorf("%q, %v", output, err)
	}
	if output, err := run(at, ""); err == nil || !strings.Contains(output, "set LITEIO_BINARY") {
		t.Errorf("%q, %v", output, err)
	}
	if output, err := run(behind, helper); err == nil || !strings.Contains(output, "not the server") {
		t.Errorf("%q, %v", output, err)
	}
}
