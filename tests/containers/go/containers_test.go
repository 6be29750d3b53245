// Testcontainers' modules for MinIO and LocalStack, with the name of this image and nothing else changed.
package containers

import (
	"bytes"
	"context"
	"io"
	"testing"

	mc "github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/localstack"
	"github.com/testcontainers/testcontainers-go/modules/minio"
)

func check(t *testing.T, endpoint, key, secret string) {
	t.Helper()
	ctx := context.Background()
	client, err := mc.New(endpoint, &mc.Options{Creds: credentials.NewStaticV4(key, secret, "")})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.MakeBucket(ctx, "a-bucket", mc.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	content := []byte("its content")
	_, err = client.PutObject(ctx, "a-bucket", "a key", bytes.NewReader(content), 11, mc.PutObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	object, err := client.GetObject(ctx, "a-bucket", "a key", mc.GetObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	read, err := io.ReadAll(object)
	if err != nil || !bytes.Equal(read, content) {
		t.Fatalf("%q, %v", read, err)
	}
}

func TestMinio(t *testing.T) {
	ctx := context.Background()
	container, err := minio.Run(ctx, "localhost/liteio-minio:latest")
	testcontainers.CleanupContainer(t, container)
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := container.ConnectionString(ctx)
	if err != nil {
		t.Fatal(err)
	}
	check(t, endpoint, container.Username, container.Password)
}

func TestLocalStack(t *testing.T) {
	ctx := context.Background()
	container, err := localstack.Run(ctx, "localhost/liteio-localstack:latest")
	testcontainers.CleanupContainer(t, container)
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := container.PortEndpoint(ctx, "4566/tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	check(t, endpoint, "test", "test")
}
