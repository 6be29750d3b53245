package testcontainers_test

import (
	"context"
	"os"
	"testing"

	"github.com/testcontainers/testcontainers-go"

	liteio "liteio/testcontainers"
)

func TestPhotos(t *testing.T) {
	image := os.Getenv("LITEIO_IMAGE") // such as liteio:0.1.0, which is liteio.DefaultImage
	if image == "" {
		t.Skip("LITEIO_IMAGE names no image")
	}
	ctx := context.Background()
	container, err := liteio.Run(ctx, image, liteio.WithBuckets("photos"))
	testcontainers.CleanupContainer(t, container)
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := container.ConnectionString(ctx) // HOST:PORT, for minio-go; URL(ctx) is for the AWS SDK
	if err != nil || endpoint == "" {
		t.Fatal(endpoint, err)
	}
}
