package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// minioGo does what Milvus and Mattermost do: the bucket is made if it is missing, bodies have no known length, and objects are
// copied, listed, read in ranges and removed.
func minioGo(ctx context.Context) error {
	bucket := os.Getenv("BUCKET")
	client, err := minio.New(os.Getenv("ENDPOINT"), &minio.Options{
		Creds:        credentials.NewStaticV4(os.Getenv("ACCESS_KEY"), os.Getenv("SECRET_KEY"), ""),
		BucketLookup: minio.BucketLookupPath,
		Region:       os.Getenv("REGION"),
	})
	if err != nil {
		return err
	}
	exists, err := client.BucketExists(ctx, bucket)
	if err != nil {
		return err
	}
	if !exists {
		if err := client.MakeBucket(ctx, bucket, minio.MakeBucketOptions{}); err != nil {
			return err
		}
	}
	options := minio.PutObjectOptions{PartSize: 5 << 20}
	if _, err := client.PutObject(ctx, bucket, "files/large", bytes.NewReader(large()), -1, options); err != nil {
		return err
	}
	source := minio.CopySrcOptions{Bucket: bucket, Object: "files/large"}
	if _, err := client.CopyObject(ctx, minio.CopyDestOptions{Bucket: bucket, Object: "files/copy"}, source); err != nil {
		return err
	}
	var ranged minio.GetObjectOptions
	if err := ranged.SetRange(16, 31); err != nil {
		return err
	}
	object, err := client.GetObject(ctx, bucket, "files/copy", ranged)
	if err != nil {
		return err
	}
	if err := same(object, []byte("0123456789abcdef")); err != nil {
		return err
	}
	listed := 0
	for each := range client.ListObjects(ctx, bucket, minio.ListObjectsOptions{Prefix: "files/", Recursive: true}) {
		if each.Err != nil {
			return each.Err
		}
		listed++
		if err := client.RemoveObject(ctx, bucket, each.Key, minio.RemoveObjectOptions{}); err != nil {
			return err
		}
	}
	if listed != 2 {
		return fmt.Errorf("%d objects are listed", listed)
	}
	_, err = client.StatObject(ctx, bucket, "files/copy", minio.StatObjectOptions{})
	if minio.ToErrorResponse(err).Code != "NoSuchKey" {
		return errors.New("a removed object is there")
	}
	return nil
}
