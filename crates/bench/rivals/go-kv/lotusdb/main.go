// LotusDB: an index tree with the values in a log.
package main

import (
	"errors"

	"github.com/lotusdblabs/lotusdb/v2"

	"liteio/bench/go-kv/kv"
)

type engine struct {
	db    *lotusdb.DB
	write lotusdb.WriteOptions
}

func main() {
	kv.Main("github.com/lotusdblabs/lotusdb/v2", func(directory string, sync bool) (kv.Engine, error) {
		options := lotusdb.DefaultOptions
		options.DirPath = directory
		// Not Options.Sync: with it 2.1.0 syncs nothing, it leaves that to a log that does not do it.
		options.BlockCache = kv.CacheBytes
		db, err := lotusdb.Open(options)
		return engine{db, lotusdb.WriteOptions{Sync: sync}}, err
	})
}

func (e engine) Put(key, value []byte) error {
	if e.write.Sync {
		// Not PutWithOptions: it forgets the options, and syncs nothing.
		return e.PutAll([]kv.Pair{{Key: key, Value: value}})
	}
	return e.db.Put(key, value)
}

func (e engine) PutAll(pairs []kv.Pair) error {
	batch := e.db.NewBatch(lotusdb.BatchOptions{WriteOptions: e.write})
	for _, pair := range pairs {
		if err := batch.Put(pair.Key, pair.Value); err != nil {
			return err
		}
	}
	return batch.Commit()
}

func (e engine) Get(key []byte) ([]byte, error) {
	value, err := e.db.Get(key)
	if errors.Is(err, lotusdb.ErrKeyNotFound) {
		return nil, nil
	}
	return value, err
}

func (e engine) Scan(from []byte, count int, entry func(key, value []byte)) error {
	iterator, err := e.db.NewIterator(lotusdb.IteratorOptions{})
	if err != nil {
		return err
	}
	for iterator.Seek(from); iterator.Valid() && count > 0; iterator.Next() {
		entry(iterator.Key(), iterator.Value())
		count--
	}
	return iterator.Close()
}

func (e engine) Close() error { return e.db.Close() }
