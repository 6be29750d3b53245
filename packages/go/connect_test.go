package liteio_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"liteio"
)

// connected is a program under `liteio exec`.
func connected() {
	server, err := liteio.Connect(liteio.Connection{})
	if err != nil {
		panic(err)
	}
	space, err := server.NewSpace("mine")
	if err != nil {
		panic(err)
	}
	server.Stop()
	fmt.Println(space.Name, server.AccessKey, server.Region, server.Log() == "")
	os.Exit(0)
}

func TestConnectFindsTheServerOfExec(t *testing.T) {
	needsTestAPI(t)
	binary, err := liteio.FindBinary("")
	need(t, err)
	command := exec.Command(binary, "exec", "--access-key", "tester", "--secret-key", "tester-secret", "--", os.Args[0])
	command.Env = append(os.Environ(), ownerVariable+"=connected")
	output, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "mine tester us-east-1 true\n") {
		t.Errorf("%s, %v", output, err)
	}
}

func TestAServerThatRunsAlreadyHasTheTestAPI(t *testing.T) {
	needsTestAPI(t)
	running := liteio.Start(t, liteio.Credentials("tester", "tester-secret"), liteio.Region("eu-west-1"))
	server, err := liteio.Connect(liteio.Connection{
		Endpoint: running.Endpoint + "/", AccessKey: "tester", SecretKey: "tester-secret", Region: "eu-west-1",
	})
	need(t, err)
	check(t, server.Main(), "/", 200, "ListAllMyBucketsResult")
	t.Run("inner", func(t *testing.T) {
		space := server.Space(t)
		fault := space.Fault(t, liteio.Rule{Status: 503})
		check(t, space, "/", 503, "")
		if hits, err := fault.Hits(); hits != 1 || err != nil {
			t.Error(hits, err)
		}
	})
	names, err := running.Spaces()
	need(t, err)
	if len(names) != 0 {
		t.Errorf("the spaces are %v", names)
	}
	server.Stop()
	check(t, running.Main(), "/", 200, "ListAllMyBucketsResult")
}

// An HTTPS server needs the authorities that AWS_CA_BUNDLE names.
func TestTheAuthoritiesStayForHTTPS(t *testing.T) {
	t.Setenv("AWS_CA_BUNDLE", "authorities.pem")
	running := httptest.NewUnstartedServer(http.NotFoundHandler())
	running.Config.ErrorLog = log.New(io.Discard, "", 0)
	running.StartTLS()
	defer running.Close()
	server, err := liteio.Connect(liteio.Connection{Endpoint: running.URL})
	need(t, err)
	server.Setenv(t)
	if bundle := os.Getenv("AWS_CA_BUNDLE"); bundle != "authorities.pem" {
		t.Errorf("AWS_CA_BUNDLE is %q", bundle)
	}
}

func TestAnswersOfAnotherServerAreToldAsSuch(t *testing.T) {
	for _, status := range []int{200, 404, 502} {
		other := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
			if strings.HasPrefix(request.URL.Path, "/_liteio/health/") {
				fmt.Fprint(answer, `{"status":"ready"}`)
				return
			}
			answer.WriteHeader(status)
			fmt.Fprint(answer, "<html><body>another</body></html>")
		}))
		defer other.Close()
		server, err := liteio.Connect(liteio.Connection{Endpoint: other.URL})
		need(t, err)
		_, now := server.Now()
		for _, err := range []error{now, server.Reset()} {
			for _, part := range []string{other.URL + "/_liteio/test/", "is not answered by LiteIO", "<html><body>another"} {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%d: the error is %v, without %s", status, err, part)
				}
			}
			var refused *liteio.Error
			if !errors.As(err, &refused) || refused.Status != status {
				t.Errorf("%d: the error is %v", status, err)
			}
		}
	}
}

func TestConnectAsksTheServer(t *testing.T) {
	status := http.StatusServiceUnavailable
	other := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		answer.WriteHeader(status)
		fmt.Fprintln(answer, `{"status":"not ready","reason":"it stops"}`)
	}))
	connect := func(expected string) {
		t.Helper()
		_, err := liteio.Connect(liteio.Connection{Endpoint: other.URL})
		if err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("the error is %v, without %s", err, expected)
		}
	}
	connect(`not ready: {"status":"not ready","reason":"it stops"}`)
	status = http.StatusNotFound
	connect("is not answered by LiteIO")
	other.Close()
	connect("Connect: no server answers at " + other.URL + ": start it before, as `liteio exec")
}

func TestConnectNeedsAnEndpointAndBothKeys(t *testing.T) {
	t.Setenv("LITEIO_ENDPOINT", "")
	for message, connection := range map[string]liteio.Connection{
		"LITEIO_ENDPOINT":   {},
		`"127.0.0.1:9000"`:  {Endpoint: "127.0.0.1:9000"},
		`"minio:9000"`:      {Endpoint: "minio:9000"},
		"belong together":   {Endpoint: "http://127.0.0.1:9000", AccessKey: "tester"},
		"SecretKey belong ": {Endpoint: "http://127.0.0.1:9000", SecretKey: "tester-secret"},
	} {
		if _, err := liteio.Connect(connection); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%+v: the error is %v", connection, err)
		}
	}
}
