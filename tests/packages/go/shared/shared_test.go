package photos

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"liteio"
)

var server *liteio.Server

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

// run is a function of its own because os.Exit runs no deferred calls.
func run(m *testing.M) int {
	var err error
	if server, err = liteio.Run(liteio.Buckets("photos")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer server.Stop()
	code := m.Run()
	if log := server.Log(); code != 0 && log != "" {
		fmt.Fprintf(os.Stderr, "log of LiteIO:\n%s\n", log)
	}
	return code
}

// newClient is a client of one space, whose keys select it.
func newClient(space *liteio.Space) *s3.Client {
	return s3.NewFromConfig(aws.Config{
		BaseEndpoint:               aws.String(space.Endpoint),
		Region:                     space.Region,
		Credentials:                credentials.NewStaticCredentialsProvider(space.AccessKey, space.SecretKey, ""),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	}, func(o *s3.Options) { o.UsePathStyle = true })
}

func TestPhotos(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, key, body string }{
		{"plain", "hello.txt", "hello"},
		{"in a folder", "2026/hello.txt", "hello"},
		{"empty", "empty.txt", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx, client := context.Background(), newClient(server.Space(t))
			bucket, key := aws.String("photos"), aws.String(test.key)
			_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: key, Body: strings.NewReader(test.body)})
			if err != nil {
				t.Fatal(err)
			}
			object, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: key})
			if err != nil {
				t.Fatal(err)
			}
			defer object.Body.Close()
			body, err := io.ReadAll(object.Body)
			if err != nil || string(body) != test.body {
				t.Errorf("%q, %v", body, err)
			}
			// The spaces of the other cases have buckets of the same name.
			list, err := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: bucket})
			if err != nil || len(list.Contents) != 1 {
				t.Errorf("%+v, %v", list, err)
			}
		})
	}
}
