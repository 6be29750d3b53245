package liteio

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	answerMax = 30 * time.Second
	testAPI   = "/_liteio/test"
)

// Error is an error answer of the test API.
type Error struct {
	Status  int
	Code    string
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s (%d): %s", e.Code, e.Status, e.Message)
}

// control is the client of the test API. It uses no proxy.
type control struct {
	endpoint  string
	transport *http.Transport
	// ending returns the reason why a server of this package does not answer, empty if it should. It is nil for another server.
	ending func() string
}

func newControl(endpoint string) *control {
	return &control{endpoint: endpoint, transport: &http.Transport{DisableKeepAlives: true}}
}

func (c *control) call(method, path string, query url.Values, body, answer any) error {
	return c.callWithin(answerMax, method, path, query, body, answer)
}

func (c *control) callWithin(most time.Duration, method, path string, query url.Values, body, answer any) error {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return err
		}
	}
	target := c.endpoint + testAPI + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	status, text, err := c.exchange(method, target, content, most)
	switch {
	case err != nil:
		return c.explained(err)
	case status >= 400:
		return errorOf(method+" "+target, status, text)
	case answer == nil && len(text) == 0:
		return nil
	case answer == nil:
		answer = &struct{}{}
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return &Error{Status: status, Code: "Unknown", Message: ofAnother(method+" "+target, text)}
	}
	return nil
}

// explained has the reason why no answer came, if the server was stopped or has ended.
func (c *control) explained(err error) error {
	var late net.Error
	if c.ending == nil || errors.As(err, &late) && late.Timeout() {
		return err
	}
	if reason := c.ending(); reason != "" {
		return fmt.Errorf("%s: %w", reason, err)
	}
	return err
}

// ofAnother describes an answer that no test API gives.
func ofAnother(request string, text []byte) string {
	return fmt.Sprintf("%s is not answered by LiteIO: is another server or a proxy there? The answer begins with %.100q", request, text)
}

func (c *control) exchange(method, target string, content []byte, most time.Duration) (int, []byte, error) {
	request, err := http.NewRequest(method, target, bytes.NewReader(content))
	if err != nil {
		return 0, nil, err
	}
	if len(content) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	client := http.Client{Transport: c.transport, Timeout: most}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, text, err
}

func errorOf(request string, status int, text []byte) error {
	var document struct{ Code, Message string }
	if err := xml.Unmarshal(text, &document); err != nil || document.Code == "" {
		document.Code, document.Message = "Unknown", ofAnother(request, text)
	}
	if status == http.StatusNotFound && strings.HasPrefix(document.Message, "The test API is off") {
		document.Message = "the server has no test API: it is older than this package, or was started without --test-api"
	}
	return &Error{Status: status, Code: document.Code, Message: document.Message}
}
