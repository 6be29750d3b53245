package liteio

import (
	"os"
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

func TestAServerThatEndsIsNamed(t *testing.T) {
	path := script(t, "exit 3")
	_, err := Run(Binary(path))
	if err == nil || !strings.Contains(err.Error(), "the server "+path+" has ended, exit status 3: no output") {
		t.Errorf("the error is %v", err)
	}
}
