// Package liteio starts LiteIO, an object store that speaks Amazon S3, for tests.
//
//	server := liteio.Start(t, liteio.Buckets("photos"))
//	space := server.Space(t)
//
// Start stops the server with the test. The server also ends when the test process ends for any reason.
package liteio

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const defaultRegion = "us-east-1"

// The name of the embedded field, because Space is a method of Server.
type mainSpace = Space

// Server is a server, and its main space, whose fields and methods it has: Endpoint, AccessKey, SecretKey and Region; Env and Setenv;
// Reset, Snapshot and Restore; Fault; Now, SetClock and AdvanceClock; Requests, WaitForRequest and WaitForEvent. Space has their
// documentation: go doc liteio.Space.
type Server struct {
	*mainSpace
	// process is nil for a server of Connect.
	process *process
}

// Start starts a server on a free port of this machine unless Port is given, in memory unless DataDir is given, and stops it
// with the test. If the test has failed, it prints the last requests, without those of spaces, and the log, which has warnings only:
// Environment("LITEIO_LOG", "info") adds a line for each request. In TestMain, which has no test, use Run.
func Start(t testing.TB, options ...Option) *Server {
	needTest(t, "Start", "Run and Stop")
	t.Helper()
	server, err := Run(options...)
	if err != nil {
		t.Fatalf("liteio: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() && !server.isStopped() {
			server.logRequests(t)
		}
		// Its end belongs to the log.
		server.Stop()
		log := server.Log()
		if t.Failed() && log != "" || strings.HasSuffix(log, openHint) {
			t.Logf("log of LiteIO:\n%s", log)
		}
	})
	return server
}

// needTest panics with what to do instead where there is no test, as in TestMain.
func needTest(t testing.TB, method, instead string) {
	if t == nil {
		panic("liteio: " + method + " needs a test: in TestMain, which has none, use " + instead)
	}
}

// Run starts a server; Stop stops it.
func Run(options ...Option) (*Server, error) {
	settings := settings{environment: map[string]string{}}
	for place, option := range options {
		if option == nil {
			return nil, fmt.Errorf("option %d of %d is nil: leave it out", place+1, len(options))
		}
		option(&settings)
	}
	if err := settings.refuse(); err != nil {
		return nil, err
	}
	settings.complete()
	binary, err := FindBinary(settings.binary)
	if err != nil {
		return nil, err
	}
	if err := settings.refuseUnknown(binary, os.Stderr); err != nil {
		return nil, err
	}
	process, err := startProcess(binary, settings.command(), settings.variables(os.Environ()))
	if err != nil {
		return nil, err
	}
	region := settings.region
	if region == "" {
		region = defaultRegion
	}
	space := &Space{
		Endpoint:  process.endpoint,
		AccessKey: settings.accessKey,
		SecretKey: settings.secretKey,
		Region:    region,
		control:   newControl(process.endpoint),
	}
	space.control.ending = process.ending
	return &Server{mainSpace: space, process: process}, nil
}

// Main is the main space of the server. The server has its fields and methods, too.
func (s *Server) Main() *Space {
	return s.mainSpace
}

// Stop shuts the server down and waits for it, and a second for requests in flight, such as one whose answer is not read: the log tells
// of those that were cut off. A second call has no effect, nor has one of a server that Connect returned.
func (s *Server) Stop() {
	if s.process != nil {
		s.process.stop()
	}
}

// Log returns the last lines of the server log: warnings, unless Environment sets another LITEIO_LOG. It is empty for a server that
// Connect returned.
func (s *Server) Log() string {
	if s.process == nil {
		return ""
	}
	return s.process.log.String()
}

func (s *Server) isStopped() bool {
	return s.process != nil && s.process.isStopped()
}

// Space creates a space of the server, isolated from the others, and deletes it with the test, unless the test has
// deleted it or stopped the server. If the test has failed, it prints the last requests of the space.
func (s *Server) Space(t testing.TB) *Space {
	needTest(t, "Space", "NewSpace")
	t.Helper()
	space, err := s.NewSpace("")
	if err != nil {
		t.Fatalf("liteio: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() && !s.isStopped() {
			space.logRequests(t)
		}
		if err := space.Delete(); err != nil && !isNotFound(err) && !s.isStopped() {
			t.Errorf("liteio: deleting the space %s: %v", space.Name, err)
		}
	})
	return space
}

