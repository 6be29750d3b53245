package liteio

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What an error names at most.
const namedMax = 10

// RequestFilter selects recorded requests. The strings are patterns with * and ?, such as "Put*" or "5??"; an empty
// one matches all. Clients send the operation ListObjects or ListObjectsV2: "ListObjects*" matches both.
type RequestFilter struct {
	Operation, Bucket, Key, Method, Status string
	// User is the sender: the access key of the owner of the space, the ARN of a user, such as
	// arn:aws:iam::000000000000:user/bob, or that of a session, arn:aws:sts::000000000000:assumed-role/ROLE/SESSION. "*/bob" matches
	// the user bob. Requests without a valid signature have none.
	User string
	// Since is the first sequence number that matches: last.Sequence+1 waits for what comes after last.
	Since int64
}

// EventFilter selects events, by patterns such as "s3:ObjectCreated:*".
type EventFilter struct {
	Bucket, Key, Name string
	// Since is the first sequence number that matches: last.Sequence+1 waits for what comes after last.
	Since int64
}

// Request is a request that has ended. Its Status is 0 if the client had gone before the answer.
type Request struct {
	ID         string            `json:"id"`
	Sequence   int64             `json:"sequence"`
	Time       time.Time         `json:"time"`
	Space      string            `json:"space"`
	Method     string            `json:"method"`
	Operation  string            `json:"operation"`
	Bucket     string            `json:"bucket"`
	Key        string            `json:"key"`
	Query      string            `json:"query"`
	Status     int               `json:"status"`
	Code       string            `json:"code"`
	User       string            `json:"user"`
	BytesIn    int64             `json:"bytes_in"`
	BytesOut   int64             `json:"bytes_out"`
	DurationMS float64           `json:"duration_ms"`
	UserAgent  string            `json:"user_agent"`
	Headers    map[string]string `json:"headers"`
}

// Event is a change of an object, as in event notifications.
type Event struct {
	Sequence  int64     `json:"sequence"`
	Name      string    `json:"name"`
	Bucket    string    `json:"bucket"`
	Key       string    `json:"key"`
	VersionID string    `json:"version_id"`
	Size      int64     `json:"size"`
	ETag      string    `json:"etag"`
	Time      time.Time `json:"time"`
}

// Requests returns the recorded requests that match, oldest first. A request is recorded shortly after its answer: use
// WaitForRequest right after a request.
func (s *Space) Requests(filter RequestFilter) ([]Request, error) {
	query := filter.query()
	for name, values := range s.query() {
		query[name] = values
	}
	var answer struct{ Requests []Request }
	err := s.control.call("GET", "/requests", query, nil, &answer)
	return answer.Requests, err
}

// ClearRequests deletes the recorded requests.
func (s *Space) ClearRequests() error {
	return s.call("DELETE", "/requests", nil, nil)
}

// WaitForRequest waits until count requests match, including earlier ones. A timeout returns ErrTimeout, with the filter and
// the operations that were recorded, and their users if the filter has one.
func (s *Space) WaitForRequest(filter RequestFilter, count int, timeout time.Duration) ([]Request, error) {
	query := filter.query()
	query.Set("count", strconv.Itoa(count))
	var answer struct{ Requests []Request }
	err := s.wait("/requests/wait", query, timeout, &answer)
	if errors.Is(err, ErrTimeout) {
		err = fmt.Errorf("%w %s", err, s.recorded(filter))
	}
	return answer.Requests, err
}

// recorded has the names of the recorded operations, and their users if the filter has one, so that a filter with another one is seen.
func (s *Space) recorded(filter RequestFilter) string {
	requests, err := s.Requests(RequestFilter{})
	if err != nil {
		return "The recorded operations are: " + err.Error()
	}
	operations, users := []string{}, []string{}
	for _, request := range requests {
		operations = append(operations, request.name())
		if request.User != "" {
			users = append(users, request.User)
		}
	}
	seen := "The recorded operations are: " + each(operations)
	if filter.User != "" {
		seen += "; their users are: " + each(users)
	}
	return seen
}

// each has each name once.
func each(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// name is the operation, or the method of a request without one: a preflight request, or one that was refused early.
func (r Request) name() string {
	switch {
	case r.Operation != "":
		return r.Operation
	case r.Status >= http.StatusBadRequest:
		return r.Method + " (refused before its operation was known)"
	}
	return r.Method
}

// WaitForEvent waits until an event matches, without a notification configuration. A timeout returns ErrTimeout, with the filter
// and the last events.
func (s *Space) WaitForEvent(filter EventFilter, timeout time.Duration) ([]Event, error) {
	return s.WaitForEvents(filter, 1, timeout)
}

// WaitForEvents waits until count events match, including earlier ones. A timeout returns ErrTimeout, with the filter and the
// last events.
func (s *Space) WaitForEvents(filter EventFilter, count int, timeout time.Duration) ([]Event, error) {
	query := queryOf(map[string]string{"bucket": filter.Bucket, "key": filter.Key, "name": filter.Name}, filter.Since)
	query.Set("count", strconv.Itoa(count))
	var answer struct{ Events []Event }
	err := s.wait("/events/wait", query, timeout, &answer)
	if errors.Is(err, ErrTimeout) {
		err = fmt.Errorf("%w The last events are: %s", err, s.lastEvents())
	}
	return answer.Events, err
}

// lastEvents has the names and objects of the last events, so that a filter with another one is seen.
func (s *Space) lastEvents() string {
	var answer struct{ Events []Event }
	// There is no list of events, but a wait for one that has come is answered with all.
	err := s.wait("/events/wait", url.Values{"count": {"1"}}, time.Millisecond, &answer)
	if errors.Is(err, ErrTimeout) {
		return "none"
	}
	if err != nil {
		return err.Error()
	}
	names := []string{}
	for _, event := range answer.Events[max(0, len(answer.Events)-namedMax):] {
		names = append(names, event.Name+" "+event.Bucket+"/"+event.Key)
	}
	return strings.Join(names, ", ")
}

func (f RequestFilter) query() url.Values {
	return queryOf(map[string]string{
		"operation": f.Operation, "bucket": f.Bucket, "key": f.Key, "method": f.Method, "status": f.Status,
		"user": f.User,
	}, f.Since)
}

func queryOf(filters map[string]string, since int64) url.Values {
	query := url.Values{}
	for name, pattern := range filters {
		if pattern != "" {
			query.Set(name, pattern)
		}
	}
	if since > 0 {
		query.Set("since", strconv.FormatInt(since, 10))
	}
	return query
}
