package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/go-kit/log"
	"github.com/thanos-io/objstore/providers/s3"
)

// objectStore does what Mimir, Loki's Thanos clients and Thanos do, with the configuration of a file.
func objectStore(ctx context.Context) error {
	settings, err := os.ReadFile(os.Args[2])
	if err != nil {
		return err
	}
	bucket, err := s3.NewBucket(log.NewNopLogger(), settings, "recipes", nil)
	if err != nil {
		return err
	}
	defer bucket.Close()
	for _, name := range []string{"tenant/block/chunks/000001", "tenant/block/index", "tenant/meta.json"} {
		if err := bucket.Upload(ctx, name, bytes.NewReader(large())); err != nil {
			return err
		}
	}
	var found []string
	err = bucket.Iter(ctx, "tenant/", func(name string) error {
		found = append(found, name)
		return nil
	})
	slices.Sort(found)
	if fmt.Sprint(found) != "[tenant/block/ tenant/meta.json]" {
		return errors.Join(err, fmt.Errorf("listed: %v", found))
	}
	reader, err := bucket.GetRange(ctx, "tenant/block/index", 16, 16)
	if err != nil {
		return err
	}
	if err := same(reader, []byte("0123456789abcdef")); err != nil {
		return err
	}
	attributes, err := bucket.Attributes(ctx, "tenant/meta.json")
	if err != nil || attributes.Size != int64(len(large())) {
		return errors.Join(err, fmt.Errorf("attributes: %v", attributes))
	}
	if err := bucket.Delete(ctx, "tenant/meta.json"); err != nil {
		return err
	}
	if _, err := bucket.Get(ctx, "tenant/meta.json"); !bucket.IsObjNotFoundErr(err) {
		return fmt.Errorf("a deleted object: %v", err)
	}
	return nil
}
