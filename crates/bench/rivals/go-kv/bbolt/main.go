// bbolt: a copy-on-write B+ tree in a mapped file.
package main

import (
	"path/filepath"

	"go.etcd.io/bbolt"

	"liteio/bench/go-kv/kv"
)

var bucket = []byte("keys")

type engine struct{ db *bbolt.DB }

func main() {
	kv.Main("go.etcd.io/bbolt", func(directory string, sync bool) (kv.Engine, error) {
		options := *bbolt.DefaultOptions
		options.NoSync = !sync
		// A commit writes no list of free pages; it is found anew by the next open.
		options.NoFreelistSync = true
		db, err := bbolt.Open(filepath.Join(directory, "keys.db"), 0o644, &options)
		if err != nil {
			return nil, err
		}
		return engine{db}, db.Update(func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucketIfNotExists(bucket)
			return err
		})
	})
}

func (e engine) Put(key, value []byte) error {
	return e.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Put(key, value) })
}

func (e engine) PutAll(pairs []kv.Pair) error {
	return e.db.Update(func(tx *bbolt.Tx) error {
		keys := tx.Bucket(bucket)
		for _, pair := range pairs {
			if err := keys.Put(pair.Key, pair.Value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e engine) DeleteAll(keys [][]byte) error {
	return e.db.Update(func(tx *bbolt.Tx) error {
		all := tx.Bucket(bucket)
		for _, key := range keys {
			if err := all.Delete(key); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e engine) Get(key []byte) (value []byte, err error) {
	err = e.db.View(func(tx *bbolt.Tx) error {
		if found := tx.Bucket(bucket).Get(key); found != nil {
			value = kv.Copy(found)
		}
		return nil
	})
	return value, err
}

func (e engine) Scan(from []byte, count int, entry func(key, value []byte)) error {
	return e.db.View(func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(bucket).Cursor()
		for key, value := cursor.Seek(from); key != nil && count > 0; key, value = cursor.Next() {
			entry(key, value)
			count--
		}
		return nil
	})
}

func (e engine) Close() error { return e.db.Close() }
