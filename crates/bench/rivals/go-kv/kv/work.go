package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// block operations are prepared, then measured together, then checked.
	block = 1_000
	// checks entries of a phase are read back after it.
	checks       = 1_000
	preloadBatch = 1_000
)

type site struct {
	open      Open
	directory string
	sync      bool
	data      data
	time      time.Duration
}

func newSite(task Task, open Open) site {
	return site{
		open:      open,
		directory: task.Directory,
		sync:      task.Sync == "each",
		data:      data{seed: task.Seed},
		time:      time.Duration(task.SecondsMax * float64(time.Second)),
	}
}

func (s site) run(work Work) ([]*Phase, error) {
	switch work.Kind {
	case "single":
		return s.single(work)
	case "ahead":
		return nil, Lack("its puts return only when they are done")
	case "writers":
		return s.writers(work)
	case "batches":
		return s.batches(work)
	case "until_killed":
		return nil, s.untilKilled(work)
	case "reopen":
		return s.reopen(work)
	}
	return nil, fmt.Errorf("no work is called %s", work.Kind)
}

func (s site) isOver(phase *measured) bool { return phase.elapsed() >= s.time }

// preloaded opens it with so many entries, which were put without waiting for the disk.
func (s site) preloaded(entries uint64) (Engine, error) {
	engine, err := s.open(s.directory, false)
	if err != nil {
		return nil, err
	}
	for start := uint64(0); start < entries; start += preloadBatch {
		pairs := s.data.pairs(start, min(entries, start+preloadBatch))
		err := engine.PutAll(pairs)
		var lack Lack
		if errors.As(err, &lack) {
			err = putEach(engine, pairs)
		}
		if err != nil {
			return nil, err
		}
	}
	if !s.sync {
		return engine, nil
	}
	if err := engine.Close(); err != nil {
		return nil, err
	}
	return s.open(s.directory, true)
}

func putEach(engine Engine, pairs []Pair) error {
	for _, pair := range pairs {
		if err := engine.Put(pair.Key, pair.Value); err != nil {
			return err
		}
	}
	return nil
}

func (s site) single(work Work) ([]*Phase, error) {
	engine, err := s.open(s.directory, s.sync)
	if err != nil {
		return nil, err
	}
	put := begin("put")
	for start := uint64(0); start < work.Puts && !s.isOver(put); start += block {
		pairs := s.data.pairs(start, min(work.Puts, start+block))
		if _, err := put.time(len(pairs), func() error { return putEach(engine, pairs) }); err != nil {
			return nil, err
		}
	}
	put.stop()
	entries := put.phase.Operations
	s.check(engine, entries, put)
	get := begin("get")
	if err := s.gets(engine, work.Gets, entries, get); err != nil {
		return nil, err
	}
	scan := begin("scan")
	if err := s.scans(engine, work, entries, scan); err != nil {
		return nil, err
	}
	put.phase.Values["memory_peak"] = procNumber("status", "VmHWM:") * 1024
	if err := engine.Close(); err != nil {
		return nil, err
	}
	put.phase.Values["disk"] = diskUsed(s.directory)
	phases := []*Phase{}
	for _, phase := range []*Phase{put.end(), get.end(), scan.end()} {
		if phase.Operations > 0 || phase.Errors > 0 || phase.Absent != nil {
			phases = append(phases, phase)
		}
	}
	return phases, nil
}

