package liteio_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"liteio"
)

func newClient() *http.Client { return &http.Client{Timeout: time.Minute} }

// Like the example of docs/go.md, which is compiled with the AWS SDK in tests/packages/go.
func TestPhotos(t *testing.T) {
	server := liteio.Start(t, liteio.Buckets("photos:public", "letters:versioned"))
	photo := server.Endpoint + "/photos/hello.txt"
	request, err := http.NewRequest("PUT", photo, strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := newClient().Do(request)
	if err != nil || answer.StatusCode != 200 {
		t.Fatal(answer, err)
	}
}

func TestUploadsThatFail(t *testing.T) {
	needsTestAPI(t)
	server := liteio.Start(t)
	space := server.Space(t)
	space.Setenv(t)

	// The next two uploads fail.
	fault := space.Fault(t, liteio.Rule{Operation: "PutObject", Status: 503, Code: "SlowDown", Times: 2})
	upload(t, space)
	if hits, err := fault.Hits(); hits != 2 || err != nil {
		t.Error(hits, err)
	}

	// Lifecycle rules run once the clock has passed them.
	if _, err := space.AdvanceClock(72 * time.Hour); err != nil {
		t.Error(err)
	}
	if _, err := space.ResetClock(); err != nil {
		t.Error(err)
	}

	filter := liteio.RequestFilter{Operation: "PutObject", Key: "*.jpg"}
	requests, err := space.WaitForRequest(filter, 3, 10*time.Second)
	if err != nil || requests[0].Status != 503 {
		t.Error(requests, err)
	}
	events, err := space.WaitForEvent(liteio.EventFilter{Name: "s3:ObjectCreated:*"}, 10*time.Second)
	if err != nil || events[0].Key != "a.jpg" {
		t.Error(events, err)
	}
}

// upload is the code under test, which tries three times.
func upload(t *testing.T, space *liteio.Space) {
	put(t, space, "/photos", "")
	for range [3]int{} {
		send(t, space, "PUT", "/photos/a.jpg", "picture")
	}
}
