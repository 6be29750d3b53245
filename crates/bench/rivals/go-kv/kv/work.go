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
	case "timed":
		return s.timed(work)
	case "space":
		return s.space(work)
	case "trickle":
		return nil, Lack("not measured")
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
		preparing := time.Now()
		pairs := s.data.pairs(start, min(work.Puts, start+block))
		put.preparing += time.Since(preparing)
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
	get.stop()
	scan := begin("scan")
	if err := s.scans(engine, work, entries, scan); err != nil {
		return nil, err
	}
	scan.stop()
	values := put.phase.Values
	values["memory_peak"] = procNumber("status", "VmHWM:") * 1024
	values["memory_own"] = (procNumber("status", "RssAnon:") + procNumber("status", "RssShmem:")) * 1024
	closing := time.Now()
	if err := engine.Close(); err != nil {
		return nil, err
	}
	values["close"] = time.Since(closing).Seconds()
	values["disk"] = diskUsed(s.directory)
	bytes := float64(max(entries, 1)) * (keyBytes + valueBytes)
	values["disk_written_factor"] = procNumber("io", "write_bytes:") / bytes
	values["passed_factor"] = procNumber("io", "wchar:") / bytes
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
		preparing := time.Now()
		end := min(gets, start+block)
		numbers := make([]uint64, 0, block)
		keys := make([][]byte, 0, block)
		for step := start; step < end; step++ {
			number := s.data.randomEntry(step, entries)
			numbers = append(numbers, number)
			keys = append(keys, s.data.key(number))
		}
		phase.preparing += time.Since(preparing)
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
		checking := time.Now()
		for place, number := range numbers {
			if !bytes.Equal(values[place], s.data.value(number)) {
				phase.fail(fmt.Sprintf("entry %d is missing or wrong", number))
			}
		}
		phase.preparing += time.Since(checking)
	}
	return nil
}

func (s site) scans(engine Engine, work Work, entries uint64, phase *measured) error {
	if work.Scans == 0 {
		return nil
	}
	count := min(work.ScanEntries, entries)
	times := []time.Duration{}
	for first := uint64(0); first < work.Scans && !s.isOver(phase); first += scansAtOnce {
		starts := [][]byte{}
		for step := first; step < min(work.Scans, first+scansAtOnce); step++ {
			starts = append(starts, s.data.key(s.data.randomEntry(step, entries)))
		}
		shown := []seen{}
		for _, from := range starts {
			if s.isOver(phase) {
				break
			}
			found := seen{}
			before := marked()
			start := time.Now()
			err := engine.Scan(from, int(count), found.add)
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
			phase.add(1, elapsed, before)
			shown, times = append(shown, found), append(times, elapsed)
		}
		checking := time.Now()
		for scan, expected := range s.data.scans(starts[:len(shown)], count, entries) {
			if shown[scan] != expected {
				phase.fail(fmt.Sprintf("a scan shows %d entries, or others than were put", shown[scan].count))
			}
		}
		phase.preparing += time.Since(checking)
	}
	phase.percentiles(times)
	return nil
}

func (s site) timed(work Work) ([]*Phase, error) {
	engine, err := s.open(s.directory, s.sync)
	if err != nil {
		return nil, err
	}
	phase := begin("timed")
	phase.histogram = &histogram{}
	for first := uint64(0); first < work.Puts && !s.isOver(phase); first += block {
		preparing := time.Now()
		pairs := s.data.pairs(first, min(work.Puts, first+block))
		phase.preparing += time.Since(preparing)
		before := marked()
		start := time.Now()
		last := start
		for _, pair := range pairs {
			if err := engine.Put(pair.Key, pair.Value); err != nil {
				return nil, err
			}
			now := time.Now()
			phase.histogram.record(now.Sub(last))
			last = now
		}
		phase.add(uint64(len(pairs)), last.Sub(start), before)
	}
	phase.stop()
	phase.phase.Values["time"] = float64(phase.phase.Nanoseconds) / float64(max(phase.phase.Operations, 1))
	s.check(engine, phase.phase.Operations, phase)
	return []*Phase{phase.end()}, engine.Close()
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
	before := marked()
	start := time.Now()
	for writer := range work.Writers {
		group.Go(func() {
			for time.Since(start) < s.time {
				number := next.Add(1) - 1
				if number >= work.Puts {
					return
				}
				pair := s.data.pair(work.Preload + number)
				begin := time.Now()
				if failures[writer] = engine.Put(pair.Key, pair.Value); failures[writer] != nil {
					return
				}
				times[writer] = append(times[writer], time.Since(begin))
			}
		})
	}
	group.Wait()
	elapsed := time.Since(start)
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	all := slices.Concat(times...)
	phase.add(uint64(len(all)), elapsed, before)
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
		preparing := time.Now()
		pairs := s.data.pairs(next, next+work.Size)
		phase.preparing += time.Since(preparing)
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
	before := marked()
	start := time.Now()
	engine, err := s.open(s.directory, s.sync)
	if err != nil {
		return nil, err
	}
	if _, err := engine.Get(s.data.key(0)); err != nil {
		return nil, err
	}
	phase.add(1, time.Since(start), before)
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
