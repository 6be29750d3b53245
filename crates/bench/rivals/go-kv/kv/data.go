// Package kv measures one key-value engine: the same tasks, the same data and the same answers as
// crates/bench/src/kv, where they are explained.
package kv

import (
	"encoding/binary"
	"math/bits"
)

const (
	keyBytes   = 16
	valueBytes = 100
	golden     = 0x9e3779b97f4a7c15
)

// Pair is a key with its value.
type Pair struct {
	Key   []byte
	Value []byte
}

type data struct {
	seed uint64
}

func (d data) key(number uint64) []byte {
	key := make([]byte, keyBytes)
	first := mix(d.seed + number*golden)
	binary.BigEndian.PutUint64(key, first)
	binary.BigEndian.PutUint64(key[8:], mix(first^golden))
	return key
}

func (d data) value(number uint64) []byte { return d.largeValue(number, valueBytes) }

func (d data) largeValue(number, length uint64) []byte {
	value := make([]byte, length)
	state := mix(d.seed ^ mix(number))
	var word [8]byte
	for place := uint64(0); place < length; place += 8 {
		state += golden
		binary.LittleEndian.PutUint64(word[:], mix(state))
		copy(value[place:], word[:])
	}
	return value
}

func (d data) pair(number uint64) Pair {
	return Pair{Key: d.key(number), Value: d.value(number)}
}

func (d data) pairs(from, to uint64) []Pair {
	pairs := make([]Pair, 0, to-from)
	for number := from; number < to; number++ {
		pairs = append(pairs, d.pair(number))
	}
	return pairs
}

func (d data) randomEntry(step, count uint64) uint64 {
	high, _ := bits.Mul64(mix(^d.seed^step*golden), count)
	return high
}

func mix(word uint64) uint64 {
	word = (word ^ word>>30) * 0xbf58476d1ce4e5b9
	word = (word ^ word>>27) * 0x94d049bb133111eb
	return word ^ word>>31
}
