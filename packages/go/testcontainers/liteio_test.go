package testcontainers_test

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/testcontainers/testcontainers-go"

	liteio "liteio/testcontainers"
)

// The image that LITEIO_IMAGE names; tests/containers/run makes it.
func image(t *testing.T) string {
	name := os.Getenv("LITEIO_IMAGE")
	if name == "" {
		t.Skip("LITEIO_IMAGE names no image")
	}
	return name
}

func run(t *testing.T, options ...testcontainers.ContainerCustomizer) *liteio.Container {
	t.Helper()
	container, err := liteio.Run(context.Background(), image(t), options...)
	testcontainers.CleanupContainer(t, container)
	if err != nil {
		t.Fatal(err)
	}
	return container
}

func client(t *testing.T, container *liteio.Container) *minio.Client {
	t.Helper()
	endpoint, err := container.ConnectionString(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	made, err := minio.New(endpoint, &minio.Options{
		Creds:  credentials.NewStaticV4(container.Username, container.Password, ""),
		Region: container.Region,
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestBucketsOfAllOptionsAreCreated(t *testing.T) {
	var request testcontainers.GenericContainerRequest
	for _, option := range []testcontainers.CustomizeRequestOption{liteio.WithBuckets("photos"), liteio.WithBuckets("a", "b")} {
		if err := option(&request); err != nil {
			t.Fatal(err)
		}
	}
	if made := request.Env["LITEIO_BUCKET"]; made != "photos,a,b" {
		t.Fatal(made)
	}
}

func TestAnObjectGoesInAndComesOut(t *testing.T) {
	ctx := context.Background()
	container := run(t, liteio.WithBuckets("photos"), liteio.WithBuckets("letters:versioned"))
	s3 := client(t, container)
	versioning, err := s3.GetBucketVersioning(ctx, "letters")
	if err != nil || versioning.Status != "Enabled" {
		t.Fatal(versioning, err)
	}
	if _, err := s3.PutObject(ctx, "photos", "hello.txt", strings.NewReader("hello"), 5, minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	object, err := s3.GetObject(ctx, "photos", "hello.txt", minio.GetObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(object); string(body) != "hello" || err != nil {
		t.Fatal(string(body), err)
	}
	endpoint, _ := container.ConnectionString(ctx)
	if url, err := container.URL(ctx); url != "http://"+endpoint || err != nil {
		t.Fatal(url, err)
	}
}

func TestCredentialsAndRegionAreThoseThatWereGiven(t *testing.T) {
	ctx := context.Background()
	container := run(t, liteio.WithUsername("a-user"), liteio.WithPassword("its-password"), liteio.WithRegion("eu-west-1"))
	if container.Username != "a-user" || container.Password != "its-password" || container.Region != "eu-west-1" {
		t.Fatal(container)
	}
	if err := client(t, container).MakeBucket(ctx, "photos", minio.MakeBucketOptions{Region: "eu-west-1"}); err != nil {
		t.Fatal(err)
	}
	container.Password = "another-password"
	_, err := client(t, container).ListBuckets(ctx)
	if minio.ToErrorResponse(err).Code != "SignatureDoesNotMatch" {
		t.Fatal(err)
	}
}

func TestEmptyCredentialsAreRefusedBeforeAContainerIsMade(t *testing.T) {
	container, err := liteio.Run(context.Background(), "no-such-image", liteio.WithPassword(""))
	if container != nil || err == nil || !strings.Contains(err.Error(), "must not be empty") {
		t.Fatal(container, err)
	}
}
