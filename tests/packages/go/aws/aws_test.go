package photos

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

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
	_, err = client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: aws.String("photos"), Key: aws.String("hello.txt"), Body: strings.NewReader("hello"),
	})
	if err != nil {
		t.Fatal(err)
	}
}
