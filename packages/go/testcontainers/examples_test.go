package testcontainers_test

import (
	"context"
	"testing"

	"github.com/testcontainers/testcontainers-go"

	liteio "liteio/testcontainers"
)

// The example of docs/testcontainers.md.
func TestPhotos(t *testing.T) {
	ctx := context.Background()
	container, err := liteio.Run(ctx, image(t), liteio.WithBuckets("photos"))
	testcontainers.CleanupContainer(t, container)
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := container.ConnectionString(ctx) // HOST:PORT, for minio-go; URL(ctx) is for the AWS SDK
	if err != nil || endpoint == "" {
		t.Fatal(endpoint, err)
	}
}
