package kv

import (
	"encoding/hex"
	"slices"
	"testing"
)

// The same bytes stand in the test of crates/bench/src/kv/data.rs.
func TestTheDataIsTheSameInEveryLanguage(t *testing.T) {
	d := data{seed: 42}
	for _, check := range []struct{ what, got, want string }{
		{"key", hex.EncodeToString(d.key(1)), "bdd732262feb6e95e37241c09304f97f"},
		{"value", hex.EncodeToString(d.value(1)[:8]), "5428df8592816531"},
		{"its end", hex.EncodeToString(d.value(1)[96:]), "e1891dd7"},
	} {
		if check.got != check.want {
			t.Errorf("%s: %s, expected %s", check.what, check.got, check.want)
		}
	}
	if entry := d.randomEntry(1, 1_000_000); entry != 601_271 {
		t.Errorf("random entry: %d", entry)
	}
}

func TestABucketIsNarrowAndBeginsAtOrBelowItsTimes(t *testing.T) {
	for bit := range 64 {
		for _, time := range []uint64{1<<bit - 1, 1 << bit, 1<<bit + 1<<bit>>1} {
			low := lowest(bucket(time))
			if bucket(time) >= buckets || low > time || time-low > time/128 {
				t.Errorf("%d: bucket %d from %d", time, bucket(time), low)
			}
		}
	}
}

func TestScansShowTheEntriesInOrder(t *testing.T) {
	d := data{seed: 42}
	for _, check := range []struct{ entries, count uint64 }{{1, 1}, {3, 2}, {2_000, 1_000}, {2_000, 7}} {
		keys := []string{}
		numbers := map[string]uint64{}
		for number := range check.entries {
			key := string(d.key(number))
			keys, numbers[key] = append(keys, key), number
		}
		slices.Sort(keys)
		starts := [][]byte{[]byte(keys[0]), []byte(keys[len(keys)/2]), []byte(keys[len(keys)-1])}
		firsts := []int{0, len(keys) / 2, len(keys) - 1}
		for scan, found := range d.scans(starts, check.count, check.entries) {
			want := seen{}
			for _, key := range keys[firsts[scan]:min(firsts[scan]+int(check.count), len(keys))] {
				want.add([]byte(key), d.value(numbers[key]))
			}
			if found != want {
				t.Errorf("%v from %d: %v, expected %v", check, firsts[scan], found, want)
			}
		}
	}
}
