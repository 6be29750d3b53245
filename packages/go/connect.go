package liteio

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
)

// Connection says where a server is that runs already. An empty field is that of the variables that `liteio exec` sets.
type Connection struct {
	// Endpoint is a URL. Its variable is LITEIO_ENDPOINT.
	Endpoint string
	// AccessKey and SecretKey are those of the root user: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or else liteio and
	// liteio123.
	AccessKey, SecretKey string
	// Region is AWS_REGION, or else us-east-1.
	Region string
}

// Connect returns a server that runs already, such as that of `liteio exec`, of a container or of a service in CI. Stop leaves it
// running, and Log is empty. A server that does not answer, or is not ready, is an error; the keys are not checked. Faults, clock,
// requests and spaces need its test API: --test-api on this machine, --test-api=any (LITEIO_TEST_API=any) in a container.
func Connect(connection Connection) (*Server, error) {
	endpoint, err := connection.origin()
	if err != nil {
		return nil, err
	}
	if (connection.AccessKey == "") != (connection.SecretKey == "") {
		return nil, errors.New("Connect: AccessKey and SecretKey belong together: give both or neither")
	}
	space := &Space{
		Endpoint:  endpoint,
		AccessKey: firstOf(connection.AccessKey, os.Getenv("AWS_ACCESS_KEY_ID"), "liteio"),
		SecretKey: firstOf(connection.SecretKey, os.Getenv("AWS_SECRET_ACCESS_KEY"), "liteio123"),
		Region:    firstOf(connection.Region, os.Getenv("AWS_REGION"), "us-east-1"),
		control:   newControl(endpoint),
	}
	if err := space.control.readiness(); err != nil {
		return nil, fmt.Errorf("Connect: %w", err)
	}
	return &Server{mainSpace: space}, nil
}

// readiness returns an error if the server does not answer, or not as one that is ready.
func (c *control) readiness() error {
	target := c.endpoint + readyPath
	status, text, err := c.exchange("GET", target, nil, answerMax)
	var unknown *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unknown):
		// There is one. The client of the tests may know its authority.
		return nil
	case err != nil:
		return fmt.Errorf("no server answers at %s: start it before, as `liteio exec -- go test ./...` does, or start one here with Run: %w",
			c.endpoint, err)
	case status == http.StatusServiceUnavailable:
		return fmt.Errorf("the server at %s is not ready: %s", c.endpoint, bytes.TrimSpace(text))
	case status != http.StatusOK || !bytes.HasPrefix(text, []byte(`{"status":`)):
		return errors.New(ofAnother("GET "+target, text))
	}
	return nil
}

// origin is the endpoint without a path.
func (c Connection) origin() (string, error) {
	given := firstOf(c.Endpoint, os.Getenv("LITEIO_ENDPOINT"))
	if given == "" {
		return "", errors.New("Connect needs an endpoint: give Connection.Endpoint, or set LITEIO_ENDPOINT, as `liteio exec` does")
	}
	parsed, err := url.Parse(given)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return "", fmt.Errorf("Connect: the endpoint %q is no URL such as http://127.0.0.1:9000", given)
	}
	return parsed.Scheme + "://" + parsed.Host, nil
}

// firstOf is the first that is not empty.
func firstOf(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}
