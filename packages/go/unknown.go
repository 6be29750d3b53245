package liteio

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// withoutEffect is what the server logs of a variable that it does not read, such as one with a wrong letter.
var withoutEffect = regexp.MustCompile(`(\w+) (?:is unknown and )?has no effect.*`)

// refuseUnknown returns an error for a variable LITEIO_… of Environment that the server does not know: nobody looks into the log of
// a test that passes. Others without effect may be of MinIO, where they have one: they are printed.
func (s *settings) refuseUnknown(binary string, output io.Writer) error {
	names := []string{}
	for name := range s.environment {
		// The package sets these two, whether the binary has a test API or not.
		if isSetting(name) && name != "LITEIO_LOG" && name != "LITEIO_TEST_API" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	for _, match := range withoutEffect.FindAllStringSubmatch(logOfNames(binary, names), -1) {
		line, name := match[0], match[1]
		if strings.HasPrefix(name, "LITEIO_") && strings.Contains(line, "is unknown") {
			return fmt.Errorf("Environment: %s", line)
		}
		fmt.Fprintf(output, "liteio: %s\n", line)
	}
	return nil
}

// logOfNames is what a server in memory logs that is given these variables without their values, and ends at once. The log of a server
// that stays may be written after its first answers, and is complete only at its end.
func logOfNames(binary string, names []string) string {
	within, cancel := context.WithTimeout(context.Background(), startMax)
	defer cancel()
	command := exec.CommandContext(within, binary, "exec", "--", shellOfServer, "-c", ":")
	for _, variable := range os.Environ() {
		if !isSetting(variable) {
			command.Env = append(command.Env, variable)
		}
	}
	command.Env = append(command.Env, "LITEIO_LOG=warn")
	for _, name := range names {
		command.Env = append(command.Env, name+"=")
	}
	// A binary that cannot do this says nothing about names.
	log, _ := command.CombinedOutput()
	return string(log)
}
