package photos

import (
	"context"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"liteio"
)

func TestMinIO(t *testing.T) {
	server := liteio.Start(t, liteio.Buckets("photos"))
	client, err := minio.New(strings.TrimPrefix(server.Endpoint, "http://"), &minio.Options{
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
}
