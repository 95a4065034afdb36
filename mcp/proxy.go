package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Endpoint is where a running server takes messages.
type Endpoint struct {
	URL    string
	Client *http.Client
}

// Proxy passes the messages of a client that speaks over standard input and output on to a running
// server, and the answers back. It knows no tool and keeps nothing: one process writes the store.
type Proxy struct {
	// Find returns the running server. It is asked at the first message, and again where the server
	// that it named is gone.
	Find func(context.Context) (Endpoint, error)
	// Token is the agent's.
	Token string
}

const (
	// maxMessage bounds one message, in bytes, here as at the server.
	maxMessage = 1 << 20
	// inFlight bounds the messages that wait for an answer.
	inFlight = 32
)

// message is what is looked at of one.
type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params struct {
		Name            jsontext.Value `json:"name"`
		ProtocolVersion jsontext.Value `json:"protocolVersion"`
		RequestID       jsontext.Value `json:"requestId"`
		Meta            struct {
			ProtocolVersion jsontext.Value `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// Run returns when in ends, after the last answer, or when ctx does. Its error is that of in or out.
func (p *Proxy) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &relay{proxy: p, out: out, stop: cancel, waiting: map[string]context.CancelFunc{}}
	lines := bufio.NewReaderSize(in, 64<<10)
	slots := make(chan struct{}, inFlight)
	var pending sync.WaitGroup
	for ctx.Err() == nil {
		line, err := readLine(lines)
		if err == errLong {
			r.fail(nil, -32600, fmt.Sprintf("a message is longer than %d bytes", maxMessage))
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			r.pass(ctx, line, slots, &pending)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("the client cannot be read: %w", err)
		}
	}
	pending.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

var errLong = errors.New("long line")

// readLine returns the next line. What is longer than a message may be is skipped.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxMessage; !long {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case long && (err == nil || err == io.EOF):
			return nil, errLong
		case long:
			return nil, err
		default:
			return line, err
		}
	}
}

// relay is one run of a proxy.
type relay struct {
	proxy *Proxy
	stop  context.CancelCauseFunc

	writing sync.Mutex
	out     io.Writer

	mu       sync.Mutex
	endpoint Endpoint
	// version is what was agreed upon at the beginning, in the protocols that begin.
	version string
	// waiting ends the requests that wait, by their id.
	waiting map[string]context.CancelFunc
}

// pass sends a message on. The next one waits for the answer to the first, which says the version of
// what follows, and until what wants no answer has arrived.
func (r *relay) pass(ctx context.Context, line []byte, slots chan struct{}, pending *sync.WaitGroup) {
	var m message
	if json.Unmarshal(line, &m, jsontext.AllowDuplicateNames(true)) != nil && !jsontext.Value(line).IsValid() {
		r.fail(nil, -32700, "a line is no JSON")
		return
	}
	id := string(m.ID)
	if m.Method == "notifications/cancelled" {
		r.mu.Lock()
		end := r.waiting[string(m.Params.RequestID)]
		r.mu.Unlock()
		if end != nil {
			end()
		}
	}
	if id == "" || m.Method == "initialize" {
		r.send(ctx, line, m)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	r.waiting[id] = cancel
	r.mu.Unlock()
	slots <- struct{}{}
	pending.Go(func() {
		defer func() {
			r.mu.Lock()
			delete(r.waiting, id)
			r.mu.Unlock()
			cancel()
			<-slots
		}()
		r.send(ctx, line, m)
	})
}

// send asks the server and writes the answer.
func (r *relay) send(ctx context.Context, line []byte, m message) {
	answer, err := r.ask(ctx, line, m)
	if err == nil {
		defer answer.Body.Close()
		err = r.answer(answer, m)
	}
	if err != nil && ctx.Err() == nil && len(m.ID) > 0 {
		r.fail(m.ID, -32603, err.Error())
	}
}

// ask posts a message to the server, or to the one that runs by now if nobody listens there any more:
// then nothing was done. What broke off later may have been done, and is not asked again.
func (r *relay) ask(ctx context.Context, line []byte, m message) (*http.Response, error) {
	at, err := r.find(ctx, Endpoint{})
	if err != nil {
		return nil, err
	}
	answer, err := r.post(ctx, at, line, m)
	if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
		if at, err = r.find(ctx, at); err != nil {
			return nil, err
		}
		answer, err = r.post(ctx, at, line, m)
	}
	if err != nil {
		return nil, errors.New("the serve-web server does not answer")
	}
	return answer, nil
}

// find returns the server that is known, unless it is gone, and otherwise looks for one.
func (r *relay) find(ctx context.Context, gone Endpoint) (Endpoint, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.endpoint.URL != "" && r.endpoint.URL != gone.URL {
		return r.endpoint, nil
	}
	at, err := r.proxy.Find(ctx)
	r.endpoint = at
	return at, err
}

func (r *relay) post(ctx context.Context, at Endpoint, line []byte, m message) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at.URL, bytes.NewReader(line))
	if err != nil {
		return nil, err
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Authorization", "Bearer "+r.proxy.Token)
	r.mu.Lock()
	version := r.version
	r.mu.Unlock()
	if v := text(m.Params.Meta.ProtocolVersion); v != "" {
		version = v
	}
	if version != "" && m.Method != "initialize" {
		h.Set("MCP-Protocol-Version", version)
	}
	// The newer protocol wants these; the older ones do not look.
	h.Set("Mcp-Method", m.Method)
	if name := text(m.Params.Name); name != "" {
		h.Set("Mcp-Name", name)
	}
	return at.Client.Do(req)
}

// answer writes what the server answered: a message, or some one after the other.
func (r *relay) answer(answer *http.Response, m message) error {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	switch {
	case kind == "text/event-stream":
		return r.events(answer.Body)
	case kind == "application/json":
		body, err := io.ReadAll(io.LimitReader(answer.Body, 16*maxMessage))
		if err != nil {
			return errors.New("the answer of the serve-web server broke off")
		}
		value := jsontext.Value(body)
		if value.Compact() != nil {
			return errors.New("the answer of the serve-web server is no JSON")
		}
		if m.Method == "initialize" {
			r.agree(value)
		}
		r.write(value)
	case answer.StatusCode == http.StatusUnauthorized:
		return errors.New("the token is not one that the serve-web server knows, or it was revoked")
	case answer.StatusCode != http.StatusAccepted:
		why, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
		return fmt.Errorf("the serve-web server answered %s: %s", answer.Status, oneLine(string(why)))
	}
	return nil
}

// agree keeps the version that the server answered with.
func (r *relay) agree(answer []byte) {
	var in struct {
		Result struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"result"`
	}
	if json.Unmarshal(answer, &in) == nil {
		r.mu.Lock()
		r.version = in.Result.ProtocolVersion
		r.mu.Unlock()
	}
}

