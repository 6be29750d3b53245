package photos

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"liteio"
)

// Not in docs/go.md: what it says of newClient.
func TestTheEnvironmentDoesNotReachAClientOfASpace(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_PROFILE": "work", "AWS_USE_FIPS_ENDPOINT": "true", "AWS_USE_DUALSTACK_ENDPOINT": "true", "AWS_CA_BUNDLE": "/nope",
		"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1", "AWS_REGION": "eu-west-1",
		"AWS_ACCESS_KEY_ID": "another", "AWS_SESSION_TOKEN": "another", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
		"AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
	} {
		t.Setenv(name, value)
	}
	space := server.Space(t)
	_, err := newClient(space).PutObject(context.Background(), &s3.PutObjectInput{
		Bucket: aws.String("photos"), Key: aws.String("hello.txt"), Body: strings.NewReader("hello"),
	})
	if err != nil {
		t.Fatal(err)
	}
	requests, err := space.WaitForRequest(liteio.RequestFilter{Operation: "PutObject"}, 1, 10*time.Second)
	if err != nil || requests[0].Headers["x-amz-checksum-crc32"] == "" {
		t.Errorf("%+v, %v", requests, err)
	}
}
