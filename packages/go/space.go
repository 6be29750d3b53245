package liteio

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Space has its own buckets, vector buckets, users, faults and clock. Its credentials select it.
type Space struct {
	// Name is empty for the main space of a server.
	Name      string
	Endpoint  string
	AccessKey string
	SecretKey string
	Region    string
	control   *control
}

// foreign has the variables that would select other credentials or another endpoint, or conflict with the new
// values.
var foreign = []string{
	"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_ROLE_ARN",
	"AWS_CREDENTIAL_EXPIRATION", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_WEB_IDENTITY_TOKEN_FILE",
	"AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT",
}

// Env returns the variables that point AWS SDKs and the AWS CLI at this space.
func (s *Space) Env() map[string]string {
	env := map[string]string{
		"AWS_ENDPOINT_URL":      s.Endpoint,
		"AWS_ACCESS_KEY_ID":     s.AccessKey,
		"AWS_SECRET_ACCESS_KEY": s.SecretKey,
		"AWS_REGION":            s.Region,
		"AWS_DEFAULT_REGION":    s.Region,
		"LITEIO_ENDPOINT":       s.Endpoint,
		"LITEIO_TEST_ENDPOINT":  s.Endpoint + testAPI,
	}
	for _, service := range []string{"S3", "S3VECTORS", "IAM", "STS"} {
		env["AWS_ENDPOINT_URL_"+service] = s.Endpoint
	}
	// Of the alias local of "liteio client" and mc, which is a server on port 9000 otherwise.
	env["MC_HOST_local"] = strings.Replace(s.Endpoint, "://", "://"+s.AccessKey+":"+s.SecretKey+"@", 1)
	direct := noProxy(s.Endpoint)
	env["NO_PROXY"], env["no_proxy"] = direct, direct
	return env
}

// noProxy has the hosts without a proxy: the existing ones and the server.
func noProxy(endpoint string) string {
	set := os.Getenv("no_proxy")
	if set == "" {
		set = os.Getenv("NO_PROXY")
	}
	hosts := strings.FieldsFunc(set, func(r rune) bool { return r == ',' || r == ' ' })
	if parsed, err := url.Parse(endpoint); err == nil && !slices.Contains(hosts, parsed.Hostname()) {
		hosts = append(hosts, parsed.Hostname())
	}
	return strings.Join(hosts, ",")
}

// Setenv points the variables AWS_… at this space until the test ends. Like t.Setenv, it is not for parallel tests.
func (s *Space) Setenv(t testing.TB) {
	needTest(t, "Setenv", "Env")
	t.Helper()
	for _, name := range foreign {
		t.Setenv(name, "")
	}
	// Without HTTPS it has no use, and the SDK fails if its file is missing.
	if strings.HasPrefix(s.Endpoint, "http://") {
		t.Setenv("AWS_CA_BUNDLE", "")
	}
	for name, value := range s.Env() {
		t.Setenv(name, value)
	}
}

// Reset restores the initial state of the space: the buckets and the seed of the server, without users, faults, clock
// changes, requests and events. Snapshots stay.
func (s *Space) Reset() error {
	return s.call("POST", "/reset", nil, nil)
}

// Snapshot saves the complete state under a name, in memory. It replaces a snapshot of that name.
func (s *Space) Snapshot(name string) error {
	return s.call("PUT", "/snapshots/"+url.PathEscape(name), nil, nil)
}

// Restore restores the complete state of a snapshot.
func (s *Space) Restore(name string) error {
	return s.call("POST", "/snapshots/"+url.PathEscape(name)+"/restore", nil, nil)
}

// Snapshots returns the names of the snapshots.
func (s *Space) Snapshots() ([]string, error) {
	var answer struct {
		Snapshots []struct{ Name string }
	}
	if err := s.call("GET", "/snapshots", nil, &answer); err != nil {
		return nil, err
	}
	names := []string{}
	for _, snapshot := range answer.Snapshots {
		names = append(names, snapshot.Name)
	}
	return names, nil
}

// DeleteSnapshot deletes a snapshot.
func (s *Space) DeleteSnapshot(name string) error {
	return s.call("DELETE", "/snapshots/"+url.PathEscape(name), nil, nil)
}

// Delete deletes the space and its contents.
func (s *Space) Delete() error {
	if s.Name == "" {
		return errors.New("the main space of a server cannot be deleted: Reset empties it")
	}
	return s.control.call("DELETE", "/spaces/"+url.PathEscape(s.Name), nil, nil, nil)
}

// Now returns the time of the clock for presigned URLs, lifecycle rules, retention and session tokens.
func (s *Space) Now() (time.Time, error) {
	return s.clock("GET", nil)
}

// SetClock sets the clock, which continues to run.
func (s *Space) SetClock(moment time.Time) (time.Time, error) {
	return s.clock("PUT", map[string]any{"now": moment.UTC().Format("2006-01-02T15:04:05.000Z")})
}

// AdvanceClock advances the clock. Lifecycle rules run for each day on the way.
func (s *Space) AdvanceClock(by time.Duration) (time.Time, error) {
	return s.clock("PUT", map[string]any{"advance_ms": by.Milliseconds()})
}

// ResetClock sets the clock to the time of the machine.
func (s *Space) ResetClock() (time.Time, error) {
	return s.clock("PUT", map[string]any{"reset": true})
}

func (s *Space) clock(method string, body any) (time.Time, error) {
	var answer struct{ Now time.Time }
	err := s.control.call(method, "/clock", s.query(), body, &answer)
	return answer.Now, err
}

func (s *Space) query() url.Values {
	if s.Name == "" {
		return url.Values{}
	}
	return url.Values{"space": {s.Name}}
}

func (s *Space) call(method, path string, body, answer any) error {
	return s.control.call(method, path, s.query(), body, answer)
}

// ErrTimeout is the error of a wait without enough matches in time.
var ErrTimeout = errors.New("too few matched in time")

func (s *Space) wait(path string, query url.Values, timeout time.Duration, answer any) error {
	for name, values := range s.query() {
		query[name] = values
	}
	query.Set("timeout_ms", fmt.Sprint(max(1, timeout.Milliseconds())))
	err := s.control.callWithin(timeout+answerMax, "GET", path, query, nil, answer)
	var refused *Error
	if errors.As(err, &refused) && refused.Status == http.StatusRequestTimeout {
		return fmt.Errorf("%w (%s): %s%s", ErrTimeout, described(query), refused.Message, s.inMain(path))
	}
	return err
}

// inMain has the number of requests or events of the main space if this space has none: mostly of a client with the keys of the
// server, or with any keys where a profile takes them.
func (s *Space) inMain(path string) string {
	if s.Name == "" || s.count(path, s.query()) > 0 {
		return ""
	}
	count := s.count(path, url.Values{})
	if count == 0 {
		return ""
	}
	return fmt.Sprintf(" This space has none, the main space, where a client without the keys of this space gets, has %d.", count)
}

func (s *Space) count(path string, query url.Values) int {
	query.Set("timeout_ms", "1")
	var answer struct {
		Requests []Request
		Events   []Event
	}
	// 408 without any.
	if err := s.control.call("GET", path, query, nil, &answer); err != nil {
		return 0
	}
	return len(answer.Requests) + len(answer.Events)
}

// described has the filter of a wait as the caller wrote it, not as a URL has it.
func described(query url.Values) string {
	names := []string{}
	for name := range query {
		if name != "space" && name != "timeout_ms" {
			names = append(names, name+"="+query.Get(name))
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
