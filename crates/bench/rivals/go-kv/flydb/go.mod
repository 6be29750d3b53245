// A module of its own: proxies that do not have FlyDB would keep the other engines from being built.
module liteio/bench/go-kv/flydb

go 1.25.0

require (
	github.com/ByteStorage/FlyDB v1.1.1
	liteio/bench/go-kv v0.0.0
)

require (
	github.com/chen3feng/stl4go v0.1.1 // indirect
	github.com/edsrzf/mmap-go v1.1.0 // indirect
	github.com/google/btree v1.1.2 // indirect
	github.com/plar/go-adaptive-radix-tree v1.0.5 // indirect
	go.etcd.io/bbolt v1.5.0 // indirect
	go.uber.org/atomic v1.7.0 // indirect
	go.uber.org/multierr v1.6.0 // indirect
	go.uber.org/zap v1.24.0 // indirect
	golang.org/x/sys v0.45.0 // indirect
)

replace liteio/bench/go-kv => ../
