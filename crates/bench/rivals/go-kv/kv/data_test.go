package kv

import (
	"encoding/hex"
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
