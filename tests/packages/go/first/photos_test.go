package photos

import (
	"net/http"
	"strings"
	"testing"

	"liteio"
)

func TestPhotos(t *testing.T) {
	server := liteio.Start(t, liteio.Buckets("photos:public", "letters:versioned"))
	request, err := http.NewRequest("PUT", server.Endpoint+"/photos/hello.txt", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Error(answer.Status)
	}
}
