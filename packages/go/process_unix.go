//go:build unix

package liteio

import (
	"os/exec"
	"syscall"
)

// separate gives the server a process group: Ctrl-C ends the tests first, and the tests end the server.
func separate(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func kill(command *exec.Cmd) {
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
}
