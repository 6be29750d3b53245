// BuntDB: a B-tree in memory with a log.
package main

import (
	"errors"
	"path/filepath"

	"github.com/tidwall/buntdb"

	"liteio/bench/go-kv/kv"
)

type engine struct{ db *buntdb.DB }

func main() {
	kv.Main("github.com/tidwall/buntdb", func(directory string, sync bool) (kv.Engine, error) {
		db, err := buntdb.Open(filepath.Join(directory, "keys.db"))
		if err != nil {
			return nil, err
		}
		var config buntdb.Config
		if err := db.ReadConfig(&config); err != nil {
			return nil, err
		}
		config.SyncPolicy = buntdb.Never
		if sync {
			config.SyncPolicy = buntdb.Always
		}
		return engine{db}, db.SetConfig(config)
	})
}

func (e engine) Put(key, value []byte) error {
	return e.db.Update(func(tx *buntdb.Tx) error {
		_, _, err := tx.Set(string(key), string(value), nil)
		return err
	})
}

func (e engine) PutAll(pairs []kv.Pair) error {
	return e.db.Update(func(tx *buntdb.Tx) error {
		for _, pair := range pairs {
			if _, _, err := tx.Set(string(pair.Key), string(pair.Value), nil); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e engine) Get(key []byte) (value []byte, err error) {
	err = e.db.View(func(tx *buntdb.Tx) error {
		found, err := tx.Get(string(key))
		value = []byte(found)
		return err
	})
	if errors.Is(err, buntdb.ErrNotFound) {
		return nil, nil
	}
	return value, err
}

func (e engine) Scan(from []byte, count int, entry func(key, value []byte)) error {
	return e.db.View(func(tx *buntdb.Tx) error {
		return tx.AscendGreaterOrEqual("", string(from), func(key, value string) bool {
			entry([]byte(key), []byte(value))
			count--
			return count > 0
		})
	})
}

func (e engine) Close() error { return e.db.Close() }
