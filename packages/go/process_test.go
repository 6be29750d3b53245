package liteio

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// script is a program in the place of the server.
func script(t *testing.T, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+lines+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAServerThatIsNotReadySaysWhatWasAskedAndHeard(t *testing.T) {
	defer func(before time.Duration) { startMax = before }(startMax)
	startMax = 200 * time.Millisecond
	for lines, expected := range map[string]string{
		"exec sleep 60": "no address was printed",
		"echo 'Endpoint http://127.0.0.1:1'; exec sleep 60": `"http://127.0.0.1:1/_liteio/health/ready": dial tcp`,
	} {
		path := script(t, lines)
		_, err := Run(Binary(path))
		if err == nil || !strings.Contains(err.Error(), expected) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error is %v", lines, err)
		}
	}
}

// failed is a test that has failed, whose end is run by hand.
type failed struct {
	testing.TB
	end    func()
	logged string
}

func (f *failed) Helper()                         {}
func (f *failed) Failed() bool                    { return true }
func (f *failed) Cleanup(end func())              { f.end = end }
func (f *failed) Logf(format string, args ...any) { f.logged += fmt.Sprintf(format, args...) }

func TestAServerThatWasKilledIsToldByAFailedTest(t *testing.T) {
	// The number of the process of the server, whose parent is the shell.
	binary, err := FindBinary("")
	if err != nil {
		t.Fatal(err)
	}
	for signal, expected := range map[string]string{"KILL": "the server had ended: signal: killed", "": ""} {
		note := filepath.Join(t.TempDir(), "number")
		test := &failed{TB: t}
		Start(test, Binary(script(t, "echo $$ >"+note+"; exec "+binary+` "$@"`)))
		if number, err := os.ReadFile(note); err != nil {
			t.Fatal(err)
		} else if signal != "" {
			if output, err := exec.Command("kill", "-s", signal, strings.TrimSpace(string(number))).CombinedOutput(); err != nil {
				t.Fatal(string(output), err)
			}
		}
		test.end()
		if !strings.HasSuffix(test.logged, expected) || expected == "" && test.logged != "" {
			t.Errorf("after %q it prints %q", signal, test.logged)
		}
	}
}

func TestAProgramThatIsNotLiteIOIsAskedAbout(t *testing.T) {
	if _, err := Run(Binary(script(t, "exit 1"))); err == nil || !strings.HasSuffix(err.Error(), "Is this program LiteIO?") {
		t.Errorf("the error is %v", err)
	}
	if _, err := Run(Credentials("tester", "short")); err == nil || strings.Contains(err.Error(), "Is this program LiteIO?") {
		t.Errorf("of LiteIO itself it is %v", err)
	}
}

func TestACallAfterTheEndOfTheServerSaysHowItEnded(t *testing.T) {
	binary, err := FindBinary("")
	if err != nil {
		t.Fatal(err)
	}
	note := filepath.Join(t.TempDir(), "number")
	server := Start(t, Binary(script(t, "echo $$ >"+note+"; exec "+binary+` "$@"`)))
	number, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command("kill", "-s", "KILL", strings.TrimSpace(string(number))).CombinedOutput(); err != nil {
		t.Fatal(string(output), err)
	}
	if err := server.Reset(); err == nil || !strings.HasPrefix(err.Error(), "the server has ended, signal: killed: ") {
		t.Errorf("the error is %v", err)
	}
	stopped := Start(t)
	stopped.Stop()
	if _, err := stopped.Now(); err == nil || !strings.HasPrefix(err.Error(), "the server was stopped: ") {
		t.Errorf("the error is %v", err)
	}
}

func TestAServerThatEndsIsNamed(t *testing.T) {
	path := script(t, "exit 3")
	_, err := Run(Binary(path))
	if err == nil || !strings.Contains(err.Error(), "the server "+path+" has ended, exit status 3: no output") {
		t.Errorf("the error is %v", err)
	}
}
