// Pebble: a tree of sorted tables.
package main

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"liteio/bench/go-kv/kv"
)

type engine struct {
	db    *pebble.DB
	write *pebble.WriteOptions
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, arguments ...any) {
	pebble.DefaultLogger.Fatalf(format, arguments...)
}

func main() {
	kv.Main("github.com/cockroachdb/pebble/v2", func(directory string, sync bool) (kv.Engine, error) {
		write := pebble.NoSync
		if sync {
			write = pebble.Sync
		}
		options := pebble.Options{CacheSize: kv.CacheBytes, Logger: quiet{}}
		db, err := pebble.Open(directory, &options)
		return engine{db, write}, err
	})
}

func (e engine) Put(key, value []byte) error { return e.db.Set(key, value, e.write) }

func (e engine) PutAll(pairs []kv.Pair) error {
	batch := e.db.NewBatch()
	for _, pair := range pairs {
		if err := batch.Set(pair.Key, pair.Value, nil); err != nil {
			return err
		}
	}
	return batch.Commit(e.write)
}

func (e engine) DeleteAll(keys [][]byte) error {
	batch := e.db.NewBatch()
	for _, key := range keys {
		if err := batch.Delete(key, nil); err != nil {
			return err
		}
	}
	return batch.Commit(e.write)
}

func (e engine) Get(key []byte) ([]byte, error) {
	found, closer, err := e.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	value := kv.Copy(found)
	return value, closer.Close()
}

func (e engine) Scan(from []byte, count int, entry func(key, value []byte)) error {
	iterator, err := e.db.NewIter(&pebble.IterOptions{LowerBound: from})
	if err != nil {
		return err
	}
	for found := iterator.First(); found && count > 0; found = iterator.Next() {
		value, err := iterator.ValueAndErr()
		if err != nil {
			return errors.Join(err, iterator.Close())
		}
		entry(iterator.Key(), value)
		count--
	}
	return iterator.Close()
}

func (e engine) Close() error { return e.db.Close() }
