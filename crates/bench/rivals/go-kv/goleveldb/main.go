// GoLevelDB: LevelDB in Go.
package main

import (
	"errors"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"

	"liteio/bench/go-kv/kv"
)

type engine struct {
	db    *leveldb.DB
	write *opt.WriteOptions
}

func main() {
	kv.Main("github.com/syndtr/goleveldb", func(directory string, sync bool) (kv.Engine, error) {
		db, err := leveldb.OpenFile(directory, &opt.Options{BlockCacheCapacity: kv.CacheBytes})
		return engine{db, &opt.WriteOptions{Sync: sync}}, err
	})
}

func (e engine) Put(key, value []byte) error { return e.db.Put(key, value, e.write) }

func (e engine) PutAll(pairs []kv.Pair) error {
	batch := new(leveldb.Batch)
	for _, pair := range pairs {
		batch.Put(pair.Key, pair.Value)
	}
	return e.db.Write(batch, e.write)
}

func (e engine) Get(key []byte) ([]byte, error) {
	value, err := e.db.Get(key, nil)
	if errors.Is(err, leveldb.ErrNotFound) {
		return nil, nil
	}
	return value, err
}

func (e engine) Scan(from []byte, count int, entry func(key, value []byte)) error {
	iterator := e.db.NewIterator(&util.Range{Start: from}, nil)
	defer iterator.Release()
	for count > 0 && iterator.Next() {
		entry(iterator.Key(), iterator.Value())
		count--
	}
	return iterator.Error()
}

func (e engine) Close() error { return e.db.Close() }
