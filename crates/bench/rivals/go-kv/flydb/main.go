// FlyDB: an index in memory over a log.
package main

import (
	"errors"

	"github.com/ByteStorage/FlyDB/config"
	"github.com/ByteStorage/FlyDB/engine"
	_const "github.com/ByteStorage/FlyDB/lib/const"

	"liteio/bench/go-kv/kv"
)

type fly struct {
	db    *engine.DB
	batch config.WriteBatchOptions
}

func main() {
	kv.Main("github.com/ByteStorage/FlyDB", func(directory string, sync bool) (kv.Engine, error) {
		options := config.DefaultOptions
		options.DirPath = directory
		options.SyncWrite = sync
		db, err := engine.NewDB(options)
		// A transaction holds what the others hold.
		batch := config.WriteBatchOptions{MaxBatchNum: 100_000, SyncWrites: sync}
		return fly{db, batch}, err
	})
}

func (f fly) Put(key, value []byte) error { return f.db.Put(key, value) }

func (f fly) PutAll(pairs []kv.Pair) error {
	batch := f.db.NewWriteBatch(f.batch)
	for _, pair := range pairs {
		if err := batch.Put(pair.Key, pair.Value); err != nil {
			return err
		}
	}
	return batch.Commit()
}

func (f fly) Get(key []byte) ([]byte, error) {
	value, err := f.db.Get(key)
	if errors.Is(err, _const.ErrKeyNotFound) {
		return nil, nil
	}
	return value, err
}

func (f fly) Scan(from []byte, count int, entry func(key, value []byte)) error {
	iterator := f.db.NewIterator(config.IteratorOptions{})
	defer iterator.Close()
	for iterator.Seek(from); iterator.Valid() && count > 0; iterator.Next() {
		value, err := iterator.Value()
		if err != nil {
			return err
		}
		entry(iterator.Key(), value)
		count--
	}
	return nil
}

func (f fly) Close() error { return f.db.Close() }
