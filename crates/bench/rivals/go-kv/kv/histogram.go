package kv

import (
	"math"
	"math/bits"
	"time"
)

const (
	precisionBits = 7
	buckets       = (64 - precisionBits + 1) << precisionBits
)

// histogram counts times in buckets as crates/bench/src/histogram.rs does.
type histogram struct {
	counts [buckets]uint64
	count  uint64
	max    uint64
}

func (h *histogram) record(elapsed time.Duration) {
	nanoseconds := uint64(max(elapsed, 0))
	h.counts[bucket(nanoseconds)]++
	h.count++
	h.max = max(h.max, nanoseconds)
}

func (h *histogram) percentiles(values map[string]float64) {
	if h.count == 0 {
		return
	}
	for id, share := range shares {
		values[id] = h.percentile(share)
	}
}

func (h *histogram) percentile(share float64) float64 {
	rank := max(uint64(math.Ceil(share*float64(h.count))), 1)
	if rank >= h.count {
		return float64(h.max)
	}
	seen := uint64(0)
	for place, count := range h.counts {
		if seen += count; seen >= rank {
			return float64(lowest(place))
		}
	}
	return float64(h.max)
}

func bucket(nanoseconds uint64) int {
	shift := max(bits.Len64(nanoseconds)-precisionBits-1, 0)
	return shift<<precisionBits + int(nanoseconds>>shift)
}

func lowest(bucket int) uint64 {
	shift := max(bucket>>precisionBits-1, 0)
	return uint64(bucket-shift<<precisionBits) << shift
}
