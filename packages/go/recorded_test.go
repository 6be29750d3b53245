package liteio_test

import (
	"fmt"
	"strings"
	"testing"

	"liteio"
)

// ended is a test that has failed or not, whose end is run by hand.
type ended struct {
	testing.TB
	failed   bool
	cleanups []func()
	logged   string
}

func (e *ended) Helper()                         {}
func (e *ended) Failed() bool                    { return e.failed }
func (e *ended) Cleanup(end func())              { e.cleanups = append(e.cleanups, end) }
func (e *ended) Logf(format string, args ...any) { e.logged += fmt.Sprintf(format, args...) }

func (e *ended) end() string {
	for _, cleanup := range e.cleanups {
		cleanup()
	}
	return e.logged
}

func TestAFailedTestPrintsTheRequestsOfItsSpace(t *testing.T) {
	needsTestAPI(t)
	server := liteio.Start(t)
	failed := &ended{TB: t, failed: true}
	space := server.Space(failed)
	other := server.Space(t)
	put(t, space, "/photos", "")
	put(t, other, "/others", "")
	check(t, space, "/photos/missing.jpg", 404, "")
	logged := failed.end()
	expected := "CreateBucket photos 200\nGetObject photos/missing.jpg 404 NoSuchKey"
	if !strings.HasSuffix(logged, expected) || !strings.HasPrefix(logged, "requests of the space "+space.Name) {
		t.Errorf("it prints %s", logged)
	}
}

func TestATestThatPassesPrintsNoRequests(t *testing.T) {
	needsTestAPI(t)
	server := liteio.Start(t)
	passed := &ended{TB: t}
	put(t, server.Space(passed), "/photos", "")
	if logged := passed.end(); logged != "" {
		t.Errorf("it prints %s", logged)
	}
}

func TestTheLastRequestsArePrinted(t *testing.T) {
	needsTestAPI(t)
	server := liteio.Start(t)
	failed := &ended{TB: t, failed: true}
	space := server.Space(failed)
	put(t, space, "/photos", "")
	for number := range [52]int{} {
		check(t, space, fmt.Sprintf("/photos/%d", number), 404, "")
	}
	logged := failed.end()
	if !strings.Contains(logged, "(3 earlier ones)\nGetObject photos/2 404") || !strings.HasSuffix(logged, "photos/51 404 NoSuchKey") {
		t.Errorf("it prints %s", logged)
	}
	none := &ended{TB: t, failed: true}
	server.Space(none)
	if logged := none.end(); !strings.Contains(logged, "no requests") {
		t.Errorf("without requests it prints %s", logged)
	}
}

func TestAFailedTestPrintsTheRequestsOfItsServer(t *testing.T) {
	needsTestAPI(t)
	for expected, path := range map[string]string{"requests of the server:\nCreateBucket photos 200": "/photos", "": ""} {
		failed := &ended{TB: t, failed: true}
		server := liteio.Start(failed)
		put(t, server.Space(t), "/others", "")
		if path != "" {
			put(t, server.Main(), path, "")
		}
		if logged := failed.end(); logged != expected {
			t.Errorf("it prints %q, not %q", logged, expected)
		}
	}
}
