package inbox

import (
	"errors"
	"net/http"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/webpush"
)

// pushKey tells the script the key with which to subscribe. It is empty if the browser
// cannot subscribe.
func (in *Inbox) pushKey(w http.ResponseWriter, r *http.Request, _ *elicit.Hub) error {
	key := in.options.PushKey
	if access.Of(r.Context()).Name != "" {
		key = "" // only the owner's browsers can subscribe
	}
	in.json(w, http.StatusOK, map[string]string{"key": key})
	return nil
}

// subscribe stores this browser's subscription, until its session ends.
func (in *Inbox) subscribe(w http.ResponseWriter, r *http.Request, _ *elicit.Hub) error {
	return in.subscription(w, r, func(all webpush.Subscriptions, one webpush.Subscription) error {
		return all.Put(r.Context(), one, access.Of(r.Context()).Session)
	})
}

// unsubscribe removes this browser's subscription.
func (in *Inbox) unsubscribe(w http.ResponseWriter, r *http.Request, _ *elicit.Hub) error {
	return in.subscription(w, r, func(all webpush.Subscriptions, one webpush.Subscription) error {
		return all.Drop(r.Context(), one.Endpoint)
	})
}

// maxSubscription is the maximum size of a subscription in JSON, in bytes.
const maxSubscription = 8 << 10

func (in *Inbox) subscription(w http.ResponseWriter, r *http.Request, do func(webpush.Subscriptions, webpush.Subscription) error) error {
	var one webpush.Subscription
	r.Body = http.MaxBytesReader(w, r.Body, maxSubscription)
	if err := in.readJSON(r, &one); errors.As(err, new(*http.MaxBytesError)) {
		return err
	} else if err != nil {
		in.json(w, http.StatusForbidden, draftOut{Code: "page_too_old", Message: err.Error()})
		return nil
	}
	if access.Of(r.Context()).Session == "" {
		in.json(w, http.StatusForbidden, draftOut{Code: "no_session", Message: "Only a browser that is signed in can subscribe."})
		return nil
	}
	if in.options.Push == nil {
		in.json(w, http.StatusNotFound, draftOut{Code: "no_push", Message: "This server sends no push messages."})
		return nil
	}
	all, err := in.options.Push(r.Context())
	if err == nil {
		err = do(all, one)
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
