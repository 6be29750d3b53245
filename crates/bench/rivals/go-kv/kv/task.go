package kv

// Task is what a process is asked.
type Task struct {
	Engine     string  `json:"engine"`
	Directory  string  `json:"directory"`
	Sync       string  `json:"sync"`
	Seed       uint64  `json:"seed"`
	SecondsMax float64 `json:"seconds_max"`
	Work       Work    `json:"work"`
}

// Work is one kind of work with those numbers that belong to it.
type Work struct {
	Kind         string `json:"kind"`
	Puts         uint64 `json:"puts"`
	Gets         uint64 `json:"gets"`
	Scans        uint64 `json:"scans"`
	ScanEntries  uint64 `json:"scan_entries"`
	Preload      uint64 `json:"preload"`
	Writers      uint64 `json:"writers"`
	Size         uint64 `json:"size"`
	Acknowledged string `json:"acknowledged"`
	Entries      uint64 `json:"entries"`
	ValueBytes   uint64 `json:"value_bytes"`
	IdleSeconds  uint64 `json:"idle_seconds"`
}

// Outcome is what it answers.
type Outcome struct {
	Version     string   `json:"version"`
	Phases      []*Phase `json:"phases"`
	Failure     *string  `json:"failure"`
	Unsupported bool     `json:"unsupported"`
}

// Phase is one thing that was measured.
type Phase struct {
	ID          string             `json:"id"`
	Operations  uint64             `json:"operations"`
	Nanoseconds uint64             `json:"nanoseconds"`
	Errors      uint64             `json:"errors"`
	FirstError  *string            `json:"first_error"`
	Absent      *string            `json:"absent"`
	Values      map[string]float64 `json:"values"`
}
