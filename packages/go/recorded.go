package liteio

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

const (
	loggedMax = 50
	// What a server keeps at most, so that a wait for as many takes its whole time.
	keptMax = 10_000
	// A request is recorded shortly after its answer, and a test often fails at once on it.
	settleMax = 100 * time.Millisecond
)

// logRequests prints the recorded requests of a test that has failed.
func (s *Space) logRequests(t testing.TB) {
	t.Helper()
	requests, err := s.settledRequests()
	switch {
	case s.Name == "" && (err != nil || len(requests) == 0):
		// The test used spaces, or the log has the end of the server.
	case s.Name == "":
		t.Logf("requests of the server:\n%s", describeRequests(requests))
	case isNotFound(err):
		// The test has deleted the space.
	case err != nil:
		t.Logf("liteio: the requests of the space %s cannot be read: %v", s.Name, err)
	case len(requests) == 0:
		t.Logf("LiteIO has recorded no requests of the space %s: those with other keys are not its own", s.Name)
	default:
		t.Logf("requests of the space %s:\n%s", s.Name, describeRequests(requests))
	}
}

// settledRequests has the recorded requests, with those of the last moment.
func (s *Space) settledRequests() ([]Request, error) {
	query := url.Values{"count": {fmt.Sprint(keptMax)}}
	if err := s.wait("/requests/wait", query, settleMax, nil); err != nil && !errors.Is(err, ErrTimeout) {
		return nil, err
	}
	return s.Requests(RequestFilter{})
}

// describeRequests has a line for each of the last requests.
func describeRequests(requests []Request) string {
	lines := []string{}
	if left := len(requests) - loggedMax; left > 0 {
		lines = append(lines, fmt.Sprintf("(%d earlier ones)", left))
		requests = requests[left:]
	}
	for _, request := range requests {
		resource := strings.TrimSuffix(request.Bucket+"/"+request.Key, "/")
		line := []string{request.name(), resource, fmt.Sprint(request.Status), request.Code}
		lines = append(lines, strings.Join(strings.Fields(strings.Join(line, " ")), " "))
	}
	return strings.Join(lines, "\n")
}
