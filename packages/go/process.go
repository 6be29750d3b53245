package liteio

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	stopMax = 10 * time.Second
	// Time for the requests in flight: those of a test that has ended wait for a client that does not read.
	inFlightMax = time.Second
	readyPoll   = 5 * time.Millisecond
	// Between the last connection of a server that was killed and the end of its process.
	endMax        = time.Second
	logLinesMax   = 1000
	lineBytesMax  = 1 << 20
	readyPath     = "/_liteio/health/ready"
	shellOfServer = "/bin/sh"
	// What the server logs, and what that is in a test.
	cutOff   = "requests still in flight are cut off"
	openHint = "requests were still open at Stop, which waited a second for them: is the body of a response not closed?"
)

// watch is the script of the shell above the server, which holds the reading end of a pipe. The kernel closes the pipe when this
// process has ended for any reason. Then the shell sends SIGTERM to the server. stop writes a line, which is the first SIGTERM, and
// closes the pipe, which is the second: the server cuts off the requests in flight.
const watch = `
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
{ read -r _ && kill -s TERM "$server" && read -r _; kill -s TERM "$server"; } <&3 >/dev/null 2>&1 &
watch=$!
exec 3<&-
wait "$server"
code=$?
kill "$watch" 2>/dev/null
exit "$code"
`

// The longest time until a server is ready. A test shortens it.
var startMax = 30 * time.Second

var endpointLine = regexp.MustCompile(`^\s*Endpoint\s+(\S+)`)

type process struct {
	binary   string
	command  *exec.Cmd
	pipe     io.WriteCloser
	ended    chan struct{}
	endpoint string
	log      *lines
	stopOnce sync.Once
	stopping atomic.Bool
	isReady  atomic.Bool
	isKilled atomic.Bool
}

func startProcess(binary string, arguments, variables []string) (*process, error) {
	started := &process{binary: binary, ended: make(chan struct{}), log: &lines{}}
	started.command = exec.Command(shellOfServer, append([]string{"-c", watch, "liteio", binary}, arguments...)...)
	started.command.Env = variables
	separate(started.command)
	output := newFirstMatch(endpointLine)
	started.command.Stdout = output
	started.command.Stderr = started.log
	pipe, err := started.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	started.pipe = pipe
	if err := started.command.Start(); err != nil {
		_ = output.Close()
		return nil, err
	}
	go func() {
		_ = started.command.Wait()
		_ = output.Close()
		started.noteEnd()
		close(started.ended)
	}()
	if err := started.waitUntilReady(output.found); err != nil {
		started.stop()
		return nil, err
	}
	started.isReady.Store(true)
	return started, nil
}

// noteEnd adds to the log that the server has ended by itself: all requests have failed since.
func (p *process) noteEnd() {
	// The shell may end later than the server, while the server is stopped: the exit code tells.
	isStopped := p.stopping.Load() && (p.isKilled.Load() || p.command.ProcessState.Success())
	if p.isReady.Load() && !isStopped {
		fmt.Fprintf(p.log, "the server had ended: %s\n", p.end())
	}
}

// end describes how the server has ended. The shell above it reports a signal as 128 and its number.
func (p *process) end() string {
	if code := p.command.ProcessState.ExitCode(); code > 128 {
		return fmt.Sprintf("signal: %v", syscall.Signal(code-128))
	}
	return p.command.ProcessState.String()
}

func (p *process) waitUntilReady(found <-chan string) error {
	late := time.NewTimer(startMax)
	defer late.Stop()
	select {
	case p.endpoint = <-found:
	case <-p.ended:
		return p.failure()
	case <-late.C:
		return fmt.Errorf("%w%s", p.lateness("no address was printed"), p.doubt())
	}
	control := newControl(p.endpoint)
	target := p.endpoint + readyPath
	for {
		status, _, err := control.exchange("GET", target, nil, startMax)
		if err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-p.ended:
			return p.failure()
		case <-late.C:
			if err == nil {
				err = fmt.Errorf("GET %s answers %d", target, status)
			}
			return p.lateness(err.Error())
		case <-time.After(readyPoll):
		}
	}
}

func (p *process) failure() error {
	return fmt.Errorf("the server %s has ended, %s: %s%s", p.binary, p.end(), inOptions.Replace(p.said()), p.doubt())
}

// lateness has what was last seen of a server that is not ready.
func (p *process) lateness(seen string) error {
	return fmt.Errorf("the server %s was not ready within %v: %s: %s", p.binary, startMax, seen, p.said())
}

// doubt asks about a program that is not LiteIO by its name, and whose log does not name it either. LiteIO may have any name.
func (p *process) doubt() string {
	if strings.Contains(strings.ToLower(filepath.Base(p.binary)+p.log.String()), "liteio") {
		return ""
	}
	return ". Is this program LiteIO?"
}

func (p *process) said() string {
	if said := p.log.String(); said != "" {
		return said
	}
	return "no output"
}

// ending returns the reason why the server does not answer; empty if it should.
func (p *process) ending() string {
	switch {
	case p.isStopped():
		return "the server was stopped"
	case p.endsWithin(endMax):
		return "the server has ended, " + p.end()
	}
	return ""
}

func (p *process) isStopped() bool {
	return p.stopping.Load()
}

func (p *process) stop() {
	p.stopOnce.Do(func() {
		p.stopping.Store(true)
		_, _ = p.pipe.Write([]byte("\n"))
		isEnded := p.endsWithin(inFlightMax)
		_ = p.pipe.Close()
		if !isEnded && !p.endsWithin(stopMax) {
			p.isKilled.Store(true)
			kill(p.command)
			<-p.ended
		}
		if strings.Contains(p.log.String(), cutOff) {
			fmt.Fprintln(p.log, openHint)
		}
	})
}

func (p *process) endsWithin(most time.Duration) bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(most):
		return false
	}
}

// lines is a writer that keeps the last lines.
type lines struct {
	mutex sync.Mutex
	kept  []string
	rest  []byte
}

func (l *lines) Write(written []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.rest = append(l.rest, written...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(written), nil
		}
		l.kept, l.rest = append(l.kept, string(line)), rest
		if len(l.kept) > logLinesMax {
			l.kept = l.kept[1:]
		}
	}
}

func (l *lines) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.TrimSpace(strings.Join(l.kept, "\n") + "\n" + string(l.rest))
}

// firstMatch sends the first group of the first line that matches, and drops the rest.
type firstMatch struct {
	*io.PipeWriter
	found chan string
}

func newFirstMatch(pattern *regexp.Regexp) firstMatch {
	reader, writer := io.Pipe()
	found := make(chan string, 1)
	go func() {
		scanner := bufio.NewScanner(reader)
		scanner.Buffer(nil, lineBytesMax)
		for scanner.Scan() {
			if match := pattern.FindStringSubmatch(scanner.Text()); match != nil {
				found <- match[1]
				break
			}
		}
		_, _ = io.Copy(io.Discard, reader)
	}()
	return firstMatch{writer, found}
}
