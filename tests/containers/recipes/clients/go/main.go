// Clients of projects that are written in Go, by the libraries and the settings that they use: `recipes PROJECT`. The endpoint and the
// credentials are in variables, settings of a file in the third argument.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
)

func main() {
	check := map[string]func(context.Context) error{
		"minio-go": minioGo,
		"objstore": objectStore,
		"velero":   velero,
	}[os.Args[1]]
	if err := check(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("passed")
}

// large is a body of more than one part.
func large() []byte { return bytes.Repeat([]byte("0123456789abcdef"), 12<<16) }

func same(body io.Reader, expected []byte) error {
	found, err := io.ReadAll(body)
	if err == nil && !bytes.Equal(found, expected) {
		err = fmt.Errorf("%d bytes instead of %d", len(found), len(expected))
	}
	return err
}
