package kv

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
)

// CacheBytes is the memory for the cache of every engine that has such a setting.
const CacheBytes = 256 << 20

// Engine is an open engine. All methods may be called by many goroutines at once.
type Engine interface {
	// Put sets a key in a transaction of its own.
	Put(key, value []byte) error
	// PutAll puts all pairs in one transaction.
	PutAll(pairs []Pair) error
	// Get returns a value that nobody changes any more, or nil if there is none.
	Get(key []byte) ([]byte, error)
	// Scan shows up to count entries in order, from the first that is not below from.
	Scan(from []byte, count int, entry func(key, value []byte)) error
	Close() error
}

// Deleter is an engine that is asked to give space back.
type Deleter interface {
	// DeleteAll deletes all keys in one transaction.
	DeleteAll(keys [][]byte) error
}

// Lack says that an engine has no such operation.
type Lack string

func (lack Lack) Error() string { return string(lack) }

// NoOrder is the answer of engines that only hash their keys.
const NoOrder = Lack("it has no order")

// Copy returns bytes that stay.
func Copy(bytes []byte) []byte {
	return append(make([]byte, 0, len(bytes)), bytes...)
}

// Open opens an engine in a directory. With sync, every put is on the disk before it returns.
type Open func(directory string, sync bool) (Engine, error)

// Main does the task of the only argument and prints its outcome.
func Main(module string, open Open) {
	var task Task
	if len(os.Args) != 2 {
		fail(errors.New("expected one task"))
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &task); err != nil {
		fail(err)
	}
	outcome := Outcome{Version: version(module), Phases: []*Phase{}}
	phases, err := newSite(task, open).run(task.Work)
	if err != nil {
		var lack Lack
		outcome.Unsupported = errors.As(err, &lack)
		reason := err.Error()
		outcome.Failure = &reason
	} else {
		outcome.Phases = phases
	}
	line, err := json.Marshal(outcome)
	if err != nil {
		fail(err)
	}
	fmt.Printf("\n%s\n", line)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}

func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == module {
				return dependency.Version
			}
		}
	}
	return ""
}
