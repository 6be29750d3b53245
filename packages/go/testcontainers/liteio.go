// Package testcontainers starts LiteIO, an object store that speaks Amazon S3, in a container for tests.
//
// It is a module of Testcontainers for Go, and takes the place of its module for MinIO: the options, methods and fields
// of that one have the same names here.
package testcontainers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

const (
	// Version is that of the image that this module is made for.
	Version = "0.1.0"
	// DefaultImage is the image of that version. Tags of versions never move.
	DefaultImage = "liteio:" + Version

	port          = "9000/tcp"
	accessKey     = "LITEIO_ACCESS_KEY"
	secretKey     = "LITEIO_SECRET_KEY"
	region        = "LITEIO_REGION"
	bucket        = "LITEIO_BUCKET"
	defaultUser   = "testaccess"
	defaultSecret = "testsecret"
	defaultRegion = "us-east-1"
)

// Container is a server in a container.
type Container struct {
	testcontainers.Container
	// Username is the access key of the root user.
	Username string
	// Password is the secret key of the root user.
	Password string
	// Region is the region of the server.
	Region string
}

// WithUsername sets the access key of the root user. The default is testaccess.
func WithUsername(name string) testcontainers.CustomizeRequestOption {
	return with(accessKey, name)
}

// WithPassword sets the secret key of the root user, of at least 8 characters. The default is testsecret.
func WithPassword(password string) testcontainers.CustomizeRequestOption {
	return with(secretKey, password)
}

// WithRegion sets the region of the server. The default is us-east-1.
func WithRegion(name string) testcontainers.CustomizeRequestOption {
	return with(region, name)
}

// WithBuckets creates buckets at start, each NAME[:public|download|upload][:versioned|locked], beside those of other options.
func WithBuckets(buckets ...string) testcontainers.CustomizeRequestOption {
	return func(request *testcontainers.GenericContainerRequest) error {
		all := strings.Join(buckets, ",")
		if before := request.Env[bucket]; before != "" {
			all = before + "," + all
		}
		return with(bucket, all)(request)
	}
}

func with(name, value string) testcontainers.CustomizeRequestOption {
	return testcontainers.WithEnv(map[string]string{name: value})
}

// Run starts a container of an image and returns once the server is ready. The data are in memory; with the variable
// LITEIO_MEMORY=false they are in /data of the container.
//
// The container is nil only if there is none: terminate it, as testcontainers.CleanupContainer does, after an error too.
func Run(ctx context.Context, image string, options ...testcontainers.ContainerCustomizer) (*Container, error) {
	var variables map[string]string
	all := []testcontainers.ContainerCustomizer{
		testcontainers.WithExposedPorts(port),
		testcontainers.WithWaitStrategy(wait.ForHTTP("/_liteio/health/ready").WithPort(port)),
		testcontainers.WithEnv(map[string]string{
			accessKey:       defaultUser,
			secretKey:       defaultSecret,
			region:          defaultRegion,
			"LITEIO_MEMORY": "true",
		}),
	}
	all = append(all, options...)
	// The last one, so that it sees what all others have set.
	all = append(all, testcontainers.CustomizeRequestOption(func(request *testcontainers.GenericContainerRequest) error {
		variables = request.Env
		if variables[accessKey] == "" || variables[secretKey] == "" {
			return errors.New("the username and the password must not be empty")
		}
		return nil
	}))

	started, err := testcontainers.Run(ctx, image, all...)
	var container *Container
	if started != nil {
		container = &Container{started, variables[accessKey], variables[secretKey], variables[region]}
	}
	if err != nil {
		return container, fmt.Errorf("run LiteIO: %w", err)
	}
	return container, nil
}

// ConnectionString returns HOST:PORT of the endpoint, as minio-go takes it.
func (c *Container) ConnectionString(ctx context.Context) (string, error) {
	return c.PortEndpoint(ctx, port, "")
}

// URL returns the URL of the endpoint, as the AWS SDK takes it.
func (c *Container) URL(ctx context.Context) (string, error) {
	return c.PortEndpoint(ctx, port, "http")
}
