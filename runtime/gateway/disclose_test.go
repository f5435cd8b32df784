package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// plainFinder finds the tools whose name contains a word of the need, in their
// order. cmd/deskhand has the real finder.
type plainFinder struct {
	tools  []Described
	closed bool
}

func (f *plainFinder) Find(_ context.Context, need, upstream string, limit int) (names []string, err error) {
	if f.closed {
		return nil, errors.New("the finder is closed")
	}
	for _, t := range f.tools {
		if len(names) == limit || upstream != "" && t.Upstream != upstream {
			continue
		}
		if slices.ContainsFunc(strings.FieldsFunc(need, func(c rune) bool { return c == ' ' || c == '_' }), func(w string) bool { return strings.Contains(t.Name, w) }) {
			names = append(names, t.Name)
		}
	}
	return names, nil
}

func (f *plainFinder) Close() error { f.closed = true; return nil }

// searching changes a gateway's options so that it searches its tools.
func searching(o *Options) {
	o.Disclosure = DiscloseSearch
	o.Index = func(all []Described) (Finder, error) { return &plainFinder{tools: all}, nil }
}

// doubled returns the address of an upstream over HTTP, of the era without
// sessions.
func doubled(t *testing.T, double *upstreamServer) string {
	server := httptest.NewServer(double.handler(true))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

func TestModelSeesTwoToolsInPlaceOfMany(t *testing.T) {
	many := newUpstreamServer()
	for i := range mostShown - 4 { // with the upstream's own five, one too many
		many.AddTool(&mcp.Tool{Name: fmt.Sprintf("more_%d", i), InputSchema: json.RawMessage(`{"type":"object"}`)}, many.slow)
	}
	few, lots := doubled(t, newUpstreamServer()), doubled(t, many)
	for name, c := range map[string]struct {
		disclosure Disclosure
		url        string
		want       int
	}{
		"all":                 {DiscloseAll, lots, mostShown + 1},
		"nothing said":        {"", lots, mostShown + 1},
		"search":              {DiscloseSearch, few, 2},
		"auto, of 41 tools":   {DiscloseAuto, lots, 2},
		"auto, of five tools": {DiscloseAuto, few, 5},
	} {
		t.Run(name, func(t *testing.T) {
			d := at(t, t.TempDir(), func(o *Options) { searching(o); o.Disclosure = c.disclosure }, Upstream{Name: "linear", URL: c.url})
			got := names(d.Tools())
			if len(got) != c.want || c.want == 2 && !slices.Equal(got, []string{"find_tools", "call_tool"}) {
				t.Errorf("tools = %v, want %d", got, c.want)
			}
		})
	}
	d := at(t, t.TempDir(), func(o *Options) { searching(o); o.Prefix = "dh" }, Upstream{Name: "linear", URL: few})
	if got := names(d.Tools()); !slices.Equal(got, []string{"dh_find_tools", "dh_call_tool"}) {
		t.Errorf("with a prefix the tools are %v", got)
	}
	if text := d.Tools()[0].Description; !strings.Contains(text, "(linear)") || !strings.Contains(text, "dh_call_tool") {
		t.Errorf("find_tools says %q, want the upstreams and the name of the other tool", text)
	}
}

func TestFoundToolsAreDescribedAndCalled(t *testing.T) {
	double := newUpstreamServer()
	d := at(t, t.TempDir(), searching, Upstream{Name: "linear", URL: doubled(t, double), Deny: []string{"refuse"}})
	for args, want := range map[string]string{
		`{"query":"echo"}`:                     "linear_echo {zeta: string, alpha?: integer}\n  says it again\n  zeta: last letter first",
		`{"query":"linear_echo"}`:              "linear_echo {zeta: string, alpha?: integer}\n  says it again\n  zeta: last letter first",
		`{"query":"linear","limit":2}`:         "linear_ask {}\nlinear_echo {zeta: string, alpha?: integer}\n  says it again\n  zeta: last letter first",
		`{"query":"refuse"}`:                   "No tool matches. Search again with other words for the action and the object. Services: linear.",
		`{"query":"echo","upstream":"linear"}`: "linear_echo {zeta: string, alpha?: integer}\n  says it again\n  zeta: last letter first",
		`{"query":"echo","upstream":"github"}`: "error: No service is named 'github'. set upstream to one of linear, or omit it",
		`{"query":" "}`:                        "error: query must be a non-empty string",
		`{"query":"echo","limit":100}`:         "error: limit must be between 1 and 20",
	} {
		if got := saying(d.now("find_tools", args)); got != want {
			t.Errorf("find_tools %s = %q, want %q", args, got, want)
		}
	}
	for args, want := range map[string]string{
		`{"name":"linear_echo","arguments":{"zeta":"z"}}`:                 `{"zeta":"z"}`,
		`{"name":"linear_echo","arguments":"{\"zeta\":\"z\"}"}`:           `{"zeta":"z"}`,
		`{"name":"mcp__deskhand__linear_echo","arguments":{"zeta":"z"}}`:  `{"zeta":"z"}`,
		`{"name":"linear_echo"}`:                                          "error: linear_echo: zeta is required. its arguments are {zeta: string, alpha?: integer}",
		`{"name":"linear_echo","arguments":{"zeta":"z","alpha":"first"}}`: "error: linear_echo: alpha must be an integer. its arguments are {zeta: string, alpha?: integer}",
		`{"name":"linear_refuse"}`:                                        "error: No connected service has a tool named 'linear_refuse'. similar tools: linear_ask, linear_echo, linear_open; or find it with find_tools",
		`{"name":"linear_echo","zeta":"z"}`:                               `error: Unexpected field 'zeta': put it into arguments. call call_tool with {"name": "...", "arguments": {...}}`,
		`{"name":"linear_echo","arguments":["z"]}`:                        `error: arguments must be an object. call call_tool with {"name": "...", "arguments": {...}}`,
		`{"arguments":{}}`:                                                `error: name is required. call call_tool with {"name": "...", "arguments": {...}}`,
		`null`:                                                            `error: name is required. call call_tool with {"name": "...", "arguments": {...}}`,
	} {
		if got := saying(d.now("call_tool", args)); got != want {
			t.Errorf("call_tool %s = %q, want %q", args, got, want)
		}
	}
	if n := double.called("echo"); n != 3 {
		t.Errorf("the upstream was called %d times, want only for the three calls that its schema allows", n)
	}
}

// saying returns an outcome with its fault's hint, in the words of a server.
func saying(o outcome) string {
	if f := fault.Of(o.err); f != nil && f.Hint != "" {
		return "error: " + f.Message + ". " + f.Hint
	}
	return o.text()
}

func TestDeferredToolsFollowTheirUpstream(t *testing.T) {
	double := newUpstreamServer()
	server := httptest.NewServer(double.handler(false))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	d := at(t, t.TempDir(), searching, Upstream{Name: "linear", URL: server.URL})
	find := func() string { return saying(d.now("find_tools", `{"query":"newborn echo"}`)) }
	if got := find(); strings.Contains(got, "linear_newborn") {
		t.Fatalf("find_tools = %s", got)
	}
	double.AddTool(&mcp.Tool{Name: "newborn", InputSchema: json.RawMessage(`{"type":"object"}`)}, double.slow)
	waittest.Until(t, "a new tool is found", func() (bool, any) { got := find(); return strings.Contains(got, "linear_newborn"), got })
	double.RemoveTools("echo")
	waittest.Until(t, "a tool that is gone is not found", func() (bool, any) { got := find(); return !strings.Contains(got, "linear_echo"), got })
}

func TestToolsCalledLatelyArePinnedForTheNextConversation(t *testing.T) {
	dir, double := t.TempDir(), newUpstreamServer()
	for i := range maxPins + 1 {
		double.AddTool(&mcp.Tool{Name: fmt.Sprintf("made_%d", i), InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
	}
	double.AddTool(&mcp.Tool{Name: "large", Description: strings.Repeat("long ", maxPinBytes/5), InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	upstream := Upstream{Name: "linear", URL: doubled(t, double)}
	d := at(t, dir, searching, upstream)
	d.now("call_tool", `{"name":"linear_refuse"}`)
	d.now("call_tool", `{"name":"linear_echo","arguments":{}}`)
	if got := names(d.Tools()); len(got) != 2 {
		t.Errorf("tools = %v, want none pinned of those whose call was refused", got)
	}
	for i := range maxPins + 1 {
		d.now("call_tool", fmt.Sprintf(`{"name":"linear_made_%d"}`, i))
	}
	pinned := d.Tools()[2:]
	if got := names(pinned); len(got) != maxPins || slices.Contains(got, "linear_made_0") {
		t.Errorf("pinned = %v, want the last %d", got, maxPins)
	}
	if i := slices.IndexFunc(pinned, func(t contract.Tool) bool { return !t.Unannounced }); i >= 0 {
		t.Errorf("%s is announced: clients would change the tools of a conversation", pinned[i].Name)
	}
	d.now("linear_made_1", `{}`) // calling a pinned tool counts as a use too
	d.now("call_tool", `{"name":"linear_large"}`)
	want := []string{"linear_made_1", "linear_made_3", "linear_made_4", "linear_made_5"}
	if got := names(d.Tools()[2:]); !slices.Equal(got, want) {
		t.Errorf("pinned = %v, want %v: the large one has no room", got, want)
	}
	d.end()
	if got := names(at(t, dir, searching, upstream).Tools()[2:]); !slices.Equal(got, want) {
		t.Errorf("pinned in the next process = %v, want %v", got, want)
	}
}

// A call through call_tool is the same as a direct call: it waits for the person to
// connect, passes on progress and ends with its caller.
func TestCallThroughCallToolWaitsForThePerson(t *testing.T) {
	g := newGuard(t)
	d := at(t, t.TempDir(), searching, userScoped(g))
	if got := saying(d.now("find_tools", `{"query":"connect linear"}`)); !strings.HasPrefix(got, "linear_connect {}\n  Ask the user to connect") {
		t.Fatalf("find_tools = %s, want the tool that connects", got)
	}
	ended := d.call("call_tool", contract.Caller{Name: "agent"}, `{"name":"linear_connect"}`)
	r := d.asked()
	newBrowser(t).press(r.URL, "connect")
	if o := d.wait(ended); o.err != nil {
		t.Fatalf("linear_connect = %v", o.err)
	}
	waittest.Until(t, "the tools come", func() (bool, any) {
		got := saying(d.now("find_tools", `{"query":"echo"}`))
		return strings.Contains(got, "linear_echo"), got
	})
	if got := saying(d.now("call_tool", `{"name":"linear_echo","arguments":{"zeta":"z"}}`)); got != `{"zeta":"z"}` {
		t.Errorf("call_tool = %s", got)
	}
}

func TestShelfIsClosedWhenNobodyUsesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made []*plainFinder
		g, err := New(Options{Disclosure: DiscloseSearch, Index: func(all []Described) (Finder, error) {
			made = append(made, &plainFinder{tools: all})
			return made[len(made)-1], nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		first, done, _ := g.shelf(t.Context())
		g.version.Add(1)
		second, doneToo, _ := g.shelf(t.Context())
		synctest.Wait()
		if first == second || made[0].closed {
			t.Errorf("after a change the shelf is new %v, and the finder in use closed %v", first != second, made[0].closed)
		}
		done()
		synctest.Wait()
		if !made[0].closed || made[1].closed {
			t.Errorf("closed are %v and %v, want the first alone", made[0].closed, made[1].closed)
		}
		doneToo()
		g.Close()
		if !made[1].closed {
			t.Error("Close leaves the finder open")
		}
		time.Sleep(time.Second)
	})
}
