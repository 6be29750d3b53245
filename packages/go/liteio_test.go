package liteio_test

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"liteio"
)

const ownerVariable = "LITEIO_TEST_OWNER"

// TestMain is also the program that starts a server and ends in some way.
func TestMain(m *testing.M) {
	if end := os.Getenv(ownerVariable); end != "" {
		owner(end)
	}
	os.Exit(m.Run())
}

func owner(end string) {
	if end == "connected" {
		connected()
	}
	server, err := liteio.Run()
	if err != nil {
		panic(err)
	}
	fmt.Println(server.Endpoint)
	switch end {
	case "killed":
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		select {}
	case "panic":
		panic("end")
	default:
		os.Exit(0)
	}
}

func needsTestAPI(t *testing.T) {
	t.Helper()
	binary, err := liteio.FindBinary("")
	if err != nil {
		t.Fatal(err)
	}
	help, err := exec.Command(binary, "server", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(help), "--test-api") {
		return
	}
	if os.Getenv("LITEIO_REQUIRE_TEST_API") != "" {
		t.Fatal("the binary has no --test-api, and LITEIO_REQUIRE_TEST_API is set")
	}
	t.Skip("the binary has no --test-api")
}

func need(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A signed request, so that the module needs no SDK. Returns the status and the body.
func send(t *testing.T, space *liteio.Space, method, path, body string) (int, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(sign(t, space, method, path, body))
	need(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

func put(t *testing.T, space *liteio.Space, path, body string) {
	t.Helper()
	if status, text := send(t, space, "PUT", path, body); status != 200 {
		t.Fatalf("PUT %s: %d %s", path, status, text)
	}
}

func check(t *testing.T, space *liteio.Space, path string, status int, body string) {
	t.Helper()
	gotStatus, got := send(t, space, "GET", path, "")
	if gotStatus != status || !strings.Contains(got, body) {
		t.Fatalf("GET %s: %d %s, not %d %s", path, gotStatus, got, status, body)
	}
}

func mac(key []byte, text string) []byte {
	hash := hmac.New(sha256.New, key)
	hash.Write([]byte(text))
	return hash.Sum(nil)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func signature(space *liteio.Space, at, request string) string {
	key := []byte("AWS4" + space.SecretKey)
	for _, part := range []string{at[:8], space.Region, "s3", "aws4_request"} {
		key = mac(key, part)
	}
	scope := at[:8] + "/" + space.Region + "/s3/aws4_request"
	return hex.EncodeToString(mac(key, "AWS4-HMAC-SHA256\n"+at+"\n"+scope+"\n"+digest(request)))
}

// Signature Version 4 of a request.
func sign(t *testing.T, space *liteio.Space, method, path, body string) *http.Request {
	t.Helper()
	request, err := http.NewRequest(method, space.Endpoint+path, strings.NewReader(body))
	need(t, err)
	at := time.Now().UTC().Format("20060102T150405Z")
	canonical := strings.Join([]string{method, request.URL.EscapedPath(), "", "host:" + request.Host,
		"x-amz-content-sha256:" + digest(body), "x-amz-date:" + at, "",
		"host;x-amz-content-sha256;x-amz-date", digest(body)}, "\n")
	request.Header.Set("X-Amz-Date", at)
	request.Header.Set("X-Amz-Content-Sha256", digest(body))
	request.Header.Set("Authorization", fmt.Sprintf(
		"AWS4-HMAC-SHA256 Credential=%s/%s/%s/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=%s",
		space.AccessKey, at[:8], space.Region, signature(space, at, canonical)))
	return request
}

// A URL for GET that is good for an hour.
func presign(space *liteio.Space, path string) string {
	at := time.Now().UTC().Format("20060102T150405Z")
	query := url.Values{
		"X-Amz-Algorithm": {"AWS4-HMAC-SHA256"}, "X-Amz-Date": {at}, "X-Amz-Expires": {"3600"},
		"X-Amz-Credential":    {space.AccessKey + "/" + at[:8] + "/" + space.Region + "/s3/aws4_request"},
		"X-Amz-SignedHeaders": {"host"},
	}.Encode()
	host := strings.TrimPrefix(space.Endpoint, "http://")
	canonical := strings.Join([]string{"GET", path, query, "host:" + host, "", "host", "UNSIGNED-PAYLOAD"}, "\n")
	return space.Endpoint + path + "?" + query + "&X-Amz-Signature=" + signature(space, at, canonical)
}

func status(t *testing.T, target string) int {
	t.Helper()
	response, err := http.Get(target)
	need(t, err)
	defer response.Body.Close()
	return response.StatusCode
}

func untilClosed(t *testing.T, endpoint string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		connection, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "http://"))
		if err != nil {
			return
		}
		connection.Close()
	}
	t.Fatalf("%s is still served", endpoint)
}

func TestObjectsAreStored(t *testing.T) {
	server := liteio.Start(t, liteio.Buckets("photos", "letters:public"))
	put(t, server.Main(), "/photos/hello.txt", "hello")
	check(t, server.Main(), "/photos/hello.txt", 200, "hello")
	other := liteio.Start(t)
	check(t, other.Main(), "/photos/hello.txt", 404, "NoSuchBucket")
	if got := status(t, server.Endpoint+"/letters"); got != 200 {
		t.Errorf("a public bucket answers %d", got)
	}
}

func TestOptions(t *testing.T) {
	seed := t.TempDir()
	need(t, os.Mkdir(filepath.Join(seed, "albums"), 0o755))
	need(t, os.WriteFile(filepath.Join(seed, "albums", "a.jpg"), []byte("picture"), 0o644))
	t.Setenv("LITEIO_BUCKET", "of-another-server")
	server := liteio.Start(t, liteio.Seed(seed), liteio.Credentials("tester", "tester-secret"), liteio.Region("eu-west-1"),
		liteio.Environment("LITEIO_BUCKET", "of-this-server"))
	check(t, server.Main(), "/albums/a.jpg", 200, "picture")
	check(t, server.Main(), "/of-this-server", 200, "")
	check(t, server.Main(), "/of-another-server", 404, "")
	if env := server.Env(); env["AWS_ACCESS_KEY_ID"] != "tester" || env["AWS_REGION"] != "eu-west-1" {
		t.Errorf("the variables are %v", env)
	}
	wrong := *server.Main()
	wrong.SecretKey = "another"
	check(t, &wrong, "/albums", 403, "SignatureDoesNotMatch")
}

func TestAPortIsTaken(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	need(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	_, err = liteio.Run(liteio.Port(port))
	if err == nil || !strings.Contains(err.Error(), "choose another with the option Port") {
		t.Errorf("the error is %v", err)
	}
	need(t, listener.Close())
	server := liteio.Start(t, liteio.Port(port))
	if expected := fmt.Sprintf("http://127.0.0.1:%d", port); server.Endpoint != expected {
		t.Errorf("it listens on %s, not %s", server.Endpoint, expected)
	}
	check(t, server.Main(), "/", 200, "ListAllMyBucketsResult")
	for _, wrong := range []int{-1, 65_536} {
		if _, err := liteio.Run(liteio.Port(wrong)); err == nil || !strings.Contains(err.Error(), "is no port") {
			t.Errorf("%d: the error is %v", wrong, err)
		}
	}
}

func TestNothingElseIsChosenByTheEnvironment(t *testing.T) {
	for _, name := range []string{
		"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_CREDENTIAL_EXPIRATION",
		"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT", "AWS_CA_BUNDLE",
	} {
		t.Setenv(name, "elsewhere")
	}
	t.Setenv("no_proxy", "")
	t.Setenv("NO_PROXY", "elsewhere.test")
	server := liteio.Start(t)
	if direct := server.Env()["no_proxy"]; direct != "elsewhere.test,127.0.0.1" {
		t.Errorf("no proxy is asked for %s", direct)
	}
	server.Main().Setenv(t)
	for _, variable := range os.Environ() {
		if strings.HasPrefix(variable, "AWS_") && strings.HasSuffix(variable, "=elsewhere") {
			t.Error(variable)
		}
	}
}

func TestAServerLeavesNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	for range [5]int{} {
		server, err := liteio.Run()
		need(t, err)
		server.Stop()
	}
	http.DefaultClient.CloseIdleConnections()
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() >= before+5 {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestProfiles(t *testing.T) {
	for _, profile := range []string{"minio", "localstack", "s3mock"} {
		server := liteio.Start(t, liteio.Profile(profile))
		check(t, server.Main(), "/", 200, "ListAllMyBucketsResult")
		if (server.AccessKey == "minioadmin") != (profile == "minio") {
			t.Errorf("%s has the access key %s", profile, server.AccessKey)
		}
	}
}

func TestAnyRegionIsAcceptedUnlessOneIsGiven(t *testing.T) {
	for _, options := range [][]liteio.Option{nil, {liteio.Profile("localstack")}} {
		server := liteio.Start(t, options...)
		if server.Region != "us-east-1" || server.Env()["AWS_REGION"] != "us-east-1" {
			t.Errorf("the region is %s, the variables are %v", server.Region, server.Env())
		}
		elsewhere := *server.Main()
		elsewhere.Region = "eu-central-1"
		put(t, &elsewhere, "/photos", "")
		check(t, server.Main(), "/photos", 200, "")
	}
	elsewhere := *liteio.Start(t, liteio.Region("eu-west-1")).Main()
	elsewhere.Region = "eu-central-1"
	check(t, &elsewhere, "/", 400, "AuthorizationHeaderMalformed")
}

func TestADataDirectoryKeepsItsData(t *testing.T) {
	directory := t.TempDir()
	first, err := liteio.Run(liteio.DataDir(directory), liteio.Buckets("kept"))
	need(t, err)
	put(t, first.Main(), "/kept/key", "body")
	first.Stop()
	first.Stop()
	untilClosed(t, first.Endpoint)
	check(t, liteio.Start(t, liteio.DataDir(directory)).Main(), "/kept/key", 200, "body")
}

func TestAStartThatFailsSaysWhy(t *testing.T) {
	for message, option := range map[string]liteio.Option{
		`"B" is not valid`: liteio.Buckets("B"),
		"--no-such-flag":   liteio.Arguments("--no-such-flag"),
		"binary: /nowhere": liteio.Binary("/nowhere"),
	} {
		if _, err := liteio.Run(option); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("the error is %v, not %s", err, message)
		}
	}
}

func TestTheBinaryIsLookedFor(t *testing.T) {
	program, err := liteio.FindBinary("")
	need(t, err)
	scripts, programs := t.TempDir(), t.TempDir()
	need(t, os.WriteFile(filepath.Join(scripts, "liteio"), []byte("#!/bin/sh\n"), 0o755))
	t.Setenv("LITEIO_BINARY", "")
	t.Setenv("PATH", scripts)
	if _, err := liteio.FindBinary(""); !errors.Is(err, liteio.ErrNoBinary) {
		t.Errorf("the error is %v", err)
	}
	need(t, os.Symlink(program, filepath.Join(programs, "liteio")))
	t.Setenv("PATH", scripts+string(os.PathListSeparator)+programs)
	if found, err := liteio.FindBinary(""); found != filepath.Join(programs, "liteio") {
		t.Errorf("found %s, %v", found, err)
	}
	t.Setenv("LITEIO_BINARY", "/nowhere")
	_, err = liteio.FindBinary("")
	if err == nil || errors.Is(err, liteio.ErrNoBinary) || !strings.Contains(err.Error(), "LITEIO_BINARY: /nowhere") {
		t.Errorf("the error is %v", err)
	}
	t.Setenv("LITEIO_BINARY", "bin/liteio")
	absolute, err := filepath.Abs("bin/liteio")
	need(t, err)
	if _, err := liteio.FindBinary(""); err == nil || !strings.Contains(err.Error(), absolute) {
		t.Errorf("the error is %v, without %s", err, absolute)
	}
}

func TestTheServerEndsWithTheProcessThatStartedIt(t *testing.T) {
	for _, end := range []string{"killed", "panic", "exit"} {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), ownerVariable+"="+end)
		output, err := command.StdoutPipe()
		need(t, err)
		need(t, command.Start())
		endpoint, err := bufio.NewReader(output).ReadString('\n')
		need(t, err)
		_ = command.Wait()
		untilClosed(t, strings.TrimSpace(endpoint))
	}
}

