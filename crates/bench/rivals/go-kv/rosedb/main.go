// RoseDB: an index in memory over a log.
package main

import (
	"errors"

	"github.com/rosedblabs/rosedb/v2"

	"liteio/bench/go-kv/kv"
)

type engine struct {
	db   *rosedb.DB
	sync bool
}

func main() {
	kv.Main("github.com/rosedblabs/rosedb/v2", func(directory string, sync bool) (kv.Engine, error) {
		options := rosedb.DefaultOptions
		options.DirPath = directory
		// Not Options.Sync: with it 2.3.6 syncs nothing, it leaves that to a log that does not do it
		// for batches, and every put is a batch.
		options.BlockCache = kv.CacheBytes
		db, err := rosedb.Open(options)
		return engine{db, sync}, err
	})
}

func (e engine) Put(key, value []byte) error {
	if e.sync {
		return e.PutAll([]kv.Pair{{Key: key, Value: value}})
	}
	return e.db.Put(key, value)
}

func (e engine) PutAll(pairs []kv.Pair) error {
	batch := e.db.NewBatch(rosedb.BatchOptions{Sync: e.sync})
	for _, pair := range pairs {
		if err := batch.Put(pair.Key, pair.Value); err != nil {
			return err
		}
	}
	return batch.Commit()
}

func (e engine) Get(key []byte) ([]byte, error) {
	value, err := e.db.Get(key)
	if errors.Is(err, rosedb.ErrKeyNotFound) {
		return nil, nil
	}
	return value, err
}

func (e engine) Scan(from []byte, count int, entry func(key, value []byte)) error {
	e.db.AscendGreaterOrEqual(from, func(key, value []byte) (bool, error) {
		entry(key, value)
		count--
		return count > 0, nil
	})
	return nil
}

func (e engine) Close() error { return e.db.Close() }
