package kv

import (
	"encoding/binary"
	"io/fs"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// measured is a phase that is going on.
type measured struct {
	phase         *Phase
	allocations   uint64
	bytes         uint64
	writtenBefore float64
	stopped       bool
}

func begin(id string) *measured {
	phase := &Phase{ID: id, Values: map[string]float64{}}
	return &measured{phase: phase, writtenBefore: procNumber("io", "write_bytes:")}
}

func memory() (count, bytes uint64) {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Mallocs, stats.TotalAlloc
}

// time does some operations and adds them. What is prepared for them outside is not counted.
func (m *measured) time(operations int, work func() error) (time.Duration, error) {
	count, bytes := memory()
	start := time.Now()
	if err := work(); err != nil {
		return 0, err
	}
	elapsed := time.Since(start)
	m.add(uint64(operations), elapsed, count, bytes)
	return elapsed, nil
}

func (m *measured) add(operations uint64, elapsed time.Duration, count, bytes uint64) {
	countNow, bytesNow := memory()
	m.allocations += countNow - count
	m.bytes += bytesNow - bytes
	m.phase.Operations += operations
	m.phase.Nanoseconds += uint64(elapsed)
}

func (m *measured) elapsed() time.Duration {
	return time.Duration(m.phase.Nanoseconds)
}

func (m *measured) fail(reason string) {
	m.phase.Errors++
	if m.phase.FirstError == nil {
		m.phase.FirstError = &reason
	}
}

// percentiles takes the smallest time that so many do not exceed.
func (m *measured) percentiles(times []time.Duration) {
	if len(times) == 0 {
		return
	}
	slices.Sort(times)
	for id, share := range map[string]float64{"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999} {
		rank := int(math.Ceil(share * float64(len(times))))
		m.phase.Values[id] = float64(times[max(rank, 1)-1])
	}
}

// stop ends what is measured: checks after it do not count.
func (m *measured) stop() {
	if m.stopped || m.phase.Operations == 0 {
		return
	}
	m.stopped = true
	operations := float64(m.phase.Operations)
	m.phase.Values["written_bytes"] = (procNumber("io", "write_bytes:") - m.writtenBefore) / operations
	m.phase.Values["allocations"] = float64(m.allocations) / operations
	m.phase.Values["allocated_bytes"] = float64(m.bytes) / operations
}

func (m *measured) end() *Phase {
	m.stop()
	return m.phase
}

// seen is what of a scan can be compared cheaply: it reads every byte.
type seen struct {
	count int
	sum   uint64
}

func (s *seen) add(key, value []byte) {
	s.count++
	for _, bytes := range [2][]byte{key, value} {
		for len(bytes) >= 8 {
			s.sum = bits.RotateLeft64(s.sum, 1) + binary.LittleEndian.Uint64(bytes)
			bytes = bytes[8:]
		}
		if len(bytes) > 0 {
			var word [8]byte
			copy(word[:], bytes)
			s.sum = bits.RotateLeft64(s.sum, 1) + binary.LittleEndian.Uint64(word[:])
		}
	}
}

// procNumber is the number behind a name in a file of this process.
func procNumber(file, name string) float64 {
	text, err := os.ReadFile("/proc/self/" + file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, name); found {
			number, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err == nil {
				return number
			}
		}
	}
	return 0
}

// diskUsed is the bytes of all files below a directory, as the disk counts them.
func diskUsed(directory string) float64 {
	bytes := 0.0
	_ = filepath.WalkDir(directory, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				bytes += float64(stat.Blocks * 512)
			}
		}
		return nil
	})
	return bytes
}
