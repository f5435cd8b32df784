package executor

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// message is a JSON-RPC message in either direction.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// double is a process that implements an agent for the protocol. It executes the
// prompt, or replays a recorded agent.
type double struct {
	in     *bufio.Reader
	out    io.Writer
	record []recorded
	// retries reports that the session wants to know when a model does not respond.
	retries bool
}

type recorded struct {
	Dir string  `json:"dir"`
	Msg message `json:"msg"`
}

func doubleMain(record string) int {
	d := &double{in: bufio.NewReader(os.Stdin), out: os.Stdout}
	if record != "" {
		data, err := os.ReadFile(record)
		if err != nil {
			panic(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
			var r recorded
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				panic(err)
			}
			d.record = append(d.record, r)
		}
	}
	for {
		m, err := d.read()
		if err != nil {
			return 0
		}
		switch {
		case record != "":
			d.replay(m)
		default:
			if code := d.answer(m); code >= 0 {
				return code
			}
		}
	}
}

func (d *double) read() (m message, err error) {
	line, err := d.in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &m)
	}
	return m, err
}

func (d *double) send(m message) {
	m.Version = "2.0"
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(d.out, "%s\n", data)
}

func (d *double) update(format string, args ...any) {
	d.send(message{Method: "session/update", Params: json.RawMessage(`{"sessionId":"s1","update":` + fmt.Sprintf(format, args...) + `}`)})
}

// replay sends what the recorded agent sent after the same request.
func (d *double) replay(request message) {
	for i, r := range d.record {
		if r.Dir != "client->agent" || r.Msg.Method != request.Method {
			continue
		}
		for _, next := range d.record[i+1:] {
			if next.Dir == "client->agent" {
				if next.Msg.Method != "" {
					return
				}
				continue
			}
			m := next.Msg
			if m.Method == "" {
				m.ID = request.ID
			}
			d.send(m)
			if m.Method != "" && m.ID != nil {
				d.read() // the answer to its request
			}
		}
		return
	}
	if request.ID != nil {
		d.send(message{ID: request.ID, Result: json.RawMessage(`{}`)})
	}
}

// answer executes a prompt, and returns an exit code or -1.
func (d *double) answer(m message) int {
	reply := func(result string) { d.send(message{ID: m.ID, Result: json.RawMessage(result)}) }
	say := func(text string) {
		data, _ := json.Marshal(text)
		d.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}`, data)
	}
	switch m.Method {
	case "initialize":
		if os.Getenv("DOUBLE") == "dumb" {
			fmt.Fprintln(os.Stderr, "no licence")
			return 7
		}
		load := `"loadSession":true,`
		if os.Getenv("DOUBLE") == "forgetful" {
			load = ""
		}
		if os.Getenv("DOUBLE") == "adapter" {
			load += `"_meta":{"claudeCode":{}},`
		}
		reply(`{"protocolVersion":1,"agentCapabilities":{` + load + `"mcpCapabilities":{"http":true}},"authMethods":[]}`)
	case "session/new":
		if os.Getenv("DOUBLE") == "locked" {
			d.send(message{ID: m.ID, Error: json.RawMessage(`{"code":-32000,"message":"Authentication required"}`)})
			return -1
		}
		d.retries = strings.Contains(string(m.Params), `"emitRawSDKMessages":[{"subtype":"api_retry","type":"system"}]`)
		reply(`{"sessionId":"s1","modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A"},{"id":"b","name":"B"}]}}`)
	case "session/load":
		say("what was said before")
		reply(`{}`)
	case "session/set_mode":
		say("mode " + string(m.Params))
		reply(`{}`)
	case "session/prompt":
		var p struct {
			Prompt []struct{ Text string }
		}
		json.Unmarshal(m.Params, &p)
		stop := "end_turn"
		word, rest, _ := strings.Cut(p.Prompt[0].Text, " ")
		switch word {
		case "elicit":
			d.send(message{ID: json.RawMessage(`"q1"`), Method: "elicitation/create", Params: json.RawMessage(rest)})
			answer, _ := d.read()
			say(string(answer.Result) + string(answer.Error))
		case "permit":
			d.send(message{ID: json.RawMessage(`"q2"`), Method: "session/request_permission", Params: json.RawMessage(
				`{"sessionId":"s1","options":[{"kind":"allow_once","name":"Yes","optionId":"y"},{"kind":"reject_once","name":"No","optionId":"n"}],"toolCall":{"toolCallId":"t1",` + rest + `}}`)})
			answer, _ := d.read()
			if answer.Method == "session/cancel" {
				answer, _ = d.read()
			}
			say(string(answer.Result))
		case "permits":
			d.send(message{ID: json.RawMessage(`"q3"`), Method: "session/request_permission", Params: json.RawMessage(`{"sessionId":"s1",` + rest + `}`)})
			answer, _ := d.read()
			say(string(answer.Result))
		case "wait":
			say("waiting")
			if cancel, _ := d.read(); cancel.Method == "session/cancel" {
				stop = "cancelled"
			}
		case "junk":
			fmt.Fprint(d.out, "not JSON\n[1]\n{\"x\":\n\x00\xff\n")
			d.update(`{"sessionUpdate":"brand_new"}`)
			d.update(`7`)
			d.update(`{"sessionUpdate":"tool_call_update","toolCallId":"never-begun","status":"completed","rawOutput":[1]}`)
			d.send(message{ID: json.RawMessage(`9`), Method: "fs/read_text_file", Params: json.RawMessage(`{"sessionId":"s1","path":"/etc/passwd"}`)})
			answer, _ := d.read()
			say("read: " + string(answer.Result) + string(answer.Error))
		case "flood":
			for i := range 20_000 {
				d.update(`{"sessionUpdate":"tool_call","toolCallId":"t%d","title":"x","kind":"other","status":"completed"}`, i)
			}
		case "retry":
			if d.retries {
				d.send(message{Method: "_claude/sdkMessage", Params: json.RawMessage(`{"sessionId":"s1","message":{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"error":"overloaded"}}`)})
			}
		case "stop":
			stop = rest
		case "error":
			d.send(message{ID: m.ID, Error: json.RawMessage(rest)})
			return -1
		case "die":
			say("bye")
			fmt.Fprintln(os.Stderr, "out of memory")
			return 9
		case "stay":
			reply(`{"stopReason":"end_turn"}`)
			select {}
		case "plan":
			d.update(`{"sessionUpdate":"plan","entries":[{"content":"one","status":"pending","priority":"high"}]}`)
			d.update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`)
			d.update(`{"sessionUpdate":"plan","entries":[{"content":"one","status":"completed","priority":"high"}]}`)
		default:
			say(p.Prompt[0].Text)
		}
		reply(`{"stopReason":"` + stop + `"}`)
	default:
		if m.ID != nil {
			reply(`{}`)
		}
	}
	return -1
}
