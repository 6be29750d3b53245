// Command liteio runs the LiteIO binary that the module finds, with the same arguments:
//
//	go run liteio/cmd/liteio server --memory
//
// It downloads nothing. The binary is that of LITEIO_BINARY, or `liteio` on PATH. `go run` ends with 1 whenever the command
// fails; installed by `go install`, the command ends with the exit code of the server.
package main

import (
	"fmt"
	"os"

	"liteio"
)

func main() {
	arguments := os.Args[1:]
	// As for other commands of `go run`, `--` may separate the arguments.
	if len(arguments) > 0 && arguments[0] == "--" {
		arguments = arguments[1:]
	}
	binary, err := liteio.FindBinary("")
	if err == nil {
		err = run(binary, arguments)
	}
	fmt.Fprintln(os.Stderr, "liteio:", err)
	os.Exit(1)
}