func TestWithoutTheTestAPIACallSaysWhatIsMissing(t *testing.T) {
	server := liteio.Start(t, liteio.Environment("LITEIO_TEST_API", ""))
	if err := server.Reset(); err == nil || !strings.Contains(err.Error(), "--test-api") {
		t.Errorf("the error is %v", err)
	}
}

// The answer is larger than the buffers of the sockets.
func TestStopIsNotHeldUpByABodyThatNobodyReads(t *testing.T) {
	server, err := liteio.Run(liteio.Buckets("photos"))
	need(t, err)
	defer server.Stop()
	put(t, server.Main(), "/photos/large", strings.Repeat("x", 16<<20))
	response, err := http.Get(presign(server.Main(), "/photos/large"))
	need(t, err)
	defer response.Body.Close()
	server.Stop()
	if log := server.Log(); !strings.Contains(log, "is the body of a response not closed?") || strings.Contains(log, "had ended") {
		t.Errorf("the log is %q", log)
	}
}

func TestWithoutATestAPanicSaysWhatToCall(t *testing.T) {
	for message, call := range map[string]func(){
		"in TestMain, which has none, use Run": func() { liteio.Start(nil) },
		"use NewSpace":                         func() { new(liteio.Server).Space(nil) },
		"use Env":                              func() { new(liteio.Space).Setenv(nil) },
		"use NewFault":                         func() { new(liteio.Space).Fault(nil, liteio.Rule{}) },
	} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, message) {
					t.Errorf("it says %s, not %s", said, message)
				}
			}()
			call()
		}()
	}
}

func TestAServerThatWasNotStartedIsTold(t *testing.T) {
	var none *liteio.Server
	for _, server := range []*liteio.Server{none, {}} {
		_, space := server.NewSpace("")
		_, spaces := server.Spaces()
		for _, err := range []error{space, spaces} {
			if err == nil || !strings.Contains(err.Error(), "server, err = liteio.Run()") {
				t.Errorf("the error is %v", err)
			}
		}
	}
}
