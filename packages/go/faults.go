package liteio

import (
	"fmt"
	"net/url"
	"testing"
)

// Rule is a fault: it makes matching requests fail, slows them down, or cuts them off. Operation, Bucket and Key (of S3
// Vectors: vector bucket and index) are patterns with * and ?. ListObjects and ListObjectsV2 are two operations: "ListObjects*" is
// both.
type Rule struct {
	Operation string `json:"operation,omitempty"`
	Bucket    string `json:"bucket,omitempty"`
	Key       string `json:"key,omitempty"`
	// Status is the status of the error answer, 400 to 599; Code and Message are optional.
	Status  int    `json:"status,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// LatencyMS is the delay before the operation.
	LatencyMS int64 `json:"latency_ms,omitempty"`
	// CutAfterBytes closes the connection after this number of bytes of the answer's body.
	CutAfterBytes *int64 `json:"cut_after_bytes,omitempty"`
	// Bandwidth is the speed of both bodies, in bytes per second.
	Bandwidth int64 `json:"bandwidth,omitempty"`
	// Times is the number of requests the rule applies to; 0 means no limit.
	Times int `json:"times,omitempty"`
	// Probability is 0 to 1; nil means 1.
	Probability *float64 `json:"probability,omitempty"`
}

// Fault is an active rule.
type Fault struct {
	ID    string
	space *Space
}

// Fault activates a rule until the test ends.
func (s *Space) Fault(t testing.TB, rule Rule) *Fault {
	needTest(t, "Fault", "NewFault")
	t.Helper()
	fault, err := s.NewFault(rule)
	if err != nil {
		t.Fatalf("liteio: %v", err)
	}
	t.Cleanup(func() {
		// The server may have stopped, and its rules with it.
		_ = fault.Remove()
	})
	return fault
}

// NewFault activates a rule until Remove, ClearFaults or Reset.
func (s *Space) NewFault(rule Rule) (*Fault, error) {
	if err := rule.check(); err != nil {
		return nil, err
	}
	body := struct {
		Rule
		Space string `json:"space,omitempty"`
	}{rule, s.Name}
	var made struct{ ID string }
	if err := s.control.call("POST", "/faults", nil, body, &made); err != nil {
		return nil, err
	}
	return &Fault{ID: made.ID, space: s}, nil
}

// check returns an error for a negative number: the server would answer in the words of its parser.
func (r Rule) check() error {
	numbers := []struct {
		name  string
		value int64
	}{
		{"Status", int64(r.Status)}, {"LatencyMS", r.LatencyMS}, {"Bandwidth", r.Bandwidth}, {"Times", int64(r.Times)},
	}
	for _, number := range numbers {
		if number.value < 0 {
			return fmt.Errorf("Rule: %s is not negative, but %d", number.name, number.value)
		}
	}
	if r.CutAfterBytes != nil && *r.CutAfterBytes < 0 {
		return fmt.Errorf("Rule: CutAfterBytes is not negative, but %d", *r.CutAfterBytes)
	}
	return nil
}

// ClearFaults removes all rules.
func (s *Space) ClearFaults() error {
	return s.call("DELETE", "/faults", nil, nil)
}

// Hits returns the number of requests that matched the rule.
func (f *Fault) Hits() (int, error) {
	var answer struct {
		Faults []struct {
			ID   string
			Hits int
		}
	}
	if err := f.space.call("GET", "/faults", nil, &answer); err != nil {
		return 0, err
	}
	for _, fault := range answer.Faults {
		if fault.ID == f.ID {
			return fault.Hits, nil
		}
	}
	return 0, fmt.Errorf("the fault %s is not in force any more", f.ID)
}

// Remove removes the rule, unless ClearFaults or Reset has.
func (f *Fault) Remove() error {
	err := f.space.call("DELETE", "/faults/"+url.PathEscape(f.ID), nil, nil)
	if isNotFound(err) {
		return nil
	}
	return err
}
