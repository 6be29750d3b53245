package kv

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"sort"
)

// scansAtOnce are the scans whose entries are found in one pass over all keys.
const scansAtOnce = 100

// scans are the digests of scans of count entries each, from each of starts on, found without keeping all keys:
// see crates/bench/src/kv/scan.rs.
func (d data) scans(starts [][]byte, count, entries uint64) []seen {
	type start struct {
		from uint64
		scan int
	}
	type entry struct {
		key    []byte
		number uint64
	}
	froms := []start{}
	for scan, key := range starts {
		froms = append(froms, start{binary.BigEndian.Uint64(key), scan})
	}
	slices.SortFunc(froms, func(a, b start) int {
		if a.from < b.from {
			return -1
		}
		return 1
	})
	mean := max(math.MaxUint64/max(entries, 1), 1)
	width := product(mean, count+count/2+64)
	for {
		found := make([][]entry, len(starts))
		for number := range entries {
			key := d.key(number)
			place := binary.BigEndian.Uint64(key)
			before := sort.Search(len(froms), func(at int) bool { return froms[at].from > place })
			for at := before - 1; at >= 0 && place-froms[at].from <= width; at-- {
				scan := froms[at].scan
				found[scan] = append(found[scan], entry{key, number})
			}
		}
		whole := true
		for scan, key := range starts {
			ends := binary.BigEndian.Uint64(key) > math.MaxUint64-width
			whole = whole && (ends || uint64(len(found[scan])) >= count)
		}
		if !whole {
			width = product(width, 2)
			continue
		}
		digests := make([]seen, len(starts))
		for scan, all := range found {
			slices.SortFunc(all, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
			for _, entry := range all[:min(count, uint64(len(all)))] {
				digests[scan].add(entry.key, d.value(entry.number))
			}
		}
		return digests
	}
}

// product is a times b, or the largest number.
func product(a, b uint64) uint64 {
	if b != 0 && a > math.MaxUint64/b {
		return math.MaxUint64
	}
	return a * b
}
