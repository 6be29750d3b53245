package kv

import (
	"bytes"
	"fmt"
	"time"
)

// space puts entries with large values, deletes all, idles and opens it again: see
// crates/bench/src/kv/space.rs.
func (s site) space(work Work) ([]*Phase, error) {
	engine, err := s.open(s.directory, s.sync)
	if err != nil {
		return nil, err
	}
	deleter, ok := engine.(Deleter)
	if !ok {
		return nil, Lack("not measured")
	}
	start := time.Now()
	for first := uint64(0); first < work.Puts; first += preloadBatch {
		pairs := []Pair{}
		for number := first; number < min(work.Puts, first+preloadBatch); number++ {
			pairs = append(pairs, Pair{s.data.key(number), s.data.largeValue(number, work.ValueBytes)})
		}
		if err := engine.PutAll(pairs); err != nil {
			return nil, err
		}
	}
	put := s.step("space_put", time.Since(start))
	if err := s.look(engine, work, true, put); err != nil {
		return nil, err
	}
	start = time.Now()
	for first := uint64(0); first < work.Puts; first += preloadBatch {
		keys := [][]byte{}
		for number := first; number < min(work.Puts, first+preloadBatch); number++ {
			keys = append(keys, s.data.key(number))
		}
		if err := deleter.DeleteAll(keys); err != nil {
			return nil, err
		}
	}
	deleted := s.step("space_deleted", time.Since(start))
	if err := s.look(engine, work, false, deleted); err != nil {
		return nil, err
	}
	start = time.Now()
	idleMax, leftMax := time.Duration(work.IdleSeconds)*time.Second, 0.1*put.Values["disk"]
	for time.Since(start) < idleMax && diskUsed(s.directory) > leftMax {
		time.Sleep(250 * time.Millisecond)
	}
	idle := s.step("space_idle", time.Since(start))
	idle.Values["idle"] = time.Since(start).Seconds()
	if err := engine.Close(); err != nil {
		return nil, err
	}
	start = time.Now()
	if engine, err = s.open(s.directory, s.sync); err != nil {
		return nil, err
	}
	restart := s.step("space_restart", time.Since(start))
	if err := s.look(engine, work, false, restart); err != nil {
		return nil, err
	}
	return []*Phase{put, deleted, idle, restart}, engine.Close()
}

func (s site) step(id string, elapsed time.Duration) *Phase {
	values := map[string]float64{"disk": diskUsed(s.directory)}
	return &Phase{ID: id, Operations: 1, Nanoseconds: uint64(elapsed), Values: values}
}

// look looks for some of the entries: they are there as they were put, or not at all.
func (s site) look(engine Engine, work Work, there bool, phase *Phase) error {
	for number := uint64(0); number < work.Puts; number += max(work.Puts/checks, 1) {
		value, err := engine.Get(s.data.key(number))
		if err != nil {
			return err
		}
		right := value == nil
		if there {
			right = bytes.Equal(value, s.data.largeValue(number, work.ValueBytes))
		}
		if !right {
			phase.Errors++
			reason := fmt.Sprintf("entry %d is there although deleted, missing or wrong", number)
			phase.FirstError = &reason
		}
	}
	return nil
}
