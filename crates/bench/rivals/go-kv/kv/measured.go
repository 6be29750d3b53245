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

// shares are the percentiles that reports show.
var shares = map[string]float64{"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1}

// measured is a phase that is going on.
type measured struct {
	phase         *Phase
	allocations   uint64
	bytes         uint64
	writtenBefore float64
	cpuBefore     time.Duration
	// cpuMeasured is the processor time in measured operations.
	cpuMeasured time.Duration
	// preparing is the time in which entries were made and answers checked by one goroutine.
	preparing time.Duration
	// histogram has the times of very many operations.
	histogram *histogram
	stopped   bool
}

// cpu is the processor time of this process, of all threads.
func cpu() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func begin(id string) *measured {
	phase := &Phase{ID: id, Values: map[string]float64{}}
	return &measured{phase: phase, writtenBefore: procNumber("io", "write_bytes:"), cpuBefore: cpu()}
}

// mark is what was used until a moment.
type mark struct {
	allocations, bytes uint64
	cpu                time.Duration
}

func marked() mark {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return mark{stats.Mallocs, stats.TotalAlloc, cpu()}
}

// time does some operations and adds them. What is prepared for them outside is not counted.
func (m *measured) time(operations int, work func() error) (time.Duration, error) {
	before := marked()
	start := time.Now()
	if err := work(); err != nil {
		return 0, err
	}
	elapsed := time.Since(start)
	m.add(uint64(operations), elapsed, before)
	return elapsed, nil
}

func (m *measured) add(operations uint64, elapsed time.Duration, before mark) {
	now := marked()
	m.allocations += now.allocations - before.allocations
	m.bytes += now.bytes - before.bytes
	m.cpuMeasured += now.cpu - before.cpu
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
	for id, share := range shares {
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
	// Between measured operations, work in the background is whatever was used beside the one goroutine.
	background := cpu() - m.cpuBefore - m.cpuMeasured - m.preparing
	m.phase.Values["operation_cpu"] = float64(m.cpuMeasured+max(background, 0)) / operations
	m.phase.Values["written_bytes"] = (procNumber("io", "write_bytes:") - m.writtenBefore) / operations
	m.phase.Values["allocations"] = float64(m.allocations) / operations
	m.phase.Values["allocated_bytes"] = float64(m.bytes) / operations
}

func (m *measured) end() *Phase {
	m.stop()
	if m.histogram != nil {
		m.histogram.percentiles(m.phase.Values)
	}
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
