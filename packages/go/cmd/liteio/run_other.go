//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
)

// run ends this process with the exit code of the command. It returns only if that did not start.
func run(binary string, arguments []string) error {
	command := exec.Command(binary, arguments...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := command.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	os.Exit(command.ProcessState.ExitCode())
	return nil
}
