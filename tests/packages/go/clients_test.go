// The clients that Go programs use, with a server of the module liteio. The folders beside have the files of docs/go.md.
package clients

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	awscredentials "github.com/aws/aws-sdk-go-v2/credentials"
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

// newClient is a client of the main space with these keys.
func newClient(server *liteio.Server, accessKey, secretKey string, client aws.HTTPClient) *s3.Client {
	return s3.NewFromConfig(aws.Config{
		BaseEndpoint: aws.String(server.Endpoint),
		Region:       server.Region,
		Credentials:  awscredentials.NewStaticCredentialsProvider(accessKey, secretKey, ""),
		HTTPClient:   client,
	})
}

// The table of docs/go.md for code that had another server.
func TestWhatCodeFromOtherServersSends(t *testing.T) {
	encrypted := func(o *s3.PutObjectInput) { o.ServerSideEncryption = types.ServerSideEncryptionAes256 }
	byKMS := func(o *s3.PutObjectInput) { o.ServerSideEncryption = types.ServerSideEncryptionAwsKms }
	public := func(o *s3.PutObjectInput) { o.ACL = types.ObjectCannedACLPublicRead }
	for _, row := range []struct {
		name, code string
		options    []liteio.Option
		change     func(*s3.PutObjectInput)
	}{
		{"AES256", "NotImplemented", []liteio.Option{liteio.Arguments("--aws-defaults")}, encrypted},
		{"aws:kms", "KMS.NotFoundException", []liteio.Option{liteio.Arguments("--aws-defaults")}, byKMS},
		{"aws:kms of LocalStack", "", []liteio.Option{liteio.Profile("localstack")}, byKMS},
		{"ACL", "AccessControlListNotSupported", []liteio.Option{liteio.Arguments("--object-ownership", "object-writer")}, public},
	} {
		t.Run(row.name, func(t *testing.T) {
			put := func(options ...liteio.Option) error {
				server := liteio.Start(t, append(options, liteio.Buckets("photos"))...)
				input := &s3.PutObjectInput{Bucket: aws.String("photos"), Key: aws.String("a"), Body: strings.NewReader("hello")}
				row.change(input)
				_, err := newClient(server, server.AccessKey, server.SecretKey, nil).PutObject(context.Background(), input)
				return err
			}
			if err := put(row.options...); err != nil {
				t.Error(err)
			}
			if row.code == "" {
				return
			}
			if err := put(); err == nil || !strings.Contains(err.Error(), row.code) {
				t.Errorf("without the option the error is %v", err)
			}
		})
	}
}

// As docs/go.md says it of the profile: any keys are those of the server, except those of a space.
func TestAnyKeysAreTakenAsByLocalStack(t *testing.T) {
	server := liteio.Start(t, liteio.Profile("localstack"), liteio.Credentials("test", "test"), liteio.Buckets("photos"))
	space := server.Space(t)
	ctx, bucket := context.Background(), &s3.CreateBucketInput{Bucket: aws.String("letters")}
	if _, err := newClient(server, space.AccessKey, space.SecretKey, nil).CreateBucket(ctx, bucket); err != nil {
		t.Fatal(err)
	}
	for keys, count := range map[[2]string]int{{"test", "test"}: 1, {"foo", "bar"}: 1, {space.AccessKey, space.SecretKey}: 2} {
		list, err := newClient(server, keys[0], keys[1], nil).ListBuckets(ctx, &s3.ListBucketsInput{})
		if err != nil || len(list.Buckets) != count {
			t.Errorf("%v: %+v, %v", keys, list, err)
		}
	}
}

// With connections that are kept alive, time.Sleep would not return.
func TestABubbleOfSynctestNeedsConnectionsThatEnd(t *testing.T) {
	server := liteio.Start(t, liteio.Buckets("photos"))
	synctest.Test(t, func(t *testing.T) {
		if _, err := server.SetClock(time.Now()); err != nil {
			t.Fatal(err)
		}
		client := newClient(server, server.AccessKey, server.SecretKey, &http.Client{
			Transport: &http.Transport{DisableKeepAlives: true},
		})
		for range 2 {
			_, err := client.PutObject(context.Background(), &s3.PutObjectInput{
				Bucket: aws.String("photos"), Key: aws.String("hello.txt"), Body: strings.NewReader("hello"),
			})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
	})
}
