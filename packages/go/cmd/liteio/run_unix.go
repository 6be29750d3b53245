//go:build unix

package main

import (
	"os"
	"syscall"
)

// run replaces this process, so that signals, the exit code and the process id are the server's. It returns only if
// that fails.
func run(binary string, arguments []string) error {
	return syscall.Exec(binary, append([]string{"liteio"}, arguments...), os.Environ())
}
