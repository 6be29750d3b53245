package photos

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"liteio"
)

func TestUploadsThatFail(t *testing.T) {
	t.Parallel()
	space := server.Space(t)
	client := newClient(space)

	// The next two uploads fail; the SDK tries three times.
	fault := space.Fault(t, liteio.Rule{Operation: "PutObject", Status: 503, Code: "SlowDown", Times: 2})
	_, err := client.PutObject(context.Background(), &s3.PutObjectInput{
		Bucket: aws.String("photos"), Key: aws.String("a.jpg"), Body: strings.NewReader("picture"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if hits, err := fault.Hits(); hits != 2 || err != nil {
		t.Error(hits, err)
	}

	filter := liteio.RequestFilter{Operation: "PutObject", Key: "*.jpg"}
	requests, err := space.WaitForRequest(filter, 3, 10*time.Second)
	if err != nil || requests[0].Status != 503 || requests[2].Status != 200 {
		t.Error(requests, err)
	}
	events, err := space.WaitForEvent(liteio.EventFilter{Name: "s3:ObjectCreated:*"}, 10*time.Second)
	if err != nil || events[0].Key != "a.jpg" {
		t.Error(events, err)
	}

	// The download ends after three bytes. A field that may be 0 is a pointer: here, or aws.Float64(0.5) as the Probability.
	space.Fault(t, liteio.Rule{Operation: "GetObject", CutAfterBytes: aws.Int64(3)})
	object, err := client.GetObject(context.Background(), &s3.GetObjectInput{
		Bucket: aws.String("photos"), Key: aws.String("a.jpg"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer object.Body.Close()
	if body, err := io.ReadAll(object.Body); err == nil {
		t.Errorf("all came: %s", body)
	}

	// Lifecycle rules run, and presigned URLs expire, once the clock has passed them.
	if _, err := space.AdvanceClock(72 * time.Hour); err != nil {
		t.Error(err)
	}
}
