package inbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// mostChoices is the maximum number of answers in a notification.
const mostChoices = 4

// linkLives is how long a link can answer a question that has no deadline. If a
// question has a deadline, it is how long after the deadline a link can still
// give a late answer.
const linkLives = 24 * time.Hour

// Choice is an answer that takes one press.
type Choice struct {
	Label string
	Path  string // path on the inbox's server
}

// ticket is the content of a link. It specifies an answer and an expiry time.
// It is signed but not secret. It works only once, because a request can be
// answered only once.
type ticket struct {
	Request  string `json:"r"`
	Question string `json:"q"`
	Value    string `json:"v"`
	Until    int64  `json:"u"` // Unix seconds
}

// AnswerLinks returns links for a notification. A person can use them to answer
// a request without signing in. The links are yes and no, or the options of a
// small select. For other requests, there are no links. A link shows the
// question and a button. Only the button, or a POST, answers the question,
// because some programs open links in advance.
func AnswerLinks(key []byte, r *elicit.Request) []Choice {
	if r.Audience.Principal != "" || len(r.Audience.Roles) > 0 || r.Audience.Rota != "" {
		return nil
	}
	var links []Choice
	for _, o := range Presses(r) {
		links = append(links, Choice{o.Label, "/answer/" + ticket{r.ID, r.Questions[0].ID, o.ID, LinksUntil(r).Unix()}.sign(key)})
	}
	return links
}

// Presses returns the answers to a request's only question that a link can give: yes and no,
// or the options of a small select. It returns nil for other requests.
func Presses(r *elicit.Request) []elicit.Option {
	if len(r.Questions) != 1 || r.URL != "" || r.Status == elicit.Completed {
		return nil
	}
	q := &r.Questions[0]
	switch {
	case q.Kind == elicit.Boolean:
		return []elicit.Option{{ID: "yes", Label: "Yes"}, {ID: "no", Label: "No"}}
	case q.Kind != elicit.SingleSelect || len(q.Options) > mostChoices:
		return nil
	}
	return q.Options
}

// LinksUntil returns when links that answer a request end.
func LinksUntil(r *elicit.Request) time.Time {
	if !r.Deadline.IsZero() {
		return r.Deadline.Add(linkLives)
	}
	return r.CreatedAt.Add(linkLives)
}

func (t ticket) sign(key []byte) string {
	data, err := json.Marshal(t)
	if err != nil {
		panic(err) // cannot fail: a ticket contains only strings and a number
	}
	return base64.RawURLEncoding.EncodeToString(append(mac(key, data), data...))
}

func mac(key, data []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(data)
	return h.Sum(nil)
}

var errTicket = errors.New("not a link from this server, or too old")

func readTicket(key []byte, code string, now time.Time) (t ticket, err error) {
	b, err := base64.RawURLEncoding.DecodeString(code)
	if err != nil || len(b) < sha256.Size || !hmac.Equal(b[:sha256.Size], mac(key, b[sha256.Size:])) {
		return t, errTicket
	}
	if json.Unmarshal(b[sha256.Size:], &t) != nil || now.Unix() > t.Until {
		return t, errTicket
	}
	return t, nil
}
