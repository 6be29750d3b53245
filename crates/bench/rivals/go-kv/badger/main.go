// Badger: a tree of sorted tables, with large values apart.
package main

import (
	"errors"

	"github.com/dgraph-io/badger/v4"

	"liteio/bench/go-kv/kv"
)

type engine struct{ db *badger.DB }

func main() {
	kv.Main("github.com/dgraph-io/badger/v4", func(directory string, sync bool) (kv.Engine, error) {
		options := badger.DefaultOptions(directory).WithSyncWrites(sync).WithLogger(nil)
		db, err := badger.Open(options.WithBlockCacheSize(kv.CacheBytes))
		return engine{db}, err
	})
}

func (e engine) Put(key, value []byte) error {
	return e.db.Update(func(tx *badger.Txn) error { return tx.Set(key, value) })
}

func (e engine) PutAll(pairs []kv.Pair) error {
	err := e.db.Update(func(tx *badger.Txn) error {
		for _, pair := range pairs {
			if err := tx.Set(pair.Key, pair.Value); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, badger.ErrTxnTooBig) {
		return kv.Lack("more than its transactions hold")
	}
	return err
}

func (e engine) Get(key []byte) (value []byte, err error) {
	err = e.db.View(func(tx *badger.Txn) error {
		item, err := tx.Get(key)
		if err != nil {
			return err
		}
		value, err = item.ValueCopy(nil)
		return err
	})
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, nil
	}
	return value, err
}

func (e engine) Scan(from []byte, count int, entry func(key, value []byte)) error {
	return e.db.View(func(tx *badger.Txn) error {
		iterator := tx.NewIterator(badger.DefaultIteratorOptions)
		defer iterator.Close()
		for iterator.Seek(from); iterator.Valid() && count > 0; iterator.Next() {
			item := iterator.Item()
			if err := item.Value(func(value []byte) error {
				entry(item.Key(), value)
				return nil
			}); err != nil {
				return err
			}
			count--
		}
		return nil
	})
}

func (e engine) Close() error { return e.db.Close() }
