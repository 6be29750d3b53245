// Pogreb: a hash index over a log.
package main

import (
	"path/filepath"

	"github.com/akrylysov/pogreb"

	"liteio/bench/go-kv/kv"
)

type engine struct{ db *pogreb.DB }

func main() {
	kv.Main("github.com/akrylysov/pogreb", func(directory string, sync bool) (kv.Engine, error) {
		options := pogreb.Options{}
		if sync {
			options.BackgroundSyncInterval = -1
		}
		db, err := pogreb.Open(filepath.Join(directory, "pogreb"), &options)
		return engine{db}, err
	})
}

func (e engine) Put(key, value []byte) error { return e.db.Put(key, value) }

func (e engine) PutAll([]kv.Pair) error { return kv.Lack("it has no transactions") }

func (e engine) Get(key []byte) ([]byte, error) { return e.db.Get(key) }

func (e engine) Scan([]byte, int, func(key, value []byte)) error { return kv.NoOrder }

func (e engine) Close() error { return e.db.Close() }