// events writes each message of a stream.
func (r *relay) events(body io.Reader) error {
	lines := bufio.NewReader(body)
	var data []byte
	for {
		line, err := readLine(lines)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return errors.New("the answer of the serve-web server broke off")
		}
		line = bytes.TrimRight(line, "\r\n")
		if part, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, part...)
		} else if len(line) == 0 && len(data) > 0 {
			if value := jsontext.Value(data); value.Compact() == nil {
				r.write(value)
			}
			data = nil
		}
	}
}

func (r *relay) fail(id jsontext.Value, code int, sentence string) {
	if id == nil {
		id = jsontext.Value("null")
	}
	type failure struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	b, err := json.Marshal(struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Error   failure        `json:"error"`
	}{"2.0", id, failure{code, sentence}})
	if err == nil {
		r.write(b)
	}
}

func (r *relay) write(line []byte) {
	r.writing.Lock()
	defer r.writing.Unlock()
	if _, err := r.out.Write(append(line, '\n')); err != nil {
		r.stop(fmt.Errorf("the client cannot be answered: %w", err))
	}
}

// text returns a JSON string's text that a header can carry; else nothing.
func text(v jsontext.Value) string {
	var s string
	if json.Unmarshal(v, &s) != nil || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return ""
	}
	return s
}
