package liteio

import (
	"fmt"
	"net/url"
	"testing"
)

// Rule says which requests fail, are slow, or are cut off, and how. Operation, Bucket and Key are patterns with * and ?.
type Rule struct {
	Operation string `json:"operation,omitempty"`
	Bucket    string `json:"bucket,omitempty"`
	Key       string `json:"key,omitempty"`
	// Status, 400 to 599, is that which they fail with; Code and Message go with it.
	Status  int    `json:"status,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// LatencyMS is how long they wait.
	LatencyMS int64 `json:"latency_ms,omitempty"`
	// CutAfterBytes closes the connection after so many bytes of the answer's body.
	CutAfterBytes *int64 `json:"cut_after_bytes,omitempty"`
	// Bandwidth is that of bodies, in bytes per second.
	Bandwidth int64 `json:"bandwidth,omitempty"`
	// Times is how often the rule is in force; always if it is 0.
	Times int `json:"times,omitempty"`
	// Probability is 0 to 1; 1 if it is nil.
	Probability *float64 `json:"probability,omitempty"`
}

// Fault is a rule in force.
type Fault struct {
	ID    string
	space *Space
}

// Fault puts a rule in force until the test ends.
func (s *Space) Fault(t testing.TB, rule Rule) *Fault {
	t.Helper()
	fault, err := s.NewFault(rule)
	if err != nil {
		t.Fatalf("liteio: %v", err)
	}
	t.Cleanup(func() {
		// A reset, ClearFaults or Remove may have come before.
		_ = fault.Remove()
	})
	return fault
}

// NewFault puts a rule in force until Remove, ClearFaults or Reset.
func (s *Space) NewFault(rule Rule) (*Fault, error) {
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

// ClearFaults removes all rules.
func (s *Space) ClearFaults() error {
	return s.call("DELETE", "/faults", nil, nil)
}

// Hits is the number of requests that the rule was applied to.
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

// Remove ends the rule.
func (f *Fault) Remove() error {
	return f.space.call("DELETE", "/faults/"+url.PathEscape(f.ID), nil, nil)
}
