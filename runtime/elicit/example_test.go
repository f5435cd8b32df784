package elicit_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
)

// One process asks a question and another answers it. They share a store.
func Example() {
	place, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(place)
	ctx := context.Background()
	db, err := store.Open(ctx, place, elicit.Schema())
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	hub := elicit.New(db, elicit.Options{Principal: "ann", Attended: true})
	defer hub.Close()

	r, err := hub.Open(ctx, elicit.Request{
		Trigger: elicit.AskUser,
		Questions: []elicit.Question{{
			ID: "region", Kind: elicit.SingleSelect, Message: "Where shall it run?", Options: elicit.OptionsOf("eu", "us"),
		}},
	})
	if err != nil {
		log.Fatal(err)
	}

	answers, err := r.Fields(map[string][]string{"region": {"eu"}}) // in the format of an HTML form
	if err != nil {
		log.Fatal(err)
	}
	_, err = hub.Dispatch(ctx, elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept, Answers: answers})
	if err != nil {
		log.Fatal(err)
	}

	r, err = hub.Wait(ctx, r.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Completion.Outcome, "by", r.Completion.By)
	fmt.Println(r.Content())
	// Output:
	// accept by ann
	// map[region:eu]
}

// Reduce contains the rules: how an action changes a request, or why it is refused.
func ExampleReduce() {
	open := &elicit.Request{ID: "elc_1", Rev: 1, Status: elicit.Open, Questions: []elicit.Question{{ID: "name", Kind: elicit.Text, Message: "What is it called?", Required: true}}}
	_, err := elicit.Reduce(open, elicit.Action{Type: elicit.CompletedBy, RequestID: "elc_1", Response: elicit.Accept})
	fmt.Println(err)

	answer := elicit.Answer{State: elicit.Submitted, Value: &elicit.Value{Kind: elicit.TextValue, Text: "Ada"}}
	done, err := elicit.Reduce(open, elicit.Action{
		Type: elicit.CompletedBy, RequestID: "elc_1", Response: elicit.Accept, Answers: map[string]elicit.Answer{"name": answer},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(open.Status, "becomes", done.Status)
	// Output:
	// question "name": an answer is required
	// open becomes completed
}
