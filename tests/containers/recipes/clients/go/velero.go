package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/s3/manager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// velero does what velero-plugin-for-aws does: uploads with CRC32, listings of common prefixes, presigned downloads.
func velero(ctx context.Context) error {
	client := s3.New(s3.Options{
		BaseEndpoint: aws.String("http://" + os.Getenv("ENDPOINT")),
		Region:       os.Getenv("REGION"),
		UsePathStyle: true,
		Credentials:  credentials.NewStaticCredentialsProvider(os.Getenv("ACCESS_KEY"), os.Getenv("SECRET_KEY"), ""),
	})
	bucket := aws.String(os.Getenv("BUCKET"))
	uploader := manager.NewUploader(client)
	for _, key := range []string{"backups/nightly/velero-backup.json", "backups/nightly/nightly.tar.gz", "backups/weekly/velero-backup.json"} {
		_, err := uploader.Upload(ctx, &s3.PutObjectInput{
			Bucket: bucket, Key: aws.String(key), Body: bytes.NewReader(large()), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32,
		})
		if err != nil {
			return err
		}
	}
	listed, err := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: bucket, Prefix: aws.String("backups/"), Delimiter: aws.String("/")})
	if err != nil || len(listed.CommonPrefixes) != 2 {
		return errors.Join(err, fmt.Errorf("listed: %v", listed))
	}
	key := aws.String("backups/nightly/nightly.tar.gz")
	if _, err := client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: bucket, Key: key}); err != nil {
		return err
	}
	signed, err := s3.NewPresignClient(client).PresignGetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: key})
	if err != nil {
		return err
	}
	answer, err := http.Get(signed.URL)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := same(answer.Body, large()); err != nil {
		return err
	}
	_, err = client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: bucket, Key: key})
	return err
}