// Mostly of a variable of the package that TestMain did not set.
var errNotStarted = errors.New("the server was not started: set the variable in TestMain with `server, err = liteio.Run()`, where := " +
	"makes another variable")

func isNotFound(err error) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}

// NewSpace creates a space of the server; Delete deletes it. A name is generated if none is given.
func (s *Server) NewSpace(name string) (*Space, error) {
	if s == nil || s.mainSpace == nil {
		return nil, errNotStarted
	}
	var body struct {
		Name string `json:"name,omitempty"`
	}
	body.Name = name
	var made struct {
		Name      string `json:"name"`
		AccessKey string `json:"access_key"`
		SecretKey string `json:"secret_key"`
		Region    string `json:"region"`
	}
	if err := s.control.call("POST", "/spaces", nil, body, &made); err != nil {
		return nil, err
	}
	if made.Region == "" {
		made.Region = s.Region
	}
	return &Space{
		Name:      made.Name,
		Endpoint:  s.Endpoint,
		AccessKey: made.AccessKey,
		SecretKey: made.SecretKey,
		Region:    made.Region,
		control:   s.control,
	}, nil
}

// Spaces returns the names of all spaces except the main one.
func (s *Server) Spaces() ([]string, error) {
	if s == nil || s.mainSpace == nil {
		return nil, errNotStarted
	}
	var answer struct {
		Spaces []struct{ Name string }
	}
	if err := s.control.call("GET", "/spaces", nil, nil, &answer); err != nil {
		return nil, err
	}
	names := []string{}
	for _, space := range answer.Spaces {
		names = append(names, space.Name)
	}
	return names, nil
}

// ErrNoBinary is the error of a start that found no server binary on PATH, and was given none: one of Binary or LITEIO_BINARY that is not
// there is another error, since a suite that is left out without a binary should not be left out for a mistyped path.
var ErrNoBinary = errors.New("the LiteIO binary was not found: set LITEIO_BINARY to its path, or put the program " +
	"`liteio` on PATH")

// FindBinary returns the path of the server binary: the given path, LITEIO_BINARY, or `liteio` on PATH.
func FindBinary(given string) (string, error) {
	source := "binary"
	if given == "" {
		given, source = os.Getenv("LITEIO_BINARY"), "LITEIO_BINARY"
	}
	if given != "" {
		if !isProgram(given) {
			return "", errors.New(source + ": " + given + " is not an executable file" + ofRelative(given))
		}
		if isSelf(given) {
			return "", errors.New(source + ": " + given + " is the command that looks for the server, not the server")
		}
		return filepath.Abs(given)
	}
	for _, directory := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(directory, "liteio")
		if isProgram(path) && !isScript(path) && !isSelf(path) {
			return filepath.Abs(path)
		}
	}
	return "", ErrNoBinary
}

// ofRelative says where a relative path leads.
func ofRelative(path string) string {
	absolute, err := filepath.Abs(path)
	if filepath.IsAbs(path) || err != nil {
		return ""
	}
	return ": it leads to " + absolute + ". `go test` runs in the folder of each package: give an absolute path"
}

func isProgram(path string) bool {
	// A name with a slash is not looked up on PATH.
	if !strings.ContainsRune(path, filepath.Separator) {
		path = "." + string(filepath.Separator) + path
	}
	_, err := exec.LookPath(path)
	return err == nil
}

// isSelf is true for the running program: cmd/liteio, installed as `liteio`, would start itself.
func isSelf(path string) bool {
	self, err := os.Executable()
	if err != nil {
		return false
	}
	running, err := os.Stat(self)
	if err != nil {
		return false
	}
	found, err := os.Stat(path)
	return err == nil && os.SameFile(running, found)
}

// A script of this name is the command of a package for another language, which would search for the binary again.
func isScript(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return true
	}
	defer file.Close()
	start := make([]byte, 2)
	_, err = file.Read(start)
	return err != nil || string(start) == "#!"
}
