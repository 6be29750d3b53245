package photos

import (
	"fmt"
	"net/http"
	"os"
	"testing"

	"liteio"
)

var server *liteio.Server

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if os.Getenv("LITEIO_ENDPOINT") != "" {
		server, err = liteio.Connect(liteio.Connection{})
	} else {
		server, err = liteio.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer server.Stop()
	return m.Run()
}

func TestABusyServer(t *testing.T) {
	space := server.Space(t)
	space.Fault(t, liteio.Rule{Status: 503, Code: "SlowDown"})
	request, err := http.NewRequest("GET", space.Endpoint+"/photos/hello.txt", nil)
	if err != nil {
		t.Fatal(err)
	}
	// A request without a signature names its space.
	request.Header.Set("x-liteio-space", space.Name)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable {
		t.Error(answer.Status)
	}
}