func (s site) gets(engine Engine, gets, entries uint64, phase *measured) error {
	values := make([][]byte, block)
	for start := uint64(0); start < gets && !s.isOver(phase); start += block {
		end := min(gets, start+block)
		numbers := make([]uint64, 0, block)
		keys := make([][]byte, 0, block)
		for step := start; step < end; step++ {
			number := s.data.randomEntry(step, entries)
			numbers = append(numbers, number)
			keys = append(keys, s.data.key(number))
		}
		if _, err := phase.time(len(keys), func() (err error) {
			for place, key := range keys {
				if values[place], err = engine.Get(key); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		for place, number := range numbers {
			if !bytes.Equal(values[place], s.data.value(number)) {
				phase.fail(fmt.Sprintf("entry %d is missing or wrong", number))
			}
		}
	}
	return nil
}

func (s site) scans(engine Engine, work Work, entries uint64, phase *measured) error {
	if work.Scans == 0 {
		return nil
	}
	type place struct {
		key    []byte
		number uint64
	}
	order := make([]place, 0, entries)
	for number := uint64(0); number < entries; number++ {
		order = append(order, place{s.data.key(number), number})
	}
	slices.SortFunc(order, func(a, b place) int { return bytes.Compare(a.key, b.key) })
	count := min(work.ScanEntries, entries)
	times := []time.Duration{}
	for step := uint64(0); step < work.Scans && !s.isOver(phase); step++ {
		first := s.data.randomEntry(step, entries-count+1)
		shown := seen{}
		allocations, allocated := memory()
		start := time.Now()
		err := engine.Scan(order[first].key, int(count), shown.add)
		elapsed := time.Since(start)
		var lack Lack
		if errors.As(err, &lack) {
			reason := lack.Error()
			phase.phase.Absent = &reason
			return nil
		}
		if err != nil {
			return err
		}
		phase.add(1, elapsed, allocations, allocated)
		expected := seen{}
		for _, place := range order[first : first+count] {
			expected.add(place.key, s.data.value(place.number))
		}
		if shown != expected {
			phase.phase.Operations--
			phase.fail(fmt.Sprintf("a scan shows %d entries, or others than were put", shown.count))
			continue
		}
		times = append(times, elapsed)
	}
	phase.percentiles(times)
	return nil
}

func (s site) writers(work Work) ([]*Phase, error) {
	engine, err := s.preloaded(work.Preload)
	if err != nil {
		return nil, err
	}
	phase := begin("writers")
	var next atomic.Uint64
	var group sync.WaitGroup
	times := make([][]time.Duration, work.Writers)
	failures := make([]error, work.Writers)
	count, bytes := memory()
	start := time.Now()
	for writer := range work.Writers {
		group.Go(func() {
			for time.Since(start) < s.time {
				number := next.Add(1) - 1
				if number >= work.Puts {
					return
				}
				pair := s.data.pair(work.Preload + number)
				before := time.Now()
				if failures[writer] = engine.Put(pair.Key, pair.Value); failures[writer] != nil {
					return
				}
				times[writer] = append(times[writer], time.Since(before))
			}
		})
	}
	group.Wait()
	elapsed := time.Since(start)
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	all := slices.Concat(times...)
	phase.add(uint64(len(all)), elapsed, count, bytes)
	phase.percentiles(all)
	phase.stop()
	s.check(engine, work.Preload+phase.phase.Operations, phase)
	return []*Phase{phase.end()}, engine.Close()
}

func (s site) batches(work Work) ([]*Phase, error) {
	engine, err := s.preloaded(work.Preload)
	if err != nil {
		return nil, err
	}
	phase := begin("batch")
	times := []time.Duration{}
	next := work.Preload
	for next < work.Preload+work.Puts && !s.isOver(phase) {
		pairs := s.data.pairs(next, next+work.Size)
		elapsed, err := phase.time(len(pairs), func() error { return engine.PutAll(pairs) })
		if err != nil {
			return nil, err
		}
		times = append(times, elapsed)
		next += work.Size
	}
	phase.stop()
	phase.percentiles(times)
	s.check(engine, next, phase)
	return []*Phase{phase.end()}, engine.Close()
}

func (s site) untilKilled(work Work) error {
	engine, err := s.preloaded(work.Preload)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(work.Acknowledged, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	var acknowledged [8]byte
	for number := uint64(0); ; number++ {
		pair := s.data.pair(work.Preload + number)
		if err := engine.Put(pair.Key, pair.Value); err != nil {
			return err
		}
		binary.LittleEndian.PutUint64(acknowledged[:], number+1)
		if _, err := file.WriteAt(acknowledged[:], 0); err != nil {
			return err
		}
	}
}

func (s site) reopen(work Work) ([]*Phase, error) {
	phase := begin("reopen")
	count, allocated := memory()
	start := time.Now()
	engine, err := s.open(s.directory, s.sync)
	if err != nil {
		return nil, err
	}
	if _, err := engine.Get(s.data.key(0)); err != nil {
		return nil, err
	}
	phase.add(1, time.Since(start), count, allocated)
	lost, wrong := 0.0, 0.0
	for number := uint64(0); number < work.Entries; number++ {
		value, err := engine.Get(s.data.key(number))
		switch {
		case err != nil:
			return nil, err
		case value == nil:
			lost++
		case !bytes.Equal(value, s.data.value(number)):
			wrong++
		}
	}
	phase.phase.Values["lost"] = lost
	phase.phase.Values["wrong"] = wrong
	return []*Phase{phase.end()}, engine.Close()
}

// check reads some of the entries back, the first and the last among them.
func (s site) check(engine Engine, entries uint64, phase *measured) {
	step := max(entries/checks, 1)
	look := func(number uint64) {
		value, err := engine.Get(s.data.key(number))
		switch {
		case err != nil:
			phase.fail(err.Error())
		case value == nil:
			phase.fail(fmt.Sprintf("entry %d is missing after the phase", number))
		case !bytes.Equal(value, s.data.value(number)):
			phase.fail(fmt.Sprintf("entry %d is wrong after the phase", number))
		}
	}
	for number := uint64(0); number < entries; number += step {
		look(number)
	}
	if entries > 0 {
		look(entries - 1)
	}
}
