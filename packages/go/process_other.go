//go:build !unix

package liteio

import "os/exec"

func separate(*exec.Cmd) {}

func kill(command *exec.Cmd) {
	_ = command.Process.Kill()
}
