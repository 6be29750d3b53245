// NutsDB: an index in memory over a log.
package main

import (
	"errors"

	"github.com/nutsdb/nutsdb"

	"liteio/bench/go-kv/kv"
)

const bucket = "keys"

type engine struct{ db *nutsdb.DB }

func main() {
	kv.Main("github.com/nutsdb/nutsdb", func(directory string, sync bool) (kv.Engine, error) {
		db, err := nutsdb.Open(nutsdb.DefaultOptions, nutsdb.WithDir(directory), nutsdb.WithSyncEnable(sync))
		if err != nil {
			return nil, err
		}
		err = db.Update(func(tx *nutsdb.Tx) error { return tx.NewKVBucket(bucket) })
		if errors.Is(err, nutsdb.ErrBucketAlreadyExist) {
			err = nil
		}
		return engine{db}, err
	})
}

func (e engine) Put(key, value []byte) error {
	return e.db.Update(func(tx *nutsdb.Tx) error { return tx.Put(bucket, key, value, 0) })
}

func (e engine) PutAll(pairs []kv.Pair) error {
	return e.db.Update(func(tx *nutsdb.Tx) error {
		for _, pair := range pairs {
			if err := tx.Put(bucket, pair.Key, pair.Value, 0); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e engine) Get(key []byte) (value []byte, err error) {
	err = e.db.View(func(tx *nutsdb.Tx) error {
		value, err = tx.Get(bucket, key)
		return err
	})
	if errors.Is(err, nutsdb.ErrKeyNotFound) {
		return nil, nil
	}
	return value, err
}

func (e engine) Scan(from []byte, count int, entry func(key, value []byte)) error {
	return e.db.View(func(tx *nutsdb.Tx) error {
		iterator := nutsdb.NewIterator(tx, bucket, nutsdb.IteratorOptions{})
		for found := iterator.Seek(from); found && count > 0; found = iterator.Next() {
			value, err := iterator.Value()
			if err != nil {
				return err
			}
			entry(iterator.Key(), value)
			count--
		}
		return nil
	})
}

func (e engine) Close() error { return e.db.Close() }
