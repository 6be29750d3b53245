// The clients that Go programs use, with a server of the module liteio. The folders beside have the files of docs/go.md.
package clients

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"liteio"
)

func TestAWS(t *testing.T) {
	server := liteio.Start(t, liteio.Buckets("photos"))
	server.Setenv(t)
	ctx := context.Background()
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(settings, func(o *s3.Options) { o.UsePathStyle = true })
	bucket, key := aws.String("photos"), aws.String("hello.txt")
	_, err = client.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: key, Body: strings.NewReader("hello")})
	if err != nil {
		t.Fatal(err)
	}
	object, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: key})
	if err != nil || aws.ToInt64(object.ContentLength) != 5 {
		t.Fatal(object, err)
	}
	_, err = client.GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: aws.String("missing.txt")})
	var missing *types.NoSuchKey
	if !errors.As(err, &missing) {
		t.Fatal(err)
	}
}

// docs/go.md and docs/troubleshooting.md have the message, and what helps.
func TestABodyThatIsReadOnceNeedsABuffer(t *testing.T) {
	server := liteio.Start(t, liteio.Buckets("photos"))
	server.Setenv(t)
	ctx := context.Background()
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(settings)
	put := func(body io.Reader) error {
		_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("photos"), Key: aws.String("a"), Body: body})
		return err
	}
	const message = "unseekable stream is not supported without TLS and trailing checksum"
	if err := put(io.NopCloser(strings.NewReader("hello"))); err == nil || !strings.Contains(err.Error(), message) {
		t.Errorf("the error is %v", err)
	}
	if err := put(bytes.NewReader([]byte("hello"))); err != nil {
		t.Error(err)
	}
}

// Of one part, and of several.
func TestABodyThatIsReadOnceIsSentInParts(t *testing.T) {
	server := liteio.Start(t, liteio.Buckets("photos"))
	server.Setenv(t)
	ctx := context.Background()
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(settings)
	for _, size := range []int{5, 20 << 20} {
		body := io.NopCloser(strings.NewReader(strings.Repeat("x", size)))
		_, err = transfermanager.New(client).UploadObject(ctx, &transfermanager.UploadObjectInput{
			Bucket: aws.String("photos"), Key: aws.String("hello.txt"), Body: body,
		})
		if err != nil {
			t.Fatal(size, err)
		}
		object, err := client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: aws.String("photos"), Key: aws.String("hello.txt")})
		if err != nil || aws.ToInt64(object.ContentLength) != int64(size) {
			t.Fatal(size, object, err)
		}
	}
}

func TestMinIO(t *testing.T) {
	server := liteio.Start(t, liteio.Buckets("photos"))
	// With `http://` since 7.3.0.
	client, err := minio.New(server.Endpoint, &minio.Options{
		Creds: credentials.NewStaticV4(server.AccessKey, server.SecretKey, ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	_, err = client.PutObject(ctx, "photos", "hello.txt", strings.NewReader("hello"), 5, minio.PutObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stat, err := client.StatObject(ctx, "photos", "hello.txt", minio.StatObjectOptions{})
	if err != nil || stat.Size != 5 {
		t.Fatal(stat, err)
	}
}
